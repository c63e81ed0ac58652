"""The results of the LASSO: its solutions for all λ, and the first entry."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.results import base
from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Named, Names, Status
from sparselin.results.display import Column, Table, distinct_keys, list_names, number, plural


@base.result
class LassoPath(FittedPath):
    """The exact solutions β(λ) of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ for all λ ≥ knots[-1].

    S are the features without penalty and S̄ the others. With `positive` the minimum is over β_{S̄} ≥ 0. The
    length m is the number of knots.

    Attributes
    ----------
    knots : (m,) decreasing; knots[0] = λ*(S) and knots[-1] is the end of the path.
    features : (p,) the features with a nonzero coefficient at some knot, increasing.
    coef_path : (m, p) the coefficients of `features` at each knot.
    intercept : (m,) the intercept at each knot; zero if there is no intercept.
    r2 : (m,) 1 − ‖y − Xβ‖²/‖y‖² at each knot, and 0 for y = 0. With an intercept, ‖y − ȳ‖ takes the place of
        ‖y‖, where ȳ is the mean of y.
    active : m tuples of indices outside S: the features with a nonzero coefficient for λ just below each knot
        (for the last knot: just above it).
    forced : S, the features without penalty, in the order given, including those with coefficient zero.
    status : the way in which the path ended. COMPLETED means that it reached `lam_min`, MAX_STEPS that it has
        `max_steps` segments. A completed path may contain ties, see below.
    fit : a `Fit`, whose fields the path has as properties: n_features, names, with_intercept, standardized
        and positive. If the columns are standardized, λ penalises the coefficients of the standardized
        columns, and `coef` is in the units of X. If `positive`, β_{S̄} ≥ 0 was required.

    Ties. At a knot where several features enter or leave together, consecutive tuples of `active` differ by
    all of these features; the table names them, and a note below it counts these knots. A feature that ties
    but whose coefficient stays zero is in no list of the path. `first_entry` lists all features that tie at
    λ*(S), the first knot.

    `to_frame()` has a row for each knot: lam, r2, n_active, intercept, and the coefficient of each of
    `features` by its name. A feature whose name is taken by another column, for example "r2", is "r2 (1)".

    >>> import sparselin as sl
    >>> path = sl.lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> print(path)
    LassoPath: 3 knots, λ from 3.000 to 0, 2 of 2 features, R² 1.000, COMPLETED
    knot      λ  enters  leaves  active      R²
       1  3.000  x0                   1  0.0000
       2  1.000  x1                   2  0.8000
       3      0                       2  1.0000
    R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept
    COMPLETED: completed as requested
    >>> path.predict([[1.0, 1.0]], 0.5)
    array([3.])
    """

    knots: FloatArray
    features: IndexArray
    coef_path: FloatArray
    intercept: FloatArray
    r2: FloatArray
    active: tuple[tuple[int, ...], ...]
    forced: IndexArray
    status: Status
    fit: Fit

    @property
    def coef(self) -> FloatArray:
        """(m, d) the coefficients at each knot. Each access to this property makes a new dense array."""
        return base.dense(self.coef_path, self.features, self.n_features)

    def to_sparse(self) -> Any:
        """Return `coef` as a SciPy CSR array (m, d) of its nonzero entries."""
        from scipy.sparse import csr_array

        inner = csr_array(self.coef_path)
        columns = self.features[inner.indices]
        return csr_array((inner.data, columns, inner.indptr), shape=(len(self), self.n_features))

    def __len__(self) -> int:
        return len(self.knots)

    def at(self, lam: ArrayLike) -> FloatArray:
        """Return the coefficients (d,) of a solution at λ ≥ knots[-1], or (q, d) at q values of λ.

        The result does not include the intercept. It is exact, because the path is linear between its knots.
        Raises TypeError if λ is not a number, and ValueError if it is below the end of the path, negative or
        not finite.
        """
        return base.dense(self._between(self.coef_path, lam), self.features, self.n_features)

    def intercept_at(self, lam: ArrayLike) -> Any:
        """Return the intercept that belongs to `at(lam)`: a number, or (q,) numbers.

        The intercept is zero if the model has none. Raises the errors of `at`.
        """
        inner = self._between(self.intercept, lam)
        return inner if inner.ndim else float(inner)

    def predict(self, X: Any, lam: ArrayLike) -> FloatArray:
        """Predict the response, intercept + Xβ(λ), for X (n, d): (n,) at one λ, (n, q) at q values of λ.

        X may have any form that a fit takes. Of a frame with names, the columns of `features` are read by
        their names. Raises ValueError if X has another shape or lacks such a column, or if a column of
        `features` holds NaN or infinity. Also raises the errors of `at`.
        """
        coef, intercept = self._between(self.coef_path, lam), self._between(self.intercept, lam)
        return base.combine(X, self.features, coef.T, intercept, self.n_features, self.names)

    def _between(self, values: FloatArray, lam: ArrayLike) -> FloatArray:
        """Interpolate `values` (m, ...), one entry for each knot, linearly at each λ ≥ knots[-1]."""
        end = float(self.knots[-1])
        m = len(self)
        bounds = f" and at least {end:g}, the end of this path" + " (decrease its lam_min)" * (end > 0)
        lam = base.check_places(lam, "lam", end, np.inf, bounds)
        if m == 1:
            return np.asarray(values[np.zeros(lam.shape, np.intp)])
        knots = self.knots.astype(np.float64)
        # knots[i] > λ ≥ knots[i + 1], or λ ≥ knots[0] and i = 0
        i = np.clip(np.searchsorted(-knots, -lam) - 1, 0, m - 2)
        weight = np.maximum((knots[i] - lam) / (knots[i] - knots[i + 1]), 0).astype(values.dtype)
        weight = weight.reshape(lam.shape + (1,) * (values.ndim - 1))
        return np.asarray((1 - weight) * values[i] + weight * values[i + 1])

    def _headline(self) -> str:
        first, last = number(float(self.knots[0])), number(float(self.knots[-1]))
        used = f"{len(self.features)} of {self.n_features} features"
        span = f"{len(self)} knots, λ from {first} to {last}" if len(self) > 1 else f"1 knot, λ = {last}"
        return f"{span}, {used}, R² {float(self.r2[-1]):z.3f}, {self.status.name}"

    def _table(self) -> Table:
        sets = [set[int](), *map(set, self.active)]
        changes = list(itertools.pairwise(sets))
        own = ("lam", "r2", "n_active", "intercept")
        names = distinct_keys(self._names_of(self.features), own)
        columns = (
            Column(None, "knot", np.arange(1, len(self) + 1)),
            Column("lam", "λ", self.knots),
            Column(None, "enters", [list_names(self._names_of(sorted(b - a))) for a, b in changes]),
            Column(None, "leaves", [list_names(self._names_of(sorted(a - b))) for a, b in changes]),
            Column("r2", None, self.r2),
            Column("n_active", "active", np.array([len(active) for active in self.active])),
            Column(None, "R²", self.r2, 4),
            Column("intercept", "intercept" if self.with_intercept else None, self.intercept),
            *(Column(name, None, coef) for name, coef in zip(names, self.coef_path.T, strict=True)),
        )
        notes = self.fit.notes()
        if together := sum(len(a ^ b) > 1 for a, b in changes):
            notes.append(f"ties: at {plural(together, 'knot')} several features enter or leave together")
        if len(self.forced):
            notes.append(f"forced, without penalty: {list_names(self._names_of(self.forced), 12)}")
        return Table(columns, (*notes, self.status.line))


@base.result
class FirstEntry(Named):
    """One step of Sequential LASSO at a given S: the features that enter first as λ decreases from λ*(S).

    S are the features without penalty, r = P_S^⊥ y is the residual of least squares on S, and c = Xᵀr.

    Attributes
    ----------
    lam_star : λ*(S) = ‖c‖∞; 0.0 if no column outside the span of S is correlated with r.
    tied : T = {i : |c_i| = λ*}, increasing.
    active : A(S) ⊆ T, the indices that are nonzero in some solution just below λ*.
    signs : (|T|,) sign c_i for i ∈ T.
    direction : (|T|,) v: for λ = λ* − ε in (λ₂, λ*) a solution has β_T = signs·(εv). v_i > 0 if and only if
        i ∈ A(S).
    window_lower : λ₂. For λ in the window (λ₂, λ*) the support outside S is A(S). λ₂ is 0 if the support does
        not change.
    proof_lower : λ₀ ≥ λ₂, the lower end of the window that the proof of Lemma 3.4/3.5 gives.
    residual_norm : ‖r‖.
    status : COMPLETED if λ* > 0 and the solution in the middle of the window satisfies the KKT conditions to
        rounding. BEYOND_PRECISION if the solution violates these conditions; then the other fields are
        unreliable. EXACT_FIT, NO_CORRELATION or RANK_EXHAUSTED if λ* is zero.
    names : the d names of the features, or None.

    `to_frame()` has a row for each feature of T: index, name, sign, direction, active.
    """

    lam_star: float
    tied: tuple[int, ...]
    active: tuple[int, ...]
    signs: FloatArray
    direction: FloatArray
    window_lower: float
    proof_lower: float
    residual_norm: float
    status: Status
    names: Names

    @property
    def tied_names(self) -> tuple[str, ...]:
        """The names of the tied features T."""
        return self._names_of(self.tied)

    @property
    def active_names(self) -> tuple[str, ...]:
        """The names of the features that enter first, A(S)."""
        return self._names_of(self.active)

    def _headline(self) -> str:
        sets = f"T = {{{list_names(self.tied_names)}}}, A(S) = {{{list_names(self.active_names)}}}"
        return f"λ* {number(self.lam_star)}, {sets}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            *self._features(np.array(self.tied, np.intp)),
            Column("sign", "sign", self.signs.astype(int)),
            Column("direction", "direction", self.direction),
            Column("active", "in A(S)", np.isin(self.tied, self.active)),
        )
        lower, proof = number(self.window_lower), number(self.proof_lower)
        window = f"A(S) is the support outside S on (λ₂, λ*), λ₂ = {lower}; λ₀ = {proof}"
        return Table(columns, (window, f"‖r‖ = {number(self.residual_norm)}", self.status.line))
