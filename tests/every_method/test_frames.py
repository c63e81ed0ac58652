"""Frames of all kinds: functions and estimators read them right, or refuse them with a remedy that works."""

from decimal import Decimal

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, ours
from methods import METHODS, Levels

import sparselin as sl
from sparselin import estimators

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(24, 6)).round(6)
X[:, 1] = RANDOM.integers(0, 9, 24)
Y = (X @ np.array([2.0, 0.5, -1.0, 0.5, 0.0, 0.0]) + 0.3 * RANDOM.normal(size=24)).round(6)
WEIGHT = RANDOM.uniform(0.5, 1.5, 24).round(6)
NAMES = list("abcdef")
PLAIN = pandas.DataFrame(X, columns=NAMES)


def with_b(values):
    return PLAIN.assign(b=values)


def with_gap(dtype):
    data = with_b(pandas.array(X[:, 1].astype(int), dtype=dtype))
    data.loc[3, "b"] = pandas.NA
    return data


def as_floats(data):
    """Follow the proposal of a message about a column of numbers that are no floats."""
    if isinstance(data, polars.DataFrame):
        return data.with_columns(data["b"].cast(float))
    return data.assign(b=data["b"].astype(float))


# frames that are read: each has the entries of PLAIN
READ = {
    "Int64": with_b(pandas.array(X[:, 1].astype(int), dtype="Int64")),
    "Float64": PLAIN.astype("Float64"),
    "sparse": with_b(pandas.arrays.SparseArray(X[:, 1])),
    "arrow": PLAIN.astype("float64[pyarrow]"),
    "polars": polars.DataFrame(dict(zip(NAMES, X.T, strict=True))),
}
# frames that are refused by functions: a part of the message, and the remedy, after which they are read
DECIMALS = [Decimal(repr(float(value))) for value in X[:, 1]]
TO_FLOAT = r"[XD]\['b'\] must hold real numbers; .* Pass [XD]\['b'\]\.astype\(float\)"
REFUSED = {
    "Decimals": (with_b(DECIMALS), TO_FLOAT, as_floats),
    "objects": (with_b(X[:, 1].astype(object)), TO_FLOAT, as_floats),
    "texts": (with_b([str(value) for value in X[:, 1]]), TO_FLOAT, as_floats),
    "polars Decimals": (
        READ["polars"].with_columns(polars.Series("b", DECIMALS)),
        r"[XD]\['b'\] must hold real numbers; .* Pass [XD]\['b'\]\.cast\(float\)",
        as_floats,
    ),
    "categories that are numbers": (
        with_b(pandas.Categorical(X[:, 1])),
        r"[XD]\['b'\] .* If they are amounts, pass [XD]\['b'\]\.astype\(float\), or encode",
        as_floats,
    ),
    "words": (with_b(["u", "v"] * 12), r"[XD]\['b'\] .* leave it out", lambda data: PLAIN),
    "Int64 with a gap": (with_gap("Int64"), "[XD].*(finite|NaN)", lambda data: data.fillna({"b": X[3, 1]})),
    "arrow with a gap": (
        with_gap("int64[pyarrow]"), "[XD].*(finite|NaN)", lambda data: data.fillna({"b": X[3, 1]})
    ),
}  # fmt: skip
# the estimators of scikit-learn convert objects and texts to floats
CONVERTED = ("Decimals", "objects", "texts", "polars Decimals")
NETWORKS = ("LassoNet", "SequentialAttentionC", "SequentialAttentionR")
FITTED = [*ESTIMATORS, *(name for name in estimators.__all__ if name.endswith(("Selector", "Regressor")))]
FITTED = [name for name in dict.fromkeys(FITTED) if not name.startswith(NETWORKS)]


def call(method, data):
    return str(method.call(data, Y[:, None] if method.many else Y, Levels(lam=3.0)))


def same(a, b):
    """Return whether predictions agree up to rounding, which depends on the layout of X in memory."""
    return np.allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def made(name):
    if name == "OrthogonalMatchingPursuitCV":
        return ours(name, max_iter=5)
    return ours(name) if name in ESTIMATORS else getattr(estimators, name)()


@pytest.mark.parametrize("name", METHODS)
def test_functions_read_a_frame_or_refuse_it_with_a_remedy_that_works(name):
    method = METHODS[name]
    expected = call(method, PLAIN)
    for kind in ("Int64", "polars"):
        assert call(method, READ[kind]) == expected, kind
    for data, message, _ in REFUSED.values():
        with pytest.raises((TypeError, ValueError), match=message):
            call(method, data)


def test_what_is_read_and_what_a_remedy_makes_is_the_same_frame():
    """Each form passes the same check of designs, so one function stands for all."""
    expected = str(sl.omp(PLAIN, Y, 3))
    for kind, data in READ.items():
        assert str(sl.omp(data, Y, 3)) == expected, kind
    for kind, (data, _, remedy) in REFUSED.items():
        assert str(sl.omp(remedy(data), Y, 3)) == expected, kind


def test_the_remedy_of_infinite_entries_and_of_empty_columns_works():
    """`fillna` alone leaves both as they are."""
    spoiled = with_b(np.where(X[:, 1] > 4, -np.inf, X[:, 1])).assign(g=np.nan, h=np.inf)
    words = r"Turn infinite .* X\.replace\(\[np\.inf, -np\.inf\], np\.nan\)\. Leave out 'g', 'h', without"
    with pytest.raises(ValueError, match=words):
        sl.omp(spoiled, Y, 3)
    cured = spoiled.replace([np.inf, -np.inf], np.nan).drop(columns=["g", "h"])
    assert len(sl.omp(cured.fillna(cured.median()), Y, 3)) == 3
    with pytest.raises(ValueError, match=r"the first in row 3\. Impute them"):
        sl.omp(with_gap("Int64"), Y, 3)


