"""The proof of Lemma 3.4 (3.5 in the NeurIPS submission), step by step: which steps hold, and where it
breaks.

Source: *Sequential Attention for Feature Selection*, Appendix A.2 (both versions; the text of the submission
has lost overbars, so it has X_T for X_T̄, the columns outside T). Let P_S^⊥ be the projection onto the
orthogonal complement of the selected columns X_S. Let r = P_S^⊥y, c = Xᵀr, λ* = max|c_i|, T = {i : |c_i| =
λ*}, λ = (1 − ε)λ*, C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, and call {u : ±⟨X_i, u⟩ = λ} the faces of i. Let p be the
projection of r onto C_λ ∩ colspan(X_S)^⊥. Let the signs of the columns be such that ⟨X_i, r⟩ = λ* for i ∈ T.
With unit columns, the proof in print is:

1. (1 − ε)r lies in C_λ ∩ colspan(X_S)^⊥, on a face of each i ∈ T; so ‖r − p‖ ≤ ε‖r‖.
2. The distance of r from each face of an i ∉ T is larger than ε‖r‖, for ε < ε₀.
3. So the projection of r onto C_λ is its projection onto C' = {u : X_Tᵀu ≤ λ1}.
4. The difference between r and its projection onto C' lies in colspan(X_T).

Each step is true, except for a detail of step 2. But step 3 is not about p: the lemma needs the projection
onto C_λ ∩ colspan(X_S)^⊥, and step 3 drops the constraint X_Sᵀu = 0. There the proof breaks. For more see
docs/proofs/lemma_3_4.md.

The checks are exact: the function `project` finds the projection onto an intersection of half-spaces by
trying all sets of active constraints.
"""

import itertools

import numpy as np
from flint import fmpq
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import (
    HALF,
    columns,
    exactly,
    inner,
    off,
    rational,
    real,
    reals,
    segment,
    signed,
    spans,
    step,
    vector,
)
from proofs_checks.steps import open_steps, show, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

NUMBER = "proof of Lemma 3.4 (ICLR), of Lemma 3.5 (NeurIPS submission), Appendix A.2"
# unit columns and a unit y in units of 1/5
X = np.array([[5.0, 3.0], [0.0, 4.0]])
Y = np.array([3.0, 4.0])


def project(r, Z, lam):
    """Return the projection of the vector r onto {u : Zᵀu ≤ λ1}, by trying all sets of independent active
    constraints.
    """
    for size in range(Z.ncols() + 1):
        for B in itertools.combinations(range(Z.ncols()), size):
            u = _on_the_faces(r, columns(Z, B), lam) if B else r
            if u is not None and all(a <= lam for a in (Z.transpose() * u).entries()):
                return u
    raise AssertionError("the set is empty")


def _on_the_faces(r, Z_B, lam):
    """Return the projection of r onto {u : Z_Bᵀu = λ1}, or None if it is not the projection onto {u : Z_Bᵀu ≤
    λ1}.

    Also return None if the columns of Z_B are dependent.
    """
    H = Z_B.transpose() * Z_B
    if H.det() == 0:
        return None
    a = H.solve(Z_B.transpose() * r - vector([lam] * Z_B.ncols()))
    return r - Z_B * a if all(entry >= 0 for entry in a.entries()) else None


def both(Z):
    """Return the matrix [Z, −Z], the columns of Z followed by their negatives."""
    m = Z.ncols()
    return signed(Z, [*range(m)] * 2, [1] * m + [-1] * m)


def onto_half_spaces(X, found, lam):
    """Return the projection of r = P_S^⊥y onto {u : ⟨s_i X_i, u⟩ ≤ λ for i ∈ T}.

    T is the set of the tied features, which have the largest correlation with r, and s_i are the signs of the
    correlations.
    """
    return project(found.step.residual, signed(rational(X), found.step.tied, found.signs), lam)


