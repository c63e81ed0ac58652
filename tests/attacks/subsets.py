"""The claims of the other methods on few columns, judged by enumeration, exact inertia, or a witness."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from flint import fmpq, fmpq_mat

from .options import arguments, data, translated
from .oracles import C, Design, definiteness, number, objective, residual, root
from .paths import answer, asked, error_of_fall, judge_end, judge_kkt, judge_norm, known, near
from .run import UNDECIDED, call, claim

# The error that intervals of R², a number in [0, 1], and quotients of R² may have besides their own bounds.
R2 = 1e-9
# An interval that is wider than this, or may be, decides nothing.
WIDE = 1e-3


def sets(J, low, high):
    return itertools.chain.from_iterable(itertools.combinations(J, size) for size in range(low, high + 1))


def level(case):
    """A λ between a hundredth of λ* and a little more than λ*."""
    exact = known(case)
    lam = exact.at((*exact.base, *case.forced)).top
    return float(lam * case.rng().uniform(0.01, 1.05))


def judge_residual(exact, S, claimed, words):
    """‖P_S^⊥y‖², r erring by u·s_y."""
    step = exact.at(S)
    near(claimed, step.r**2, step.square_off + 4 * exact.eps * step.r**2, words)


def judge_r2(exact, S, claimed, words="R²"):
    all_, step = exact.at(exact.base), exact.at(S)
    if all_.r > all_.off:
        error = (step.square_off + all_.off * all_.r) / all_.r**2 + 8 * exact.eps
        near(claimed, number(1 - step.square[-1] / all_.square[-1]), error, f"{words} of {list(S)}")


def certainly_above(step, pick, T):
    """Return whether a lower index of T was passed over although its correlation is certainly not zero."""
    return any(j < pick and abs(step.c[j]) > 2 * step.e()[j] for j in T)


def batch_omp(sl, case):
    exact, k = known(case), max(1, asked(case) - len(case.forced))
    Y = np.column_stack([case.y, -2 * case.y, np.roll(case.y, 1)])
    X, _, options = data(case)
    batch = call(case, sl.batch_omp, X, Y, k, **options)
    for i in range(2):  # the third signal is there to share the call
        size = int(batch.n_selected[i])
        S = batch.support[i, :size].tolist()
        claim((batch.support[i, size:] == -1).all() and len(set(S)) == size, f"support {batch.support[i]}")
        scale = (1.0, -2.0)[i]
        for t, pick in enumerate(S):
            step = exact.at(S[:t])
            words = f"signal {i}, step {t} of {S}"
            claim(step.square[pick] != 0, f"{words}: in the span of those before")
            if step.seen:
                e = step.e()
                low = number(step.lam) - e[pick] - e[list(step.tied)].max(initial=0)
                correlation = abs(step.c[pick])
                claim(correlation >= low, f"{words}: |c| = {correlation}, λ* = {number(step.lam)}")
                passed = not step.spanned[pick] and certainly_above(step, pick, step.tied)
                claim(not passed, f"{words}: T = {step.tied}")
        end = exact.at(S)
        judge_norm(batch.residual_norm[i] / abs(scale), end, f"signal {i}: ‖r‖")
        coef = np.zeros(exact.d)
        coef[S] = batch.coef[i, :size] / scale
        path = SimpleNamespace(status=batch.status[i], support=np.array(S, int), dense_coef=lambda c=coef: c)
        judge_end(exact, path, k)


def forward_regression(sl, case):
    """Judge forward regression without a regularizer."""
    exact, k = known(case), asked(case)
    X, y, options = data(case)
    found = call(case, sl.forward_regression, X, y, k, forced=case.forced, **options)
    path = translated(exact, found)
    S, m = path.support.tolist(), len(exact.base) + len(case.forced)
    claim(S[:m] == [*exact.base, *case.forced], f"forced {case.forced} do not come first in {S}")
    for t in range(m, len(S)):
        step, pick = exact.at(S[:t]), S[t]
        if step.seen:
            best = [j for j in step.seen if step.falls[j] == max(step.falls.values())]
            q, error = error_of_fall(step)
            low = q[best].max() - error[best].max() - error[pick]
            claim(not q[pick] < low, f"step {t} of {S}: |c|/‖z‖ = {q[pick]} below {q[best]}")
            passed = not step.spanned[pick] and certainly_above(step, pick, best)
            claim(not passed, f"step {t} of {S}: not the first of {best}")
    judge_r2(exact, S, found.r2)
    near(found.gains.sum(), found.value, 8 * exact.d * exact.eps, "Σ gains, compared with the value,")
    path = SimpleNamespace(status=path.status, support=path.support, dense_coef=path.dense_coef)
    return judge_end(exact, path, k + len(exact.base))


def lambda_star(sl, case):
    exact = known(case)
    step = exact.at((*exact.base, *case.forced))
    X, y, options = data(case)
    found = call(case, sl.lambda_star, X, y, forced=case.forced, **options)
    if not step.seen:  # whatever is left may count as being in the span
        return
    # λ* is that of the columns seen, or of one that rounding may put into the span, or not
    size, e, T = np.abs(step.c), step.e(), list(step.tied)
    rivals = [j for j in step.free if step.spanned[j] and size[j] > step.top]
    rival = min(rivals, key=lambda j: abs(size[j] - found), default=None)
    if rival is None or abs(found - step.top) < abs(found - size[rival]):
        near(found, step.top, e[T].max(initial=0) + step.design.eps * step.top, "λ*")
    else:
        near(found, size[rival], step.e(exact.double)[rival] + step.design.eps * size[rival], "λ*")


def project_dual(sl, case):
    X, y, S, lam = case.X, case.y, list(case.forced), level(case)
    found = call(case, sl.project_dual, case.given(), y, lam, forced=S)
    on = tuple(j for j in np.flatnonzero(found.coef).tolist() if j not in S)
    claim(found.active == on, f"active = {found.active}, nonzero are {on}")
    if found.status.name == "BEYOND_PRECISION":
        return UNDECIDED
    if S and Design(X[:, S], y).doubtful(range(len(S))):  # which of S are in its span, rounding says
        return None
    judge_kkt(known(case), found.coef[None], [lam], S)
    judge_gap(sl, case, found.coef, lam, S, found.duality_gap)
    fit = np.abs(X.astype(float)) @ np.abs(found.coef.astype(float)) + np.abs(y)
    u = np.array([float(r) for r in residual(X, y, found.coef)])
    off = np.abs(found.u - u)
    unit = C * math.sqrt(len(X)) * float(np.finfo(X.dtype).eps)
    claim((off <= unit * np.linalg.norm(fit)).all(), f"u differs from v − Xβ by {off.max()}")
    return None


def judge_gap(sl, case, coef, lam, S, gap):
    """No β may be better by more than the gap: the path's own is tried, and 0, whoever is right."""
    exact = known(case)
    value = objective(exact, coef, lam, S)
    path = call(case, sl.lasso_path, case.X, case.y, forced=case.forced, **arguments(case))
    others = [np.zeros(len(coef))] + ([at(path, lam, exact)] if lam >= path.knots[-1] else [])
    best = min(objective(exact, beta, lam, S) for beta in others)
    size = exact.length[-1] + exact.length[:-1] @ np.abs(coef)
    room = C * exact.eps * size * exact.length[-1] + C * exact.eps * float(value)
    claim(
        value - best <= Fraction(float(gap)) + Fraction(float(room)),
        f"gap {gap:.3g}, but another β is better by {float(value - best):.3g} (λ = {lam})",
    )


