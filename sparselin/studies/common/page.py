"""The parts that the reports share: pages with embedded figures, tables, archives, the record of the run."""

import base64
import csv
import datetime
import functools
import importlib.metadata
import io
import math
import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import sparselin
from sparselin import plots
from sparselin.results.display import join_words, plural, printable

_DPI = 130  # the resolution of figures, and of the images in them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def describe(
    command: str, seconds: float, jobs: int, seed: int, interrupted: bool, packages: Sequence[str]
) -> dict[str, Any]:
    """Return the record of a run: the command to repeat it, its duration, and the versions of packages."""
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        "jobs": jobs,
        "seed": seed,
        "interrupted": interrupted,
        "versions": {
            "sparselin": sparselin.__version__,
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in packages},
        },
    }


@functools.cache
def environment(templates: Path, **options: Any) -> Environment:
    """Return the environment of the templates in a folder, which may use the templates of this folder.

    There is one for the same arguments, because it keeps the templates that it has compiled: compiling takes
    longer than the selection of a small table.

    options : options of `jinja2.Environment`.
    """
    loader = FileSystemLoader([templates, Path(__file__).parent])
    made = Environment(loader=loader, undefined=StrictUndefined, **options)
    made.filters |= {"join_words": join_words, "number": number, "plural": plural, "py": repr, "share": share}
    return made


def render(template: Path, context: dict[str, Any]) -> bytes:
    """Return index.html, from a template that extends this folder's page.html.j2."""
    page = environment(template.parent, autoescape=True, finalize=_visible).get_template(template.name)
    return page.render(context).encode("utf-8", "replace")


def sentences(template: Path, context: dict[str, Any]) -> list[str]:
    """Return the sentences of a template that has each sentence, or none, in a line.

    Line breaks and other control characters of the values are escaped, so that a value, such as the name of a
    column, neither ends its sentence nor acts on a terminal.
    """
    made = environment(template.parent, finalize=_escape)
    text = made.get_template(template.name).render(context)
    return [line for line in text.splitlines() if line]


def _escape(value: Any) -> Any:
    """Return a text with its control characters escaped."""
    return printable(value) if isinstance(value, str) else value


def _visible(value: Any) -> Any:
    """Return a text of a page with its control characters, apart from line breaks and tabs, escaped."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _CONTROL.sub(lambda match: printable(match[0]), value)


def number(value: float, style: str = "{:.3f}") -> str:
    """Format a number; NaN is a dash, and a number that rounds to zero has no sign."""
    return "–" if math.isnan(value) else unsigned_zero(style.format(value))


def unsigned_zero(text: str) -> str:
    """Return the text of a number, without the sign of a zero such as "-0.000"."""
    return text.removeprefix("-") if text.startswith("-") and not re.search("[1-9]", text) else text


def share(value: float) -> str:
    """Format a share in percent; NaN is a dash."""
    return "–" if math.isnan(value) else f"{100 * value:z.0f} %"


def archive(**arrays: Any) -> bytes:
    """Return the arrays as the contents of an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def table(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return the rows as the contents of a .csv file."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def figure(files: dict[str, bytes], name: str, caption: str, drawn: Any) -> dict[str, str]:
    """Add a figure to `files` by `picture`, and return its entry for a page.

    The entry holds the name, the caption and the SVG as data. The caption is also the alternative text.
    """
    return {"name": name, "caption": caption, "svg": picture(files, name, drawn)}


def picture(files: dict[str, bytes], name: str, drawn: Any) -> str:
    """Add a figure to `files` as NAME.png and NAME.svg, close it, and return the SVG as the address of data.

    drawn : the matplotlib figure.
    """
    png, svg = io.BytesIO(), io.BytesIO()
    drawn.savefig(png, format="png", dpi=_DPI)
    drawn.set_layout_engine(None)  # final by now; the engine "none" would draw the figure once more
    with matplotlib.rc_context({"svg.hashsalt": name}):  # otherwise, the ids in the SVG are random
        drawn.savefig(svg, format="svg", metadata={"Date": None}, dpi=_DPI)
    plots.close(drawn)
    files |= {f"{name}.png": png.getvalue(), f"{name}.svg": svg.getvalue()}
    return "data:image/svg+xml;base64," + base64.b64encode(svg.getvalue()).decode()


def pictures(*names: str) -> tuple[str, ...]:
    """Return the names of the files in which these figures are saved."""
    return tuple(f"{name}.{kind}" for name in names for kind in ("png", "svg"))
