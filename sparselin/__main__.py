"""`python -m sparselin` and the `sparselin` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one line what to install for it."""
    try:
        from sparselin.cli import cli
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "sparselin":
            raise
        sys.exit(f"The sparselin command needs {error.name}: pip install 'sparselin[verify]'")
    cli(prog_name="sparselin")


if __name__ == "__main__":
    main()
