"""The ledger on paper: rows as JSON, as LEDGER.md, and as a table for a terminal."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.table import Table
from rich.text import Text

import sparselin
from sparselin.ledger import PAPERS, Claim, Outcome, Verdict, order

# shown at the head of the ledger
CENTRAL = (
    "SA-theorem-1.1",
    "SA-theorem-3.3",
    "SA-theorem-3.3-any-choice",
    "SA-theorem-3.3-certified",
    "SA-theorem-3.3-floats",
    "SA-theorem-3.3-unit-columns",
    "ours-glm-omp",
)
# what the letters of each paper's rows stand for
NOTATION = {
    "SA": """\
C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, with faces F_{λ,i,±} = {u : ±⟨X_i, u⟩ = λ}. p or u: the dual point, the projection
of P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥. A(S): the features that are nonzero in some LASSO solution just below
λ*. (λ₂, λ*): the window in which they stay so. λ₀ = (1 − ε₀)λ*: the bound of the paper's proof. On T, β =
s∘(εv) at λ = λ* − ε, s the signs of the correlations. β_S* = X_S⁺y. m: the number of unselected features.
In λ_min, C = XᵀX. Equation (4) has ½ before the square and (5), (6), (7) have not.""",
    "SR": """\
C_S: the correlation (Gram) matrix of unit columns, λ_i its eigenvalues. R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖². g =
R² + νf with f one of f_ld (log-determinant), f_de (smoothed differential entropy, δ), f_gr (generalized
rank, α), f_sv (spectral variance). FR: greedy forward regression. LS: local search. GLS: FR and LS on its
set, then the same on the features left, the best of the four sets; S₁, S₂ are those of FR, S₁′, S₂′ those
of LS. OPT: the best value over |S| ≤ k. γ_{U,k}(f): the submodularity ratio (Definition 2).""",
    "LN": """\
θ_j: the linear (skip) weight of feature j, W_j its first-layer weights. In the proximal problem v (or
θ_j) and U (or W_j) are given, b and W sought; λ is the penalty, M the hierarchy coefficient, λ̄ an ℓ₁
penalty on W, S_λ̄ soft-thresholding. |U_(1)| ≥ |U_(2)| ≥ … are the sorted sizes, a_s = λ − M
Σ_{i≤s}(|U_(i)| − λ̄) and b_s = (1 − a_s/‖v‖)₊ v/(1 + sM²).""",
    "ours": """\
