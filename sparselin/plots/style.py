"""The style of all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparselin.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, RED, GREEN, GREY = "#2a6f97", "#d98032", "#b3261e", "#1b7f5c", "#5b6b7b"


def close(figure: Figure) -> None:
    """Free a figure that is not shown."""
    pyplot().close(figure)


def axes(
    ax: Axes | None, title: str, xlabel: str, ylabel: str, figsize: tuple[float, float] = (5.0, 3.2)
) -> Axes:
    """The look that all figures share, on `ax` or on a new figure."""
    if ax is None:
        ax = pyplot().subplots(figsize=figsize, layout="constrained")[1]
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(xlabel, fontsize=10)
    ax.set_ylabel(ylabel, fontsize=10)
    ax.tick_params(labelsize=8, width=0.6, length=3)
    ax.spines[:].set_linewidth(0.6)
    ax.set_axisbelow(True)
    return ax


def in_space(X: Any, y: Any, n: int, name: str = "y") -> Problem:
    """The problem of a picture in the plane (n = 2) or in space (n = 3)."""
    problem = Problem(X, y)
    if problem.n != n:
        raise ValueError(
            f"X must have {n} rows and {name} {n} entries, those of the picture; got X of shape "
            f"{problem.X.shape}. np.linalg.qr gives the coordinates of columns that span no more."
        )
    return problem


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'sparselin[plot]'") from error
    return plt
