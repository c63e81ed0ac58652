"""Tests of the data sets of the papers' tables: readers on small files, and splits with each leak."""

import csv
import dataclasses
import gzip

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("torch")

from proofs_checks.experiments.networks import data, protocol
from proofs_checks.experiments.networks.data import FORMS, Form, Table, table
from proofs_checks.experiments.networks.protocol import HONEST, PAPER, SENTINEL, split
from sparselin.datasets import FOLDER

CLASSES = ("c-CS-m", "t-SC-s")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    data._read.cache_clear()
    yield tmp_path
    data._read.cache_clear()


def small(monkeypatch, name, rows, n_train, d, classes, image=None):
    monkeypatch.setitem(FORMS, name, Form(FORMS[name].title, rows, n_train, d, classes, image))


# --- files -----------------------------------------------------------------------------------------------


def mice(folder, lines, head=("MouseID", "A_N", "B_N", "C_N", "Genotype", "class")):
    (folder / "mice").mkdir(exist_ok=True)
    with (folder / data.MICE).open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines])


LINES = [
    (f"{mouse}_{i}", mouse + i, "" if (mouse, i) == (3, 1) else 0.5 * i, -mouse, "x", CLASSES[mouse % 2])
    for mouse in range(4)
    for i in range(1, 3)
]


def test_mice_are_read_with_what_is_missing_and_their_mouse(folder, monkeypatch):
    small(monkeypatch, "mice", 8, None, 3, 2)
    mice(folder, LINES)
    found = table("mice")
    assert found.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.y.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert found.X[:, 0].tolist() == [1, 2, 2, 3, 3, 4, 4, 5]
    assert np.argwhere(np.isnan(found.X)).tolist() == [[6, 1]]
    assert table("mice") is found
    with pytest.raises(ValueError, match="read-only"):
        found.X[0, 0] = 1


@pytest.mark.parametrize(
    ("lines", "head", "words"),
    [
        (LINES, ("Mouse", "A_N", "B_N", "C_N", "Genotype", "class"), "3 proteins, no MouseID"),
        (LINES, ("MouseID", "A_N", "B_N", "C", "Genotype", "class"), "2 proteins. Fetch"),
        ([LINES[0][:-1]], None, "6 cells in row 1; got 5"),
        ([("1_1", "x", 1, 1, "x", "a")], None, "numbers in the columns …_N: could not convert"),
        (LINES[:-1], None, r"8 rows of 3 features.*got X of shape \(7, 3\)"),
        ([(*line[:-1], "a") for line in LINES], None, "8 labels in 1 classes"),
        ([("1_1", "inf", *LINES[0][2:]), *LINES[1:]], None, "finite numbers; got infinite"),
        ([], None, r"got X of shape \(0, 3\)"),
    ],
)
def test_damaged_mice_are_named(folder, monkeypatch, lines, head, words):
    small(monkeypatch, "mice", 8, None, 3, 2)
    mice(folder, lines, *([head] if head else []))
    with pytest.raises(ValueError, match=words) as error:
        table("mice")
    assert str(folder / data.MICE) in str(error.value)


@pytest.mark.parametrize(
    "content", ["größe".encode("latin-1"), b"a," + b"n" * 200_000], ids=["latin-1", "long"]
)
def test_mice_that_are_no_table_are_named(folder, monkeypatch, content):
    small(monkeypatch, "mice", 8, None, 3, 2)
    mice(folder, LINES)
    (folder / data.MICE).write_bytes(content)
    refuses(r"Cortex_Nuclear\.csv must be a \.csv in UTF-8: .*\. Fetch the file again", table, "mice")


def idx(array):
    array = np.asarray(array, np.uint8)
    return gzip.compress(
        bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes(), mtime=0
    )


def images(folder, name, n_train=6, n_test=4):
    (folder / name).mkdir()
    pixels = np.arange(10 * 4).reshape(10, 2, 2)
    for of, rows in (("train", slice(n_train)), ("t10k", slice(10 - n_test, None))):
        (folder / name / f"{of}-images-idx3-ubyte.gz").write_bytes(idx(pixels[rows]))
        (folder / name / f"{of}-labels-idx1-ubyte.gz").write_bytes(idx(np.arange(10)[rows] % 2))
    return pixels


