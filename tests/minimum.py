"""The lowest versions that pyproject.toml allows, as constraints for pip: `python tests/minimum.py`.

But for the extra `scale`, which asks more of polars than `frames` does.
"""

import re
import tomllib
from pathlib import Path

TEXT = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)["project"]


def lowest():
    """Lines "name==version", of the dependencies and of all extras but `scale`."""
    extras = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(line for name, extra in extras.items() if name != "scale" for line in extra),
    ]
    return sorted({line.replace(">=", "==") for line in wanted if re.fullmatch(r"[\w-]+>=[\d.]+", line)})


if __name__ == "__main__":
    print("\n".join(lowest()))  # noqa: T201
