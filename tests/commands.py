"""Runs of the command line."""

from click.testing import CliRunner

from sparselin.studies.common.group import cli


def invoke(*arguments, exit_code=0):
    """Run `sparselin`, check its exit status, and return what it prints, in one line and without frames."""
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.replace("│", "").split())
