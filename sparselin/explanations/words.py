"""The sentences of explanations."""

from __future__ import annotations

import numpy as np

from sparselin.explanations.standing import Standing
from sparselin.results import FloatArray, IndexArray
from sparselin.results.base import Named


def listed(words: list[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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
    size = np.abs(shares[order])
    count = min(3, int(np.searchsorted(np.cumsum(size), 0.8 * size.sum())) + 1)
    return listed([f"{path.name_of(int(S[i]))} ({percent(float(shares[i]))})" for i in order[:count]])


def determined(path: Named, S: IndexArray, at: Standing, those: str, of: str) -> str:
    """How much of X_j the features S, called `those`, determine, and which."""
    if not len(S) or not at.shares.any():
        return ""
    if at.left == 0:
        return f"it lies in the span of {those} to rounding, chiefly {carriers(path, S, at.shares)}"
    text = f"{those} determine {percent(1 - at.left)} of {of}"
    return text + (f", chiefly {carriers(path, S, at.shares)}" if at.left <= 0.5 else "")


def addition(at: Standing, adding: str = "adding it now", most: str = "") -> str:
    """What j would add to R², or D²; `most` may be "at most "."""
    if at.gain == 0:
        rest = "y is fitted to rounding already"
        return f"{adding} would not raise {at.measure}, {at.r2:.4g}, to rounding" if at.r2 < 1 else rest
    return f"{adding} would raise {at.measure} by {most}{at.gain:.3g}, from {at.r2:.4g}"
