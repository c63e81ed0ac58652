"""The command line: a group of commands, each defined in the folder of its study."""

import importlib

import click

import sparselin
from sparselin.studies.common.command import HELP, report_failures

# name ↦ the module of `sparselin.studies` that defines the command, loaded at its first use
COMMANDS = {
    "select": "select.command",
    "verify": "verification.command",
    "ledger": "ledger.command",
    "guarantee": "guarantees.command",
    "explore": "common.explore",
    "notebooks": "common.notebooks",
    "warm-up": "common.warm_up",
}


class _Lazy(click.Group):
    """A group of commands that loads the module of a command when the command is first used.

    For example, `ledger` does not import `guarantee`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"sparselin.studies.{COMMANDS[name]}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def invoke(self, ctx: click.Context) -> object:
        with report_failures():
            return super().invoke(ctx)


@click.command("sparselin", cls=_Lazy, context_settings=HELP)
@click.version_option(sparselin.__version__)
def cli() -> None:
    """sparselin: the theory of greedy sparse regression, checked."""
