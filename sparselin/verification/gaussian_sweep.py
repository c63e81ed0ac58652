"""A check of Theorem 3.3 on millions of small Gaussian designs: the LASSO activates every pick of OMP first.

The kernel runs OMP. At each step it computes the explicit solution of the LASSO at λ*(S) and inside its
window, and checks the KKT conditions on all columns (`_kernels/sweep.py` has the proof). Designs are
independent of each other and of the number of threads, because each design is drawn by the generator of its
chunk, seeded by (seed, chunk).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from sparselin._kernels import sweep as kernels
from sparselin.ensembles import Design
from sparselin.greedy.omp import omp
from sparselin.lasso.entry import first_entry
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.validation import check_count

# The number of designs per generator, per array (which fits into the cache), and per call of the callback.
CHUNK, BLOCK, ROUND = 256, 16, 8192
_BINS = 41
NO_DEFECT = (-1, 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Sweep:
    """The result of `sweep_gaussian` so far.

    Attributes
    ----------
    n, d, k, seed : the size of the designs, the steps of each, and the seed.
    designs : the number of designs checked. Each of them counts in one of the next four numbers.
    verified : the number of designs for which, at each of the k steps, the solution at λ*(S) and inside the
        window satisfied the KKT conditions on all d columns to rounding, and strictly off S and the pick.
    settled : the number of designs that this check left undecided, for example because of a tie to rounding,
        but for which `first_entry` agrees at every step.
    undecided : the number of designs that neither this check nor `first_entry` decided.
    violated : the number of designs for which some KKT condition failed by more than rounding.
    least_window : the smallest 1 − λ₂/λ* of all steps, where λ₂ is the lower end of the window.
    least_margin : the smallest (λ* − |c|)/λ* of all steps, where |c| is the second largest correlation.
    windows : (41,) the entry l is the number of steps with 10^(−l/4) ≥ 1 − λ₂/λ* > 10^(−(l+1)/4). The last
        entry also counts all steps with a smaller 1 − λ₂/λ*.
    first_undecided, first_violated : the least index of an undecided and of a violated design, for
        `sweep_design`; None if there is no such design.
    """

    n: int
    d: int
    k: int
    seed: int
    designs: int
    verified: int
    settled: int
    undecided: int
    violated: int
    least_window: float
    least_margin: float
    windows: IndexArray
    first_undecided: int | None
    first_violated: int | None

    @property
    def steps(self) -> int:
        """A lower bound on the number of picks checked, k for each verified or settled design.

        Other designs are not counted, because their check may end early.
        """
        return self.k * (self.verified + self.settled)


def sweep_gaussian(
    n: int,
    d: int,
    k: int,
    designs: int,
    seed: int = 0,
    *,
    callback: Callable[[Sweep], object] | None = None,
) -> Sweep:
    """Check `designs` Gaussian designs (n, d) with unit columns and Gaussian y, at k steps each.

    Parameters
    ----------
    n, d, k : numbers of rows, columns and steps; k ≤ min(n, d).
    designs : number of designs.
    seed : seed of the random numbers, ≥ 0.
    callback : called after every 8192 designs with the result so far; the sweep stops if it returns True.

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
    result = Sweep(n, d, k, seed, 0, 0, 0, 0, 0, 1.0, 1.0, np.zeros(_BINS, np.intp), None, None)
    for first in range(0, designs, ROUND):
        result = _add_round(result, first, min(first + ROUND, designs))
        if callback is not None and callback(result):
            break
    return result


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
    kernels.normalize(X[row], np.empty(d))
    return Design(X[row].copy(), Y[row].copy())


def _check_size(n: int, d: int, k: int) -> tuple[int, int, int]:
    n, d = check_count(n, "n", 1), check_count(d, "d", 1)
    return n, d, check_count(k, "k", 1, min(n, d))


def _blocks(n: int, d: int, seed: int, chunk: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Draw the designs of a chunk; yield X (BLOCK, n, d) and Y (BLOCK, n) of BLOCK designs at a time.

    The same two arrays are yielded each time, with new values.
    """
    # the fastest generator of NumPy, because drawing the numbers is most of the work
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence((seed, chunk))))
    X, Y = np.empty((BLOCK, n, d)), np.empty((BLOCK, n))
    for _ in range(CHUNK // BLOCK):
        rng.standard_normal(out=X)
        rng.standard_normal(out=Y)
        yield X, Y


def _add_round(result: Sweep, first: int, stop: int) -> Sweep:
    """Check the designs first..stop and add them to the result; `first` must be a multiple of CHUNK."""
    n, d, k = result.n, result.d, result.k
    verdict = np.empty(stop - first, np.intp)
    least = np.empty((stop - first, 2))
    windows = np.zeros((-(-(stop - first) // CHUNK), _BINS), np.intp)

    def task(a: int, b: int) -> None:
        for X, Y in _blocks(n, d, result.seed, (first + a) // CHUNK):
            c = min(a + BLOCK, b)
            kernels.sweep(X[: c - a], Y[: c - a], k, NO_DEFECT, verdict[a:c], least[a:c], windows[a // CHUNK])
            a = c
            if a == b:
                return

    with workers(6.0 * n * d * k * (stop - first)) as count:
        spread_chunks(task, stop - first, CHUNK, count)
    open_ = np.flatnonzero(verdict == kernels.UNDECIDED)
    designs = {i: sweep_design(n, d, first + int(i), result.seed) for i in open_}
    settled = [i for i, design in designs.items() if _agrees(design.X, design.y, k)]
    undecided = np.setdiff1d(open_, settled)
    violated = np.flatnonzero(verdict == kernels.VIOLATED)
    return dataclasses.replace(
        result,
        designs=stop,
        verified=result.verified + int(np.count_nonzero(verdict == kernels.VERIFIED)),
        settled=result.settled + len(settled),
        undecided=result.undecided + len(undecided),
        violated=result.violated + len(violated),
        least_window=min(result.least_window, float(least[:, 0].min())),
        least_margin=min(result.least_margin, float(least[:, 1].min())),
        windows=result.windows + windows.sum(axis=0),
        first_undecided=_first_index(result.first_undecided, first, undecided),
        first_violated=_first_index(result.first_violated, first, violated),
    )


def _first_index(before: int | None, first: int, new: IndexArray) -> int | None:
    return before if before is not None or not len(new) else first + int(new[0])


def _agrees(X: FloatArray, y: FloatArray, k: int) -> bool:
    """Return whether at each step `first_entry` is COMPLETED, and the pick of OMP is in its tied set T."""
    support = omp(X, y, k).support
    for t, pick in enumerate(support):
        entry = first_entry(X, y, forced=support[:t])
        if entry.status is not Status.COMPLETED or pick not in entry.tied:
            return False
    return True
