"""Alternative texts: what a picture shows, in words, read from its Axes."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparselin.results import FloatArray

_LENGTH = 600  # a text has at most so many characters
_WORDS = {
    r"\lambda": "λ", r"\beta": "β", r"\theta": "θ", r"\nu": "ν", r"\sigma": "σ", r"\rho": "ρ", r"\gamma": "γ",
    r"\mu": "μ", r"\alpha": "α", r"\Pi": "Π", r"\langle": "⟨", r"\rangle": "⟩", r"\|": "‖", r"\top": "ᵀ",
    r"\perp": "⊥", r"\leq": "≤", r"\geq": "≥", r"\circ": "∘", r"\cdot": "·", r"\sum": "Σ", r"\ell": "ℓ",
    r"\infty": "∞", r"\min": "min", r"\max": "max", r"\log": "log", r"\sqrt": "√", r"\hat": "", r"\,": " ",
}  # fmt: skip
_LOW, _HIGH = (str.maketrans("-0123456789", digits) for digits in ("₋₀₁₂₃₄₅₆₇₈₉", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
_KINDS = {
    "rectilinear": ("Horizontal axis", "Vertical axis"),
    "polar": ("Angle", "Distance from the centre"),
    "3d": ("First axis", "Second axis", "Third axis"),
}


def describe(ax: Any) -> str:
    """The picture on Axes in words, at most 600 characters: an alternative text for those who do not see it.

    Title, axes with their ranges, rows, and then what is drawn: each named line with its ends, points, bars,
    areas, images, and what is written in it. It is made from the Axes alone and the same each time.

    Parameters
    ----------
    ax : Axes, of this module or not; or a Figure, whose panels share the characters.

    Raises
    ------
    TypeError : `ax` is neither.

    >>> import sparselin as sl
    >>> describe(sl.plots.show(sl.omp([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1))).split(". ")[:2]
    ['Horizontal axis: λ* (and its margin), from 0 to 3.84', 'Vertical axis: step, marked 1 x0']
    """
    if hasattr(ax, "get_axes") and not hasattr(ax, "get_xlim"):
        panels = [one for one in ax.get_axes() if one.get_label() != "<colorbar>" and one.axison]
        share = _LENGTH // max(len(panels), 1) - 1
        return " ".join(_told(one, share) for one in panels)
    if not hasattr(ax, "get_xlim"):
        raise TypeError(f"ax must be Axes or a Figure, such as plots.show returns; got {type(ax).__name__}")
    return _told(ax, _LENGTH)


def _told(ax: Any, most: int) -> str:
    """As many of the sentences as have room, in their order."""
    times = collections.Counter(one for one in _sentences(ax) if one)
    sentences, text = [f"{n} times: {one}" if n > 1 else one for one, n in times.items()], ""
    for i, sentence in enumerate(sentences):
        more = f" And {len(sentences) - i - 1} more." if i + 1 < len(sentences) else ""
        if len(text) + len(sentence) + len(more) + 1 > most:
            return f"{text} And {len(sentences) - i} more.".strip()
        text = f"{text} {sentence}".lstrip()
    return text


def _sentences(ax: Any) -> Iterator[str]:
    for title in (_plain(ax.get_title(where).replace("\n", ": ")) for where in ("left", "center", "right")):
        if title:
            yield f"{title.rstrip('.')}."
    for axis, kind in zip("xyz", _KINDS.get(ax.name, _KINDS["rectilinear"]), strict=False):
        if hasattr(ax, f"get_{axis}lim") and ax.axison:
            yield from _axis(ax, axis, kind)
    texts = [_plain(text.get_text()) for text in ax.texts if text.get_text()]
    if texts and not ax.lines:
        yield f"Written in it: {', '.join(texts).rstrip('.')}."
    yield from _lines(ax.lines)
    for bars in ax.containers:
        yield from _bars(bars)
    for image in ax.images:
        rows, columns = image.get_array().shape[:2]
        yield f"Image of {rows} rows and {columns} columns, values {_span(image.get_array())}."
    for one in ax.collections:
        yield from _collection(one)
    if polygons := [one for one in ax.patches if hasattr(one, "get_xy") and not hasattr(one, "get_width")]:
        yield _many(len(polygons), "polygon") + "."
    names = {_plain(str(line.get_label())) for line in [*ax.lines, *ax.containers, *ax.collections]}
    if (legend := ax.get_legend()) is not None:
        entries = [_plain(text.get_text()) for text in legend.get_texts()]
        if entries := [entry for entry in entries if entry not in names]:
            yield f"Legend: {', '.join(entries)}."
    if (texts := [text for text in dict.fromkeys(texts) if text not in names]) and ax.lines:
        yield f"Written in it: {', '.join(texts)}."


def _axis(ax: Any, axis: str, kind: str) -> Iterator[str]:
    """The name of an axis and its range, or the words at its ticks."""
    label, limits = _plain(getattr(ax, f"get_{axis}label")()), getattr(ax, f"get_{axis}lim")()
    ticks = getattr(ax, f"get_{axis}ticks")()
    words = [_plain(text.get_text()) for text in getattr(ax, f"get_{axis}ticklabels")()]
    if not len(ticks) and not label:
        return
    said = f"{kind}: {label}" if label else kind
    spelt = any(re.search(r"[^\W\d_]{2}|[^\W\d_] ?\d|=", word) for word in words)
    rows = spelt and list(ticks) == list(range(len(ticks)))
    parts = [] if rows else [f"from {limits[0]:.3g} to {limits[1]:.3g}"]
    parts += ["logarithmic"] * (getattr(ax, f"get_{axis}scale")() in ("log", "symlog"))
    parts += [f"marked {', '.join(words[:8])}" + (", …" if len(words) > 8 else "")] * spelt
    yield f"{said}, {', '.join(parts)}."


def _lines(lines: Sequence[Any]) -> Iterator[str]:
    """Lines by their ends, and points; those of one name together. What has a hidden name is an aid."""
    groups: dict[str, list[Any]] = {}
    for line in lines:
        label = str(line.get_label())
        if len(line.get_xdata()) and (not label.startswith("_") or label.startswith("_child")):
            groups.setdefault("" if label.startswith("_") else f' "{_plain(label)}"', []).append(line)
    for named, group in groups.items():
        if len(group) == 1:
            yield from _line(group[0], named)
        elif named:
            yield f"{_many(len(group), 'line' if _joined(group[0]) else 'point')}{named}."


def _joined(line: Any) -> bool:
    return len(line.get_xdata()) > 1 and line.get_linestyle() not in ("None", "none", "", " ")


def _line(line: Any, named: str) -> Iterator[str]:
    data = line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data()
    points = np.array([np.asarray(values, float) for values in data])
    x, y = points[:2]
    if len(x) == 2 and x[0] == x[1] and list(y) == [0, 1]:
        yield f"Vertical line{named} at {x[0]:.3g}." if named else ""
    elif len(x) == 2 and y[0] == y[1] and list(x) == [0, 1]:
        yield f"Horizontal line{named} at {y[0]:.3g}." if named else ""
    elif len(x) == 1:
        yield f"Point{named} at {_at(points, 0)}."
    else:
        kind = "Line" if _joined(line) else f"{len(x)} points"
        yield f"{kind}{named} from {_at(points, 0)} to {_at(points, -1)}."


def _bars(bars: Any) -> Iterator[str]:
    label, patches = str(bars.get_label()), list(bars.patches)
    named = "" if label.startswith("_") else f' "{_plain(label)}"'
    lengths = [one.get_width() if bars.orientation == "horizontal" else one.get_height() for one in patches]
    if patches:
        yield f"{_many(len(patches), 'bar')}{named}, lengths {_span(np.array(lengths))}."


def _collection(one: Any) -> Iterator[str]:
    """Filled contours, contours, points, or lines."""
    label, kind = str(one.get_label()), type(one).__name__
    named = "" if label.startswith("_") else f' "{_plain(label)}"'
    if hasattr(one, "levels"):
        yield f"{'Filled contours' if one.filled else 'Contours'} at {_span(np.asarray(one.levels))}."
    elif kind == "PathCollection":
        yield f"{_many(len(one.get_offsets()), 'point')}{named}."
    elif kind == "LineCollection" and len(one.get_segments()):
        yield f"{_many(len(one.get_segments()), 'thin line')}{named}."
    elif named:
        yield f"Area{named}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _at(points: FloatArray, i: int) -> str:
    """A point of a line; what is far below its other values is rounding, and 0."""
    size = np.nanmax(np.abs(points), axis=1)
    point = np.where(np.abs(points[:, i]) < 1e-9 * size, 0.0, points[:, i])
    return f"({', '.join(f'{value:.3g}' for value in point)})"


def _span(values: FloatArray) -> str:
    low, high = np.nanmin(values), np.nanmax(values)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _plain(text: str) -> str:
    """Formulae without TeX: λ* for $\\lambda^*$; lines joined."""
    text = re.sub(r"(?<!\\)\$(.+?)(?<!\\)\$", lambda found: _formula(found[1]), text)
    return " ".join(text.replace(r"\$", "$").split())


def _formula(text: str) -> str:
    for command in sorted(_WORDS, key=len, reverse=True):
        text = text.replace(command, _WORDS[command])
    text = re.sub(r"\\[a-z]+", "", text)
    for sign, digits, table in (("_", r"\d/", _LOW), (r"\^", r"-\d*⊥ᵀ/", _HIGH)):
        for pattern in (rf"{sign}\{{([{digits}]+)\}}", rf"{sign}([{digits}])"):
            text = re.sub(pattern, functools.partial(_translated, table), text)
    return text.replace("{", "").replace("}", "").replace("⟨ ", "⟨")


def _translated(table: dict[int, int], found: re.Match[str]) -> str:
    return found[1].translate(table)
