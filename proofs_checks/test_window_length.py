"""The selection window (λ₂, λ*): its definition, its length, and that it contains the window of the paper.

*Sequential Attention for Feature Selection* needs one λ₀ < λ* such that the next feature keeps the largest
correlation for λ ∈ (λ₀, λ*) (Lemma 3.4; 3.5 in the NeurIPS submission). Here the largest such interval, (λ₂,
λ*), is computed and compared with the interval (λ₀, λ*) that the proof gives.

Notation. S is the set of the features selected so far, P_S^⊥ the projection onto the orthogonal complement of
their columns, and S̄ the set of the other features. Let r = P_S^⊥y, c = Xᵀr, λ* = ‖c‖∞ > 0 and T = {i : |c_i|
= λ*}. Let Z have the columns sign(c_i)P_S^⊥X_i for i ∈ T, and let v be a solution of min_{v ≥ 0} ½‖Zv‖² −
1ᵀv. A is the set of the indices i ∈ T for which some solution has v_i > 0. Let u* = Zv, h = Xᵀu*, g_i = |h_i|
≥ 1 on T, and q_j = ‖X_j‖‖r‖. The penalty is λ = λ* − ε, and p = y − Xβ is the residual of a solution β of the
LASSO with this penalty on S̄. If column j becomes active next, it becomes active at ε = ρ_j:

    ρ_j = the least positive root of |c_j − εh_j| = λ* − ε  (j ∉ T ∪ S),   2λ*/(1 + g_j)  (j ∈ T∖A),
    ε₂ = min(λ*, ρ_j),                                                             λ₂ = λ* − ε₂;
    ε₀ = min(1, (λ* − |c_j|)/(λ* + q_j), 2λ*/(λ* + q_i)),                          λ₀ = (1 − ε₀)λ*,
    ε₁ = min(1, 2(λ* − |c_j|)/(2λ* − |c_j| + q_j), 4λ*/(3λ* + q_i)),               λ₁ = (1 − ε₁)λ*.

The minima are over j ∉ T ∪ S and i ∈ T. The proof of Lemma 3.4 uses the length ε₀λ*. From the same numbers,
λ*, |c_j| and q_j, follows the larger length ε₁λ*. The exact length of the window is ε₂.

Proofs: docs/proofs/window_length.md. In short: β with β_T = s∘(εv), s = sign(c_T), has the residual r − εu*.
This β is a solution exactly while |c_j − εh_j| ≤ λ* − ε for all j ∉ S. The left side minus the right side is
convex in ε and at most 0 at ε = 0. So if the inequality fails at some ε, it also fails at every larger ε.
Moreover ⟨u*, r/λ* − u*⟩ = 0 says that u* lies on a sphere, and this bounds h_j in terms of c_j and q_j.

The checks are exact. The helper `segment` lists the vertices of the nonnegative least squares problem for v.
The KKT conditions are evaluated in fractions, and inequalities of the form a√b ≥ K are decided by squaring.
The package's λ₂ and λ₀ may differ from the exact ones by 1e-9λ*. The reason is that an error of at most
8eps(√n + κ(X_{S∪A}))‖X_j‖‖y‖ in c_j and λ*h_j moves ρ_j by this error, divided by (λ* − |c_j|)/λ*. For these
integers the quotient is below 1e-9λ* (κ < 10³, ‖X_j‖‖y‖ < 10³λ*, margins > 10⁻³).
"""

import math

import numpy as np
from flint import arb, fmpq
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import HALF, columns, inner, real, segment, step
from proofs_checks.steps import spread
from proofs_checks.window import CLOSE, Window, agrees, at_least, fails_beyond, solves_inside, steps
from sparselin.ledger import EMPIRICAL, HOLDS, claim, mutants

NUMBER = "the interval of Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission), made sharp"
THEOREM = [f"Theorem {n} of docs/proofs/window_length.md: {NUMBER}" for n in range(6)]
LOWER = "The exact λ₂ and the package's may differ by 1e-9λ*."
BOTH = "The exact λ₂, λ₀ and the package's may differ by 1e-9λ*."
SLOPES = [fmpq(p, q) for q in range(2, 12) for p in range(1, q) if math.gcd(p, q) == 1]  # tan(α/2)
# κ = f(t*) at the zero t* of t³ − t² + 3t − 1, f(t) = 2(1 + t²)/((1 − t)(1 + t)³); f ≥ κ elsewhere
KAPPA_BELOW, KAPPA_ABOVE = fmpq(14033, 10000), fmpq(14034, 10000)


