"""
=========================================
Groups: dummies together, for two outputs
=========================================

`OMPSelector(groups=…)` selects all dummies of a category together, and the same groups for all outputs.
Cross-validation chooses the number of groups. The dummies of a category add up to one. So the last one
depends on the others and the intercept, and its coefficient is 0.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sparselin import plots
from sparselin.estimators import OMPSelector
from sparselin.plots import style

rng = np.random.default_rng(0)
levels = {"season": 4, "weekday": 7, "hour": 6, "site": 8, "colour": 5}
table = pd.DataFrame({name: rng.integers(m, size=400).astype(str) for name, m in levels.items()})
X = pd.get_dummies(table, dtype=float).assign(
    wind_0=rng.standard_normal(400), rain_0=rng.standard_normal(400)
)
groups = [name.split("_")[0] for name in X]
effects = {name: rng.standard_normal((groups.count(name), 2)) for name in ("season", "hour", "rain")}
y = sum(X.filter(like=name).to_numpy() @ effect for name, effect in effects.items())
y += rng.standard_normal(y.shape)

selector = OMPSelector("cv_1se", groups=groups, max_features=len(set(groups))).fit(X, y)
names, kept = selector.get_feature_names_out(), selector.get_support()

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
plots.cross_validation(selector.cross_validation_, ax=left).set_xlabel("number of groups")
style.picture(right, "coefficient", "", "Selected")
for row, colour, shift in zip(selector.coef_[:, kept], (style.BLUE, style.ORANGE), (-0.2, 0.2), strict=True):
    right.barh(np.arange(len(names)) + shift, row, 0.4, color=colour, label=f"output {1 + (shift > 0)}")
style.rows(right, names)
right.legend(frameon=False)
plt.show()
