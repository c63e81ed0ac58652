"""Certificates as files for the proof assistant Rocq (Coq): the claim about one X and y, and its proof.

The definitions and the checker, which is proved sound, are in `proofs_checks/formal/` of the repository; the
page docs/proofs/formal.md states them. In the file, X = columns/2ᵉ and y = entries/2ᶠ with integers `columns`
and `entries`. The proof of a pick consists of integers fit, D, dir and E. In the notation of
`StepCertificate`, where S are the features before the pick and T the tied ones, they mean

    fit/D = 2^{f−e}·coef on S,   dir/E = 2^{f−e}·(signs∘direction on T, rate on S).

The checker computes R = D·entries − Xfit, Q = Xdir, C = XᵀR and B = XᵀQ, and compares only integers.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.certificates.arithmetic import over_common_denominator
from sparselin.certificates.step import Indices, StepCertificate
from sparselin.results import FloatArray

GOALS = {
    "sequential_lasso": ("sequential_lasso_picks", "sequential_lasso_checked"),
    "omp": ("omp_picks", "omp_checked"),
}
_WIDTH = 110
PRINTS = """
Set Printing Depth 10000000.
Print columns.
Print entries.
Check picks_are_right.
Print Assumptions picks_are_right.
"""


def check_expressible(filename: str | Path, claim: Any, normalized: Any, steps: Any) -> None:
    """Raise ValueError if Coq does not accept the file name, or has no checker for the claim."""
    if not re.fullmatch(r"[A-Za-z]\w*\.v", Path(filename).name, re.ASCII):
        raise ValueError(f"filename must end in a name like picks.v; got {str(filename)!r}")
    if not (type(claim) is str and claim in GOALS) or normalized is not False:
        raise ValueError(
            f"claim must be one of {tuple(GOALS)}, for columns as given; got {claim!r} with "
            f"normalized={normalized}, for which there is no checker in Rocq"
        )
    if not steps:
        raise ValueError("a certificate without steps proves nothing; certify a path with a pick")


def document(X: FloatArray, y: FloatArray, claim: str, S: Indices, steps: Sequence[StepCertificate]) -> str:
    """Write the text of the file for Rocq: X and y as literals, the goal, and its proof by computation."""
    proofs = ";\n".join(_step(step, X.shape[1], _exponent(y) - _exponent(X)) for step in steps)
    picks = tuple(step.pick for step in steps)
    return f"""(* {_title(claim)}, proved.
   In the repository of sparselin, after `make formal`:
   coqc -Q proofs_checks/formal sparselin THIS-FILE   checks the proof,
   python -m proofs_checks.formal.check --help        that its goal is about your data and all your picks.
   X is {X.shape[0]} x {X.shape[1]}, features are numbered from 0: X_kj = columns_jk / 2^{_exponent(X)}, \
y_k = entries_k / 2^{_exponent(y)}. *)
{literals(X, y)}
(* pick, D, fit, E, dir of each step *)
Definition steps : seq step_certificate := [::
{proofs}].

Theorem picks_are_right :
  {statement(X, y, claim, S, picks)}.
