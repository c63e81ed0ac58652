"""The claims of selection paths and LASSO paths of a Gram matrix, on designs of integers, where XᵀX is exact.

With the sizes of `oracles.Step`, rounding G by eps moves c_i by C·eps·s(X_i)s(y). The factor that stands
for X is right to d·eps of the longest column, and a column that it drops, as dependent on others, to √(d·eps)
of its own length. Dependence shows to √eps.
"""

import math

import numpy as np

from .oracles import C, Design, Reduced
from .paths import asked, near
from .run import UNDECIDED, call, claim

EPS = float(np.finfo(np.float64).eps)
# Integers up to this size: sums of their products, and of the squares of these, are exact.
LARGEST = 1000
# Where bounds by κ² say less than this, relative to ‖X_j‖(‖y‖ + Σ‖X_i‖|β_i|), a path is not judged.
TELLING = 1e-4


def rounded(case):
    """X and y, multiplied and rounded to integers."""
    X, y = case.X.astype(np.float64), case.y.astype(np.float64)
    return tuple(np.rint(a * (LARGEST / (np.abs(a).max() or 1.0))) for a in (X, y))


def gram_omp(sl, case):
    (X, y), k = rounded(case), asked(case)
    problem = sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y))
    path = call(case, sl.omp, problem, None, k, forced=case.forced)
    exact, support, status = Design(X, y), path.support.tolist(), path.status.name
    kappa = condition(X[:, X.any(axis=0)])
    claim(support[: len(case.forced)] == list(case.forced), f"forced {case.forced} do not come first")
    for t in range(len(case.forced), len(support)):
        step, pick, words = exact.at(support[:t]), support[t], f"step {t} of {support}"
        size, e = np.abs(step.c), errors(step, kappa)
        rivals = certain(step)
        top = max((size[j] - e[j] for j in rivals), default=0.0)
        claim(step.c[pick] != 0, f"{words}: the pick is orthogonal to r")
        claim(size[pick] + e[pick] >= top, f"{words}: picked |c| = {size[pick]}, the largest is above {top}")
        near(path.lam_star[t], size[pick], e[pick] + EPS * size[pick], f"{words}: λ*")
    end = exact.at(support)
    if status == "COMPLETED":
        claim(len(support) == k, f"COMPLETED with {len(support)} of {k}")
    elif status == "EXACT_FIT":
        near_zero = end.r <= C * math.sqrt(EPS) * end.sy
        claim(near_zero, f"EXACT_FIT, but ‖r‖ = {end.r:.3g} and s_y = {end.sy:.3g}")
    elif status in ("NO_CORRELATION", "RANK_EXHAUSTED"):
        e = errors(end, kappa)
        left = [j for j in certain(end) if abs(end.c[j]) > e[j] or status == "RANK_EXHAUSTED"]
        claim(not left, f"{status} after {support}, but c = {end.c[left]} at {left}")
    else:
        claim(status == "BEYOND_PRECISION", f"status {status}")
    return UNDECIDED if status == "BEYOND_PRECISION" else None


def errors(step, kappa):
    design, d = step.design, step.design.d
    length = design.length[:d]
    shorter = length.max() / np.where(length > 0, length, length.max() or 1.0)
    dropped = 0.0 if kappa**2 * C * d * EPS <= 1 else math.sqrt(C * d * EPS) * length * design.length[d]
    return C * EPS * d * step.s * step.sy * shorter + dropped


def certain(step):
    """The columns that are out of the span of S even for what knows squares of lengths only."""
    return [j for j in step.free if step.z[j] > C * math.sqrt(EPS) * step.s[j]]


def gram_path(sl, case):
    (X, y), S = rounded(case), list(case.forced)
    problem = sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y))
    path = call(case, sl.lasso_path, problem, forced=S)
    claim((np.diff(path.knots) < 0).all(), "the knots do not decrease")
    claim(path.status.name in ("COMPLETED", "BEYOND_PRECISION"), f"status {path.status.name}")
    claim(path.status.name != "COMPLETED" or path.knots[-1] == 0, "COMPLETED above λ = 0")
    used = np.flatnonzero(path.coef.any(axis=0))
    unit = C * EPS * X.shape[1] * condition(X[:, sorted({*S, *used.tolist()})]) ** 2
    if unit <= TELLING:
        exact = Reduced(X, y, path.coef, path.knots, S)
        t, j = np.unravel_index(np.argmax(exact.off - unit * exact.raw), exact.off.shape)
        off, most = exact.off[t, j], unit * exact.raw[t, j]
        words = f"at λ = {path.knots[t]} (of {path.knots[0]}) the KKT conditions fail by {off:.3g} at {j}"
        claim(off <= most, f"{words}; {most:.3g} may")
    return UNDECIDED if path.status.name == "BEYOND_PRECISION" else None


def condition(X):
    """1/σ_min of X with unit columns; infinite where one is zero."""
    norms = np.linalg.norm(X, axis=0)
    if not norms.all():
        return math.inf
    least = np.linalg.svd(X / norms, compute_uv=False).min(initial=1.0) if X.shape[1] <= len(X) else 0.0
    return 1 / least if least > EPS else math.inf


def gram_first(sl, case):
    """The first pick, λ* and first knot where Xᵀy cancels: integers near 2²², y orthogonal to ones."""
    X = np.clip(np.rint(case.X.astype(np.float64)), -3, 3) + 2.0**22
    y = np.clip(np.rint(case.y.astype(np.float64)), -3, 3)
    y[-1] -= y.sum()
    b = np.abs(X.T @ y)
    unit = C * len(b) * EPS * np.linalg.norm(X, axis=0) * np.linalg.norm(y)
    top, low = b.max(), (b - unit).max()
    if low <= unit.max():
        return None
    problem = call(case, sl.Problem.from_gram, X.T @ X, X.T @ y, float(y @ y))
    for name in ("omp", "sequential_lasso"):
        path = call(case, getattr(sl, name), problem, None, 1)
        pick, status = path.support.tolist(), path.status.name
        if name == "sequential_lasso" and status == "BEYOND_PRECISION" and not pick:
            continue  # A(S) of a tie depends on G
        claim(pick and b[pick[0]] >= low - unit[pick[0]], f"{name}: {pick}, {status}, |Xᵀy| = {b}")
        near(path.lam_star[0], b[pick[0]], unit[pick[0]], f"{name}: λ*")
    near(call(case, sl.lambda_star, problem, None), top, unit.max(), "λ*")
    near(call(case, sl.lasso_path, problem, None, max_steps=1).knots[0], top, unit.max(), "the first knot")
    quotient = b / np.linalg.norm(X, axis=0)
    pick = call(case, sl.ols, problem, None, 1).support.tolist()
    room = 4 * (unit / np.linalg.norm(X, axis=0)).max()  # two quotients, each off by c and by the length
    claim(pick and quotient[pick[0]] >= quotient.max() - room, f"ols: picked {pick}, |Xᵀy|/‖X‖ = {quotient}")
