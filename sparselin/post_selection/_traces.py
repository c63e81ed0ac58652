"""The steps of a path as events, and the choice of their number by BIC or EBIC as a set of comparisons."""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.post_selection._events import Basis, Event
from sparselin.post_selection._laws import Ends, negative
from sparselin.results import FloatArray, LassoPath, SelectionPath, Status
from sparselin.validation import check_count, check_real


class Choice(NamedTuple):
    """The choice of the number of steps: comparisons g·‖P_a^⊥y‖² ≥ ‖P_b^⊥y‖² of the models after a, b steps.

    models : the features of each model.
    comparisons : (a, b, g) of each comparison.
    """

    models: list[tuple[int, ...]]
    comparisons: list[tuple[int, int, float]]

    def exclude(self, basis: Basis, w: FloatArray, side: int, on_sphere: bool) -> Ends:
        """Return intervals of offsets of η̂ᵀy at which a comparison fails certainly (side 1) or possibly (−1).

        Each comparison is quadratic in the offset δ, because y moves along η̂, whose coordinates are w.

        on_sphere : whether ‖P_X^⊥y‖² changes with δ, so that (η̂ᵀy)² + ‖P_X^⊥y‖² stays (see `Student`, with
            θ = 0). It is a part of every ‖P_a^⊥y‖², and becomes smaller by δ² + 2δη̂ᵀy.
        """
        norm = basis.problem.y_norm
        quadratics = []
        less = np.array([float(w @ basis.z) * norm, norm**2]) * on_sphere
        off = [basis.model(A).off(np.column_stack([basis.z, norm * w])) for A in self.models]
        squares = [P.T @ P + np.diag([basis.r_norm**2, 0.0]) for P in off]
        for a, b, g in self.comparisons:
            (C, B), (_, A) = g * squares[a] - squares[b]
            B, A = (B, A) - (g - 1) * less
            error = side * 20 * (1 + g) * basis.eps * norm**2
            if abs(error) >= C:
                raise ValueError(f"path leaves k undecided between {a} and {b} steps, to rounding. Pass k")
            quadratics.append((A + error, 2 * B, C + error))
        low, high = negative(*np.array(quadratics).reshape(-1, 3).T)
        return low * norm, high * norm


class Trace(NamedTuple):
    """The steps of a path that inference is about.

    events : the steps that inference conditions on, or the state at a fixed λ.
    features : the features of the rows of the result: the forced ones, then one for each step.
    n_forced : the number of forced features.
    model : the features of the last model.
    by_length : whether the path is of OLS.
    lam : the fixed λ, or None.
    choice : the choice of the number of steps; empty if it was fixed in advance.
    """

    events: list[Event]
    features: list[int]
    n_forced: int
    model: tuple[int, ...]
    by_length: bool = False
    lam: float | None = None
    choice: Choice = Choice([], [])

    @property
    def steps(self) -> list[Event]:
        """The steps with a row in the result."""
        return self.events[: len(self.features) - self.n_forced] if self.lam is None else []


def trace_of(path: SelectionPath | LassoPath, k: int | None, lam: Any) -> Trace:
    """Return the first k steps of a path, by default all, or the state of a LASSO path at λ."""
    if isinstance(path, LassoPath):
        return _steps_of_lasso(path, k) if lam is None else _state_at(path, lam)
    if lam is not None:
        raise ValueError("lam needs a LassoPath; the models of other paths have no λ")
    support = path.support.tolist()
    f = int(np.isnan(path.lam_star).sum())
    k = _count_steps(path, k, Status.COMPLETED, f, len(support))
    signs = np.sign(np.diag(path.coef_path)).tolist()
    levels = path.lam_star.tolist()
    events = [
        Event(before=tuple(support[:t]), signs=(), pick=support[t], sign=signs[t], level=levels[t])
        for t in range(f, k)
    ]
    return Trace(
        events=events,
        features=support[:k],
        n_forced=f,
        model=tuple(support[:k]),
        by_length=path.fit.by_length,
    )


def _count_steps(path: SelectionPath | LassoPath, k: int | None, end: Status, low: int, most: int) -> int:
    """Return k, in low..most, or the length `most` of a path whose status is `end`."""
    if k is None and path.status is not end:
        raise ValueError(
            f"path ended by itself ({path.status.name}), so y decided its length. Pass a number k of "
            "steps that was fixed before y was seen, or a path with such a number of steps (max_steps in "
            "lasso_path)"
        )
    return check_count(most if k is None else k, "k", low, most, " (the steps of the path)")


