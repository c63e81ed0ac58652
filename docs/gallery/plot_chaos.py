"""
==================================================
Polynomial chaos: which degree, and how many terms
==================================================

A function of eight inputs (Sobol's g) is expanded into products of Legendre polynomials, from 200 values of
the function. For each degree p, orthogonal least squares selects terms, and a rule chooses their number.
Cross-validation repeats the selection in each fold. Its error is close to the error on other points, so the
degree with the least error of cross-validation is a good choice. The corrected leave-one-out error takes the
terms as given. With more terms to choose from than values it is far too small, and it chooses too many terms.
"""

from functools import reduce

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial.legendre import legvander

from sparselin.estimators import OLSSelector
from sparselin.plots import style

A = np.array([1, 2, 5, 10, 20, 50, 100, 500])


def sobol_g(U):
    return np.prod((np.abs(2 * U) + A) / (1 + A), axis=1)


def expand(U, p, q=0.4):
    """Return the products of Legendre polynomials of variance 1 with Σ (degree/p)^q ≤ 1."""
    degrees = [()]
    for _ in A:
        longer = ((*a, k) for a in degrees for k in range(p + 1))
        degrees = [a for a in longer if sum(k**q for k in a) <= p**q * (1 + 1e-9)]
    single = legvander(U, p) * np.sqrt(2 * np.arange(p + 1) + 1)
    return reduce(np.multiply, (single[:, j, a] for j, a in enumerate(np.transpose(degrees))))


rng = np.random.default_rng(0)
U, V = rng.uniform(-1, 1, (200, 8)), rng.uniform(-1, 1, (2000, 8))
y, truth = sobol_g(U), sobol_g(V)
degrees, found = (4, 6, 8, 10, 12, 14, 16, 20, 24), {"cv": [], "loo": []}
errors = {"cv": [], "loo": []}  # of the models with 0, 1, … terms, on the other points
for p in degrees:
    X, Z = expand(U, p), expand(V, p)
    for rule in found:
        model = OLSSelector(rule, cv=10, max_features=min(100, X.shape[1]), fit_intercept=False).fit(X, y)
        squares = [np.mean((truth - model.at(k).predict(Z)) ** 2) for k in model.sizes_]
        found[rule].append(model)
        errors[rule].append(np.sqrt(squares / truth.var()))
estimates = {rule: [np.sqrt(m.scores_ / truth.var()) for m in models] for rule, models in found.items()}
best = int(np.argmin([curve.min() for curve in estimates["cv"]]))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
style.picture(left, "degree p", "relative error", "With the number of terms by each rule")
style.picture(right, "number of terms", "", f"Along the path of degree {degrees[best]}")
names, looks = {"cv": "cross-validation", "loo": "corrected leave-one-out"}, {"cv": "o", "loo": "^"}
for rule, colour in (("cv", style.BLUE), ("loo", style.ORANGE)):
    true = [error[m.k_] for error, m in zip(errors[rule], found[rule], strict=True)]
    lowest = [curve.min() for curve in estimates[rule]]
    left.plot(degrees, lowest, looks[rule] + ":", color=colour, label=f"{names[rule]}: its own value")
    left.plot(degrees, true, looks[rule] + "-", color=colour, label=f"{names[rule]}: other points")
    right.plot(found[rule][best].sizes_, estimates[rule][best], ":", color=colour, label=names[rule])
    k = found[rule][best].k_
    right.plot(k, errors[rule][best][k], looks[rule], color=colour, markersize=9, label=f"chosen: {k} terms")
right.plot(errors["cv"][best], color=style.GREY, label="other points")
left.axvline(degrees[best], color=style.GREY, linewidth=0.8)
for ax in (left, right):
    ax.set(yscale="log", ylim=(0.02, 1))
    ax.legend(frameon=False, fontsize=9)
    style.integers(ax)
plt.show()
