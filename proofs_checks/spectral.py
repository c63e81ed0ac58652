"""Spectral set functions, submodularity and its maximisation, computed exactly.

These functions are the oracles for the statements of the spectral-regularization paper, and use nothing of
`sparselin`. A set function on {0, …, d−1} is a table of 2^d values, and the index of a value is the bit mask
of its set. A value is an int, an `fmpq` (an exact rational number), or an `arb` (a ball, that is a number
with an error bound). An inequality between balls counts only if the balls do not overlap. All columns of a
design are integer vectors with the same squared norm N. Therefore the correlation matrix C = XᵀX/N of the
unit columns X_i/√N is rational, and R² is rational for every integer y.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import strategies as st

from proofs_checks.rational import inner, off, rational

Table = Sequence[Any]


# Sets and tables


def members(mask: int) -> list[int]:
    """Return the elements of the set that a bit mask describes."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def mask_of(elements: Sequence[int]) -> int:
    """Return the bit mask of a set of elements."""
    return sum(1 << i for i in set(elements))


def subsets(mask: int, largest: int | None = None) -> list[int]:
    """Return every subset of a set with at most `largest` elements, as bit masks; the empty set comes
    first.
    """
    found, sub = [0], mask
    while sub:
        found.append(sub)
        sub = (sub - 1) & mask
    return [s for s in found if largest is None or s.bit_count() <= largest]


def table(f: Callable[[list[int]], Any], d: int) -> list[Any]:
    """Return the values of a set function f on all subsets of {0, …, d−1}, in the order of their bit
    masks.
    """
    return [f(members(mask)) for mask in range(1 << d)]


def added(*tables: Table) -> list[Any]:
    """Return the sum of some set functions, each given by its table of values."""
    return [sum(values[1:], values[0]) for values in zip(*tables, strict=True)]


def chains(d: int) -> Iterator[tuple[int, int, int]]:
    """Yield every triple (A, B, x) of sets A ⊆ B and an element x ∉ B, as three bit masks."""
    full = (1 << d) - 1
    for B in range(1 << d):
        for x in members(full & ~B):
            for A in subsets(B):
                yield A, B, 1 << x


def is_submodular(f: Table) -> bool:
    """Return whether a set function f is submodular; its values must be exact.

    The condition is f(A+x) − f(A) ≥ f(B+x) − f(B) for all sets A ⊆ B and all x ∉ B.
    """
    return all(f[A | x] - f[A] >= f[B | x] - f[B] for A, B, x in chains(_size(f)))


def is_increasing(f: Table) -> bool:
    """Return whether f(A+x) ≥ f(A) for all sets A and elements x; the values of f must be exact."""
    return all(f[A | 1 << x] >= f[A] for A in range(len(f)) for x in range(_size(f)) if not A >> x & 1)


def _size(f: Table) -> int:
    return (len(f) - 1).bit_length()


# Designs


class Design(NamedTuple):
    """A design whose columns all have the squared norm N: integers X (n, d), and an integer target y (n,)."""

    X: np.ndarray
    N: int
    y: np.ndarray

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def correlations(self) -> fmpq_mat:
        """The correlation matrix C = XᵀX/N of the columns, whose squared norm is N."""
        return fmpq_mat(self.d, self.d, [fmpq(int(g), self.N) for g in (self.X.T @ self.X).ravel()])

    @property
    def float_correlations(self) -> np.ndarray:
        """The correlation matrix C in floating point."""
        return self.X.T @ self.X / self.N

    @property
    def unit_columns(self) -> np.ndarray:
        """The columns, divided by their common length √N."""
        return self.X / np.sqrt(self.N)

    @property
    def r_squared_of_all(self) -> fmpq:
        """R² of the fit on all columns, by a projection."""
        return projected(self.X, self.y, range(self.d))


