"""The options of most methods, drawn for every kind of data: weights, an intercept, standardized columns.

The oracle of an option shares no formula with the package: rows are repeated in place of weights, the
intercept is a column of ones that is forced, and standardized columns are compared by squares, which are
rational.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .oracles import Design, power

NAMES = ("weights", "intercept", "standardize")


def drawn(seed):
    """Return the options of a seed, each in half of the cases."""
    rng = np.random.default_rng([seed, 1])
    return tuple(name for name in NAMES if rng.random() < 0.5)


def weights(case):
    """Return multiples (n,) from 0 to 3, not all zero, and p: the weights are multiples·4^p."""
    rng = np.random.default_rng([case.seed, len(case.X)])
    multiples = rng.integers(0, 4, len(case.X))
    multiples[rng.integers(len(multiples))] = 1
    return multiples, int(rng.integers(-3, 4))


def arguments(case):
    """Return the options of a case as arguments of a method."""
    multiples, p = weights(case)
    values = {"weights": {"sample_weight": multiples * 4.0**p}, "intercept": {"intercept": True},
              "standardize": {"standardize": True}}  # fmt: skip
    return {name: value for option in case.options for name, value in values[option].items()}


def design(case):
    """Return the design that the options make of a case, with the column of ones, if there is one, last."""
    X, y, p, base = case.X, case.y, 0, ()
    if "weights" in case.options:
        multiples, p = weights(case)
        X, y = (np.repeat(np.ldexp(a, p), multiples, axis=0) for a in (X, y))
    if "intercept" in case.options:
        base = (X.shape[1],)
        X = np.column_stack([X, np.full(len(X), 2.0**p, X.dtype)])
    total = len(X) * power(2 * p) if "standardize" in case.options else None
    return Design(X, y, base, total)


def translated(exact, path):
    """Return a path, or a subset, as one on the design of the options: the ones come first."""
    if not exact.base:
        return path
    b, n = exact.base, float(exact.length[-1])
    found = SimpleNamespace(status=path.status, support=np.concatenate([b, path.support]).astype(int))
    found.dense_coef = lambda: np.append(path.dense_coef(), path.intercept)
    if hasattr(path, "ties"):
        found.ties = ((), *path.ties)
        found.active_sets = ((), *path.active_sets)
        found.lam_star = np.concatenate([[np.nan], path.lam_star])
        found.margin = np.concatenate([[np.nan], path.margin])
        found.residual_norm = np.concatenate([[n], path.residual_norm])
    return found
