"""Every notebook runs with its solutions, which check themselves; students get a copy without these."""

import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

import sparselin
from sparselin.studies.common.group import cli
from sparselin.studies.common.notebooks import find_checkout, without_solutions

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
    """A notebook has goals, outputs, and four to seven exercises, each with a solution that asserts."""
    cells = read(path).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "**You will learn**" in cells[0].source
    found = [int(number) for number in EXERCISE.findall(text)]
    assert found == list(range(1, len(found) + 1))
    assert 4 <= len(found) <= 7
    codes = [code for cell in cells for code in solutions(cell)]
    assert len(codes) == len(found)
    assert all("assert " in code for code in codes)
    runs = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert runs == list(range(1, len(runs) + 1)), "run it from the top and keep its outputs: make notebooks"
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [one for one in outputs if one.output_type == "error" or one.get("name") == "stderr"]


def test_there_are_twelve_notebooks():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{number:02d}" for number in range(1, 13)]


def copy(*arguments):
    return CliRunner().invoke(cli, ["notebooks", *map(str, arguments)])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_students_get_all_but_the_solutions(path):
    whole = read(path)
    given = nbformat.reads(without_solutions(path.read_bytes()).decode(), as_version=4)
    assert len(given.cells) == len(whole.cells)
    found = 0
    for ours, theirs in zip(whole.cells, given.cells, strict=True):
        hidden = solutions(ours)
        found += len(hidden)
        assert not solutions(theirs)
        assert "Solution" not in theirs.source
        for text in hidden:
            assert text not in theirs.source
        if hidden:  # the text of the exercises stays, and so do hints
            left = re.split(r"\s*<details>.*?</details>", ours.source, flags=re.DOTALL)
            assert theirs.source == "".join(left)
            ours.source = theirs.source
    assert found >= 4
    assert given == whole


def test_the_notebooks_are_copied_with_what_they_link_to(tmp_path):
    assert "12 notebooks with solutions" in copy(tmp_path / "whole").output
    assert "12 notebooks without solutions" in copy("--students", tmp_path / "class").output
    questions = (tmp_path / "class" / "docs" / "teaching.md").read_text("utf-8")
    assert (questions.count("*Ask*:"), questions.count("*Answer*")) == (15, 0)
    assert questions.endswith((tmp_path / "whole" / "docs" / "teaching.md").read_text("utf-8")[-200:])
    for path in NOTEBOOKS:
        assert (tmp_path / "whole" / "notebooks" / path.name).read_bytes() == path.read_bytes()
        for cell in read(tmp_path / "class" / "notebooks" / path.name).cells:
            text = cell.source
            links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if cell.cell_type == "markdown" else []
            for link in [*links, *re.findall(r'"(\.\./[^"]+)"', text)]:
                assert "://" in link or (tmp_path / "class" / "notebooks" / link).exists(), link
    assert (tmp_path / "whole" / "docs" / "teaching" / "angles.png").exists()
    assert not (tmp_path / "class" / "notebooks" / "README.md").exists()


def test_no_file_of_the_user_is_overwritten(tmp_path):
    mine = tmp_path / "notebooks" / NOTEBOOKS[3].name
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    refused = copy("--students", tmp_path)
    assert refused.exit_code == 1
    assert f"{mine} would be overwritten" in refused.output.replace("\n", "")
    assert [path.name for path in mine.parent.iterdir()] == [mine.name]
    assert mine.read_text("utf-8") == "mine"
    assert copy("--students", "--force", tmp_path).exit_code == 0
    assert copy("--students", tmp_path).exit_code == 0  # the same files
    assert copy(tmp_path).exit_code == 1


def test_without_a_checkout_the_command_says_where_the_notebooks_are(tmp_path, monkeypatch):
    monkeypatch.setattr(sparselin, "__file__", str(tmp_path / "sparselin" / "__init__.py"))
    monkeypatch.chdir(FOLDER)
    assert find_checkout() == FOLDER.parent
    monkeypatch.chdir(tmp_path)
    found = copy("out")
    assert found.exit_code == 1
    assert "run this command in a folder of the checkout" in found.output