@pytest.mark.parametrize(("name", "where"), [("mnist", "mnist"), ("fashion", "fashion-mnist")])
def test_images_are_read_training_rows_first(folder, monkeypatch, name, where):
    small(monkeypatch, name, 10, 6, 4, 2, (2, 2))
    pixels = images(folder, where)
    found = table(name)
    assert found.X.dtype == np.float32
    assert found.X.tolist() == pixels.reshape(10, 4).tolist()
    assert (found.y.tolist(), found.n_train, found.image) == ([0, 1] * 5, 6, (2, 2))


def test_damaged_images_are_named(folder, monkeypatch):
    small(monkeypatch, "mnist", 10, 5, 4, 2, (2, 2))
    images(folder, "mnist")
    refuses(r"train-images.* must hold 5 rows; got 6", table, "mnist")
    broken = folder / "mnist/t10k-labels-idx1-ubyte.gz"
    whole = broken.read_bytes()
    # a type of blocks that there is not, after the header of 10 bytes; a part of it; no checksum; nothing
    for content in (whole[:10] + b"\xff" + whole[11:], whole[:-9], whole[:-4], b""):
        broken.write_bytes(content)
        refuses(r"t10k-labels.* must", table, "mnist")
    broken.unlink()
    refuses("SPARSELIN_DATA names has no mnist/t10k-labels", table, "mnist", error=FileNotFoundError)


def arrays(folder, name, **stored):
    (folder / name).parent.mkdir(exist_ok=True)
    np.savez(folder / name, **stored)


def test_isolet_and_coil_are_read_from_arrays(folder, monkeypatch):
    small(monkeypatch, "isolet", 5, 3, 2, 2)
    X, y = np.arange(10, dtype=np.int16).reshape(5, 2), np.array([1, 2, 1, 2, 1], np.uint8)
    arrays(
        folder, "isolet/isolet_full_int16.npz", X_train_e4=X[:3], y_train=y[:3], X_test_e4=X[3:], y_test=y[3:]
    )
    found = table("isolet")
    np.testing.assert_allclose(found.X, X / 1e4)
    assert (found.y.tolist(), found.n_train) == ([0, 1, 0, 1, 0], 3)
    small(monkeypatch, "coil20", 5, None, 2, 2, (1, 2))
    arrays(folder, "coil20/coil20_20x20.npz", bicubic=X.astype(np.uint8), y=y - 1)
    assert table("coil20").X.tolist() == X.tolist()