def at(path, lam, exact):
    """β(λ) of a path, and the intercept there is."""
    coef = path.at(lam)
    if not exact.base:
        return coef
    return np.append(coef, np.interp(lam, path.knots[::-1], path.intercept[::-1]))


def hadamard_descent(sl, case):
    exact, lam = known(case), level(case)
    if lam == 0:
        return None
    X, y, options = data(case)
    found = call(case, sl.hadamard_descent, X, y, lam, forced=case.forced, max_iter=3000, **options)
    coef = np.append(found.coef, found.intercept) if exact.base else found.coef
    judge_gap(sl, case, coef, lam, [*exact.base, *case.forced], found.duality_gap)
    return UNDECIDED if found.status.name == "MAX_ITER" else None


def best_subset(sl, case):
    exact, k = known(case), asked(case)
    limit = {"node_limit": 3} if case.seed % 4 == 3 else {}
    X, y, options = data(case)
    needs = random_needs(case, k)
    found = call(case, sl.best_subset, X, y, k, forced=case.forced, hierarchy=needs, **options, **limit)
    path, k = translated(exact, found), k + len(exact.base)
    first = (*exact.base, *sorted(closure(case.forced, needs)))
    S, square = path.support.tolist(), exact.at(exact.base).square[-1]
    claim(closure(S, needs) == set(S), f"support {S}, hierarchy {needs}")
    claim(set(first) <= set(S) and len(set(S)) == len(S) <= k, f"support {S} of {k}, forced {first}")
    if not needs:  # the best-first search solves normal equations, whose error is larger
        judge_residual(exact, S, found.residual, f"‖r‖² of {S}")
    rest = [j for j in range(exact.d) if j not in first]
    closed = (A for A in sets(rest, 0, k - len(first)) if closure((*first, *A), needs) == {*first, *A})
    certain = [A for A in closed if not exact.doubtful((*first, *A))]
    best = max(certain, key=lambda A: exact.explained_by((*first, *A)), default=())
    best = exact.at((*first, *best))
    room = best.square_off + 1e-12 * number(square)
    words = f"‖r‖² of {best.S} is {best.r**2}, ‖y‖² = {number(square)}"
    claim(found.lower_bound <= best.r**2 * (1 + 8 * exact.eps), f"{words}, lower_bound {found.lower_bound}")
    if not found.optimal:  # as was asked, where there is a limit
        return None if limit else UNDECIDED
    most = best.r**2 + room + (1e-9 if needs else 1e-10) * number(square)  # see `BestSubset.optimal`
    claim(exact.at(S).r ** 2 <= most, f"{words}, optimal {S}: {found.residual}")
    if found.status.name == "BEYOND_PRECISION":
        return UNDECIDED
    if needs:  # the end of a set is that no other column fits
        return None
    claim(len(S) == k or found.status.name != "COMPLETED", f"COMPLETED with {len(S)} of {k}")
    return judge_end(exact, path, k)


