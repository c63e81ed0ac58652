"""The claims in Section 6 of the paper on spectral regularization (2012), checked panel by panel.

The panels are those of the paper's Figure 1, for which the experiment selects k features by several methods.
A claim consists of comparisons between numbers of the experiment, and its verdict depends on the fraction of
comparisons that hold. Selections with fewer than k features are left out of all comparisons, because the
errors and the diversity at k refer to k features. The omitted comparisons are counted.
"""

from __future__ import annotations

import dataclasses
import itertools
import string
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from proofs_checks.experiments.diversity.regularizers import REGULARIZERS
from proofs_checks.experiments.diversity.run import BASELINES, DiversitySettings, MethodSelection, methods

# the end of the printed axis next to the curves, and the tick before it. If the axes were fitted to the
# curves, the largest error of (a) and (b) and the smallest diversity of (c)-(f) are between these two.
PRINTED_AXES = {
    "a": (0.10, 0.12),
    "b": (0.6, 0.7),
    "c": (0.55, 0.60),
    "d": (0.4, 0.5),
    "e": (0.93, 0.94),
    "f": (0.65, 0.70),
}
# a bound on the rounding error of R² ≤ 1, a sum of at most some ten thousand squares
ROUNDING = 1e-12
Errors = Callable[[MethodSelection], float]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim of the paper, and the outcome of our comparisons.

    Attributes
    ----------
    key : the name of the claim, which is the same in all panels.
    panel : the panel of Figure 1, "a" to "f", to which the claim refers. Further regularizers have the
        letters "g", …; a claim in the text has "".
    claim : the claim in our words, as a clause.
    held, total : the number of comparisons that hold, and of all comparisons.
    numbers : the measured numbers, in a sentence.
    left_out : the number of comparisons that are left out, because a selection has fewer than k features.
    """

    key: str
    panel: str
    claim: str
    held: int
    total: int
    numbers: str
    left_out: int = 0

    @classmethod
    def count(
        cls, key: str, panel: str, claim: str, held: Sequence[bool], numbers: str, left_out: int
    ) -> Finding:
        """Return the finding that counts the comparisons that hold."""
        return cls(key, panel, claim, sum(held), len(held), numbers, left_out)

    @property
    def verdict(self) -> str:
        """The verdict in words, by the share of comparisons that hold.

        It is "shows" if all hold, "shows mostly" for at least 80 %, "shows in part" for at least half, and
        otherwise "does not show".
        """
        if not self.total:
            return "not measured"
        if self.held == self.total:
            return "shows"
        share = self.held / self.total
        if share >= 0.8:
            return "shows mostly"
        return "shows in part" if share >= 0.5 else "does not show"


class Table:
    """The selections of a run by (method, k).

    `at` has the selections that have k features. `short` has the keys (method, k) of the selections with
    fewer features.
    """

    def __init__(self, selections: Sequence[MethodSelection]) -> None:
        self.at = {(s.method, s.k): s for s in selections if not s.short}
        self.short = {(s.method, s.k) for s in selections if s.short}
        self.ks = sorted({s.k for s in selections})

    def pairs(self, a: str, b: str) -> Iterator[tuple[MethodSelection, MethodSelection]]:
        """Yield the selections of two methods for each k at which both methods selected k features."""
        for k in self.ks:
            if (a, k) in self.at and (b, k) in self.at:
                yield self.at[a, k], self.at[b, k]

    def line(self, method: str) -> list[MethodSelection]:
        """Return the selections of a method, in the order of k, without those that have fewer than k
        features.
        """
        return [self.at[method, k] for k in self.ks if (method, k) in self.at]

    def left_out(self, *groups: Sequence[str]) -> int:
        """Count the comparisons that are left out because a selection has fewer than k features.

        groups : the methods that each comparison involves. Each comparison is made once for every k.
        """
        there = self.at.keys() | self.short
        return sum(
            {(name, k) for name in group} <= there and any((name, k) in self.short for name in group)
            for group in groups
            for k in self.ks
        )

    def ends(self, method: str) -> tuple[MethodSelection, MethodSelection] | None:
        """Return the selections of a method for the smallest and the largest k.

        The result is None if one of these two selections is missing or has fewer than k features.
        """
        if len(self.ks) < 2 or not {(method, self.ks[0]), (method, self.ks[-1])} <= self.at.keys():
            return None
        return self.at[method, self.ks[0]], self.at[method, self.ks[-1]]


def panels() -> dict[str, str]:
    """Return the letter of the panel of each regularizer; the paper's regularizers have "c" to "f"."""
    return dict(zip(REGULARIZERS, string.ascii_lowercase[2:], strict=False))


