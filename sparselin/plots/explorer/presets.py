"""The presets of the explorer: designs with a story and a question."""

from __future__ import annotations

from typing import NamedTuple

from sparselin.plots.explorer.state import State, of_address, to_address


class Preset(NamedTuple):
    """A state with a title, a story about the picture, a question, and its answer."""

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
        "u is the projection of y onto the polytope of all u with |⟨X_j, u⟩| ≤ λ. It is on the edges of"
        " features 0 and 1: these have β_j ≠ 0, and y − u = β₀X₀ + β₁X₁.",
        "Slide λ up to λ*: which edge does u leave last? Then drag y until another feature is picked first.",
        "That of feature 0: at λ* it has y on it, and from there on u = y. Feature 1 is first where "
        "|⟨X₁, y⟩| is the largest.",
    ),
    "lengths": _preset(
        "A longer column",
        "X=0.94,0.34;0.39,1.45;-0.64,0.77&y=1,0.5&lam=0.6",
        "OMP and the LASSO compare |⟨X_j, y⟩|, so that a long column comes first; forward regression "
        "divides by ‖X_j‖.",
        "Shorten column 1: which edges move, and when does OMP change its first pick?",
        "Its own, outwards: they are at the distance λ/‖X₁‖ from 0. Once |⟨X₁, y⟩| is below ⟨X₀, y⟩ = "
        "1.11, OMP takes 0 first, as forward regression does.",
    ),
    "trap": _preset(
        "The trap for greedy selection",
        "X=0.5,0.87,0;0.5,-0.87,0;0.64,0,0.77&y=1,0,0&lam=0.3",
        "y = X₀ + X₁, at 60° from both; column 2 is at 50°, and every greedy method takes it first. Two"
        " picks leave a residual where the best two leave none.",
        "The second pick is a tie. Put 2 into S: which features are in T, and which in A(S)?",
        "Features 0 and 1, in both sets: P_S^⊥y is as near to X₀ as to X₁, and just below λ* both are "
        "active.",
    ),
    "lemma-3-4": _preset(
        "The counterexample to Lemma 3.4",
        "X=1,0;0.6,0.8&y=1,0.8&lam=0.32&S=0",
        "Lemma 3.4 of Sequential Attention for Feature Selection has P_S^⊥y − u in colspan(X_T). Here S"
        " = {0}, T = {1}, and it points along (0, 1), as P_S^⊥X₁ does, not along X₁. Theorem 3.3 holds "
        "all the same: the pick is 1.",
        "Turn column 1 until it is orthogonal to column 0: then the lemma holds as printed. Why?",
        "Then P_S^⊥X₁ = X₁. Inside the window, P_S^⊥y − u is always in colspan(P_S^⊥X_T).",
    ),
    "strict": _preset(
        "A(S) smaller than T",
        "X=1,0.3;1,1;1,2&y=1,0&lam=0.5",
        "All three columns are tied at λ*, but the LASSO activates only 0: on the way down the "
        "correlations of the others fall faster than λ.",
        "OMP may pick any of T by its rule of ties. Drag y up, then down: who is first?",
        "Up 2, whose correlation grows the fastest, down 0: only here are all three tied.",
    ),
    "copies": _preset(
        "Copies and opposites",
        "X=1,0.25;1,0.25;-1,-0.25;-0.25,1&y=1.5,0.75&lam=0.75",
        "Columns 0 and 1 are equal and 2 is their opposite: they share their edges, T and A(S) have all"
        " three, and β is not unique, while u is.",
        "Drag one copy away from the other, and let it snap back. What becomes of T and A(S)?",
        "With a larger ⟨X_j, y⟩ it is alone in T, with a smaller one it is not in it. Equal columns are"
        " tied for every y, and any division of β between them is a solution: one is shown.",
    ),
    "selected": _preset(
        "One feature selected: the slice",
        "X=0.94,0.34;0.26,0.97;-0.64,0.77&y=1,0.75&lam=0.17&S=0",
        "Feature 0 has no penalty any more: the path begins in P_S^⊥y and stays on the line X₀ᵀu = 0. "
        "Feature 2 comes next.",
        "Clear S: which features does the LASSO path take, in which order, and which does OMP?",
        "The path takes 0, then 1, and OMP 0, then 2: what is left of y once 0 is fitted without "
        "penalty is more correlated with 2.",
    ),
    "space": _preset(
        "Three observations",
        "X=1,0.1,0.2;0.2,1,-0.3;0.3,0.2,1&y=1,0.7,0.2&lam=0.85",
        "Faces of a skewed box: u is on a face while one feature is active, then on an edge, then in a "
        "corner.",
        "Turn the box, and slide λ down. Where are the knots of the path, and what happens there?",
        "At λ* = 1.11, 0.76 and 0.29: there u reaches the faces of 0, of 1 and of 2, which stay active "
        "from then on.",
    ),
    "slice": _preset(
        "Three observations, one selected",
        "X=1,0.1,0.2;0.2,1,-0.3;0.3,0.2,1&y=1,0.7,0.2&lam=0.293&S=0",
        "What is orthogonal to X₀ is a plane; it cuts the box in a polygon, and u is the projection "
        "onto that.",
        "Put 1 into S, too: what is left of the polygon?",
        "A segment: what is orthogonal to X₀ and X₁ is a line.",
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
