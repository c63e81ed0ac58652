"""The responses y for which a path makes the same picks with the same signs, as linear inequalities.

Let A be the features in the model before a step (with those that are never penalised), and P_A^⊥ the projection
off them. With c = XᵀP_A^⊥y, the event of every step has the form

    v(y) ≥ 0 attains its bound at the pick,    D_j±·v(y) ∓ c_j ≥ 0 for all j outside A and both signs,

where v is a linear function of y and D does not depend on y. Let i be the pick and s its sign.

- OMP compares |c_j|: v = s·c_i and D = 1.
- OLS compares |c_j|/‖z_j‖ with z_j = P_A^⊥X_j: v = s·c_i/‖z_i‖ and D_j± = ‖z_j‖.
- LASSO. On the segment before the step β(λ) = X_A⁺y − λ(X_AᵀX_A)⁻¹t, where t holds the signs of β, with zeros
  for features without penalty. Its correlations are c + λq with q = Xᵀ(X_A⁺)ᵀt. If i enters, v = s·c_i/(1 − s·q_i)
  is the λ of the knot; if i leaves, v is the ratio of the entries of X_A⁺y and (X_AᵀX_A)⁻¹t that belong to i. The
  KKT conditions at λ = v are |c_j + vq_j| ≤ v, that is, D_j± = 1 ∓ q_j, and t_jβ_j(v) ≥ 0 for the features of A
  with a penalty. They hold on the whole segment if they hold at both knots, because β and the correlations are
  linear in λ; and they imply that the knots decrease. So the path has the same events with the same signs if and
  only if these inequalities hold at each knot, without further conditions. (Lee, Sun, Sun and Taylor, *Exact
  post-selection inference, with application to the lasso*, 2016, for one λ; Tibshirani, Taylor, Lockhart and
  Tibshirani, *Exact post-selection inference for sequential regression procedures*, 2016, for forward stepwise
  selection and least angle regression.)

The row (i, −s) says v ≥ 0. The row (i, s) is 0 ≥ 0 and is left out.

**One basis.** Let X_U = QR, where U holds all features that were ever in the model. The tested statistics ηᵀy have
η in the span of Q, so y and each η are needed only by their coordinates Qᵀy, Qᵀη and by Xᵀr, r = P_U^⊥y. In these
coordinates P_A^⊥ is a small matrix, and c at all directions costs one product with XᵀQ per step.

**Errors.** Let ε be `Problem.rounding(κ)` for the condition number κ of X_U. The error of c_j is at most ε‖X_j‖‖y‖.
To first order a row of X_A⁺ has the relative error 2εκ/κ ≤ 2ε in the length that the rounding of X_A causes
(both terms of the derivative of the pseudoinverse are at most u·κ), so c_j at a unit direction η̂ has an error of at
most 3ε‖X_j‖, and η̂ᵀy of at most 3ε‖y‖.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sparselin._kernels.truncation import shorten
from sparselin.guarantees._truncated_laws import negative
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

SIGNS = np.array([[1.0], [-1.0]])  # of the two rows of each feature
Ends: TypeAlias = tuple[FloatArray, FloatArray]  # lower and upper ends of intervals


class Event(NamedTuple):
    """A step of a path: feature `pick` enters, or leaves, the model on the features `before`.

    before : A, the features in the model before the step, without the intercept.
    signs : the signs of their coefficients in the LASSO, 0 for those without penalty; () for other methods.
    pick : the feature, or −1 for the state at a λ that was fixed in advance.
    sign : the sign of the correlation of the pick.
    enters : whether the pick enters.
    """

    before: tuple[int, ...]
    signs: tuple[float, ...]
    pick: int
    sign: float
    enters: bool = True


class Model(NamedTuple):
    """The factorisation of the columns of a model in the coordinates of a `Basis`: R_U restricted to A = Q R."""

    Q: FloatArray
    R: FloatArray

    def off(self, v: FloatArray) -> FloatArray:
        """Project coordinates (m,) or (m, h) off the columns of the model."""
        return np.asarray(v - self.Q @ (self.Q.T @ v))

    def rows(self) -> FloatArray:
        """Return the coordinates of the rows of X_A⁺ (m, a), one column for each column of the model."""
        return np.asarray(np.linalg.solve(self.R, self.Q.T).T)


class Rows(NamedTuple):
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

    def arcs(self, x: float, height: float, error: float, q: int, e: int) -> tuple[Ends, Ends]:
        """Return the offsets of a circle through y at which the rows fail: certainly, and possibly.

        The circle is spanned by the directions q and e. The point y has the coordinates x and height there,
        with errors of at most `error`. At the offset δ = tan(θ/2) towards q, where θ is the angle, a row has
        the value (1 + δ²)⁻¹ times

            slack·(1 + δ²) + 2δ(height·a − x·b) − 2δ²(x·a + height·b),

        where a and b are its slopes along q and e.
        """
        a, b = (self.D * self.lead[i] - SIGNS * self.B[:, i] for i in (q, e))
        slopes_error = sum(
            np.abs(self.D) * self.lead_error[i] + self.D_error * np.abs(self.lead[i]) + self.B_error for i in (q, e)
        )
        rounding = self.slack_error + (abs(x) + height) * slopes_error + 2 * error * (np.abs(a) + np.abs(b))
        used = np.isfinite(self.slack)
        a, b, slack, rounding = a[used], b[used], self.slack[used], 2 * rounding[used]
        if not np.all(slack > rounding):
            raise ArithmeticError
        A, B = slack - 2 * (x * a + height * b), 2 * (height * a - x * b)
        return negative(A + rounding, B, slack + rounding), negative(A - rounding, B, slack - rounding)


class Values(NamedTuple):
    """A linear function of vectors, or several: its values at y and at h directions, with error bounds.

    at_y, y_error : (...) the values at y.
    along, error : (..., h) the values at the directions, and (...) bounds on their errors.
    """

    at_y: Any
    y_error: Any
    along: FloatArray
    error: Any

    def times(self, a: Any) -> Values:
        """Return these functions multiplied by numbers a (...)."""
        b = np.abs(a)
        return Values(a * self.at_y, b * self.y_error, np.multiply.outer(a, np.ones(1)) * self.along, b * self.error)

    def __getitem__(self, i: Any) -> Values:  # type: ignore[override]
        return Values(self.at_y[i], self.y_error[i], self.along[i], self.error[i])


class State(NamedTuple):
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
        if event.enters:
            i, row = event.pick, int(event.sign < 0)
            top, divisor, error = self.c[i].times(event.sign), self.D[row, i], self.D_error[row, i]
        else:
            p = event.before.index(event.pick)
            top, divisor, error = self.coef[p], self.b[p], self.b_error[p]
        size, v, lead = abs(divisor) - error, top.at_y / divisor, top.along / divisor
        return v, (top.y_error + abs(v) * error) / size, lead, (top.error + np.abs(lead) * error) / size

    def rows(self, event: Event, lam: float | None) -> Iterator[Rows]:
        """Yield the inequalities of the step, or of the state at λ."""
        left_out, h = self.left_out, self.c.along.shape[1]
        if lam is None:
            v, v_error, lead, lead_error = self.leader(event)
        else:
            v, v_error, lead, lead_error = lam, 0.0, np.zeros(h), np.zeros(h)
        if lam is None and event.enters:
            left_out = left_out.copy()
            left_out[int(event.sign < 0), event.pick] = True
        slack = np.where(left_out, np.inf, self.D * v - SIGNS * self.c.at_y)
        error = np.abs(self.D) * v_error + self.D_error * abs(v) + self.c.y_error
        yield Rows(slack, error, self.D, self.D_error, lead, lead_error, self.c.along, self.c.error)
        t = np.array(event.signs)
        kept = np.flatnonzero((t != 0) & (np.array(event.before) != event.pick)) if event.signs else []
        if len(kept):
            part, t = self.coef[kept].times(-t[kept]), t[kept]
            E, E_error = -t * self.b[kept], self.b_error[kept]
            slack = np.array([E * v - part.at_y, np.full(len(t), np.inf)])
            error = np.abs(E) * v_error + E_error * abs(v) + part.y_error
            yield Rows(slack, np.array([error, error]), np.array([E, E]), np.array([E_error, E_error]),
                       lead, lead_error, part.along, part.error)  # fmt: skip


class Basis:
    """Coordinates of y and of all statistics, and the products of X with the basis.

    Attributes
    ----------
    qr : the factorisation of the columns of U, the column of ones first if there is an intercept.
    G, rest : XᵀQ (d, m), and Xᵀr (d,) with r = P_U^⊥y.
    z, r_norm : Qᵀy (m,), and ‖r‖.
    eps : ε, see the docstring of this module.
    """

    def __init__(self, problem: Problem, U: IndexArray) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, problem.with_ones(U))
        self.place = {j: i for i, j in enumerate(self.qr.index)}
        Q = self.qr.Qt.T
        r = self.qr.residual(problem.y)
        self.G, self.rest, self.z = problem.correlate(Q), problem.correlate(r), self.qr.Qt @ problem.y
        self.rest[self.qr.index] = 0
        self.r_norm, self.eps = float(np.linalg.norm(r)), problem.rounding(self.qr.kappa)

    def model(self, A: Sequence[int]) -> Model:
        """Return the factorisation of the columns A, and of the column of ones, in these coordinates."""
        columns = [self.place[int(j)] for j in self.problem.with_ones(np.array(A, np.intp))]
        return Model(*np.linalg.qr(self.qr.R[:, columns]))

    def at(self, event: Event, by_length: bool, W: FloatArray, along: FloatArray) -> State:
        """Return the functions that a step compares, at y and at the directions QW + r·along.

        by_length : whether the path is of OLS.
        W, along : (m, h) and (h,).
        """
        problem, eps, model = self.problem, self.eps, self.model(event.before)
        ones, length = problem.d - problem.n_features, problem.column_norms
        B = self.G @ model.off(W)
        if along.any():
            B += np.outer(self.rest, along)
        c = Values(self.G @ model.off(self.z) + self.rest, eps * length * problem.y_norm, B, 3 * eps * length)
        D, D_error = np.ones((2, problem.d)), np.zeros((2, problem.d))
        left_out = np.zeros((2, problem.d), bool)
        left_out[:, [*self.qr.index[:ones], *event.before]] = True
        if by_length:
            D[:], D_error[:] = self._lengths(model), 10 * eps * length
            left_out |= D <= D_error
        rows, b = model.rows()[:, ones:], np.zeros(len(event.before))
        size = 3 * eps * np.linalg.norm(rows, axis=0)
        coef, b_error = Values(rows.T @ self.z, size * problem.y_norm, rows.T @ W, size), b
        if event.signs:
            u = rows @ np.array(event.signs)
            D -= SIGNS * (self.G @ u)
            D_error += 3 * eps * length * np.linalg.norm(u)
            b, b_error = rows.T @ u, 2 * size * np.linalg.norm(u)
        return State(c, D, D_error, left_out, coef, b, b_error)

    def _lengths(self, model: Model) -> FloatArray:
        """Return ‖P_A^⊥X_j‖ (d,). A short one is computed from its projected column."""
        problem = self.problem
        inside = self.G @ model.Q
        square = problem.column_norms.astype(np.float64) ** 2
        left = square - np.einsum("ij,ij->i", inside, inside)
        length = np.sqrt(np.maximum(left, 0))
        short = np.flatnonzero(left < 0.01 * square)
        if len(short):
            Z = problem.columns(short)
            basis = self.qr.Qt.T @ model.Q
            for _ in range(2):
                Z = Z - basis @ (basis.T @ Z)
            length[short] = np.linalg.norm(Z, axis=0)
        return length