def _order() -> list[tuple[str, str]]:
    """Return the pairs of methods in which the first should have smaller errors than the second.

    The expected order is: regularized selection below greedy selection ("no-reg"), and this below the LASSO.
    """
    return [*((name, "no-reg") for name in REGULARIZERS), ("no-reg", "lasso")]


def judge(selections: Sequence[MethodSelection], settings: DiversitySettings) -> list[Finding]:
    """Return the findings on all claims: panels (a) and (b) on errors, the panels on diversity, and the
    text.
    """
    table = Table(selections)
    sigma = settings.sigma
    kinds: list[tuple[str, str, Errors]] = [
        ("a", "y", lambda s: float(np.mean(s.target[sigma]))),
        ("b", "X", lambda s: float(np.mean(s.features[sigma]))),
    ]
    found = [finding for panel, what, error in kinds for finding in _errors(table, panel, what, error)]
    found += [finding for name in REGULARIZERS for finding in _diversity(table, name)]
    return [*found, _fit(table, settings.refitted), _other_sigmas(table, settings)]


def _errors(table: Table, panel: str, what: str, error: Errors) -> list[Finding]:
    """Return the findings on panel (a) or (b), which show the errors of the coefficients under noise.

    what : the perturbed data, in words. error : a function that returns the error of a selection.
    """
    regularized = [
        (name, error(ours) / error(base))
        for name in REGULARIZERS
        for ours, base in table.pairs(name, "no-reg")
        if error(base) > 0
    ]
    below = [(name, ratio < 1) for name, ratio in regularized]
    greedy = [error(ours) / error(base) for ours, base in table.pairs("no-reg", "lasso") if error(base) > 0]
    up = [step for name in BASELINES for step in _steps_up([error(s) for s in table.line(name)])]
    return [
        Finding.count(
            "regularized",
            panel,
            f"with {what} perturbed, each regularizer's error is below no-reg's",
            [held for _, held in below],
            f"{_by_method(below)}; median ratio {_median([ratio for _, ratio in regularized])}",
            table.left_out(*((name, "no-reg") for name in REGULARIZERS)),
        ),
        Finding.count(
            "greedy",
            panel,
            "no-reg's error is below lasso's",
            [ratio < 1 for ratio in greedy],
            f"median ratio {_median(greedy)}",
            table.left_out(("no-reg", "lasso")),
        ),
        Finding.count(
            "growth",
            panel,
            "the errors of lasso and no-reg grow with k",
            up,
            "steps from one k to the next that go up",
            table.left_out(*((name,) for name in BASELINES)),
        ),
        *_rises(table, panel, error),
        _likeness(table, panel, error),
    ]


