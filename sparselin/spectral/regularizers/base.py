"""Common to all regularizers: the table of them, f on sets, its gains while S grows, its rounding error."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sparselin.results import FloatArray, IndexArray
from sparselin.spectral._gram import Gram
from sparselin.validation import check_count, check_indices, check_new

Method = Literal["forward", "greedy_local_search"]


class SetFunction(Protocol):
    """f on sets of columns of a design with C = XᵀX, as the searches need it."""

    @property
    def submodular(self) -> bool: ...

    def value(self, C: FloatArray, S: Sequence[int]) -> float: ...

    def gains(self, C: FloatArray, S: Sequence[int]) -> FloatArray: ...


@dataclasses.dataclass(frozen=True)
class Regularizer:
    """A set function under a name, as `python -m proofs_checks.experiments.diversity` runs it.

    Attributes
    ----------
    name : its key in `REGULARIZERS`.
    of : (k, α) → f, with the constants that make f ≥ 0 on k unit columns; α is of --alpha.
    method : the search for the maximum of R² + νf.
    """

    name: str
    of: Callable[[int, float], SetFunction]
    method: Method = "greedy_local_search"


REGULARIZERS: dict[str, Regularizer] = {}


def register(regularizer: Regularizer) -> Regularizer:
    """Add a regularizer to `REGULARIZERS`, from which the study of diversity, its tables and figures take it.

    Raises ValueError if the name is taken.
    """
    REGULARIZERS[check_new(regularizer.name, REGULARIZERS, "a regularizer")] = regularizer
    return regularizer


def carried() -> Callable[[], None]:
    """A function that registers the regularizers of this process in another; `of` must be picklable."""
    return functools.partial(_have, dict(REGULARIZERS))


def _have(regularizers: dict[str, Regularizer]) -> None:
    REGULARIZERS.update(regularizers)


class Growth(Protocol):
    """The state of f at S.

    Attributes
    ----------
    index : S in the order of its growth.
    value : f(S).
    unit : the size of a gain to compare errors with: a gain known to a small share of it is known.
    """

    index: list[int]

    @property
    def unit(self) -> float: ...

    @property
    def value(self) -> float: ...

    def add(self, j: int) -> None:
        """Add j to S."""

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """f(S + x) − f(S) for the x in J, none of them in S, and bounds on their rounding errors."""

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """f(S) − f(S − x) for each x of `index`, and bounds on their errors."""


class PlainGrowth:
    """Any set function, by its own `value` and `gains` on all of C."""

    def __init__(self, gram: Gram, f: SetFunction) -> None:
        self.gram, self.f = gram, f
        self.index: list[int] = []
        self.C = gram.block(range(gram.d))
        self.value = float(f.value(self.C, []))

    @property
    def unit(self) -> float:
        return max(1.0, abs(self.value))

    def add(self, j: int) -> None:
        self.index.append(j)
        self.value = float(self.f.value(self.C, self.index))

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        gains = np.asarray(self.f.gains(self.C, self.index), np.float64)
        return gains[J], np.full(len(J), self._error())

    def losses(self) -> tuple[FloatArray, FloatArray]:
        less = [self.f.value(self.C, [i for i in self.index if i != j]) for j in self.index]
        return self.value - np.array(less), np.full(len(less), self._error())

    def _error(self) -> float:
        return self.gram.error * (1 + len(self.index)) * max(1.0, abs(self.value))


def grow(gram: Gram, f: SetFunction, S: Sequence[int] = ()) -> Growth:
    """The state of f at S, to which features can be added."""
    start = getattr(f, "_growth", None)
    growth: Growth = PlainGrowth(gram, f) if start is None else start(gram)
    for j in S:
        growth.add(int(j))
    return growth


def spectrum(C: ArrayLike, S: Iterable[int]) -> tuple[FloatArray, float]:
    """The eigenvalues of C_S, those negative by rounding as zero; and the bound up to which they are zero."""
    gram = Gram.of_matrix(C)
    index = check_indices(S, gram.d, "S").tolist()
    values = np.linalg.eigvalsh(gram.block(index)) if index else np.zeros(0)
    cutoff = gram.cutoff(len(index))
    if values.min(initial=0) < -cutoff:
        raise ValueError(
            f"C must be positive semidefinite, as XᵀX is; C_S has the eigenvalue {values.min():g}"
        )
    return np.maximum(values, 0), cutoff


def gains_of(f: SetFunction, C: ArrayLike, S: Iterable[int]) -> FloatArray:
    """(d,) f(S + x) − f(S), 0 for x in S."""
    gram = Gram.of_matrix(C)
    taken: IndexArray = check_indices(S, gram.d, "S")
    others = np.setdiff1d(np.arange(gram.d), taken)
    gains = np.zeros(gram.d)
    gains[others] = grow(gram, f, taken.tolist()).gains(others)[0]
    return gains


def trace_error(h: Callable[[FloatArray], FloatArray], values: FloatArray, e: float) -> float:
    """A bound on the error of Σ h(λ_i) when C_ij is known to unit·√(C_ii·C_jj), e = unit·Σ_S C_ii.

    Then ‖ΔC_S‖_F ≤ e, and by Weyl each eigenvalue is known to e. h is concave, so that |h(t) − h(λ)| is
    largest at an end of [λ − e, λ + e] ∩ [0, ∞), or where h is largest: at 1 if it does not increase.
    Eigenvalues that count as zero are not in `values`.
    """
    low, high, here = np.maximum(values - e, 0), values + e, h(values)
    return float(np.max([np.abs(h(t) - here) for t in (low, np.clip(1.0, low, high), high)], axis=0).sum())


def value_error(f: Any, C: FloatArray, S: Sequence[int], unit: float) -> float:
    """`trace_error` at S of f = constant + Σ h(λ_i), h being `f._h`."""
    values, _ = spectrum(C, S)
    return trace_error(f._h, values, unit * float(np.diag(C)[S].sum()))


def check_constant(f: Any) -> None:
    if f.k is not None:
        object.__setattr__(f, "k", check_count(f.k, "k", 1))
