"""Judge the scores of selectors and the sizes they choose, with weights, on the features that they picked.

The picks are judged elsewhere (`paths`). Here RSS of each size is computed in rational numbers, rows being
repeated in place of integer weights m_i. The weights passed are c·m_i, and n counts the rows with m_i > 0:

    aic, bic, ebic   n·ln(RSS/n) − Σ ln m_i + k·a + 2γ·ln C(p, u),   a = 2 or ln n,   γ = 0 but for ebic,

where RSS/σ² replaces the first two terms if σ² is given; the mean Σ m_i e_i²/Σ m_i for a given k; the
corrected mean of the fits without each row for loo.

Bounds. ‖r‖ is known to δ = `Step.off` + `Step.turned`. So with ρ = δ/‖r‖ < ½, ln RSS is known to
−2·ln(1 − ρ) and RSS to (1 + ρ)² − 1 of itself. Beyond, rounding decides, and any number will do.
"""

import math
import warnings

import numpy as np
import scipy.sparse
from flint import fmpq, fmpq_mat

from sparselin import estimators

from .oracles import DOUBLE, C, Design, number, part
from .run import UNDECIDED, Crash, call, claim

RULES = ("aic", "bic", "ebic", "loo", "k")
# The most features compared by leave-one-out, each by a refit for each row.
REFITTED = 4
# The most features besides the forced ones, where they are given: always for more than LARGE columns.
COMPARED, LARGE = 12, 30


def omp_selector(sl, case):
    return selector(case, estimators.OMPSelector, standardize=bool(case.rng().integers(2)))


def ols_selector(sl, case):
    return selector(case, estimators.OLSSelector)


def selector(case, kind, **options):
    """Fit by weights c·m, and again without the rows of weight 0 and by weights 4^p·m."""
    rng = np.random.default_rng([case.seed, 3])
    n, d = case.X.shape
    m = rng.integers(0, 4, n) if rng.random() < 0.7 else np.ones(n, int)
    m[rng.choice(n, min(n, 2), replace=False)] = 1
    c = float(rng.choice([1.0, 3.0])) * 2.0 ** int(rng.integers(-6, 7))
    forced = list(case.forced)
    free = [j for j in range(d) if j not in forced]
    out = rng.choice(free, int(rng.integers(0, len(free))), replace=False).tolist() if len(free) > 1 else []
    p, f, rule = d - len(out), len(forced), RULES[case.seed % len(RULES)]
    low = max(1, f)
    top = min(p, low + (REFITTED if rule == "loo" else COMPARED))
    ends = rule in ("loo", "k") or d > LARGE or rng.random() < 0.5
    longest = int(rng.integers(low, top + 1)) if ends else None
    size = int(rng.integers(low, longest + 1)) if rule == "k" else rule
    gamma = float(rng.uniform(0, 2)) if rng.random() < 0.3 else None
    scale = float(np.square(case.y.astype(float)).mean())
    variance = scale * float(rng.uniform(0.1, 2)) if scale and rng.random() < 0.3 else None
    options |= {
        "n_features_to_select": size, "forced": forced, "exclude": out, "max_features": longest,
        "fit_intercept": bool(rng.integers(2)), "gamma": gamma,
    }  # fmt: skip
    X, y, used, given = case.given(), case.y, m > 0, {}
    rows = X.tocsr()[used].tocsc() if scipy.sparse.issparse(X) else X[used]
    power = 4.0 ** int(rng.integers(-3, 4))
    for name, data, factor in (
        ("c·m", (X, y, m), c),
        ("rows removed", (rows, y[used], m[used]), c),
        ("4^p·m", (X, y, m), power * c),
    ):
        if variance is not None:
            options["noise_variance"] = variance * factor
        given[name] = attempt(case, kind(**options), *data[:2], data[2] * factor)
    if None in given.values():
        claim(not any(given.values()), f"refused for some of the same data: {given}")
        return UNDECIDED
    first, removed, multiplied = given.values()
    same = removed.k_ == first.k_ and np.array_equal(removed.scores_, first.scores_)
    claim(same, f"without rows of weight 0: {removed.scores_}, with them {first.scores_}")
    orders = [found.at(int(found.sizes_[-1])).selected_.tolist() for found in (first, multiplied)]
    claim(orders[0] == orders[1], f"weights times {power}: {orders[1]}, without {orders[0]}")
    judged = [judge(case, found, m, variance, out, rule) for found in (first, multiplied)]
    return UNDECIDED if UNDECIDED in judged else None


def attempt(case, found, X, y, weight):
    """Return the fitted selector, or None if it says that no criterion can be computed."""

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return found.fit(X, y, sample_weight=weight)

    try:
        return call(case, fit)
    except Crash as error:
        if "no degree of freedom left" in str(error) or "dependent" in str(error):
            return None
        raise