def distance_to_face(x, r, lam, sign):
    """Return the squared distance of r from the hyperplane {u : sign·⟨x, u⟩ = λ}."""
    u = r - x * ((inner(x, r) - sign * lam) / inner(x, x))
    return inner(r - u, r - u)


def epsilon_0(X, at, J):
    """Return the explicit ε₀ of the proof of Lemma 3.4, in floating point, from the columns in J.

    ε₀ is the least of (λ* − |⟨X_i, r⟩|)/(λ* + ‖X_i‖‖r‖) over the untied i ∈ J, of 2λ*/(λ* + ‖X_i‖‖r‖) over
    the tied i, and of 1.
    """
    lam_star, c = real(at.lam_star), np.array([real(abs(a)) for a in at.correlation])
    reach = lam_star + np.linalg.norm(X, axis=0) * np.sqrt(real(inner(at.residual, at.residual)))
    tied = list(at.tied)
    others = [i for i in J if i not in at.tied]
    return min([*(2 * lam_star / reach[tied]), *((lam_star - c[others]) / reach[others]), 1.0])


@st.composite
def with_unit_columns(draw, max_selected=2):
    """Draw a design whose integer columns all have the length 3, a response, and a selected set S."""
    quadruples = [(3, 0, 0), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, -2, 1), (-2, 1, 2), (1, -2, 2), (0, 3, 0)]
    d = draw(st.integers(2, 5))
    X = np.array([draw(st.sampled_from(quadruples)) for _ in range(d)], float).T
    y = np.array(draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3)), float)
    S = tuple(sorted(draw(st.sets(st.integers(0, d - 1), max_size=max_selected))))
    return X, y, S


@claim("SA-proof-3.4-1", "step 1, " + NUMBER, "exact, float", HOLDS)
@mutants("sl.project_dual", "sl.lambda_star")
def test_a_shrunken_residual_is_feasible(check):
    """Let r = P_S^⊥y and λ = (1 − ε)λ*. Then (1 − ε)r lies in C_λ ∩ colspan(X_S)^⊥, and for every i ∈ T on a
    face {u : ±⟨X_i, u⟩ = λ} of C_λ. So the projection p of r onto this set has ‖r − p‖² ≤ ε²‖r‖².

    Hypotheses: The columns of S are linearly independent, λ* = ‖Xᵀr‖∞ > 0, and ε ∈ [0, 1]. C_λ = {u : ‖Xᵀu‖∞
    ≤ λ}, and T is the set of features with |⟨X_i, r⟩| = λ*. P_S^⊥ is the projection onto the orthogonal
    complement of the columns in S.

    Tolerance: The distance to the point of sl.project_dual has a relative tolerance of 1e-12.
    """

    def feasible(X, y, S):
        at, A = segment(X, y, S).step, rational(X)
        for eps in (fmpq(0), fmpq(1, 7), fmpq(1)):
            u, lam = at.residual * (1 - eps), at.lam_star * (1 - eps)
            c = (A.transpose() * u).entries()
            on_faces = all(abs(c[i]) == lam for i in at.tied)
            if not (on_faces and all(abs(a) <= lam for a in c) and all(c[i] == 0 for i in S)):
                return False
        lam = 0.75 * sl.lambda_star(X, y, forced=S)
        r = reals(at.residual)
        distance = np.linalg.norm(r - sl.project_dual(X, y, lam, forced=S).u)
        return 0 < distance <= 0.25 * np.linalg.norm(r) * (1 + 1e-12)

    check.forall(open_steps(), spread(feasible))


