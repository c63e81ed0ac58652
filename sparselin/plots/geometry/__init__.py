"""The geometry of the LASSO and of greedy selection, drawn in two and three dimensions.

`plane` and `space` draw the dual polytope, and `film` animates it as λ decreases. `scene` holds the data of
these pictures, computed with public functions, and `polytope` computes the faces. `primal` draws the ℓ1 ball
and the angles of OMP. `picks` draws the pick for every direction of y, and `directions` draws columns as seen
from y. `labels` finds places for labels.
"""