@claim("ours-window-sharp", THEOREM[1], "proof, exact", HOLDS, ci_cases=25, tolerance=LOWER)
@mutants("sl.first_entry")
def test_the_window_is_exactly_where_the_support_is_A(check):
    """At the penalty λ, some solution β of Sequential LASSO has its support in A(S) ∪ S if and only if λ ∈
    [λ₂, λ*]. For λ ∈ (λ₂, λ*) every solution has its support in A(S) ∪ S, and one solution is nonzero on all
    of A(S). If λ₂ > 0, then at λ = λ₂ some column j outside A(S) ∪ S has |⟨X_j, y − Xβ⟩| = λ.

    Hypotheses: λ* = ‖XᵀP_S^⊥y‖∞ > 0 and 0 ≤ λ ≤ λ*. S is the set of selected features. λ₂ is the least λ ≥ 0
    down to which the solution just below λ*, continued linearly in λ, satisfies the KKT conditions. The
    columns are arbitrary (zero, equal, in the span of X_S), and those of S may be dependent. A(S) is the set
    of features that are nonzero in some solution just below λ*. P_S^⊥ is the projection onto the orthogonal
    complement of the columns in S.
    """
    ended = []

    def sharp(X, y, S):
        window = Window(X, y, S)
        if window.eps < window.lam:
            ended.append(window)
        return (
            agrees(sl.first_entry(X, y, forced=S), window)
            and solves_inside(X, y, S, window)
            and (window.eps == window.lam or fails_beyond(window))
        )

    check.forall(steps(), spread(sharp))
    # an event on T∖A alone: X_0 = (6, 3), X_1 = (6, 8), y = (5, 0): ε₂ = 6λ*/7
    opposite = Window([[6, 6], [3, 8]], [5, 0])
    check.over([opposite], lambda window: window.eps == fmpq(6, 7) * window.lam and window.left_out == [1])
    smaller = sum(bool(window.left_out) for window in ended)
    alone = sum(all(window.root[j] > window.eps for j in window.outside) for window in ended)
    check.measured(
        f"λ₂ > 0 in {len(ended)} steps; A ≠ T in {smaller} of them, the first event on T∖A alone in {alone}."
    )


def within_bounds(window, j):
    """Return whether feature j obeys the two inequalities from which the lower bound λ₁ ≥ λ₂ is derived,
    exactly.

    The penalty at which j can become active must be at least as far below λ* as its term in the bound says.
    For a feature that does not attain the largest correlation, ⟨X_j, u*⟩ must also be as close to c_j/(2λ*)
    as ⟨u*, r/λ* − u*⟩ = 0 implies. Here r is the residual, c_j = ⟨X_j, r⟩, and −u* the derivative of the
    residual of the LASSO solution as the penalty decreases from λ*.
    """
    lam, c, root = window.lam, abs(window.c[j]), window.root[j]
    if j in window.left_out:
        return at_least(root, window.norm2[j], 4 * lam * lam - 3 * lam * root)
    distance = window.h[j] - window.c[j] / (2 * lam)
    return at_least(root, window.norm2[j], 2 * lam * (lam - c) - root * (2 * lam - c)) and at_least(
        fmpq(1), window.norm2[j], 2 * lam * abs(distance)
    )


