"""Products Z = VX for few rows V, where BLAS would first copy all of X, and copies X_Jᵀ of columns.

`by_rows` and `by_columns` are only for X with 2**16 entries or more. Such calls are always compiled, unless
SPARSELIN_COMPILE is never or Numba is not installed; then the last bits of Z differ. The compiled sums are in
no stated order, and differ by their rounding errors from processor to processor, as products by BLAS do.

The moments ‖X_j‖² and ⟨X_j, y⟩, also of centred columns, are computed in one pass over X.
"""

import math

import numpy as np

from sparselin._kernels import ONCE, inner, kernel
from sparselin._kernels.primitives import dot

_IN_CACHE = 10**6  # entries
_SUMS_WIDTH = 8192  # columns per strip of the moments: their sums fit into the second-level cache
_WIDTH = 4096  # columns per strip: rows long enough to stream, short enough for the second-level cache
_IN_NO_ORDER = {"fastmath": {"reassoc", "contract"}}


@kernel(**_IN_NO_ORDER)
def by_rows(X, V, Z, start, stop):
    """Compute the columns start..stop of Z = VX (p, d) for X (n, d) in C order.

    Eight rows of X are read for two rows of Z at a time. If p is odd, the last row is computed twice.
    """
    n = X.shape[0]
    p = V.shape[0]
    copy = np.zeros(_WIDTH, Z.dtype)
    for left in range(start, stop, _WIDTH):
        right = min(left + _WIDTH, stop)
        Z[:, left:right] = 0
        for i in range(0, n - 7, 8):
            a, b, c, e = X[i, left:right], X[i + 1, left:right], X[i + 2, left:right], X[i + 3, left:right]
            f, g = X[i + 4, left:right], X[i + 5, left:right]
            h, k = X[i + 6, left:right], X[i + 7, left:right]
            for s in range(0, p, 2):
                u, v = V[s], V[min(s + 1, p - 1)]
                ua, ub, uc, ue = u[i], u[i + 1], u[i + 2], u[i + 3]
                uf, ug, uh, uk = u[i + 4], u[i + 5], u[i + 6], u[i + 7]
                va, vb, vc, ve = v[i], v[i + 1], v[i + 2], v[i + 3]
                vf, vg, vh, vk = v[i + 4], v[i + 5], v[i + 6], v[i + 7]
                upper = Z[s, left:right]
                lower = Z[s + 1, left:right] if s + 1 < p else copy[: right - left]
                for j in range(right - left):
                    upper[j] += (ua * a[j] + ub * b[j] + uc * c[j] + ue * e[j]) + (
                        uf * f[j] + ug * g[j] + uh * h[j] + uk * k[j]
                    )
                    lower[j] += (va * a[j] + vb * b[j] + vc * c[j] + ve * e[j]) + (
                        vf * f[j] + vg * g[j] + vh * h[j] + vk * k[j]
                    )
        for i in range(n - n % 8, n):
            row = X[i, left:right]
            for s in range(p):
                share = V[s, i]
                upper = Z[s, left:right]
                for j in range(right - left):
                    upper[j] += share * row[j]


@kernel(**_IN_NO_ORDER)
def by_columns(Xt, V, Z, start, stop):
    """Compute the columns start..stop of Z = VX for X in Fortran order, given as Xt (d, n).

    Four columns of X are read for two rows of V at a time.
    """
    n = Xt.shape[1]
    p = V.shape[0]
    even = p - p % 2
    last = stop - (stop - start) % 4
    for j in range(start, last, 4):
        a, b, c, e = Xt[j], Xt[j + 1], Xt[j + 2], Xt[j + 3]
        for s in range(0, even, 2):
            u, v = V[s], V[s + 1]
            ua = ub = uc = ue = va = vb = vc = ve = u[0] * 0
            for i in range(n):
                ua += u[i] * a[i]
                ub += u[i] * b[i]
                uc += u[i] * c[i]
                ue += u[i] * e[i]
                va += v[i] * a[i]
                vb += v[i] * b[i]
                vc += v[i] * c[i]
                ve += v[i] * e[i]
            Z[s, j] = ua
            Z[s, j + 1] = ub
            Z[s, j + 2] = uc
            Z[s, j + 3] = ue
            Z[s + 1, j] = va
            Z[s + 1, j + 1] = vb
            Z[s + 1, j + 2] = vc
            Z[s + 1, j + 3] = ve
        if even < p:
            u = V[even]
            ua = ub = uc = ue = u[0] * 0
            for i in range(n):
                ua += u[i] * a[i]
                ub += u[i] * b[i]
                uc += u[i] * c[i]
                ue += u[i] * e[i]
            Z[even, j] = ua
            Z[even, j + 1] = ub
            Z[even, j + 2] = uc
            Z[even, j + 3] = ue
    for j in range(last, stop):
        a = Xt[j]
        for s in range(p):
            u = V[s]
            ua = u[0] * 0
            for i in range(n):
                ua += u[i] * a[i]
            Z[s, j] = ua


