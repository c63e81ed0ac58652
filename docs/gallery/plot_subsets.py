"""
======================================
Greedy, with swaps, or the best subset
======================================

Orthogonal least squares never removes a feature. `swaps` exchanges one feature at a time as long as this
lowers the residual. `best_subset` finds the best set, and proves that it is the best. The columns are random
walks, which resemble each other.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparselin as sl
from sparselin.plots import style

X, y = sl.ensembles.random_walk(60, 30, 10)
sizes = range(1, 11)
best = np.array([sl.best_subset(X, y, k).residual for k in sizes])
squares = {
    "orthogonal least squares": sl.ols(X, y, 10).residual_norm[1:] ** 2,
    "with swaps": np.array([sl.swaps(X, y, k).residuals[-1] for k in sizes]),
    "best subset": best,
}

ax = style.picture(None, "number of features", "‖r‖² above the best [%]", "Random walks, 60 × 30")
for (name, square), look, colour in zip(
    squares.items(), ("s-", "o-", "D-"), (style.ORANGE, style.BLUE, style.GREEN), strict=True
):
    ax.plot(sizes, 100 * (square / best - 1), look, color=colour, label=name)
ax.set_ylim(top=15)
ax.legend(frameon=False, loc="upper left")
plt.show()
