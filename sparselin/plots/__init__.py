"""Figures. Each function returns the Axes on which it drew; `show(result)` draws any result.

Most functions take a result and compute nothing new. `window`, `hoff_descent` and the pictures in two or
three dimensions take X and y. The colours are those of `PALETTE`, which colour-blind people can also tell
apart.
"""

from sparselin.plots.bounds import guarantee_bounds, interval, sparse_eigenvalues
from sparselin.plots.geometry import (
    animation,
    around_several,
    around_y,
    dual_polytope,
    first_picks,
    l1_ball,
    residual_angles,
)
from sparselin.plots.hoff import hoff_descent
from sparselin.plots.networks import attention, lassonet, ranking
from sparselin.plots.paths import batch_selection, explanation, lasso_path
from sparselin.plots.penalty import contours, penalties, penalty_panels
from sparselin.plots.pictures import show
from sparselin.plots.pixels import selected_pixels
from sparselin.plots.points import descent, dual_projection, hier_prox, penalty_value
from sparselin.plots.resampling import cross_validation, stability
from sparselin.plots.selection import selection
from sparselin.plots.sets import greedy_maximum, nu_choice, subset, subsets_within
from sparselin.plots.style import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PINK,
    RED,
    SKY,
    VIOLET,
    close,
)
from sparselin.plots.window import first_entry, window

__all__ = [
    "BLUE",
    "BROWN",
    "GREEN",
    "GREY",
    "ORANGE",
    "PALETTE",
    "PINK",
    "RED",
    "SKY",
    "VIOLET",
    "animation",
    "around_several",
    "around_y",
    "attention",
    "batch_selection",
    "close",
    "contours",
    "cross_validation",
    "descent",
    "dual_polytope",
    "dual_projection",
    "explanation",
    "first_entry",
    "first_picks",
    "greedy_maximum",
    "guarantee_bounds",
    "hier_prox",
    "hoff_descent",
    "interval",
    "l1_ball",
    "lasso_path",
    "lassonet",
    "nu_choice",
    "penalties",
    "penalty_panels",
    "penalty_value",
    "ranking",
    "residual_angles",
    "selected_pixels",
    "selection",
    "show",
    "sparse_eigenvalues",
    "stability",
    "subset",
    "subsets_within",
    "window",
]