@claim("ours-window-contains", THEOREM[2], "proof, exact", HOLDS, tolerance=BOTH)
@mutants("sl.first_entry")
def test_the_window_contains_that_of_the_proof(check):
    """λ₂ ≤ λ₁ ≤ λ₀ and ε₀ ≤ ε₁ ≤ 2ε₀, and λ₂ = λ₀ only if both are 0. Here (λ₂, λ*) is the largest interval
    of penalties on which exactly the features of A(S) are nonzero off S. The proof of Lemma 3.4 gives the
    smaller interval (λ₀, λ*). With r = P_S^⊥y and c = Xᵀr,

        λ₀ = (1 − ε₀)λ*,   ε₀ = min(1, (λ* − |c_j|)/(λ* + ‖X_j‖‖r‖), 2λ*/(λ* + ‖X_i‖‖r‖)),
        λ₁ = (1 − ε₁)λ*,   ε₁ = min(1, 2(λ* − |c_j|)/(2λ* − |c_j| + ‖X_j‖‖r‖), 4λ*/(3λ* + ‖X_i‖‖r‖)).

    The minima are over j ∉ T ∪ S and over i ∈ T.

    Hypotheses: λ* = max|c_j| > 0, T is the set of features that attain λ*, and A(S) is the set of features
    that are nonzero in some solution just below λ*. The columns and the set S of selected features are
    arbitrary. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Consequences: The active set is A(S) ⊆ T on all of (λ₀, λ*), the window of the proof. It is also A(S) on
    the longer interval (λ₁, λ*), and ε₁ needs the same numbers as ε₀.
    """

    def contains(X, y, S):
        window, entry = Window(X, y, S), sl.first_entry(X, y, forced=S)
        lam, lam0 = real(window.lam), window.proof_lower()
        zero = not window.proof_reaches(window.lam, strictly=True) and lam0 <= CLOSE * lam
        strictly = window.proof_reaches(window.eps, strictly=True)
        return (
            agrees(entry, window)
            and abs(entry.proof_lower - lam0) <= CLOSE * lam
            and all(within_bounds(window, j) for j in window.root)
            # ε₀ ≤ ε₁ ≤ 2ε₀ holds term by term where |c_j| ≤ λ* ≤ q_i
            and all(window.norm2[i] >= window.lam**2 for i in window.T)
            and window.proof_reaches(window.eps)
            and (strictly or (zero and window.eps == window.lam))
        )

    check.forall(steps(), spread(contains))


def turned(t, m, tied=False):
    """Return X_0 = (cos α, sin α), X_1 = −m(cos 2α, sin 2α) and y = (1, 0), with tan(α/2) = t.

    The columns are multiplied by a common number that makes their entries integers. If `tied`, X_1 has the
    opposite sign, and the length for which both columns have the same inner product with y.
    """
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    double = (cos * cos - sin * sin, 2 * sin * cos)
    m = cos / double[0] if tied else -m
    entries = [cos, m * double[0], sin, m * double[1]]
    common = math.lcm(*(int(entry.q) for entry in entries))
    return np.array([real(entry * common) for entry in entries]).reshape(2, 2), np.array([1.0, 0.0])


def bound(window, j):
    """Return the best lower bound on the distance below λ* at which feature j can become active, exactly.

    The bound uses λ*, |c_j| and ‖X_j‖‖r‖ only, where c_j = ⟨X_j, r⟩ and r is the residual. The product
    ‖X_j‖‖r‖ must be rational.
    """
    lam, c, q = window.lam, abs(window.c[j]), root_of_square(window.norm2[j])
    return 4 * lam**2 / (3 * lam + q) if j in window.T else 2 * lam * (lam - c) / (2 * lam - c + q)


def root_of_square(q):
    """Return √q, for a rational number q that is the square of a rational number."""
    p, s = math.isqrt(int(q.p)), math.isqrt(int(q.q))
    if p * p != q.p or s * s != q.q:
        raise ValueError(f"{q} is no square")
    return fmpq(p, s)


def exactly_at_the_bound(design):
    """Return whether the window of a design with two columns is exactly as long as the best lower bound says.

    The window must end before λ = 0, and the package must find the same window.
    """
    X, y = design
    window = Window(X, y)
    (j,) = window.root
    return agrees(sl.first_entry(X, y), window) and window.eps == bound(window, j) < window.lam


def without_event(t, m):
    """Return whether X_0 = mX_1 gives the window (0, λ*), in which no second feature becomes active.

    X_1 and y enclose the angle α, tan(α/2) = t.
    """
    (x0, _), y = turned(t, 1)[0].T, np.array([1.0, 0.0])
    window = Window(X := np.column_stack([m * x0, x0]), y)
    return agrees(sl.first_entry(X, y), window) and window.eps == window.lam


