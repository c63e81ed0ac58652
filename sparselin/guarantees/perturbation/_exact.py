"""Checks in integers that changed data select another feature, or tie, and the exact sizes of changes.

It suffices to compare two numbers. If the first picks were the same, as a set and strictly, then the
comparison at the step with the same S decides about the pick; if they were not, the path differs already.
So no path is computed again. The same holds for the LASSO at λ: if A and the signs were those of the
solution, with strict inequalities, then each coefficient of least squares with these signs would have its
sign, and each correlation off A would be below λ.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sparselin.certificates.integers import IntegerColumns, solve_semidefinite
from sparselin.results import FloatArray

_BITS = 256  # of the square roots that standardized columns need


class ExactGram:
    """The inner products of columns of floats as fractions, after the elimination of the first `k` of them.

    The elimination of Bareiss keeps integers: after k columns each entry is det·(XᵀP_S^⊥X)_ab, with the
    determinant det > 0 of the Gram matrix of the k columns.
    """

    def __init__(self, columns: FloatArray) -> None:
        whole = IntegerColumns(np.asarray(columns, np.float64))
        vectors = [whole.column(j) for j in range(columns.shape[1])]
        self.exponents = whole.exponents.tolist()
        self.entries = [[int(a @ b) for b in vectors] for a in vectors]
        self.divisor = 1
        self.independent = True

    def eliminate(self, k: int) -> None:
        """Project all columns off columns 0, …, k − 1, in place."""
        M = self.entries
        m = len(M)
        for p in range(k):
            pivot = M[p][p]
            if pivot <= 0:
                self.independent = False
                return
            for a in range(p + 1, m):
                share = M[a][p]
                rest = [(pivot * M[a][b] - share * M[p][b]) // self.divisor for b in range(p + 1, m)]
                M[a] = [*M[a][: p + 1], *rest]
            self.divisor = pivot

    def product(self, a: int, b: int) -> Fraction:
        """Return ⟨P_S^⊥X_a, P_S^⊥X_b⟩."""
        power: int = self.exponents[a] + self.exponents[b]
        value = Fraction(self.entries[a][b], self.divisor)
        factor = Fraction(1 << abs(power))
        return value * factor if power >= 0 else value / factor


def size_of_change(ones: FloatArray | None, before: FloatArray, after: FloatArray) -> Fraction:
    """Return ‖after − before‖²/‖before‖² for vectors (n,), without their parts along the ones, if any."""
    first = [] if ones is None else [ones]
    gram = ExactGram(np.column_stack([*first, before, after]))
    p = len(first)
    gram.eliminate(p)
    a = gram.product(p, p)
    change = a - 2 * gram.product(p, p + 1) + gram.product(p + 1, p + 1)
    return change / a if a else Fraction(int(change > 0))


def picks_another(
    kind: str,
    standardized: bool,
    S: FloatArray,
    offset: int,
    pick: FloatArray,
    rival: FloatArray | None,
    y: FloatArray,
    sign: float,
) -> bool:
    """Return whether a step of OMP or OLS with the columns S ties or does not pick `pick` before `rival`.

    kind : "omp" or "ols".
    sign : the sign of ⟨pick, r⟩ for the data before the change.
    S : (n, offset + k) the columns before, the column of ones first if offset is 1.
    rival : None if there is no other column; then the question is whether ⟨pick, r⟩ has lost its
        sign, so that it is zero for some smaller change.
    """
    others = [] if rival is None else [rival]
    columns = np.column_stack([S, pick, *others, y])
    gram = ExactGram(columns)
    i = S.shape[1]
    j = i + 1
    last = columns.shape[1] - 1
    lengths = [Fraction(1), Fraction(1)]
    if standardized and kind == "omp":
        centred = ExactGram(np.column_stack([S[:, :offset], pick, *others]))
        centred.eliminate(offset)
        lengths = [centred.product(offset + p, offset + p) for p in range(1 + len(others))]
    gram.eliminate(i)
    if not gram.independent:
        return True
    if rival is None:
        return gram.product(i, last) * Fraction(sign) <= 0
    if kind == "ols":
        lengths = [gram.product(i, i), gram.product(j, j)]
    if lengths[1] <= 0:  # a column in the span of S is no candidate of OLS
        return lengths[0] <= 0
    return gram.product(i, last) ** 2 * lengths[1] <= gram.product(j, last) ** 2 * lengths[0]


def has_other_support(
    A: FloatArray,
    signs: FloatArray,
    lam: Fraction,
    y: FloatArray,
    row: int,
    column: FloatArray | None,
    sign: int,
    weight: Fraction | None,
    offset: int,
) -> bool:
    """Return whether the LASSO at λ has a solution with another support or other signs, or is on the edge.

    A : (n, offset + k) the active columns, the column of ones first if offset is 1.
    signs : (offset + k,) their signs, 0 without penalty.
    row : the column of A whose coefficient may have lost its sign, if `column` is None.
    column : the column off A whose correlation may have reached `sign`·λ.
    weight : for standardized columns the sum W of the weights: column j is multiplied by √W/‖X_j‖ without its
        mean. None for other columns.
    """
    m = A.shape[1]
    others = [] if column is None else [column]
    gram = ExactGram(np.column_stack([A, *others, y]))
    centred = ExactGram(np.column_stack([A, *others]))
    centred.eliminate(offset)
    scales = []
    for t in range(m + len(others)):
        square = Fraction(1) if weight is None or t < offset else centred.product(t, t) / weight
        scales.append(_root(square))
    last = m + len(others)
    G = [[gram.product(a, b) for b in range(m)] for a in range(m)]
    right = [gram.product(a, last) for a in range(m)]
    if column is None:
        unit = [Fraction(int(a == row)) for a in range(m)]
    else:
        unit = [gram.product(a, m) for a in range(m)]  # X_Aᵀx
    gram.eliminate(m)
    if not gram.independent:
        return True
    w = _solve(G, unit)
    # β_row = wᵀ(X_Aᵀy − λ·scales∘s), and ⟨x, r⟩ = ⟨x, y⟩ − wᵀ(X_Aᵀy) + λwᵀ(scales∘s)
    fit = sum((a * b for a, b in zip(w, right, strict=True)), Fraction(0))
    terms = [(lam * w[t] * Fraction(int(signs[t])), scales[t]) for t in range(m)]
    if column is None:
        return _largest(fit * sign, [(-sign * c, d) for c, d in terms]) <= 0
    value = gram.product(m, last)  # ⟨x, y⟩ − wᵀ(X_Aᵀy)
    parts = [(-sign * c, d) for c, d in terms]
    return _largest(-sign * value, [*parts, (lam, scales[m])]) <= 0


def _largest(constant: Fraction, terms: list[tuple[Fraction, tuple[Fraction, Fraction]]]) -> Fraction:
    """Return an upper bound on constant + Σ c·d for factors d between two bounds."""
    return constant + sum((c * (high if c > 0 else low) for c, (low, high) in terms), Fraction(0))


def _root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on √square: equal if it is rational."""
    p = math.isqrt(square.numerator)
    q = math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q), Fraction(p, q)
    shift = 2 * max(0, _BITS + square.denominator.bit_length() - square.numerator.bit_length() // 2)
    low = math.isqrt((square.numerator << shift) // square.denominator)
    return Fraction(low, 1 << shift // 2), Fraction(low + 1, 1 << shift // 2)


def _solve(G: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Return the solution of Gx = b for a symmetric positive definite G."""
    scale = math.lcm(*(x.denominator for row in G for x in row), *(x.denominator for x in b))
    found = solve_semidefinite([[int(x * scale) for x in row] for row in G], [int(x * scale) for x in b])
    assert found is not None
    return [Fraction(x, found[1]) for x in found[0]]
