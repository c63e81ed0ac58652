"""Explanations on a set of features: the gain in R² by a feature of the set, or by another feature."""

import math

import numpy as np

from sparselin.explanations import words
from sparselin.explanations.selection import check_coefficients
from sparselin.explanations.standing import Course, Entry, Standing, explanation, standing
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.results import BestSubset, Explanation, IndexArray, SubsetResult
from sparselin.results.display import join_words, plural


def explain_in_subset(problem: Problem, found: SubsetResult, j: int) -> Explanation:
    """Explain the contribution of feature j to a selected set, or why j is not in the set.

    Raises ValueError if the set was not selected from this problem.
    """
    S = found.support
    _check(problem, found)
    place = np.flatnonzero(j == S)
    given = S[j != S]
    at = standing(problem, given, j)
    if len(place):
        runner_up, theirs = _best_replacement(problem, given, S)
        margin = (at.gain - theirs) / at.gain if at.gain > 0 else math.nan
        entry = Entry(step=int(place[0]) + 1, runner_up=runner_up, margin=margin)
        text = _describe_member(found, j, at, runner_up, theirs)
    else:
        entry = Entry()
        text = _describe_other(found, j, at, problem.design.ones is not None)
    return explanation(found, j, "set", given, at, entry, Course(*np.zeros((3, 0))), text)


def _check(problem: Problem, found: SubsetResult) -> None:
    """Raise ValueError unless the coefficients are those of least squares on the data."""
    coarse = coarseness(found.coef, problem.eps)
    qr = ThinQR(problem, problem.with_ones(found.support))
    now = measure(qr, np.zeros(0, np.intp))
    slack = coarse * (2 * now.residual_error + problem.rounding() * problem.y_norm)
    check_coefficients(problem, found, qr.residual(problem.y), slack, coarse * problem.rounding())


def _best_replacement(problem: Problem, given: IndexArray, S: IndexArray) -> tuple[int, float]:
    """Return the feature outside S that raises R² of the set `given` most, and the increase of R².

    The result is −1 and 0.0 if no feature raises R².

    given : S without the feature that is to be replaced.
    """
    rest = np.setdiff1d(np.arange(problem.n_features), S)
    scores = measure(ThinQR(problem, problem.with_ones(given)), rest).quotients()
    size = np.where(np.abs(scores.score) > scores.coarse * scores.error, np.abs(scores.score), 0)
    if not size.any():
        return -1, 0.0
    best = int(rest[np.argmax(size)])
    return best, standing(problem, given, best).gain


def _describe_member(found: SubsetResult, j: int, at: Standing, runner_up: int, theirs: float) -> str:
    """Write the sentence for a feature j of the set.

    runner_up, theirs : the best replacement of j, and the increase of R² by this replacement; −1 and 0.0 if
        there is none.
    """
    k = len(found)
    r2 = at.r2 + at.gain
    parts = [f"without it R² would fall by {at.gain:.3g}, from {r2:.4g}"]
    if at.gain == 0:
        parts = [f"without it R² would stay at {r2:.4g}, up to rounding"]
    if runner_up >= 0:
        parts.append(f"its best replacement is {found.name_of(runner_up)}, with R² = {at.r2 + theirs:.4g}")
    begin = f"{found.name_of(j)} is {'one of the' if k > 1 else 'the'} {plural(k, 'selected feature')}"
    return words.sentence(begin, [*parts, *_describe_bound(found)])


def _describe_other(found: SubsetResult, j: int, at: Standing, intercept: bool) -> str:
    """Write the sentence for a feature j outside the set."""
    parts = [words.describe_share(found, found.support, at, intercept), words.describe_gain(at)]
    parts = ["its column is zero or constant, up to rounding"] if at.vanishes else parts
    return words.sentence(f"{found.name_of(j)} was not selected", [*parts, *_describe_bound(found)])


def _describe_bound(found: SubsetResult) -> list[str]:
    """Write the part of a sentence about other sets of features.

    It gives a proved bound on their R², or the value of the other objective that was maximised.
    """
    if found.value != found.r2:
        return ["the set was selected for R² + ν·f, not for R² alone"]
    if not (isinstance(found, BestSubset) and len(found)):
        return []
    if found.restrictions:
        return [f"the set was selected with {join_words(found.restrictions)}"]
    sets = plural(len(found), "feature")
    if found.optimal:
        return [f"no set of {sets} that contains the forced ones (if any) has a larger R²"]
    most = 1 - (1 - found.r2) * (1 - found.gap)
    return [f"the search did not prove the set optimal: a set of {sets} may reach R² = {most:.4g}"]
