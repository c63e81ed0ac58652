"""What the commands share."""

from __future__ import annotations

from pathlib import Path

import click


def make_folder(output: Path) -> None:
    """Make the folder of a report, before the work that fills it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"cannot make {output}: {error.strerror}", param_hint="--output") from None
