"""The figures of the guide and of docs/teaching.md, drawn by the build from the code on their pages.

In the site they take the place of the stored ones, which are for readers of the plain Markdown. It takes half
a minute, a whole one where kernels are not compiled yet. Only stored are the films, and the figures of
studies, which take minutes or MNIST.
"""

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt


def teaching(folder: Path, here: Path) -> list[str]:
    """Draw all but the films; their names."""
    maker = runpy.run_path(str(here / "draw.py"))
    page = maker["PAGE"].read_text(encoding="utf-8")
    still = [name for name, ending, _, _ in maker["pictures"](page) if ending == "png"]
    maker["draw"](folder, page, still)
    return still


def guide(folder: Path, here: Path) -> list[str]:
    """Draw all of them; their names."""
    names: list[str] = runpy.run_path(str(here / "figures.py"))["draw"](folder)
    return names


def draw(app: Any, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    for drawn in (teaching, guide):
        here = Path(app.confdir) / drawn.__name__
        made = Path(app.doctreedir) / drawn.__name__
        made.mkdir(exist_ok=True)
        with plt.style.context("default"):
            names = drawn(made, here)
        for name in names:
            stored = (here / f"{name}.png").relative_to(app.srcdir).as_posix()
            shown = Path(app.outdir) / "_images" / app.env.images[stored][1]
            shown.write_bytes((made / f"{name}.png").read_bytes())


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
