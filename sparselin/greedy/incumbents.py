"""First sets for a search for the best subset: greedy selection, elimination, and exchanges.

The best set that a search has found so far is its *incumbent*. A search with a good incumbent excludes other
sets sooner; a bad one costs time, but changes no result. So a search begins with sets that greedy methods
select (`first_sets`), and improves them by local search: one element is exchanged for another as long as the
value of the set decreases (`exchange`). The elements are features, or groups of features. The method `swaps`
is this local search too, with bounds on rounding errors.

The greedy methods here are written in NumPy, because compiling the kernels of `ols` and `omp` takes more time
than a search.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparselin.results import FloatArray, IndexArray

# Tolerances for first sets. A squared distance from a span counts as zero below the first one. A decrease of
# ‖P_S^⊥y‖², or a difference of scores, counts as zero below the second one.
_IN_SPAN, _NO_FALL = 1e-8, 1e-10

AnySet = TypeVar("AnySet")


class Incumbent(NamedTuple):
    """A set S of features, or of groups of features, and its value, which a search minimises."""

    S: IndexArray
    value: float


def exchange(
    incumbent: AnySet,
    neighbours: Callable[[AnySet, Any], Iterable[AnySet]],
    is_better: Callable[[AnySet, AnySet], bool],
    leaving: Callable[[AnySet], Iterable[Any]] = lambda _: (None,),
) -> Iterator[AnySet]:
    """Exchange an element of a set for another one as long as the set becomes better; yield each better set.

    A pass tries the elements that may leave, one after the other, and takes the first better set for each of
    them. The search ends after a pass without a better set. It ends if `is_better` demands a least decrease.

    neighbours : a function of a set and an element that leaves it. It returns the sets to be tried, the most
        promising one first.
    is_better : a function of a new set and the present one.
    leaving : a function that returns the elements of a set that may leave it. By default `neighbours` chooses
        this element too, so it gets None.
    """
    improved = True
    while improved:
        improved = False
        for element in leaving(incumbent):
            for other in neighbours(incumbent, element):
                if is_better(other, incumbent):
                    incumbent = other
                    improved = True
                    yield incumbent
                    break


def first_sets(X: FloatArray, y: FloatArray, k: int, forced: IndexArray) -> Iterator[tuple[str, Incumbent]]:
    """Yield the name and the set of each of three greedy methods for at most k features, after exchanges.

    The value of a set is ‖P_S^⊥y‖². The forced features come first in each set.

    X (n, d), y (n,) : columns and y of unit length, or zero.
    """
    for name, S in _starts(X, y, k, forced):
        S = _improve(X, y, S, len(forced))
        yield name, Incumbent(S, squared_residual(X[:, S], y))


def _starts(X: FloatArray, y: FloatArray, k: int, forced: IndexArray) -> Iterator[tuple[str, IndexArray]]:
    """Yield the name and the set of each of the greedy methods."""
    longer = _forward(X, y, 2 * k, forced)
    yield "orthogonal least squares", longer[:k]
    yield "orthogonal matching pursuit", _forward(X, y, k, forced, quotients=False)
    yield "backward elimination", _backward(X, y, k, len(forced), longer)


def _improve(X: FloatArray, y: FloatArray, S: IndexArray, fixed: int) -> IndexArray:
    """Exchange features of S for the best features outside, as long as ‖P_S^⊥y‖² decreases by 1e-10·‖y‖².

    fixed : the number of features at the beginning of S that are never exchanged.
    """

    def neighbours(best: Incumbent, j: int) -> Iterator[Incumbent]:
        square, _, fall = _falls(X, y, best.S[j != best.S])
        i = _first(fall)
        if i != j:
            yield Incumbent(np.where(j == best.S, i, best.S), square - fall[i])

    def is_better(new: Incumbent, old: Incumbent) -> bool:
        return bool(new.value < old.value - _NO_FALL)

    best = Incumbent(S, squared_residual(X[:, S], y))
    return [best, *exchange(best, neighbours, is_better, lambda best: best.S[fixed:])][-1].S


def squared_residual(X: FloatArray, y: FloatArray) -> float:
    """Return the squared residual of least squares on the columns of X."""
    r = y - X @ np.linalg.lstsq(X, y, rcond=None)[0] if X.shape[1] else y
    return float(r @ r)


def _falls(X: FloatArray, y: FloatArray, S: IndexArray) -> tuple[float, FloatArray, FloatArray]:
    """Return ‖r‖², c = Xᵀr, and the decrease of ‖r‖² that each feature j would cause.

    r = P_S^⊥y is the residual of least squares on S. The decrease is c_j²/‖P_S^⊥X_j‖².
    """
    Q = np.linalg.qr(X[:, S])[0]
    r, Z = (v - Q @ (Q.T @ v) for v in (y, X))
    c = Z.T @ r
    squares = np.einsum("ij,ij->j", Z, Z)
    c[S] = 0
    c[squares <= _IN_SPAN] = 0
    return float(r @ r), c, c**2 / np.maximum(squares, _IN_SPAN)


def _first(score: FloatArray) -> int:
    """Return the lowest index whose score is the largest up to rounding.

    Therefore rounding does not decide ties.
    """
    return int(np.argmax(score >= score.max() - _NO_FALL))


def _forward(X: FloatArray, y: FloatArray, k: int, S: IndexArray, quotients: bool = True) -> IndexArray:
    """Add features to S, each time the one with the largest c_j²/‖P_S^⊥X_j‖², until S has k features.

    c = XᵀP_S^⊥y are the correlations with the residual. If no feature reduces the residual, S stays smaller.

    quotients : False to compare |c_j| instead.
    """
    while len(S) < k:
        _, c, fall = _falls(X, y, S)
        j = _first(fall if quotients else abs(c))
        if fall[j] < _NO_FALL:
            break
        S = np.append(S, j)
    return S


def _backward(X: FloatArray, y: FloatArray, k: int, fixed: int, S: IndexArray) -> IndexArray:
    """Remove features from S until k are left, each time a feature whose removal raises ‖P_S^⊥y‖² least.

    The increase for feature j is β_j²/((X_SᵀX_S)⁻¹)_jj with the least squares coefficients β on S. A zero
    column has a row of zeros in the pseudoinverse, and its removal changes nothing.

    fixed : the number of features at the beginning of S that are never removed.
    """
    while len(S) > k:
        inverse = np.linalg.pinv(X[:, S])
        squares = np.einsum("ij,ij->i", inverse, inverse)
        rise = np.divide((inverse @ y) ** 2, squares, out=np.zeros(len(S)), where=squares > 0)
        S = np.delete(S, fixed + _first(-rise[fixed:]))
    return S
