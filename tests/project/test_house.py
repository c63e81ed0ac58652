"""The plan of the house, read from the code: imports run downwards, no circle, and a budget."""

import ast
import dataclasses
import graphlib
import inspect
import re

import pytest
from house import (
    FLOORS,
    LAYERS,
    MODULES,
    PROJECT,
    ROOMS,
    ROOT,
    contents,
    files,
    imports,
    numbers,
    room,
    tree_of,
)
from layout import exceptions

import sparselin
from release import repository

# Limits on shape, not aims. Lines have no limit: it would be paid for with names, messages and layout.
BUDGET = {
    "files": 351,
    "folders": 26,
    "rooms": 26,
    "floors": 13,
    "arrows": 129,
    "long modules: library": 3,
    "long modules: proofs": 2,
    "long modules: tests": 8,
    "repeated names of classes": 0,
    "parameters": 15,
}


def test_every_room_has_its_layer():
    assert {room(name) for name in MODULES} == set(ROOMS)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_downwards(name):
    here = ROOMS.index(room(name))
    for target in imports(name):
        if target == "":  # the root: its names are public, so only the upper layers take them
            assert room(name) in (*FLOORS[-1], *FLOORS[-2]), name
        elif room(target) != room(name):
            assert ROOMS.index(room(target)) < here, f"{name} imports {target}"


@pytest.mark.parametrize("path", sorted(p for p in ROOT.rglob("*.py") if p.parent.name != "problem"), ids=str)
def test_only_a_problem_knows_its_kind(path):
    """And of arrays and sparse arrays only products know."""
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"(problem|data|X)\.kind\b|GramErrors|vars\((problem|data|double)\)", source)
    if path.name != "gathered.py":
        assert not re.search(r"isinstance\(([a-z_]+\.)+X, np\.ndarray\)|issparse\(problem", source)


@pytest.mark.parametrize(
    "path", sorted(p for p in ROOT.rglob("*.py") if p.parent.name != "_kernels"), ids=str
)
def test_only_errors_knows_the_precision(path):
    """`problem/errors.py` states bounds on rounding; PyTorch's dtypes know their own eps."""
    source = path.read_text(encoding="utf-8")
    if path.relative_to(ROOT).as_posix() != "problem/errors.py":
        assert not re.search(r"(?<!torch\.)\bfinfo\b|2(\.0)?\*\*-5[23]\b", source)


@pytest.mark.parametrize("path", sorted((ROOT / "problem").glob("*.py")), ids=lambda path: path.name)
def test_a_problem_is_built_from_its_parts(path):
    """And never written to: no dictionary of fields, and no field without a type."""
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"vars\(|__dict__|object\.__(new|setattr)__|_is_gram|dict\[str, Any\]", source)
    for made in ast.walk(tree_of(path)):
        if isinstance(made, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in made.decorator_list):
            types = [ast.unparse(line.annotation) for line in made.body if isinstance(line, ast.AnnAssign)]
            assert "Any" not in types, made.name


def test_a_problem_has_five_parts():
    names = ["design", "y", "sizes", "precision", "provenance"]
    assert [field.name for field in dataclasses.fields(sparselin.Problem)] == names
    problem = sparselin.Problem([[1.0, 2.0], [0.0, 1.0]], [1.0, 0.0])
    assert sorted(vars(problem)) == sorted(names)


def test_no_circle():
    graph = {name: {target for target in imports(name) if target != name} for name in MODULES}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_results_import_nothing_of_the_package_but_the_checks_of_arguments():
    found = {room(t) for name in MODULES if room(name) == "results" for t in imports(name)}
    assert found <= {"results", "validation"}


def test_the_library_imports_no_study():
    """A study can be deleted with its folder: only the command line and the other studies would miss it."""
    for name in MODULES:
        if room(name) not in ("studies", "__main__"):
            assert "studies" not in map(room, imports(name)), name


# What goes with `sparselin/neural`: lines of these files (and of `LAYERS`), and whole the files named below.
LINES_ABOUT_NETWORKS = {
    "sparselin/__init__.py",
    "sparselin/__init__.pyi",
    "sparselin/estimators/__init__.py",
    "sparselin/estimators/__init__.pyi",
    "conftest.py",
    "tests/project/test_extras.py",
    "tests/project/test_house.py",
    "tests/project/test_prose.py",
    "tests/pages/test_site.py",
    "proofs_checks/test_networks_sentences.py",
}
ALL_ABOUT_NETWORKS = (
    "sparselin/neural/",
    "tests/neural/",
    "proofs_checks/experiments/networks/",
    "benchmarks/networks.py",
    "benchmarks/lassonet",
    "docs/_ext/torch_stub.py",
)


