"""The proof of Lemma 3.4 (3.5 in the submission), step by step: where it breaks, and what still carries.

Source: *Sequential Attention for Feature Selection*, Appendix A.2 (both versions). With r = P_S^⊥y,
λ = (1 − ε)λ*, F_{λ,i,±} = {u : ±⟨X_i, u⟩ = λ}, unit columns:

1. (1 − ε)r lies in C_λ ∩ colspan(X_S)^⊥, on a face of each i ∈ T: so ‖r − p‖ ≤ ε‖r‖.
2. For i ∉ T, ‖r − u‖² over u ∈ F_{λ,i,±} is at least min ⟨X_i, r − u⟩² = (|⟨X_i, r⟩| − λ)²
   ≥ ((1 − ε)λ* − ‖X_T̄ᵀr‖∞)², "larger than ε²‖r‖² for all ε < ε₀".
   The equality holds for the nearer of the two faces alone: on the other the minimum is (|⟨X_i, r⟩| + λ)².
   The last bound needs ε ≤ 1 − ‖X_T̄ᵀr‖∞/λ*; ε₀ = (λ* − ‖X_T̄ᵀr‖∞)/(λ* + ‖r‖) is enough for all of it, and
   keeps p off the opposite faces of i ∈ T as well when ε < 2λ*/(λ* + ‖r‖).
3. "So u is simply the projection onto C' = {u : X_Tᵀu ≤ λ1}": here X_Sᵀu = 0 is dropped. For S ≠ ∅ that is
   another point, and the residual in colspan(X_T) is that of the other point.
   With C' ∩ colspan(X_S)^⊥ in its place the step holds, and gives a residual in colspan(P_S^⊥X_T).
4. The residual of the projection onto C' lies in colspan(X_T): true, of C'.

Exact: projections onto few half-spaces by enumeration of the active ones (`project`).
"""

import itertools

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import columns, inner, off, rational, segment, spans, vector
from proofs_checks.steps import open_steps, show
from sparselin.ledger import Verdict, claim

NUMBER = "proof of Lemma 3.4 (ICLR), of Lemma 3.5 (NeurIPS submission), Appendix A.2"
X = np.array([[1.0, 1.0], [0.0, 1.0]])
Y = np.array([1.0, 1.0])


def project(r, Z, bound):
    """The projection of r onto {u : Zᵀu ≤ bound}, by enumeration of independent active sets."""
    m = Z.ncols()
    for size in range(m + 1):
        for B in itertools.combinations(range(m), size):
            u = _on_the_faces(r, columns(Z, B), vector([bound[i] for i in B])) if B else r
            if u is not None and all(
                a <= b for a, b in zip((Z.transpose() * u).entries(), bound, strict=True)
            ):
                return u
    raise AssertionError("the set is empty")


def _on_the_faces(r, Z_B, bound):
    """r − Z_B a with Z_Bᵀ(r − Z_B a) = bound, if the columns are independent and a ≥ 0."""
    H = Z_B.transpose() * Z_B
    if H.det() == 0:
        return None
    a = H.solve(Z_B.transpose() * r - bound)
    return r - Z_B * a if all(entry >= 0 for entry in a.entries()) else None


def faces(X, y, S):
    """r, c, λ*, T, and the largest correlation off T."""
    found = segment(X, y, S)
    at = found.step
    others = [abs(c) for i, c in enumerate(at.correlation) if i not in at.tied]
    return found, max(others, default=fmpq(0))


@st.composite
def with_unit_columns(draw, max_selected=2):
    """Steps whose columns are all of norm one, exactly: multiples of Pythagorean quadruples, (±1, "
    "0, 0) too."""
    quadruples = [(3, 0, 0), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, -2, 1), (-2, 1, 2), (1, -2, 2), (0, 3, 0)]
    d = draw(st.integers(2, 5))
    X = np.array([draw(st.sampled_from(quadruples)) for _ in range(d)], float).T
    y = np.array(draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3)), float)
    S = tuple(sorted(draw(st.sets(st.integers(0, d - 1), max_size=max_selected))))
    return X, y, S


@claim(
    "SA-proof-3.4-1",
    paper="SA",
    number="step 1, " + NUMBER,
    statement="(1 − ε)P_S^⊥y lies in C_λ ∩ colspan(X_S)^⊥ and on a face of every i ∈ T, so ‖r − p‖² "
    "≤ ε²‖r‖².",
    hypotheses="any independent S, λ* > 0, ε ∈ [0, 1]",
    method="exact, float",
    verdict=Verdict.HOLDS,
    tolerance="1e-12 relative, for the distance of sl.project_dual's point",
    mutants=("sl.project_dual", "sl.lambda_star"),
)
def test_a_shrunken_residual_is_feasible(check):
    def feasible(selection):
        X, y, S = selection
        at, A = segment(X, y, S).step, rational(X)
        for eps in (fmpq(0), fmpq(1, 7), fmpq(1)):
            u, lam = at.residual * (1 - eps), at.lam_star * (1 - eps)
            c = (A.transpose() * u).entries()
            on_faces = all(abs(c[i]) == lam for i in at.tied)
            if not (on_faces and all(abs(a) <= lam for a in c) and all(c[i] == 0 for i in S)):
                return False
        lam = 0.75 * sl.lambda_star(X, y, unpenalized=S)
        r = np.array([float(int(a.p) / int(a.q)) for a in at.residual.entries()])
        distance = np.linalg.norm(r - sl.project_dual(X, y, lam, unpenalized=S).u)
        return 0 < distance <= 0.25 * np.linalg.norm(r) * (1 + 1e-12)

    check.forall(open_steps(), feasible)


