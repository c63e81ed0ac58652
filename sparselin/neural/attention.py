"""Sequential Attention on any network, with any loss, optimiser and batches."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import torch
from torch import Tensor, nn

from sparselin.neural import training
from sparselin.neural.batches import Border, check_modules, check_repeatable
from sparselin.neural.masks import FeatureMask, apply_mask, squares
from sparselin.neural.networks import first_linear
from sparselin.neural.results import AttentionPath
from sparselin.neural.schedule import PerStep, PlannedSchedule, Record, Schedule
from sparselin.neural.training import Loss, Rows, seeded
from sparselin.results import Names, Status
from sparselin.validation import Columns, check_count, check_flag, check_indices, check_level, check_names

Penalty = float | Callable[[tuple[int, ...]], float]
Optimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]
Callback = Callable[[AttentionPath], object]


def adam(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Return PyTorch's Adam with the step length 1e-3."""
    return torch.optim.Adam(parameters, lr=1e-3)


class SequentialAttention:
    """Sequential Attention (Algorithm 1): it selects k features while it trains one network.

    The network is x ↦ f(x∘s(w)) with attention weights s(w) on the features. A unit is a feature, or a group
    of features with the same weight. On the selected units S, s_i = 1. After a warm-up with s = 1, the steps
    are divided into phases. At the *end* of each phase the units outside S with the largest |s_i(w)| join S.
    Then w is reset so that all other units have the same attention; the weights of f stay (Section 4.1 and
    Appendix B.2.4 of *Sequential Attention for Feature Selection*). Let S̄ be the unselected units, and also
    their features. The loss is

        L(θ, w) = (1/n)Σ ω_i ℓ(f(x_i∘s(w)), y_i) + (λ/2)(Σ_{S̄} w_u² + Σ_{S̄} ‖W_j‖²),

    where θ are the weights of f, ω_i the weights of the rows, ℓ the loss of one row, and W_j the columns of
    the first linear layer. For λ > 0 this is the regularized variant (Definition 3.1). With "linear" and "l1"
    it is a group LASSO for the first layer. To see this, let B_g = w_gW_g be the product of the attention
    weight and the columns of a unit g. For a given B_g, the minimum of w_g² + ‖W_g‖² is 2‖B_g‖, so the
    penalty becomes λΣ_{S̄}‖B_g‖. The normalised forms except "softmax" do not depend on the scale of w, so
    for these forms w has no penalty.

    Parameters
    ----------
    network : f, any module. It is trained in place, starting from its present weights.
    k : the number of units to select, 1 ≤ k ≤ u, including the `forced` ones, where u is the number of all
        units.
    n_features : d, the number of entries of a row that `network` takes; by default the number that `inputs`
        returns.
    loss : a name, a PyTorch loss, or a function that returns one number for each row (`training.as_loss`).
    optimizer : a function that makes a PyTorch optimiser from the parameters. LBFGS is possible.
    parametrization, temperature, groups : as in `FeatureMask`.
    features_per_step : the number of units that a phase selects, or "double" for 1, 2, 4, … (Appendix B.4).
    warm_up : the length of the warm-up: a share of all steps (the authors take 0.1), or an integer number of
        steps.
    steps_per_phase : the number of steps of each phase; by default `fit` divides its steps equally.
    schedule : a function that makes a `Schedule` from the number of steps. It replaces `features_per_step`
        and `warm_up`. If a phase has no steps, its units are drawn from `rng`.
    folded : whether to multiply the weights of the first linear layer by s, which is faster than multiplying
        x by s; "auto" does so if it is possible (see `apply_mask`).
    reset_moments : whether the optimiser's state is reset after each phase. The authors do not reset it.
    penalty : λ ≥ 0, or a function of the units of S that is called at the start of each phase.
    inputs : a module that computes the features from a batch, such as `EmbeddedColumns`. It is trained
        together with f. The mask acts between `inputs` and f, on the `groups` of `inputs`.
    forced : the units that are in S from the start, as numbers or names.
    names : the names of the u units.
    rng : a seed or a NumPy Generator for everything random: dropout, and the order of a DataLoader.
    callback : a function that is called after each phase with the path so far. If it returns True, the
        training stops.
    device : the device of the training; by default that of the first parameter of `network`.

    Attributes
    ----------
    mask : the `FeatureMask`.
    masked_network : x ↦ f(x∘s(w)), including `inputs`.
    path : the `AttentionPath` so far, also after an error or Ctrl-C. While phases remain, its status is
        STREAM_ENDED.
    done : whether all k units are selected.

    Raises
    ------
    TypeError, ValueError : k is not in 1..u; the parametrization, the loss or `features_per_step` is unknown;
        the groups are invalid; `folded=True` is impossible for this network; or there is a penalty but no
        first linear layer.

    >>> from sparselin.neural import mlp
    >>> X = torch.eye(4).repeat(8, 1)
    >>> y = 3 * X[:, [2]] - X[:, [0]]
    >>> with seeded(0):
    ...     network = mlp(4, [], 1)
    >>> path = SequentialAttention(network, 2, n_features=4, loss="squared").fit([(X, y)], epochs=200)
    >>> path.order.tolist(), path.steps.tolist(), path.status.name
    ([2, 0], [90, 90], 'COMPLETED')
    """

    def __init__(
        self,
        network: nn.Module,
        k: int,
        *,
        n_features: int | None = None,
        loss: str | nn.Module | Loss = "cross_entropy",
        optimizer: Optimizer = adam,
        parametrization: str = "softmax",
        temperature: float = 1.0,
        groups: Any = None,
        features_per_step: PerStep = 1,
        warm_up: float = 0.1,
        steps_per_phase: int | None = None,
        schedule: Callable[[int], Schedule] | None = None,
        folded: bool | str = "auto",
        reset_moments: bool = False,
        penalty: Penalty = 0.0,
        inputs: nn.Module | None = None,
        forced: Columns = (),
        names: Names = None,
        rng: Any = 0,
        callback: Callback | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        check_modules(network, optimizer, inputs)
        training.check_function(callback, "callback")
        training.check_function(schedule, "schedule")
        first = next(network.parameters())
        d = getattr(inputs, "n_features", None) if n_features is None else n_features
        if d is None:
            raise TypeError("n_features must be given: the number of entries of a row that `network` takes")
        groups = getattr(inputs, "groups", None) if groups is None else groups
        self.network, self.inputs = network, inputs
        self.mask = FeatureMask(
            d, parametrization=parametrization, temperature=temperature, groups=groups, dtype=first.dtype
        )
        u = len(self.mask.logits)
        self._names = None if names is None else check_names(names, u)
        self._forced = check_indices(forced, u, "forced", self._names)
        self.k = check_count(k, "k", max(1, len(self._forced)), u, f"; there are {u} units to select from")
        inner = apply_mask(network, self.mask, folded)
        self.masked_network = inner if inputs is None else nn.Sequential(inputs, inner)
        self.masked_network.to(first.device if device is None else training.as_device(device))
        self._penalty = penalty if callable(penalty) else check_level(penalty, "penalty")
        self._layer: Any = None if penalty == 0 else first_linear(network, self.mask.n_features)[1]
        self._loss = training.as_loss(loss)
        self._optimizer = optimizer
        self._reset_moments = check_flag(reset_moments, "reset_moments")
        left = self.k - len(self._forced)
        self._plan = PlannedSchedule(left, features_per_step, warm_up, steps_per_phase, schedule)
        self._callback = callback
        self._rng = training.check_generator(rng)
        self._restart(self._plan(2**40, "steps"))

    def fit(self, batches: Iterable[Any], epochs: int = 50) -> AttentionPath:
        """Select k units in `epochs` passes through `batches`. Earlier selections are discarded.

        batches : an iterable that can be passed through repeatedly, for example a DataLoader or a list of (X,
            y) or (X, y, weight): tensors, arrays or frames, with weights of mean 1 over all rows. If it has
            no length, `steps_per_phase` is needed. With `steps_per_phase` the passes end when all k units are
            selected. X is checked for NaN in the first pass, and later if the loss is not finite.

        Returns the path. It is shorter if Ctrl-C or the callback stopped the training (STOPPED), or if there
        were too few batches (STREAM_ENDED).

        Raises
        ------
        TypeError, ValueError : `batches` is an iterator or is empty; a batch is invalid (`Border.rows`); a
            label has no output; or there are fewer steps than phases.
        NonFiniteLoss : the loss became NaN or infinite; the message names the phase and the step.
        """
        check_repeatable(batches)
        check_count(epochs, "epochs", 1)
        length = len(batches) if isinstance(batches, Sized) else None
        if length == 0:
            raise ValueError("batches must not be empty; got none")
        self._restart(self._plan(None if length is None else length * epochs, "epochs"))
        self._first_pass = math.inf if length is None else length
        return self._consume(itertools.chain.from_iterable(itertools.repeat(batches, epochs)))

    def fit_stream(self, stream: Iterable[Any], steps: int | None = None) -> AttentionPath:
        """Select k units in one pass through a stream of batches; each phase takes a part of the stream.

        Earlier selections are discarded.

        steps : the number of batches; by default the length of `stream`. It is not needed with
            `steps_per_phase`. After the last selection no further batch is taken.

        Returns the path and raises the errors of `fit`. If the stream ends early, the path has the units of
        the completed phases and the status STREAM_ENDED.
        """
        if not hasattr(stream, "__iter__") or getattr(stream, "shape", None) == ():
            raise TypeError(f"stream must be an iterable of (X, y); got {type(stream).__name__}")
        length = len(stream) if steps is None and isinstance(stream, Sized) else steps
        self._restart(self._plan(length, "steps"))
        return self._consume(stream)

    def partial_fit(self, X: Any, y: Any, weight: Any = None) -> SequentialAttention:
        """Make one step with a batch, and select units if a phase ends. `steps_per_phase` must be given.

        Once all units are selected (`done`), further calls have no effect. Raises the errors of `fit`.
        """
        if self._plan.steps_per_phase is None:
            raise ValueError("partial_fit needs steps_per_phase: it cannot know the number of batches")
        with self._training():
            self._advance((X, y, weight))
        return self

    @property
    def done(self) -> bool:
        """True if all k units are selected."""
        return len(self._record.order) == self.k

    @property
    def path(self) -> AttentionPath:
        """The path so far."""
        return self._record.path(self._status)

    def _restart(self, schedule: Schedule) -> None:
        """Reset the selected units to the forced ones, and make a new optimiser."""
        self.schedule = schedule
        mask = self.mask
        mask.attending = False
        mask.selected.zero_()
        mask.select(self._forced)
        device = mask.logits.device
        width = getattr(self.inputs, "in_features", mask.n_features)
        labels = self._loss is training.cross_entropy
        integers = self.inputs is not None
        self._border = Border(width, mask.logits.dtype, device, integers, labels)
        self._status: Status | None = None
        self._record = Record(self.k, self._forced, mask, self._names, schedule)
        self._stepper = self._optimizer([p for p in self.masked_network.parameters() if p.requires_grad])
        if not isinstance(self._stepper, torch.optim.Optimizer):
            raise TypeError(
                f"optimizer must be a function that makes an optimiser; it made {self._stepper!r}"
            )
        self._lam = 0.0
        self._first_pass = math.inf
        self._begin()

    def _begin(self) -> None:
        """Begin the next phase, unless the warm-up is not over or all k units are selected."""
        if self._record.total >= self.schedule.warm_up and not self.done:
            self.mask.attend()
            S = tuple(self._record.order)
            self._lam = check_level(self._penalty(S), "penalty") if callable(self._penalty) else self._penalty

    @contextlib.contextmanager
    def _training(self) -> Iterator[None]:
        """Seed PyTorch, enable gradients, and set the network to training mode."""
        with seeded(self._rng), torch.enable_grad():
            self.masked_network.train()
            yield

    def _consume(self, batches: Iterable[Any]) -> AttentionPath:
        """Make a step with each batch until all k units are selected; return the path."""
        try:
            with self._training():
                self._end_phases()
                rest = iter(batches)
                while not self.done and self._status is None and (batch := next(rest, rest)) is not rest:
                    self._advance(batch)
        except KeyboardInterrupt:
            self._status = Status.STOPPED
        return self.path

    def _advance(self, batch: Any) -> None:
        """Make a step, and select units if a phase ends."""
        if self.done or self._status is not None:
            return
        record = self._record
        rows = self._border.rows(batch, record.total + 1, record.total < self._first_pass)
        record.add(self._step(rows))
        if record.total == self.schedule.warm_up:
            self._begin()
        self._end_phases()

    def _step(self, rows: Rows) -> float:
        """Make a step of the optimiser; return the loss before the step, without penalty."""
        values: list[float] = []

        def closure() -> Tensor:
            self._stepper.zero_grad()
            output = training.forward(self.masked_network, rows.X)
            self._border.check_labels(rows.y, output, self._record.total + 1)
            loss = rows.mean(self._loss, output)
            values.append(float(loss.detach()))
            if not math.isfinite(values[-1]):
                self._border.check_entries(rows.X, self._record.total + 1)
                training.check_finite_loss(values[-1], self._record.where)
            total = loss + self._regularizer() if self._lam else loss
            total.backward()
            return total

        self._stepper.step(closure)
        return values[0]

    def _regularizer(self) -> Tensor:
        """Return the penalty of the unselected units."""
        return 0.5 * self._lam * squares(self.mask, self._layer)

    def _end_phases(self) -> None:
        """End the phases that are complete after this step.

        If phases have no steps, several phases can end at once.
        """
        while not self.done and self._status is None and self._record.phase_ends:
            self._pick()

    def _pick(self) -> None:
        """Select the units of the present phase, and begin the next one."""
        record = self._record
        attention = self.mask.attention()
        training.check_finite_loss(float(attention.sum()), f"the end of {record.where} (its attention)")
        if record.has_vanished(attention):
            self._status = Status.NO_ATTENTION
            return
        order = self._rng.permutation(len(attention)) if record.phase_is_empty else None
        self.mask.select(record.pick(attention, self._lam, order))
        if self._reset_moments:
            self._stepper.state.clear()
        self._begin()
        if self._callback is not None and self._callback(record.path(Status.STOPPED)) and not self.done:
            self._status = Status.STOPPED