def closure(S, needs):
    """Return the columns S and all that they need."""
    whole = {*S, *(needed for j in S for needed in needs.get(j, ()))}
    return closure(whole, needs) if whole > {*S} else whole


def random_needs(case, k):
    """Draw a hierarchy in every third case, but none that makes more than k columns forced."""
    rng, d = np.random.default_rng([case.seed, 3]), case.X.shape[1]
    needs = {j: rng.choice(d, 1).tolist() for j in range(d) if case.seed % 3 == 2 and rng.random() < 0.4}
    return needs if len(closure(case.forced, needs)) <= k else {}


def swaps(sl, case):
    """Residuals fall; by the exact rule no swap whose gain is certain is left that lowers ‖r‖."""
    exact, k = known(case), asked(case)
    rule = "ompr" if case.seed % 3 == 2 else "exact"
    first = (*exact.base, *case.forced)
    rest = [j for j in range(exact.d) if j not in first]
    start = rest[: k - len(case.forced)] if case.seed % 2 else []
    X, y, options = data(case)
    found = call(case, sl.swaps, X, y, k, rule=rule, start=start, forced=case.forced, **options)
    path, k = translated(exact, found), k + len(exact.base)
    S, residuals = path.support.tolist(), found.residuals
    words = f"{S} of {k}, forced {first}"
    claim(set(first) <= set(S) and len(set(S)) == len(S) <= k, words)
    claim(len(residuals) == found.moves + 1 and np.all(np.diff(residuals) < 0), f"‖r‖²: {residuals}")
    judge_residual(exact, S, residuals[-1], f"‖r‖² of {S}")
    for before, after in itertools.pairwise(swapped(found)):
        higher, lower = (exact.at((*exact.base, *T)).square[-1] for T in (before, after))
        claim(lower < higher, f"{words}: ‖r‖² of {after} is not below that of {before}")
    if rule == "exact":
        here = exact.at(S)
        room = here.square_off + 2e-12 * number(exact.at(exact.base).square[-1])
        for i, j in itertools.product(set(S) - set(first), set(rest) - set(S)):
            T = sorted({*S, j} - {i})
            if not exact.doubtful(T):
                there = exact.at(T)
                most = there.r**2 + there.square_off + room
                claim(here.r**2 <= most, f"{words}: {i} → {j} lowers ‖r‖² from {here.r**2} to {there.r**2}")
    if found.status.name == "BEYOND_PRECISION":
        return UNDECIDED
    claim(len(S) == k or found.status.name != "COMPLETED", f"COMPLETED with {words}")
    return judge_end(exact, path, k)


