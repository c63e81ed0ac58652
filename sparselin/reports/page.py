"""Common to the reports: a page with embedded figures, JSON without NaN, and the record of the run."""

from __future__ import annotations

import base64
import datetime
import importlib.metadata
import io
import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

import sparselin
from sparselin import plots

_DPI = 130  # of figures, and of the images in them


def describe(
    command: str, seconds: float, jobs: int, seed: int, interrupted: bool, packages: Sequence[str]
) -> dict[str, Any]:
    """The run of a command: how to repeat it, how long it took, which versions."""
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


def write_page(output: Path, template: str, context: dict[str, Any]) -> Path:
    """Write index.html into the folder, from a template of this package that extends page.html.j2."""
    loader = PackageLoader("sparselin", "reports")
    escape = select_autoescape(["html", "j2"])
    page = Environment(loader=loader, autoescape=escape, undefined=StrictUndefined).get_template(template)
    index = output / "index.html"
    _put(index, page.render(context))
    return index


def write_json(output: Path, results: Any) -> None:
    """results.json in the folder."""
    text = json.dumps(_finite(results), indent=1, ensure_ascii=False)
    _put(output / "results.json", text + "\n")


def _put(path: Path, text: str) -> None:
    """Write a file whole or, on a full disk, not at all: what was there stays."""
    other = path.with_name(path.name + ".part")
    try:
        other.write_text(text, encoding="utf-8")
        other.replace(path)
    except OSError:
        other.unlink(missing_ok=True)
        raise


def figure(output: Path, name: str, caption: str, drawn: Any) -> dict[str, str]:
    """Save a figure as PNG and SVG and close it; the entry for a page, with its SVG as data and in words."""
    words = plots.describe(drawn)
    drawn.savefig(output / f"{name}.png", dpi=_DPI)
    drawn.set_layout_engine(None)  # its places are found; "none" would draw it once more for them
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None}, dpi=_DPI)
    (output / f"{name}.svg").write_bytes(buffer.getvalue())
    plots.close(drawn)
    address = "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
    return {"name": name, "caption": caption, "words": words, "svg": address}


def _finite(value: Any) -> Any:
    """JSON has no NaN: null is written for values that were not measured."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
