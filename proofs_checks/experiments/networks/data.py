"""The data sets of the papers' tables, which are read from files and checked, and two of scikit-learn.

Nothing is downloaded. The folder SPARSELIN_DATA must hold

    mice/Data_Cortex_Nuclear.csv      Mice Protein (UCI 342)
    mnist/, fashion-mnist/            {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz
    isolet/isolet_full_int16.npz      ISOLET (UCI 54): X_train_e4, y_train, X_test_e4, y_test
    coil20/coil20_20x20.npz           COIL-20: bicubic, y
    activity/                         Activity (UCI 240): {X_train,y_train,X_test,y_test}.txt

The released code of *Sequential Attention* downloads UCI 240, which has 10,299 rows. But the papers' tables
state 5,744 rows. That is the number of rows of another data set with the same 561 features, which the
released code of LassoNet reads: the Smartphone Dataset for Human Activity Recognition in Ambient Assisted
Living.
"""

import csv
import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin.ensembles.datasets import FOLDER, files, read_images
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import read_npz


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """A data set, with its rows as they are in its files.

    Attributes
    ----------
    name, title : the name in this package (a key of `DATA`), and the name in the papers.
    X : (n, d) float32 or float64 in the units of the file, NaN where missing; read-only.
    y : (n,) classes 0, …, classes − 1.
    classes : the number of classes.
    groups : (n,) the group of each row, 0, 1, …, for example the mouse that it is from; None: every row is
        its own group.
    n_train : the number of official training rows, which come first; None without an official split.
    image : (height, width) if the features are the pixels of an image, which have a common unit; or None.
    note : the file or function from which the rows were read.
    """

    name: str
    title: str
    X: FloatArray | NDArray[np.float32]
    y: IndexArray
    classes: int
    groups: IndexArray | None
    n_train: int | None
    image: tuple[int, int] | None
    note: str


@dataclasses.dataclass(frozen=True)
class Form:
    """The title and the expected size of a data set.

    `n_train` is the number of official training rows.
    """

    title: str
    rows: int
    n_train: int | None
    d: int
    classes: int
    image: tuple[int, int] | None = None


FORMS = {
    "mice": Form(title="Mice Protein", rows=1080, n_train=None, d=77, classes=8),
    "mnist": Form(title="MNIST", rows=70_000, n_train=60_000, d=784, classes=10, image=(28, 28)),
    "fashion": Form(title="MNIST-Fashion", rows=70_000, n_train=60_000, d=784, classes=10, image=(28, 28)),
    "isolet": Form(title="ISOLET", rows=7797, n_train=6238, d=617, classes=26),
    "coil20": Form(title="COIL-20", rows=1440, n_train=None, d=400, classes=20, image=(20, 20)),
    "activity": Form(title="Activity", rows=10_299, n_train=7352, d=561, classes=6),
    "digits": Form(title="digits", rows=1797, n_train=None, d=64, classes=10, image=(8, 8)),
    "breast_cancer": Form(title="breast cancer", rows=569, n_train=None, d=30, classes=2),
}
EMBEDDED = ("digits", "breast_cancer")
OURS = ("mice", "mnist", "fashion", "isolet", "coil20")


def title(name: str) -> str:
    """Return the title of a data set, or its name if a study generates it."""
    return FORMS[name].title if name in FORMS else name


def table(name: str) -> Table:
    """Return a data set by its name, a key of `DATA`. It is read from its files only once in a process.

    Raises
    ------
    ValueError : the name is unknown, or a file is damaged or has wrong shapes; the message names the file and
        its required contents.
    FileNotFoundError : a file is missing, or SPARSELIN_DATA is not set.

    >>> found = table("digits")
    >>> found.X.shape, found.classes, found.image
    ((1797, 64), 10, (8, 8))
    """
    if name not in DATA:
        raise ValueError(f"data must be one of {', '.join(DATA)}; got {name!r}")
    return _read(name, None if name in EMBEDDED else os.environ.get(FOLDER))


@functools.cache
def _read(name: str, folder: str | None) -> Table:
    form, (source, X, labels, groups) = FORMS[name], DATA[name]()
    y = np.asarray(labels, np.intp)
    found = (*X.shape, len(y), int(y.max(initial=-1)) + 1)
    wanted = (form.rows, form.d, form.rows, form.classes)
    if found != wanted or y.min() < 0 or len(np.unique(y)) != form.classes:
        raise ValueError(
            f"{source} must hold {form.rows} rows of {form.d} features, labels of them in {form.classes} "
            f"classes; got X of shape {X.shape}, {len(y)} labels in {len(np.unique(y))} classes from "
            f"{int(y.min(initial=0))} to {found[3] - 1}. Fetch the file again"
        )
    if np.isinf(X).any():
        raise ValueError(f"{source} must hold finite numbers; got infinite ones. Fetch the file again")
    X.setflags(write=False)
    return Table(
        name=name,
        title=form.title,
        X=X,
        y=y,
        classes=form.classes,
        groups=groups,
        n_train=form.n_train,
        image=form.image,
        note=source,
    )


Read = tuple[str, Any, Any, IndexArray | None]  # the source, X, y, groups

MICE = "mice/Data_Cortex_Nuclear.csv"


