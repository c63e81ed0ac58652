"""Gradient flow on w∘θ without weight decay: the limit of small initial values, and its relation to OMP and
the LASSO.

Train β = w∘θ by gradient flow on ½‖y − Xβ‖² alone, from θ = 0 and w_i = α. In the time τ = t/log(1/α), and
with s(τ) = ∫₀^τ Xᵀ(y − Xβ), the limit α → 0 is the inverse scale space flow

    ds/dτ = c = Xᵀ(y − Xβ),   s(0) = 0,   |s_i| ≤ 1,   s_i = sign β_i where β_i ≠ 0.                       (F)

S is the set of forced features, which have no factors: their coefficients are at least squares all the time,
and c_S = 0. The last two conditions of (F) are then for i ∉ S. β is constant between *events*, at which some
|s_i| reaches 1 and Xβ changes.

Proofs, and what is whose: docs/proofs/gradient_flow.md. The checks are exact where they can be: the helper
`exact_flow` computes the events in fractions, and lists all vertices of the set of solutions β. Where β is
not unique, the checks take the mean of the vertices, whose support is the largest one.
"""

from itertools import pairwise, product
from math import comb

import numpy as np
from flint import fmpq
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import flow
from proofs_checks.flow import edge_case, exact_flow, fall, integrate, leaving, limit_bound, omp_picks, taylor
from proofs_checks.rational import inner, is_solution, nonnegative, rational, real, segment
from proofs_checks.steps import open_steps, selections, spread
from sparselin.ledger import HOLDS, claim, mutants
from sparselin.testing import designs_with_margin, integer_designs, tied_designs

THEOREM = [f"Theorem {n} of docs/proofs/gradient_flow.md" for n in range(10)]
ROUNDING = "Times, s and coefficients of the package may have a relative error of 1e-9."
SMALL = integer_designs(4, 5, -9, 9) | tied_designs(4, 5) | designs_with_margin(0.2, 4, 5)


def near(found, exact):
    """Return whether floats differ from exact numbers by at most 1e-9 times 1 + the largest of these."""
    exact = np.array([real(fmpq(v)) for v in exact])
    size = 1 + np.abs(exact).max(initial=0)
    return len(found) == len(exact) and bool(np.abs(found - exact).max(initial=0) <= 1e-9 * size)


@claim("ours-flow-conserved", THEOREM[1], "proof, exact", HOLDS, cases=300, ci_cases=20)
@mutants("taylor")
def test_the_difference_of_the_squares_is_conserved(check):
    """Gradient flow on ½‖y − X(w∘θ)‖² from w_i = α and θ_i = 0 conserves w_i² − θ_i² = α². So w_iθ_i =
    (α²/2)·sinh(2∫₀^t c_i), where c = Xᵀ(y − X(w∘θ)).

    Hypotheses: X and y are arbitrary, α > 0. The check is about the Taylor polynomials of degree 9 in t.
    """

    def conserved(case):
        (X, y), alpha = case[0], fmpq(*case[1])
        wrong = [
            [p * p - q * q - alpha**2, p * q - alpha**2 / 2 * (2 * g.integral()).sinh()]
            for p, q, g in zip(*taylor(X, y, alpha), strict=True)
        ]
        return len(wrong) == X.shape[1] and not any(any(rest.coeffs()) for pair in wrong for rest in pair)

    fractions = st.tuples(st.integers(1, 5), st.integers(1, 5))
    check.forall(st.tuples(integer_designs(4, 4), fractions), conserved)


def solves(X, y, S, path):
    """Return whether a path of saddles satisfies (F), and its losses fall, for all vertices and their mean.

    s is linear between events, so its conditions are checked at the ends. The last saddle must have c = 0.
    """
    A, b = rational(X), rational(y)
    ends = [*(saddle.s for saddle in path[1:]), path[-1].s]
    losses = [inner(r := b - A * saddle.beta, r) for saddle in path]
    for k, (saddle, end) in enumerate(zip(path, ends, strict=True)):
        length = path[k + 1].tau - saddle.tau if k + 1 < len(path) else fmpq(1)
        for beta in (*saddle.vertices, saddle.beta):
            c = (A.transpose() * (b - A * beta)).entries()
            moved = [s + length * c_i for s, c_i in zip(saddle.s, c, strict=True)]
            inside = all(abs(s) <= 1 for i, s in enumerate(end) if i not in S)
            wrong = flow.violations(saddle.s, beta, S) + flow.violations(end, beta, S)
            if length <= 0 or moved != end or wrong or not inside or any(c[i] for i in S):
                return False
    return not any(path[0].s) and all(a > b for a, b in pairwise(losses))