def parallel_to_y(t, s):
    """Return whether, for X_1 parallel to y, the window is longer than its lower bound by the factor that is
    claimed.

    With c_i = ⟨X_i, y⟩, λ* = c_0, c_1 = sλ* and the angle α between X_0 and y, tan(α/2) = t, the window has
    the length λ*(1 − s)/(1 − s·cos²α). The lower bound is λ*(1 − s). The quotient tends to 1 as α tends to
    90°.
    """
    (x0, _), y = turned(t, 1)[0].T, np.array([1.0, 0.0])
    p, q = int(s.p), int(s.q)
    window = Window(X := np.column_stack([q * x0, [p * x0[0], 0.0]]), y)
    square, term = ((1 - t * t) / (1 + t * t)) ** 2, window.lam * (1 - s)  # cos²α
    exact = window.eps * (1 - s * square) == term == bound(window, 1)
    return exact and agrees(sl.first_entry(X, y), window)


def many_times_longer(m):
    """Return whether the window (λ₂, λ*) is N = m² + 1 times as long as the window in the proof of Lemma 3.4.

    The design is X_0 = (N, 0), X_1 = (m² − 1, 2m), y = (1, 0). Its window ends at λ₂ = 0, and the window of
    the proof has the length λ*/N.
    """
    X, y, N = np.array([[m * m + 1.0, m * m - 1.0], [0.0, 2.0 * m]]), np.array([1.0, 0.0]), m * m + 1
    window, entry = Window(X, y), sl.first_entry(X, y)
    return window.eps == window.lam == N and abs(ratio(entry) - N) <= CLOSE * N


def ratio(entry):
    """Return the length of the exact window divided by the length of the proof's window, as the package finds
    them.
    """
    return (entry.lam_star - entry.window_lower) / (entry.lam_star - entry.proof_lower)


@claim("ours-window-best-bound", THEOREM[3], "proof, exact", HOLDS, cases=200, ci_cases=20, tolerance=BOTH)
@mutants("sl.first_entry", "turned")
def test_the_bounds_are_attained(check):
    """Column by column, the lower bound ε₁ on the relative length of the window is the best possible. The
    window is the largest interval (λ₂, λ*) of penalties on which the same features are active. ε₁ is the
    least of 1, 2(λ* − |c_j|)/(2λ* − |c_j| + ‖X_j‖‖r‖) over j ∉ T ∪ S, and 4λ*/(3λ* + ‖X_i‖‖r‖) over i ∈ T
    (ledger id ours-window-contains). Let λ* − ρ_j be the penalty at which column j becomes active if it is
    the first to become active below λ*. For j ∉ T ∪ S, and for j ∈ T∖A, no lower bound on ρ_j/λ* that uses
    only λ*, |c_j|, ‖X_j‖ and ‖r‖ is larger than the term of ε₁ at j. The term is attained, except that for
    |c_j| = ‖X_j‖‖r‖ > 0 it is a limit. For j ∉ T ∪ S, no upper bound on ρ_j/λ* that uses only these numbers
    is below 1; two columns suffice to show this.

    So the term of each column in the ε₀ of the proof of Lemma 3.4 is at least half of the best bound that
    these four numbers allow. All columns together can imply more: the columns (4, 3) and (0, 5) with y = (1,
    0) have ε₁ = 8/13, but together they imply 5/8. Let ε₂ = λ* − λ₂ be the length of the window. The quotient
    ε₂/(ε₀λ*) is unbounded, even if the columns and y have length 1 and y is one of the columns.

    Hypotheses: S = ∅, r = y, c = Xᵀy, λ* = max|c_j|, T is the set of features that attain λ*, and A ⊆ T is
    the set of features that are active just below λ*. The check takes families of designs whose angles have a
    rational sine and cosine.
    """
    wide = [t for t in SLOPES if t * t + 2 * t >= 1]  # α ≥ 45°: c_1 ≥ 0
    steep = [t for t in SLOPES if t * t + 2 * t < 1]
    lengths = [fmpq(1, 7), fmpq(1, 2), fmpq(1), fmpq(3)]
    free = [(t, m) for t in wide for m in lengths if m * (4 * t**2 - (1 - t**2) ** 2) < (1 - t**4)]
    kept = check.rng.permutation(len(free))[: check.cases]
    check.over([turned(*free[k]) for k in kept], exactly_at_the_bound)
    check.over([turned(t, 1, tied=True) for t in steep[: check.cases]], exactly_at_the_bound)
    check.over([(t, m) for t in SLOPES[: check.cases] for m in (2, 7)], spread(without_event))
    check.over(
        [(t, s) for t in SLOPES[: check.cases] for s in (fmpq(1, 3), fmpq(9, 10))], spread(parallel_to_y)
    )
    check.over(range(2, 12), many_times_longer)
    all_columns = Window([[4, 0], [3, 5]], [1, 0])
    check.over([all_columns], lambda w: min(bound(w, 0), bound(w, 1)) == fmpq(8, 13) * w.lam)
    check.over([all_columns], lambda w: w.eps == fmpq(5, 8) * w.lam)


