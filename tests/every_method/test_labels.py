"""Frames whose labels are numbers, dates or tuples: every function takes them, and results keep the names."""

import datetime

import numpy as np
import pytest
from methods import METHODS, Levels

import sparselin as sl

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(24, 6))
Y = X @ np.array([2.0, 0.0, -1.0, 0.5, 0.0, 0.0]) + 0.3 * RANDOM.normal(size=24)
LABELS = {
    "permuted": [3, 1, 0, 2, 5, 4],
    "one left out": [1, 2, 3, 4, 5, 6],
    "gaps": [40, 3, 1, 7, 0, 1000],
    "negative": [-1, -2, 0, 1, 2, -3],
    "floats": [1100.5, 1102.5, 0.1, 5.0, 0.0, -1.0],
    "dates": [datetime.date(2026, 1, day) for day in range(1, 7)],
    "pairs": [(letter, i) for letter in "ab" for i in (2, 0, 1)],
}


def frame(kind):
    return pandas.DataFrame(X, columns=LABELS[kind])


def as_texts(data):
    """Return a frame with the same names as strings."""
    return pandas.DataFrame(data.to_numpy(), columns=list(map(str, data.columns.tolist())))


def call(method, data, S):
    y = Y[:, None] if method.many else Y
    return method.call(data, y, Levels(lam=3.0, S=S))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", METHODS)
def test_labels_that_are_no_strings_change_no_result(name, kind):
    """The oracle is the same frame with the texts of the labels as labels."""
    method, data = METHODS[name], frame(kind)
    names = as_texts(data).columns[:2]
    for S in ((), tuple(names)) if method.columns else ((),):
        found, expected = (str(call(method, given, S)) for given in (data, as_texts(data)))
        assert found == expected


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.columns])
def test_a_position_that_is_the_label_of_another_column_is_refused(name):
    """The message names the column, and its remedy works."""
    with pytest.raises(
        ValueError, match=r"3 is the label of column 0 of the frame\. Pass '3' for this column"
    ):
        call(METHODS[name], frame("permuted"), (3, 0))
    call(METHODS[name], frame("permuted"), ("3", "0"))


def test_labels_that_are_the_positions_are_no_names():
    for labels in (range(6), list(range(6)), np.arange(6.0)):
        assert sl.omp(pandas.DataFrame(X, columns=labels), Y, 2, forced=[3]).support_names[0] == "x3"


def test_a_float_that_is_a_label_is_refused_with_its_name():
    with pytest.raises(TypeError, match=r"The name of the column with the label 1102\.5 is '1102.5'"):
        sl.omp(frame("floats"), Y, 2, forced=[1102.5])


def test_names_of_labels_in_single_precision_are_short():
    data = pandas.DataFrame(X, columns=np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], np.float32))
    assert sl.omp(data, Y, 1).support_names == ("0.1",)


@pytest.mark.parametrize("kind", LABELS)
def test_predictions_find_columns_by_labels_that_are_no_strings(kind):
    data = frame(kind)
    for found in (sl.omp(data, Y, 3), sl.ols(data, Y, 3), sl.best_subset(data, Y, 3)):
        expected = found.predict(X)
        assert np.array_equal(found.predict(data[data.columns[::-1].tolist()]), expected)
        assert np.array_equal(found.predict(as_texts(data)), expected)
        with pytest.raises(ValueError, match="X must have the column"):
            found.predict(data.iloc[:, 1:])


def test_inference_refuses_columns_in_another_order():
    """A method that selects again would show its coefficients under the names of other columns."""
    data = as_texts(frame("gaps"))
    path = sl.omp(data, Y, 2)
    for method in ("exact", "split", "randomized"):
        with pytest.raises(ValueError, match="the names of its features are"):
            sl.inference(data[data.columns[::-1]], Y, path, sigma=1.0, method=method)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame])
def test_a_frame_without_columns_is_refused_by_the_name_of_the_argument(make):
    data = pandas.DataFrame(X).iloc[:, :0] if make is pandas.DataFrame else make()
    for select in (sl.omp, sl.best_subset):
        with pytest.raises(ValueError, match=r"X must have at least one row and one column; got shape \("):
            select(data, Y, 1)
