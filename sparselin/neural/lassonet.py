"""LassoNet: a path of networks from all features to few, and training of a network on selected features.

The network at each λ is trained from the network at the λ before. The training on selected features has no
penalty. Without targets, the selected features reconstruct all features, or the missing entries of a matrix.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural import settings as arguments
from sparselin.neural._path_training import PathTraining, first_lambda
from sparselin.neural._reduced import ReducedNetwork, check_reads_through_first
from sparselin.neural.batches import as_tensor
from sparselin.neural.networks import SkipNetwork, first_linear, keep_columns
from sparselin.neural.results import LassoNetPath, MatrixCompletion
from sparselin.neural.settings import LassoNetSettings, check_choice, check_settings
from sparselin.neural.training import Loss, NonFiniteLoss, Rows, as_loss, check_function, lbfgs, seeded
from sparselin.results import Status
from sparselin.validation import check_count, check_indices, check_level, check_names, check_real, frame_names

_SETTINGS = LassoNetSettings()
_REFIT_SETTINGS = LassoNetSettings(tol=0.99)
_COMPLETION_SETTINGS = LassoNetSettings(epochs=(1000, 100), tol=0.99)


class LassoNetStep(NamedTuple):
    """The argument of a callback after each λ. Its fields are those of a row of `LassoNetPath`."""

    lam: float
    objective: float
    loss: float
    validation_loss: float
    n_selected: int
    epochs: int
    returns: int
    excess: float


def lassonet_path(
    network: SkipNetwork | nn.Module | Sequence[int],
    X: Any,
    y: Any,
    *,
    loss: Any,
    lams: Sequence[float] | None = None,
    M: float = 10.0,
    k: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    validation: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    settings: LassoNetSettings = _SETTINGS,
    rng: Any = 0,
    names: Sequence[str] | None = None,
    callback: Callable[[LassoNetStep], object] | None = None,
    keep: str = "support",
) -> LassoNetPath:
    """Train a path of networks at λ_0 = 0 < λ_1 < …, until k features are left (Algorithm 1 of LassoNet).

    The networks are f(x) = θᵀx + g(x), with a skip connection θ and a network g with the first layer W. At
    each λ training starts from the network at the λ before, and goes towards a stationary point of

        L(θ, W, rest) + λΣ_g ‖θ_g‖₂    subject to    ‖W_g‖∞ ≤ M‖θ_g‖₂ for each g,

    where L(…) = (1/n)Σ ω_i ℓ(f(x_i), y_i) + l2·‖weights of the rest‖², with weights ω_i of the rows and the
    loss ℓ of one row. The index g is a feature or, with `groups`, a group of features that are selected
    together. For q outputs θ_j ∈ ℝᵠ, so that a feature is selected for all outputs, as in Algorithms 3 and 4.
    The constraint holds exactly after every step. M = 0 gives the (group) LASSO. For the loss "squared" this
    is `sparselin.lasso_path` with an intercept, at nλ.

    Groups whose weights are zero are removed from the computation. After the training at a λ, one gradient
    over all rows shows for each of these groups whether ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ. This condition is
    necessary and sufficient for zero to be stationary. Groups that violate the condition are brought back,
    and training continues, at most `settings.rounds` times. Each time the step length is divided by 4,
    because a step that is too long can carry a group past its minimum to zero.

    Parameters
    ----------
    network : the widths of the hidden layers of a perceptron; a `SkipNetwork`; or any other network whose
        first layer with parameters is linear and reads X. Such a network gets a skip connection. A given
        network is copied, not modified.
    X : (n, d) array, frame or tensor. Computations have the dtype and the device of the network, or of X if
        `network` is a list of widths. Standardize the features, because λ compares ‖θ_j‖ of different j.
    y : (n,) or (n, q) targets; for "cross_entropy" class numbers 0, 1, ….
    loss : "squared" (½‖f − y‖²), "cross_entropy", a PyTorch loss, or a function that maps outputs and targets
        to (n,).
    lams : the values of λ, ascending; by default the grid of `settings`.
    M : the hierarchy coefficient, M ≥ 0.
    k : the path ends with the first λ at which at most k features are left.
    groups : a partition of 0..d − 1.
    validation : (X, y) or (X, y, weight), the validation rows. Their mean loss is recorded at each λ.
    sample_weight : (n,) weights ω, which are scaled to mean 1. scikit-learn's `compute_sample_weight` gives
        the weights of classes, for example "balanced" ones.
    settings : the settings of the training.
    rng : a seed or a NumPy Generator for new weights, dropout and the order of the rows.
    callback : a function that is called with a `LassoNetStep` after each λ; if it returns True, the path
        ends.
    keep : "support", or "states" to keep the network of each λ.

    Raises
    ------
    TypeError, ValueError : an argument is not as described or has NaN or infinite entries, or the network
        reads X in another way than through a linear first layer.
    NonFiniteLoss : the loss became NaN or infinite. The message names λ, and the attribute `path` is the path
        before this λ. Ctrl-C raises no error: the path so far is returned with the status STOPPED.

    Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithms 1 and 4.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> y = 2 * X[:, 3] + np.abs(X[:, 1])
    >>> settings = LassoNetSettings(learning_rate=1e-2, growth=1.2)
    >>> path = lassonet_path([8], X, y, loss="squared", k=1, settings=settings)
    >>> path.support(1), path.importances[3]
    (array([3]), np.float64(inf))
    """
    by_rows = as_loss(loss)
    check_level(M, "M")
    check_settings(settings)
    check_function(callback, "callback")
    check_choice(keep, "keep", ("support", "states"))
    with seeded(rng) as order:
        named = check_names(names, np.shape(X)[1]) if names is not None else frame_names(X)
        model, rows, held_out = arguments.prepare(network, X, y, by_rows, validation, sample_weight)
        d = rows.X.shape[1]
        partition = arguments.check_groups(groups, d)
        reduced = ReducedNetwork(model, partition)
        check_reads_through_first(model, reduced, rows.X)
        training = PathTraining(
            reduced=reduced,
            rows=rows,
            validation=held_out,
            loss=by_rows,
            M=float(M),
            settings=settings,
            order=order,
        )
        given = {"M": float(M), "k": check_count(k, "k", 0, d), "groups": partition, "names": named}
        return _follow(training, given, keep == "states", _lambdas(lams, training), callback)


def _lambdas(lams: Any, training: PathTraining) -> Iterator[float]:
    """Return the values of λ of the path: those in `lams`, or a geometric progression.

    The first λ of a progression is computed when it is needed, after the dense network has been trained.
    """
    if lams is not None:
        given = np.atleast_1d(np.asarray(lams, dtype=object)).tolist()
        values = [check_real(value, "lams") for value in given]
        if not values or min(values) <= 0 or any(b <= a for a, b in itertools.pairwise(values)):
            raise ValueError(f"lams must be positive and ascending; got {values[:5]}")
        return iter(values)

    def progression() -> Iterator[float]:
        start = training.settings.lam_start
        growth = float(training.settings.growth)
        lam = first_lambda(training, growth) if start == "auto" else float(start)
        yield from itertools.accumulate(itertools.repeat(growth), operator.mul, initial=lam)

    return progression()


def _path(rows: list[dict[str, Any]], d: int, given: dict[str, Any], status: Status) -> LassoNetPath:
    """Return the path of these rows, with d features and the other fields `given`."""
    kinds: dict[str, Any] = {"n_selected": np.intp, "epochs": np.intp, "returns": np.intp, "mask": bool}
    names = [*LassoNetStep._fields, "mask", "theta_norm"]
    columns = dict[str, Any]()
    for name in names:
        shape = (-1, d) if name in names[-2:] else -1
        columns[name] = np.array([row[name] for row in rows], kinds.get(name, float)).reshape(shape)
    states = tuple(row["state"] for row in rows if "state" in row)
    return LassoNetPath(**columns, states=states, status=status, **given)


def _follow(
    training: PathTraining, given: dict[str, Any], keep: bool, lams: Iterator[float], callback: Any
) -> LassoNetPath:
    """Train the dense network, then one network after the other at the values of λ; return the path.

    given : the fields of the path that do not depend on λ.
    keep : whether to keep the state of each network.

    After Ctrl-C the path has the completed rows. If a NonFiniteLoss is raised, its attribute `path` is this
    path.
    """
    rows: list[dict[str, Any]] = []
    path = functools.partial(_path, rows, training.reduced.n_features, given)
    try:
        found = training.dense()
        while True:
            rows.append(training.row(found) | ({"state": training.reduced.state()} if keep else {}))
            step = LassoNetStep(**{name: rows[-1][name] for name in LassoNetStep._fields})
            if callback is not None and callback(step) is True:
                return path(Status.STOPPED)
            lam = next(lams, None) if step.n_selected > given["k"] else None
            if lam is None:
                return path(Status.COMPLETED)
            found = training.train_at(lam)
    except KeyboardInterrupt:
        if not rows:
            raise
        return path(Status.STOPPED)
    except NonFiniteLoss as error:
        error.path = path(Status.STOPPED)
        raise


def network_at(network: SkipNetwork, path: LassoNetPath, row: int) -> SkipNetwork:
    """Return a copy of the network with the weights of a row of the path. The copy reads all features.

    The path must have been trained with keep="states".
    """
    return _with_state(network, path.state_dict(row))


def _with_state(model: SkipNetwork, state: Any) -> SkipNetwork:
    """Return a copy of the model with copies of these arrays as its weights."""
    model = copy.deepcopy(model)
    model.load_state_dict({name: torch.tensor(value) for name, value in dict(state).items()})
    return model


def refit(
    network: SkipNetwork | nn.Module | Sequence[int],
    X: Any,
    y: Any,
    features: Sequence[int],
    *,
    loss: Any,
    validation: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    settings: LassoNetSettings = _REFIT_SETTINGS,
    rng: Any = 0,
) -> SkipNetwork:
    """Train a skip network that reads X[:, features], by Adam, without penalty and hierarchy.

    This is the usual last step after `lassonet_path`, because the networks of a path are biased: λ shrinks
    the skip connection θ, and the bound M‖θ_j‖ shrinks the first-layer weights W_j of feature j. The loss of
    a network refitted on S, less that of one refitted on S ∪ {i}, is the marginal gain of feature i
    (Definition B.1 of *Sequential Attention for Feature Selection*).

    network : the widths of the hidden layers of a network with new weights, as in the paper's experiments; or
        a network that reads all d features. In the second case training starts from the network's weights of
        the selected features. The network is not modified.
    features : (k,) indices of columns of X, in the order in which the new network reads them.
    settings : the settings of the training. The first value of each pair is used. By default tol = 0.99.

    The other arguments and the errors are those of `lassonet_path`.

    >>> X = torch.tensor([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0], [1.0, 0.0]])
    >>> settings = LassoNetSettings(learning_rate=0.1, epochs=300)
    >>> net = refit([4], X, 3 * X[:, 1], [1], loss="squared", settings=settings)
    >>> bool((net(X[:, [1]])[:, 0] - 3 * X[:, 1]).abs().max() < 0.2)
    True
    """
    by_rows = as_loss(loss)
    check_settings(settings)
    raw = arguments.as_design(X, "X")
    chosen = check_indices(features, raw.shape[1], "features")
    if not len(chosen):
        raise ValueError("features must hold at least one column; got none")
    if validation is not None:
        X_v, *others = arguments.triple(validation)
        validation = (arguments.as_design(X_v, "X_validation")[:, chosen], *others)
    with seeded(rng) as order:
        if isinstance(network, nn.Module):
            whole = arguments.as_skip_network(network, raw, as_tensor(y, "y"), by_rows)
            network = restrict(whole, torch.as_tensor(chosen))
        model, rows, out = arguments.prepare(network, raw[:, chosen], y, by_rows, validation, sample_weight)
        reduced = ReducedNetwork(model)
        check_reads_through_first(model, reduced, rows.X)
        PathTraining(
            reduced=reduced,
            rows=rows,
            validation=out,
            loss=by_rows,
            M=float("inf"),
            settings=settings,
            order=order,
        ).dense()  # no hierarchy
    fitted = _with_state(model, reduced.state())
    fitted.eval()
    return fitted


def restrict(model: SkipNetwork, features: Tensor) -> SkipNetwork:
    """Return a copy of the network that reads the columns `features` only, in this order.

    The weights of these columns are kept.
    """
    model = copy.deepcopy(model)
    _, first = first_linear(model.network, model.skip.in_features)
    for layer in (first, model.skip):
        keep_columns(layer, features.to(layer.weight.device))
    return model


def constant_network(rows: Rows, n_outputs: int, loss: Loss) -> nn.Linear:
    """Return the best network without features: a bias, fitted by L-BFGS."""
    network = keep_columns(nn.utils.skip_init(nn.Linear, 1, n_outputs), [])  # this draws no random numbers
    network.to(rows.X)
    nn.init.zeros_(network.bias)
    lbfgs(network, [network.bias], rows.columns([]), loss, "the training without features", max_iter=100)
    return network


def reconstruction_path(
    network: SkipNetwork | nn.Module | Sequence[int], X: Any, **options: Any
) -> LassoNetPath:
    """Select few features from which a network reconstructs all features (Algorithm 3 of LassoNet).

    This is `lassonet_path` with the targets X and the loss ½‖f(x) − x‖² for each row, where f is the network.
    So the weights θ_j of feature j in the skip connection are in ℝᵈ. The penalty λΣ‖θ_j‖₂ makes all features
    be reconstructed from the same selected features.

    network : as for `lassonet_path`, with d outputs.
    options : keyword arguments of `lassonet_path`. `validation` is a matrix of validation rows, without
        targets.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 1)) * [1.0, -1.0, 2.0] + 0.01 * rng.standard_normal((80, 3))
    >>> settings = LassoNetSettings(growth=1.3, learning_rate=1e-2, epochs=(300, 50))
    >>> path = reconstruction_path([4], X, k=1, settings=settings)
    >>> path.support(1)
    array([2])
    """
    if "loss" in options:
        raise TypeError("loss is not an option: the loss is the squared error of the reconstruction")
    if options.get("validation") is not None:
        options["validation"] = (options["validation"], options["validation"])
    return lassonet_path(network, X, X, loss="squared", **options)


def matrix_completion(
    network: SkipNetwork | nn.Module | Sequence[int],
    Z: Any,
    *,
    rounds: int = 20,
    tol: float = 1e-2,
    settings: LassoNetSettings = _COMPLETION_SETTINGS,
    rng: Any = 0,
    **options: Any,
) -> MatrixCompletion:
    """Complete a matrix with a network that reads few of its columns (Algorithm 5 of LassoNet).

    Let Ω be the set of observed entries of Z. P_Ω sets the entries outside Ω to zero, and P_Ω⊥ sets the
    entries in Ω to zero. The first completion X_0 has, outside Ω, the mean of the observed entries in the
    same row. In round t = 0, 1, …, let

        X_proj = P_Ω(Z) + P_Ω⊥(X_t),    X_{t+1} = f(X_proj),

    where the network f is trained with λ = 0 on the loss (1/m)Σ ½‖P_Ω(f(x_proj) − z)‖². The sum is over the m
    pairs of rows x_proj of X_proj and z of Z. The rounds end once
    ‖P_Ω⊥(X_{t+1} − X_t)‖_F ≤ tol·‖P_Ω⊥(X_t)‖_F. The training of f continues from round to round. Then
    `lassonet_path` starts from this f, with the data X_proj and the observed entries as targets.

    Parameters
    ----------
    network : as for `lassonet_path`, with d outputs.
    Z : (m, d) the matrix, with NaN for missing entries. Standardize the columns (by `np.nanmean` and
        `np.nanstd`).
    rounds : the largest number of rounds of imputation.
    tol : the relative change at which the rounds end.
    settings : the settings of the training, by default with tol = 0.99. Each round has epochs[0] epochs.
    options : other keyword arguments of `lassonet_path`.

    Raises
    ------
    ValueError : a row has no observed entry, or an entry is infinite; and the errors of `lassonet_path`.

    >>> Z = np.outer([1.0, -1.0, 2.0, 0.5, -2.0], [1.0, 2.0, -1.0])
    >>> hidden = Z.copy()
    >>> hidden[0, 1] = np.nan
    >>> settings = LassoNetSettings(growth=1.5, learning_rate=1e-2, epochs=(300, 20), tol=0.99)
    >>> found = matrix_completion([4], hidden, rounds=10, tol=1e-3, settings=settings)
    >>> found.observed.sum(), found.completed.shape
    (np.int64(14), (5, 3))
    """
    refused = [name for name in ("loss", "validation", "sample_weight") if name in options]
    if refused:
        raise TypeError(f"{refused[0]} is not an option of matrix_completion")
    check_settings(settings)
    check_count(rounds, "rounds", 1)
    check_level(tol, "tol")
    values, observed = _values_and_mask(Z)
    names = frame_names(Z) if options.get("names") is None else options["names"]
    mean = values.sum(dim=1, keepdim=True) / observed.sum(dim=1, keepdim=True)
    X = torch.where(observed, values, mean)
    with seeded(rng):
        model = arguments.as_skip_network(network, X, X, as_loss("squared"))
    options = {**options, "loss": completion_loss, "rng": rng, "names": names}
    dense = dataclasses.replace(settings, epochs=(settings.epochs[0], 1))
    target = torch.stack([values, observed.to(values)], dim=1)
    changes: list[float] = []
    while len(changes) < rounds and (not changes or changes[-1] > tol):
        model, X_new = _impute(model, X, target, {**options, "settings": dense})
        size = torch.linalg.vector_norm(X[~observed])
        changes.append(float(torch.linalg.vector_norm(X_new - X) / size) if size > 0 else 0.0)
        X = X_new
    trained = dataclasses.replace(settings, epochs=(0, settings.epochs[1]))
    path = lassonet_path(model, X, target, settings=trained, **options)
    status = path.status if path.status is Status.STOPPED else Status.MAX_ITER
    return MatrixCompletion(
        completed=X.cpu().numpy(),
        observed=observed.cpu().numpy(),
        change=np.array(changes),
        path=path,
        status=Status.COMPLETED if changes[-1] <= tol else status,
        names=path.names,
    )


def _impute(model: SkipNetwork, X: Tensor, goal: Tensor, more: dict[str, Any]) -> tuple[SkipNetwork, Tensor]:
    """Train the network further; return it, and the matrix X with its missing entries replaced by outputs."""
    dense = {**more, "keep": "states", "callback": lambda step: True}
    model = network_at(model, lassonet_path(model, X, goal, **dense), 0)
    with torch.no_grad():
        output = model.eval()(X.to(model.skip.weight)).to(X)
    return model, torch.where(goal[:, 1] > 0, goal[:, 0], output)


def completion_loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the loss ½‖P_Ω(f(x) − z)‖² of each row, where P_Ω sets missing entries to zero.

    output : (b, d) the outputs f(x).
    target : (b, 2, d) z, which is zero where an entry is missing, and the indicator of the observed entries.
    """
    return 0.5 * (target[:, 1] * (output - target[:, 0])).square().sum(dim=1)


def _values_and_mask(Z: Any) -> tuple[Tensor, Tensor]:
    """Return Z as a tensor with zeros for missing entries, and a mask of the observed entries."""
    target = Z.detach() if isinstance(Z, Tensor) else torch.tensor(np.asarray(Z, dtype=float))
    if target.ndim != 2 or 0 in target.shape:
        raise ValueError(f"Z must have shape (m, d), at least one row and column; got {tuple(target.shape)}")
    if torch.isinf(target).any():
        raise ValueError("Z must be finite, or NaN where it is missing; got infinity")
    observed = ~torch.isnan(target)
    empty = (~observed.any(dim=1)).nonzero().squeeze(1).tolist()
    if empty:
        raise ValueError(f"Z must have an observed entry in each row; drop the rows {empty[:5]}")
    return torch.where(observed, target, 0), observed
