"""The command `sparselin notebooks`: copy the notebooks of a checkout, with or without their solutions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

import sparselin
from sparselin.studies.common.command import NewPath, Terminal, force_option
from sparselin.studies.common.folder import write_new

_NOTEBOOKS = "notebooks"
_ANSWER = re.compile(r"\s*\*Answer\*:.*?(?=\n\n|\Z)", re.DOTALL)  # on the page with pictures for a class
_SOLUTION = re.compile(r"\s*<details>\s*<summary>Solution</summary>.*?</details>", re.DOTALL)
_OUTSIDE = re.compile(r"\.\./[\w./-]*\w")  # a path in a notebook that leaves its folder
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


@click.command(short_help="Copy the notebooks, for students without solutions.")
@click.argument("folder", type=NewPath(file_okay=False, path_type=Path))
@click.option("--students", is_flag=True, help="Leave out the solutions of the exercises.")
@force_option
def notebooks(folder: Path, students: bool, force: bool) -> None:
    """Copy the notebooks to FOLDER/notebooks, and the files to which they link next to them.

    The notebooks are in a checkout of sparselin, not in the installed package. So run this command in a
    folder of the checkout, unless sparselin is installed from it in editable mode. Links between the copies
    work; of the pages in FOLDER/docs some links lead to other pages of the documentation, which are not
    copied. To open the notebooks, run `jupyter lab FOLDER/notebooks`.

    Exit status: 0 if copied, 1 if there is no checkout or the folder cannot be written, 2 for bad arguments.
    """
    checkout = find_checkout()
    if checkout is None:
        raise click.ClickException(
            "the notebooks are in a checkout of sparselin, not in the installed package: run this command in "
            "a folder of the checkout"
        )
    files = copies(checkout, students)
    write_new(folder, files, force)
    count = sum(name.endswith(".ipynb") for name in files)
    kind = "without solutions" if students else "with solutions"
    words = f"{count} notebooks {kind} are in {folder / _NOTEBOOKS}"
    Terminal(soft_wrap=True, highlight=False).print(words)


def find_checkout() -> Path | None:
    """Return the checkout from which the package is imported, or which holds the current folder, or None."""
    here = Path.cwd()
    for folder in (Path(sparselin.__file__).parents[1], here, *here.parents):
        if (folder / _NOTEBOOKS).is_dir() and (folder / "sparselin" / "__init__.py").is_file():
            return folder
    return None


def copies(checkout: Path, students: bool) -> dict[str, bytes]:
    """Return name ↦ contents of the notebooks, of the files to which they link, and of their pictures.

    students : whether the solutions and answers are left out, and the README for teachers.
    """
    paths = sorted((checkout / _NOTEBOOKS).glob("*.ipynb"))
    paths += [] if students else [checkout / _NOTEBOOKS / "README.md"]
    files = {path: path.read_bytes() for path in paths}
    if students:
        files = {path: without_solutions(data) for path, data in files.items()}
    for page in [page for path in paths for page in _links(path, _OUTSIDE)]:
        files[page] = page.read_bytes()
        if students and page.suffix == ".md":
            files[page] = _ANSWER.sub("", page.read_text(encoding="utf-8")).encode()
        if page.suffix == ".md":
            files |= {picture: picture.read_bytes() for picture in _links(page, _PICTURE)}
    root = checkout.resolve()
    named = {path.resolve(): data for path, data in files.items()}
    return {
        path.relative_to(root).as_posix(): data for path, data in named.items() if path.is_relative_to(root)
    }


def _links(path: Path, pattern: re.Pattern[str]) -> Iterator[Path]:
    """Yield the files that a notebook or a page names."""
    for found in pattern.finditer(path.read_text(encoding="utf-8")):
        file = path.parent / found[found.re.groups]
        if file.is_file():
            yield file


def without_solutions(data: bytes) -> bytes:
    """Return a notebook without the folded solutions of its exercises; all else stays."""
    notebook = json.loads(data)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            cell["source"] = _SOLUTION.sub("", text).splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
