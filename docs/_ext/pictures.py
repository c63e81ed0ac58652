"""The figures of the guide, of docs/teaching.md and of docs/inside.md, which the build draws.

The figure of docs/inside.md is drawn before its page is read, and is not stored. The others are drawn from
the code on their pages, and replace the stored figures, which are for readers of the plain Markdown. This
takes half a minute, or a minute if kernels must be compiled. The films and the figures of studies are not
redrawn, because they take minutes or need MNIST.
"""

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt


def teaching(folder: Path, here: Path) -> list[str]:
    """Draw the pictures of docs/teaching.md except the films, and return their names."""
    maker = runpy.run_path(str(here / "draw.py"))
    page = maker["PAGE"].read_text(encoding="utf-8")
    still = [name for name, ending, _, _ in maker["pictures"](page) if ending == "png"]
    maker["draw"](folder, page, still)
    return still


def guide(folder: Path, here: Path) -> list[str]:
    """Draw the figures of the guide, and return their names."""
    names: list[str] = runpy.run_path(str(here / "figures.py"))["draw"](folder)
    return names


def house(app: Any) -> None:
    """Draw the folders of the package into docs/made."""
    folder = Path(app.confdir) / "made"
    folder.mkdir(exist_ok=True)
    runpy.run_path(str(Path(app.srcdir) / "tests" / "house.py"))["draw"](folder / "house.png")


def draw(app: Any, error: Exception | None) -> None:
    """Draw the figures of the pages, and put them in the place of the stored ones."""
    if error or app.builder.format != "html":
        return
    for draw_part in (teaching, guide):
        here = Path(app.confdir) / draw_part.__name__
        made = Path(app.doctreedir) / draw_part.__name__
        made.mkdir(exist_ok=True)
        with plt.style.context("default"):
            names = draw_part(made, here)
        for name in names:
            stored = (here / f"{name}.png").relative_to(app.srcdir).as_posix()
            shown = Path(app.outdir) / "_images" / app.env.images[stored][1]
            shown.write_bytes((made / f"{name}.png").read_bytes())


def setup(app: Any) -> dict[str, Any]:
    """Register the handlers with Sphinx."""
    app.connect("builder-inited", house)
    app.connect("build-finished", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