@pytest.mark.parametrize("name", FITTED)
def test_estimators_read_a_frame_or_refuse_it_with_a_remedy_that_works(name):
    expected = made(name).fit(PLAIN, Y).predict(PLAIN)
    for kind, data in READ.items():
        if kind != "sparse":  # scikit-learn warns that these columns become dense
            assert same(made(name).fit(data, Y).predict(data), expected), kind
    for kind, (data, message, remedy) in REFUSED.items():
        if kind in CONVERTED:
            assert same(made(name).fit(data, Y).predict(data), expected), kind
        else:
            with pytest.raises((TypeError, ValueError), match=message):
                made(name).fit(data, Y)
            assert same(made(name).fit(remedy(data), Y).predict(PLAIN), expected), kind


@pytest.mark.parametrize("name", FITTED)
def test_estimators_refuse_labels_that_repeat_and_frames_without_columns(name):
    twice = PLAIN.set_axis(list("abcdea"), axis=1)
    with pytest.raises(
        ValueError, match=r"X must have a different label .* got 'a' 2 times\. .* X\.to_numpy"
    ):
        made(name).fit(twice, Y)
    assert made(name).fit(twice.to_numpy(), Y).n_features_in_ == 6
    for data in (PLAIN.iloc[:, :0], PLAIN.iloc[:0]):
        with pytest.raises(ValueError, match=r"(?i)X must have at least one row and one column|0 sample"):
            made(name).fit(data, Y[: len(data)])


@pytest.mark.parametrize("argument", ["y", "sample_weight"])
def test_vectors_of_each_kind(argument):
    """Both vectors may be Series of pandas or polars; Decimals are refused with a remedy that works."""
    values = {"y": Y, "sample_weight": WEIGHT}
    exact = [Decimal(repr(float(value))) for value in values[argument]]

    def selected(vector, select=sl.omp):
        return str(select(PLAIN, **(values | {argument: vector}), k=3))

    expected = selected(values[argument])
    for vector in (pandas.Series, polars.Series, lambda v: pandas.Series(v, dtype="Float64")):
        assert selected(vector(values[argument])) == expected
    with pytest.raises(TypeError, match=rf"{argument} must .* Pass {argument}\.astype\(float\)"):
        selected(pandas.Series(exact))
    with pytest.raises(TypeError, match=rf"{argument} must .* Pass {argument}\.cast\(float\)"):
        selected(polars.Series(exact))
    with pytest.raises(TypeError, match=rf"{argument} must .* Pass np\.asarray\({argument}, float\)"):
        selected(exact)
    assert selected(pandas.Series(exact).astype(float)) == selected(np.asarray(exact, float)) == expected
    assert selected(polars.Series(exact).cast(float)) == expected
    with pytest.raises(ValueError, match=f"{argument} must be finite"):
        selected(polars.Series(values[argument]).shift(1))
    with pytest.raises(TypeError, match=rf"{argument} .* If they are amounts, pass {argument}\.astype"):
        selected(pandas.Series(pandas.Categorical(values[argument])))


ORDER = [2, 0, 1, 4, 3, 5]
COUNTED = pandas.DataFrame(X)
RESULTS = [
    lambda data: sl.omp(data, Y, 3),
    lambda data: sl.ols(data, Y, 3),
    lambda data: sl.best_subset(data, Y, 3),
]


def assert_refused(predict, data, array, order):
    """Check the refusal, and both proposals: by label and by position."""
    words = f"X[{order}]" if order != list(range(6)) else "X[list(range(6))]"
    with pytest.raises(ValueError, match="by label and by position these are different columns") as error:
        predict(data)
    assert f"Pass {words} to take them by label, or X.to_numpy() to take them" in str(error.value)
    assert same(predict(data.to_numpy()), predict(array))
    predict(data[order])


@pytest.mark.parametrize("fit", RESULTS)
def test_results_refuse_integer_labels_in_another_order(fit):
    """A fit without names may have been meant by label or by position, and so may a frame without names."""
    array = X[:, ORDER]
    for data in (COUNTED, X):
        predict = fit(data).predict
        assert_refused(predict, COUNTED[ORDER], array, list(range(6)))
        assert same(predict(COUNTED[ORDER][list(range(6))]), predict(X))
    predict = fit(COUNTED[ORDER]).predict
    assert_refused(predict, COUNTED, X, ORDER)
    assert same(predict(COUNTED[ORDER]), predict(array))


@pytest.mark.parametrize("name", FITTED)
def test_estimators_refuse_integer_labels_in_another_order(name):
    array = X[:, ORDER]
    for data in (COUNTED, X):
        assert_refused(made(name).fit(data, Y).predict, COUNTED[ORDER], array, list(range(6)))
    model = made(name).fit(COUNTED[ORDER], Y)
    assert_refused(model.predict, COUNTED, X, ORDER)
    if hasattr(model, "transform"):
        with pytest.raises(ValueError, match="by label and by position"):
            model.transform(COUNTED)
    lengths = COUNTED.set_axis([1100 + j for j in range(6)], axis=1)
    model = made(name).fit(lengths, Y)
    with pytest.raises(ValueError, match="X must have the columns of the fit, '1100', "):
        model.predict(lengths[lengths.columns[::-1]])
    assert same(model.predict(lengths), model.predict(X))
    assert made(name).fit(PLAIN, Y).fit(lengths, Y)._names == tuple(map(str, lengths.columns))
