"""What rows say about the means and standard deviations that the papers print."""

from proofs_checks.experiments.networks.printed import SMALL


def better(row):
    """The methods whose mean accuracy in Table 2 is above SA's."""
    return [name for name, (mean, _) in zip(SMALL, row, strict=True) if mean > row[0][0]]


def apart(a, b):
    """Whether mean ± standard deviation of the two do not meet."""
    return abs(a[0] - b[0]) > a[1] + b[1]