@cache
def vectors(n: int, N: int) -> list[tuple[int, ...]]:
    """Return all vectors of n integers whose squared norm is N."""
    m = int(N**0.5) + 1
    if n == 1:
        return [(v,) for v in range(-m, m + 1) if v * v == N]
    return [(v, *rest) for v in range(-m, m + 1) if v * v <= N for rest in vectors(n - 1, N - v * v)]


# (2, 4225) has near copies, (4, 4) and (3, 9) ties and orthogonal columns, (1, 1) copies only
SHAPES = ((1, 1), (2, 4225), (3, 9), (3, 81), (4, 4), (5, 5), (4, 10))


def draw_design(rng: np.random.Generator, d: int, shapes: Sequence[tuple[int, int]] = SHAPES) -> Design:
    """Draw a design of random integer columns with equal norms, and a random target y ≠ 0."""
    n, N = shapes[rng.integers(len(shapes))]
    pool = vectors(n, N)
    X = np.array([pool[i] for i in rng.integers(len(pool), size=d)]).T
    y = np.zeros(n, int)
    while not y.any():
        y = rng.integers(-3, 4, size=n)
    return Design(X, N, y)


@st.composite
def unit_designs(draw: st.DrawFn, min_d: int = 1, max_d: int = 5) -> Design:
    """Draw a design of integer columns with equal norms and a target y ≠ 0, for Hypothesis."""
    n, N = draw(st.sampled_from(SHAPES))
    columns = draw(st.lists(st.sampled_from(vectors(n, N)), min_size=min_d, max_size=max_d))
    y = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n).filter(any))
    return Design(np.array(columns).T, N, np.array(y))


def draw_hermitian(rng: np.random.Generator, d: int, definite: bool = True) -> fmpq_mat:
    """Draw a Hermitian matrix C of Gaussian integers, and return its real form [[Re C, −Im C], [Im C, Re C]].

    The real form has each eigenvalue of C twice. The real form of the submatrix C_S is the principal
    submatrix with the rows and columns `doubled(S, d)`. With `definite`, C is positive semidefinite and often
    singular; otherwise C is any Hermitian matrix.
    """
    m = int(rng.integers(1, d + 2))
    M = rng.integers(-2, 3, size=(m, d)) + 1j * rng.integers(-2, 3, size=(m, d)) * int(rng.integers(0, 2))
    if definite:
        H = M.conj().T @ M
    else:
        A = rng.integers(-3, 4, size=(d, d)) + 1j * rng.integers(-3, 4, size=(d, d))
        H = A + A.conj().T
    real = np.block([[H.real, -H.imag], [H.imag, H.real]])
    return fmpq_mat(2 * d, 2 * d, [int(v) for v in real.ravel()])


def doubled(S: Sequence[int], d: int) -> list[int]:
    """Return the rows that the submatrix C_S takes up in the real form of a complex d × d matrix C.

    These are the rows S and the rows i + d for i ∈ S.
    """
    return [*S, *(i + d for i in S)]


def principal(C: fmpq_mat, S: Sequence[int]) -> fmpq_mat:
    """Return the principal submatrix C_S, which has the rows and columns S of a matrix C."""
    return fmpq_mat(len(S), len(S), [C[i, j] for i in S for j in S])


def identity(n: int) -> fmpq_mat:
    """Return the n × n identity matrix."""
    return fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def is_psd(A: fmpq_mat) -> bool:
    """Return whether a symmetric rational matrix is positive semidefinite.

    The answer follows from the signs of the coefficients of the characteristic polynomial.
    """
    n = A.nrows()
    coefficients = A.charpoly().coeffs()
    return all((-1) ** (n - i) * c >= 0 for i, c in enumerate(coefficients))


# Set functions


