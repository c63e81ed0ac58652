"""Comparisons of the means and standard deviations that the papers print."""

from proofs_checks.experiments.networks.printed import SMALL, TABLE_2


def better(row):
    """Return the methods whose mean accuracy in Table 2 is above that of Sequential Attention (SA)."""
    return [name for name, (mean, _) in zip(SMALL, row, strict=True) if mean > row[0][0]]


def apart(a, b):
    """Return whether the intervals mean ± standard deviation of a and b are disjoint."""
    return abs(a[0] - b[0]) > a[1] + b[1]


def surely_better(name):
    """Return the methods in Table 2 whose interval, mean ± standard deviation, is below that of SA."""
    (mean, std), *others = TABLE_2[name]
    return [
        key for key, one in zip(SMALL[1:], others, strict=True) if apart((mean, std), one) and one[0] < mean
    ]
