"""Methods that select by the rows of W, the first layer of a network: OMP, Sequential LASSO, group LASSO.

The row W_j ∈ ℝᴷ of feature j consists of the weights from x_j to the first layer: a column of
`nn.Linear.weight`. A growing network uses some features only: all other features have rows W_j = 0, and cost
no time in training.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from proofs_checks.experiments.networks.baselines._data import PreparedData, Training, network_baseline
from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin.neural.networks import keep_columns
from sparselin.neural.training import Loss, Plan, Rows, adam, backward, lbfgs
from sparselin.results import FloatArray
from sparselin.validation import check_count, check_level, check_real

_AT_ONCE = 4096  # the number of rows whose gradients are computed at a time


def fit(network: nn.Module, rows: Rows, loss: Loss, plan: Plan, order: torch.Generator, where: str) -> None:
    """Minimise the loss by Adam on batches, or by L-BFGS on all rows if the plan's `batch_size` is None.

    L-BFGS makes at most `plan.epochs` iterations.

    where : the name of this training, for error messages.
    """
    if plan.batch_size is not None:
        return adam(network, rows, loss, plan, order, where)
    level = 10 * torch.finfo(rows.X.dtype).eps
    stop = {"max_iter": plan.epochs, "tolerance_grad": level, "tolerance_change": 0.0}
    return lbfgs(network, network.parameters(), rows, loss, where, **stop)


@dataclasses.dataclass(eq=False)
class Proximal:
    """Proximal Adam for the objective L(W, V) + Σ_j λ_j‖W_j‖₂ + ½·weight_decay·‖V‖².

    W is the first layer, with a row W_j for each feature j. V, all other parameters, is trained by Adam, and
    W by

        U = W − η·m̂,    W_j ← max(0, 1 − ηλ_j/‖U_j‖₂)·U_j,    η = learning_rate/(√v̂ + ε).

    Here m̂ is Adam's average of gradients, and v̂ is the average of the *mean* of their squares over all of
    W. So v̂ and the step length η are single numbers, and the new W is the exact minimiser of
    ⟨m̂, W⟩ + ‖W − W_old‖²/(2η) + Σ λ_j‖W_j‖₂. (With Adam's own step lengths, one for each entry, there is no
    closed form.) When is a W with m̂ = ∇L a fixed point? For each η, if and only if ∇_jL = −λ_j·W_j/‖W_j‖, or
    ‖∇_jL‖₂ ≤ λ_j if W_j = 0. These are the KKT conditions. A row with ‖U_j‖ ≤ ηλ_j becomes exactly zero.
    """

    network: nn.Sequential
    rows: Rows
    loss: Loss
    plan: Plan
    generator: torch.Generator
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        first, *others = self.network.parameters()
        self.W = first
        self.others = torch.optim.Adam(others, self.plan.learning_rate, weight_decay=self.weight_decay)
        self.mean, self.square, self.steps = torch.zeros_like(first), 0.0, 0

    def run(self, level: float, free: Sequence[int] = (), where: str = "") -> Tensor:
        """Make `plan.epochs` passes with λ_j = level, or zero for `free` features; return ‖W_j‖₂ (d,)."""
        lam = torch.full((self.W.shape[1],), level, dtype=self.W.dtype)
        lam[list(free)] = 0
        for _ in range(self.plan.epochs):
            for batch in self.rows.batches(self.plan.batch_size, self.generator):
                self.network.zero_grad()
                place = f"λ = {level:.4g}{where}, step {self.steps + 1}"
                backward(self.network, batch, self.loss, place)
                self.others.step()
                self._move(lam)
        return self.W.detach().norm(dim=0)

    @torch.no_grad()
    def _move(self, lam: Tensor) -> None:
        """Make a proximal step on the first layer W."""
        gradient: Any = self.W.grad
        self.steps += 1
        self.mean.lerp_(gradient, 0.1)
        self.square += 0.001 * (float(gradient.square().mean()) - self.square)
        spread = (self.square / (1 - 0.999**self.steps)) ** 0.5
        eta = self.plan.learning_rate / (spread + 1e-8)
        U = self.W - (eta / (1 - 0.9**self.steps)) * self.mean
        self.W.copy_(shrink_rows(U, eta * lam))


def shrink_rows(V: Tensor, level: Tensor) -> Tensor:
    """Return max(0, 1 − level_j/‖V_j‖₂)·V_j for the columns V_j of V (K, d): the prox of Σ level_j‖V_j‖₂.

    >>> shrink_rows(torch.tensor([[3.0, 0.3, 0.0], [4.0, 0.4, 0.0]]), torch.tensor([1.0, 0.5, 0.0]))
    tensor([[2.4000, 0.0000, 0.0000],
            [3.2000, 0.0000, 0.0000]])
    """
    norms = torch.linalg.vector_norm(V, dim=0)
    keep = torch.where(norms > level, 1 - level / norms.clamp(min=torch.finfo(V.dtype).tiny), 0.0)
    return V * keep


def row_gradients(network: nn.Sequential, rows: Rows, loss: Loss) -> Tensor:
    """Return the gradient ∂L/∂W (K, d) for the first layer W over all rows, computed in chunks of rows."""
    W = next(network.parameters())
    total = torch.zeros_like(W)
    for numbers in torch.arange(len(rows)).split(_AT_ONCE):
        batch = rows.at(numbers)
        value = batch.mean(loss, network(batch.X)) * (len(batch) / len(rows))
        total += torch.autograd.grad(value, W)[0]
    return total


# Gradients count as zero below this multiple of eps times their bound without features: sums over n rows
# have rounding errors of √n·eps, which is less for n up to 10⁴. If the multiple is smaller, rounding errors
# can select a feature; if it is larger, a weak feature is ignored.
_ZERO = 100


class GrowingNetwork:
    """A perceptron on m features in which only the features of a growing set S have rows W_j ≠ 0.

    W_j are the weights from feature j to the first layer. S is empty at first. A feature that joins S starts
    from a row of random weights, not from zero. With zero rows, a hidden unit with negative bias would be
    zero for all x, have no gradient, and stay zero.
    """

    def __init__(self, data: PreparedData, training: Training) -> None:
        self.rows, self.loss, self.k = data.rows, data.loss, data.k
        self.plan, self.generator = training.plan, training.generator
        self.network = data.mlp(training.hidden)
        self.first: nn.Linear = self.network[0]
        self.drawn = self.first.weight.detach().clone()
        self.S: list[int] = []
        self.scores = np.zeros(len(data.kept), data.X.dtype)
        self.keep()
        self.floor = _ZERO * torch.finfo(self.rows.X.dtype).eps * self._bound()

    @torch.no_grad()
    def keep(self) -> None:
        """Set the rows of the first layer to zero, except the rows of the selected features."""
        outside = np.setdiff1d(np.arange(self.first.in_features), self.S)
        self.first.weight[:, outside] = 0

    @torch.no_grad()
    def add(self, J: list[int]) -> None:
        """Add features to the selected set S, with their random rows."""
        self.first.weight[:, J] = self.drawn[:, J]
        self.S += J

    def train(self) -> None:
        """Minimise the loss over the selected rows of the first layer, the bias and all later layers."""
        first = keep_columns(copy.deepcopy(self.first), self.S)
        first.bias = self.first.bias
        network, rows = nn.Sequential(first, *self.network[1:]), self.rows.columns(self.S)
        fit(network, rows, self.loss, self.plan, self.generator, f"{len(self.S)} features")
        with torch.no_grad():
            self.first.weight[:, self.S] = first.weight

    def gradients(self) -> Iterator[FloatArray]:
        """Train on S and yield the norms ‖∂L/∂W_j‖₂ (m,) over all rows of X, with −1 for j ∈ S; then repeat.

        S are the selected features, L is the loss, and W_j are the weights from feature j to the first layer.
        The caller adds features to S after each yield. The iteration ends when S has k features, or when all
        norms outside S are zero up to rounding. `scores` holds the last norm of each feature outside S.
        """
        while len(self.S) < self.k:
            self.train()
            norms = row_gradients(self.network, self.rows, self.loss).norm(dim=0)
            norms[self.S] = -1
            if not float(norms.max()) > self.floor:
                break
            self.scores = np.where(norms < 0, self.scores, norms)
            yield norms.numpy()

    def _bound(self) -> float:
        """Return a bound on ‖∂L/∂W_j‖ without selected features; W_j leads from feature j to the first layer.

        ∂L/∂W_j = (1/n)Σ_i x_ij·δ_i, where δ_i is the derivative of the loss of row i with respect to the
        inputs of the hidden units. The norm of this mean is at most rms(x_j)·rms(‖δ_i‖), with the root mean
        squares over i.
        """
        inputs = self.first.bias.detach().expand(len(self.rows), -1).clone().requires_grad_()
        value = self.rows.mean(self.loss, self.network[1:](inputs))
        deltas = torch.autograd.grad(value, inputs)[0]
        longest = self.rows.X.square().mean(dim=0).max().sqrt()
        return float(longest * deltas.norm() * len(self.rows) ** 0.5)


@network_baseline("OMP on the first layer", epochs=5)
def omp(data: PreparedData, training: Training, *, features_per_step: int = 1) -> FeatureRanking:
    """Run OMP with a network: train on S, and add the feature with the largest gradient.

        j* = argmax_{j ∉ S} ‖∂L(f_S)/∂W_j‖₂,    S ← S ∪ j*,    W_j ∈ ℝᴷ the row of j in the first layer,

    where f_S is the network trained on S, with W_j = 0 for all j ∉ S. *Sequential Attention for Feature
    Selection* (ICLR 2023, Section 4.1 and Appendix B.2.2) extends OMP to networks in this way, following
    Elenberg, Khanna, Dimakis and Negahban (*Restricted strong convexity implies weak submodularity*, 2018).
    Here the gradients are over all rows of X; the authors' code uses one batch, and random weights of the
    unselected features. Without hidden layers, for regression, and trained to the minimum, this is
    `sparselin.omp` with an intercept (for several outputs M-OMP).

    A gradient at W_j = 0 cannot detect a feature that acts only together with other unselected features
    (XOR).

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    hidden : the widths of the hidden layers.
    epochs : the number of passes over the data before each selection. Each training starts from the weights
        of the previous training.
    batch_size : the number of rows of a batch; None: all rows, with at most `epochs` iterations of L-BFGS.
    learning_rate : the step length of Adam.
    features_per_step : the number of features to add at once.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` and `lam` are the gradient norms when a feature is selected; for unselected
        features the last norms.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> omp(X, X[:, 2] - 2 * X[:, 1], 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    check_count(features_per_step, "features_per_step", 1)
    net = GrowingNetwork(data, training)
    for norms in net.gradients():
        count = min(features_per_step, data.k - len(net.S))
        net.add(np.argsort(-norms, kind="stable")[:count].tolist())
    return data.ranking("OMP on the first layer", net.S, net.scores, net.scores)


@network_baseline("Sequential LASSO on the first layer", epochs=5)
def sequential_lasso(
    data: PreparedData, training: Training, *, lam: float | None = None, decrease: float = 1e-3
) -> FeatureRanking:
    """Minimise L + λ·Σ_{j ∉ S} ‖W_j‖₂, and add to S the feature outside S whose row becomes nonzero first.

    W_j ∈ ℝᴷ is the row of feature j in the first layer. *Sequential Attention for Feature Selection* (ICLR
    2023, Section 4.1) extends Sequential LASSO of Luo and Chen (*Sequential lasso cum EBIC for feature
    selection with ultra-high dimensional feature space*, 2014) to networks in this way. There are two
    variants:

    λ = None : with the network trained on S, all zero rows are stationary for λ ≥ λ* = max_{j ∉ S}
        ‖∂L/∂W_j‖₂. λ decreases from λ* in steps of a share `decrease`, with `epochs` passes of proximal
        gradient steps at each λ, until a row stays nonzero. If there are several, the feature with the
        longest row joins S. From a stationary point the first proximal step makes exactly the rows with
        ‖∂L/∂W_j‖ > λ nonzero, so the feature with the largest gradient enters first. To first order
        Sequential LASSO is therefore OMP for networks too, as for least squares (Theorem 3.3 there), and it
        cannot detect XOR either. Without hidden layers and for one output it is
        `sparselin.sequential_lasso` with an intercept.
    λ a number : as in the authors' code all rows W_j are trained at once, with λ fixed. After every `epochs`
        passes the feature with the longest row outside S joins S, and its row is no longer penalised. This
        variant starts from a network that reads all features. (The authors use subgradients; here the steps
        are proximal.)

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    hidden : the widths of the hidden layers.
    lam : λ, or None; see above.
    epochs : the number of passes over the data for each selection; with λ = None on S, and again at each λ.
    batch_size : the number of rows of a batch; None: all rows, and training on S uses L-BFGS.
    learning_rate : the step length of Adam and of `Proximal`.
    decrease : the share by which λ decreases from step to step.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are λ* when a feature is selected, and for unselected features the last
        gradient norms; if λ is a number, they are ‖W_j‖. `lam` is the λ at which each feature entered.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = X[:, 2] - 2 * X[:, 1]
    >>> sequential_lasso(X, y, 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    check_real(decrease, "decrease", lambda share: 0 < share < 1, "between 0 and 1")
    name = "Sequential LASSO on the first layer"
    if lam is not None:
        lam = check_level(lam, "lam")
        S, scores = _at_one_level(data, training, lam)
        return data.ranking(f"{name}, λ fixed", S, scores, lam)
    net = GrowingNetwork(data, training)
    levels = np.zeros(len(data.kept), data.X.dtype)
    for norms in net.gradients():
        j, levels[j] = _first_entry(net, float(norms.max()), decrease)
        net.keep()
        net.add([j])
    return data.ranking(name, net.S, net.scores, levels)


def _first_entry(net: GrowingNetwork, top: float, decrease: float) -> tuple[int, float]:
    """Return the feature whose row is the first to stay nonzero as λ decreases from λ* = top, and this λ."""
    steps = Proximal(
        network=net.network, rows=net.rows, loss=net.loss, plan=net.plan, generator=net.generator
    )
    level = top
    while True:
        level *= 1 - decrease
        lengths = steps.run(level, net.S)
        lengths[net.S] = 0
        if lengths.max() > 0:
            return int(np.argmax(lengths.numpy())), level


def _at_one_level(data: PreparedData, training: Training, level: float) -> tuple[list[int], FloatArray]:
    """Return the features that are selected at a fixed λ in order, and the scores (m,).

    The score of a selected feature is ‖W_j‖ when it is selected. The score of any other feature is ‖W_j‖ at
    the end.
    """
    steps = Proximal(
        network=data.mlp(training.hidden),
        rows=data.rows,
        loss=data.loss,
        plan=training.plan,
        generator=training.generator,
    )
    S: list[int] = []
    scores = np.zeros(len(data.kept), data.X.dtype)
    while len(S) < data.k:
        lengths = steps.run(level, S, f", {len(S)} features").numpy()
        lengths[S] = scores[S]
        scores = lengths.copy()
        lengths[S] = 0
        j = int(np.argmax(lengths))
        if lengths[j] == 0:
            break
        S.append(j)
    return S, scores


@network_baseline("group LASSO on the first layer", epochs=2)
def group_lasso(
    data: PreparedData,
    training: Training,
    *,
    lam: float | None = None,
    dense_epochs: int = 20,
    grid: tuple[float, float] = (1e-3, 1.1),
    weight_decay: float = 0.01,
) -> FeatureRanking:
    """Minimise L + λ·Σ_j ‖W_j‖₂ + ½·weight_decay·‖V‖² while λ grows, until at most k rows W_j are nonzero.

    W_j ∈ ℝᴷ is the row of feature j in the first layer, and V are all other parameters. This is the group
    LASSO of Yuan and Lin (*Model selection and estimation in regression with grouped variables*, 2006) on the
    inputs of a network, as in Scardapane, Comminiello, Hussain and Uncini (*Group sparse regularization for
    deep neural networks*, 2017) and in Section 4.1 of *Sequential Attention for Feature Selection* (ICLR
    2023). They use subgradients; here the steps are proximal (`Proximal`), so rows become exactly zero.
    Without hidden layers and for one output it is the LASSO.

    First the network is trained without penalty. Then λ = start·λ_max, start·factor·λ_max, …, where λ_max =
    max_j ‖∂L/∂W_j‖₂ at W = 0, and each training starts from the weights of the previous training. Features
    are ranked by the last λ at which their rows were nonzero, then by ‖W_j‖ at this λ. If `lam` is given,
    there is a single λ, with `dense_epochs` passes from random weights, and the features are ranked by ‖W_j‖,
    as in the authors' code.

    Without weight decay the penalty would have little effect, because ReLU networks are homogeneous: if the
    first layer is multiplied by t and the next one by 1/t, the function stays the same. So the infimum of the
    objective would be that of L, and V would grow with λ. With weight decay W and V cannot both be small. The
    problem is not convex, so which rows vanish depends on the path too.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    lam : one λ in place of the path.
    hidden : the widths of the hidden layers.
    epochs, dense_epochs : the number of passes over the data at each λ, and before that without penalty.
    batch_size : the number of rows of a batch; None: all rows.
    learning_rate : the step length of Adam and of `Proximal`.
    grid : start, the first λ divided by λ_max; and factor > 1, the ratio of successive λ.
    weight_decay : the weight decay of V along the path, or with `lam`.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `lam` is the last λ of each feature. `scores` break the ties: the feature of rank
        r = 0, 1, … among m has the score λ·factor^(1 − r/m). If `lam` is given, the scores are ‖W_j‖.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sign(X[:, 2] + 2 * X[:, 1]).astype(int)
    >>> group_lasso(X, y, 2, hidden=(8,), batch_size=None, learning_rate=0.01).support.tolist()
    [1, 2]
    """
    plan, generator = training.plan, training.generator
    dense = plan._replace(epochs=check_count(dense_epochs, "dense_epochs", 1))
    start, factor = _check_grid(grid)
    fixed = None if lam is None else check_level(lam, "lam")
    check_level(weight_decay, "weight_decay")
    name = "group LASSO on the first layer"
    network, rows, loss = data.mlp(training.hidden), data.rows, data.loss
    if fixed is not None:
        steps = Proximal(
            network=network, rows=rows, loss=loss, plan=dense, generator=generator, weight_decay=weight_decay
        )
        lengths = steps.run(fixed).double().numpy()
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        return data.ranking(f"{name}, λ fixed", order[: data.k], lengths, fixed)
    level = start * _largest_gradient(network, rows, loss)
    adam(network, rows, loss, dense, generator, "λ = 0")
    steps = Proximal(
        network=network, rows=rows, loss=loss, plan=plan, generator=generator, weight_decay=weight_decay
    )
    levels, lengths = _levels(steps, level, factor, data.k)
    order = np.lexsort((-lengths, -levels))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    scores = levels * factor ** (1 - rank / max(1, len(rank)))
    return data.ranking(name, order[: data.k], scores, levels)


def _check_grid(grid: Any) -> tuple[float, float]:
    """Return start and factor, after checking them."""
    try:
        start, factor = (check_real(value, "grid") for value in grid)
    except (TypeError, ValueError):
        start, factor = 0.0, 0.0
    if not (start > 0 and factor > 1):
        raise ValueError(f"grid must be two numbers, start > 0 and factor > 1; got {grid!r}")
    return start, factor


def _levels(steps: Proximal, level: float, factor: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Return, for each feature, the last λ at which its row was nonzero (0 if never), and ‖W_j‖ at this λ."""
    levels, lengths = np.zeros((2, steps.W.shape[1]))
    while level > 0:
        now = steps.run(level).double().numpy()
        alive = now > 0
        levels[alive], lengths[alive] = level, now[alive]
        if alive.sum() <= k:
            break
        level *= factor
    return levels, lengths


def _largest_gradient(network: nn.Sequential, rows: Rows, loss: Loss) -> float:
    """Return λ_max = max_j ‖∂L/∂W_j‖₂, L the loss, at W = 0, with random weights of the other layers."""
    blank = copy.deepcopy(network)
    nn.init.zeros_(next(blank.parameters()))
    return float(row_gradients(blank, rows, loss).norm(dim=0).max())
