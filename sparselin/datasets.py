"""Images for experiments: MNIST if SPARSELIN_DATA names a folder that has it, else digits.

Nothing is downloaded. The folder holds the files of the MNIST database as they are distributed,
`mnist/train-images-idx3-ubyte.gz` and `mnist/train-labels-idx1-ubyte.gz`; there is no default folder.
"""

from __future__ import annotations

import dataclasses
import gzip
import os
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FOLDER = "SPARSELIN_DATA"
MNIST = ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz")
Source: TypeAlias = Literal["auto", "mnist", "digits"]


@dataclasses.dataclass(frozen=True)
class Images:
    """Grey images and their labels, digits.

    Attributes
    ----------
    name : "MNIST" or "digits".
    pixels : (n, height, width), uint8.
    labels : (n,), uint8.
    note : where they come from, a sentence.
    """

    name: str
    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    note: str


def images(source: Source = "auto") -> Images:
    """MNIST's training images, or scikit-learn's digits.

    "auto" is MNIST if SPARSELIN_DATA names a folder with its two files, else the digits, and `note`
    says why. Raises FileNotFoundError for "mnist" without the files, and ValueError for malformed files.
    """
    missing = None if source == "digits" else _missing()
    if source == "digits" or (source == "auto" and missing):
        return _digits(f"scikit-learn's digits ({missing or 'as asked'}).")
    if missing:
        raise FileNotFoundError(missing)
    folder = Path(os.environ[FOLDER])
    pixels, labels = (read_idx(folder / name) for name in MNIST)
    if pixels.ndim != 3 or labels.shape != pixels.shape[:1] or not len(labels):
        raise ValueError(
            f"{MNIST[0]} and {MNIST[1]} must hold as many images as labels; "
            f"got shapes {pixels.shape} and {labels.shape}"
        )
    return Images("MNIST", pixels, labels, f"MNIST's {len(labels)} training images.")


def _missing() -> str | None:
    """Why MNIST cannot be read, or None."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return f"MNIST needs {FOLDER}, a folder with mnist/*-ubyte.gz, which is not set"
    absent = [name for name in MNIST if not (Path(folder) / name).is_file()]
    return f"the folder that {FOLDER} names has no {absent[0]}" if absent else None


def _digits(note: str) -> Images:
    from sklearn.datasets import load_digits

    found = load_digits()
    return Images("digits", found.images.astype(np.uint8), found.target.astype(np.uint8), note)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes from a gzipped IDX file: 0, 0, 8, the number of dimensions, each as a big-endian
    int32, then the entries in C order.

    Raises ValueError if the file is not of this format.
    """
    try:
        data = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} must be gzipped: {error}") from None
    if len(data) < 4 or data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise ValueError(f"{path} must be an IDX file of bytes; it begins with {data[:4].hex() or 'nothing'}")
    shape = tuple(int(size) for size in np.frombuffer(data, ">i4", data[3], 4))
    entries = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if len(entries) != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{path} must hold {shape} bytes, by its header; it holds {len(entries)}")
    return entries.reshape(shape)
