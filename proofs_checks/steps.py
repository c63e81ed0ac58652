"""Designs with some selected features, drawn for Hypothesis, and the LASSO just below the next entry.

S is the set of selected features, r = P_S^⊥y is the residual of least squares on S, and λ* = max|⟨X_i, r⟩| is
the penalty level at which the first feature enters. T is the set of the features that attain λ*. The window
(λ₂, λ*) is the largest interval below λ* in which the same features outside S are nonzero.
"""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks.rational import columns, rational, step
from sparselin.testing import integer_designs, tied_designs


@st.composite
def selections(draw, max_n=5, max_d=6, max_selected=3, dependent=False):
    """Draw a design X of small integers, a target y and a set S of selected features, for Hypothesis.

    Ties and equal columns are likely. The set S may be empty. Its columns are linearly independent, unless
    `dependent` is true.
    """
    X, y = draw(integer_designs(max_n, max_d) | tied_designs(max_n, max_d))
    S = draw(st.sets(st.integers(0, X.shape[1] - 1), max_size=min(max_selected, X.shape[1] - 1)))
    S = tuple(sorted(S))
    assume(dependent or not S or columns(rational(X), S).rank() == len(S))
    return X, y, S


@st.composite
def open_steps(draw, max_n=5, max_d=6, max_selected=3, max_tied=5):
    """Draw a design X, a target y and selected features S for which some feature can still enter.

    With the residual r of least squares on S, λ* = max|⟨X_i, r⟩| is positive. At most `max_tied` features
    attain this maximum, so that a check can list the subsets of tied features.
    """
    X, y, S = draw(selections(max_n, max_d, max_selected))
    at = step(X, y, S)
    assume(at.lam_star > 0 and len(at.tied) <= max_tied)
    return X, y, S


def show(X, y, S=()):
    """Return the design X, the target y and the selected set S as one line of text."""
    rows = ", ".join(str([int(a) if a == int(a) else float(a) for a in row]) for row in np.asarray(X))
    return f"X = [{rows}], y = {tuple(int(a) if a == int(a) else float(a) for a in y)}, S = {set(S) or '∅'}"


def masked_loss(X, y, mask, theta):
    """Return ‖X(mask∘θ) − y‖², where mask∘θ is the entrywise product, in the number type of the arguments."""
    r = X @ (mask * theta) - y
    return r @ r


def outside(X, S):
    """Return the features that are not in the set S."""
    return [i for i in range(X.shape[1]) if i not in S]


def spread(holds):
    """Return a function of one tuple that calls `holds` with the entries of this tuple."""
    return lambda drawn: holds(*drawn)
