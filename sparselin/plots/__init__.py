"""Figures. Each function returns the Axes it drew on.

Their arguments are results, of which they compute nothing new, except for designs in two or three dimensions.
"""

from sparselin.plots.cross_validation import cross_validation
from sparselin.plots.diversity import (
    coefficient_errors,
    diversity_panels,
    normalised_diversity,
    pixel_maps,
    r_squared,
    without_constants,
)
from sparselin.plots.guarantees import achieved, around_several, around_y, promised, worst_ratios
from sparselin.plots.penalty import contours, penalty_panels
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, RED, close
from sparselin.plots.verification import agreement, dual_polytope, windows

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "RED",
    "achieved",
    "agreement",
    "around_several",
    "around_y",
    "close",
    "coefficient_errors",
    "contours",
    "cross_validation",
    "diversity_panels",
    "dual_polytope",
    "normalised_diversity",
    "penalty_panels",
    "pixel_maps",
    "promised",
    "r_squared",
    "windows",
    "without_constants",
    "worst_ratios",
]
