"""Prove long LASSO paths in balls: numbers whose errors are bounded, at each knot.

Column j of X is divided by a power of two, w_j⁻¹, so that its length is near 1. Then c_j is compared with
w_jλ in place of λ. At knot k one feature e enters or leaves. Let J be the features of S and the larger of
the two active sets, with Gram matrix G = X_JᵀX_J, and s the signs, zero on S, times w. On the segment

    β(λ) = G⁻¹(X_Jᵀy − λs),   and λ_k is the zero of β_e.

Let β̃ and λ̃ be approximate, with β̃_e = 0, and ρ = X_Jᵀ(y − Xβ̃) − λ̃s, which is computed in integers, without
rounding. Then β(λ̃) − β̃ = G⁻¹ρ, so λ_k = λ̃ + η with η = (G⁻¹ρ)_e/(G⁻¹s)_e, and

    β(λ_k) − β̃ = G⁻¹(ρ − ηs).

Let T be a matrix for which W = X_JT is nearly orthonormal: ‖WᵀW − I‖ ≤ δ < ½. T is computed in float64, and δ
includes the rounding of W. So X_J has full rank, G⁻¹ = T(WᵀW)⁻¹Tᵀ, and for any vector v

    |(G⁻¹v)_i| ≤ ‖T_i‖‖Tᵀv‖/(1 − δ),   ‖X_JG⁻¹v‖ ≤ ‖Tᵀv‖/√(1 − δ),

where T_i is row i of T. With (G⁻¹s)_e = T_e(Tᵀs) up to ‖T_e‖‖Tᵀs‖δ/(1 − δ) this bounds the errors of λ_k, of
β and, because the columns have lengths below 2, of c. If they decide an inequality in neither way, β̃ and λ̃
are refined: T·Tᵀ is nearly G⁻¹.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sparselin.certificates.integers import IntegerColumns, Integers
from sparselin.parallel.threads import limit_blas
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

_ROUNDS = 20  # of refinement
_STEP = 48  # the bits by which a refinement makes β̃ and λ̃ longer
_SAFE = 1 + 2.0**-20  # covers the rounding of the bounds, which are sums of fewer than 2²⁰ terms
_LOST = 2.0**-800  # covers the bits that `_to_floats` drops


def follow_in_balls(
    given: Any, X: FloatArray, y: FloatArray, end: float | None = None
) -> tuple[Fraction, list[tuple[float, dict[int, float]]]]:
    """Prove in balls the active sets and the end of a certificate, as `LassoCertificate.verify` explains.

    end : the λ at which the path ends; by default that of the certificate. If this cannot be proved, a λ that
        is larger by 2⁻³⁰ of it is tried, because the path may end at an event.

    Returns the end, and λ and the nonzero coefficients of each knot as floats. Raises ValueError if a
    statement is refuted, or not decided.
    """
    try:
        with limit_blas(X.size):
            return _follow(given, X, y, end)
    except OverflowError:
        raise ValueError("undecided in balls: a number is beyond the range of float64") from None


def _follow(
    given: Any, X: FloatArray, y: FloatArray, end: float | None
) -> tuple[Fraction, list[tuple[float, dict[int, float]]]]:
    balls = _Balls(given, X, y)
    found = []
    above: _Point | None = None
    last = len(given.knots) - 1
    for k in range(last):
        above = balls.knot(k, above)
        found.append(balls.floats(above))
    lam = given.knots[-1].lam if end is None else Fraction(end)
    try:
        at = balls.end(last, lam, above)
    except ValueError:
        if not end:
            raise
        lam *= 1 + Fraction(1, 2**30)
        at = balls.end(last, lam, above)
    return lam, [*found, balls.floats(at)]


class _Basis(NamedTuple):
    """The columns J and a matrix T for which X_JT is nearly orthonormal.

    T : (|J|, |J|).
    rows : (|J|,) bounds on the lengths of the rows of T.
    delta : δ.
    """

    J: list[int]
    T: FloatArray
    rows: FloatArray
    delta: float


class _Point(NamedTuple):
    """Approximations at a knot, and bounds on their errors.

    lam, lam_error : λ̃, and a bound on its error.
    beta : β̃ as floats.
    """

    J: list[int]
    lam: Fraction
    lam_error: float
    beta: FloatArray


class _Balls:
    """The data of a path, scaled so that y and the columns of X have lengths near 1."""

    def __init__(self, given: Any, X: FloatArray, y: FloatArray) -> None:
        self.given = given
        self.S = list(given.forced)
        self.powers = np.frexp(np.abs(X).max(axis=0))[1] + np.frexp(float(len(X)) ** 0.5)[1]
        self.y_power = int(np.frexp(np.abs(y).max(initial=0.0))[1])
        self.X = np.ldexp(X, -self.powers)
        scaled = np.ldexp(y, -self.y_power)
        exact = (np.ldexp(self.X, self.powers) == X).all() and (np.ldexp(scaled, self.y_power) == y).all()
        if not exact:
            raise ValueError("undecided in balls: the entries of X or y differ too much in size")
        self.columns = IntegerColumns(self.X)
        self.y_columns = IntegerColumns(scaled[:, None])
        self.y = scaled
        self.nonzero = int(X.any(axis=0).sum())
        self.weights = np.ldexp(1.0, -self.powers)
        self.last_basis: _Basis | None = None

    def basis(self, J: list[int]) -> _Basis:
        if self.last_basis is not None and self.last_basis.J == J:
            return self.last_basis
        X_J = self.X[:, J]
        n, m = X_J.shape
        delta = np.inf
        if m <= n:
            with np.errstate(all="ignore"):
                try:
                    T = np.linalg.inv(np.linalg.qr(X_J, mode="r"))
                    W = X_J @ T
                    size = np.linalg.norm(W)
                    lost = m * EPS * np.linalg.norm(X_J) * np.linalg.norm(T)
                    delta = np.linalg.norm(W.T @ W - np.eye(m)) + n * EPS * size**2
                    delta = (delta + 2 * size * lost + lost**2 + EPS) * _SAFE
                except np.linalg.LinAlgError:
                    pass
        if not delta < 0.01:
            raise ValueError(f"undecided in balls: the columns of {J} are nearly or exactly dependent")
        self.last_basis = _Basis(J, T, np.linalg.norm(T, axis=1) * _SAFE, float(delta))
        return self.last_basis

    def knot(self, k: int, above: _Point | None) -> _Point:
        """Prove the inequalities at knot k, which is not the last one."""
        rows = self.given.knots
        nothing: dict[int, int] = {}
        old = dict(zip(rows[k - 1].active, rows[k - 1].signs, strict=True)) if k else nothing
        new = dict(zip(rows[k].active, rows[k].signs, strict=True))
        before = dict(zip(rows[k - 2].active, rows[k - 2].signs, strict=True)) if k > 1 else nothing
        name = f"knots[{k}]: "
        if len({*old} ^ {*new}) != 1:
            raise ValueError(name + "balls prove knots at which one feature enters or leaves")
        (e,) = {*old} ^ {*new}
        if any(old[j] != new[j] for j in {*old} & {*new}):
            raise ValueError(name + "a sign changes, but the feature stays active")
        back = e in new and before.get(e) == new[e]
        if (k > 0 and e in old and e not in before) or back:
            raise ValueError(name + f"feature {e} was at this event at the knot before")
        return self._prove(name, old | new, e, None, above)

    def end(self, k: int, lam: Fraction, above: _Point | None) -> _Point:
        """Prove the inequalities at the end of the path, λ."""
        row = self.given.knots[k]
        signs = dict(zip(row.active, row.signs, strict=True))
        if lam < 0:
            raise ValueError(f"knots[{k}]: λ is negative")
        if lam.denominator & (lam.denominator - 1):
            raise ValueError(f"knots[{k}]: in balls the last λ must be a float")
        return self._prove(f"knots[{k}]: ", signs, None, lam / Fraction(2) ** self.y_power, above)

    def _prove(
        self, name: str, signs: dict[int, int], e: int | None, fixed: Fraction | None, above: _Point | None
    ) -> _Point:
        """Find and prove a knot at which feature e has the coefficient zero, or the end, at a fixed λ."""
        basis = self.basis([*self.S, *sorted(signs)])
        J, T, rows, delta = basis
        s = np.array([signs.get(j, 0) for j in J]) * self.weights[J]
        at = None if e is None else J.index(e)
        t_s = float(np.linalg.norm(np.abs(T).T @ np.abs(s))) * _SAFE
        b = T @ (T.T @ s)
        z = T @ (T.T @ (self.X[:, J].T @ self.y))
        least = 0.0
        if at is not None:
            least = abs(b[at]) - rows[at] * t_s * (delta / (1 - delta) + 4 * len(J) * EPS) * _SAFE
            if not least > 0:
                raise ValueError(name + f"undecided in balls: feature {e} may not move")
        start = float(fixed) if fixed is not None else z[at] / b[at]
        bits = 64
        beta = np.array([int(v) for v in np.rint(np.ldexp(z - start * b, bits))], object)
        lam = Fraction(start) if fixed is None else fixed
        rest = np.setdiff1d(np.arange(self.X.shape[1]), J).tolist()
        at_rest = fixed == 0 and len(J) in (self.X.shape[0], self.nonzero)
        for _ in range(_ROUNDS):
            if at is not None:
                beta[at] = 0
            rho, margins = self._margins(J, beta, bits, lam, s, rest)
            t_rho = float(np.linalg.norm(np.abs(T).T @ (np.abs(rho) + _LOST))) * _SAFE
            eta = 0.0 if at is None else rows[at] * t_rho / (1 - delta) / least * _SAFE
            off = (t_rho + eta * t_s) / (1 - delta) * _SAFE
            sizes = _to_floats(beta, -bits)
            inner = [p for p, j in enumerate(J) if j in signs and p != at]
            gaps = [np.array([signs[J[p]] * sizes[p] for p in inner]) - (rows[inner] * off + _LOST) * _SAFE]
            wrong = [np.array([signs[J[p]] * sizes[p] for p in inner]) + (rows[inner] * off + _LOST) * _SAFE]
            if not at_rest:
                error = 2 * off + eta * self.weights[rest] + _LOST
                gaps.append(margins - error * _SAFE)
                wrong.append(margins + error * _SAFE)
            if above is not None:
                drop = float(above.lam - lam)
                gaps.append(np.array([drop - (above.lam_error + eta) * _SAFE - EPS * abs(drop)]))
                wrong.append(np.array([drop + (above.lam_error + eta) * _SAFE + EPS * abs(drop)]))
            if all((gap > 0).all() for gap in gaps):
                return _Point(J, lam, eta, sizes)
            places = [*(J[p] for p in inner), *([] if at_rest else rest), *([] if above is None else [-1])]
            bad = [j for j, v in zip(places, np.concatenate(wrong), strict=True) if v < 0]
            if bad:
                words = "λ does not decrease" if bad == [-1] else f"a condition fails at features {bad}"
                raise ValueError(name + words)
            shift = T @ (T.T @ rho)
            step = 0.0 if at is None else float(shift[at] / b[at])
            bits += _STEP
            change = np.ldexp(shift - step * b, bits)
            if not np.isfinite(change).all():
                break
            beta = (beta << _STEP) + np.array([int(v) for v in np.rint(change)], object)
            lam = lam + Fraction(step)
        raise ValueError(name + f"undecided in balls of {bits} bits; features may tie")

    def _margins(
        self, J: list[int], beta: Integers, bits: int, lam: Fraction, s: FloatArray, rest: list[int]
    ) -> tuple[FloatArray, FloatArray]:
        """Compute ρ on J, and λw_j minus the size of c_j for the other features, from exact integers."""
        e = self.columns.exponents
        low = int(e.min())
        v = np.zeros(len(e), object)
        v[J] = beta << (e[J] - low).astype(object)
        fit = self.columns.times(v)
        y_exponent = int(self.y_columns.exponents[0])
        unit = min(low - bits, y_exponent)
        r = (self.y_columns.column(0) << y_exponent - unit) - (fit << low - bits - unit)
        # Everything is an integer times 2^least over the denominator of λ, which is a power of two or small.
        c = self.columns.correlate(r) << (e - low).astype(object)
        least = min(low + unit, -int(self.powers.max()))
        c = (c << low + unit - least) * lam.denominator
        level = lam.numerator << (-self.powers - least).astype(object)
        sign = np.array([int(np.sign(w)) for w in s], object)
        size = c[rest] if self.given.positive else np.abs(c[rest])
        shares = [c[J] - sign * level[J], level[rest] - size]
        return tuple(_to_floats(v, least, lam.denominator) for v in shares)  # type: ignore[return-value]

    def floats(self, at: _Point) -> tuple[float, dict[int, float]]:
        """Return λ and the coefficients of a point in the units of the data."""
        beta = np.ldexp(at.beta, self.y_power - self.powers[at.J])
        return float(at.lam * Fraction(2) ** self.y_power), dict(zip(at.J, beta.tolist(), strict=True))


def _to_floats(values: Integers, exponent: int, denominator: int = 1) -> FloatArray:
    """Return v·2^exponent/denominator as floats. Bits below 2⁻⁹⁰⁰ are dropped."""
    exponent -= denominator.bit_length() - 1  # the denominator is a power of two
    shift = max(0, -exponent - 900)
    return np.asarray(np.ldexp((values >> shift).astype(np.float64), exponent + shift))
