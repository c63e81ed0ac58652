"""Runs of the command line."""

import re

from click.testing import CliRunner

from sparselin.studies.common.group import cli


def invoke(*arguments, command=cli, exit_code=0, env=None):
    """Run `sparselin`, or another command, and check its exit status, which may be one of several.

    What it prints is returned in one line and without frames.
    """
    result = CliRunner().invoke(command, [*map(str, arguments)], env=env)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code in (exit_code if isinstance(exit_code, tuple) else (exit_code,)), result.output
    return " ".join(re.sub("[│╭╮╰╯─]", "", result.output).split())
