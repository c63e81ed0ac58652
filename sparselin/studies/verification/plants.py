"""Defects planted on purpose, so that one can see the verification fail: `sparselin verify --plant`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from sparselin.greedy.omp import omp
from sparselin.results import FloatArray, SelectionPath
from sparselin.verification.checks import Methods


def second_best_omp(X: FloatArray, y: FloatArray, k: int, forced: Iterable[int] = ()) -> SelectionPath:
    """OMP, but its last pick is the runner-up, of the second largest |⟨X_i, P_S^⊥y⟩|, where there is one."""
    path = omp(X, y, k, forced=forced)
    S = path.support[:-1]
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0] if len(S) else y
    c = np.abs(X.T @ r)
    c[path.support] = 0
    if not c.any():
        return path
    support = np.append(S, np.argmax(c))
    return dataclasses.replace(path, support=support, ties=(*path.ties[:-1], (int(support[-1]),)))


PLANTS = {"second-best": Methods(omp=second_best_omp)}