def f(t):
    """Return f(t) = 2(1 + t²)/((1 − t)(1 + t)³).

    The minimum of f over 0 < t < 1 is the constant κ = 1.4033….
    """
    return 2 * (1 + t * t) / ((1 - t) * (1 + t) ** 3)


def kappa():
    """Return a ball around κ, the minimum of f(t) = 2(1 + t²)/((1 − t)(1 + t)³) over 0 < t < 1.

    The minimum is at the only zero of t³ − t² + 3t − 1, which bisection finds.
    """
    low, high = fmpq(0), fmpq(1)
    for _ in range(60):
        t = (low + high) / 2
        low, high = (low, t) if t**3 - t**2 + 3 * t > 1 else (t, high)
    return f(arb((low + high) / 2, (high - low) / 2))


def triangle(t):
    """Check a design of two columns of length N whose window is f(t) times as long as the window of the
    proof.

    The columns are (N, 0) and (−b, a), and y = (a, b), where t = tan(α/2) for the angle α between y and (N,
    0). The proof of Lemma 3.4 gives the length ε₀λ*, ε₀ = a/(a + N). f(t) = 2(1 + t²)/((1 − t)(1 + t)³).
    """
    p, q = int(t.p), int(t.q)
    a, b, N = q * q - p * p, 2 * p * q, q * q + p * p
    X, y = np.array([[N, -b], [0.0, a]]), np.array([a, b], float)
    window, times = Window(X, y), f(t)
    return (
        window.eps == times * fmpq(a, a + N) * window.lam
        and abs(ratio(sl.first_entry(X, y)) - real(times)) <= CLOSE * real(times)
        and times > KAPPA_BELOW
    )


def close_to_one(M):
    """Check a design whose window is longer than the window of the proof, but by less than the factor 1 +
    13/M².

    The columns are (M, 4, ±3) and (M, 5, 0), and y = (1, 0, 0). All three columns have the same correlation,
    and only the first two become active just below λ*.
    """
    X, y = np.array([[M, M, M], [4.0, 4.0, 5.0], [3.0, -3.0, 0.0]]), np.array([1.0, 0.0, 0.0])
    window = Window(X, y)
    return (
        agrees(sl.first_entry(X, y), window)
        and window.eps == window.lam * fmpq(M * M + 16, M * M + 18)  # g_2 = (M² + 20)/(M² + 16)
        and window.proof_reaches(window.eps, strictly=True)
        and not window.proof_reaches(window.eps / (1 + fmpq(13, M * M)))
    )


@claim("ours-window-unit-ratio", THEOREM[4], "proof, exact, interval", HOLDS, tolerance=BOTH)
@mutants("sl.first_entry")
def test_with_unit_columns_the_window_is_two_fifths_longer(check):
    """For unit columns, the window is at least κ times as long as the window in the proof of Lemma 3.4, with
    two exceptions. The window is the largest interval of penalties on which the same features are active. In
    detail, let λ* − ρ_j be the penalty at which column j becomes active if it is the first to become active
    below λ*. Every column j ∉ T ∪ S has

        ρ_j ≥ κ·λ*(λ* − |c_j|)/(λ* + ‖X_j‖‖r‖),   κ = min_{0<t<1} 2(1 + t²)/((1 − t)(1 + t)³) = 1.4033….

    The two exceptions: the first column that becomes active below λ* is in T∖A, or every column is in T ∪ S.
    In the first case the ratio of the lengths can be arbitrarily close to 1. A design with two columns in the
    plane has the ratio κ. For example, the columns (5, 0) and (−3, 4) with y = (4, 3) have the ratio 45/32,
    which is close to κ.

    Hypotheses: r = P_S^⊥y, c = Xᵀr, λ* = max|c_j| > 0, T is the set of features that attain λ*, and S is
    arbitrary. A = A(S) ⊆ T is the set of features that are active just below λ*. In place of unit columns, it
    is enough that ‖X_j‖ ≥ ‖X_i‖ for an i ∈ A. P_S^⊥ is the projection onto the orthogonal complement of the
    columns in S.
    """

    def gains(X, y, S):
        window, norms = Window(X, y, S), np.linalg.norm(X, axis=0)
        lam = window.lam
        return agrees(sl.first_entry(X, y, forced=S), window) and all(
            at_least(rho, window.norm2[j], KAPPA_BELOW * lam * (lam - abs(window.c[j])) - rho * lam)
            for j, rho in window.root.items()
            if j in window.outside and norms[j] >= min(norms[i] for i in window.A)
        )

    check.forall(steps(equal_norms=True) | steps(), spread(gains))
    check.over([t for t in SLOPES if t <= HALF][: check.cases], triangle)
    check.over([f(fmpq(1, 3))], lambda value: value == fmpq(45, 32))
    check.over([kappa()], lambda ball: ball > arb(KAPPA_BELOW) and ball < arb(KAPPA_ABOVE))
    check.over(range(3, 60), close_to_one)


