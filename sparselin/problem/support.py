"""The table of the data and options that each method takes, for messages, docs/data.md and the tests.

`SUPPORT[name]` lists the kinds of data that the public function `name` takes, its options, and the pairs
(data, option) that it refuses. A Gram or compressed problem is weighted, centred and scaled when it is made.
Three combinations are not supported, for these reasons:

- `sequential_lasso` has no `positive`, because its homotopy does not restrict the signs of the coefficients
  on the features without penalty.
- An operator cannot be standardized, because its entries are not available.
- Complex columns have neither a sign nor an intercept. A column of ones in `forced` serves as intercept.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sparselin.validation import has_masked_entries

_ARRAYS = ("dense", "sparse", "float32")
DATA = (*_ARRAYS, "Gram", "operator", "complex", "compressed")
_OF_ROWS = ("intercept", "standardize", "weights")  # they change the data, so they need rows of X
_USUAL = (*_OF_ROWS, "forced")
OPTIONS = (*_USUAL, "positive", "tol")


class Support(NamedTuple):
    """The data that a function takes, its options, and the pairs (data, option) that the function refuses.

    copies : whether the function copies a sparse X to a dense array, or to the d × d Gram matrix.
    """

    data: tuple[str, ...]
    options: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    copies: bool = False


_PROBLEMS = (*_ARRAYS, "Gram", "compressed")
_PRODUCTS = (*_PROBLEMS, "operator")
_NO_ENTRIES = (("operator", "standardize"),)
_NO_ROWS = tuple(("Gram", option) for option in _OF_ROWS)
_NO_OFFSET = (("complex", "intercept"), ("complex", "standardize"))
_NO_SIGN = (("complex", "positive"),)
_BY_PRODUCTS = Support(_PRODUCTS, _USUAL, (*_NO_ROWS, *_NO_ENTRIES))
_ON_ENTRIES = Support(_PROBLEMS, _USUAL, _NO_ROWS)
_COPIED = _ON_ENTRIES._replace(copies=True)

SUPPORT: Mapping[str, Support] = MappingProxyType(
    {
        "omp": Support(DATA, OPTIONS, (*_NO_ROWS, *_NO_ENTRIES, *_NO_OFFSET, *_NO_SIGN)),
        "ols": Support(DATA, (*_USUAL, "tol"), (*_NO_ROWS, *_NO_ENTRIES, *_NO_OFFSET)),
        "generalized_omp": Support(_ARRAYS, (*_USUAL, "tol")),
        "batch_omp": Support(
            (*_ARRAYS, "operator", "complex"), ("weights", "forced", "positive", "tol"), _NO_SIGN
        ),
        "sequential_lasso": _BY_PRODUCTS,
        "sequential_attention": _COPIED,
        "first_entry": _BY_PRODUCTS,
        "lambda_star": _BY_PRODUCTS,
        "window_ratios": _BY_PRODUCTS,
        "verify": Support(_ARRAYS, copies=True),
        "lasso_path": _BY_PRODUCTS._replace(options=(*_USUAL, "positive")),
        "gradient_flow": _BY_PRODUCTS,
        "project_dual": Support((*_ARRAYS, "operator"), ("forced",)),
        "hadamard_descent": _COPIED._replace(options=(*_USUAL, "tol")),
        "best_subset": _COPIED._replace(options=(*_USUAL, "positive")),
        "subsets_within": _COPIED._replace(options=(*_USUAL, "positive")),
        "swaps": _ON_ENTRIES,
        "stability_selection": Support(_ARRAYS, _USUAL),
        "forward_regression": _ON_ENTRIES,
        "local_search": _ON_ENTRIES,
        "greedy_local_search": _ON_ENTRIES,
        "choose_nu": _ON_ENTRIES,
        "certify": Support((*_ARRAYS, "compressed"), copies=True),
        "leave_one_out": Support(_ARRAYS, ("weights",)),
        "condition": Support(_ARRAYS, ("weights",)),
        "inference": Support(("dense", "sparse"), ("weights",)),
        "explain": Support(_PROBLEMS, ("weights",), (("Gram", "weights"),)),
        "guarantee_bounds": _COPIED,
        "submodularity_ratio": _COPIED,
        "coherence": Support(_PROBLEMS),
        "babel": Support(_PROBLEMS),
        "exact_recovery_coefficient": Support(_PROBLEMS),
        "sparse_eigenvalues": Support(_PROBLEMS, copies=True),
    }
)


def takers(data: str) -> str:
    """List the names of the functions that take this kind of data, as text: "a, b and c"."""
    names = [name for name, support in SUPPORT.items() if data in support.data]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def no_operator() -> TypeError:
    """Make the error for a LinearOperator in a call of a function that needs the entries of X."""
    return TypeError(
        "X must be an array, a sparse matrix or a frame here, because this function needs the entries of X. "
        f"Only {takers('operator')} take a LinearOperator. X @ np.eye(X.shape[1]) converts a small one to an "
        "array."
    )


def only_real(data: str, name: str) -> ValueError:
    """Make the error that lists the options that the function `name` refuses for this kind of data."""
    options = [option for kind, option in SUPPORT[name].refused if kind == data]
    words = f"{', '.join(options[:-1])} and {options[-1]} are" if options[1:] else f"{options[0]} is"
    return ValueError(f"{words} for real data only. For an intercept, pass a column of ones in forced")


def is_complex(value: Any) -> bool:
    """Return whether an array, a sparse matrix, an operator or a list holds complex numbers."""
    dtype = getattr(value, "dtype", None)
    if dtype is None and isinstance(value, (list, tuple)) and not has_masked_entries(value):
        try:
            dtype = np.asarray(value).dtype
        except ValueError:  # rows of different lengths, which are refused later
            return False
    return getattr(dtype, "kind", "") == "c"


def refuse_complex(**data: Any) -> None:
    """Raise TypeError if an argument is complex. The message names the functions that take complex data."""
    for name, value in data.items():
        if not (type(value) is np.ndarray and value.dtype.kind == "f") and is_complex(value):
            raise TypeError(
                f"{name} must hold real numbers (float32, float64, integers or booleans); "
                f"got dtype {np.asarray(value).dtype if isinstance(value, (list, tuple)) else value.dtype}. "
                f"Only {takers('complex')} take complex data"
            )
