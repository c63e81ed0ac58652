"""Predictions from coefficients: the rows of a new X, checked against the columns of the fit."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from sparselin.validation import (
    FloatArray,
    IndexArray,
    Names,
    check_design,
    check_finite,
    frame_names,
    to_array,
)


def combined(
    X: Any, columns: IndexArray, coef: FloatArray, intercept: Any, n_features: int, names: Names
) -> FloatArray:
    """intercept + X_J coef, J = columns: (n,) for coef (p,), (n, q) for coef (p, q). Only X_J is read."""
    _check_same_columns(frame_names(X), names)
    X = _complex(X) if np.iscomplexobj(coef) else check_design(X)
    if X.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} columns, those of the fit; got shape {X.shape}")
    block = X[:, columns]
    if isinstance(block, np.ndarray):  # the entries of sparse arrays are checked with the design
        check_finite(block, "X", tuple(f"x{j}" if names is None else names[j] for j in columns))
    return np.asarray(block @ coef + intercept)


def _complex(X: Any) -> Any:
    """X checked, complex or real, for coefficients over ℂ."""
    X = X if hasattr(X, "tocsc") else to_array(X, "X")
    return check_design(X.real) + 1j * check_design(X.imag) if X.dtype.kind == "c" else check_design(X)


def _check_same_columns(now: Names, then: Names) -> None:
    """A frame has the names of the fit in their order; without names columns go by position."""
    if now is None or then is None or now == then:
        return
    j, (ours, theirs) = next((j, pair) for j, pair in enumerate(zip_longest(now, then)) if pair[0] != pair[1])
    here = "missing" if ours is None else repr(ours)
    there = f"there were {len(then)}" if theirs is None else f"it was {theirs!r}"
    todo = (
        "X[list(result.names)] has them in that order."
        if set(then) <= set(now) and len(set(then)) == len(then)
        else "Make it as that X was made, or pass an array without names."
    )
    raise ValueError(f"X must have the columns of the fit: column {j} is {here}; {there}. {todo}")
