"""Solutions that are not unique because columns are dependent: those of largest support, and of entropy.

`first_entry` and the flow look for vectors v ≥ 0 for which Zv is a given vector, where Z are columns with
signs. One solution v is known. Its support P has independent columns, A are other columns that are
independent of each other and of P, and D are p columns that depend on these. All solutions are v + Nq ≥ 0,
where column k of N has the entry 1 at the k-th column of D, 0 at the rest of D, and minus the coefficients of
that column on P and A. So q is the new vector on D.

*The largest support.* The entries of v on P are positive, so those of v + εNq are too if ε > 0 is small. On A
and D they are εN_Aq and εq. So the largest support is P together with the largest support of (q, N_Aq) over
the cone

    {q ≥ 0 : N_Aq ≥ 0}.

It depends on v by P alone, and on N by N_A. Multiplying columns of Z by positive numbers multiplies rows and
columns of N_A by positive numbers, so the support stays the same, however much the columns differ in length.
If A is empty, as with duplicates, the support is everything.

*Rounding.* Let X_J = QR be the factorisation of the columns in P, A and S (the columns without penalty), let
x be a dependent column with the coefficients b = X_J⁺x, and u the `unit` of the factorisation. Changes of X_J
by F and of x by f change b by X_J⁺(f − Fb), to first order, and ‖f − Fb‖ ≤ u·s(x) (`ThinQR.sizes`). The rows
of X_J⁺ = R⁻¹Qᵀ have the lengths of the rows of R⁻¹. So rounding of the data changes b_i by at most

    u·s(x)·‖(R⁻¹)_i‖,

and a smaller b_i counts as zero. These bounds are multiplied by the same numbers as N when columns are
multiplied. A solution is accepted only if it still gives Zv to rounding (`keeps_fit`).
"""

from typing import NamedTuple

import numpy as np

from sparselin._kernels import refinement
from sparselin.linalg.thin_qr import Balance, ThinQR, length_of, refine
from sparselin.problem.errors import EPS, TINY
from sparselin.results import FloatArray

# The most Newton steps for the coefficients of largest entropy. The steps converge quadratically after at
# most log(v_max/v_min) damped ones; 100 reach ratios of 1e30, and beyond them the coefficients are left
# undecided.
_NEWTON = 100
_SWEEPS = 4  # the rounds of scaling of a linear program; the answer is checked, whatever their number


class Moves(NamedTuple):
    """The moves along which a combination of columns is constant, one for each dependent column.

    Attributes
    ----------
    columns : J, the columns of the factorisation and then the p dependent columns.
    N : (|J|, p) the moves of v_J. Σ_J sign_j·X_j·v_j is constant along each column of N.
    error : (|J|, p) bounds on the changes of N by rounding of the data.
    size : (p,) the sizes s of the dependent columns (`ThinQR.sizes`).
    """

    columns: list[int]
    N: FloatArray
    error: FloatArray
    size: FloatArray


class FullSupport(NamedTuple):
    """A vector w = v + Nq ≥ 0 of largest support, and the directions in which it may move.

    Attributes
    ----------
    w, q : (m,) and (p,).
    directions : (p, l) a basis of the q for which v + Nq is zero wherever w is zero.
    """

    w: FloatArray
    q: FloatArray
    directions: FloatArray


def dependence_moves(qr: ThinQR, dependent: list[int], signs: FloatArray) -> Moves:
    """Return the `Moves` of the columns `dependent`, which depend linearly on the columns of `qr`.

    signs : (d,) the signs of the columns.
    """
    J = [*qr.index, *dependent]
    p = len(dependent)
    t = qr.size
    N = np.zeros((len(J), p))
    error = np.zeros((len(J), p))
    size = np.zeros(p)
    inverse = np.linalg.inv(qr.R)
    lengths = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    for k, j in enumerate(dependent):
        b = refine(qr, qr.problem.columns([j])[:, 0], None).x
        size[k] = np.hypot(qr.problem.column_norms[j], length_of(qr.norms * b))
        N[:t, k] = -signs[j] * signs[qr.index] * b
        N[t + k, k] = 1
        error[:t, k] = qr.unit * size[k] * lengths
    return Moves(J, N, error, size)