def swapped(found):
    """The supports that swaps passed through."""
    S = found.support.tolist()
    passed = [S]
    for i, j in zip(found.removed[::-1].tolist(), found.inserted[::-1].tolist(), strict=True):
        S = [i if x == j else x for x in S]
        passed.append(S)
    return passed[::-1]


def submodularity_ratio(sl, case):
    exact, rng = known(case), case.rng()
    U = rng.permutation(exact.d)[: int(rng.integers(0, min(4, exact.d)))].tolist()
    k = int(rng.integers(1, 4))
    found = call(case, sl.submodularity_ratio, case.given(), case.y, U, k)
    gamma, base, added = exact_ratio(exact, U, k)
    words = (
        f"γ = {gamma} at {base}, {added}; U = {U}, k = {k}: [{found.lower}, {found.upper}], {found.method}"
    )
    claim(found.lower <= gamma * (1 + R2), words)
    everything = exact_ratio(exact, U, k, doubtful=True)[0]
    claim(found.upper >= everything * (1 - R2), f"{words}; {everything} with pairs of no certain gain")
    wide = found.upper - found.lower > WIDE * max(found.upper, WIDE)
    claim(not (found.exact and wide), f"exact, though {found.lower} < {found.upper}")
    return UNDECIDED if wide else None


def exact_ratio(exact, U, k, doubtful=False):
    """γ_{U,k} over the pairs whose joint gain is not one that rounding of the data could make of none.

    Nor of 1e-24·‖y‖² or less, which the definition of the package leaves out.
    """
    least, square = (fmpq(1), (), ()), exact.square[-1]
    for L in sets(U, 0, len(U)):
        low = exact.explained_by(L)
        for A in sets([j for j in range(exact.d) if j not in L], 1, k):
            joint = exact.explained_by((*L, *A)) - low
            if joint <= 0 or (not doubtful and exact.doubtful((*L, *A))):
                continue
            small = not doubtful and joint < square * fmpq(1, 10**10)
            if small and (joint < square * fmpq(1, 10**24) or root(joint) <= exact.at((*L, *A)).off):
                continue
            gamma = sum((exact.explained_by((*L, j)) - low for j in A), fmpq(0)) / joint
            if gamma < least[0]:
                least = gamma, L, A
    return number(least[0]), *least[1:]


def sparse_eigenvalues(sl, case):
    exact = known(case)
    k = int(case.rng().integers(1, exact.d + 1))
    if exact.eps > 1e-10 and not np.abs(case.X).max() > 1e-70:
        return None
    found = call(case, sl.sparse_eigenvalues, case.given(), k)
    for sign, side, support in (
        (1, found.lambda_min, found.lambda_min_support),
        (-1, found.lambda_max, found.lambda_max_support),
    ):
        # sign·λ ≥ outer for all S, and ≤ inner at the support
        outer, inner = (side.lower, side.upper) if sign > 0 else (-side.upper, -side.lower)
        for S in itertools.combinations(range(exact.d), k):
            claim(definiteness(exact, S, sign, outer) >= 0, f"{side} fails at {S} (sign {sign})")
        claim(definiteness(exact, support.tolist(), sign, inner) <= 0, f"{side} is not attained at {support}")
    wide = any(not side.exact for side in (found.lambda_min, found.lambda_max))
    return UNDECIDED if wide else None


def guarantee_bounds(sl, case):
    exact = known(case)
    k = int(case.rng().integers(1, min(exact.d, 4) + 1))
    found = call(case, sl.guarantee_bounds, case.given(), case.y, k)
    if not exact.square[-1]:
        return None
    # where rounding leaves it in doubt, a column may be taken for dependent or not: the best lies between
    r2 = {S: number(exact.explained_by(S) / exact.square[-1]) for S in sets(range(exact.d), 0, k)}
    certain = [S for S in r2 if not exact.doubtful(S)]
    best = exact.at(max(certain, key=r2.get))
    low, high = max(r2[S] for S in certain), max(r2.values())
    room = R2 + best.square_off / exact.length[-1] ** 2
    judge_interval(found.best, low, high, room, "best")
    if low < 1e-12:
        return None
    supports = dict(found.supports)
    broken = [(bound.algorithm, bound.name) for bound in found.violated]
    claim(not broken, f"its own promises are broken: {broken}")
    for name, value in found.r2:
        judge_r2(exact, supports[name].tolist(), value, name)
    for bound in found.bounds:
        if exact.doubtful(supports[bound.algorithm]):
            continue
        achieved = number(exact.explained_by(supports[bound.algorithm]) / exact.square[-1])
        words = f"{bound.algorithm}, {bound.name}, k = {k}"
        kept = not bound.applies or achieved / low >= bound.lower - R2
        claim(kept, f"{words}: {bound.lower} promised, {achieved / low} achieved")
        judge_interval(bound.achieved, achieved / high, achieved / low, 2 * room / low, f"{words}: achieved")
    return None if found.best.exact and found.best.rounding < WIDE else UNDECIDED