def r_squared(X: np.ndarray, y: np.ndarray, S: Sequence[int]) -> fmpq:
    """Return R² of the least-squares fit of y on the columns S of X, exactly; the columns may be dependent.

    The value is hᵀα/‖y‖² for a solution α of the normal equations G_Sα = h_S, with G = XᵀX and h = Xᵀy.
    """
    A = X[:, list(S)]
    s = len(S)
    if not s:
        return fmpq(0)
    G, h = A.T @ A, A.T @ y
    system = fmpq_mat(s, s + 1, [int(v) for i in range(s) for v in (*G[i], h[i])])
    reduced, rank = system.rref()
    fit = fmpq(0)
    for row in range(rank):
        pivot = next(j for j in range(s) if reduced[row, j] != 0)
        fit += int(h[pivot]) * reduced[row, s]
    return fit / int(y @ y)


def r_squared_table(design: Design) -> list[fmpq]:
    """Return R² of the fit on every set of features, in the order of the bit masks of the sets."""
    return table(lambda S: r_squared(design.X, design.y, S), design.d)


def projected(X: np.ndarray, y: np.ndarray, S: Sequence[int]) -> fmpq:
    """Return R² of the fit of y on the columns S, as 1 − ‖r‖²/‖y‖², where r is y projected off these
    columns.
    """
    b = rational(y)
    r = off(rational(X), list(S), b)
    return 1 - inner(r, r) / inner(b, b)


def eigenvalues(C: fmpq_mat, S: Sequence[int]) -> list[arb]:
    """Return the eigenvalues of the principal submatrix C_S, each as often as its multiplicity.

    A zero eigenvalue is an exact zero. The others are balls that do not contain zero; balls of different
    eigenvalues are disjoint.
    """
    p = principal(C, S).charpoly().numer()
    nullity = 0
    while nullity < len(S) and p[nullity] == 0:
        nullity += 1
    shifted = type(p)([p[i] for i in range(nullity, len(S) + 1)])
    roots = [(root.real, many) for root, many in shifted.complex_roots()] if nullity < len(S) else []
    return [arb(0)] * nullity + [root for root, many in roots for _ in range(many)]