def judge(case, found, m, variance, out, rule):
    """Judge the scores, and the size that the rule takes from them."""
    sizes, scores, f = found.sizes_.tolist(), found.scores_, len(case.forced)
    claim(sizes == list(range(f, f + len(sizes))) and len(scores) == len(sizes), f"sizes {sizes}")
    claim(not np.isnan(scores).any(), f"scores {scores}")
    used, p = m > 0, case.X.shape[1] - len(out)
    n = int(used.sum())
    if rule in ("aic", "bic", "ebic") and found.max_features is None:
        most = min(p, max(1, f, min(f + 30, n // 2 - 1)))
        claim(sizes[-1] <= most, f"the longest path has {sizes[-1]} of {most}")
    S = found.at(sizes[-1]).selected_.tolist()
    claim(not set(S) & set(out) and S[:f] == list(case.forced), f"selected {S}, forced {case.forced}, {out}")
    ones = np.ones((int(m.sum()), int(found.fit_intercept)), case.X.dtype)
    columns = np.column_stack([np.repeat(case.X[:, S], m, axis=0), ones])
    exact = Design(columns, np.repeat(case.y, m), tuple(range(len(S), columns.shape[1])))
    rows = len({row.tobytes() for row in np.delete(case.X[used] + 0.0, out, axis=1)})
    undecided = False
    for t, (size, score) in enumerate(zip(sizes, scores.tolist(), strict=True)):
        if any(exact.at((*exact.base, *range(j))).spanned[j] for j in range(size)):
            undecided = True
            continue
        step, words = exact.at((*exact.base, *range(size))), f"{rule} of {S[:size]}"
        rank, unknown = len(step.basis) - len(exact.base), variance is None and rule in RULES[:3]
        if unknown and len(step.basis) >= n:
            claim(score == math.inf, f"{words} is {score}, without a degree of freedom")
            continue
        share = (step.off + step.turned) / step.r if step.r else 1.0
        if share >= 0.5 or (unknown and score == math.inf and len(step.basis) >= rows):
            undecided = True
            continue
        if rule == "k":
            true = step.r**2 / float(m.sum())
            wide = (2 * share + share**2 + C * DOUBLE) * true
        elif rule == "loo":
            true, wide = without_rows(exact, step, m[used], share)
        else:
            true, wide = criterion(found, step, m[used], variance, (rule, rank, p - f, t), share)
        if wide is None:
            undecided = True
            continue
        claim(abs(score - true) <= wide, f"{words} is {true!r}, claimed {score!r} (±{wide:.1e})")
    if rule == "k":
        position = min(found.n_features_to_select - f, len(sizes) - 1)
    else:
        rises = [t for t in range(len(sizes) - 1) if scores[t + 1] > scores[t]]
        position = rises[0] if rule == "ebic" and rises else scores.tolist().index(min(scores))
    claim(found.k_ == sizes[position], f"k_ = {found.k_}, but {rule} of {scores} is for {sizes[position]}")
    return UNDECIDED if undecided else None


def criterion(found, step, m, variance, asked, share):
    """Return the criterion, and what it may be off by: rounding of each term adds to that of RSS."""
    (rule, rank, p, u), n = asked, len(m)
    gamma, a = found.gamma, 2.0 if rule == "aic" else math.log(n)
    if gamma is None:
        gamma = max(0.0, 1 - math.log(n) / (4 * math.log(p))) if p > 1 else 0.0
    counted = 2 * gamma * math.log(math.comb(p, u)) if rule == "ebic" else 0.0
    if variance is None:
        logs = sum(math.log(v) for v in m.tolist())
        fit = 2 * n * math.log(step.r) - n * math.log(n) - logs
        wide = -2 * n * math.log1p(-share)
        # ln of RSS, n and weights of up to 2^8
        size = n * (2 * abs(math.log(step.r)) + math.log(n) + 2 * math.log(2.0**8)) + logs
    else:
        fit = size = step.r**2 / variance
        wide = (2 * share + share**2) * fit
    size += rank * a + 2 * gamma * (p + 1) * math.log(p + 2)
    return fit + rank * a + counted, wide + C * DOUBLE * size


def without_rows(exact, step, m, share):
    """Return the corrected error of the fits without each row, and what it may be off by; None if unknown.

    With e_i the error without row i of weight m_i, that is Σ m_i e_i²/Σ m_i·n/(n − p)·(1 + tr(C⁻¹)/n), where
    tr(C⁻¹) = Σ_j (m-weighted mean square of column j, centred)·(G⁻¹)_jj·Σ m_i, plus 1 for the intercept.
    Rounding turns the span of S by C·eps·κ, κ² = Σ_S ‖X_j‖²(G⁻¹)_jj, which moves the leverages h_i by as much
    at most, and e_i = r_i/(1 − h_i) by 1/(1 − h_i) times as much.
    """
    S, y, n, total = step.basis, exact.X.shape[1], len(m), int(m.sum())
    G, p = part(exact.G, S, S), len(S)
    goal = part(exact.G, S, [y])
    if p >= n:
        return 0.0, None
    inverse = G.inv() if S else None
    kappa = math.sqrt(sum(number(exact.square[j] * inverse[i, i]) for i, j in enumerate(S)))
    rows, room, error = np.cumsum(m) - m, 1.0, fmpq(0)
    for i, w in zip(rows.tolist(), m.tolist(), strict=True):
        a = fmpq_mat(p, 1, [fmpq(*float(exact.X[i, j]).as_integer_ratio()) for j in S])
        b = fmpq(*float(exact.y[i]).as_integer_ratio())
        e = b
        if S:
            h = w * (a.transpose() * inverse * a)[0, 0]
            if h == 1:
                return 0.0, None
            room = max(room, number(1 / (1 - h)))
            beta = (G - w * a * a.transpose()).solve(goal - w * b * a)
            e = b - (a.transpose() * beta)[0, 0]
        error += w * e * e
    first = exact.at(exact.base)
    trace = sum(number(first.square[j] * inverse[i, i]) for i, j in enumerate(S) if j not in exact.base)
    relative = C * exact.eps * (kappa + 1) * (room + kappa) + 2 * share * room
    true = number(error) / total * n / (n - p) * (1 + (len(exact.base) + trace) / n)
    return true, relative * true if relative < 0.1 else None
