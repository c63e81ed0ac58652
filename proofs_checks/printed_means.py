"""Comparisons of the means and standard deviations that the papers print."""

from proofs_checks.experiments.networks.printed import SMALL, TABLE_2


def better(row):
    """Return the methods with a printed mean accuracy above that of Sequential Attention, in one row of Table
    2.
    """
    return [name for name, (mean, _) in zip(SMALL, row, strict=True) if mean > row[0][0]]


def apart(a, b):
    """Return whether two intervals, mean ± standard deviation, are disjoint.

    Each argument is a pair (mean, standard deviation).
    """
    return abs(a[0] - b[0]) > a[1] + b[1]


def surely_better(name):
    """Return the methods in Table 2 that Sequential Attention clearly beats on a data set.

    The interval (mean ± standard deviation) of such a method lies below that of Sequential Attention.
    """
    (mean, std), *others = TABLE_2[name]
    return [
        key for key, one in zip(SMALL[1:], others, strict=True) if apart((mean, std), one) and one[0] < mean
    ]
