"""The proof of Lemma 3.4 (3.5 in the submission), step by step: where it breaks, and what still carries.

Source: *Sequential Attention for Feature Selection*, Appendix A.2 (both versions; X_T for X_T̄ in the text
of the submission, which has lost overbars). With r = P_S^⊥y, λ = (1 − ε)λ*, F_{λ,i,±} = {u : ±⟨X_i, u⟩ =
λ}, unit columns:

1. (1 − ε)r lies in C_λ ∩ colspan(X_S)^⊥, on a face of each i ∈ T: so ‖r − p‖ ≤ ε‖r‖.
2. For i ∉ T, ‖r − u‖² over u ∈ F_{λ,i,±} is at least min ⟨X_i, r − u⟩² = (|⟨X_i, r⟩| − λ)²
   ≥ ((1 − ε)λ* − ‖X_T̄ᵀr‖∞)², for ε small; "larger than ε²‖r‖² for all ε < ε₀".
   The equality holds for the nearer of the two faces (and for their union): on the other the minimum is
   (|⟨X_i, r⟩| + λ)². An ε₀ for columns of any norm: the least of (λ* − |⟨X_i, r⟩|)/(λ* + ‖X_i‖‖r‖) over
   i ∉ T, 2λ*/(λ* + ‖X_i‖‖r‖) over i ∈ T for the opposite faces, and 1. `FirstEntry.proof_lower` leaves
   i ∈ S out, as p ⟂ X_S is on none of their faces.
3. "The projection u of P_S^⊥y onto C_λ … is simply the projection onto C' = {u : X_Tᵀu ≤ λ1}". So it is, and
   that is beside the point: p is the projection onto C_λ ∩ colspan(X_S)^⊥, and the constraint X_Sᵀu = 0 was
   dropped between the first paragraph and this one. For S ≠ ∅ it is another point, and the residual in
   colspan(X_T) is that of the other point. With colspan(X_S)^⊥ kept the step gives colspan(P_S^⊥X_T).
4. The residual of the projection onto C' lies in colspan(X_T): true, of C'.

The first sentence announces a projection of P_S^⊥y onto "C_λ ∩ colspan(X)^⊥" (X_S is meant) reduced to
one onto an affine space. What is reached is a cone of half-spaces X_Tᵀu ≤ λ1; p need not be on all of
their faces.

Exact: projections onto few half-spaces by enumeration of the active ones (`project`).
"""

import itertools

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import (
    columns,
    exactly,
    inner,
    off,
    rational,
    real,
    reals,
    segment,
    solution,
    spans,
    vector,
)
from proofs_checks.steps import open_steps, show
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

NUMBER = "proof of Lemma 3.4 (ICLR), of Lemma 3.5 (NeurIPS submission), Appendix A.2"
# unit columns and a unit y in units of 1/5
X = np.array([[5.0, 3.0], [0.0, 4.0]])
Y = np.array([3.0, 4.0])


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


@st.composite
def with_unit_columns(draw, max_selected=2):
    """Steps whose columns are all of norm one, exactly: multiples of Pythagorean quadruples, (±1,
    0, 0) too."""
    quadruples = [(3, 0, 0), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, -2, 1), (-2, 1, 2), (1, -2, 2), (0, 3, 0)]
    d = draw(st.integers(2, 5))
    X = np.array([draw(st.sampled_from(quadruples)) for _ in range(d)], float).T
    y = np.array(draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3)), float)
    S = tuple(sorted(draw(st.sets(st.integers(0, d - 1), max_size=max_selected))))
    return X, y, S


@claim("SA-proof-3.4-1", "step 1, " + NUMBER, "exact, float", HOLDS)
@mutants("sl.project_dual", "sl.lambda_star")
def test_a_shrunken_residual_is_feasible(check):
    """(1 − ε)P_S^⊥y lies in C_λ ∩ colspan(X_S)^⊥ and on a face of every i ∈ T, so ‖r − p‖² ≤ ε²‖r‖².

    Hypotheses: any independent S, λ* > 0, ε ∈ [0, 1]

    Tolerance: 1e-12 relative, for the distance of sl.project_dual's point
    """

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
        r = reals(at.residual)
        distance = np.linalg.norm(r - sl.project_dual(X, y, lam, unpenalized=S).u)
        return 0 < distance <= 0.25 * np.linalg.norm(r) * (1 + 1e-12)

    check.forall(open_steps(), feasible)


