"""A check of Theorem 3.3 on millions of small Gaussian designs: the LASSO activates every pick of OMP first.

The picks are those of the compiled OMP of the library. At each step the kernel computes the explicit solution
of the LASSO at λ*(S) and inside its window, and checks the KKT conditions on all columns (`sweep_kernel.py`
has the proof). Designs are independent of each other and of the number of threads, because each design is
drawn by the generator of its chunk, seeded by (seed, chunk).
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np

from proofs_checks import sweep_kernel as kernels
from sparselin.ensembles import Design
from sparselin.greedy.omp import omp
from sparselin.lasso.entry import first_entry
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.results import FloatArray, Status
from sparselin.validation import check_count

# The number of designs per generator, and per array, which fits into the cache.
CHUNK, BLOCK = 256, 16


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Attributes
    ----------
    verified : the number of designs for which, at each of the k steps, the solution at λ*(S) and inside the
        window satisfied the KKT conditions on all d columns to rounding, and strictly off S and the pick.
    settled : the number of designs that this check left undecided, for example because of a tie to rounding,
        but for which `first_entry` agrees at every step.
    undecided : the number of designs that neither this check nor `first_entry` decided.
    violated : the number of designs for which some KKT condition failed by more than rounding.
    first_undecided, first_violated : the least index of an undecided and of a violated design, for
        `sweep_design`; None if there is no such design.
    """

    verified: int
    settled: int
    undecided: int
    violated: int
    first_undecided: int | None
    first_violated: int | None


def sweep_gaussian(n: int, d: int, k: int, designs: int, seed: int = 0) -> Sweep:
    """Check `designs` Gaussian designs (n, d) with unit columns and Gaussian y, at k steps each.

    Parameters
    ----------
    n, d, k : numbers of rows, columns and steps; k ≤ min(n, d).
    designs : number of designs.
    seed : seed of the random numbers, ≥ 0.

    Returns
    -------
    Sweep, with the numbers of designs that agree, are undecided or violate the theorem.

    Raises
    ------
    TypeError, ValueError : an argument is not an integer or out of range.

    >>> result = sweep_gaussian(20, 30, 5, 100)
    >>> result.verified, result.violated
    (100, 0)
    """
    n, d, k = _check_size(n, d, k)
    designs = check_count(designs, "designs", 1)
    seed = check_count(seed, "seed", 0, math.inf)
    verdict = np.empty(designs, np.intp)

    def task(a: int, b: int) -> None:
        for X, Y in _blocks(n, d, seed, a // CHUNK):
            c = min(a + BLOCK, b)
            kernels.sweep(X[: c - a], Y[: c - a], k, verdict[a:c])
            a = c
            if a == b:
                return

    with workers(6.0 * n * d * k * designs) as count:
        spread_chunks(task, designs, CHUNK, count)
    open_, violated = (np.flatnonzero(verdict == kind) for kind in (kernels.UNDECIDED, kernels.VIOLATED))
    drawn = ((i, sweep_design(n, d, i, seed)) for i in open_.tolist())
    settled = [i for i, design in drawn if _agrees(design.X, design.y, k)]
    undecided, verified = np.setdiff1d(open_, settled), int(np.count_nonzero(verdict == kernels.VERIFIED))
    return Sweep(
        verified=verified,
        settled=len(settled),
        undecided=len(undecided),
        violated=len(violated),
        first_undecided=int(undecided[0]) if len(undecided) else None,
        first_violated=int(violated[0]) if len(violated) else None,
    )


def sweep_design(n: int, d: int, index: int, seed: int = 0) -> Design:
    """Return the design of this index in `sweep_gaussian(n, d, k, designs, seed)`, for any k and designs.

    >>> X, y = sweep_design(20, 30, 7)
    >>> X.shape, y.shape
    ((20, 30), (20,))
    """
    n, d, _ = _check_size(n, d, 1)
    chunk, position = divmod(check_count(index, "index", 0), CHUNK)
    block, row = divmod(position, BLOCK)
    blocks = _blocks(n, d, check_count(seed, "seed", 0, math.inf), chunk)
    X, Y = next(itertools.islice(blocks, block, None))
    return Design(X[row].copy(), Y[row].copy())


def _check_size(n: int, d: int, k: int) -> tuple[int, int, int]:
    n, d = check_count(n, "n", 1), check_count(d, "d", 1)
    return n, d, check_count(k, "k", 1, min(n, d))


def _blocks(n: int, d: int, seed: int, chunk: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Draw the designs of a chunk, with unit columns; yield blocks X (BLOCK, n, d) and Y (BLOCK, n).

    The same two arrays are yielded each time, with new values.
    """
    # the fastest generator of NumPy, because drawing the numbers is most of the work
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence((seed, chunk))))
    X, Y = np.empty((BLOCK, n, d)), np.empty((BLOCK, n))
    for _ in range(CHUNK // BLOCK):
        rng.standard_normal(out=X)
        X /= np.sqrt(np.einsum("bij,bij->bj", X, X))[:, None]
        rng.standard_normal(out=Y)
        yield X, Y


def _agrees(X: FloatArray, y: FloatArray, k: int) -> bool:
    """Return whether at each step `first_entry` is COMPLETED, and the pick of OMP is in its tied set T."""
    support = omp(X, y, k).support
    for t, pick in enumerate(support):
        entry = first_entry(X, y, forced=support[:t])
        if entry.status is not Status.COMPLETED or pick not in entry.tied:
            return False
    return True
