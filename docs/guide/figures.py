"""Draw the figures of the guide, by running the examples of its pages: python docs/guide/figures.py"""

import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import sparselin as sl

HERE = Path(__file__).parent


def page(name: str) -> dict[str, Any]:
    """Return the variables that the examples of a page define, without the examples that raise an error."""
    found: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples((HERE / name).read_text(encoding="utf-8")):
        if example.exc_msg is None:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(example.source, name, "exec"), found)
    return found


def denoising(found: dict[str, Any]) -> Any:
    """Draw the picture, the noisy one and the denoised one, with their PSNR."""
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.15), layout="constrained")
    for ax, name in zip(panels, ("picture", "noisy", "denoised"), strict=True):
        ax.imshow(found[name], cmap="gray", vmin=0, vmax=1)
        words = name if name == "picture" else f"{name}, {found['psnr'](found[name]):.1f} dB"
        ax.set_title(words, fontsize=10)
        ax.set_axis_off()
    return figure


def leave_one_out(found: dict[str, Any]) -> Any:
    """Draw leave-one-out on the cross-validation of the whole procedure, with the true error."""
    ax = sl.plots.show(found["loo"], ax=sl.plots.cross_validation(found["whole"]))
    ax.lines[0].set_label("cross-validation ± standard error")
    ax.plot(found["truth"], "k-", label="true error on new rows")
    ax.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    ax.set(ylim=(0.5, 3.2), ylabel="mean squared error")
    return ax.figure


def draw(folder: Path) -> list[str]:
    """Save the figures in a folder, and return their names."""
    figures = {
        "selection": sl.plots.show(page("data.md")["path"]).figure,
        "choosing_k": sl.plots.show(page("choosing_k.md")["path"]).figure,
        "leave_one_out": leave_one_out(page("choosing_k.md")),
        "stability": sl.plots.show(page("after_selection.md")["found"]).figure,
        "denoising": denoising(page("dictionaries.md")),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
    return list(figures)


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(HERE)
