"""The sentences of explanations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sparselin.explanations.standing import Standing
from sparselin.results import FloatArray, IndexArray, LassoPath, SelectionPath
from sparselin.results.base import Named
from sparselin.results.display import listed


def sentence(begin: str, parts: Iterable[str]) -> str:
    """Join the parts that are not empty."""
    return f"{begin}: {'; '.join(part for part in parts if part)}."


def other_data_error(why: str, more: str = "") -> ValueError:
    """Return the error for a path that is not of the data."""
    data = "Pass the data, and the sample_weight, from which it was computed"
    return ValueError(f"path must be one of X and y: {why}. {data}{more}.")


def zero(path: LassoPath | SelectionPath) -> str:
    return "constant" if path.with_intercept else "zero"


def size(path: LassoPath | SelectionPath) -> str:
    """Name what is compared with λ*, or with λ."""
    return "c" if path.positive else "|c|"


def correlated(path: LassoPath | SelectionPath) -> str:
    return f"{'positively ' if path.positive else ''}correlated with the residual"


def without_effect(path: LassoPath | SelectionPath, at: Standing, before: str) -> str:
    """Say why a forced feature has the coefficient zero; return "" if it has another one."""
    if not at.vanishes and at.left > 0:
        return ""
    why = f"is {zero(path)}" if at.vanishes else f"lies in the span of {before}"
    return f"it {why} to rounding, and has the coefficient zero"


def percent(share: float) -> str:
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    if 0.9995 <= share < 1 - 1e-9:
        return "more than 99.9 %"
    return f"{100 * share:.3g} %"


def relative(share: float, what: str) -> str:
    """ "30 % of what", "2.5 times what"."""
    return f"{share:.3g} times {what}" if share >= 2 else f"{percent(share)} of {what}"


def carriers(path: Named, S: IndexArray, shares: FloatArray) -> str:
    """Of S those of the largest |shares|, at most three: as many as make up 80 % of their sum."""
    order = np.argsort(-np.abs(shares), kind="stable")
    height = np.abs(shares[order])
    count = min(3, int(np.searchsorted(np.cumsum(height), 0.8 * height.sum())) + 1)
    return listed([f"{path.name_of(int(S[i]))} ({percent(float(shares[i]))})" for i in order[:count]])


def determined(
    path: Named, S: IndexArray, at: Standing, intercept: bool, those: str = "the selected features"
) -> str:
    """How much of X_j the features S, called `those`, determine, and which."""
    if not len(S) or not at.shares.any():
        return ""
    if at.left == 0:
        return f"it lies in the span of {those} to rounding, chiefly {carriers(path, S, at.shares)}"
    text = f"{those} determine {percent(1 - at.left)} of its {'variance' if intercept else 'squared length'}"
    return text + (f", chiefly {carriers(path, S, at.shares)}" if at.left <= 0.5 else "")


def rise(at: Standing) -> str:
    """Say by how much j raised R², or D²."""
    return f"{at.measure} rose from {at.r2:.4g} to {at.r2 + at.gain:.4g}"


def addition(at: Standing, adding: str = "adding it now", most: str = "") -> str:
    """What j would add to R², or D²; `most` may be "at most "."""
    if at.gain == 0:
        rest = "y is fitted to rounding already"
        return f"{adding} would not raise {at.measure}, {at.r2:.4g}, to rounding" if at.r2 < 1 else rest
    return f"{adding} would raise {at.measure} by {most}{at.gain:.3g}, from {at.r2:.4g}"
