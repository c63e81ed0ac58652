"""Exact oracles: every float is a rational number, and all facts about a design are computed from those.

They share no code with the package. With [X y] = N·2^p, N of integers, Q = N_S for independent S and
D = det QᵀQ, the matrix D·P_S^⊥N = D·N − Q adj(QᵀQ) QᵀN holds integers, and all that greedy selection speaks
of are products of its columns:

    c_i = ⟨X_i, P_S^⊥y⟩,   H_ij = ⟨P_S^⊥X_i, P_S^⊥X_j⟩,   ‖P_S^⊥y‖².
"""

import copy
import functools
import itertools
import math
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

# A claim may be off by C times the first-order rounding error of the data; stated here and nowhere else. The
# package allows itself 8·eps a term, so that honest bounds stay clear of it.
C = 64
DOUBLE = float(np.finfo(np.float64).eps)
# What a KKT violation may be of λ, whatever bounds on rounding allow: more is a wrong answer.
SHARE = 1e-2
# Rounding each β_i moves c_j by eps·‖X_j‖Σ‖X_i‖|β_i|/2 at most; interpolated between two knots, by some more.
ROUNDED = 8


def integers(A, low=None):
    """A = N·2^low, N as rows of Python integers; the largest low that serves, if none is given."""
    mantissa, exponent = np.frexp(np.asarray(A, np.float64))
    mantissa, exponent = (mantissa * 2.0**53).astype(np.int64), exponent - 53
    nonzero = mantissa != 0
    low = int(exponent[nonzero].min(initial=0)) if low is None else low
    shift = np.where(nonzero, exponent - low, 0)
    return [
        [m << e if e >= 0 else m >> -e for m, e in zip(*rows, strict=True)]
        for rows in zip(mantissa.tolist(), shift.tolist(), strict=True)
    ], low


def power(p):
    return fmpq(2) ** p if p >= 0 else 1 / fmpq(2) ** -p


def number(q):
    """A rational, rounded once."""
    return int(q.p) / int(q.q)


def root(q):
    """√q, whatever the size of its parts."""
    p, q = int(q.p), int(q.q)
    if p <= 0:
        return 0.0
    shift = (p.bit_length() - q.bit_length() - 110) // 2
    p, q = (p >> 2 * shift, q) if shift > 0 else (p << -2 * shift, q)
    return math.ldexp(math.sqrt(p / q), shift) if p else 0.0


def part(M, rows, columns):
    return fmpq_mat(len(rows), len(columns), [M[i, j] for i in rows for j in columns])


