"""The explorer as a widget, for JupyterLab, marimo, and the page of `serve`."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.explorer.frame import Frame, frame
from sparselin.plots.explorer.pages import script, style
from sparselin.plots.explorer.presets import PRESETS, named
from sparselin.plots.explorer.snapping import snapped
from sparselin.plots.explorer.state import State, of_data
from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.results import FloatArray
from sparselin.validation import Columns, check_level

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:  # a class statement needs its base
    raise ModuleNotFoundError("the explorer needs anywidget: pip install 'sparselin[notebooks]'") from error

_ONE_AT_A_TIME = threading.Lock()  # several pages, or browsers, each with its thread


class Explorer(anywidget.AnyWidget):
    """The page asks by an address, and gets a frame with the number of its question, or a message.

    `asked` has "address", and at will "moved" ("y", "lam" or the index of a column) with "reach" to snap to
    ties, "picks" ("all", "untrained", "none"), of which methods. `state` is what is shown.
    """

    _esm = f"{script()}\nexport default {{ render }};\n"
    _css = style()
    asked = traitlets.Dict().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict({name: preset.title for name, preset in PRESETS.items()}).tag(sync=True)
    in_address = traitlets.Bool(False).tag(sync=True)  # whether the browser's address says the state

    state: State

    def __init__(self, state: State | None = None, *, in_address: bool = False) -> None:
        super().__init__(in_address=in_address)
        self.state = named("") if state is None else state
        if not in_address:
            self.frame = frame(self.state)
        self.observe(self._answer, "asked")

    @property
    def X(self) -> FloatArray:
        """(n, d) as it is shown now."""
        return self.state.X

    @property
    def y(self) -> FloatArray:
        """(n,) as it is shown now."""
        return np.array(self.state.y)

    def _answer(self, change: Any) -> None:
        with _ONE_AT_A_TIME:
            self.frame = self.answer(change["new"])

    def answer(self, asked: Frame) -> Frame:
        """The frame, or {"message": one line}; both with the number asked."""
        number = {"number": asked.get("number", 0)}
        try:
            state = named(str(asked.get("address")))
            if "moved" in asked:
                state = snapped(state, str(asked["moved"]), _reach(asked.get("reach")))
            found = frame(state, asked.get("picks", "all"))
        except ValueError as error:
            return {"message": str(error)} | number
        self.state = state
        return found | number


def _reach(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"reach must be a number from 0; got {str(value)[:40]!r}")
    return float(value)


@suggest_names
def explore(
    X: Any = None, y: ArrayLike | None = None, *, forced: Columns = (), lam: float | None = None
) -> Explorer:
    """The explorer of the dual polytope, for JupyterLab or marimo; `sparselin explore` is the same on a page.

    Drag y and the columns in two dimensions, turn three, slide λ: the polytope C_λ = {u : |⟨X_j, u⟩| ≤ λ},
    its slice for S ≠ ∅, the path of the projection u = y − Xβ, β, T and A(S), and the picks of OMP, forward
    regression, Sequential LASSO and Sequential Attention change with it. What comes near a tie snaps to it.

    Parameters
    ----------
    X, y : design (2, d) or (3, d), d ≤ 8, and response; or one string, the name of a preset or an address;
        three columns in the plane by default. Features are told by their numbers.
    forced : the columns S without penalty, by index or name.
    lam : λ > 0, λ*/2 by default.

    Returns
    -------
    The widget. Its `X`, `y` and `state` are what is shown at the time.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), X without two or three rows or with more than eight
        columns, bad `forced` or `lam`; X without y.
    ModuleNotFoundError : anywidget is missing; it is in the extra `notebooks`.

    >>> widget = explore([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], lam=2.0)
    >>> widget.frame["u"], widget.frame["T"]
    ([2.0, 1.0], [0])
    """
    if isinstance(X, str) and y is None:
        return Explorer(named(X))
    if X is None:
        if y is not None or lam is not None or forced != ():
            raise ValueError("X must be given with y, forced or lam; got none")
        return Explorer()
    if y is None:
        raise TypeError("y must be given with X; got None")
    problem = Problem(X, y)
    if problem.n not in (2, 3):
        raise ValueError(
            f"X must have 2 rows, for a picture in the plane, or 3, for one in space; got {problem.n}. "
            "np.linalg.qr gives the coordinates of columns that span no more."
        )
    S = tuple(problem.indices(forced, "forced").tolist())
    level = None if lam is None else check_level(lam, "lam")
    columns = problem.columns(np.arange(problem.d)).astype(float)
    return Explorer(of_data(columns, problem.y.astype(float), level, S))
