"""One step of Sequential LASSO for the checks of its selection window (λ₂, λ*), in exact arithmetic.

The notation is that of docs/proofs/window_length.md: λ* is the penalty at which the next feature becomes
active, λ₂ the penalty down to which the same features are active, and λ₀ the lower end of the window in the
proof of Lemma 3.4 of *Sequential Attention for Feature Selection*.
"""

import math

import numpy as np
from flint import fmpq
from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks.rational import HALF, columns, inner, rational, real, segment, step
from proofs_checks.steps import selections

# relative to λ*: an error of 8eps(√n + κ)‖X_j‖‖y‖ moves the ends by less, see test_window_length.py
CLOSE = 1e-9


@st.composite
def steps(draw, equal_norms=False):
    """Draw a step of Sequential LASSO: a design X, a response y and a set S of selected features.

    All entries are small integers. Some columns are zero or equal to others, and the columns of S may be
    dependent. At least one feature has a nonzero correlation with the residual, and at most five tie for the
    largest correlation.
    """
    X, y, S = draw(selections(dependent=True))
    if equal_norms:
        X = np.where(X > 0, 1.0, -1.0)
    at = step(X, y, S)
    assume(at.lam_star > 0 and len(at.tied) <= 5)
    return X, y, S


class Window:
    """The window (λ₂, λ*) of one step, in exact arithmetic: the interval of penalties on which the same
    features are active.

    A feature j that is inactive just below λ* can become active at the penalty λ* − `root[j]`; without an
    entry in `root` it cannot. `norm2[j]` is ‖X_j‖²‖r‖², r the residual of y on the selected columns.
    `left_out` has the features that attain the largest correlation but do not become active at λ*.
    """

    def __init__(self, X, y, S=()):
        self.found = segment(X, y, S)
        r, self.c, self.lam, self.T = self.found.step
        self.A, design = self.found.active, rational(X)
        self.h = (design.transpose() * self.found.Z * self.found.v).entries()
        self.norm2 = [inner(r, r) * inner(x, x) for x in (columns(design, [j]) for j in range(len(self.h)))]
        self.outside = [j for j in range(len(self.h)) if j not in self.T and j not in S]
        self.left_out = [j for j in self.T if j not in self.A]
        self.root = self.found.roots()
        self.eps = min([self.lam, *self.root.values()])

    def excess(self, j, eps):
        """Return |⟨X_j, p⟩| − λ, where p is the residual at the penalty λ = λ* − ε.

        The residual is that of the solution just below λ*, continued linearly in ε. By the KKT conditions for
        an unselected feature j, the result must be ≤ 0.
        """
        return abs(self.c[j] - eps * self.h[j]) - (self.lam - eps)

    def proof_reaches(self, eps, strictly=False):
        """Return whether `eps` is at least the length λ* − λ₀ of the window in the proof of Lemma 3.4,
        exactly.

        If `strictly`, return whether it is larger.
        """
        gaps = [(j, self.lam - abs(self.c[j])) for j in self.outside] + [(i, 2 * self.lam) for i in self.T]
        past = (eps > self.lam) if strictly else (eps >= self.lam)
        return past or any(at_least(eps, self.norm2[j], self.lam * (gap - eps), strictly) for j, gap in gaps)

    def proof_lower(self):
        """Return the lower end λ₀ of the window in the proof of Lemma 3.4, up to rounding."""
        lam = real(self.lam)
        q = [math.sqrt(real(n)) for n in self.norm2]
        terms = [(lam - abs(real(self.c[j]))) / (lam + q[j]) for j in self.outside]
        return lam * (1 - min(1.0, *terms, *(2 * lam / (lam + q[i]) for i in self.T)))


def at_least(a, b2, K, strictly=False):
    """Return whether a√b2 ≥ K, for a ≥ 0, exactly. If `strictly`, return whether a√b2 > K."""
    if strictly:
        return K < 0 or a * a * b2 > K * K
    return K <= 0 or a * a * b2 >= K * K


def agrees(entry, window):
    """Return whether the package finds the exact tied features, active features, and window (λ₂, λ*).

    On the window the same features are active. Both ends may differ by 1e-9λ*.
    """
    lam = real(window.lam)
    return (
        entry.tied == window.T
        and entry.active == window.A
        and abs(entry.lam_star - lam) <= CLOSE * lam
        and abs(entry.window_lower - real(window.lam - window.eps)) <= CLOSE * lam
    )


def solves_inside(X, y, S, window):
    """Return whether, at three penalties inside the window, exactly the active features are nonzero off S.

    S is the set of selected features. The active features are those that become nonzero just below λ*. The
    correlation with the residual must be smaller than the penalty for two kinds of features: those that do
    not attain the largest correlation at λ*, and the inactive tied features whose bound is not an equality on
    the whole window.
    """
    strict = [*window.outside, *(j for j in window.left_out if abs(window.h[j]) > 1)]
    for share in (fmpq(1, 1000), HALF, fmpq(999, 1000)):
        eps = share * window.eps
        beta = window.found.solution(eps).beta.entries()
        support = {j for j, b in enumerate(beta) if b != 0} - set(S)
        if support != set(window.A) or any(window.excess(j, eps) >= 0 for j in strict):
            return False
    return True


def fails_beyond(window):
    """Return whether the set of active features changes at the lower end λ₂ of the window of one step.

    At λ₂ the correlation of some inactive column with the residual must equal the penalty. At three smaller
    penalties λ, the correlation of some inactive column must exceed λ, so that the solution with the old
    support is no longer optimal.
    """
    later = [window.eps + share * (window.lam - window.eps) for share in (fmpq(1, 1000), HALF, fmpq(1))]
    return any(window.excess(j, window.eps) == 0 for j in window.root) and all(
        any(window.excess(j, eps) > 0 for j in window.root) for eps in later
    )
