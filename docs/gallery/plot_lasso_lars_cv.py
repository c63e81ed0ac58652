"""
======================================
LassoLarsCV in place of scikit-learn's
======================================

On the left, the two estimators compute the same path and choose the same α. On the right, features tie, as
they often do for counts and dummies. A LASSO solution has no correlation `|⟨X_j, y − Xβ⟩|/n` above α; there
the path of scikit-learn leaves the LASSO solutions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn import linear_model
from sklearn.datasets import load_diabetes

from sparselin.estimators import LassoLars, LassoLarsCV
from sparselin.plots import style

X, y = load_diabetes(return_X_y=True)
ours, theirs = LassoLarsCV().fit(X, y), linear_model.LassoLarsCV().fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
style.picture(left, "α", "coefficient", "Diabetes")
left.plot(theirs.alphas_, theirs.coef_path_.T, color=style.ORANGE, linewidth=4, alpha=0.5)
left.plot(ours.alphas_, ours.coef_path_.T, color=style.BLUE, linewidth=1)
label = f"α {theirs.alpha_:.6f}, theirs"
left.axvline(theirs.alpha_, color=style.ORANGE, linewidth=4, alpha=0.5, label=label)
left.axvline(ours.alpha_, color=style.BLUE, linewidth=1, label=f"α {ours.alpha_:.6f}, ours")
left.set(xscale="log", xlim=(3e-3, 3))
left.legend(frameon=False)

rng = np.random.default_rng(33)
counts, target = rng.integers(-1, 2, (10, 6)).astype(float), rng.integers(-3, 4, 10).astype(float)
worst = {}
style.picture(right, "α", "largest correlation / α at the knots", "Entries −1, 0, 1")
for name, kind, look in (("theirs", linear_model.LassoLars, "s-"), ("ours", LassoLars, "o-")):
    path = kind(alpha=0.01, fit_intercept=False).fit(counts, target)
    residuals = target[:, None] - counts @ path.coef_path_
    ratio = np.abs(counts.T @ residuals).max(axis=0) / len(target) / path.alphas_
    right.plot(path.alphas_, ratio, look, color=style.BLUE if name == "ours" else style.ORANGE, label=name)
    worst[name] = ratio.max()
right.loglog()
right.set_yticks((1, 3, 10, 30), ("1", "3", "10", "30"))
right.legend(frameon=False)
plt.show()
