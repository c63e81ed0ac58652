"""Runs of `sparselin select` on a table."""

from click.testing import CliRunner

from sparselin.studies.common.group import cli


def run(folder, table, *options, name="table.csv", exit_code=None):
    """Run the command on a frame or a text; return its output, in one line, and the folder of its report."""
    path = folder / name
    if isinstance(table, str):
        path.write_text(table, encoding="utf-8")
    elif table is not None:
        table.to_csv(path, index=False)
    result = CliRunner().invoke(cli, ["select", str(path), "--output", str(folder / "out"), *options])
    assert exit_code in (None, result.exit_code), result.output
    return " ".join(result.output.split()), folder / "out"


GOOD = "age,height,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"
