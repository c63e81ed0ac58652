"""Runs of the command line."""

from click.testing import CliRunner

from sparselin.studies.common.group import cli


def invoke(*arguments, command=cli, exit_code=0):
    """Run `sparselin`, or another command, and check its exit status.

    What it prints is returned in one line and without frames.
    """
    result = CliRunner().invoke(command, [*map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.replace("│", "").split())
