"""The images of the study of diversity: files, samples."""

import dataclasses
import gzip

import numpy as np
import pytest
from diversity_runs import idx, pictures, store
from refusals import refuses

from proofs_checks.experiments.diversity.run import sample
from sparselin.ensembles.datasets import FOLDER, MNIST, Images, images, read_idx


def test_idx_files_are_read(tmp_path, rng):
    array = rng.integers(0, 256, (3, 2, 5))
    (tmp_path / "x.gz").write_bytes(idx(array))
    np.testing.assert_array_equal(read_idx(tmp_path / "x.gz"), array)


NO_IDX = [
    (b"plain", "must be a complete gzip file"),
    (gzip.compress(b"", mtime=0), "begins with nothing"),
    (idx(np.zeros(3), kind=13), "IDX file of bytes; it begins with 00000d01"),
    (gzip.compress(b"\0\0\x08\x03\0\0", mtime=0), "IDX file of bytes"),
    (
        gzip.compress(gzip.decompress(idx(np.zeros((4, 3))))[:-1], mtime=0),
        r"must hold \(4, 3\) bytes.*it holds 11",
    ),
]


@pytest.mark.parametrize(("data", "words"), NO_IDX)
def test_files_that_are_no_idx(tmp_path, data, words):
    (tmp_path / "x.gz").write_bytes(data)
    refuses(words, read_idx, tmp_path / "x.gz")


def test_mnist_comes_from_the_folder_that_is_named(tmp_path, monkeypatch, rng):
    pixels, labels = rng.integers(0, 256, (7, 28, 28)), rng.integers(0, 10, 7)
    store(tmp_path, idx(pixels), idx(labels))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    found = images()
    assert found.name == "MNIST"
    np.testing.assert_array_equal(found.pixels, pixels)
    np.testing.assert_array_equal(found.labels, labels)
    assert images("digits").name == "digits"
    (tmp_path / MNIST[1]).write_bytes(idx(labels[:-1]))
    refuses("as many images as labels", images)


def test_without_mnist_the_digits_say_why(tmp_path, monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    found = images()
    assert (found.name, found.pixels.shape) == ("digits", (1797, 8, 8))
    assert f"MNIST needs {FOLDER}" in found.note
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert "names has no mnist/train-images" in images().note
    refuses("names has no mnist", images, "mnist", error=FileNotFoundError)


def test_the_sample_has_unit_columns_or_zero_ones(rng):
    pixels = rng.integers(0, 256, (50, 9, 9)) * (rng.random((50, 9, 9)) < 0.5)
    pixels[:, 0, 0] = 0
    labels = rng.integers(1, 10, 50)
    source = Images("digits", pixels.astype(np.uint8), labels.astype(np.uint8), "Random.")
    design = sample(source, 30, 0)
    assert (design.X.shape, design.y.shape, design.shape) == ((30, 81), (30,), (9, 9))
    # which images they are, by the pixels that are not zero
    flat = pixels.reshape(50, 81)
    rows = [next(i for i in range(50) if np.array_equal(flat[i] > 0, row > 0)) for row in design.X]
    assert len(set(rows)) == 30
    raw = flat[rows].astype(float)
    lengths = np.sqrt((raw**2).sum(axis=0))
    assert lengths[0] == 0 == design.usage[0] == np.abs(design.X[:, 0]).max()
    np.testing.assert_allclose(design.X[:, 1:], raw[:, 1:] / lengths[1:])
    np.testing.assert_allclose(design.y, labels[rows] / np.sqrt((labels[rows] ** 2).sum()))
    np.testing.assert_allclose(design.usage, np.count_nonzero(raw, axis=0) / 30)
    assert not np.array_equal(design.y, sample(source, 30, 1).y)


def test_samples_that_cannot_be():
    refuses("must be 1 to 80, the images of .*; got 81", sample, pictures(), 81, 0)
    blank = dataclasses.replace(pictures(), labels=np.zeros(80, np.uint8))
    refuses("labels of all sampled images are 0", sample, blank, 10, 0)
