"""Every function refuses entries under a mask of NumPy, in every argument, because nobody measured them.

A masked array without a masked entry is an array.
"""

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, ours
from methods import METHODS, Levels
from sklearn import base

import sparselin as sl
from sparselin import estimators, spectral

UNDER = -999.0  # the usual fill value of missing cells
N, D = 30, 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = X[:, 0] - 2 * X[:, 3] + 0.1 * RNG.standard_normal(N)
W = RNG.uniform(1, 2, N)
XY, XYW = {"X": X, "y": Y}, {"X": X, "y": Y, "sample_weight": W}
PATH, WEIGHTED = sl.omp(X, Y, 2), sl.omp(X, Y, 2, sample_weight=W)
LABELS, THETA, NET = np.arange(D) // 2, RNG.standard_normal(4), RNG.standard_normal((4, 3))
G = X.T @ X / N
CLASSES = np.where(Y > 0, 1.0, 0.0)
LEVELS = Levels(0.5, 0.1, (1,))
RANK = spectral.GeneralizedRank(0.5)

# name ↦ (function, its arrays by name)
CALLS = {
    "Problem": (sl.Problem, XYW),
    "from_gram": (lambda **a: sl.Problem.from_gram(yty=Y @ Y, **a), {"G": N * G, "Xty": X.T @ Y}),
    "batch_omp": (lambda **a: sl.batch_omp(k=2, **a), {"D": X, "Y": np.c_[Y, Y], "sample_weight": W}),
    "groups": (lambda **a: sl.best_subset(k=2, **a), XY | {"groups": LABELS}),
    "hier_prox": (lambda **a: sl.hier_prox(lam=0.1, M=1.0, **a), {"theta": THETA, "W": NET}),
    "group_hier_prox": (lambda **a: sl.group_hier_prox(lam=0.1, M=1.0, **a), {"Theta": NET, "W": NET}),
    "softmax_penalty": (sl.softmax_penalty, {"x": np.abs(THETA)}),
    "q": (sl.q, {"q": np.full(4, 16.0)}),
    "project_dual": (lambda **a: sl.project_dual(lam=0.1, **a), {"X": X, "v": Y}),
    "knockoffs": (sl.knockoffs, XY),
    "certify": (lambda **a: sl.certify(path=PATH, **a), XY),
    "Certificate.verify": (sl.certify(X, Y, PATH).verify, XY),
    "FlowCertificate.verify": (sl.certify(X, Y, sl.gradient_flow(X, Y)).verify, XY),
    "LassoCertificate.verify": (sl.certify(X, Y, sl.lasso_path(X, Y)).verify, XY),
    "explain": (lambda **a: sl.explain(path=WEIGHTED, feature=1, **a), XYW),
    "leave_one_out": (lambda **a: sl.leave_one_out(path=WEIGHTED, **a), XYW),
    "condition": (lambda **a: sl.condition(path=WEIGHTED, **a), XYW),
    "inference": (lambda **a: sl.inference(path=WEIGHTED, sigma=1.0, **a), XYW),
    "path.predict": (PATH.predict, {"X": X}),
    "LassoPath.predict": (lambda X: sl.lasso_path(XY["X"], Y).predict(X, 0.1), {"X": X}),
    "BestSubset.predict": (sl.best_subset(X, Y, 2).predict, {"X": X}),
    "reconstruct": (sl.batch_omp(X, np.c_[Y, Y], 2).reconstruct, {"D": X}),
    "greedy_maximize": (lambda C: spectral.greedy_maximize(C, 2, RANK), {"C": G}),
    "regularizer.value": (lambda C: RANK.value(C, [0, 1]), {"C": G}),
    "regularizer.gains": (lambda C: RANK.gains(C, [0, 1]), {"C": G}),
    "cross_validate": (
        lambda **a: estimators.cross_validate(estimators.OMPSelector(2), cv=3, **a),
        XYW | {"groups": np.arange(N) % 3},
    ),
    "complex": (lambda **a: sl.omp(k=2, **a), {"X": X + 1j, "y": Y + 1j}),
    "logistic": (lambda **a: sl.generalized_omp(k=2, loss="logistic", **a), {"X": X, "y": CLASSES}),
    "compress": (lambda X: sl.compress(X, y=0), {"X": X}),
    "compress, y and weights": (
        lambda X, y, sample_weight: sl.compress(np.ma.asarray(X), y=y, weights=sample_weight), XYW
    ),
    "compress, tuples": (lambda **a: sl.compress([tuple(a.values())]), XYW),
    "compress, chunks": (lambda X: sl.compress([XY["X"], X], y=0), {"X": X}),
    "compress, columns": (lambda **a: sl.compress([a], y="y"), {"x": X[:, 0], "y": Y}),
}  # fmt: skip


CALLS |= {
    row.id: (lambda row=row, y=Y, **a: row.call(a["X"], y, LEVELS), XY if row.takes_y else {"X": X})
    for row in METHODS.values()
    if row.function is None and not row.many
}
for NAME in (*ESTIMATORS, *(name for name in estimators.__all__ if name.endswith(("Selector", "Regressor")))):
    if NAME not in ("LassoNetRegressor", "SequentialAttentionRegressor"):  # networks: tests/neural
        MODEL = ours(NAME) if NAME in ESTIMATORS else getattr(estimators, NAME)()
        CALLS[f"{NAME}.fit"] = base.clone(MODEL).fit, XYW
        done = base.clone(MODEL).fit(X, Y)
        for method in sorted({"predict", "transform"} & set(dir(done))):
            CALLS[f"{NAME}.{method}"] = getattr(done, method), {"X": X}
        CALLS[f"{NAME}.score"] = done.score, XYW


def masked(array):
    """The array with one masked entry, under which lies a number that nobody measured."""
    whole = np.ma.array(array, copy=True)
    whole[(1,) * whole.ndim] = UNDER
    whole[(1,) * whole.ndim] = np.ma.masked
    return whole


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n, (_, arrays) in CALLS.items() for a in arrays])
def test_masked_entries_are_refused_and_masks_without_any_are_not(name, argument):
    function, arrays = CALLS[name]
    function(**arrays | {argument: np.ma.array(arrays[argument])})
    given = masked(arrays[argument])
    with pytest.raises(ValueError, match=r"mask|nan in "):  # DuckDB's columns: NaN under a mask
        function(**arrays | {argument: given})
    if argument not in ("X", "D", "C", "G"):
        with pytest.raises((ValueError, TypeError), match="mask"):
            function(**arrays | {argument: list(given)})


def test_rows_with_masks_in_a_list():
    with pytest.raises(ValueError, match="X must have no masked entries"):
        sl.omp(list(masked(X)), Y, 2)
    with pytest.raises(sl.BadChunk, match="chunk 1 has masked entries"):
        sl.compress([X.tolist(), list(masked(X))], y=0)
    assert sl.compress([masked(X), X], y=0, on_bad="skip").compressed.skipped[0][0] == 0
