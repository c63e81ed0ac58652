"""Pictures with the contours of penalties of two coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.attention.softmax_penalty import softmax_penalty
from sparselin.plots.style import Axes, font_size, picture, pyplot
from sparselin.results import FloatArray
from sparselin.validation import check_count, check_finite, check_real, to_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GRID = 241
_Q = r"$Q^*(\beta\circ\beta)$"


def penalty_contours(limit: float, points: int = 201) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the penalty Q*(β∘β) of `softmax_penalty` on a grid of `points`² values of β ∈ [−limit, limit]².

    Figure 2 of *Sequential Attention for Feature Selection* (ICLR 2023) shows limit = 1, 10 and 100.

    Returns
    -------
    Three arrays: beta1 (points,), beta2 (points,) and value (points, points). value[i, j] is Q*(β∘β) at
    β = (beta1[j], beta2[i]).

    Raises
    ------
    TypeError : limit is not a number or points not an integer.
    ValueError : limit is not positive and finite, or points < 2.

    >>> beta1, beta2, value = penalty_contours(1.0, points=3)
    >>> value.round(4).tolist()
    [[8.0, 2.3711, 8.0], [2.3711, 0.0, 2.3711], [8.0, 2.3711, 8.0]]
    """
    limit = check_real(limit, "limit", lambda value: value > 0, "positive")
    beta = np.linspace(-limit, limit, check_count(points, "points", 2))
    value = softmax_penalty(np.stack(np.meshgrid(beta**2, beta**2), axis=-1)).value
    return beta, beta.copy(), value