def strict_chains(C: fmpq_mat, rows: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Return the chains (A, B, x) that can decide whether S ↦ tr f(C_S) is submodular for some function f.

    A chain has sets A ⊂ B, A ≠ B, and an element x ∉ B. It is left out if the eigenvalues of C_{A+x} and C_B
    together are those of C_{B+x} and C_A, because then adding x changes tr f by the same amount for A as for
    B. The comparison uses characteristic polynomials and is exact. `rows[S]` are the rows of C that belong to
    the set with the bit mask S.
    """
    p = [principal(C, S).charpoly() if S else 1 for S in rows]
    return [(A, B, x) for A, B, x in chains(_size(rows)) if A != B and p[A | x] * p[B] != p[B | x] * p[A]]


def trace_of(f: Callable[[arb], Any], C: fmpq_mat, S: Sequence[int]) -> Any:
    """Return tr f(C_S), the sum of f over the eigenvalues of the principal submatrix C_S."""
    return sum((f(value) for value in eigenvalues(C, S)), arb(0))


def smoothed_det(C: fmpq_mat, S: Sequence[int], delta: Any) -> fmpq:
    """Return det(δI + C_S) = Π (δ + λ_i), where λ_i are the eigenvalues of the principal submatrix C_S.

    Its logarithm is the entropy regularizer up to a constant. Submodularity of the entropy is therefore an
    inequality between products of these determinants, which are rational numbers.
    """
    delta = fmpq(delta)
    return (principal(C, S) + delta * identity(len(S))).det() if len(S) else fmpq(1)


def midpoint(value: Any) -> Any:
    """Return the midpoint of a ball; numbers that are no balls are returned unchanged."""
    return value.mid() if isinstance(value, arb) else value


def log2(q: Any) -> arb:
    """Return the logarithm to base 2 of a positive rational number."""
    return arb(q).log() / arb(2).log()


def entropy(C: fmpq_mat, S: Sequence[int], delta: Any, k: int) -> arb:
    """Return the regularizer f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ for a bound k on the number of features.

    Here λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S.
    """
    return log2(smoothed_det(C, S, delta)) - (3 * k * log2(delta) if delta != 1 else 0)


def rank_power(C: fmpq_mat, S: Sequence[int], alpha: Any) -> Any:
    """Return the regularizer f_gr(S) = Σ λ_i^α with 0⁰ = 0.

    Here λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S. The value is exact for α = 0
    (the rank) and α = 1 (the trace), and a ball otherwise.
    """
    if alpha == 0:
        return fmpq(principal(C, S).rank()) if len(S) else fmpq(0)
    if alpha == 1:
        return sum((C[i, i] for i in S), fmpq(0))
    return sum((root ** arb(alpha) for root in eigenvalues(C, S) if root > 0), arb(0))


def variance(C: fmpq_mat, S: Sequence[int], k: int) -> fmpq:
    """Return the regularizer f_sv(S) = 9k² − Σ (λ_i − 1)² for a bound k on the number of features.

    Here λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S. The value is also 9k² − ‖C_S
    − I‖², with the Frobenius norm.
    """
    return 9 * k * k - sum(((C[i, j] - (i == j)) ** 2 for i in S for j in S), fmpq(0))


def entropy_float(C: np.ndarray, S: Sequence[int], delta: float, k: int) -> float:
    """Return the regularizer f_de(S) of `entropy`, computed from floating-point eigenvalues."""
    return float(np.log2(delta + _spectrum(C, S)).sum() - 3 * k * np.log2(delta))


def rank_power_float(C: np.ndarray, S: Sequence[int], alpha: float, cutoff: float = 1e-9) -> float:
    """Return the regularizer f_gr(S) of `rank_power`, computed from floating-point eigenvalues.

    Eigenvalues that are not larger than the cut-off count as zero.
    """
    values = _spectrum(C, S)
    return float((values[values > cutoff] ** alpha).sum())


def variance_float(C: np.ndarray, S: Sequence[int], k: int) -> float:
    """Return the regularizer f_sv(S) of `variance`, computed from floating-point eigenvalues."""
    return float(9 * k * k - ((_spectrum(C, S) - 1) ** 2).sum())


def _spectrum(C: np.ndarray, S: Sequence[int]) -> np.ndarray:
    return np.linalg.eigvalsh(C[np.ix_(list(S), list(S))]) if len(S) else np.zeros(0)


def draw_monotone(rng: np.random.Generator, d: int, highest: int = 6) -> list[int]:
    """Draw an increasing set function with small integer values; it need not be submodular."""
    f = [int(v) for v in rng.integers(0, highest + 1, size=1 << d) * (rng.random(1 << d) < rng.random())]
    for mask in range(1 << d):
        f[mask] = max([f[mask]] + [f[mask ^ 1 << x] for x in members(mask)])
    return f


def draw_submodular(rng: np.random.Generator, d: int) -> list[int]:
    """Draw a non-negative submodular function with integer values.

    The function is a sum of some of these: a cut function, a coverage function, a concave function of the
    size, and a modular function. A constant is added so that no value is negative. With probability 0.15 the
    function is a `SpoilingElement` instead, with its elements in random order.
    """
    if rng.random() < 0.15:
        order = rng.permutation(d)
        f = SpoilingElement(d, int(rng.integers(1, 40)))
        return [f[mask_of([int(order[i]) for i in members(mask)])] for mask in range(1 << d)]
    arcs = rng.integers(0, 4, size=(d, d)) * (rng.random((d, d)) < 0.6)
    covers = [(int(rng.integers(1, 1 << d)), int(rng.integers(0, 5))) for _ in range(d)]
    steps = np.sort(rng.integers(-3, 4, size=d))[::-1].cumsum()
    parts = rng.integers(0, 2, size=3)
    weights = rng.integers(-6, 5, size=d) * int(rng.integers(0, 2))
    f = []
    for mask in range(1 << d):
        inside = members(mask)
        outside = [i for i in range(d) if not mask >> i & 1]
        value = parts[0] * arcs[np.ix_(inside, outside)].sum() + weights[inside].sum()
        value += parts[1] * sum(weight for cover, weight in covers if cover & mask)
        value += parts[2] * (steps[len(inside) - 1] if inside else 0)
        f.append(int(value))
    lift = -min(0, *f)
    return [value + lift for value in f]


class SpoilingElement(Sequence[int]):
    """The set function f(A) = q|A| if 0 ∉ A, and f(A) = q + |A| if 0 ∈ A; it is submodular for q ≥ 1.

    Among the single elements, 0 has the largest value, but it reduces the gains of all other elements. The
    values are computed when they are read.
    """

    def __init__(self, d: int, q: int) -> None:
        self.masks, self.q = range(1 << d), q

    def __len__(self) -> int:
        return len(self.masks)

    def __getitem__(self, A: Any) -> Any:
        A = self.masks[A]
        return self.q + A.bit_count() if A & 1 else self.q * A.bit_count()


def rewarded_variance(design: Design, q: int, beta: int) -> list[fmpq]:
    """Return the set function f(S) = q|S| − β‖C_S − I‖² for every set S of features of a design.

    C_S is the correlation matrix of the features in S. The function is also tr h(C_S) with h(t) = q − β(t −
    1)². For β = 1 it is the f_sv of `variance` with q|S| in place of the constant 9k².
    """
    C = design.correlations
    return table(lambda S: q * len(S) + beta * variance(C, S, 0), design.d)


def draw_regularizer(
    rng: np.random.Generator, design: Design, k: int, increasing: bool = False
) -> list[fmpq]:
    """Draw a non-negative submodular function to add to R², with rational values about as large as R².

    An increasing function is a coverage function, or the f_gr of `rank_power` with α = 0 or 1. A function
    that need not increase is one of these, or the f_sv of `variance`, or comes from `draw_submodular`.
    """
    d, C = design.d, design.correlations
    weight = fmpq(1, int(2 ** rng.integers(0, 7)))
    kind = int(rng.integers(0, 3 if increasing else 6))
    if kind == 0:
        covers = [(int(rng.integers(1, 1 << d)), int(rng.integers(0, 5))) for _ in range(2 * d)]
        f: Table = [sum(gain for cover, gain in covers if cover & mask) for mask in range(1 << d)]
    elif kind < 3:
        alpha = int(rng.integers(0, 2))
        f = table(lambda S: rank_power(C, S, alpha), d)
    elif kind == 3:
        f = table(lambda S: variance(C, S, k), d)
    else:
        f = draw_submodular(rng, d)
    return [weight * value for value in f]


def small_submodular(d: int, highest: int) -> Iterator[tuple[int, ...]]:
    """Yield every submodular function on d elements with values in 0..highest."""
    for f in product(range(highest + 1), repeat=1 << d):
        if is_submodular(f):
            yield f


class Values:
    """A regularizer that is given by a table of its values, in the form that the package's searches expect.

    The values do not depend on the correlation matrix.
    """

    submodular = True

    def __init__(self, f: Table) -> None:
        self.f = [float(midpoint(value)) for value in f]

    def value(self, C: np.ndarray, S: Sequence[int]) -> float:
        """Return the value of the regularizer f(S) for a set S of features."""
        return self.f[mask_of(S)]

    def gains(self, C: np.ndarray, S: Sequence[int]) -> np.ndarray:
        """Return f(S + x) − f(S) for every feature x, where f is the regularizer."""
        here = mask_of(S)
        return np.array([self.f[here | 1 << x] - self.f[here] for x in range(len(C))])


def orthogonal_to_y(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return d orthonormal columns and a target that is orthogonal to them, so that R² = 0 for every set."""
    return np.eye(d + 1)[:, :d], np.eye(d + 1)[d]


def precisely() -> Any:
    """Let balls (numbers with error bounds) have 128 bits, in a `with` statement or as a decorator."""
    return ctx.workprec(128)
