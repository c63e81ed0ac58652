"""The geometry of the LASSO and of greedy selection, drawn in two and three dimensions.

`plane` and `space` draw the dual polytope, `film` how it shrinks; `scene` is what they show, computed by
public functions, and `polytope` its faces. `primal`: the ℓ1 ball, and OMP's angles. `picks`: what is
picked for every direction of y. `directions`: columns as seen from y. `labels` finds places for letters.
"""

from sparselin.plots.geometry.directions import around_several, around_y
from sparselin.plots.geometry.film import animation
from sparselin.plots.geometry.picks import first_picks
from sparselin.plots.geometry.plane import dual_polytope
from sparselin.plots.geometry.primal import l1_ball, residual_angles

__all__ = [
    "animation",
    "around_several",
    "around_y",
    "dual_polytope",
    "first_picks",
    "l1_ball",
    "residual_angles",
]
