"""The numbers and words of one picture of the explorer."""

import itertools
from typing import Any

import numpy as np

from sparselin.attention.sequential import sequential_attention
from sparselin.greedy.ols import ols
from sparselin.greedy.omp import omp
from sparselin.guarantees.perturbation.condition import condition
from sparselin.lasso.flow import gradient_flow
from sparselin.lasso.sequential import sequential_lasso
from sparselin.plots.explorer.presets import PRESETS, address
from sparselin.plots.explorer.state import MOST, State
from sparselin.plots.geometry.labels import braces
from sparselin.plots.geometry.polytope import PolytopeFace, faces, is_bounded, outline
from sparselin.plots.geometry.scene import Scene, chain_of, extent, outlines, scene, tied_faces
from sparselin.results import FloatArray, SelectionPath, Status

Frame = dict[str, Any]  # the values are types of JSON
METHODS = {
    "OMP": omp,
    "Forward regression": ols,
    "Sequential LASSO": sequential_lasso,
    "Sequential Attention": sequential_attention,
}
_NOTHING = {
    Status.EXACT_FIT: "P_S^⊥y is zero",
    Status.NO_CORRELATION: "no column is correlated with P_S^⊥y",
    Status.RANK_EXHAUSTED: "every column is in the span of S",
}
# The methods whose picks a page can request. During a drag, most requests want no picks, and some want the
# picks of all methods except the trained one.
WANTED = {"all": tuple(METHODS), "untrained": tuple(METHODS)[:3], "none": ()}


def frame(state: State, wanted: str = "all") -> Frame:
    """Return the numbers and words of the picture of a state.

    wanted : "all", "untrained" or "none": the methods whose picks are computed. Other methods have the entry
        None.

    Raises ValueError if no picture can be drawn, because columns are too close to each other or too long.
    """
    if wanted not in list(WANTED):
        raise ValueError(f"picks must be one of {', '.join(WANTED)}; got {str(wanted)[:40]!r}")
    view = scene(state.X, state.y, state.S, state.lam)
    entry = view.entry
    levels = [entry.lam_star] if entry.lam_star > 0 else []
    half = max(extent(view, levels)[0], 1.08 * float(np.abs(view.X).max()))  # all handles must be visible
    far = 3 * half
    plane = len(view.y) == 2
    sides = faces(view.X, view.lam, far, touching=plane)
    chain, J = chain_of(view)
    correlations = view.X.T @ view.r
    return {
        "columns": view.X.T.tolist(), "y": view.y.tolist(), "lam": view.lam, "S": list(view.S),
        "half": half, "bounded": is_bounded(view.X),
        "lamStar": entry.lam_star, "window": entry.window_lower,
        "T": list(entry.tied), "A": list(entry.active), "correlations": correlations.tolist(),
        "r": view.r.tolist(), "u": view.u.tolist(), "beta": view.coef.tolist(),
        "knots": view.path.knots.tolist(), "betas": view.path.coef.tolist(), "path": view.points.tolist(),
        "faces": [side._asdict() | {"corners": side.corners.tolist(), "strong": view.holds(side)}
                  for side in sides],
        "polygon": outline(view.X, view.lam, far).tolist() if plane else [],
        "star": [corners.tolist() for lam in levels for corners in outlines(view.X, lam, far)],
        "tied": [{"feature": j, "corners": piece.tolist(), "active": j in entry.active}
                 for j, piece, _ in (tied_faces(view, far, 0.22 * half) if levels else [])],
        "slice": outline(view.X, view.lam, far, view.slice).tolist() if view.S else [],
        "chain": chain.tolist(), "chainFeatures": J,
        "regions": _regions(sides, 3 * far) if plane and not view.S else [],
        "flow": _flow(view), "cone": _cone(view, 3 * far),
        "picks": {name: _picks(state, method) if name in WANTED[wanted] else None
                  for name, method in METHODS.items()},
        "words": _words(view), "code": _code(state), "address": address(state),
        "preset": _preset(state), "full": len(state.columns) == MOST,
    }  # fmt: skip


def _preset(state: State) -> Frame:
    """Return the name and the texts of the preset with this state; {} if there is none."""
    name = address(state).removeprefix("preset=")
    preset = PRESETS.get(name)
    if preset is None:
        return {}
    return {"name": name} | {key: value for key, value in preset._asdict().items() if key != "state"}


