"""The plan of the house, read from the imports: six storeys, imports downwards only, no circle."""

import ast
import graphlib
import re

import pytest
from house import FLOORS, MODULES, ROOMS, ROOT, imports, room


def test_every_room_has_its_storey():
    assert {room(name) for name in MODULES} == set(ROOMS)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_downwards(name):
    here = ROOMS.index(room(name))
    for target in imports(name):
        if target == "":  # the root: its names are public, so only the faces and the studies take them
            assert room(name) in (*FLOORS[-1], *FLOORS[-2]), name
        elif room(target) != room(name):
            assert ROOMS.index(room(target)) < here, f"{name} imports {target}"


@pytest.mark.parametrize("path", sorted(p for p in ROOT.rglob("*.py") if p.name != "problem.py"), ids=str)
def test_only_a_problem_knows_its_kind(path):
    """And of arrays and sparse arrays only products know."""
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"(problem|data|X)\.(kind|_is_gram)\b|vars\(.*\)\[.kind", source)
    if path.name != "products.py":
        assert not re.search(r"isinstance\(([a-z_]+\.)+X, np\.ndarray\)|issparse\(problem", source)


def test_no_circle():
    graph = {name: {target for target in imports(name) if target != name} for name in MODULES}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_results_import_nothing_of_the_package_but_the_checks_of_arguments():
    found = {room(t) for name in MODULES if room(name) == "results" for t in imports(name)}
    assert found <= {"results", "validation"}


def test_the_root_is_small():
    files = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert len(files) <= 10, sorted(files)
    assert len(folders) <= 22


@pytest.mark.parametrize("path", sorted(p for p in ROOT.rglob("__init__.py") if p.parent != ROOT))
def test_each_folder_says_what_it_is_for(path):
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert words, path
    assert "\n" not in words.split("\n\n")[0], path
