"""
=======================================
How many features: two rules, two paths
=======================================

A selector computes its path once, and compares the models along it. `scores_[i]` is the score of the model
with `sizes_[i]` features; the least score is the best. `at(k)` returns the selector for another k without
fitting again.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from sparselin import plots
from sparselin.estimators import OMPSelector
from sparselin.plots import style

X, y = load_diabetes(as_frame=True, return_X_y=True)
by_ebic = OMPSelector("ebic", max_features=10).fit(X, y)
by_errors = OMPSelector("cv_1se", max_features=10, cv=10).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
style.picture(left, "number of features", "EBIC", "EBIC along the path")
left.plot(by_ebic.sizes_, by_ebic.scores_, "o-", color=style.BLUE)
k = by_ebic.k_
words = f"first minimum: {k}\n" + "\n".join(by_ebic.get_feature_names_out())
left.plot(k, by_ebic.scores_[k], "D", color=style.ORANGE, markersize=10, label=words)
left.legend(frameon=False)
style.integers(left)

plots.cross_validation(by_errors.cross_validation_, ax=right)
right.set_title("Errors of ten folds", fontsize=10)
plt.show()