def follows(found, path, S):
    """Return whether the package's path has the exact events: their times, s, supports and uniqueness."""
    events = path[1:]
    return (
        found.status is sl.Status.COMPLETED
        and near(found.tau, [saddle.tau for saddle in events])
        and all(near(s, saddle.s) for s, saddle in zip(found.s, events, strict=True))
        and [list(J) for J in found.supports] == [saddle.support(S) for saddle in events]
        and list(found.unique) == [len(saddle.vertices) == 1 for saddle in events]
    )


@claim("ours-flow-events", THEOREM[2], "formal, proof, exact", HOLDS, tolerance=ROUNDING, ci_cases=30)
@mutants("sl.gradient_flow", "exact_flow")
def test_the_flow_goes_from_event_to_event(check):
    """The flow (F) has one solution s, and one Xβ: from each event follow s + Δc to the first Δ > 0 at which
    some |s_i| reaches 1. Then β minimises ½‖y − Xβ‖² over s_iβ_i ≥ 0 where |s_i| = 1, with β_i = 0 elsewhere.
    Each event lowers ‖y − Xβ‖. After at most Σ_{k=1}^{min(n,d)} (d choose k) events c = 0, and the last β is
    a least squares solution of least ‖β‖₁.

    Hypotheses: X and y are arbitrary. (F) is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i = sign β_i
    where β_i ≠ 0. An event is a time at which some |s_i| reaches 1 and Xβ changes. In the check up to two
    forced features S are at least squares; the last two conditions are then for i ∉ S.

    Consequences: s, Xβ and the times of the events are unique. β is unique if the columns of {i : |s_i| = 1}
    are independent. `sl.gradient_flow` has these events, and the largest support of a solution.

    In Coq: flows_exist, flows_agree, pieces_are_saddles, saddles_begin_pieces, saddles_are_least_squares
    """

    def right(X, y, S):
        path = exact_flow(X, y, S)
        bound = sum(comb(X.shape[1] - len(S), k) for k in range(1, min(X.shape) + 1))
        found = sl.gradient_flow(X, y, forced=S)
        return solves(X, y, S, path) and len(path) - 1 <= bound and follows(found, path, S)

    check.forall(selections(5, 5, 2), spread(right))


def errors(X, y, L):
    """Return the largest ‖q_α − q‖ and ‖s_α − s‖∞ over 60 times, and the bound of Theorem 3 on the first one.

    The times end with event 8, or at five times the time of the last event.
    """
    path = sl.gradient_flow(X, y, max_events=8)
    taus = np.linspace(0, path.tau[-1] * (5 if path.status is sl.Status.COMPLETED else 1), 61)[1:]
    q = np.array([tau * (y - X @ path.average(tau).coef) for tau in taus])
    error = integrate(X, y, L, taus) - q
    return np.linalg.norm(error, axis=1).max(), np.abs(error @ X).max(), limit_bound(X, path, L, taus[-1])


