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
from sparselin.neural._path_training import PathTraining
from sparselin.neural._reduced import ReducedNetwork
from sparselin.neural.networks import SkipNetwork
from sparselin.neural.settings import LassoNetSettings, check_choice, check_settings
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
from sparselin.validation import check_count, check_level, check_names, check_real, frame_names

_SETTINGS = LassoNetSettings()


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
    """Networks x ↦ θᵀx + g(x) at λ_0 = 0 < λ_1 < …, until k features are left (Algorithm 1 of LassoNet).

    At each λ, from the network at the one before, steps towards a stationary point of

        L(θ, W, rest) + λΣ_g ‖θ_g‖₂    subject to    ‖W_g‖∞ ≤ M‖θ_g‖₂ for each g,

    L(…) = (1/n)Σ ω_i ℓ(f(x_i), y_i) + l2·‖weights of the rest‖². g is a feature or, with `groups`, several
    that are selected together; θ_j ∈ ℝᵠ, q the number of outputs (Algorithms 3 and 4: one feature, all
    outputs). The constraint holds exactly at every step. M = 0 gives the (group) LASSO: for "squared", with
    an intercept, `sparselin.lasso_path` at nλ.

    Groups that are zero leave the computation. When the training at a λ has ended, one gradient over all rows
    shows that ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ for each of them, which is necessary and sufficient for zero to
    be stationary, or brings back those for which it is false and trains on, at most `settings.rounds` times,
    with steps a quarter as long each time (too long a step takes a group over its minimum and to zero).

    Parameters
    ----------
    network : hidden widths of a perceptron; any network whose first layer with parameters is linear and reads
        X, to which a skip connection is added; or a `SkipNetwork`. It is copied, not modified.
    X : (n, d) array, frame or tensor. Computations are in the dtype and on the device of the network; of
        widths, of X. Standardize the features: λ compares ‖θ_j‖ of different j.
    y : (n,) or (n, q) targets; numbers 0, 1, … of classes for "cross_entropy".
    loss : "squared" (½‖f − y‖²), "cross_entropy", a PyTorch loss, or a function of outputs and targets to
        (n,).
    lams : λ's, ascending, in place of the grid of `settings`.
    M : ≥ 0, the hierarchy coefficient.
    k : the path ends with the first λ that has at most k features.
    groups : a partition of 0..d − 1.
    validation : (X, y) or (X, y, weight), rows whose mean loss is recorded at each λ.
    sample_weight : (n,) weights ω, scaled to mean 1.
    settings : how the networks are trained.
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
        model, rows, judge = prepare(network, X, y, by_rows, validation, sample_weight, settings)
        d = rows.X.shape[1]
        partition = border.check_groups(groups, d)
        reduced = ReducedNetwork(model, partition)
        border.check_reads_through_first(model, reduced, rows.X)
        training = PathTraining(reduced, rows, judge, by_rows, float(M), settings, order)
        history = _History(float(M), check_count(k, "k", 0, d), partition, named, keep == "states", training)
        return _follow(training, history, _lambdas(lams, training), callback)


def prepare(
    network: Any,
    X: Any,
    y: Any,
    loss: Loss,
    validation: Any,
    sample_weight: Any,
    settings: LassoNetSettings,
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
    if settings.class_weight is not None:
        if loss is not cross_entropy:
            raise ValueError('class_weight is for loss="cross_entropy"; pass sample_weight for others')
        of_rows = border.class_weights(settings.class_weight, rows.y.cpu(), q)
        sample_weight = of_rows if sample_weight is None else of_rows * np.asarray(sample_weight, float)
    if sample_weight is not None:
        rows = border.as_rows(raw, target, loss, like, weight=sample_weight)
    if judge is not None and judge.X.shape[1] != raw.shape[1]:
        raise ValueError(f"validation must have {raw.shape[1]} features as X; got {judge.X.shape[1]}")
    return model, rows, judge


def _lambdas(lams: Any, training: PathTraining) -> Iterator[float]:
    """Given, or λ's in geometric progression whose first is found when it is asked for."""
    if lams is not None:
        given = np.atleast_1d(np.asarray(lams, dtype=object)).tolist()
        values = [check_real(value, "lams") for value in given]
        if not values or min(values) <= 0 or any(b <= a for a, b in itertools.pairwise(values)):
            raise ValueError(f"lams must be positive and ascending; got {values[:5]}")
        return iter(values)

    def progression() -> Iterator[float]:
        start, growth = training.settings.lam_start, float(training.settings.growth)
        lam = _first(training, growth) if start == "auto" else float(start)
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


def _follow(training: PathTraining, history: _History, lams: Iterator[float], callback: Any) -> LassoNetPath:
    """The dense network, then one λ after the other; what is done stays if an interrupt or a loss ends it."""
    try:
        step = history.add(training.dense())
        stop = callback is not None and callback(step) is True
        while not stop and step.n_selected > history.given["k"]:
            lam = next(lams, None)
            if lam is None:
                break
            training.where = f"λ = {lam:.4g}"
            step = history.add(training.train_at(lam))
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
