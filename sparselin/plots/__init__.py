"""Figures. Each function returns the Axes it drew on; `show` picks that of a result, `describe` tells it.

Most take a result, of which they compute nothing new; `window`, `hoff_descent` and the pictures in two or
three dimensions take X and y. The colours are those of `PALETTE`, which dichromats tell apart too.
"""

from sparselin.plots.bounds import guarantee_bounds, interval, sparse_eigenvalues
from sparselin.plots.cross_validation import cross_validation
from sparselin.plots.describe import describe
from sparselin.plots.diversity import (
    coefficient_errors,
    diversity_panels,
    normalised_diversity,
    pixel_maps,
    r_squared,
    without_constants,
)
from sparselin.plots.geometry import (
    animation,
    around_several,
    around_y,
    dual_polytope,
    first_picks,
    l1_ball,
    residual_angles,
)
from sparselin.plots.guarantees import achieved, promised, worst_ratios
from sparselin.plots.hoff import hoff_descent
from sparselin.plots.networks import attention, lassonet, ranking
from sparselin.plots.paths import batch_selection, explanation, lasso_path
from sparselin.plots.penalty import contours, penalties, penalty_panels
from sparselin.plots.pictures import show
from sparselin.plots.pixels import selected_pixels
from sparselin.plots.points import descent, dual_projection, hier_prox, penalty_value
from sparselin.plots.selection import selection
from sparselin.plots.sets import greedy_maximum, nu_choice, subset
from sparselin.plots.stability import stability
from sparselin.plots.studies import picked_pixels, study_lines, study_times
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
from sparselin.plots.verification import agreement, windows
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
    "achieved",
    "agreement",
    "animation",
    "around_several",
    "around_y",
    "attention",
    "batch_selection",
    "close",
    "coefficient_errors",
    "contours",
    "cross_validation",
    "descent",
    "describe",
    "diversity_panels",
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
    "normalised_diversity",
    "nu_choice",
    "penalties",
    "penalty_panels",
    "penalty_value",
    "picked_pixels",
    "pixel_maps",
    "promised",
    "r_squared",
    "ranking",
    "residual_angles",
    "selected_pixels",
    "selection",
    "show",
    "sparse_eigenvalues",
    "stability",
    "study_lines",
    "study_times",
    "subset",
    "window",
    "windows",
    "without_constants",
    "worst_ratios",
]
