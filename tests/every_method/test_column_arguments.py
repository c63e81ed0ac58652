"""Arguments with one entry for each column: entries with labels are aligned with the columns, or refused.

`CALLS` has a row for each such argument of each public function and class; a row lists the entries in the
order of the columns. The oracle of an aligned call is the call with this list.
"""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import sparselin as sl
from sparselin.estimators import BestSubsetRegressor, BestSubsetSelector, OMPSelector
from sparselin.spectral import SpectralVariance, greedy_maximize

pandas = pytest.importorskip("pandas")
RANDOM = np.random.default_rng(11)
NAMES = ["a1", "a2", "b1", "b2", "c1", "c2"]
X = RANDOM.normal(size=(40, 6))
Y = X[:, 2] + X[:, 3] - 0.5 * X[:, 0] + 0.2 * RANDOM.normal(size=40)
GROUPS, BOX, PAIRS = list("aabbcc"), [0.1, 1.0, 0.3, 2.0, 1.0, 0.0], [(-0.5, 0.0), (0, 1), *[(0, 2)] * 4]


def fitted(model, data):
    """Fit a selector or a regressor, and return what it found as text."""
    model.fit(data, Y)
    return str((model.coef_, np.ravel(getattr(model, "groups_", ())).tolist(), getattr(model, "k_", None)))


CALLS = {
    "best_subset groups": (lambda X, v: sl.best_subset(X, Y, 1, groups=v), GROUPS),
    "best_subset box": (lambda X, v: sl.best_subset(X, Y, 3, box=v), BOX),
    "best_subset pairs": (lambda X, v: sl.best_subset(X, Y, 3, box=v), PAIRS),
    "subsets_within groups": (lambda X, v: sl.subsets_within(X, Y, 1, eps=9.0, groups=v), GROUPS),
    "subsets_within box": (lambda X, v: sl.subsets_within(X, Y, 2, eps=0.1, box=v), BOX),
    "OMPSelector": (lambda X, v: fitted(OMPSelector(1, groups=v), X), GROUPS),
    "OMPSelector chosen": (lambda X, v: fitted(OMPSelector("bic", groups=v), X), GROUPS),
    "BestSubsetSelector": (lambda X, v: fitted(BestSubsetSelector(1, groups=v), X), GROUPS),
    "BestSubsetRegressor": (lambda X, v: fitted(BestSubsetRegressor(groups=v), X), GROUPS),
    "BestSubsetRegressor box": (lambda X, v: fitted(BestSubsetRegressor(3, box=v), X), BOX),
    "Problem names": (lambda X, v: sl.omp(sl.Problem(X, Y, names=v), 3), list("uvwxyz")),
}
LABELS = {
    "names": NAMES,
    "integers": [40, 3, 1, 7, 0, 1000],
    "floats": [1100.5, 1102.5, 0.1, 5.0, 0.0, -1.0],
    "pairs": [(letter, i) for letter in "ab" for i in (2, 0, 1)],
}
ORDER = [3, 0, 5, 1, 4, 2]


def series(values, labels, order=range(6)):
    """Return the values with their labels, in this order, as a Series, or as a frame if they are pairs."""
    make = pandas.DataFrame if isinstance(values[0], tuple) else pandas.Series
    index = [labels[i] for i in order]
    index = pandas.MultiIndex.from_tuples(index) if isinstance(index[0], tuple) else index
    return make([values[i] for i in order], index=index)


def frame(labels):
    return pandas.DataFrame(X, columns=pandas.Index(labels))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", CALLS)
def test_labels_in_any_order_give_the_result_of_the_list(name, kind):
    (call, values), labels = CALLS[name], LABELS[kind]
    expected = str(call(frame(labels), values))
    mapping = {labels[i]: values[i] for i in ORDER}
    texts = series(values, list(map(str, labels)), ORDER)
    for given in (series(values, labels), series(values, labels, ORDER), mapping, texts):
        assert str(call(frame(labels), given)) == expected


@pytest.mark.parametrize("name", CALLS)
def test_entries_without_labels_are_taken_by_position(name):
    call, values = CALLS[name]
    for data in (X, frame(NAMES)):
        expected = str(call(data, values))
        assert str(call(data, series(values, range(6)).reset_index(drop=True))) == expected
        assert str(call(data, {i: values[i] for i in ORDER})) == expected


