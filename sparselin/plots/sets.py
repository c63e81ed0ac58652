"""Pictures of sets of features: the gain of each, the choice of ν, the coefficients of a projection."""

from __future__ import annotations

import numpy as np

from sparselin import results
from sparselin.plots import style
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, Axes, line_width, marker_size
from sparselin.results import FloatArray, Names, SubsetResult


def subset(result: SubsetResult, *, ax: Axes | None = None) -> Axes:
    """Draw the gain of each feature in g(S) = R²(S) + ν·f(S), in order of selection, and the coefficients.

    Each bar goes from g before the feature to g after it. For a best subset without a ridge, a line marks the
    R² that no subset of k features (within the box, of whole groups) can exceed: R² ≤ 1 − lower_bound/‖y‖²,
    where ‖y‖² = residual/(1 − R²).

    Parameters
    ----------
    result : a `SubsetResult` or `BestSubset`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import sparselin as sl
    >>> ax = subset(sl.forward_regression([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2))
    >>> [round(float(bar.get_width()), 3) for bar in ax.patches]
    [0.9, 0.1]
    """
    style.check_result(result, "result", SubsetResult)
    t = len(result.support)
    words = r"$R^2(S) + \nu f(S)$" if result.diversity else "$R^2(S)$"
    ax = style.picture(ax, words, "", figsize=(7.6, style.height(t) + 0.3))
    if not t:
        return style.note(ax, f"No feature is selected: {result.status.message}.")
    labels = [style.name(result.names, int(j)) for j in result.support]
    _gain_bars(ax, result.gains, float(result.value), labels)
    if isinstance(result, results.BestSubset) and 2 * result.objective == result.residual:
        bound = _bound(result)
        words = f"upper bound {bound:.4f}" + ("" if result.optimal else f", gap {100 * result.gap:.2g} %")
        ax.axvline(bound, color=GREY, linestyle="--", linewidth=line_width(1.2), label=words)
        style.legend(ax)
    _coefficients(style.panel(ax, "coefficient"), result.coef)
    return ax


def subsets_within(result: results.SubsetsWithin, *, ax: Axes | None = None) -> Axes:
    """Draw the features of each set, the best set first, and the share of the sets that have each feature.

    The features that are in most sets come first; at most 40 features are drawn.

    Parameters
    ----------
    result : the result of `sparselin.subsets_within`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import sparselin as sl
    >>> X = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]]
    >>> ax = subsets_within(sl.subsets_within(X, [3.0, 1.0, 1.0], 2, eps=0.5))
    >>> ax.images[0].get_array().tolist()
    [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """
    style.check_result(result, "result", results.SubsetsWithin)
    from matplotlib.colors import ListedColormap

    drawn = [j for j in style.largest(result.share) if result.share[j] > 0]
    limit = f"complete, {len(result):,} sets" if result.complete else f"{len(result):,} sets, not complete"
    ax = style.picture(ax, f"rank of the set ({limit})", "", figsize=(7.6, style.height(len(drawn)) + 0.3))
    if not drawn:
        return style.note(ax, f"No set is listed: {result.status.message}.")
    member = np.zeros((len(drawn), len(result)))
    for i, S in enumerate(result.supports):
        member[np.isin(drawn, S), i] = 1
    extent = (0.5, len(result) + 0.5, len(drawn) - 0.5, -0.5)
    ax.imshow(member, aspect="auto", cmap=ListedColormap(["white", BLUE]), vmin=0, vmax=1, extent=extent)
    style.rows(ax, [style.name(result.names, j) for j in drawn])
    style.integers(ax)
    right = style.panel(ax, "share of the sets")
    right.barh(np.arange(len(drawn)), result.share[drawn], color=BLUE, height=0.75)
    right.set_xlim(0, 1)
    return ax


def _bound(result: results.BestSubset) -> float:
    """Return 1 − lower_bound/‖y‖², an upper bound on R² of any subset of k features."""
    if not result.residual > 0:
        return 1.0
    return float(1 - result.lower_bound / result.residual * (1 - result.r2))


def _gain_bars(ax: Axes, gains: FloatArray, value: float, labels: list[str]) -> None:
    """Draw a bar for each gain, from the value before it to the value after it; the last ends at `value`."""
    gains = gains.astype(float)
    after = value - np.concatenate([np.cumsum(gains[::-1])[::-1][1:], [0.0]])
    rising = gains >= 0
    for some, colour, hatch in ((rising, BLUE, ""), (~rising, ORANGE, "///")):
        ax.barh(
            np.flatnonzero(some),
            gains[some],
            left=(after - gains)[some],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            height=0.75,
            label="_gains",
        )
    style.rows(ax, labels)
    ax.set_xlim(left=min(0.0, float((after - gains).min()), float(after.min())))
    ax.margins(x=0.04)
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)


def _coefficients(ax: Axes, coef: FloatArray) -> None:
    """Draw a stem for each coefficient, in the rows of the other panel."""
    at = np.arange(len(coef))
    ax.hlines(at, 0, coef, color=GREEN, linewidth=line_width(1.5))
    ax.plot(coef, at, "o", color=GREEN, markersize=marker_size(6 if len(coef) <= 40 else 4))
    ax.axvline(0, color=GREY, linewidth=line_width(0.8))
    ax.margins(x=0.12)
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)


