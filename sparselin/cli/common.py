"""What the commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource


def make_folder(output: Path, command: str) -> None:
    """Make the folder of a command's report, before the work that fills it.

    Raises click.BadParameter where that cannot be, or where the report of another command is.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"cannot make {output}: {error.strerror}", param_hint="--output") from None
    other = _holds(output / "results.json")
    if other not in ("", f"a report of `sparselin {command}`"):
        raise click.BadParameter(
            f"{output} holds {other}, which would be mixed with this one: choose another folder or remove it",
            param_hint="--output",
        )


def _holds(results: Path) -> str:
    """Whose report a folder holds, "" if it holds none."""
    try:
        return "a report of `{} {}`".format(*json.loads(results.read_text("utf-8"))["run"]["command"].split())
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return "a results.json of something else"


def chosen(ensembles: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names of a list with commas, each once; "all" is all that are known."""
    if ensembles == "all":
        return tuple(known)
    names = tuple(dict.fromkeys(name.strip() for name in ensembles.split(",")))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(
            f"unknown ensemble {unknown[0]!r}; the ensembles are {', '.join(known)}", param_hint="--ensembles"
        )
    return names


def refuse(names: Sequence[str], reason: str) -> None:
    """Raise click.BadParameter if one of these options was given: it would change nothing."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.BadParameter(f"it has no effect with {reason}", param_hint=f"--{name}")
