"""Certificates of the exact LASSO path: its knots in rationals, or its active sets in balls.

S are the forced features and S̄ the others, r = y − Xβ and c = Xᵀr. β(λ) minimises ½‖y − Xβ‖² + λ‖β_{S̄}‖₁,
with `positive` over β_{S̄} ≥ 0. The size of a correlation is |c_j|, with `positive` c_j.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin.certificates import form
from sparselin.certificates._lasso_balls import follow_in_balls
from sparselin.certificates.arithmetic import Exact, over_common_denominator
from sparselin.certificates.integers import are_independent
from sparselin.certificates.step import Fractions, Indices, abbreviate

_FORMAT = "sparselin lasso certificate 1"
_DEPENDENT = (
    "nothing proves that the columns of {}, which may be nonzero together, are linearly independent. If they "
    "are not, the solution is not unique, and has no certificate"
)


@dataclasses.dataclass(frozen=True)
class LassoKnot:
    """A knot of the LASSO path, and the segment below it.

    Attributes
    ----------
    active : A, the features outside S that are nonzero for λ just below the knot, increasing. For the last
        knot: just above it.
    signs : the signs of the coefficients of `active` there.
    lam : λ. In balls only the last knot has it; for the others it is None.
    coef : β(λ) on S, and then on the features of A that are active just above the knot too, increasing. All
        other coefficients are zero at the knot. None in balls.
    """

    active: Indices
    signs: Indices
    lam: Fraction | None = None
    coef: Fractions | None = None

    def __repr__(self) -> str:
        """Return a text of one line, without the coefficients, which may have thousands of digits."""
        lam = None if self.lam is None else f"≈{abbreviate(self.lam)}"
        return f"LassoKnot(active={self.active}, signs={self.signs}, λ={lam}, …)"


@dataclasses.dataclass(frozen=True)
class LassoCertificate:
    """A proof, for one X and y, of the solutions of the LASSO for all λ ≥ knots[-1].lam.

    `certify` makes it from a `LassoPath`. It is plain data, as a `Certificate` is: it can be read, sent
    (`to_json`), and checked without the solver that made it (`verify`).

    - *In rationals* it states the knots and the solutions, which are linear between the knots.
    - *In balls*, for long paths, it states the active sets and the signs only, and the λ at which the path
      ends. `verify` computes the path again, in numbers whose errors it bounds.

    Both state that the solution is unique for each λ > 0 of the path. At λ = 0 the path ends in the limit of
    these solutions, a least squares solution of least ‖β_{S̄}‖₁.

    Attributes
    ----------
    sha256 : the digest of X, y and their shape, which `verify` compares.
    shape : (n, d).
    positive : whether β_{S̄} ≥ 0 is required.
    forced : S. An intercept is a last column of ones, feature d − 1 of d, and comes first.
    knots : the knots. The first is λ*(S), where features enter first, and the last is the end of the path.
    """

    sha256: str
    shape: tuple[int, int]
    positive: bool
    forced: Indices
    knots: tuple[LassoKnot, ...]

    def __repr__(self) -> str:
        """Return a text of one line, without the knots."""
        names = f"shape={self.shape}, positive={self.positive}, forced={self.forced}"
        return f"LassoCertificate({names}, {len(self.knots)} knots, sha256={self.sha256[:12]!r}…)"

    def verify(self, X: Any, y: ArrayLike | None = None) -> form.Verification:
        """Check every statement of the certificate on (X, y), without a tolerance.

        In rationals the check needs products and comparisons only. Let knot k have λ_k, β_k, the set A_k and
        the signs s, for k = 0, …, m − 1, and let c_k = Xᵀ(y − Xβ_k). The conditions are

        - (a) λ_0 > λ_1 > … > λ_{m−1} ≥ 0;
        - (b) c_k = 0 on S, and the size of c_{k,j} is at most λ_k for all j outside S;
        - (c) β_k is zero outside S and A_{k−1} ∩ A_k. (A_{−1} is empty, and A_{m−1} = A_{m−2}.)
        - (d) for j in A_k, at both ends i = k and i = k + 1 of the segment: c_{i,j} = s_jλ_i and
          s_jβ_{i,j} ≥ 0; and β_{i,j} is not zero at both ends. With `positive`, s_j = 1;
        - (e) A_0 is not empty, and A_k ≠ A_{k−1} for 0 < k < m − 1. If m = 1, λ_0 is the largest size of a
          correlation, or 0 if this is negative;
        - (f) the columns of S and E_k are linearly independent. E_k are the features j outside S for which
          c_j = sλ with the same s = ±1 at both ends of the segment (s = 1 with `positive`); E_k contains A_k.

        Why they suffice. Fix a segment, and let β(λ) be linear between β_k and β_{k+1}. Then c(λ) = Xᵀ(y −
        Xβ(λ)) is linear too. β solves the LASSO at λ if and only if c_S = 0, the sizes of c outside S are at
        most λ, and c_j = s_jλ with s_j = sign β_j where β_j ≠ 0 outside S. By (b), (c) and (d) this holds at
        both ends. c_S = 0 and c_j = s_jλ are linear equations, and a size that is at most λ at both ends is
        at most λ between them, because it is a convex function of λ. By (d) s_jβ_j > 0 between the ends. So
        the conditions hold on the segment, and A_k is its active set. For λ ≥ λ_0, β_0 is least squares on
        S, and the sizes are at most λ_0.

        It is unique: Xβ and ‖β_{S̄}‖₁ are the same for all solutions β' at λ > 0. First let λ be inside the
        segment. A size that is λ there, and at most λ at both ends, is λ at both ends, so its feature is in
        E_k. So β' − β is zero outside S and E_k, and by (f) it is zero. Now let λ = λ_k > 0 be a knot, v =
        β' − β_k, and c_j(μ) the correlations just above it, at μ > λ_k. As Xv = 0, Σ v_jc_j(μ) = 0 at each of
        these μ, and Σ v_jc_j(λ_k) = 0. v is zero where the size of c_j(λ_k) is below λ_k. For the other j,
        c_j(λ_k) = s_jλ_k, and s_jv_j ≥ 0 unless β_{k,j} ≠ 0, which by (c) implies that j is in A_{k−1}.
        Divide the two sums by μ and by λ_k, and subtract: Σ v_j(s_j − c_j(μ)/μ) = 0. Its terms are zero on S
        and E_{k−1}, and elsewhere s_jv_j(1 − s_jc_j(μ)/μ) ≥ 0, with a positive second factor. So v is zero
        outside S and E_{k−1} (S, if k = 0), and by (f) it is zero.

        By (e) each λ_k with k < m − 1 is a knot: features that are zero on one side of it are nonzero on the
        other. λ_0 = λ*(S) because features of A_0 have c_j = s_jλ_0. Features may enter and leave together.

        In balls the conditions are strict inequalities at the knots. At each knot exactly one feature e
        enters or leaves. Let B = A_{k−1} ∪ A_k; the columns of S and B are proved to be independent. So c = 0
        on S and c_j = s_jλ on B determine β on S and B as a linear function of λ, and λ_k is the zero of its
        β_e. Hence β is continuous. The other conditions are λ_{k−1} > λ_k, s_jβ_j > 0 on B apart from e, and
        sizes below λ_k outside S and B. A feature of A_{k−1} ∩ A_{k+1} that is not in A_k must have changed
        its sign, and no feature may enter at λ_k and leave at λ_{k+1}. Then at one end of each segment the
        size of c_j is below λ for each j outside S and A_k, or c_j is λ at one end and −λ at the other; and
        s_jβ_j > 0 at one end for each j in A_k. So (b), (d) and (f) hold with E_k = A_k. At the end of the
        path the same inequalities hold for the segment above it. If the end is λ = 0, c = 0 is implied if S
        and A_{m−1} have n features, or all that are not zero.

        Parameters
        ----------
        X, y : the data, or one `Problem`, in any form with the same numbers (see `Certificate.verify`).

        Returns
        -------
        Verification, whose `failures` has the first condition that is not met; `steps` is the number of
        segments. If numbers of 1024 bits do not decide an inequality, the failure says "undecided".

        Raises
        ------
        TypeError, ValueError : invalid X or y (see `Problem`), or a Gram problem.
        """
        X, y = form.problem_data(form.problem_of(self.shape, self.forced, X, y))
        try:
            check_form(self, *X.shape)
            _require(form.digest(X, y, False) == self.sha256, "bound to other data: the digest differs")
            if self.knots[0].lam is None:
                follow_in_balls(self, X, y)
            else:
                check(self, Exact(X, y, False))
        except ValueError as error:
            return form.Verification(False, 0, (str(error),))
        return form.Verification(True, len(self.knots) - 1, ())

    def to_json(self) -> str:
        """Return the certificate as text; fractions are written exactly, as "p/q" in hexadecimal."""
        return form.write_json(self, _FORMAT)

    @classmethod
    def from_json(cls, text: str) -> LassoCertificate:
        """Read a certificate that `to_json` wrote.

        Raises TypeError if `text` is not a string, and ValueError if it is not such a certificate.
        """
        return form.read_json(cls, text, _FORMAT, "knots", lambda made: LassoKnot)


def _require(holds: Any, statement: str) -> None:
    if not holds:
        raise ValueError(statement)


def check_form(given: Any, n: int, d: int) -> None:
    """Check types and lengths of the fields of a certificate for X (n, d); ValueError names a fault."""
    S, shape, knots = given.forced, given.shape, given.knots
    _require(form.are_integers(shape, 2) and shape == (n, d), f"`shape` must be that of X, {(n, d)}")
    simple = type(given.sha256) is str and type(given.positive) is bool and form.are_features(S, d)
    _require(simple, "`sha256` must be text, `positive` True or False, `forced` distinct features")
    _require(type(knots) is tuple and {*map(type, knots)} == {LassoKnot}, "`knots` must be LassoKnot")
    above: tuple[int, ...] = ()
    for k, knot in enumerate(knots):
        name = f"knots[{k}]: "
        A, signs = knot.active, knot.signs
        right = form.are_features(A, d) and list(A) == sorted({*A} - {*S})
        _require(right, name + "`active` must be an increasing sequence of features that are not forced")
        signed = form.are_integers(signs, len(A)) and {*signs} <= ({1} if given.positive else {1, -1})
        _require(signed, name + "`signs` must be ±1 for each active feature, and 1 if `positive`")
        if k == len(knots) - 1:
            before = (knots[k - 1].active, knots[k - 1].signs) if k else ((), ())
            _require((A, signs) == before, name + "the last knot must have the active set of the one before")
        in_balls = len(knots) > 1 and knots[0].lam is None
        if in_balls and k < len(knots) - 1:
            right = knot.lam is knot.coef is None
        else:
            right = form.are_fractions((knot.lam,), 1)
            size = len(S) + len({*above} & {*A})
            right = right and (knot.coef is None if in_balls else form.are_fractions(knot.coef, size))
        _require(right, name + "`lam` and `coef` must be as in the docstring of LassoKnot")
        above = A


class _Scaled(NamedTuple):
    """The numbers at a knot, as integers over one positive denominator, in the units of `Exact`.

    c, size : (d,) the correlations, and their sizes.
    beta : the coefficients that may be nonzero outside S.
    """

    lam: int
    c: NDArray[Any]
    size: NDArray[Any]
    beta: dict[int, int]


def _scale_numbers(given: Any, k: int, num: Exact) -> _Scaled:
    knot = given.knots[k]
    inner = sorted({*given.knots[k - 1].active} & {*knot.active}) if k else []
    values = [knot.lam * num.coef_unit * num.x_unit**2, *(v * num.coef_unit for v in knot.coef)]
    (lam, *coef), denominator = over_common_denominator(values)
    fit = num.X[:, [*given.forced, *inner]] @ np.array(coef, object)
    c = np.asarray(num.X.T @ (num.y_integers * denominator - fit))
    size = c if given.positive else np.abs(c)
    return _Scaled(lam, c, size, dict(zip(inner, coef[len(given.forced) :], strict=True)))


def check(given: Any, num: Exact) -> None:
    """Check the conditions (a) to (f) of `LassoCertificate.verify`; ValueError names the first not met."""
    S = list(given.forced)
    off = np.array([j for j in range(num.X.shape[1]) if j not in {*S}], np.intp)
    proved: list[set[int]] = []
    states = list[_Scaled]()
    for k, knot in enumerate(given.knots):
        name = f"knots[{k}]: "
        at = _scale_numbers(given, k, num)
        states.append(at)
        wrong = off[at.size[off] > at.lam].tolist()
        decreases = k == 0 or knot.lam < given.knots[k - 1].lam
        _require(knot.lam >= 0 and decreases, name + "λ does not decrease, or is negative")
        _require(not at.c[S].any(), name + "c is not zero on the forced features")
        _require(not wrong, name + f"the correlations of features {wrong} exceed λ")
        if k == 0:
            E = {*S}
            entry = bool(knot.active) or at.lam == max([0, *at.size[off].tolist()])
            _require(entry, name + "λ is not the largest correlation")
            _require(knot.active or len(given.knots) == 1, name + "no feature enters")
        else:
            above = given.knots[k - 1]
            _check_segment(above, states[k - 1], at, name)
            event = k == len(given.knots) - 1 or knot.active != above.active
            _require(event, name + "no feature enters or leaves")
            tied = (states[k - 1].size == states[k - 1].lam) & (at.size == at.lam)
            tied &= states[k - 1].c * at.c >= 0
            E = {*S, *off[tied[off].astype(bool)].tolist()}
        if not any(known >= E for known in proved):
            _require(are_independent(num.X[:, sorted(E)]), name + _DEPENDENT.format(sorted(E)))
            proved.append(E)


def _check_segment(knot: LassoKnot, upper: _Scaled, lower: _Scaled, name: str) -> None:
    """Check the condition (d) of `LassoCertificate.verify` on the segment below a knot."""
    for j, sign in zip(knot.active, knot.signs, strict=True):
        beta = [sign * end.beta.get(j, 0) for end in (upper, lower)]
        equal = all(end.c[j] == sign * end.lam for end in (upper, lower))
        _require(equal, name + f"c is not ±λ on feature {j}, which is active above it")
        _require(min(beta) >= 0 and max(beta) > 0, name + f"feature {j} has not its sign above it")