def judge_interval(interval, low, high, room, words):
    """Claim that the interval has a number from low to high, but for its rounding and the room given."""
    room = room + 2 * interval.rounding
    holds = interval.lower - room <= high and low <= interval.upper + room
    claim(holds, f"{words} is {high}, claimed {interval}")


def certify(sl, case):
    """Judge certificates: certified claims are true, refused ones false, and another pick is refused."""
    exact, k = known(case), asked(case)
    path = call(case, sl.omp, case.given(), case.y, k, forced=case.forced)
    if len(exact.at(case.forced).basis) < len(case.forced):
        return None
    S, m = path.support.tolist(), len(case.forced)
    true = all(S[t] in tied(exact.at(S[:t])) for t in range(m, len(S)))
    try:
        made = call(case, sl.certify, case.X, case.y, path, claim="omp")
    except Exception as error:
        claim(not true and isinstance(error.__cause__, ValueError), f"{S} is refused: {error}")
        return None
    claim(true, f"{S} is certified, T are {[tied(exact.at(S[:t])) for t in range(m, len(S))]}")
    for t, step in enumerate(made.steps, m):
        at = exact.at(S[:t])
        T = tied(at)
        claim(step.tied == T and step.pick == S[t], f"step {t} of {S}: T = {T}, certified {step.tied}")
        square = step.lam_star_squared
        claim(fmpq(square.numerator, square.denominator) == at.exact[T[0]] ** 2, "λ*² is not that")
        if len(T) <= 7:
            claim(step.active == at.entry(T)[0], f"step {t} of {S}: A = {at.entry(T)[0]}, not {step.active}")
    for exactly in (True, False):
        held = call(case, made.verify, case.X, case.y, exact=exactly)
        claim(held or not exactly, f"its own certificate does not hold: {held.failures[:1]}")
    return None


def tied(step):
    """T exactly, with the columns that are nearly in the span of S."""
    top = max(abs(step.exact[j]) for j in step.free)
    return tuple(j for j in step.free if top and abs(step.exact[j]) == top)


def spectral(sl, case):
    """f, ν, g(S) by the exact determinant of δI + C_S, and how far rounding moves g."""
    exact, rng = known(case), case.rng()
    nu, delta = float(rng.choice([0.01, 0.3, 2.0])), float(rng.choice([0.3, 1.0]))
    f = sl.spectral.SmoothedDifferentialEntropy(delta, exact.d)
    shift, empty = fmpq(*delta.as_integer_ratio()), 0.0 if delta == 1 else -3 * exact.d * math.log2(delta)

    first = exact.at(exact.base)
    square = first.square[-1]

    def g(S):
        S = list(S)
        r2 = number(1 - exact.at((*exact.base, *S)).square[-1] / square) if square else 0.0
        M = fmpq_mat(len(S), len(S), [first.dot(i, j) + (shift if i == j else 0) for i in S for j in S])
        return r2 + nu * (empty + (log2(M.det()) if S else 0.0))

    off = nu * (2 * float(np.sum(exact.length[:-1] ** 2)) / delta + empty)
    return f, nu, g, C * exact.eps * math.sqrt(exact.n) * off + R2


def r2_error(exact, S):
    """Bound the error of R² = 1 − r²/‖y‖² on the way to S: 2r·off/‖y‖², where off is the error of r ≤ ‖y‖.

    After a column that is nearly in the span of the columns before it, the next ones may be in the span.
    """
    if not exact.length[-1]:
        return 0.0
    return max(2 * exact.at((*exact.base, *S[:t])).off / exact.length[-1] for t in range(len(S) + 1))


