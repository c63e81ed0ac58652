"""Penalised generalized linear models for the checks: losses, a solver, and what its answer proves.

F_λ(β) = Σ_i ℓ_i(⟨x_i, β⟩) + λ‖β_S̄‖₁ has the dual max −Σ_i ℓ_i*(u_i) over X_Sᵀu = 0, ‖X_S̄ᵀu‖∞ ≤ λ, and u_λ
= ∇L(Xβ) is the same for all solutions β. For a feasible u, F_λ(β) − F_λ(β_λ) and D(u, u_λ) are at most
F_λ(β) + L*(u), where D(u, u') = L*(u) − L*(u') − ⟨η', u − u'⟩, u' = ∇L(η'). So whatever β the solver
returns, its gap bounds |⟨X_j, u − u_λ⟩| (`reach`), and β_j = 0 in every solution where |⟨X_j, u⟩| + reach <
λ.

`reach` rests on D ≥ ‖u − u'‖²/(2M) for losses with ℓ'' ≤ M, and for e^η − yη, where with q = u + y D = Σ q
log(q/q') − q + q' ≥ Σ(√q − √q')², on |q − q'| ≤ |√q − √q'|(2√q + |√q − √q'|), and symmetrically.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlog1py, xlogy


class Loss(NamedTuple):
    """ℓ(η; y), its derivatives in η, ℓ*(u; y), the nearest u in its domain, M ≥ ℓ'' (or None).

    `flat(y)` is +1 (−1) where ℓ is nonincreasing as η → ∞ (−∞), else 0; `attained`: also its infimum there.
    """

    name: str
    value: Callable
    gradient: Callable
    curvature: Callable
    conjugate: Callable
    domain: Callable
    smooth: float | None
    flat: Callable
    attained: bool

    def __repr__(self):
        return self.name


def _logistic_conjugate(u, y):
    p = u + y
    return xlogy(p, p) + xlogy(1 - p, 1 - p)


def _poisson_conjugate(u, y):
    q = u + y
    return xlogy(q, q) - q


SQUARED = Loss(
    "squared",
    lambda eta, y: (eta - y) ** 2 / 2,
    lambda eta, y: eta - y,
    lambda eta, y: np.ones_like(eta),
    lambda u, y: u**2 / 2 + u * y,
    lambda u, y: u,
    1.0,
    lambda y: 0 * y,
    True,
)
HUBER = Loss(
    "Huber",
    lambda eta, y: np.where(abs(eta - y) <= 1, (eta - y) ** 2 / 2, abs(eta - y) - 0.5),
    lambda eta, y: np.clip(eta - y, -1, 1),
    lambda eta, y: (abs(eta - y) <= 1) + 0.0,
    lambda u, y: u**2 / 2 + u * y,
    lambda u, y: np.clip(u, -1, 1),
    1.0,
    lambda y: 0 * y,
    True,
)
LOGISTIC = Loss(
    "logistic",  # y ∈ {0, 1}
    lambda eta, y: np.logaddexp(0, eta) - y * eta,
    lambda eta, y: expit(eta) - y,
    lambda eta, y: expit(eta) * expit(-eta),
    _logistic_conjugate,
    lambda u, y: np.clip(u + y, 0, 1) - y,
    0.25,
    lambda y: 2 * y - 1,
    False,
)
POISSON = Loss(
    "Poisson",  # y ∈ {0, 1, 2, …}, the link is the logarithm
    lambda eta, y: np.exp(np.minimum(eta, 700)) - y * eta,
    lambda eta, y: np.exp(np.minimum(eta, 700)) - y,
    lambda eta, y: np.exp(np.minimum(eta, 700)),
    _poisson_conjugate,
    lambda u, y: np.maximum(u + y, 0) - y,
    None,
    lambda y: -1.0 * (y == 0),
    False,
)
HINGE = Loss(
    "squared hinge",  # y ∈ {0, 1} stands for ∓1
    lambda eta, y: np.maximum(0, 1 - (2 * y - 1) * eta) ** 2 / 2,
    lambda eta, y: -(2 * y - 1) * np.maximum(0, 1 - (2 * y - 1) * eta),
    lambda eta, y: ((2 * y - 1) * eta < 1) + 0.0,
    lambda u, y: u**2 / 2 + u * (2 * y - 1),
    lambda u, y: np.where((2 * y - 1) * u <= 0, u, 0.0),
    1.0,
    lambda y: 2 * y - 1,
    True,
)
LOSSES = (SQUARED, HUBER, LOGISTIC, POISSON, HINGE)


def objective(loss, X, y, S, lam, beta):
    """F_λ(β)."""
    penalty = lam * np.delete(abs(beta), S).sum() if lam else 0.0
    return loss.value(X @ beta, y).sum() + penalty


def solve(loss, X, y, S, lam, start=None, steps=60):
    """A β near a minimiser of F_λ: proximal Newton steps by coordinate descent, the β of least gap kept."""
    beta = np.zeros(X.shape[1]) if start is None else np.array(start, float)
    weight = np.full(X.shape[1], float(lam))
    weight[list(S)] = 0
    here, best, found = objective(loss, X, y, S, lam, beta), np.inf, beta
    for _ in range(steps):
        gap = dual_point(loss, X, y, S, lam, beta)[1]
        if gap < best:
            best, found = gap, beta
        if gap <= 1e-13 * (1 + abs(here)):
            break
        eta = X @ beta
        H = X.T @ ((loss.curvature(eta, y) + 1e-6)[:, None] * X)
        move = _quadratic(H, X.T @ loss.gradient(eta, y) - H @ beta, weight, beta) - beta
        t = 1.0
        # near the end F differs by less than its rounding, while the gap still falls
        while t > 1e-6:
            there = objective(loss, X, y, S, lam, beta + t * move)
            if there <= here + 1e-14 * (1 + abs(here)):
                break
            t /= 2
        beta, here = beta + t * move, there
    return found


def _quadratic(H, linear, weight, beta, sweeps=400):
    """min ½βᵀHβ + ⟨linear, β⟩ + Σ weight_j|β_j| by coordinate descent."""
    beta, grad = beta.copy(), H @ beta + linear
    for _ in range(sweeps):
        largest = 0.0
        for j in np.flatnonzero(H.diagonal() > 0):
            z = beta[j] - grad[j] / H[j, j]
            new = np.sign(z) * max(abs(z) - weight[j] / H[j, j], 0.0)
            if new != beta[j]:
                grad += H[:, j] * (new - beta[j])
                largest = max(largest, abs(new - beta[j]))
                beta[j] = new
        if largest <= 1e-15 * (1 + abs(beta).max()):
            break
    return beta


def dual_point(loss, X, y, S, lam, beta):
    """A u, feasible to rounding, from ∇L(Xβ), and F_λ(β) + L*(u) with what rounding can hide.

    If X_Sᵀu = δ is not quite zero, the gap errs by ⟨δ, β_S⟩ at a minimiser, whose β_S is taken to have no
    entry above 10(1 + ‖β_S‖).
    """
    S = list(S)
    u = loss.gradient(X @ beta, y)
    if S:
        U, s, _ = np.linalg.svd(X[:, S], full_matrices=False)
        basis = U[:, s > 1e-10 * s.max()] if s.max() > 0 else U[:, :0]
        u = loss.domain(u - basis @ (basis.T @ u), y)
    largest = np.delete(abs(X.T @ u), S).max(initial=0.0)
    if largest > lam:
        u = u * (lam / largest)
    u = loss.domain(u, y)
    terms = np.concatenate([loss.value(X @ beta, y), loss.conjugate(u, y)])
    gap = terms.sum() + (lam * np.delete(abs(beta), S).sum() if np.isfinite(lam) else 0.0)
    slack = 10 * abs(X[:, S].T @ u).sum() * (1 + np.linalg.norm(beta[S]))
    return u, max(gap, 0.0) + slack + 1e-14 * (1 + abs(terms).sum())


def reach(loss, X, y, u, D):
    """(d,) bounds on |⟨X_j, u' − u⟩| over the u' with D(u', u) ≤ D or D(u, u') ≤ D."""
    if loss.smooth is not None:
        return np.linalg.norm(X, axis=0) * np.sqrt(2 * loss.smooth * D)
    q = np.maximum(u + y, 0)
    return 2 * np.sqrt(D * (X**2).T @ q) + abs(X).max(axis=0) * D


class Entry(NamedTuple):
    """λ* = ‖c‖∞, T, c = −Xᵀ∇L(X_Sβ̂_S), zero on S, β̂_S as (d,), ∇L there, and whether T is clear."""

    lam_star: float
    tied: tuple[int, ...]
    correlation: np.ndarray
    beta: np.ndarray
    dual: np.ndarray
    clear: bool


def glm_entry(loss, X, y, S):
    """What gradient OMP sees at S, where L∘X_S has a minimiser."""
    start = np.zeros(X.shape[1])
    if len(S):
        start[list(S)] = _polished(loss, X[:, list(S)], y, solve(loss, X[:, list(S)], y, range(len(S)), 0.0))
    u = loss.gradient(X @ start, y)
    c = -X.T @ u
    c[list(S)] = 0
    size = abs(c)
    lam = size.max(initial=0.0)
    scale = 1e-9 * (1 + np.linalg.norm(X) * np.linalg.norm(u))
    tied = np.flatnonzero(size >= lam - scale)
    unclear = (size < lam - scale) & (size > lam * (1 - 1e-4))
    return Entry(float(lam), tuple(tied.tolist()), c, start, u, bool(lam > 1e3 * scale and not unclear.any()))


def _polished(loss, X, y, beta):
    """Newton steps while they lower ‖Xᵀ∇L‖, which the gap, of second order, does not resolve."""
    g = X.T @ loss.gradient(X @ beta, y)
    for _ in range(8):
        H = X.T @ (loss.curvature(X @ beta, y)[:, None] * X)
        there = beta - np.linalg.lstsq(H, g, rcond=1e-10)[0]
        g_there = X.T @ loss.gradient(X @ there, y)
        if not np.linalg.norm(g_there) < np.linalg.norm(g):
            break
        beta, g = there, g_there
    return beta


def bregman(loss, y, eta, u, t):
    """D((1 − t)u, u) with η' = eta, u = ∇L(eta); it depends on eta for Huber's loss beyond |η − y| = 1."""
    v = (1 - t) * u
    if loss is LOGISTIC:
        p, q = np.clip(v + y, 0, 1), np.clip(u + y, 0, 1)
        return float(np.sum(_divergence(p, q) + _divergence(1 - p, 1 - q)))
    if loss is POISSON:
        return float(np.sum(_divergence(np.maximum(v + y, 0), np.maximum(u + y, 0))))
    beyond = t * np.maximum(abs(eta - y) - 1, 0).sum() if loss is HUBER else 0.0
    return float(t * t * (u @ u) / 2 + beyond)


def _divergence(p, q):
    """p log(p/q) − p + q, sums of which are divergences; without cancellation for p near q."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=q > 0) - 1
    return q * (xlog1py(1 + ratio, ratio) - ratio)


def glm_window(loss, X, y, S, entry):
    """t₀: for (1 − t₀)λ* < λ < λ* every solution is zero off S ∪ T."""
    outside = [j for j in range(X.shape[1]) if j not in S and j not in entry.tied]

    def holds(t):
        D = bregman(loss, y, X @ entry.beta, entry.dual, t)
        left = (1 - t) * entry.lam_star - abs(entry.correlation) - reach(loss, X, y, entry.dual, D)
        return bool(np.all(left[outside] > 0))

    low, high = 0.0, 1.0
    if holds(high):
        return 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def moving_rows(loss, X_S, y):
    """The rows that directions of recession of L∘X_S move, as a mask, and one that moves all of them.

    For integer entries of at most 2 and at most two columns: the cone {b : L(X_Sb·t) does not grow} is then
    generated by directions of entries at most 2, and the sum of all of these moves what any one moves.
    """
    signs, m = loss.flat(y), X_S.shape[1]
    total = np.zeros(m)
    for b in np.ndindex(*(5,) * m):
        direction = np.array(b) - 2.0
        eta = X_S @ direction
        if np.all(np.where(signs == 0, eta == 0, signs * eta >= 0)):
            total += direction
    return (X_S @ total != 0), total
