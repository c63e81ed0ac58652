"""The form of a certificate: types, lengths and order of its fields.

Types are compared by `is`, because an object of a subclass could override any method of the check.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sparselin.certificates.nonnegative import NonnegativeStep
from sparselin.certificates.ols import OlsStep
from sparselin.certificates.step import Indices, StepCertificate, step_name

# The claims, and the class of the step that proves a pick.
CLAIMS: dict[str, type[StepCertificate] | type[NonnegativeStep] | type[OlsStep]] = {
    "sequential_lasso": StepCertificate,
    "omp": StepCertificate,
    "nonnegative_omp": NonnegativeStep,
    "ols": OlsStep,
}


def form_fault(
    n: int, d: int, *, sha256: Any, shape: Any, normalized: Any, claim: Any, forced: Any, steps: Any
) -> str:
    """Return the first fault in the fields of a certificate for X (n, d), or "" if there is none."""
    if not (_are_integers(shape, 2) and shape == (n, d)):
        return f"`shape` must be that of X, {(n, d)}"
    if not (type(claim) is str and claim in CLAIMS):
        return f"`claim` must be one of {tuple(CLAIMS)}"
    if not (type(normalized) is bool and type(sha256) is str):
        return "`normalized` must be True or False, and `sha256` a string"
    if not _are_features(forced, d):
        return "`forced` must be a tuple of distinct features"
    kind = CLAIMS[claim]
    if not (type(steps) is tuple and all(type(step) is kind for step in steps)):
        return f"`steps` must be a tuple of {kind.__name__}"
    S = forced
    for step in steps:
        if fault := _fault(step, S, n, d, claim):
            return f"{step_name(S)}: {fault}"
        S = (*S, step.pick)
    return ""


def has_intercept(n: int, d: int, shape: Any, forced: Any) -> bool:
    """Return whether a certificate is about X (n, d) with an intercept.

    If so, the column of ones is feature d and comes first among the forced features.
    """
    if not (_are_integers(shape, 2) and shape == (n, d + 1)):
        return False
    return _are_features(forced, d + 1) and forced[:1] == (d,)


def _fault(step: StepCertificate | NonnegativeStep | OlsStep, S: Indices, n: int, d: int, claim: str) -> str:
    """Return the first fault in the fields of a step of a certificate, or "" if there is none.

    S : the features selected before the step.
    """
    if not (_are_features(step.selected, d) and step.selected == S):
        return "`selected` must be `forced` and then the picks of the earlier steps"
    if isinstance(step, NonnegativeStep):
        return _nonnegative_fault(step, d)
    if isinstance(step, OlsStep):
        return _ols_fault(step, d)
    for name in ("tied", "active"):
        J = getattr(step, name)
        if not (_are_features(J, d) and J and list(J) == sorted(J)):
            return f"`{name}` must be an increasing sequence of features"
    t, s = len(step.tied), len(S)
    if not _are_features((step.pick,), d) or step.pick not in (step.tied if claim == "omp" else step.active):
        return f"the pick is not among the {'tied' if claim == 'omp' else 'active'} features"
    if not (_are_integers(step.signs, t) and set(step.signs) <= {-1, 1}):
        return "`signs` must be ±1 for each tied feature"
    if not (_are_fractions(step.coef, s) and _are_fractions(step.rate, s)):
        return "`coef` and `rate` must be fractions, one for each selected feature"
    if not _are_fractions(step.direction, t) or min(step.direction) < 0:
        return "`direction` must be a fraction ≥ 0 for each tied feature"
    if tuple(i for i, u in zip(step.tied, step.direction, strict=True) if u > 0) != step.active:
        return "`active` must hold the features where `direction` is positive"
    if not (_are_fractions((step.tau, step.lam_star_squared), 2) and 0 < step.tau <= 1):
        return "`tau` must be a fraction in (0, 1], and `lam_star_squared` a fraction"
    if not _are_farkas(step.farkas, step.tied, n):
        return "`farkas` must hold pairs of a tied feature and a vector (n,) of fractions"
    return ""


def _nonnegative_fault(step: NonnegativeStep, d: int) -> str:
    if not (_are_features(step.tied, d) and step.tied and list(step.tied) == sorted(step.tied)):
        return "`tied` must be an increasing sequence of features"
    if type(step.pick) is not int or step.pick not in step.tied or {*step.tied} & {*step.selected}:
        return "the pick is not among the tied features, or one of them is selected"
    if not _are_fractions(step.coef, len(step.selected)):
        return "`coef` must be fractions, one for each selected feature"
    if not _are_fractions((step.lam_star_squared,), 1):
        return "`lam_star_squared` must be a fraction"
    return ""


def _ols_fault(step: OlsStep, d: int) -> str:
    for name in ("tied", "spanned"):
        J = getattr(step, name)
        if not (_are_features(J, d) and list(J) == sorted(J)):
            return f"`{name}` must be an increasing sequence of features"
    if len({*step.tied, *step.spanned, *step.selected}) < sum(
        map(len, (step.tied, step.spanned, step.selected))
    ):
        return "a feature is in two of `selected`, `tied` and `spanned`"
    if type(step.pick) is not int or step.pick not in step.tied:
        return "the pick is not among the tied features"
    s = len(step.selected)
    if not (_are_fractions(step.coef, s) and _are_fractions(step.squares, s)):
        return "`coef` and `squares` must be fractions, one for each selected feature"
    rows = step.basis
    if not (
        type(rows) is tuple and len(rows) == s and all(_are_fractions(row, t) for t, row in enumerate(rows))
    ):
        return "`basis` must hold t fractions for each selected feature with t selected before it"
    if not _are_fractions((step.decrease,), 1) or step.decrease <= 0 or min(step.squares, default=1) <= 0:
        return "`decrease` and `squares` must be positive fractions"
    return ""


def _are_farkas(pairs: Any, tied: Indices, n: int) -> bool:
    return type(pairs) is tuple and all(
        type(pair) is tuple
        and len(pair) == 2
        and type(pair[0]) is int
        and pair[0] in tied
        and _are_fractions(pair[1], n)
        for pair in pairs
    )


def _are_integers(values: Any, count: int) -> bool:
    return type(values) is tuple and len(values) == count and all(type(v) is int for v in values)


def _are_features(J: Any, d: int) -> bool:
    return (
        type(J) is tuple and _are_integers(J, len(J)) and len(set(J)) == len(J) and all(0 <= j < d for j in J)
    )


def _are_fractions(values: Any, count: int) -> bool:
    return type(values) is tuple and len(values) == count and all(type(v) is Fraction for v in values)
