"""The plan of the house, read from the code: `python -m tests.house` prints its numbers.

A *room* is a folder or a module in the root of `sparselin/`, an *arrow* an ordered pair of rooms where the
first imports the second, a *floor* a step of the longest chain of arrows. *Code lines* are lines without
docstrings, comments and blanks.
"""

import argparse
import ast
import functools
import io
import itertools
import re
import tokenize
from collections import Counter
from pathlib import Path

import sparselin

ROOT = Path(sparselin.__file__).parent
PROJECT = ROOT.parent
# A room imports from lower layers, or from rooms named before it in its own. Imports inside functions count.
LAYERS = {
    "faces": "estimators plots neural studies __main__",
    "theory": "subsets post_selection explanations guarantees verification",
    "methods": "check certificates greedy lasso attention spectral",
    "border": "problem linalg scale ensembles testing ledger",
    "ground": "_kernels validation parallel results",
}
FLOORS = [rooms.split() for rooms in reversed(LAYERS.values())]
ROOMS = [room for floor in FLOORS for room in floor]
STUDIES = ("studies", "ledger", "__main__")  # and the command line: the rest is the library
PYTHON = ("sparselin", "tests", "proofs_checks", "benchmarks", "docs")  # the folders with our own code
_NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _modules():
    """Name → path of every module but the root's table of names; they are parsed when they are looked at."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return {name: path for name, path in found.items() if name}


MODULES = _modules()


def imports(name):
    """The modules of the package that a module imports, inside functions too."""
    for node in ast.walk(tree_of(MODULES[name])):
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


@functools.cache
def arrows():
    return {(room(a), room(b)) for a in MODULES for b in imports(a) if b and room(a) != room(b)}


def floors():
    """The number of rooms on the longest chain of arrows."""
    below = {name: [b for a, b in arrows() if a == name] for name in ROOMS}

    @functools.cache
    def height(name):
        return 1 + max(map(height, below[name]), default=0)

    return max(map(height, ROOMS))


def files(*folders):
    """Python files of folders of the project; with none, of all of it."""
    found = (PROJECT / folder for folder in folders or PYTHON)
    paths = itertools.chain.from_iterable(folder.rglob("*.py*") for folder in found)
    made = ("_build", "made", "__pycache__")
    kept = [path for path in paths if path.suffix in (".py", ".pyi") and not set(made) & set(path.parts)]
    return sorted([*kept, *([] if folders else [PROJECT / "conftest.py"])])


def code_lines(path):
    """The number of lines that have a token of code: no docstring, comment or blank."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type not in _NOT_CODE and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def total_lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def long_modules(*folders, limit=500):
    return [path for path in files(*folders) if total_lines(path) > limit]


def repeated_classes():
    """Names of classes that are defined twice or more in the package."""
    names = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, times in names.items() if times > 1)


def _is_excepted(function, owner):
    """Constructors of estimators, and commands: scikit-learn and click want their parameters flat."""
    of_click = any(
        "option" in ast.unparse(one) or "click." in ast.unparse(one) for one in function.decorator_list
    )
    fits = owner is not None and any(getattr(member, "name", "") == "fit" for member in owner.body)
    return of_click or (fits and function.name == "__init__")


def parameters():
    """(number, function) of each function of the package and of the experiments, but for the excepted."""
    for path in files("sparselin", "proofs_checks/experiments"):
        nodes = list(ast.walk(tree_of(path)))
        owners = {
            id(member): node for node in nodes if isinstance(node, ast.ClassDef) for member in node.body
        }
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and not _is_excepted(node, owners.get(id(node))):
                given = node.args
                number = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                yield number, f"{path.relative_to(PROJECT)}:{node.name}"


@functools.cache
def numbers():
    """Return the name of each budgeted quantity with its number today."""
    library, studies = [], []
    for path in files("sparselin"):
        name = path.relative_to(ROOT).parts[0].removesuffix(".py")
        (studies if name in STUDIES else library).append(path)
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"]
    return {
        "code lines: library": sum(map(code_lines, library)),
        "code lines: studies, ledger, command line": sum(map(code_lines, studies)),
        "code lines: all Python": sum(map(code_lines, files())),
        "files": len(files("sparselin")),
        "folders": len(folders),
        "rooms": len({room(name) for name in MODULES}),
        "floors": floors(),
        "arrows": len(arrows()),
        "long modules: library": len(long_modules("sparselin")),
        "long modules: proofs": len(long_modules("proofs_checks")),
        "long modules: tests": len(long_modules("tests")),
        "repeated names of classes": len(repeated_classes()),
        "parameters": max(parameters())[0],
    }


