"""The figures of `sparselin verify`: shares of agreeing steps, and windows of λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.plots.style import BLUE, ORANGE, RED, font_size, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERDICTS = (
    ("agreements", "agrees", BLUE, ""),
    ("undecided", "undecided", ORANGE, "///"),
    ("violations", "violates", RED, "xxx"),
)


def agreement(summary: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the shares of the steps of each ensemble that agree, are undecided, or violate the theorem.

    Parameters
    ----------
    summary : `EnsembleSummary` rows. They are drawn from the top down, each with its counts.
    ax : where to draw; a new figure if None.
    """
    ax = picture(ax, "share of steps", figsize=(7.2, 0.6 + 0.3 * len(summary)))
    from matplotlib.ticker import PercentFormatter

    names = [row.name for row in summary]
    left = np.zeros(len(summary))
    for field, label, colour, hatch in VERDICTS:
        share = np.array([getattr(row, field) / max(row.steps, 1) for row in summary])
        ax.barh(
            names, share, left=left, color=colour, label=label, height=0.78, hatch=hatch, edgecolor="white"
        )
        left = left + share
    for row in summary:
        text = f"{row.agreements} of {row.steps}" + (f", {row.undecided} undecided" if row.undecided else "")
        ax.text(0.01, row.name, text, va="center", ha="left", color="white", fontsize=font_size())
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=font_size())
    return ax


def windows(records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the ends of the windows of all steps, by ensemble.

    In the window (λ₂, λ*) the LASSO selects the same features. λ₂/λ* shows its lower end, and λ₀/λ* the lower
    end of the smaller window in the proof.

    Parameters
    ----------
    records : `DesignRecord`s.
    ax : where to draw; a new figure if None.
    """
    names = list(dict.fromkeys(record.ensemble for record in records))
    ax = picture(ax, r"$\lambda/\lambda^*$", figsize=(7.2, 0.6 + 0.34 * len(names)))
    for field, shift, colour, hatch, label in (
        ("window", -0.18, BLUE, "", r"$\lambda_2/\lambda^*$: above it the support is $A(S)$"),
        ("proof", 0.18, ORANGE, "//////", r"$\lambda_0/\lambda^*$: the bound of the printed proof"),
    ):
        values = [
            [getattr(step, field) for record in records if record.ensemble == name for step in record.steps]
            for name in names
        ]
        boxes = ax.boxplot(
            values,
            positions=np.arange(len(names)) + shift,
            orientation="horizontal",
            widths=0.3,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            medianprops={"color": "white", "linewidth": 1.4},
            boxprops={"facecolor": colour, "edgecolor": "white" if hatch else colour, "hatch": hatch},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        boxes["boxes"][0].set_label(label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def errors(records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the distance of s_α from the limit s against L = log(1/α), for each design with four runs or more.

    Parameters
    ----------
    records : `FlowRecord`s.
    ax : where to draw; a new figure if None.
    """
    ax = picture(ax, r"$L=\log(1/\alpha)$", r"$\max_\tau\|s_\alpha-s\|_\infty$", figsize=(7.2, 4.4))
    for L, error, bound in (np.array(r.check.runs).T for r in records if len(r.check.runs) > 3):
        ax.loglog(L, error, color=BLUE, lw=0.6, alpha=0.4)
        ax.loglog(L, bound, color=ORANGE, lw=0.6, alpha=0.4)
    ax.legend(["distance", "proved bound"], frameon=False, fontsize=font_size())
    return ax
