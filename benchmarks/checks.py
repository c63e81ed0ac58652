"""Checks that the answers are right: one for each kind of job. Each returns an Outcome."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks import textbook
from benchmarks.contest import Data, Entrant, Outcome
from benchmarks.designs import cache

Answers = Mapping[Entrant, Any]


def selects_like_omp(ours: Entrant, data: Data, answers: Answers, eps: float = 2.0**-52) -> Outcome:
    """Check that the support is the textbook's, in order, and the residual norm that of a new least squares.

    If correlations agree up to rounding, each of these features is a right pick; the error of a correlation
    is 8·eps·(√n + κ)·‖X_j‖‖y‖, as the package documents. If the supports differ, the textbook's scores along
    our support are compared.
    """
    expected = cache(data, "textbook_omp", lambda: textbook.omp(data.X, data.y, data.k)[0])
    return _selection(data, answers[ours], expected, textbook.omp, eps, 1)


def selects_like_standardized_omp(ours: Entrant, data: Data, answers: Answers, eps: float) -> Outcome:
    """Check a selection as `selects_like_omp` does, on centred and standardized columns in float64."""
    Z, y = data.X.astype(np.float64), data.y.astype(np.float64)
    Z -= Z.mean(axis=0)
    Z /= np.sqrt(np.einsum("ij,ij->j", Z, Z) / len(Z))
    design = Data(X=Z, y=y - y.mean(), k=data.k)
    return _selection(design, answers[ours], textbook.omp(Z, design.y, data.k)[0], textbook.omp, eps, 1)


def selects_groups(ours: Entrant, data: Data, answers: Answers) -> Outcome:
    """Check that the groups are the textbook's, in order, and the residual norm, to 1e-10 of ‖y‖."""
    order, r = textbook.group_omp(data.X, data.y, data.k, data.groups)
    path = answers[ours]
    alike = sum(a == b for a, b in zip(path.order.tolist(), order, strict=False))
    error = abs(float(path.residual_norm[-1] - np.linalg.norm(r)) / np.linalg.norm(data.y))
    right = path.order.tolist() == order and error <= 1e-10
    return Outcome(bool(right), f"{alike} of {data.k} groups as textbook, ‖r‖ to {error:.0e}")


def coefficients(ours: Entrant, data: Data, answers: Answers, other: Entrant) -> Outcome:
    """Check that the coefficients of our estimator are those of the other entrant, if that one ran."""
    if other not in answers:
        return Outcome(True, f"{other.name} did not run")
    a, b = answers[ours].coef_, answers[other]
    b = b.coef_ if hasattr(b, "coef_") else b.dense_coef()
    error = float(np.abs(a - b).max() / np.abs(b).max())
    return Outcome(error <= 1e-9, f"coefficients to {error:.0e}")


def selects_like_ols(ours: Entrant, data: Data, answers: Answers, eps: float = 2.0**-52) -> Outcome:
    """Check orthogonal least squares as `selects_like_omp` checks OMP.

    The division by ‖P_S^⊥X_j‖ ≥ ‖X_j‖/κ adds a factor κ to the error.
    """
    expected = cache(data, "textbook_ols", lambda: textbook.ols(data.X, data.y, data.k)[0])
    return _selection(data, answers[ours], expected, textbook.ols, eps, 2)


def selects_of_each_like_ols(ours: Entrant, data: Data, answers: Answers, other: Entrant) -> Outcome:
    """Check that on each design our set is the textbook's and exactly independent.

    The text also counts the other entrant's sets that are dependent or too small.
    """
    right = 0
    for (X, y, k), path in zip(data.each, answers[ours], strict=True):
        design = Data(X=X - X.mean(axis=0), y=y - y.mean(), k=k)
        expected = textbook.ols(design.X, design.y, k)[0]
        alike = _selection(design, path, expected, textbook.ols, 2.0**-52, 2).right
        right += alike and not _dependent(X, path.support.tolist(), k)
    text = f"{right} of {len(data.each)} as textbook and independent"
    if other in answers:
        pairs = zip(data.each, answers[other], strict=True)
        wrong = sum(_dependent(X, S, k) for (X, _, k), S in pairs)
        text += f", {other.name} dependent or too small on {wrong}"
    return Outcome(right == len(data.each), text)


