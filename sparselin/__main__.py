"""`python -m sparselin` and the `sparselin` command."""

from __future__ import annotations

import importlib.util
import sys

NEEDED = ("click", "rich", "jinja2", "matplotlib")
# what solves beside the library's own methods, in these commands alone
SOLVERS, SOLVED = ("cvxpy", "clarabel"), ("verify", "ledger")


def main() -> None:
    """Run the command line, or say in one line what to install for it."""
    needed = NEEDED + (SOLVERS if sys.argv[1:2] and sys.argv[1] in SOLVED else ())
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"The sparselin command needs {', '.join(missing)}: pip install 'sparselin[verify]'")
    from sparselin.studies.common.group import cli

    cli(prog_name="sparselin")


if __name__ == "__main__":
    main()
