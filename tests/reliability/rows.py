"""The rows of the table: the methods of `tests/methods.py` that select or bound something, and the peers.

Left out are methods whose answers depend on the order of rows or on random numbers (`stability_selection`,
`leave_one_out`), follow ties that they do not name (`swaps`, `local_search`, regularized searches,
`choose_nu`), are approximations (`hadamard_descent`, `project_dual`), or are exact functions of a path
(`certify`, `inference`, `explain`, `verify`).
"""

import dataclasses
import importlib.util
from collections.abc import Callable

import numpy as np
from attacks.oracles import C
from methods import METHODS, Levels

import sparselin as sl
from sparselin.problem.support import OPTIONS, SUPPORT

from . import answers


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table of methods, and how its answers are read.

    size : of the designs, as `attacks.designs.SIZES` has them.
    k : the number of picks, at most; 0 if the row has no such argument.
    every : it is called on every `every`-th design, because it takes long.
    interpreted : whether its kernels are interpreted too, which takes seconds for some.
    one_solution : whether the exact answer may depend on the order of columns where these are dependent, and
        no tie is named: a LASSO path names the columns that enter, and not the others that could.
    """

    id: str
    read: Callable
    size: str = "step"
    k: int = 0
    every: int = 1
    interpreted: bool = True
    one_solution: bool = False
    options: dict = dataclasses.field(default_factory=dict)
    broken: Callable | None = None  # called in place of the method

    @property
    def method(self):
        """The row in the table of methods, with these options."""
        method = METHODS[self.id]
        return dataclasses.replace(method, options={**method.options, **self.options}, function=self.function)

    @property
    def function(self):
        return self.broken or METHODS[self.id].function

    @property
    def lengths(self):
        """True if the lengths of columns do not matter."""
        return "lengths" not in METHODS[self.id].lacks and ("lengths", "tall") not in METHODS[self.id].lacks

    @property
    def labels(self):
        """True if y are labels or counts."""
        return METHODS[self.id].name == "generalized_omp"

    def takes(self, option):
        """Return whether the method has this option."""
        name = METHODS[self.id].name
        return option in OPTIONS and option in SUPPORT[name].options

    def call(self, at, forced, options):
        """Call the method on a variant, and return the claims of its result."""
        method, X = self.method, at.X
        columns = at.forth(forced) if method.columns == "forced" else ()
        if self.k:
            k = min(max(self.k, len(forced)), X.shape[1])
            method = dataclasses.replace(method, arguments=(k, *method.arguments[1:]))
        more = dict(options) if at.weight is None else {**options, "sample_weight": at.weight}
        y = np.column_stack([at.y, at.y]) if method.many else at.y
        result = method.call(X, y, Levels(S=columns), **more)
        return self.read(result, at, lambda function: function(X, at.y, k, forced=columns, **more))


def _square(at):
    """Return ‖y‖² of a variant, which is not zero."""
    y = at.y.astype(float)
    total = y @ (y if at.weight is None else at.weight * y)
    return float(total) or 1.0


def _selection(path, at, _):
    return answers.selection(path, at)


def _batch(batch, at, call):
    row = [int(j) for j in batch.support[0] if j >= 0]
    return answers.supports(row, batch.status[0].name, call(sl.omp), at)


def _forward(found, at, call):
    return answers.supports([int(j) for j in found.support], found.status.name, call(sl.ols), at)


def _entry(found, at, _):
    return answers.entry(found, at)


def _lasso(path, at, _):
    return answers.changes(path.active, at, status=path.status.name)


def _flow(path, at, _):
    return answers.changes(path.supports, at, path.unique, path.status.name)


def _subset(found, at, _):
    return answers.subset(found, at, _square(at))


def _within(found, at, _):
    return answers.within(found, _square(at))


def _ratio(found, at, _):
    return answers.bounds(found)


def _eigenvalues(found, at, _):
    return answers.bounds(found.lambda_min, found.lambda_max, unit=2.0 ** (2 * at.of_X))


def _guarantees(found, at, _):
    return answers.bounds(found.best, error=C * float(np.finfo(at.X.dtype).eps))


LASSO = {"max_steps": 8}
ROWS = [
    Row("omp", _selection, k=8),
    Row("ols", _selection, k=8),
    Row("sequential_lasso", _selection, k=8),
    Row("lasso_path", _lasso, "path", one_solution=True, options=LASSO),
    Row("omp, positive", _selection, k=8, every=4),
    Row("lasso_path, positive", _lasso, "path", every=4, one_solution=True, options=LASSO),
    Row("sequential_lasso, by omp", _selection, k=8, every=4),
    Row("first_entry", _entry, every=4),
    Row("batch_omp", _batch, k=8, every=4),
    Row("forward_regression", _forward, k=8, every=4),
    Row("gradient_flow", _flow, "set", every=8),
    Row("sequential_attention", _selection, "set", k=3, every=16),
    Row("generalized_omp", _selection, "set", k=3, every=16),
    Row("generalized_omp, poisson", _selection, "set", k=3, every=16),
    Row("best_subset", _subset, "set", k=3, every=8),
    Row("subsets_within", _within, "set", k=3, every=16, interpreted=False),
    Row("submodularity_ratio", _ratio, "set", every=16),
    Row("sparse_eigenvalues", _eigenvalues, "set", every=16),
    Row("guarantee_bounds", _guarantees, "set", k=3, every=32),
]


def _orthogonal_mp(X, y, k):
    from sklearn.linear_model import orthogonal_mp

    return orthogonal_mp(X, y, n_nonzero_coefs=k)


def _lars_path(X, y, k):
    from sklearn.linear_model import lars_path

    return lars_path(X, y, max_iter=LASSO["max_steps"], method="lasso")[2][:, -1]


def _abess(X, y, k):
    from abess import LinearRegression

    return LinearRegression(support_size=k, fit_intercept=False).fit(X, y).coef_


def _celer(X, y, k):
    from celer.homotopy import celer_path

    alpha = np.abs(X.T @ y).max() / (4 * len(y))
    return celer_path(np.asfortranarray(X), y, "lasso", alphas=[alpha], tol=1e-9)[1][:, 0]


@dataclasses.dataclass(frozen=True)
class Peer:
    """A function of another package that returns coefficients, and the row whose problem it solves."""

    name: str
    row: str
    package: str
    function: Callable

    def call(self, at, k):
        """Call the function on a variant, and return the set of features that it selects."""
        coef = self.function(at.X, at.y, min(k, *at.X.shape))
        found = frozenset(at.back(np.flatnonzero(coef)))
        return answers.Answer("", (answers.Step(found, found, open=True),))


PEERS = [
    Peer("scikit-learn, `orthogonal_mp`", "omp", "sklearn", _orthogonal_mp),
    Peer("scikit-learn, `lars_path`", "lasso_path", "sklearn", _lars_path),
    Peer("abess", "best_subset", "abess", _abess),
    Peer("celer", "lasso_path", "celer", _celer),
]
PEERS = [peer for peer in PEERS if importlib.util.find_spec(peer.package)]
