"""The entry point of `python -m sparselin` and of the `sparselin` command."""

import importlib.util
import sys

from sparselin.validation.extras import installed_by

NEEDED = ("click", "rich", "jinja2", "matplotlib")
# the outside solvers, which only these commands need
SOLVERS, SOLVED = ("cvxpy", "clarabel"), ("verify", "ledger")


def main() -> None:
    """Run the command line. If a package is missing, exit with a line that says which packages to install."""
    needed = NEEDED + (SOLVERS if sys.argv[1:2] and sys.argv[1] in SOLVED else ())
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"The sparselin command needs {', '.join(missing)}: {installed_by('verify')}")
    try:
        from sparselin.studies.common.group import cli
    except KeyboardInterrupt:  # later, the commands catch it themselves
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    cli(prog_name="sparselin")


if __name__ == "__main__":
    main()
