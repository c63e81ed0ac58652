"""The experiment on sparse polynomial chaos: the error of our estimators divided by that of `LassoLarsCV`.

`python -m proofs_checks.experiments.chaos` draws 50, 100, 200 and 400 rows, uniform on [−1, 1]^d, with 20
seeds. The functions are Ishigami's (a = 7, b = 0.1), Sobol's g with a = (1, 2, 5, 10, 20, 50, 100, 500), both
as in Blatman and Sudret (*Adaptive sparse polynomial chaos expansion based on least angle regression*, 2011),
and the borehole function with all inputs uniform on their ranges (Surjanovic and Bingham, *Virtual library of
simulation experiments*). There is no noise.

The columns are products of Legendre polynomials of variance 1. Their degrees α satisfy Σ (α_j/p)^q ≤ 1, as in
`chaospy.generate_expansion(p, …, normed=True, cross_truncation=q)`. All methods get the same columns and fit
without an intercept. The error is ‖f − f̂‖/‖f − mean‖ on 100,000 other rows, the same for all methods and
seeds.

All METHODS run at the middle one of three degrees p. For "adaptive", OURS also runs at the others and takes
the degree with the least error of cross-validation, for each seed. LassoLarsCV then gets the one degree of
the three that is the best for it in hindsight, for each function and number of rows.

The results are in `proofs_checks/chaos_records.json`; docs/guide/chaos.md has the table.
"""

import json
import warnings
from functools import reduce
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.stats import gmean
from sklearn.linear_model import LassoLarsCV

from sparselin.estimators import LassoSelector, OLSRegressor, OLSSelector, OMPSelector
from sparselin.parallel.processes import run_jobs
from sparselin.studies.common.command import HELP, Alone, jobs_option

FILE = Path(__file__).parents[1] / "chaos_records.json"
ROWS, SEEDS, TEST = (50, 100, 200, 400), 20, 100_000


def ishigami(U: Any) -> Any:
    """Return sin x₁ + 7 sin² x₂ + 0.1 x₃⁴ sin x₁ for x = πu."""
    x, y, z = np.pi * U.T
    return np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


def sobol_g(U: Any) -> Any:
    """Return Π (|4x_j − 2| + a_j)/(1 + a_j) for x = (u + 1)/2."""
    a = np.array([1, 2, 5, 10, 20, 50, 100, 500])
    return np.prod((np.abs(2 * U) + a) / (1 + a), axis=1)


def borehole(U: Any) -> Any:
    """Return the flow of water through a borehole, in m³ a year."""
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    rw, r, Tu, Hu, Tl, Hl, L, Kw = (low + (high - low) * (U + 1) / 2).T
    return 2 * np.pi * Tu * (Hu - Hl) / (np.log(r / rw) * (1 + Tu / Tl) + 2 * L * Tu / (rw**2 * Kw))


# name ↦ the function, its d, the exponent q of the truncation, and three degrees p
FUNCTIONS: dict[str, tuple[Any, int, float, tuple[int, ...]]] = {
    "Ishigami": (ishigami, 3, 0.75, (10, 14, 18)),
    "Sobol g": (sobol_g, 8, 0.4, (8, 14, 20)),
    "borehole": (borehole, 8, 0.75, (3, 5, 6)),
}
BASE, OURS = "LassoLarsCV", "OLS, CV"
# name ↦ the estimator for paths of at most k terms
METHODS: dict[str, Any] = {
    BASE: lambda k: LassoLarsCV(fit_intercept=False),
    OURS: lambda k: OLSSelector("cv", cv=10, max_features=k, fit_intercept=False),
    "OMP, CV": lambda k: OMPSelector("cv", cv=10, max_features=k, fit_intercept=False),
    "OLS, LOO": lambda k: OLSRegressor("loo", max_nonzero_coefs=k, fit_intercept=False),
    "OMP, LOO": lambda k: OMPSelector("loo", max_features=k, fit_intercept=False),
    "LASSO, LOO": lambda k: LassoSelector("loo", max_features=k, fit_intercept=False),
}


def exponents(d: int, p: int, q: float) -> Any:
    """Return the degrees α (P, d) with Σ (α_j/p)^q ≤ 1, by their sums."""
    found, most = list[tuple[int, ...]]([()]), p**q * (1 + 1e-9)
    for _ in range(d):
        longer = ((*a, k) for a in found for k in range(p + 1))
        found = [a for a in longer if sum(k**q for k in a) <= most]
    return np.array(sorted(found, key=sum))


