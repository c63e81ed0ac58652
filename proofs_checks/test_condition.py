"""The condition number of a selection: how much the data must change before OMP picks another feature.

A change of size ε moves each column by ‖ΔX_j‖ ≤ ε‖X_j‖, and y by ‖Δy‖ ≤ ε‖y‖. At a step with the selected
set S, let i be the pick, j a rival, σ = ±1, r = P_S^⊥y, c = Xᵀr and s the sign of c_i. Let z = P_S^⊥(X_i −
σX_j), b = X_S⁺y and w = X_S⁺(X_i − σX_j). The pick stays while the gaps |c_i| − σsc_j = s⟨z, r⟩ are positive.

*First order.* Since ΔP_S^⊥ is minus the symmetric part 2·sym(P_S^⊥ΔX_SX_S⁺),

    Δ⟨z, r⟩ = ⟨Δ(X_i − σX_j), r⟩ + ⟨z, Δy⟩ − Σ_{t∈S} ⟨ΔX_t, b_tz + w_tr⟩ + O(ε²).

The vectors ΔX_i, ΔX_j, ΔX_t and Δy are independent, so the largest fall is εK with

    K = ‖r‖(‖X_i‖ + ‖X_j‖) + ‖z‖‖y‖ + Σ_{t∈S} ‖X_t‖‖b_tz + w_tr‖

up to O(ε²), where each vector moves against the one with which it is multiplied.

*In y.* z does not depend on y, so the gap is linear in y. The y that keep the picks and signs are an
intersection of open half-spaces, whose distance from y is the least gap/‖z‖.

*Impossibility.* Let all data be rounded to p binary digits. In one row, the design (1, 1 + δ) and the design
(1, 1 − δ) have, for δ ≤ 2^(−p−2), the same rounded entries; for y = 1, OMP picks another column in each. A
function of the rounded data is wrong for one of them. (Bastounis, Cucker and Hansen, *When can you trust
feature selection?* I, 2023, for the LASSO.)

The oracle here is OMP by `np.linalg.lstsq`, its gaps, and their derivatives by central differences.
"""

from fractions import Fraction

import numpy as np

import sparselin as sl
from sparselin.ledger import HOLDS, claim, mutants

SOURCE = "beyond the papers"


def residual(X, y):
    """Return y − Xb with the b of least squares."""
    return y - X @ np.linalg.lstsq(X, y, rcond=None)[0]


def picks(X, y, k):
    """Return the first k picks of OMP, from its definition."""
    S = []
    for _ in range(k):
        c = np.abs(X.T @ residual(X[:, S], y))
        c[S] = -1
        S.append(int(np.argmax(c)))
    return S


def gap(X, y, S, i, j, sigma):
    """Return |c_i| − σsc_j at the selected set S; X and y may be stacks of data."""
    A = X[..., S]
    r = y - (A @ (np.linalg.pinv(A) @ y[..., None]))[..., 0] if S else y
    c_i = (X[..., i] * r).sum(axis=-1)
    return np.abs(c_i) - sigma * np.sign(c_i) * (X[..., j] * r).sum(axis=-1)


def steepest(X, y, S, i, j, sigma, h=1e-5):
    """Return the change of X and of y of size 1 that closes the gap fastest, and the rate of the fall K.

    The derivatives are central differences with steps h, which need no formula.
    """
    data = np.column_stack([X, y])
    E = h * np.eye(data.size).reshape(-1, *data.shape)
    up, down = (gap(D[..., :-1], D[..., -1], S, i, j, sigma) for D in (data + E, data - E))
    gradient = ((up - down) / (2 * h)).reshape(data.shape)
    size = np.linalg.norm(gradient, axis=0)
    lengths = np.linalg.norm(data, axis=0)
    change = -gradient / np.where(size > 0, size, 1) * lengths
    return change[:, :-1], change[:, -1], float(size @ lengths)


