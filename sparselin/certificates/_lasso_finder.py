"""Find certificates of LASSO paths: the exact knots that belong to the active sets of a computed path."""

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from sparselin.certificates import form, lasso
from sparselin.certificates._lasso_balls import follow_in_balls
from sparselin.certificates.arithmetic import Exact
from sparselin.certificates.step import Fractions, Indices
from sparselin.problem.errors import eps_of
from sparselin.results import FloatArray, LassoPath


def certify_lasso(X: FloatArray, y: FloatArray, S: Indices, path: LassoPath) -> lasso.LassoCertificate:
    """Prove the knots of a path of `lasso_path`; `certify` describes the result and the errors.

    X, y, S : the data, and the forced features, the column of ones among them.
    """
    rows = [lasso.LassoKnot(A, _signs(path, k, A)) for k, A in enumerate(path.active)]
    given = lasso.LassoCertificate(form.digest(X, y, False), X.shape, path.positive, S, tuple(rows))
    # In rationals the numbers of a knot are about 2(|S| + |A|) times as long as the data.
    words = X.shape[1] * (len(X) + 2 * sum(len(S) + len(A) for A in path.active))
    try:
        if len(rows) == 1 or words <= 2**19:
            num = Exact(X, y, False)
            given = dataclasses.replace(given, knots=_in_rationals(given, num, float(path.knots[-1])))
            lasso.check_form(given, *X.shape)
            lasso.check(given, num)
            found = [_floats(given, k) for k in range(len(rows))]
        else:
            end, found = follow_in_balls(given, X, y, float(path.knots[-1]))
            last = dataclasses.replace(rows[-1], lam=end)
            given = dataclasses.replace(given, knots=(*rows[:-1], last))
            lasso.check_form(given, *X.shape)
        _compare(X, y, path, found)
    except ValueError as error:
        raise ValueError(f"the path is refuted for these data, or not proved. {error}") from None
    return given


def _signs(path: LassoPath, k: int, A: Indices) -> Indices:
    """Return the signs of the coefficients of the active features A at knot k of a path."""
    last = len(path) - 1
    ends = path.coef_path[[k, k + 1] if k < last else [max(k - 1, 0), k]]
    signs = np.sign(ends[:, np.searchsorted(path.features, A)]).sum(axis=0)
    return tuple(int(v > 0) - int(v < 0) for v in signs)


class _PathLine:
    """The solution on a segment as a linear function of λ, in the units of the data: β(λ) and c(λ).

    Attributes
    ----------
    J : the features of S and of the active set, in this order.
    beta, c : the values at λ = 0, and the slopes.
    """

    def __init__(self, num: Exact, S: Indices, knot: lasso.LassoKnot) -> None:
        self.J = [*S, *knot.active]
        X_J = num.X[:, self.J]
        G = np.asarray(X_J.T @ X_J)
        values = [(X_J.T @ num.y_integers).tolist(), [*(0 for _ in S), *(-s for s in knot.signs)]]
        self.beta = [num.vector(_solve(G, b, self.J)) for b in values]
        level, slope = (num.product(X_J, beta) for beta in self.beta)
        products = [num.product(num.X.T, r) for r in (num.y - level, -slope)]
        unit = num.coef_unit * num.x_unit**2
        self.c = [products[0] / unit, products[1]]
        self.beta = [self.beta[0] / num.coef_unit, self.beta[1] * num.x_unit**2]

    def coef(self, lam: Fraction, J: list[int]) -> Fractions:
        level, slope = self.beta
        at = [self.J.index(j) for j in J]
        return tuple(level[p] + lam * slope[p] for p in at)

    def zero(self, j: int) -> Fraction | None:
        """Return the λ at which the coefficient of j is zero, or None."""
        level, slope = (part[self.J.index(j)] for part in self.beta)
        return -level / slope if slope else None

    def tie(self, j: int, sign: int) -> Fraction | None:
        """Return the λ at which c_j = sign·λ, or None."""
        level, slope = (part[j] for part in self.c)
        return level / (sign - slope) if slope != sign else None


