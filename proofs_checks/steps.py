"""One step of selection: strategies that draw a design and a selected set S, and the LASSO just below λ*.

Throughout, r = P_S^⊥y, λ* = max|⟨X_i, r⟩|, T is the set of the features that attain λ*, and (λ₂, λ*) is the
window: the largest interval below λ* in which the same features outside S are nonzero.
"""

import numpy as np
from flint import fmpq
from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks.rational import HALF, Segment, Solution, columns, rational, roots, solution, step
from sparselin.testing import integer_designs, tied_designs


@st.composite
def selections(draw, max_n=5, max_d=6, max_selected=3, dependent=False):
    """Draw (X, y, S) of small integers, where ties and equal columns are likely.

    S is ∅ or any set of independent columns; with `dependent` the columns of S may be dependent.
    """
    X, y = draw(integer_designs(max_n, max_d) | tied_designs(max_n, max_d))
    S = draw(st.sets(st.integers(0, X.shape[1] - 1), max_size=min(max_selected, X.shape[1] - 1)))
    S = tuple(sorted(S))
    assume(dependent or not S or columns(rational(X), S).rank() == len(S))
    return X, y, S


@st.composite
def open_steps(draw, max_n=5, max_d=6, max_selected=3, max_tied=5):
    """Draw (X, y, S) with λ* = max|⟨X_i, P_S^⊥y⟩| > 0 and with at most `max_tied` features tied at λ*, so
    that the subsets of ties can be listed.
    """
    X, y, S = draw(selections(max_n, max_d, max_selected))
    at = step(X, y, S)
    assume(at.lam_star > 0 and len(at.tied) <= max_tied)
    return X, y, S


def in_window(X, y, S, found: Segment, share: fmpq = HALF) -> Solution:
    """Return λ, β and p = y − Xβ at λ = λ* − share·(λ* − λ₂), exactly; by default in the middle of the window
    (λ₂, λ*).

    Raises AssertionError if β is not a solution.
    """
    return solution(X, y, S, found, share * min([found.step.lam_star, *roots(X, S, found).values()]))


def show(X, y, S=()):
    """Return a design in one line."""
    rows = ", ".join(str([int(a) if a == int(a) else float(a) for a in row]) for row in np.asarray(X))
    return f"X = [{rows}], y = {tuple(int(a) if a == int(a) else float(a) for a in y)}, S = {set(S) or '∅'}"


def masked_loss(X, y, mask, theta):
    """Return ‖X(mask∘θ) − y‖², computed in the number type of the arguments."""
    r = X @ (mask * theta) - y
    return r @ r


def outside(X, S):
    """Return the features that are not in S."""
    return [i for i in range(X.shape[1]) if i not in S]


def spread(holds):
    """Return the function of a tuple `drawn` that calls holds(*drawn)."""
    return lambda drawn: holds(*drawn)
