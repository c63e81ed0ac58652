"""Explanations on a path of a greedy method."""

import math
from typing import NamedTuple

import numpy as np

from sparselin.explanations import words
from sparselin.explanations.standing import Course, Entry, Standing, explanation, standing
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure, tied_at_maximum
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.problem.paths import other_data
from sparselin.results import Explanation, FloatArray, IndexArray, SelectionPath, SubsetResult
from sparselin.results.display import join_words, plural


class Rivals(NamedTuple):
    """The comparison by which a feature was picked at one step: the quantity compared, and its rivals.

    Attributes
    ----------
    compared : the name of the quantity that was compared.
    runner_up : the feature with the second largest value of this quantity, −1 if there is none.
    tied : the features tied with the pick.
    """

    compared: str = ""
    runner_up: int = -1
    tied: tuple[int, ...] = ()


def explain_on_selection_path(problem: Problem, path: SelectionPath, j: int) -> Explanation:
    """Explain when and why feature j entered a greedy path, or why it did not.

    Raises ValueError if the path was not computed from this problem.
    """
    step, given, forced = place_on(path, j)
    correlation, error = (values[: len(given) + 1] for values in _correlation_course(problem, path, j))
    at = standing(problem, given, j)
    level = path.lam_star[: step or None].astype(np.float64)
    if not step:
        level = np.append(level, _next_level(problem, given, path.positive))
    rivals = _rivals(problem, path, given, step) if step and not forced else Rivals()
    added = _describe_addition(path, at, float(correlation[-1]))
    return explain_pick(path, j, Course(correlation, error, level), rivals, at, added)


def place_on(path: SelectionPath, j: int) -> tuple[int, IndexArray, bool]:
    """Return the step of j (0 if it was not selected), the features before j, and whether j was forced."""
    place = np.flatnonzero(path.support == j)
    step = int(place[0]) + 1 if len(place) else 0
    return step, path.support[: step - 1 if step else None], bool(step and np.isnan(path.lam_star[step - 1]))


def explain_pick(
    path: SelectionPath, j: int, course: Course, rivals: Rivals, at: Standing, added: str
) -> Explanation:
    """Write the sentence for feature j, and assemble its explanation.

    at : the `Standing` of j relative to the features before it.
    added : for a feature that was not selected, the part of the sentence on the gain in R² if j were added.
    """
    step, given, forced = place_on(path, j)
    margin = float(path.margin[step - 1]) if step else math.nan
    fall = _largest_fall(course.correlation, course.error)
    entry = Entry(
        step=step, forced=forced, runner_up=rivals.runner_up, margin=margin, tied=rivals.tied, fall=fall
    )
    if forced:
        text = _describe_forced_feature(path, step, at)
    elif step:
        text = _describe_entry(path, entry, rivals.compared, at)
    else:
        text = _describe_omission(path, j, course, fall, at, added)
    return explanation(path, j, "selection", given.copy(), at, entry, course, text)


def _largest_fall(correlation: FloatArray, error: FloatArray) -> int:
    """Return the step at which the correlation decreased most, or 0 if it never decreased beyond rounding."""
    falls = correlation[:-1] - correlation[1:]
    fall = int(np.argmax(falls)) if len(falls) else 0
    return fall + 1 if len(falls) and falls[fall] > error[fall] + error[fall + 1] else 0


def _correlation_course(problem: Problem, path: SelectionPath, j: int) -> tuple[FloatArray, FloatArray]:
    """Return |⟨X_j, r_s⟩| for the residual r_s after each step s, and bounds on its errors.

    On a path over β ≥ 0 the result is ⟨X_j, r_s⟩ itself. Raises ValueError if some ‖r_s‖, or the fit X_Sβ on
    the selected features S, differs by more than rounding from the value in the path. Two computed values of
    ‖r‖ differ by at most 2·length_unit·s(y), the error of their projections, plus the rounding of the sums,
    8·eps·(√n + 1)·‖y‖. Here s(y) is the size of y (`ThinQR.sizes`), and eps is the larger of the eps of the
    path and the eps of the problem. y − X_Sβ also depends on the lengths of the columns, so it has an
    additional error of 8·eps·(√n + 1)·(‖y‖ + Σ‖X_i‖|β_i|).
    """
    J = np.array([j])
    k = len(path.support)
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
            raise other_data(
                f"after {s} features its residual norm is {float(path.residual_norm[s]):.6g}, that of the "
                f"data is {now.residual_norm:.6g}",
                ". If `positive=True` set a coefficient to zero, the path has no explanation",
            )
    check_coefficients(problem, path, qr.residual(problem.y), slack, coarse * problem.rounding())
    return c if path.positive else np.abs(c), error


