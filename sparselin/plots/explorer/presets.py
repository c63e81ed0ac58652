"""The presets of the explorer: designs with an explanation and a question."""

from __future__ import annotations

from typing import NamedTuple

from sparselin.plots.explorer.state import State, of_address, to_address


class Preset(NamedTuple):
    """A state with a title, an explanation (`story`) of the picture, a question, and its answer."""

    title: str
    state: State
    story: str
    ask: str
    answer: str


def _preset(title: str, address: str, story: str, ask: str, answer: str) -> Preset:
    """Return a preset from the address of its state."""
    return Preset(title, of_address(address), story, ask, answer)


PRESETS = {
    "plane": _preset(
        "Three columns in the plane",
        "X=0.94,0.34;0.26,0.97;-0.64,0.77&y=1,0.75&lam=0.36",
        "u is the projection of y onto the polytope of all u with |⟨X_j, u⟩| ≤ λ. It lies on the edges of "
        "features 0 and 1, so these have β_j ≠ 0, and y − u = β₀X₀ + β₁X₁.",
        "Slide λ up to λ*. Which edge does u leave last? Then drag y until another feature is picked first.",
        "u leaves the edge of feature 0 last: y lies on it at λ*, and for larger λ, u = y. Feature 1 is "
        "picked first where |⟨X₁, y⟩| is the largest.",
    ),
    "lengths": _preset(
        "A longer column",
        "X=0.94,0.34;0.39,1.45;-0.64,0.77&y=1,0.5&lam=0.6",
        "OMP and the LASSO compare |⟨X_j, y⟩|, so a long column comes first. Forward regression divides this "
        "by ‖X_j‖.",
        "Shorten column 1. Which edges move, and when does OMP change its first pick?",
        "The two edges of column 1 move outwards, because their distance from 0 is λ/‖X₁‖. As soon as "
        "|⟨X₁, y⟩| is below ⟨X₀, y⟩ = 1.11, OMP picks 0 first, like forward regression.",
    ),
    "trap": _preset(
        "The trap for greedy selection",
        "X=0.5,0.87,0;0.5,-0.87,0;0.64,0,0.77&y=1,0,0&lam=0.3",
        "y = X₀ + X₁ is at 60° from both columns. Column 2 is at 50°, so every greedy method picks it first. "
        "After two picks a residual is left, but the best two columns leave none.",
        "The second pick is a tie. Put 2 into S. Which features are in T, and which in A(S)?",
        "Features 0 and 1 are in both sets: P_S^⊥y is as near to X₀ as to X₁, and just below λ* both are "
        "active.",
    ),
    "lemma-3-4": _preset(
        "The counterexample to Lemma 3.4",
        "X=1,0;0.6,0.8&y=1,0.8&lam=0.32&S=0",
        "Lemma 3.4 of Sequential Attention for Feature Selection says that P_S^⊥y − u is in colspan(X_T). "
        "Here S = {0}, T = {1}, and P_S^⊥y − u points along (0, 1), like P_S^⊥X₁ but unlike X₁. Theorem 3.3 "
        "still holds: the pick is 1.",
        "Turn column 1 until it is orthogonal to column 0. Then the lemma holds as printed. Why?",
        "Then P_S^⊥X₁ = X₁. Inside the window, P_S^⊥y − u is always in colspan(P_S^⊥X_T).",
    ),
    "strict": _preset(
        "A(S) smaller than T",
        "X=1,0.3;1,1;1,2&y=1,0&lam=0.5",
        "All three columns are tied at λ*, but the LASSO activates only feature 0. As λ decreases, the "
        "correlations of the other features fall faster than λ.",
        "By its rule for ties, OMP may pick any feature of T. Drag y up, then down. Which feature is picked "
        "first?",
        "If y moves up, feature 2 is first, because its correlation grows the fastest; if y moves down, "
        "feature 0 is first. Only at this y are all three tied.",
    ),
    "copies": _preset(
        "Copies and opposites",
        "X=1,0.25;1,0.25;-1,-0.25;-0.25,1&y=1.5,0.75&lam=0.75",
        "Columns 0 and 1 are equal, and column 2 is their opposite. So they share their edges, and T and "
        "A(S) have all three. β is not unique, but u is.",
        "Drag one copy away from the other, and let it snap back. What happens to T and A(S)?",
        "If its ⟨X_j, y⟩ becomes larger, it is alone in T; if it becomes smaller, it is not in T. Equal "
        "columns are tied for every y. Any division of β between them is a solution, and one of them is "
        "shown.",
    ),
    "selected": _preset(
        "One feature selected: the slice",
        "X=0.94,0.34;0.26,0.97;-0.64,0.77&y=1,0.75&lam=0.17&S=0",
        "Feature 0 is no longer penalised. So the path begins at P_S^⊥y and stays on the line X₀ᵀu = 0. "
        "Feature 2 comes next.",
        "Clear S. Which features does the LASSO path take, and in which order? Which features does OMP take?",
        "The path takes 0 and then 1; OMP takes 0 and then 2. After the fit of feature 0 without a penalty, "
        "the residual is more correlated with feature 2.",
    ),
    "flow": _preset(
        "Gradient flow without weight decay",
        "X=-0.1,1.2;0.2,0.5&y=0.9,0.8&lam=0.25",
        "Tick “gradient flow”. Gradient flow on w∘θ keeps β constant, and jumps when an accumulated "
        "correlation reaches ±1. Here feature 0 enters, then 1 takes its place, and then 0 returns with the "
        "other sign. The average of the flow until τ = 1/λ is not on the path of the LASSO for all λ.",
        "Slide λ down from λ*. When does the average leave the path of u, and when is it back on the path?",
        "It leaves at the second event, λ = 0.39: feature 0 leaves the flow, but not yet the average. It is "
        "back at λ = 0.097, after the third event, when the sign of β̄₀ changes.",
    ),
    "space": _preset(
        "Three observations",
        "X=1,0.1,0.2;0.2,1,-0.3;0.3,0.2,1&y=1,0.7,0.2&lam=0.85",
        "The polytope is a skewed box. u lies on a face while one feature is active, then on an edge, and "
        "then in a corner.",
        "Turn the box, and slide λ down. Where are the knots of the path, and what happens there?",
        "The knots are at λ* = 1.11, 0.76 and 0.29. There u reaches the faces of the features 0, 1 and 2, "
        "which stay active from then on.",
    ),
    "slice": _preset(
        "Three observations, one selected",
        "X=1,0.1,0.2;0.2,1,-0.3;0.3,0.2,1&y=1,0.7,0.2&lam=0.293&S=0",
        "The vectors orthogonal to X₀ form a plane. It cuts the box in a polygon, and u is the projection of "
        "y onto this polygon.",
        "Put feature 1 into S as well. What is left of the polygon?",
        "A segment is left, because the vectors orthogonal to X₀ and X₁ form a line.",
    ),
}


def state_of(query: str) -> State:
    """Return the state of an address, or of its part after "?".

    This part is "preset=NAME" or only NAME for a preset, empty for the first preset, or the text of a state.
    """
    query = query.rpartition("?")[2]
    if "=" in query and not query.startswith("preset="):
        return of_address(query)
    name = query.removeprefix("preset=") or next(iter(PRESETS))
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name[:40]!r}")
    return PRESETS[name].state


def address(state: State) -> str:
    """Return the shortest address of a state that `state_of` reads."""
    names = [name for name, preset in PRESETS.items() if preset.state == state]
    return f"preset={names[0]}" if names else to_address(state)
