"""Results at a point: projections, minimisers, proximal steps."""

from __future__ import annotations

from sparselin.results.base import FloatArray, IndexArray, Names, Status, result


@result
class DualProjection:
    """The projection u of v onto {u : ‖Xᵀu‖∞ ≤ λ} ∩ colspan(X_S)^⊥.

    Attributes
    ----------
    u : (n,) the projection.
    coef : (d,) with v − u = X @ coef: a solution of the LASSO whose response is v.
    active : indices outside S with nonzero coefficient.
    duality_gap : ½‖v − X coef‖² + λ‖coef_{S̄}‖₁ − ½‖v‖² + ½‖v − ū‖² at the feasible ū made from u by
        projecting it off X_S and scaling it into the polytope; then ‖ū − projection‖² ≤ 2·duality_gap.
    status : COMPLETED, or BEYOND_PRECISION when the homotopy could not be followed to λ.
    names : d names of the features, or None.
    """

    u: FloatArray
    coef: FloatArray
    active: tuple[int, ...]
    duality_gap: float
    status: Status
    names: Names


@result
class DescentResult:
    """Where gradient descent on (w, θ) ended, β = s(w)∘θ off S.

    Attributes
    ----------
    w : (d,) attention parameters; NaN on S, which has none.
    theta : (d,) model coefficients; on S they are β itself.
    weights : (d,) s(w): one on S.
    coef : (d,) β = weights∘theta, in the units of X.
    intercept : the intercept; 0.0 without one.
    objective : (iterations + 1,) ½‖y − Xβ‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²), at every iterate.
    duality_gap : gap of the equivalent LASSO at β; NaN for parametrizations that have none.
    status : COMPLETED when the stopping rule was met, else MAX_ITER.
    names : d names of the features, or None.
    standardized : whether w, theta and λ are those of standardized columns.
    """

    w: FloatArray
    theta: FloatArray
    weights: FloatArray
    coef: FloatArray
    intercept: float
    objective: FloatArray
    duality_gap: float
    status: Status
    names: Names
    standardized: bool


@result
class PenaltyValue:
    """An infimum and where it is attained.

    Attributes
    ----------
    value : (...) the infimum, one for each leading index.
    minimizer : (..., m) the w that attains it, with Σw = 0.
    """

    value: FloatArray
    minimizer: FloatArray


@result
class HierarchicalProx:
    """The weights after a proximal step, a row per feature.

    Attributes
    ----------
    theta : (d,), or (d, p) for groups: the linear weights b*.
    W : (d, K) the first-layer weights, |W_jk| ≤ M‖theta_j‖.
    active : features with theta_j ≠ 0, increasing; the others have W_j = 0 too.
    n_clipped : (d,) how many entries of each row of W were reduced in modulus.
    """

    theta: FloatArray
    W: FloatArray
    active: IndexArray
    n_clipped: IndexArray
