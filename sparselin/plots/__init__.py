"""Figures. Each function takes results, computes nothing and returns the Axes it drew on."""

from sparselin.plots.penalty import contours, penalty_panels
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, RED, close
from sparselin.plots.verification import agreement, dual_polytope, windows

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "RED",
    "agreement",
    "close",
    "contours",
    "dual_polytope",
    "penalty_panels",
    "windows",
]
