"""Optimizers for pysindy (2.1 or later): OMP, OLS or the best subset selects the terms of each equation.

Let the columns of Θ (n, d) be the candidate terms, and the columns of Y (n, q) the derivatives. Sparse
identification of nonlinear dynamics (Brunton, Proctor and Kutz, 2016) looks for sparse coefficients Ξ (q, d)
with Y ≈ ΘΞᵀ. Each row of Ξ is an equation. The optimizers solve

    min ‖y_i − Θξ_i‖²,   at most k_i nonzeros in ξ_i,      i = 1, …, q,

greedily or exactly, for each equation by itself. So an equation depends neither on the other equations nor on
their order. `choose_terms` chooses the k_i on trajectories that are held out.
"""

import warnings
from typing import Any, Self

import numpy as np
from pysindy.optimizers import BaseOptimizer

import sparselin as sl
from sparselin.estimators._folds import Fold, summarize
from sparselin.results.base import dense
from sparselin.validation import check_mask


class OLSOptimizer(BaseOptimizer):  # type: ignore[misc]
    """An optimizer for pysindy that selects the terms of each equation by orthogonal least squares.

    Each step adds the term whose model has the least residual (`sparselin.ols`; Chen, Billings and Luo,
    *Orthogonal least squares methods and their application to non-linear system identification*, 1989). This
    is the selection that pysindy's `FROLS` describes. The coefficients are those of least squares on the
    selected terms. The selection does not depend on the units of the terms.

    Parameters
    ----------
    k : the number of terms of each equation: an integer, or a sequence with one for each equation.
    options : a dictionary with more arguments of `sparselin.ols`, such as {"tol": 0.01}, or None. A constant
        is a term of the library, so `intercept` is not among them.
    normalize_columns : whether each term is divided by its length in the fit. Coefficients are in the
        original units. A term that is zero everywhere is an error then.
    verbose : whether `fit` prints a line for each equation.

    Attributes
    ----------
    coef_ : (q, d) the coefficients.
    ind_ : (q, d) whether a coefficient is not zero.
    complexity : the number of coefficients that are not zero.
    history_ : k + 1 arrays (q, d), for the largest k. `history_[t]` are the models with t terms, or the last
        model of an equation with fewer terms.
    results_ : q results, a `SelectionPath` for each equation, of the data of the fit.
    Theta_, targets_ : (n, d) and (n, q) the terms and the derivatives of the fit, multiplied by √weight.

    `fit` takes Θ (n, d), Y (n,) or (n, q) and `sample_weight` (n,), as all optimizers of pysindy do. Columns
    of Θ are divided by their lengths after `Theta_` is stored, so `results_` refer to `Theta_` only if
    `normalize_columns` is False.

    If an equation gets fewer than k terms, because no more are independent, a warning gives its number (from
    0) and the reason. There is no warning if it fits exactly or within `tol`. Raises TypeError or ValueError
    if k or the data are invalid. Linear constraints, such as `constraint_lhs`, raise TypeError.

    >>> import numpy as np, pysindy as ps
    >>> t = np.linspace(0, 5, 501)
    >>> x = np.stack([np.cos(2 * t), np.sin(2 * t)], axis=1)
    >>> ps.SINDy(optimizer=OLSOptimizer(1)).fit(x, t).print()
    (x0)' = -2.000 x1
    (x1)' =  2.000 x0
    """

    _method: Any = staticmethod(sl.ols)

    def __init__(
        self,
        k: Any = 5,
        options: Any = None,
        normalize_columns: bool = False,
        verbose: bool = False,
        **more: Any,
    ) -> None:
        if more:
            raise TypeError(f"no {', '.join(more)}: k gives the terms; no constraints tie equations together")
        super().__init__(normalize_columns=normalize_columns, unbias=False)
        self.k = k
        self.options = options
        self.verbose = verbose

    def fit(self, x_: Any, y: Any, sample_weight: Any = None, **reduce_kws: Any) -> Self:
        """Select terms for x_ (n, d) and y (n,) or (n, q), with `sample_weight` (n,), and return self."""
        check_mask(x_=x_, y=y, sample_weight=sample_weight)
        # with a guess, pysindy does not compute the least squares solution with all terms
        self.initial_guess: Any = np.atleast_2d(np.zeros((*np.shape(y)[1:], np.shape(x_)[-1])))
        super().fit(x_, y, sample_weight, **reduce_kws)
        self.ind_ = self.coef_ != 0  # pysindy compares |coef_| with 1e-14, whatever the units
        return self

    def _reduce(self, x: Any, y: Any) -> None:
        self.targets_ = np.array(y, order="F")
        self.initial_guess = None
        d = x.shape[1]
        q = y.shape[1]
        sizes = self.k if np.ndim(self.k) else [self.k] * q
        if len(sizes) != q:
            raise ValueError(f"k must be an integer, or one for each of the {q} equations; got {self.k}")
        solved = (self._solve(x, self.targets_[:, i], min(k, d)) for i, k in enumerate(sizes))
        self.results_, models = zip(*solved, strict=True)
        for i, (found, k) in enumerate(zip(self.results_, sizes, strict=True)):
            words = f"equation {i} has {len(found)} of {k} terms, R² {found.r2:z.4f}. {found.status.line}"
            if self.verbose:
                print(words)  # noqa: T201
            if found.status.name not in ("COMPLETED", "EXACT_FIT", "TOLERANCE") or k > d:
                warnings.warn(words, stacklevel=4)
        self.history_ = [np.array([m[min(t, len(m) - 1)] for m in models]) for t in range(max(sizes) + 1)]
        self.coef_ = self.history_[-1]

    def _solve(self, x: Any, y: Any, k: int) -> Any:
        """Return the result with k terms, and the coefficients (d,) with 0, …, k terms."""
        path = self._method(x, y, k, intercept=False, **(self.options or {}))
        return path, np.pad(dense(path.coef_path, path.support, x.shape[1]), ((1, 0), (0, 0)))