@claim("SA-proof-3.4-2", "step 2 (chain of inequalities), " + NUMBER, "exact", CORRECTED)
@mutants("distance_to_face")
def test_distances_to_the_other_faces(check):
    """For i ∉ T and either sign, min over F_{λ,i,±} of ‖r − u‖² ≥ min ⟨X_i, r − u⟩² = (|⟨X_i, r⟩| − λ)² ≥ ((1
    − ε)λ* − ‖X_T̄ᵀr‖∞)².

    Hypotheses: unit columns, any S, λ* > 0, ε ≤ 1 − ‖X_T̄ᵀr‖∞/λ* (in print: sufficiently small)

    Instead: The equality is a ≥ for the farther of the two faces, where the minimum is (|⟨X_i, r⟩| + λ)².

    Consequences: None: the bound is what is used.
    """
    r, lam = vector([fmpq(1), fmpq(0)]), fmpq(1, 2)
    second = vector([fmpq(3, 5), fmpq(4, 5)])
    check.refutes(
        distance_to_face(second, r, lam, -1) == fmpq(121, 100) != (fmpq(3, 5) - lam) ** 2,
        "X_0 = (1, 0), X_1 = (3/5, 4/5), y = (1, 0), S = ∅, λ = ½: on F_{λ,1,−} the minimum is 1.21, "
        "not 0.01",
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


@claim("SA-proof-3.4-epsilon0", "ε₀ and λ₀ = (1 − ε₀)λ*, " + NUMBER, "exact", HOLDS)
@mutants("sl.first_entry", "distance_to_face", "segment")
def test_an_explicit_epsilon_0(check):
    """For all ε < ε₀, ε₀ small enough, P_S^⊥y is closer to the faces F_{λ,i,+}, i ∈ T, than to any other.

    Hypotheses: any columns, independent S, λ* > 0; ε = 99 % and 1 % of the ε₀ below

    Consequences: An explicit ε₀, for columns of any norm: the least of (λ* − |⟨X_i, r⟩|)/(λ* + ‖X_i‖‖r‖) over
    i ∉ T, 2λ*/(λ* + ‖X_i‖‖r‖) over i ∈ T (opposite faces), and 1. p, being orthogonal to X_S, keeps off all
    other faces even without the terms of i ∈ S, which is `proof_lower`.

    Tolerance: 1e-13λ* between the formula and sl.first_entry
    """

    def closer(selection):
        X, y, S = selection
        found, A = segment(X, y, S), rational(X)
        signs = dict(zip(found.step.tied, found.signs, strict=True))
        for part in (0.99, 0.01):
            eps = found.step.lam_star * exactly(part * epsilon_0(X, found.step, range(X.shape[1])))
            lam = found.step.lam_star - eps
            near, far = [], []
            for i in np.flatnonzero(X.any(axis=0)):
                for s in (1, -1):
                    own = signs.get(int(i)) == s
                    (near if own else far).append(
                        distance_to_face(columns(A, [i]), found.step.residual, lam, s)
                    )
            if max(near) >= min(far):
                return False
        return True

    def on_no_other_face(selection):
        X, y, S = selection
        found = segment(X, y, S)
        lower = sl.first_entry(X, y, unpenalized=S).proof_lower
        # λ₀ is rounded: ε₀ shrunk by 2⁻⁴⁰ must do
        eps = (found.step.lam_star - exactly(lower)) * (1 - fmpq(1, 2**40))
        lam, _, p = solution(X, y, S, found, eps)
        signs = dict(zip(found.step.tied, found.signs, strict=True))
        for i, c in enumerate((rational(X).transpose() * p).entries()):
            if signs[i] * c <= -lam if i in signs else abs(c) >= lam:
                return False
        lam_star = real(found.step.lam_star)
        outside = [i for i in range(X.shape[1]) if i not in S]
        return abs(lower - (1 - epsilon_0(X, found.step, outside)) * lam_star) <= 1e-13 * lam_star

    check.forall(open_steps(), closer)
    check.forall(open_steps(), on_no_other_face)


def epsilon_0(X, at, J):
    """ε₀ by the formula, over the columns J, in floats."""
    lam_star, c = real(at.lam_star), np.array([real(abs(a)) for a in at.correlation])
    reach = lam_star + np.linalg.norm(X, axis=0) * np.sqrt(real(inner(at.residual, at.residual)))
    tied = list(at.tied)
    others = [i for i in J if i not in at.tied]
    return min([*(2 * lam_star / reach[tied]), *((lam_star - c[others]) / reach[others]), 1.0])


@claim("SA-proof-3.4-3", "step 3, " + NUMBER, "exact", FALSE)
@mutants("project", "segment")
def test_the_dropped_constraint(check):
    """The projection p that Lemma 3.4 is about is the projection of P_S^⊥y onto C' = {u : X_Tᵀu ≤ λ1}.

    Hypotheses: signs such that ⟨X_i, r⟩ = λ* on T; ε < ε₀. In print p is first replaced by the projection
    onto C_λ, then C_λ by C'

    Instead: From C_λ to C' is right; dropping colspan(X_S)^⊥ is not, unless S = ∅: p is the projection onto
    C' ∩ colspan(X_S)^⊥.

    Consequences: Here the proof breaks for S ≠ ∅. Lemma 3.4 and item 1 fall with it.
    """
    r, x = vector([fmpq(0), fmpq(4)]), vector([fmpq(3), fmpq(4)])
    onto_half_space, onto_polytope = (project(r, *half_spaces(Z, [fmpq(8)])) for Z in (x, both(x)))
    inside = inner(vector([fmpq(5), fmpq(0)]), onto_half_space)
    check.refutes(
        onto_half_space == onto_polytope == vector([fmpq(-24, 25), fmpq(68, 25)]) and inside == fmpq(-24, 5),
        f"5X, 5y: {show(X, Y, (0,))}, λ = 8/25: the projection of r onto C' is (−24, 68)/125, not "
        "orthogonal to X_0; p = (0, 2/5)",
    )

    def corrected(selection):
        X, y, S = selection
        found, A = segment(X, y, S), rational(X)
        at = found.step
        eps = at.lam_star * exactly(epsilon_0(X, at, range(X.shape[1])) / 64)
        lam, _, p = solution(X, y, S, found, eps)
        bound = [lam] * len(at.tied)
        # for u ⟂ X_S, ⟨s_i X_i, u⟩ = ⟨z_i, u⟩: half-spaces in colspan(X_S)^⊥, where r lies
        section = project(at.residual, found.Z, bound)
        onto_c_prime = project(at.residual, signed(A, found), bound)
        onto_c = project(at.residual, *half_spaces(both(A), [lam] * A.ncols()))
        return section == p and onto_c_prime == onto_c and (bool(S) or onto_c_prime == p)

    check.forall(open_steps(max_d=4, max_tied=4), corrected)


def both(Z):
    """[Z, −Z]."""
    n, m = Z.nrows(), Z.ncols()
    return fmpq_mat(n, 2 * m, [s * Z[i, j] for i in range(n) for s in (1, -1) for j in range(m)])


def half_spaces(Z, bound):
    """Z and the bounds, repeated where Z holds both signs."""
    return Z, bound * (Z.ncols() // len(bound))


def signed(A, found):
    """[s_i X_i] over T."""
    m = len(found.signs)
    diagonal = [fmpq(found.signs[i] * (i == j)) for i in range(m) for j in range(m)]
    return columns(A, found.step.tied) * fmpq_mat(m, m, diagonal)


@claim("SA-proof-3.4-4", "step 4 (last sentence), " + NUMBER, "exact", HOLDS)
@mutants("project")
def test_the_residual_of_the_projection_onto_half_spaces(check):
    """The residual of the projection of P_S^⊥y onto C' = {u : X_Tᵀu ≤ λ1} lies in colspan(X_T).

    Hypotheses: any S with λ* > 0, λ < λ*

    Consequences: Of C', not of C_λ ∩ colspan(X_S)^⊥.
    """

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


@claim("SA-proof-3.4-affine", "first sentence, " + NUMBER, "exact", FALSE)
@mutants("project", "segment")
def test_half_spaces_not_an_affine_space(check):
    """The projection of P_S^⊥y onto C_λ ∩ colspan(X)^⊥ reduces to a projection onto an affine space.

    Hypotheses: read with X_S for X, and λ just below λ*; the affine space {u : ⟨s_i X_i, u⟩ = λ, i ∈ T}

    Instead: To one onto half-spaces: |⟨X_i, p⟩| = λ for i ∈ A(S), and possibly less on T∖A(S). Affine where
    A(S) = T.

    Consequences: None: the proof goes on with half-spaces.
    """
    # columns of length 3, T = {0, 1, 2}, A = {0, 1}
    X, y = np.array([[3.0, 0.0, 2.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    found = segment(X, y)
    p = project(rational(y), signed(rational(X), found), [fmpq(5, 2)] * 3)
    check.refutes(
        found.active == (0, 1) and p == vector([fmpq(5, 6), fmpq(5, 6), fmpq(-1)]),
        f"{show(X, y)}, λ = 5/2 (columns of length 3): p = (5/6, 5/6, −1) and ⟨X_2, p⟩ = 7/3 < 5/2",
    )

    def on_the_active_faces(selection):
        X, y, S = selection
        found, A = segment(X, y, S), rational(X)
        eps = found.step.lam_star * exactly(epsilon_0(X, found.step, range(X.shape[1])) / 64)
        lam, _, p = solution(X, y, S, found, eps)
        sizes = {i: abs(inner(columns(A, [i]), p)) for i in found.step.tied}
        return all(sizes[i] == lam for i in found.active) and max(sizes.values()) == lam

    check.forall(open_steps(), on_the_active_faces)
