"""Run the notebooks from the top and store their outputs: `python tests/notebooks.py`."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"

if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        needs_torch = any("import torch" in cell.source for cell in notebook.cells)
        if needs_torch and not os.environ.get("SPARSELIN_DATA"):
            continue  # stays as stored, with MNIST
        # without times, and with prints in one piece: so the same outputs give the same file
        client = NotebookClient(
            notebook,
            timeout=600,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.execute()
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
