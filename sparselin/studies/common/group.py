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
    "warm-up": "common.warm_up",
}
# Removed commands, and what replaces each; the messages stay until version 0.3.
_IN_A_CHECKOUT = "in a checkout of the source, or in the unpacked sdist, run `{}`"
MOVED = {
    "neural": _IN_A_CHECKOUT.format("python -m proofs_checks.experiments.networks"),
    "diversity": _IN_A_CHECKOUT.format("python -m proofs_checks.experiments.diversity"),
    "sweep": "call `sweep_gaussian` of `proofs_checks.gaussian_sweep`, in a checkout",
}


class _Lazy(click.Group):
    """A group of commands that loads the module of a command when the command is first used.

    For example, `ledger` does not import `guarantee`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in MOVED:
            return _removed_command(name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"sparselin.studies.{COMMANDS[name]}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def invoke(self, ctx: click.Context) -> object:
        with report_failures():
            return super().invoke(ctx)


def _removed_command(name: str) -> click.Command:
    """Return a command that accepts any arguments and says what to run instead of a removed command."""

    def refuse(**given: object) -> None:
        raise click.UsageError(f"`sparselin {name}` was removed: {MOVED[name]}")

    rest = click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(name, settings, refuse, [rest], add_help_option=False)


@click.command("sparselin", cls=_Lazy, context_settings=HELP)
@click.version_option(sparselin.__version__)
def cli() -> None:
    """sparselin: the theory of greedy sparse regression, checked."""