Proof. apply: (@{GOALS[claim][1]} _ _ _ _ _ _ _ _ steps); vm_cast_no_check (erefl true). Qed.
{PRINTS}"""


def statement(X: FloatArray, y: FloatArray, claim: str, forced: Indices, picks: Indices) -> str:
    """Return the goal of the file, on one line: the proposition that these picks are right for X and y."""
    n, d = X.shape
    e = _exponent(X)
    f = _exponent(y)
    return (
        f"{GOALS[claim][0]} (dyadic_matrix {n} {d} {e} columns) (dyadic_column {n} {f} entries) "
        f"{_naturals(forced)} {_naturals(picks)}"
    )


def read(text: str) -> tuple[str, list[Fraction], list[Fraction]]:
    """Read the goal, X (by columns) and y from the text of a file for Rocq, or from the output of Coq.

    Raises ValueError if the text has no such goal or literals.
    """
    name = "|".join(goal for goal, _ in GOALS.values())
    goal = re.search(
        rf"picks_are_right\s*:\s+((?:{name})\s+\(dyadic_matrix\s+\d+\s+\d+\s+(\d+)\s+columns\)\s+"
        r"\(dyadic_column\s+\d+\s+(\d+)\s+entries\)\s+\[::[^\]]*\]\s+\[::[^\]]*\])",
        text,
    )
    if goal is None:
        raise ValueError("the text must state picks_are_right about `columns` and `entries`, but it does not")
    columns, entries = _literal(text, "columns", int(goal[2])), _literal(text, "entries", int(goal[3]))
    return " ".join(goal[1].split()), columns, entries


def fractions(values: FloatArray) -> list[Fraction]:
    """Convert an array of floats to a list of fractions, row by row."""
    return [Fraction(value) for value in values.ravel().tolist()]


def write(filename: str | Path, text: str, X: FloatArray, y: FloatArray) -> None:
    """Write the file for Rocq, the text of `document`, and read X and y from it again.

    Raises RuntimeError if the numbers read are not those of X and y.
    """
    path = Path(filename)
    path.write_text(text, encoding="utf-8")
    if read(path.read_text(encoding="utf-8"))[1:] != (fractions(X.T), fractions(y)):
        raise RuntimeError(f"{path} was not written correctly: its literals are not those of X and y")


def _literal(text: str, name: str, exponent: int) -> list[Fraction]:
    """Read the integers of the definition `name` from a text, and return them divided by 2^exponent.

    The text may be a file for Rocq, or the output of Coq.
    """
    found = re.search(rf"\b{name}\s*(?::[^=\[]*)?=(.*?)(?:\n\s*:|\.\n)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"the text must define {name}, but it does not")
    return [Fraction(int(digits), 2**exponent) for digits in re.findall(r"-?\d+", found[1])]


def literals(X: FloatArray, y: FloatArray) -> str:
    """Return the definitions of X and y as lists of integers; their powers of two stand in the goal."""
    n, d = X.shape
    columns = _integers(X.T)[0]
    rows = ";\n".join(_sequence(columns[j * n : (j + 1) * n], "  ") for j in range(d))
    return f"""From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import certificate.

Definition columns : seq column := [::
{rows}]%BZ.

Definition entries : column :=
{_sequence(_integers(y)[0], "  ")}%BZ.
"""


def _exponent(values: FloatArray) -> int:
    return _integers(values)[1]


def _integers(values: FloatArray) -> tuple[list[int], int]:
    """Return 2ᵉ·values as integers, and e, for the least e ≥ 0 for which they are integers."""
    numerators, denominator = over_common_denominator(Fraction(v) for v in np.ravel(values).tolist())
    return numerators, denominator.bit_length() - 1


def _step(step: StepCertificate, d: int, power: int) -> str:
    """Write one step as a term of Rocq, with coefficients and direction as integers over common denominators.

    d : the number of features.
    power : coefficients are multiplied by 2^power, because X and y are multiplied by powers of two in the
        file.
    """
    unit = Fraction(2) ** power
    coef, direction = [Fraction(0)] * d, [Fraction(0)] * d
    for j, value, rate in zip(step.selected, step.coef, step.rate, strict=True):
        coef[j], direction[j] = value * unit, rate * unit
    for j, sign, value in zip(step.tied, step.signs, step.direction, strict=True):
        direction[j] = sign * value * unit
    (fit, D), (moved, E) = over_common_denominator(coef), over_common_denominator(direction)
    return (
        f"  Step {step.pick} {_hexadecimal(D)}\n{_sequence(map(_hexadecimal, fit), '    ')}%BZ\n"
        f"    {_hexadecimal(E)}\n{_sequence(map(_hexadecimal, moved), '    ')}%BZ"
    )


def _hexadecimal(value: int) -> str:
    """Write an integer in hexadecimal, in the form that Coq reads.

    Decimals are not used, because Python refuses to write decimals of many thousand digits.
    """
    return f"{value:#x}" if value >= 0 else f"(-{-value:#x})"


def _sequence(values: Iterable[int | str], indent: str) -> str:
    """Write a sequence as [:: a; b; …], in lines of at most 110 characters if the numbers allow it."""
    lines = []
    line = indent + "[::"
    for place, value in enumerate(values):
        word = ("; " if place else " ") + str(value)
        if len(line) + len(word) > _WIDTH:
            lines.append(line + word[0])
            line = indent + "   "
            word = word[1:] if place else word
        line += word
    return "\n".join([*lines, line + "]"])


def _naturals(values: Indices) -> str:
    return f"[:: {'; '.join(map(str, values))}]" if values else "[::]"


def _title(claim: str) -> str:
    both = "picks of Orthogonal Matching Pursuit, and of Sequential LASSO"
    return both if claim == "sequential_lasso" else "picks of Orthogonal Matching Pursuit"