@claim("SA-proof-3.4-2", "step 2 (chain of inequalities), " + NUMBER, "exact", CORRECTED)
@mutants("distance_to_face")
def test_distances_to_the_other_faces(check):
    """For i ∉ T and r = P_S^⊥y, the distance of r from each of the two faces F_{λ,i,±} = {u : ±⟨X_i, u⟩ = λ}
    satisfies

        min over F_{λ,i,±} of ‖r − u‖² ≥ min ⟨X_i, r − u⟩² = (|⟨X_i, r⟩| − λ)² ≥ ((1 − ε)λ* − ‖X_T̄ᵀr‖∞)².

    Hypotheses: The columns have length 1, S is any set, λ* = ‖Xᵀr‖∞ > 0, λ = (1 − ε)λ*, and T = {i : |⟨X_i,
    r⟩| = λ*}. The columns outside T are X_T̄. ε ≤ 1 − ‖X_T̄ᵀr‖∞/λ* (in print: sufficiently small). P_S^⊥ is
    the projection onto the orthogonal complement of the columns in S.

    Instead: For the farther of the two faces the sign = must be ≥, because the minimum of ‖r − u‖² is (|⟨X_i,
    r⟩| + λ)² there.

    Consequences: Nothing else is affected, because the proof uses only the lower bound.
    """
    r, lam = vector([fmpq(1), fmpq(0)]), HALF
    second = vector([fmpq(3, 5), fmpq(4, 5)])
    check.refutes(
        distance_to_face(second, r, lam, -1) == fmpq(121, 100) != (fmpq(3, 5) - lam) ** 2,
        "X_0 = (1, 0), X_1 = (3/5, 4/5), y = (1, 0), S = ∅, λ = ½: on F_{λ,1,−} the minimum is 1.21, "
        "not 0.01",
    )

    def bounded(X, y, S):
        A = rational(X) / fmpq(3)
        r = off(A, S, rational(y))
        c = [abs(a) for a in (A.transpose() * r).entries()]
        assume(max(c) > 0)
        others = [i for i, a in enumerate(c) if a < max(c)]
        second = max((c[i] for i in others), default=fmpq(0))
        for lam in (max(c) - share * (max(c) - second) for share in (fmpq(1, 100), HALF, fmpq(1))):
            for i in others:
                closer, farther = sorted(distance_to_face(columns(A, [i]), r, lam, s) for s in (1, -1))
                if farther != (c[i] + lam) ** 2 or not closer == (c[i] - lam) ** 2 >= (lam - second) ** 2:
                    return False
        return True

    check.forall(with_unit_columns(), spread(bounded))


def faces_of_T_are_closest(X, y, S, share):
    """Return whether the residual r is closer to the faces of the tied features than to all other faces of
    C_λ.

    C_λ is {u : ‖Xᵀu‖∞ ≤ λ}, and its faces are ±⟨X_i, u⟩ = λ. The faces of the tied features are those with
    the sign of ⟨X_i, r⟩. λ is (1 − ε)λ*, where ε is the given share of the explicit ε₀.
    """
    found, A = segment(X, y, S), rational(X)
    lam = found.step.lam_star * (1 - exactly(share * epsilon_0(X, found.step, range(X.shape[1]))))
    distance = {
        (i, s): distance_to_face(columns(A, [i]), found.step.residual, lam, s)
        for i in np.flatnonzero(X.any(axis=0)).tolist()
        for s in (1, -1)
    }
    own = set(zip(found.step.tied, found.signs, strict=True))
    return max(distance[face] for face in own) < min(distance[face] for face in distance.keys() - own)


def on_no_other_face(X, y, S, lower):
    """Return whether the dual point p lies only on faces of the tied features at the lower end λ₀ of the
    proof's window.

    No untied and unselected feature may have |⟨X_i, p⟩| = λ, and no tied feature the inner product λ with the
    opposite sign.
    """
    found = segment(X, y, S)
    # λ₀ is rounded: ε₀ shrunk by 2⁻⁴⁰ must do
    lam, _, p = found.solution((found.step.lam_star - exactly(lower)) * (1 - fmpq(1, 2**40)))
    signs = dict(zip(found.step.tied, found.signs, strict=True))
    correlation = (rational(X).transpose() * p).entries()
    return all(signs[i] * c > -lam if i in signs else abs(c) < lam for i, c in enumerate(correlation))


