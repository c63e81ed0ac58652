"""Forward regression (FR), local search (LS) and greedy local search (GLS) on an objective g = R² + ν·f.

f is a set function, the regularizer. The functions of `search` check their arguments and then call the
functions of this module. `Climb` is local search on f alone, by additions and deletions that
increase f enough.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from sparselin.linalg.elimination import restore
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray, Status, SubsetResult
from sparselin.spectral.objective import (
    Objective,
    UndecidedGains,
    accepted_moves,
    lowest_of_largest,
    vague_error,
)
from sparselin.spectral.regularizers.base import Gram, SetFunction, grow

Callback = Callable[[SubsetResult], object]
Watch = Callable[[list[int]], bool]
_UNFINISHED = (Status.STOPPED, Status.BEYOND_PRECISION)


@dataclasses.dataclass(frozen=True)
class SearchTask:
    """The objective g = R² + ν·f, where f is a regularizer, with the options of a search.

    problem : the data in float64, or None if the objective is ν·f.
    dtype : the dtype of the results.
    eps : the number ε of a local search over n features, in which a move must increase f by the factor
        1 + ε/n².
    complete : whether a local search deletes features.
    """

    problem: Problem | None
    gram: Gram
    f: SetFunction | None
    nu: float
    dtype: np.dtype[Any]
    callback: Callback | None = None
    eps: float = 0.1
    complete: bool = True

    def objective(self, S: Iterable[int] = (), capacity: int = 8) -> Objective:
        """Return the objective at the set S, in a form to which features can be added."""
        objective = Objective(self.gram, self.problem, self.f, self.nu, capacity=capacity)
        for j in S:
            objective.add(int(j))
        return objective

    def one_thread(self, steps: int) -> AbstractContextManager[int]:
        """Limit BLAS to one thread for a search of this number of steps, because its matrices are small."""
        return workers(2.0 * self.gram.d * steps * (steps + 100))

    def asks_to_stop(self, objective: Objective) -> bool:
        """Call the callback, if there is one, and return whether it asks to stop."""
        if self.callback is None:
            return False
        return bool(self.callback(FoundSet.single(objective, Status.STOPPED).result(self.dtype)))


@dataclasses.dataclass(frozen=True)
class FoundSet:
    """The outcome of a search: the best set, the value of each candidate, the number of moves, the status."""

    best: Objective
    candidates: tuple[tuple[str, float], ...]
    moves: int
    status: Status

    @classmethod
    def single(cls, objective: Objective, status: Status) -> FoundSet:
        """Return the result of a search with a single set, which made one move for each feature."""
        return cls(objective, (), len(objective.index), status)

    def result(self, dtype: np.dtype[Any]) -> SubsetResult:
        """Return the best set as a result, with arrays of this dtype."""
        best = self.best
        explained, growth = best.explained, best.growth
        assert explained is not None
        problem = explained.selection.problem
        support = np.array(best.index, np.intp)
        coef, intercept = restore(problem, support, explained.selection.path(self.status).coef)
        diversity = 0.0 if growth is None else float(growth.value)
        gains = np.array(best.gains, dtype)
        values = (best.value, explained.value, diversity, gains, self.candidates, self.moves, self.status)
        return SubsetResult(support, coef.astype(dtype), *values, best.gram.d, intercept, problem.names)


def extend(
    objective: Objective, k: int, within: IndexArray, stop: Callable[[Objective], bool] | None = None
) -> Status:
    """Add to the set S, one at a time, the feature x of `within` that maximises the objective on S ∪ {x}.

    Returns the final status. The loop ends if S has k features, if no feature of `within` remains, if the
    objective returns a status instead of a feature, if rounding leaves the pick undecided, or if `stop`
    returns True.
    """
    while len(objective.index) < k:
        rest = objective.rest(within)
        try:
            pick = objective.pick(rest) if len(rest) else Status.RANK_EXHAUSTED
        except UndecidedGains:
            return Status.BEYOND_PRECISION
        if isinstance(pick, Status):
            return pick
        objective.add(pick)
        if stop is not None and stop(objective):
            return Status.STOPPED
    return Status.COMPLETED


def forward(task: SearchTask, k: int, U: IndexArray, forced: Iterable[int] = ()) -> tuple[Objective, Status]:
    """Run forward regression: add the forced features, then the best features of U, k in all.

    Returns the objective at the selected set, and the status.
    """
    with task.one_thread(k):
        objective = task.objective(forced, capacity=k)
        return objective, extend(objective, k, U, task.asks_to_stop)


class Climb:
    """The state of a local search that maximises f(F ∪ S) over the sets S ⊆ U, where F is fixed.

    U are the features to choose from, and n = |U|. The search starts at the best single feature. A move from
    S to S' is accepted if f(F ∪ S') exceeds (1 + ε/n²)·f(F ∪ S) by more than the error of f, so no set is
    visited twice. If `strict` is False, an addition is also accepted if f(F ∪ S') = (1 + ε/n²)·f(F ∪ S) up to
    this error.

    Attributes
    ----------
    growth : the state of f at F ∪ S, with F first.
    moves : the number of moves accepted so far.
    """

    def __init__(
        self, gram: Gram, f: SetFunction, U: IndexArray, eps: float, strict: bool, fixed: Sequence[int] = ()
    ) -> None:
        self.gram = gram
        self.f = f
        self.U = U
        self.strict = strict
        self.fixed = len(fixed)
        self.rate = eps / max(1, len(U)) ** 2
        self.growth = grow(gram, f, fixed)
        self.moves = 0
        if len(U):
            gains, error = self.growth.gains(U)
            self.growth.add(lowest_of_largest(U, gains, error, vague_error(self.growth)))
            if self.growth.value < -float(error.max()):
                raise ValueError(
                    f"local search needs f ≥ 0, so that (1 + ε/n²)·f(S) ≥ f(S); got f(S) = "
                    f"{self.growth.value:g} at its best single feature. Give the regularizer its "
                    "normalising constant (k=...)"
                )

    @property
    def free(self) -> list[int]:
        """The set of the search without its fixed features."""
        return self.growth.index[self.fixed :]

    def run(self, deletions: bool, watch: Watch | None = None) -> bool:
        """Make moves until none is accepted (return True), or until `watch` returns True (return False).

        deletions : whether deletions are tried after additions.
        watch : called with the set after each move.
        """
        while self.add() or (deletions and self.delete()):
            self.moves += 1
            if watch is not None and watch(self.growth.index):
                return False
        return True

    def _best(self, J: IndexArray, gains: FloatArray, error: FloatArray, equal: bool = False) -> int | None:
        """Return the position in J of the best accepted move, or None if no move is accepted.

        A move adds a feature of J to the current set S, or removes it from S. It is accepted if its gain in
        the regularizer f exceeds (ε/n²)·f(S) by more than the error. Here ε is the accuracy of the search,
        and n the number of features to choose from. The best move has the largest gain.

        J : the features that can be moved.
        gains, error : the gains of the moves, and bounds on their errors.
        equal : also accept a move whose gain equals (ε/n²)·f(S) up to the error.
        """
        vague = 2 * vague_error(self.growth)
        accepted = accepted_moves(gains, error, vague, self.rate * self.growth.value, equal)
        if not len(accepted):
            return None
        j = lowest_of_largest(J[accepted], gains[accepted], error[accepted], vague)
        return int(np.flatnonzero(j == J)[0])

    def add(self) -> bool:
        """Add the feature that increases f most, if accepted; return whether a feature was added."""
        J = np.setdiff1d(self.U, self.growth.index)
        at = self._best(J, *self.growth.gains(J), equal=not self.strict) if len(J) else None
        if at is None:
            return False
        self.growth.add(int(J[at]))
        return True

    def delete(self) -> bool:
        """Delete the feature whose removal increases f most, if accepted; return whether one was deleted.

        If f is monotone, no removal increases f.
        """
        if not self.free or getattr(self.f, "monotone", False):
            return False
        losses, error = (v[self.fixed :] for v in self.growth.losses())
        at = self._best(np.array(self.free, np.intp), -losses, error)
        if at is None:
            return False
        S = [i for i in self.growth.index if i != self.free[at]]
        self.growth = grow(self.gram, self.f, S)
        return True


def local(task: SearchTask, U: IndexArray, forced: IndexArray) -> FoundSet:
    """Run local search on f over subsets of U; return the best of three sets for g = R² + ν·f.

    The three sets are the local maximum S ⊆ U, its complement U∖S, and U. The forced features, which are not
    in U, are added to all three sets.
    """
    assert task.f is not None
    first = forced.tolist()
    try:
        climb = Climb(task.gram, task.f, U, task.eps, task.complete, first)
    except UndecidedGains:
        return FoundSet(task.objective(first), (), 0, Status.BEYOND_PRECISION)
    watch = None if task.callback is None else lambda S: task.asks_to_stop(task.objective(S))
    with task.one_thread(len(U)):
        try:
            ended = climb.run(deletions=task.complete, watch=watch)
            status = Status.COMPLETED if ended else Status.STOPPED
        except UndecidedGains:
            status = Status.BEYOND_PRECISION
        S = climb.free
        sets = (("S", S), ("U∖S", np.setdiff1d(U, S).tolist()), ("U", U.tolist()))
        named = [(name, task.objective([*first, *T])) for name, T in sets]
    return FoundSet(*_best(named), climb.moves, status)


def greedy_local(task: SearchTask, k: int, forced: IndexArray) -> FoundSet:
    """Run greedy local search; return the best of the sets S₁, S₁' and S₂ for g = R² + ν·f.

    S₁ is the result of forward regression on all features U, S₁' the result of local search within S₁, and S₂
    the result of forward regression on U∖S₁. The forced features are in all three sets.
    """
    everything = np.arange(task.gram.d)
    S1, status = forward(task, k, everything, forced)
    named = [("S1", S1)]
    moves = 0
    if status not in _UNFINISHED:
        inner = local(task, np.setdiff1d(S1.index, forced), forced)
        named.append(("S1'", inner.best))
        moves, status = inner.moves, inner.status
    if status not in _UNFINISHED:
        S2, status = forward(task, k, np.setdiff1d(everything, S1.index), forced)
        if status not in _UNFINISHED:
            named.append(("S2", S2))
            status = Status.COMPLETED
    return FoundSet(*_best(named), moves, status)


def _best(named: list[tuple[str, Objective]]) -> tuple[Objective, tuple[tuple[str, float], ...]]:
    """Return the first objective whose value is the largest up to rounding, and all pairs (name, value)."""
    values = np.array([objective.value for _, objective in named])
    slack = 64 * EPS * np.abs(values).max()
    first = int(np.flatnonzero(values >= values.max() - slack)[0])
    names = [name for name, _ in named]
    return named[first][1], tuple(zip(names, values.tolist(), strict=True))