def _rises(table: Table, panel: str, error: Errors) -> list[Finding]:
    """Judge the claim of the text that errors are "only very mildly increasing" in k.

    The two findings compare how much the errors of the methods rise from the smallest to the largest k, by
    the difference and by the ratio of the two errors.
    """
    ends = {name: both for name in (*BASELINES, *REGULARIZERS) if (both := table.ends(name))}
    errors = {name: (error(first), error(last)) for name, (first, last) in ends.items() if error(first) > 0}
    pairs = [(name, base) for name in REGULARIZERS for base in BASELINES if {name, base} <= errors.keys()]
    added = {name: last - first for name, (first, last) in errors.items()}
    factor = {name: last / first for name, (first, last) in errors.items()}
    without = sorted(
        {name for name, k in table.short if k in (table.ks[0], table.ks[-1])}, key=methods().index
    )
    rest = f"; without {', '.join(without)}, with fewer features at one end" if without else ""
    least = (max(table.ks) / min(table.ks)) ** 0.5 if table.ks else 1.0
    bound = f"; the smallest possible for k unit columns, σ√(k/n), ×{least:.1f}" if panel == "a" else ""
    left_out = sum(name in without or base in without for name in REGULARIZERS for base in BASELINES)
    return [
        Finding.count(
            "mild",
            panel,
            "the regularizers' errors rise less from the first k to the last than either baseline's",
            [added[name] < added[base] for name, base in pairs],
            f"last minus first: {', '.join(f'{name} {rise:+.4f}' for name, rise in added.items())}{rest}",
            left_out,
        ),
        Finding.count(
            "mild in proportion",
            panel,
            "in proportion: from the first k to the last the regularizers' errors grow by a smaller "
            "factor than either baseline's",
            [factor[name] < factor[base] for name, base in pairs],
            f"last over first: {', '.join(f'{name} ×{rise:.1f}' for name, rise in factor.items())}"
            f"{bound}{rest}",
            left_out,
        ),
    ]


def _likeness(table: Table, panel: str, error: Errors) -> Finding:
    """Judge the claim of the text that "it does not seem to matter which regularizer we employ"."""
    held, spread = [], []
    count = "the four" if len(REGULARIZERS) == 4 else f"the {len(REGULARIZERS)}"
    for k in table.ks:
        ours = [error(table.at[name, k]) for name in REGULARIZERS if (name, k) in table.at]
        if len(ours) == len(REGULARIZERS) and ("no-reg", k) in table.at:
            held.append(max(ours) - min(ours) < error(table.at["no-reg", k]) - max(ours))
            spread.append(max(ours) / min(ours))
    return Finding.count(
        "alike",
        panel,
        f"the choice of the regularizer matters little: {count} differ less from each other than from no-reg",
        held,
        f"largest over smallest of {count}: median {_median(spread)}",
        table.left_out((*REGULARIZERS, "no-reg")),
    )


def _diversity(table: Table, name: str) -> list[Finding]:
    """Return the findings on the panel that shows the diversity f(S) by one regularizer f."""
    above = [
        (base, ours.diversity[name] > other.diversity[name])
        for base in BASELINES
        for ours, other in table.pairs(name, base)
    ]
    lines = {base: [s.diversity[name] for s in table.line(base)] for base in (*BASELINES, name)}
    ranges = ", ".join(
        f"{base} {min(line):.3f} to {max(line):.3f}" for base, line in lines.items() if len(line)
    )
    return [
        Finding.count(
            "diverse",
            panels()[name],
            f"{name} is more diverse than lasso and than no-reg",
            [held for _, held in above],
            "; ".join(filter(None, (_by_method(above), ranges))),
            table.left_out(*((name, base) for base in BASELINES)),
        ),
        *(_trend(panels()[name], base, lines[base], table.left_out((base,))) for base in BASELINES),
    ]


def _trend(panel: str, name: str, line: Sequence[float], left_out: int) -> Finding:
    """Judge the sentence "The lines … show an increasing trend" for one curve of a panel.

    The finding counts the steps from each k to the next in which the curve increases.
    """
    up = _steps_up(line)
    ends = f"; from {line[0]:.3f} to {line[-1]:.3f}" if line else ""
    claim = f"the curve of {name} increases with k"
    return Finding.count(f"trend {name}", panel, claim, up, f"steps up{ends}", left_out)


