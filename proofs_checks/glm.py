"""Penalised generalized linear models for the checks: losses, a solver, and bounds on its error.

The rows of a design X are x_i. Each column has a label, and the columns with the same label form a group g.
If no labels are given, every column is a group. S is a set of selected groups, which are not penalised. With
the loss L(η) = Σ_i ℓ_i(η_i), the problem is to minimise

    F_λ(β) = L(Xβ) + λ Σ_{g ∉ S} ‖β_g‖₂.

Its dual problem is

    max −L*(u)   over   X_Sᵀu = 0, ‖X_gᵀu‖ ≤ λ for g ∉ S,

where L*(u) = Σ_i ℓ_i*(u_i) is the convex conjugate. The dual solution is u_λ = ∇L(Xβ_λ), which is the same
for all solutions β_λ. For a feasible u, both F_λ(β) − F_λ(β_λ) and D(u, u_λ) are at most the duality gap
F_λ(β) + L*(u), where D is the divergence

    D(u, u') = L*(u) − L*(u') − ⟨η', u − u'⟩,   u' = ∇L(η').

So for any β that the solver returns, the gap bounds ‖X_gᵀ(u − u_λ)‖. The function `reach` computes this
bound. If ‖X_gᵀu‖ plus the bound is less than λ for a group g, then β_g = 0 in every solution.

The bound follows from D ≥ ‖u − u'‖²/(2M) for losses with ℓ'' ≤ M. For the Poisson loss e^η − yη, let q = u +
y and q' = u' + y. Then the bound follows from the two inequalities

    D = Σ q log(q/q') − q + q' ≥ Σ(√q − √q')²,   |q − q'| ≤ |√q − √q'|(2√q + |√q − √q'|),

and from the same inequalities with q and q' exchanged.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from sparselin.ledger import ClaimFailed


class Loss(NamedTuple):
    """A loss ℓ(η; y) of a prediction η for a response y, with the functions that the checks need.

    `gradient` and `curvature` are the first and second derivative of ℓ in η, and `conjugate` is the convex
    conjugate ℓ*(u; y). `domain` returns the nearest u at which ℓ* is finite. `smooth` is a number M ≥ ℓ'', or
    None if ℓ'' is not bounded. `flat(y)` is +1 if ℓ does not increase as η → ∞, −1 if ℓ does not increase as
    η → −∞, and 0 otherwise. `attained` says whether ℓ attains its infimum if η goes to infinity in this
    direction.
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
    name="squared",
    value=lambda eta, y: (eta - y) ** 2 / 2,
    gradient=lambda eta, y: eta - y,
    curvature=lambda eta, y: np.ones_like(eta),
    conjugate=lambda u, y: u**2 / 2 + u * y,
    domain=lambda u, y: u,
    smooth=1.0,
    flat=lambda y: 0 * y,
    attained=True,
)
HUBER = Loss(
    name="Huber",
    value=lambda eta, y: np.where(abs(eta - y) <= 1, (eta - y) ** 2 / 2, abs(eta - y) - 0.5),
    gradient=lambda eta, y: np.clip(eta - y, -1, 1),
    curvature=lambda eta, y: (abs(eta - y) <= 1) + 0.0,
    conjugate=lambda u, y: u**2 / 2 + u * y,
    domain=lambda u, y: np.clip(u, -1, 1),
    smooth=1.0,
    flat=lambda y: 0 * y,
    attained=True,
)
LOGISTIC = Loss(
    name="logistic",  # y ∈ {0, 1}
    value=lambda eta, y: np.logaddexp(0, eta) - y * eta,
    gradient=lambda eta, y: expit(eta) - y,
    curvature=lambda eta, y: expit(eta) * expit(-eta),
    conjugate=_logistic_conjugate,
    domain=lambda u, y: np.clip(u + y, 0, 1) - y,
    smooth=0.25,
    flat=lambda y: 2 * y - 1,
    attained=False,
)
POISSON = Loss(
    name="Poisson",  # y ∈ {0, 1, 2, …}, the link is the logarithm
    value=lambda eta, y: np.exp(np.minimum(eta, 700)) - y * eta,
    gradient=lambda eta, y: np.exp(np.minimum(eta, 700)) - y,
    curvature=lambda eta, y: np.exp(np.minimum(eta, 700)),
    conjugate=_poisson_conjugate,
    domain=lambda u, y: np.maximum(u + y, 0) - y,
    smooth=None,
    flat=lambda y: -1.0 * (y == 0),
    attained=False,
)
HINGE = Loss(
    name="squared hinge",  # y ∈ {0, 1} stands for ∓1
    value=lambda eta, y: np.maximum(0, 1 - (2 * y - 1) * eta) ** 2 / 2,
    gradient=lambda eta, y: -(2 * y - 1) * np.maximum(0, 1 - (2 * y - 1) * eta),
    curvature=lambda eta, y: ((2 * y - 1) * eta < 1) + 0.0,
    conjugate=lambda u, y: u**2 / 2 + u * (2 * y - 1),
    domain=lambda u, y: np.where((2 * y - 1) * u <= 0, u, 0.0),
    smooth=1.0,
    flat=lambda y: 2 * y - 1,
    attained=True,
)
LOSSES = (SQUARED, HUBER, LOGISTIC, POISSON, HINGE)


