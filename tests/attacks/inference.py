"""Judge `inference`, `knockoffs` and `leave_one_out` by paths of moved responses, and by refits.

Inference: y moves along η̂, and the picks of OMP or OLS are made again in rational numbers. Just inside the
inner truncation the picks and signs must be the same, just outside the outer one not. A call that says that
it cannot tell, because of a tie or nearly dependent columns, is undecided.
"""

import math
from fractions import Fraction

import numpy as np

from .gram import condition
from .oracles import C, Design
from .paths import asked
from .run import UNDECIDED, Crash, call, claim

EPS = float(np.finfo(np.float64).eps)
# Picks are made again at this relative distance from an end of the truncation.
NEXT_TO = 1e-6
# Errors by which inference and knockoffs say that they cannot tell; other errors are crashes.
REFUSALS = ("tie", "dependent", "undecided", "fits y exactly", "cannot be estimated", "must be positive")
FEW = ("k must be in", "must have at least", "ended by itself", "does not belong to", "float range")


def attempt(case, function, *args, **kwargs):
    """Return the answer of a call, or None if it says that it cannot tell."""
    try:
        return call(case, function, *args, **kwargs)
    except Crash as error:
        words = str(error)
        if words.startswith(("ValueError", "UserWarning")) and any(
            w in words for w in (*REFUSALS, *FEW, "mean")
        ):
            return None
        raise


def inference(sl, case):
    """Move y along η̂ to both sides of each end of the truncation, and make the picks again exactly."""
    X, y = case.X.astype(np.float64), case.y.astype(np.float64)
    by_length, k = bool(case.rng().integers(2)), min(asked(case), 3)
    path = call(case, sl.ols if by_length else sl.omp, X, y, k)
    if len(path) < 1 or path.status.name not in ("COMPLETED",) or not np.linalg.norm(y):
        return UNDECIDED
    sigma = float(np.linalg.norm(y)) / math.sqrt(len(y))
    sets: dict[int, tuple] = {}
    found = attempt(case, record, sets, sl.inference, X, y, path, sigma=sigma)
    if found is None:
        return UNDECIDED
    S = path.support.tolist()
    signs = np.sign(np.diag(path.coef_path)).tolist()
    if picks(X, y, S, signs, by_length) is not True:
        return UNDECIDED
    claim(np.all(found.bounds[:, 0] <= found.bounds[:, 1]), "a lower bound of p is above the upper one")
    for row, (eta, both) in enumerate(zip(inverse(X, S), list(sets.values())[-len(S) :], strict=True)):
        size = sum(v * v for v in eta)
        unit = sigma / math.sqrt(float(size))
        for ((low, high),), same in zip(both, (False, True), strict=True):
            for end in (low, high):
                if not math.isfinite(end) or end == 0:
                    continue
                step = Fraction(end * (1 - NEXT_TO if same else 1 + NEXT_TO) * unit)
                moved = [Fraction(b) + step * v for b, v in zip(y.tolist(), eta, strict=True)]
                got = picks(X, moved, S, signs, by_length)
                words = f"{'inside the inner' if same else 'outside the outer'} end {end} of row {row}"
                claim(got is None or got == same, f"same selection: {got}, {words} ({path}, {S})")
    return None


def record(sets, function, *args, **kwargs):
    """Call a function, and keep the outer and the inner set of each p-value."""
    from sparselin.post_selection import _laws as laws

    corners = laws.corners
    laws.corners = lambda *both: (sets.setdefault(id(both[0]), both), corners(*both))[1]
    try:
        return function(*args, **kwargs)
    finally:
        laws.corners = corners


def inverse(X, S):
    """Return the rows of X_S⁺ in fractions."""
    A = [[Fraction(X[i, j]) for j in S] for i in range(len(X))]
    k = len(S)
    G = [[sum(row[a] * row[b] for row in A) for b in range(k)] for a in range(k)]
    rows = [[*G[a], *(Fraction(int(a == b)) for b in range(k))] for a in range(k)]
    for a in range(k):
        pivot = next(i for i in range(a, k) if rows[i][a] != 0)
        rows[a], rows[pivot] = rows[pivot], rows[a]
        rows[a] = [v / rows[a][a] for v in rows[a]]
        for i in range(k):
            if i != a and rows[i][a] != 0:
                rows[i] = [v - rows[i][a] * u for v, u in zip(rows[i], rows[a], strict=True)]
    G = [row[k:] for row in rows]
    return [[sum(G[a][b] * row[b] for b in range(k)) for row in A] for a in range(k)]


def picks(X, y, S, signs, by_length):
    """Return whether a path of y makes the picks S with these signs, in fractions; None for a near tie."""
    Z = [[Fraction(v) for v in column] for column in X.T.tolist()]
    r = [Fraction(v) for v in y]
    dot = lambda u, v: sum(a * b for a, b in zip(u, v, strict=True))  # noqa: E731
    lengths = [dot(z, z) for z in Z]
    for pick, sign in zip(S, signs, strict=True):
        c = [dot(z, r) for z in Z]
        left = [dot(z, z) for z in Z]
        divisors = left if by_length else [1] * len(left)
        scores = [
            c_j * c_j / divisor if w > 2**-80 * whole else Fraction(0)
            for c_j, w, whole, divisor in zip(c, left, lengths, divisors, strict=True)
        ]
        top = max(scores)
        if top == 0 or scores[pick] == 0:
            return None
        second = max((v for j, v in enumerate(scores) if j != pick), default=Fraction(0))
        if abs(second - scores[pick]) < scores[pick] / 10**10:
            return None
        if scores[pick] < top or (c[pick] > 0) != (sign > 0):
            return False
        z, square = Z[pick], left[pick]
        r = [a - c[pick] / square * b for a, b in zip(r, z, strict=True)]
        Z = [[a - dot(z, v) / square * b for a, b in zip(v, z, strict=True)] for v in Z]
    return True