def check_coefficients(
    problem: Problem, path: SelectionPath | SubsetResult, r: FloatArray, slack: float, unit: float
) -> None:
    """Raise ValueError if the coefficients β of a path or set are not those of least squares on the data.

    r : the residual of least squares on the selected columns X_S. The norm of (y − X_Sβ) − r may be at most
        slack + unit·Σ‖X_i‖|β_i|.
    """
    S = path.support
    scale = problem.design.scale
    beta = np.zeros(problem.d, problem.dtype)
    beta[S] = path.coef if scale is None else path.coef / scale[S]
    beta[problem.n_features :] = path.intercept
    off = float(np.linalg.norm(problem.y - problem.predict(beta) - r))
    if not off <= slack + unit * float(np.abs(beta) @ problem.column_norms):
        fit = f"its coefficients are not those of least squares on the data: X_S·coef is off by {off:.3g}"
        raise other_data(fit)


def _next_level(problem: Problem, S: IndexArray, positive: bool) -> float:
    """Return λ*, the largest |c_i| over the features i ∉ S, where c = XᵀP_S^⊥y.

    P_S^⊥y is the residual of least squares on S. With `positive`, max(c_i, 0) takes the place of |c_i|.
    """
    rest = np.setdiff1d(np.arange(problem.n_features), S)
    scores = measure(ThinQR(problem, problem.with_ones(S), capacity=len(S) + 1), rest).correlations()
    score = np.maximum(scores.score, 0) if positive else scores.score
    return tied_at_maximum(score, scores.coarse * scores.error)[0]


def _rivals(problem: Problem, path: SelectionPath, S: IndexArray, step: int) -> Rivals:
    """Find the quantity by which the feature at a step was picked, and its rivals.

    Let r be the residual, c_i = ⟨X_i, r⟩, and S the features selected before. If the path has attention
    weights, these were compared. On a path over β ≥ 0, the positive c_i were compared. Otherwise |c_i| were
    compared or, in orthogonal least squares, the quotients |c_i|/‖P_S^⊥X_i‖.
    """
    pick, margin = int(path.support[step - 1]), float(path.margin[step - 1])
    rest = np.setdiff1d(np.arange(problem.n_features), S)
    own = rest == pick
    if path.weights:
        compared = "attention weight"
        score = np.abs(_weights(path, step)[rest]).astype(np.float64)
    else:
        found = measure(ThinQR(problem, problem.with_ones(S), capacity=len(S) + 1), rest)
        if path.by_length:
            compared = "|c|/‖P_S^⊥X‖"
            score = np.abs(found.quotients().score)
        elif path.positive:
            compared = "c"
            score = np.maximum(found.correlations().score, 0)
        else:
            compared = "|c|"
            score = np.abs(found.correlations().score)
    score = np.where(own, 0, score)
    second = int(np.argmax(score))
    runner_up = int(rest[second]) if score[second] > 0 and margin < 1 else -1
    return Rivals(compared, runner_up, tuple(i for i in path.ties[step - 1] if i != pick))


def _weights(path: SelectionPath, step: int) -> FloatArray:
    """Return the attention weights (d,) at a step, counted from 1, of a feature that was not forced."""
    return path.weights[step - 1 - int(np.isnan(path.lam_star).sum())]


def _describe_entry(path: SelectionPath, entry: Entry, compared: str, at: Standing) -> str:
    """Write the sentence for a feature that was selected by a comparison, and was not forced.

    compared : the name of the quantity that was compared.
    """
    step, margin = entry.step, entry.margin
    pick = int(path.support[step - 1])
    second = path.name_of(entry.runner_up) if entry.runner_up >= 0 else ""
    level = f"{words.size(path)} = {float(path.lam_star[step - 1]):.4g}"
    if path.weights:
        weight = abs(float(_weights(path, step)[pick]))
        why = f"because its attention weight, {weight:.4g}, was the largest"
        why += f" (next: {second})" if second else ""
    elif entry.tied:
        T = join_words([path.name_of(i) for i in sorted((pick, *entry.tied))])
        why = f"in a tie: the {compared} of {T} agree up to rounding ({level}), and {_tie_break(path, step)}"
    else:
        largest = level if compared == words.size(path) else f"{compared} ({level})"
        why = f"because its {largest} was the largest"
        why += f" (next: {second}, {words.percent(margin)} less)" if second else ""
        why += f" (no other feature was {words.correlation(path)})" if margin == 1 else ""
    return f"{path.name_of(pick)} entered at step {step} of {len(path.support)} {why}; {words.rise(at)}."


