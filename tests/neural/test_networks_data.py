"""Tests of the data sets of the papers' tables: readers on small files, and splits with each leak."""

import csv
import dataclasses

import numpy as np
import pytest
from diversity_runs import idx
from refusals import refuses

from proofs_checks.experiments.networks import data, protocol
from proofs_checks.experiments.networks.data import FORMS, Form, Table, table
from proofs_checks.experiments.networks.protocol import HONEST, PAPER, SENTINEL, split
from sparselin.ensembles.datasets import FOLDER


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    data._read.cache_clear()
    yield tmp_path
    data._read.cache_clear()


def small(monkeypatch, name, rows, n_train, d, classes, image=None):
    monkeypatch.setitem(
        FORMS,
        name,
        Form(title=FORMS[name].title, rows=rows, n_train=n_train, d=d, classes=classes, image=image),
    )


# --- files -----------------------------------------------------------------------------------------------


HEAD = ("MouseID", "A_N", "B_N", "C_N", "Genotype", "class")


def mice(folder, monkeypatch, lines, head=HEAD):
    small(monkeypatch, "mice", 8, None, 3, 2)
    (folder / "mice").mkdir()
    with (folder / data.MICE).open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines])


LINES = [
    (f"{mouse}_{i}", mouse + i, "" if (mouse, i) == (3, 1) else 0.5 * i, -mouse, "x", "ct"[mouse % 2])
    for mouse in range(4)
    for i in range(1, 3)
]


def test_mice_are_read_with_what_is_missing_and_their_mouse(folder, monkeypatch):
    mice(folder, monkeypatch, LINES)
    found = table("mice")
    assert found.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.y.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert found.X[:, 0].tolist() == [1, 2, 2, 3, 3, 4, 4, 5]
    assert np.argwhere(np.isnan(found.X)).tolist() == [[6, 1]]
    assert table("mice") is found
    assert not found.X.flags.writeable


DAMAGED = [
    (LINES, ("Mouse", *HEAD[1:]), "3 proteins, no MouseID"),
    (LINES, (*HEAD[:3], "C", *HEAD[4:]), "2 proteins. Fetch"),
    ([LINES[0][:-1]], HEAD, "6 cells in row 1; got 5"),
    ([("1_1", "x", 1, 1, "x", "a")], HEAD, "numbers in the columns …_N: could not convert"),
    ([("1_1", "inf", *LINES[0][2:]), *LINES[1:]], HEAD, "finite numbers; got infinite"),
    ([("a", "n" * 200_000)], HEAD, r"a \.csv in UTF-8: .*\. Fetch the file again"),
]


@pytest.mark.parametrize(("lines", "head", "words"), DAMAGED)
def test_damaged_mice_are_named(folder, monkeypatch, lines, head, words):
    mice(folder, monkeypatch, lines, head)
    refuses(rf"{data.MICE} must.*{words}", table, "mice")


def images(folder, name):
    """Store ten images, six of them for training."""
    (folder / name).mkdir()
    pixels = np.arange(10 * 4).reshape(10, 2, 2)
    for of, rows in (("train", slice(6)), ("t10k", slice(6, 10))):
        (folder / name / f"{of}-images-idx3-ubyte.gz").write_bytes(idx(pixels[rows]))
        (folder / name / f"{of}-labels-idx1-ubyte.gz").write_bytes(idx(np.arange(10)[rows] % 2))
    return pixels


@pytest.mark.parametrize(("name", "where"), [("mnist", "mnist"), ("fashion", "fashion-mnist")])
def test_images_are_read_training_rows_first(folder, monkeypatch, name, where):
    """Damaged files are in tests/studies/test_datasets.py."""
    small(monkeypatch, name, 10, 6, 4, 2, (2, 2))
    pixels = images(folder, where)
    found = table(name)
    assert (found.X.dtype, found.X.tolist()) == (np.float32, pixels.reshape(10, 4).tolist())
    assert (found.y.tolist(), found.n_train, found.image) == ([0, 1] * 5, 6, (2, 2))
    data._read.cache_clear()
    small(monkeypatch, name, 10, 5, 4, 2, (2, 2))
    refuses(r"train-images.* must hold 5 rows; got 6", table, name)


def arrays(folder, name, **stored):
    (folder / name).parent.mkdir(exist_ok=True)
    np.savez(folder / name, **stored)


X, Y = np.arange(10, dtype=np.int16).reshape(5, 2), np.array([1, 2, 1, 2, 1], np.uint8)
ISOLET = {"X_train_e4": X[:3], "y_train": Y[:3], "X_test_e4": X[3:], "y_test": Y[3:]}


