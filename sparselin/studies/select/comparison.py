"""The other methods on the same folds: the number of features that they choose, and their errors."""

from typing import Any, NamedTuple

from sparselin.estimators import cross_validate
from sparselin.studies.common.listing import Field, Listing
from sparselin.studies.select.data import Data
from sparselin.studies.select.model import METHODS, ModelRequest
from sparselin.studies.select.words import Job, number, with_error

# The methods that are compared: quick ones whose picks differ. Sequential LASSO picks as OMP does.
COMPARED = ("omp", "ols", "lasso")
# Above this number of cells only the chosen method runs.
_CELLS = 5_000_000


class Compared(NamedTuple):
    """The number of features that cross-validation chooses for a method, and its error on held-out rows."""

    method: str
    features: int
    error: float
    standard_error: float


def compare(data: Data, job: Job, largest: Any, splits: list[Any]) -> list[Compared]:
    """Return the methods with their numbers of features and errors on the same folds, the chosen one first.

    There are none if the user gave the number of features, for another loss or another method, and for large
    tables.

    largest : the largest number of features to try, a function of the request.
    """
    request = job.request
    if job.checked is None or job.given or data.loss != "squared" or request.method not in COMPARED:
        return []
    if data.X.shape[0] * len(request.sizes) > _CELLS:
        return []
    found = [_row(request.method, job.checked)]
    for method in COMPARED:
        if method != request.method:
            other: ModelRequest = request._replace(method=method)
            checked = cross_validate(
                other.model(largest(other)), data.X, data.y, cv=splits, sample_weight=data.weight
            )
            found.append(_row(method, checked))
    return found


def _row(method: str, checked: Any) -> Compared:
    place = checked.at(checked.chosen)
    error = float(checked.error[place]), float(checked.standard_error[place])
    return Compared(method, int(checked.chosen), *error)


def sentences(compared: list[Compared]) -> list[str]:
    """Return a sentence for each method with fewer features than the chosen one and a smaller error."""
    if not compared:
        return []
    ours, *others = compared
    return [
        f"On the same folds {METHODS[other.method].words} has {other.features} features in place of "
        f"{ours.features}, and a smaller error: {with_error(other.error, other.standard_error)}. To use "
        f"it, add --method {other.method}."
        for other in others
        if other.features < ours.features and other.error < ours.error
    ]


def table(compared: list[Compared]) -> Listing:
    """Return the table of methods for the page and methods.csv."""
    fields = [
        Field("method", None, "method", lambda row: row.method),
        Field("features", None, "features", lambda row: row.features),
        Field("error", None, "error", lambda row: row.error, number),
        Field("std. error", None, "standard_error", lambda row: row.standard_error, number),
    ]
    return Listing(fields, compared)
