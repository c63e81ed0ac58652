"""Depth-first branch and bound over subsets, on a stack of residual Gram matrices. A search can be resumed.

A residual Gram matrix holds the inner products of columns after their projection off the included features.
See `sparselin.subsets.best_subset` for the bounds.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import ONCE, inner, kernel
from sparselin._kernels.dependence import DependenceTest, outside_span
from sparselin._kernels.linear_algebra import insert, project
from sparselin._kernels.primitives import copy, dot

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]

# Residuals closer than this, in units of ‖y‖², are equal.
SLACK = 1e-12
# Sets whose residuals are below the best one plus this are its rivals. It exceeds the errors of bounds.
NEAR = 3e-10
# The number of rivals that are kept, and the number of nodes, in addition to a quarter of all nodes, that are
# visited only to find rivals. When one of them is used up, the search no longer looks for rivals.
_RIVALS, _SPARE = 64, 2000
# the property of D: C ⪰ D on F; C_A ⪰ D_A for all |A| ≤ m; none; D not computed yet; level not computed yet
CONVEX, SPARSE, NONE, OPEN, STALE = range(5)
# Columns are projected again when the squared length of one is below this times its squared growth a_j.
_STALE = 1e-4
# D is used only if it exceeds this times diag(G); it is reduced by the fraction _SAFE, far above rounding.
_LEAST, _SAFE = 1e-6, 1e-6
# If the squared sine of the angle between two columns is below _PARALLEL, and the pair may be better although
# products of unit columns err by _ERROR, the pair is compared by projection.
_PARALLEL, _ERROR = 0.1, 1e-11
_SWEEPS, _HALVINGS = 6, 6
# A new D is computed when |F| has decreased to this fraction.
_SHRUNK = 0.8
# The number of leaves after one relaxation, and the distance to the target at which it is abandoned.
_RUN, _HOPELESS = 8, 0.1

# the entries of `SubsetSearch.counters`
DEPTH, NODES, MOVES, SIZE, UNCLEAR, WITHIN, NEARBY, EXTRA = range(8)


class SubsetData(NamedTuple):
    """The data of the search: columns and y, projected off the forced columns.

    Columns have unit length, or are zero.
    """

    X: Reals  # (d, n), by rows
    y: Reals
    exact: DependenceTest
    own: Reals  # (d + 1,) the errors of the columns and, last, of y, in units of u
    fixed: int  # the number of columns off which they are projected
    volume: float  # log₂ of the volume of those columns
    seen: Reals  # whether rounding left a span undecided; the largest error of a residual that was compared


class Stack(NamedTuple):
    """The nodes (I, F) of the search on the current branch, one for each level.

    At a node the features I are included, and up to m of the candidates F may be added.
    """

    G: Reals  # (levels, d, d); for this and the next two fields see `Frame`
    rows: Reals
    features: Indices
    square: Reals  # (levels,) ‖P_I^⊥y‖²
    bound: Reals  # a lower bound for the sets not yet explored
    size: Indices  # |F|
    kind: Indices  # the property of D
    sized: Indices  # |F| when D was computed


class Frame(NamedTuple):
    """The arrays of the node (I, F) at one level, as views of a `Stack`; the entries of F come first.

    I are the included features, F the candidates. With C = X_FᵀP_I^⊥X_F and M = C − diag(D), `relax` bounds
    the squared residual of y over the sets of the node.
    """

    G: Reals  # X_FᵀP_I^⊥X_F
    features: Indices  # F
    rows: Reals  # (6, d + 1), the six vectors below
    b: Reals  # X_FᵀP_I^⊥y
    D: Reals  # the relaxation, see `relax`
    beta: Reals
    v: Reals
    growth: Reals  # a_j, the growth of the rounding error of each candidate and, last, of y
    off: Reals  # the errors of the projected columns and, last, of y


class SubsetSearch(NamedTuple):
    """The state of the search, and the best set found so far. Neither of them lists the forced features."""

    m: int  # the number of features that may be added
    inside: Indices  # (m + 1,) the features added so far, one for each level
    found: Indices  # (m + 1,) the best set
    value: Reals  # (2,) ‖P^⊥y‖² of the best set, and the limit: sets at or above it are not searched for
    counters: Indices  # level (−1 if done), nodes, improvements, sizes of `found` and `unclear`, WITHIN, the
    # number of rivals, and the nodes visited only for rivals
    unclear: Indices  # a·d + b for sets of a, b and the first `counters[WITHIN]` of `inside`, see `_doubt`
    work: Reals  # (4, d), workspace of `_try`
    rivals: Indices  # (64, m + 2) the sets below the limit, besides the best one: their size and features
    squares: Reals  # (64,) their ‖P^⊥y‖², less the error where it is not small


class SubsetBasis(NamedTuple):
    """An orthonormal basis of the span of the columns `inside`, by the rows of Q.

    A column that is, certainly or to rounding, in the span of the columns before it has a zero row in Q, and
    is not among the `members`.
    """

    Q: Reals
    inverse: Reals  # R⁻¹
    inside: Indices
    members: Indices


def empty_search(m: int, value: float, d: int) -> SubsetSearch:
    """Allocate the state of a search that may add m features, with d candidates and a first value."""
    inside = np.zeros(m + 1, np.intp)
    found = np.zeros(m + 1, np.intp)
    counters = np.zeros(8, np.intp)
    unclear, work = np.empty(d * (d + 1) // 2, np.intp), np.empty((4, d))
    return SubsetSearch(
        m=m,
        inside=inside,
        found=found,
        value=np.array([value, value + NEAR]),
        counters=counters,
        unclear=unclear,
        work=work,
        rivals=np.zeros((_RIVALS, m + 2), np.intp),
        squares=np.zeros(_RIVALS),
    )


def empty_stack(levels: int, d: int) -> Stack:
    """Allocate the stack for a number of levels and d features."""
    G = np.empty((levels, d, d))
    rows = np.zeros((levels, 6, d + 1))
    features = np.zeros((levels, d), np.intp)
    square, bound = np.zeros((2, levels))
    size, kind, sized = np.zeros((3, levels), np.intp)
    return Stack(
        G=G, rows=rows, features=features, square=square, bound=bound, size=size, kind=kind, sized=sized
    )


@inner()
def frame_at(stack, level):
    """Return the `Frame` of one level of a stack."""
    rows = stack.rows[level]
    return Frame(
        G=stack.G[level],
        features=stack.features[level],
        rows=rows,
        b=rows[0],
        D=rows[1],
        beta=rows[2],
        v=rows[3],
        growth=rows[4],
        off=rows[5],
    )


@kernel()
def search(stack, state, stop):
    """Search until `stop` nodes are visited or the function `renew` is needed.

    Returns whether the search is complete.
    """
    counters = state.counters
    while counters[DEPTH] >= 0 and counters[UNCLEAR] == 0:
        level = counters[DEPTH]
        if stack.kind[level] == STALE:
            break
        if stack.bound[level] >= state.value[1]:
            counters[DEPTH] -= 1
            continue
        if counters[NODES] >= stop:
            break
        if stack.bound[level] >= state.value[0] - SLACK:
            if counters[EXTRA] >= _SPARE + counters[NODES] // 4:
                state.value[1] = state.value[0] - SLACK
                continue
            counters[EXTRA] += 1
        target = state.value[1]
        counters[NODES] += 1
        if state.m - level <= 2:
            _scan(stack, state, level)
            counters[DEPTH] -= 1
            continue
        base = _narrow(stack, level, state.m - level, target)
        if not stack.bound[level] >= target:
            _branch(stack, state, level, base)
    return counters[DEPTH] < 0 and counters[UNCLEAR] == 0


@kernel()
def renew(data, stack, state):
    """Do the projections for which `search` stopped: compare the unclear sets, and fill the last level.

    The unclear sets are those that rounding does not allow to compare by Gram matrices. Returns whether there
    were such projections. `search` does not call this function, because then both would be compiled together.
    """
    counters, inside = state.counters, state.inside
    d = len(data.X)
    level, unclear = counters[DEPTH], counters[UNCLEAR]
    counters[UNCLEAR] = 0
    for pair in state.unclear[:unclear]:
        size = counters[WITHIN] + 1
        a = pair // d
        b = pair % d
        inside[size - 1] = a
        if a != b:
            inside[size] = b
            size += 1
        _project(data, state, size)
    if level < 0 or stack.kind[level] != STALE:
        return unclear > 0
    measure(data, stack, level, inside)
    stack.kind[level] = OPEN
    stack.sized[level] = 2 * d
    _note(state, level, stack.square[level])
    return True


@inner()
def _project(data, state, size):
    """Compare the first `size` features of `state.inside` with the best set, by projection."""
    square, moved = remainder(data, state.inside[:size])
    data.seen[1] = max(data.seen[1], min(moved, moved + state.value[0] - square))
    _note(state, size, square)
    if square >= state.value[1]:
        _keep(state, state.inside, size, square - moved)


@kernel()
def compare(data, state, sets):
    """Compare sets (m, size) with the best set by projection; return a mask of the sets that are left open.

    Rounding leaves a set open if it does not show whether a column is in the span of the others.
    """
    unclear = np.zeros(len(sets), np.bool_)
    for i in range(len(sets)):
        data.seen[0] = 0
        copy(sets[i], state.inside)
        _project(data, state, sets.shape[1])
        unclear[i] = data.seen[0] > 0
    data.seen[0] = 0
    return unclear


@inner(**ONCE)
def _narrow(stack, level, m, target):
    """Improve the bound of a node by relaxation, and remove candidates that no better set contains.

    Returns the number `base` of `relax`: the bound is base minus the sum of the m largest v_j.
    """
    F = stack.size[level]
    if _SHRUNK * stack.sized[level] >= F:
        convexify(stack, level)
    if stack.kind[level] == OPEN:
        circles(stack, level, m)
    base = relax(stack, level, m, target)
    total, last, _ = _largest(frame_at(stack, level).v, F, m)
    lower = base - total
    stack.bound[level] = max(stack.bound[level], lower)
    if not stack.bound[level] >= target:
        stack.size[level] = _drop(frame_at(stack, level), F, lower + last - target)
        if stack.size[level] == 0:
            stack.bound[level] = np.inf
    return base


@inner(**ONCE)
def _branch(stack, state, level, base):
    """Branch on the candidate with the largest v_j of `relax`: visit the sets that include this candidate.

    Afterwards the candidate is removed from the candidates F. Near the leaves of the tree both steps are
    repeated for further candidates.
    """
    left = state.m - level
    frame = frame_at(stack, level)
    for _ in range(1 if left > 3 else _RUN):
        F = stack.size[level] - 1
        top = F
        for j in range(F - 1, -1, -1):
            if frame.v[j] >= frame.v[top]:
                top = j
        _swap(frame, F + 1, top, F)
        stack.size[level] = F
        state.inside[level] = frame.features[F]
        deeper = left > 3 or not leaf(stack, state, level)
        if deeper:
            _include(stack, state, level)
            state.counters[DEPTH] += 1
        # sets with fewer than `left` of the remaining candidates need no visit
        if left > F:
            stack.bound[level] = np.inf
        elif stack.kind[level] != NONE:
            stack.bound[level] = max(stack.bound[level], base - _largest(frame.v, F, left)[0])
        if deeper or state.counters[UNCLEAR] > 0 or stack.bound[level] >= state.value[1]:
            break


@inner()
def _swap(frame, F, i, j):
    """Exchange the positions of the candidates i and j of a frame."""
    if i == j:
        return
    G, index = frame.G, frame.features
    for l in range(F):
        G[i, l], G[j, l] = G[j, l], G[i, l]
    for l in range(F):
        G[l, i], G[l, j] = G[l, j], G[l, i]
    for row in frame.rows:
        row[i], row[j] = row[j], row[i]
    index[i], index[j] = index[j], index[i]


@inner()
def _drop(frame, F, limit):
    """Remove the candidates with v_j ≤ limit and keep the order of the others; return how many are left."""
    G = frame.G
    kept = 0
    for j in range(F):
        if frame.v[j] <= limit:
            continue
        if kept < j:
            for l in range(F):
                G[kept, l] = G[j, l]
            for l in range(F):
                G[l, kept] = G[l, j]
            for row in frame.rows:
                row[kept] = row[j]
            frame.features[kept] = frame.features[j]
        kept += 1
    return kept


@inner(**ONCE)
def relax(stack, level, m, target):
    """Compute a lower bound on ‖P_{I∪A}^⊥y‖² over all A ⊆ F, |A| ≤ m, for the node (I, F) at `level`.

    The bound is base − (the sum of the m largest v_j), with a number v_j ≥ 0 for each candidate j. The array
    v is filled, and base is returned. beta, the point at which the bound is computed, is improved by
    coordinate descent as long as the bound may reach `target`.
    """
    frame = frame_at(stack, level)
    F = stack.size[level]
    kind = stack.kind[level]
    square = stack.square[level]
    G, b, D, v = frame.G, frame.b, frame.D, frame.v
    if kind == NONE:
        for j in range(F):
            v[j] = b[j] * b[j] / G[j, j]
        return -np.inf
    base = square
    if kind == SPARSE:
        for j in range(F):
            v[j] = b[j] * b[j] / D[j]
    else:
        base = _descend(frame, F, m, square, target)
    return base - max(0.0, _bound_error(frame, F, m) - _ERROR)


@inner()
def _descend(frame, F, m, square, target):
    """Improve beta by coordinate descent, and fill v; return square − βᵀMβ, M = G − diag(D).

    G is the residual Gram matrix of the candidates, and D the diagonal that `convexify` or `circles`
    computed.
    """
    G, D, beta = frame.G, frame.D, frame.beta
    q = np.empty(F)
    for j in range(F):
        q[j] = -D[j] * beta[j]
    for l in range(F):
        if beta[l] != 0:
            for j in range(F):
                q[j] += beta[l] * G[l, j]
    for sweep in range(_SWEEPS + 1):
        lam, upper = _threshold(frame, q, square, F, m)
        base = square
        for j in range(F):
            base -= beta[j] * q[j]
            u = frame.b[j] - q[j]
            frame.v[j] = u * u / D[j]
        total, _, following = _largest(frame.v, F, m)
        if base - total >= target or sweep == _SWEEPS:
            break
        if sweep > 2 and upper < target - _HOPELESS * (square - target):
            break
        _sweep(frame, q, F, following if lam < 0 else lam)
    return base


@inner(**ONCE)
def _bound_error(frame, F, m):
    """Return by how much the bound of `relax` is reduced, because projected columns have errors.

    The bound is the value at x = beta, or bound (3) of `sparselin.subsets.best_subset`. The reduction is
    twice the effect of the errors on two terms: on xᵀMx, M = G − diag(D), and on the sum T of the m largest
    v_j = u_j²/D_j, where u = b − Mx. √T is the norm of a vector, so the error of √T follows from the errors
    of the u_j. With w = `off`, the inner product of two columns of length at most 1 has an error of at most
    w_j + w_l, and the inner product with y an error of at most w_j + w_y.
    """
    D, beta, w = frame.D, frame.beta, frame.off
    size = 1.0
    shift = w[-1]
    worst = 0.0
    for j in range(F):
        size += abs(beta[j])
        shift += abs(beta[j]) * w[j]
    for j in range(F):
        p = w[j] * size + shift
        worst = max(worst, p * p / D[j])
    turned = math.sqrt(m * worst)
    return 2 * (2 * size * shift + turned * (2 * math.sqrt(_largest(frame.v, F, m)[0]) + turned))


@inner()
def _sweep(frame, q, F, lam):
    """Update each β_j once, to decrease βᵀMβ − 2bᵀβ + Σ min_z (Dβ²/z + λz), M = G − diag(D), and q = Mβ.

    G is the residual Gram matrix of the candidates, b their inner products with y.
    """
    G, b, D, beta = frame.G, frame.b, frame.D, frame.beta
    root = math.sqrt(max(lam, 0.0))
    for j in range(F):
        M = G[j, j] - D[j]
        g = b[j] - q[j] + M * beta[j]
        s = math.sqrt(D[j])
        size = abs(g)
        if size <= root * s:
            new = 0.0
        elif size * s < root * G[j, j]:
            new = (size - root * s) / M
        else:
            new = size / G[j, j]
        if g < 0:
            new = -new
        step = new - beta[j]
        if step != 0:
            row = G[j]
            for l in range(F):
                q[l] += step * row[l]
            q[j] -= step * D[j]
            beta[j] = new


@inner()
def _threshold(frame, q, square, F, m):
    """Return λ = τ² with Σ min(1, w_j/τ) = m for w = √D|β|, and the primal value.

    λ is −1 if at most m entries of β are nonzero.
    """
    b, D, beta = frame.b, frame.D, frame.beta
    w = np.empty(F)
    value = square
    total = 0.0
    n = 0 * F  # not the literal 0, for which `_top` would be compiled once more
    for j in range(F):
        if beta[j] != 0:
            w[n] = math.sqrt(D[j]) * abs(beta[j])
            total += w[n]
            n += 1
            value += beta[j] * (q[j] - 2 * b[j])
    if n <= m:
        for i in range(n):
            value += w[i] * w[i]
        return -1.0, value
    top = _top(w, n, m)
    r = 0
    while r < m and top[r] * (m - r) >= total:
        total -= top[r]
        value += top[r] * top[r]
        r += 1
    if r == m:
        return top[m - 1] * top[m - 1], value
    tau = total / (m - r)
    return tau * tau, value + total * tau


@inner()
def _largest(v, F, m):
    """Return the sum of the m largest entries of v[:F], the m-th largest, and the next largest.

    Missing entries count as zero.
    """
    total = 0.0
    if m >= F:
        for j in range(F):
            total += v[j]
        return total, 0.0, 0.0
    top = _top(v, F, m)
    for i in range(m):
        total += top[i]
    return total, top[m - 1], top[m]


@inner()
def _top(v, F, m):
    """Return the m + 1 largest entries of v[:F] in decreasing order. Missing or negative ones count as 0."""
    top = np.zeros(m + 1)
    for j in range(F):
        if v[j] > top[m]:
            insert(top, v[j])
    return top


@inner(**ONCE)
def _include(stack, state, level):
    """Fill level + 1 of the stack with the node that includes the candidate removed last from `level`.

    This candidate is at position |F| of the frame, directly after the remaining candidates F.
    """
    below = level + 1
    if _eliminate(stack, level):
        stack.kind[below] = STALE
        return
    if stack.kind[level] != CONVEX:
        stack.kind[below] = OPEN
    _note(state, below, stack.square[below])


@inner()
def _eliminate(stack, level):
    """Project the candidates and y off the candidate at position |F|, and write them into level + 1.

    Returns whether the rounding errors became too large, so that columns must be projected again from the
    data.
    """
    F = stack.size[level]
    below = level + 1
    new = frame_at(stack, level + 1)
    old = frame_at(stack, level)
    G = old.G
    row, pivot = old.G[F], old.G[F, F]
    size = old.b[F]
    stack.square[below] = max(0.0, stack.square[level] - size * size / pivot)
    for kept in (stack.size, stack.kind, stack.sized):
        kept[below] = kept[level]
    stack.bound[below] = stack.bound[level]
    new.growth[-1] = old.growth[-1] + abs(size) / pivot * old.growth[F]
    new.off[-1] = old.off[-1] + abs(size) / pivot * old.off[F]
    stale = _STALE * new.growth[-1] * new.growth[-1] > 1
    for j in range(F):
        factor = row[j] / pivot
        for l in range(F):
            new.G[j, l] = G[j, l] - factor * row[l]
        new.b[j] = old.b[j] - factor * size
        new.D[j] = old.D[j]
        new.beta[j] = old.beta[j]
        new.features[j] = old.features[j]
        new.growth[j] = old.growth[j] + abs(factor) * old.growth[F]
        new.off[j] = old.off[j] + abs(factor) * old.off[F]
        stale |= new.G[j, j] < _STALE * new.growth[j] * new.growth[j]
    return stale


@inner()
def _note(state, size, square):
    """Record the first `size` features of `state.inside` as the best set, if it is better by at least SLACK.

    A set that is not better but below the limit becomes a rival, and so does the best set before.

    square : ‖r‖², r the residual of y on this set.
    """
    value, counters = state.value, state.counters
    if square < value[0] - SLACK:
        last = value[0]
        value[0] = square
        value[1] = min(value[1], square + NEAR)
        if counters[MOVES] > 0:
            _keep(state, state.found, counters[SIZE], last)
        copy(state.inside[:size], state.found)
        counters[SIZE] = size
        counters[MOVES] += 1
    elif square < value[1]:
        _keep(state, state.inside, size, square)


@inner()
def _keep(state, features, size, square):
    """Keep the first `size` features as a rival, if `square` is below the limit.

    If there is no room for it, rivals that are no longer below the limit are forgotten. If there still is
    none, the limit falls below the best value, so that the search no longer looks for rivals.
    """
    value, counters, rivals, squares = state.value, state.counters, state.rivals, state.squares
    if square >= value[1]:
        return
    if counters[NEARBY] == len(squares):
        kept = 0
        for i in range(len(squares)):
            if squares[i] < value[1]:
                copy(rivals[i], rivals[kept])
                squares[kept] = squares[i]
                kept += 1
        counters[NEARBY] = kept
    at = counters[NEARBY]
    if at == len(squares):
        value[1] = value[0] - SLACK
        return
    rivals[at, 0] = size
    copy(features[:size], rivals[at, 1:])
    squares[at] = square
    counters[NEARBY] += 1


@inner()
def is_outside(data, basis, square, size, x):
    """Return whether the column x is certainly outside the span of `basis`.

    An undecided case is recorded in `data.seen`. square, size : the squared distance of x to the span, and
    its squared size s(x)² of `squared_size`, to which the error of `square` is proportional.
    """
    n = data.X.shape[1] - data.fixed
    outside = outside_span(data.exact, square, size, x, basis.members, n, data.volume)
    if outside < 0:
        data.seen[0] = 1
    return outside > 0


@inner()
def squared_size(data, basis, z, x):
    """Return the squared size s(x)² = own_x² + Σ (own_i·b_i)², which measures the error of the projected z.

    z is X_x or y. b = TQz are its coefficients on X_I = QR, T = R⁻¹, and own_i is the error of column i.
    """
    Q, T = basis.Q, basis.inverse
    own = data.own
    t = len(Q)
    total = own[x] * own[x]
    h = np.empty(t)
    for l in range(t):
        h[l] = dot(Q[l], z)
    for i in range(t):
        b = 0.0
        for l in range(i, t):
            b += T[i, l] * h[l]
        b *= own[basis.inside[i]]
        total += b * b
    return total


@inner()
def basis_of(data, inside):
    """Return the `SubsetBasis` of the columns `inside`."""
    X = data.X
    t = len(inside)
    Q, T = np.zeros((t, X.shape[1])), np.zeros((t, t))
    members = np.empty(t, np.intp)
    shares = np.empty(t)
    p = 0
    for s in range(t):
        x = inside[s]
        before = SubsetBasis(Q[:s], T, inside[:s], members[:p])
        size = squared_size(data, before, X[x], x)
        for l in range(s):
            T[l, s] = -dot(Q[l], X[x])
        copy(X[x], Q[s])
        length = project(Q, s, Q[s], shares)
        if not is_outside(data, before, length * length, size, x):
            for i in range(Q.shape[1]):
                Q[s, i] = 0
            for l in range(s):
                T[l, s] = 0
            continue
        members[p] = x
        p += 1
        for i in range(Q.shape[1]):
            Q[s, i] /= length
        # column s of R⁻¹ is (−R⁻¹R_s, 1)/length
        for i in range(s):
            total = 0.0
            for l in range(i, s):
                total += T[i, l] * T[l, s]
            T[i, s] = total
        T[s, s] = 1
        for i in range(s + 1):
            T[i, s] /= length
    return SubsetBasis(Q, T, inside, members[:p])


@kernel()
def project_all(data, forced):
    """Project the columns and y off the forced columns, in place, and fill `own`, the errors of the results.

    Columns in the span of the forced columns become zero. Returns the forced columns that are not in the span
    of earlier forced columns.
    """
    d, t = len(data.X), len(forced)
    basis = basis_of(data, forced)
    shares = np.empty(t)
    own = np.zeros(d + 1)
    own[d] = math.sqrt(squared_size(data, basis, data.y, d))
    project(basis.Q, t, data.y, shares)
    used = np.zeros(d, np.bool_)
    for x in basis.members:
        used[x] = True
    for x in range(d):
        row = data.X[x]
        size = squared_size(data, basis, row, x)
        length = project(basis.Q, t, row, shares)
        if used[x] or not is_outside(data, basis, length * length, size, x):
            length = np.inf
        own[x] = math.sqrt(size) / length
        for i in range(row.size):
            row[i] /= length
    copy(own, data.own)
    return basis.members


@inner()
def square_error(square, size, unit):
    """Return a bound on the rounding error of ‖r‖² = square, given the squared size s(y)² = size."""
    if unit.of_squares:
        return unit.u * size
    root, aim = math.sqrt(square), math.sqrt(size)
    return unit.u * root * (2 * aim + unit.root * root) + (unit.u * aim) * (unit.u * aim)


@inner(**ONCE)
def measure(data, stack, t, inside):
    """Fill level t by projecting the data off the features `inside`, and scale the columns to unit length.

    Columns in the span of these features are dropped. D and beta of the level become zero, because they
    belonged to columns of another length.
    """
    X, y = data.X, data.y
    unit = data.exact.unit
    frame = frame_at(stack, t)
    b, index, growth, off = frame.b, frame.features, frame.growth, frame.off
    basis = basis_of(data, inside[:t])
    r = y.copy()
    shares = np.empty(t)
    aim = math.sqrt(squared_size(data, basis, y, len(X)))
    length = project(basis.Q, t, r, shares)
    stack.square[t] = length * length
    Z = np.empty((stack.size[t], X.shape[1]))
    kept = 0
    for j in range(growth.size):
        growth[j] = 1.0
    off[-1] = unit.u * aim
    for j in range(stack.size[t]):
        x = index[j]
        copy(X[x], Z[kept])
        size = squared_size(data, basis, X[x], x)
        length = project(basis.Q, t, Z[kept], shares)
        if not is_outside(data, basis, length * length, size, x):
            continue
        wide = math.sqrt(size) / length
        off[kept] = unit.u * (unit.root + (wide * (aim + wide) if unit.of_squares else wide))
        for i in range(Z.shape[1]):
            Z[kept, i] /= length
        index[kept] = x
        b[kept] = dot(Z[kept], r)
        frame.D[kept] = frame.beta[kept] = 0.0
        kept += 1
    for j in range(kept):
        for l in range(j + 1):
            frame.G[j, l] = frame.G[l, j] = dot(Z[j], Z[l])
    stack.size[t] = kept


@inner()
def _cholesky(C, shift, share, L, F):
    """Compute the Cholesky factor L of C − share·diag(shift), for the first F rows.

    Returns False if a pivot is not positive by more than rounding.
    """
    for j in range(F):
        below = L[j]
        pivot = C[j, j] - share * shift[j] - dot(below[:j], below[:j])
        if pivot <= 1e-8 * C[j, j]:
            return False
        root = math.sqrt(pivot)
        below[j] = root
        for i in range(j + 1, F):
            row = L[i]
            row[j] = (C[i, j] - dot(row[:j], below[:j])) / root
    return True


@inner()
def _inverse_diagonal(L, h, F):
    """Fill h with the diagonal of (LLᵀ)⁻¹, which holds the squared norms of the columns of L⁻¹."""
    e = np.empty(F)
    for j in range(F):
        h[j] = 0
        for i in range(j, F):
            e[i] = ((1.0 if i == j else 0.0) - dot(L[i, j:i], e[j:i])) / L[i, i]
            h[j] += e[i] * e[i]


@inner(**ONCE)
def convexify(stack, level):
    """Compute a diagonal D ⪯ C proportional to 1/diag(C⁻¹), if the matrix C is positive definite.

    C is the residual Gram matrix. D is nearly as large as C ⪰ D allows. The entry C_jl has an error of at
    most w_j + w_l. So the error of C is ⪯ diag(F·w_j + Σ w), F the number of columns, and this diagonal is
    subtracted from D.
    """
    F = stack.size[level]
    frame = frame_at(stack, level)
    C, D, w = frame.G, frame.D, frame.off
    stack.sized[level] = F
    stack.kind[level] = OPEN if F > 0 else NONE
    L = np.empty((F, F))
    h = np.zeros(F)
    if F > 0 and _cholesky(C, h, 0.0, L, F):
        _inverse_diagonal(L, h, F)
        least = np.inf
        for j in range(F):
            h[j] = 1 / h[j]
            least = min(least, h[j] / C[j, j])
        low = _share(C, h, L, F)
        total = 0.0
        enough = low * least > _LEAST
        for j in range(F):
            total += w[j]
        for j in range(F):
            enough &= low * h[j] > 4 * (F * w[j] + total)
            D[j] = low * h[j] * (1 - _SAFE) - F * w[j] - total
        if enough:
            stack.kind[level] = CONVEX


@inner()
def _share(C, h, L, F):
    """Return a large t with C ⪰ t·diag(h), h = 1/diag(C⁻¹).

    t ≥ 1/F, because the F eigenvalues of h^½C⁻¹h^½ sum to F.
    """
    low = 1.0 / F
    high = 1.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if _cholesky(C, h, middle, L, F):
            low = middle
        else:
            high = middle
    return low


@inner(**ONCE)
def circles(stack, level, m):
    """Compute a diagonal D with C_A ⪰ D_A for all |A| ≤ m, by Gershgorin's circles.

    C is the residual Gram matrix. D_j is C_jj·(1 − s_j) minus an error bound, where s_j is the sum of the
    m − 1 largest |correlations| of column j with other columns.
    """
    F = stack.size[level]
    frame = frame_at(stack, level)
    C, D, w = frame.G, frame.D, frame.off
    sizes = np.empty(F)
    most = 0.0
    for j in range(F):
        most = max(most, w[j])
    for j in range(F):
        for l in range(F):
            sizes[l] = abs(C[j, l]) / math.sqrt(C[l, l])
        sizes[j] = 0
        D[j] = C[j, j] - _largest(sizes, F, m - 1)[0] * math.sqrt(C[j, j]) - m * (w[j] + most)
        if D[j] <= _LEAST * C[j, j]:
            stack.kind[level] = NONE
            return
    stack.kind[level] = SPARSE


@inner(**ONCE)
def leaf(stack, state, level):
    """Compare all sets that add the candidate at position |F| and up to two further candidates to I.

    I are the included features, F the candidates. Returns False if the columns must be projected again first.
    """
    F = stack.size[level]
    frame = frame_at(stack, level)
    work = state.work
    G, growth, off = frame.G, frame.growth, frame.off
    u, c, p, w = work[0], work[1], work[2], work[3]
    root = math.sqrt(G[F, F])
    share = frame.b[F] / root
    grown = growth[-1] + abs(share) / root * growth[F]
    if _STALE * grown * grown > 1:
        return False
    last = off[-1] + abs(share) / root * off[F]
    for j in range(F):
        p[j] = G[F, j] / root
        length = G[j, j] - p[j] * p[j]
        grown = growth[j] + abs(p[j]) / root * growth[F]
        if length < _STALE * grown * grown:
            return False
        u[j] = 1 / math.sqrt(length)
        w[j] = (off[j] + abs(p[j]) / root * off[F]) * u[j] + last
        c[j] = (frame.b[j] - p[j] * share) * u[j]
        p[j] *= u[j]
    state.counters[NODES] += 1
    rest = max(0.0, stack.square[level] - share * share)
    _note(state, level + 1, rest)
    _try(stack, state, level, level + 1, rest)
    return True


@inner(**ONCE)
def _scan(stack, state, level):
    """Compare all sets that add one or two candidates of this level to the included features."""
    frame = frame_at(stack, level)
    work = state.work
    u, c, p, w = work[0], work[1], work[2], work[3]
    for j in range(stack.size[level]):
        u[j] = 1 / math.sqrt(frame.G[j, j])
        c[j] = frame.b[j] * u[j]
        p[j] = 0
        w[j] = frame.off[j] * u[j] + frame.off[-1]
    _try(stack, state, level, level, stack.square[level])


@inner()
def _try(stack, state, level, size, square):
    """Compare all sets that add one candidate to the first `size` features inside, or two if m allows it.

    square is ‖P^⊥y‖², where P is the projection on these features. The four rows of `work` are vectors (u, c,
    p, w) with an entry for each candidate. The candidates are projected off the features inside and scaled to
    unit length: c holds the inner products of these columns with y, and w the errors of these products. The
    inner product of two of these columns is u_ju_lG_jl − p_jp_l, where G is the residual Gram matrix. A set
    whose error exceeds _ERROR is compared by projection if it may be better than the best set.
    """
    F = stack.size[level]
    index = stack.features[level]
    inside = state.inside
    c, w = state.work[1], state.work[3]
    top = 0
    for j in range(F):
        if abs(c[j]) > abs(c[top]):
            top = j
    for j in range(F):
        gain = c[j] * c[j]
        needed = square - state.value[1]
        if j == top or gain + 4 * w[j] > needed:
            if 4 * w[j] > _ERROR and gain + 4 * w[j] > needed:
                _doubt(state, size, index[j], index[j])
            else:
                inside[size] = index[j]
                _note(state, size + 1, max(0.0, square - gain))
    if state.m - size >= 2:
        _pairs(state, stack.G[level], index, F, size, square)


@inner(**ONCE)
def _pairs(state, G, index, F, size, square):
    """Compare all sets that add a pair of candidates (see `_try`).

    Let ρ be the correlation of a pair (j, l). The error of the gain of the pair, before the gain is divided
    by 1 − ρ², is 8(w_j + w_l), where w_j is the error of the inner product of column j with y.
    """
    inside, work = state.inside, state.work
    u, c, p, w = work[0], work[1], work[2], work[3]
    for j in range(F):
        if _better(G[j], u, c, p, w, j, square - state.value[1]) == 0:
            continue
        for l in range(j):
            rho = G[j, l] * u[j] * u[l] - p[j] * p[l]
            height = 1 - rho * rho
            gain = c[j] * c[j] + c[l] * c[l] - 2 * rho * c[j] * c[l]
            error = 8 * (w[j] + w[l])
            clear = height > _PARALLEL and error <= _ERROR
            if clear or gain > (square - state.value[1]) * height - max(error, _ERROR):
                if clear:
                    inside[size], inside[size + 1] = index[j], index[l]
                    _note(state, size + 2, max(0.0, square - gain / height))
                else:
                    _doubt(state, size, index[j], index[l])


@inner()
def _better(row, u, c, p, w, j, needed):
    """Return the number of l < j for which the pair (l, j) may reduce ‖r‖² by more than `needed`.

    row : row j of the residual Gram matrix. u, c, p, w : the vectors of `_try`.
    """
    hits = 0
    uj = u[j]
    cj = c[j]
    pj = p[j]
    wj = w[j]
    for l in range(j):
        rho = row[l] * uj * u[l] - pj * p[l]
        height = 1 - rho * rho
        gain = cj * cj + c[l] * c[l] - 2 * rho * cj * c[l]
        hits += gain > needed * height - max(_ERROR, 8 * (wj + w[l]))
    return hits


@inner()
def _doubt(state, size, a, b):
    """Note that the set of a, b and the first `size` features inside must be compared by projection.

    `renew` does this comparison. a and b may be equal: then the set has one candidate.
    """
    counters = state.counters
    state.unclear[counters[UNCLEAR]] = a * state.work.shape[1] + b
    counters[UNCLEAR] = counters[UNCLEAR] + 1
    counters[WITHIN] = size


@kernel()
def remainder(data, inside):
    """Return ‖P_I^⊥y‖² for I = `inside`, computed by projection, and a bound on its rounding error."""
    basis = basis_of(data, inside)
    size = squared_size(data, basis, data.y, len(data.X))
    length = project(basis.Q, len(inside), data.y.copy(), np.empty(len(inside)))
    square = length * length
    return square, square_error(square, size, data.exact.unit)
