"""Trials of a claim on many designs: the rate at which the claim holds, and a small counterexample."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sparselin.ensembles.design import Design
from sparselin.ensembles.registry import ENSEMBLES, Ensemble, from_file
from sparselin.validation import FloatArray, check_count, check_real

# A function of (X, y), or of a Design. It returns true, false, or None if its hypotheses are not met.
Claim: TypeAlias = Callable[..., Any]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rate:
    """The rate at which a claim held, and the first design on which it failed; the result of `rate`.

    Attributes
    ----------
    held, tried : the number of designs on which the claim held, and the number that met its hypotheses.
    skipped : the number of designs that did not meet the hypotheses of the claim.
    lower, upper : the confidence interval of the probability that the claim holds.
    confidence : the level of the interval.
    stopped : whether the first counterexample ended the trial.
    counterexample, index : the first design on which the claim failed, and its index; None if there is none.
    smaller : the counterexample after the function `smaller` has made it smaller; None without `shrink`.
    file : the file of the counterexample; None if it was not saved.
    """

    held: int
    tried: int
    skipped: int
    lower: float
    upper: float
    confidence: float
    stopped: bool
    counterexample: Design | None
    index: int | None
    smaller: Design | None
    file: Path | None

    @property
    def rate(self) -> float:
        """The rate held/tried."""
        return self.held / self.tried

    def __repr__(self) -> str:
        text = (
            f"held on {self.held} of {self.tried} designs: {self.rate:.4g}, "
            f"[{self.lower:.4g}, {self.upper:.4g}] at {self.confidence:.4g}"
        )
        if self.skipped:
            text += f"; {self.skipped} did not meet its hypotheses"
        if self.counterexample is not None:
            n, d = self.counterexample.X.shape
            text += f"; fails at index {self.index} ({n} × {d})"
            text += ", where it stopped" if self.stopped else ""
        if self.file is not None:
            text += f"; np.load({str(self.file)!r}) has its X and y"
        return f"<Rate: {text}>"


def rate(
    claim: Claim,
    ensemble: str | Ensemble | Callable[[np.random.Generator], Any],
    N: int = 1000,
    *,
    seed: int = 0,
    stop: bool = True,
    folder: str | Path | None = "counterexamples",
    shrink: bool = False,
    confidence: float = 0.95,
) -> Rate:
    """Try a claim on N designs: find the rate at which it holds, a confidence interval, a counterexample.

    With `stop`, the first counterexample ends the trial. This suits a claim that should always hold. Without
    `stop`, all N designs are tried. This suits the measurement of a rate.

    If the designs are drawn independently from one distribution, the interval is exact: its level is at least
    `confidence` for every probability p. (This does not apply to real data, whose first design is the whole
    set.) After all N designs it is the interval of Clopper and Pearson. If the trial stopped at the m-th
    design, the interval consists of all p with P(m trials or fewer) ≥ α/2 and P(m or more) ≥ α/2,
    α = 1 − confidence. As p^(m−1) is the probability that the claim holds in m − 1 trials, these are all p
    with

        (α/2)^{1/(m−1)} ≤ p ≤ (1 − α/2)^{1/m},    0 ≤ p for m = 1.

    Parameters
    ----------
    claim : a function of (X, y), or of one argument, the `Design`, which has the true β and noise of y. It
        returns a truth value, or None for a design that does not meet the hypotheses and does not count.
    ensemble : a name in `sl.ensembles.ENSEMBLES`, FILE.py:NAME for a function in a file, an `Ensemble`, or a
        function of a generator that returns a `Design` or (X, y), such as
        lambda rng: sl.ensembles.gaussian(20, 40, rng, y="noise").
    N : the number of designs.
    seed : design i depends on the seed, but not on N.
    folder : the folder in which a counterexample is saved as .npz with X, y, index and, with `shrink`,
        smaller_X and smaller_y; None to save nothing.
    shrink : whether to make the counterexample smaller by the function `smaller`. A part of a design does not
        belong to the ensemble any more, so the claim must check its own hypotheses.
    confidence : the level of the interval, in (0, 1).

    Returns
    -------
    Rate.

    Raises
    ------
    TypeError, ValueError : a bad argument, an unknown ensemble, a claim that does not take one or two
        arguments, or a claim that returned None for every design. An error that the claim itself raises has a
        note with the index of the design.

    >>> import sparselin as sl
    >>> def recovers(design):
    ...     return set(sl.omp(*design, 3).support) == set(design.support)
    >>> def draw(rng):
    ...     return sl.ensembles.gaussian(40, 60, rng, y="signal", k=3)
    >>> rate(recovers, draw, 200, stop=False, folder=None)
    <Rate: held on 199 of 200 designs: 0.995, [0.9725, 0.9999] at 0.95; fails at index 101 (40 × 60)>
    """
    N = check_count(N, "N", 1)
    seed = check_count(seed, "seed", 0, np.inf)
    check_real(confidence, "confidence", lambda level: 0 < level < 1, "in (0, 1)")
    name, draw = source(ensemble, seed)
    holds = of_design(claim)
    held = skipped = 0
    first: tuple[int, Design] | None = None
    for index in range(N):
        design = draw(index)
        answer = value_on(holds, design, f"design {index} of {name}, seed {seed}")
        held += bool(answer)
        skipped += answer is None
        if answer is not None and not answer and first is None:
            first = index, design
            if stop:
                break
    tried = index + 1 - skipped
    if not tried:
        raise ValueError(f"no design met the hypotheses: the claim returned None for all {N}")
    stopped = bool(stop and first)
    lower, upper = _interval(held, tried, stopped, confidence)
    least = smaller(claim, *first[1]) if first and shrink else None
    file = None
    if first and folder is not None:
        words = f"{getattr(claim, '__name__', 'claim')}-{name}-{seed}-{first[0]}"
        file = _save(Path(folder), words, first[0], first[1], least)
    place, counterexample = first or (None, None)
    return Rate(
        held=held,
        tried=tried,
        skipped=skipped,
        lower=lower,
        upper=upper,
        confidence=confidence,
        stopped=stopped,
        counterexample=counterexample,
        index=place,
        smaller=least,
        file=file,
    )


def smaller(claim: Claim, X: FloatArray, y: FloatArray, *, calls: int = 5000) -> Design:
    """Return a smaller design on which the claim also fails: with fewer entries, and with small integers.

    Columns, then rows, are left out one by one. If n > d + 1, the R of [X y] = QR, which has the same inner
    products, takes the place of [X y]. X and y are scaled and rounded to integers, or rounded to 0 to 3
    digits, and single entries are set to zero, halved or lowered. Finally designs of few small integers are
    tried. A design is taken if it is smaller, and the claim returns a false value that is not None. One on
    which the claim raises an error is not taken. The search draws the same designs in each run. It ends when
    no change makes the design smaller any more, or after `calls` calls of the claim. The claim must check its
    own hypotheses, for example unit columns, because the smaller designs may violate these hypotheses.

    Parameters
    ----------
    claim : a function of (X, y), or of one argument, the `Design`.
    X, y : a design on which the claim fails.
    calls : the most calls of the claim, at least 1.

    Returns
    -------
    Design, without its true β.

    Raises
    ------
    ValueError : the claim does not fail on X, y.

    >>> design = smaller(lambda X, y: np.abs(X).max() < 2, np.array([[1.0, 0.1], [0.3, 2.7]]), np.ones(2))
    >>> design.X, design.y
    (array([[2.]]), array([0.]))
    """
    left = check_count(calls, "calls", 1)
    holds = of_design(claim)
    best = Design(np.array(X, np.float64), np.array(y, np.float64))

    def fails(design: Design) -> bool:
        nonlocal left
        left -= 1
        try:
            answer = holds(design)
        except Exception:
            return False
        return answer is not None and not answer

    if not fails(best):
        raise ValueError("the claim does not fail on X, y. Pass a design on which it fails")
    for candidates in (_STEPS, (_small_integers,), _STEPS):
        changed = True
        while changed and left > 0:
            changed = False
            for step in candidates:
                place = 0
                while left > 0 and (candidate := step(best, place)) is not None:
                    if _cost(candidate) < _cost(best) and fails(candidate):
                        best = candidate
                        changed = True
                    else:
                        place += 1
    return best


def _cost(design: Design) -> tuple[int, int, float, float, int]:
    """Return how far a design is from one that can be worked by hand; `smaller` makes this smaller.

    The order is that of the number of entries, of the digits after the point, of the largest entry, of the
    sum of all, and of the number of negative ones.
    """
    whole = np.column_stack([design.X, design.y])
    digits = next((i for i in range(4) if np.array_equal(np.round(whole, i), whole)), 4)
    size = np.abs(whole)
    return whole.size, digits, float(size.max()), float(size.sum()), int((whole < 0).sum())


def _fewer(axis: int, design: Design, place: int) -> Design | None:
    """Return the design without a row (axis 0) or column (axis 1), counted by `place` from the last one.

    Returns None if there is no such row or column, or only one.
    """
    last = design.X.shape[axis] - 1
    if not 0 < last >= place:
        return None
    X = np.delete(design.X, last - place, axis)
    return Design(X, design.y if axis else np.delete(design.y, last - place))


def _fewest_rows(design: Design, place: int) -> Design | None:
    """Return the design with min(n, d + 1) rows and the same inner products, the R of [X y] = QR."""
    n, d = design.X.shape
    if place or n <= d + 1:
        return None
    return _split(np.asarray(np.linalg.qr(np.column_stack([design.X, design.y]), mode="r")))


def _integers(design: Design, place: int) -> Design | None:
    """Return the design with X and y rounded to integers, scaled to a largest entry of 1 to 20.

    place : the number of the choice of the two sizes, from 0; None after the last one.
    """
    sizes = (1, 2, 3, 5, 9, 20)
    if place >= len(sizes) ** 2:
        return None
    pair = zip((design.X, design.y), (sizes[place % 6], sizes[place // 6]), strict=True)
    return Design(*(np.round(size * part / (np.abs(part).max() or 1.0)) + 0.0 for part, size in pair))


def _rounder(design: Design, place: int) -> Design | None:
    """Return the design with X, y, or both rounded to 0 to 3 digits; None after the last of 12 choices.

    place : the number of the choice, from 0.
    """
    if place >= 12:
        return None
    digits, which = divmod(place, 3)
    X = design.X if which == 2 else np.round(design.X, digits) + 0.0
    return Design(X, design.y if which == 1 else np.round(design.y, digits) + 0.0)


def _smaller_entries(design: Design, place: int) -> Design | None:
    """Return the design with one nonzero entry of [X y] replaced by 0, its half, one less, or its opposite.

    place : the number of the choice, from 0; None after the last entry.
    """
    whole = np.column_stack([design.X, design.y])
    nonzero = np.argwhere(whole)
    entry, which = divmod(place, 4)
    if entry >= len(nonzero):
        return None
    at = tuple(nonzero[entry])
    x = whole[at]
    whole[at] = (0.0, np.trunc(x / 2), x - np.sign(x), -x)[which] + 0.0
    return _split(whole)


def _small_integers(design: Design, place: int) -> Design | None:
    """Return a random design of at most 5 rows and 6 columns with entries in −2..2, the smallest ones first.

    place : the number of the design, from 0; there are 30 of each size that has fewer entries.
    """
    n, d = design.X.shape
    shapes = sorted(
        ((rows, columns) for rows in range(1, min(n, 5) + 1) for columns in range(1, min(d, 6) + 1)),
        key=lambda shape: (shape[0] * (shape[1] + 1), shape),
    )
    size, number = divmod(place, 30)
    if size >= len(shapes) or shapes[size][0] * (shapes[size][1] + 1) >= design.X.size + len(design.y):
        return None
    rows, columns = shapes[size]
    whole = np.random.default_rng([rows, columns, number]).integers(-2, 3, (rows, columns + 1))
    return _split(whole.astype(np.float64))


def _split(whole: FloatArray) -> Design:
    """Return the design (X, y) of the matrix [X y]."""
    return Design(np.ascontiguousarray(whole[:, :-1]), whole[:, -1].copy())


_STEPS = (partial(_fewer, 1), partial(_fewer, 0), _fewest_rows, _integers, _rounder, _smaller_entries)


def source(ensemble: Any, seed: int) -> tuple[str, Callable[[int], Design]]:
    """Return the name of an ensemble, and the function that draws its design with a given index.

    ensemble : a name, an `Ensemble`, or a function of a generator.
    """
    if isinstance(ensemble, str):
        if ":" in ensemble:
            ensemble = from_file(ensemble)
        elif ensemble not in ENSEMBLES:
            raise ValueError(f"unknown ensemble {ensemble!r}; the ensembles are {', '.join(ENSEMBLES)}")
        else:
            ensemble = ENSEMBLES[ensemble]
    if isinstance(ensemble, Ensemble):
        return ensemble.name, lambda index: ensemble.design(index, seed)
    if not callable(ensemble):
        raise TypeError(f"ensemble must be a name, an Ensemble or a function of rng; got {ensemble!r}")

    def draw(index: int) -> Design:
        drawn = ensemble(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))))
        return drawn if isinstance(drawn, Design) else Design(*drawn)

    return getattr(ensemble, "__name__", "draw"), draw


def of_design(claim: Claim, name: str = "claim") -> Callable[[Design], Any]:
    """Convert a claim, a function of (X, y) or of a `Design`, to a function of a `Design`."""
    try:
        needed = [
            p
            for p in inspect.signature(claim).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a function of (X, y), or of a Design; got {claim!r}") from None
    if len(needed) not in (1, 2):
        raise TypeError(
            f"{name} must be a function of (X, y), or of a Design; it takes {len(needed)} arguments"
        )
    return claim if len(needed) == 1 else lambda design: claim(design.X, design.y)


def value_on(function: Callable[[Design], Any], design: Design, words: str) -> Any:
    """Return the value of a function on a design; an error of the function gets a note with these words."""
    try:
        return function(design)
    except Exception as error:
        error.add_note(words)
        raise


def _interval(held: int, tried: int, stopped: bool, confidence: float) -> tuple[float, float]:
    """Compute the confidence interval of the probability that a claim holds; see `rate` for the formula."""
    from scipy.stats import binomtest

    if not stopped:
        found = binomtest(held, tried).proportion_ci(confidence, "exact")
        return float(found.low), float(found.high)
    tail = (1 - confidence) / 2
    return (tail ** (1 / held) if held else 0.0), (1 - tail) ** (1 / tried)


def _save(folder: Path, name: str, index: int, design: Design, least: Design | None) -> Path:
    """Save a counterexample, and its shrunken form `least` if there is one, as .npz; return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / (re.sub(r"[^\w.-]+", "_", name).strip("_") + ".npz")
    arrays: dict[str, Any] = {"X": design.X, "y": design.y, "index": index}
    if least is not None:
        arrays |= {"smaller_X": least.X, "smaller_y": least.y}
    np.savez_compressed(file, **arrays)
    return file