def _dependent(X: np.ndarray, S: list[int], k: int) -> bool:
    """Return whether the integer columns S are fewer than k, or dependent together with a column of ones."""
    return len(S) < k or textbook.rank_with_ones(X[:, S]) < len(S)


def _selection(
    data: Data, path: Any, expected: list[int], rule: Callable[..., Any], eps: float, power: int
) -> Outcome:
    """Compare a selection with the expected support.

    If they differ, textbook scores decide: `rule` returns how far each of our picks is below the best score.
    The error bound of a score grows with κ to the `power`.
    """
    support, k = path.support.tolist(), data.k
    if len(support) != k or len(set(support)) != k:
        return Outcome(False, f"{len(set(support))} of {k} features ({path.status.name})")
    size = float(np.linalg.norm(data.y))
    exact = cache(data, f"residual {support}", lambda: textbook.residual(data.X, data.y, support))
    error = abs(float(path.residual_norm[-1] - np.linalg.norm(exact))) / size
    # 1e-10 in float64, and the precision of float32
    precise, text = bool(error <= max(1e-10, 100 * eps)), f"‖r‖ to {error:.0e}"
    if support == expected:
        return Outcome(precise, f"support as textbook, {text}")
    X_S = textbook.columns(data.X, support)
    lengths = np.linalg.norm(X_S, axis=0)
    kappa = float(np.linalg.cond(X_S / lengths))
    bound = 16 * eps * (np.sqrt(len(data.y)) + kappa) * lengths.max() * size * kappa ** (power - 1)
    gaps = rule(data.X, data.y, k, support)[1]
    step = next(t for t, (a, b) in enumerate(zip(support, expected, strict=True)) if a != b)
    if (gaps <= bound).all():
        return Outcome(precise, f"support as textbook up to a tie within rounding at step {step}, {text}")
    times = gaps.max() / bound
    return Outcome(False, f"pick {int(np.argmax(gaps))} is {times:.1g} error bounds below the best, {text}")


def best_subset(ours: Entrant, data: Data, answers: Answers, other: Entrant) -> Outcome:
    """Check that the subset is proved optimal, its residual is right, and the other's subset is no better."""
    best, size = answers[ours], float(data.y @ data.y)

    def square(support: np.ndarray) -> float:
        r = textbook.residual(data.X, data.y, list(support))
        return float(r @ r)

    error = abs(best.residual - square(best.support)) / size
    text = f"{best.nodes} nodes, residual to {error:.0e}" if best.optimal else f"gap {best.gap:.1e}"
    right = best.optimal and error <= 1e-10 and len(best.support) <= data.k
    if other in answers:
        behind = (square(np.flatnonzero(answers[other].coef_)) - best.residual) / size
        text += f", {other.name} {behind:+.1e} of ‖y‖² above"
        right = right and behind >= -1e-10
    return Outcome(bool(right), text)


