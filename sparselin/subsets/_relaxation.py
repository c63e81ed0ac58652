"""Lower bounds for the best subset with a ridge, a box or groups, from the perspective relaxation.

The problem is to minimise

    q(β) = ½‖y − Xβ‖² + (ridge/2)‖β‖²,   low ≤ β ≤ high,   with at most k nonzero groups of β,            (1)

where every feature is a group unless groups are given, and low ≤ 0 ≤ high. Let G = XᵀX + ridge·I and b = Xᵀy.
Let D ≥ 0 be a diagonal matrix such that M = G − D is positive semidefinite, and let H_j(t) be the maximum of
tβ − D_jβ²/2 over low_j ≤ β ≤ high_j. For every vector w, with c = b − Mw,

    q(β) ≥ ½‖y‖² − ½wᵀMw − Σ_{j: β_j ≠ 0} H_j(c_j)    for all β within the box.                            (2)

Proof: From (β − w)ᵀM(β − w) ≥ 0, q(β) = ½‖y‖² − bᵀβ + ½βᵀMβ + ½βᵀDβ is at least
½‖y‖² − ½wᵀMw − (b − Mw)ᵀβ + ½βᵀDβ, and c_jβ_j − D_jβ_j²/2 ≤ H_j(c_j). ∎

At a node of the search some groups, I, have been selected ("in"), some have been excluded ("out"), and the
others are free; at most m = k − |I| free groups may be added. Let the height H_g of a group g be the sum of
H_j(c_j) over its features. The sum in (2) is at most Σ_{g∈I} H_g plus the m largest H_g of the free groups.
The bound holds for every w, so no iteration has to converge. Without a curvature D and without a box, H is
infinite where c ≠ 0, and the bound is void.

**The best w** solves the perspective relaxation (Frangioni and Gentile, 2006), of which the maximisation of
the bound over w is the dual (Pilanci, Wainwright and El Ghaoui, 2015; Bertsimas and Van Parys, 2020):

    min ½wᵀMw − bᵀw + Σ_j D_jw_j²/(2z_g),   Σ_g z_g ≤ m,   0 ≤ z ≤ 1,   low·z ≤ w ≤ high·z.              (3)

It is solved by FISTA with restarts. The proximal operator of the sum over j is found by a search for the
multiplier of Σz ≤ m. (Liu, Shafiee and Lodi, ICML 2025, sort instead, for equal D and boxes.) The iteration
works on a few groups that may be nonzero, and a product with all columns finds the groups to add.

**Fixing** (Atamtürk and Gómez, ICML 2020). Let L be the bound of a node, and H_(1) ≥ H_(2) ≥ … the heights of
its free groups. Consider the free groups in order of decreasing height. For a group g after the m-th,
L + H_(m) − H_g is a lower bound of q on the sets that contain g. For a group g among the first m,
L + H_g − H_(m+1) is a lower bound of q on the sets without g. If such a bound reaches the target, g is fixed
as excluded, or as selected.

**D** is the ridge, or t/diag(G⁻¹), where t is nearly the largest number for which a Cholesky
factorisation of G − D exists. It is computed again when features were fixed.

**A box** for all solutions. Let U be an upper bound on the least value q of a node. Let L_g be the lower
bound for the sets of the node that contain the group g (see Fixing; if g is in, it is the bound of the node).
Let j be a feature of g, and h_j = c_j²/(2D_j), the value of H_j(c_j) without a box. Every β of the node with
q(β) ≤ U has β_j = 0 or

    ½D_j(β_j − c_j/D_j)² ≤ U − L_g − H_j + h_j.                                                            (4)

Proof: c_jβ_j − D_jβ_j²/2 = h_j − ½D_j(β_j − c_j/D_j)². With this term for j in (2) and heights for the other
features, q(β) ≥ L_g + H_j − h_j + ½D_j(β_j − c_j/D_j)². ∎ (Ryoo and Sahinidis, *A branch-and-reduce approach
to global optimization*, 1996, reduce ranges by dual bounds in this way.) The box is used in bounds only. No
solution lies on the boundary of this box, so the fits on sets do not need it.

**Rounding.** Columns and y are scaled by powers of two, without rounding, to lengths between ½ and 1; with a
ridge this is the length of a column together with an entry √ridge. Let η be 8 times the eps of the problem.
After weighting and centring, columns have errors of 2·eps times their lengths, or more if centring has
increased the eps of the problem (see `linalg.elimination.centre`). In both cases η is at least four times as
large. A sum of n products has an error of at most n·eps/2 times their sum of sizes, in any order (Higham,
section 3.1). So a product of two columns, or of a column and y, has an error of at most τ = n·eps/2 + 2η. The
part of η that the errors of the data do not use covers the addition of the ridge, the subtraction of D, and
errors of second order. Let w have s nonzeros, and A = 1 + ‖w‖₁. All |M_jl| ≤ 1. So

    c_j has an error of at most e = (τ + (s + 4)·eps)·A, of which τA is for b and M, and (s + 1)·eps/2·A for
    the sum.

The first two terms of (2) are ½‖y‖² − ½Σ w_j(b_j − c_j). Here b_j − c_j has an error of at most e + τ, and τA
≤ e. The sum has s + 2 roundings of numbers of at most A². The errors add up to ½τ + ½A(e + τ) + ½Ae ≤ 2Ae. H
is convex, so its maximum over [c − e, c + e] is at one of the ends. The sum of heights has a relative error
of at most (the number of groups + the size of the largest group + 8)·eps, which is added.

If the Cholesky factor of a matrix B (F, F) with diagonal at most 1 exists, B + (F + 1)·F·eps·I is positive
semidefinite (Higham, Theorem 10.3), and an error of τ in the entries of G is at most F·τ·I. Both are
subtracted from D. In (4), h_j is taken at |c_j| + e, the centre c_j/D_j moves by e/D_j, and U is the computed
value plus 2Ae, twice.

So a bound is at most the exact optimum, without a tolerance. Two remarks: A column or a y that is constant to
rounding counts as constant, if there is an intercept. For a Gram or compressed problem η is the error of the
factor that replaces X, and the exact optimum is that of the data to which the factor belongs exactly.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import perspective as kernels
from sparselin.parallel.threads import scipy_linalg
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, SAFETY, TINY
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets._hierarchy import Hierarchy
from sparselin.subsets._set_values import SetFit, SetValues, set_fit, solve_in_box
from sparselin.subsets.unit_data import BinaryUnits

# The steps of the power method for the largest t in D, the shares of it that are tried, and the share that D
# loses so that a certificate can prove it with rounded columns.
_POWERS = 20
_SHARES = (0.98, 0.9, 0.7, 0.3)
_SAFE = 1e-3
# A certificate proves G − D ⪰ 0 from rounded columns if D loses this much, times F, in addition.
_PROOF = 1e-9
# With a larger condition number of G_JJ, the exact solution on J may differ too much from that in floats.
_NEARLY_DEPENDENT = 1e10
# Sets of features whose inverse Gram matrix has a larger trace are fitted by orthogonal factors.
_TRACE = 1e4
# XᵀX is stored if it is at most this many times as large as X.
_LARGER = 2


class Restrictions(NamedTuple):
    """The ridge, the box, the groups and the hierarchy of a problem, in the units of the data.

    low, high : (d,) the box; −inf and inf where there is none.
    group : (d,) the number of the group of each feature, 0, 1, …; without groups it is the feature's own
        number.
    is_derived : whether another box that contains all solutions is derived in the search.
    is_plain : True without ridge, box, groups and hierarchy: plain least squares on at most k features.
    hierarchy : the relation between the groups. Bounds here do not use it, so they are bounds for all sets.
    """

    ridge: float
    low: FloatArray
    high: FloatArray
    group: IndexArray
    is_derived: bool = False
    is_plain: bool = False
    hierarchy: Hierarchy = Hierarchy()

    @property
    def words(self) -> tuple[str, ...]:
        """A description of the ridge, the box, the groups, the signs and the hierarchy, as text.

        A derived box is not mentioned, because it changes no solution.
        """
        several = len(np.unique(self.group)) < len(self.group)
        box = bool(np.isfinite(self.high).any() or (np.isfinite(self.low) & (self.low < 0)).any())
        holds = (self.ridge > 0, box, several, not self.low.any(), bool(self.hierarchy.pairs))
        words = (f"ridge {self.ridge:g}", "box", "groups", "β ≥ 0", "hierarchy")
        return tuple(word for word, true in zip(words, holds, strict=True) if true)


class Scaled:
    """A best-subset problem in units in which the columns and y have at most length 1, see `_relaxation`.

    Attributes
    ----------
    units : the problem in these units.
    ridge, low, high : (d,) the ridge and the box in these units.
    inner : (2, d) the box that bounds use; it is smaller if a box was derived.
    G, rows : XᵀX + ridge (d, d), or if that is too large the columns (d, n); the other one is empty.
    b, half : Xᵀy and ½‖y‖².
    members : for each group its features, without columns of zeros.
    error : a bound on the error of a product of two columns, or of a column and y.
    values : the fits by orthogonal factors, and the intervals that contain the values of sets.
    strict : whether D is small enough for a certificate.
    """

    def __init__(self, problem: Problem, given: Restrictions) -> None:
        d = problem.d
        self.strict = True
        self.units = units = BinaryUnits(problem, given.ridge)
        X: Any = units.columns(np.arange(d))
        self.n, self.half = problem.n, units.half
        self.ridge = np.ldexp(given.ridge, -2 * units.shift)
        self.ridge[self.ridge < TINY] = 0.0  # it would be rounded, perhaps up
        self.low, self.high = (np.ldexp(v, units.shift - units.lift) for v in (given.low, given.high))
        self.inner = np.stack([self.low, self.high])
        self.values = SetValues(units, self.ridge, self.low, self.high)
        self.group = given.group
        self.b = X.T @ units.y
        eps = max(problem.errors.double_eps, problem.errors.gram_eps)
        self.error = problem.n * EPS / 2 + 2 * SAFETY * eps
        self.G, self.rows = np.empty((0, 0)), np.empty((0, 0))
        if d <= _LARGER * problem.n:
            self.G = X.T @ X
            self.G[np.diag_indices(d)] += self.ridge
            self.diagonal = self.G.diagonal()
        else:
            self.rows = np.ascontiguousarray(X.T)
            self.diagonal = np.einsum("ij,ij->i", self.rows, self.rows) + self.ridge
        kept = self.diagonal > 0
        self.members = [np.flatnonzero((self.group == g) & kept) for g in np.unique(self.group)]

    def features(self, groups: IndexArray) -> IndexArray:
        """Return the features of these groups, group by group."""
        return np.concatenate([self.members[g] for g in groups]) if len(groups) else np.empty(0, np.intp)

    def fit(self, groups: IndexArray) -> SetFit:
        """Minimise the objective over coefficients on the features of these groups, within the box."""
        return self.solve(self.features(groups))

    def scores(self, fit: SetFit, groups: IndexArray) -> FloatArray:
        """Return for each group an estimate of the decrease of the objective if the group is added.

        Let w be the coefficients of the fit on `groups`, and c = b − Gw the negative gradient of the
        objective there. The estimate is Σ c_j²/G_jj over the features j of the group, and −1 for `groups`.
        Terms whose direction leaves the box are left out.
        """
        w = np.zeros(len(self.b))
        w[fit.J] = fit.coef
        c = self.b - self.times(w)
        c[((c > 0) & (self.high == 0)) | ((c < 0) & (self.low == 0))] = 0
        scores = np.bincount(self.group, c**2 / np.maximum(self.diagonal, EPS), len(self.members))
        scores[groups] = -1
        return np.asarray(scores)

    def times(self, w: FloatArray) -> FloatArray:
        """Return Gw, where G = XᵀX + ridge."""
        J = np.flatnonzero(w)
        if len(self.G):
            return self.G[:, J] @ w[J]
        return np.asarray(self.rows @ (w[J] @ self.rows[J]) + self.ridge * w)

    def gram(self, J: IndexArray) -> FloatArray:
        """Return G_JJ, the rows and columns J of G = XᵀX + ridge."""
        if len(self.G):
            return self.G[np.ix_(J, J)]
        G = self.rows[J] @ self.rows[J].T
        G[np.diag_indices(len(J))] += self.ridge[J]
        return G

    def solve(self, J: IndexArray, boxed: bool = True) -> SetFit:
        """Minimise the objective over coefficients on the features J, within the box.

        Normal equations are used if the trace of G_JJ⁻¹, a bound on 1/σ² of the least singular value σ, is
        at most _TRACE. Their values have an error of some (1 + ‖w‖₁)²·eps then, and orthogonal factors
        take their place otherwise.
        """
        lapack = scipy_linalg().lapack  # imported here, because it takes 100 ms
        G = self.gram(J)
        b = self.b[J]
        low = self.low[J]
        high = self.high[J]
        if not len(J):
            return set_fit(self.half, J, b, low, high)
        factor, failed = lapack.dpotrf(G, lower=0, clean=1)
        inverse = factor if failed else lapack.dtrtri(factor, lower=0)[0]
        if failed or np.vdot(inverse, inverse) > _TRACE:
            return self.values.solve(J, boxed)
        w = inverse @ (inverse.T @ b)
        w += inverse @ (inverse.T @ (b - G @ w))
        if boxed and ((w < low).any() or (w > high).any()):
            w = solve_in_box(factor, inverse.T @ b, low, high)
        value = self.half - b @ w + w @ G @ w / 2
        return set_fit(max(0.0, float(value)), J, w, low, high)

    def value_error(self, w: FloatArray) -> float:
        """Return a bound on the rounding error of the objective at w (2Ae in `_relaxation`)."""
        A = 1 + float(np.abs(w).sum())
        return 2 * A**2 * (self.error + (len(w) + 4) * EPS)

    def at_bounds(self, fit: SetFit) -> tuple[IndexArray, IndexArray, bool, bool]:
        """Return the features of a fit that are at their lower bound, or upper bound, and two truth values.

        Coefficients so near to a bound that moving them there changes the objective only by rounding count as
        at the bound. The first truth value says whether the other features are not nearly dependent; then the
        exact minimiser, too, keeps them within their bounds. The second one says whether the derivative of
        the objective at each bound certainly has the sign that holds the coefficient there.
        """
        J, w = fit.J, fit.coef
        low = self.low[fit.J]
        high = self.high[fit.J]
        G, error = self.gram(J), self.value_error(w)
        slope = G @ w - self.b[J]
        reach = math.sqrt(error) / max(1, len(J))
        at_low = (w - low <= reach) & (w - low <= high - w)
        at_high = (high - w <= reach) & ~at_low
        binds = (low == high) | np.where(at_low, slope > error, slope < -error)
        free = ~(at_low | at_high)
        condition = np.linalg.cond(G[np.ix_(free, free)]) if free.any() else 1.0
        stable = condition < _NEARLY_DEPENDENT or not np.isfinite([low, high]).any()
        return J[at_low], J[at_high], stable, bool(binds[~free].all())

    def curvature(self, G: FloatArray, J: IndexArray) -> FloatArray:
        """Return a diagonal D ≥ 0 for which G_JJ − D is positive semidefinite, where G_JJ = `gram(J)`."""
        lapack = scipy_linalg().lapack
        F = len(J)
        ridge = self.ridge[J]
        lost = F * self.error + (F + 1) * F * EPS
        if F == 0 or self.n < F:
            return ridge
        factor, failed = lapack.dpotrf(G.T, lower=1, clean=1)
        if failed:
            return ridge
        inverse = lapack.dtrtri(factor, lower=1)[0]
        h = 1 / np.einsum("ij,ij->j", inverse, inverse)
        largest = 1.0 / _largest_eigenvalue(inverse * np.sqrt(h))
        diagonal = np.diag_indices(F)
        least = G.diagonal().copy()
        for share in _SHARES:
            G[diagonal] = least - share * largest * h
            failed = lapack.dpotrf(G.T, lower=1, clean=0)[1]
            G[diagonal] = least
            if not failed:
                D = np.maximum(share * largest * h * (1 - _SAFE) - lost, 0)
                if self.strict:
                    self.strict = bool((D > 2 * F * _PROOF).all())
                    D -= self.strict * F * _PROOF
                return D if D.sum() > ridge.sum() else ridge
        return ridge


def _largest_eigenvalue(A: FloatArray) -> float:
    """Return an estimate from below of the largest eigenvalue of AᵀA, by the power method."""
    v = np.cos(np.arange(A.shape[1]))
    for _ in range(_POWERS):
        v = A.T @ (A @ (v / np.linalg.norm(v)))
    return float(np.linalg.norm(v))


class Stage:
    """The relaxation on the features of some groups, those that a node of the search has not excluded.

    Attributes
    ----------
    features, groups : the features in the order of their groups, and the numbers of the groups.
    data : the `Relaxation` of the kernels.
    number : the number of this stage in a certificate, or −1.
    is_void : True if bounds are −inf, because some feature has neither curvature (D_j > 0) nor a box.
    """

    def __init__(self, scaled: Scaled, groups: IndexArray) -> None:
        member = np.flatnonzero(np.isin(scaled.group, groups) & (scaled.diagonal > 0))
        J = member[np.argsort(scaled.group[member], kind="stable")]
        self.scaled = scaled
        self.features = J
        self.groups = np.asarray(groups, np.intp)
        self.number = -1
        first = np.searchsorted(scaled.group[J], np.append(groups, len(scaled.group) + 1)).astype(np.intp)
        whole = len(scaled.G) or len(J) <= _LARGER * scaled.n
        G: Any = scaled.gram(J) if whole else np.empty((0, 0))
        D: Any = scaled.curvature(G, J) if whole else scaled.ridge[J].copy()
        if whole:
            G[np.diag_indices(len(J))] -= D
        rows = np.empty((0, 0)) if whole else scaled.rows[J]
        low, high = scaled.inner[0, J], scaled.inner[1, J]
        self.data = kernels.Relaxation(
            M=G,
            rows=rows,
            y=scaled.units.y,
            ridge=scaled.ridge[J],
            b=scaled.b[J],
            D=D,
            low=low,
            high=high,
            first=first,
            half=scaled.half,
            error=scaled.error,
            eps=EPS,
        )
        self.is_void = bool((((low == -np.inf) | (high == np.inf)) & (D == 0)).any())

    def lower_of(self, fit: SetFit, groups: IndexArray) -> tuple[float, FloatArray]:
        """Return a lower bound on the value of a fit on groups of this stage, and a vector w that proves it.

        If the stage gives no bound, it is −inf, and w is empty.
        """
        if self.is_void:
            return -math.inf, np.empty(0)
        w = np.zeros(len(self.scaled.b))
        unit = np.ldexp(1.0, np.frexp(np.abs(fit.coef).max(initial=0.0))[1] - 31)
        w[fit.J] = np.rint(fit.coef / unit) * unit  # a certificate stores integers
        inside = np.isin(self.groups, groups)
        w = w[self.features]
        state = np.where(inside, kernels.IN, kernels.OUT).astype(np.int8)
        H, c = np.empty(len(state)), np.empty(len(w))
        return float(kernels.bound(self.data, state, 0, w, c, H)[0]), w

    def narrow(self, value: float, low: FloatArray, w: FloatArray, c: FloatArray, H: FloatArray) -> Stage:
        """Return this stage with a box that contains all solutions whose value is at most `value`.

        The box is that of formula (4) in the docstring of the module. Later stages have it too.

        low : for each group, a lower bound on the value of the sets that contain it. It follows from the
            vector w, with its c = b − Mw and the heights H.
        """
        data, scaled = self.data, self.scaled
        D = np.maximum(data.D, TINY)
        error = scaled.value_error(w[w != 0]) / 2
        group = np.repeat(np.arange(len(H)), np.diff(data.first))
        with np.errstate(over="ignore", invalid="ignore"):  # without a finite reach the box stays
            slopes = c - error, c + error
            ends = [np.clip(t / D, data.low, data.high) for t in slopes]
            inside = np.maximum(*(t * β - D * β**2 / 2 for t, β in zip(slopes, ends, strict=True)))
            outside = (np.abs(c) + error) ** 2 / (2 * D)
            rest = np.maximum(value - low[group] - inside + outside, 0) + 1e-12 * (scaled.half + outside)
            reach = (np.sqrt(2 * rest / D) + error / D) * (1 + 1e-12)
            sides = np.maximum(data.low, c / D - reach), np.minimum(data.high, c / D + reach)
        found = np.minimum(sides[0], 0), np.maximum(sides[1], 0)
        box = np.where((data.D > 0) & np.isfinite(reach), found, (data.low, data.high))
        scaled.inner[:, self.features] = box
        stage = copy.copy(self)
        stage.data = data._replace(low=box[0], high=box[1])
        return stage
