"""
====================================================
Stability selection: picks that half-samples confirm
====================================================

OMP selects t features on each half of the rows, for fifty random divisions into halves. Five of 300 features
have an influence, and neighbouring features have the correlation 0.6. The dashed line is the threshold above
which a feature counts as stable.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparselin as sl
from sparselin.plots import style

X, _ = sl.ensembles.ar1(150, 300, 0, rho=0.6)
rng = np.random.default_rng(0)
true = [20, 80, 140, 200, 260]
y = X[:, true] @ [1.0, -1.0, 0.9, 0.8, -0.7] / X.std() + 1.2 * rng.standard_normal(150)

found = sl.stability_selection(X, y, 12, threshold=0.75, intercept=True)
ax = sl.plots.stability(found)
stable = found.selected()
ax.set_title(
    f"{len(stable)} stable features, of 5 with an influence; x" + ", x".join(map(str, true)),
    fontsize=style.font_size(),
)
plt.show()
