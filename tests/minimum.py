"""The lowest versions that pyproject.toml allows, as constraints for pip: `python tests/minimum.py`."""

import itertools
import re
import tomllib
from pathlib import Path

TEXT = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)["project"]


def lowest():
    """Lines "name==version", of the dependencies and of all extras."""
    wanted = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]
    parts = (re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)(?:;.*)?", line) for line in wanted)
    return sorted({f"{part[1]}=={part[2]}" for part in parts if part})


if __name__ == "__main__":
    print("\n".join(lowest()))  # noqa: T201
