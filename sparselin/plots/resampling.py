"""Pictures of methods on parts of the rows: stability selection, cross-validation and leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    VIOLET,
    Axes,
    font_size,
    line_width,
    marker_size,
)
from sparselin.results import LeaveOneOut, StabilitySelection
from sparselin.validation import check_count

_BELOW = 3  # at most this many features below the threshold have a name


def stability(found: StabilitySelection, *, labels: int = 12, ax: Axes | None = None) -> Axes:
    """Draw Π̂_t(j) against t: the share of the half-samples in which feature j is among the first t.

    A dashed line marks the threshold.

    Parameters
    ----------
    found : a `StabilitySelection`.
    labels : the largest number of names on the right. The most frequent features that reach the threshold
        have a colour and a name. All other features are grey; if names remain, up to three of the most
        frequent grey features have a name.
    ax : where to draw; a new figure if None.

    >>> import numpy as np, sparselin as sl
    >>> ax = stability(sl.stability_selection(np.tile(np.eye(2), (8, 1)), [2.0, 1.0] * 8, 2))
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines[:-1]]
    ('first $t$ features of OMP', ['x1', 'x0'])
    """
    style.check_result(found, "found", StabilitySelection)
    labels = check_count(labels, "labels", 0)
    first = f"first $t$ features of {found.method.upper()}"
    ax = style.picture(ax, first, r"share of the half-samples, $\hat\Pi_t$")
    frequencies = found.frequencies
    t = np.arange(found.k + 1.0)
    paths = np.vstack([np.zeros(found.n_features), frequencies]).T
    selected = found.selected_indices()
    shown = selected[: max(labels, 0)]
    below = np.setdiff1d(np.flatnonzero(paths[:, -1] > 0), selected)
    below = below[np.lexsort((-paths[below].sum(axis=1), -paths[below, -1]))]
    below = below[: min(_BELOW, max(labels, 0) - len(shown))]
    rest = np.setdiff1d(np.flatnonzero(paths[:, -1] > 0), [*shown, *below])
    style.grey_lines(ax, t, paths[rest])
    named = [*shown.tolist(), *below.tolist()]
    for i, j in reversed(list(enumerate(named))):
        line = style.look(i) if i < len(shown) else {"color": GREY, "linestyle": "--"}
        ax.plot(
            t,
            paths[j],
            label=style.name(found.names, j),
            linewidth=line_width(1.5),
            markersize=marker_size(5),
            **line,
        )
    ax.set(xlim=(0, found.k), ylim=(0, 1.03))
    style.integers(ax)
    style.name_line_ends(ax, paths[named[::-1], -1])
    ax.axhline(found.threshold, color=GREY, linestyle="--", linewidth=line_width(1.2))
    style.write_near(ax, f"threshold {found.threshold:g}", (0, found.threshold), (4, 3), color=GREY)
    return ax


def cross_validation(found: Any, shown: int | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the mean squared error on held-out rows, ± one standard error, against the number of features.

    Parameters
    ----------
    found : an object with `sizes`, `error` and `standard_error` (m,), `best`, `chosen` and `folds`.
    shown : a number of features to mark as well, or None.
    ax : where to draw; a new figure if None.

    >>> from sklearn.datasets import load_diabetes
    >>> from sparselin.estimators import OMPSelector
    >>> selector = OMPSelector("cv_1se", cv=5).fit(*load_diabetes(return_X_y=True))
    >>> ax = cross_validation(selector.cross_validation_)
    >>> [line.get_label() for line in ax.lines[2:]]
    ['fewest within one standard error: 5', 'least error: 7']
    """
    wanted = ("sizes", "error", "standard_error", "best", "chosen", "folds")
    if missing := [name for name in wanted if not hasattr(found, name)]:
        raise TypeError(
            f"found must be a CrossValidation, or have its attributes {', '.join(wanted)}; got "
            f"{type(found).__name__} without {missing[0]}"
        )
    if shown is not None and check_count(shown, "shown", 0) not in np.asarray(found.sizes):
        raise ValueError(f"shown must be one of the sizes {np.asarray(found.sizes).tolist()}; got {shown}")
    ax = style.picture(ax, "number of features", "mean squared error on held-out rows", figsize=(6.4, 3.6))
    sizes, error, spread = (np.asarray(v) for v in (found.sizes, found.error, found.standard_error))
    at = {int(t): i for i, t in enumerate(sizes)}
    limit = error[at[found.best]] + spread[at[found.best]]
    ax.fill_between(sizes, error - spread, error + spread, color=BLUE, alpha=0.15, linewidth=line_width(0))
    ax.plot(
        sizes,
        error,
        "o-",
        color=BLUE,
        markersize=marker_size(4),
        linewidth=line_width(1.3),
        label="mean ± standard error",
    )
    ax.axhline(
        limit, color=GREY, linestyle="--", linewidth=line_width(0.9), label="least error + its standard error"
    )
    marks = {found.chosen: ("D", ORANGE, "fewest within one standard error")}
    marks[found.best] = ("s", GREY, "least error")
    if shown is not None and shown not in (found.best, found.chosen) and shown in at:
        marks[shown] = ("^", RED, "selected")
    for t, (marker, colour, label) in marks.items():
        options: dict[str, Any] = {
            "markersize": marker_size(9),
            "fillstyle": "none",
            "markeredgewidth": line_width(1.8),
        }
        ax.plot([t], [error[at[t]]], marker, color=colour, label=f"{label}: {t}", **options)
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.25, linewidth=line_width(0.5))
    ax.legend(frameon=False, fontsize=font_size())
    return ax


def leave_one_out(found: LeaveOneOut, *, ax: Axes | None = None) -> Axes:
    """Draw the leave-one-out error and its corrected version against the number of features.

    Infinite errors are left out.

    Parameters
    ----------
    found : a `LeaveOneOut`.
    ax : where to draw, for example on `cross_validation(...)` of the whole procedure; a new figure if None.

    >>> import sparselin as sl
    >>> X, y = [[1.0], [2.0], [3.0]], [3.0, 5.0, 8.0]
    >>> ax = leave_one_out(sl.leave_one_out(X, y, sl.omp(X, y, 1)))
    >>> [line.get_label() for line in ax.lines]
    ['leave-one-out, least: 1', 'corrected, least: 1']
    """
    style.check_result(found, "found", LeaveOneOut)
    ax = style.picture(ax, "number of features", "mean squared error on rows left out", figsize=(6.4, 3.6))
    ax.plot(found.sizes, found.error, "v:", color=VIOLET, label=f"leave-one-out, least: {found.best}")
    least = f"corrected, least: {found.best_corrected}"
    ax.plot(found.sizes, found.corrected, "^:", color=GREEN, label=least)
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize=font_size())
    return ax
