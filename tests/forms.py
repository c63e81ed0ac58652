"""The table of supported data and options: `python -m tests.forms` writes it into docs/data.md.

It is the table of `sparselin.problem.support`: "yes"; "copy", on a dense copy of a sparse X; or "–", refused.
"""

import functools
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.sparse

sys.path.insert(0, str(Path(__file__).parent))  # as pytest does
from methods import METHODS, Levels

import sparselin as sl
import sparselin.problem.memory
from sparselin.problem.support import OPTIONS, SUPPORT

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
COLUMNS = ("operator", "Gram", "compressed", "complex")
HEAD = ("", "sparse X", *COLUMNS, *(f"`{name}`" for name in OPTIONS))
HEAD = tuple(cell.replace("`weights`", "`sample_weight`") for cell in HEAD)
# What a large design needs to end soon: few candidates, or a stop after the first step.
SOON = {
    "local_search": {"within": [0, 1, 2]},
    "choose_nu": {"callback": lambda nu: True},
    "hadamard_descent": {"max_iter": 3},
    "stability_selection": {"callback": lambda found: True},
}
LARGE = 100_000


def explain_first(X, y):
    """One explanation, where METHODS has one of every feature."""
    path = sl.omp(X, y, 4)
    return sl.explain(X, y, path, path.support[0])


def names():
    """Return the functions, without variants."""
    return [name for name, method in METHODS.items() if not method.variant]


def design(n=16, d=24):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    X[0] += 1
    return X, X[:, [1, 4, 6]] @ np.array([5.0, -4.0, 3.0]) + 0.1 * rng.standard_normal(n)


def large():
    """Return a sparse X with an entry or two in each column; as an array it has 75 GiB."""
    rng = np.random.default_rng(8)
    diagonal = scipy.sparse.diags_array(rng.uniform(0.01, 0.1, LARGE), format="csc")
    more = scipy.sparse.csc_array(
        (rng.uniform(1, 2, 50), (rng.integers(0, LARGE, 50), np.arange(50))), (LARGE, LARGE)
    )
    X = scipy.sparse.csc_array(diagonal + more)
    return X, X[:, :5] @ np.array([5.0, -4.0, 3.0, 2.0, 1.0]) + 1e-6 * rng.standard_normal(LARGE)


def call(name, X, y, **options):
    """Return the function of that name on this X, as in METHODS."""
    if name == "explain":
        return explain_first(X, y)
    signals = None if y is None else np.column_stack([y, y[::-1]]) if METHODS[name].many else y
    return METHODS[name].call(X, signals, Levels(lam=0.5, nu=1e-3), **options)


def refusal(name, X, y, **options):
    """None, or the error with which it refuses."""
    try:
        call(name, X, y, **options)
    except (TypeError, ValueError, MemoryError) as error:
        return error
    return None


@functools.cache
def on_large(name):
    """(the refusal of `large`, or None; the most bytes that were allocated) where memory has 16 GiB."""
    X, y = large()
    usual, sparselin.problem.memory.available = sparselin.problem.memory.available, lambda: 2.0**34
    tracemalloc.start()
    try:
        error = refusal(name, X, y, **SOON.get(name, {}))
        return error, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        sparselin.problem.memory.available = usual


def row(name):
    """Return the row of a function in the page, from the table in the package."""
    support = SUPPORT[name]
    sparse = "–" if "sparse" not in support.data else "copy" if support.copies else "yes"
    facts = [*(data in support.data for data in COLUMNS), *(option in support.options for option in OPTIONS)]
    return f"`{name}`", sparse, *("yes" if fact else "–" for fact in facts)


def table():
    rows = [HEAD, ("---",) * len(HEAD), *map(row, names())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def written(page):
    """Return the table that stands in the page."""
    lines = page.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("|  | sparse X")))
    stop = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return "\n".join(lines[start:stop])


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(written(page), table()), encoding="utf-8")
