"""Pages of the presets that need no Python: sliders over frames made ahead; the scripts of all pages."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.greedy.omp import omp
from sparselin.lasso.path import lasso_path
from sparselin.plots.explorer.frame import Frame, frame
from sparselin.plots.explorer.presets import PRESETS
from sparselin.plots.explorer.state import State

_HERE = Path(__file__).parent
_SCRIPTS = ("drawing.js", "controls.js", "explorer.js")  # each uses those before it
_LEVELS = 32  # of λ, beside the knots


def script() -> str:
    """The functions `explorer` and `render`."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)


def style() -> str:
    return (_HERE / "explorer.css").read_text(encoding="utf-8")


def write(folder: Path, names: Iterable[str] = tuple(PRESETS), home: str = "") -> dict[str, str]:
    """Write NAME.html for each of these presets, with a link home if given; their titles by name."""
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    loader = FileSystemLoader(_HERE)
    template = Environment(loader=loader, autoescape=select_autoescape()).get_template("page.html")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        preset = PRESETS[name]
        page = template.render(
            preset=preset, name=name, frames=_json(frames(preset.state)), home=home, css=style(),
            js=script(),
        )  # fmt: skip
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: PRESETS[name].title for name in names}


def frames(state: State) -> list[list[Frame]]:
    """Frames by the size of S and by λ.

    Of S its own features come first, then what OMP adds, but for its last pick. λ is on a
    grid up to 1.2·λ*, at the knots of each path, and the preset's own.
    """
    X, y = state.X, np.array(state.y)
    s = len(state.S)
    most = max(min(X.shape) - 1, s)  # with all of them in S nothing is left to project on
    order = omp(X, y, max(most, 1), forced=state.S).support.tolist()
    return [_row(dataclasses.replace(state, S=tuple(sorted(order[:t]))), state) for t in range(most + 1)]


def _row(state: State, preset: State) -> list[Frame]:
    """The frames of a design and S; picks do not depend on λ."""
    path = lasso_path(state.X, np.array(state.y), forced=state.S)
    top = 1.2 * (path.knots[0] or state.lam)
    grid = np.linspace(top / _LEVELS, top, _LEVELS)
    levels = np.unique(np.concatenate([grid, path.knots[path.knots > grid[0]], [preset.lam]]))
    same = {"picks": frame(state)["picks"], "preset": frame(preset)["preset"]}
    return [frame(dataclasses.replace(state, lam=float(lam)), "none") | same for lam in levels]


def _json(value: Any) -> str:
    """Numbers to six digits; no "</" that would end the script."""
    return json.dumps(_rounded(value), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
