"""Certificates of a selection path, found in rational arithmetic and checked by products and comparisons.

Every float is a rational number. So exact arithmetic decides whether the picks of a greedy method are right
for the given X and y, and the certificate is a proof. Norms of columns may be irrational. Therefore a
statement about columns scaled to length 1 compares squares of ratios, which are rational.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from sparselin.certificates import form
from sparselin.certificates._lasso_finder import certify_lasso
from sparselin.certificates.arithmetic import Arithmetic, Exact, Rounded
from sparselin.certificates.flow import certify_flow
from sparselin.certificates.form import CLAIMS, Verification
from sparselin.certificates.step import Indices, StepCertificate, Steps, refutations, step_name
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.paths import check_path
from sparselin.results import FloatArray, FlowPath, LassoPath, SelectionPath
from sparselin.validation import check_choice


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A proof, for one X and y, that each pick of a path is one that the method may make.

    `certify` makes certificates. A certificate consists of plain data: fractions, integers and text. It can
    be read, sent (`to_json`), and checked without the solver that made it (`verify`). If somebody changes a
    certificate, `verify` accepts the new one only if it still proves what it states (for example with a
    smaller τ, or fewer steps).

    Attributes
    ----------
    sha256 : the digest of X, y, their shape and `normalized`, which `verify` compares.
    shape : (n, d).
    normalized : whether the statement is about X with unit columns.
    claim : the statement that is proved about each pick. Let S be the features selected before it.
        "sequential_lasso": the pick is in A(S), the features that enter the LASSO first; "omp": it is in T,
        the features of largest correlation |c_j| with the residual; "nonnegative_omp" and "ols": it is in the
        corresponding set T of nonnegative OMP, or of OLS. `certify` defines these sets.
    forced : the features that entered first, about which nothing is claimed. An intercept is a last column of
        ones, feature d − 1 of d, and comes first among the forced features.
    steps : one proof for each later pick: a `StepCertificate`, a `NonnegativeStep` for "nonnegative_omp", or
        an `OlsStep` for "ols".
    """

    sha256: str
    shape: tuple[int, int]
    normalized: bool
    claim: str
    forced: Indices
    steps: Steps

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which can have millions of digits."""
        picks = [getattr(step, "pick", None) for step in self.steps]
        return (
            f"Certificate({self.claim!r}, shape={self.shape}, normalized={self.normalized}, "
            f"forced={self.forced}, picks={picks}, sha256={self.sha256[:12]!r}…)"
        )

    def verify(self, X: Any, y: ArrayLike | None = None, *, exact: bool = False) -> Verification:
        """Check every statement of the certificate on (X, y) by products and comparisons only.

        The data are compared with the certificate by their digest. The path is not an argument, so compare
        `forced` and the picks of `steps` with the path yourself. A certificate without steps proves nothing.
        With `normalized`, nothing is stated about zero columns.

        Why the conditions suffice. In the notation of `StepCertificate`, S are the features before the pick,
        r = P_S^⊥y, c = Xᵀr, w_j = ‖X_j‖ with `normalized` and 1 without, and u, Z, H, T and τ are fields of
        the step. Let λ = (1 − t)λ*, and let β be zero outside S ∪ T, with β_T = signs∘(tu) and least squares
        on S. The residual of β is r − tZu, which is orthogonal to S. So β is a solution if and only if
        |c_j − t⟨X_j, Zu⟩| ≤ (1 − t)λ*w_j for all j outside S, with equality and the right sign where β_j ≠ 0.
        On T this condition reads

            (Hu)_i ≥ |c_i|, with equality where u_i > 0, and t((Hu)_i + |c_i|) ≤ 2|c_i|.

        Outside S ∪ T the condition is checked for squares of both sides, and only at t = τ. One t suffices,
        because |c_j − t⟨X_j, Zu⟩| − (1 − t)λ*w_j is convex in t, negative at t = 0 and not positive at τ,
        hence negative on [0, τ). So for 0 < t < τ every solution is zero outside S ∪ T. All solutions have
        the same fit, so every solution has β_T = signs∘(tv) for some v ≥ 0 with Zv = Zu. Which β_i can be
        nonzero?

        - β_i can be nonzero where u_i > 0: choose v = u.
        - β_i is zero where (Hu)_i > |c_i|.
        - β_i is zero if (i, w) is in `farkas`, because 0 = ⟨w, Zu⟩ = ⟨w, Zv⟩ = Σ v_j⟨w, z_j⟩ has no negative
          term.

        Hence A(S) is the support of u (Theorem 3.3 and Lemma 3.4 of *Sequential Attention for Feature
        Selection*). The columns of S need not be independent. Each pick is independent of the columns before
        it, because c_pick ≠ 0.

        For "nonnegative_omp" the conditions of `NonnegativeStep` are the claim itself: the problem is convex,
        so the conditions on `coef` make it a minimiser, and all minimisers have the same r. In this case a
        pick may be in the span of S, because r is orthogonal only to the columns with a nonzero coefficient.

        For "ols" the vectors u_t of `OlsStep` are orthogonal and nonzero, so they form a basis of the span of
        X_S and give the lengths ℓ_j = ‖P_S^⊥X_j‖. The conditions are then the claim itself. Scaling a column
        does not change the picks of OLS, so `normalized` does not matter.

        Parameters
        ----------
        X, y : the data, or one `Problem`, in any form with the same numbers: dense or sparse, in any memory
            order, in float32 or converted to float64 (y takes the dtype of X, as everywhere).
        exact : True checks in integers and fractions, which proves the statements. False checks in float64
            with running bounds on the rounding errors: at least eps|x| for the result x of an operation, and
            (m + 1)·eps·Σ|a_i b_i| for a sum of m products. In float64, =, ≤ and ≥ may be violated by at most
            the bound, whereas < and > must hold by more than the bound; otherwise the check fails. So if two
            features are tied to rounding, only exact arithmetic decides between them. The check also fails if
            a bound exceeds 2⁻¹⁰ times the largest possible size of its number. Neither arithmetic needs
            python-flint.

        Returns
        -------
        Verification, with all failures.

        Raises
        ------
        TypeError, ValueError : invalid X or y (see `Problem`), or a Gram problem.
        """
        X, y = form.problem_data(form.problem_of(self.shape, self.forced, X, y))
        given: Any = self.steps  # of any type in a forged certificate
        steps = len(given) if isinstance(given, tuple) else 0
        if fault := form.form_fault(self, *X.shape):
            return Verification(False, steps, (fault,))
        if form.digest(X, y, self.normalized) != self.sha256:
            fault = "bound to other data: the digest of X, y and `normalized` differs"
            return Verification(False, steps, (fault,))
        failures = tuple(self._failures(X, y, exact))
        return Verification(not failures, steps, failures)

    def _failures(self, X: FloatArray, y: FloatArray, exact: bool) -> Iterator[str]:
        numbers: Arithmetic = Exact(X, y, self.normalized) if exact else Rounded(X, y, self.normalized)
        for step in self.steps:
            name = step_name(step.selected)
            try:
                with np.errstate(all="ignore"):
                    for failure in refutations(step, numbers, len(self.forced)):
                        yield f"{name}: {failure}"
            except OverflowError:
                yield f"{name}: a number is beyond the range of float64; use exact=True"

    def to_rocq(self, filename: str | Path, X: Any, y: ArrayLike | None = None) -> None:
        """Write X, y and the certificate as a file that the proof assistant Rocq (Coq) checks.

        The goal of the file is the claim about this X and y, whose floats are exact dyadic rationals. For the
        claim "sequential_lasso" the goal says that the picks, in this order, are a run of OMP and a run of
        Sequential LASSO, which is defined by the minimisers of ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ alone. For "omp" the
        goal says that the picks are a run of OMP. The proof is a computation on integers by a checker, which
        is proved sound in `proofs_checks/formal/` of the repository. `make formal` compiles the file, and
        docs/proofs/formal.md states what is proved. A file may prove fewer picks than a path has;
        `python -m proofs_checks.formal.check` compares the picks of the file with yours.

        Parameters
        ----------
        filename : name of the file, `name.v` with letters, digits and _; an existing file is overwritten.
        X, y : the data, as in `verify`.

        Raises
        ------
        TypeError, ValueError : invalid X or y (NaN, for example); a claim other than "sequential_lasso" and
            "omp", `normalized`, or no steps; or a certificate that `verify(X, y, exact=True)` refutes (the
            message has the first failure).
        OSError : the file cannot be written.

        >>> import tempfile, pathlib
        >>> import sparselin as sl
        >>> X, y = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [2.0, 1.0]
        >>> file = pathlib.Path(tempfile.mkdtemp(), "picks.v")
        >>> certify(X, y, sl.omp(X, y, 2)).to_rocq(file, X, y)
        >>> print(file.read_text().partition("Theorem")[2].partition("Proof")[0])
         picks_are_right :
          sequential_lasso_picks (dyadic_matrix 2 3 1 columns) (dyadic_column 2 0 entries) [::] [:: 0; 1].
        <BLANKLINE>
        """
        from sparselin.certificates import rocq

        rocq.check_expressible(filename, self.claim, self.normalized, self.steps)
        if not (check := self.verify(X, y, exact=True)):
            raise ValueError(f"the certificate does not hold for X and y: {check.failures[0]}")
        data, response = form.problem_data(form.problem_of(self.shape, self.forced, X, y))
        steps = cast("tuple[StepCertificate, ...]", self.steps)
        text = rocq.document(data, response, self.claim, self.forced, steps)
        rocq.write(filename, text, data, response)

    def to_json(self) -> str:
        """Return the certificate as text; fractions are written exactly, as "p/q" in hexadecimal.

        >>> import sparselin as sl
        >>> X, y = [[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0]
        >>> certificate = certify(X, y, sl.omp(X, y, 1))
        >>> Certificate.from_json(certificate.to_json()) == certificate
        True
        """
        return form.write_json(self, form.FORMAT)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate that `to_json` wrote.

        Raises TypeError if `text` is not a string, and ValueError if it is not such a certificate.
        """
        return form.read_json(cls, text, form.FORMAT, "steps", lambda made: CLAIMS[made.claim])


@takes_problem
def certify(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | FlowPath | LassoPath,
    *,
    normalized: bool = False,
    claim: str = "sequential_lasso",
) -> Any:
    """Prove in rational arithmetic that each pick of a path is one that the method may make.

    Paths of `gradient_flow` and `lasso_path` have events in place of picks; the last paragraphs are about
    them. Let S be the
    features before a pick, r = P_S^⊥y, c = Xᵀr, λ* = max|c_j| > 0 and T = {i : |c_i| = λ*}, all computed
    exactly. The methods may pick

    - Sequential LASSO: a feature of A(S) ⊆ T. Let S̄ be the features outside S. A(S) consists of the features
      that are nonzero in some solution of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ for all λ just below λ* (Algorithm 3
      and Theorem 3.3 of *Sequential Attention for Feature Selection*; `Certificate.verify` explains the
      proof);
    - OMP: a feature of T;
    - nonnegative OMP: a feature of T = {i ∉ S : c_i = λ*}, where now λ* = max_{j ∉ S} c_j > 0 and
      c = Xᵀ(y − X_Sβ). Here β solves nonnegative least squares on S (the coefficients of forced features may
      have any sign);
    - OLS: a feature of T = argmax_j c_j²/‖P_S^⊥X_j‖², over the columns outside the span of X_S. This quotient
      is the decrease of ‖r‖².

    The statements are about X and y in the dtype of `Problem`: integers beyond 2⁵³ are rounded first, and y
    is cast to float32 with X. Nothing else is rounded. So if the correlations of two features agree to the
    last bit of a float, but not exactly, a path that picked the smaller one is refuted. The `status` of the
    path is not certified, because it is decided to rounding.

    For a compressed problem (`compress`) the certificate is about its factor R, as it is in memory. It is a
    proof for data whose columns differ from the given ones by `compressed.eps` of their lengths. Features
    that are tied in the data are nearly tied in R. The path lists these features as tied and takes the lowest
    index. If another feature has, exactly, a larger |c_j| for R, `certify` refutes the pick with a
    ValueError.

    For a `FlowPath` that was not restarted, the certificate proves the times of the events, Xβ and the
    largest supports (`FlowCertificate.verify` explains why). It is found in rationals if n·d + 2dΣ(|S| +
    |support|) ≤ 2²⁰, with the sum over the saddles. Longer paths are proved in Arb balls, intervals of 256 or
    1024 bits that contain the numbers; then the certificate states the supports only, and its check needs
    python-flint too. Balls decide strict inequalities. So a tie (copies of a feature, for example) or
    dependent columns of a support raise ValueError, which a smaller `max_events` may avoid. Whether β is
    least squares at the end is decided exactly, whatever the `status` of the path.

    For a `LassoPath` the certificate proves its knots, active sets and solutions, which are unique
    (`LassoCertificate.verify` explains why). It is found in rationals if n·d + 2dΣ(|S| + |active|) ≤ 2¹⁹,
    with the sum over the knots. Longer paths are proved in balls of at most 1024 bits, which state the active
    sets only; their check does not need python-flint. Rationals decide ties, and balls do not. Dependent
    columns that may be nonzero together raise ValueError.

    Parameters
    ----------
    X, y : design (n, d) and response (n,) as given to the method, or one `Problem`. A sparse X is made dense,
        which raises MemoryError if it takes more than a quarter of the memory. There is no `sample_weight`: a
        `Problem` with weights is certified for its weighted rows.
    path : the path of `omp`, `sequential_lasso`, `gradient_flow`, `lasso_path` or any other method. If it
        has an intercept, the certificate is about X with a last column of ones, which is forced. A path of
        standardized columns has no certificate, because standard deviations are rounded.
    normalized : True if the path was computed on X with every column divided by its norm. Floats cannot
        represent these quotients; the certificate is about the exact quotients. Not for a
        `FlowPath` or a `LassoPath`.
    claim : the statement to prove about each pick. "sequential_lasso": the pick is in A(S); "omp": it is in T
        (A(S) is recorded too); "nonnegative_omp": it is in the T of nonnegative OMP, for a path of
        `omp(..., positive=True)`; "ols": it is in the T of OLS, for a path of `ols`. Not for a
        `FlowPath` or a `LassoPath`.

    Returns
    -------
    Certificate, which proves every pick after the forced ones, and can be checked and stored; or
    FlowCertificate, which proves every event of a `FlowPath`; or LassoCertificate.

    Raises
    ------
    ModuleNotFoundError : python-flint is not installed.
    TypeError, ValueError : invalid data, a path on another number of features, an unknown claim, or a Gram
        problem. The error is also raised if a pick is refuted (λ* = 0, or the pick is not in T, or not in
        A(S)) or if forced columns are dependent; the message names the step. An event of a `FlowPath` is
        refuted if its support or `unique` is wrong, s is wrong by more than `s_error`, or τ by more than the
        largest `s_error` so far + √eps, relative to τ.
        A knot of a `LassoPath` is refuted if its active set is wrong, λ is wrong by more than eps^⅓·λ
        (6e-6·λ), or a coefficient by more than eps^⅓·(‖y‖ + Σ‖X_i‖|β_i|)/‖X_j‖; the message names the knot.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [2.0, 1.0]
    >>> certificate = certify(X, y, sl.omp(X, y, 2))
    >>> first, second = certificate.steps
    >>> first.pick, first.lam_star_squared, first.direction, first.tau, first.epsilon
    (0, Fraction(4, 1), (Fraction(2, 1),), Fraction(1, 2), Fraction(1, 1))
    >>> bool(certificate.verify(X, y, exact=True)), certificate.verify(X, [2.0, 1.5]).failures
    (True, ('bound to other data: the digest of X, y and `normalized` differs',))
    >>> events = certify(X, y, sl.gradient_flow(X, y))
    >>> bool(events.verify(X, y)), [(saddle.tau, saddle.support) for saddle in events.saddles]
    (True, [(Fraction(0, 1), ()), (Fraction(1, 2), (0,)), (Fraction(1, 1), (0, 1, 2))])
    """
    check_choice(claim, "claim", CLAIMS)
    problem, support, n_forced = _read_path(X, y, path)
    data, response = form.problem_data(problem)
    if not isinstance(path, SelectionPath):
        if normalized or claim != "sequential_lasso":
            words = f"Leave them out for a {type(path).__name__}"
            raise ValueError(f"`normalized` and `claim` are about picks. {words}")
        if isinstance(path, LassoPath):
            return certify_lasso(data, response, support, path)
        return certify_flow(data, response, support, path)
    from sparselin.certificates._finder import Finder

    normalized = bool(normalized)
    finder = Finder(Exact(data, response, normalized))
    prove: Any = functools.partial(finder.step, claim=claim)
    if claim == "ols":
        prove = finder.ols_step
    elif claim == "nonnegative_omp":
        prove = functools.partial(finder.nonnegative_step, n_forced=n_forced)
    steps = tuple(prove(support[:t], support[t]) for t in range(n_forced, len(support)))
    sha256 = form.digest(data, response, normalized)
    return Certificate(
        sha256=sha256,
        shape=data.shape,
        normalized=normalized,
        claim=claim,
        forced=support[:n_forced],
        steps=steps,
    )


def _read_path(X: Any, y: ArrayLike | None, path: Any) -> tuple[Problem, Indices, int]:
    """Check that a path belongs to X and y.

    Returns the problem, the support, and the number of forced features. With an intercept, the column of ones
    comes first in the support, and counts as forced. For a `FlowPath` or a `LassoPath` the
    forced features take the place of the support.
    """
    if not isinstance(path, (SelectionPath, FlowPath, LassoPath)):
        kinds = "a SelectionPath, a FlowPath or a LassoPath"
        raise TypeError(f"path must be {kinds}; got {type(path).__name__}")
    if path.standardized:
        raise ValueError(
            "a path of standardized columns has no certificate, because standard deviations are rounded. "
            "Compute it with standardize=False, on columns that you scaled"
        )
    problem = as_problem(X, y, intercept=path.with_intercept and not isinstance(X, Problem))
    check_path(problem, path)
    if not isinstance(path, SelectionPath):
        return problem, tuple(problem.with_ones(path.forced).tolist()), 0
    forced = np.isnan(path.lam_star)
    n_forced = int(forced.sum())
    if forced[n_forced:].any():
        raise ValueError(
            "path.lam_star may be NaN only for forced features, which come first; got NaN after them"
        )
    S = problem.with_ones(path.support)
    return problem, tuple(S.tolist()), n_forced + len(S) - len(path.support)