As above for the paper that a row refers to. For a generalized linear model L(Xβ) = Σℓ_i(⟨x_i, β⟩), F_λ(β)
= L(Xβ) + λ‖β_S̄‖₁ and u_S is the gradient of L at a minimiser on S. For windows, u* = Zv, ρ_j is how far
below λ* the bound of column j is met, and μ = 1 − max|c_j|/λ* over the columns outside T.""",
}
MARKDOWN, JSON = "LEDGER.md", "ledger.json"
# the fields of a claim that must be equal in the code and in the stored ledger, else that is out of date
STATED = (
    "id",
    "paper",
    "number",
    "statement",
    "hypotheses",
    "method",
    "verdict",
    "correction",
    "consequences",
    "unchecked",
    "tolerance",
    "formal",
    "reading_of",
    "test",
)
FOUND = ("cases", "undecided", "witnesses", "found")


def stated(made: Claim) -> dict[str, str]:
    """The fields of `STATED`."""
    return {name: made.verdict.value if name == "verdict" else getattr(made, name) for name in STATED}


def document(
    results: Sequence[tuple[Claim, Outcome]],
    seed: int,
    date: datetime.date,
    others: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The ledger as plain data: a row a result, and stored rows of other claims; by paper, then by id."""
    rows = [
        stated(made)
        | {name: _plain(getattr(outcome, name)) for name in FOUND}
        | {"seed": seed, "date": date.isoformat()}
        for made, outcome in results
    ]
    rows = sorted([*rows, *(dict(row) for row in others)], key=lambda row: order(row["paper"], row["id"]))
    return {"sparselin": sparselin.__version__, "rows": rows}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def markdown(ledger: Mapping[str, Any]) -> str:
    """LEDGER.md."""
    environment = Environment(
        loader=PackageLoader("sparselin.reports", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "text": _text,
        "cell": lambda words: _text(words).replace("|", "\\|"),
        "anchor": _anchor,
    }
    rows = ledger["rows"]
    dates, seeds = (sorted({str(row[name]) for row in rows}) for name in ("date", "seed"))
    papers = {key: [row for row in rows if row["paper"] == key] for key in PAPERS}
    verdicts = occurring(rows)
    counts = {
        key: [sum(row["verdict"] == verdict for row in papers[key]) for verdict in verdicts] for key in PAPERS
    }
    return environment.get_template("ledger.md.j2").render(
        ledger=ledger,
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "",
        seeds=", ".join(seeds),
        titles=PAPERS,
        notation=NOTATION,
        central=CENTRAL,
        papers=papers,
        counts=counts,
        verdicts=verdicts,
        errata=[row for row in rows if row["witnesses"]],
    )


def occurring(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The verdicts of rows, in the order of `Verdict`.

    >>> occurring([{"verdict": "open"}, {"verdict": "holds"}, {"verdict": "open"}])
    ['holds', 'open']
    """
    found = {row["verdict"] for row in rows}
    return [verdict.value for verdict in Verdict if verdict.value in found]


def _text(words: str) -> str:
    """A text with its asterisks, underscores and brackets escaped."""
    return re.sub(r"([*_<\\])", r"\\\1", words)


def _anchor(row: Mapping[str, Any]) -> str:
    """Where a heading with the row's id can be linked to."""
    return str(row["id"]).lower().replace(".", "")


def write(folder: Path, ledger: Mapping[str, Any]) -> None:
    """`ledger.json` and `LEDGER.md`."""
    text = json.dumps(ledger, indent=1, ensure_ascii=False) + "\n"
    (folder / JSON).write_text(text, encoding="utf-8")
    (folder / MARKDOWN).write_text(markdown(ledger), encoding="utf-8")


def read(folder: Path) -> dict[str, Any] | None:
    """The stored ledger, None where there is none. Raises ValueError where it is not one."""
    try:
        ledger = json.loads((folder / JSON).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if not (isinstance(ledger, dict) and isinstance(ledger.get("rows"), list)):
        raise ValueError(f"{folder / JSON} holds no ledger")
    return ledger


def changes(claims: Sequence[Claim], ledger: Mapping[str, Any], whole: bool) -> list[str]:
    """Where claims and the stored ledger differ, a sentence each; `whole` if the claims are all there are."""
    stored = {row["id"]: row for row in ledger["rows"]}
    found = []
    for made in claims:
        row = stored.pop(made.id, None)
        if row is None:
            found.append(f"{made.id} is not in the stored ledger")
            continue
        differing = [name for name, value in stated(made).items() if row[name] != value]
        found += [f"{made.id}: the stored {name} is {row[name]!r}" for name in differing]
    return found + ([f"{id} is in the stored ledger alone" for id in stored] if whole else [])


def table(results: Sequence[tuple[Claim, Outcome]]) -> Table:
    """A row a claim, the failed ones red, with the reason below."""
    view = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("id", "statement", "cases", "verdict"):
        view.add_column(heading, justify="right" if heading == "cases" else "left", overflow="fold")
    for made, outcome in results:
        count = f"{outcome.cases}" + (f" + {outcome.undecided} undecided" if outcome.undecided else "")
        verdict = f"FAILED, not '{made.verdict.value}'" if outcome.failure else made.verdict.value
        # Text: brackets in a statement are no markup
        style = "bold red" if outcome.failure else None
        view.add_row(made.id, Text(made.statement), count, verdict, style=style)
        if outcome.failure:
            view.add_row("", Text(outcome.failure), "", "", style="red")
    return view