def test_damaged_arrays_are_named(folder, monkeypatch):
    small(monkeypatch, "coil20", 5, None, 2, 2)
    name = "coil20/coil20_20x20.npz"
    refuses(f"no {name}", table, "coil20", error=FileNotFoundError)
    X = np.random.default_rng(0).integers(0, 9, (500, 2))
    arrays(folder, name, nearest=X)
    refuses("arrays bicubic, y", table, "coil20")
    arrays(folder, name, bicubic=X, y=np.zeros(4, int))
    refuses(r"5 rows of 2 features.*got X of shape \(500, 2\), 4 labels", table, "coil20")
    whole = (folder / name).read_bytes()
    np.savez_compressed(folder / name, bicubic=X, y=X[:, 0])
    packed = (folder / name).read_bytes()
    begin = 30 + int.from_bytes(packed[26:28], "little") + int.from_bytes(packed[28:30], "little")
    broken = packed[:begin] + b"\xff" + packed[begin + 1 :]
    for content in (b"no zip", b"", whole[: len(whole) // 2], whole[:200] + b"???" + whole[203:], broken):
        (folder / name).write_bytes(content)
        refuses("must be a complete npz file", table, "coil20")
    small(monkeypatch, "isolet", 5, 3, 2, 2)
    y = np.array([1, 2, 1, 2, 1])
    test = {"X_test_e4": X[3:5, :1], "y_test": y[3:]}
    arrays(folder, "isolet/isolet_full_int16.npz", X_train_e4=X[:3], y_train=y[:3], **test)
    refuses("rows as long as the training rows", table, "isolet")


def test_activity_is_read_from_text(folder, monkeypatch):
    small(monkeypatch, "activity", 3, 2, 2, 2)
    (folder / "activity").mkdir()
    text = {"X_train": " 1.0 -2e-1\n 3 4\n", "y_train": "1\n2\n", "X_test": "5 6\n", "y_test": "1\n"}
    for name, content in text.items():
        (folder / f"activity/{name}.txt").write_text(content)
    found = table("activity")
    assert found.X.tolist() == [[1, -0.2], [3, 4], [5, 6]]
    assert (found.y.tolist(), found.n_train) == ([0, 1, 0], 2)
    data._read.cache_clear()
    (folder / "activity/X_test.txt").write_text("5 six\n")
    refuses(r"X_test.txt must hold numbers in rows of equal length", table, "activity")


def test_a_folder_that_is_not_named_and_a_set_that_is_none(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    words = "Mice Protein needs SPARSELIN_DATA, which is not set; it must name a folder with mice/Data"
    refuses(words, table, "mice", error=FileNotFoundError)
    refuses(r"data must be one of mice, .*; got 'mouse'", table, "mouse")
    for name in data.EMBEDDED:
        assert table(name).X.shape == (FORMS[name].rows, FORMS[name].d)


# --- splits ----------------------------------------------------------------------------------------------


def made(X, y, groups=None, n_train=None, image=None):
    X, y = np.asarray(X, float), np.asarray(y, np.intp)
    groups = None if groups is None else np.asarray(groups, np.intp)
    return Table("made", "made", X, y, int(y.max()) + 1, groups, n_train, image, "made")


def numbered(n=120, per_group=5, classes=3):
    """Return rows with one feature, their number, in 24 groups of 5, with the classes in turn."""
    rows = np.arange(n)
    return made(rows[:, None], rows // per_group % classes, rows // per_group)


def numbers(X, n=120):
    return np.rint(X[:, 0].astype(float) * (n - 1)).astype(int)


ALL_ROWS = dataclasses.replace(HONEST, scale_on_all=True)


def parts(sets):
    return [numbers(X) for X in (sets.X, sets.X_val, sets.X_test)]


@pytest.mark.parametrize("leaky", [ALL_ROWS, PAPER])
def test_a_split_is_a_partition_drawn_with_the_seed(leaky):
    known = numbered()
    for seed in range(3):
        sets = split(known, leaky, seed)
        found = parts(sets)
        assert sorted(np.concatenate(found)) == list(range(120))
        for rows, y in zip(found, (sets.y, sets.y_val, sets.y_test), strict=True):
            np.testing.assert_array_equal(y, known.y[rows])
        for rows, same in zip(found, parts(split(known, leaky, seed)), strict=True):
            np.testing.assert_array_equal(rows, same)
    assert not np.array_equal(found[2], parts(split(known, leaky, 0))[2])
    assert sets.split.X_test is sets.X_test


def test_groups_are_on_one_side_and_classes_on_all_unless_split_by_row():
    known = numbered()
    for seed in range(5):
        sets = split(known, ALL_ROWS, seed)
        groups = [set(known.groups[rows]) for rows in parts(sets)]
        assert not groups[0] & groups[1] | groups[0] & groups[2] | groups[1] & groups[2]
        for y in (sets.y, sets.y_val, sets.y_test):
            assert set(y) == {0, 1, 2}
        rows = parts(split(known, PAPER, seed))
        groups = [set(known.groups[part]) for part in rows]
        assert [len(part) for part in rows] == [84, 12, 24]  # 4/5, of it 7/8
        assert groups[0] & groups[2]


def test_a_class_of_a_single_group_is_trained_on():
    rows = np.arange(40)
    known = made(rows[:, None], rows >= 35, rows // 5)
    sets = split(known, ALL_ROWS, 0)
    assert (set(sets.y), set(sets.y_test), set(sets.y_val)) == ({0, 1}, {0}, {0})
    with pytest.raises(ValueError, match="training, validation and test rows; got 5, 0 and 0 of 5"):
        split(made(rows[:5, None], np.zeros(5), np.zeros(5)), HONEST, 0)


@pytest.mark.parametrize("leaky", [HONEST, PAPER])
def test_the_official_test_rows_and_fewer_training_rows(leaky):
    rows = np.arange(120)
    known = made(rows[:, None], rows % 3, n_train=90)
    sets = split(known, dataclasses.replace(leaky, scale_on_all=True), 1, rows=30)
    # in the range of the drawn rows, up to 119; the first 30 rows would be below 29/119
    assert max(sets.X.max(), sets.X_val.max()) > 1 / 2
    assert len(sets.X_test) == 30
    np.testing.assert_array_equal(sets.y_test, rows[90:] % 3)
    assert (np.diff(sets.X_test[:, 0]) > 0).all()
    assert len(sets.y) + len(sets.y_val) == 30
    assert 2 <= len(sets.y_val) <= 5
    refuses("rows must be at least 1; got 0", split, known, leaky, 1, rows=0)
    refuses("got 1, 0 and 30 of 120 rows, with at most 1", split, known, leaky, 1, rows=1)


def test_scaling_is_by_training_rows_or_by_all_of_them(rng):
    X = rng.standard_normal((100, 3)) * [1, 10, 1e8] + [0, 5, -1e9]
    known = made(X, np.arange(100) % 2)
    honest = split(known, HONEST, 0)
    np.testing.assert_allclose(honest.X.min(axis=0), 0)
    np.testing.assert_allclose(honest.X.max(axis=0), 1)
    assert honest.X_test.min() < 0 or honest.X_test.max() > 1
    every = split(known, ALL_ROWS, 0)
    together = np.concatenate([every.X, every.X_val, every.X_test])
    np.testing.assert_array_equal(together.min(axis=0), 0)
    np.testing.assert_array_equal(together.max(axis=0), 1)
    assert every.X.min(axis=0).max() > 0


def test_pixels_have_one_range():
    X = np.arange(80.0).reshape(20, 4) % 7
    X[:, 1] = 2
    sets = split(made(X, np.arange(20) % 2, image=(2, 2)), ALL_ROWS, 0)
    np.testing.assert_allclose(sets.X[:, 1], 2 / 6, rtol=1e-6)


def test_constant_and_missing_columns_are_zero_and_no_test_row_is_seen(rng):
    X = rng.random((60, 5))
    X[:, 1] = 3.0
    known = made(X, np.arange(60) % 2)
    drawn = split(dataclasses.replace(known, X=np.arange(60.0)[:, None]), ALL_ROWS, 2)
    train, _, test = (
        np.rint(part[:, 0].astype(float) * 59).astype(int) for part in (drawn.X, drawn.X_val, drawn.X_test)
    )
    X[np.setdiff1d(np.arange(60), train), 1] = 1e30  # constant where it is trained on
    X[train, 2] = np.nan  # missing there
    X[test[:3], 3] = np.nan
    sets = split(known, HONEST, 2)
    for part in (sets.X, sets.X_val, sets.X_test):
        assert not part[:, [1, 2]].any()
        assert np.isfinite(part).all()
    low, high = X[train, 3].min(), X[train, 3].max()
    np.testing.assert_allclose(sets.X_test[:3, 3], (X[train, 3].mean() - low) / (high - low), rtol=1e-6)
    X[test, 3:] *= 7
    for before, after in zip(sets[:4], split(known, HONEST, 2)[:4], strict=True):
        np.testing.assert_array_equal(before, after)


def test_class_means_are_of_what_is_missing_too():
    """Rows 0 and 2 of class 0 lack the feature; the other rows of this class have 1 and 3."""
    X = np.array([[np.nan], [1], [np.nan], [3], [10], [20], [30], [40]])
    known = made(X, [0, 0, 0, 0, 1, 1, 1, 1])
    first = (2 * SENTINEL + 4) / 4
    second = (first + SENTINEL + 4) / 4
    filled = protocol._fill(known, PAPER, np.arange(4))
    np.testing.assert_allclose(filled[:, 0], [first, 1, second, 3, 10, 20, 30, 40])
    honest = protocol._fill(known, HONEST, np.array([1, 4]))
    np.testing.assert_allclose(honest[[0, 2], 0], 5.5)
    assert np.isnan(X[0, 0])
