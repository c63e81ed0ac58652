"""Gaps that must stay positive, and the smallest change of the data that can close one.

A selection is kept while some numbers, its *gaps*, are positive: |c_i| − σ·sign(c_i)c_j for a pick i and a
rival j of OMP, for example. Let S be the k columns that were selected before, each scaled to length 1, and
σ_min their least singular value. Let z be the vector with gap = ⟨z, y⟩ + const, and r the residual. For a
change of size ε (‖ΔX_j‖ ≤ ε‖X_j‖ for all j, ‖Δy‖ ≤ ε‖y‖) write, with coefficients w of the candidates on
X_S and b of y,

    a = Δz − ΔX_S w,   p = Δy − ΔX_S b,   ‖a‖ ≤ uε,   ‖p‖ ≤ vε.

Let P̃ project off the changed columns, and Π̃ = I − P̃. Since z̃ = X̃_S w + z + a and ỹ = X̃_S b + r + p, the
changed gap is ⟨z + a, P̃(r + p)⟩, that is

    gap + ⟨a, r⟩ + ⟨z, p⟩ + ⟨P̃a, P̃p⟩ − ⟨Π̃z, Π̃r⟩ − ⟨Π̃z, Π̃p⟩ − ⟨Π̃a, Π̃r⟩.

The terms of first order are at least −Kε, with equality for one change (`slope` is K). Since z and r are
orthogonal to X_S, ‖Π̃z‖ ≤ √k·ε‖z‖/σ̃ and ‖Π̃r‖ ≤ √k·ε‖r‖/σ̃, where σ̃ = σ_min − √k·ε bounds the least
singular value of the changed columns. So for ε < σ_min/√k every gap is at least

    gap − Kε − (u + √k‖z‖/σ̃)(v + √k‖r‖/σ̃)ε².

The same bound holds for the coefficients and the correlations of the LASSO at a fixed λ (`_lasso`); for OLS
there is one more term, for the directions of the projected columns (`_greedy`). Standardized columns are
scaled to a fixed length again after the change, so they turn by an angle θ with sin θ ≤ ε: their component
along themselves changes by 1 − cos θ ≤ ε², and their distance is at most ε√(2/(1 + cos θ)).
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray

_HALVINGS = 60


class Spread(NamedTuple):
    """The numbers that bound the second-order terms of m gaps, see the docstring of this module.

    u : (m,) the bound on ‖a‖/ε; for OLS (2, m), for the pick and for the rival, divided by their lengths.
    z : (m,) ‖z‖; for OLS it is not used.
    h : (2, m) for OLS the lengths of the residual without the direction of the pick, and of the rival; else
        None.
    v, r : the bound on ‖p‖/ε, and ‖r‖.
    parallel : (m,) the sum of the components along themselves of standardized columns; 0 for other columns.
    k, sigma : the number of columns that were selected before and that move, and σ_min.
    standardized : whether columns turn only.
    """

    u: FloatArray
    z: FloatArray
    h: FloatArray | None
    v: float
    r: float
    parallel: FloatArray
    k: int
    sigma: float
    standardized: bool

    def limit(self) -> float:
        """Return the ε below which the bound on the second-order terms holds."""
        limit = self.sigma / math.sqrt(self.k) if self.k else math.inf
        return min(1.0, limit / math.sqrt(2)) if self.standardized else limit

    def at(self, eps: float, J: IndexArray) -> FloatArray:
        """Return bounds (|J|,) on the second-order terms of the gaps J for a change of size eps."""
        chord = 2 / (1 + math.sqrt(max(1 - eps**2, 0))) if self.standardized else 1.0
        root = math.sqrt(self.k * chord)
        least = self.sigma - root * eps
        if self.k and least <= 0:
            return np.full(len(J), np.inf)
        share = root / least if self.k else 0.0
        step = math.sqrt(chord) * self.v
        if self.h is None:
            product = (math.sqrt(chord) * self.u[J] + share * self.z[J]) * (step + share * self.r)
            return np.asarray((product + self.parallel[J]) * eps**2)
        total = np.zeros(len(J))
        for u, h in zip(self.u, self.h, strict=True):
            turn = u[J] + share  # the change of the direction, over ε
            free = 1 - turn * eps
            bent = np.where(free > 0, math.sqrt(2) * turn**2 / np.where(free > 0, free, 1), np.inf)
            total += turn * (share * h[J] + step) + bent * (self.r + step * eps)
        return np.asarray(total * eps**2)


@dataclasses.dataclass(frozen=True, eq=False)
class Gaps:
    """m gaps at one step of a path, or at one point of the LASSO.

    gap : (m,) the gaps; 0 in a tie.
    slope : (m,) K, the largest first-order fall of the gap for a change of X and y of size 1.
    in_y : (m,) the largest fall for a change of y alone of size 1: ‖z‖‖y‖.
    error : (m,) bounds on the rounding errors of `gap`.
    rival : (m,) the feature that would be picked if the gap is closed.
    sign : (m,) the sign σ of the rival.
    spread : the bounds on the second-order terms.
    y_number : the largest quotient of `in_y` and the gap, also over gaps that are left out here.
    """

    gap: FloatArray
    slope: FloatArray
    in_y: FloatArray
    error: FloatArray
    rival: IndexArray
    sign: FloatArray
    spread: Spread
    y_number: float

    def of(self, J: IndexArray) -> Gaps:
        """Return the gaps J."""
        spread = self.spread
        return dataclasses.replace(
            self,
            **{name: getattr(self, name)[J] for name in ("gap", "slope", "in_y", "error", "rival", "sign")},
            spread=spread._replace(
                u=spread.u[..., J],
                z=spread.z[J],
                h=None if spread.h is None else spread.h[:, J],
                parallel=spread.parallel[J],
            ),
        )

    def with_free_rival(self, rival: int) -> Gaps:
        """Return these gaps, and one of a rival that a change of X of any size can bring ahead."""
        spread = self.spread
        zero = np.zeros((2, 1))
        return dataclasses.replace(
            self,
            gap=np.append(self.gap, 1.0),
            slope=np.append(self.slope, np.inf),
            in_y=np.append(self.in_y, 0.0),
            error=np.append(self.error, 0.0),
            rival=np.append(self.rival, rival),
            sign=np.append(self.sign, 1.0),
            spread=spread._replace(
                u=np.concatenate([spread.u, zero], axis=1),
                z=np.append(spread.z, 0.0),
                h=np.concatenate([spread.h, zero], axis=1) if spread.h is not None else None,
                parallel=np.append(spread.parallel, 0.0),
            ),
        )

    def quotients(self, of_y: bool) -> FloatArray:
        """Return the condition numbers (m,): the fall of each gap for a change of size 1, over the gap."""
        fall = self.in_y if of_y else self.slope
        found = np.zeros(len(self.gap))
        np.divide(fall, self.gap, out=found, where=self.gap > 0)
        found[self.gap <= 0] = np.inf
        return found

    def lower(self, of_y: bool, relative: float) -> float:
        """Return a lower bound on the size of a change that closes a gap.

        relative : a bound on the relative errors of `slope` and `in_y`.

        The gap minus its bounds on the fall is a decreasing function of ε, one for each gap. Its least root
        is found by bisection and by chords, only for the gaps whose function is negative at the first-order
        estimate: the roots of the others are larger.
        """
        gap = self.gap - self.error
        if not len(gap):
            return math.inf
        if (gap <= 0).any():
            return 0.0
        fall = (1 + relative) * (self.in_y if of_y else self.slope)
        with np.errstate(divide="ignore"):
            first = float(np.min(np.where(fall > 0, gap / np.where(fall > 0, fall, 1), np.inf)))
        if of_y:
            return first
        high = min(first, self.spread.limit())
        if math.isinf(high):
            return high
        J = np.flatnonzero(~(self._rest(high, np.arange(len(gap)), fall) >= 0))
        if not len(J):
            return high
        low = 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            left = self._rest(middle, J, fall)
            if (left >= 0).all():
                low = middle
            else:
                high = middle
                J = J[~(left >= 0)]
            # a concave function lies above its chords
            at_low = self._rest(low, J, fall)
            at_high = self._rest(high, J, fall)
            finite = np.isfinite(at_high)
            share = np.where(finite, at_low / np.where(finite & (at_low > at_high), at_low - at_high, 1), 0)
            low = max(low, low + (high - low) * min(1.0, float(share.min())) * (1 - 1e-9))
            if high - low <= 1e-4 * high:
                break
        return low

    def _rest(self, eps: float, J: IndexArray, fall: FloatArray) -> FloatArray:
        """Return what is left of the gaps J, at least, after a change of size eps."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.gap[J] - self.error[J] - fall[J] * eps - self.spread.at(eps, J))


