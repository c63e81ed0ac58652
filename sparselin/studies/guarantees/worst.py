"""Search by hill climbing, from many random starts, for small designs on which greedy selection is worst.

The columns have unit length, and λ_min(C, k) stays above a floor. Here λ_min(C, k) is the least eigenvalue of
the Gram matrices of k columns. Without a floor the infimum of the ratio R²(greedy)/R²(best) is 0. For
example, let y = X_1 + X_2 with two nearly opposite columns X_1 and X_2. Each of them is nearly orthogonal to
y, so at every step another column is picked that is slightly more correlated with y. Each pick must have a
margin, so that no result depends on a tie. `guarantee_bounds` evaluates the designs found.
"""

import dataclasses
import itertools
import zlib

import numpy as np

import sparselin as sl
from sparselin.results import FloatArray, GuaranteeBounds, IndexArray

FLOORS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# n, d, k; the first size can be drawn
SIZES = ((3, 5, 2), (4, 5, 2), (5, 6, 3))
# the least relative margin of each pick, so that rounding does not decide which column is picked
_MARGIN = 1e-3
ALGORITHMS = {"omp": "OMP", "forward_regression": "FR"}


@dataclasses.dataclass(frozen=True)
class Search:
    """The parameters of one search for bad designs: the algorithm, the size, and the floor of λ_min(C, k).

    λ_min(C, k) is the least eigenvalue of the Gram matrices of k columns.
    """

    algorithm: str
    n: int
    d: int
    k: int
    floor: float

    @property
    def name(self) -> str:
        return f"worst-{self.algorithm}-n{self.n}-d{self.d}-k{self.k}-floor{self.floor:g}"

    @property
    def label(self) -> str:
        """The name of the algorithm in tables and figures."""
        return ALGORITHMS[self.algorithm]

    def rng(self, seed: int) -> np.random.Generator:
        """Return the generator of the search."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode())])


@dataclasses.dataclass(frozen=True, eq=False)
class Worst:
    """The worst design that a search found.

    Attributes
    ----------
    ratio : R²(greedy)/R²(best) on this design.
    least : λ_min(C, k), the least eigenvalue of the Gram matrices of k columns.
    promises : name of a guarantee ↦ its factor, for the guarantees whose hypotheses hold.
    support, best_support : the picks of the algorithm, in order, and a best subset.
    violated : the names of the violated guarantees.
    """

    search: Search
    X: FloatArray
    y: FloatArray
    ratio: float
    least: float
    promises: dict[str, float]
    support: IndexArray
    best_support: IndexArray
    violated: tuple[str, ...]


def searches(quick: bool = False) -> list[Search]:
    """Return the searches: both algorithms with all sizes and floors, or few of them if `quick`."""
    floors, sizes = (FLOORS[1::3], SIZES[:1]) if quick else (FLOORS, SIZES)
    return [Search(algorithm, *size, floor) for algorithm in ALGORITHMS for size in sizes for floor in floors]


def worst_design(search: Search, restarts: int, rounds: int, seed: int = 0) -> Worst | None:
    """Climb from all random starts at once, and return the worst design that was found.

    Returns None if no design is admissible (see `_score`).
    """
    rng = search.rng(seed)
    shape = (restarts, search.n)
    # from small perturbations of an orthonormal basis to arbitrary columns
    width = np.linspace(0.1, 3, restarts)[:, None, None]
    X = _unit(np.eye(search.n, search.d) + width * rng.standard_normal((*shape, search.d)))
    y = _unit(rng.standard_normal((*shape, 1)))
    score = _score(search, X, y)
    sigma = np.full(restarts, 0.3)
    for _ in range(rounds):
        width = sigma[:, None, None]
        X_new = _unit(X + width * rng.standard_normal(X.shape) * (rng.random((restarts, 1, search.d)) < 0.5))
        y_new = _unit(y + width * rng.standard_normal(y.shape) * (rng.random((restarts, 1, 1)) < 0.5))
        new = _score(search, X_new, y_new)
        better = new < score
        X, y = np.where(better[:, None, None], X_new, X), np.where(better[:, None, None], y_new, y)
        score = np.minimum(score, new)
        sigma = np.clip(np.where(better, 1.5 * sigma, 0.93 * sigma), 1e-4, 0.5)
    at = int(np.argmin(score))
    if score[at] > 1:
        return None
    return _measure(search, np.ascontiguousarray(X[at]), np.ascontiguousarray(y[at, :, 0]))


def _measure(search: Search, X: FloatArray, y: FloatArray) -> Worst:
    """Evaluate a design with the public functions of the package."""
    found: GuaranteeBounds = sl.guarantee_bounds(X, y, search.k, algorithms=(search.algorithm,))  # type: ignore[arg-type]
    promises = {bound.name: bound.lower for bound in found.bounds if bound.applies}
    return Worst(
        search=search,
        X=X,
        y=y,
        ratio=found.bounds[0].achieved.upper,
        least=dict(found.constants)["λ(k)"].lower,
        promises=promises,
        support=found.supports[0][1],
        best_support=found.best_support,
        violated=tuple(bound.name for bound in found.violated),
    )


def _unit(V: FloatArray) -> FloatArray:
    """Return V with columns of unit length."""
    return np.asarray(V / np.linalg.norm(V, axis=-2, keepdims=True))


def _score(search: Search, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the score (p,) of p designs X (p, n, d), y (p, n, 1); the search minimises it.

    A design is admissible if two conditions hold: λ_min(C, k), the least eigenvalue of the Gram matrices of k
    columns, is at least the floor, and each pick has the required margin. The score of an admissible design
    is R²(greedy)/R²(best). Other designs have the score 1 plus the amounts by which the two conditions are
    missed.
    """
    subsets = np.array(list(itertools.combinations(range(search.d), search.k)))
    C = X.swapaxes(1, 2) @ X
    c = (X.swapaxes(1, 2) @ y)[:, :, 0]
    values, vectors = np.linalg.eigh(C[:, subsets[:, :, None], subsets[:, None, :]])
    least = values[..., 0].min(axis=1)
    rotated = np.einsum("psij,psi->psj", vectors, c[:, subsets])
    best = (rotated**2 / np.maximum(values, 1e-12)).sum(axis=-1).max(axis=1)
    reached, margin = _greedy(search, X, y[:, :, 0])
    short = np.maximum(0, search.floor - least) + np.maximum(0, _MARGIN - margin)
    return np.asarray(np.where(short > 0, 1 + short, reached / best))


def _greedy(search: Search, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Run the algorithm on p designs, X (p, n, d) and y (p, n).

    Returns R² (p,) of the selected sets, and the least relative margin (p,) of the picks.
    """
    Z = X.copy()
    r = y.copy()
    each = np.arange(len(X))
    margin = np.full(len(X), np.inf)
    for _ in range(search.k):
        square = np.einsum("pij,pij->pj", Z, Z)
        size = np.abs(np.einsum("pij,pi->pj", Z, r)) * (square > 1e-12)
        if search.algorithm == "forward_regression":
            size = size / np.sqrt(np.maximum(square, 1e-12))
        pick = np.argmax(size, axis=1)
        top = np.partition(size, -2, axis=1)
        margin = np.minimum(margin, 1 - top[:, -2] / np.maximum(top[:, -1], 1e-300))
        q = Z[each, :, pick] / np.sqrt(np.maximum(square[each, pick], 1e-12))[:, None]
        Z = Z - q[:, :, None] * np.einsum("pi,pij->pj", q, Z)[:, None, :]
        r = r - q * np.einsum("pi,pi->p", q, r)[:, None]
    return np.asarray(1 - (r**2).sum(axis=1)), margin