def _flow(view: Scene) -> Frame:
    """Describe the flow without weight decay: its residuals y − Xβ, and those of its average at λ = 1/τ.

    "jumps" are the residuals before and after each event, and "means" the corners of the path of the average.
    "solves" says for each piece of this path whether the average is a LASSO solution there. The residual of
    the average is linear in λ between events, and that of the LASSO is linear between knots. So between
    neighbours among all these levels, both agree everywhere or in at most one point, and the middle decides.
    """
    path = gradient_flow(view.X, view.y, forced=view.S)
    if path.status is not Status.COMPLETED:
        return {"words": "The flow is not drawn, because rounding leaves one of its events undecided."}
    lam = view.lam
    levels = np.unique([0.0, *view.path.knots, *(1 / path.tau)])[::-1].tolist()
    ends = path.at([0.0, *path.tau])
    means = np.array([*(path.average(1 / level).coef for level in levels[:-1]), ends[-1]])
    mean = path.average(1 / lam)
    sets = [set[int](), *map(set, path.supports)]
    count = int(np.searchsorted(path.tau, 1 / lam, side="right"))
    times = {0: "does not jump", 1: "jumps once", 2: "jumps twice"}.get(count, f"jumps {count} times")
    wrong = " and ".join(f"s{_low(j)}\u00a0≠\u00a0sign\u00a0β̄{_low(j)}" for j in mean.violations)
    verdict = f"is not a solution of the LASSO, because {wrong}" if wrong else "is a solution of the LASSO"

    def residual(coef: Any) -> list[Any]:
        found: list[Any] = (view.y - coef @ view.X.T).tolist()
        return found

    return {
        "jumps": residual(ends), "now": residual(path.at(1 / lam)),
        "enters": [sorted(b - a) for a, b in itertools.pairwise(sets)],
        "means": residual(means), "mean": residual(mean.coef), "solved": mean.is_lasso,
        "solves": [path.average(2 / (a + b)).is_lasso for a, b in itertools.pairwise(levels)],
        "words": f"Until τ = 1/λ = {1 / lam:.4g} the flow {times}, and its average {verdict}.",
    }  # fmt: skip


def _cone(view: Scene, far: float) -> Frame:
    """Describe the y with the picks and signs of OMP after S, and the distance of y to its complement.

    A pick i with sign s_i stays before a rival j while ⟨s_iP_S^⊥X_i ∓ P_S^⊥X_j, y⟩ > 0. These conditions are
    linear in y, so the set is an open convex cone. In the plane "corners" are the corners of its part in the
    square of half-width `far`.
    """
    n, d = view.X.shape
    path = omp(view.X, view.y, min(n, d), forced=view.S)
    steps = range(len(view.S), len(path))
    picks = ", then ".join(f"X{_low(path.support[t])}" for t in steps)
    if not picks:
        return {"corners": [], "radius": 0.0, "words": "OMP picks nothing."}
    if any(len(path.ties[t]) > 1 for t in steps):
        words = f"OMP picks {picks}, and has a tie, so a change of y of any size can alter the picks."
        return {"corners": [], "radius": 0.0, "words": words}
    try:
        found = condition(view.X, view.y, path, in_y=True)
    except ValueError:  # dependent columns in S
        return {
            "corners": [],
            "radius": 0.0,
            "words": "No distance is drawn, because columns of S are dependent.",
        }
    radius = found.distance_y * float(np.linalg.norm(view.y))
    share = f"{radius:.4g}, which is {100 * found.distance_y:.3g} % of its length"
    square = far * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    corners: FloatArray = square if n == 2 else square[:0]
    for t in steps if n == 2 else ():
        Q = np.linalg.qr(view.X[:, path.support[:t]])[0]
        Z: FloatArray = np.asarray(view.X - Q @ (Q.T @ view.X), np.float64)
        i = path.support[t]
        own = Z[:, i] * np.sign(Z[:, i] @ view.y)
        for j in np.setdiff1d(np.arange(d), path.support[: t + 1]):
            for rival in (Z[:, j], -Z[:, j]):
                corners = _clip(corners, own - rival)
        corners = _clip(corners, own)
    return {
        "corners": corners.tolist(),
        "radius": radius,
        "words": f"OMP picks {picks}, and so it does for every y nearer than {share}.",
    }


def _clip(corners: FloatArray, normal: FloatArray) -> FloatArray:
    """Return the corners of the part of a convex polygon on the positive side of a line through 0."""
    heights = corners @ normal
    found = []
    for a, b, high, low in zip(corners, np.roll(corners, -1, 0), heights, np.roll(heights, -1), strict=True):
        if high >= 0:
            found.append(a)
        if high * low < 0:
            found.append(a + (b - a) * high / (high - low))
    return np.array(found).reshape(-1, 2)


