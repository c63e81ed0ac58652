"""Have Coq check the file that `certificate.to_rocq` wrote, and compare what Coq read with the data.

    python -m proofs_checks.formal.check FILE.v DATA.npz

DATA.npz holds X and y. Coq proves a goal about the literals of the file; whether they are those of X and y no
kernel can know, so Coq prints what it has read, and that is compared here with X and y, as fractions.
`make formal` comes first.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sparselin as sl
from sparselin.certificates.rocq import fractions, read

LIBRARY = Path(__file__).parent


def has_rocq():
    """Whether coqc is here and `make formal` has compiled the library."""
    return shutil.which("coqc") is not None and (LIBRARY / "certificate.vo").exists()


def printed_by_coq(filename, seconds=600):
    """What Coq prints of the file; ValueError with its error where the file does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, Path(filename).name)
        shutil.copy(filename, copy)
        command = ["coqc", "-q", "-w", "-all", "-Q", str(LIBRARY), "sparselin", str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise ValueError(f"Coq does not accept {filename}: {done.stderr.strip()}")
    return done.stdout


def check(filename, X, y):
    """The goal that Coq has proved without axioms; ValueError unless it is about X, or X and ones, and y."""
    printed = printed_by_coq(filename)
    if not printed.endswith("Closed under the global context\n") or "Axioms:" in printed:
        raise ValueError(f"{filename} uses axioms")
    goal, columns, entries = read(printed)
    problem = sl.Problem(X, y)
    data, response = problem.exact_columns(), np.asarray(problem.y, np.float64)
    with_ones = fractions(np.column_stack([data, np.ones(len(data))]).T)  # of a path with an intercept
    if columns not in (fractions(data.T), with_ones) or entries != fractions(response):
        raise ValueError(f"{filename}, as Coq has read it, is not about this X and y")
    return goal


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with np.load(sys.argv[2]) as arrays:
        print(check(sys.argv[1], arrays["X"], arrays["y"]))  # noqa: T201