def contours(
    beta1: FloatArray, beta2: FloatArray, value: FloatArray, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the contours of a penalty of two coefficients, such as Q*(β∘β).

    The contours are at round numbers close to the squares of equidistant numbers. So they are about
    equidistant along a ray on which the penalty grows like the square of β, at every zoom.

    Parameters
    ----------
    beta1, beta2 : the grid, (p,) and (q,), increasing; or (q, p) as `np.meshgrid(beta1, beta2)` makes it.
    value : the penalty ≥ 0, (q, p): value[i, j] is at (beta1[j], beta2[i]). It must grow from the centre.
    title : the title of the panel.
    ax : where to draw; a new figure if None.

    Raises
    ------
    TypeError, ValueError : an argument is not numeric, holds NaN or infinity, or has another shape; a grid
        that does not increase; value < 0, or zero everywhere.

    >>> contours(*penalty_contours(10, points=21), title="$|β_i| ≤ 10$").get_xlabel()
    '$\\\\beta_1$'
    """
    beta1, beta2, value = _check_grid(beta1, beta2, value)
    ax = picture(ax, r"$\beta_1$", r"$\beta_2$", title, figsize=(3.3, 3.4))
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    top = float(value.max())
    lines = sorted({float(f"{top * (i / 8) ** 2:.1g}") for i in range(1, 8)})
    # The colours stop before the bright end, so that white lines stay visible.
    colours = {"cmap": "viridis", "norm": PowerNorm(0.5, vmin=0, vmax=1.4 * top)}
    # drawn as an image, because polygons would have seams and take megabytes of SVG
    ax.contourf(beta1, beta2, value, top * np.linspace(0, 1, 49) ** 2, **colours).set_rasterized(True)
    drawn = ax.contour(beta1, beta2, value, lines, colors="white", linewidths=0.7)
    ax.clabel(
        drawn, fmt=_with_thousands, fontsize=font_size(), manual=_label_points(beta1, beta2, value, lines)
    )
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_aspect("equal")
    return ax


def _check_grid(beta1: Any, beta2: Any, value: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the grid (p,) and (q,), and the penalty (q, p), after a check."""
    value = _numbers(value, "value")
    if value.ndim != 2 or min(value.shape) < 2:
        raise ValueError(f"value must have two dimensions, of length 2 or more; got shape {value.shape}")
    grid = []
    for name, axis, given in (("beta1", 1, beta1), ("beta2", 0, beta2)):
        given = _numbers(given, name)
        if given.shape == value.shape:  # of np.meshgrid
            along = given if axis else given.T
            if (along != along[0]).any():
                raise ValueError(f"{name} must be as np.meshgrid(beta1, beta2) makes it, with indexing='xy'")
            given = along[0]
        if given.shape != (value.shape[axis],):
            raise ValueError(
                f"{name} must have the shape ({value.shape[axis]},) or {value.shape}, for a value of shape "
                f"{value.shape}; got {given.shape}"
            )
        if not (np.diff(given) > 0).all():
            raise ValueError(f"{name} must increase; np.sort it, and compute the values again")
        grid.append(given)
    if value.min() < 0 or not value.any():
        least = f"its least entry is {value.min():g}"
        raise ValueError(f"value must be nonnegative, and positive somewhere; {least}")
    return grid[0], grid[1], value


def _numbers(given: Any, name: str) -> FloatArray:
    """Return an argument as an array of finite numbers in float64."""
    found = np.asarray(to_array(given, name))
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of real numbers; got dtype {found.dtype}")
    numbers = found.astype(np.float64)
    check_finite(numbers, name)
    return numbers


def penalty_panels(panels: Sequence[tuple[FloatArray, FloatArray, FloatArray]]) -> tuple[Axes, ...]:
    """Draw `contours` of several (beta1, beta2, value) side by side, each with its range as the title.

    >>> [ax.get_title() for ax in penalty_panels([penalty_contours(limit, points=21) for limit in (1, 10)])]
    ['$|\\\\beta_i| \\\\leq 1$', '$|\\\\beta_i| \\\\leq 10$']
    """
    panels = list(panels)
    if not panels or not all(len(panel) == 3 for panel in panels):
        raise ValueError("panels must be a list of (beta1, beta2, value), such as [penalty_contours(1)]")
    shape = {"figsize": (4.4 * len(panels), 3.8), "layout": "constrained"}
    figure, drawn = pyplot().subplots(1, len(panels), squeeze=False, **shape)
    for ax, panel in zip(drawn[0], panels, strict=True):
        contours(*panel, title=rf"$|\beta_i| \leq {panel[0].max():g}$", ax=ax)
        _bar(figure, ax, _Q)
    for ax in drawn[0, 1:]:
        ax.set_ylabel("")
    return tuple(drawn[0])


def penalties(limit: float = 3.0) -> tuple[Axes, ...]:
    """Draw the penalties on β ∈ [−limit, limit]² that masks of attention induce, with ℓ₁, ℓ_½ and ridge.

    Weight decay (λ/2)(‖w‖² + ‖θ‖²) on β = s(w)∘θ acts as (λ/2)R(β) on β. The penalty R depends on the mask s:

    - 2‖β‖₁ for s_i = w_i (Hoff) or |w_i|;
    - Q*(β∘β) for softmax (Lemma 3.2);
    - 3·2^{−2/3}Σ|β_i|^{2/3} for w_i²;
    - (Σ|β_i|^{2/3})³ for both normalised masks;
    - ‖β‖² without a mask.

    In every panel the contours meet the axes at the multiples of limit/3, so only their shapes in between
    differ. The titles are about an open quadrant. The title for Q* follows the claims SA-figure-2-in-x and
    SA-figure-2-jointly of the ledger: Q* is concave in x = β∘β, but as a function of β it is concave on no
    open set. {Q*(β∘β) ≤ c} is convex if and only if c ≤ 2 (SA-figure-2-contours), and its corners on the axes
    are rounded.

    Parameters
    ----------
    limit : the half-width of the square.

    Returns
    -------
    The six Axes of a new figure. Each has a colour bar with the name of the penalty.

    Raises
    ------
    TypeError, ValueError : limit is not a number, or is not positive and finite.

    >>> [ax.get_title().split("\\n")[1] for ax in penalties(2)[:3]]
    ['convex, linear in a quadrant', 'concave in β∘β, not in β', 'concave in a quadrant']
    """
    limit = check_real(limit, "limit", lambda half: half > 0, "positive")
    scale = font_size() / 11.0
    figure, drawn = pyplot().subplots(2, 3, figsize=(12.4 * scale, 8.2 * scale), layout="constrained")
    half = np.linspace(-limit, limit, _GRID)
    beta = np.stack(np.meshgrid(half, half), axis=-1)
    for ax, (title, label, value) in zip(drawn.flat, _PENALTIES, strict=True):
        picture(ax, r"$\beta_1$", r"$\beta_2$", title)
        heights = value(beta)
        steps = limit / 3 * np.arange(40)
        levels = value(np.column_stack([steps, 0 * steps]))
        levels = levels[: int(np.searchsorted(levels, heights.max())) + 1]
        ax.contourf(half, half, heights, levels, cmap="viridis").set_rasterized(True)
        ax.contour(half, half, heights, levels[1:], colors="white", linewidths=0.9)
        _bar(figure, ax, label)
        ax.set_aspect("equal")
    return tuple(drawn.flat)


def _power(beta: FloatArray, p: float) -> FloatArray:
    """Return Σ|β_i|^p."""
    return np.asarray((np.abs(beta) ** p).sum(axis=-1))


# title, name of the penalty, R(β)
_PENALTIES: tuple[tuple[str, str, Callable[[FloatArray], FloatArray]], ...] = (
    ("mask $|w|$: $\\ell_1$\nconvex, linear in a quadrant", r"$2\|\beta\|_1$", lambda b: 2 * _power(b, 1)),
    ("mask softmax\nconcave in β∘β, not in β", _Q, lambda b: softmax_penalty(b**2).value),
    ("$\\ell_{1/2}$\nconcave in a quadrant", r"$(\sum|\beta_i|^{1/2})^2$", lambda b: _power(b, 0.5) ** 2),
    (
        "mask $w^2$\nconcave in a quadrant",
        r"$3\cdot 2^{-2/3}\sum|\beta_i|^{2/3}$",
        lambda beta: 3 * 2 ** (-2 / 3) * _power(beta, 2 / 3),
    ),
    (
        "normalised masks\nquasi-concave, convex on rays",
        r"$(\sum|\beta_i|^{2/3})^3$",
        lambda beta: _power(beta, 2 / 3) ** 3,
    ),
    ("no mask: ridge\nconvex", r"$\|\beta\|^2$", lambda b: _power(b, 2)),
)


def _bar(figure: Figure, ax: Axes, label: str) -> None:
    """Add the colour bar of the filled contours on `ax`, with the name of the penalty."""
    from matplotlib.ticker import MaxNLocator

    filled: Any = next(drawn for drawn in ax.collections if drawn.get_rasterized())
    bar: Any = figure.colorbar(filled, ax=ax, shrink=0.9, spacing="proportional")
    bar.solids.set_rasterized(True)  # polygons would have seams
    top = float(filled.levels[-1])
    bar.set_ticks([tick for tick in MaxNLocator(5).tick_values(0, top) if tick <= top])
    bar.ax.set_ylim(0, top)
    bar.ax.tick_params(labelsize=font_size())
    bar.set_label(label, fontsize=font_size())


def _label_points(
    beta1: FloatArray, beta2: FloatArray, value: FloatArray, levels: list[float]
) -> list[tuple[float, float]]:
    """Return the grid points at which the contours meet the diagonal in the upper right quarter."""
    share = np.linspace(0, 0.85, 200)
    rows = np.round((len(beta2) - 1) * (1 + share) / 2).astype(int)
    columns = np.round((len(beta1) - 1) * (1 + share) / 2).astype(int)
    along = value[rows, columns]
    at = np.searchsorted(along, [level for level in levels if level <= along[-1]])
    return [(float(beta1[columns[i]]), float(beta2[rows[i]])) for i in at]


def _with_thousands(number: float) -> str:
    """Return a number with thin spaces between groups of three digits."""
    return f"{number:,.0f}".replace(",", "\u2009") if number >= 1000 else f"{number:g}"
