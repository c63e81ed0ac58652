"""The pictures of docs/teaching.md, and their words there: python docs/teaching/figures.py [names]"""

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import sparselin as sl
from sparselin import plots

HERE = Path(__file__).parent
PAGE = HERE.parent / "teaching.md"

X, y = sl.ensembles.sparse_signal(20, 30, rng=4, k=4, snr=5.0)
DEGREES = np.deg2rad([20.0, 75.0, 130.0])
PLANE, POINT = np.array([np.cos(DEGREES), np.sin(DEGREES)]), np.array([1.0, 0.75])
FAN = np.array([[1.0, 1.0, 1.0], [0.3, 1.0, 2.0]])
BOX = np.array([[1.0, 0.2, 0.3], [0.1, 1.0, 0.2], [0.2, -0.3, 1.0]])
CORNER = np.array([1.0, 0.7, 0.2])


def trap() -> Any:
    """Two columns with y in their plane, and one that is a little closer to y."""
    a, b = np.deg2rad(60), np.deg2rad(59)
    three = np.array([[np.cos(a), np.cos(a), np.cos(b)], [np.sin(a), -np.sin(a), 0], [0, 0, np.sin(b)]])
    ray = np.array([1.0, 0.0, 0.0])
    return plots.around_y(three, ray, sl.omp(three, ray, 2).support, sl.best_subset(three, ray, 2).support)


def pixels() -> Any:
    """Twelve pixels that tell an eight from other digits."""
    digits = load_digits()
    eight = np.where(digits.target == 8, 1.0, -1.0)
    path = sl.omp(digits.data, eight, 12, intercept=True, standardize=True)
    return plots.selected_pixels(path, (8, 8), images=digits.data)


PICTURES = {
    "angles": lambda: plots.residual_angles(X, y, 3),
    "selection": lambda: plots.selection(sl.omp(X, y, 6)),
    "lasso_path": lambda: plots.lasso_path(sl.lasso_path(X, y, max_steps=7)),
    "l1_ball": lambda: plots.l1_ball(PLANE[:, :2], POINT, lam=0.9),
    "polytope": lambda: plots.dual_polytope(PLANE, POINT),
    "picks": lambda: plots.first_picks(PLANE * [1.0, 1.5, 1.0], POINT),
    "picks_in_space": lambda: plots.first_picks(BOX * [1.0, 1.0, 1.3], CORNER),
    "slice": lambda: plots.dual_polytope(PLANE, POINT, forced=[0]),
    "tie": lambda: plots.dual_polytope(FAN, [1.0, 0.0]),
    "space": lambda: plots.dual_polytope(BOX, CORNER),
    "slice_in_space": lambda: plots.dual_polytope(BOX, CORNER, forced=[0]),
    "window": lambda: plots.window(X, y),
    "hoff": lambda: plots.hoff_descent(PLANE[:, :2], POINT, 0.5),
    "penalties": lambda: plots.penalties(),
    "trap": trap,
    "pixels": pixels,
}
FILMS = {
    "film": lambda: plots.animation(PLANE, POINT),
    "film_in_space": lambda: plots.animation(BOX, CORNER),
}


def words(drawn: Any) -> str:
    """The alternative text of what was drawn: Axes, or several of one figure."""
    ax = drawn[0] if isinstance(drawn, tuple) else drawn
    panels = [one for one in ax.figure.axes if one.get_visible()]
    return plots.describe(ax.figure if len(panels) > 1 else ax).replace("[", "(").replace("]", ")")


def draw(folder: Path, names: Any = PICTURES) -> dict[str, str]:
    """Save the pictures; their alternative texts, by name."""
    told = {}
    for name in names:
        drawn = PICTURES[name]()
        told[name] = words(drawn)
        figure = (drawn[0] if isinstance(drawn, tuple) else drawn).figure
        figure.savefig(folder / f"{name}.png", dpi=80)
        plt.close(figure)
    return told


if __name__ == "__main__":
    plt.switch_backend("agg")
    chosen = sys.argv[1:] or [*PICTURES, *FILMS]
    page = PAGE.read_text(encoding="utf-8")
    for name, text in draw(HERE, [name for name in chosen if name in PICTURES]).items():
        before, _, after = page.partition(f"](teaching/{name}.png)")
        page = f"{before[: before.rindex('![')]}![{text}](teaching/{name}.png){after}"
    PAGE.write_text(page, encoding="utf-8")
    for name in set(chosen) & set(FILMS):
        FILMS[name]().save(HERE / f"{name}.gif", writer="pillow")