class OMPOptimizer(OLSOptimizer):
    """An optimizer for pysindy that selects the terms of each equation by Orthogonal Matching Pursuit.

    Each step adds the term θ_j with the largest |⟨θ_j, r⟩|, where r is the residual (`sparselin.omp`). So the
    selection depends on the units of the terms. Use `normalize_columns=True` unless their lengths are
    similar. Parameters, attributes and errors are those of `OLSOptimizer`; `options` are arguments of
    `sparselin.omp`.

    >>> import numpy as np
    >>> Theta, y = np.array([[100.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.9])
    >>> OMPOptimizer(1).fit(Theta, y).ind_, OMPOptimizer(1, normalize_columns=True).fit(Theta, y).ind_
    (array([[ True, False]]), array([[False,  True]]))
    """

    _method = staticmethod(sl.omp)


class BestSubsetOptimizer(OLSOptimizer):
    """An optimizer for pysindy that finds the best terms of each equation, and proves that they are the best.

    For each equation and each t ≤ k, `sparselin.best_subset` finds the least ‖y − Θξ‖² with at most t terms.
    pysindy's `MIOSR` gives the same problem to Gurobi (Bertsimas and Gurnee, *Learning sparse nonlinear
    dynamics via mixed-integer optimization*, 2023).

    Parameters
    ----------
    options : a dictionary with more arguments of `sparselin.best_subset`, or None. With {"time_limit": 60} an
        equation that takes more than 60 seconds gets the best terms so far, and a warning. With {"ridge": 1}
        coefficients include the effect of the ridge. With {"box": np.inf}, which restricts nothing, each
        result has a certificate; `results_[i].certificate.verify(Theta_, targets_[:, i])` checks it in exact
        arithmetic. This search takes longer if the terms are nearly dependent, as powers of a variable are.

    Attributes
    ----------
    results_ : q results, a `BestSubset` for each equation. If `optimal` is true, no k terms of the equation
        fit better. `by_size` has the results for 1, …, k terms.

    The other parameters, attributes and errors are those of `OLSOptimizer`. Ctrl-C ends the fit, with
    KeyboardInterrupt.

    >>> import numpy as np
    >>> Theta = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> y = np.array([3.0, 3.0, 0.5])
    >>> best = BestSubsetOptimizer(2).fit(Theta, y)
    >>> best.ind_, OLSOptimizer(2).fit(Theta, y).ind_, best.results_[0].optimal
    (array([[ True,  True, False]]), array([[ True, False,  True]]), True)
    """

    def _solve(self, x: Any, y: Any, k: int) -> Any:
        found = sl.best_subset(x, y, range(min(k, 1), k + 1), intercept=False, **(self.options or {}))
        if found.status is sl.Status.STOPPED:
            raise KeyboardInterrupt
        return found, [np.zeros(x.shape[1]), *(best.dense_coef() for best in found.by_size or [found])]


