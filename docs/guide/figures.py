"""Draw the figures of the guide, by running the examples of its pages: python docs/guide/figures.py"""

import contextlib
import doctest
import io
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import sparselin as sl

HERE = Path(__file__).parent
RECORD = HERE.parents[1] / "proofs_checks" / "inference_records.json"


def page(name: str) -> dict[str, Any]:
    """Return the variables that the examples of a page define, without the examples that raise an error."""
    found: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples((HERE / name).read_text(encoding="utf-8")):
        if example.exc_msg is None:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(example.source, name, "exec"), found)
    return found


def denoising(found: dict[str, Any]) -> Any:
    """Draw the picture, the noisy one and the denoised one, with their PSNR."""
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.15), layout="constrained")
    for ax, name in zip(panels, ("picture", "noisy", "denoised"), strict=True):
        ax.imshow(found[name], cmap="gray", vmin=0, vmax=1)
        words = name if name == "picture" else f"{name}, {found['psnr'](found[name]):.1f} dB"
        ax.set_title(words, fontsize=10)
        ax.set_axis_off()
    return figure


def leave_one_out(found: dict[str, Any]) -> Any:
    """Draw leave-one-out on the cross-validation of the whole procedure, with the true error."""
    ax = sl.plots.show(found["loo"], ax=sl.plots.cross_validation(found["whole"]))
    ax.lines[0].set_label("cross-validation ± standard error")
    ax.plot(found["truth"], "k-", label="true error on new rows")
    ax.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    ax.set(ylim=(0.5, 3.2), ylabel="mean squared error")
    return ax.figure


def p_values() -> Any:
    """Draw how often each p-value of a coefficient occurs under μ = 0, in the stored experiment."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))["omp"]["0"]
    ax = plt.subplots(figsize=(6.4, 2.9), layout="constrained")[1]
    for key, label, colour in (("naive_p", "usual", sl.plots.GREY), ("p", "exact", sl.plots.BLUE)):
        counts = np.array(record[f"{key}_counts"])
        edges = np.linspace(0, 1, len(counts) + 1)
        ax.stairs(counts / counts.sum(), edges, fill=key != "p", color=colour, linewidth=1.8, label=label)
    ax.axhline(1 / len(counts), color="black", linestyle="--", linewidth=1, label="uniform")
    ax.set(xlim=(0, 1), xlabel="p-value of a coefficient, μ = 0", ylabel="share")
    ax.legend(frameon=False)
    return ax.figure


def draw(folder: Path) -> list[str]:
    """Save the figures in a folder, and return their names."""
    figures = {
        "selection": sl.plots.show(page("data.md")["path"]).figure,
        "choosing_k": sl.plots.show(page("choosing_k.md")["path"]).figure,
        "leave_one_out": leave_one_out(page("choosing_k.md")),
        "stability": sl.plots.show(page("after_selection.md")["found"]).figure,
        "inference": sl.plots.show(page("inference.md")["found"]).figure,
        "p_values": p_values(),
        "denoising": denoising(page("dictionaries.md")),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
    return list(figures)


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(HERE)