def code_lines_by_room():
    """Return the code lines of each folder and module in the root of the library."""
    lines = Counter()
    for path in files("sparselin"):
        lines[path.relative_to(ROOT).parts[0].removesuffix(".py").removesuffix(".pyi")] += code_lines(path)
    return dict(lines)


def first_sentence(name):
    """Return the first sentence of the docstring of a module, on one line."""
    words = " ".join(ast.get_docstring(tree_of(MODULES[name])).split("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s(?=[A-Z`])", words)[0]


def contents(layer):
    """Yield the path of each module and folder of a layer, and its first sentence, for docs/inside.md."""
    rooms = LAYERS[layer].split()
    for name in sorted(MODULES, key=lambda name: name.split(".")):
        if room(name) in rooms:
            path = name.replace(".", "/")
            yield path + ("/" if (ROOT / path).is_dir() else ".py"), first_sentence(name)


def draw(path):
    """Layers as bands, rooms as boxes with the number of modules, arrows to the rooms that they import."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = Counter(room(name) for name in MODULES)
    place = {}
    for floor, rooms in enumerate(FLOORS):
        for i, name in enumerate(rooms):
            place[name] = ((i + 0.5) / len(rooms) * 6, floor)
    figure, axes = plt.subplots(figsize=(10, 7), layout="constrained")
    for floor, layer in enumerate(reversed(LAYERS)):
        axes.axhspan(floor - 0.3, floor + 0.3, color="0.95" if floor % 2 else "0.9", zorder=0)
        axes.text(-0.08, floor, layer, ha="right", va="center", style="italic")
    for a, b in sorted(arrows()):
        (x, top), (u, bottom) = place[a], place[b]
        bend = f"arc3,rad={0.25 if top == bottom else 0.04}"
        axes.annotate(
            "",
            (u, bottom + 0.14 * (top != bottom)),
            (x, top - 0.14 * (top != bottom)),
            zorder=1,
            arrowprops={
                "arrowstyle": "-|>",
                "color": "tab:blue",
                "alpha": 0.35,
                "lw": 0.8,
                "connectionstyle": bend,
            },
        )
    for name, (x, y) in place.items():
        words = f"{name}\n{size[name]}" if size[name] > 1 else name
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
        axes.text(x, y, words, ha="center", va="center", fontsize=9, bbox=box, zorder=2)
    axes.set(xlim=(-0.7, 6.1), ylim=(-0.45, len(FLOORS) - 0.55))
    axes.axis("off")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__.splitlines()[0])
    parser.add_argument("--draw", metavar="FILE", help="draw rooms and arrows, as PNG or SVG")
    parser.add_argument("--names", action="store_true", help="name the long modules, classes and functions")
    parser.add_argument(
        "--modules", action="store_true", help="print what each module contains, and no numbers"
    )
    chosen = parser.parse_args()
    if chosen.modules:
        print(*(f"{path}: {words}" for layer in LAYERS for path, words in contents(layer)), sep="\n")  # noqa: T201
        parser.exit()
    for name, number in numbers().items():
        print(f"{number:8,}  {name}")  # noqa: T201
    by_room = sorted(code_lines_by_room().items(), key=lambda item: -item[1])
    print("code lines by room:", ", ".join(f"{name} {lines:,}" for name, lines in by_room))  # noqa: T201
    if chosen.names:
        print(*(f"{total_lines(p)} {p.relative_to(PROJECT)}" for p in long_modules(*PYTHON)), sep="\n")  # noqa: T201
        print(*repeated_classes(), sep=", ")  # noqa: T201
        print(*(f"{n} {name}" for n, name in sorted(parameters(), reverse=True) if n > 12), sep="\n")  # noqa: T201
    if chosen.draw:
        draw(chosen.draw)
