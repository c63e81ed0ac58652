"""The table of the data and options that each function takes, for docs/data.md.

`python -m tests.forms` writes it from `sparselin.problem.support`. Its entries are "yes", "copy" (the
function works on a dense copy of a sparse X) and "–" (the function refuses).
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
# Options with which calls on a large design end soon: few candidates, or a stop after the first step.
SOON = {
    "local_search": {"within": [0, 1, 2]},
    "choose_nu": {"callback": lambda nu: True},
    "hadamard_descent": {"max_iter": 3},
    "stability_selection": {"callback": lambda found: True},
}
LARGE = 30_000


def explain_first(X, y):
    """Explain only the first feature of a path; the call in METHODS explains every feature."""
    path = sl.omp(X, y, 4)
    return sl.explain(X, y, path, path.support[0])


def names():
    """Return the names of the functions, without variants."""
    return [name for name, method in METHODS.items() if not method.variant]


def design(n=16, d=24):
    """Return a sparse random design, as a dense array, and a response on three of its columns."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    X[0] += 1
    return X, X[:, [1, 4, 6]] @ np.array([5.0, -4.0, 3.0]) + 0.1 * rng.standard_normal(n)


def large():
    """Return a sparse X with an entry or two in each column, which would need 7 GiB as an array, and y."""
    rng = np.random.default_rng(8)
    diagonal = scipy.sparse.diags_array(rng.uniform(0.01, 0.1, LARGE), format="csc")
    index = rng.integers(0, LARGE, 50), np.arange(50)
    more = scipy.sparse.csc_array((rng.uniform(1, 2, 50), index), (LARGE, LARGE))
    X = scipy.sparse.csc_array(diagonal + more)
    return X, X[:, :5] @ np.array([5.0, -4.0, 3.0, 2.0, 1.0]) + 1e-6 * rng.standard_normal(LARGE)


def call(name, X, y, **options):
    """Call the function with this name on X and y, as in METHODS."""
    if name == "explain":
        return explain_first(X, y)
    if y is not None and METHODS[name].many:
        y = np.column_stack([y, y[::-1]])
    return METHODS[name].call(X, y, Levels(lam=0.5, nu=1e-3), **options)


def refusal(name, X, y, **options):
    """Return the error with which a function refuses X and y, or None."""
    try:
        call(name, X, y, **options)
    except (TypeError, ValueError, MemoryError) as error:
        return error
    return None


@functools.cache
def on_large(name):
    """Call a function on `large` with 1 GiB of memory. Return the refusal or None, and the peak in bytes.

    A first call on a part of the design compiles, which takes several times as long while memory is traced.
    """
    X, y = large()
    refusal(name, X[:999, :999], y[:999], **SOON.get(name, {}))
    usual, sparselin.problem.memory.available = sparselin.problem.memory.available, lambda: 2.0**30
    tracemalloc.start()
    try:
        error = refusal(name, X, y, **SOON.get(name, {}))
        return error, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        sparselin.problem.memory.available = usual


def cells(name):
    """Return the entries of a function for the page, from the table in the package."""
    support = SUPPORT[name]
    sparse = "–"
    if "sparse" in support.data:
        sparse = "copy" if support.copies else "yes"
    facts = [*(data in support.data for data in COLUMNS), *(option in support.options for option in OPTIONS)]
    return sparse, *("yes" if fact else "–" for fact in facts)


def table():
    """Return the table for the page: a row for all functions with the same entries."""
    alike = {}
    for name in names():
        alike.setdefault(cells(name), []).append(f"`{name}`")
    rows = [HEAD, ("---",) * len(HEAD), *((", ".join(words), *entries) for entries, words in alike.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def find_table(page):
    """Return the table in the page."""
    lines = page.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("|  | sparse X")))
    stop = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return "\n".join(lines[start:stop])


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(find_table(page), table()), encoding="utf-8")