def drawn(check):
    """Draw Gaussian designs with 4 to 7 rows, 4 or 5 columns of different lengths, and three picks."""
    for _ in range(check.cases):
        n = int(check.rng.integers(4, 8))
        d = int(check.rng.integers(4, 6))
        X = check.rng.standard_normal((n, d)) * check.rng.uniform(0.5, 2, d)
        yield X, check.rng.standard_normal(n), check.rng.standard_normal((20, n, d + 1))


def sizes(X, y, X2, y2):
    """Return the size of the change from X, y to X2, y2."""
    before, after = np.column_stack([X, y]), np.column_stack([X2, y2])
    return float((np.linalg.norm(after - before, axis=0) / np.linalg.norm(before, axis=0)).max())


def random_changes(X, y, noise, size):
    """Yield data at exactly this size, with each column and y moved in a random direction."""
    data = np.column_stack([X, y])
    for E in noise:
        moved = data + E * size * np.linalg.norm(data, axis=0) / np.linalg.norm(E, axis=0)
        yield moved[:, :-1], moved[:, -1]


@claim("ours-condition-number", SOURCE, "proof, float", HOLDS, cases=300, ci_cases=12)
@mutants("sl.condition", "steepest")
def test_the_condition_number_is_exact_to_first_order(check):
    """The numbers of `sl.condition` are the largest K/gap over rivals and both signs, where K is the largest
    first-order fall of the gap under changes of size 1. The fall of the gap along the attaining change of
    size ε is Kε up to terms in ε², and random changes of size ε do not close it faster.

    Hypotheses: Gaussian designs with 4 to 7 rows, and the first three steps of OMP

    Tolerance: K is from differences with steps h = 1e-5. Their error is of order h² and eps/h, less than 1e-7
    of K if gaps have third derivatives of size at most 1e3; 1e-4 is allowed. Changes have ε = 1e-6.
    """

    def exact(case):
        X, y, noise = case
        found = sl.condition(X, y, sl.omp(X, y, 3))
        eps = 1e-6
        for t, i in enumerate(S := picks(X, y, 3)):
            pairs = [(S[:t], i, j, s) for j in range(X.shape[1]) if j not in S[: t + 1] for s in (1, -1)]
            falls = [steepest(X, y, *pair) for pair in pairs]
            gaps = [float(gap(X, y, *pair)) for pair in pairs]
            numbers = [K / g for (_, _, K), g in zip(falls, gaps, strict=True)]
            worst = int(np.argmax(numbers))
            (DX, dy, K), g = falls[worst], gaps[worst]
            attained = (g - gap(X + eps * DX, y + eps * dy, *pairs[worst])) / (eps * K)
            tried = [g - gap(*moved, *pairs[worst]) for moved in random_changes(X, y, noise, eps)]
            close = abs(found.numbers[t] / numbers[worst] - 1) < 1e-4
            if not (close and abs(attained - 1) < 1e-3 and max(tried) <= K * eps * (1 + 1e-3)):
                return False
        return True

    check.over(drawn(check), exact)


@claim("ours-condition-in-y", SOURCE, "proof, float", HOLDS, cases=1000, ci_cases=40)
@mutants("sl.condition", "picks")
def test_the_distance_in_y_is_exact(check):
    """No change of y that is smaller than the distance in y changes a pick of OMP. A change along −s·z/‖z‖
    that is larger by 1e-6 of the distance does. For y alone, the numbers of `sl.condition` are the
    reciprocals of the distances, and the lower bounds are not larger than the distances.

    Hypotheses: Gaussian designs with 4 to 7 rows, and the first three picks; 20 random changes each

    Tolerance: The distance may be off by 1e-6 of itself; rounding moves it by eps·κ(X_S)‖y‖ over a gap.
    """

    def exact(case):
        X, y, noise = case
        S = picks(X, y, 3)
        found = sl.condition(X, y, sl.omp(X, y, 3), in_y=True)
        t = int(np.argmin(found.distances_y))
        size = found.distance_y * np.linalg.norm(y)
        sign = np.sign(X[:, S[t]] @ residual(X[:, S[:t]], y))
        z = residual(X[:, S[:t]], X[:, S[t]] - found.signs[t] * X[:, found.rivals[t]])
        toward = -sign * z / np.linalg.norm(z)
        tries = [E[:, -1] / np.linalg.norm(E[:, -1]) for E in noise] + [toward]
        kept = all(picks(X, y + (1 - 1e-6) * size * e, 3) == S for e in tries)
        alike = np.allclose(found.numbers * found.distances_y, 1, rtol=1e-9)
        alike &= bool((found.lowers <= found.distances_y).all())
        return alike and kept and picks(X, y + (1 + 1e-6) * size * toward, 3) != S

    check.over(drawn(check), exact)


