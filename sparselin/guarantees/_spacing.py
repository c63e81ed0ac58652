"""The spacing test for the steps of a LASSO path."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sparselin.guarantees._selection_events import SIGNS, Basis, Comparison, Event
from sparselin.guarantees._truncated_laws import Normal, scale_set, tails
from sparselin.results import FloatArray


def spacing_p_values(basis: Basis, events: Sequence[Event], sigma: float) -> FloatArray:
    """Return bounds (t, 2) on the p-values of the spacing test for the t steps of a LASSO path.

    Let λ_t be the knots, with λ_0 = ∞. Let A be the model after step t, s its signs, u_t = (X_A⁺)ᵀs, and
    ω = ‖u_t − u_{t−1}‖. The p-value of step t is

        (Φ(λ_{t−1}ω/σ) − Φ(λ_tω/σ))/(Φ(λ_{t−1}ω/σ) − Φ(λ_{t+1}ω/σ))

    (Tibshirani, Taylor, Lockhart and Tibshirani, *Exact post-selection inference for sequential regression
    procedures*, 2016). Here λ_{t+1} is the next knot of least angle regression: with c and q after step t it
    is the largest ±c_j/(1 ∓ q_j) over the j outside A with 1 ∓ q_j > 0, or 0. Rows are NaN from the first
    step at which a feature leaves. (R's selectiveInference calls this the modified form of the test; the
    first form has a number M⁺ ≤ λ_{t+1} in the place of λ_{t+1}.)

    Compared with the exact test. With q and P^⊥ of the model before the step, u_t − u_{t−1} is
    (s_i − q_i)P^⊥X_i/‖P^⊥X_i‖² for the feature i that enters. So λ_tω is the statistic η̂ᵀy of the exact test,
    and both p-values are those of a truncated normal law. If y moves along η̂, the knots before t stay. With
    c and q after step t, the condition |c_j + λ_tq_j| ≤ λ_t reads (1 ∓ q_j)λ_t ≥ ±c_j: it bounds λ_t from
    below by λ_{t+1} where 1 ∓ q_j > 0, and from above where 1 ∓ q_j < 0. The bounds from above, the signs of
    coefficients, and the steps before may shorten the interval [λ_{t+1}, λ_{t−1}]. If nothing does, as for
    orthogonal columns, the tests are the same. If the upper end is shortened, the spacing test has the
    larger p-value. If the lower end is, for which t ≥ 2 is needed, it has the smaller one, and its level may
    exceed the nominal one: for μ = 0 and the three columns in `tests/test_other_inference.py`, 27 % of its
    p-values at step 2 are below .2. The exact test has its level in all cases.
    """
    found, before = np.full((len(events), 2), np.nan), (math.inf, math.inf)
    W, along = np.zeros((basis.qr.size, 0)), np.zeros(0)
    for t, event in enumerate(events):
        if not event.enters:
            break
        state = basis.at(event, False, W, along)
        lam, lam_error, _, _ = state.leader(event)
        D, D_error = (a[int(event.sign < 0), event.pick] for a in (state.D, state.D_error))
        after = Event((*event.before, event.pick), (*event.signs, event.sign), -1, 0.0, 0.0)
        low, high = _next_knot(basis.at(after, False, W, along), lam + lam_error)
        w = basis.model(event.before).off(basis.column(event.pick))
        length, error = float(np.linalg.norm(w)), 3 * basis.eps * basis.problem.column_norms[event.pick]
        least, most = (D - D_error) / (length + error), (D + D_error) / (length - error)
        up = (before[1] - lam + lam_error) * most, max(0.0, before[0] - lam - lam_error) * least
        down = (lam + lam_error - low) * most, max(0.0, lam - lam_error - high) * least
        outer, inner = (scale_set([(-down[i], up[i])], 1 / sigma, 1 - 2 * i) for i in range(2))
        law = Normal(event.sign * float(w @ basis.z) / length / sigma, basis.error / sigma)
        found[t] = tails(law, outer, inner)[0]
        before = lam - lam_error, lam + lam_error
    return found


def _next_knot(state: Comparison, last: float) -> tuple[float, float]:
    """Return bounds on the next knot of least angle regression, which is at most `last`."""
    c, error, D, D_error = SIGNS * state.c.at_y, state.c.y_error, state.D, state.D_error
    sure, possible = ~state.left_out & (D - D_error > 0), ~state.left_out & (D + D_error > 0)
    low = np.max((c - error)[sure] / (D + D_error)[sure], initial=0.0)
    with np.errstate(divide="ignore"):
        high = np.max((c + error)[possible] / np.maximum(D - D_error, 0)[possible], initial=0.0)
    return float(low), min(float(high), last)
