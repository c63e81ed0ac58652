"""Draw the figures of the gallery, by running its scripts: python docs/gallery/make.py"""

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

HERE = Path(__file__).parent


def draw(folder: Path) -> dict[str, dict[str, Any]]:
    """Save the one figure of each script under its name; what the scripts leave behind, by name."""
    found, show = {}, plt.show
    plt.show = lambda: None
    try:
        for script in sorted(HERE.glob("plot_*.py")):
            plt.close("all")
            found[script.stem] = runpy.run_path(str(script))
            (number,) = plt.get_fignums()
            plt.figure(number).savefig(folder / f"{script.stem}.png", dpi=90)
    finally:
        plt.show = show
        plt.close("all")
    return found


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