def choose_terms(model: Any, x: Any, t: Any, **data: Any) -> Any:
    """Choose the number of terms of each equation on held-out trajectories, and fit `model` with them.

    Each trajectory in turn is held out. The optimizer is fitted to the other trajectories, and its models
    with 1, …, k terms predict the derivatives of the trajectory that is held out. Rows are not held out one
    by one, because the row before and the row after would give away the noise of the derivative.

    The chosen number is the smallest whose mean squared error is within one standard error of the least one
    (`CrossValidation.chosen`). For the number with the least error, set
    `model.optimizer.k = [cv.best for cv in model.optimizer.cross_validation_]`, and fit the model again.

    Parameters
    ----------
    model : a `pysindy.SINDy` whose optimizer is one of this module. The k of the optimizer is the largest
        number that is tried.
    x : a list of at least two trajectories, as in `SINDy.fit`.
    t : the time step, or a list with the times of each trajectory.
    data : other arguments of `SINDy.fit`. A list has an entry for each trajectory, such as `u` and `x_dot`.
        So `feature_names` must be a tuple.

    Returns
    -------
    The model, fitted to all trajectories. Its `optimizer.k` is the list of the numbers that were chosen, and
    its `optimizer.cross_validation_` has a `CrossValidation` for each equation.

    Raises
    ------
    ValueError : x is no list, or has fewer than two trajectories.

    >>> import numpy as np, pysindy as ps
    >>> t, rng = np.linspace(0, 2, 201), np.random.default_rng(0)
    >>> x = [start * np.exp(-t)[:, None] + 1e-4 * rng.standard_normal((201, 1)) for start in (1.0, 2.0, 3.0)]
    >>> model = choose_terms(ps.SINDy(optimizer=OLSOptimizer(3)), x, t[1])
    >>> model.optimizer.k, model.optimizer.cross_validation_[0].folds
    ([1], 3)
    """
    if not isinstance(x, list) or len(x) < 2:
        raise ValueError("x must be a list of at least two trajectories, because each is held out once")
    data = data | {"x": x, "t": t}
    parts = []
    folds = []
    for j in range(len(x)):
        model.fit(**{name: [v[j]] if isinstance(v, list) else v for name, v in data.items()})
        parts.append((model.optimizer.Theta_, model.optimizer.targets_))
    for j, (A, B) in enumerate(parts):
        model.optimizer.fit(*map(np.concatenate, zip(*parts[:j], *parts[j + 1 :], strict=True)))
        errors = [np.square(B - A @ coef.T).mean(axis=0) for coef in model.optimizer.history_]
        folds.append([Fold(len(B), error[1:], error[0]) for error in np.transpose(errors)])
    model.optimizer.cross_validation_ = [summarize(of_folds, 1) for of_folds in zip(*folds, strict=True)]
    model.optimizer.k = [cv.chosen for cv in model.optimizer.cross_validation_]
    return model.fit(**data)