def maximizes(
    ours: Entrant,
    data: Data,
    answers: Answers,
    h: Callable[[np.ndarray], np.ndarray],
    others: tuple[Entrant, ...] = (),
) -> Outcome:
    """Check at some steps that the pick has the largest Σ h(λ_i(C_{S+x})) of all x, from their eigenvalues.

    The selections of other entrants are compared by their value. At the first step all unit columns are tied.
    """

    def value(C: np.ndarray, S: list[int]) -> float:
        return float(h(np.maximum(np.linalg.eigvalsh(C[np.ix_(S, S)]), 0)).sum())

    C, support = data.C, answers[ours].support.tolist()
    if len(set(support)) != data.k:
        return Outcome(False, f"{len(set(support))} of {data.k} features")
    steps = sorted({0, data.k // 8, data.k // 2, data.k - 1})
    short = 0.0
    for t in steps:
        values = {x: value(C, [*support[:t], x]) for x in range(len(C)) if x not in support[:t]}
        short = max(short, max(values.values()) - values[support[t]])
    size = abs(value(C, support))
    error = abs(answers[ours].value - value(C, support))
    right = max(short, error) <= 1e-9 * max(1.0, size)
    text = f"{len(steps)} of {data.k} picks within {short:.0e} of the best, value to {error:.0e}"
    for entrant in others:
        if entrant in answers:
            more = value(C, answers[entrant]) - value(C, support)
            text += f", {entrant.name} reaches {more:+.1e} more"
    return Outcome(right, text)


def batch(ours: Entrant, data: Data, answers: Answers, sample: int = 100) -> Outcome:
    """Check supports and residuals of `sample` evenly spread signals of a batch against the textbook's."""
    found = answers[ours]
    signals = np.unique(np.linspace(0, data.Y.shape[1] - 1, sample).astype(int))
    wrong, worst = 0, 0.0
    for i in signals:
        y = data.Y[:, i]
        support = found.support[i][: found.n_selected[i]].tolist()
        wrong += support != textbook.omp(data.D, y, data.k)[0]
        fit = data.D[:, support] @ found.coef[i][: found.n_selected[i]]
        lost = np.linalg.norm(y - fit - textbook.residual(data.D, y, support)) / np.linalg.norm(y)
        worst = max(worst, float(lost))
    text = f"{len(signals) - wrong} of {len(signals)} supports as textbook, residuals to {worst:.0e}"
    return Outcome(wrong == 0 and worst <= 1e-10, text)


def knots(ours: Entrant, data: Data, answers: Answers, bound: float = 1e-9) -> Outcome:
    """Check the KKT conditions on all columns at every knot, and that the knots decrease and are complete."""
    path = answers[ours]
    violation = textbook.lasso_kkt(data.X, data.y, path.knots, np.asarray(path.coef))
    long_enough = path.knots[-1] == 0 if data.steps is None else len(path.knots) == data.steps + 1
    text = f"{len(path.knots)} knots, KKT to {violation:.0e}"
    right = violation <= bound and bool(np.all(np.diff(path.knots) < 0)) and long_enough
    return Outcome(right, text if long_enough else f"{text}, ended {path.status.name}")


def flow(ours: Entrant, data: Data, answers: Answers, bound: float = 1e-9) -> Outcome:
    """Check the subgradient condition of the flow on all columns at every event, and the number of events."""
    path = answers[ours]
    violation = textbook.flow_violation(data.X, data.y, path.tau, path.coef)
    right = violation <= bound and bool(np.all(np.diff(path.tau) > 0)) and len(path) == data.steps
    return Outcome(right, f"{len(path)} events, s to {violation:.0e}")


def projections(ours: Entrant, data: Data, answers: Answers, bound: float = 1e-12) -> Outcome:
    """Check that ‖u − u_exact‖/‖v‖ is within the bound for ours; the KKT conditions prove u_exact.

    The text gives the errors of all entrants.
    """
    coef = np.asarray(answers[ours].coef)
    exact, proved = textbook.projection(data.X, data.v, data.lam, data.S, coef)
    errors = {
        entrant: float(np.linalg.norm(np.asarray(getattr(u, "u", u)) - exact) / np.linalg.norm(data.v))
        for entrant, u in answers.items()
    }
    text = "errors " + ", ".join(f"{entrant.name} {error:.0e}" for entrant, error in errors.items())
    if not proved:
        text += ", the KKT conditions do not prove our active set"
    return Outcome(proved and errors[ours] <= bound, f"{len(answers[ours].active)} active, {text}")
