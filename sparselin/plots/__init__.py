"""Figures of results and of the geometry.

Each function returns the Axes on which it drew; `show(result)` draws any result. Most functions take a
result and compute nothing new. `window`, `hoff_descent` and the pictures in two or three dimensions take
X and y. The colours are those of `PALETTE`, which colour-blind people can also tell apart.
"""

from sparselin.plots.bounds import guarantee_bounds as guarantee_bounds
from sparselin.plots.bounds import inference as inference
from sparselin.plots.bounds import interval as interval
from sparselin.plots.bounds import sparse_eigenvalues as sparse_eigenvalues
from sparselin.plots.condition import condition as condition
from sparselin.plots.geometry.directions import around_several as around_several
from sparselin.plots.geometry.directions import around_y as around_y
from sparselin.plots.geometry.film import animation as animation
from sparselin.plots.geometry.picks import first_picks as first_picks
from sparselin.plots.geometry.plane import dual_polytope as dual_polytope
from sparselin.plots.geometry.primal import l1_ball as l1_ball
from sparselin.plots.geometry.primal import residual_angles as residual_angles
from sparselin.plots.hoff import descent as descent
from sparselin.plots.hoff import hoff_descent as hoff_descent
from sparselin.plots.paths import batch_selection as batch_selection
from sparselin.plots.paths import explanation as explanation
from sparselin.plots.paths import flow as flow
from sparselin.plots.paths import lasso_path as lasso_path
from sparselin.plots.penalty import contours as contours
from sparselin.plots.penalty import penalties as penalties
from sparselin.plots.penalty import penalty_panels as penalty_panels
from sparselin.plots.pictures import show as show
from sparselin.plots.pixels import selected_pixels as selected_pixels
from sparselin.plots.resampling import cross_validation as cross_validation
from sparselin.plots.resampling import leave_one_out as leave_one_out
from sparselin.plots.resampling import stability as stability
from sparselin.plots.selection import selection as selection
from sparselin.plots.sets import dual_projection as dual_projection
from sparselin.plots.sets import greedy_maximum as greedy_maximum
from sparselin.plots.sets import nu_choice as nu_choice
from sparselin.plots.sets import subset as subset
from sparselin.plots.sets import subsets_within as subsets_within
from sparselin.plots.style import BLUE as BLUE
from sparselin.plots.style import BROWN as BROWN
from sparselin.plots.style import GREEN as GREEN
from sparselin.plots.style import GREY as GREY
from sparselin.plots.style import ORANGE as ORANGE
from sparselin.plots.style import PALETTE as PALETTE
from sparselin.plots.style import PINK as PINK
from sparselin.plots.style import RED as RED
from sparselin.plots.style import SKY as SKY
from sparselin.plots.style import VIOLET as VIOLET
from sparselin.plots.style import close as close
from sparselin.plots.window import first_entry as first_entry
from sparselin.plots.window import window as window
