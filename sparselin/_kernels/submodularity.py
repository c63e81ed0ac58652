"""The submodularity ratio of R² by enumeration: one pass of modified Gram-Schmidt for each set.

A row of the arrays belongs to a column x that is projected off a set T. The row holds z = x − X_T·b, in `n`
coordinates, and then −b, with an entry for each element of T in the order of addition. So 1 + ‖b‖² is the
square of the size s(x), to which the error of z is proportional. The last row belongs to y in place of x. See
`sparselin.guarantees.submodularity` for the errors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import ONCE, inner, kernel
from sparselin._kernels.dependence import DependenceTest, outside_span, span
from sparselin._kernels.linear_algebra import copy_rows, insert
from sparselin._kernels.primitives import copy, dot, subtract

# A joint gain whose root is smaller counts as zero.
NEGLIGIBLE = 1e-12
# Facts of a pair (L, A): the sum of single gains, the joint gain, the squares of their errors; and ‖r‖² and
# s(y)² for r, which is y projected off L and A.
SINGLES, JOINT, ERRORS, ERROR, REST, AIM = range(6)
# Facts of a candidate: its single gain, the square of its error, ρ², and the error of the direction of z.
GAIN, OFF, SQUARE, DIRECTION = range(4)
LOWER, UPPER, PAIRS = range(3)  # entries of `Best.bounds`


class UnitColumns(NamedTuple):
    """The data of the enumeration: rows Z for the unit columns and, last, for unit y.

    A row consists of the column in n coordinates, followed by space for |U| + k coefficients. U is the set of
    columns of which L runs through the subsets, and k is the largest |A| of the sets A that are added to L.
    """

    Z: NDArray[np.float64]
    U: NDArray[np.intp]
    k: int
    n: int
    exact: DependenceTest


class Best(NamedTuple):
    """The best pair (L, A) so far: the ratio compares the gains of the columns of A at the base set L.

    bounds : the lower and the upper bound on the ratio, and the number of pairs (L, A) examined.
    base, added : the L and the A at which the upper bound is attained, padded with −1.
    """

    bounds: NDArray[np.float64]
    base: NDArray[np.intp]
    added: NDArray[np.intp]


@inner(forceinline=True)
def _project(V, row, square, t, q, f, out):
    """Project the rows of V off z, the first n entries of `row`, and write them into `out`.

    A row has n entries for a column, projected off the columns of a set T, and after them the coefficients on
    the columns of T. The column that `row` stands for becomes element t of T. So entry n + t of each new row
    is the coefficient on this column. square is ‖z‖². q is filled with the row, and f (n,) with z/‖z‖². The
    function is inlined, because in each call Numba would count references to five arrays.
    """
    n = f.size
    copy(row, q)
    q[n + t] += 1.0
    for i in range(n):
        f[i] = row[i] / square
    for a in range(len(V)):
        share = dot(V[a, :n], f)
        copy(V[a], out[a])
        subtract(share, q, out[a])


@inner()
def _dots(v, r, n):
    """Return ‖z‖², the squared size s² and ⟨z, r⟩ for a row v; z and r are the first n entries of v and r."""
    z = v[:n]
    return dot(z, z), 1.0 + dot(v[n:], v[n:]), dot(z, r[:n])


@inner()
def _direction_error(square, size, unit):
    """Return a bound on the error of the direction z/ρ of a projected column z, given ρ² and size = s².

    ρ is the length of z, and s the size of the column, to which the error of z is proportional.
    """
    ratio = size / square
    return unit.u * (ratio if unit.of_squares else math.sqrt(ratio))


@inner()
def _error(square, size, rest, aim, unit):
    """Return a bound on the squared error of c/ρ, c = ⟨z, r⟩, for a column x projected to z of length ρ.

    square = ρ², size = s(x)², rest = ‖r‖², aim = s(y)². r is the residual of y, and s(x) is the size of x, to
    which the error of z is proportional.
    """
    ratio = size / square
    n = unit.root * unit.root
    if unit.of_squares:
        return 3 * unit.u * unit.u * (ratio * aim + rest * (ratio * ratio + n))
    return 3 * unit.u * unit.u * (rest * (4 * ratio + n) + aim)


@inner(**ONCE)
def _spectral(rows, facts, members, n, l):
    """Return a lower bound on the least eigenvalue λ of H_A, the residual correlations of A = `members`.

    `rows` are the rows of A, each projected off the earlier ones; l = |L|. The bound follows from the trace τ
    of H_A⁻¹. Let a = |A|. The other a − 1 eigenvalues have the mean (a − λ)/(a − 1), so the convexity of 1/x
    gives τ ≥ 1/λ + (a − 1)²/(a − λ). Rounding changes √λ by at most the root of the sum of the squares of the
    entries DIRECTION in `facts`.
    """
    trace = 0.0
    off = 0.0
    a = len(rows)
    for i in range(a):
        total = facts[SQUARE, members[i]]
        for j in range(i):
            total += rows[i, n + l + j] * rows[i, n + l + j] * facts[SQUARE, members[j]]
        trace += total / _dots(rows[i], rows[i], n)[0]
        off += facts[DIRECTION, members[i]] * facts[DIRECTION, members[i]]
    half = a * (trace - a + 2)
    least = 2 * a / (half + math.sqrt(max(0.0, half * half - 4 * trace * a)))
    root = max(0.0, math.sqrt(max(0.0, least)) * (1 - 1e-12) - 2 * math.sqrt(off))
    return root * root


@inner()
def ratio_bounds(singles, joint, errors, error):
    """Return a lower and an upper bound on the ratio singles/joint.

    `singles` is a sum of gains and `joint` a gain. √singles has an error of at most √errors, and √joint an
    error of at most √error.
    """
    a = math.sqrt(singles)
    b = math.sqrt(joint)
    e = math.sqrt(errors)
    f = math.sqrt(error)
    low = max(0.0, a - e) / (b + f)
    high = (a + e) / (b - f) if b > f else np.inf
    return low * low, high * high


@kernel()
def _is_hopeless(V, n, gains, at, left, ratio, slack):
    """Return whether no set of A and at most `left` more columns can have a ratio below the current bound.

    This is certain if the sum of the `left` largest ratio·h_x − g_x is ≤ slack, where g_x are the gains at L,
    and h_x the gains after A.

    ratio : the current bound, divided by a lower bound on the eigenvalues of residual correlation matrices.
    """
    top = np.zeros(left)
    for a in range(len(V) - 1):
        square, _, c = _dots(V[a], V[-1], n)
        excess = ratio * c * c / square - gains[at[a]]
        if not excess <= top[-1]:
            insert(top, excess)
    total = 0.0
    for s in range(left):
        total += top[s]
    return total <= slack


@inner()
def _pad(members, out):
    """Write `members` into `out`, and fill the rest of `out` with −1."""
    for i in range(out.size):
        out[i] = members[i] if i < members.size else -1


@inner()
def _take(pair, best, added):
    """Record a pair (L, A), A = `added`, if its ratio is certainly the least so far. Return whether it is."""
    _, joint, _, error = pair
    high = ratio_bounds(*pair)[1]
    if not (high < best.bounds[UPPER] and math.sqrt(joint) - math.sqrt(error) > NEGLIGIBLE):
        return False
    best.bounds[UPPER] = high
    _pad(added, best.added)
    return True


@inner(**ONCE)
def _compare(pair, rows, facts, n, best, members):
    """Update the bounds on the ratio by a pair (L, A), where members = (L, A).

    pair : SINGLES, JOINT, ERRORS and ERROR of the pair, which `ratio_bounds` defines. rows : the rows of A.
    facts : the table of gains and errors of single columns.
    """
    _, joint, _, error = pair
    if math.sqrt(joint) + math.sqrt(error) > NEGLIGIBLE:
        l = len(members) - len(rows)
        low = ratio_bounds(*pair)[0]
        if low < best.bounds[LOWER]:
            floor = _spectral(rows, facts, members[l:], n, l)
            best.bounds[LOWER] = min(best.bounds[LOWER], max(low, floor))
        _take(pair, best, members[l:])


@inner(**ONCE)
def _all_additions(data, candidates, L, mu, worst, limit, best):
    """Examine all sets A of 2, …, k candidates at the base set L, except the sets that `mu` excludes.

    `every_base` says how mu excludes sets.
    """
    V, index, facts = candidates
    n, exact = data.n, data.exact
    bounds = best.bounds
    m, l = len(index), len(L)
    k = min(data.k, m)
    unit = exact.unit
    threshold = span(exact.unit)
    gains, off = facts[GAIN], facts[OFF]
    # level s: the candidates from branch[s] on, and y, projected off L and s elements of A
    Vs = np.empty((k, *V.shape))
    branch, sums = np.zeros(k, np.int64), np.zeros((k, 6))
    Q, f = np.empty((k, V.shape[1])), np.empty(n)
    members = np.empty(l + k, np.int64)
    rest, aim, _ = _dots(V[m], V[m], n)
    copy_rows(V, Vs[0])
    copy(L, members)
    sums[0, REST], sums[0, AIM] = rest, aim
    s = 0
    while s >= 0:
        p = branch[s]
        if p == m:
            s -= 1
            continue
        branch[s] += 1
        v = Vs[s, p]
        x = index[p]
        square, size, c = _dots(v, Vs[s, m], n)
        one, wrong = sums[s, SINGLES] + gains[x], sums[s, ERRORS] + off[x]
        if not square > threshold * size:
            outside = outside_span(exact, square, size, x, members[: l + s], n, 0.0)
            if outside < 0:  # the gain of A is at most ‖r‖²
                bounds[LOWER] = min(bounds[LOWER], ratio_bounds(one, rest, wrong, 1e-6 * rest)[0])
            if outside <= 0:
                continue
        both = sums[s, JOINT] + c * c / square
        less = sums[s, ERROR] + _error(square, size, sums[s, REST], sums[s, AIM], unit)
        members[l + s] = x
        if s > 0:
            bounds[PAIRS] += 1
            if bounds[PAIRS] > limit:
                return
            if not (wrong <= 1e-6 * one and less <= 1e-6 * both and one >= 1.01 * bounds[UPPER] * both):
                copy(v, Q[s])
                _compare((one, both, wrong, less), Q[: s + 1], facts, n, best, members[: l + s + 1])
        if s + 1 == k or p + 1 == m:
            continue
        _project(Vs[s, p + 1 :], v, square, l + s, Q[s], f, Vs[s + 1, p + 1 :])
        if mu > 0 and s + 2 < k and both > worst:
            rows = Vs[s + 1, p + 1 :]
            bound = bounds[UPPER] * (1 + 1e-6)
            if _is_hopeless(rows, n, gains, index[p + 1 :], k - s - 1, bound / mu, one - bound * both):
                continue
        s += 1
        branch[s] = p + 1
        sums[s, SINGLES], sums[s, JOINT] = one, both
        sums[s, ERRORS], sums[s, ERROR] = wrong, less
        sums[s, REST], sums[s, AIM], _ = _dots(Vs[s, m], Vs[s, m], n)


@inner()
def _candidates(data, Z, inside, members, ordered):
    """Return the candidates at L = `members`, and whether rounding leaves a column undecided.

    A column is undecided if rounding does not tell whether it is a candidate. L is the base set. Candidates
    are the columns outside the span of L. They are returned as three arrays: their rows, projected off L, and
    last the row of y; their indices, by decreasing gain if `ordered`; and the gains and errors by index.
    """
    n, exact = data.n, data.exact
    d = len(Z) - 1
    index, facts = np.empty(d + 1, np.int64), np.empty((4, d))
    rest, aim, _ = _dots(Z[d], Z[d], n)
    m, open_ = 0, False
    for x in range(d):
        if not inside[x]:
            square, size, c = _dots(Z[x], Z[d], n)
            outside = outside_span(exact, square, size, x, members, n, 0.0)
            open_ |= outside < 0
            if outside > 0:
                facts[GAIN, x] = c * c / square
                a = m
                while ordered and a > 0 and facts[GAIN, index[a - 1]] < facts[GAIN, x]:
                    index[a] = index[a - 1]
                    a -= 1
                index[a] = x
                facts[OFF, x] = _error(square, size, rest, aim, exact.unit)
                facts[SQUARE, x] = square
                facts[DIRECTION, x] = _direction_error(square, size, exact.unit)
                m += 1
    index[m] = d
    V = np.empty((m + 1, Z.shape[1]))
    for a in range(m + 1):
        copy(Z[index[a]], V[a])
    return (V, index[:m], facts), open_


@inner(**ONCE)
def _at_base(data, Z, inside, L, mu, worst, limit, best):
    """Examine all sets A that may be added to one base set L; Z holds the rows projected off L."""
    square, size, _ = _dots(Z[-1], Z[-1], data.n)
    if data.k > 1 and math.sqrt(square) + data.exact.unit.u * math.sqrt(size) > NEGLIGIBLE:
        upper = best.bounds[UPPER]
        candidates, open_ = _candidates(data, Z, inside, L, mu > 0)
        if open_:
            best.bounds[LOWER] = 0
        if len(candidates[1]) > 1:
            _all_additions(data, candidates, L, mu, worst, limit, best)
        if best.bounds[UPPER] < upper:
            _pad(L, best.base)


@kernel()
def every_base(data, mu, worst, limit, best):
    """Examine all pairs of a set L ⊆ U and a set A of at most k columns, at most `limit` pairs.

    The set L + u is omitted if u is in the span of L. If mu > 0, it is a lower bound on the least eigenvalue
    of every residual correlation matrix. Then no superset of A is examined when the joint gain of A exceeds
    `worst`.
    """
    Z0, U, _, n, exact = data
    u = len(U)
    Z = np.empty((u + 1, *Z0.shape))
    q = np.empty(Z0.shape[1])
    f = np.empty(n)
    branch = np.zeros(u + 1, np.int64)
    members = np.empty(u, np.int64)
    inside = np.zeros(len(Z0), np.bool_)
    copy_rows(Z0, Z[0])
    l, fresh = 0, True
    while l >= 0 and best.bounds[PAIRS] <= limit:
        if fresh:
            _at_base(data, Z[l], inside, members[:l], mu, worst, limit, best)
            branch[l] = 0 if l == 0 else branch[l - 1]
        fresh = False
        if branch[l] >= u:
            l -= 1
            if l >= 0:
                inside[members[l]] = False
            continue
        x = U[branch[l]]
        branch[l] += 1
        square, size, _ = _dots(Z[l, x], Z[l, x], n)
        if outside_span(exact, square, size, x, members[:l], n, 0.0) > 0:
            _project(Z[l], Z[l, x], square, l, q, f, Z[l + 1])
            inside[x] = True
            members[l] = x
            l += 1
            fresh = True


@inner()
def residuals(data, L):
    """Return the candidates at the base set L, whether a column is undecided, and the independent part of L.

    `_candidates` defines the first two of these results.
    """
    Z = data.Z.copy()
    n = data.n
    inside = np.zeros(len(Z), np.bool_)
    members = np.empty(len(L), np.int64)
    l = 0
    q, f = np.empty(Z.shape[1]), np.empty(n)
    for x in L:
        inside[x] = True
        square, size, _ = _dots(Z[x], Z[x], n)
        if outside_span(data.exact, square, size, x, members[:l], n, 0.0) > 0:
            _project(Z, Z[x], square, l, q, f, Z)
            members[l] = x
            l += 1
    candidates, open_ = _candidates(data, Z, inside, members[:l], False)
    return candidates, open_, members[:l]


@kernel()
def correlations(data, L):
    """Return H, the columns outside the span of L, projected off L and scaled to unit length, and an error.

    The error bounds the errors of the residual correlations HHᵀ. It is infinite if rounding leaves undecided
    whether a column is in the span.
    """
    (V, index, facts), open_, _ = residuals(data, L)
    error = np.inf if open_ else 0.0
    unit = data.exact.unit
    H = np.empty((len(index), data.n))
    for a, x in enumerate(index):
        error = max(error, facts[DIRECTION, x] + unit.u * unit.root)
        H[a] = V[a, : data.n] / math.sqrt(facts[SQUARE, x])
    return H, error


@inner()
def _grow_from(data, candidates, L, start, best):
    """Build a set A greedily from candidate `start`: each addition makes the ratio at L as small as possible.

    Returns whether the upper bound on the ratio decreased.
    """
    _, _, k, n, exact = data
    V = candidates[0].copy()
    index, facts = candidates[1], candidates[2]
    m = len(index)
    l = len(L)
    fell = False
    members = np.empty(l + k, np.int64)
    out = np.zeros(m, np.bool_)
    copy(L, members)
    q, f = np.empty(V.shape[1]), np.empty(n)
    one = 0.0
    wrong = 0.0
    both = 0.0
    less = 0.0
    for s in range(min(k, m)):
        choice = start if s == 0 else -1
        least = np.inf
        for a in range(m if s > 0 else 0):
            if out[a]:
                continue
            square, size, c = _dots(V[a], V[m], n)
            if outside_span(exact, square, size, index[a], members[: l + s], n, 0.0) > 0:
                joint = both + c * c / square
                ratio = (one + facts[GAIN, index[a]]) / joint if joint > 0 else np.inf
                if choice < 0 or ratio < least:
                    choice, least = a, ratio
        if choice < 0:
            break
        v, x = V[choice], index[choice]
        square, size, c = _dots(v, V[m], n)
        rest, aim, _ = _dots(V[m], V[m], n)
        one = one + facts[GAIN, x]
        wrong = wrong + facts[OFF, x]
        both = both + c * c / square
        less += _error(square, size, rest, aim, exact.unit)
        members[l + s] = x
        out[choice] = True
        if s > 0:
            best.bounds[PAIRS] += 1
            fell |= _take((one, both, wrong, less), best, members[l : l + s + 1])
        _project(V, v, square, l + s, q, f, V)
    return fell


@kernel()
def grow(data, L, stride, best):
    """Grow sets A at the base set L from every stride-th candidate; return whether `best` changed."""
    candidates, _, members = residuals(data, L)
    fell = False
    for start in range(0, len(candidates[1]), stride):
        fell |= _grow_from(data, candidates, members, start, best)
    return fell