class Model(NamedTuple):
    """The data of a penalised generalized linear model.

    `loss` is the loss ℓ, X (n, d) the design and y (n,) the response. `groups` (d,) has the label of the
    group of each column, and S the labels of the selected groups, which are not penalised.
    """

    loss: Loss
    X: np.ndarray
    y: np.ndarray
    S: tuple[int, ...]
    groups: np.ndarray

    @property
    def selected(self):
        """A mask (d,) of the columns that belong to selected groups."""
        return np.isin(self.groups, list(self.S))

    def norms(self, v):
        """Return the length ‖v_g‖ of the entries of v in each group g of columns."""
        return np.sqrt(np.bincount(self.groups, v * v))

    def off(self, v):
        """Return the length ‖v_g‖ of the entries of v in each group g that is not selected."""
        return np.delete(self.norms(v), list(self.S))


def model(loss, X, y, S=(), groups=None):
    """Return a generalized linear model; without group labels every column is a group of its own."""
    return Model(loss, X, y, tuple(S), np.arange(X.shape[1]) if groups is None else np.asarray(groups))


def restricted(at):
    """Return the model that has only the columns of the selected groups, without a penalty."""
    J = at.selected
    return model(at.loss, at.X[:, J], at.y, range(J.sum()))


def objective(at, lam, beta):
    """Return the penalised loss L(Xβ) + λ Σ_{g ∉ S} ‖β_g‖₂, where S are the selected groups."""
    return at.loss.value(at.X @ beta, at.y).sum() + (lam * at.off(beta).sum() if lam else 0.0)


def solve(at, lam, steps=60):
    """Return a β near a minimiser of the penalised loss L(Xβ) + λ Σ_{g ∉ S} ‖β_g‖₂.

    The method takes proximal Newton steps. The result is the iterate with the least duality gap.
    """
    loss, X, y, S, groups = at
    beta = np.zeros(X.shape[1])
    weights = np.full(groups.max(initial=-1) + 1, float(lam))
    weights[list(S)] = 0
    here, best, found = objective(at, lam, beta), np.inf, beta
    for _ in range(steps):
        gap = dual_point(at, lam, beta)[1]
        if gap < best:
            best, found = gap, beta
        if gap <= 1e-13 * (1 + abs(here)):
            break
        eta = X @ beta
        H = X.T @ ((loss.curvature(eta, y) + 1e-6)[:, None] * X)
        move = _quadratic(H, X.T @ loss.gradient(eta, y) - H @ beta, weights, groups, beta) - beta
        t = 1.0
        # close to a minimiser F differs by less than its rounding, while the gap still falls
        while t > 1e-6:
            there = objective(at, lam, beta + t * move)
            if there <= here + 1e-14 * (1 + abs(here)):
                break
            t /= 2
        beta, here = beta + t * move, there
    return found


def _quadratic(H, linear, weights, groups, beta, sweeps=400):
    """Minimise ½βᵀHβ + ⟨linear, β⟩ + Σ_g weights_g‖β_g‖ by proximal gradient steps, one group g at a time.

    The step for group g has the length 1/‖H_gg‖.
    """
    beta, grad = beta.copy(), H @ beta + linear
    blocks = [np.flatnonzero(groups == g) for g in range(len(weights))]
    curvatures = [np.linalg.norm(H[np.ix_(J, J)], 2) for J in blocks]
    for _ in range(sweeps):
        largest = 0.0
        for J, weight, curvature in zip(blocks, weights, curvatures, strict=True):
            if curvature == 0:
                continue
            z = beta[J] - grad[J] / curvature
            length = np.linalg.norm(z)
            move = (z * max(1 - weight / (curvature * length), 0.0) if length else z) - beta[J]
            if move.any():
                grad += H[:, J] @ move
                beta[J] += move
                largest = max(largest, abs(move).max())
        if largest <= 1e-15 * (1 + abs(beta).max()):
            break
    return beta