class Projector:
    """P_S^⊥ for columns S of a matrix N given by rows of integers; of dependent ones the later are left out.

    basis, scale : S, independent; D = det QᵀQ > 0.
    coef : (|basis|, ·) floats X_S⁺M.
    """

    def __init__(self, rows, S):
        basis, self.scale, Q = [], 1, None
        for j in S:
            tried = fmpz_mat([[row[i] for i in (*basis, j)] for row in rows])
            if tried.rank() > len(basis):
                basis.append(j)
                Q = tried
        self.basis, self.Q, self.coef = basis, Q, np.zeros((0, len(rows[0])))
        if basis:
            G = Q.transpose() * Q
            self.scale = int(G.det())
            inverse, denominator = fmpq_mat(G).inv().numer_denom()
            self.adjugate = inverse * (self.scale // int(denominator)) * Q.transpose()
            solved = self.adjugate * fmpz_mat(rows)
            self.coef = np.array([[int(x) / self.scale for x in row] for row in solved.tolist()])

    def __call__(self, A):
        """D·P_S^⊥A."""
        return A if self.Q is None else A * self.scale - self.Q * (self.adjugate * A)


class Design:
    """(X, y) exactly; `at(S)` is what is true once the columns S are selected."""

    def __init__(self, X, y, base=(), total=None, eps=None):
        """`base` are columns of every S; without their part standardized columns have the length √total.

        `eps` is what the data are known to, if that is not the eps of their dtype. Float32 data are exact in
        float64, where most methods compare: `double` is what they are known to there.
        """
        X = np.asarray(X)
        self.X, self.y, (self.n, self.d) = X.astype(np.float64), np.asarray(y, np.float64), X.shape
        self.eps = float(np.finfo(X.dtype).eps) if eps is None else eps
        self.double = DOUBLE if eps is None else eps
        self.rows, self.low = integers(np.column_stack([X, y]))
        columns = fmpz_mat(self.rows).transpose().tolist()
        self.square = [sum((x * x for x in column), fmpq(0)) * power(2 * self.low) for column in columns]
        self.length = np.array([root(q) for q in self.square])
        self.base, self._at, self._tables = tuple(base), {}, {}
        self.scale = None  # squares of the factors of standardized columns
        if total is not None:
            squares = Step(self, self.base).square[: self.d]
            self.scale = [total / q if q else fmpq(1) for q in squares]

    def at(self, S):
        key = tuple(sorted(S))
        if key not in self._at:
            self._at[key] = Step(self, key)
        return self._at[key]

    @functools.cached_property
    def G(self):
        M = fmpz_mat(self.rows)
        return fmpq_mat(M.transpose() * M) * power(2 * self.low)

    def explained_by(self, S):
        return self._subsets(self.eps)[0][sum(1 << int(j) for j in S)]

    def doubtful(self, S, eps=None):
        """Return whether rounding may put a column of S into the span of the columns before it."""
        return self._subsets(self.eps if eps is None else eps)[1][sum(1 << int(j) for j in S)]

    def _subsets(self, eps):
        """‖y‖² − ‖P_S^⊥y‖² and whether S is doubtful, for all S, by bit masks; of few columns."""
        if eps in self._tables:
            return self._tables[eps]
        y, table, doubt = self.d, [fmpq(0)] * 2**self.d, [False] * 2**self.d

        def grow(H, J, S, doubted):  # J: the columns that may still be added to S, H what is left by S
            mask = sum(1 << j for j in S)
            table[mask], doubt[mask] = self.square[y] - H[y, y], doubted
            for place, j in enumerate(J):
                smaller, less = H, doubted
                if H[j, j] != 0:
                    row = [H[j, i] / H[j, j] for i in range(y + 1)]
                    smaller = H - fmpq_mat(y + 1, y + 1, [H[i, j] * q for i in range(y + 1) for q in row])
                    if not doubted and H[j, j] < self.square[j] * fmpq(1, 10**6):
                        less = bool(self.at(S).z[j] <= C * eps * self.at(S).s[j])
                grow(smaller, J[place + 1 :], (*S, j), less)

        grow(self.G, list(range(self.d)), (), False)
        self._tables[eps] = table, doubt
        return table, doubt


class Step:
    """At S: c, ‖z‖, ‖r‖ and what rounding of the data moves them by, z_i = P_S^⊥X_i, r = P_S^⊥y.

    The *size* of x is s(x) = √(‖x‖² + Σ_j ‖X_j‖²b_j²), b = X_S⁺x: to first order, relative rounding u of the
    columns moves z_i by u·s_i, r by u·s_y, and c_i by e_i = u(s_i‖r‖ + ‖z_i‖s_y), and by u√n‖z_i‖‖r‖ its sum.
    """

    def __init__(self, design, S):
        d, length = design.d, design.length
        project = Projector(design.rows, S)
        self.design, self.S, self.basis = design, S, project.basis
        self.columns = project(fmpz_mat(design.rows)).transpose().tolist()
        self.unit = power(2 * design.low) / project.scale**2
        self.square = [self.dot(j, j) for j in range(d + 1)]
        self.free = [j for j in range(d) if j not in S]
        self.exact = [self.dot(j, d) for j in range(d)]
        size = np.sqrt(length**2 + length[project.basis] ** 2 @ project.coef**2)
        self.c = np.array([number(q) for q in self.exact])
        self.z = np.array([root(q) for q in self.square[:d]])
        self.s, self.sy, self.r = size[:d], size[d], root(self.square[d])
        self.off = C * design.eps * self.sy  # what rounding moves r by
        self.error = self.s * self.r + self.z * self.sy + math.sqrt(design.n) * self.z * self.r
        # in the span of S to rounding: such a column may count as being there
        self.spanned = self.z <= C * design.eps * self.s
        self.factor = np.array([1.0] * d if design.scale is None else [root(q) for q in design.scale])
        for values in (self.c, self.z, self.s, self.error):
            values *= self.factor
        self.seen = [j for j in self.free if not self.spanned[j]]

    @property
    def square_off(self):
        """Return what rounding moves ‖r‖² by."""
        return self.off * (2 * self.r + self.off)

    @functools.cached_property
    def turned(self):
        """Return what rounding moves ‖r‖ by to second order, where it turns the span of S by C·eps·κ.

        κ² = Σ_S ‖X_j‖²(G_SS⁻¹)_jj. The turn moves r by C·eps·κ‖r‖ within the span, where r had no part.
        """
        inverse, S = part(self.design.G, self.basis, self.basis).inv(), self.basis
        kappa_squared = sum(self.design.length[j] ** 2 * number(inverse[i, i]) for i, j in enumerate(S))
        return min(1.0, C**2 * self.design.eps**2 * kappa_squared) * self.r

    def dot(self, i, j):
        """H_ij, y being column d."""
        pairs = zip(self.columns[i], self.columns[j], strict=True)
        return self.unit * sum((a * b for a, b in pairs), fmpz(0))

    def e(self, eps=None):
        unit = C * (self.design.eps if eps is None else eps)
        return unit * (self.error + unit * self.s * self.sy)

    def positive(self, picks):
        """Return this step with max(c, 0) in place of c, and without the picks."""
        found = copy.copy(self)
        for name in ("lam", "squares", "top", "tied", "falls"):
            vars(found).pop(name, None)
        found.exact = [max(q, fmpq(0)) for q in self.exact]
        found.c = np.maximum(self.c, 0)
        found.free, found.seen = ([j for j in J if j not in picks] for J in (self.free, self.seen))
        return found

    @functools.cached_property
    def lam(self):
        """λ* exactly, over the columns that rounding does not put into the span of S."""
        return max((abs(self.exact[j]) for j in self.seen), default=fmpq(0))

    @functools.cached_property
    def squares(self):
        """c_j² of the columns seen, standardized where they are."""
        scale = self.design.scale
        return {j: self.exact[j] ** 2 * (1 if scale is None else scale[j]) for j in self.seen}

    @functools.cached_property
    def top(self):
        """λ* as a float, of standardized columns where they are."""
        if self.design.scale is None:
            return number(self.lam)
        return root(max(self.squares.values(), default=fmpq(0)))

    @functools.cached_property
    def tied(self):
        highest = max(self.squares.values(), default=0)
        return tuple(j for j in self.seen if highest and self.squares[j] == highest)

    @functools.cached_property
    def falls(self):
        """c_j²/‖z_j‖² for those columns."""
        return {j: self.exact[j] ** 2 / self.square[j] for j in self.seen}

    def entry(self, T=None):
        """A(S), one v (|T|,), Hv: by enumeration of supports.

        v ≥ 0 solves min ½vᵀHv − 1ᵀv iff Hv ≥ 1 with equality where v > 0. All solutions share Zv, so they are
        a polytope (1ᵀv = ‖Zv‖² bounds it), whose vertices have supports P with independent Z_P: v_P = H_P⁻¹1.
        A(S), every index that is positive in some solution, is the union of those P.
        """
        T = self.tied if T is None else T
        sign = [1 if self.exact[j] > 0 else -1 for j in T]
        signed = list(zip(sign, T, strict=True))
        H = fmpq_mat(len(T), len(T), [a * b * self.dot(i, j) for a, i in signed for b, j in signed])
        # standardized: with u_j = factor_j·v_j the conditions are Hu ≥ 1/factor, proportional to |c|
        ones = fmpq_mat(len(T), 1, [abs(self.exact[j] / self.exact[T[0]]) for j in T])
        active, found = set(), None
        for size in range(1, len(T) + 1):
            for P in itertools.combinations(range(len(T)), size):
                try:
                    v = part(H, P, P).solve(part(ones, P, [0]))
                except ZeroDivisionError:
                    continue
                if all(v[i, 0] > 0 for i in range(size)):
                    rate = part(H, range(len(T)), P) * v
                    if all(rate[i, 0] >= ones[i, 0] for i in range(len(T))):
                        active |= {T[i] for i in P}
                        whole = [fmpq(0)] * len(T)
                        for i, j in enumerate(P):
                            whole[j] = v[i, 0]
                        found = whole, [rate[i, 0] / ones[i, 0] for i in range(len(T))]
        return tuple(sorted(active)), *found

    def window(self, T, v):
        """(c_j, ⟨X_j, Zv⟩) for j ∉ T ∪ S, as floats, from which λ₂ follows."""
        outside = [j for j in self.seen if j not in T]
        signed = [(w if self.exact[i] > 0 else -w, i) for w, i in zip(v, T, strict=True)]
        slope = [number(sum((w * self.dot(j, i) for w, i in signed), fmpq(0))) for j in outside]
        return outside, np.array(slope)


def first_entry(X, y, S, normalized=False):
    """Return λ*² (over ‖X_j‖² of normalized columns), T and A(S)."""
    design = Design(np.asarray(X, float), y)
    step, square = design.at(S), [q if normalized and q else 1 for q in design.square[: design.d]]
    ratio = [c**2 / q for c, q in zip(step.exact, square, strict=True)]
    if not any(ratio):
        return Fraction(0), (), ()
    T = tuple(j for j, q in enumerate(ratio) if q == max(ratio))
    return Fraction(int(max(ratio).p), int(max(ratio).q)), T, step.entry(T)[0]


class Reduced:
    """Solutions β (m, d) of the LASSO at m levels λ, judged with the columns S projected out, exactly.

    What S takes of a fit is settled by least squares, and is another claim: with r = P_S^⊥(y − Xβ), c = Xᵀr,
    rounding a β moves c_j by eps·‖z_j‖·Σ‖z_i‖|β_i|, z_i = P_S^⊥X_i, without the offsets that S explains.

    off (m, d) : |c_j − λ sign β_j| where β_j ≠ 0, (|c_j| − λ)₊ elsewhere off S; |⟨X_j, y − Xβ⟩| for j ∈ S.
    slack (m, d) : λ − |c_j|.
    raw (m, d) : √n·‖X_j‖(‖y‖ + Σ‖X_i‖|β_i|), a backward error is some eps of it.
    size, data (m, d) : the like with S projected out (see `Step`), and that at β = 0.
    """

    def __init__(self, X, y, coef, lam, S, factor=None, positive=False):
        """Columns count times `factor` (d,), if given; with `positive` c stands for |c|, and 1 for signs."""
        X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        self.factor = 1.0 if factor is None else factor
        coef, lam = np.atleast_2d(np.asarray(coef, np.float64)), np.atleast_1d(np.asarray(lam, np.float64))
        rows, a = integers(np.column_stack([X, y]))
        b = min(integers(coef)[1], integers(lam[None])[1] - 2 * a, 0)
        beta, levels = fmpz_mat(integers(coef, b)[0]).transpose(), integers(lam[None], 2 * a + b)[0][0]
        A, target = fmpz_mat([row[:-1] for row in rows]), fmpz_mat([[row[-1]] for row in rows])
        (n, d), m = X.shape, len(lam)
        fit = A * beta
        R = fmpz_mat(n, m, [int(target[i, 0] << -b) - int(fit[i, t]) for i in range(n) for t in range(m)])
        project = Projector(rows, sorted(S))
        raw, scale, basis, B = A.transpose() * R, project.scale, project.basis, project.coef
        R, M = project(R), project(fmpz_mat(rows))
        c = A.transpose() * R
        unit = Fraction(2) ** (2 * a + b)
        self.off, self.slack = np.zeros((m, d)), np.zeros((m, d))
        inverse = [1] * d if factor is None else [1 / Fraction(f) for f in factor.tolist()]
        for t, j in itertools.product(range(m), range(d)):
            level, at = levels[t] * scale * inverse[j], int(c[j, t])
            wrong = (at if positive else abs(at)) - level
            self.slack[t, j] = float(-wrong * unit / scale)
            if j in S:
                wrong = int(abs(raw[j, t])) * scale
            elif coef[t, j]:
                wrong = abs(at - (level if positive or coef[t, j] > 0 else -level))
            self.off[t, j] = float(max(wrong, 0) * unit / scale)

        def length(column, p):
            return root(fmpq(sum(int(i) ** 2 for i in column), scale**2) * power(2 * p))

        lengths = np.linalg.norm(np.column_stack([X, y]), axis=0)
        z = np.array([length(column, a) for column in M.transpose().tolist()])
        s = np.sqrt(lengths**2 + lengths[basis] ** 2 @ B**2)
        absolute = np.abs(coef)
        absolute[:, list(S)] = 0
        r = np.array([length(column, a + b) for column in R.transpose().tolist()])
        fitted = z[-1] + absolute @ z[:-1]  # ‖P_S^⊥y‖ + Σ‖z_j‖|β_j|
        sized = s[-1] + absolute @ s[:-1]
        root_n = math.sqrt(n)
        inside = lengths[-1] + np.abs(coef) @ lengths[:-1]
        self.raw = root_n * np.outer(inside, lengths[:-1])
        self.size = np.outer(r, s[:-1]) + np.outer(sized, z[:-1]) + root_n * np.outer(fitted, z[:-1])
        self.data = np.ones((m, 1)) * (z[-1] * s[:-1] + z[:-1] * (s[-1] + root_n * z[-1]))
        self.size[:, list(S)] = self.data[:, list(S)] = self.raw[:, list(S)]

    def allowed(self, unit, lam, multiplied=False):
        """A backward error; and SHARE·λ, but where even at β = 0 rounding of the data says no more.

        Or where the exact β, rounded, violates the conditions as much. Data that were multiplied by √weight
        or scales are rounded: then it is an error in X_S, too.
        """
        share = np.maximum(SHARE * np.asarray(lam)[:, None] / self.factor, ROUNDED * unit / C * self.raw)
        raw = np.maximum(self.raw, self.size) if multiplied else self.raw
        return np.minimum(unit * raw, np.where(share > unit * self.data, share, unit * self.size))


def residual(X, y, coef):
    """y − Xβ, in fractions."""
    beta = [Fraction(float(b)) for b in coef]
    return [
        Fraction(row[-1]) - sum(Fraction(x) * b for x, b in zip(row[:-1], beta, strict=True) if b)
        for row in np.column_stack([X, y]).astype(np.float64).tolist()
    ]


def objective(exact, coef, lam, S):
    """½‖y − Xβ‖² + λ‖β_{S̄}‖₁, a fraction, β in the units of standardized columns where there are such."""
    factor = exact.at(exact.base).factor.tolist()
    penalized = sum(abs(Fraction(float(b))) / Fraction(factor[j]) for j, b in enumerate(coef) if j not in S)
    return sum(r**2 for r in residual(exact.X, exact.y, coef)) / 2 + Fraction(float(lam)) * penalized


def definiteness(design, S, sign, shift):
    """1, 0, −1: sign·C_S − shift·I is positive definite, semidefinite, neither; by elimination, exactly."""
    numerator, denominator = float(shift).as_integer_ratio()
    shift, m = fmpq(numerator, denominator), len(S)
    M = fmpq_mat(m, m, [sign * design.G[i, j] - (shift if i == j else 0) for i in S for j in S])
    J = list(range(m))
    while J:
        pivot = max(J, key=lambda j: M[j, j])
        if M[pivot, pivot] <= 0:
            return 0 if all(M[i, j] == 0 for i in J for j in J) else -1
        J.remove(pivot)
        column = [M[i, pivot] for i in range(m)]
        M = M - fmpq_mat(m, m, [a * b / column[pivot] for a in column for b in column])
    return 1