def check_lam(lam: Any) -> float:
    """Check that λ is a positive number, and return it."""
    if np.ndim(lam) or not isinstance(lam, (int, float, np.number)) or isinstance(lam, bool):
        raise TypeError(
            "lam must be a number that was fixed before y was seen; a λ of cross-validation depends on y by "
            "comparisons that no inequality here describes. For such a λ pass method='split' and a function "
            "lam(X, y) that chooses λ on the rows that select, for example lam=lambda X, y: len(y) * "
            f"LassoLarsCV().fit(X, y).alpha_ of sparselin.estimators. Got {lam!r}"
        )
    positive = "positive, because at λ = 0 there is no selection"
    return check_real(float(lam), "lam", lambda value: value > 0, positive)


def _state_at(path: LassoPath, lam: Any) -> Trace:
    """Return the state of a LASSO path at λ: the active features and their signs."""
    forced = path.forced.tolist()
    level = check_lam(lam)
    coef = path.at(level)
    A = [*forced, *np.setdiff1d(np.flatnonzero(coef), forced).tolist()]
    signs = (0.0,) * len(forced) + tuple(np.sign(coef[A[len(forced) :]]).tolist())
    return Trace(
        events=[Event(before=tuple(A), signs=signs, pick=-1, sign=0.0, level=level)],
        features=A,
        n_forced=len(forced),
        model=tuple(A),
        lam=level,
    )


def _steps_of_lasso(path: LassoPath, k: int | None) -> Trace:
    """Return the first k steps of a LASSO path; at each one feature enters or leaves."""
    forced = path.forced.tolist()
    most = len(path) - 1
    k = _count_steps(path, k, Status.MAX_STEPS, 0, most)
    signs = np.sign(path.coef_path[1:] + path.coef_path[:-1])  # on each segment
    place = {j: i for i, j in enumerate(path.features.tolist())}
    events = []
    A = forced
    f = len(forced)
    for t in range(k):
        change = set(A[f:]) ^ set(path.active[t])
        if len(change) != 1:
            names = ", ".join(map(path.name_of, sorted(change)))
            raise ValueError(f"path has a tie: at knot {t + 1} several features enter or leave ({names})")
        (i,) = change
        enters = i not in A
        before = (0.0,) * f + tuple(float(signs[t - 1, place[j]]) for j in A[f:])
        sign = float(signs[t if enters else t - 1, place[i]])
        events.append(
            Event(before=tuple(A), signs=before, pick=i, sign=sign, level=float(path.knots[t]), enters=enters)
        )
        A = [*A, i] if enters else [j for j in A if j != i]
    return Trace(
        events=events, features=[*forced, *(event.pick for event in events)], n_forced=f, model=tuple(A)
    )


def choose(trace: Trace, basis: Basis, criterion: str, n: int) -> Trace:
    """Choose the number of steps by "bic" or "ebic", and return the trace of these steps.

    Let RSS_t = ‖P_t^⊥y‖² after t steps, in a model of ν_t features. BIC = n·ln RSS_t + ν_t·ln n, and EBIC
    adds 2γ·ln C(p, u_t), where u_t of the p features that are not forced are in the model, and γ = max(0,
    1 − ln n/(4·ln p)). BIC takes the first least value. EBIC takes the value before the first rise, or the
    last one. Without weights this is what `OMPSelector` and `SequentialLassoSelector` do; n is the number of
    rows, also with weights.
    """
    K = len(trace.events)
    f = trace.n_forced
    p = basis.problem.n_features - f
    models = [*(event.before for event in trace.events), trace.model]
    rss = np.array([np.sum(basis.model(A).off(basis.z) ** 2) for A in models]) + basis.r_norm**2
    sizes = np.array([float(len(A)) for A in models])
    penalty = math.log(n) * sizes
    u = sizes - f
    if criterion == "ebic" and p > 1:
        gamma = max(0.0, 1 - math.log(n) / (4 * math.log(p)))
        ratios = (p - np.arange(p)) / np.arange(1.0, p + 1)  # C(p, u) is the product of the first u
        penalty += 2 * gamma * np.append(0.0, np.cumsum(np.log(ratios[: int(u.max())])))[u.astype(np.intp)]
    if rss.min() <= basis.error**2:
        raise ValueError("k needs models with a residual, but some step fits y exactly. Pass a number")
    scores = n * np.log(rss) + penalty
    if criterion == "bic":
        best = int(np.argmin(scores))
        pairs = [(a, best) for a in range(K + 1) if a != best]
    else:
        best = int(np.append(np.flatnonzero(np.diff(scores) > 0), K)[0])
        pairs = [*((a, a + 1) for a in range(best)), *([(best + 1, best)] if best < K else [])]
    comparisons = [(a, b, math.exp((penalty[a] - penalty[b]) / n)) for a, b in pairs]
    return trace._replace(
        features=trace.features[: f + best], model=models[best], choice=Choice(models, comparisons)
    )