def dual_point(at, lam, beta):
    """Return a dual point u for a given β, and a bound on the duality gap F_λ(β) + L*(u).

    F_λ is the penalised loss and L* the conjugate of the loss L. The point u is made from ∇L(Xβ), and is
    feasible for the dual problem up to rounding. The bound allows for rounding errors: if δ = X_Sᵀu is not
    exactly zero on the columns of the selected groups S, the gap is wrong by ⟨δ, β*_S⟩, where β* is a
    minimiser. The code assumes that no entry of β*_S exceeds 10(1 + ‖β_S‖).
    """
    loss, X, y, J = at.loss, at.X, at.y, at.selected
    u = loss.gradient(X @ beta, y)
    if J.any():
        U, s, _ = np.linalg.svd(X[:, J], full_matrices=False)
        basis = U[:, s > 1e-10 * s.max()] if s.max() > 0 else U[:, :0]
        u = loss.domain(u - basis @ (basis.T @ u), y)
    largest = at.off(X.T @ u).max(initial=0.0)
    if largest > lam:
        u = u * (lam / largest)
    u = loss.domain(u, y)
    terms = np.concatenate([loss.value(X @ beta, y), loss.conjugate(u, y)])
    gap = terms.sum() + (lam * at.off(beta).sum() if np.isfinite(lam) else 0.0)
    slack = 10 * abs(X[:, J].T @ u).sum() * (1 + np.linalg.norm(beta[J]))
    return u, max(gap, 0.0) + slack + 1e-14 * (1 + abs(terms).sum())


def reach(at, u, D):
    """Return a bound on ‖X_gᵀ(u' − u)‖ for every group g of columns.

    The bound holds for all dual points u' whose divergence D(u', u) or D(u, u') is at most the given number.
    """
    loss, X, y, _, groups = at
    if loss.smooth is not None:
        sizes = [np.linalg.norm(X[:, groups == g], 2) for g in range(groups.max(initial=-1) + 1)]
        return np.array(sizes) * np.sqrt(2 * loss.smooth * D)
    q = np.maximum(u + y, 0)
    return at.norms(2 * np.sqrt(D * (X**2).T @ q) + abs(X).max(axis=0) * D)


class Entry(NamedTuple):
    """The point at which the first further group enters the model, as the penalty level λ falls.

    Let S be the selected groups, β̂_S the unpenalised fit on them, and c_g = −X_gᵀ∇L(X_Sβ̂_S) for every other
    group g. The first group enters at `lam_star` = max ‖c_g‖. The groups that attain this maximum are `tied`.
    `sizes` has ‖c_g‖ for every group g outside S. `beta` (d,) is β̂_S with zeros in all other columns, and
    `dual` is the gradient ∇L(X_Sβ̂_S). `certain` says whether the tied groups are certain in spite of
    rounding.
    """

    lam_star: float
    tied: tuple[int, ...]
    sizes: np.ndarray
    beta: np.ndarray
    dual: np.ndarray
    certain: bool

    @property
    def others(self):
        """The groups that are neither selected nor tied for the largest gradient."""
        return [g for g, size in enumerate(self.sizes) if size >= 0 and g not in self.tied]


def glm_entry(at):
    """Return the penalty level at which the first further group enters, the tied groups, and the fit.

    Let S be the selected groups, and suppose that the unpenalised loss of the columns X_S has a minimiser
    β̂_S. Gradient OMP picks the group outside S with the largest ‖X_gᵀ∇L(X_Sβ̂_S)‖, which is the penalty
    level λ*.
    """
    loss, X, y, S, _ = at
    beta = np.zeros(X.shape[1])
    if S:
        below = restricted(at)
        beta[at.selected] = _polished(loss, below.X, y, solve(below, 0.0))
    u = loss.gradient(X @ beta, y)
    sizes = at.norms(X.T @ u)
    sizes[list(S)] = -np.inf
    lam = sizes.max(initial=0.0)
    scale = 1e-9 * (1 + np.linalg.norm(X) * np.linalg.norm(u))
    tied = np.flatnonzero(sizes >= lam - scale)
    unclear = (sizes < lam - scale) & (sizes > lam * (1 - 1e-4))
    return Entry(
        lam_star=float(lam),
        tied=tuple(tied.tolist()),
        sizes=sizes,
        beta=beta,
        dual=u,
        certain=bool(lam > 1e3 * scale and not unclear.any()),
    )


def _polished(loss, X, y, beta):
    """Refine β by Newton steps as long as they reduce the length of the gradient Xᵀ∇L.

    The duality gap is of second order in this length, and too coarse to show the progress.
    """
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
    """Return the divergence D((1 − t)u, u), where u = ∇L(η) is the gradient of the loss at the predictions η.

    D is the Bregman divergence of the convex conjugate of the loss. For Huber's loss, D also depends on the
    predictions η_i with |η_i − y_i| > 1.
    """
    v = (1 - t) * u
    if loss is LOGISTIC:
        p, q = np.clip(v + y, 0, 1), np.clip(u + y, 0, 1)
        return float(np.sum(_divergence(p, q) + _divergence(1 - p, 1 - q)))
    if loss is POISSON:
        return float(np.sum(_divergence(np.maximum(v + y, 0), np.maximum(u + y, 0))))
    beyond = t * np.maximum(abs(eta - y) - 1, 0).sum() if loss is HUBER else 0.0
    return float(t * t * (u @ u) / 2 + beyond)