def _fit(table: Table, refitted: bool) -> Finding:
    """Judge the sentence "This ensures we are not sacrificing diversity for solution quality" of the text.

    The `Finding` that is returned counts the selections made with a regularizer whose R² is at least that of
    the LASSO with as many features.
    """
    ours = [s for name in REGULARIZERS for s in table.line(name)]
    own = sum(s.r2 >= s.r2_lasso - ROUNDING for s in ours)
    squares = sum(s.r2 >= s.r2_refitted - ROUNDING for s in ours)
    lost = [base.r2 - s.r2 for name in REGULARIZERS for s, base in table.pairs(name, "no-reg")]
    worst = f", {max(lost):.3f} at most" if lost else ""
    rules = (
        ("that of the LASSO's own coefficients", own),
        ("that of least squares on the LASSO's features", squares),
    )
    (rule, held), (other, also) = rules[::-1] if refitted else rules
    return Finding(
        key="fit",
        panel="",
        claim=f"R² is at least {rule} at the same k",
        held=held,
        total=len(ours),
        numbers=f"at least {other}: {also} of {len(ours)}; "
        f"below no-reg's by {_median(lost, 3)} in the median{worst}",
        left_out=table.left_out(*((name,) for name in REGULARIZERS)),
    )


def _other_sigmas(table: Table, settings: DiversitySettings) -> Finding:
    """Judge the sentence "results for other values of σ are similar" of the text and a footnote.

    The strength σ of the noise in X takes several values.
    """
    held = total = 0
    worst = []
    others = settings.all_sigmas()[1:]
    for sigma in others:
        counts = order_at(table, sigma)
        held, total = held + counts[0], total + counts[1]
        worst.append(f"{sigma:g}: {counts[0]} of {counts[1]}")
    return Finding(
        key="sigma",
        panel="",
        claim="for other σ the order is the same with X perturbed: regularized below no-reg below lasso",
        held=held,
        total=total,
        numbers=f"σ = {'; '.join(worst)}. With y perturbed the error is proportional to σ",
        left_out=len(others) * table.left_out(*_order()),
    )


def order_at(table: Table, sigma: float) -> tuple[int, int]:
    """Count how often the errors for one strength σ of the noise in X have the expected order.

    The expected order is: regularized selection below greedy selection, and this below the LASSO. Returns the
    number of comparisons that hold, and the number of all comparisons.
    """
    held = [
        float(np.mean(ours.features[sigma])) < float(np.mean(other.features[sigma]))
        for a, b in _order()
        for ours, other in table.pairs(a, b)
    ]
    return sum(held), len(held)


def extremes(selections: Sequence[MethodSelection], sigma: float) -> dict[str, float]:
    """Return the largest error of each panel on errors, and the least diversity of each panel on
    diversity.
    """
    found = {
        "a": max(float(np.mean(s.target[sigma])) for s in selections),
        "b": max(float(np.mean(s.features[sigma])) for s in selections),
    }
    for name, panel in panels().items():
        found[panel] = min(s.diversity[name] for s in selections if s.method in (*BASELINES, name))
    return found


def _steps_up(line: Sequence[float]) -> list[bool]:
    """Return, for each pair of neighbouring values of a curve, whether the second is larger than the
    first.
    """
    return [after > before for before, after in itertools.pairwise(line)]


def _by_method(held: Sequence[tuple[str, bool]]) -> str:
    """Return how many comparisons of each method hold, for example "ld 9 of 9, sv 8 of 9"."""
    parts = []
    for name, group in itertools.groupby(held, key=lambda pair: pair[0]):
        values = [value for _, value in group]
        parts.append(f"{name} {sum(values)} of {len(values)}")
    return ", ".join(parts)


def _median(values: Sequence[float], digits: int = 2) -> str:
    return f"{np.median(values):.{digits}f}" if len(values) else "none"
