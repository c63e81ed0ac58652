"""Pictures of feature selection with networks: attention, and the path of LassoNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.neural.results import AttentionPath, LassoNetPath
from sparselin.plots import style
from sparselin.plots.style import BLUE, GREEN, ORANGE, Axes


def attention(path: AttentionPath, *, ax: Axes | None = None) -> Axes:
    """Draw the attention weights at the end of each phase, divided by the mean over the remaining units.

    A small dot is a remaining unit; a large dot is a pick, with its name. If a pick is close to the other
    dots, the decision was uncertain: train for longer.

    >>> from sparselin.results import Status
    >>> path = AttentionPath(
    ...     order=np.array([1, 0]), phase=np.array([1, 2]), attention=np.array([[0.25, 0.75], [1.0, 1.0]]),
    ...     margin=np.array([2 / 3, 1.0]), loss=np.array([0.5, 0.25]), steps=np.array([10, 10]),
    ...     penalty=np.zeros(2), warm_up_steps=0, total_steps=20, warm_up_loss=np.nan,
    ...     parametrization="softmax", groups=np.array([0, 1]), status=Status.COMPLETED, names=None,
    ... )
    >>> ax = attention(path)
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.lines[1].get_xdata().tolist()
    (['1  x1', '2  x0'], [1.5])
    """
    phases, units = path.attention.shape
    mean = "attention / mean of the remaining units"
    ax = style.picture(ax, mean, "phase", "", (6.6, style.height(phases)))
    if not phases:
        return style.note(ax, "no phase has ended")
    labels = []
    for p in range(phases):
        left = np.setdiff1d(np.arange(units), path.order[path.phase <= p])
        picks = path.order[path.phase == p + 1]
        share = path.attention[p] / path.attention[p, left].mean()
        dots: dict[str, Any] = {"color": BLUE, "alpha": 0.35, "markersize": 4, "label": "remaining units"}
        ax.plot(share[left], np.full(len(left), p), ".", **dots)
        ax.plot(share[picks], np.full(len(picks), p), "o", color=ORANGE, markersize=7, label="picked")
        labels.append(f"{p + 1}  {', '.join(style.name(path.names, int(j)) for j in picks[:3])}")
    style.rows(ax, labels)
    style.legend(ax)
    return ax


def lassonet(path: LassoNetPath, *, ax: Axes | None = None) -> Axes:
    """Draw the number of features at each λ, and in a right panel the loss.

    >>> from sparselin.results import Status
    >>> path = LassoNetPath(
    ...     lam=np.array([0.0, 1.0, 2.0]), objective=np.array([0.5, 1.5, 2.0]),
    ...     loss=np.array([0.5, 1.0, 2.0]), validation_loss=np.full(3, np.nan),
    ...     n_selected=np.array([2, 1, 0]),
    ...     mask=np.array([[True, True], [True, False], [False, False]]),
    ...     theta_norm=np.array([[1.0, 0.5], [0.5, 0.0], [0.0, 0.0]]), epochs=np.array([100, 10, 10]),
    ...     returns=np.zeros(3, int), excess=np.array([0.0, 0.5, 0.9]), states=(), M=10.0, k=0, groups=None,
    ...     status=Status.COMPLETED, names=None,
    ... )
    >>> lassonet(path).lines[0].get_xydata().tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    """
    ax = style.picture(ax, r"$\lambda$", "features")
    lam = path.lam[path.lam > 0]
    if not len(lam):
        return style.note(ax, "the path has only the dense network")
    shown = path.lam > 0
    look: dict[str, Any] = {"markersize": 4, "linewidth": 1.3}
    ax.plot(lam, path.n_selected[shown], "o-", color=BLUE, drawstyle="steps-post", **look)
    ax.set_ylim(bottom=0)
    right = style.panel(ax, r"$\lambda$", "loss", 1.0, shared=False)
    right.plot(lam, path.loss[shown], "o-", color=GREEN, label="training rows", **look)
    if np.isfinite(path.validation_loss[shown]).any():
        right.plot(lam, path.validation_loss[shown], "s-", color=ORANGE, label="validation rows", **look)
        style.legend(right, 1)
    for half in (ax, right):
        style.positive_axis(half, lam)
    return ax
