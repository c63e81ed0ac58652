"""Every notebook runs from top to bottom, with the solutions of its exercises, which check themselves."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# beyond the extra `notebooks`
NEEDS = {"10_networks_that_choose": "torch", "11_longer_than_memory": "pyarrow"}
EXERCISE = re.compile(r"^### Exercise (\d+)", re.MULTILINE)
SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>(.*?)</details>", re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def read(path):
    return nbformat.read(path, as_version=4)


def solutions(cell):
    """The code of the folded solutions in a cell, a text each."""
    if cell.cell_type != "markdown":
        return []
    return ["\n".join(CODE.findall(text)) for text in SOLUTION.findall(cell.source)]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_with_its_solutions(path):
    pytest.importorskip(NEEDS.get(path.stem, "numpy"))
    notebook = read(path)
    cells = []
    for cell in notebook.cells:
        cells += [cell, *(nbformat.v4.new_code_cell(code) for code in solutions(cell))]
    notebook.cells = cells
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_teaches(path):
    """A notebook has goals, outputs, and four to six exercises, each with a solution that asserts."""
    cells = read(path).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "**You will learn**" in cells[0].source
    found = [int(number) for number in EXERCISE.findall(text)]
    assert found == list(range(1, len(found) + 1))
    assert 4 <= len(found) <= 6
    codes = [code for cell in cells for code in solutions(cell)]
    assert len(codes) == len(found)
    assert all("assert " in code for code in codes)
    runs = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert runs == list(range(1, len(runs) + 1)), "run it from the top and keep its outputs: make notebooks"
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [one for one in outputs if one.output_type == "error" or one.get("name") == "stderr"]


def test_there_are_twelve_notebooks():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{number:02d}" for number in range(1, 13)]
