"""The explorer as a widget, for JupyterLab, marimo and the page of `serve`."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.explorer.frame import Frame, frame
from sparselin.plots.explorer.pages import script, style
from sparselin.plots.explorer.presets import PRESETS, state_of
from sparselin.plots.explorer.snapping import snap
from sparselin.plots.explorer.state import State, of_data
from sparselin.plots.style import in_space
from sparselin.problem.argument_names import suggest_names
from sparselin.results import FloatArray
from sparselin.validation import Columns, check_level
from sparselin.validation.extras import installed_by, needs

with needs("anywidget", f"the explorer needs anywidget: {installed_by('notebooks')}"):
    import anywidget
    import traitlets

_ONE_AT_A_TIME = threading.Lock()  # several pages or browsers, each with its own thread


class Explorer(anywidget.AnyWidget):
    """The explorer as a widget: its page sends questions, and the widget answers with a frame or a message.

    A question `asked` has an "address", which describes a state, and a "number", which the answer repeats. If
    the user has moved y, λ or a column, "moved" says which: "y", "lam" or the index of the column. Then
    "reach" is the largest distance by which the moved point may move on to a tie. The entry "picks" ("all",
    "untrained" or "none") says for which methods the picks are computed. `state` is the state that is shown.
    """

    _esm = f"{script()}\nexport default {{ render }};\n"
    _css = style()
    asked = traitlets.Dict().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict({name: preset.title for name, preset in PRESETS.items()}).tag(sync=True)
    in_address = traitlets.Bool(False).tag(sync=True)  # whether the browser's address follows the state

    state: State

    def __init__(self, state: State | None = None, *, in_address: bool = False) -> None:
        super().__init__(in_address=in_address)
        self.state = state_of("") if state is None else state
        if not in_address:
            self.frame = frame(self.state)
        self.observe(self._answer, "asked")

    @property
    def X(self) -> FloatArray:
        """The design (n, d) that is shown."""
        return self.state.X

    @property
    def y(self) -> FloatArray:
        """The response (n,) that is shown."""
        return np.array(self.state.y)

    def _answer(self, change: Any) -> None:
        with _ONE_AT_A_TIME:
            self.frame = self.answer(change["new"])

    def answer(self, asked: Frame) -> Frame:
        """Answer a question with a frame, or with a "message" of one line.

        The answer repeats the "number" of the question.
        """
        number = {"number": asked.get("number", 0)}
        try:
            state = state_of(str(asked.get("address")))
            if "moved" in asked:
                state = snap(state, str(asked["moved"]), _reach(asked.get("reach")))
            found = frame(state, asked.get("picks", "all"))
        except ValueError as error:
            return {"message": str(error)} | number
        self.state = state
        return found | number


def _reach(value: Any) -> float:
    """Return the "reach" of a question as a float, after checking it."""
    if not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"reach must be a nonnegative number; got {str(value)[:40]!r}")
    return float(value)


@suggest_names
def explore(
    X: Any = None, y: ArrayLike | None = None, *, forced: Columns = (), lam: float | None = None
) -> Explorer:
    """Open the explorer of the dual polytope in JupyterLab or marimo; `sparselin explore` opens it as a page.

    In the plane, drag y and the columns; in space, rotate the picture. A slider changes λ. The picture shows
    the polytope C_λ = {u : |⟨X_j, u⟩| ≤ λ}, its slice X_Sᵀu = 0 if there are unpenalised columns S, and the
    path of the projection u = y − Xβ. The page also shows the solution β of the LASSO, the tied set T, the
    set A(S) of features that enter first, and the picks of OMP, forward regression, Sequential LASSO and
    Sequential Attention. A dragged point near a tie moves to the tie.

    Parameters
    ----------
    X, y : design (2, d) or (3, d) with d ≤ 8, and response. Or X is a string and y is omitted: the string is
        the name of a preset, or the address of a page of the explorer. By default, the explorer shows three
        columns in the plane. Features are named by their numbers.
    forced : the columns S without penalty, by index or name.
    lam : λ > 0, λ*/2 by default.

    Returns
    -------
    The widget. Its `X`, `y` and `state` follow the picture.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have two or three rows, or has more than
        eight columns; bad `forced` or `lam`; X without y.
    ModuleNotFoundError : anywidget is missing; the extra `notebooks` installs it.

    >>> widget = explore([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], lam=2.0)
    >>> widget.frame["u"], widget.frame["T"]
    ([2.0, 1.0], [0])
    """
    if isinstance(X, str) and y is None:
        return Explorer(state_of(X))
    if X is None:
        if y is not None or lam is not None or forced != ():
            raise ValueError("X must be given if y, forced or lam is given; got None")
        return Explorer()
    if y is None:
        raise TypeError("y must be given with X; got None")
    problem = in_space(X, y)
    S = tuple(problem.indices(forced, "forced").tolist())
    level = None if lam is None else check_level(lam, "lam")
    columns = problem.columns(np.arange(problem.d)).astype(float)
    return Explorer(of_data(columns, problem.y.astype(float), level, S))
