"""The methods of `sparselin select`, for its options. This module loads quickly, and nothing else does."""

from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method of selection: its name in a sentence, its selector, and the parameters of this selector.

    options : the arguments that are always passed.
    grouped, scaled : whether the selector takes `groups`, and `standardize`.
    """

    words: str
    selector: str
    options: tuple[tuple[str, Any], ...] = ()
    grouped: bool = False
    scaled: bool = True


METHODS = {
    "omp": Method("orthogonal matching pursuit", "OMPSelector", grouped=True),
    "nonnegative-omp": Method(
        "orthogonal matching pursuit with coefficients ≥ 0", "OMPSelector", (("positive", True),)
    ),
    "ols": Method("orthogonal least squares (forward selection)", "OLSSelector", scaled=False),
    "lasso": Method("the LASSO, its features refitted by least squares", "LassoSelector"),
    "best-subset": Method(
        "the best subset, by branch and bound", "BestSubsetSelector", grouped=True, scaled=False
    ),
    "sequential-lasso": Method("Sequential LASSO", "SequentialLassoSelector"),
    "sequential-attention": Method("linear Sequential Attention", "SequentialAttentionSelector"),
}