def test_isolet_and_coil_are_read_from_arrays(folder, monkeypatch):
    """Damaged npz files are in tests/studies/test_saved_design.py."""
    isolet, coil = "isolet/isolet_full_int16.npz", "coil20/coil20_20x20.npz"
    small(monkeypatch, "isolet", 5, 3, 2, 2)
    small(monkeypatch, "coil20", 5, None, 2, 2, (1, 2))
    refuses(f"no {coil}", table, "coil20", error=FileNotFoundError)
    for wrong, words in (
        ({"nearest": X}, "must be a complete npz file with the arrays bicubic, y"),
        ({"bicubic": np.zeros((500, 2)), "y": Y[:4] - 1}, r"5 rows of 2 features.*\(500, 2\), 4 labels"),
    ):
        arrays(folder, coil, **wrong)
        refuses(words, table, "coil20")
    arrays(folder, isolet, **ISOLET | {"X_test_e4": X[3:, :1]})
    refuses("rows as long as the training rows", table, "isolet")
    arrays(folder, isolet, **ISOLET)
    arrays(folder, coil, bicubic=X.astype(np.uint8), y=Y - 1)
    np.testing.assert_allclose(table("isolet").X, X / 1e4)
    assert (table("isolet").y.tolist(), table("isolet").n_train) == ([0, 1, 0, 1, 0], 3)
    assert table("coil20").X.tolist() == X.tolist()


def test_activity_is_read_from_text(folder, monkeypatch):
    small(monkeypatch, "activity", 3, 2, 2, 2)
    (folder / "activity").mkdir()
    text = {"X_train": " 1.0 -2e-1\n 3 4\n", "y_train": "1\n2\n", "X_test": "5 six\n", "y_test": "1\n"}
    for name, content in text.items():
        (folder / f"activity/{name}.txt").write_text(content)
    refuses(r"X_test.txt must hold numbers in rows of equal length", table, "activity")
    (folder / "activity/X_test.txt").write_text("5 6\n")
    found = table("activity")
    assert found.X.tolist() == [[1, -0.2], [3, 4], [5, 6]]
    assert (found.y.tolist(), found.n_train) == ([0, 1, 0], 2)


