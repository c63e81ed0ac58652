"""The form of a certificate: types, lengths and order of its fields, its text, and the digest of its data.

Types are compared by `is`, because an object of a subclass could override any method of the check.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sparselin.certificates.step import Indices, NonnegativeStep, OlsStep, StepCertificate, step_name
from sparselin.problem import Problem, as_problem
from sparselin.results import FloatArray

FORMAT = "sparselin certificate 1"
_T = TypeVar("_T")
# The claims, and the class of the step that proves a pick.
CLAIMS: dict[str, type[StepCertificate] | type[NonnegativeStep] | type[OlsStep]] = {
    "sequential_lasso": StepCertificate,
    "omp": StepCertificate,
    "nonnegative_omp": NonnegativeStep,
    "ols": OlsStep,
}
_INCREASING = {StepCertificate: ("tied", "active"), NonnegativeStep: ("tied",), OlsStep: ("tied", "spanned")}


@dataclasses.dataclass(frozen=True)
class Verification:
    """The result of checking a certificate; its truth value is `holds`.

    Attributes
    ----------
    holds : whether every condition is met.
    steps : the number of steps of the certificate.
    failures : the conditions that are not met, one sentence each.
    """

    holds: bool
    steps: int
    failures: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.holds


def form_fault(given: Any, n: int, d: int) -> str:
    """Return the first fault in the fields of a certificate for X (n, d), or "" if there is none."""
    claim, steps, S = given.claim, given.steps, given.forced
    if not (are_integers(given.shape, 2) and given.shape == (n, d)):
        return f"`shape` must be that of X, {(n, d)}"
    if not (type(claim) is str and claim in CLAIMS):
        return f"`claim` must be one of {tuple(CLAIMS)}"
    if not (type(given.normalized) is bool and type(given.sha256) is str):
        return "`normalized` must be True or False, and `sha256` a string"
    if not are_features(S, d):
        return "`forced` must be a tuple of distinct features"
    kind = CLAIMS[claim]
    if not (type(steps) is tuple and all(type(step) is kind for step in steps)):
        return f"`steps` must be a tuple of {kind.__name__}"
    for step in steps:
        if fault := _fault(step, S, n, d, claim):
            return f"{step_name(S)}: {fault}"
        S = (*S, step.pick)
    return ""


def _fault(step: StepCertificate | NonnegativeStep | OlsStep, S: Indices, n: int, d: int, claim: str) -> str:
    """Return the first fault in the fields of a step of a certificate, or "" if there is none.

    S : the features selected before the step.
    """
    if not (are_features(step.selected, d) and step.selected == S):
        return "`selected` must be `forced` and then the picks of the earlier steps"
    for name in _INCREASING[type(step)]:
        J = getattr(step, name)
        if not (are_features(J, d) and list(J) == sorted(J) and (J or isinstance(step, OlsStep))):
            return f"`{name}` must be an increasing sequence of features"
    if isinstance(step, NonnegativeStep):
        return _nonnegative_fault(step)
    if isinstance(step, OlsStep):
        return _ols_fault(step)
    t, s = len(step.tied), len(S)
    if not are_features((step.pick,), d) or step.pick not in (step.tied if claim == "omp" else step.active):
        return f"the pick is not among the {'tied' if claim == 'omp' else 'active'} features"
    if not (are_integers(step.signs, t) and set(step.signs) <= {-1, 1}):
        return "`signs` must be ±1 for each tied feature"
    if not (are_fractions(step.coef, s) and are_fractions(step.rate, s)):
        return "`coef` and `rate` must be fractions, one for each selected feature"
    if not are_fractions(step.direction, t) or min(step.direction) < 0:
        return "`direction` must be a fraction ≥ 0 for each tied feature"
    if tuple(i for i, u in zip(step.tied, step.direction, strict=True) if u > 0) != step.active:
        return "`active` must hold the features where `direction` is positive"
    if not (are_fractions((step.tau, step.lam_star_squared), 2) and 0 < step.tau <= 1):
        return "`tau` must be a fraction in (0, 1], and `lam_star_squared` a fraction"
    if not are_farkas(step.farkas, step.tied, n):
        return "`farkas` must hold pairs of a tied feature and a vector (n,) of fractions"
    return ""


def _nonnegative_fault(step: NonnegativeStep) -> str:
    if type(step.pick) is not int or step.pick not in step.tied or {*step.tied} & {*step.selected}:
        return "the pick is not among the tied features, or one of them is selected"
    if not are_fractions(step.coef, len(step.selected)):
        return "`coef` must be fractions, one for each selected feature"
    if not are_fractions((step.lam_star_squared,), 1):
        return "`lam_star_squared` must be a fraction"
    return ""


def _ols_fault(step: OlsStep) -> str:
    features = (*step.tied, *step.spanned, *step.selected)
    if len({*features}) < len(features):
        return "a feature is in two of `selected`, `tied` and `spanned`"
    if type(step.pick) is not int or step.pick not in step.tied:
        return "the pick is not among the tied features"
    s = len(step.selected)
    if not (are_fractions(step.coef, s) and are_fractions(step.squares, s)):
        return "`coef` and `squares` must be fractions, one for each selected feature"
    fits = type(step.basis) is tuple and len(step.basis) == s
    if not (fits and all(are_fractions(row, t) for t, row in enumerate(step.basis))):
        return "`basis` must hold t fractions for each selected feature with t selected before it"
    if not are_fractions((step.decrease,), 1) or step.decrease <= 0 or min(step.squares, default=1) <= 0:
        return "`decrease` and `squares` must be positive fractions"
    return ""


def are_farkas(pairs: Any, tied: Sequence[int], n: int) -> bool:
    return type(pairs) is tuple and all(
        type(pair) is tuple
        and len(pair) == 2
        and type(pair[0]) is int
        and pair[0] in tied
        and are_fractions(pair[1], n)
        for pair in pairs
    )


def are_integers(values: Any, count: int) -> bool:
    return type(values) is tuple and len(values) == count and all(type(v) is int for v in values)


def are_features(J: Any, d: int) -> bool:
    distinct = type(J) is tuple and are_integers(J, len(J)) and len(set(J)) == len(J)
    return distinct and all(0 <= j < d for j in J)


def are_fractions(values: Any, count: int) -> bool:
    return type(values) is tuple and len(values) == count and all(type(v) is Fraction for v in values)


def problem_data(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return X and y without rounding, dense, in float64. For a compressed problem, X is its factor."""
    factor = None if problem.compressed is None else problem.columns(np.arange(problem.d))
    X = problem.exact_columns() if factor is None else factor
    if X is None:
        raise ValueError(
            "a Gram problem has no certificate, because it holds a rounded Cholesky factor, not the design. "
            "Pass X and y"
        )
    return X, problem.double_y


