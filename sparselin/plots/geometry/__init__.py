"""The geometry of the LASSO and of greedy selection, drawn in two and three dimensions.

`plane` and `space` draw the dual polytope, and `film` animates it as λ decreases. `scene` holds the data of
these pictures, computed with public functions, and `polytope` computes the faces. `primal` draws the ℓ1 ball
and the angles of OMP. `picks` draws the pick for every direction of y, and `directions` draws columns as seen
from y. `labels` finds places for labels.
"""

from sparselin.plots.geometry.directions import around_several as around_several
from sparselin.plots.geometry.directions import around_y as around_y
from sparselin.plots.geometry.film import animation as animation
from sparselin.plots.geometry.picks import first_picks as first_picks
from sparselin.plots.geometry.plane import dual_polytope as dual_polytope
from sparselin.plots.geometry.primal import l1_ball as l1_ball
from sparselin.plots.geometry.primal import residual_angles as residual_angles
