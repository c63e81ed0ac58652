"""The result of verifying a theorem on one design."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Result, result
from sparselin.results.display import Column, Table
from sparselin.results.paths import SelectionPath


@result
class TheoremCheck(Result):
    """The check of Theorem 3.3 on one design: OMP, Sequential LASSO and linear Sequential Attention compared.

    Entry t of `verdicts` and of the arrays describes step t + 1, at which S is the set of the first t picks
    of `path`. λ*(S) is the penalty below which features enter the LASSO that does not penalise S. T is the
    set of features that tie at this step, and A(S) the features that enter first. There is an entry for each
    pick. If the path ended although λ*(S) > 0, there is one more entry, whose verdict is "violates".

    Attributes
    ----------
    path : the path of Sequential LASSO.
    verdicts : for each step "agrees" (every check is certified), "violates" (a check is refuted) or
        "undecided" (a certificate was not attained, which never counts as agreement).
    reasons : for each step the pairs (check, reason) of the checks that do not agree.
    supports, supports_reason : the verdict on the supports of OMP and Sequential LASSO, which must be equal
        up to the first tie; and, if they are not equal, the reason.
    lam_star : (m,) λ*(S).
    n_tied, n_active : (m,) |T| and |A(S)|.
    window : (m,) λ₂/λ*. For λ in (λ₂, λ*) the support outside S is A(S).
    proof : (m,) λ₀/λ*, where λ₀ ≥ λ₂ is the lower end of the shorter interval that the printed proof gives.
    audited : whether an interior point method also solved the steps.

    `to_frame()` has a row for each step: feature, name, λ*, |T|, |A(S)|, λ₂/λ*, verdict, why.
    """

    path: SelectionPath
    verdicts: tuple[str, ...]
    reasons: tuple[tuple[tuple[str, str], ...], ...]
    supports: str
    supports_reason: str
    lam_star: FloatArray
    n_tied: IndexArray
    n_active: IndexArray
    window: FloatArray
    proof: FloatArray
    audited: bool

    @property
    def verdict(self) -> str:
        """The worst verdict on any step or on the supports: "violates", else "undecided", else "agrees"."""
        every = {self.supports, *self.verdicts}
        return next(worst for worst in ("violates", "undecided", "agrees") if worst in every)

    @property
    def agrees(self) -> bool:
        """True if the checks of every step are certified and the supports are equal."""
        return self.verdict == "agrees"

    def _headline(self) -> str:
        words = {"agrees": "agree", "violates": "violate", "undecided": "undecided"}
        found = self.verdicts
        counts = [f"{found.count(v)} {word}" for v, word in words.items() if v in ("agrees", *found)]
        wrong = "" if self.supports == "agrees" else f", the supports: {self.supports}"
        return f"{len(self.verdicts)} steps, {', '.join(counts)}{wrong}"

    def _table(self) -> Table:
        m = len(self.verdicts)
        features: list[Any] = [int(j) for j in self.path.support[:m]]
        names = [self.path.name_of(j) for j in features]
        lacking = m - len(features)
        why = [[f"{check}: {reason}" for check, reason in found] for found in self.reasons]
        columns = (
            Column("step", "step", np.arange(1, m + 1)),
            Column("feature", None, np.array([*features, *[-1] * lacking], np.intp)),
            Column("name", "feature", [*names, *["–"] * lacking]),
            Column("lam_star", "λ*", self.lam_star),
            Column("n_tied", "|T|", self.n_tied),
            Column("n_active", "|A(S)|", self.n_active),
            Column("window", "λ₂/λ*", self.window, 3),
            Column("verdict", "verdict", list(self.verdicts)),
            Column("why", None, list(map("; ".join, why))),
        )
        notes = [f"Sequential LASSO: {self.path.status.name}, {self.path.status.message}"]
        notes += [f"step {step}, {reason}" for step, found in enumerate(why, 1) for reason in found]
        if self.supports_reason:
            notes.append(f"supports: {self.supports}: {self.supports_reason}")
        return Table(columns, tuple(notes))