def _regions(sides: list[PolytopeFace], far: float) -> list[Frame]:
    """Return the regions of y with constant signs of β: strips at the edges, and wedges at the corners.

    Let u be the projection of y onto the polytope C_λ. Then y − u is in the normal cone of C_λ at u. On an
    edge this cone is a ray; at a corner it is spanned by the normals of both edges. If C_λ is as thin as a
    line, so that opposite edges are one face, there are no regions.
    """
    if any(len(set(side.features)) < len(side.features) for side in sides):
        return []
    edges = [(side, _normal(side)) for side in sides if len(side.corners) == 2 and side.features]
    found = []
    for side, out in edges:
        a, b = side.corners
        found.append(_region([a, b, b + far * out, a + far * out], [side]))
    for (one, first), (other, second) in itertools.combinations(edges, 2):
        gaps = np.abs(one.corners[:, None] - other.corners[None]).max(axis=2)
        width = np.linalg.norm(first + second)  # zero for opposite edges, whose ends agree up to rounding
        if gaps.min() < 1e-9 * far and width > 1e-9:
            corner = one.corners[np.argmin(gaps.min(axis=1))]
            between = (first + second) / width
            ends = [corner + far * out for out in (first, between, second)]
            found.append(_region([corner, *ends], [one, other]))
    return found


def _normal(side: PolytopeFace) -> FloatArray:
    """Return the outer normal of an edge, which points away from the inner point 0."""
    along = side.corners[1] - side.corners[0]
    out = np.array([along[1], -along[0]]) / np.linalg.norm(along)
    return np.asarray(out if out @ side.corners.mean(axis=0) > 0 else -out)


def _region(corners: list[FloatArray], sides: list[PolytopeFace]) -> Frame:
    """Describe a region of y for the page: its corners, and the signs of β that its faces determine."""
    return {
        "corners": np.array(corners).tolist(),
        "features": [side.features[0] for side in sides],
        "words": " and ".join(" or ".join(_sign_of(*owner) for owner in side.owners) for side in sides),
    }


def _sign_of(j: int, sign: int) -> str:
    """Return the sign of β_j as text, such as "β₀ > 0"."""
    return f"β{_low(j)} {'>' if sign > 0 else '<'} 0"


def _low(j: int) -> str:
    """Return a number as a subscript."""
    return str(j).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _picks(state: State, method: Any) -> Frame:
    """Return the picks of a method after the features S, the ties of each pick, and R² after each pick."""
    path: SelectionPath = method(state.X, state.y, min(len(state.columns), len(state.y)), forced=state.S)
    s = len(state.S)
    return {
        "support": path.support[s:].tolist(),
        "ties": [[j for j in T if j != i] for i, T in zip(path.support.tolist(), path.ties, strict=True)][s:],
        "r2": np.round(path.r2_path[s + 1 :], 4).tolist(),
    }


def _words(view: Scene) -> str:
    """Return one or two sentences about the state, which the page shows and a screen reader reads."""
    entry = view.entry
    S = f"S = {braces(None, view.S, MOST)}: " if view.S else ""
    if entry.lam_star == 0:
        return f"{S}λ* = 0, and no feature enters: {_NOTHING.get(entry.status, entry.status.name)}."
    T, A = (braces(None, J, MOST) for J in (entry.tied, entry.active))
    text = f"{S}λ* = {entry.lam_star:.4g}, T = {T}, A(S) = {A}. "
    if not view.touched:  # λ ≥ λ* to rounding
        return text + f"At λ = {view.lam:.4g} no feature has entered: u = {'P_S^⊥y' if view.S else 'y'}."
    signs = [_sign_of(j, 1 if view.coef[j] > 0 else -1) for j in view.touched]
    inside = " (inside the window)" if view.lam > entry.window_lower else ""
    return text + f"At λ = {view.lam:.4g}{inside}: {', '.join(signs)}."


def _code(state: State) -> str:
    """Return Python code that makes this state, to continue elsewhere."""
    forced = f", forced={list(state.S)}" if state.S else ""
    k = min(len(state.columns), len(state.y))
    return (
        "import sparselin as sl\n\n"
        f"X = {[list(row) for row in zip(*state.columns, strict=True)]}\n"
        f"y = {list(state.y)}\n"
        f"print(sl.first_entry(X, y{forced}))\n"
        f"print(sl.project_dual(X, y, {state.lam!r}{forced}))\n"
        f"print(sl.omp(X, y, {k}{forced}))\n"
        f"sl.plots.dual_polytope(X, y, lam={state.lam!r}{forced})\n"
    )
