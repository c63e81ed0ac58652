"""Phrases for the sentences of explanations."""

from collections.abc import Iterable

import numpy as np

from sparselin.explanations.standing import Standing
from sparselin.results import FloatArray, IndexArray, LassoPath, SelectionPath
from sparselin.results.base import FittedPath, Named
from sparselin.results.display import join_words


def sentence(begin: str, parts: Iterable[str]) -> str:
    """Write one sentence: the beginning, a colon, and the parts that are not empty, with semicolons."""
    return f"{begin}: {'; '.join(part for part in parts if part)}."


def zero(path: FittedPath) -> str:
    """Return the word for a column that cannot be selected: "zero", or "constant" with an intercept."""
    return "constant" if path.with_intercept else "zero"


def size(path: LassoPath | SelectionPath) -> str:
    """Return the name of the quantity that is compared with λ: "|c|", or "c" on a path over β ≥ 0.

    c is the correlation of a feature with the residual.
    """
    return "c" if path.positive else "|c|"


def correlation(path: FittedPath) -> str:
    """Return "correlated with the residual", after the word "positively" on a path over β ≥ 0."""
    return f"{'positively ' if path.positive else ''}correlated with the residual"


def describe_no_effect(path: FittedPath, at: Standing, before: str) -> str:
    """Write the reason why the coefficient of a forced feature is zero; return "" if it is not zero.

    before : a name for the features in whose span the column may lie.
    """
    if not at.vanishes and at.left > 0:
        return ""
    why = f"is {zero(path)}" if at.vanishes else f"lies in the span of {before}"
    return f"its column {why} up to rounding, so its coefficient is zero"


def percent(share: float) -> str:
    """Write a share in percent; a share close to 0 or 1 does not become "0 %" or "100 %"."""
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    return "more than 99.9 %" if 0.9995 <= share < 1 - 1e-9 else f"{100 * share:.3g} %"


def relative(share: float, whole: str) -> str:
    """Write a share as "30 % of `whole`" or, for shares of at least 2, as "2.5 times `whole`"."""
    return f"{share:.3g} times {whole}" if share >= 2 else f"{percent(share)} of {whole}"


def carriers(path: Named, S: IndexArray, shares: FloatArray) -> str:
    """List the features of S with the largest |shares|: at most three, or fewer if these make up 80 %."""
    order = np.argsort(-np.abs(shares), kind="stable")
    height = np.abs(shares[order])
    count = min(3, int(np.searchsorted(np.cumsum(height), 0.8 * height.sum())) + 1)
    return join_words([f"{path.name_of(int(S[i]))} ({percent(float(shares[i]))})" for i in order[:count]])


def describe_share(
    path: Named, S: IndexArray, at: Standing, intercept: bool, features: str = "the selected features"
) -> str:
    """Write the share of X_j that the features S explain, and which features of S explain most of it.

    features : a name for the features S.
    """
    if not len(S) or not at.shares.any():
        return ""
    if at.left == 0:
        return f"up to rounding it lies in the span of {features}, mainly {carriers(path, S, at.shares)}"
    text = f"{features} explain {percent(1 - at.left)} of its {'variance' if intercept else 'squared length'}"
    return text + (f", mainly {carriers(path, S, at.shares)}" if at.left <= 0.5 else "")


def rise(at: Standing) -> str:
    """Write that R² (or D²) rose from its value without the feature to its value with it."""
    return f"{at.measure} rose from {at.r2:.4g} to {at.r2 + at.gain:.4g}"


def describe_gain(at: Standing, adding: str = "adding it now", most: str = "") -> str:
    """Write by how much R² (or D²) would rise if the feature were added; `most` is "at most " or empty."""
    if at.gain == 0:
        rest = "y is already fitted up to rounding"
        return f"{adding} would not raise {at.measure} = {at.r2:.4g}, up to rounding" if at.r2 < 1 else rest
    return f"{adding} would raise {at.measure} by {most}{at.gain:.3g}, from {at.r2:.4g}"