def largest_support(v: FloatArray, N: FloatArray, error: FloatArray) -> FullSupport | None:
    """Return a vector v + Nq ≥ 0 of largest support, over all q; None if rounding leaves it undecided.

    The support of every other nonnegative v + Nq is contained in its support. The derivation is in the
    docstring of the module.

    v : (m,) a vector ≥ 0 that is zero in its last p entries, D.
    N : (m, p) the moves, whose last p rows are the unit matrix.
    error : (m, p) bounds on the errors of N.
    """
    m, p = N.shape
    inside = np.append(v[: m - p] > 0, np.zeros(p, bool))
    outside = np.append(v[: m - p] <= 0, np.zeros(p, bool))
    if not inside.any():
        return None
    nonzero = np.where(np.abs(N) <= error, 0, N)
    # in these units of q, a move by 1 takes at most all of some entry of v
    unit = np.abs(nonzero[inside] / v[inside, None]).max(axis=0)
    unit = np.where(unit > 0, unit, np.abs(nonzero).max(axis=0))
    found = _cone_support(nonzero[outside] / unit, error[outside] / unit)
    if found is None:
        return None
    q, zero, directions = found
    if not q.any():
        return FullSupport(v, q, directions)
    step = N @ (q / unit)
    step[np.flatnonzero(outside)[zero]] = 0
    fastest = -float((step[inside] / v[inside]).min())
    if not fastest > 0:  # the solutions are bounded
        return None
    share = 0.5 / fastest
    w = v + share * step
    if w.min() < 0 or np.count_nonzero(w) < len(w) - np.count_nonzero(zero) - np.count_nonzero(q == 0):
        return None
    return FullSupport(w, share * q / unit, directions / unit[:, None])


def _cone_support(A: FloatArray, error: FloatArray) -> tuple[FloatArray, np.ndarray, FloatArray] | None:
    """Return q ≥ 0 with Aq ≥ 0 such that (q, Aq) has the largest support; None if this is undecided.

    The result is q (p,); which entries of Aq (a,) are zero; and a basis (p, l) of the directions in which q
    can move while its zeros and those of Aq stay zero. `error` (a, p) bounds the errors of A.

    If no entry of a row of A is positive for the q_k that may still be positive, those with negative entries
    are zero. This decides all but rows of both signs, for which a linear program is solved.
    """
    alive = np.ones(A.shape[1], bool)
    while True:
        rows = np.where(alive, A, 0)
        falls, rises = np.asarray((rows < 0).any(axis=1)), np.asarray((rows > 0).any(axis=1))
        stop = (rows[falls & ~rises] < 0).any(axis=0)
        if not stop.any():
            break
        alive &= ~stop
    q = alive.astype(np.float64)
    zero = ~rises
    mixed = falls
    if not mixed.any():
        return q, zero, np.eye(len(q))[:, alive]
    found = _solve_program(A[mixed][:, alive], error[mixed][:, alive])
    if found is None:
        return None
    q[alive], tight = found
    zero = ~np.asarray((np.where(q > 0, A, 0) > 0).any(axis=1))
    zero[np.flatnonzero(mixed)[tight]] = True
    kept = np.flatnonzero(q > 0)
    B = A[mixed][tight][:, kept]
    _, sigma, Vt = np.linalg.svd(B)
    rank = int(np.sum(sigma > np.linalg.norm(error[mixed][tight][:, kept])))
    directions = np.zeros((len(q), len(kept) - rank))
    directions[kept] = Vt[rank:].T
    return q, zero, directions


