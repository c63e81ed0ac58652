"""LassoNet: a path of networks from all features to few, each λ trained from the one before."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sparselin.neural import _border as border
from sparselin.neural._lambda_start import lambda_start
from sparselin.neural._path_training import PathTraining, Settings
from sparselin.neural._reduced import ReducedNetwork
from sparselin.neural.networks import SkipNetwork
from sparselin.neural.training import (
    Loss,
    NonFiniteLoss,
    Rows,
    as_loss,
    check_function,
    cross_entropy,
    seeded,
)
from sparselin.results import LassoNetPath, Status
from sparselin.validation import check_count, check_flag, check_level, check_names, check_real, frame_names


class LassoNetStep(NamedTuple):
    """What a callback is given after each λ: the fields are those of a row of `LassoNetPath`."""

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
    lam_start: float | str = "auto",
    growth: float = 1.02,
    M: float = 10.0,
    k: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    batch_size: int | None = None,
    learning_rate: float | tuple[float, float] = 1e-3,
    momentum: float = 0.9,
    epochs: int | tuple[int, int] = (1000, 200),
    patience: int | tuple[int | None, int | None] | None = (100, 10),
    tol: float = 0.997,
    validation: tuple[Any, ...] | None = None,
    stop_on: str = "validation",
    sample_weight: Any = None,
    class_weight: Any = None,
    l2: float = 0.0,
    backtrack: bool = False,
    rounds: int = 3,
    rng: Any = 0,
    names: Sequence[str] | None = None,
    callback: Callable[[LassoNetStep], object] | None = None,
    keep: str = "support",
) -> LassoNetPath:
    """Networks x ↦ θᵀx + g(x) at λ_0 = 0 < λ_1 < …, until k features are left (Algorithm 1 of LassoNet).

    At each λ, from the network at the one before, steps towards a stationary point of

        L(θ, W, rest) + λΣ_g ‖θ_g‖₂    subject to    ‖W_g‖∞ ≤ M‖θ_g‖₂ for each g,

    L(…) = (1/n)Σ ω_i ℓ(f(x_i), y_i) + l2·‖weights of the rest‖². g is a feature or, with `groups`, several
    that are selected together; θ_j ∈ ℝᵠ, q the number of outputs (Algorithms 3 and 4: one feature, all
    outputs). The constraint holds exactly at every step. M = 0 gives the (group) LASSO: for "squared", with
    an intercept, `sparselin.lasso_path` at nλ.

    Groups that are zero leave the computation. When the training at a λ has ended, one gradient over all rows
    shows that ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ for each of them, which is necessary and sufficient for zero to
    be stationary, or brings back those for which it is false and trains on, at most `rounds` times, with
    steps a quarter as long each time (too long a step takes a group over its minimum and to zero).

    Parameters
    ----------
    network : hidden widths of a perceptron; any network whose first layer with parameters is linear and reads
        X, to which a skip connection is added; or a `SkipNetwork`. It is copied, not modified.
    X : (n, d) array, frame or tensor. Computations are in the dtype and on the device of the network; of
        widths, of X. Standardize the features: λ compares ‖θ_j‖ of different j.
    y : (n,) or (n, q) targets; numbers 0, 1, … of classes for "cross_entropy".
    loss : "squared" (½‖f − y‖²), "cross_entropy", a PyTorch loss, or a function of outputs and targets to
        (n,).
    lams : λ's, ascending, in place of lam_start·growthⁱ, i = 0, 1, …. lam_start "auto" is half of the λ at
        which all epochs of steps may take the first feature of the dense network to zero; should features
        leave in the training at it, a quarter of it is tried.
    M : ≥ 0, the hierarchy coefficient.
    k : the path ends with the first λ that has at most k features.
    groups : a partition of 0..d − 1.
    batch_size : rows of a step; None for all. Rows are in random order. The last batch of an epoch has the
        rows that are left; a single one joins the batch before it, so that networks with batch normalisation
        can be trained.
    learning_rate, epochs, patience : for the dense network (Adam) and for each λ (proximal steps with
        `momentum`), or one value for both. Training at a λ ends after `patience` epochs (None: never) in
        which the objective on the rows of `stop_on` has not come below `tol` of its best, and after `epochs`;
        so does each further round. Without epochs for it, the network is taken for trained already.
    validation : (X, y) or (X, y, weight), rows whose mean loss is recorded at each λ.
    stop_on : "validation", where there is any, or "training": the rows that decide about stopping and, with
        `backtrack`, about the best epoch.
    sample_weight, class_weight : (n,) weights, and a weight for each class or "balanced"; their product ω is
        scaled to mean 1.
    backtrack : end each λ with the network of the best epoch, not the last.
    rng : a seed or a NumPy Generator: of new weights, of dropout and of the order of the rows.
    callback : called with a `LassoNetStep` after each λ; returning True stops.
    keep : "states" keeps the network of each λ.

    Raises
    ------
    TypeError, ValueError : an argument is not as described, NaN and infinity among them, or the network reads
        X in another way.
    NonFiniteLoss : with the λ; its `path` is the path before it. Ctrl-C returns that path, with STOPPED.

    Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithms 1 and 4.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> y = 2 * X[:, 3] + np.abs(X[:, 1])
    >>> path = lassonet_path([8], X, y, loss="squared", learning_rate=(1e-2, 1e-2), growth=1.2, k=1)
    >>> path.support(1), path.importances[3]
    (array([3]), np.float64(inf))
    """
    by_rows = as_loss(loss)
    settings = settings_of(
        by_rows, M, l2, batch_size, learning_rate, momentum, epochs, patience, tol, backtrack, stop_on
    )
    rounds = check_count(rounds, "rounds", 0)
    check_function(callback, "callback")
    if not check_real(growth, "growth") > 1:
        raise ValueError(f"growth must be more than 1, by how much λ is multiplied; got {growth}")
    _check_choice(keep, "keep", ("support", "states"))
    with seeded(rng) as order:
        named = check_names(names, np.shape(X)[1]) if names is not None else frame_names(X)
        model, rows, judge = prepare(network, X, y, by_rows, validation, sample_weight, class_weight)
        d = rows.X.shape[1]
        partition = border.check_groups(groups, d)
        reduced = ReducedNetwork(model, partition)
        border.check_reads_through_first(model, reduced, rows.X)
        training = PathTraining(reduced, rows, judge, settings, order)
        history = _History(float(M), check_count(k, "k", 0, d), partition, named, keep == "states", training)
        return _follow(
            training, history, _lambdas(lams, lam_start, float(growth), training), rounds, callback
        )


def settings_of(
    loss: Loss, M: Any, l2: Any, batch_size: Any, learning_rate: Any, momentum: Any, epochs: Any,
    patience: Any, tol: Any, backtrack: Any, stop_on: Any,
) -> Settings:  # fmt: skip
    """Return the settings of the training, checked: TypeError or ValueError."""
    if not 0 <= check_real(momentum, "momentum") < 1:
        raise ValueError(f"momentum must be in [0, 1); got {momentum}")
    if not 0 < check_real(tol, "tol") <= 1:
        raise ValueError(f"tol must be in (0, 1]: the share of the best objective to get below; got {tol}")
    _check_choice(stop_on, "stop_on", ("validation", "training"))
    settings = Settings(
        loss, check_level(M, "M"), check_level(l2, "l2"),
        None if batch_size is None else check_count(batch_size, "batch_size", 1),
        border.pair(learning_rate, "learning_rate"), float(momentum), border.pair(epochs, "epochs", int),
        border.pair(patience, "patience", int, never=True), float(tol), check_flag(backtrack, "backtrack"),
        stop_on,
    )  # fmt: skip
    if min(settings.learning_rate) <= 0 or settings.epochs[0] < 0 or settings.epochs[1] < 1:
        raise ValueError(
            "learning_rate must be positive, and epochs at least 0 for the dense network and 1 for λ"
        )
    if any(value is not None and value < 1 for value in settings.patience):
        raise ValueError(f"patience must be at least 1, or None: never; got {patience}")
    return settings


def _check_choice(value: Any, name: str, known: tuple[str, str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f'{name} must be "{known[0]}" or "{known[1]}"; got {value!r}')


def prepare(
    network: Any, X: Any, y: Any, loss: Any, validation: Any, sample_weight: Any, class_weight: Any
) -> tuple[SkipNetwork, Rows, Rows | None]:
    """The skip network, and the rows for training and validation in its dtype and on its device."""
    raw, target = border.as_design(X, "X"), border.as_tensor(y, "y")
    model = border.as_skip_network(network, raw, target, loss)
    like = model.skip.weight.detach()
    if model.skip.in_features != raw.shape[1]:
        raise ValueError(
            f"network must read the {raw.shape[1]} columns of X; it reads {model.skip.in_features}"
        )
    rows = border.as_rows(raw, target, loss, like)
    q = model.skip.out_features
    if loss is cross_entropy and q < 2:
        raise ValueError("y must have at least two classes, and network an output for each; got 1")
    judge = None
    if validation is not None:
        X_v, y_v, weight_v = border.triple(validation)
        judge = border.as_rows(X_v, y_v, loss, like, "X_validation", weight_v)
    for part in filter(None, (rows, judge)):
        if loss is cross_entropy and int(part.y.max()) >= q:
            raise ValueError(
                f"y must be below {q}, the outputs of the network; got class {int(part.y.max())}"
            )
    if class_weight is not None:
        if loss is not cross_entropy:
            raise ValueError('class_weight is for loss="cross_entropy"; pass sample_weight for others')
        of_rows = border.class_weights(class_weight, rows.y.cpu(), q)
        sample_weight = of_rows if sample_weight is None else of_rows * np.asarray(sample_weight, float)
    if sample_weight is not None:
        rows = border.as_rows(raw, target, loss, like, weight=sample_weight)
    if judge is not None and judge.X.shape[1] != raw.shape[1]:
        raise ValueError(f"validation must have {raw.shape[1]} features as X; got {judge.X.shape[1]}")
    return model, rows, judge


def _lambdas(lams: Any, start: float | str, growth: float, training: PathTraining) -> Iterator[float]:
    """Given, or λ's in geometric progression whose first is found when it is asked for."""
    if lams is not None:
        given = np.atleast_1d(np.asarray(lams, dtype=object)).tolist()
        values = [check_real(value, "lams") for value in given]
        if not values or min(values) <= 0 or any(b <= a for a, b in itertools.pairwise(values)):
            raise ValueError(f"lams must be positive and ascending; got {values[:5]}")
        return iter(values)
    auto = isinstance(start, str) and start == "auto"
    if not auto and not check_real(start, "lam_start") > 0:
        raise ValueError(f'lam_start must be "auto" or positive; got {start}')

    def progression() -> Iterator[float]:
        lam = _first(training, growth) if auto else float(start)
        while True:
            yield lam
            lam *= growth

    return progression()


