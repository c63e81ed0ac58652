"""The responses y for which a path makes the same picks with the same signs, as linear inequalities.

Let A be the features in the model before a step (with those that are never penalised), P_A^⊥ the projection
off them, and c = XᵀP_A^⊥y. Each step of a path compares its pick with all other features by

    D_j±·v ∓ c_j ≥ 0    for all j outside A and both signs ±,

where v is a linear function of y and D does not depend on y. Let i be the pick and s its sign.

- OMP compares |c_j|: v = s·c_i and D = 1.
- OLS compares |c_j|/‖z_j‖ with z_j = P_A^⊥X_j: v = s·c_i/‖z_i‖ and D_j± = ‖z_j‖.
- LASSO. Before the step β(λ) = X_A⁺y − λ(X_AᵀX_A)⁻¹t, where t holds the signs of β, and zeros for features
  without penalty. The correlations are c + λq with q = Xᵀ(X_A⁺)ᵀt. If i enters, v = s·c_i/(1 − s·q_i) is λ at
  the knot; if i leaves, v is the quotient of the entries i of X_A⁺y and (X_AᵀX_A)⁻¹t. The KKT conditions at
  λ = v are |c_j + v·q_j| ≤ v, so D_j± = 1 ∓ q_j, and t_jβ_j(v) ≥ 0 for the penalised features j of A.

For the LASSO these conditions at each knot are all that is needed: β and the correlations are linear in λ
between two knots, so conditions that hold at both knots hold between them, and they imply that the knots
decrease. At a λ fixed in advance, v = λ. (Lee, Sun, Sun and Taylor, *Exact post-selection inference, with
application to the lasso*, 2016, for one λ; Tibshirani, Taylor, Lockhart and Tibshirani, *Exact post-selection
inference for sequential regression procedures*, 2016, for forward stepwise selection and least angle
regression.) The row (i, −s) says v ≥ 0, and the row (i, s) is 0 ≥ 0 and is left out.

**One basis.** Let X_U = QR, where U holds all features that were ever in the model, and r = P_U^⊥y. The
statistics ηᵀy have η in the span of Q, so y and η are needed only by Qᵀy, Qᵀη and Xᵀr. In these coordinates
P_A^⊥ is a small matrix, and c at all directions η costs one product with XᵀQ.

**Errors.** Let 1/κ bound the least singular value of X_U with unit columns from below, u = 8·eps, and ε =
u(√n + κ) (`Problem.rounding`). The error of c_j is at most ε‖X_j‖‖y‖. If rounding changes X_A by F, a row η
of X_A⁺ changes to first order by −X_A⁺FX_A⁺ and (X_AᵀX_A)⁻¹FᵀP_A^⊥, and both terms are at most uκ‖η‖ ≤ ε‖η‖,
where u covers ‖F‖ for unit columns if rounding errors are independent (`problem.errors`). So at the unit
vector η̂ the error of c_j is at most 3ε‖X_j‖, and that of η̂ᵀy at most 3ε‖y‖. At P_S^⊥y/‖P_S^⊥y‖, the second
direction of a circle, the error is larger by the factor ‖y‖/‖P_S^⊥y‖.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels.truncation import shorten
from sparselin.linalg.thin_qr import ThinQR
from sparselin.post_selection._laws import Ends, negative
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.problem.paths import other_data
from sparselin.results import FloatArray, IndexArray

SIGNS = np.array([[1.0], [-1.0]])  # of the two rows of each feature


def undecided(place: str = "") -> ValueError:
    return ValueError(
        f"path has a tie{place} (or lam is a knot), at least to rounding, so the selection is not determined"
    )


class Event(NamedTuple):
    """A step of a path: the feature `pick` enters or leaves the model on the features `before`.

    before : A, the features in the model before the step, without the intercept.
    signs : t, the signs of their coefficients in the LASSO, 0 without penalty; () for other methods.
    pick, sign : the feature, or −1 for the state at a fixed λ; and the sign of its correlation.
    level : the λ* or the knot of the path at this step, or the fixed λ.
    enters : whether the pick enters.
    """

    before: tuple[int, ...]
    signs: tuple[float, ...]
    pick: int
    sign: float
    level: float
    enters: bool = True


class Model(NamedTuple):
    """The factorisation X_A = QR of the columns of a model, in the coordinates of a `Basis`.

    start : the number of first coordinates that are zero after a projection off the model.
    """

    Q: FloatArray
    R: FloatArray
    start: int

    def off(self, v: FloatArray) -> FloatArray:
        """Project coordinates (m,) or (m, h) off the columns of the model."""
        return np.asarray(v - self.Q @ (self.Q.T @ v))

    def inverse(self, ones: int) -> FloatArray:
        """Return the coordinates of the rows of X_A⁺, (m, a), without the first `ones` rows."""
        return np.asarray(np.linalg.solve(self.R, self.Q.T).T[:, ones:])


class Inequalities(NamedTuple):
    """Inequalities D·v ∓ b ≥ 0 at y and at h directions. The fields are those of `shorten`."""

    slack: FloatArray
    slack_error: FloatArray
    D: FloatArray
    D_error: FloatArray
    lead: FloatArray
    lead_error: FloatArray
    B: FloatArray
    B_error: FloatArray

    def shorten(self, reach: FloatArray) -> None:
        """Shorten the intervals along the directions, see `_kernels.truncation.shorten`."""
        shorten(*self, reach)

    def check(self, t: int) -> None:
        """Raise ValueError if an inequality of step t fails, or if rounding leaves it undecided."""
        low = self.slack - self.slack_error
        if np.any(low <= 0):
            if np.any(self.slack + self.slack_error < 0):
                raise other_data(f"step {t + 1} differs")
            raise undecided(f" at step {t + 1}")

    def arcs(self, x: float, height: float, error: float, q: int, e: int) -> tuple[Ends, Ends]:
        """Return intervals of offsets on a circle through y at which a row fails certainly, and possibly.

        The directions q and e span the circle; the point y has there the coordinates x and height > 0, with
        errors of at most `error`. At the offset δ = tan(θ/2), where θ is the angle towards q, the row is
        (1 + δ²)⁻¹ times

            slack·(1 + δ²) + 2δ(height·a − x·b) − 2δ²(x·a + height·b),

        where a and b are its slopes along q and e.
        """
        used = np.isfinite(self.slack)
        a, b = (self._slopes(i)[used] for i in (q, e))
        spread = sum((self._slopes_error(i)[used] for i in (q, e)), np.float64(0))
        rounding = self.slack_error[used] + (abs(x) + height) * spread + 2 * error * (np.abs(a) + np.abs(b))
        slack = self.slack[used]
        A = -2 * (x * a + height * b)
        B = 2 * (height * a - x * b)
        if not np.all(slack > 2 * rounding):
            raise undecided()
        parts = ((slack + A + side * 2 * rounding, B, slack + side * 2 * rounding) for side in (1, -1))
        certain, possible = (negative(*part) for part in parts)
        return certain, possible

    def _slopes(self, i: int) -> FloatArray:
        return np.asarray(self.D * self.lead[i] - SIGNS * self.B[:, i])

    def _slopes_error(self, i: int) -> FloatArray:
        inner = np.abs(self.D) * self.lead_error[i] + self.D_error * np.abs(self.lead[i])
        return np.asarray(inner + self.B_error)


class Values(NamedTuple):
    """The values of m linear functions at y (m,) and at h directions (m, h), and bounds (m,) on their errors.

    The bounds are `y_error` at y and `error` at the directions.
    """

    at_y: FloatArray
    y_error: FloatArray
    along: FloatArray
    error: FloatArray

    def only(self, J: IndexArray | list[int]) -> Values:
        """Return the functions J."""
        return Values(*(values[J] for values in self))

    def times(self, a: FloatArray) -> Values:
        """Return the functions multiplied by numbers a (m,)."""
        b = np.abs(a)
        return Values(a * self.at_y, b * self.y_error, a[:, None] * self.along, b * self.error)


class Comparison(NamedTuple):
    """The functions that a step compares.

    c : the correlations c (d,).
    D, D_error, left_out : (2, d) see the docstring of this module; and the rows that are no inequalities.
    coef : the coefficients X_A⁺y of the model (a,), without the intercept.
    b, b_error : (a,) (X_AᵀX_A)⁻¹t.
    """

    c: Values
    D: FloatArray
    D_error: FloatArray
    left_out: np.ndarray
    coef: Values
    b: FloatArray
    b_error: FloatArray

    def leader(self, event: Event) -> tuple[Any, ...]:
        """Return v at y with its error, and v (h,) at the directions with the errors (h,)."""
        if event.pick < 0:
            nothing = np.zeros(self.c.along.shape[1])
            return event.level, 0.0, nothing, nothing
        if event.enters:
            i = event.pick
            row = int(event.sign < 0)
            top = self.c.only([i])
            divisor = event.sign * self.D[row, i]
            error = self.D_error[row, i]
        else:
            p = event.before.index(event.pick)
            top = self.coef.only([p])
            divisor = self.b[p]
            error = self.b_error[p]
        size = abs(divisor) - error
        v = float(top.at_y[0] / divisor)
        lead = top.along[0] / divisor
        if size <= 0:
            raise undecided()
        return v, (top.y_error[0] + abs(v) * error) / size, lead, (top.error + np.abs(lead) * error) / size

    def check(self, event: Event, t: int, by_length: bool) -> None:
        """Raise ValueError unless the level of the path at step t is that of these data."""
        if event.pick >= 0:
            unit = self.D[0, event.pick] if by_length else 1.0
            v, error, *_ = self.leader(event)
            if not abs(unit * v - event.level) <= 4 * (unit * error + EPS * abs(event.level)):
                raise other_data(f"λ of step {t + 1} differs")

    def rows(self, event: Event) -> Iterator[Inequalities]:
        """Yield the inequalities of the step, first those of the correlations, then those of the signs."""
        v, v_error, lead, lead_error = self.leader(event)
        left_out = self.left_out.copy()
        if event.pick >= 0 and event.enters:
            left_out[int(event.sign < 0), event.pick] = True
        slack = np.where(left_out, np.inf, self.D * v - SIGNS * self.c.at_y)
        error = np.abs(self.D) * v_error + self.D_error * abs(v) + self.c.y_error
        yield Inequalities(
            slack=slack,
            slack_error=error,
            D=self.D,
            D_error=self.D_error,
            lead=lead,
            lead_error=lead_error,
            B=self.c.along,
            B_error=self.c.error,
        )
        if event.signs:
            yield self._signs(event, v, v_error, lead, lead_error)

    def _signs(
        self, event: Event, v: float, v_error: float, lead: FloatArray, lead_error: FloatArray
    ) -> Inequalities:
        """Return v ≥ 0, and t_jβ_j(v) ≥ 0 for the penalised features j other than the pick."""
        t = np.array(event.signs)
        kept = np.flatnonzero((t != 0) & (np.array(event.before) != event.pick))
        part = self.coef.only(kept).times(-t[kept])
        E = -t[kept] * self.b[kept]
        E_error = self.b_error[kept]
        slack = np.append(v, E * v - part.at_y)
        error = np.append(v_error, np.abs(E) * v_error + E_error * abs(v) + part.y_error)
        E, E_error = np.append(1.0, E), np.append(0.0, E_error)
        B = np.vstack([np.zeros(len(lead)), part.along])
        alone = np.array([slack, np.full(len(slack), np.inf)])  # one inequality for each feature
        return Inequalities(
            slack=alone,
            slack_error=np.array([error] * 2),
            D=np.array([E] * 2),
            D_error=np.array([E_error] * 2),
            lead=lead,
            lead_error=lead_error,
            B=B,
            B_error=np.append(0.0, part.error),
        )


class Basis:
    """Coordinates of y and of all statistics, and the products of X with the basis.

    Attributes
    ----------
    qr : the factorisation of the columns of U, the column of ones first if there is an intercept.
    G, rest : XᵀQ (d, m), and Xᵀr (d,) with r = P_U^⊥y.
    z, r_norm : Qᵀy (m,), and ‖r‖.
    ones : 1 with an intercept, else 0.
    eps, error : ε, see the docstring of this module; and a bound on the error of every η̂ᵀy.
    """

    def __init__(self, problem: Problem, U: IndexArray) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, problem.with_ones(U))
        self.ones = problem.d - problem.n_features
        if self.qr.size < len(U) + self.ones:
            raise ValueError("the selected features are dependent: μ does not determine their coefficients")
        self.place = {j: i for i, j in enumerate(self.qr.index)}
        Q = self.qr.Qt.T
        r = self.qr.residual(problem.y)
        self.G = problem.correlate(Q)
        self.rest = problem.correlate(r)
        self.z = self.qr.Qt @ problem.y
        self.rest[self.qr.index] = 0
        self.r_norm = float(np.linalg.norm(r))
        self.eps = problem.rounding(self.qr.kappa)
        self.error = (3.001 * self.eps + EPS) * problem.y_norm

    def column(self, j: int) -> FloatArray:
        """Return the coordinates (m,) of column j, which is in U."""
        return np.asarray(self.qr.R[:, self.place[j]])

    def stack(self, vectors: list[FloatArray]) -> FloatArray:
        """Return coordinates as the columns of an array (m, h)."""
        return np.array(vectors).reshape(len(vectors), self.qr.size).T

    def model(self, A: Sequence[int]) -> Model:
        """Return the factorisation of the columns A, and of the column of ones, in these coordinates."""
        columns = [self.place[int(j)] for j in self.problem.with_ones(np.array(A, np.intp))]
        a = len(columns)
        if columns == list(range(a)):  # as in a path that no feature leaves
            return Model(np.eye(self.qr.size, a), self.qr.R[:a, :a], a)
        return Model(*np.linalg.qr(self.qr.R[:, columns]), 0)

    def correlate(self, model: Model, v: FloatArray) -> FloatArray:
        """Return XᵀP_A^⊥Qv, (d,) for coordinates v (m,) and (d, h) for (m, h)."""
        return np.asarray(self.G[:, model.start :] @ model.off(v)[model.start :])

    def at(self, event: Event, by_length: bool, W: FloatArray, along: FloatArray) -> Comparison:
        """Return the functions that a step compares, at y and at the directions QW + r·along.

        by_length : whether the path is of OLS.
        W, along : (m, h) and (h,).
        """
        problem, eps = self.problem, self.eps
        model = self.model(event.before)
        ones, length = self.ones, problem.column_norms
        B = self.correlate(model, W)
        if along.any():
            B += np.outer(self.rest, along)
        unit = 3 * eps * max(1.0, problem.y_norm * float(along.max(initial=0.0)))
        at_y = self.correlate(model, self.z) + self.rest
        c = Values(at_y, eps * length * problem.y_norm, B, unit * length)
        D, D_error = np.ones((2, problem.d)), np.zeros((2, problem.d))
        left_out = np.zeros((2, problem.d), bool)
        left_out[:, [*self.qr.index[:ones], *event.before]] = True
        if by_length:
            D[:], D_error[:], dependent = self._lengths(model.start)
            left_out |= dependent
        rows = model.inverse(ones)
        b = np.zeros(len(event.before))
        size = np.linalg.norm(rows, axis=0)
        coef = Values(rows.T @ self.z, 3 * eps * size * problem.y_norm, rows.T @ W, unit * size)
        b_error = b
        if event.signs:
            u = rows @ np.array(event.signs)
            D -= SIGNS * (self.G @ u)
            D_error += 3 * eps * length * np.linalg.norm(u)
            b = rows.T @ u
            b_error = 6 * eps * size * np.linalg.norm(u)
        return Comparison(c=c, D=D, D_error=D_error, left_out=left_out, coef=coef, b=b, b_error=b_error)

    def _lengths(self, a: int) -> tuple[FloatArray, FloatArray, Any]:
        """Return the lengths (d,) of the columns off the first a columns of Q, bounds on their errors, and
        whether the columns are dependent by the rule of `ThinQR`.

        A length is computed from squares, or if it is short, from the projected column.
        """
        problem = self.problem
        norms = problem.column_norms
        inside = self.G[:, :a]
        left = norms**2 - np.einsum("ij,ij->i", inside, inside)
        length = np.sqrt(np.maximum(left, 0))
        short = np.flatnonzero(left < 0.01 * norms**2)
        if len(short):
            Z = problem.columns(short)
            Q = self.qr.Qt[:a].T
            for _ in range(2):
                Z = Z - Q @ (Q.T @ Z)
            length[short] = np.linalg.norm(Z, axis=0)
        scaled = self.qr.norms[:a, None] * np.linalg.solve(self.qr.R[:a, :a], inside.T)
        size = problem.unit * np.sqrt(norms**2 + np.einsum("ij,ij->j", scaled, scaled))
        error = size + 10 * problem.rounding(0.0) * norms
        error[short] = size[short] + problem.rounding(0.0) * length[short]
        return length, error, length <= size
