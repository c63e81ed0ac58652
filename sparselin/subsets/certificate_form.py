"""The form of a certificate of a subset: types, lengths and order of its fields."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeAlias

import numpy as np

from sparselin.certificates.form import are_features
from sparselin.results import FloatArray, IndexArray

Operation: TypeAlias = tuple[Any, ...]
# Exponents beyond this are refused: floats and their squares need less.
_MOST_EXPONENT = 4000


@dataclasses.dataclass(frozen=True, eq=False)
class SubsetStage:
    """A diagonal matrix D such that G − D is positive semidefinite on some features.

    G is the matrix of the quadratic objective. A lower bound of the objective in some case of the proof may
    use the stage if every unit (feature or group) with features outside the stage is excluded in this case.

    Attributes
    ----------
    features : the features of the stage, increasing.
    diagonal : D ≥ 0 for these features, for columns divided by 2^scale.
    """

    features: IndexArray
    diagonal: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class SubsetVector:
    """A vector w from which a lower bound of the objective follows, formula (2) of `subsets.certificate`.

    w is entries·2^exponent at `features`, and 0 elsewhere. It is meant for columns divided by 2^scale.

    Attributes
    ----------
    stage : the number of the `SubsetStage` whose matrix D is used in the bound.
    features : increasing, features of this stage.
    entries : integers of 64 bits.
    """

    stage: int
    features: IndexArray
    entries: IndexArray
    exponent: int


@dataclasses.dataclass(frozen=True, eq=False)
class SubsetFields:
    """The fields of a `SubsetCertificate`, which describes them."""

    shape: tuple[int, int]
    k: int
    ridge: float
    gap: float
    intercept: bool
    forced: tuple[int, ...]
    groups: IndexArray | None
    lower: FloatArray
    upper: FloatArray
    support: tuple[int, ...]
    at_lower: tuple[int, ...]
    at_upper: tuple[int, ...]
    scale: IndexArray
    box: int | None
    stages: tuple[SubsetStage, ...]
    vectors: tuple[SubsetVector, ...]
    tree: tuple[Operation, ...]
    hierarchy: tuple[tuple[int, int], ...] = ()


def form_fault(given: Any, n: int, d: int) -> str:
    """Return the first fault in the form of a certificate for X (n, d), or "" if there is none."""
    if not (type(given.shape) is tuple and [*map(type, given.shape)] == [int, int] and given.shape == (n, d)):
        return f"`shape` must be that of X, {(n, d)}."
    groups = given.groups
    if groups is not None and not (_is_array(groups, np.intp, d) and 0 <= groups.min() <= groups.max() < d):
        return "`groups` must be None, or the number of the unit of each feature."
    units = unit_count(given)
    for name, count in (("forced", units), ("support", units), ("at_lower", d), ("at_upper", d)):
        if not are_features(getattr(given, name), count):
            return f"`{name}` must be a tuple of distinct indices."
    if not (type(given.k) is int and len(given.support) <= given.k <= units):
        return "`k` must be an integer between the size of the support and the number of units."
    if not set(given.forced) <= set(given.support):
        return "`support` must contain the forced units."
    pairs = given.hierarchy
    whole = type(pairs) is tuple and all(are_features(pair, units) and len(pair) == 2 for pair in pairs)
    if not (whole and len(set(pairs)) == len(pairs)):  # the check counts the units that a unit needs
        return "`hierarchy` must be a tuple of distinct pairs of different units."
    if any(unit in given.support and needed not in given.support for unit, needed in pairs):
        return "`support` must contain the units that its units need."
    if not all(type(x) is float and 0 <= x < math.inf for x in (given.ridge, given.gap)) or given.gap > 1:
        return "`ridge` and `gap` must be finite floats ≥ 0, the gap at most 1."
    if type(given.intercept) is not bool:
        return "`intercept` must be True or False."
    if not (_is_array(given.lower, np.float64, d) and _is_array(given.upper, np.float64, d)):
        return "`lower` and `upper` must be arrays with a float for each feature."
    if not ((given.lower <= 0) & (given.upper >= 0)).all():
        return "The bounds must satisfy lower ≤ 0 ≤ upper."
    scale = given.scale
    if not (_is_array(scale, np.intp, d) and all(abs(s) <= _MOST_EXPONENT for s in scale.tolist())):
        return "`scale` must be an array with an exponent for each feature."
    if not (type(given.stages) is tuple and all(_is_stage(stage, d) for stage in given.stages)):
        return "`stages` must be a tuple of stages with increasing features and a finite D ≥ 0 for each."
    if not (type(given.vectors) is tuple and all(_is_vector(v, given.stages, d) for v in given.vectors)):
        return "`vectors` must be a tuple of vectors with increasing features of their stage, and integers."
    if not (given.box is None or (type(given.box) is int and 0 <= given.box < len(given.vectors))):
        return "`box` must be None, or the number of a vector."
    tree = given.tree
    if not (type(tree) is tuple and all(type(o) is tuple and o and type(o[0]) is str for o in tree)):
        return "`tree` must be a tuple of operations, which are tuples that begin with a name."
    return ""


def _is_stage(stage: Any, d: int) -> bool:
    if type(stage) is not SubsetStage or not _are_increasing(stage.features, d):
        return False
    D: Any = stage.diagonal
    return _is_array(D, np.float64, len(stage.features)) and all(0 <= x < math.inf for x in D.tolist())


def _is_vector(v: Any, stages: tuple[SubsetStage, ...], d: int) -> bool:
    if type(v) is not SubsetVector or type(v.stage) is not int or not 0 <= v.stage < len(stages):
        return False
    return (
        _are_increasing(v.features, d)
        and bool(np.isin(v.features, stages[v.stage].features).all())
        and _is_array(v.entries, np.intp, len(v.features))
        and type(v.exponent) is int
        and abs(v.exponent) <= _MOST_EXPONENT
    )


def _is_array(values: Any, dtype: type, size: int) -> bool:
    return type(values) is np.ndarray and values.dtype == dtype and values.shape == (size,)


def _are_increasing(J: Any, d: int) -> bool:
    if type(J) is not np.ndarray or not _is_array(J, np.intp, J.size):
        return False
    return J.size == 0 or bool(J[0] >= 0 and J[-1] < d and (J[1:] > J[:-1]).all())


def unit_count(given: SubsetFields) -> int:
    return given.shape[1] if given.groups is None else int(given.groups.max()) + 1
