"""Exact decisions whether columns are linearly dependent, for cases that rounding leaves open, and residuals.

A column of floats is a power of two times a column of integers. Let N be the length of the shortest such
integer column. Linearly independent columns of integers have det XᵀX ≥ 1. Let T be the columns other than x,
and ρ_x the distance of x from the span of T. For the integer columns det XᵀX = ρ_x²·det X_TᵀX_T ≤ ρ_x²·Π_T
N². So x is in the span of T if its distance from the span, divided by the length of x, is below 1/Π_{T+x} N,
where the product runs over T and x. x is also in the span if it is an exact multiple of a column of T.
"""

import math

import numpy as np

from sparselin._kernels.dependence import DependenceTest, Unit
from sparselin.certificates.integers import IntegerColumns, solve_semidefinite
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, SAFETY, eps_of
from sparselin.results import FloatArray, IndexArray


def error_unit(problem: Problem) -> Unit:
    """Return the `Unit` of the data of a problem in float64."""
    return Unit(SAFETY * problem.errors.double_eps, math.sqrt(problem.n), problem.errors.of_squares)


def exactness(problem: Problem, J: IndexArray) -> DependenceTest:
    """Return the data for exact decisions on linear dependence among the columns J.

    The data say which columns are multiples of each other, and log₂ N for each column, where N is the length
    of the shortest column of integers that is the column times a power of two. If the columns z_j of the
    problem were projected off columns E, the original columns X_j are examined, because the z_j are linearly
    dependent if and only if the X_j are dependent given E. Independent columns of integers satisfy det [E
    X_T]ᵀ[E X_T] = det EᵀE·det Z_TᵀZ_T ≥ 1. Therefore N is the length of z_j in the units in which X_j is an
    integer column, and the product of N over E is a factor that counts once. A column of zeros has length 0
    and is in every span. Scales of standardized columns are left out, because after rounding the scales of
    multiples would differ.
    """
    unit = error_unit(problem)
    given = problem.origin is not None
    origin = problem.origin or problem
    X = origin.without_scales().exact_columns(np.append(J, problem.removed) if given else J)
    if X is None:
        return DependenceTest(unit, np.arange(len(J)), np.full(len(J), np.inf), 0.0)
    digits, exponents = np.frexp(X)
    whole = np.ldexp(digits, 53).astype(np.int64)
    last = exponents - 53 + np.frexp((whole & -whole).astype(np.float64))[1] - 1
    least = np.where(whole != 0, last, 2**15).min(axis=0)
    top = np.where(whole != 0, exponents, -(2**15)).max(axis=0)
    lengths = np.sqrt((np.ldexp(X, -top) ** 2).sum(axis=0))[len(J) :]
    volumes = np.log2(np.where(lengths > 0, lengths, 1)) + (top - least)[len(J) :]
    fixed = float(volumes[lengths > 0].sum())
    whole = whole[:, : len(J)]
    exponents = exponents[:, : len(J)]
    top = top[: len(J)]
    norms = problem.column_norms[J].astype(np.float64)
    if origin.design.scale is not None:
        norms /= origin.design.scale[J]
    volumes = np.where(norms > 0, np.log2(np.where(norms > 0, norms, 1)) - least[: len(J)], -np.inf)
    places: dict[bytes, int] = {}
    whole *= np.sign(whole[np.argmax(whole != 0, axis=0), np.arange(len(J))])
    exponents = np.where(whole != 0, exponents - top, 0)
    keys = [whole[:, j].tobytes() + exponents[:, j].tobytes() for j in range(len(J))]
    same = np.array([places.setdefault(key, len(places)) for key in keys])
    return DependenceTest(unit, same, volumes, fixed)


def original_columns(origin: Problem, J: IndexArray) -> FloatArray | None:
    """Return the columns J of a problem without scales, followed by y: (n, |J| + 1), without rounding errors.

    Returns None if only rounded data exist, which is the case with weights.
    """
    ones = origin.design.ones
    if origin.is_multiplied and (ones is None or bool((ones != 1).any())):
        return None
    columns = origin.exact_columns(J)
    return None if columns is None else np.column_stack([columns, origin.double_y])


def exact_residual(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the residual (n,) of least squares of b on the columns of A, computed exactly and then rounded.

    Integer columns A and an integer vector b have the residual (t·b − Az)/t, where z/t solves AᵀAx = Aᵀb.
    """
    whole = IntegerColumns(np.column_stack([A, b]))
    *columns, last = (whole.column(i) for i in range(A.shape[1] + 1))
    gram = [[int(x @ z) for z in columns] for x in columns]
    solution = solve_semidefinite(gram, [int(x @ last) for x in columns])
    assert solution is not None, "a Gram matrix is semidefinite"
    z, t = solution
    rest = t * last - sum((share * x for share, x in zip(z, columns, strict=True)), 0 * last)
    shift = max(0, int(abs(rest).max()).bit_length() - t.bit_length())  # the quotients may exceed all floats
    return np.asarray(np.ldexp([value / (t << shift) for value in rest], whole.exponents[-1] + shift))


@np.errstate(divide="ignore", invalid="ignore")
def least_residuals(A: FloatArray, b: FloatArray, y: FloatArray) -> FloatArray:
    """Return a lower bound on the squared residual of y (n,) on [A_i b_i], for A (m, n, p) and b (m, n).

    The columns and y have lengths in [½, 1]. b may be in the span of A to rounding: let γ be computed
    coefficients of b on A. Then P_A^⊥b = P_A^⊥r for r = b − Aγ, and r is computed with the precision of
    `np.longdouble`. A relative error t of P_A^⊥r or of P_A^⊥y changes the cosine of their angle by at most
    2t. The bound is 0 if nothing is known, for example where `longdouble` is no longer than float64.
    """
    Q, R = np.linalg.qr(A)
    gamma = np.linalg.pinv(R) @ (Q.mT @ b[:, :, None])
    terms = A.astype(np.longdouble) * gamma.mT
    r = np.asarray(b - terms.sum(axis=2), np.float64)
    shift = SAFETY * np.sqrt(len(y)) * EPS / np.linalg.svd(R, compute_uv=False)[:, -1]
    # r has p + 1 roundings of at most half of eps
    error = A.shape[2] * eps_of(np.longdouble) * (1 + np.abs(gamma).sum(axis=(1, 2)))
    error += shift * np.linalg.norm(r, axis=1)
    both = np.stack([r, np.broadcast_to(y, r.shape)], axis=2)
    for _ in range(2):
        both = both - Q @ (Q.mT @ both)
    lengths = np.linalg.norm(both, axis=1)
    cosine = abs(np.prod(both, axis=2).sum(axis=1)) / lengths.prod(axis=1)
    cosine += 2 * error / lengths[:, 0] + 2 * shift / lengths[:, 1]
    return np.where(cosine < 1, np.maximum(0, lengths[:, 1] - shift) ** 2 * (1 - cosine**2), 0)
