"""The data and gaps behind a `Condition`, and the witnesses that are computed from them."""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from sparselin.guarantees.perturbation import _exact, _nearest
from sparselin.guarantees.perturbation._gaps import Gaps
from sparselin.guarantees.perturbation._greedy import Step
from sparselin.guarantees.perturbation._lasso import Solution
from sparselin.problem import Problem
from sparselin.results import FloatArray

_TRIED = 3  # the rivals of a step for which a witness is searched


@dataclasses.dataclass(frozen=True, eq=False)
class Nearest:
    """Data near the given data for which another feature is picked, or ties.

    size : ε: ‖ΔX_j‖ ≤ ε‖X_j‖ for each column and ‖Δy‖ ≤ ε‖y‖, without the parts along an intercept.
    step : the number of the row of `Condition` whose gap is closed, from 0.
    rival : the feature that is picked or ties; for the LASSO the feature that leaves or enters; −1 if none.
    X : (n, d) the changed design, dense, in float64; with weights its rows are multiplied by √weight.
    y : (n,) the changed response.
    """

    size: float
    step: int
    rival: int
    X: FloatArray
    y: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class WitnessSource:
    """The data and the gaps of a `Condition`, from which witnesses are computed."""

    problem: Problem

    @functools.cached_property
    def raw(self) -> Problem:
        """The problem with the columns of X as they are."""
        return self.problem.without_scales()

    @property
    def ones(self) -> FloatArray | None:
        """The column of ones, or None without an intercept."""
        return self.raw.design.ones

    def witness(self, change: _nearest.Change, t: int) -> Nearest:
        """Return the changed data as a whole."""
        X = self.raw.columns(np.arange(self.raw.n_features)).astype(np.float64)
        X[:, change.columns] = change.X
        return Nearest(size=change.size, step=t, rival=change.rival, X=X, y=change.y)

    def best(self, gaps: Gaps, of_y: bool, focus_of: Any) -> _nearest.Change | None:
        """Return the smallest change that closes one of the gaps with the largest quotients."""
        numbers = gaps.quotients(of_y)
        best: _nearest.Change | None = None
        for p in np.argsort(-numbers, kind="stable")[:_TRIED]:
            if not numbers[p] > 0:
                break
            focus = focus_of(int(p))
            X = self.raw.columns(focus.columns).astype(np.float64)
            limit = best.size if best else math.inf
            guess = 1 / float(numbers[p])
            found = _nearest.search(focus, X, self.raw.y, self.ones, guess, of_y, limit)
            if found is not None and found.size < limit:
                best = dataclasses.replace(found, rival=int(gaps.rival[p]) if gaps.sign[p] else -1)
        return best

    def with_ones(self, X: FloatArray) -> FloatArray:
        """Put the column of ones before columns (n, m), if there is an intercept."""
        return X if self.ones is None else np.column_stack([self.ones, X])

    @property
    def length(self) -> float | None:
        """The length of standardized columns; None for other columns."""
        if self.problem.design.scale is None:
            return None
        ones = self.ones
        return math.sqrt(self.problem.n if ones is None else float(ones @ ones))


@dataclasses.dataclass(frozen=True, eq=False)
class GreedySource(WitnessSource):
    """The steps of a greedy path; None for forced features."""

    steps: list[tuple[Step, Gaps] | None]
    by_length: bool
    entering: bool = False

    def change(self, t: int, of_y: bool) -> _nearest.Change | None:
        """Return the smallest change that was found for step t; None if there is none."""
        pair = self.steps[t]
        if pair is None:
            return None
        step, gaps = pair
        return self.best(gaps, of_y, functools.partial(self._focus, step, gaps))

    def _focus(self, step: Step, gaps: Gaps, p: int) -> _nearest.Focus:
        k = len(step.S)
        sigma = float(gaps.sign[p])
        rival = [int(gaps.rival[p])] if sigma else []
        kind = "ols" if self.by_length else "omp"
        standardized = self.length is not None
        if self.by_length:
            gap = functools.partial(_nearest.ols_gap, k=k, sign=step.sign, sigma=sigma)
        else:
            gap = functools.partial(_nearest.omp_gap, k=k, sign=step.sign, sigma=sigma, length=self.length)

        def is_closed(X: FloatArray, y: FloatArray) -> bool:
            S = self.with_ones(X[:, :k])
            other = X[:, k + 1] if rival else None
            offset = S.shape[1] - k
            return _exact.picks_another(kind, standardized, S, offset, X[:, k], other, y, step.sign)

        columns = np.array([*step.S, step.pick, *rival], np.intp)
        return _nearest.Focus(columns=columns, gap=gap, closed=is_closed)


@dataclasses.dataclass(frozen=True, eq=False)
class LassoSource(WitnessSource):
    """The solution of the LASSO at λ, and the gaps of each row; no solution if its columns are dependent."""

    solution: Solution | None
    gaps: tuple[Gaps, ...]
    entering: bool

    def change(self, t: int, of_y: bool) -> _nearest.Change | None:
        """Return the smallest change that was found for row t; None if there is none."""
        if self.solution is None:
            return None
        return self.best(self.gaps[t], of_y, functools.partial(self._focus, t))

    def _focus(self, t: int, p: int) -> _nearest.Focus:
        solution = self.solution
        assert solution is not None
        gaps = self.gaps[t]
        enters = self.entering and t == len(self.gaps) - 1
        k = len(solution.A)
        row = 0 if enters else int(np.flatnonzero(gaps.rival[p] == solution.A)[0])
        sign = float(gaps.sign[p])
        gap = functools.partial(
            _nearest.lasso_gap, signs=solution.signs, lam=solution.lam, row=row, sign=sign, length=self.length
        )
        weight = None if self.length is None else Fraction(float(np.square(self.length)))

        def is_closed(X: FloatArray, y: FloatArray) -> bool:
            A = self.with_ones(X[:, :k])
            offset = A.shape[1] - k
            signs = np.concatenate([np.zeros(offset), solution.signs])
            return _exact.has_other_support(
                A=A,
                signs=signs,
                lam=Fraction(solution.lam),
                y=y,
                row=offset + row,
                column=X[:, k] if enters else None,
                sign=int(sign),
                weight=weight,
                offset=offset,
            )

        columns = np.array([*solution.A, gaps.rival[p]] if enters else solution.A, np.intp)
        return _nearest.Focus(columns=columns, gap=gap, closed=is_closed)
