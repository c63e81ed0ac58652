"""Figures. Each function returns the Axes it drew on; `show` picks that of a result.

Their arguments are results, of which they compute nothing new, except for designs in two or three dimensions.
"""

from sparselin.plots.animation import animation
from sparselin.plots.bounds import guarantee_bounds, interval, sparse_eigenvalues
from sparselin.plots.cross_validation import cross_validation
from sparselin.plots.directions import around_several, around_y
from sparselin.plots.diversity import (
    coefficient_errors,
    diversity_panels,
    normalised_diversity,
    pixel_maps,
    r_squared,
    without_constants,
)
from sparselin.plots.geometry import dual_polytope
from sparselin.plots.guarantees import achieved, promised, worst_ratios
from sparselin.plots.paths import batch_selection, explanation, first_entry, lasso_path, selection
from sparselin.plots.penalty import contours, penalty_panels
from sparselin.plots.picks import first_picks
from sparselin.plots.pictures import show
from sparselin.plots.points import descent, dual_projection, hier_prox, penalty_value
from sparselin.plots.primal import l1_ball, residual_angles
from sparselin.plots.sets import greedy_maximum, nu_choice, subset
from sparselin.plots.stability import stability
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, RED, close
from sparselin.plots.verification import agreement, windows

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "RED",
    "achieved",
    "agreement",
    "animation",
    "around_several",
    "around_y",
    "batch_selection",
    "close",
    "coefficient_errors",
    "contours",
    "cross_validation",
    "descent",
    "diversity_panels",
    "dual_polytope",
    "dual_projection",
    "explanation",
    "first_entry",
    "first_picks",
    "greedy_maximum",
    "guarantee_bounds",
    "hier_prox",
    "interval",
    "l1_ball",
    "lasso_path",
    "normalised_diversity",
    "nu_choice",
    "penalty_panels",
    "penalty_value",
    "pixel_maps",
    "promised",
    "r_squared",
    "residual_angles",
    "selection",
    "show",
    "sparse_eigenvalues",
    "stability",
    "subset",
    "windows",
    "without_constants",
    "worst_ratios",
]