def _solve(G: Any, b: Any, J: list[int]) -> Fractions:
    """Solve Gx = b for an invertible matrix of integers, where the columns J have the Gram matrix G."""
    from sparselin.certificates import _finder as finder

    try:
        return finder.solve_integers(G, b)
    except ZeroDivisionError:
        words = f"The columns of {J} are linearly dependent, so the solution may not be unique"
        raise ValueError(words) from None


def _in_rationals(given: lasso.LassoCertificate, num: Exact, end: float) -> tuple[lasso.LassoKnot, ...]:
    """Return the exact knots of a certificate that has the active sets and signs, but not yet λ and β.

    end : the λ at which the path ends. If an event comes before it, the path ends at the event.
    """
    S = given.forced
    line = _PathLine(num, S, lasso.LassoKnot((), ()))
    knots = list[lasso.LassoKnot]()
    above = lasso.LassoKnot((), ())
    for k, knot in enumerate(given.knots):
        lam: Fraction | None
        if k == len(given.knots) - 1:
            top = knots[-1].lam if knots else None
            lam = _end(line, set(S), given.positive, top, Fraction(end))
        elif left := {*above.active} - {*knot.active}:
            lam = line.zero(min(left))
        else:
            entered = min({*knot.active} - {*above.active}, default=None)
            signs = dict(zip(knot.active, knot.signs, strict=True))
            lam = None if entered is None else line.tie(entered, signs[entered])
        if lam is None:
            raise ValueError(f"knots[{k}]: no feature enters or leaves there")
        inner = sorted({*above.active} & {*knot.active})
        knots.append(dataclasses.replace(knot, lam=lam, coef=line.coef(lam, [*S, *inner])))
        above = knot
        if k < len(given.knots) - 1:
            line = _PathLine(num, S, knot)
    return tuple(knots)


def _end(line: _PathLine, S: set[int], positive: bool, top: Fraction | None, end: Fraction) -> Fraction:
    """Return the end of a path: `end`, or the first event below λ = top if it comes before.

    top : the last knot above; None if there is none. Then the path is one knot, the largest correlation.
    """
    signs = (1,) if positive else (1, -1)
    others = [j for j in range(len(line.c[0])) if j not in S and (top is None or j not in line.J)]
    if top is None:
        sizes = [Fraction(sign * line.c[0][j]) for j in others for sign in signs]
        return max([Fraction(0), *sizes])
    events = [line.tie(j, sign) for j in others for sign in signs]
    events += [line.zero(j) for j in line.J if j not in S]
    return max([end, *(lam for lam in events if lam is not None and lam < top)])


def _floats(given: Any, k: int) -> tuple[float, dict[int, float]]:
    """Return λ and the nonzero coefficients at knot k of a certificate in rationals, as floats."""
    knot = given.knots[k]
    inner = {*given.knots[k - 1].active} & {*knot.active} if k else ()
    return float(knot.lam), dict(zip((*given.forced, *sorted(inner)), map(float, knot.coef), strict=True))


def _compare(
    X: FloatArray, y: FloatArray, path: LassoPath, found: list[tuple[float, dict[int, float]]]
) -> None:
    """Refuse a path whose λ or coefficients differ from the exact ones by more than a share of eps^⅓."""
    share = eps_of(path.knots.dtype) ** (1 / 3)
    norms, y_norm = np.linalg.norm(X, axis=0), np.linalg.norm(y)
    for k, (lam, coef) in enumerate(found):
        ours = np.zeros(X.shape[1])
        ours[[*coef]] = [*coef.values()]
        theirs = np.zeros(X.shape[1])
        theirs[path.features] = path.coef_path[k]
        if X.shape[1] > path.n_features:
            theirs[-1] = path.intercept[k]
        given = float(path.knots[k])
        if not abs(given - lam) <= share * lam:
            raise ValueError(f"knots[{k}]: λ is {given:.17g}, but the exact λ is {lam:.17g}")
        error = norms * abs(theirs - ours)
        worst = int(error.argmax())
        if not error[worst] <= share * (y_norm + float(norms @ abs(ours))):
            values = f"{theirs[worst]:.17g}, but the exact one is {ours[worst]:.17g}"
            raise ValueError(f"knots[{k}]: the coefficient of feature {worst} is {values}")