def _tie_break(path: SelectionPath, step: int) -> str:
    """Write the reason why a pick won a tie.

    It has the lowest index, or it is among the features that enter the LASSO first, and some tied features
    are not.
    """
    name = path.name_of(int(path.support[step - 1]))
    A = path.active_sets[step - 1]
    if not A or set(A) == set(path.ties[step - 1]):
        return f"{name} has the lowest index of them"
    if len(A) == 1:
        return f"only {name} becomes nonzero in the LASSO"
    members = join_words([path.name_of(i) for i in A])
    return f"only {members} become nonzero in the LASSO, where {name} has the lowest index"


def _describe_forced_feature(path: SelectionPath, step: int, at: Standing) -> str:
    """Write the sentence for the forced feature at a step: its number, and its effect on R²."""
    name = path.name_of(int(path.support[step - 1]))
    effect = words.describe_no_effect(path, at, "the features before it") or f"with it {words.rise(at)}"
    return f"{name} was forced: it is in S from the start, as feature {step}; {effect}."


def _describe_omission(
    path: SelectionPath, j: int, course: Course, fall: int, at: Standing, added: str
) -> str:
    """Write the sentence for a feature j that was not selected.

    fall : the step at which the correlation of j with the residual decreased most; 0 if it never decreased.
    added : the part of the sentence on the gain if j were added.
    """
    k = len(path.support)
    begin = f"{path.name_of(j)} was not selected"
    picks = [path.name_of(int(i)) for i in path.support]
    if at.vanishes:
        return f"{begin}: its column is {words.zero(path)} up to rounding, so it is never selected."
    if not k:
        return f"{begin} because no feature was: {path.status.message}."
    parts = [_describe_course(path, course)]
    if fall:
        parts.append(f"it fell most at step {fall}, when {picks[fall - 1]} entered")
    ties = [s for s, T in enumerate(path.ties) if j in T]
    if ties:
        parts.append(f"at step {ties[0] + 1} it was tied with {picks[ties[0]]}, which was selected")
    parts.append(words.describe_share(path, path.support, at, path.with_intercept))
    parts.append(added)
    return words.sentence(f"{begin} in {plural(k, 'step')}", parts)


def _describe_addition(path: SelectionPath, at: Standing, c: float) -> str:
    """Write the part of a sentence that says by how much R² would increase if a feature j were added.

    c : ⟨X_j, r⟩ at the end of the path, where r is the residual.

    On a path over β ≥ 0 there is no gain if c ≤ 0. Otherwise the gain is at most that of least squares
    without the constraint, because both fits agree on the features of the path.
    """
    if path.positive and at.gain > 0:
        none = "with β ≥ 0 adding it now would not raise R²"
        return words.describe_gain(at, most="at most ") if c > 0 else none
    return words.describe_gain(at)


def _describe_course(path: SelectionPath, course: Course) -> str:
    """Write the part of a sentence that compares the correlation of a feature with that of the picks.

    The correlation is |c| with c = ⟨X_j, r⟩, where r is the residual; on a path over β ≥ 0 it is c. The
    sentence gives it at the first pick, at the step where it came closest to the correlation of the pick, and
    after the last step.
    """
    correlation, error, level = course
    k = len(path.support)
    parts = []
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
        parts.append("is now negative")
    elif correlation[k] <= error[k]:
        parts.append("is now zero up to rounding")
    elif correlation[k] >= level[k] - error[k]:
        parts.append("is now the largest remaining one")
    else:
        parts.append(f"is now {words.relative(correlation[k] / level[k], 'the largest remaining one')}")
    *before, now = parts
    return f"its {words.size(path)} {', '.join(before)}{', and ' if before else ''}{now}"