@claim("ours-window-margin", THEOREM[5], "proof, exact", HOLDS, tolerance=LOWER)
@mutants("sl.first_entry")
def test_the_window_is_as_long_as_the_margin(check):
    """The relative length 1 − λ₂/λ* of the selection window is bounded by the relative margin μ on both
    sides. Let c = Xᵀr. With maxima over j ∉ T ∪ S, let μ = 1 − max|c_j|/λ*, η = max|⟨X_j, u*⟩| and Q =
    max‖X_j‖‖r‖/λ*. Let G be the largest |⟨X_i, u*⟩| over i ∈ T∖A (G = 1 if T∖A = ∅). Then

        min(μ/(1 + η), 2/(1 + G)) ≤ 1 − λ₂/λ* ≤ μ/(1 − η),   the second inequality if η < 1,

    and, if A(S) = T,

        1 − λ₂/λ* ≥ 2μ/(1 + μ + Q).

    Hypotheses: λ* = max|c_j| > 0, r = P_S^⊥y, and the columns and the set S of selected features are
    arbitrary. T is the set of features that attain λ*, and A = A(S) ⊆ T the set of features that are active
    just below λ*. The residual of the LASSO solution at λ* − ε is r − εu*, for small ε > 0. For S = ∅, unit
    columns and T = {i}, η is at most the coherence max|⟨X_j, X_i⟩|. P_S^⊥ is the projection onto the
    orthogonal complement of the columns in S.

    Unchecked: The check does not show that the margin alone gives no upper bound; ours-window-best-bound
    implies this.
    """

    def between(X, y, S):
        window = Window(X, y, S)
        lam, length = window.lam, window.eps / window.lam
        mu = 1 - max((abs(window.c[j]) for j in window.outside), default=fmpq(0)) / lam
        eta = max((abs(window.h[j]) for j in window.outside), default=fmpq(0))
        G = max((abs(window.h[j]) for j in window.left_out), default=fmpq(1))
        Q2 = max((window.norm2[j] for j in window.outside), default=fmpq(0)) / lam**2
        return (
            agrees(sl.first_entry(X, y, forced=S), window)
            and min(mu / (1 + eta), 2 / (1 + G)) <= length
            and (eta >= 1 or length <= mu / (1 - eta))
            and (window.left_out or at_least(length, Q2, 2 * mu - length * (1 + mu)))
        )

    check.forall(steps(), spread(between))
    # c_1 = 0, h_1 = −k, q_1 = 2k: the lower bound is attained
    slanted = [(k, Window([[1, -k], [0, k]], [1, 1])) for k in range(1, 9)]
    check.over(slanted, lambda pair: pair[1].eps == fmpq(1, 1 + pair[0]) * pair[1].lam)
    # (2, 0), (1, 1), y = (2, 1): c = (4, 3), h_1 = ½: 1 − λ₂/λ* = ½ = μ/(1 − η)
    check.over([Window([[2, 1], [0, 1]], [2, 1])], lambda window: window.eps == window.lam / 2)


