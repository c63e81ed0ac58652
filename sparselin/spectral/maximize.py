"""Greedy maximisation of a set function of C alone, without a response."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sparselin.parallel.threads import workers
from sparselin.results import GreedyMaximum
from sparselin.spectral._gram import Gram
from sparselin.spectral._searches import extend
from sparselin.spectral.objective import Objective
from sparselin.spectral.regularizers import SetFunction
from sparselin.spectral.search import check_regularizer
from sparselin.validation import check_count


def greedy_maximize(
    C: ArrayLike, k: int, regularizer: SetFunction, *, lazy: bool | None = None
) -> GreedyMaximum:
    """Select k diverse features of a design without a response, by greedy maximisation of a regularizer f.

    Let S be the features selected so far, and S + x the set with x added. Each pick x maximises f(S + x). If
    f is increasing and submodular and f(∅) = 0, then f(S) ≥ (1 − 1/e)·max f over k features (Nemhauser,
    Wolsey and Fisher, 1978). For log-determinants all gains are updated in O(d|S|) operations per step, and
    for the variance in O(d). Gains of the generalized rank cost more, so they are evaluated lazily (Minoux,
    1978): the gain of a feature at an earlier step bounds its gain now, and only features whose bound is at
    least the best gain are evaluated again.

    Parameters
    ----------
    C : (d, d) symmetric positive semidefinite, for example XᵀX.
    k : number of features to select, 1 ≤ k ≤ d. All k are selected even if f decreases; an all-zero column is
        never selected.
    regularizer : f, one of `sparselin.spectral`, or an object with `value(C, S)`, `gains(C, S)` and
        `submodular`.
    lazy : False to evaluate all gains of the generalized rank at each step. The picks are the same, unless
        rounding decides whether an eigenvalue is above its cut-off.

    Returns
    -------
    `GreedyMaximum`: `support`, `gains`, `value`, `evaluations`, `status`. Gains that are equal up to rounding
    are tied, and the lowest index is selected. The status is RANK_EXHAUSTED if there are fewer than k nonzero
    columns. It is BEYOND_PRECISION if the rounding errors of C, about eps·C_ii, leave open which gain is the
    largest. This happens with nearly dependent columns and a `SmoothedDifferentialEntropy` whose δ is below
    these errors. `forward_regression` computes from X and can then decide between more gains.

    Raises
    ------
    TypeError, ValueError : C is not symmetric and positive semidefinite; k is out of range; lazy=True and f
        is not submodular.

    >>> import numpy as np
    >>> from sparselin.spectral import SmoothedDifferentialEntropy
    >>> C = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]])
    >>> greedy_maximize(C, 2, SmoothedDifferentialEntropy(1.0)).support.tolist()
    [0, 2]
    """
    check_regularizer(regularizer)
    gram = Gram.of_matrix(C)
    k = check_count(k, "k", 1, gram.d)
    if lazy and not regularizer.submodular:
        raise ValueError("lazy evaluation is exact for a submodular regularizer only; leave lazy out")
    with workers(2.0 * gram.d * k * (k + 100)):  # limits BLAS to one thread, because the matrices are small
        objective = Objective(gram, None, regularizer, 1.0, lazy=lazy)
        status = extend(objective, k, np.arange(gram.d))
    return GreedyMaximum(
        support=np.array(objective.index, np.intp),
        gains=np.array(objective.gains),
        value=objective.value,
        evaluations=objective.evaluations,
        status=status,
        n_features=gram.d,
    )
