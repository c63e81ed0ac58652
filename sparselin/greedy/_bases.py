"""Orthonormal bases of groups of columns, so that a group is compared by its span, not by its columns.

Let Z_g be the columns of a group, weighted and, with an intercept, centred, and Z_g = Q_gR_g with orthonormal
columns Q_g. For a residual r that is orthogonal to the intercept, ‖Q_gᵀr‖ is the length of the projection of
r on the span of Z_g. It depends neither on the scales of the columns nor on the choice of the level of a
category that has no indicator. This is the Group-OMP of Lozano, Świrszcz and Abe (2009, 2011). The columns
X_gR_g⁻¹ have these products, because the intercept is in every model; X stays as sparse as a group allows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.problem.errors import rank_level
from sparselin.results import FloatArray, GroupPath, IndexArray


class GroupBases:
    """The columns X·T, where the block of T for a group is R_g⁻¹, with zeros for dependent columns.

    X : (n, d), dense or sparse.
    groups : (d,) the number of the group of each column.
    weight : (n,) the weights of the rows, or None.
    """

    def __init__(self, X: Any, groups: IndexArray, weight: Any, intercept: bool) -> None:
        from scipy import sparse

        n, d = X.shape
        root = np.ones(n) if weight is None else np.sqrt(np.asarray(weight, np.float64))
        inner = sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X)
        entries: list[tuple[IndexArray, FloatArray]] = []
        order = np.argsort(groups, kind="stable")
        for J in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            block: Any = inner[:, J]
            Z = np.asarray(block.toarray() if sparse.issparse(block) else block, np.float64) * root[:, None]
            if intercept:
                Z = Z - np.outer(root, root @ Z) / (root @ root)
            entries.append((J, _inverse_triangle(Z)))
        rows = np.concatenate([np.repeat(J, len(J)) for J, _ in entries])
        columns = np.concatenate([np.tile(J, len(J)) for J, _ in entries])
        values = np.concatenate([T.ravel() for _, T in entries])
        self.T = sparse.csc_array((values, (rows, columns)), shape=(d, d))
        product = inner @ self.T
        self.X = product.astype(X.dtype)

    def restore(self, path: GroupPath) -> GroupPath:
        """Return a path on X·T with its coefficients on the columns of X."""
        S = path.support
        block = self.T[S][:, S]
        coefs = tuple(
            (block[: len(coef), : len(coef)] @ coef.astype(np.float64)).astype(coef.dtype)
            for coef in path.coef_path
        )
        recession = path.recession
        if len(recession):
            J = np.append(S, np.flatnonzero(np.isin(path.groups, path.unfitted)))
            recession = np.append(recession[:1], self.T[J][:, J] @ recession[1:])
        return dataclasses.replace(path, coef_path=coefs, recession=recession)


def _inverse_triangle(Z: FloatArray) -> FloatArray:
    """Return R⁻¹ (p, p) of Z = QR; zero for the columns in the span of the columns before them."""
    p = Z.shape[1]
    norms = np.linalg.norm(Z, axis=0)
    R = np.linalg.qr(Z, mode="r")
    level = rank_level(Z.shape) * norms
    kept = np.flatnonzero(np.abs(np.diag(R)) > level[: len(R)])
    inverse = np.zeros((p, p))
    if len(kept):
        R = np.linalg.qr(Z[:, kept], mode="r")
        inverse[np.ix_(kept, kept)] = np.linalg.inv(R)
    return inverse


def in_bases(
    method: Callable[..., GroupPath],
    X: Any,
    groups: IndexArray | None = None,
    weights: str | None = None,
    **options: Any,
) -> GroupPath:
    """Run a method that selects groups; with weights="noise" on orthonormal bases of the groups.

    method : `group_omp` or `generalized_group_omp`, with all other arguments but X, groups and weights given.
    groups : the number of the group of each column; None: each column is a group.
    options : intercept, sample_weight, standardize and callback.
    """
    callback = options.pop("callback", None)
    if groups is None:
        return method(X, callback=callback, **options)
    if weights != "noise":
        return method(X, groups=groups, weights=weights, callback=callback, **options)
    bases = GroupBases(X, groups, options.get("sample_weight"), bool(options.get("intercept")))

    def watch(path: GroupPath) -> object:
        return None if callback is None else callback(bases.restore(path))

    watched = None if callback is None else watch
    path = method(bases.X, groups=groups, weights=weights, callback=watched, **options)
    return bases.restore(path)
