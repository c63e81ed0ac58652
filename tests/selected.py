"""Runs of `sparselin select` on a table."""

import numpy as np
from commands import invoke

N = 80  # the rows of `numbers`
WHOLE = ("--target=y", "--folds=0")


def numbers(seed=0, n=N):
    """Return a frame of two columns of numbers that explain a third one."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n)).round(3)
    return pd.DataFrame({"a": a, "b": b, "y": (2 * a - b + 0.1 * rng.standard_normal(n)).round(3)})


def run(folder, table, *options, name="table.csv", exit_code=0):
    """Run the command on a frame or a text; return its output, in one line, and the folder of its report."""
    path = folder / name
    if isinstance(table, str):
        path.write_text(table, encoding="utf-8")
    elif table is not None:
        table.to_csv(path, index=False)
    return invoke("select", path, "--output", folder / "out", *options, exit_code=exit_code), folder / "out"


GOOD = "age,height,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"
