"""Find certificates: small rational problems, solved exactly with python-flint.

Checking a certificate does not need this module. Matrices are `fmpq_mat` and vectors lists of `fmpq`, so
there is no rounding, and every comparison is exact.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sparselin.certificates import step as steps
from sparselin.certificates.arithmetic import Exact, over_common_denominator, root_bounds
from sparselin.certificates.step import Fractions, Indices, StepCertificate, step_name
from sparselin.validation.extras import installed_by, needs

_USE = f"certify, and the check of a flow in balls, need python-flint: {installed_by('verify')}"
with needs("flint", _USE):
    from flint import arb, arb_mat, fmpq, fmpq_mat

Matrix: TypeAlias = Any  # fmpq_mat; python-flint has no annotations
Vector: TypeAlias = list[Any]  # of fmpq
BALLS = arb, arb_mat  # for the check of a flow in balls


class Finder:
    """The finder of proofs for the picks of a path. It works on multiples of X and y with integer entries."""

    def __init__(self, numbers: Exact) -> None:
        self.numbers = numbers
        n, self.d = numbers.X.shape
        self.X = fmpq_mat(n, self.d, numbers.X.ravel().tolist())
        self.Xt = self.X.transpose()
        self.y = column(numbers.y_integers.tolist())
        self.squares = [fmpq(w) for w in numbers.squares]
        self.rows = range(n)
        self._orthogonal: dict[Indices, tuple[Vector, Vector, Any]] = {}

    def step(self, S: Indices, pick: int, claim: str) -> StepCertificate:
        """Prove that Sequential LASSO or OMP may make this pick when the features S have been selected.

        claim : the method. Raises ValueError if the pick is refuted.
        """
        coef, r = self._project(S, self.y)
        c = times(self.Xt, r.entries())
        lam_squared, T = self._tied_set(S, c, pick)
        signs = tuple(1 if c[i] > 0 else -1 for i in T)
        u, rate, Zu, farkas = self._direction(S, T, signs, [abs(c[i]) for i in T])
        active = tuple(i for i, u_i in zip(T, u, strict=True) if u_i > 0)
        b = times(self.Xt, Zu)
        if claim == "sequential_lasso" and pick not in active:
            share = f"{_float(abs(b[pick] / c[pick])):.17g} times the rate of λ"
            why = f"its |c| is λ*, but just below λ* it decreases at {share} with only {active}"
            raise _refutation(S, pick, f"{why} in the model, which is A(S)")
        lam_star_squared = fractions([lam_squared])[0]
        tau = self._tau(S, T, lam_squared, c, b)
        proof = StepCertificate(
            selected=S,
            pick=pick,
            tied=T,
            active=active,
            signs=signs,
            lam_star_squared=lam_star_squared,
            coef=fractions(coef.entries()),
            direction=fractions(u),
            rate=fractions(rate),
            farkas=farkas,
            tau=tau,
        )
        return steps.rescale(proof, 1 / self.numbers.coef_unit, 1 / self.numbers.lam_unit)

    def nonnegative_step(self, S: Indices, pick: int, n_forced: int) -> steps.NonnegativeStep:
        """Prove that nonnegative OMP may make this pick when the features S have been selected.

        The first `n_forced` features of S are the forced ones. Raises ValueError if the pick is refuted.
        """
        coef = self._nonnegative_coef(S[:n_forced], S[n_forced:])
        c = times(self.Xt, (self.y - block(self.X, self.rows, S) * column(coef)).entries())
        off = [j for j, w in enumerate(self.squares) if w != 0 and j not in S and c[j] > 0]
        lam_squared = max((c[j] ** 2 / self.squares[j] for j in off), default=fmpq(0))
        T = tuple(j for j in off if c[j] ** 2 == lam_squared * self.squares[j])
        if pick not in T:
            fault = f"below the largest, that of {T}" if c[pick] > 0 else "not positive"
            raise _refutation(S, pick, f"with coefficients ≥ 0 its correlation is {fault}")
        lam_star_squared = fractions([lam_squared])[0] / self.numbers.lam_unit
        coefs = tuple(v / self.numbers.coef_unit for v in fractions(coef))
        return steps.NonnegativeStep(S, pick, T, lam_star_squared, coefs)

    def ols_step(self, S: Indices, pick: int) -> steps.OlsStep:
        """Prove that OLS may make this pick when the features S have been selected.

        Raises ValueError if the pick is refuted.
        """
        coef, r = self._project(S, self.y)
        c = times(self.Xt, r.entries())
        columns = [self._orthogonalise(S[: t + 1]) for t in range(len(S))]
        left = [fmpq(square) for square in self.numbers.square_lengths()]
        for _, b, square in columns:
            left = [w - b_j * b_j / square for w, b_j in zip(left, b, strict=True)]
        off = [j for j in range(self.d) if j not in S]
        gains = {j: c[j] ** 2 / left[j] for j in off if left[j] != 0}
        largest, T = _largest(gains, S, pick, "no column decreases ‖r‖²; all are orthogonal to r")
        y_unit = (self.numbers.coef_unit * self.numbers.x_unit) ** 2
        if pick not in T:
            own, most = (float(q / y_unit) for q in fractions([gains.get(pick, fmpq(0)), largest]))
            raise _refutation(S, pick, f"it decreases ‖r‖² by {own:.17g}, but {T} by {most:.17g}")
        spanned = tuple(j for j in off if left[j] == 0)
        decrease = fractions([largest])[0] / y_unit
        coefs = tuple(v / self.numbers.coef_unit for v in fractions(coef.entries()))
        basis = tuple(fractions(a) for a, _, _ in columns)
        squares = tuple(v / self.numbers.x_unit**2 for v in fractions(square for *_, square in columns))
        return steps.OlsStep(
            selected=S,
            pick=pick,
            tied=T,
            spanned=spanned,
            decrease=decrease,
            coef=coefs,
            basis=basis,
            squares=squares,
        )

    def flow(self, S: Indices) -> Iterator[tuple[Any, ...]]:
        """Follow the flow without weight decay, with β_S at least squares, until it rests.

        Yields, for τ = 0 and after each event, `support`, `tau`, `coef` and `farkas` of `FlowSaddle`; τ and s
        (d,) in float64; whether β is unique; and whether the flow rests.

        The solutions u on a face are bounded, as `largest_support` requires: s = Xᵀq for some q orthogonal to
        the columns of S, so Σ u_i = ⟨Zu, q⟩, and Zu is the same for all solutions.
        """
        goal, r = self._project(S, self.y)
        start = times(self.Xt, r.entries())
        tau = fmpq(0)
        s = [fmpq(0)] * self.d
        while True:
            signs = {j: int(v.p) for j, v in enumerate(s) if abs(v) == 1}
            size = [sign * start[j] for j, sign in signs.items()]
            u, rate, Zu, farkas = self._direction(S, tuple(signs), tuple(signs.values()), size)
            beta = {j: sign * v for (j, sign), v in zip(signs.items(), u, strict=True) if v > 0}
            coef = fractions([*(goal + column(rate)).entries(), *beta.values()])
            X_J = block(self.X, self.rows, (*S, *beta))
            support = tuple(beta)
            c = times(self.Xt, (r - column(Zu)).entries())
            waits = [((1 if v > 0 else -1) - s_j) / v for s_j, v in zip(s, c, strict=True) if v != 0]
            time = fractions([tau])[0] * self.numbers.coef_unit * self.numbers.x_unit**2
            state = support, time, tuple(v / self.numbers.coef_unit for v in coef), farkas, float(time)
            yield *state, np.array([*map(_float, s)]), (X_J.transpose() * X_J).det() != 0, not waits
            if not waits:
                return
            step = min(waits)
            tau = tau + step
            s = [s_j + step * v for s_j, v in zip(s, c, strict=True)]

    def _orthogonalise(self, S: Indices) -> tuple[Vector, Vector, Any]:
        """Project the last column of S off the other columns of S.

        The projected column is u = X_s − X_{S'}a, where s is the last feature of S and S' are the others.
        Returns the coefficients a, the products Xᵀu, and ‖u‖².
        """
        if S not in self._orthogonal:
            a, u = self._project(S[:-1], block(self.X, self.rows, S[-1:]))
            b = times(self.Xt, u.entries())
            self._orthogonal[S] = list(a.entries()), b, b[S[-1]]
        return self._orthogonal[S]

    def _nonnegative_coef(self, free: Indices, signed: Indices) -> Vector:
        """Return a minimiser β of ‖y − Xβ‖ over the columns `free` and `signed`, with β ≥ 0 on `signed`.

        The coefficients of `free` come first.
        """
        shift, Z = self._project(free, block(self.X, self.rows, signed))
        goal, r = self._project(free, self.y)
        if not signed:
            return list(goal.entries())
        Zt = Z.transpose()
        beta, _ = nonnegative_least_squares(Zt * Z, list((Zt * r).entries()))
        return [*(goal - shift * column(beta)).entries(), *beta]

    def _project(self, S: Indices, V: Matrix) -> tuple[Matrix, Matrix]:
        """Return the least squares coefficients X_S⁺V and the residual P_S^⊥V for V (n, m)."""
        X_S = block(self.X, self.rows, S)
        X_St = X_S.transpose()
        try:
            coef = (X_St * X_S).solve(X_St * V)
        except ZeroDivisionError:
            raise ValueError(
                f"{step_name(S)}: the columns {S} selected before it are linearly dependent"
            ) from None
        return coef, V - X_S * coef

    def _tied_set(self, S: Indices, c: Vector, pick: int) -> tuple[Any, Indices]:
        """Return λ*² = max c_j²/w_j², and the set T of the features j at which this maximum is attained.

        c : Xᵀr for the residual r. The weight w_j is 1, or ‖X_j‖ if columns are normalized.

        Raises ValueError if the pick is not in T.
        """
        ratios = {j: c[j] ** 2 / w for j, w in enumerate(self.squares) if w != 0}
        largest, T = _largest(ratios, S, pick, "λ* is 0; the residual is orthogonal to every column")
        if pick not in T:
            own = ratios.get(pick, fmpq(0))
            sizes = [root_bounds(q / self.numbers.lam_unit)[0] for q in fractions([own, largest])]
            why = (
                f"its correlation is {float(sizes[0]):.17g}, but λ* is {float(sizes[1]):.17g} at {T}, "
                f"1 − c²/λ*² being {_float(1 - own / largest):.3g}. "
                "(Pass normalized=True for a path on unit columns, a weighted Problem for one with weights, "
                'claim="nonnegative_omp" for one with positive=True.)'
            )
            raise _refutation(S, pick, why)
        return largest, T

    def _direction(
        self, S: Indices, T: Indices, signs: Indices, size: Vector
    ) -> tuple[Vector, Vector, Vector, tuple[tuple[int, Fractions], ...]]:
        """Return the direction, `rate`, Zu and the Farkas vectors, as `StepCertificate` defines them.

        The direction u is not always unique; one of largest support is returned.

        S, T : the features before the pick, and the tied features.
        signs, size : the signs and the moduli of the correlations of the tied features.
        """
        columns = [s * self.X[i, j] for i in self.rows for j, s in zip(T, signs, strict=True)]
        signed = fmpq_mat(len(self.rows), len(T), columns)
        shift, Z = self._project(S, signed)
        H = Z.transpose() * Z
        u, duals = largest_support(H, size, *nonnegative_least_squares(H, size))
        farkas = tuple((T[i], _primitive_multiple(fractions(times(Z, g)))) for i, g in duals)
        return u, times(-shift, u), times(Z, u), farkas

    def _tau(self, S: Indices, T: Indices, lam_squared: Any, c: Vector, b: Vector) -> Fraction:
        """Return a number τ ≤ 1 for which the statement `tau` of `StepCertificate` can be proved.

        Let r be the residual of least squares on the selected features S, T the set of tied features, c = Xᵀr
        and b = XᵀZu with the Z and u of `StepCertificate`. The conditions are |c_j − τb_j| ≤ (1 − τ)m_j for j
        outside S ∪ T, where m_j = λ*w_j, and τ(|b_i| + |c_i|) ≤ 2|c_i| for i in T. The first condition says,
        for both signs, that τ(m ∓ b) ≤ m ∓ c = (m² − c²)/(m ± c). If m is irrational, a rational m̄ ≥ m
        replaces m in m ∓ b and in m ± c, which only makes τ smaller. Apart from this and from `_shorten`, τ
        is the largest possible.
        """
        bounds = [2 * abs(c[i]) / (abs(b[i]) + abs(c[i])) for i in T]  # 1 on A(S), less elsewhere
        roots: dict[Any, Any] = {}
        for j in set(range(self.d)) - {*S, *T}:
            m_squared = lam_squared * self.squares[j]
            if m_squared not in roots:
                above = root_bounds(fractions([m_squared])[0])[1]
                roots[m_squared] = fmpq(above.numerator, above.denominator)
            m = roots[m_squared]
            for sign in (1, -1):
                if m > sign * b[j]:
                    bounds.append((m_squared - c[j] ** 2) / ((m + sign * c[j]) * (m - sign * b[j])))
        return _shorten(fractions([min(bounds)])[0])


def _refutation(S: Indices, pick: int, why: str) -> ValueError:
    return ValueError(f"{step_name(S)}: {pick} is refuted: {why}")


def _largest(ratios: dict[int, Any], S: Indices, pick: int, none: str) -> tuple[Any, Indices]:
    """Return the largest ratio and the features that attain it; refuse the pick, with `none`, if it is 0."""
    largest = max(ratios.values(), default=fmpq(0))
    if largest == 0:
        raise _refutation(S, pick, none)
    return largest, tuple(j for j, ratio in ratios.items() if ratio == largest)


def _shorten(tau: Fraction) -> Fraction:
    """Return the fraction τ if its denominator has at most 64 bits; otherwise round it down to 53 bits."""
    if tau.denominator.bit_length() <= 64:
        return tau
    shift = 53 + tau.denominator.bit_length() - tau.numerator.bit_length()
    return Fraction((tau.numerator << shift) // tau.denominator, 1 << shift)


def _primitive_multiple(v: Fractions) -> Fractions:
    """Return the positive multiple of v ≠ 0 whose entries are integers without a common factor."""
    numerators, _ = over_common_denominator(v)
    divisor = math.gcd(*numerators)
    return tuple(Fraction(x // divisor) for x in numerators)


def column(v: Sequence[Any]) -> Matrix:
    """Return v as a matrix of one column."""
    return fmpq_mat(len(v), 1, list(v))


def block(M: Matrix, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the submatrix of M with these rows and columns."""
    return fmpq_mat(len(rows), len(columns), [M[i, j] for i in rows for j in columns])


def times(M: Matrix, v: Sequence[Any]) -> Vector:
    """Return Mv as a list."""
    return list((M * column(v)).entries())


def solve(M: Matrix, v: Sequence[Any]) -> Vector:
    """Return M⁻¹v as a list; ZeroDivisionError if M is singular."""
    return list(M.solve(column(v)).entries())


def solve_integers(A: Any, b: Sequence[int]) -> Fractions:
    """Return A⁻¹b for a matrix of integers; ZeroDivisionError if it is singular."""
    return fractions(fmpq_mat(len(b), len(b), A.ravel().tolist()).solve(column(b)).entries())


def fractions(v: Iterable[Any]) -> tuple[Fraction, ...]:
    """Convert numbers of python-flint to Python's `Fraction`."""
    return tuple(Fraction(int(x.p), int(x.q)) for x in v)


def _float(q: Any) -> float:
    return float(fractions([q])[0])


def nonnegative_least_squares(H: Matrix, c: Vector) -> tuple[Vector, list[int]]:
    """Return a minimiser u of ½uᵀHu − cᵀu over u ≥ 0, and its support.

    A vector u is a minimiser if and only if Hu ≥ c, u ≥ 0 and u∘(Hu − c) = 0. H must be ZᵀZ and c = Zᵀr for
    some Z and r, so the objective is ½‖Zu − r‖² up to a constant. The method is the active set method of
    Lawson and Hanson (1974), with an active set P. While some column z_i of Z has ⟨z_i, r − Zu⟩ > 0, the
    index i enters P, and u moves towards the least squares solution on P. An index i leaves P when u_i would
    become negative.

    H_PP is always nonsingular, whatever the rank of H: when i enters, r − Zu is orthogonal to Z_P, so z_i is
    not in the span of Z_P. The method terminates in exact arithmetic: after each pass the objective is
    minimal on P and smaller than before, and there are finitely many P.
    """
    u = [fmpq(0)] * len(c)
    P = list[int]()
    while True:
        violated = [i for i, Hu_i in enumerate(times(H, u)) if Hu_i < c[i]]
        if not violated:
            return u, P
        P.append(violated[0])
        _descend(H, c, u, P)


def _descend(H: Matrix, c: Vector, u: Vector, P: list[int]) -> None:
    """Move u towards the minimiser of ½uᵀHu − cᵀu over the vectors supported on P.

    If an entry u_i becomes zero on the way, i leaves P, and the move continues. It ends when u is the
    minimiser on the remaining P. u and P are updated in place.
    """
    while True:
        goal = solve(block(H, P, P), [c[i] for i in P])
        step = min([u[i] / (u[i] - g) for i, g in zip(P, goal, strict=True) if g <= 0], default=fmpq(1))
        for i, g in zip(P, goal, strict=True):
            u[i] += step * (g - u[i])
        if min(goal) > 0:
            return
        P[:] = [i for i in P if u[i] > 0]


def largest_support(H: Matrix, c: Vector, u: Vector, P: list[int]) -> tuple[Vector, list[tuple[int, Vector]]]:
    """Return a solution of `nonnegative_least_squares` of largest support, given one solution u of support P.

    All solutions v have the same Zv, where H = ZᵀZ. Let E = {i : (Hu)_i = c_i}. A vector v ≥ 0 is a solution
    if and only if H_EE v_E = c_E and v is zero outside E. For each i ∈ E such that v_i = 0 in all solutions
    found so far, a linear program maximises v_i over all solutions v. The mean of the solutions found has the
    largest support.

    If the maximum of v_i is zero, the dual program gives a vector g, supported on E, with (Hg)_j ≥ 0 for
    j ∈ E, (Hg)_i ≥ 1 and gᵀHu = 0. This g proves that v_i = 0 for every solution v: 0 = gᵀHv = Σ_E v_j(Hg)_j,
    where no term is negative.

    Returns
    -------
    The mean of the solutions found; and, for each i ∈ E outside its support, a pair (i, g) that proves v_i =
    0 in every solution.
    """
    m = len(c)
    E = [i for i, Hu_i in enumerate(times(H, u)) if Hu_i == c[i]]
    if len(E) == len(P):
        return u, []
    B = _independent_columns(H, P + [i for i in E if i not in P])
    rows = block(H, B, E)
    right = [c[i] for i in B]
    basis = [E.index(i) for i in B]
    solutions = [u]
    duals = []
    for place, i in enumerate(E):
        if any(v[i] > 0 for v in solutions):
            continue
        value, multipliers = raise_entry(rows, right, basis, place)
        if multipliers is None:
            solutions.append(_scatter(value, E, m))
        else:
            duals.append((i, _scatter(multipliers, B, m)))
    return [sum(entries, fmpq(0)) / len(solutions) for entries in zip(*solutions, strict=True)], duals


def raise_entry(A: Matrix, b: Vector, basis: list[int], i: int) -> tuple[Vector, Vector | None]:
    """Return a v ≥ 0 with Av = b and v_i > 0, or prove that there is none.

    A : (p, m) of full row rank; v_i must be bounded on {v ≥ 0 : Av = b}.
    basis : indices B of p columns of A with A_B⁻¹b ≥ 0.

    The result is (v, None) if there is such a v. Otherwise it is (v, y), where v_i = 0, and the vector y
    proves that no other v has v_i > 0: yᵀA ≥ e_iᵀ and yᵀb = 0. The method is the simplex method for max v_i,
    stopped at the first v_i > 0. Bland's rule (the lowest index enters, and the lowest blocking index leaves)
    prevents cycles.
    """
    p, m = A.nrows(), A.ncols()
    basis = list(basis)
    while True:
        M = block(A, range(p), basis)
        x = solve(M, b)
        if i in basis and x[basis.index(i)] > 0:
            return _scatter(x, basis, m), None
        y = solve(M.transpose(), [int(j == i) for j in basis])
        prices = times(A.transpose(), y)
        entering = next((j for j in range(m) if prices[j] < int(j == i)), None)
        if entering is None:
            return _scatter(x, basis, m), y
        rate = solve(M, [A[s, entering] for s in range(p)])
        _, _, row = min((x[s] / rate[s], basis[s], s) for s in range(p) if rate[s] > 0)
        basis[row] = entering


def _independent_columns(H: Matrix, order: list[int]) -> list[int]:
    """Return the indices in `order` whose column of H is linearly independent of the columns before it."""
    R, rank = block(H, range(H.nrows()), order).rref()
    return [order[next(j for j in range(len(order)) if R[s, j] != 0)] for s in range(rank)]


def _scatter(values: Vector, places: Sequence[int], m: int) -> Vector:
    """Return the vector (m,) with the given values at the given places and zeros elsewhere."""
    v = [fmpq(0)] * m
    for place, value in zip(places, values, strict=True):
        v[place] = value
    return v