def _divergence(p, q):
    """Return p log(p/q) − p + q, without cancellation for p near q."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=q > 0) - 1
    return q * (xlog1py(1 + ratio, ratio) - ratio)


def glm_window(at, entry):
    """Return a number t₀ such that only the tied groups can enter the model while (1 − t₀)λ* < λ < λ*.

    λ* is the penalty level at which the first group enters. In this interval, every solution is zero on all
    groups that are neither selected nor tied at λ*.
    """

    def holds(t):
        D = bregman(at.loss, at.y, at.X @ entry.beta, entry.dual, t)
        left = (1 - t) * entry.lam_star - entry.sizes - reach(at, entry.dual, D)
        return bool(np.all(left[entry.others] > 0))

    low, high = 0.0, 1.0
    if holds(high):
        return 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def moving_rows(loss, X_S, y):
    """Return a mask of the rows i with (X_Sb)_i ≠ 0 for some direction of recession b.

    Also return one direction of recession b with (X_Sb)_i ≠ 0 for all these rows.

    A direction of recession is a vector b such that the loss L(t·X_Sb) does not grow with t. We say that it
    moves row i if (X_Sb)_i ≠ 0. If the entries of X_S are integers of size at most 2, and there are at most
    two columns, then these directions form a cone that is generated by integer vectors b with entries of size
    at most 2. The sum of these vectors moves every row that some direction moves.
    """
    signs, m = loss.flat(y), X_S.shape[1]
    total = np.zeros(m)
    for b in np.ndindex(*(5,) * m):
        direction = np.array(b) - 2.0
        eta = X_S @ direction
        if np.all(np.where(signs == 0, eta == 0, signs * eta >= 0)):
            total += direction
    return (X_S @ total != 0), total


def labels(loss, y):
    """Return responses that fit the loss, made from integers between −2 and 2."""
    if loss.flat(np.array([0.0, 1.0]))[1]:
        return (y > 0) + 0.0
    return y + 2 if loss is POISSON else 2 * y


def draw(rng, losses=LOSSES, min_selected=0):
    """Draw a generalized linear model of small integers, in which at most two columns are selected.

    Some models have an intercept, a zero column, or equal columns.
    """
    loss, entry = losses[rng.integers(len(losses))], rng.integers(1, 3)
    X = rng.integers(-entry, entry + 1, (rng.integers(1, 7), rng.integers(1, 6))) + 0.0
    n, d = X.shape
    if rng.random() < 0.5:
        X[:, 0] = 1
    if rng.random() < 0.25:
        X[:, rng.integers(d)] = rng.choice([-1, 0, 1]) * X[:, rng.integers(d)]
    S = rng.permutation(d)[: rng.integers(min_selected, 3)]
    return model(loss, X, labels(loss, rng.integers(-2, 3, n) + 0.0), sorted(S.tolist()))


def draw_groups(rng):
    """Draw a model with two to four groups of one to three columns of small integers.

    At most one group is selected, and this group has at most two columns.
    """
    sizes = rng.integers(1, 4, rng.integers(2, 5))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    loss, entry = LOSSES[rng.integers(len(LOSSES))], rng.integers(1, 3)
    X = rng.integers(-entry, entry + 1, (rng.integers(2, 8), len(groups))) + 0.0
    if rng.random() < 0.5:
        X[:, rng.integers(len(groups))] = rng.choice([-1, 0, 1]) * X[:, rng.integers(len(groups))]
    y = labels(loss, rng.integers(-2, 3, len(X)) + 0.0)
    S = rng.permutation(np.flatnonzero(sizes <= 2))[: rng.integers(0, 2)]
    return model(loss, X, y, S.tolist(), groups)


def draw_least_squares(rng):
    """Draw a generalized linear model with the squared loss."""
    return draw(rng, (SQUARED,))


def each(check, draw, holds):
    """Check that `holds` is true for check.cases random cases that meet the hypotheses of a statement.

    `holds` returns None for a case that does not meet the hypotheses. Raises ClaimFailed if too few cases
    meet the hypotheses, or if too many cases are undecided.
    """
    met, few = 0, check.unsettled + 2 + check.cases // 10
    for _ in range(20 * check.cases):
        case = draw(check.rng)
        outcome = holds(case)
        if check.unsettled > few:
            raise ClaimFailed(f"{check.unsettled} cases undecided after {met} of {check.cases}")
        if outcome is not None:
            check.over([case], lambda _, outcome=outcome: outcome)
            met += 1
        if met == check.cases:
            return
    raise ClaimFailed(f"{met} of {check.cases} cases, no more meet the hypotheses")
