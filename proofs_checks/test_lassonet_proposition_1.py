"""Proposition 1: the global optimum of LassoNet's proximal problem with an additional ℓ₁ penalty on W.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Appendix B, Proposition 1.
The problem is min ½(‖v − b‖² + ‖U − W‖²) + λ‖b‖₂ + λ̄‖W‖₁ over ‖W‖∞ ≤ M‖b‖₂. Let |U_(1)| ≥ … ≥ |U_(K)| be the
sorted sizes, and S_λ̄(x) = sign(x)·max(|x| − λ̄, 0). In print, the optimum is b* = b_{s*} with

    b_s = (1 − a_s/‖v‖)₊ v/(1 + sM²),   a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄),                    (item 1)

where s* is "the unique s" in 0..K with (conventions S_λ̄(|U_(0)|) = ∞, S_λ̄(|U_(K+1)|) = 0)

    S_λ̄(|U_(s+1)|) ≤ M‖b_s‖ ≤ S_λ̄(|U_(s)|);                                                      (7)

and

    W* = sign(U)·min(M‖b*‖₂, S_λ̄(|U|)).                                                  (item 2)

Three things are wrong. (i) Neighbouring intervals in (7) have an end point in common, and M‖b_s‖ may be this
point. Then s is not unique, but b_s is. (ii) Let λ̄ > 0 and s > s_max = #{i : |U_i| > λ̄}. Then both ends of
the interval in (7) are 0, and the sum in a_s has terms |U_(i)| − λ̄ ≤ 0. So b_s = 0 may satisfy (7) although
b* ≠ 0. The proof restricts s to s ≤ s_max ("It suffices to prove the existence and uniqueness of s* ∈
[s_max]"), but the proposition does not. (iii) For v = 0 the formula is 0/0. If a_s < 0 there, every b of
length −a_s/(1 + sM²) is optimal.

The corrected proposition and its proof are in section 1 of docs/proofs/lassonet.md. The checks are exact,
with ‖v‖ given as a rational number.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import strategies as st

from proofs_checks import exact_prox as prox
from proofs_checks.exact_prox import at_length, best_length, best_z
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

APPENDIX = "Appendix B, Proposition 1"
HALF = Fraction(1, 2)
PENALISED = prox.features(multipliers=(HALF, 1, 2, 3), lam_bars=(0, 0, HALF, 1, 2), least_v=1)


def ordered(problem):
    """Return the absolute values of the entries of U in decreasing order."""
    return sorted(map(abs, problem.u), reverse=True)


def threshold(problem, s):
    """Return the soft-thresholded size max(|U_(s)| − λ̄, 0) of the s-th largest entry of U.

    For s = K + 1 it is 0. For s = 0 it is a large number in place of ∞.
    """
    if s == 0:
        return Fraction(10**9)
    return prox.soft(ordered(problem)[s - 1], problem.lam_bar) if s <= len(problem.u) else Fraction(0)


def a(problem, s):
    """Return a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄), where |U_(1)| ≥ |U_(2)| ≥ … are the sorted sizes of U."""
    return problem.lam - problem.M * sum((x - problem.lam_bar for x in ordered(problem)[:s]), Fraction(0))


def length(problem, s):
    """Return the length ‖b_s‖ = (‖v‖ − a_s)₊/(1 + sM²) of the candidate b_s of Proposition 1, for v ≠ 0."""
    return max(abs(problem.v) - a(problem, s), Fraction(0)) / (1 + s * problem.M**2)


def in_interval(problem, s):
    """Return whether s satisfies condition (7) of Proposition 1: M‖b_s‖ lies in the interval that belongs to
    s.

    The interval is [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)], with soft-thresholding S_λ̄ and the sorted sizes
    |U_(s)|.
    """
    return threshold(problem, s + 1) <= problem.M * length(problem, s) <= threshold(problem, s)


def largest_s(problem):
    """Return the number s_max of the entries of U whose absolute value exceeds λ̄."""
    return sum(abs(x) > problem.lam_bar for x in problem.u)


def above_lower_end(problem, s):
    """Return whether M‖b_s‖ is above the lower end of the interval of condition (7) of Proposition 1.

    If s is the number of entries of U above λ̄, M‖b_s‖ may also equal the lower end.
    """
    return s == largest_s(problem) or problem.M * length(problem, s) > threshold(problem, s + 1)


def solutions_of_7(problem):
    """Return every s in 0, …, K that satisfies condition (7) of Proposition 1, for U with K entries."""
    return [s for s in range(len(problem.u) + 1) if in_interval(problem, s)]


def wrong_solution_of_7(problem):
    """Return whether some s satisfies condition (7) of Proposition 1 although its b_s is not optimal."""
    best = best_length(problem)
    return any(length(problem, s) != best for s in solutions_of_7(problem))


def as_corrected(problem):
    """Return whether the corrected Proposition 1 holds for a problem.

    Let s_max be the number of entries of U above λ̄. At least one s ≤ s_max must satisfy condition (7), and
    the b_s of each such s must be optimal. Exactly one s ≤ s_max satisfies (7) without the lower end of its
    interval (for s = s_max: with the lower end). For λ̄ = 0 the b_s of every s that satisfies (7) must be
    optimal.
    """
    best, usable = best_length(problem), [s for s in solutions_of_7(problem) if s <= largest_s(problem)]
    optimal = usable and all(length(problem, s) == best for s in usable)
    unique = sum(above_lower_end(problem, s) for s in usable) == 1
    return optimal and unique and (problem.lam_bar > 0 or not wrong_solution_of_7(problem))


def optimal_at_v_zero(problem):
    """Return whether, for v = 0, the b_s of every s that satisfies condition (7) of Proposition 1 has the
    optimal length.

    Only s up to the number of entries of U above λ̄ are considered.
    """
    problem = problem._replace(v=Fraction(0))
    usable = [s for s in solutions_of_7(problem) if s <= largest_s(problem)]
    return usable and all(length(problem, s) == best_length(problem) for s in usable)


def h(problem, s):
    """Return h(s) = M(‖v‖ − λ) + λ̄ − |U_(s)| + M²Σ_{i≤s}(|U_(i)| − |U_(s)|), from the proof of Proposition
    1.

    Here |U_(1)| ≥ |U_(2)| ≥ … are the sorted sizes of U, and 1 ≤ s ≤ #{i : |U_i| > λ̄}.
    """
    v, _, lam, M, lam_bar = problem
    u = ordered(problem)
    return M * (abs(v) - lam) + lam_bar - u[s - 1] + M**2 * sum(x - u[s - 1] for x in u[:s])


def half_open(problem, s):
    """Return whether h(s) ≤ 0 < h(s + 1) for the function h in the proof of Proposition 1.

    h(0) counts as −∞, and h(s_max + 1) as ∞, where s_max is the number of entries of U above λ̄.
    """
    return (s == 0 or h(problem, s) <= 0) and (s == largest_s(problem) or h(problem, s + 1) > 0)


def half_open_solutions(problem):
    """Return every s from 0 to s_max with h(s) ≤ 0 < h(s + 1), for the function h in the proof of Proposition
    1.

    s_max is the number of entries of U above λ̄.
    """
    return [s for s in range(largest_s(problem) + 1) if half_open(problem, s)]


def corrected_on_small_integers(check):
    """Check the corrected Proposition 1 on problems with small integers.

    Report how often several s satisfy condition (7), and how often some s satisfies it although b_s is not
    optimal.
    """
    drawn = []

    def recorded(problem):
        drawn.append(problem)
        return as_corrected(problem)

    check.forall(PENALISED, recorded)
    several = sum(len(solutions_of_7(problem)) > 1 for problem in drawn)
    check.measured(
        f"of {len(drawn)} problems of small integers {several} have two s or more in their intervals, and "
        f"{sum(map(wrong_solution_of_7, drawn))} one whose b_s is not optimal"
    )


def gaussian(rng, lam_bar):
    """Return a problem with a standard normal v > 0 and U ∈ ℝ³, rounded to three decimals, and with λ = ½ and
    M = 1.
    """
    v, *u = (Fraction(round(1000 * x), 1000) for x in rng.standard_normal(4))
    return prox.Feature(abs(v) or Fraction(1), tuple(u), HALF, Fraction(1), lam_bar)


def frequency_of_wrong_solutions(check, name, lam_bar):
    """Return the share of random Gaussian problems in which some s satisfies condition (7) of Proposition 1
    wrongly.

    That is, its b_s is not the optimum. The corrected proposition is checked for each of the problems.
    """
    drawn = [gaussian(check.rng, lam_bar) for _ in range(check.cases)]
    check.over(drawn, as_corrected)
    return f"{100 * sum(map(wrong_solution_of_7, drawn)) / len(drawn):.0f} % (λ̄ = {name})"


@claim("LN-prop-1", f"{APPENDIX}, item 1", "proof, exact, brute force", FALSE)
@mutants("length", "largest_s")
def test_which_s_gives_the_optimum(check):
    """For exactly one s in 0, …, K, M‖b_s‖ lies in the interval [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)], and this
    b_s is the optimum b*.

    Hypotheses: λ, λ̄ ≥ 0, M > 0, v ≠ 0 (as printed also v = 0). The problem is min ½(‖v − b‖² + ‖U − W‖²) +
    λ‖b‖₂ + λ̄‖W‖₁ over ‖W‖∞ ≤ M‖b‖₂. |U_(1)| ≥ … ≥ |U_(K)| are the sorted sizes, S_λ̄ is soft-thresholding,
    a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄), and b_s = (1 − a_s/‖v‖)₊ v/(1 + sM²).

    Instead: Consider only s ≤ s_max = #{i : |U_i| > λ̄}. For at least one such s, M‖b_s‖ lies in the interval
    of s, and every b_s for which it does equals b*. For exactly one such s, M‖b_s‖ lies in the interval
    without the lower end (for s = s_max: with the lower end). For v = 0, any b of length (−a_s)₊/(1 + sM²) is
    optimal.

    Consequences: Algorithms 2 and 4 are right for v ≠ 0 and M > 0. LassoNet uses only λ̄ = 0. In this case an
    s above s_max gives no wrong result, because a_s = a_{s_max}. The algorithms take 'the first m' that
    satisfies the condition, and so need no uniqueness. For Gaussian data and λ̄ = ½, in about 10 % of the
    problems some s > s_max satisfies the printed condition although its b_s is not optimal; for λ̄ = 1 in
    nearly half of the problems. For v = 0 there are several optimal b, and an implementation must choose one.
    """
    tie, below, zero = prox.feature(1, [1], 0, 1), prox.feature(1, [0], 0, 1, 2), prox.feature(0, [1], 0, 1)
    check.refutes(
        solutions_of_7(tie) == [0, 1] and length(tie, 0) == length(tie, 1) == 1,
        f"{tie}: s = 0 and s = 1 are both in their intervals (b = 1)",
    )
    check.refutes(
        solutions_of_7(below) == [0, 1] and (length(below, 1), best_length(below), a(below, 1)) == (0, 1, 2),
        f"{below}: a₁ = 2 > ‖v‖, so s = 1 is in [0, 0] with b = 0, but b* = 1",
    )
    check.refutes(
        {zero.objective(b, [HALF]) for b in (HALF, -HALF)} == {at_length(zero, best_length(zero))},
        f"{zero}: a_s/‖v‖ is x/0; b* = ½ and b* = −½, both with W = ½, are optimal (value ¼)",
    )
    corrected_on_small_integers(check)
    check.forall(PENALISED, optimal_at_v_zero)
    penalties = {"0": Fraction(0), "½": HALF, "1": Fraction(1)}
    shares = [frequency_of_wrong_solutions(check, *penalty) for penalty in penalties.items()]
    check.measured(
        "for Gaussian v and U, K = 3, λ = ½, M = 1 one whose b_s is not optimal in "
        f"{', '.join(shares)} of cases"
    )


@claim("LN-prop-1-W", f"{APPENDIX}, item 2 and equation (5)", "proof, exact, brute force, float", HOLDS)
@mutants("sl.hier_prox", "best_z")
def test_the_optimal_W(check):
    """The optimal W is W* = sign(U)·min(M‖b*‖₂, S_λ̄(|U|)).

    Hypotheses: λ, λ̄ ≥ 0, M ≥ 0, v and U are arbitrary, and b* is any optimal b. The problem is min ½(‖v −
    b‖² + ‖U − W‖²) + λ‖b‖₂ + λ̄‖W‖₁ over ‖W‖∞ ≤ M‖b‖₂, and S_λ̄ is soft-thresholding.

    Consequences: The problem with λ̄ > 0 has the same solution as the problem with λ̄ = 0 and with S_λ̄(U) in
    place of U. Therefore `sl.hier_prox(v, S_λ̄(U))` solves it.

    Tolerance: The result of sl.hier_prox may have an error of 16 eps·(|v| + λ + (1 + M)‖U‖₁).
    """

    def clipped_and_thresholded(problem):
        u, w, lam_bar = problem.u, problem.M * best_length(problem), problem.lam_bar
        W = [best_z(x, w, lam_bar) for x in u]
        without = problem._replace(u=tuple(prox.soft(x, lam_bar) for x in u), lam_bar=Fraction(0))
        printed = [prox.sign(x) * min(w, abs(prox.soft(x, lam_bar))) for x in u] == W
        same_length = best_length(without) == best_length(problem)
        return printed and same_length and prox.agree(prox.computed(without)[1], W, problem.size)

    check.forall(prox.features(lam_bars=(0, HALF, 1, 2)), clipped_and_thresholded)


@claim("LN-prop-1-h-increases", f"{APPENDIX}, proof of (a): 'h is increasing'", "proof, exact", HOLDS)
@mutants("h")
def test_h_does_not_decrease(check):
    """In the proof of Proposition 1, the function h(s) = M(‖v‖ − λ) + λ̄ − |U_(s)| + M²Σ_{i≤s}(|U_(i)| −
    |U_(s)|) does not decrease as s increases to s_max.

    Hypotheses: |U_(1)| ≥ … ≥ |U_(K)| are the sorted sizes, and s_max = #{i : |U_i| > λ̄}. The word
    'increasing' is read in the weak sense: if |U_(s)| = |U_(s+1)|, then h(s) = h(s + 1).

    Consequences: h(s + 1) − h(s) = (1 + sM²)(|U_(s)| − |U_(s+1)|). So exactly one s ≤ s_max has h(s) ≤ 0 <
    h(s + 1), with h(0) = −∞ and h(s_max + 1) = ∞.
    """

    def by_the_gap_of_the_order(problem):
        u = ordered(problem)
        return len(half_open_solutions(problem)) == 1 and all(
            h(problem, s + 1) - h(problem, s) == (1 + s * problem.M**2) * (u[s - 1] - u[s]) >= 0
            for s in range(1, largest_s(problem))
        )

    check.forall(PENALISED.filter(lambda problem: largest_s(problem) > 1), by_the_gap_of_the_order)


@claim("LN-prop-1-h", f"{APPENDIX}, proof of (a), 'if and only if'", "proof, exact", CORRECTED)
@mutants("h", "length")
def test_h_decides_half_open_intervals(check):
    """For s ≤ s_max, M‖b_s‖ lies in [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)] if and only if h(s) ≤ 0 < h(s + 1).

    Hypotheses: M > 0, v ≠ 0, λ, λ̄ ≥ 0. As in Proposition 1, |U_(1)| ≥ … ≥ |U_(K)| are the sorted sizes, S_λ̄
    is soft-thresholding, a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄), and b_s = (1 − a_s/‖v‖)₊ v/(1 + sM²). Moreover
    s_max = #{i : |U_i| > λ̄} and h(s) = M(‖v‖ − λ) + λ̄ − |U_(s)| + M²Σ_{i≤s}(|U_(i)| − |U_(s)|).

    Instead: h(s) ≤ 0 < h(s + 1) holds if and only if M‖b_s‖ lies in the interval without the lower end (for s
    = s_max: with the lower end). h(s) ≤ 0 ≤ h(s + 1) holds if and only if M‖b_s‖ lies in the closed interval.

    Consequences: Condition (7) of Proposition 1 requires that M‖b_s‖ lies in the closed interval. The printed
    claim that only one s satisfies it is false. The s with h(s) ≤ 0 < h(s + 1) is unique, and its b_s is the
    optimum.
    """
    tie = prox.feature(1, [1], 0, 1)
    check.refutes(
        in_interval(tie, 0) and h(tie, 1) == 0, f"{tie}: s = 0 is in its interval, but h(1) = 0 is not > 0"
    )

    def closed_and_half_open(problem):
        top = largest_s(problem)

        def agrees(s):
            closed = (s == 0 or h(problem, s) <= 0) and (s == top or h(problem, s + 1) >= 0)
            inside = in_interval(problem, s)
            return closed == inside and half_open(problem, s) == (inside and above_lower_end(problem, s))

        best = length(problem, half_open_solutions(problem)[0])
        return all(map(agrees, range(top + 1))) and best == best_length(problem)

    check.forall(PENALISED, closed_and_half_open)


def F_s(problem, s, b, inner):
    """Return the value F_s(b) of a function in the proof of LassoNet's Proposition 1.

    With the v, U, M, λ and λ̄ of `problem`, and the sizes |U_(1)| ≥ |U_(2)| ≥ … of the entries of U,

        F_s(b) = ½(1 + sM²)‖b − v/(1 + sM²)‖² + a_s‖b‖,   a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄).

    The arguments are `b` = ‖b‖ and `inner` = ⟨v, b⟩.
    """
    v, M = problem.v, problem.M
    c = 1 + s * M**2
    return c * (b**2 - 2 * inner / c + v**2 / c**2) / 2 + a(problem, s) * b


def F(problem, b, inner):
    """Return the minimum F(b) over W of the objective of Proposition 1, subject to ‖W‖∞ ≤ M‖b‖.

    The objective is ½(‖v − b‖² + ‖U − W‖²) + λ‖b‖ + λ̄‖W‖₁. The arguments are `b` = ‖b‖ and `inner` = ⟨v, b⟩.
    """
    v, u, lam, M, lam_bar = problem
    W = [best_z(x, M * b, lam_bar) for x in u]
    squares = v**2 - 2 * inner + b**2 + sum((x - z) ** 2 for x, z in zip(u, W, strict=True))
    return squares / 2 + lam * b + lam_bar * sum(map(abs, W))


COSINES = st.fractions(-1, 1, max_denominator=6)
PARTS = st.fractions(0, 1, max_denominator=6)


def interval(problem, s, longest):
    """Return the interval [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)] of condition (7), cut off at `longest`.

    S_λ̄ is soft-thresholding, and |U_(s)| the s-th largest size of an entry of U.
    """
    low = threshold(problem, s + 1)
    return low, min(threshold(problem, s), low + longest)


@claim("LN-prop-1-parabolas", f"{APPENDIX}, the formula for F(b) before Point (a)", "proof, exact", HOLDS)
@mutants("F_s", "length")
def test_the_parabolas_of_F(check):
    """For M‖b‖ in the interval [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)], F(b) = F_s(b) + r_s with an r_s that does
    not depend on b. Here F_s(b) = ½(1 + sM²)‖b − v/(1 + sM²)‖² + a_s‖b‖, and over all b, F_s has its global
    minimum at b_s.

    Hypotheses: M > 0, v ≠ 0, λ, λ̄ ≥ 0 and s ≤ s_max = #{i : |U_i| > λ̄}. F(b) is the minimum over W of ½(‖v
    − b‖² + ‖U − W‖²) + λ‖b‖₂ + λ̄‖W‖₁ subject to ‖W‖∞ ≤ M‖b‖₂. As in Proposition 1, |U_(1)| ≥ … ≥ |U_(K)| are
    the sorted sizes, S_λ̄ is soft-thresholding, a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄), and b_s = (1 − a_s/‖v‖)₊
    v/(1 + sM²).

    Unchecked: M = 0 is not checked. For M = 0, M‖b‖ is always 0, and the statement is about the s with
    S_λ̄(|U_(s+1)|) = 0.
    """

    def differs_by_a_constant(drawn):
        problem, (x, y, cos1, cos2) = drawn

        def at(s):
            low, high = (w / problem.M for w in interval(problem, s, 5 * problem.M))
            points = [(low + x * (high - low), cos1), (low + y * (high - low), cos2), (low, Fraction(1))]
            along = [(p, p * problem.v * c) for p, c in points]
            b = length(problem, s)
            tried = [p for p, _ in points] + [b + Fraction(k, 7) for k in (-1, 0, 1)]
            least = min(
                F_s(problem, s, p, p * problem.v * c) for p in tried if p >= 0 for c in (cos1, cos2, 1)
            )
            same_remainder = len({F(problem, *point) - F_s(problem, s, *point) for point in along}) == 1
            return same_remainder and least == F_s(problem, s, b, b * problem.v)

        return all(map(at, range(largest_s(problem) + 1)))

    check.forall(st.tuples(PENALISED, st.tuples(PARTS, PARTS, COSINES, COSINES)), differs_by_a_constant)


@claim("LN-prop-1-monotone", f"{APPENDIX}, proof of (b), (i) and (ii)", "proof, exact", HOLDS)
@mutants("at_length", "a")
def test_f_falls_and_rises(check):
    """Let f(w) be the minimum of F(b) over the b with M‖b‖ = w, and let w_s = M(‖v‖ − a_s)/(1 + sM²). On the
    interval [S_λ̄(|U_(s+1)|), S_λ̄(|U_(s)|)], f(w) = (1 + sM²)/(2M²)·(w − w_s)² + r'_s with a constant r'_s.
    In this interval f is strictly increasing for s < s* and strictly decreasing for s > s*. Moreover w_s ≤
    S_λ̄(|U_(s+1)|) for s < s*, and w_s > S_λ̄(|U_(s)|) for s > s*.

    Hypotheses: M > 0, v ≠ 0 and s ≤ s_max = #{i : |U_i| > λ̄}. F(b) is the minimum over W of ½(‖v − b‖² + ‖U
    − W‖²) + λ‖b‖₂ + λ̄‖W‖₁ subject to ‖W‖∞ ≤ M‖b‖₂. |U_(1)| ≥ … ≥ |U_(K)| are the sorted sizes, S_λ̄ is
    soft-thresholding, and a_s = λ − M·Σ_{i≤s} (|U_(i)| − λ̄). s* is the s with h(s) ≤ 0 < h(s + 1), where
    h(s) = M(‖v‖ − λ) + λ̄ − |U_(s)| + M²Σ_{i≤s}(|U_(i)| − |U_(s)|).

    Consequences: Point (b) of the proof of Proposition 1 follows: F has its global minimum at b_{s*}.
    """

    def as_stated(problem):
        M, best = problem.M, half_open_solutions(problem)[0]

        def at(s):
            low, high = interval(problem, s, 6)
            c, w_s = 1 + s * M**2, M * (abs(problem.v) - a(problem, s)) / (1 + s * M**2)
            grid = [low + (high - low) * k / 4 for k in range(5)]
            f = [at_length(problem, w / M) for w in grid]
            constants = {value - c * (w - w_s) ** 2 / (2 * M**2) for w, value in zip(grid, f, strict=True)}
            rises = low == high or all(x < y for x, y in pairwise(f))
            falls = low == high or all(x > y for x, y in pairwise(f))
            before, after = rises and w_s <= low, falls and w_s > threshold(problem, s)
            return len(constants) == 1 and (s >= best or before) and (s <= best or after)

        return all(map(at, range(largest_s(problem) + 1)))

    check.forall(PENALISED, as_stated)


@claim(
    "LN-prop-1-Slater",
    f"{APPENDIX}, proof of (5): 'strong duality holds since Slater's condition holds'",
    "proof, exact",
    HOLDS,
)
@mutants("best_z", "best_length")
def test_multipliers_exist(check):
    """The problem of minimising ½‖U − W‖² + λ̄‖W‖₁ over |W_j| ≤ w = M‖b*‖₂ satisfies Slater's condition. The
    optimality condition (6) in the paper has multipliers s_j ≥ 0.

    Hypotheses: λ, λ̄ ≥ 0 and M ≥ 0. The constraints ±W_j ≤ w are affine. For affine constraints, Slater's
    condition requires only a feasible point, such as W = 0. If w = 0, there is no strictly feasible point.

    Consequences: Equation (5) for the optimal W, which follows from condition (6), is right. The numbers s_j
    = (|U_j| − λ̄ − w)₊ are multipliers, also for w = 0.
    """

    def multipliers(problem):
        _, u, _, M, lam_bar = problem
        w = M * best_length(problem)

        def at(x):
            z, s = best_z(x, w, lam_bar), max(abs(x) - lam_bar - w, Fraction(0))
            # x − z = (λ̄ + s)g with g a subgradient of |·| at z
            stationary = x - z == (lam_bar + s) * prox.sign(z) if z else abs(x) <= lam_bar + s
            return stationary and s * (abs(z) - w) == 0 and abs(z) <= w

        return all(map(at, u))

    at_zero = prox.feature(1, [1], 3, 1)
    check.over([at_zero], lambda problem: best_length(problem) == 0 and multipliers(problem))
    check.forall(prox.features(lam_bars=(0, HALF, 1, 2)), multipliers)
