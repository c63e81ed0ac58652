"""Hypothesis strategies for (X, y), and trials on many designs, for tests, conjectures and experiments.

- `experiment` runs a function on designs of ensembles, in all cores, and returns a table.
- `rate` tries a claim on many designs, and finds the rate at which it holds and a counterexample.
- `smaller` makes a counterexample smaller.
- `integer_designs`, `tied_designs`, `designs_with_margin` and `ill_conditioned_designs` are strategies.

The first call of a function compiles it, for longer than the deadline of Hypothesis. So set @settings(
deadline=None), or call the function once before the test; otherwise Hypothesis raises FlakyFailure.

Entries are integers or dyadic fractions with few bits, so X, y and Xᵀy are exact floats. Therefore a test can
decide ties in rational arithmetic. A failing example shrinks to an example that can be worked by hand.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sparselin.ensembles.claims import Rate as Rate
from sparselin.ensembles.claims import rate as rate
from sparselin.ensembles.claims import smaller as smaller
from sparselin.ensembles.experiment import experiment as experiment
from sparselin.validation import FloatArray, check_count, check_real
from sparselin.validation.extras import installed_by, needs

with needs("hypothesis", f"sparselin.testing needs hypothesis: {installed_by('verify')}"):
    from hypothesis import strategies as st

__all__ = [
    "Rate",
    "designs_with_margin",
    "experiment",
    "ill_conditioned_designs",
    "integer_designs",
    "rate",
    "smaller",
    "tied_designs",
]
Pair: TypeAlias = tuple[FloatArray, FloatArray]


def integer_designs(max_n: int = 8, max_d: int = 12, low: int = -2, high: int = 2) -> st.SearchStrategy[Pair]:
    """Draw X (n, d) and y (n,) with integer entries in low..high, 1 ≤ n ≤ max_n, 1 ≤ d ≤ max_d, as float64.

    All legal cases occur: exact ties, equal and opposite columns, zero columns, y = 0. Examples shrink by
    the removal of rows and columns, and entries shrink towards 0. Raises ValueError if max_n or max_d is
    below 1, or if high is below low.

    >>> from hypothesis import find
    >>> find(integer_designs(), lambda design: design[0].any() and design[1].any())
    (array([[1.]]), array([1.]))
    """
    check_count(max_n, "max_n", 1)
    check_count(max_d, "max_d", 1)
    check_count(high, "high", check_count(low, "low", -(2**20)), 2**20)
    return _designs(st.integers(low, high), 1, max_n, max_d)


def tied_designs(max_n: int = 8, max_d: int = 12) -> st.SearchStrategy[Pair]:
    """Draw integer designs in which at least two columns attain λ* = ‖Xᵀy‖∞ > 0 exactly; 2 ≤ d ≤ max_d.

    Let j = argmax |⟨X_j, y⟩| of an integer design. One to three columns are inserted at random places. Each
    is ±X_j (a copy), or ±(X_j + z) with z = y_b e_a − y_a e_b, where e_a and e_b are unit vectors. Because
    ⟨z, y⟩ = 0, the second kind has the same |correlation| as X_j, but is not a multiple of X_j. Raises
    ValueError if max_n is below 1 or max_d is below 2.

    >>> from hypothesis import find
    >>> find(tied_designs(), lambda design: len(design[1]) > 1)
    (array([[0., 0.],
           [1., 1.]]), array([0., 1.]))
    """
    check_count(max_n, "max_n", 1)
    check_count(max_d, "max_d", 2)
    return _tied_strategy(max_n, max_d)


def designs_with_margin(margin: float, max_n: int = 8, max_d: int = 12) -> st.SearchStrategy[Pair]:
    """Draw designs with λ* > 0 and |⟨X_i, y⟩| ≤ (1 − margin)·λ*, exactly, for all columns but one.

    λ* = max |⟨X_j, y⟩|. Entries are multiples of 2⁻¹⁰ in [−4, 4]. Only the column that attains the maximum
    may have larger entries, because it is doubled until the margin is attained. Raises TypeError if margin is
    not a real number, and ValueError unless 0 < margin < 1, max_n ≥ 1 and max_d ≥ 1.

    >>> from hypothesis import find
    >>> find(designs_with_margin(0.1), lambda design: design[0].all() and design[0].shape[1] == 2)
    (array([[2., 1.]]), array([1.]))
    """
    check_real(margin, "margin", lambda share: 0 < share < 1, "in (0, 1)")
    check_count(max_n, "max_n", 1)
    check_count(max_d, "max_d", 1)
    return _margin_strategy(margin, max_n, max_d)


def ill_conditioned_designs(max_n: int = 8, max_d: int = 12) -> st.SearchStrategy[Pair]:
    """Draw integer designs with perturbed copies X_j + 2⁻ᵖe_i of columns, 19 ≤ p ≤ 22; n ≥ 2, d ≥ 2.

    Row i is not the row of the largest |X_ij|, so the angle θ between X_j and its copy lies in
    2⁻ᵖ/‖X_j‖·[√½, 1]. The pair, scaled to unit columns, has the condition number cot(θ/2) ≈ 2/θ, between 1e6
    and 1e8. Copies may be copied again. Raises ValueError if max_n or max_d is below 2.

    >>> from hypothesis import find
    >>> X, y = find(ill_conditioned_designs(), lambda design: True)
    >>> bool((X == [[1, 1], [0, 2**-19]]).all())
    True
    """
    check_count(max_n, "max_n", 2)
    check_count(max_d, "max_d", 2)
    return _ill_conditioned_strategy(max_n, max_d)


@st.composite
def _designs(draw: st.DrawFn, entry: st.SearchStrategy[float], min_n: int, max_n: int, max_d: int) -> Pair:
    # Draw y and d columns with max_n rows, and then choose the rows to keep (two in three). So the shrinker
    # can drop a column or a row without shifting the other entries, which a smaller n would do.
    column = st.lists(entry, min_size=max_n, max_size=max_n)
    d = draw(st.integers(1, max_d))
    y, *X = np.array([draw(column) for _ in range(d + 1)], np.float64)
    keep = [draw(st.integers(0, 2)) > 0 for _ in range(max_n)]
    rows = np.argsort(np.logical_not(keep), kind="stable")[: max(min_n, sum(keep))]
    return np.column_stack(X)[rows], y[rows]


@st.composite
def _tied_strategy(draw: st.DrawFn, max_n: int, max_d: int) -> Pair:
    X, y = draw(_designs(st.integers(-2, 2), 1, max_n, max_d - 1))
    leader = X[:, _leader(X, y)]
    for _ in range(draw(st.integers(1, min(3, max_d - X.shape[1])))):
        a, b = (draw(st.integers(0, len(y) - 1)) for _ in range(2))
        z = np.zeros(len(y))
        z[a] += y[b]
        z[b] -= y[a]
        sign = draw(st.sampled_from([1.0, -1.0]))
        X = _insert(draw, X, sign * (leader + z))
    return X, y


@st.composite
def _margin_strategy(draw: st.DrawFn, margin: float, max_n: int, max_d: int) -> Pair:
    fine = st.integers(-(2**12), 2**12).map(lambda i: i / 2**10)
    X, y = draw(_designs(st.integers(-4, 4), 1, max_n, max_d) | _designs(fine, 1, max_n, max_d))
    j = _leader(X, y)
    runner_up = np.abs(np.delete(X, j, axis=1).T @ y).max(initial=0.0)
    while runner_up > (1 - margin) * abs(X[:, j] @ y):
        X[:, j] *= 2
    return X, y


@st.composite
def _ill_conditioned_strategy(draw: st.DrawFn, max_n: int, max_d: int) -> Pair:
    X, y = draw(_designs(st.integers(-2, 2), 2, max_n, max_d - 1))
    for _ in range(draw(st.integers(1, min(3, max_d - X.shape[1])))):
        column = X[:, draw(st.integers(0, X.shape[1] - 1))]
        if not column.any():
            column[0] = 1
        perturbed = column.copy()
        rows = [i for i in range(len(y)) if i != np.argmax(np.abs(column))]
        perturbed[draw(st.sampled_from(rows))] += 0.5 ** draw(st.integers(19, 22))
        X = _insert(draw, X, perturbed)
    return X, y


def _leader(X: FloatArray, y: FloatArray) -> int:
    """Return argmax |⟨X_j, y⟩|; if the maximum is zero, change X and y to make it positive."""
    if not y.any():
        y[-1] = 1
    if not (X.T @ y).any():
        X[:, -1] = y
    return int(np.argmax(np.abs(X.T @ y)))


def _insert(draw: st.DrawFn, X: FloatArray, column: FloatArray) -> FloatArray:
    place = X.shape[1] - draw(st.integers(0, X.shape[1]))
    return np.insert(X, place, column, axis=1)
