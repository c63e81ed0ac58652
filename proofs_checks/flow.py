"""The flow without weight decay in exact numbers, event by event, and designs on which it is checked.

S is the set of forced features, whose coefficients are at least squares all the time. The flow is ds/dτ = c =
Xᵀ(y − Xβ) from s = 0, with |s_i| ≤ 1 and s_i = sign β_i where β_i ≠ 0, both for i ∉ S, and c_S = 0. Off S, β
minimises ½‖y − Xβ‖² over s_iβ_i ≥ 0 where |s_i| = 1, and β_i = 0 elsewhere. docs/proofs/gradient_flow.md has
the proof.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_series
from scipy.integrate import solve_ivp

import sparselin as sl
from proofs_checks.rational import columns, least_squares, rational, signed_fits, step


def sign(value) -> int:
    """Return the sign of a number."""
    return (value > 0) - (value < 0)


class Saddle(NamedTuple):
    """The flow from the event at time τ to the next event, in exact numbers.

    The fields are τ, s at the time τ, the correlations c = Xᵀ(y − Xβ), the vertices of the set of all
    solutions β, and the mean β of the vertices, whose support is the largest of a solution.
    """

    tau: fmpq
    s: list[fmpq]
    c: list[fmpq]
    vertices: list[fmpq_mat]
    beta: fmpq_mat

    def support(self, S: Sequence[int] = ()) -> list[int]:
        """Return the features outside S that are nonzero in some solution."""
        return [j for j, value in enumerate(self.beta.entries()) if value and j not in S]


def exact_flow(X, y, S: Sequence[int] = ()) -> list[Saddle]:
    """Return the state of the flow at τ = 0 and after each event, in exact numbers, until c = 0.

    All subsets of {i : |s_i| = 1} are tried, so few features may be in this set.
    """
    path = [_saddle(X, y, S, fmpq(0), [fmpq(0)] * X.shape[1])]
    while any(path[-1].c):
        tau, s, c, *_ = path[-1]
        length = min((sign(v) - s_j) / v for s_j, v in zip(s, c, strict=True) if v)
        s = [s_j + length * v for s_j, v in zip(s, c, strict=True)]
        path.append(_saddle(X, y, S, tau + length, s))
    return path


def _saddle(X, y, S, tau, s):
    vertices = signed_fits(X, y, S, {j: int(v.p) for j, v in enumerate(s) if abs(v) == 1})
    mean = sum(vertices[1:], vertices[0]) / fmpq(len(vertices))
    r = rational(y) - rational(X) * mean
    return Saddle(tau, s, (rational(X).transpose() * r).entries(), vertices, mean)


def state(path: list[Saddle], tau: fmpq) -> tuple[list[fmpq], fmpq_mat]:
    """Return s(τ) and the integral ∫₀^τ β, exactly."""
    total, until = path[0].beta * fmpq(0), [*(saddle.tau for saddle in path[1:]), tau]
    for saddle, end in zip(path, until, strict=True):
        if saddle.tau <= tau:
            last, length = saddle, min(end, tau) - saddle.tau
            total += saddle.beta * length
    s = [s_j + length * v for s_j, v in zip(last.s, last.c, strict=True)]
    return s, total


def averages(path: list[Saddle]) -> Iterator[tuple[fmpq, list[fmpq], fmpq_mat]]:
    """Yield (τ, s(τ), β̄), β̄ = (1/τ)∫₀^τ β, for τ at each event, between events, and after the last one."""
    times = [saddle.tau for saddle in path]
    middles = [(a + b) / 2 for a, b in pairwise([*times, times[-1] * 2 + 1])]
    for tau in sorted([*times[1:], *middles]):
        s, total = state(path, tau)
        yield tau, s, total / tau


def violations(s: Sequence[fmpq], beta: fmpq_mat, S: Sequence[int]) -> list[int]:
    """Return the features off S with β_i ≠ 0 whose s_i is not sign β_i."""
    pairs = enumerate(zip(s, beta.entries(), strict=True))
    return [i for i, (s_i, b) in pairs if b and s_i != sign(b) and i not in S]


def leaving(path: list[Saddle]) -> fmpq | None:
    """Return the first time at which s_i leaves ±1 for a feature i that was nonzero, or None if none does."""
    used = list(accumulate((set(saddle.support()) for saddle in path), set.union))
    left = (saddle.tau for saddle, J in zip(path, used, strict=True) if any(saddle.c[i] for i in J))
    return next(left, None)


def taylor(X, y, alpha):
    """Return the first ten Taylor coefficients in the time t, exactly, of w, θ and c on gradient flow.

    w' = θ∘c and θ' = w∘c with c = Xᵀ(y − X(w∘θ)), from w = α and θ = 0. Each step of Picard's iteration makes
    one more coefficient right.
    """
    series = np.vectorize(lambda value: fmpq_series([fmpq(value)]), otypes=[object])
    integral = np.vectorize(lambda value: value.integral(), otypes=[object])
    A, b = (series(part.astype(int).astype(object)) for part in (X, y))
    w, theta = start = series(np.array([[alpha] * X.shape[1], [fmpq(0)] * X.shape[1]]))
    for _ in range(10):
        c = A.T @ (b - A @ (w * theta))
        w, theta = start + integral(np.stack([theta * c, w * c]))
    return list(w), list(theta), list(c)


def integrate(X, y, L, taus):
    """Return q (m, n) at m times, of dq/dτ = y − Xβ with β_i = (α²/2)·sinh(2Ls_i), s = Xᵀq, L = log(1/α).

    A stiff solver computes it.
    """

    def part(s, sign):  # (α²/4)(exp(2L|s|) ± exp(−2L|s|))
        return np.exp(np.minimum(2 * L * (np.abs(s) - 1), 40)) * (1 + sign * np.exp(-4 * L * np.abs(s))) / 4

    def slope(_, q):
        return y - X @ (np.sign(X.T @ q) * part(X.T @ q, -1))

    def jacobian(_, q):
        return -(X * (2 * L * part(X.T @ q, 1))) @ X.T

    start = np.zeros(len(y))
    return solve_ivp(slope, (0, taus[-1]), start, "LSODA", taus, jac=jacobian, rtol=1e-7, atol=1e-10).y.T


def limit_bound(X, path, L, end):
    """Return the bound of Theorem 3 on ‖q_α − q‖ up to a time, without its terms that have the factor α⁴."""
    bound, distance, before = 0.0, 0.0, np.zeros(len(X))
    for a, b in pairwise([0, *path.tau[path.tau < end], end]):
        beta, (s, later) = path.at(a), path.s_at([a, b])
        J = np.flatnonzero(beta)
        p = np.linalg.lstsq(X[:, J].T, np.sign(beta[J]) * np.log(4 * np.abs(beta[J])), rcond=None)[0]
        largest = np.minimum(np.maximum(np.abs(s), np.abs(later)), 1)
        slope = np.maximum(np.abs(later - s) / (b - a), 1e-300)
        length = np.minimum((b - a) * np.exp(-2 * L * (1 - largest)), 1 / (L * slope))
        rest = np.delete(np.exp(np.abs(X.T @ p)) * length, J).sum() / (4 * np.e * L)
        distance = np.hypot(distance + np.linalg.norm(p - before) / (2 * L), np.sqrt(rest))
        bound, before = max(bound, distance + np.linalg.norm(p) / (2 * L)), p
    return bound


def mixed_designs(rng):
    """Return a Gaussian design, perhaps with dependent columns, or one of small integers, with Xᵀy ≠ 0."""
    n, d = ((12, 8), (6, 9), (5, 6))[rng.integers(3)]
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    if rng.random() < 0.2:
        X[:, 3] = (X[:, 0] + X[:, 1]) / 2
    X, y = (np.round(2 * part) if n == 5 else part for part in (X, y))
    return (X, y) if (X.T @ y).any() else mixed_designs(rng)


def equal_lengths(rng):
    """Return a design of two columns, or of two rows, with integer columns of one length, and a response."""
    n, d = (1, rng.integers(1, 7)) if rng.random() < 0.5 else (rng.integers(1, 4), 2)
    points = np.array([v for v in product(range(-8, 9), repeat=2) if v[0] ** 2 + v[1] ** 2 == 65])
    X = points[rng.integers(0, len(points), (d, n))].reshape(d, 2 * n).T + 0.0
    return X, rng.integers(-5, 6, 2 * n) + 0.0


def omp_picks(X, y, most):
    """Return OMP's picks as far as Theorem 8 applies, at most `most`, and for how many Π (1 + ρ_t) < 2."""
    picks, signs, s, total, bound, bounded = [], [], [fmpq(0)] * X.shape[1], fmpq(0), fmpq(1), 0
    while len(picks) < most and (at := step(X, y, picks)).lam_star:
        fit = least_squares(columns(rational(X), picks), rational(y)).entries()
        if any(value * turn < 0 for value, turn in zip(fit, signs, strict=True)):
            break
        sizes = sorted((abs(c) for j, c in enumerate(at.correlation) if j not in picks), reverse=True)
        ratio, turn = sum(sizes[1:2], fmpq(0)) / sizes[0], sign(at.correlation[pick := at.tied[0]])
        way = 1 - turn * s[pick]
        total, bound = total + ratio * way, bound * (1 + ratio)
        bounded += bound < 2
        if total >= 1:
            break
        s = [s_j + way / sizes[0] * c_j for s_j, c_j in zip(s, at.correlation, strict=True)]
        picks, signs = [*picks, pick], [*signs, turn]
    return picks, bounded


