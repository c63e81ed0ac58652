"""Small runs of the study of diversity."""

import dataclasses
import gzip

import numpy as np

from proofs_checks.experiments.diversity.regularizers import REGULARIZERS
from proofs_checks.experiments.diversity.run import DiversitySettings, MethodSelection
from sparselin.ensembles.datasets import MNIST, Images

SETTINGS = DiversitySettings(ks=(2, 4), repeats=3, jobs=1, sigmas=(0.3,))


def pictures(count=80, seed=5):
    """Blobs of several sizes; one pixel is always zero."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 5, 4)) * (rng.random((count, 5, 4)) < rng.random((5, 4)))
    pixels[:, 0, 0] = 0
    return Images("digits", pixels.astype(np.uint8), rng.integers(0, 10, count).astype(np.uint8), "Blobs.")


def idx(array, kind=8):
    """The bytes of an IDX file."""
    array = np.asarray(array, np.uint8)
    head = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return gzip.compress(head + array.tobytes(), mtime=0)  # else the ids of tests hold the time


def store(folder, pixels, labels):
    (folder / "mnist").mkdir()
    for name, data in zip(MNIST, (pixels, labels), strict=True):
        (folder / name).write_bytes(data)


def made(method, k, error, value, r2=0.8):
    """A selection with given errors and diversity."""
    errors = {sigma: (10 * sigma * error,) for sigma in (0.1, 0.3, 1.0)}
    return MethodSelection(
        method=method,
        k=k,
        support=tuple(range(k)),
        nu=0.1,
        upper=0.2,
        qualifies="some",
        r2=r2,
        r2_lasso=0.7,
        r2_refitted=0.75,
        diversity=dict.fromkeys(REGULARIZERS, value),
        plain={"ld-0.1": value, "sv": value},
        target=errors,
        features=errors,
        expected=error,
        least_expected=error / 2,
        rare=0,
    )


def as_the_paper_says():
    """Errors and diversity that make every claim true."""
    kept = []
    for k in (10, 20, 30):
        kept += [made("lasso", k, 0.01 * k, 0.5 + 0.005 * k, 0.75)]
        kept += [made("no-reg", k, 0.006 * k, 0.6 + 0.005 * k, 0.9)]
        kept += [made(name, k, 0.02 + 0.0001 * k, 0.99) for name in REGULARIZERS]
    return kept


def shortened(one, error=0.001, value=1.5):
    """A feature fewer, with numbers that win or lose every comparison."""
    other = made(one.method, one.k, error, value)
    return dataclasses.replace(other, support=one.support[:-1])