def knockoffs(sl, case):
    """Judge the Gram matrix of features and knockoffs, the signs of W, and the threshold by brute force."""
    rng = case.rng()
    d = min(case.X.shape[1], 4)
    n = max(len(case.X), 2 * d + 2)
    X = np.resize(case.X[:, :d].astype(np.float64), (n, d)) + 0.1 * np.abs(
        case.X
    ).max() * rng.standard_normal((n, d))
    y = np.resize(case.y.astype(np.float64), n)
    q = float(rng.uniform(0.1, 0.9))
    found = attempt(case, sl.knockoffs, X, y, q=q, rng=case.seed)
    if found is None:
        return UNDECIDED
    W = found.W
    claim(np.isfinite(W).all() and len(W) == d, f"W = {W}")
    levels = [t for t in np.abs(W).tolist() if t > 0]
    good = [t for t in levels if 1 + np.sum(-t >= W) <= q * np.sum(t <= W)]
    claim(found.threshold == min(good, default=math.inf), f"threshold {found.threshold} of W = {W}, q = {q}")
    claim(
        found.selected.tolist() == np.flatnonzero(found.threshold <= W).tolist(), f"selected {found.selected}"
    )
    from sparselin.post_selection.knockoffs import augment

    both, z = augment(sl.Problem(X, y, intercept=True), case.seed)
    Z = X - X.mean(axis=0)
    unit = Z / np.linalg.norm(Z, axis=0)
    G = unit.T @ unit
    s = min(1.0, 31 / 16 * float(np.linalg.eigvalsh(G)[0]))
    kappa = 1 / math.sqrt(max(float(np.linalg.eigvalsh(G)[0]), EPS))
    most = (
        C
        * math.sqrt(n)
        * EPS
        * kappa
        * (1 + np.abs(X).max() / max(float(np.linalg.norm(Z, axis=0).min()), 1e-300))
    )
    A, B = both[:, :d], both[:, d:]
    off = max(np.abs(A.T @ A - G).max(), np.abs(B.T @ B - G).max(), np.abs(A.T @ B - G + s * np.eye(d)).max())
    claim(off <= most, f"the Gram matrix of features and knockoffs is off by {off}, where {most} is allowed")
    order = np.arange(2 * d).reshape(2, d)
    order[:, 0] = order[::-1, 0]
    first, second = (entries(sl, case, both[:, p], z) for p in (np.arange(2 * d), order.ravel()))
    expected = first.copy()
    expected[[0, d]] = expected[[d, 0]]
    claim(
        np.allclose(second, expected, rtol=1e-6, atol=1e-9 * (first.max() + 1e-300)),
        "an exchange changes more",
    )
    return None


def entries(sl, case, both, z):
    """Return the largest knot at which each column of [X X̃] is active, or 0."""
    path, Z = call(case, sl.lasso_path, both, z), np.zeros(both.shape[1])
    for knot, active in zip(path.knots[::-1], path.active[::-1], strict=True):
        Z[list(active)] = knot
    return Z


def leave_one_out(sl, case):
    """Fit without each row in rational numbers."""
    X, y, k = case.X.astype(np.float64), case.y.astype(np.float64), asked(case)
    path = call(case, sl.omp, X, y, k, forced=case.forced)
    found = call(case, sl.leave_one_out, X, y, path)
    S = path.support.tolist()
    exact = Design(X, y)
    for t in range(len(S) + 1):
        step = exact.at(S[:t])
        errors = refits(X, y, S[:t])
        if errors is None or step.off > 1e-3 * max(step.r, 1e-300):
            continue  # a row determines its own fit, or nearly does: see `test_leave_one_out`
        mean, room = errors
        relative = C * (step.off / max(step.r, 1e-300) + EPS * condition(X[:, S[:t]])) * room
        if relative > 0.1:
            continue
        off = abs(found.error[t] - mean)
        claim(off <= relative * mean, f"error of size {t}: {found.error[t]}, by refits {mean}")
    return None


def refits(X, y, S):
    """Return the mean squared error of the fits without each row, and max 1/(1 − h_i); None if h_i is 1."""
    n = len(X)
    if S and singular(X[:, S]):
        return None
    rows = inverse(X, S) if S else []
    A = [[Fraction(X[i, j]) for j in S] for i in range(n)]
    total, room = Fraction(0), 1.0
    for i in range(n):
        keep = [m for m in range(n) if m != i]
        part = X[keep][:, S]
        if S:
            if len(keep) < len(S) or singular(part):
                return None
            beta = [
                sum(v * Fraction(y[m]) for v, m in zip(row, keep, strict=True))
                for row in inverse(part, range(len(S)))
            ]
            total += (Fraction(y[i]) - sum(a * b for a, b in zip(A[i], beta, strict=True))) ** 2
            h = sum(A[i][b] * rows[b][i] for b in range(len(S)))
            room = max(room, float(1 / (1 - h)) if h < 1 else math.inf)
        else:
            total += Fraction(y[i]) ** 2
    return (float(total / n), room) if math.isfinite(room) else None


def singular(part):
    """Return whether the columns of an array are dependent, in fractions."""
    try:
        inverse(part, range(part.shape[1]))
    except StopIteration:
        return True
    return False