@claim(
    "SA-proof-3.4-2",
    paper="SA",
    number="step 2 (chain of inequalities), " + NUMBER,
    statement="For i ∉ T and either sign, min over F_{λ,i,±} of ‖r − u‖² ≥ min ⟨X_i, r − u⟩² = "
    "(|⟨X_i, r⟩| − λ)² "
    "≥ ((1 − ε)λ* − ‖X_T̄ᵀr‖∞)².",
    hypotheses="unit columns, any S, λ* > 0, ε ∈ (0, 1)",
    method="exact",
    verdict=Verdict.CORRECTED,
    correction="The equality is a ≥, met by the nearer face alone ((|⟨X_i, r⟩| + λ)² on the other); "
    "the last "
    "bound needs ε ≤ 1 − ‖X_T̄ᵀr‖∞/λ*.",
    consequences="The conclusion for small ε stands.",
    mutants=("distance_to_face",),
)
def test_distances_to_the_other_faces(check):
    r, lam = vector([fmpq(1), fmpq(0)]), fmpq(1, 2)
    second = vector([fmpq(3, 5), fmpq(4, 5)])
    check.refutes(
        distance_to_face(second, r, lam, -1) == fmpq(121, 100) != (fmpq(3, 5) - lam) ** 2,
        "X_1 = (1, 0), X_2 = (3/5, 4/5), y = (1, 0), S = ∅, ε = ½: on F_{λ,2,−} the minimum is 1.21, "
        "not 0.01",
    )
    third, lam = vector([fmpq(0), fmpq(1)]), fmpq(1, 4)
    check.refutes(
        distance_to_face(third, r, lam, 1) == fmpq(1, 16) < (lam - fmpq(3, 5)) ** 2,
        "with X_3 = (0, 1) and ε = ¾: F_{λ,3,+} is at squared distance 1/16, below (¼ − 3/5)² = 0.1225",
    )

    def bounded(selection):
        X, y, S = selection
        A = rational(X) / fmpq(3)
        r = off(A, S, rational(y))
        c = (A.transpose() * r).entries()
        lam_star = max(abs(a) for a in c)
        assume(lam_star > 0)
        others = [i for i, a in enumerate(c) if abs(a) < lam_star]
        second = max((abs(c[i]) for i in others), default=fmpq(0))
        for part in (fmpq(1, 100), fmpq(1, 2), fmpq(1)):
            lam = lam_star - part * (lam_star - second)
            for i in others:
                near, far = sorted(distance_to_face(columns(A, [i]), r, lam, s) for s in (1, -1))
                exact = near == (abs(c[i]) - lam) ** 2 and far == (abs(c[i]) + lam) ** 2
                if not (exact and near >= (lam - second) ** 2):
                    return False
        return True

    check.forall(with_unit_columns(), bounded)


def distance_to_face(x, r, lam, sign):
    """min ‖r − u‖² over sign·⟨x, u⟩ = λ: at u = r − x(⟨x, r⟩ − sign·λ)/‖x‖²."""
    u = r - x * ((inner(x, r) - sign * lam) / inner(x, x))
    return inner(r - u, r - u)


@claim(
    "SA-proof-3.4-epsilon0",
    paper="SA",
    number="ε₀ and λ₀ = (1 − ε₀)λ*, " + NUMBER,
    statement="For all ε < ε₀, ε₀ small enough, P_S^⊥y is closer to the faces F_{λ,i,+}, i ∈ T, than "
    "to any other.",
    hypotheses="any columns, independent S, λ* > 0; as a statement about p: it lies on no other face",
    method="exact",
    verdict=Verdict.HOLDS,
    consequences="An explicit ε₀, for columns of any norm: min over i ∉ T∪S of (λ* − |⟨X_i, r⟩|)/(λ* "
    "+ ‖X_i‖‖r‖), "
    "over i ∈ T of 2λ*/(λ* + ‖X_i‖‖r‖), and 1.",
    unchecked="distances in place of p: for i ∈ T∖A the face F_{λ,i,+} may be missed by p, as the "
    "lemma allows",
    mutants=("sl.first_entry",),
)
def test_an_explicit_epsilon_0(check):
    def on_no_other_face(selection):
        X, y, S = selection
        found, _ = faces(X, y, S)
        entry = sl.first_entry(X, y, unpenalized=S)
        at, A = found.step, rational(X)
        # the float λ₀ is rounded: ε₀ shrunk by 2⁻⁴⁰ must do, and equal the formula to rounding
        eps = (at.lam_star - fmpq(*entry.proof_lower.as_integer_ratio())) * (1 - fmpq(1, 2**40))
        p, lam = at.residual - found.Z * found.v * eps, at.lam_star - eps
        signs = dict(zip(at.tied, found.signs, strict=True))
        for i, c in enumerate((A.transpose() * p).entries()):
            if i in signs:
                if signs[i] * c <= -lam:
                    return False
            elif abs(c) >= lam:
                return False
        return abs(float(entry.proof_lower) - epsilon_0(X, y, S, at)) <= 1e-13 * entry.lam_star

    check.forall(open_steps(), on_no_other_face)


