"""The function `show`, which draws a result with the function for its class."""

import pkgutil
from collections.abc import Callable
from typing import Any

from sparselin import results
from sparselin.guarantees.perturbation.condition import Condition
from sparselin.plots import style
from sparselin.plots.bounds import guarantee_bounds, inference, interval, sparse_eigenvalues
from sparselin.plots.condition import condition
from sparselin.plots.hoff import descent
from sparselin.plots.paths import batch_selection, explanation, flow, lasso_path
from sparselin.plots.resampling import leave_one_out, stability
from sparselin.plots.selection import selection
from sparselin.plots.sets import dual_projection, greedy_maximum, nu_choice, subset, subsets_within
from sparselin.plots.style import GREY, Axes, line_width
from sparselin.plots.window import first_entry

# class ↦ the function that draws it; a subclass without an entry uses that of its base class. The results of
# other rooms name their function in `_picture`.
PICTURES: dict[type, Callable[..., Axes]] = {
    results.SelectionPath: selection,
    results.GeneralizedPath: selection,
    results.GroupPath: selection,
    results.LassoPath: lasso_path,
    results.FlowPath: flow,
    results.Explanation: explanation,
    results.FirstEntry: first_entry,
    results.BatchSelection: batch_selection,
    results.SubsetResult: subset,
    results.GreedyMaximum: greedy_maximum,
    results.NuChoice: nu_choice,
    results.SubsetsWithin: subsets_within,
    results.StabilitySelection: stability,
    results.LeaveOneOut: leave_one_out,
    results.Inference: inference,
    results.DualProjection: dual_projection,
    results.DescentResult: descent,
    results.Interval: interval,
    results.SparseEigenvalues: sparse_eigenvalues,
    results.GuaranteeBounds: guarantee_bounds,
    Condition: condition,
}


def show(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a result of any class, or the path of a fitted selector, with the feature names that it has.

    On the path of a selector a dashed line follows the last selected feature. For the errors of its
    cross-validation see `cross_validation`.

    Parameters
    ----------
    result : the result of a method: a path, a subset, an interval, …; or a fitted selector. A selector with a
        result for each k shows the result with the chosen k, and `LassoSelector` shows `lasso_path_`.
    ax : where to draw; a new figure if None. Some pictures put a second panel on the right, inside the same
        area.

    Returns
    -------
    The Axes; if there are two panels, the left one. `show(result).figure.savefig("name.png")` saves the
    picture.

    Raises
    ------
    TypeError : `result` is of a class that has no picture, or a selector that is not fitted.

    >>> import sparselin as sl
    >>> show(sl.omp([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2)).get_xlabel()
    '$\\\\lambda^*$ (and its margin)'
    """
    if own := getattr(result, "_picture", None):  # "module:function", of a class outside of `results`
        draw: Callable[..., Axes] = pkgutil.resolve_name(own)
        return draw(result, ax=ax)
    for kind in type(result).__mro__:
        if kind in PICTURES:
            return PICTURES[kind](result, ax=ax)
    path = getattr(result, "lasso_path_", getattr(result, "result_", getattr(result, "path_", None)))
    if path is not None:  # of an estimator
        ax = show(path, ax=ax)
        k = getattr(result, "k_", 0)
        if PICTURES.get(type(path)) is selection and 0 < k < len(path):
            ax.axhline(k - 0.5, color=GREY, linestyle="--", linewidth=line_width(1.2))
            style.write_near(ax, f"selected: {k}", (ax.get_xlim()[0], k - 0.5), (4, 3), color=GREY)
        return ax
    known = ", ".join(kind.__name__ for kind in PICTURES)
    raise TypeError(f"result must be a fitted selector, or one of {known}; got {type(result).__name__}")
