"""The time of OMP as a function of d and of n, for fixed k, on logarithmic scales."""

import functools
import statistics
from pathlib import Path
from typing import Any

from benchmarks import designs
from benchmarks.contest import Options, missing
from benchmarks.entrants import gemvs, our_omp, sklearn_omp
from benchmarks.timing import interleave

K, N, D = 50, 1000, 5000
DIMENSIONS = (500, 1000, 2000, 4000, 8000, 16000, 32000)
SAMPLES = (250, 500, 1000, 2000, 4000, 8000)

# Okabe and Ito: distinguishable with any colour vision; markers and labels distinguish them in grey.
STYLES = {our_omp.name: ("#0072B2", "o"), gemvs.name: ("#E69F00", "s"), sklearn_omp.name: ("#D55E00", "^")}


def measure(options: Options) -> dict[str, Any]:
    """Measure the medians of the rounds on noise, with one seed for each size."""
    k, n, d = (5, 20, 60) if options.toy else (K, N, D)
    dimensions, samples = ((40, 80), (20, 40)) if options.toy else (DIMENSIONS, SAMPLES)
    entrants = [e for e in (our_omp, gemvs, sklearn_omp) if not missing(e.needs)]

    def times(n: int, d: int) -> dict[str, float]:
        data = designs.noise(options.seeds[0], n, d, k)
        calls = {e.name: functools.partial(e.call, data) for e in entrants}
        for call in calls.values():
            call()
        seconds = interleave(
            calls,
            runs=min(options.runs, 5),
            least_runs=options.least_runs,
            pause=options.pauses[0],
            budget=2.0,
        )
        return {name: statistics.median(values) for name, values in seconds.items()}

    return {
        "k": k,
        "against d": {"n": n, "sizes": list(dimensions), "seconds": [times(n, size) for size in dimensions]},
        "against n": {"d": d, "sizes": list(samples), "seconds": [times(size, d) for size in samples]},
    }


def draw(scaling: dict[str, Any], path: Path) -> None:
    """Draw the chart of both measurements into a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), sharey=True, layout="constrained")
    panels = [scaling["against d"], scaling["against n"]]
    ms = [1e3 * value for panel in panels for seconds in panel["seconds"] for value in seconds.values()]
    limits = (min(ms) / 2, max(ms) * 2)
    for axis, panel, across, fixed in zip(axes, panels, "dn", "nd", strict=True):
        _panel(axis, panel, limits)
        axis.set_xlabel(f"{across}      ({fixed} = {panel[fixed]}, k = {scaling['k']})", fontsize=12)
    axes[0].set_ylabel("milliseconds", fontsize=12)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=12)
    figure.suptitle("Time of OMP by the size of X (noise, float64)", fontsize=14)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _panel(axis: Any, panel: dict[str, Any], limits: tuple[float, float]) -> None:
    """Draw the times of one measurement, with dashed lines of slope 1 for comparison."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    sizes, seconds = panel["sizes"], panel["seconds"]
    for name, (colour, marker) in STYLES.items():
        if name in seconds[0]:
            ms = [1e3 * s[name] for s in seconds]
            axis.loglog(sizes, ms, color=colour, marker=marker, markersize=7, linewidth=2.2, label=name)
    axis.loglog([], [], "--", color="0.6", linewidth=1, label="slope 1: proportional to the size")
    left, right = sizes[0] / 1.3, sizes[-1] * 1.3
    low = limits[0] * left / right
    while low < limits[1]:
        axis.loglog([left, right], [low, low * right / left], "--", color="0.78", linewidth=0.9, zorder=0)
        low *= 10**0.5
    axis.set_xlim(left, right)
    axis.set_ylim(*limits)
    axis.xaxis.set_major_locator(FixedLocator(sizes))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{int(size)}"))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
    axis.tick_params(labelsize=11)
    axis.spines[["top", "right"]].set_visible(False)
