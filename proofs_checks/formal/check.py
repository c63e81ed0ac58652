"""Have Coq check the file that `Certificate.to_rocq` wrote, and that it proves your picks on your data.

    python -m proofs_checks.formal.check FILE.v DATA.npz --picks 10 8 22 7

DATA.npz holds X and y. `--picks` are all picks of your path, in order, without forced features. `--forced`
names the forced features, `--intercept` is for a path with an intercept, `--claim omp` for a certificate of
OMP alone. The command prints the goal that Coq has proved, or the first difference between the file and your
question. Run `make formal` first.
"""

import argparse
import operator
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sparselin as sl
from sparselin.certificates.rocq import GOALS, PRINTS, fractions, literals, read, statement
from sparselin.validation import read_npz

LIBRARY = Path(__file__).parent


def has_rocq():
    """Return whether coqc is here and `make formal` has compiled the library."""
    return shutil.which("coqc") is not None and (LIBRARY / "certificate.vo").exists()


def printed_by_coq(filename, folder, seconds=600):
    """Return Coq's output for the file, with folder as the library `given`; raise ValueError with Coq's
    error.
    """
    libraries = ["-Q", str(LIBRARY), "sparselin", "-Q", str(folder), "given"]
    command = ["coqc", "-q", "-w", "-all", *libraries, str(filename)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise ValueError(f"Coq does not accept {Path(filename).name}: {done.stderr.strip()}")
    return done.stdout


def numbers(goal):
    """Return the forced features and the picks of a goal."""
    return [tuple(map(int, re.findall(r"\d+", found))) for found in re.findall(r"\[::([^\]]*)\]", goal)]


def difference(printed, data, response, claim, forced, picks, intercept):
    """Return the first difference between the file, as Coq printed it, and the question; "" for none."""
    goal, columns, entries = read(printed)
    found = next(claim for claim, names in GOALS.items() if goal.startswith(names[0] + " "))
    if found != claim:
        return f"Its claim is {found!r}, not {claim!r}. Ask about it by --claim {found}."
    if not intercept and columns == fractions(np.vstack([data.T, np.ones(len(data))])):
        return "It is about X and a column of ones. If your path has an intercept, ask with --intercept."
    if intercept and columns == fractions(data.T[:-1]):
        return "It is about X without a column of ones. Ask without --intercept, or certify a path with one."
    if columns != fractions(data.T) or entries != fractions(response):
        return "It is not about this X and y. Certify a path on these data."
    begins, found = numbers(goal)
    if set(begins) != set(forced):
        words = f"Its forced features are {list(begins)}, not {list(forced)}."
        return f"{words} Name those of the path by --forced, without them in --picks."
    if found != picks:
        return f"Its picks are {list(found)}, not {list(picks)}. Name all its picks, or certify your path."
    return ""


def check(filename, X, y, picks, *, forced=(), claim="sequential_lasso", intercept=False):
    """Return the goal that Coq has proved without axioms: the claim that these are picks on X and y.

    The file may define the words of its goal anew, print anything and hide its axioms. Therefore its output
    serves only to name a difference from the question. Then a file of ours states the goal once more, from
    the arguments of this function, with the theorem of the given file as its proof. Coq prints the goal that
    it has read from our file, and this goal is compared with the question, with X and y as fractions.

    Parameters
    ----------
    filename : the file that `Certificate.to_rocq` wrote.
    X, y : the data.
    picks : all picks of the path, in order, without forced features. A proof of the first few is refused.
    forced : the forced features of the path, in any order, without the column of ones.
    claim : the claim of the certificate: "sequential_lasso", that the picks are a run of OMP and a run of
        Sequential LASSO, or "omp", that the picks are a run of OMP.
    intercept : whether the path has an intercept. Then X has a last column of ones, which is forced.

    Raises
    ------
    TypeError, ValueError : bad X or y; a feature that is no column of X, or no picks; an unknown claim; a
        file that Coq does not accept, that uses axioms, or that proves something else.
    """
    if claim not in GOALS:
        raise ValueError(f"claim must be one of {tuple(GOALS)}; got {claim!r}")
    problem = sl.Problem(X, y, intercept=intercept)
    data, response = problem.exact_columns(), problem.double_y
    picks, forced = (tuple(map(operator.index, features)) for features in (picks, forced))
    for name, features in (("picks", picks), ("forced", forced)):
        if outside := [j for j in features if not 0 <= j < problem.n_features]:
            raise ValueError(f"{name} must be columns of X, 0 to {problem.n_features - 1}; got {outside[0]}")
    if not picks:
        raise ValueError("picks must name at least one feature: a proof of no picks says nothing")
    forced = (problem.n_features,) * intercept + forced
    question = data, response, claim, forced, picks, intercept
    with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as ours:
        shutil.copy(filename, Path(given, "picks.v"))
        printed = printed_by_coq(Path(given, "picks.v"), given)
        if found := difference(printed, *question):
            raise ValueError(f"{filename} does not prove what you ask about. {found}")
        forced = numbers(read(printed)[0])[0]  # the same set, in the order of the file
        text = restatement(data, response, claim, forced, picks, "given.picks.picks_are_right")
        Path(ours, "restated.v").write_text(text, encoding="utf-8")
        try:
            printed = printed_by_coq(Path(ours, "restated.v"), given)
        except ValueError as error:
            raise ValueError(f"{filename} proves another goal than the one that it prints") from error
    if not printed.endswith("Closed under the global context\n") or "Axioms:" in printed:
        raise ValueError(f"{filename} uses axioms")
    goal, columns, entries = read(printed)
    stated = statement(data, response, claim, forced, picks), fractions(data.T), fractions(response)
    if (goal, columns, entries) != stated:
        raise ValueError(f"{filename} makes Coq read another goal: {goal!r} in place of {stated[0]!r}")
    return goal


def restatement(X, y, claim, forced, picks, proof):
    """Write a file for Rocq that states the same goal and derives it from the theorem `proof` of a library.

    The library is loaded by Require without Import, so its definitions, notations and output have no effect
    in the file.
    """
    return f"""Require {proof.rpartition(".")[0]}.
{literals(X, y)}
Definition picks_are_right :
  {statement(X, y, claim, forced, picks)} :=
  {proof}.
{PRINTS}"""


def main():
    """Answer the question on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m proofs_checks.formal.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE.v", help="the file that `Certificate.to_rocq` wrote")
    parser.add_argument("data", metavar="DATA.npz", help="X and y, by `np.savez`")
    feature = {"nargs": "+", "type": int, "metavar": "FEATURE"}
    parser.add_argument("--picks", required=True, help="all picks, in order", **feature)
    parser.add_argument("--forced", default=(), help="the forced features", **feature)
    parser.add_argument(
        "--claim", choices=tuple(GOALS), default="sequential_lasso", help="the claim of the certificate"
    )
    parser.add_argument("--intercept", action="store_true", help="the path has an intercept")
    asked = parser.parse_args()
    try:
        arrays = read_npz(asked.data)
        if absent := {"X", "y"} - set(arrays):
            raise ValueError(
                f"{asked.data} has no {min(absent)}; write it by np.savez({asked.data!r}, X=X, y=y)"
            )
        X, y = arrays["X"], arrays["y"]
        goal = check(
            asked.file, X, y, asked.picks, forced=asked.forced, claim=asked.claim, intercept=asked.intercept
        )
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    print(f"Proved, without axioms: {goal}")  # noqa: T201


if __name__ == "__main__":
    main()