def epsilon_0(X, y, S, at):
    """λ₀ = (1 − ε₀)λ* by the formula, in floats."""
    lam_star = int(at.lam_star.p) / int(at.lam_star.q)
    squared = inner(at.residual, at.residual)
    r = np.sqrt(int(squared.p) / int(squared.q))
    c = np.array([int(abs(a).p) / int(a.q) for a in at.correlation])
    reach = lam_star + np.linalg.norm(X, axis=0) * r
    others = [i for i in range(X.shape[1]) if i not in at.tied and i not in S]
    bounds = [*(2 * lam_star / reach[list(at.tied)]), *((lam_star - c[others]) / reach[others]), 1.0]
    return (1 - min(bounds)) * lam_star


@claim(
    "SA-proof-3.4-3",
    paper="SA",
    number="step 3, " + NUMBER,
    statement="As p lies on no face of i ∉ T, it is the projection of P_S^⊥y onto C' = {u : X_Tᵀu ≤ λ1}.",
    hypotheses="signs such that ⟨X_i, r⟩ = λ* on T; ε < ε₀",
    method="exact",
    verdict=Verdict.FALSE,
    correction="It is the projection onto C' ∩ colspan(X_S)^⊥; for S = ∅ the two are the same.",
    consequences="Here the proof breaks for S ≠ ∅. Lemma 3.4 and item 1 fall with it.",
    mutants=("project", "segment"),
)
def test_the_dropped_constraint(check):
    r, x = vector([fmpq(0), fmpq(1)]), vector([fmpq(1), fmpq(1)])
    u = project(r, x, [fmpq(1, 2)])
    inside = inner(columns(rational(X), [0]), u)
    check.refutes(
        inside == fmpq(-1, 4),
        f"{show(X, Y, (0,))}, λ = ½: the projection of (0, 1) onto C' is (−¼, ¾), not orthogonal to "
        f"X_0; p = (0, ½)",
    )

    def corrected(selection):
        X, y, S = selection
        found, second = faces(X, y, S)
        at, A = found.step, rational(X)
        eps = (at.lam_star - second) / 1000
        p, lam = at.residual - found.Z * found.v * eps, at.lam_star - eps
        # for u ⟂ X_S, ⟨s_i X_i, u⟩ = ⟨z_i, u⟩: half-spaces in colspan(X_S)^⊥, where r lies
        section = project(at.residual, found.Z, [lam] * len(at.tied))
        within = all(inner(columns(A, [i]), section) == 0 for i in S)
        whole = project(at.residual, signed(A, found), [lam] * len(at.tied)) if not S else p
        return section == p == whole and within

    check.forall(open_steps(max_tied=4), corrected)


def signed(A, found):
    """[s_i X_i] over T."""
    m = len(found.signs)
    diagonal = [fmpq(found.signs[i] * (i == j)) for i in range(m) for j in range(m)]
    return columns(A, found.step.tied) * fmpq_mat(m, m, diagonal)


@claim(
    "SA-proof-3.4-4",
    paper="SA",
    number="step 4 (last sentence), " + NUMBER,
    statement="The residual of the projection of P_S^⊥y onto C' = {u : X_Tᵀu ≤ λ1} lies in colspan(X_T).",
    hypotheses="any S with λ* > 0, λ < λ*",
    method="exact",
    verdict=Verdict.HOLDS,
    consequences="Of C', not of C_λ ∩ colspan(X_S)^⊥.",
    mutants=("project",),
)
def test_the_residual_of_the_projection_onto_half_spaces(check):
    def in_the_span(selection):
        X, y, S = selection
        found = segment(X, y, S)
        A = rational(X)
        for part in (fmpq(1, 3), fmpq(1)):
            lam = found.step.lam_star * (1 - part)
            u = project(found.step.residual, signed(A, found), [lam] * len(found.signs))
            if u == found.step.residual or not spans(columns(A, found.step.tied), found.step.residual - u):
                return False
        return True

    check.forall(open_steps(max_tied=4), in_the_span)