def _mice() -> Read:
    """Read the data set Mice Protein, with 77 proteins as features.

    The proteins are in the columns whose names end in _N, and a missing value is empty. MouseID has the form
    mouse_replicate.
    """
    (path,) = files(FORMS["mice"].title, [MICE])
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *lines = [line for line in csv.reader(file) if line] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} must be a .csv in UTF-8: {error}. Fetch the file again") from None
    proteins = [j for j, name in enumerate(head) if name.endswith("_N")]
    absent = [name for name in ("MouseID", "class") if name not in head]
    if absent or len(proteins) != FORMS["mice"].d:
        raise ValueError(
            f"{path} must have the columns MouseID, class, and {FORMS['mice'].d} proteins ending in _N; got "
            f"{len(proteins)} proteins{''.join(f', no {name}' for name in absent)}. Fetch the file again"
        )
    for i, line in enumerate(lines):
        if len(line) != len(head):
            raise ValueError(f"{path} must have {len(head)} cells in row {i + 1}; got {len(line)}")
    try:
        X = np.array([[float(line[j] or "nan") for j in proteins] for line in lines]).reshape(
            -1, len(proteins)
        )
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers in the columns …_N: {error}") from None
    y = np.unique([line[head.index("class")] for line in lines], return_inverse=True)[1]
    mice = [line[head.index("MouseID")].rpartition("_")[0] for line in lines]
    return str(path), X, y, np.unique(mice, return_inverse=True)[1]


def _idx(name: str, folder: str) -> Read:
    """Read MNIST or Fashion-MNIST as distributed: first the training images, then the 10,000 test images
    (t10k).
    """
    title = FORMS[name].title
    parts = [
        read_images(title, [f"{folder}/{of}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")])
        for of in ("train", "t10k")
    ]
    X = np.concatenate([pixels.reshape(len(pixels), -1) for pixels, _ in parts]).astype(np.float32)
    _check_train(f"{folder}/train-images-idx3-ubyte.gz", len(parts[0][0]), name)
    return f"{folder}/*-ubyte.gz", X, np.concatenate([labels for _, labels in parts]), None


def _isolet() -> Read:
    """Read the data set ISOLET, with 617 features in [−1, 1] and 26 letters as classes.

    The file has the features multiplied by 10⁴, and the letters as 1, …, 26. The training rows
    (isolet1+2+3+4) come first, then the test rows (isolet5).
    """
    (path,) = files(FORMS["isolet"].title, ["isolet/isolet_full_int16.npz"])
    names = ("X_train_e4", "y_train", "X_test_e4", "y_test")
    train, y_train, test, y_test = _arrays(path, names)
    _check_train(str(path), len(train), "isolet")
    return str(path), _stack(path, train, test) / 1e4, _stack(path, y_train, y_test) - 1, None


def _coil20() -> Read:
    """Read COIL-20: 72 views of 20 objects, 128×128 pixels reduced to 20×20 by bicubic interpolation."""
    (path,) = files(FORMS["coil20"].title, ["coil20/coil20_20x20.npz"])
    X, y = _arrays(path, ("bicubic", "y"))
    return str(path), X.astype(np.float32), y.astype(np.intp), None


def _activity() -> Read:
    """Read the data set Activity from UCI's text files, with 561 features in [−1, 1] and 6 classes.

    The numbers are separated by blanks, and the labels are 1, …, 6.
    """
    paths = files(
        FORMS["activity"].title, [f"activity/{n}.txt" for n in ("X_train", "y_train", "X_test", "y_test")]
    )
    parts = []
    for path in paths:
        try:
            parts.append(np.loadtxt(path, ndmin=2))
        except ValueError as error:
            raise ValueError(f"{path} must hold numbers in rows of equal length: {error}") from None
    train, y_train, test, y_test = parts
    _check_train(str(paths[0]), len(train), "activity")
    y = _stack(paths[1], y_train, y_test).ravel()
    return str(paths[0]), _stack(paths[2], train, test), y.astype(np.intp) - 1, None


def _load(name: str) -> Read:
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    return f"scikit-learn's load_{name}", found.data.astype(float), found.target, None


def _arrays(path: Path, names: Sequence[str]) -> list[Any]:
    """Return the named arrays of an npz file.

    Raises ValueError if the file is damaged, or if an array is missing or not real.
    """
    try:
        arrays = read_npz(path)
        for name in names:
            if name not in arrays or arrays[name].dtype.kind not in "biuf":
                raise ValueError(f"it has no {name} of real numbers")
    except ValueError as error:
        raise ValueError(
            f"{path} must be a complete npz file with the arrays {', '.join(names)}: {error}. Fetch it again"
        ) from None
    return [arrays[name] for name in names]


def _stack(path: Path, *parts: Any) -> Any:
    if len({part.shape[1:] for part in parts}) != 1:
        raise ValueError(f"{path} must have rows as long as the training rows: {[p.shape for p in parts]}")
    return np.concatenate([np.asarray(part, np.float64 if part.ndim == 2 else np.intp) for part in parts])


def _check_train(source: str, n: int, name: str) -> None:
    if n != FORMS[name].n_train:
        raise ValueError(f"{source} must hold {FORMS[name].n_train} rows; got {n}. Fetch the file again")


DATA: dict[str, Callable[[], Read]] = {
    "mice": _mice,
    "mnist": functools.partial(_idx, "mnist", "mnist"),
    "fashion": functools.partial(_idx, "fashion", "fashion-mnist"),
    "isolet": _isolet,
    "coil20": _coil20,
    "activity": _activity,
    "digits": functools.partial(_load, "digits"),
    "breast_cancer": functools.partial(_load, "breast_cancer"),
}
"""Name ↦ the function that reads its files."""