@claim("SA-proof-3.4-epsilon0", "ε₀ and λ₀ = (1 − ε₀)λ*, " + NUMBER, "exact", HOLDS)
@mutants("sl.first_entry", "distance_to_face", "segment")
def test_an_explicit_epsilon_0(check):
    """For all ε < ε₀, with a small enough ε₀, r = P_S^⊥y is closer to the faces F_{λ,i,+} = {u : ⟨X_i, u⟩ =
    λ}, i ∈ T, than to any other face {u : ±⟨X_j, u⟩ = λ}. T is the set of features that attain λ*.

    Hypotheses: The columns have any lengths, those of S are linearly independent, λ* = ‖Xᵀr‖∞ > 0, λ = (1 −
    ε)λ*, and the signs are such that ⟨X_i, r⟩ = λ* for i ∈ T. The check takes 99 % and 1 % of an explicit ε₀
    as ε. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Consequences: For columns of any norm, the following ε₀ suffices: the least of (λ* − |⟨X_i, r⟩|)/(λ* +
    ‖X_i‖‖r‖) over i ∉ T, of 2λ*/(λ* + ‖X_i‖‖r‖) over i ∈ T (for the opposite faces), and of 1. The projection
    p is orthogonal to X_S, and so lies on no face of an i ∈ S. Therefore the terms of i ∈ S may be left out,
    as the package does.

    Tolerance: The λ₀ = (1 − ε₀)λ* from this formula and that of sl.first_entry may differ by 1e-13λ*.
    """

    def as_the_package_has_it(X, y, S):
        at, lower = step(X, y, S), sl.first_entry(X, y, forced=S).proof_lower
        lam_star = real(at.lam_star)
        formula = (1 - epsilon_0(X, at, [i for i in range(X.shape[1]) if i not in S])) * lam_star
        return on_no_other_face(X, y, S, lower) and abs(lower - formula) <= 1e-13 * lam_star

    check.forall(open_steps(), lambda at: all(faces_of_T_are_closest(*at, share) for share in (0.99, 0.01)))
    check.forall(open_steps(), spread(as_the_package_has_it))


@claim("SA-proof-3.4-3", "step 3, " + NUMBER, "exact", FALSE)
@mutants("project", "segment")
def test_the_dropped_constraint(check):
    """The projection p of r = P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥, which is the subject of Lemma 3.4, is the
    projection of r onto C' = {u : X_Tᵀu ≤ λ1}.

    Hypotheses: C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, λ* = ‖Xᵀr‖∞, and T is the set of features that attain λ*, with signs
    such that ⟨X_i, r⟩ = λ* for i ∈ T. λ = (1 − ε)λ* with ε below the ε₀ of the proof (ledger id
    SA-proof-3.4-epsilon0). In print, p is first replaced by the projection onto C_λ, and then C_λ by C'.
    P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Instead: C_λ may be replaced by C', but colspan(X_S)^⊥ must not be dropped unless S = ∅: p is the
    projection onto C' ∩ colspan(X_S)^⊥.

    Consequences: For S ≠ ∅ the proof of Lemma 3.4 breaks at this step. The lemma and item 1 after it are
    false.
    """
    r, x = vector([fmpq(0), fmpq(4)]), vector([fmpq(3), fmpq(4)])
    half_space, polytope = (project(r, Z, fmpq(8)) for Z in (x, both(x)))
    check.refutes(
        half_space == polytope == vector([fmpq(-24, 25), fmpq(68, 25)]),
        f"5X, 5y: {show(X, Y, (0,))}, λ = 8/25: the projection of r onto C' is (−24, 68)/125, not "
        "orthogonal to X_0; p = (0, 2/5)",
    )

    def corrected(X, y, S):
        found, A = segment(X, y, S), rational(X)
        at = found.step
        eps = at.lam_star * exactly(epsilon_0(X, at, range(X.shape[1])) / 64)
        lam, _, p = found.solution(eps)
        # for u ⟂ X_S, ⟨s_i X_i, u⟩ = ⟨z_i, u⟩: half-spaces in colspan(X_S)^⊥, where r lies
        section = project(at.residual, found.Z, lam)
        onto_c_prime = onto_half_spaces(X, found, lam)
        return (
            section == p and onto_c_prime == project(at.residual, both(A), lam) and (S or onto_c_prime == p)
        )

    check.forall(open_steps(max_d=4, max_tied=4), spread(corrected))


