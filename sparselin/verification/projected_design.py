"""One step of the comparison: the data with S projected out, in plain NumPy, and the verdicts."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math

import numpy as np

from sparselin.lasso.gap import DualityGap, lasso_gap
from sparselin.linalg.elimination import orthonormal_basis, project_off
from sparselin.problem.errors import EPS, product_error
from sparselin.results import FirstEntry, FloatArray, IndexArray


class Agreement(enum.StrEnum):
    AGREES = "agrees"
    VIOLATES = "violates"
    UNDECIDED = "undecided"


SEVERITY = {Agreement.AGREES: 0, Agreement.UNDECIDED: 1, Agreement.VIOLATES: 2}


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """A verdict and, unless it agrees, the reason in one line."""

    verdict: Agreement
    reason: str = ""


AGREES = CheckResult(Agreement.AGREES)


def violates(reason: str) -> CheckResult:
    return CheckResult(Agreement.VIOLATES, reason)


def undecided(reason: str) -> CheckResult:
    return CheckResult(Agreement.UNDECIDED, reason)


@dataclasses.dataclass(frozen=True, eq=False)
class ProjectedDesign:
    """The data of one step, computed in plain NumPy: everything with S projected out.

    Attributes
    ----------
    X, y, S : the design, the response and the features selected so far.
    entry : what `first_entry` claims at S.
    """

    X: FloatArray
    y: FloatArray
    S: IndexArray
    entry: FirstEntry

    @functools.cached_property
    def basis(self) -> FloatArray:
        """Orthonormal basis of colspan(X_S)."""
        return orthonormal_basis(self.X[:, self.S])

    @functools.cached_property
    def Z(self) -> FloatArray:
        """P_S^⊥X (n, d), exactly zero for columns in the span of S."""
        Z = project_off(self.basis, self.X)
        lengths = np.sqrt(np.sum(Z**2, axis=0))
        Z[:, lengths <= self.rounding * self.norms] = 0
        Z[:, self.S] = 0
        return np.asarray(Z)

    @functools.cached_property
    def r(self) -> FloatArray:
        """P_S^⊥y."""
        return project_off(self.basis, self.y)

    @functools.cached_property
    def compressed(self) -> tuple[FloatArray, FloatArray]:
        """(BᵀZ, Bᵀr) for an orthonormal basis B of colspan(Z).

        The same LASSO up to a constant, without the part of r orthogonal to Z, which dual points
        r·min(1, λ/‖Zᵀr‖∞) would shrink without need.
        """
        basis = orthonormal_basis(self.Z)
        return basis.T @ self.Z, basis.T @ self.r

    @functools.cached_property
    def c(self) -> FloatArray:
        """Zᵀr."""
        return np.asarray(self.Z.T @ self.r)

    @functools.cached_property
    def lengths(self) -> FloatArray:
        """‖Z_j‖."""
        return np.asarray(np.sqrt(np.sum(self.Z**2, axis=0)))

    @functools.cached_property
    def kappa(self) -> float:
        """1/σ_min of X_S with unit columns, at least 1."""
        columns = self.X[:, self.S]
        norms = np.sqrt(np.sum(columns**2, axis=0))
        if not len(self.S) or norms.min() == 0:
            return 1.0
        return max(1.0, 1 / max(float(np.linalg.svd(columns / norms, compute_uv=False)[-1]), 1e-300))

    @functools.cached_property
    def norms(self) -> FloatArray:
        """‖X_j‖."""
        return np.asarray(np.sqrt(np.sum(self.X**2, axis=0)))

    @property
    def rounding(self) -> float:
        """8·eps·(√n + κ): a bound on the relative rounding error of an inner product with P_S^⊥."""
        return product_error(len(self.y), kappa=self.kappa)

    @functools.cached_property
    def error(self) -> FloatArray:
        """(d,) twice the rounding error of c: that of the method, and that of this check."""
        return np.asarray(2 * self.rounding * self.norms * np.linalg.norm(self.y))

    @property
    def lam_star(self) -> float:
        """‖Xᵀ P_S^⊥y‖∞."""
        return float(np.abs(self.c).max())

    @property
    def tied(self) -> IndexArray:
        """T."""
        return self.tied_within(1.0)

    def tied_within(self, share: float) -> IndexArray:
        """T, by a share of the rounding error."""
        size, error = np.abs(self.c), share * self.error
        return np.flatnonzero((size > error) & (size + error >= (size - error).max()))

    @property
    def lam(self) -> float:
        """The middle of the claimed window, (λ* + λ₂)/2."""
        return (self.entry.lam_star + self.entry.window_lower) / 2

    @property
    def delta(self) -> float:
        """δ = max(1e-6, 10√eps·‖y‖·max‖X_j‖/λ*)."""
        scale = float(np.linalg.norm(self.y)) * float(self.norms.max())
        return max(1e-6, 10 * math.sqrt(EPS) * scale / self.entry.lam_star)

    def start(self, rng: np.random.Generator) -> FloatArray:
        """A random point for a solver, of the size of λ*/‖Z_j‖²."""
        return np.asarray(rng.normal(size=self.X.shape[1]) * self.lam_star / self.lengths.max() ** 2)

    def gap(self, b: FloatArray, lam: float) -> DualityGap:
        """The gap of the LASSO with S projected out, at b."""
        Z, r = self.compressed
        return lasso_gap(Z, r, np.zeros(0, np.intp), b, lam, np.zeros((len(r), 0)), self.lengths)

    def gain(self, b: FloatArray, lam: float) -> float:
        """½‖r‖² − ½‖r − Zb‖² − λ‖b‖₁ = Σ(b_jc_j − λ|b_j|) − ½‖Zb‖²: by how much b beats 0."""
        return float(b @ self.c - lam * np.abs(b).sum() - 0.5 * np.sum((self.Z @ b) ** 2))
