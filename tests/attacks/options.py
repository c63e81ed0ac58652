"""The data and options of `problem.support.SUPPORT` as attacks draw them, and the exact designs they make.

The oracle of an option shares no formula with the package: rows are repeated in place of weights, the
intercept is a column of ones that is forced, and standardized columns are compared by squares, which are
rational. A LinearOperator multiplies by the same X; a compressed problem is known to its own `eps`.
"""

from types import SimpleNamespace

import numpy as np

import sparselin as sl
from sparselin.problem.support import SUPPORT

from .oracles import Design, power

NAMES = ("weights", "intercept", "standardize", "tol", "positive")
# The arguments that a compressed problem takes itself.
AT_PROBLEM = ("sample_weight", "intercept", "standardize")
# Form of X → its column in SUPPORT; float32 data have any of them.
FORMS = {"sparse": "sparse", "operator": "operator", "C": "dense", "compressed": "compressed", "F": "dense"}
# Attacks that call a function by another name, and options that no oracle here judges.
FUNCTIONS = {"sequential_lasso_omp": "sequential_lasso", "spectral_forward": "forward_regression"}
UNJUDGED = {
    "hadamard_descent": ("tol",), "batch_omp": ("tol", "positive"), "lasso_path": ("positive",),
    "best_subset": ("positive",),
}  # fmt: skip


def draw(method, seed):
    """Return the form of X and the options of a seed, among those that SUPPORT has for the method."""
    name = FUNCTIONS.get(method, method)
    support, rng = SUPPORT[name], np.random.default_rng([seed, 1])
    forms = [form for form, data in FORMS.items() if data in support.data]
    form = forms[seed // 4 % len(forms)]
    chosen = [option for option in NAMES if rng.random() < 0.5]
    return form, tuple(
        option
        for option in chosen
        if option in support.options
        and (FORMS[form], option) not in support.refused
        and option not in UNJUDGED.get(name, ())
    )


def weights(case):
    """Return multiples (n,) from 0 to 3, not all zero, and p: the weights are multiples·4^p."""
    rng = np.random.default_rng([case.seed, len(case.X)])
    multiples = rng.integers(0, 4, len(case.X))
    multiples[rng.integers(len(multiples))] = 1
    return multiples, int(rng.integers(-3, 4))


def tolerance(case):
    """Return the tol of a case, relative to ‖y‖."""
    return float(np.random.default_rng([case.seed, 2]).uniform(0.05, 0.9))


def arguments(case):
    """Return the options of a case as arguments of a method."""
    multiples, p = weights(case)
    values = {"weights": {"sample_weight": multiples * 4.0**p}, "tol": {"tol": tolerance(case)}}
    chosen = [values.get(option, {option: True}) for option in case.options]
    return {name: value for arguments_of in chosen for name, value in arguments_of.items()}


def data(case):
    """Return X, y and the arguments of a case; a compressed problem holds weights, intercept and scales."""
    options = arguments(case)
    if case.form != "compressed":
        return case.given(), case.y, options
    weight = options.pop("sample_weight", None)
    rows = [part for part in np.array_split(np.arange(len(case.X)), 2) if part.size]
    chunks = [(case.X[part], case.y[part]) + (() if weight is None else (weight[part],)) for part in rows]
    at_problem = {name: options.pop(name) for name in AT_PROBLEM if name in options}
    return sl.compress(chunks, **at_problem), None, options


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
    eps = data(case)[0].eps if case.form == "compressed" else None
    exact = Design(X, y, base, total, eps)
    if case.form == "operator":  # its products are rounded to its dtype
        exact.double = exact.eps
    return exact


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
