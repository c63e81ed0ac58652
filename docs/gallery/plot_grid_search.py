"""
=========================================
How many features: a search in a pipeline
=========================================

`OMPSelector` selects features, a logistic regression classifies, and `GridSearchCV` chooses k. The frame that
the selector returns has the names of the selected columns.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparselin.estimators import OMPSelector
from sparselin.plots import style

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
model = make_pipeline(StandardScaler(), OMPSelector(), LogisticRegression()).set_output(transform="pandas")
search = GridSearchCV(model, {"ompselector__n_features_to_select": list(range(1, 16))}, cv=5).fit(X, y)

sizes = search.cv_results_["param_ompselector__n_features_to_select"].astype(int)
mean, spread = search.cv_results_["mean_test_score"], search.cv_results_["std_test_score"]
names = search.best_estimator_[:-1].get_feature_names_out()
k, best = len(names), search.best_score_

ax = style.picture(
    None, "number of features (of 30)", "accuracy on the held-out fold", "Breast cancer", (8.2, 4.0)
)
ax.fill_between(sizes, mean - spread, mean + spread, color=style.BLUE, alpha=0.15, linewidth=0)
ax.plot(sizes, mean, "o-", color=style.BLUE, label="mean of five folds, ± one standard deviation")
ax.plot(k, best, "D", color=style.ORANGE, markersize=10, label=f"chosen: {k} features, {best:.1%}")
ax.text(1.02, 0.5, "\n".join(names), transform=ax.transAxes, va="center", color=style.ORANGE)
ax.legend(frameon=False, loc="lower right")
plt.show()
