"""The figures of the network studies: scores of methods on data sets, and the pixels that methods select."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from proofs_checks.experiments.networks import tables
from proofs_checks.experiments.networks.data import FORMS, table, title
from proofs_checks.experiments.networks.pieces import Record
from proofs_checks.experiments.networks.printed import OWN
from proofs_checks.experiments.networks.verdicts import Summary
from sparselin.plots.pixels import grey_image
from sparselin.plots.style import BLUE, GREY, ORANGE, font_size, look, picture, positive_axis, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 8  # with more lines than this, lines have no bars, panels are larger, and few lines have colours
_COLOURED = 6  # the number of lines with colours then
_PICTURES = 6  # images in a row
_FILLS: dict[str, Any] = {"-": "full", "--": "none", ":": "left"}  # the line style ↦ the fill of marks
_OTHERS: dict[str, Any] = {"color": "#c4c9ce", "zorder": 1, "label": "the other methods"}
_IN_PRINT: dict[str, Any] = {"color": GREY, "marker": "_", "linestyle": "--", "label": "in print"}
_SHORTEST = 1e-3  # seconds: records have three digits
_NUMBERS = {"adaptivity": "features at a time", "signals": "features in all"}
"""A study ↦ the meaning of its numeric settings."""

Figure = tuple[str, str, Any]  # name, caption, figure


def draw_study(study: str, mine: Sequence[tables.Row], records: Sequence[Record]) -> Iterator[Figure]:
    """Draw the figures of a study, such as accuracies against the number of features."""
    selected = [row for row in mine if row.size is not None]
    for learner in dict.fromkeys(row.ours.learner for row in selected):
        scored = [row for row in selected if row.ours.learner == learner]
        plain = [row.ours for row in scored if not row.ours.setting]
        yield from _against_k(plain, learner)
        yield from _leads(plain, learner)
        yield from _against_setting(study, scored, learner)
    yield from _against_seconds([row.ours for row in selected])
    for data in dict.fromkeys(record.piece.data for record in records):
        yield from _pixels(data, records)


def _figure(what: str, learner: str, rest: str, panels: Sequence[Axes]) -> Figure:
    """Return a figure that shows a kind of score, with its name and its caption."""
    words = tables.score_words(learner)
    letters = "".join(letter if letter.isalnum() else "-" for letter in learner)
    return f"{what}-{letters}", words[:1].upper() + words[1:] + rest, panels[0].figure


def _against_k(plain: Sequence[Summary], learner: str) -> Iterator[Figure]:
    """Draw the scores of the methods against the number k of features.

    If a method was run with different numbers of training rows, the runs with the fewest rows are drawn.
    """
    most_first = sorted(plain, key=lambda summary: summary.rows, reverse=True)
    fewest = {(summary.data, summary.method): summary.rows for summary in most_first}
    points = [(s.k, s) for s in plain if s.rows == fewest[s.data, s.method]]
    if len({k for k, _ in points}) > 1:
        panels = study_lines(points, "features", tables.score_words(learner))
        words = " against k: means over seeds."
        if len({method for _, method in fewest}) > MANY:
            words += " The methods that are first most often have colours."
        yield _figure("k", learner, words, panels)


def _leads(plain: Sequence[Summary], learner: str) -> Iterator[Figure]:
    """Draw how far the method `AGAINST` is ahead of the best other method, for each number of features.

    The lead is the difference of the two mean scores. Only methods with the same number of training rows are
    compared. The figure is drawn if there are more than `MANY` methods, with at least two seeds.
    """
    if len({summary.method for summary in plain}) <= MANY:
        return
    sign, pairs = -1 if learner in tables.LOWER else 1, []
    repeated = [s for s in plain if len(s.values) > 1]
    for ours in sorted((s for s in repeated if s.method == tables.AGAINST), key=lambda s: s.k):
        like = ours.data, ours.k, ours.rows
        others = [s for s in repeated if s is not ours and (s.data, s.k, s.rows) == like]
        if others:
            pairs.append((ours, max(others, key=lambda s: sign * s.mean)))
    if pairs:
        words = (
            f": the mean of {tables.AGAINST} minus that of the best other method, ± two standard errors of "
            "the difference. The best method is chosen by the same scores, so chance makes the "
            "differences too unfavourable."
        )
        yield _figure("lead", learner, words, study_leads(pairs, f"lead of {tables.AGAINST}"))


def _against_setting(study: str, mine: Sequence[tables.Row], learner: str) -> Iterator[Figure]:
    """Draw scores against a setting that begins with a number.

    If there is text after the number, it becomes a part of the name of the method, so that each variant has a
    line of its own.
    """
    points, printed = [], dict[str, list[tuple[float, float]]]()
    for row in mine:
        if found := tables.number_of(row.ours.setting):
            number, rest = found
            points.append((number, dataclasses.replace(row.ours, method=row.ours.method + rest)))
            if row.judged:
                printed.setdefault(row.ours.data, []).append((number, row.judged.printed.mean))
    if points:
        what = _NUMBERS.get(study, "setting")
        sorted_points = {data: sorted(means) for data, means in printed.items()}
        panels = study_lines(points, what, tables.score_words(learner), sorted_points)
        yield _figure("setting", learner, f" against {what}: means over seeds.", panels)


def _against_seconds(selected: Sequence[Summary]) -> Iterator[Figure]:
    """Draw scores of the first kind against the seconds of the selection.

    The figure is for one number k of features: the one for which most methods have seconds, because a run
    that selects many features may serve all smaller k. If there are several such k, the figure shows the
    largest. Each data set shows the methods with its most common number of training rows.
    """
    timed = [made for made in selected if "selecting" in made.seconds and made.setting in ("", OWN)]
    timed = [made for made in timed if made.learner == timed[0].learner]
    if len({made.method for made in timed}) < 2:
        return
    took = Counter(made.k for made in timed if made.seconds["selecting"])
    k = max({made.k for made in timed}, key=lambda k: (took[k], k))
    sizes = Counter((made.data, made.rows) for made in timed if made.k == k)
    usual = {data: size for (data, size), _ in reversed(sizes.most_common())}
    shown = {
        (made.data, made.method): made
        for made in sorted(timed, key=lambda made: made.setting, reverse=True)
        if made.k == k and made.rows == usual[made.data]
    }
    learner = timed[0].learner
    panels = study_times([made for made in timed if made in shown.values()], tables.score_words(learner))
    tuned = ", with its tuning" if any("tuning" in made.seconds for made in shown.values()) else ""
    rest = f" ± std at k = {k} against the seconds of the selection{tuned}, by one thread."
    _, caption, drawn = _figure("seconds", learner, rest, panels)
    yield "seconds", caption, drawn


def _pixels(data: str, records: Sequence[Record]) -> Iterator[Figure]:
    """Draw how often each method selects each pixel at the largest k: the share of the seeds that select
    it.
    """
    shape = FORMS[data].image if data in FORMS else None
    if shape is None:
        return
    picked = [r for r in records if r.piece.data == data and 0 < len(r.support) < FORMS[data].d]
    most = max((record.piece.k for record in picked), default=0)
    methods = {record.piece.method for record in picked}
    supports: dict[str, list[tuple[int, ...]]] = {}
    for record in sorted(picked, key=lambda record: tables.number_of(record.piece.setting) or (0, "")):
        if record.piece.k == most:
            method, setting = record.piece.method, record.piece.setting
            name = ", ".join(filter(None, (method, setting))) if len(methods) > 1 else setting or method
            supports.setdefault(name, []).append(record.support)
    if not supports:
        return
    shares = {
        method: {j: count / len(found) for j, count in Counter(itertools.chain(*found)).items()}
        for method, found in supports.items()
    }
    by = f" by {', '.join(methods)}" if len(methods) == 1 else ""
    words = (
        f"{title(data)}: the pixels picked{by}, k = {most}, on the mean image. Darker pixels have more seeds."
    )
    yield f"pixels-{data}", words, picked_pixels(shares, shape, _mean_image(data))[0].figure


def _mean_image(data: str) -> Any:
    """Return the mean of the images of a data set, or None if the data cannot be read any more."""
    try:
        return table(data).X.mean(axis=0)
    except (OSError, ValueError):
        return None


# --- the drawings ----------------------------------------------------------------------------------------


def study_lines(
    points: Sequence[tuple[float, Summary]],
    xlabel: str,
    ylabel: str,
    printed: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> list[Axes]:
    """Draw the mean scores of methods against some number x, with a panel for each data set.

    With up to eight methods, the lines have bars of one standard deviation. With more methods, only six are
    coloured: those that have the best mean most often. If all x > 0, the axis is logarithmic.

    Parameters
    ----------
    points : (x, summary) of each point; the summary has the mean score.
    printed : data set ↦ the points (x, score) that a paper prints.
    """
    methods = list(dict.fromkeys(summary.method for _, summary in points))
    names = list(dict.fromkeys(summary.data for _, summary in points))
    few = len(methods) <= MANY
    coloured = methods if few else _first_most_often(points)
    panels = _panels(names, xlabel, ylabel, 3 if few else 2)
    for name, ax in zip(names, panels, strict=True):
        places = sorted({x for x, summary in points if summary.data == name})
        for i, method in enumerate(methods):
            mine = [point for point in points if (point[1].data, point[1].method) == (name, method)]
            if mine:
                shown = look(i) | {"label": method} if method in coloured else _OTHERS
                _line(ax, sorted(mine, key=itemgetter(0)), shown, few)
        if printed and name in printed:
            ax.plot(*zip(*printed[name], strict=True), linewidth=1.2, markersize=9, **_IN_PRINT)
        if all(x > 0 for x, _ in points):
            ax.set_xscale("log")
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
    _legend(panels, 4)
    return panels


def study_times(summaries: Sequence[Summary], ylabel: str = "accuracy") -> list[Axes]:
    """Draw the mean scores of methods against the seconds of the selection, with a panel for each data set.

    Each method has a mark, with a bar of one standard deviation.

    summaries : a summary for each method and data set. `seconds` has "selecting", and "tuning" if the method
        was tuned; both are added.
    """
    methods = list(dict.fromkeys(summary.method for summary in summaries))
    names = list(dict.fromkeys(summary.data for summary in summaries))
    took = [summary.seconds["selecting"] + summary.seconds.get("tuning", 0) for summary in summaries]
    tuned = any("tuning" in summary.seconds for summary in summaries)
    panels = _panels(names, "seconds of the selection" + ", with its tuning" * tuned, ylabel, 2)
    for summary, seconds in zip(summaries, took, strict=True):
        ax, style = panels[names.index(summary.data)], look(methods.index(summary.method))
        shown = {"label": summary.method, "linestyle": "none", "fillstyle": _FILLS[style["linestyle"]]}
        at, mean, std = max(seconds, _SHORTEST), summary.mean, float(np.nan_to_num(summary.std))
        ax.vlines(at, mean - std, mean + std, color=style["color"], linewidth=1, alpha=0.35)
        ax.plot([at], [mean], markersize=7, **(style | shown))
    for name, ax in zip(names, panels, strict=True):
        mine = [seconds for summary, seconds in zip(summaries, took, strict=True) if summary.data == name]
        positive_axis(ax, np.maximum(mine, _SHORTEST))
    _legend(panels, 4)
    return panels


def study_leads(pairs: Sequence[tuple[Summary, Summary]], xlabel: str) -> list[Axes]:
    """Draw how far the first mean of each pair is ahead of the second, with a panel for each data set.

    Each line of a panel shows a pair, with the number k of features and the method of the second mean as its
    label. The bar extends two standard errors of the difference to either side; the two means count as
    independent.
    """
    names = list(dict.fromkeys(first.data for first, _ in pairs))
    panels = _panels(names, xlabel, "", 2, 2.1)
    for name, ax in zip(names, panels, strict=True):
        mine = [pair for pair in pairs if pair[0].data == name]
        at = np.array([first.mean - second.mean for first, second in mine])
        bars = [2 * float(np.hypot(first.error, second.error)) for first, second in mine]
        ax.axvline(0, color="black", linewidth=1)
        ax.errorbar(at, range(len(mine)), xerr=bars, color=BLUE, fmt="o", markersize=6, capsize=3)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(range(len(mine)), [f"k = {first.k}: {second.method}" for first, second in mine])
        ax.set_ylim(len(mine) - 0.5, -0.5)
    return panels


def picked_pixels(
    shares: Mapping[str, Mapping[int, float]], shape: tuple[int, int], background: Any = None
) -> list[Axes]:
    """Draw the selected pixels of each method on an image. A darker pixel is selected for more of the seeds.

    Parameters
    ----------
    shares : method ↦ (feature ↦ the share of the seeds for which the method selected it).
    shape : (height, width) of an image; feature j = width·row + column.
    background : (height·width,) an image, for example the mean of all images; None: blank.
    """
    panels = _grid(len(shares), _PICTURES, 2.4)
    image = np.zeros(shape) if background is None else np.reshape(background, shape)
    for (method, share), ax in zip(shares.items(), panels, strict=True):
        picture(ax, title=method.replace(", ", ",\n").replace(" of ", "\nof "))
        grey_image(ax, image, alpha=0.5)
        rows, columns = np.unravel_index(np.array(list(share), np.intp), shape)
        look_of: dict[str, Any] = {"color": ORANGE, "edgecolor": "black", "linewidth": 0.4, "marker": "s"}
        look_of["alpha"] = 0.15 + 0.85 * np.array(list(share.values()))
        ax.scatter(columns, rows, s=(85 / max(shape)) ** 2, rasterized=True, **look_of)
    return panels


def _grid(count: int, wide: int, height: float) -> list[Axes]:
    """Return a figure with `count` panels, `wide` of them side by side.

    The width of the figure is fixed, so that its letters keep their size.
    """
    high = -(-count // wide)
    size = {"figsize": (12.6, height * high), "layout": "constrained"}
    _, grid = pyplot().subplots(high, wide, squeeze=False, **size)
    for unused in list(grid.flat)[count:]:
        unused.set_axis_off()
    return list(grid.flat)[:count]


def _first_most_often(points: Sequence[tuple[float, Summary]]) -> list[str]:
    """Return the methods that most often have the best mean, for a data set and an x: at most six methods.

    The method that has the best mean most often comes first.
    """
    best: dict[tuple[str, float], Summary] = {}
    for x, summary in points:
        sign = -1 if summary.learner in tables.LOWER else 1
        before = best.setdefault((summary.data, x), summary)
        if sign * summary.mean > sign * before.mean:
            best[summary.data, x] = summary
    counts = Counter(summary.method for summary in best.values())
    return [method for method, _ in counts.most_common(_COLOURED)]


def _panels(
    names: Sequence[str], xlabel: str, ylabel: str, wide: int, height: float | None = None
) -> list[Axes]:
    panels = _grid(len(names), wide, 9 / wide + 0.4 if height is None else height)
    for i, (name, ax) in enumerate(zip(names, panels, strict=True)):
        picture(ax, xlabel, textwrap.fill(ylabel, 24) if i % wide == 0 else "", title(name))
        ax.grid(linewidth=0.4, alpha=0.5)
    return panels


def _line(ax: Axes, mine: Sequence[tuple[float, Summary]], shown: dict[str, Any], bars: bool) -> None:
    """Draw the line of one method, with or without bars of one standard deviation."""
    places, means = [x for x, _ in mine], np.array([summary.mean for _, summary in mine])
    ax.plot(places, means, markersize=4.5, linewidth=1.2, **shown)
    if bars:
        std = np.nan_to_num([summary.std for _, summary in mine])
        ax.vlines(places, means - std, means + std, color=shown["color"], linewidth=0.7)


def _legend(panels: Sequence[Axes], columns: int) -> None:
    """Draw one legend for all panels, below the panels."""
    handles = {
        label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    labels = sorted(handles, key=lambda label: label == _OTHERS["label"])  # last
    place = {"loc": "outside lower center", "ncols": min(columns, len(handles)), "frameon": False}
    panels[0].figure.legend([handles[label] for label in labels], labels, fontsize=font_size(), **place)