def _solve_program(A: FloatArray, error: FloatArray) -> tuple[FloatArray, np.ndarray] | None:
    """Return q ≥ 0 with Aq ≥ 0 such that (q, Aq) has the largest support, and which entries of Aq are zero.

    The method is the linear program max Σt over q and 0 ≤ t ≤ 1 with t ≤ (q, Aq). In its solution t_i = 1 if
    entry i can be positive, else t_i = 0 (Freund, Roundy and Todd, 1985). Its dual solution y ≥ 0 satisfies
    yᵀ(q, Aq) = 0 for all q, and y_i ≥ 1 where t_i = 0.

    The solver's answer is not trusted. Least squares makes Aq zero where t is zero, and removes y's part
    where t is one. Then the positive entries of (q, Aq) and of y must exceed their errors, and every other
    entry must be within its errors of zero: q shows that the support is as large as claimed, and y that it is
    not larger. Otherwise the result is None.
    """
    from scipy.optimize import linprog

    a, p = A.shape
    rows, columns = np.ones(a), np.ones(p)
    for _ in range(_SWEEPS):
        sizes = np.abs(A) * rows[:, None] * columns
        rows /= np.sqrt(sizes.max(axis=1) * np.where(sizes > 0, sizes, np.inf).min(axis=1))
        sizes = np.abs(A) * rows[:, None] * columns
        present = sizes.any(axis=0)
        low = np.where(sizes > 0, sizes, np.inf).min(axis=0, where=present, initial=np.inf)
        columns[present] /= np.sqrt(sizes.max(axis=0)[present] * low[present])
    A, error = A * rows[:, None] * columns, error * rows[:, None] * columns
    error = error + (p + a) * EPS * np.abs(A)  # of the sums here
    whole = np.vstack([np.eye(p), A])
    bounds = [(0, None)] * p + [(0, 1)] * (p + a)
    cost = np.concatenate([np.zeros(p), -np.ones(p + a)])
    program = linprog(cost, np.hstack([-whole, np.eye(p + a)]), np.zeros(p + a), bounds=bounds)
    if program.status != 0:
        return None
    one = program.x[p:] > 0.5
    kept = one[:p]
    tight = ~one[p:]
    q, y = np.where(kept, program.x[:p], 0), np.where(tight, -program.ineqlin.marginals[p:], 0)
    B = A[np.ix_(tight, kept)]
    if B.any():
        level = float(np.linalg.norm(error[np.ix_(tight, kept)])) / float(np.linalg.norm(B, 2))
        q[kept] -= np.linalg.lstsq(B, B @ q[kept], level)[0]
        y[tight] -= np.linalg.lstsq(B.T, B.T @ y[tight], level)[0]
    value = A @ q
    off = error @ np.abs(q)
    price = -(y @ A)
    slack = np.abs(y) @ error
    reached = (q[kept] > 0).all() and (value[~tight] > off[~tight]).all()
    proved = (y[tight] > 0).all() and (price[~kept] > slack[~kept]).all()
    zeros = (np.abs(value) <= off)[tight].all() and (np.abs(price) <= slack)[kept].all()
    return (q * columns, tight) if reached and proved and zeros else None


def largest_entropy(support: FullSupport, N: FloatArray) -> FloatArray | None:
    """Return the vector v = w + Nq ≥ 0 for which −Σ v_i log v_i is largest; None if it is not found.

    w is from `support`. Newton's method stays on this support: the minimiser of Σ v_i log v_i exists and is
    positive there, because the derivative of v log v is −∞ at 0.
    """
    v = support.w.copy()
    positive = support.w > 0
    scale = float(support.w.max())
    M = N[positive] @ support.directions
    u = v[positive] / scale
    for _ in range(_NEWTON):
        root = np.sqrt(u)
        A = M / root[:, None]
        A /= np.sqrt((A**2).sum(axis=0))  # columns may differ in scale
        relative = A @ np.linalg.lstsq(A, -root * (np.log(u) + 1), rcond=None)[0] / root
        u_next = u * (1 + relative * min(1.0, 0.9 / max(float(np.abs(relative).max()), TINY)))
        if u @ relative**2 <= EPS * u.sum():  # the next step changes the entropy by about EPS²
            v[positive] = u_next * scale
            return v
        u = u_next
    return None


def keeps_fit(qr: ThinQR, goal: Balance, columns: list[int], x: FloatArray, extra: float) -> bool:
    """Return whether X_Jx is the same as X_Ax_A to rounding, where A are the columns of `qr`.

    goal : the `Balance` r + X_Ax_A = f of the factorisation; f is 0 or y.
    columns, x : J and x (|J|,).
    extra : Σ_k s(X_k)|q_k| over the moves q_k of dependent columns X_k.

    Rounding x changes X_Jx by eps·Σ‖X_j‖|x_j|, and a column counts as dependent if it leaves the span by at
    most unit·s(X_k). So the difference, which is computed in twice the precision, may be

        unit·(Σ_J ‖X_j‖|x_j| + Σ_A ‖X_j‖|(x_A)_j| + extra).
    """
    problem = qr.problem
    used = np.flatnonzero(x)
    J = [columns[i] for i in used]
    rows = np.concatenate([qr.columns, problem.columns(J).T]) if J else qr.columns
    low = np.concatenate([-goal.x_low, np.zeros(len(J))])
    none = np.zeros(problem.n)
    parts = np.concatenate([-goal.x, x[used]])
    left, _ = refinement.remainders(rows, none, np.zeros(len(parts)), none, none, parts, low)
    size = float(problem.column_norms[[*qr.index, *J]] @ np.abs(parts))
    return length_of(left) <= qr.unit * (size + extra)