def digest(X: FloatArray, y: FloatArray, normalized: bool) -> str:
    """Return the SHA-256 digest of the data: a header, X by rows, and y, as little-endian float64.

    −0 counts as 0.
    """
    found = hashlib.sha256(f"{FORMAT}: {X.shape[0]} {X.shape[1]} {normalized:d}\n".encode())
    for part in (X, y):
        found.update(np.ascontiguousarray(part + 0.0, "<f8").tobytes())
    return found.hexdigest()


def problem_of(shape: Any, forced: Any, X: Any, y: ArrayLike | None) -> Problem:
    """Return X and y as a `Problem`, with an intercept if a certificate of this shape is about one."""
    problem = as_problem(X, y)
    whole = problem.d + 1  # with the column of ones, which comes first among the forced features
    centred = are_integers(shape, 2) and shape == (problem.n, whole) and are_features(forced, whole)
    if problem.is_plain and centred and forced[:1] == (problem.d,):
        return Problem(problem.X, problem.y, intercept=True)
    return problem


def write_json(certificate: Any, header: str) -> str:
    """Return the fields of a certificate as text, after a field "format"."""
    return json.dumps({"format": header, **dataclasses.asdict(certificate)}, default=_hexadecimal)


def read_json(cls: type[_T], text: str, header: str, name: str, kind: Callable[[Any], type]) -> _T:
    """Read a certificate that `write_json` wrote.

    name, kind : the field that holds the parts of the certificate, and a function that returns their class,
        given the certificate.

    Raises TypeError if `text` is not a string, and ValueError if it is not such a certificate.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"text must be a string that `to_json` returned; got {type(text).__name__}")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this text is no {header!r}: {error}") from None
    if not isinstance(fields, dict) or fields.pop("format", None) != header:
        raise ValueError(f'this text is no {header!r}: it must be an object with that "format"')
    try:
        made = _from_fields(cls, fields)
        for field in ("shape", "forced", name):
            if not isinstance(fields[field], list):
                raise ValueError(f"{field!r} must be a list; got {type(fields[field]).__name__}")
        parts: Any = tuple(_from_fields(kind(made), part) for part in fields[name])
    except (ValueError, TypeError, AttributeError, ArithmeticError, KeyError, RecursionError) as error:
        raise ValueError(f"this text is no {header!r}: {error}") from None
    return dataclasses.replace(made, **{name: parts})  # type: ignore[type-var]


def _hexadecimal(value: Any) -> str:
    """Write a fraction as "p/q" in hexadecimal.

    Decimals are not used, because Python refuses to convert integers of more than some thousand decimal
    digits.
    """
    if not isinstance(value, Fraction):
        raise TypeError(f"a certificate cannot hold a {type(value).__name__}")
    return f"{value.numerator:x}/{value.denominator:x}"


def _from_fields(cls: type[_T], fields: Any) -> _T:
    """Make a dataclass of type `cls` from a JSON object.

    Raises ValueError if the object lacks fields of the dataclass or has others.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"{cls.__name__} must be an object; got {type(fields).__name__}")
    names = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in sorted(names ^ set(fields)):
        raise ValueError(f"{cls.__name__} {'lacks the field' if name in names else 'has no field'} {name!r}")
    keep = {"sha256", "claim", "steps", "saddles", "knots"}
    return cls(**{name: value if name in keep else _parse(value) for name, value in fields.items()})


def _parse(value: Any) -> Any:
    """Turn lists into tuples, and texts "p/q" in hexadecimal into fractions, at any depth."""
    if isinstance(value, list):
        return tuple(_parse(entry) for entry in value)
    if isinstance(value, str):
        numerator, slash, denominator = value.partition("/")
        if not slash:
            raise ValueError(f'a fraction must be "p/q" in hexadecimal; got {value[:40]!r}')
        return Fraction(int(numerator, 16), int(denominator, 16))
    return value
