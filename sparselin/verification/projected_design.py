"""The data of one step of the verification, with S projected out, and the verdicts of its checks."""

import dataclasses
import enum
import functools
import math

import numpy as np

from sparselin.lasso.gap import DualityGap, gap_at
from sparselin.linalg.elimination import orthonormal_basis, project_off
from sparselin.problem.errors import EPS, product_error
from sparselin.results import FirstEntry, FloatArray, IndexArray


class Agreement(enum.StrEnum):
    """The verdict of a check: it agrees, it is violated, or it is undecided for lack of a certificate."""

    AGREES = "agrees"
    VIOLATES = "violates"
    UNDECIDED = "undecided"


SEVERITY = {Agreement.AGREES: 0, Agreement.UNDECIDED: 1, Agreement.VIOLATES: 2}


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The result of a check: a verdict and, unless it is AGREES, the reason in one line."""

    verdict: Agreement
    reason: str = ""


AGREES = CheckResult(Agreement.AGREES)


def violates(reason: str) -> CheckResult:
    """Return the result of a check that is violated for this reason."""
    return CheckResult(Agreement.VIOLATES, reason)


def undecided(reason: str) -> CheckResult:
    """Return the result of a check that is undecided for this reason, for lack of a certificate."""
    return CheckResult(Agreement.UNDECIDED, reason)


@dataclasses.dataclass(frozen=True, eq=False)
class ProjectedDesign:
    """The data of one step with S projected out, computed in plain NumPy.

    Attributes
    ----------
    X, y, S : the design, the response and the features selected so far.
    entry : the result of `first_entry` at S, which is to be checked.
    space : an orthonormal basis (n, rank) of the column space of X, if it has been computed already.
    """

    X: FloatArray
    y: FloatArray
    S: IndexArray
    entry: FirstEntry
    space: FloatArray | None = None

    @functools.cached_property
    def basis(self) -> FloatArray:
        """An orthonormal basis of the column space of X_S."""
        return orthonormal_basis(self.X[:, self.S])

    @functools.cached_property
    def Z(self) -> FloatArray:
        """The design (n, d) projected off the selected columns S: P_S^⊥X, exactly zero in the span of S."""
        Z = project_off(self.basis, self.X)
        lengths = np.sqrt(np.sum(Z**2, axis=0))
        Z[:, lengths <= self.rounding * self.norms] = 0
        Z[:, self.S] = 0
        return np.asarray(Z)

    @functools.cached_property
    def r(self) -> FloatArray:
        """The residual P_S^⊥y of least squares on the selected columns."""
        return project_off(self.basis, self.y)

    @functools.cached_property
    def compressed(self) -> tuple[FloatArray, FloatArray]:
        """The pair (BᵀZ, Bᵀr) for an orthonormal basis B of the column space of X.

        Z is the projected design and r the residual. The pair defines the same LASSO as (Z, r), up to a
        constant, but without the part of r that is orthogonal to X. Without this part the duality gap is
        smaller, because the dual points r·min(1, λ/‖Zᵀr‖∞) shrink all of r.
        """
        basis = orthonormal_basis(self.X) if self.space is None else self.space
        return basis.T @ self.Z, basis.T @ self.r

    @functools.cached_property
    def c(self) -> FloatArray:
        """The correlations Zᵀr of the projected design Z with the residual r."""
        return np.asarray(self.Z.T @ self.r)

    @functools.cached_property
    def lengths(self) -> FloatArray:
        """The lengths ‖Z_j‖ of the projected columns."""
        return np.asarray(np.sqrt(np.sum(self.Z**2, axis=0)))

    @functools.cached_property
    def kappa(self) -> float:
        """The number κ = 1/σ_min ≥ 1, σ_min the least singular value of X_S with unit columns."""
        columns = self.X[:, self.S]
        norms = np.sqrt(np.sum(columns**2, axis=0))
        if not len(self.S) or norms.min() == 0:
            return 1.0
        return max(1.0, 1 / max(float(np.linalg.svd(columns / norms, compute_uv=False)[-1]), 1e-300))

    @functools.cached_property
    def norms(self) -> FloatArray:
        """The norms ‖X_j‖ of the columns."""
        return np.asarray(np.sqrt(np.sum(self.X**2, axis=0)))

    @property
    def rounding(self) -> float:
        """A bound 8·eps·(√n + κ), κ = `kappa`, on the relative rounding error of ⟨X_j, P_S^⊥y⟩."""
        return product_error(len(self.y), kappa=self.kappa)

    @functools.cached_property
    def error(self) -> FloatArray:
        """A bound (d,) on the difference between the correlations of a method and those of this check.

        The bound is twice the bound on the rounding error of `c`, because both have a rounding error.
        """
        return np.asarray(2 * self.rounding * self.norms * np.linalg.norm(self.y))

    @property
    def lam_star(self) -> float:
        """The largest correlation λ*(S) = ‖XᵀP_S^⊥y‖∞, where P_S^⊥y is the residual."""
        return float(np.abs(self.c).max())

    @property
    def tied(self) -> IndexArray:
        """The tied set T: the features of largest correlation, to rounding."""
        return self.tied_within(1.0)

    def tied_within(self, share: float) -> IndexArray:
        """Return the features whose correlation |c_j| is largest, within `share` times its error."""
        size = np.abs(self.c)
        error = share * self.error
        return np.flatnonzero((size > error) & (size + error >= (size - error).max()))

    @property
    def lam(self) -> float:
        """The middle (λ* + λ₂)/2 of the window (λ₂, λ*) of `entry`."""
        return (self.entry.lam_star + self.entry.window_lower) / 2

    @property
    def delta(self) -> float:
        """The relative half-width δ = max(1e-6, 10√eps·‖y‖·max‖X_j‖/λ*) of an interval that contains λ*."""
        scale = float(np.linalg.norm(self.y)) * float(self.norms.max())
        return max(1e-6, 10 * math.sqrt(EPS) * scale / self.entry.lam_star)

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Return random coefficients (d,), of the size of λ*/max‖Z_j‖², from which a solver can start."""
        return np.asarray(rng.normal(size=self.X.shape[1]) * self.lam_star / self.lengths.max() ** 2)

    def gap(self, b: FloatArray, lam: float) -> DualityGap:
        """Return the duality gap of min ½‖r − Zb‖² + λ‖b‖₁, the LASSO with S projected out, at b."""
        Z, r = self.compressed
        residual = r - Z @ b
        return gap_at(residual, residual, Z.T @ residual, np.zeros(0, np.intp), b, lam, self.lengths)

    def gain(self, b: FloatArray, lam: float) -> float:
        """Return by how much the objective at b is smaller than at zero.

        With c = Zᵀr, this number is ½‖r‖² − ½‖r − Zb‖² − λ‖b‖₁ = Σ(b_jc_j − λ|b_j|) − ½‖Zb‖².
        """
        return float(b @ self.c - lam * np.abs(b).sum() - 0.5 * np.sum((self.Z @ b) ** 2))
