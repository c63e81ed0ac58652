"""Images for experiments, MNIST or else digits, and other files in the folder that SPARSELIN_DATA names.

Nothing is downloaded. The folder holds the files of the MNIST database in their original form,
`mnist/train-images-idx3-ubyte.gz` and `mnist/train-labels-idx1-ubyte.gz`. There is no default folder.
"""

from __future__ import annotations

import dataclasses
import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FOLDER = "SPARSELIN_DATA"
MNIST = ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz")
Source: TypeAlias = Literal["auto", "mnist", "digits"]


@dataclasses.dataclass(frozen=True)
class Images:
    """Grey images of digits, and their labels.

    Attributes
    ----------
    name : "MNIST" or "digits".
    pixels : (n, height, width), uint8.
    labels : (n,), uint8.
    note : a sentence about the source of the images.
    """

    name: str
    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    note: str


def images(source: Source = "auto") -> Images:
    """Return MNIST's training images, or scikit-learn's digits.

    "auto" means MNIST if SPARSELIN_DATA names a folder with its two files, and otherwise the digits. The
    field `note` of the result says why this source was taken. Raises FileNotFoundError for "mnist" if a file
    is missing, and ValueError for malformed files.

    >>> found = images("digits")
    >>> found.pixels.shape, found.note
    ((1797, 8, 8), "scikit-learn's digits (as requested).")
    """
    missing = None if source == "digits" else absent("MNIST", MNIST)
    if source == "digits" or (source == "auto" and missing):
        return _digits(f"scikit-learn's digits ({missing or 'as requested'}).")
    pixels, labels = read_images("MNIST", MNIST)
    return Images("MNIST", pixels, labels, f"MNIST's {len(labels)} training images.")


def absent(title: str, names: Sequence[str]) -> str | None:
    """Return the reason why files of a data set are absent, or None if all are in the folder.

    title, names : the name of the data set, and the names of its files.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return f"{title} needs {FOLDER}, which is not set; it must name a folder with {names[0]}"
    if not Path(folder).is_dir():
        return f"{title} needs {FOLDER} to name a folder; there is none at {folder}"
    missing = [name for name in names if not (Path(folder) / name).is_file()]
    return f"the folder that {FOLDER} names has no {missing[0]}" if missing else None


def files(title: str, names: Sequence[str]) -> list[Path]:
    """Return the paths of the files `names` of a data set. Raises FileNotFoundError if a file is missing."""
    why = absent(title, names)
    if why:
        raise FileNotFoundError(why)
    return [Path(os.environ[FOLDER]) / name for name in names]


def read_images(title: str, names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return images (n, height, width) and labels (n,) from two IDX files; ValueError for other shapes."""
    pixels, labels = (read_idx(path) for path in files(title, names))
    if pixels.ndim != 3 or labels.shape != pixels.shape[:1] or not len(labels):
        raise ValueError(
            f"{names[0]} and {names[1]} must hold as many images as labels; "
            f"got shapes {pixels.shape} and {labels.shape}"
        )
    return pixels, labels


def _digits(note: str) -> Images:
    from sklearn.datasets import load_digits

    found = load_digits()
    return Images("digits", found.images.astype(np.uint8), found.target.astype(np.uint8), note)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of bytes in a gzipped IDX file.

    The format is: 0, 0, 8, the number of dimensions, each dimension as a big-endian int32, and then the
    entries in C order. Raises ValueError if the file does not have this format.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "bytes.gz")
    >>> _ = file.write_bytes(gzip.compress(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9])))
    >>> read_idx(file).tolist()
    [[7, 8, 9]]
    """
    try:
        data = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} must be a complete gzip file: {error}. Fetch it again") from None
    if len(data) < 4 or data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise ValueError(f"{path} must be an IDX file of bytes; it begins with {data[:4].hex() or 'nothing'}")
    shape = tuple(int(size) for size in np.frombuffer(data, ">i4", data[3], 4))
    entries = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if len(entries) != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{path} must hold {shape} bytes, by its header; it holds {len(entries)}")
    return entries.reshape(shape)