@kernel()
def gather_by_rows(X, J, scale, out, rows, start, stop):
    """Set out[rows[m], i] = X[i, J[m]]·scale_m for the rows start..stop of X (n, d) in C order.

    If the columns J lie in many of the cache lines of a row, the whole row is read first, because reading all
    lines of a row is several times faster than reading a selection of them. Returns a sum of the entries that
    were read in advance; without this sum the compiler would remove the reading.
    """
    d = X.shape[1]
    whole = 24 * J.size > d and X.size > _IN_CACHE
    touched = 0.0
    for i in range(start, stop):
        row = X[i]
        if whole:
            for j in range(0, d, 8):
                touched += row[j]
        for m in range(J.size):
            out[rows[m], i] = row[J[m]] * scale[m]
    return touched


@kernel()
def gather_by_columns(Xt, J, scale, out, rows, start, stop):
    """Copy the columns J[start:stop] of X in Fortran order, given as Xt (d, n), as `gather_by_rows` does."""
    for m in range(start, stop):
        source = Xt[J[m]]
        target = out[rows[m]]
        factor = scale[m]
        for i in range(source.size):
            target[i] = source[i] * factor


@kernel()
def moments_by_rows(X, root, t, centres, squares, products, start, stop):
    """Compute ‖z_j‖² and ⟨t, z_j⟩ for the columns start..stop of X (n, d), four rows at a time.

    z_ij = root_i·X_ij − t_i·centre_j. The sums are computed in float64, also for X in float32.
    """
    n = X.shape[0]
    plain = _are_all(root, 1.0) and _are_all(centres[start:stop], 0.0)
    for left in range(start, stop, _SUMS_WIDTH):
        right = min(left + _SUMS_WIDTH, stop)
        square = squares[left:right]
        product = products[left:right]
        centre = centres[left:right]
        square[:], product[:] = 0, 0
        for i in range(0, n - 3, 4):
            a, b, c, e = X[i, left:right], X[i + 1, left:right], X[i + 2, left:right], X[i + 3, left:right]
            ra, rb, rc, re = root[i], root[i + 1], root[i + 2], root[i + 3]
            ta, tb, tc, te = t[i], t[i + 1], t[i + 2], t[i + 3]
            if plain:
                for j in range(right - left):
                    za = np.float64(a[j])
                    zb = np.float64(b[j])
                    zc = np.float64(c[j])
                    ze = np.float64(e[j])
                    square[j] += (za * za + zb * zb) + (zc * zc + ze * ze)
                    product[j] += (ta * za + tb * zb) + (tc * zc + te * ze)
                continue
            for j in range(right - left):
                za, zb = ra * np.float64(a[j]) - ta * centre[j], rb * np.float64(b[j]) - tb * centre[j]
                zc, ze = rc * np.float64(c[j]) - tc * centre[j], re * np.float64(e[j]) - te * centre[j]
                square[j] += (za * za + zb * zb) + (zc * zc + ze * ze)
                product[j] += (ta * za + tb * zb) + (tc * zc + te * ze)
        for i in range(n - n % 4, n):
            row = X[i, left:right]
            for j in range(right - left):
                z = root[i] * np.float64(row[j]) - t[i] * centre[j]
                square[j] += z * z
                product[j] += t[i] * z


@kernel()
def moments_by_columns(Xt, root, t, centres, squares, products, start, stop):
    """Compute the results of `moments_by_rows` from Xt = Xᵀ (d, n)."""
    z = np.empty(t.size)
    plain = _are_all(root, 1.0)
    for j in range(start, stop):
        x, centre = Xt[j], centres[j]
        if plain and centre == 0:  # then z = x
            squares[j], products[j] = dot(x, x), dot(t, x)
            continue
        for i in range(z.size):
            z[i] = root[i] * np.float64(x[i]) - t[i] * centre
        squares[j], products[j] = dot(z, z), dot(t, z)


@inner()
def _are_all(values, value):
    """Return whether all entries of `values` are equal to `value`."""
    for x in values:  # noqa: SIM110
        if x != value:
            return False
    return True


@kernel()
def measure_by_rows(X, y, norms, products):
    """Compute ‖X_j‖ and ⟨y, X_j⟩, and return the results of `_extremes`, for X (n, d)."""
    moments_by_rows(X, np.ones(y.size), y, np.zeros(norms.size), norms, products, 0, norms.size)
    return _extremes(norms, y)


@kernel()
def measure_by_columns(Xt, y, norms, products):
    """Compute the results of `measure_by_rows` from Xt = Xᵀ (d, n)."""
    moments_by_columns(Xt, np.ones(y.size), y, np.zeros(norms.size), norms, products, 0, norms.size)
    return _extremes(norms, y)


@inner(**ONCE)
def _extremes(norms, y):
    """Replace ‖X_j‖² by ‖X_j‖; return the least and the largest one, and ‖y‖.

    The largest ‖X_j‖ is inf if one is not finite.
    """
    least = np.inf
    most = 0.0
    for j in range(norms.size):
        norms[j] = math.sqrt(norms[j])
        least = min(least, norms[j])
        most = max(most, norms[j]) if norms[j] < np.inf else np.inf
    return least, most, math.sqrt(dot(y, y))