@claim("SA-proof-3.4-4", "step 4 (last sentence), " + NUMBER, "exact", HOLDS)
@mutants("project")
def test_the_residual_of_the_projection_onto_half_spaces(check):
    """The difference between r = P_S^⊥y and its projection onto C' = {u : X_Tᵀu ≤ λ1} lies in colspan(X_T).

    Hypotheses: S is any set with λ* = ‖Xᵀr‖∞ > 0, λ < λ*, and T is the set of features that attain λ*, with
    signs such that ⟨X_i, r⟩ = λ* for i ∈ T. P_S^⊥ is the projection onto the orthogonal complement of the
    columns in S.

    Consequences: The statement is true, but it does not prove Lemma 3.4, which is about the projection onto
    {u : ‖Xᵀu‖∞ ≤ λ, X_Sᵀu = 0}.
    """

    def in_the_span(X, y, S):
        found, A = segment(X, y, S), rational(X)
        for part in (fmpq(1, 3), fmpq(1)):
            u = onto_half_spaces(X, found, found.step.lam_star * (1 - part))
            if u == found.step.residual or not spans(columns(A, found.step.tied), found.step.residual - u):
                return False
        return True

    check.forall(open_steps(max_tied=4), spread(in_the_span))


@claim("SA-proof-3.4-affine", "first sentence, " + NUMBER, "exact", FALSE)
@mutants("project", "segment")
def test_half_spaces_not_an_affine_space(check):
    """The projection of P_S^⊥y onto C_λ ∩ colspan(X)^⊥, C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, reduces to a projection onto
    an affine space.

    Hypotheses: The statement is read with X_S in place of X, and with λ just below λ* = ‖XᵀP_S^⊥y‖∞. The
    affine space is {u : ⟨s_i X_i, u⟩ = λ, i ∈ T}, where T is the set of features that attain λ*, and s_i is
    the sign of ⟨X_i, P_S^⊥y⟩. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Instead: The projection p of P_S^⊥y reduces to a projection onto an intersection of half-spaces. |⟨X_i,
    p⟩| = λ holds for i ∈ A(S), the features that enter just below λ*, but |⟨X_i, p⟩| may be smaller for i ∈
    T∖A(S). If A(S) = T, p is the projection onto an affine space.

    Consequences: Nothing else is affected, because the proof of Lemma 3.4 itself continues with half-spaces.
    """
    # columns of length 3, T = {0, 1, 2}, A = {0, 1}
    X, y = np.array([[3.0, 0.0, 2.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    found = segment(X, y)
    p = onto_half_spaces(X, found, fmpq(5, 2))
    check.refutes(
        found.active == (0, 1) and p == vector([fmpq(5, 6), fmpq(5, 6), fmpq(-1)]),
        f"{show(X, y)}, λ = 5/2 (columns of length 3): p = (5/6, 5/6, −1) and ⟨X_2, p⟩ = 7/3 < 5/2",
    )

    def on_the_active_faces(X, y, S):
        found, A = segment(X, y, S), rational(X)
        eps = found.step.lam_star * exactly(epsilon_0(X, found.step, range(X.shape[1])) / 64)
        lam, _, p = found.solution(eps)
        sizes = {i: abs(inner(columns(A, [i]), p)) for i in found.step.tied}
        return all(sizes[i] == lam for i in found.active) and max(sizes.values()) == lam

    check.forall(open_steps(), spread(on_the_active_faces))