@claim("ours-window-unit-columns", "Theorem 3.3 without its hypotheses", "proof, exact", HOLDS)
@mutants("sl.first_entry", "sl.sequential_lasso")
def test_unit_columns_are_not_needed(check):
    """At every step of Sequential LASSO, A(S) ≠ ∅ and A(S) ⊆ T = argmax|⟨X_i, P_S^⊥y⟩|. Here S is the set of
    the selected features, and A(S) the set of the features that are nonzero in some solution just below λ*.
    No member of A(S) is in the span of X_S. Both statements hold for all lengths of the columns and of y.

    Hypotheses: λ* = max|⟨X_i, P_S^⊥y⟩| > 0; integer designs with zero, equal and dependent columns of many
    lengths. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Consequences: Theorem 3.3 (Sequential LASSO selects features as OMP does) holds for every design. If the
    lengths of the columns change, T changes, and so do the features that both methods select.
    """

    def within_the_tied(selection):
        (X, y, S), lengths = selection
        X = X * np.resize(lengths, X.shape[1])
        assume(step(X, y, S).lam_star > 0)
        found = segment(X, y, S)
        entry = sl.first_entry(X, y, forced=S)
        settled = (entry.tied, entry.active) == (found.step.tied, found.active)
        path = sl.sequential_lasso(X, y, X.shape[1])
        for t, (pick, active) in enumerate(zip(path.support, path.active_sets, strict=True)):
            at = step(X, y, tuple(path.support[:t].tolist()))
            if not (active and set(active) <= set(at.tied) and pick in active):
                return False
        # P_S^⊥X_i, up to sign, for i ∈ A(S)
        entering = [columns(found.Z, [k]) for k, entry in enumerate(found.v.entries()) if entry > 0]
        return settled and set(found.active) <= set(found.step.tied) and all(inner(z, z) for z in entering)

    lengths = st.lists(st.sampled_from([1.0, 2.0, 3.0, 0.5, 16.0]), min_size=1, max_size=6)
    check.forall(st.tuples(steps(), lengths), within_the_tied)


@claim("ours-window-measured", NUMBER, "float", EMPIRICAL, cases=200, ci_cases=20)
@mutants("sl.first_entry")
def test_how_much_the_proof_gives_away(check):
    """At the median, the largest selection window (λ₂, λ*) is about 4 times as long as the window (λ₀, λ*) of
    the proof of Lemma 3.4 on Gaussian designs. On random walks, whose columns are highly correlated, it is 25
    times as long.

    Hypotheses: n = 60, d = 120, and OMP takes five steps. The columns have length 1, and are Gaussian or
    random walks.

    Tolerance: There is none. Every ratio of the two lengths is above the proved bound κ = 1.4033… by more
    than rounding errors.
    """
    for name, ensemble in (
        ("gaussian designs", sl.ensembles.gaussian),
        ("random walks", sl.ensembles.random_walk),
    ):
        lengths = []
        for _ in range(check.cases):
            X, y = ensemble(60, 120, check.rng)
            support = sl.omp(X, y, 5).support
            lengths += [relative_lengths(X, y, support[:t]) for t in range(len(support))]
        proof, better, true = np.array(lengths).T
        ratio = true / proof
        late = int((ratio < 1.4033).sum() + (true < better).sum() + (better < proof).sum())
        check.tally(len(ratio), late, f"{name}: a ratio of {ratio.min()}")
        check.measured(
            f"{name}: median ε₀ {np.median(proof):.2g}, ε₁ {np.median(better):.2g}, "
            f"ε₂/λ* {np.median(true):.2g}; ratio ε₂/(ε₀λ*) least {ratio.min():.3g}, "
            f"median {np.median(ratio):.3g}, 95 % {np.quantile(ratio, 0.95):.3g}."
        )


def relative_lengths(X, y, S):
    """Return the lengths, divided by λ*, of three windows below λ*, for a step without ties.

    The first is the window of the proof of Lemma 3.4, the second the longer one that the same numbers imply,
    and the third the exact window.
    """
    entry = sl.first_entry(X, y, forced=S)
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0] if len(S) else y
    c = np.abs(np.delete(X.T @ r, [*S, *entry.tied])) / entry.lam_star
    q = np.linalg.norm(r) / entry.lam_star
    better = min(1.0, 4 / (3 + q), (2 * (1 - c) / (2 - c + q)).min())
    return 1 - entry.proof_lower / entry.lam_star, better, 1 - entry.window_lower / entry.lam_star