@claim("ours-flow-limit", THEOREM[3], "proof, float", HOLDS, cases=120, ci_cases=6)
@mutants("sl.gradient_flow", "integrate", "limit_bound")
def test_the_limit_of_small_initial_values(check):
    """Let s_α be s on gradient flow on w∘θ from w = α, and L = log(1/α). As α → 0, s_α tends to the solution
    s of (F), uniformly for τ ≤ τ̄: max ‖s_α − s‖∞ ≤ K·(1 + log L)/L, and ≤ K/L if no feature rests. A feature
    rests if |s_i| = 1 and β_i = 0 between two events. In general the factor log L is needed: for X_0 = (1,
    0), X_1 = (1, 1), y = (1, 0) and τ̄ > 1, the limit inferior of L·max ‖s_α − s‖∞/log L is at least ½.

    Hypotheses: X, y and τ̄ are arbitrary, K depends on them, β has the largest −Σ|β_i| log|β_i| that (F)
    allows, and time is τ = t/L. (F) is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i = sign β_i where
    β_i ≠ 0. The check is about the explicit bound of which this is a consequence, at α = 1e-30 and 1e-100.

    Consequences: β_α tends to β in measure. It does not converge at the jumps.

    Unchecked: That β_α tends to β.

    Tolerance: The bound may be exceeded by 1e-4. The flow is nonexpansive, so the solver's local errors, of
    relative size 1e-7, add up and are not multiplied.
    """
    found = []

    def close(case):
        rows = [errors(*case, digits * np.log(10)) for digits in (30, 100)]
        found.append([30 * rows[0][1], 100 * rows[1][1], 100 * np.log10(np.e) * rows[1][0] / rows[1][2]])
        return all(error <= bound + 1e-4 for error, _, bound in rows)

    check.over((flow.mixed_designs(check.rng) for _ in range(check.cases)), close)
    L, resting = 100 * np.log(10), (np.array([[1.0, 1], [0, 1]]), np.array([1.0, 0]))
    check.over([resting], lambda case: L * errors(*case, L)[1] >= np.log(L) / 2)
    first, second, share = np.median(found, axis=0) * np.log(10)
    check.measured(
        f"Medians: L·max ‖s_α − s‖∞ is {first:.2f} at α = 1e-30 and {second:.2f} at 1e-100, and the error is"
        f" {share:.0f} % of its bound"
    )


@claim("ours-flow-average", THEOREM[4], "formal, proof, exact", HOLDS, tolerance=ROUNDING, ci_cases=30)
@mutants("sl.gradient_flow", "exact_flow")
def test_the_time_average_and_the_lasso(check):
    """The average β̄ = (1/τ)∫₀^τ β of the flow (F) satisfies s(τ) = τ·Xᵀ(y − Xβ̄). It minimises ½‖y − Xβ‖² +
    (1/τ)‖β‖₁ if and only if s_i(τ) = sign β̄_i for each i with β̄_i ≠ 0.

    Hypotheses: X, y and τ > 0 are arbitrary. (F) is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i =
    sign β_i where β_i ≠ 0. In the check up to two forced features S are at least squares and have no penalty;
    the conditions on s and β are then for i ∉ S.

    Consequences: `FlowPath.average` has β̄, and the features whose signs differ.

    In Coq: state_is_of_the_mean, mean_is_of_the_lasso; mean_need_not_be_of_the_lasso is a counterexample
    """
    seen = [0, 0]

    def minimises(X, y, S):
        found, A, b = sl.gradient_flow(X, y, forced=S), rational(X), rational(y)
        for tau, s, mean in flow.averages(path := exact_flow(X, y, S)):
            wrong, is_lasso = flow.violations(s, mean, S), is_solution(X, y, S, mean, 1 / tau)
            seen[is_lasso] += 1
            if [tau * c for c in (A.transpose() * (b - A * mean)).entries()] != s or is_lasso == bool(wrong):
                return False
            # at an event the rounding of τ may decide, and other β have other averages
            if all(found.unique) and all(saddle.tau != tau for saddle in path):
                average = found.average(real(tau))
                if not near(average.coef, mean.entries()) or list(average.violations) != wrong:
                    return False
        return True

    check.forall(selections(4, 5, 2) | SMALL.map(lambda design: (*design, ())), spread(minimises))
    check.measured(f"the average is a LASSO solution at {seen[1]} of {sum(seen)} times")


def lasso_rates(rng, count):
    """Return on how many Gaussian designs no |β_i|/λ falls on the LASSO's path, and no |β_i|."""
    never = monotone = 0
    for X, y in (flow.gaussian(rng) for _ in range(count)):
        lasso = sl.lasso_path(X, y)
        never += not fall(X, y)[0]
        monotone += bool((np.diff(np.abs(lasso.coef), axis=0) >= -1e-9 * np.abs(lasso.coef).max()).all())
    return never, monotone


