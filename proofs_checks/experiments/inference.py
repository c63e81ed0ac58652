"""The experiment on inference after selection: are p-values uniform, and what do the intervals cover?

`python -m proofs_checks.experiments.inference` draws designs with N = 100 rows and D = 50 columns and the
response y = μ + ε, and selects K features with each method. The columns are normal and independent; in one
case columns i and j have the correlation 0.8^|i − j|. Either μ = 0, or μ = Xβ with β = ±b in the first five
features, 0 elsewhere, and ‖μ‖² = SNR·N·σ² for an SNR of 1 or 5; σ = 1. Half of the designs have μ = 0, a
quarter each SNR. All cases see the same random numbers.

- The p-value of a step is uniform if ηᵀμ = 0, that is, if μ = 0 or if all true features were selected before.
  The p-value of a coefficient is uniform if the last model S holds all true features and j is none of them.
- An interval is for (X_S⁺μ)_j. The experiment also counts how often it covers β_j, which is not promised.
- "Naive" are the values of least squares on the selected features, as if they had been chosen before.
- ForwardStop at q = 0.1: the mean share of false features among the steps that it keeps.

The results are in `proofs_checks/inference_records.json`; docs/guide/inference.md has the table.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from scipy import stats

import sparselin as sl
from sparselin.parallel.processes import Job, run_jobs
from sparselin.studies.common.command import HELP, Alone, jobs_option, watch

FILE = Path(__file__).parents[1] / "inference_records.json"
N, D, K, Q = 100, 50, 7, 0.1
SNR = {"0": 0.0, "1": 1.0, "5": 5.0}
CHUNK, BINS = 50, 20


class Case(NamedTuple):
    """A method under an assumption: its path and the options of `inference`, and the columns and the noise.

    heavy : whether the noise has Student's t-distribution with 3 degrees of freedom, scaled to σ = 1.
    few : whether a fifth of the designs is enough, because the case is only reported.
    """

    words: str
    path: Callable[..., Any] = sl.omp
    sigma: Any = 1.0
    k: Any = None
    correlation: float = 0.0
    heavy: bool = False
    few: bool = False

    @property
    def approximate(self) -> bool:
        """True for noise that is not Gaussian, and for σ estimated, where a test is small by chance."""
        return self.heavy or self.sigma == "full"


CASES = {
    "omp": Case(words="OMP"),
    "ols": Case(words="OLS", path=sl.ols),
    "lasso": Case(words="LASSO path", path=lambda X, y, k: sl.lasso_path(X, y, max_steps=k)),
    "bic": Case(words="OMP, k by BIC", k="bic"),
    "ebic": Case(words="OMP, k by EBIC", k="ebic", few=True),
    "unknown": Case(words="OMP, σ unknown", sigma="unknown"),
    "full": Case(words="OMP, σ estimated", sigma="full", few=True),
    "heavy": Case(words="OMP, t₃ noise", heavy=True, few=True),
    "correlated": Case(words="OMP, correlated columns", correlation=0.8, few=True),
}
# the columns of the rows of coefficients
COLUMNS = ("at", "p", "null", "true", "covers", "beta", "naive", "outside", "length", "naive_p", "design")


def draw(case: Case, snr: str, i: int) -> tuple[Any, Any, Any, Any]:
    """Return X, y, μ and β of design i."""
    rng = np.random.default_rng((list(SNR).index(snr), i))
    C = case.correlation ** np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    X = rng.standard_normal((N, D)) @ np.linalg.cholesky(C).T
    beta = np.zeros(D)
    beta[:5] = rng.choice([-1.0, 1.0], 5)
    beta *= np.sqrt(SNR[snr] * N) / np.linalg.norm(X @ beta)
    noise = rng.standard_t(3, N) / np.sqrt(3) if case.heavy else rng.standard_normal(N)
    return X, X @ beta + noise, X @ beta, beta


def run(name: str, snr: str, start: int, stop: int) -> tuple[str, str, list[list[Any]]]:
    """Run a case on designs start, …, stop − 1; return the rows of steps, coefficients and ForwardStop."""
    case, steps, coefficients, stops = CASES[name], list[Any](), list[Any](), list[Any]()
    for i in range(start, stop):
        X, y, mu, beta = draw(case, snr, i)
        true = set(np.flatnonzero(beta).tolist())
        found = sl.inference(X, y, case.path(X, y, K), sigma=case.sigma, k=case.k)
        picks, entering = found.support.tolist(), np.flatnonzero(~np.isnan(found.step_p_value)).tolist()
        for t in entering:
            null = true <= set(picks[:t]) and not found.leaves[:t].any()
            steps.append((t + 1, found.step_p_value[t], null))
        kept = entering[: found.forward_stop(Q)]
        stops.append(sum(picks[t] not in true for t in kept) / max(len(kept), 1))
        rows = np.flatnonzero(~np.isnan(found.estimate))
        S, estimate, (low, high) = found.support[rows], found.estimate[rows], found.interval[rows].T
        inverse = np.linalg.pinv(X[:, S])
        error, target, genuine = np.linalg.norm(inverse, axis=1) * found.sigma, inverse @ mu, beta[S] != 0
        half = stats.norm.ppf((1 + found.level) / 2) * error
        coefficients += np.column_stack(
            [
                rows + 1,
                found.p_value[rows],
                ~genuine & (true <= set(S.tolist())),
                genuine,
                (low <= target) & (target <= high),
                (low <= beta[S]) & (beta[S] <= high),
                np.abs(estimate - target) <= half,
                (estimate < low) | (high < estimate),
                (high - low) / half / 2,
                2 * stats.norm.sf(np.abs(estimate) / error),
                np.full(len(S), i),
            ]
        ).tolist()
    return name, snr, [steps, coefficients, stops]


def uniform(rows: Any) -> dict[str, float]:
    """Test for each position that p is uniform where ηᵀμ = 0; the rows begin with position, p and null."""
    samples = {str(at): [p for t, p, null, *_ in rows if t == at and null] for at in range(1, K + 1)}
    return {at: float(f"{stats.kstest(p, 'uniform').pvalue:.3g}") for at, p in samples.items() if len(p) > 99}


def summarize(parts: list[list[list[Any]]]) -> dict[str, Any]:
    """Return the record of a case at one SNR from the rows of its chunks."""
    steps, rows, stops = (list(itertools.chain.from_iterable(part)) for part in zip(*parts, strict=True))
    record = {"designs": len(stops), "coefficients": len(rows), "forward_stop": np.mean(stops)}
    record |= {"ks_steps": uniform(steps), "ks_coefficients": uniform(rows)}
    of = dict(zip(COLUMNS, np.array(rows, float).reshape(-1, len(COLUMNS)).T, strict=True))
    if of["true"].any():
        record["power"] = np.mean(of["p"][of["true"] == 1] < 0.05)
    if rows and not np.isnan(of["length"]).any():
        record |= {key: np.mean(of[key]) for key in ("covers", "beta", "naive", "outside")}
        misses, sizes = (np.bincount(of["design"].astype(int), w) for w in (1 - of["covers"], None))
        record["error"] = np.sqrt(np.sum((misses - sizes * (1 - record["covers"])) ** 2)) / len(rows)
        record |= {f"length_{q}": np.quantile(of["length"], q / 100) for q in (50, 90)}
        record["naive_below"] = np.mean(of["naive_p"] < 0.05)
        for key in ("p", "naive_p"):
            record[f"{key}_counts"] = np.histogram(of[key], BINS, (0, 1))[0].tolist()
    return {key: float(f"{v:.4g}") if isinstance(v, float) else v for key, v in record.items()}


def table(cases: dict[str, Any]) -> list[str]:
    """Return the lines of the table of the page, in Markdown. A cell has a number for each SNR."""
    form = dict.fromkeys(("covers", "beta", "naive", "outside", "forward_stop"), "{:.1%}")
    form |= dict.fromkeys(("length_50", "length_90"), "{:.1f}")
    lines = []
    for name, by_snr in cases.items():
        found = [by_snr[snr] for snr in SNR]
        cells = [" / ".join(form[key].format(at.get(key, np.nan)) for at in found) for key in form]
        tests = [p for at in found for key in ("ks_steps", "ks_coefficients") for p in at[key].values()]
        cells = [CASES[name].words, *cells, f"{min(tests, default=np.nan):.2g}"]
        lines.append(f"| {' | '.join(cells)} |".replace("%", ""))
    return [re.sub(r"nan( / nan)+", "–", line) for line in lines]


@click.command("python -m proofs_checks.experiments.inference", cls=Alone, context_settings=HELP)
@click.option("--designs", default=10_000, show_default=True, help="Designs with μ = 0, and with μ = Xβ.")
@click.option("--case", "names", type=click.Choice([*CASES]), multiple=True, default=[*CASES])
@click.option("--output", type=click.Path(path_type=Path), default=FILE, help="The file of the record.")
@jobs_option
def inference(designs: int, names: tuple[str, ...], output: Path, jobs: int) -> None:
    """Measure p-values, coverage and lengths after selection, store them, and print the table.

    The record keeps its other cases. After Ctrl-C a case has the designs that were finished.
    """
    console = Console()
    parts: dict[tuple[str, str], list[Any]] = {(name, snr): [] for name in names for snr in SNR}

    def tasks() -> Iterator[Job]:
        for start, (name, snr) in itertools.product(range(0, designs, CHUNK), parts):
            count = designs // (2 if SNR[snr] else 1) // (5 if CASES[name].few else 1)
            if start < count:
                yield run, (name, snr, start, min(start + CHUNK, count))

    def take(found: tuple[str, str, list[Any]]) -> tuple[int, str]:
        parts[found[:2]].append(found[2])
        return 1, CASES[found[0]].words

    stopped = watch(console, "chunks", sum(1 for _ in tasks()), run_jobs(tasks(), jobs), take)
    record = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    record |= {name: {snr: summarize(parts[name, snr]) for snr in SNR} for name in names}
    console.print(*table(record), sep="\n", soft_wrap=True, highlight=False)
    lines = ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in record.items())
    output.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    raise SystemExit(130 if stopped else 0)


if __name__ == "__main__":
    inference(prog_name=inference.name)
