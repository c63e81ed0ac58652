"""The collection of the claims of a folder, and the decision of many claims in parallel processes."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sparselin.ensembles import carried
from sparselin.ledger.check import Outcome, decide
from sparselin.ledger.statement import PAPERS, Claim
from sparselin.parallel.processes import Lost, try_jobs

# the claims by their id in lower case, which is also the anchor of the claim
CLAIMS: dict[str, Claim] = {}


def register(made: Claim) -> Claim:
    """Add a claim (the attribute `claim` of a test), so that `collect` returns it for every folder.

    Raises ValueError if its id is taken.

    >>> from sparselin.ledger import OPEN, claim
    >>> @claim("ours-even", "an example", "exact", OPEN)
    ... def test_even(check):
    ...     "2n is even.\\n\\nHypotheses: integer n"
    ...     check.over(range(9), lambda n: 2 * n % 2 == 0)
    >>> register(test_even.claim) is CLAIMS.pop("ours-even")
    True
    """
    name = made.id.lower()
    if name in CLAIMS:
        raise ValueError(f"there is a claim {name!r} already; choose another name")
    CLAIMS[name] = made
    return made


def collect(folder: Path, paper: str | None = None, pattern: str | None = None) -> list[Claim]:
    """Return the registered claims, and those of the files `test_*.py` in a folder, by paper and by id.

    folder : a package with checks.
    paper : keep only the claims of this paper.
    pattern : keep only the ids that begin with this text, in upper or lower case.

    Raises FileNotFoundError if the folder has no checks, and ValueError if two claims have one id or a file
    cannot be imported.
    """
    files = sorted(Path(folder).resolve().glob("test_*.py"))
    if not files:
        raise FileNotFoundError(f"no test_*.py in {folder}. Run in the repository, or name its proofs_checks")
    root = str(files[0].parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    modules = [_import(f"{file.parent.name}.{file.stem}") for file in files]
    claims = dict(CLAIMS)
    for module in modules:
        for value in vars(module).values():
            for made in _claims_of(value):
                if made.function.__module__ == module.__name__:
                    other = claims.setdefault(made.id.lower(), made)
                    if other is not made:
                        raise ValueError(f"{made.id} is claimed by {other.test} and by {made.test}")
    start = (pattern or "").lower()
    chosen = [made for key, made in claims.items() if key.startswith(start) and paper in (None, made.paper)]
    return sorted(chosen, key=lambda made: order(made.paper, made.id))


def _claims_of(value: Any) -> tuple[Claim, ...]:
    """Return the claims of a test; () for anything else, such as a module with a member `claims`."""
    made = getattr(value, "claims", ())
    return made if isinstance(made, tuple) and all(isinstance(claim, Claim) for claim in made) else ()


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def order(paper: str, id: str) -> tuple[Any, ...]:
    """Return a sort key: the paper, and then the id with its numbers as numbers.

    >>> sorted(["SA-lemma-10", "SA-lemma-9"], key=lambda id: order("SA", id))
    ['SA-lemma-9', 'SA-lemma-10']
    """
    parts = re.split(r"(\d+)", id)
    natural = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part]
    return (list(PAPERS).index(paper), natural)


def decide_all(
    claims: Sequence[Claim],
    cases: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    ensembles: Sequence[str] = (),
) -> Iterator[tuple[Claim, Outcome]]:
    """Yield each claim with its outcome by `decide`, as soon as it is decided, from `jobs` processes.

    The longest claims start first. With one job the claims are decided in order. If the process of a claim
    is killed, the failure of its outcome says so, and the other claims are decided.

    >>> from sparselin.ledger import OPEN, claim
    >>> @claim("ours-even", "an example", "exact", OPEN)
    ... def test_even(check):
    ...     "2n is even.\\n\\nHypotheses: integer n"
    ...     check.over(range(9), lambda n: 2 * n % 2 == 0)
    >>> [(made.id, outcome.cases, outcome.failure) for made, outcome in decide_all([test_even.claim])]
    [('ours-even', 9, None)]
    """
    if jobs == 1:
        for made in claims:
            yield made, decide(made, cases, seed, ensembles=ensembles)
        return
    # The function of a claim is hidden behind its test, so it is passed by name. Longest first.
    settings = cases, seed, ensembles
    named = (
        (_decide_by_name, (place, made.function.__module__, made.function.__name__, made.id, *settings))
        for place, made in sorted(enumerate(claims), key=lambda item: -item[1].cases)
    )
    with contextlib.closing(try_jobs(named, jobs, carried())) as results:  # type: ignore[type-var]
        for found in results:
            if isinstance(found, Lost):
                yield (
                    claims[found.arguments[0]],
                    Outcome(cases=0, undecided=0, witnesses=(), found=(), failure=found.why),
                )
            else:
                yield claims[found[0]], found[1]


def _decide_by_name(
    place: int, module: str, name: str, id: str, cases: int | None, seed: int, ensembles: Sequence[str]
) -> tuple[int, Outcome]:
    made = {claim.id: claim for claim in getattr(importlib.import_module(module), name).claims}
    return place, decide(made[id], cases, seed, ensembles=ensembles)
