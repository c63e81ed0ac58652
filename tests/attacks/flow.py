"""The claims of `gradient_flow`, judged event by event, each at the s of the path: no near-tie cascades.

At an event the features on the face, F = {j : |s_j| = 1}, are read off the path. What β, its support, the
next step of s and the next event have to be follows from F alone, by enumeration in rationals.
"""

import itertools
import math

import numpy as np
from flint import fmpq, fmpq_mat

from .options import data
from .oracles import C, number, part, root
from .paths import TIED, correlated, judge_norm, known
from .run import UNDECIDED, call, claim

EVENTS = 12  # the most events of a path
# What the entropy may rise by, as a share of Σ|β_i|, along a move that keeps Xβ and changes no β_i by more
# than itself. (An error of 1e-8 in β changes it by 1e-16 in this direction, and its slope by 1e-8.)
ENTROPY = 1e-7


def rational(x):
    return fmpq(*float(x).as_integer_ratio())


def gradient_flow(sl, case):
    exact = known(case)
    X, y, options = data(case)
    path = call(case, sl.gradient_flow, X, y, forced=case.forced, max_events=EVENTS, **options)
    S = (*exact.base, *case.forced)
    if any(exact.at(S[:i]).spanned[j] for i, j in enumerate(S)):
        return None
    for m in range(len(path.tau) + 1):
        judge_event(exact, path, S, m)
    status, last = path.status.name, exact.at((*S, *(path.supports[-1] if path.supports else ())))
    claim(status in ("COMPLETED", "MAX_STEPS", "BEYOND_PRECISION"), f"status {status}")
    if status == "COMPLETED":
        left = correlated(last)
        claim(not left, f"COMPLETED, but c = {last.c[left]} at {left} (e = {last.e()[left]})")
        if not case.options and (np.abs(case.X) <= 64).all() and (np.round(case.X) == case.X).all():
            whole = case.X.astype(np.float64), case.y.astype(np.float64)
            path = call(case, sl.gradient_flow, *whole, forced=case.forced)
            given = call(case, sl.certify, *whole, path)
            claim(given.verify(*whole).holds, "the certificate does not hold")
    return UNDECIDED if status == "BEYOND_PRECISION" else None


def judge_event(exact, path, S, m):
    """β after event m on the face there, and the way to the next event; m = 0 is the start."""
    d, words = exact.X.shape[1], f"event {m}"
    s = np.zeros(path.s.shape[1])
    if m:
        s = path.s[m - 1].astype(float)
    face = np.flatnonzero(np.abs(s) == 1).tolist()
    A = path.supports[m - 1] if m else ()
    coef = np.zeros(d)
    coef[path.features] = path.coef_path[m]
    if exact.base:
        coef[list(exact.base)] = path.intercept_path[m]
    on = [j for j in np.flatnonzero(coef).tolist() if j not in S]
    claim(set(on) <= set(A) <= set(face), f"{words}: support {A}, nonzero {on}, face {face}")
    if path.s.dtype == np.float32:  # |s| = 1 after rounding says little, so only the support is on the face
        face = list(A)
    claim((coef[on] * s[on] > 0).all(), f"{words}: signs of β = {coef[on]} at {on}, s = {s[on]}")
    step = exact.at((*S, *A))
    judge_fit(exact, coef, step, face, s, float(path.residual_norm[m]), words)
    judge_norm(path.residual_norm[m], step, f"{words}: ‖r‖")
    if m and len(face) <= TIED:
        judge_support(exact, S, face, s, A, coef, bool(path.unique[m - 1]), words)
    if m < len(path.tau):
        judge_step(exact, path, step, S, s, m, words)


def judge_fit(exact, coef, step, face, s, norm, words):
    """The float β, exactly: ‖y − Xβ‖ is the norm of the result, and the KKT conditions hold on the face."""
    J, y = np.flatnonzero(coef).tolist(), exact.X.shape[1]
    beta, G = [rational(coef[j]) for j in J], exact.G
    c = {j: G[j, y] - sum((G[j, i] * b for i, b in zip(J, beta, strict=True)), fmpq(0)) for j in range(y + 1)}
    square = c[y] - sum((c[i] * b for i, b in zip(J, beta, strict=True)), fmpq(0))
    size = exact.length[y] + float(exact.length[J] @ np.abs(coef[J]))
    off = C * exact.eps * size
    words = f"{words}: β = {coef[J]} at {J}"
    claim(abs(root(square) - norm) <= off, f"{words}: ‖y − Xβ‖ = {root(square)}, claimed {norm} (±{off})")
    for j in {*step.S, *face}:
        slack = math.sqrt(exact.n) * off * exact.length[j]
        value = number(c[j]) if j in J or j in step.S else max(0.0, s[j] * number(c[j]))
        claim(abs(value) <= slack, f"{words}: c = {value} at {j} (±{slack})")