def relevant(
    gap: FloatArray,
    error: FloatArray,
    least: FloatArray,
    most: FloatArray,
    in_y: FloatArray,
    spread: Spread,
) -> IndexArray:
    """Return the gaps that may have the largest quotient K/gap, or close first, given bounds on K.

    The gap that closes first if y alone changes is among them, with its rounding error and without.

    least, most : (m,) bounds on K.
    in_y : (m,) the largest falls for a change of y alone.

    Let h = min gap/least, so that some gap closes, to first order, for a change of size h or smaller. A gap
    that stays positive at h with `most` in place of K can be left out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        h = float(np.min(np.where(gap > 0, gap / least, 0), initial=math.inf))
        if not 0 < h < spread.limit():
            return np.arange(len(gap))
        left = gap - error - most * h - spread.at(h, np.arange(len(gap)))
        chosen = ~(left >= 0)
        for room in (gap, gap - error):
            chosen[np.argmin(np.where(in_y > 0, room / in_y, np.inf))] = True
    return np.flatnonzero(chosen)


def of_standardized(products: FloatArray, parallel: FloatArray) -> FloatArray:
    """Return √(products² − parallel²): the lengths of vectors without a component that cannot be used."""
    return np.asarray(np.sqrt(np.maximum(products**2 - parallel**2, 0)))