def log2(q):
    p, q = int(q.p), int(q.q)
    shift = p.bit_length() - q.bit_length()
    return math.log2((p << max(-shift, 0)) / (q << max(shift, 0))) + shift


def spectral_forward(sl, case):
    exact, k = known(case), asked(case)
    f, nu, g, off = spectral(sl, case)
    all_ = exact.at(exact.base)
    if off > 1e-3 or exact.scale is not None or all_.r < 1e-3 * all_.sy:
        return None
    X, y, options = data(case)
    options |= {"regularizer": f, "nu": nu, "forced": case.forced}
    found = call(case, sl.forward_regression, X, y, k, **options)
    S = found.support.tolist()
    slack = off + r2_error(exact, S)
    near(found.value, g(S), slack, f"g({S})")
    for t in range(len(case.forced), len(S)):
        values = {
            j: g([*S[:t], j]) for j in range(exact.d) if j not in (*exact.base, *S[:t]) and exact.square[j]
        }
        best = max(values, key=values.get)
        claim(
            values[S[t]] >= values[best] - 4 * slack - 4 * r2_error(exact, [*S[:t], best]),
            f"step {t} of {S}: g = {values[S[t]]}, but {values[best]} with {best}",
        )


def local_search(sl, case):
    """(4 + ε/n)·g ≥ max g for f ≥ 0, submodular; ε = 0.1."""
    exact = known(case)
    f, nu, g, off = spectral(sl, case)
    if off > 1e-3 or not any(exact.square[:-1]):
        return None
    for search, args in ((sl.local_search, {}), (sl.greedy_local_search, {"k": asked(case)})):
        found = call(case, search, case.given(), case.y, regularizer=f, nu=nu, eps=0.1, **args)
        S = found.support.tolist()
        slack = off + r2_error(exact, S)
        near(found.value, g(S), slack, f"g({S})")
        if not args:
            best = max(g(A) for A in sets(range(exact.d), 0, exact.d) if not exact.doubtful(A))
            most = (4 + 0.1 / exact.d) * (found.value + slack)
            claim(most >= best, f"g({S}) = {found.value}, max g = {best}")
    return None


def regularized_bounds(sl, case):
    """Promises for g, whose largest value is found among all sets."""
    exact = known(case)
    k = int(case.rng().integers(1, min(exact.d, 6) + 1))
    f, nu, g, off = spectral(sl, case)
    found = call(case, sl.guarantee_bounds, case.given(), case.y, k, regularizer=f, nu=nu)
    if off > 1e-3:
        return None
    chosen = list(sets(range(exact.d), 0, k))
    top, high = max(g(S) for S in chosen if not exact.doubtful(S)), max(g(S) for S in chosen)
    ahead = call(case, sl.forward_regression, case.given(), case.y, k, regularizer=f, nu=nu)
    if top <= 1e-6 or exact.doubtful(ahead.support):
        return None
    true = g(ahead.support.tolist()) / top
    for bound in found.bounds:
        if bound.algorithm.startswith("FR on"):
            kept = not bound.applies or true >= bound.lower - R2 - off / top
            claim(kept, f"{bound.lower} promised, {true} achieved")
            if true >= 0:  # a negative value is reported as 0
                judge_interval(bound.achieved, true * top / high, true, 1e-14, "achieved of g")
    return UNDECIDED if any(bound.achieved.rounding > WIDE for bound in found.bounds) else None


def sequential_attention(sl, case):
    """Each pick is in T, or as near to it as the descent's tolerance, 1e-4 of F, tells columns apart."""
    exact, k = known(case), min(asked(case), len(case.forced) + 2)
    path, k, first = answer(case, exact, sl.sequential_attention, k, max_iter=3000)
    S = path.support.tolist()
    for t in range(len(first), len(S)):
        step = exact.at(S[:t])
        if step.seen:
            low = step.top * (1 - 1e-3) - 2 * step.e()[S[t]]
            claim(abs(step.c[S[t]]) >= low, f"step {t} of {S}: |c| = {abs(step.c[S[t]])}, λ* = {step.top}")
    if path.status.name in ("MAX_ITER", "BEYOND_PRECISION"):
        return UNDECIDED
    return judge_end(exact, path, k)