def judge_support(exact, S, face, s, A, coef, unique, words):
    """The largest support on the face, by enumeration; whether β is unique, and of largest entropy."""
    first, m = exact.at(S), len(face)
    sign = [int(s[j]) for j in face]
    signed = list(zip(sign, face, strict=True))
    H = fmpq_mat(m, m, [a * b * first.dot(i, j) for a, i in signed for b, j in signed])
    goal = fmpq_mat(m, 1, [a * first.exact[j] for a, j in zip(sign, face, strict=True)])
    true, certain = set(), True
    for size in range(m + 1):
        for P in itertools.combinations(range(m), size):
            try:
                v = part(H, P, P).solve(part(goal, P, [0])) if P else fmpq_mat(0, 1)
            except ZeroDivisionError:
                continue
            rate = part(H, range(m), P) * v if P else fmpq_mat(m, 1)
            if all(x > 0 for x in v.entries()) and all(rate[i, 0] >= goal[i, 0] for i in range(m)):
                true |= {face[i] for i in P}
                certain &= is_certain(exact, S, [face[i] for i in P], face)
    if not certain:
        return
    claim(true == set(A), f"{words}: the largest support is {sorted(true)}, claimed {A}")
    where = [face.index(j) for j in A]
    N, rank = part(H, where, where).rref()
    claim(unique == (rank == len(A)), f"{words}: rank {rank} of {A}, unique = {unique}")
    pivots = [next(k for k in range(len(A)) if N[i, k] != 0) for i in range(rank)]
    for k in set(range(len(A))) - set(pivots):  # the move of column k
        move = np.zeros(len(A))
        move[k] = 1
        move[pivots] = [-number(N[i, k]) for i in range(rank)]
        factor = first.factor[list(A)]  # the entropy is that of the coefficients of standardized columns
        move, size = move / factor, np.abs(coef[list(A)]) / factor
        rise = abs(move @ (np.log(size) + 1)) * (size[move != 0] / np.abs(move[move != 0])).min() / size.sum()
        claim(rise <= ENTROPY, f"{words}: the entropy of β = {coef[list(A)]} at {A} may rise by {rise}")


def is_certain(exact, S, P, face):
    """Return whether rounding changes no sign at a vertex: of β on P, of c off P; nor what is in the span."""
    step = exact.at((*S, *P))
    for j in set(face) - set(P):
        spanned = step.square[j] == 0
        if spanned != bool(step.spanned[j]) or (step.exact[j] != 0 and abs(step.c[j]) <= step.e()[j]):
            return False
    for j in P:
        without = exact.at((*S, *(i for i in P if i != j)))
        if without.spanned[j] or abs(without.c[j]) <= without.e()[j]:
            return False
    return True


def judge_step(exact, path, step, S, s, m, words):
    """s moves by Δτ·c up to the next event, at which it is cut off at ±1: no feature passes ±1 before.

    Both τ are rounded.
    """
    after, tau = path.s[m].astype(float), [0.0, *path.tau.tolist()]
    delta, J = tau[m + 1] - tau[m], [j for j in range(len(s)) if j not in S and not step.spanned[j]]
    claim(delta >= 0, f"{words}: τ decreases")
    if not J:
        return
    new = [j for j in J if abs(after[j]) == 1 and abs(s[j]) < 1] or J
    c, e = step.c, step.e()
    error = float(path.s_error[m]) + (float(path.s_error[m - 1]) if m else 0.0)
    ratio = np.abs(c[J]) / max(float(np.abs(c[new]).min()), 1e-12 * float(np.abs(c).max()))
    time = np.where(np.abs(after[J]) == 1, tau[m + 1], delta)  # a tie is one up to the error of all of s
    slack = (
        time * e[J]
        + C * exact.eps * (np.abs(s[J]) + tau[m + 1] * np.abs(c[J]))
        + 4 * error * np.maximum(1, ratio)
    )
    goal = s[J] + delta * c[J]
    bad = [j for j, off, room in zip(J, np.abs(after[J] - goal), slack, strict=True) if not off <= room]
    claim(not bad, f"{words}: s = {after[bad]} at {bad}, of s + Δτ·c = {(s[bad] + delta * c[bad])}")
