"""The question whether a path, or another result, belongs to the data of a problem.

The properties of the columns are compared here. Each reader of a path then compares numbers, with a tolerance
that follows from the way in which it computes them; `other_data` makes its error.
"""

from typing import Any

import numpy as np

from sparselin.problem.problem import Problem
from sparselin.validation import some_names

_DATA = "Pass the data and the sample_weight from which the path was computed"


def other_data(why: str, more: str = "") -> ValueError:
    """Make the error that a path was computed from other data, with the reason, and more after the remedy."""
    return ValueError(f"path does not belong to X and y: {why}. {_DATA}{more}.")


def responses(path: Any, y: Any) -> Any:
    """Return y as numbers: 0 and 1 for the first and the second label of a path of logistic regression.

    Raises ValueError if y has other labels than the path.
    """
    if not path.classes:
        return y
    labels = np.asarray(y)
    others = labels[~np.isin(labels, path.classes)].tolist()
    if others:
        raise other_data(f"its labels are {path.classes}, y also has {others[0]!r}")
    return (labels == path.classes[1]).astype(np.float64)


def check_path(problem: Problem, path: Any) -> None:
    """Raise ValueError unless a result has the features, the intercept and the scales of the problem.

    Names are compared if both have them, because a method that selects again would show its coefficients
    under the names of other columns. A result without a property, such as a subset, is not asked for it.
    """
    properties = {
        "n_features": ("number of features", problem.n_features),
        "with_intercept": ("intercept", problem.design.ones is not None),
        "standardized": ("standardization", problem.design.scale is not None),
    }
    for field, (words, ours) in properties.items():
        theirs = getattr(path, field, ours)
        if theirs != ours:
            raise other_data(f"its {words} is {theirs}, that of the data is {ours}")
    if problem.names is not None and path.names is not None and problem.names != path.names:
        raise other_data(
            f"the names of its features are {some_names(path.names)}, those of the columns of X are "
            f"{some_names(problem.names)}"
        )
