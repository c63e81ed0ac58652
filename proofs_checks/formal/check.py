"""Have Coq check the file that `certificate.to_rocq` wrote, and compare what Coq read with the data.

    python -m proofs_checks.formal.check FILE.v DATA.npz

DATA.npz holds X and y. Coq proves a goal about the literals of the file; whether they are those of X and y no
kernel can know, and the file may define or print what it likes. So the goal is stated once more from X and y,
in a file that takes the given one as its proof alone; Coq prints what it has read of that, and it is compared
here with X and y, as fractions.
`make formal` comes first.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sparselin as sl
from sparselin.certificates.rocq import GOALS, fractions, read, restatement

LIBRARY = Path(__file__).parent


def has_rocq():
    """Whether coqc is here and `make formal` has compiled the library."""
    return shutil.which("coqc") is not None and (LIBRARY / "certificate.vo").exists()


def printed_by_coq(filename, folder, seconds=600):
    """What Coq prints of the file, with folder as the library `given`; ValueError with Coq's error."""
    libraries = ["-Q", str(LIBRARY), "sparselin", "-Q", str(folder), "given"]
    command = ["coqc", "-q", "-w", "-all", *libraries, str(filename)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise ValueError(f"Coq does not accept {Path(filename).name}: {done.stderr.strip()}")
    return done.stdout


def data_of(goal, X, y):
    """X, or X and ones where the goal has one column more and forces it, and y, both in float64."""
    problem = sl.Problem(X, y)
    data, response = problem.exact_columns(), np.asarray(problem.y, np.float64)
    d = data.shape[1]
    if f"dyadic_matrix {len(data)} {d + 1} " in goal and d in numbers(goal)[0]:
        data = np.column_stack([data, np.ones(len(data))])  # of a path with an intercept
    return data, response


def numbers(goal):
    """The forced features and the picks of a goal."""
    return [tuple(map(int, re.findall(r"\d+", found))) for found in re.findall(r"\[::([^\]]*)\]", goal)]


def about(printed, data, response):
    """The goal that Coq has printed; ValueError unless its literals are those of the data."""
    goal, columns, entries = read(printed)
    if columns != fractions(data.T) or entries != fractions(response):
        raise ValueError("the file, as Coq has read it, is not about this X and y")
    return goal


def check(filename, X, y):
    """The goal about X and y that Coq has proved without axioms; ValueError unless it has.

    The file may define the words of its goal anew, print what it likes and hide its axioms. So the goal is
    stated once more, from X and y, in a file of ours, with the theorem of the given one as its proof.
    """
    with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as ours:
        shutil.copy(filename, Path(given, "picks.v"))
        printed = printed_by_coq(Path(given, "picks.v"), given)
        goal = read(printed)[0]
        data, response = data_of(goal, X, y)
        about(printed, data, response)
        claim = next(claim for claim, names in GOALS.items() if goal.startswith(names[0] + " "))
        text = restatement(data, response, claim, *numbers(goal), "given.picks.picks_are_right")
        Path(ours, "restated.v").write_text(text, encoding="utf-8")
        try:
            printed = printed_by_coq(Path(ours, "restated.v"), given)
        except ValueError as error:
            raise ValueError(f"{filename} proves another goal than the one about this X and y") from error
    if not printed.endswith("Closed under the global context\n") or "Axioms:" in printed:
        raise ValueError(f"{filename} uses axioms")
    return about(printed, data, response)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with np.load(sys.argv[2]) as arrays:
        print(check(sys.argv[1], arrays["X"], arrays["y"]))  # noqa: T201
