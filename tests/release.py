"""The blanks that a person has to fill in: `python -m tests.release` fails while one is left."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Text in backquotes is about blanks, and is none. A release has its date in the CHANGELOG.
BLANK = re.compile(r"(?<!`)TO BE FILLED IN|^## \[.*\] \(unreleased\)", re.MULTILINE)


def repository():
    """Return the names of the files of a checkout, also of new ones; of an sdist, of its files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = result.stdout.splitlines() or (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*"))
    return sorted(name for name in found if (ROOT / name).is_file())


def blanks():
    """Yield the file of each blank, and its line."""
    for name in repository():
        if name.endswith((".md", ".toml", ".cff", ".json", ".yaml", ".yml")):
            text = (ROOT / name).read_text(encoding="utf-8")
            for match in BLANK.finditer(text):
                yield name, text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0].strip()


if __name__ == "__main__":
    left = list(blanks())
    sys.stdout.writelines(f"{name}: {line}\n" for name, line in left)
    sys.exit(bool(left))
