"""Static pages of the presets, with sliders over stored frames; also the scripts of all pages."""

import dataclasses
import functools
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.greedy.omp import omp
from sparselin.lasso.path import lasso_path
from sparselin.plots.explorer.frame import Frame, frame
from sparselin.plots.explorer.presets import PRESETS, Preset, address
from sparselin.plots.explorer.state import State
from sparselin.plots.style import PALETTE

_HERE = Path(__file__).parent
_SCRIPTS = ("drawing.js", "controls.js", "explorer.js")  # each script uses the earlier ones
_LEVELS = 32  # the number of λ's in the grid, besides the knots


def script() -> str:
    """Return the scripts, which define the functions `explorer` and `render`."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)


def style() -> str:
    """Return the style sheet, with the colours of features."""
    colours = "".join(f" --feature-{j}: {colour};" for j, colour in enumerate(PALETTE))
    return f".sl-explorer {{{colours} }}\n" + (_HERE / "explorer.css").read_text(encoding="utf-8")


def pages_of(presets: Mapping[str, Preset] = PRESETS, home: str = "") -> dict[str, str]:
    """Return NAME.html ↦ the page of each preset, with a link `home` if given.

    The pages need neither Python nor a network.
    """
    return {f"{name}.html": page(preset, home) for name, preset in presets.items()}


def page(preset: Preset, home: str = "") -> str:
    """Return the page of a preset, or of a design without a story. `home` is a link, or ""."""
    start = shlex.quote(address(preset.state).removeprefix("preset="))
    stored = _json(frames(preset.state))
    return _render(
        "page.html", preset=preset, start=start, frames=stored, home=home, css=style(), js=script()
    )


def contents(presets: Mapping[str, Preset] = PRESETS) -> str:
    """Return a page with links to the pages of these presets."""
    return _render("contents.html", presets=presets)


@functools.cache
def _templates() -> Any:
    """Return the environment of the templates of this folder, which keeps what it has compiled."""
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    return Environment(loader=FileSystemLoader(_HERE), autoescape=select_autoescape())


def _render(template: str, **parts: Any) -> str:
    """Return a page made from a template of this folder."""
    page: str = _templates().get_template(template).render(**parts)
    return page


def frames(state: State) -> list[list[Frame]]:
    """Return the frames of a static page: frames[size of S][level of λ].

    The selected set S grows from ∅ by the features of the preset's S, and then by the picks of OMP except the
    last one. The levels of λ are a grid up to 1.2·λ*, the knots of each path, and the λ of the preset.
    """
    X = state.X
    y = np.array(state.y)
    s = len(state.S)
    most = max(min(X.shape) - 1, s)  # with all features in S, the slice is only a point
    order = omp(X, y, max(most, 1), forced=state.S).support.tolist()
    return [_row(dataclasses.replace(state, S=tuple(sorted(order[:t]))), state) for t in range(most + 1)]


def _row(state: State, preset: State) -> list[Frame]:
    """Return the frames of a state at all levels of λ. The picks are computed once."""
    path = lasso_path(state.X, np.array(state.y), forced=state.S)
    top = 1.2 * (path.knots[0] or state.lam)
    grid = np.linspace(top / _LEVELS, top, _LEVELS)
    levels = np.unique(np.concatenate([grid, path.knots[path.knots > grid[0]], [preset.lam]]))
    same = {"picks": frame(state)["picks"], "preset": frame(preset)["preset"]}
    return [frame(dataclasses.replace(state, lam=float(lam)), "none") | same for lam in levels]


def _json(value: Any) -> str:
    """Return JSON with numbers to six digits, and without "</", which could end the script."""
    rounded = json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.6g}"))
    return json.dumps(rounded, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