def test_networks_can_be_deleted():
    """No other file knows the room: the rest of the library reaches its names through two lists."""
    mention = re.compile(r"(sparselin|sl)[./]neural|[\"']neural|import neural|\.\.neural")
    found = {
        name for path in files() for name in [path.relative_to(PROJECT).as_posix()]
        if mention.search(path.read_text(encoding="utf-8")) and not name.startswith(ALL_ABOUT_NETWORKS)
    }  # fmt: skip
    assert found == LINES_ABOUT_NETWORKS


def test_a_study_imports_no_other():
    for name in MODULES:
        own = name.split(".")[:2]
        if own[0] == "studies" and len(own) > 1:
            of_studies = {t.split(".")[1] for t in imports(name) if t.startswith("studies.")}
            assert of_studies <= {own[1], "common"}, name


def _absolute(path):
    """The modules and names that a file imports."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_the_papers_experiments_import_no_private_module():
    """Nor each other; and the package imports none of them."""
    for path in files("proofs_checks/experiments"):
        own = path.relative_to(PROJECT).parts[2]
        for name in _absolute(path):
            parts = name.split(".")
            assert parts[0] != "sparselin" or not any(part.startswith("_") for part in parts), (path, name)
            if parts[:2] == ["proofs_checks", "experiments"] and own in ("networks", "diversity"):
                assert parts[2] == own, (path, name)
    for path in files("sparselin"):
        assert not [name for name in _absolute(path) if name.split(".")[0] in ("proofs_checks", "tests")], (
            path
        )


@pytest.mark.parametrize("path", files("tests", "proofs_checks"), ids=lambda path: path.name)
def test_no_test_imports_from_another(path):
    """Code that several test modules need is in a helper module."""
    assert not [name for name in _absolute(path) if any(part.startswith("test_") for part in name.split("."))]


def test_records_and_layouts_are_for_readers():
    """Two arrays of one type could change places in a record that is built by position."""
    found = list(exceptions("sparselin"))
    # the checkers are short for strangers, as the code outside the package
    kept = ("a nested conditional", "a signature or call that is squeezed")
    assert not [
        (rule, place) for rule, place in found if rule in kept or "sparselin/check/" not in str(place)
    ]


def test_other_code_is_laid_out_for_readers():
    kept = ("a nested conditional", "a signature or call that is squeezed")
    folders = ("tests", "proofs_checks", "docs", "benchmarks")
    assert not [(rule, place) for rule, place in exceptions(*folders) if rule in kept]


def test_a_failure_says_which_draw_failed(request):
    """A loop has a variable for the seed, and the report of a failure has the variables of the loops."""
    rule = "a draw whose seed has no name"
    assert not [(found, place) for found, place in exceptions() if found == rule]
    conftest = request.config.pluginmanager.get_plugin(str(PROJECT / "conftest.py"))
    for seed, where in [(7, "around"), (8, "around")]:
        frame = inspect.currentframe()
        found = conftest.variables_of_loops(frame, frame.f_lineno)
        assert found == {"seed": seed, "where": where}
    assert not conftest.variables_of_loops(frame, inspect.currentframe().f_lineno)


def test_the_budget_is_kept():
    assert not {name: numbers()[name] for name, limit in BUDGET.items() if numbers()[name] > limit}


def test_the_page_about_the_code_has_every_module():
    """The docs build makes a table for each layer, by `contents`, where the page says {modules}."""
    page = (PROJECT / "docs" / "inside.md").read_text(encoding="utf-8")
    layers = re.findall(r"^```\{modules\} (\w+)$", page, re.MULTILINE)
    assert layers == list(LAYERS)
    rows = dict(row for layer in layers for row in contents(layer))
    assert {path.rstrip("/").removesuffix(".py").replace("/", ".") for path in rows} == set(MODULES)
    assert all((ROOT / path).exists() for path in rows)
    assert all(words.endswith(".") and len(words) > 10 for words in rows.values())


def test_the_root_of_the_project_is_short():
    """A newcomer sees these names first. Files of a release lie in `release/`, pages in `docs/`."""
    assert len({name.partition("/")[0] for name in repository()}) <= 20


@pytest.mark.parametrize("path", sorted(p for p in ROOT.rglob("__init__.py") if p.parent != ROOT))
def test_each_folder_says_what_it_is_for(path):
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert words, path
    assert "\n" not in words.split("\n\n")[0], path
