"""Certificates of the flow without weight decay: its events in rationals, or their order in balls.

S are the forced features, r = y − Xβ and c = Xᵀr. The flow is ds/dτ = c with s(0) = 0, c_S = 0, |s_j| ≤ 1 off
S, and s_j = sign β_j where β_j ≠ 0 off S. Between events β is constant and s is linear.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.certificates import form
from sparselin.certificates.arithmetic import Exact
from sparselin.certificates.step import Fractions, Indices, abbreviate
from sparselin.parallel.threads import precision
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, FlowPath

_FORMAT = "sparselin flow certificate 1"


@dataclasses.dataclass(frozen=True)
class FlowSaddle:
    """A saddle that the flow visits: β from one event to the next.

    Attributes
    ----------
    support : the features outside S that are nonzero in some solution, increasing.
    tau : τ at the event with which this piece begins; None in balls.
    coef : β on S and then on the support, a solution whose support is the largest; None in balls.
    farkas : a pair (i, w) for each i with |s_i| = 1 and c_i = 0 outside the support, as in `StepCertificate`.
        The vector w (n,) proves that i is zero in every solution.
    """

    support: Indices
    tau: Fraction | None = None
    coef: Fractions | None = None
    farkas: tuple[tuple[int, Fractions], ...] = ()

    def __repr__(self) -> str:
        """Return a text of one line, without the coefficients, which may have thousands of digits."""
        return f"FlowSaddle({self.support}, τ≈{abbreviate(self.tau) if self.tau else self.tau}, …)"


@dataclasses.dataclass(frozen=True)
class FlowCertificate:
    """A proof, for one X and y, of the events of the flow without weight decay.

    `certify` makes it from a `FlowPath`. It is plain data, as a `Certificate` is: it can be read, sent
    (`to_json`), and checked without the solver that made it (`verify`).

    - *In rationals* it states the times of the events, Xβ and the supports.
    - *In balls*, for long paths, it states only the supports, so the order in which features enter and leave;
      `tau` and `coef` are None. `verify` computes the path again in intervals that contain the numbers.

    Attributes
    ----------
    sha256 : the digest of X, y and their shape, which `verify` compares.
    shape : (n, d).
    forced : S. An intercept is a last column of ones, feature d − 1 of d, and comes first.
    saddles : the saddle at τ = 0, and the one after each event.
    complete : whether the last saddle is a least squares solution, so that there is no further event. In
        balls False states nothing, because the columns may be dependent.
    """

    sha256: str
    shape: tuple[int, int]
    forced: Indices
    saddles: tuple[FlowSaddle, ...]
    complete: bool

    def __repr__(self) -> str:
        """Return a text of one line, without the saddles."""
        events = f"{len(self.saddles) - 1} events, complete={self.complete}, sha256={self.sha256[:12]!r}…"
        return f"FlowCertificate(shape={self.shape}, forced={self.forced}, {events})"

    def verify(self, X: Any, y: ArrayLike | None = None) -> form.Verification:
        """Check every statement of the certificate on (X, y), without a tolerance.

        In rationals the check needs products and comparisons only. Let saddle k begin at τ_k, with s_k, β_k
        and c_k = Xᵀ(y − Xβ_k), so that s_0 = 0 and s_{k+1} = s_k + (τ_{k+1} − τ_k)c_k. The conditions are

        - (a) 0 = τ_0 < τ_1 < …, and |s_k| ≤ 1 off S;
        - (b) c_k = 0 on S and on the support, which excludes S; s_k = sign β_k on the support; β_k is zero
          off S and the support;
        - (c) s_{k,j}c_{k,j} ≤ 0 where |s_{k,j}| = 1;
        - (d) c_k ≠ c_{k−1};
        - (e) for each i off S and the support with |s_{k,i}| = 1 and c_{k,i} = 0 there is a w, orthogonal to
          the columns of S and of the support, with s_{k,j}⟨X_j, w⟩ ≥ 0 for all j with |s_{k,j}| = 1 and
          c_{k,j} = 0, and s_{k,i}⟨X_i, w⟩ > 0;
        - (f) `complete` says whether the last c is zero.

        Why they suffice. By (a) and (b), s and β solve the inclusion: s is linear between events, so |s| ≤ 1
        at both ends of a piece implies it between them, and s_j stays at sign β_j because c_j = 0. By (c) the
        last piece is right for some time. Solutions are unique in s and Xβ: let (s, β) and (s', β') be two of
        them, with s = Xᵀq and s' = Xᵀq', where q and q' are the integrals of y − Xβ and y − Xβ'. The
        derivative of ½‖q − q'‖² is −⟨q − q', X(β − β')⟩ = −⟨s − s', β − β'⟩ ≤ 0, because both s are zero on S
        and subgradients of ‖β‖₁ off S. So q = q'. By (d) Xβ jumps at each τ_k, so each event is one, and none
        is missing. By (f) the flow is at rest after the last one, or not.

        The support is the largest: every solution β' on piece k has Xβ' = Xβ_k, so 0 = ⟨w, Xβ_k⟩ = ⟨w, Xβ'⟩ =
        Σ_j β'_j⟨X_j, w⟩ over the j off S. Where β'_j ≠ 0, s_j = sign β'_j during the whole piece, so |s_j| is
        1 and c_j is 0. So by (e) no term is negative, and β'_i = 0.

        In balls, β_k is least squares on S and the support, with a bound on its error. At each event exactly
        one feature enters the support. Then the conditions are strict inequalities: |s_j| < 1 for the
        others, s_jβ_j > 0 on the support, and s_jc_j < 0 for the features that leave it. The Gram matrix of S
        and the support is invertible, so β_k is unique. `complete` says whether S and the support have n
        features, or all that are not zero; then c = 0.

        Parameters
        ----------
        X, y : the data, or one `Problem`, in any form with the same numbers (see `Certificate.verify`).

        Returns
        -------
        Verification, whose `failures` has the first condition that is not met; `steps` is the number of
        events. If balls of 1024 bits do not decide an inequality, the failure says "undecided".

        Raises
        ------
        ModuleNotFoundError : the certificate is in balls, and python-flint is not installed.
        TypeError, ValueError : invalid X or y (see `Problem`), or a Gram problem.
        """
        X, y = form.problem_data(form.problem_of(self.shape, self.forced, X, y))
        try:
            _check_form(self, *X.shape)
            _require(form.digest(X, y, False) == self.sha256, "bound to other data: the digest differs")
            if self.saddles[0].tau is None:
                at_rest = _in_balls(X, y, self.forced, [saddle.support for saddle in self.saddles])[-1][-1]
            else:
                at_rest = _check(self, Exact(X, y, False))
            _require(self.complete == at_rest, "`complete` must say whether the flow rests at the end")
        except ValueError as error:
            return form.Verification(False, 0, (str(error),))
        return form.Verification(True, len(self.saddles) - 1, ())

    def to_json(self) -> str:
        """Return the certificate as text; fractions are written exactly, as "p/q" in hexadecimal."""
        return form.write_json(self, _FORMAT)

    @classmethod
    def from_json(cls, text: str) -> FlowCertificate:
        """Read a certificate that `to_json` wrote.

        Raises TypeError if `text` is not a string, and ValueError if it is not such a certificate.
        """
        return form.read_json(cls, text, _FORMAT, "saddles", lambda made: FlowSaddle)


def _require(holds: Any, statement: str) -> None:
    if not holds:
        raise ValueError(statement)


def _check_form(given: Any, n: int, d: int) -> None:
    """Check types and lengths of the fields of a certificate for X (n, d); ValueError names a fault."""
    S, shape, saddles = given.forced, given.shape, given.saddles
    _require(form.are_integers(shape, 2) and shape == (n, d), f"`shape` must be that of X, {(n, d)}")
    simple = type(given.sha256) is str and type(given.complete) is bool and form.are_features(S, d)
    _require(simple, "`sha256` must be text, `complete` True or False, `forced` distinct features")
    _require(type(saddles) is tuple and {*map(type, saddles)} == {FlowSaddle}, "`saddles` must be FlowSaddle")
    for k, saddle in enumerate(saddles):
        J, tau, coef, farkas = saddle.support, saddle.tau, saddle.coef, saddle.farkas
        right = form.are_features(J, d) and list(J) == sorted({*J} - {*S}) and (k > 0 or not J)
        if saddles[0].tau is None:
            right = right and tau is coef is None and type(farkas) is tuple and not farkas
        else:
            right = right and form.are_fractions((tau,), 1) and form.are_fractions(coef, len(S) + len(J))
            right = right and form.are_farkas(farkas, range(d), n)
        _require(right, f"saddle {k}: its fields must be as in the docstring of FlowSaddle")


def _check(given: Any, num: Exact) -> bool:
    """Check the conditions (a) to (e) of `FlowCertificate.verify`; return whether the last c is zero.

    Raises ValueError with the first condition that is not met.
    """
    S = list(given.forced)
    tau = Fraction(0)
    c = num.vector([0] * given.shape[1])
    s = c
    off = [j for j in range(len(c)) if j not in S]
    for k, saddle in enumerate(given.saddles):
        before = c
        beta = num.vector(saddle.coef)
        J = [*S, *saddle.support]
        name = f"saddle {k}: "
        _require(saddle.tau > tau if k else saddle.tau == 0, name + "the times must increase from 0")
        s = s + (saddle.tau - tau) * c
        tau = saddle.tau
        c = num.product(num.X.T, num.y - num.product(num.X[:, J], beta * num.coef_unit))
        c = c / num.coef_unit / num.x_unit**2
        _require(all(abs(s[j]) <= 1 for j in off), name + "some |s_j| is above 1 when it begins")
        _require(k == 0 or (c != before).any(), name + "Xβ does not change when it begins")
        _require(not c[S].any(), name + "c is not zero on the forced features")
        _require(all(abs(s[j]) < 1 or s[j] * c[j] <= 0 for j in off), name + "some |s_j| = 1 increases")
        rest = {j: s[j] for j in off if abs(s[j]) == 1 and c[j] == 0}
        inner = zip(saddle.support, beta[len(S) :], strict=True)
        _require(all(rest.get(j, 0) * v > 0 for j, v in inner), name + "on the support c ≠ 0, or s ≠ sign β")
        unproved = {*rest} - {*J}
        for i, w in saddle.farkas:
            Xw = num.product(num.X.T, num.vector(w))
            if not Xw[J].any() and all(sign * Xw[j] >= 0 for j, sign in rest.items()) and Xw[i] != 0:
                unproved.discard(i)
        _require(not unproved, name + f"nothing proves that features {unproved} are zero in every solution")
    return not c.any()


def certify_flow(X: FloatArray, y: FloatArray, S: Indices, path: FlowPath) -> FlowCertificate:
    """Prove the events of a path of `gradient_flow`; `certify` describes the result and the errors.

    The path bounds the errors of s, but not those of τ. So the relative error of τ may be the largest bound
    so far, plus √eps, which is half of the digits.

    X, y, S : the data, and the forced features, the column of ones among them.
    """
    from sparselin.certificates._finder import Finder

    _require(not path.restarted, "a restarted flow has no certificate. Certify the path of `omp` instead")
    supports = [(), *path.supports]
    saddles = list[FlowSaddle]()
    J = path.features
    at_rest = False
    # In rationals the numbers of an event are about 2(|S| + |support|) times as long as the data.
    words = X.shape[1] * (len(X) + 2 * sum(len(S) + len(J) for J in supports))
    stages = Finder(Exact(X, y, False)).flow(S) if words <= 2**20 else _in_balls(X, y, S, supports)
    for k, (*fields, tau, s, unique, at_rest) in zip(range(len(supports)), stages, strict=False):  # noqa: B007
        saddles.append(FlowSaddle(*fields))
        if k > 0:
            m = k - 1
            error = path.s_error[:k]
            close = abs(path.tau[m] - tau) <= (error.max() + EPS**0.5) * tau
            close = close and (np.abs(path.s[m, J] - s[J]) <= error[m] + EPS).all()
            same = (fields[0], unique) == (path.supports[m], path.unique[m])
            found = f"τ = {tau:.17g}, support {fields[0]}, unique: {unique}, s = {s[J]} at {J}"
            _require(close and same, f"event {k} is refuted for these data; the exact event has {found}")
    _require(len(saddles) == len(supports), f"event {len(saddles)} is refuted: the flow rests before it")
    return FlowCertificate(form.digest(X, y, False), X.shape, S, tuple(saddles), at_rest)


def _in_balls(X: FloatArray, y: FloatArray, S: Indices, supports: list[Indices]) -> list[Any]:
    """Prove in balls that the flow has these supports; return the stages that `Finder.flow` yields.

    Raises ValueError if the supports are refuted, or not decided by the largest precision.
    """
    for bits in (256, 1024):  # an event costs one or two bits on Gaussian designs
        try:
            return _follow(X, y, S, supports, bits)
        except ArithmeticError as error:  # ZeroDivisionError: a matrix may be singular
            undecided = error
    raise ValueError(f"undecided in balls of 1024 bits: {undecided}")


def _follow(X: FloatArray, y: FloatArray, S: Indices, supports: list[Indices], bits: int) -> list[Any]:
    """Do the work of `_in_balls` in one precision; ArithmeticError if this leaves something undecided."""
    from sparselin.certificates._finder import BALLS

    def require(x: Any, statement: str) -> None:
        if not x > 0:
            raise (ValueError if x < 0 else ArithmeticError)(f"saddle {k}: {statement}")

    arb, arb_mat = BALLS
    n, d = X.shape
    used = sorted({*S, *itertools.chain(*supports)})
    m = len(supports)
    k = 0
    at_rest = len(S) + len(supports[-1]) in (n, int(X.any(axis=0).sum()))
    with precision(bits):
        X_U, beta = arb_mat(n, len(used), X[:, used].ravel().tolist()), arb_mat(len(used), m)
        G = X_U.transpose() * X_U
        b = X_U.transpose() * arb_mat(n, 1, y.tolist())
        for k, J in enumerate(supports):
            at = [used.index(j) for j in (*S, *J)]
            block = arb_mat(len(at), len(at), [G[p, q] for p in at for q in at])
            values = block.solve(arb_mat(len(at), 1, [b[p, 0] for p in at])).entries()
            for p, value in zip(at, values, strict=True):
                beta[p, k] = value
        C = arb_mat(d, n, X.T.ravel().tolist()) * (arb_mat(n, m, np.repeat(y, m).tolist()) - X_U * beta)
        s = [arb(0)] * d
        taus = [arb(0)]
        states = [np.zeros(d)]
        for k, (old, J) in enumerate(itertools.pairwise(supports), 1):
            _require(len({*J} - {*old}) == 1, f"saddle {k}: balls prove events at which one feature arrives")
            (a,) = {*J} - {*old}
            require(abs(C[a, k - 1]), "the feature that enters does not move")
            sign = 1 if C[a, k - 1] > 0 else -1
            step = (sign - s[a]) / C[a, k - 1]
            taus.append(taus[-1] + step)
            for j in set(range(d)) - {*S, *old, a}:
                s[j] += step * C[j, k - 1]
                require(1 - abs(s[j]), "another feature arrives")
            s[a] = arb(sign)
            for j in (*old, a):
                require(s[j] * (beta[used.index(j), k] if j in J else -C[j, k]), "the support is wrong")
            states.append(np.array([*map(float, s)]))
    found = zip(supports, map(float, taus), states, strict=True)
    return [(J, None, None, (), tau, s_k, True, at_rest) for J, tau, s_k in found]
