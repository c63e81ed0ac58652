"""Exact decisions whether columns are linearly dependent, for cases that rounding leaves open.

A column of floats is a power of two times a column of integers. Let N be the length of the shortest such
integer column. Linearly independent columns of integers have det XᵀX ≥ 1. Let T be the columns other than x,
and ρ_x the distance of x from the span of T. For the integer columns det XᵀX = ρ_x²·det X_TᵀX_T ≤ ρ_x²·Π_T
N². So x is in the span of T if its distance from the span, divided by the length of x, is below 1/Π_{T+x} N,
where the product runs over T and x. x is also in the span if it is an exact multiple of a column of T.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels.dependence import DependenceTest, Unit
from sparselin.problem import Problem
from sparselin.problem.errors import SAFETY
from sparselin.results import IndexArray


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
    unit = Unit(SAFETY * problem.errors.double_eps, math.sqrt(problem.n), float(problem.errors.power))
    given, origin = problem.origin is not None, problem.origin or problem
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
    whole, exponents, top = whole[:, : len(J)], exponents[:, : len(J)], top[: len(J)]
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