def _first(training: PathTraining, growth: float) -> float:
    """λ_start by the dense network; a quarter, up to five times, while more than a tenth leaves at once."""
    lam = lambda_start(training, growth)
    reduced, kept = training.reduced, training.reduced.snapshot()
    order = training.order.get_state()
    count = int((reduced.group_norms() > 0).sum())
    for _ in range(5):
        training.where = f"λ = {lam:.4g}"
        training.run(training.proximal, lam, training.settings.epochs[1], training.settings.patience[1])
        left = int((reduced.group_norms() > 0).sum())
        training.restore(kept)
        training.order.set_state(order)
        if left >= 0.9 * count:
            break
        lam /= 4
    return lam


class _History:
    """The rows so far, and the path that they make."""

    def __init__(self, M: float, k: int, groups: Any, names: Any, keep: bool, training: PathTraining) -> None:
        self.given = {"M": M, "k": k, "groups": groups, "names": names}
        self.keep, self.training = keep, training
        self.rows: list[dict[str, Any]] = []
        self.states: list[Any] = []

    def add(self, found: dict[str, Any]) -> LassoNetStep:
        row = self.training.row(found)
        self.rows.append(row)
        if self.keep:
            self.states.append(self.training.reduced.state())
        return LassoNetStep(**{name: row[name] for name in LassoNetStep._fields})

    def path(self, status: Status) -> LassoNetPath:
        d = self.training.reduced.n_features
        kinds: dict[str, Any] = {"n_selected": np.intp, "epochs": np.intp, "returns": np.intp, "mask": bool}
        names = [*LassoNetStep._fields, "mask", "theta_norm"]
        columns: dict[str, Any] = {
            name: np.array([row[name] for row in self.rows], kinds.get(name, float)) for name in names
        }
        for name in ("mask", "theta_norm"):
            columns[name] = columns[name].reshape(-1, d)
        return LassoNetPath(**columns, states=tuple(self.states), status=status, **self.given)


def _follow(
    training: PathTraining, history: _History, lams: Iterator[float], rounds: int, callback: Any
) -> LassoNetPath:
    """The dense network, then one λ after the other; what is done stays if an interrupt or a loss ends it."""
    try:
        step = history.add(training.dense())
        stop = callback is not None and callback(step) is True
        while not stop and step.n_selected > history.given["k"]:
            lam = next(lams, None)
            if lam is None:
                break
            training.where = f"λ = {lam:.4g}"
            step = history.add(training.train_at(lam, rounds))
            stop = callback is not None and callback(step) is True
        return history.path(Status.STOPPED if stop else Status.COMPLETED)
    except KeyboardInterrupt:
        if not history.rows:
            raise
        return history.path(Status.STOPPED)
    except NonFiniteLoss as error:
        error.path = history.path(Status.STOPPED)
        raise


def network_at(network: SkipNetwork, path: LassoNetPath, row: int) -> SkipNetwork:
    """A copy of the network with the weights of a row of a path that kept its states; it reads all
    features."""
    state = {name: torch.as_tensor(value.copy()) for name, value in path.state_dict(row).items()}
    model = copy.deepcopy(network)
    model.load_state_dict(state)
    return model