def polynomials(U: Any, p: int) -> Any:
    """Return the Legendre polynomials (p + 1, d, n) of degrees 0, …, p, of each input of U (n, d)."""
    return np.moveaxis(legvander(U.T, p), 2, 0)


def columns(single: Any, alpha: Any) -> Any:
    """Return the products (n, P) with degrees α (P, d) of such polynomials, scaled to variance 1."""
    ones = np.ones(single.shape[2])
    terms = [reduce(np.multiply, (single[k, j] for j, k in enumerate(a) if k), ones) for a in alpha]
    return np.transpose(np.sqrt(np.prod(2 * alpha + 1, axis=1))[:, None] * np.reshape(terms, (-1, len(ones))))


def run(name: str, n: int, seed: int) -> tuple[str, int, int, dict[str, float]]:
    """Return the errors of all methods, of the baseline at each degree, and of OURS with its own degree."""
    warnings.simplefilter("ignore")  # the longest path was chosen, and the like
    (f, d, q, degrees), errors, choices = FUNCTIONS[name], dict[str, float](), list[tuple[float, float]]()
    U, V = (np.random.default_rng(s).uniform(-1, 1, (m, d)) for s, m in ((seed, n), (10**6, TEST)))
    truth, (ours, others) = f(V), (polynomials(W, degrees[-1]) for W in (U, V))
    for p in degrees:
        A = columns(ours, alpha := exponents(d, p, q))
        for method in METHODS if p == degrees[1] else (BASE, OURS):
            model = METHODS[method](min(n // 2, len(alpha))).fit(A, f(U))
            S = np.flatnonzero(model.coef_)
            distance = np.linalg.norm(truth - columns(others, alpha[S]) @ model.coef_[S])
            error = float(f"{distance / np.linalg.norm(truth - truth.mean()):.4g}")
            errors[method if p == degrees[1] else f"{method}, p = {p}"] = error
            if method == OURS:
                choices.append((float(model.cross_validation_.error.min()), error))
    return name, n, seed, errors | {"adaptive": min(choices)[1]}


def ratios(draws: list[dict[str, float]]) -> dict[str, Any]:
    """Return our errors divided by those of LassoLarsCV, (seeds,) for each method and for "adaptive"."""
    errors = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
    best = min((errors[key] for key in errors if key.split(", p")[0] == BASE), key=gmean)
    found = {key: errors[key] / errors[BASE] for key in METHODS if key != BASE}
    return found | {"adaptive": errors["adaptive"] / best}


def table(record: dict[str, Any]) -> list[str]:
    """Return the lines of the table of the page, in Markdown: geometric means of ratios, and lost seeds."""
    lines = []
    for name, sizes in record.items():
        found = [ratios(draws) for draws in sizes.values()]
        found.append({key: np.concatenate([at[key] for at in found]) for key in found[0]})
        for n, at in zip([*sizes, "all"], found, strict=True):
            means = " | ".join(f"{gmean(values):.3g}" for values in at.values())
            lost = " ".join(map(str, np.flatnonzero(at[OURS] > 1))) or "none"
            lines.append(f"| {name} | {n} | {means} | {lost if n != 'all' else ''} |")
    return lines


@click.command("python -m proofs_checks.experiments.chaos", cls=Alone, context_settings=HELP)
@click.option("--quick", is_flag=True, help="Two seeds, and 50 rows only.")
@click.option("--output", type=click.Path(path_type=Path), default=FILE, help="The file of the record.")
@jobs_option
def chaos(quick: bool, output: Path, jobs: int) -> None:
    """Measure the errors of sparse polynomial chaos, store them, and print the table."""
    seeds, sizes = (2, ROWS[:1]) if quick else (SEEDS, ROWS)
    record: Any = {name: {str(n): [None] * seeds for n in sizes} for name in FUNCTIONS}
    tasks = [(run, (name, n, i)) for n in sizes for name in FUNCTIONS for i in range(seeds)]
    for name, n, i, errors in run_jobs(iter(tasks), jobs):
        record[name][str(n)][i] = errors
    click.echo("\n".join(table(record)))
    lines = ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in record.items())
    output.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    chaos(prog_name=chaos.name)