@claim("ours-flow-average-path", THEOREM[4], "formal, proof, exact, float", HOLDS, tolerance=ROUNDING)
@mutants("sl.lasso_path", "exact_flow", "fall", "leaving")
def test_for_which_times_the_average_is_the_path_of_the_lasso(check):
    """For each T the following are equivalent: the average (1/τ)∫₀^τ β of the flow (F) minimises ½‖y − Xβ‖² +
    (1/τ)‖β‖₁ for all τ ≤ T; no s_i leaves ±1 before T after β_i was nonzero; no τ|β_i(1/τ)| falls on (0, T],
    where β(λ) is the LASSO's path; on each linear piece of β(λ), λ ≥ 1/T, no entry of X_A⁺y has the sign
    opposite to that of β(λ), where A is the support of β(λ).

    Hypotheses: The β of the flow and of the LASSO are unique. (F) is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i|
    ≤ 1, and s_i = sign β_i where β_i ≠ 0. The check compares the times from which the statements fail.

    Consequences: If no |β_i(λ)| falls as λ decreases, the average is the LASSO for all τ. That the third
    statement implies the first for all τ is Theorem 2.1 of Berthier (2025, arXiv 2509.18766).

    In Coq: mean_is_of_the_lasso_throughout, lasso_path_is_the_mean
    """

    def together(X, y):
        path = exact_flow(X, y)
        assume(all(len(saddle.vertices) == 1 for saddle in path))
        found = fall(X, y)
        assume(found[1] is not None)
        first = leaving(path)
        if any(
            flow.violations(s, mean, ()) for tau, s, mean in flow.averages(path) if not first or tau <= first
        ):
            return False
        if first and not flow.violations(*flow.state(path, first + first / 2**60), ()):
            return False
        return near(np.array(found), [1 / first if first else 0] * 2)

    check.forall(SMALL, spread(together))
    never, monotone = lasso_rates(check.rng, count := max(check.cases // 5, 1))
    check.measured(
        f"The average is the LASSO for all τ on {never} of {count} Gaussian designs 20 × 12, and the LASSO's"
        f" path is monotone on {monotone}"
    )


def duality_gap(s, beta, lam):
    """Return λΣ|β_i|(1 − s_i sign β_i)."""
    return lam * sum((abs(b) - s_i * b for s_i, b in zip(s, beta.entries(), strict=True)), fmpq(0))


@claim("ours-flow-excess", THEOREM[5], "formal, proof, exact, float", HOLDS, tolerance=ROUNDING, ci_cases=30)
@mutants("sl.gradient_flow", "duality_gap", "exact_flow")
def test_the_excess_of_the_average(check):
    """At λ = 1/τ the average β̄ of the flow (F) and the dual point y − Xβ̄ have the duality gap G =
    λΣ|β̄_i|(1 − s_i sign β̄_i). Let β be a LASSO solution at λ and δ = ‖X(β̄ − β)‖. Then ½‖y − Xβ̄‖² + λ‖β̄‖₁
    exceeds the minimum by at least ½δ² and at most G − ½δ². In particular δ² ≤ G.

    Hypotheses: X, y and τ > 0 are arbitrary. (F) is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i =
    sign β_i where β_i ≠ 0. The check has s, β̄ and G in fractions, and β from `sl.lasso_path`.

    Consequences: `FlowPath.average(τ).excess` is G.

    In Coq: excess_of_the_mean, which has the upper bound G
    """
    shares = []

    def bounded(X, y):
        found, path, lasso = sl.gradient_flow(X, y), exact_flow(X, y), sl.lasso_path(X, y)
        A, b, slack = rational(X), rational(y), 1e-9 * (1 + y @ y)
        for tau, s, mean in flow.averages(path):
            lam, u, beta = 1 / tau, b - A * mean, lasso.at(real(1 / tau))
            average = np.array([real(b_i) for b_i in mean.entries()])
            value = inner(u, u) / 2 + lam * sum(map(abs, mean.entries()), fmpq(0))
            gap = duality_gap(s, mean, lam)
            excess = real(value) - np.sum((y - X @ beta) ** 2) / 2 - real(lam) * np.abs(beta).sum()
            half = np.sum((X @ (average - beta)) ** 2) / 2
            if value - inner(b, b) / 2 + inner(A * mean, A * mean) / 2 != gap:
                return False
            if not half - slack <= excess <= real(gap) - half + slack:
                return False
            between = all(found.unique) and all(saddle.tau != tau for saddle in path)
            if between and not near([found.average(real(tau)).excess], [gap]):
                return False
            shares.extend([excess / real(gap)] if gap else [])
        return True

    check.forall(SMALL, spread(bounded))
    check.measured(f"G > 0 at {len(shares)} times; the excess is {np.median(shares or [0]):.2f}G (median)")


def has_both_signs(path):
    """Return whether some coefficient is positive at one time and negative at another."""
    signs = np.array([[flow.sign(b) for b in saddle.beta.entries()] for saddle in path])
    return bool(((signs > 0).any(axis=0) & (signs < 0).any(axis=0)).any())


@claim("ours-flow-leaves", THEOREM[6], "proof, exact", HOLDS)
@mutants("sl.gradient_flow", "exact_flow", "leaving", "has_both_signs")
def test_the_smallest_unit_columns_of_which_one_leaves(check):
    """A feature leaves if s_i leaves ±1 after β_i was nonzero on the flow. On unit columns no feature leaves
    if d ≤ 2 or n ≤ 2. For n = d = 3 one can leave, and return with the other sign: for X_0 = (0, 0, 1), X_1 =
    (1, −2, −2)/3, X_2 = (2, −2, −1)/3 and y = (1, 0, 0), β after the events is (0, 0, 2/3), (1/4, 0, 3/4),
    (0, −21/17, 30/17), (−1, −3, 3).

    Hypotheses: All columns have one length. The flow is ds/dτ = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i =
    sign β_i where β_i ≠ 0. In the check the example has the length 3.
    """
    example = np.array([[0.0, 1, 2], [0, -2, -2], [3, -2, -1]]), np.array([1.0, 0, 0])

    def as_stated(X, y):
        path, stated = exact_flow(X, y), "0 0 2/3, 1/4 0 3/4, 0 -21/17 30/17, -1 -3 3"
        found = ", ".join(" ".join(str(3 * b) for b in saddle.beta.entries()) for saddle in path[1:])
        ends = leaving(path) == path[3].tau and has_both_signs(path)
        return found == stated and ends and follows(sl.gradient_flow(X, y), path, ())

    def stays(X, y):
        lengths, path = (X * X).sum(axis=0), exact_flow(X, y)
        return len({*lengths}) == 1 and leaving(path) is None and not has_both_signs(path)

    check.over([example], spread(as_stated))
    check.over((flow.equal_lengths(check.rng) for _ in range(check.cases)), spread(stays))


@claim("ours-flow-first", THEOREM[7], "formal, proof, exact", HOLDS, ci_cases=30)
@mutants("sl.gradient_flow", "sl.first_entry", "exact_flow", "segment")
def test_the_first_event_under_ties(check):
    """The first event of the flow is at τ = 1/λ*. After it the solutions β off S are λ* times the solutions v
    of min_{v ≥ 0} ½‖Zv‖² − 1ᵀv, with the signs of c = Xᵀr. So the features that are nonzero in some solution
    are A(S), the features that are nonzero in some LASSO solution just below λ*.

    Hypotheses: r is the residual of least squares on the forced features S, λ* = ‖Xᵀr‖∞ > 0, and T is the set
    of the features that attain λ*. Z has the columns sign(c_i)P_S^⊥X_i, i ∈ T, and P_S^⊥ projects off X_S. In
    the check T has at most five features.

    In Coq: flow_before_the_first_event, first_event, active_features_arrive_together
    """

    def enters(X, y, S):
        found, first = segment(X, y, S), exact_flow(X, y, S)[1]
        T, lam, Z = found.step.tied, found.step.lam_star, found.Z
        vertices = [tuple(s * v[i, 0] for i, s in zip(T, found.signs, strict=True)) for v in first.vertices]
        return (
            first.tau * lam == 1
            and {*vertices} == {tuple((lam * v).entries()) for v in nonnegative(Z.transpose() * Z)}
            and tuple(first.support(S)) == found.active == sl.first_entry(X, y, forced=S).active
            and sl.gradient_flow(X, y, forced=S, max_events=1).supports[0] == found.active
        )

    check.forall(open_steps(5, 5, 2), spread(enters))


@claim("ours-flow-restarted", THEOREM[7], "formal, proof, exact", HOLDS, tolerance=ROUNDING, ci_cases=30)
@mutants("sl.gradient_flow", "sl.sequential_lasso", "segment")
def test_the_restarted_flow_is_omp(check):
    """If the flow restarts after each event, with its pick among the forced features S, then it picks a
    feature of A(S), after the time 1/λ*. This feature has the largest |c_i| = λ*, for the residual of least
    squares on S. The picks are those of Sequential LASSO, and those of OMP and of linear Sequential Attention
    if at each step one feature attains λ*.

    Hypotheses: The pick is the lowest index of the support after the event. A(S) is the set of features that
    are nonzero in some LASSO solution just below λ*, if S is not penalised. The columns of the first S are
    independent. In the check at most five features attain λ*.

    In Coq: restarted_flow_is_omp, flow_step_is_active, forced_flow_is_projected
    """

    def picks(X, y, S):
        path, chosen, before, alone = sl.gradient_flow(X, y, forced=S, restart=True), list(S), 0.0, True
        for pick, tau in zip(path.supports[-1] if len(path) else (), path.tau, strict=True):
            found = segment(X, y, chosen)
            assume(len(found.step.tied) <= 5)
            alone &= len(found.step.tied) == 1
            if pick != found.active[0] or not near([tau - before], [1 / found.step.lam_star]):
                return False
            chosen, before = [*chosen, pick], tau
        others = [sl.sequential_lasso] + [sl.omp, sl.sequential_attention] * alone
        return all(method(X, y, X.shape[1], forced=S).support.tolist() == chosen for method in others)

    check.forall(selections(5, 5, 2), spread(picks))


def agreement_rates(draw, rng, count):
    """Say on how many designs the conditions of Theorem 8 hold for k = 2, 3, 4, and the picks are OMP's."""
    found = np.zeros((3, 3), int)
    for X, y in (draw(rng) for _ in range(count)):
        (picks, bounded), order = omp_picks(X, y, 4), sl.omp(X, y, 4).support.tolist()
        sets = flow.arrivals(sl.gradient_flow(X, y, max_events=4).s)
        agrees = [sets[:k] == [set(order[: t + 1]) for t in range(k)] for k in (2, 3, 4)]
        found += [bounded >= np.arange(2, 5), len(picks) >= np.arange(2, 5), agrees]
    words = ("Π (1 + ρ_t) < 2 on {}, {}, {}", "Σ ρ_tδ_t < 1 on {}, {}, {}", "picks agree on {}, {}, {}")
    return ", ".join(word.format(*row) for word, row in zip(words, found, strict=True)) + f" of {count}"


@claim("ours-flow-omp", THEOREM[8], "formal, proof, exact", HOLDS, ci_cases=30)
@mutants("sl.gradient_flow", "exact_flow", "omp_picks", "edge_case")
def test_when_the_flow_picks_as_omp(check):
    """Let c^t be the correlations at step t of OMP, λ_t the largest |c_j^t|, and ρ_tλ_t the second largest of
    the unselected features. Let i be the pick, and δ_t = 1 − sign(c_i^t)·Σ_{u < t} δ_uc_i^u/λ_u. If Σ_{u ≤ t}
    ρ_uδ_u < 1 for all t ≤ k, and for t < k the least squares coefficients on the first t picks have no sign
    opposite to the correlation of the feature when it was picked, then the first k events of the flow are
    OMP's first k picks, one by one and in order. Π_{t ≤ k} (1 + ρ_t) < 2 implies the first condition. For
    k = 3 the condition on the signs is needed. For k ≥ 2 the numbers 1 and 2 cannot be larger: for all ρ_1,
    ρ_2 ∈ (0, 1) with (1 + ρ_1)(1 + ρ_2) > 2 there is a design with ρ_1 + ρ_2δ_2 > 1 whose second event is not
    OMP's second pick.

    Hypotheses: X and y are arbitrary. The flow is ds/dτ = c = Xᵀ(y − Xβ), s(0) = 0, |s_i| ≤ 1, and s_i = sign
    β_i where β_i ≠ 0. In an event some |s_i| reaches 1. The check of the last sentence has ρ in sixteenths.

    In Coq: first_events_are_picks_of_omp, for the condition with the product
    """

    def agree(X, y):
        picks, bounded = omp_picks(X, y, 5)
        exact, found = [saddle.s for saddle in exact_flow(X, y)[1:]], sl.gradient_flow(X, y).s
        sets = [set(picks[: k + 1]) for k in range(len(picks))]
        agrees = flow.arrivals(exact)[: len(picks)] == sets == flow.arrivals(found)[: len(picks)]
        return agrees and bounded <= len(picks)

    def turns(first, second):
        X, y = edge_case(first / 16, second / 16)
        below = (16 + first) * (16 + second) < 2 * 16**2
        second_event = flow.arrivals([saddle.s for saddle in exact_flow(X, y)])[2]
        known = omp_picks(X, y, 2) == ([0, 1][: 1 + below], 1 + below)
        return known and sl.omp(X, y, 2).support.tolist() == [0, 1] and second_event == {0, 1 if below else 2}

    check.forall(designs_with_margin(0.6, 5, 6) | integer_designs(5, 6), spread(agree))
    check.over(product(range(1, 16), repeat=2), spread(turns))
    X, y = np.array([[20.0, 6, 0], [0, 1, 0], [0, 0, 1]]), np.array([0.5, 6, 1])  # X_0 leaves and returns
    third = flow.arrivals([saddle.s for saddle in exact_flow(X, y)])[3]
    check.over([third], lambda third: omp_picks(X, y, 3)[0] == [0, 1] and third == {0, 1})
    for draw, name in ((flow.gaussian, "Gaussian 20 × 12"), (flow.decaying, "decaying, 100 × 60")):
        check.measured(f"{name}, k = 2, 3, 4: {agreement_rates(draw, check.rng, max(check.cases // 5, 1))}")


@claim("ours-flow-orthogonal", THEOREM[9], "proof, exact", HOLDS, tolerance=ROUNDING)
@mutants("sl.gradient_flow", "sl.omp", "sl.lasso_path", "exact_flow")
def test_orthogonal_columns(check):
    """If the columns are orthogonal, each feature i arrives on the flow at τ = 1/|⟨X_i, y⟩| and stays. So the
    flow, OMP and the LASSO's path choose the features in the same order, that of |⟨X_i, y⟩|, and the average
    of the flow is the LASSO at 1/τ for all τ.

    Hypotheses: XᵀX is diagonal. The columns may have different lengths, and may be zero. Features with the
    same |⟨X_i, y⟩| may come in any order.
    """

    def ordered(X, y):
        size, path = np.abs(X.T @ y).astype(int), exact_flow(X, y)
        levels, picks = sorted({*size.tolist()} - {0}, reverse=True), sl.omp(X, y, X.shape[1]).support
        supports = [np.flatnonzero(size >= level).tolist() for level in levels]
        return (
            np.count_nonzero(X.T @ X) == np.count_nonzero(X.any(axis=0))
            and [(1 / saddle.tau, saddle.support()) for saddle in path[1:]]
            == [*zip(levels, supports, strict=True)]
            and follows(sl.gradient_flow(X, y), path, ())
            and [sorted(picks[: len(J)].tolist()) for J in supports] == supports
            and len(picks) == np.count_nonzero(size)
            and near(sl.lasso_path(X, y).knots, [*levels, 0])
            and not any(flow.violations(s, mean, ()) for _, s, mean in flow.averages(path))
        )

    check.over((flow.orthogonal(check.rng) for _ in range(check.cases)), spread(ordered))