def arrivals(states):
    """Return the set of i with |s_i| = 1 at each event, for a list of s."""
    return [{i for i, v in enumerate(s) if abs(v) == 1} for s in states]


def edge_case(first, second):
    """Return a design with given ρ_1 and ρ_2 on which OMP picks X_0 and X_1.

    The flow's second event is X_1 if (1 + ρ_1)(1 + ρ_2) < 2, and X_2 if this product is above 2.
    """
    return np.array([[1, -first - 1, first - second], [0, 1, 0], [0, 0, 1]]), np.array([1, 1, second])


def decaying(rng):
    """Return a Gaussian design 100 × 60, and y = Xb with four coefficients ±1, ±1/4, ±1/16, ±1/64."""
    X = rng.standard_normal((100, 60))
    return X, X[:, :4] @ (rng.choice([-1, 1], 4) * 0.25 ** np.arange(4))


def gaussian(rng):
    """Return a Gaussian design 20 × 12, and y = Xb + noise with Gaussian b and noise."""
    X = rng.standard_normal((20, 12))
    return X, X @ rng.standard_normal(12) + rng.standard_normal(20)


def fall(X, y):
    """Return the largest λ below which some |β_i|/λ falls on the LASSO's path, by values of β, and by X_A⁺y.

    They are 0 if there is none. The second one is None if the solution may not be unique.
    """
    lasso, found, wrong = sl.lasso_path(X, y), [0.0], [0.0]
    for high, low in pairwise(lasso.knots.tolist()):
        first, second = (2 * high + low) / 3, (high + 2 * low) / 3
        early, late = lasso.at(first), lasso.at(second)
        found += [high] * bool((np.abs(early) / first > np.abs(late) / second + 1e-9).any())
        A = np.flatnonzero(np.abs(X.T @ (y - X @ early)) >= first * (1 - 1e-9)).tolist()
        if columns(rational(X), A).rank() < len(A):
            return max(found), None
        fit = least_squares(columns(rational(X), A), rational(y)).entries()
        wrong += [high] * any(early[i] * sign(value) < 0 for i, value in zip(A, fit, strict=True))
    return max(found), max(wrong)


def orthogonal(rng):
    """Return integer columns that are orthogonal, of several lengths and some zero, and a response."""
    a, b, c, d = rng.integers(-2, 3, 4)
    Q = np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]]) * rng.integers(-2, 3, 4)
    return Q[:, rng.permutation(4)[: rng.integers(1, 5)]] + 0.0, rng.integers(-4, 5, 4) + 0.0
