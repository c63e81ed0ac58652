"""The figures of the page of `make networks`: scores against k, seconds and settings; pixels."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from proofs_checks.experiments.networks import pictures
from proofs_checks.experiments.networks.data import FORMS, table
from proofs_checks.experiments.networks.figures import OWN
from proofs_checks.experiments.networks.pieces import Record
from proofs_checks.experiments.networks.report_rows import Row, number_of
from proofs_checks.experiments.networks.verdicts import Summary

TITLES = {name: form.title for name, form in FORMS.items()}
SCORES = {
    "network": "accuracy of a network on the picks",
    "mse": "mean squared error",
    "first k": "true features among the first k",
    "first 2k": "true features among the first 2k, over k",
    "related in first k": "related features among the first k",
    "Spearman": "rank correlation of marginal gains and attention",
}
"""A learner, or a measure ↦ in words; the others are names of learners."""
_NUMBERS = {"adaptivity": "features at a time", "signals": "features in all"}
"""A study ↦ what its settings are, where they are numbers."""

Figure = tuple[str, str, Any]  # name, caption, figure


def figures(study: str, mine: Sequence[Row], records: Sequence[Record]) -> Iterator[Figure]:
    """What there is to draw of a study, its rows and its records."""
    selected = [row for row in mine if row.size is not None]
    for learner in dict.fromkeys(row.ours.learner for row in selected):
        those = [row for row in selected if row.ours.learner == learner]
        yield from _against_k([row.ours for row in those if not row.ours.setting], learner)
        yield from _against_setting(study, [row for row in those if number_of(row.ours.setting)], learner)
    yield from _against_seconds([row.ours for row in selected])
    for data in dict.fromkeys(record.piece.data for record in records):
        yield from _pixels(data, records)


def _words(learner: str) -> str:
    return SCORES.get(learner, f"accuracy of {learner}")


def _caption(learner: str, rest: str) -> str:
    words = _words(learner)
    return words[:1].upper() + words[1:] + rest


def _file(learner: str) -> str:
    """A learner in the name of a file."""
    return "".join(letter if letter.isalnum() else "-" for letter in learner)


def _against_k(plain: Sequence[Summary], learner: str) -> Iterator[Figure]:
    """A line joins what was trained on as many rows, the fewest of its method."""
    fewest = {
        (one.data, one.method): one.rows for one in sorted(plain, key=lambda one: one.rows, reverse=True)
    }
    plain = [one for one in plain if one.rows == fewest[one.data, one.method]]
    if len({one.k for one in plain}) > 1:
        logarithmic = all(one.k > 0 for one in plain)
        drawn = pictures.study_lines(
            plain, lambda one: one.k, "features", _words(learner), titles=TITLES, logarithmic=logarithmic
        )
        words = _caption(learner, " against k: means over seeds.")
        yield f"k-{_file(learner)}", words, drawn[0].figure


def _against_setting(study: str, numbered: Sequence[Row], learner: str) -> Iterator[Figure]:
    """Where the settings are numbers, with what is printed."""
    if not numbered:
        return
    printed: dict[str, list[tuple[float, float]]] = {}
    for row in numbered:
        if row.judged:
            printed.setdefault(row.ours.data, []).append((_number(row.ours), row.judged.printed.mean))
    what = _NUMBERS.get(study, "setting")
    drawn = pictures.study_lines(
        [_named(row.ours) for row in numbered],
        _number,
        what,
        _words(learner),
        titles=TITLES,
        printed={data: sorted(points) for data, points in printed.items()},
    )
    yield (
        f"setting-{_file(learner)}",
        _caption(learner, f" against {what}: means over seeds."),
        drawn[0].figure,
    )


def _number(one: Summary) -> int:
    found = number_of(one.setting)
    return found[0] if found else 0


def _named(one: Summary) -> Summary:
    """What follows the number in the setting is in the name of the method, of which there is a line each."""
    found = number_of(one.setting)
    return dataclasses.replace(one, method=one.method + found[1]) if found else one


def _against_seconds(selected: Sequence[Summary]) -> Iterator[Figure]:
    """By the first learner, the selection being the same for all; at the k at which most methods took time,
    the largest of those: one run may have the picks for all k. On as many training rows as most have."""
    timed = [one for one in selected if "selecting" in one.seconds and one.setting in ("", OWN)]
    timed = [one for one in timed if one.learner == timed[0].learner]
    if len({one.method for one in timed}) < 2:
        return
    took = Counter(one.k for one in timed if one.seconds["selecting"])
    k = max({one.k for one in timed}, key=lambda k: (took[k], k))
    sizes = Counter((one.data, one.rows) for one in timed if one.k == k)
    usual = {data: rows for (data, rows), _ in reversed(sizes.most_common())}
    shown = {
        (one.data, one.method): one
        for one in sorted(timed, key=lambda one: one.setting, reverse=True)
        if one.k == k and one.rows == usual[one.data]
    }
    learner = timed[0].learner
    drawn = pictures.study_times([one for one in timed if one in shown.values()], _words(learner), TITLES)
    tuned = ", with its tuning" if any("tuning" in one.seconds for one in shown.values()) else ""
    rest = f" ± std at k = {k} against the seconds of the selection{tuned}, by one thread."
    yield "seconds", _caption(learner, rest), drawn[0].figure


def _pixels(data: str, records: Sequence[Record]) -> Iterator[Figure]:
    """Of images: at the largest k the share of the seeds that pick a pixel, by method and setting."""
    shape = FORMS[data].image if data in FORMS else None
    if shape is None:
        return
    picked = [r for r in records if r.piece.data == data and 0 < len(r.support) < FORMS[data].d]
    most = max((record.piece.k for record in picked), default=0)
    methods = {record.piece.method for record in picked}
    supports: dict[str, list[tuple[int, ...]]] = {}
    for record in sorted(picked, key=lambda record: number_of(record.piece.setting) or (0, "")):
        if record.piece.k == most:
            method, setting = record.piece.method, record.piece.setting
            name = ", ".join(filter(None, (method, setting))) if len(methods) > 1 else setting or method
            supports.setdefault(name, []).append(record.support)
    if not supports:
        return
    shares = {
        method: {j: sum(j in one for one in those) / len(those) for one in those for j in one}
        for method, those in supports.items()
    }
    by = f" by {', '.join(methods)}" if len(methods) == 1 else ""
    words = (
        f"{TITLES[data]}: the pixels picked{by}, k = {most}, on the mean image; the darker, the more seeds."
    )
    yield f"pixels-{data}", words, pictures.picked_pixels(shares, shape, _mean_image(data))[0].figure


def _mean_image(data: str) -> Any:
    """None where the data cannot be read any more."""
    try:
        return table(data).X.mean(axis=0)
    except (OSError, ValueError):
        return None