def test_a_folder_that_is_not_named_and_a_set_that_is_none(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    words = "Mice Protein needs SPARSELIN_DATA, which is not set; it must name a folder with mice/Data"
    refuses(words, table, "mice", error=FileNotFoundError)
    refuses(r"data must be one of mice, .*; got 'mouse'", table, "mouse")


# --- splits ----------------------------------------------------------------------------------------------


def made(X, y, groups=None, n_train=None, image=None):
    X, y = np.asarray(X, float), np.asarray(y, np.intp)
    return Table(
        name="made",
        title="made",
        X=X,
        y=y,
        classes=int(y.max()) + 1,
        groups=groups,
        n_train=n_train,
        image=image,
        note="made",
    )


def numbered(n=120, **options):
    """Return rows with one feature, their number, in groups of 5, with three classes in turn."""
    rows = np.arange(n)
    return made(rows[:, None], rows // 5 % 3, **{"groups": rows // 5} | options)


ALL_ROWS = dataclasses.replace(HONEST, scale_on_all=True)


def parts(sets):
    """Return the numbers of the rows of `numbered` in each part."""
    return [np.rint(X[:, 0].astype(float) * 119).astype(int) for X in (sets.X, sets.X_val, sets.X_test)]


@pytest.mark.parametrize("seed", range(5))
def test_a_split_is_a_partition_drawn_with_the_seed(seed):
    """Groups are on one side, and classes are on all sides, unless rows are split one by one."""
    known = numbered()
    for leaky in (ALL_ROWS, PAPER):
        sets, again, other = (split(known, leaky, s) for s in (seed, seed, seed + 1))
        assert sorted(np.concatenate(parts(sets))) == list(range(120))
        for rows, y, same in zip(parts(sets), sets[1::2], parts(again), strict=True):
            np.testing.assert_array_equal(y, known.y[rows])
            np.testing.assert_array_equal(rows, same)
        assert not np.array_equal(parts(sets)[2], parts(other)[2])
        train, validation, test = (set(known.groups[rows]) for rows in parts(sets))
        assert (leaky is PAPER) == bool(train & validation | train & test | validation & test)
        assert leaky is PAPER or [set(y) for y in sets[1::2]] == [{0, 1, 2}] * 3
    assert [len(part) for part in parts(sets)] == [84, 12, 24]  # 4/5, of it 7/8


def test_a_class_of_a_single_group_is_trained_on():
    sets = split(dataclasses.replace(numbered(40), y=np.arange(40) // 35), ALL_ROWS, 0)
    assert (set(sets.y), set(sets.y_test), set(sets.y_val)) == ({0, 1}, {0}, {0})
    refuses("training, validation and test rows; got 5, 0 and 0 of 5", split, numbered(5), HONEST, 0)


@pytest.mark.parametrize("leaky", [ALL_ROWS, PAPER])
def test_the_official_test_rows_and_fewer_training_rows(leaky):
    known = numbered(groups=None, n_train=90)
    sets = split(known, leaky, 1, rows=30)
    # in the range of the drawn rows, up to 119; the first 30 rows would be below 29/119
    assert max(sets.X.max(), sets.X_val.max()) > 1 / 2
    np.testing.assert_array_equal(sets.y_test, known.y[90:])
    assert (np.diff(sets.X_test[:, 0]) > 0).all()
    assert len(sets.y) + len(sets.y_val) == 30
    assert 2 <= len(sets.y_val) <= 5
    refuses("rows must be at least 1; got 0", split, known, leaky, 1, rows=0)
    refuses("got 1, 0 and 30 of 120 rows, with at most 1", split, known, leaky, 1, rows=1)


@pytest.mark.parametrize(("share", "counts"), [(0.8, [700, 100, 200]), (0.4, [350, 50, 600])])
def test_the_split_of_images_is_of_official_test_rows(share, counts):
    """The official test rows are split 70-10-20, or 35-5-60 with the share of the released code."""
    protocol = dataclasses.replace(PAPER, test_images=share)
    known = numbered(1797, groups=None, n_train=797, image=(1, 1))
    sets = split(known, protocol, seed=1)
    assert [len(y) for y in sets[1::2]] == counts
    assert len(np.unique(np.concatenate(sets[:6:2]))) == 1000
    assert len(split(dataclasses.replace(known, image=None), protocol, 1).y_test) == 1000


def test_scaling_is_by_training_rows_or_by_all_of_them(rng):
    known = made(rng.standard_normal((100, 3)) * [1, 10, 1e8] + [0, 5, -1e9], np.arange(100) % 2)
    honest, every = (split(known, protocol, 0) for protocol in (HONEST, ALL_ROWS))
    together = np.concatenate(every[:6:2])
    for X, rtol in ((honest.X, 1e-7), (together, 0)):
        np.testing.assert_allclose(X.min(axis=0), 0)
        np.testing.assert_allclose(X.max(axis=0), 1, rtol=rtol)
    assert honest.X_test.min() < 0 or honest.X_test.max() > 1
    assert every.X.min(axis=0).max() > 0


def test_pixels_have_one_range():
    known = made(np.column_stack([np.arange(20) % 7, np.full(20, 2)]), np.arange(20) % 2, image=(1, 2))
    np.testing.assert_allclose(split(known, ALL_ROWS, 0).X[:, 1], 2 / 6, rtol=1e-6)


def test_constant_and_missing_columns_are_zero_and_no_test_row_is_seen(rng):
    X, y = rng.random((120, 5)), np.arange(120) % 2
    train, _, test = parts(split(made(np.arange(120)[:, None], y), ALL_ROWS, 2))
    X[:, 1] = 1e30
    X[train, 1:3] = 3.0, np.nan  # constant and missing where it is trained on
    X[test[:3], 3] = np.nan
    sets = split(made(X, y), HONEST, 2)
    for part in (sets.X, sets.X_val, sets.X_test):
        assert not part[:, [1, 2]].any()
        assert np.isfinite(part).all()
    low, high = X[train, 3].min(), X[train, 3].max()
    np.testing.assert_allclose(sets.X_test[:3, 3], (X[train, 3].mean() - low) / (high - low), rtol=1e-6)
    X[test, 3:] *= 7
    for before, after in zip(sets[:4], split(made(X, y), HONEST, 2)[:4], strict=True):
        np.testing.assert_array_equal(before, after)


def test_class_means_are_of_what_is_missing_too():
    """Rows 0 and 2 of class 0 lack the feature; the other rows of this class have 1 and 3."""
    known = made([[np.nan], [1], [np.nan], [3], [10], [20], [30], [40]], np.arange(8) // 4)
    first = (2 * SENTINEL + 4) / 4
    filled = protocol._fill(known, PAPER, np.arange(4))
    expected = [first, 1, (first + SENTINEL + 4) / 4, 3, 10, 20, 30, 40]
    np.testing.assert_allclose(filled[:, 0], expected)
    np.testing.assert_allclose(protocol._fill(known, HONEST, np.array([1, 4]))[[0, 2], 0], 5.5)
    assert np.isnan(known.X[0, 0])
