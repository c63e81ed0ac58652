"""The plan of the house, read from the imports: `python -m tests.house` draws docs/house.png."""

import ast
from collections import Counter
from pathlib import Path

import sparselin

ROOT = Path(sparselin.__file__).parent
# A room is a folder, or a module of the root; it imports from storeys below, or from rooms named before it in
# its own. Imports inside functions count.
STOREYS = {
    "faces": "estimators plots explorer reports cli __main__",
    "studies": "ledger experiments",
    "theory": "explanations spectral guarantees",
    "methods": "lassonet certificates greedy lasso attention neural",
    "border": "problem scale ensembles datasets testing linalg ties",
    "ground": "_kernels parallel memory validation results data",
}
FLOORS = [rooms.split() for rooms in reversed(STOREYS.values())]
ROOMS = [room for floor in FLOORS for room in floor]


def modules():
    """Name → tree of every module but the root's table of names."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return {name: tree for name, tree in found.items() if name}


MODULES = modules()


def imports(name):
    """The modules of the package that a module imports, inside functions too."""
    for node in ast.walk(MODULES[name]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sparselin":
            inner = node.module.removeprefix("sparselin").lstrip(".")
            for alias in node.names:
                whole = f"{inner}.{alias.name}".lstrip(".")
                yield whole if whole in MODULES else inner
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("sparselin").lstrip(".") for alias in node.names
                        if alias.name.split(".")[0] == "sparselin")  # fmt: skip


def room(name):
    return name.split(".")[0]


def draw(path):
    """Storeys as bands, rooms as boxes with the number of modules, arrows to the rooms that they import."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = Counter(room(name) for name in MODULES)
    place = {}
    for floor, rooms in enumerate(FLOORS):
        for i, name in enumerate(rooms):
            place[name] = ((i + 0.5) / len(rooms) * 6, floor)
    figure, axes = plt.subplots(figsize=(10, 7), layout="constrained")
    for floor, storey in enumerate(reversed(STOREYS)):
        axes.axhspan(floor - 0.3, floor + 0.3, color="0.95" if floor % 2 else "0.9", zorder=0)
        axes.text(-0.08, floor, storey, ha="right", va="center", style="italic")
    arrows = {(room(a), room(b)) for a in MODULES for b in imports(a) if b and room(a) != room(b)}
    for a, b in sorted(arrows):
        (x, top), (u, bottom) = place[a], place[b]
        bend = f"arc3,rad={0.25 if top == bottom else 0.04}"
        axes.annotate("", (u, bottom + 0.14 * (top != bottom)), (x, top - 0.14 * (top != bottom)), zorder=1,
                      arrowprops={"arrowstyle": "-|>", "color": "tab:blue", "alpha": 0.35, "lw": 0.8,
                                  "connectionstyle": bend})  # fmt: skip
    for name, (x, y) in place.items():
        words = f"{name}\n{size[name]}" if size[name] > 1 else name
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
        axes.text(x, y, words, ha="center", va="center", fontsize=9, bbox=box, zorder=2)
    axes.set(xlim=(-0.7, 6.1), ylim=(-0.45, len(FLOORS) - 0.55))
    axes.axis("off")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(Path(__file__).parent.parent / "docs" / "house.png")