@pytest.mark.parametrize("name", CALLS)
def test_labels_that_are_not_those_of_the_columns_are_refused(name):
    """The message names both sets of labels, and each remedy works."""
    call, values = CALLS[name]
    other = series(values, ["zz", *NAMES[1:]], ORDER)
    with pytest.raises(ValueError, match=r"no entry for 'a1', unknown labels 'zz'.* 'b2', 'zz'.*'a1', 'a2'"):
        call(frame(NAMES), other)
    with pytest.raises(ValueError, match="no entry for 'a1'"):
        call(frame(NAMES), dict(zip(NAMES[1:], values[1:], strict=True)))
    with pytest.raises(ValueError, match="several for 'a2'"):
        call(frame(NAMES), series(values, ["a2", *NAMES[1:]]))
    with pytest.raises(ValueError, match=r"'b2', 'a1'.*, but the columns of X have none"):
        call(X, series(values, NAMES, ORDER))
    with pytest.raises(ValueError, match="the default labels 0, …, 5, which are the labels of the columns"):
        call(frame(ORDER), series(values, range(6)).reset_index(drop=True))
    call(frame(NAMES), other.to_numpy())


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, pandas.NaT])
@pytest.mark.parametrize("name", [name for name, (_, values) in CALLS.items() if values is GROUPS])
def test_a_column_without_a_group_is_refused_with_a_remedy_that_works(name, missing):
    call = CALLS[name][0]
    for given in (["a", "a", missing, missing, "c", "c"], [0, 0, missing, missing, 1, 1]):
        with pytest.raises(ValueError, match=r"groups has no label for column 'b1'.*a label of its own"):
            call(frame(NAMES), given)
    call(frame(NAMES), ["a", "a", "b1", "b2", "c", "c"])


def test_a_column_that_is_excluded_needs_no_group():
    model = OMPSelector(1, groups=["a", "a", "b", "b", None, None], exclude=["c1", "c2"])
    assert model.fit(frame(NAMES), Y).get_feature_names_out().tolist() == ["b1", "b2"]


def test_sums_of_products_are_aligned():
    data = frame(NAMES)
    G, b, square = data.T @ data, data.T @ Y, float(Y @ Y)
    expected = sl.omp(sl.Problem.from_gram(G, b, square), 3)
    assert sl.omp(sl.Problem.from_gram(G, b[NAMES[::-1]], square), 3) == expected
    with pytest.raises(ValueError, match=r"G must have the labels of its columns .* Pass G.loc\[G.columns\]"):
        sl.Problem.from_gram(G.loc[NAMES[::-1]], b, square)
    with pytest.raises(ValueError, match="C must have the labels of its columns"):
        greedy_maximize(G.loc[NAMES[::-1]], 2, SpectralVariance())
    with pytest.raises(ValueError, match="Xty must have one entry for each column of X"):
        sl.Problem.from_gram(G, b.rename({"a1": "zz"}), square)


def test_lengths_of_the_columns_of_an_operator_have_no_labels():
    norms = pandas.Series(np.linalg.norm(X, axis=0))
    assert sl.omp(sl.Problem(aslinearoperator(X), Y, column_norms=norms), 2)
    with pytest.raises(ValueError, match=r"column_norms has the labels .* the columns of X have none"):
        sl.Problem(aslinearoperator(X), Y, column_norms=norms.set_axis(NAMES))


def test_proximal_steps_compare_the_labels_of_features():
    W = pandas.DataFrame(X[:6], index=NAMES)
    theta = pandas.Series(Y[:6], NAMES)
    assert sl.hier_prox(theta, W, lam=0.1, M=1.0)
    for step, given in ((sl.hier_prox, theta), (sl.group_hier_prox, theta.to_frame())):
        with pytest.raises(ValueError, match="labels of the rows of W in another order"):
            step(given[::-1], W, lam=0.1, M=1.0)


@pytest.mark.parametrize("make", [OMPSelector, BestSubsetSelector, BestSubsetRegressor])
def test_estimators_refuse_a_position_that_is_the_label_of_another_column(make):
    data = frame(LABELS["integers"])
    with pytest.raises(
        ValueError, match=r"3 is the label of column 1 of the frame\. Pass '3' for this column"
    ):
        make(2, forced=[3]).fit(data, Y)
    assert make(2, forced=["3"]).fit(data, Y).coef_[1] != 0


def test_paths_of_estimators_have_the_names_of_labels_that_are_no_strings():
    model = OMPSelector(2).fit(frame(LABELS["floats"]), Y)
    assert sorted(model.path_.support_names) == ["0.1", "5.0"]
    assert model.get_feature_names_out().tolist() == ["x2", "x3"]
