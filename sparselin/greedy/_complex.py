"""OMP and OLS over ℂ: c_j = ⟨X_j, r⟩ = X_jᴴr, and the largest |c_j| is picked. Textbook, in complex128.

A complex X (n, d) acts on ℂᵈ as [Re −Im; Im Re] (2n, 2d) acts on ℝ²ᵈ: lengths, residuals and condition
numbers are the same, and the real and the imaginary part of c_j are inner products of 2n terms each. So each
of the two errs by at most the bound of `linalg.ties` with 2n in place of n, and c_j by √2 times that,

    e_j = √2·u·(s(X_j)‖r‖ + ‖z_j‖s(y) + √(2n)·‖z_j‖‖r‖),   z_j = P_S^⊥X_j,  u = 8·eps,

and |c_j| by no more. What ties, what is zero and what is in the span of S follows as for real data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparselin.linalg.ties import Measured, Scores, argmax, relative_margin, stopping_level
from sparselin.results import Fit, FloatArray, IndexArray, SelectionPath, Status
from sparselin.validation import (
    Columns,
    check_budget,
    check_design,
    check_finite,
    check_level,
    check_same_rows,
    check_tolerance,
    check_vector,
    check_weights,
    frame_names,
    frame_numbers,
    to_array,
)

_DOUBLE_EPS = 2.0**-52
_UNIT = 8.0 * _DOUBLE_EPS
_AT_ONCE = 4 * 10**6  # entries of X that are projected at a time


def is_complex(*data: Any) -> bool:
    """Whether one of the arrays, sparse matrices or lists holds complex numbers."""
    for part in data:
        dtype = getattr(part, "dtype", None)
        if dtype is None and isinstance(part, (list, tuple)):
            try:
                dtype = np.asarray(part).dtype
            except ValueError:  # ragged: refused with the other bad data
                continue
        if getattr(dtype, "kind", "") == "c":
            return True
    return False


class ComplexDesign(NamedTuple):
    """X (n, d) in complex128, an array or a CSC array, ‖X_j‖, √weight (n,) or None, the dtype of results."""

    X: Any
    norms: FloatArray
    root: FloatArray | None
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any, name: str = "X", weight: ArrayLike | None = None) -> ComplexDesign:
        """X, checked, its rows multiplied by √weight: complex64 if X is that or float32, else complex128."""
        X = X if hasattr(X, "tocsc") else to_array(X, name)
        real, imaginary = (check_design(part, name) for part in (X.real, X.imag))
        for part in (real, imaginary):
            if isinstance(part, np.ndarray):
                check_finite(part, name)
        X, root = real.astype(np.complex128) + 1j * imaginary, None
        if weight is not None:
            root = np.sqrt(check_weights(weight, X.shape[0], np.dtype(np.float64)))
            X = X * root[:, None] if isinstance(X, np.ndarray) else X.multiply(root[:, None]).tocsc()
        dtype, sizes = np.result_type(real.dtype, np.complex64), abs(X)
        with np.errstate(over="ignore"):
            norms = np.sqrt(np.asarray((sizes * sizes).sum(axis=0)).ravel())
        _check_range(norms, np.asarray((sizes != 0).sum(axis=0)).ravel() > 0, dtype, name)
        return cls(X, norms, root, dtype)

    def columns(self, J: IndexArray | list[int]) -> Any:
        """X_J (n, |J|), dense."""
        block = self.X[:, J]
        return block if isinstance(block, np.ndarray) else block.toarray()

    def vector(self, y: Any, name: str = "y") -> Any:
        """y (n,), checked, rounded to the dtype of the results, in complex128, and multiplied by √weight."""
        y = y if np.ma.isMaskedArray(y) else np.asarray(y)
        dtype = np.finfo(self.dtype).dtype
        real, imaginary = (check_vector(part, name, self.X.shape[0], dtype) for part in (y.real, y.imag))
        vector = real.astype(np.complex128) + 1j * imaginary
        vector = vector if self.root is None else vector * self.root
        with np.errstate(over="ignore"):
            _check_range(
                np.linalg.norm(vector, axis=0, keepdims=True),
                np.any(vector != 0, keepdims=True),
                self.dtype,
                name,
            )
        return vector


def _check_range(norms: Any, nonzero: Any, dtype: np.dtype[Any], name: str) -> None:
    """As `Problem` does: no norm whose square over- or underflows."""
    info = np.finfo(dtype)
    bad = nonzero & ~((norms >= math.sqrt(info.tiny) / info.eps) & (norms <= math.sqrt(info.max)))
    if bad.any():
        where = name if len(norms) == 1 else f"column {int(np.argmax(bad))} of {name}"
        raise ValueError(
            f"{where} has a norm whose square over- or underflows {dtype}; "
            f"scale {name} by a power of two (selections do not change)"
        )


class _Span:
    """X_S = QR for the independent columns S, by Gram–Schmidt, each column projected twice."""

    def __init__(self, design: ComplexDesign) -> None:
        self.design, self.index = design, list[int]()
        self.Q, self.R = np.zeros((design.X.shape[0], 0), complex), np.zeros((0, 0), complex)
        self.unit = 8.0 * float(np.finfo(design.dtype).eps)

    def project(self, v: Any) -> tuple[Any, Any]:
        """P_S^⊥v for v (n,) or (n, m), and Qᴴv."""
        b = self.Q.conj().T @ v
        z = v - self.Q @ b
        more = self.Q.conj().T @ z
        return z - self.Q @ more, b + more

    def sizes(self, norms: Any, b: Any) -> Any:
        """s(x) = √(‖x‖² + Σ_j ‖X_j‖²|a_j|²), a = X_S⁺x = R⁻¹b, as `ThinQR.sizes`."""
        scaled = self.design.norms[self.index] * np.linalg.solve(self.R, b).T
        return np.hypot(norms, np.sqrt((np.abs(scaled) ** 2).sum(axis=-1)))

    @property
    def kappa(self) -> float:
        """‖D R⁻¹‖_F, D = diag(‖X_j‖): a bound on 1/σ_min of X_S with unit columns; at least 1."""
        inverse = np.linalg.solve(self.R, np.eye(len(self.index)))
        return max(1.0, float(np.linalg.norm(self.design.norms[self.index, None] * inverse)))

    def append(self, j: int) -> bool:
        """Add column j unless it is in the span of S to rounding; returns whether it was added."""
        z, b = self.project(self.design.columns([j])[:, 0])
        rho, t = float(np.linalg.norm(z)), len(self.index)
        if t == len(z) or rho <= self.unit * self.sizes(self.design.norms[j], b):
            return False
        R = np.zeros((t + 1, t + 1), complex)
        R[:t, :t], R[:t, t], R[t, t] = self.R, b, rho
        self.R, self.Q = R, np.column_stack([self.Q, z / rho])
        self.index.append(j)
        return True

    def measure(self, J: IndexArray, y: Any) -> Measured:
        """The columns J at S, with |c_j| for c."""
        r, b = self.project(y)
        r_norm, y_size = float(np.linalg.norm(r)), float(self.sizes(np.linalg.norm(y), b))
        c, length, size = np.zeros((3, len(J)))
        step = max(1, _AT_ONCE // len(y))
        for at in range(0, len(J), step):
            part = slice(at, at + step)
            Z, B = self.project(self.design.columns(J[part]))
            length[part] = np.linalg.norm(Z, axis=0)
            c[part] = np.abs(Z.conj().T @ r)
            size[part] = self.sizes(self.design.norms[J[part]], B)
        e = size * r_norm + length * y_size + math.sqrt(2 * len(y)) * length * r_norm
        return Measured(
            c=c,
            error=math.sqrt(2) * _UNIT * e,
            length=length,
            length_error=_UNIT * size,
            outside=length > self.unit * size,
            residual_norm=r_norm,
            residual_error=self.unit * y_size,
            coarse=self.unit / _UNIT,
        )

    def ending(self, y: Any) -> Status:
        """Why every c_j is zero: see `sparselin.linalg.ties.ending`."""
        rest = self.measure(np.setdiff1d(np.arange(len(self.design.norms)), self.index), y)
        if rest.residual_norm <= rest.residual_error:
            return Status.EXACT_FIT
        return Status.NO_CORRELATION if rest.outside.any() else Status.RANK_EXHAUSTED


class _ComplexState:
    """The picks so far."""

    def __init__(self, design: ComplexDesign, y: Any, names: tuple[str, ...] | None) -> None:
        self.span, self.y, self.names = _Span(design), y, names
        self.support, self.lam_star, self.margin = list[int](), list[float](), list[float]()
        self.ties, self.basis = list[tuple[int, ...]](), list[int]()
        self.projections = list[complex]()
        self.r, self.norms = y, [float(np.linalg.norm(y))]

    def add(self, j: int, lam_star: float = math.nan, margin: float = math.nan, tied: Any = ()) -> bool:
        """Add column j; a forced one, without T, gets the coefficient zero if it is in the span of S."""
        if self.span.append(j):
            self.basis.append(len(self.support))
            self.projections.append(complex(np.vdot(self.span.Q[:, -1], self.r)))
            self.r = self.span.project(self.y)[0]
            if tied == (j,):  # |⟨X_j, r⟩| = ρ|⟨q, r⟩|, as for real data
                lam_star = abs(self.span.R[-1, -1]) * abs(self.projections[-1])
        elif tied:
            return False
        self.support.append(j)
        self.norms.append(float(np.linalg.norm(self.r)))
        self.lam_star.append(lam_star)
        self.margin.append(margin)
        self.ties.append(tied)
        return True

    def result(self, status: Status) -> SelectionPath:
        dtype, t = self.span.design.dtype, len(self.support)
        real, coef_path = np.finfo(dtype).dtype, np.zeros((t, t), dtype)
        for j in range(t):
            m = int(np.searchsorted(self.basis, j, side="right"))
            coef_path[j, self.basis[:m]] = np.linalg.solve(self.span.R[:m, :m], self.projections[:m])
        return SelectionPath(
            support=np.array(self.support, np.intp),
            coef_path=coef_path,
            intercept_path=np.zeros(t + 1, real),
            lam_star=np.array(self.lam_star, real),
            margin=np.array(self.margin, real),
            ties=tuple(self.ties),
            active_sets=((),) * t,
            weights=(),
            residual_norm=np.array(self.norms, real),
            status=status,
            fit=Fit(len(self.span.design.norms), self.names),
        )


def pursue(
    design: ComplexDesign,
    y: Any,
    k: int,
    *,
    quotients: bool,
    limit: float,
    forced: IndexArray,
    names: tuple[str, ...] | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
) -> SelectionPath:
    """The `forced` columns, then the largest |c_j|, or with `quotients` |c_j|/‖z_j‖, until ‖r‖ ≤ limit."""
    path, d = _ComplexState(design, y, names), len(design.norms)
    span, excluded = path.span, list[int]()
    y_norm, n = path.norms[0], len(y)
    limit = float(stopping_level(limit, y_norm, span.unit, span.unit))

    def scores(J: IndexArray) -> Scores:
        measured = span.measure(J, y)
        return measured.quotients() if quotients else measured.correlations()

    for j in forced.tolist():
        path.add(j)
        excluded.append(j)
    while path.norms[-1] > limit:
        if len(path.support) == k:
            return path.result(Status.COMPLETED)
        if quotients:  # all are measured
            c, error = np.zeros(d), np.full(d, np.inf)
        else:  # those are that a bound with κ leaves, of the eps of the data
            c = np.abs(design.X.conj().T @ path.r)
            c[excluded] = 0
            error = math.sqrt(2) * span.unit * (math.sqrt(2 * n) + span.kappa) * design.norms * y_norm
        best, score = argmax(c, error, excluded, scores)
        if best is None:
            return path.result(span.ending(y))
        i = best.pick
        lam_star = best.top if not quotients else float(abs(np.vdot(design.columns([i])[:, 0], path.r)))
        excluded.append(i)
        added = path.add(i, lam_star, relative_margin(score, i, best.top), best.tied)
        if added and callback is not None and callback(path.result(Status.STOPPED)):
            return path.result(Status.STOPPED)
    return path.result(Status.TOLERANCE)


def select(
    X: Any,
    y: Any,
    k: int,
    *,
    quotients: bool,
    tol: float | None,
    residual: float | None,
    forced: Columns,
    real_only: bool,
    sample_weight: ArrayLike | None,
    callback: Callable[[SelectionPath], object] | None,
) -> SelectionPath:
    """`omp`, or with `quotients` `ols`, of complex X or y; `real_only`: an option for real data is set."""
    if real_only:
        raise ValueError(
            "intercept, standardize and positive are for real data; "
            "here a column of ones in forced is an intercept"
        )
    check_same_rows(X, y, "y")
    names = frame_names(X)
    design = ComplexDesign.of(X, "X", sample_weight)
    vector = design.vector(y)
    k, first = check_budget(k, forced, len(design.norms), names, frame_numbers(X))
    limit = -1.0 if tol is None else check_tolerance(tol) * float(np.linalg.norm(vector))
    if residual is not None:
        limit = max(limit, check_level(residual, "residual"))
    return pursue(
        design, vector, k, quotients=quotients, limit=limit, forced=first, names=names, callback=callback
    )
