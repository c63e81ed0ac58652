"""The script and the style of the page, and of the widget."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_SCRIPTS = ("drawing.js", "controls.js", "explorer.js")  # each uses those before it


def script() -> str:
    """The functions `explorer` and `render`."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)


def style() -> str:
    return (_HERE / "explorer.css").read_text(encoding="utf-8")