def greedy_maximum(result: results.GreedyMaximum, *, ax: Axes | None = None) -> Axes:
    """Draw the gain of each feature in f(S), in the order of selection.

    Parameters
    ----------
    result : a `GreedyMaximum`.
    ax : where to draw; a new figure if None.

    >>> from sparselin.spectral import SmoothedDifferentialEntropy, greedy_maximize
    >>> C = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]]
    >>> ax = greedy_maximum(greedy_maximize(C, 2, SmoothedDifferentialEntropy(1.0)))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x0', 'x2']
    """
    style.check_result(result, "result", results.GreedyMaximum)
    ax = style.picture(ax, "$f(S)$", "", figsize=(6.0, style.height(len(result.support))))
    if not len(result.support):
        return style.note(ax, f"No feature is selected: {result.status.message}.")
    _gain_bars(ax, result.gains, float(result.value), [style.name(None, int(j)) for j in result.support])
    return ax


def nu_choice(choice: results.NuChoice, *, ax: Axes | None = None) -> Axes:
    """Draw R² of the selections against ν, with two R² of the LASSO, and mark the chosen ν.

    The solid line is the R² of the LASSO with which selections were compared. A marker is filled if its R² is
    at least the R² of this line.

    Parameters
    ----------
    choice : a `NuChoice`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]], [1.0, 0.2, 0.15]
    >>> ax = nu_choice(sl.choose_nu(X, y, 2, sl.spectral.SmoothedDifferentialEntropy(1.0)))
    >>> ax.get_ylabel(), [line.get_label() for line in ax.lines[1:-1]]
    ('$R^2$ of the selection', ["at least the LASSO's", 'LASSO', 'LASSO, refitted'])
    """
    style.check_result(choice, "choice", results.NuChoice)
    ax = style.picture(ax, r"$\nu$", "$R^2$ of the selection")
    tried, r2 = choice.tried, choice.r2_tried
    if not len(tried):
        return style.note(ax, "No ν was tried.")
    level = choice.r2_refitted if choice.refitted else choice.r2_lasso
    if tried.any():
        style.positive_axis(ax, tried)
        ax.set_xlim(float(tried.min()), 1.04 * float(tried.max()))
    ax.plot(tried, r2, "-", color=BLUE, linewidth=line_width(1), zorder=1, label="_line")
    for some, face, label in ((r2 >= level, BLUE, "at least the LASSO's"), (r2 < level, "white", "below")):
        look = {"color": BLUE, "markerfacecolor": face, "markersize": marker_size(6), "clip_on": False}
        style.marks(ax, tried, r2, some, "o", label=label, **look)
    for value, compared, words in (
        (choice.r2_lasso, not choice.refitted, "LASSO"),
        (choice.r2_refitted, choice.refitted, "LASSO, refitted"),
    ):
        colour, line = (ORANGE, "-") if compared else (GREY, ":")
        ax.axhline(value, color=colour, linestyle=line, linewidth=line_width(1.4), label=words)
    if choice.qualifies != "none":
        ax.axvline(
            choice.nu,
            color=GREEN,
            linestyle="--",
            linewidth=line_width(1.2),
            label=rf"$\nu$ = {choice.nu:.3g}",
        )
    style.legend(ax)
    ax.grid(linewidth=line_width(0.4), alpha=0.5)
    return ax


def coefficients(ax: Axes, names: Names, coef: FloatArray, filled: list[int], words: tuple[str, str]) -> Axes:
    """Draw a stem for each nonzero coefficient in `coef` (d,), the largest first, and at most 40 of them.

    words : the two labels of the legend. The first is for the features in `filled`, drawn as filled circles;
        the second is for the others, drawn as squares.
    """
    nonzero = np.flatnonzero(coef)
    J = nonzero[style.largest(np.abs(coef[nonzero]))]
    at = np.arange(len(J))
    inside = np.isin(J, filled)
    ax.hlines(at, 0, coef[J], color=GREY, linewidth=line_width(1))
    style.marks(ax, coef[J], at, inside, "o", color=BLUE, markersize=marker_size(7), label=words[0])
    hollow = {"color": ORANGE, "markerfacecolor": "white", "markersize": marker_size(7)}
    style.marks(ax, coef[J], at, ~inside, "s", label=words[1], **hollow)
    ax.axvline(0, color=GREY, linewidth=line_width(0.8))
    ax.margins(x=0.08)
    style.rows(ax, [style.name(names, int(j)) for j in J])
    if len(J) < len(nonzero):
        ax.set_xlabel(f"{ax.get_xlabel()} (the {len(J)} largest of {len(nonzero)})")
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)
    style.legend(ax)
    return ax


def dual_projection(projection: results.DualProjection, *, ax: Axes | None = None) -> Axes:
    """Draw the coefficients β of v − u = Xβ, with the names of the features.

    v is the point that was projected, and u its projection. Outside S, the columns to which u is orthogonal,
    β_j ≠ 0 only if the constraint |⟨X_j, u⟩| ≤ λ is active; then |β_j| says how strongly the constraint moves
    u. The coefficients in S have hollow markers.

    Parameters
    ----------
    projection : a `DualProjection`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> ax = dual_projection(sl.project_dual([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5], 1.0))
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.lines[0].get_xdata().tolist()
    (['x0'], [2.0])
    """
    style.check_result(projection, "projection", results.DualProjection)
    count = int(np.count_nonzero(projection.coef))
    ax = style.picture(ax, "coefficient", "", figsize=(6.0, style.height(count)))
    if not count:
        return style.note(ax, "No constraint is active: the projection of v is v.")
    words = (r"active: $|\langle X_j, u\rangle| = \lambda$", "without penalty")
    return coefficients(ax, projection.names, projection.coef, list(projection.active), words)
