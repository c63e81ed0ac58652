"""The command line. It parses arguments and shows progress; `experiments` and `reports` do the work."""

from __future__ import annotations

import errno
import importlib

import click

import sparselin
from sparselin.reports.folder import ReportError

# a module each, loaded at its first use
COMMANDS = ("select", "verify", "ledger", "diversity", "guarantee", "neural", "sweep", "explore", "warm-up")
_FULL = (
    errno.ENOSPC,
    getattr(errno, "EDQUOT", None),
    errno.EFBIG,
)  # a disk, also where compiled functions are kept


class _Lazy(click.Group):
    """A group that loads a command's module at its first use: `ledger` does not import `guarantee`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"sparselin.cli.{module}"), module)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """End with 130 at an interrupt that no command handles, and in one message if there is no report."""
        try:
            return super().invoke(ctx)
        except (ReportError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in _FULL:
                raise
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise SystemExit(130) from None


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sparselin.__version__)
def cli() -> None:
    """sparselin: the theory of greedy sparse regression, checked."""
