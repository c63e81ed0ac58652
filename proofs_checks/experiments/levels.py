"""The levels of tests with an estimated σ and few degrees of freedom, over families of designs.

`python -m proofs_checks.experiments.levels` draws designs with μ = 0, selects features, and counts how often
p < .05 for steps and for coefficients, and how often a 95 % interval covers 0. A row of its table is a method
and a family of designs, for all selections together. A column is a number n − d of degrees of freedom, which
for "split" is that of the half that infers. "Exact" is the default of `inference`. "Taken as σ" passes the
estimate by the residual of all features as if it were σ; randomization has no other choice. The table is in
docs/guide/inference.md.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from rich.console import Console

import sparselin as sl
from sparselin.parallel.processes import Job, run_jobs
from sparselin.studies.common.command import HELP, Alone, jobs_option, watch

N, K, CHUNK = 60, 3, 25
DEGREES = (3, 5, 10, 30)
MANY = (30, 100)  # of randomization


def gaussian(rng: np.random.Generator, n: int, d: int) -> Any:
    return rng.standard_normal((n, d))


def autoregressive(rng: np.random.Generator, n: int, d: int) -> Any:
    """Neighbours have the correlation .9."""
    C = 0.9 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return rng.standard_normal((n, d)) @ np.linalg.cholesky(C).T


def near_copies(rng: np.random.Generator, n: int, d: int) -> Any:
    """Each second column is the one before it, but for noise of 1 %."""
    X = rng.standard_normal((n, d))
    X[:, 1::2] = X[:, : d - 1 : 2][:, : X[:, 1::2].shape[1]] + 0.01 * X[:, 1::2]
    return X


def lasso(X: Any, y: Any, k: int) -> Any:
    return sl.lasso_path(X, y, max_steps=k)


FAMILIES = {"Gaussian": gaussian, "AR(.9)": autoregressive, "near copies": near_copies}
SELECTIONS: dict[str, tuple[Any, int]] = {
    "OMP": (sl.omp, K),
    "OLS": (sl.ols, K),
    "LASSO": (lasso, K),
    "OMP, 12 steps": (sl.omp, 12),
}
METHODS: dict[str, dict[str, Any]] = {
    "exact": {},
    "taken as σ": {},
    "k by BIC": {"k": "bic"},
    "split": {"method": "split"},
    "randomized": {"method": "randomized", "sigma": "full"},
}


def run(method: str, family: str, selection: str, free: int, seeds: range) -> tuple[Any, ...]:
    """Count rejections and intervals that miss on some designs."""
    counts = np.zeros(6)
    (select, k), options = SELECTIONS[selection], dict(METHODS[method])
    for seed in seeds:
        rng = np.random.default_rng((seed, free, list(FAMILIES).index(family)))
        d = N - free
        # the half that infers has these degrees of freedom
        n, d = (2 * (d + free), d) if method == "split" else (N, d)
        n, d = (free + 30, 30) if method == "randomized" else (n, d)
        X, y = FAMILIES[family](rng, n, d), rng.standard_normal(n)
        if method == "taken as σ":
            options = {"sigma": float(np.linalg.norm(y - X @ np.linalg.lstsq(X, y)[0]) / np.sqrt(free))}
        found = sl.inference(X, y, select(X, y, k), rng=seed, **options)
        steps, p = (v[~np.isnan(v)] for v in (found.step_p_value, found.p_value))
        low, high = found.interval[~np.isnan(found.interval[:, 0])].T  # none if BIC chooses k
        misses = np.sum((low > 0) | (high < 0))
        counts += [np.sum(steps < 0.05), len(steps), np.sum(p < 0.05), len(p), misses, len(low)]
    return method, family, selection, free, counts


def cell(counts: Any) -> str:
    """Return the shares of steps and coefficients with p < .05, and of intervals that cover, in percent."""
    with np.errstate(invalid="ignore"):
        steps, coefficients, misses = 100 * counts[::2] / counts[1::2]
    shares = (steps, coefficients, 100 - misses)
    return " / ".join("–" if np.isnan(share) else f"{share:.1f}" for share in shares)


@click.command("python -m proofs_checks.experiments.levels", cls=Alone, context_settings=HELP)
@click.option(
    "--designs", default=250, show_default=True, help="Designs for each method, family, selection and n − d."
)
@click.option("--method", "methods", type=click.Choice([*METHODS]), multiple=True, default=[*METHODS])
@jobs_option
def levels(designs: int, methods: tuple[str, ...], jobs: int) -> None:
    """Measure levels with an estimated σ, and print the table in Markdown."""
    total: dict[tuple[Any, ...], Any] = {}

    def rows() -> Iterator[tuple[str, str, str, int]]:
        for method, family, selection in itertools.product(methods, FAMILIES, SELECTIONS):
            for free in MANY if method == "randomized" else DEGREES:
                yield method, family, selection, free

    def tasks() -> Iterator[Job]:
        for row, start in itertools.product(rows(), range(0, designs, CHUNK)):
            yield run, (*row, range(start, min(start + CHUNK, designs)))

    def take(found: tuple[Any, ...]) -> tuple[int, str]:
        key = found[0], found[1], found[3]
        total[key] = total.get(key, 0) + found[4]
        return 1, found[0]

    console = Console()
    stopped = watch(console, "chunks", sum(1 for _ in tasks()), run_jobs(tasks(), jobs), take)
    columns = sorted({free for _, _, free in total})
    lines = [
        ["method", "columns of X", *(f"n − d = {free}" for free in columns)],
        ["---"] * (len(columns) + 2),
    ]
    for method, family in itertools.product(methods, FAMILIES):
        found = (total.get((method, family, free)) for free in columns)
        lines.append([method, family, *("" if counts is None else cell(counts) for counts in found)])
    for line in lines:
        console.print(f"| {' | '.join(line)} |", highlight=False, soft_wrap=True)
    raise SystemExit(130 if stopped else 0)


if __name__ == "__main__":
    levels(prog_name=levels.name)