@claim("ours-condition-bounds", SOURCE, "proof, float", HOLDS, cases=300, ci_cases=12)
@mutants("sl.condition", "picks")
def test_the_bounds_hold_at_finite_size(check):
    """No change of size at most `lower` changes a pick of OMP, and the data of `nearest`, of size at most
    `upper` ≥ `lower`, give a tie or another pick.

    Hypotheses: Gaussian designs with 4 to 7 rows, and the first three picks. 20 random changes, and the
    steepest one for the rival of each step

    Tolerance: At `nearest` the gap that is closed is at most 1e-9‖X_j‖‖y‖; the tie is exact in rational
    arithmetic, and rounding leaves this much.
    """

    def bounded(case):
        X, y, noise = case
        S = picks(X, y, 3)
        found = sl.condition(X, y, sl.omp(X, y, 3))
        changes = [steepest(X, y, S[:t], S[t], found.rivals[t], found.signs[t]) for t in range(3)]
        moved = [(X + found.lower * DX, y + found.lower * dy) for DX, dy, _ in changes]
        moved += random_changes(X, y, noise, found.lower)
        near = found.nearest
        if not (near.rival >= 0 and 0 < found.lower <= found.upper):
            return False
        t = near.step
        scale = np.linalg.norm(near.X, axis=0).max() * np.linalg.norm(near.y)
        closed = min(float(gap(near.X, near.y, S[:t], S[t], near.rival, sign)) for sign in (1, -1))
        within = sizes(X, y, near.X, near.y) <= found.upper * (1 + 1e-12)
        return within and closed <= 1e-9 * scale and all(picks(*data, 3) == S for data in moved)

    check.over(drawn(check), bounded)


def rounded(x, p):
    """Round a positive fraction to p binary digits, to nearest."""
    unit = Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length() - p)
    unit *= 2 if x / unit >= 2**p else 1
    return round(x / unit) * unit


def first_pick(X, y):
    """Return the pick of OMP for one row of columns and one y, in fractions."""
    return max(range(len(X)), key=lambda j: abs(X[j] * y))


@claim("ours-condition-impossible", SOURCE, "proof, exact", HOLDS, cases=200, ci_cases=40)
@mutants("rounded", "first_pick", "sl.condition")
def test_rounded_data_cannot_decide_on_a_pick(check):
    """For every number p of binary digits there are two designs with the same entries after rounding to p
    digits, and with different picks of OMP. So no function of the rounded data returns the pick of every
    design. The condition numbers of both are at least 2^(p + 1).

    Hypotheses: the designs (1, 1 + δ) and (1, 1 − δ) with one row, y = 1, and δ = 2^(−p−2)

    Tolerance: the condition numbers are computed for p ≤ 40 only, where the designs are exact in float64.
    """

    def undecided(p):
        delta = Fraction(1, 2 ** (p + 2))
        designs = [(Fraction(1), 1 + sign * delta) for sign in (1, -1)]
        alike = [[rounded(x, p) for x in X] for X in designs]
        numbers = [np.inf, np.inf]
        if p <= 40:
            data = [np.array([X], dtype=float) for X in designs]
            numbers = [sl.condition(X, [1.0], sl.omp(X, [1.0], 1)).number for X in data]
        differ = [first_pick(X, Fraction(1)) for X in designs] == [1, 0]
        return alike[0] == alike[1] == [1, 1] and differ and min(numbers) >= 2 ** (p + 1)

    check.over(range(1, check.cases + 1), undecided)
