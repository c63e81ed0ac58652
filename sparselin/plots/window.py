"""Pictures of the first segment of the LASSO below λ*, on which Sequential LASSO picks its feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.entry import first_entry as entry_of
from sparselin.lasso.path import lasso_path as path_of
from sparselin.plots import style
from sparselin.plots.style import GREY, Axes, font_size, line_width
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, LassoPath, Names
from sparselin.validation import Columns

_MOST = 16  # at most this many tied columns have a colour
_OTHERS = 100  # at most this many columns outside T are drawn in grey, those with the largest |⟨X_j, r⟩|
_LINES = {"-": "solid: A(S)", ":": "dotted: T∖A(S)", "--": r"dashed: enters at $\lambda_2$"}
_SAMPLES = 120  # the number of λ's at which curves are drawn, besides the knots


@takes_problem
def window(X: Any, y: ArrayLike | None, *, forced: Columns = (), ax: Axes | None = None) -> Axes:
    """Draw the window (λ₂, λ*), in which the LASSO's support outside S is A(S); Sequential LASSO picks there.

    The left panel shows |⟨X_j, r(λ)⟩|, where r(λ) = y − Xβ(λ) and β(λ) minimises ½‖y − Xβ‖² + λ‖β_{S̄}‖₁. For
    j ∉ S it is at most λ, the black line. The columns of the tied set T reach this line at λ* = ‖XᵀP_S^⊥y‖∞,
    where P_S^⊥y is the residual of least squares on S. The columns in A(S) ⊆ T follow the line down, and the
    rest of T (dotted) stays at or below the line. At λ₂ the next columns (dashed) reach the line. The right
    panel shows the coefficients of these columns. At most 100 other columns are drawn in grey; the window is
    shaded.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    forced : the columns S without penalty, by index or name.
    ax : where to draw, with a second panel on its right; a new figure if None.

    Returns
    -------
    The left Axes. If λ* = 0, they show a sentence that says why.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`) or bad `forced`.

    >>> ax = window([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> ax.get_title(loc="left"), [label.get_text() for label in ax.get_xticklabels()]
    ('T = A(S) = {x0}', ['$\\\\lambda^*$ = 3', '$\\\\lambda_2$ = 1'])
    """
    problem = as_problem(X, y, operator=True)
    S = problem.indices(forced, "forced")
    entry = entry_of(problem, forced=S)
    ax = style.picture(ax, r"$\lambda$", r"$|\langle X_j, r(\lambda)\rangle|$", figsize=(9.6, 4.0))
    top, low = float(entry.lam_star), float(entry.window_lower)
    if not top > 0:
        return style.note(ax, f"No feature enters: {entry.status.message}.")
    width = top - low
    end = max(low - 0.5 * width, 0.0)
    begin = top + 0.25 * width
    path = path_of(problem, forced=S, lam_min=end)
    lam = np.unique([*np.linspace(end, begin, _SAMPLES), low, top, *path.knots[path.knots > end]])[::-1]
    right = style.panel(ax, r"$\lambda$", "coefficient", 1.0, shared=False)
    shown = _columns(entry, path, low)
    size = _correlations(problem, path, lam)
    beta = path.at(lam)
    others = np.setdiff1d(np.argsort(-size[:, 0], kind="stable")[:_OTHERS], [*shown, *path.forced])
    style.grey_lines(ax, lam, size[others])
    ax.plot(lam, lam, color="black", linewidth=line_width(1), label=r"$\lambda$")
    for i, (j, line) in enumerate(shown.items()):
        # each line has its marker at its own λ
        mark = np.argmin(np.abs(lam - low - width * (i + 1) / (len(shown) + 1)))
        options: dict[str, Any] = style.look(i) | {
            "linestyle": line,
            "markevery": [mark],
            "linewidth": line_width(1.8),
        }
        label = style.name(entry.names, j)
        ax.plot(lam, size[j], label=label, zorder=3 if line == "-" else 4, **options)
        right.plot(lam, beta[:, j], label=label, **options)
    ax.set_ylim(0, 1.12 * begin)
    ends = beta[:, list(shown)]
    style.limits_and_zero(right, float(ends.min(initial=0)), float(ends.max(initial=0)), 0.1)
    for half in (ax, right):
        half.axvspan(low, top, color=GREY, alpha=0.12, linewidth=line_width(0), label="_window")
        half.set_xlim(begin, end)
        half.set_xticks([top, low], [rf"$\lambda^*$ = {top:.4g}", rf"$\lambda_2$ = {low:.4g}"])
    style.name_line_ends(right, ends[-1])
    style.write_near(ax, r"$\lambda$", (begin, begin), (12, 3), va="bottom")
    given = f"S = {_some(problem.names, S.tolist())}, " if len(S) else ""
    ax.set_title(given + _sets(entry), loc="left", fontsize=font_size())
    words = [words for line, words in _LINES.items() if line in shown.values()]
    right.set_title(", ".join(words), loc="left", fontsize=font_size())
    return ax


def _columns(entry: FirstEntry, path: LassoPath, low: float) -> dict[int, str]:
    """Return feature ↦ line style for the features with a colour: A(S), the rest of T, entries at λ₂.

    T are the tied features, A(S) the active ones, and λ₂ is the lower end of the window.
    """
    T = [*entry.active, *(j for j in entry.tied if j not in entry.active)][:_MOST]
    knots = np.flatnonzero(np.isclose(path.knots, low, rtol=1e-9, atol=0)) if low > 0 else ()
    after = {j for i in knots for j in path.active[i]}
    lines = {j: "-" if j in entry.active else ":" for j in T}
    return lines | dict.fromkeys(sorted(after.difference(entry.tied)), "--")


def _correlations(problem: Problem, path: LassoPath, lam: FloatArray) -> FloatArray:
    """Return |⟨X_j, y − Xβ(λ)⟩|, (n_features, q), with the problem's standardization and intercept."""
    beta = path.at(lam)
    if problem.design.scale is not None:
        beta = np.divide(beta, problem.design.scale, out=np.zeros_like(beta), where=beta != 0)
    if problem.d > problem.n_features:
        beta = np.column_stack([beta, path.intercept_at(lam)])
    rest = np.column_stack([problem.y - problem.predict(coef) for coef in beta])
    return np.abs(problem.correlate(rest)[: problem.n_features])


def _some(names: Names, J: Sequence[int]) -> str:
    """Return the first three features of J as the text of a set."""
    return "{" + ", ".join([style.name(names, j) for j in J[:3]] + ["…"] * (len(J) > 3)) + "}"


def _sets(entry: FirstEntry) -> str:
    """Return the part of the title that states the tied set T and the active set A(S)."""
    T, A = (_some(entry.names, J) for J in (entry.tied, entry.active))
    return f"T = A(S) = {T}" if entry.tied == entry.active else f"T = {T}, A(S) = {A}"


def first_entry(entry: FirstEntry, *, ax: Axes | None = None) -> Axes:
    """Draw the coefficients of T on the first segment, sign·(λ* − λ)·v for λ in the window (λ₂, λ*).

    T are the tied features and v the direction of the entry. The coefficients of tied features outside A(S)
    stay zero. λ₀, at which the window ends by the proof of the paper, is marked if it differs from λ₂.
    `window` draws the same from the data, with all correlations.

    Parameters
    ----------
    entry : a `FirstEntry`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> ax = first_entry(sl.first_entry([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0]))
    >>> ax.lines[0].get_xydata().tolist()
    [[3.0, 0.0], [1.0, 2.0]]
    """
    style.check_result(entry, "entry", FirstEntry)
    ax = style.picture(ax, r"$\lambda$", "coefficient")
    lam, low = float(entry.lam_star), float(entry.window_lower)
    if not lam > 0:
        return style.note(ax, f"No feature enters: {entry.status.message}.")
    ends = (lam - low) * entry.signs.astype(float) * entry.direction.astype(float)
    order = np.argsort(-ends, kind="stable")
    order = np.sort(np.concatenate([order[:8], order[8:][-8:]])) if len(order) > 16 else order
    for i, t in enumerate(order.tolist()):
        line = style.look(i) | ({} if ends[t] else {"linestyle": ":"})
        ax.plot(
            [lam, low],
            [0, ends[t]],
            linewidth=line_width(1.8),
            label=style.name(entry.names, entry.tied[t]),
            **line,
        )
    style.limits_and_zero(ax, ends.min(initial=0), ends.max(initial=0), 0.12)
    ax.set_xlim(lam + 0.12 * (lam - low), low)
    style.name_line_ends(ax, ends[order])
    place = ax.get_xaxis_transform()
    above: dict[str, Any] = {"transform": place, "ha": "center", "va": "bottom", "fontsize": font_size()}
    for where, text, dashes in ((lam, r"$\lambda^*$", ":"), (low, r"$\lambda_2$", "-")):
        ax.axvline(where, color=GREY, linewidth=line_width(0.9), linestyle=dashes)
        ax.text(where, 1.02, f"{text} = {where:.4g}", **above)
    if entry.proof_lower > low + 0.02 * (lam - low):
        ax.axvline(entry.proof_lower, color=GREY, linewidth=line_width(0.9), linestyle="--")
        style.write_near(ax, r"$\lambda_0$", (entry.proof_lower, 0), (4, 6), xycoords=place)
    return ax
