"""A feature on the path of a greedy method."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin.explanations import words
from sparselin.explanations.standing import Course, Entry, Standing, explanation, standing
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure, tied_at_maximum
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.results import Explanation, FloatArray, IndexArray, SelectionPath, SubsetResult
from sparselin.results.display import listed, many


class Choice(NamedTuple):
    """How a pick won: what was compared, in words; the runner-up, −1 without one; T without the pick."""

    compared: str = ""
    runner_up: int = -1
    tied: tuple[int, ...] = ()


def on_selection(problem: Problem, path: SelectionPath, j: int) -> Explanation:
    """The explanation of feature j, the problem having been found to be that of the path."""
    step, given, forced = place_on(path, j)
    correlation, error = (values[: len(given) + 1] for values in _followed(problem, path, j))
    at, choice = standing(problem, given, j), Choice()
    if step and not forced:
        level, choice = path.lam_star[:step].astype(np.float64), _choice(problem, path, given, step)
    else:
        last = math.nan if forced else _next_level(problem, given, path.positive)
        level = np.append(path.lam_star[: len(given)].astype(np.float64), last)
    added = _gained(path, at, float(correlation[-1]))
    return explain_pick(path, j, Course(correlation, error, level), choice, at, added, problem.dtype)


def place_on(path: SelectionPath, j: int) -> tuple[int, IndexArray, bool]:
    """Return the step of j (0 if it was not selected), the features before it, and whether it was forced."""
    place = np.flatnonzero(path.support == j)
    step = int(place[0]) + 1 if len(place) else 0
    return step, path.support[: step - 1 if step else None], bool(step and np.isnan(path.lam_star[step - 1]))


def explain_pick(
    path: SelectionPath, j: int, course: Course, choice: Choice, at: Standing, added: str, dtype: Any
) -> Explanation:
    """Return the explanation of feature j. `added` says what adding it would do, if it was not selected."""
    step, given, forced = place_on(path, j)
    fall = _fell_at(course.correlation, course.error)
    if forced:
        text = _forced_in(path, step, at)
    else:
        text = _entered(path, step, choice, at) if step else _not_selected(path, j, course, fall, at, added)
    margin = float(path.margin[step - 1]) if step else math.nan
    entry = Entry(step, forced, choice.runner_up, margin, choice.tied, fall)
    return explanation(path, j, "selection", given.copy(), at, entry, course, dtype, text)


def _fell_at(correlation: FloatArray, error: FloatArray) -> int:
    """The step at which it fell most; 0 if it never fell, to rounding."""
    falls = correlation[:-1] - correlation[1:]
    fall = int(np.argmax(falls)) if len(falls) else 0
    return fall + 1 if len(falls) and falls[fall] > error[fall] + error[fall + 1] else 0


def _followed(problem: Problem, path: SelectionPath, j: int) -> tuple[FloatArray, FloatArray]:
    """|⟨X_j, r_s⟩|, over β ≥ 0 with its sign, and its error for all s.

    ValueError if a ‖r_s‖, or X_Sβ, is not that of the path.
    Two computed ‖r‖ differ by at most 2·length_unit·s(y), their projections being off by that, and by the
    rounding of the sums, 8·eps·(√n + 1)·‖y‖: with the eps of the path, if it is the larger one. y − X_Sβ
    depends on the lengths of the columns too; it is off by 8·eps·(√n + 1)·(‖y‖ + Σ‖X_i‖|β_i|) in addition.
    """
    J, k = np.array([j]), len(path.support)
    coarse = coarseness(path.coef_path, problem.eps)
    qr = ThinQR(problem, problem.with_ones(path.support[:0]), capacity=k + 2)
    c, error = np.zeros(k + 1), np.zeros(k + 1)
    for s in range(k + 1):
        if s:
            qr.append(int(path.support[s - 1]))
        now = measure(qr, J)
        c[s], error[s] = float(now.c[0]), float(now.coarse * now.error[0])
        slack = coarse * (2 * now.residual_error + problem.rounding() * problem.y_norm)
        if not abs(now.residual_norm - float(path.residual_norm[s])) <= slack:
            raise words.other_data_error(
                f"after {s} features its residual norm is {float(path.residual_norm[s]):.6g}, that of the "
                f"data {now.residual_norm:.6g}",
                "; where `positive` has set coefficients to zero there is no explanation",
            )
    check_coefficients(problem, path, qr.residual(problem.y), slack, coarse * problem.rounding())
    return c if path.positive else np.abs(c), error


def check_coefficients(
    problem: Problem, path: SelectionPath | SubsetResult, r: FloatArray, slack: float, unit: float
) -> None:
    """ValueError if y − X_Sβ is not r, to slack + unit·Σ‖X_i‖|β_i|."""
    S, scale, beta = path.support, problem.design.scale, np.zeros(problem.d, problem.dtype)
    beta[S] = path.coef if scale is None else path.coef / scale[S]
    beta[problem.n_features :] = path.intercept
    off = float(np.linalg.norm(problem.y - problem.predict(beta) - r))
    if not off <= slack + unit * float(np.abs(beta) @ problem.column_norms):
        fit = "least squares on the data, from which X_S·coef is off by"
        raise words.other_data_error(f"its coefficients are not those of {fit} {off:.3g}")


def _next_level(problem: Problem, S: IndexArray, positive: bool) -> float:
    """λ*(S)."""
    rest = np.setdiff1d(np.arange(problem.n_features), S)
    scores = measure(ThinQR(problem, problem.with_ones(S), capacity=len(S) + 1), rest).correlations()
    score = np.maximum(scores.score, 0) if positive else scores.score
    return tied_at_maximum(score, scores.coarse * scores.error)[0]


def _choice(problem: Problem, path: SelectionPath, S: IndexArray, step: int) -> Choice:
    """What was compared when a feature was picked.

    The attention weights, if the path has them; for β ≥ 0 the c_i that are positive. Else the correlations,
    or as orthogonal least squares the quotients |c_i|/‖P_S^⊥X_i‖: a path does not say which, but its margin
    is that of one of these.
    """
    pick, margin = int(path.support[step - 1]), float(path.margin[step - 1])
    rest = np.setdiff1d(np.arange(problem.n_features), S)
    own = rest == pick
    if path.weights:
        compared, score = "attention weight", np.abs(_weights(path, step)[rest]).astype(np.float64)
    else:
        found = measure(ThinQR(problem, problem.with_ones(S), capacity=len(S) + 1), rest)
        c, quotients = found.correlations().score, found.quotients().score
        rules = [("|c|", np.abs(c)), ("|c|/‖P_S^⊥X‖", np.abs(quotients))]
        rules = [("c", np.maximum(c, 0))] if path.positive else rules
        compared, score = min(rules, key=lambda rule: abs(_margin(rule[1], own) - margin))
    score = np.where(own, 0, score)
    second = int(np.argmax(score))
    runner_up = int(rest[second]) if score[second] > 0 and margin < 1 else -1
    return Choice(compared, runner_up, tuple(i for i in path.ties[step - 1] if i != pick))


def _margin(score: FloatArray, own: NDArray[np.bool_]) -> float:
    top = float(score[own][0])
    return max(0.0, top - float(score[~own].max(initial=0))) / top if top > 0 else math.inf


def _weights(path: SelectionPath, step: int) -> FloatArray:
    """The attention weights (d,) at a step; forced features have none."""
    return path.weights[step - 1 - int(np.isnan(path.lam_star).sum())]


def _entered(path: SelectionPath, step: int, choice: Choice, at: Standing) -> str:
    pick, margin, compared = int(path.support[step - 1]), float(path.margin[step - 1]), choice.compared
    second = path.name_of(choice.runner_up) if choice.runner_up >= 0 else ""
    level = f"{words.size(path)} = {float(path.lam_star[step - 1]):.4g}"
    if path.weights:
        why = f"with the largest attention weight, {abs(float(_weights(path, step)[pick])):.4g}"
        why += f", before {second}" if second else ""
    elif choice.tied:
        T = listed([path.name_of(i) for i in sorted((pick, *choice.tied))])
        why = f"in a tie: the {compared} of {T} agree to rounding ({level}), and {_first(path, step)}"
    else:
        why = f"with the largest {level if compared == words.size(path) else f'{compared} ({level})'}"
        why += f", {second} having {words.percent(margin)} less" if second else ""
        why += f", no other feature being {words.correlated(path)}" if margin == 1 else ""
    return f"{path.name_of(pick)} entered at step {step} of {len(path.support)} {why}; {words.rise(at)}."


def _first(path: SelectionPath, step: int) -> str:
    """Why a pick won a tie: by its index, or being in A(S) at all."""
    name, A = path.name_of(int(path.support[step - 1])), path.active_sets[step - 1]
    if not A or set(A) == set(path.ties[step - 1]):
        return f"{name} has the lowest index of them"
    if len(A) == 1:
        return f"{name} alone becomes nonzero in the LASSO"
    members = listed([path.name_of(i) for i in A])
    return f"{name} is the first of {members}, which alone become nonzero in the LASSO"


def _forced_in(path: SelectionPath, step: int, at: Standing) -> str:
    begin = f"{path.name_of(int(path.support[step - 1]))} was forced, in S from the start as feature {step}"
    return f"{begin}; {words.without_effect(path, at, 'those before it') or f'{words.rise(at)} by it'}."


def _not_selected(path: SelectionPath, j: int, course: Course, fall: int, at: Standing, added: str) -> str:
    k, begin = len(path.support), f"{path.name_of(j)} was not selected"
    picks = [path.name_of(int(i)) for i in path.support]
    if at.vanishes:
        return f"{begin}: it is {words.zero(path)} to rounding, and no such column ever is."
    if not k:
        return f"{begin}, as no feature was: {path.status.message}."
    parts = [_correlations(path, course)]
    if fall:
        parts.append(f"it fell most at step {fall}, when {picks[fall - 1]} entered")
    ties = [s for s, T in enumerate(path.ties) if j in T]
    if ties:
        parts.append(f"it was tied with {picks[ties[0]]}, which was picked, at step {ties[0] + 1}")
    parts += [words.determined(path, path.support, at, path.with_intercept), added]
    return words.sentence(f"{begin} in {many(k, 'step')}", parts)


def _gained(path: SelectionPath, at: Standing, c: float) -> str:
    """What j would add. Nonnegative least squares on S ∪ j: nothing if c ≤ 0, else at most what least squares
    does, as on S the two agree."""
    if path.positive and at.gain > 0:
        return words.addition(at, most="at most ") if c > 0 else "with β ≥ 0 adding it now would not raise R²"
    return words.addition(at)


def _correlations(path: SelectionPath, course: Course) -> str:
    """|c|, over β ≥ 0 c, at the first pick, where it came closest to a pick's, and now, relative to these."""
    correlation, error, level = course
    k, parts = len(path.support), []
    picks = np.flatnonzero(level[:k] > 0)
    if len(picks):
        ratio = np.zeros(k)
        ratio[picks] = correlation[picks] / level[picks]
        first, closest = int(picks[0]), int(np.argmax(ratio))
        whose = [f"{path.name_of(int(i))}'s at step {s + 1}" for s, i in enumerate(path.support)]
        negative = f"was negative at step {first + 1}"
        parts.append(negative if ratio[first] < 0 else f"was {words.relative(ratio[first], whose[first])}")
        compared = not path.weights and not (correlation[picks] > level[picks] + 2 * error[picks]).any()
        if compared and closest != first and ratio[closest] > 0:
            parts.append(f"came closest to {whose[closest]} ({words.percent(ratio[closest])})")
    if correlation[k] < -error[k]:
        parts.append("is negative now")
    elif correlation[k] <= error[k]:
        parts.append("is zero to rounding now")
    elif correlation[k] >= level[k] - error[k]:
        parts.append("is the largest of those left now")
    else:
        parts.append(f"is {words.relative(correlation[k] / level[k], 'the largest left now')}")
    *before, now = parts
    return f"its {words.size(path)} {', '.join(before)}{', and ' if before else ''}{now}"
