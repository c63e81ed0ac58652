"""The comparison of all sets of at most three columns, without the Gram matrix of all columns.

Let x_i, x_j, x_l be columns of unit length, and c_j = x_jᵀy. After the projection off x_i, the columns have
the squared lengths L_j = 1 − (x_iᵀx_j)², the products ρ = x_jᵀx_l − x_iᵀx_j·x_iᵀx_l with each other, and the
products a_j = c_j − c_i·x_iᵀx_j with y. The pair (j, l) then reduces ‖y‖² by more than N if and only if

    f = (N·ρ/L_j − 2a_ja_l/L_j)ρ + (a_j²/L_j − N)L_l + a_l² > 0,

because L_j·f is L_jL_l − ρ² times the difference of the two.

**Rounding.** Let e_j be a bound on the error of x_j, and √n·u one for the sum of n products. With
w_j = e_j + √n·u, every x_jᵀx_l has an error of at most w_j + w_l, and c_j one of at most w_j + w_y. With
W = w_i + w_j + w_l + w_y the errors of ρ, a_j and a_l are at most 2W; those of L_j, L_l and N = need − c_i²
are at most 4W. All these numbers are at most 1. The derivatives of L_j·f by ρ, a_j and a_l are at most 4, and
those by L_j, L_l and N at most 1. So L_j·f has an error of at most 36W, terms of the order W², and some eps.
A set is reported if L_j·f > −48W.
"""

import numpy as np

from sparselin._kernels import ONCE, inner, kernel

# The bound on the error of L_j·f in units of W. A pair with L_j ≤ NEAR·BOUND·W is left out.
BOUND, NEAR = 48.0, 1000.0


@kernel()
def triples(T, P, c, w, starts, need, out):
    """Report the sets {i, j, l}, i < j < l, that may reduce ‖y‖² by more than `need`.

    Column 0 is zero and stands for no column; so (0, j, l) is a pair, and (0, 0, l) a single column.

    T : the products of the columns j, from starts[1] on, with the columns l, from starts[2] on.
    P : the products of the columns i, from starts[0] on, with all columns.
    c, w : the products of all columns with y, and their w_j + w_y/3.
    out : (m, 3), filled with the sets.

    Returns the number of the sets; `out` has only the first m of them. A set of three is left out if the
    bound is met by two of its columns: L_j ≤ NEAR·BOUND·(w_i + w_j).
    """
    i0, j0, l0 = starts
    rows, width = T.shape
    a = np.empty(width)
    squares = np.empty(width)
    L = np.empty(width)
    terms = np.empty((4, 5))
    worst = w[l0 : l0 + width].max()
    found = 0
    for i in range(i0, i0 + len(P)):
        g = P[i - i0]
        for l in range(width):
            a[l] = c[l0 + l] - c[i] * g[l0 + l]
            squares[l] = a[l] * a[l]
            L[l] = 1 - g[l0 + l] * g[l0 + l]
        for j in range(0, rows, 4):
            last = min(j + 3, rows - 1)
            some = False
            for r in range(4):
                some |= _fill(terms[r], i, j0 + min(j + r, last), g, c, w, need, worst)
            low = max(0, j0 + last + 1 - l0)
            if not some or low >= width + 3:
                continue
            hits = _count(
                T[j, low:],
                T[min(j + 1, last), low:],
                T[min(j + 2, last), low:],
                T[last, low:],
                g[l0 + low : l0 + width],
                a[low:],
                squares[low:],
                L[low:],
                terms,
            )
            for r in range(last + 1 - j):
                for l in range(max(0, j0 + j + r + 1 - l0), width if hits > 0 else min(low, width)):
                    near = NEAR * BOUND * (w[j0 + j + r] + w[l0 + l])
                    height = 1 - T[j + r, l] * T[j + r, l]
                    if i > 0 and (L[l] <= NEAR * BOUND * (w[i] + w[l0 + l]) or height <= near):
                        continue
                    product, share, cross, rise, level = terms[r]
                    level *= (w[i] + w[j0 + j + r] + w[l0 + l]) / (w[i] + w[j0 + j + r] + worst)
                    rho = T[j + r, l] - product * g[l0 + l]
                    if (share * rho - cross * a[l]) * rho + rise * L[l] + squares[l] > level:
                        if found < len(out):
                            out[found] = i, j0 + j + r, l0 + l
                        found += 1
    return found


@inner(**ONCE)
def _fill(terms, i, j, g, c, w, need, worst):
    """Fill x_iᵀx_j, N/L_j, 2a_j/L_j, a_j²/L_j − N and −48W/L_j; return whether the pair (i, j) counts."""
    a = c[j] - c[i] * g[j]
    height = 1 - g[j] * g[j]
    N = need - c[i] * c[i]
    counts = (j > i or j == 0) and (i == 0 or height > NEAR * BOUND * (w[i] + w[j]))
    terms[0] = g[j]
    terms[1] = N / height
    terms[2] = 2 * a / height
    terms[3] = a * a / height - N
    terms[4] = -BOUND * (w[i] + w[j] + worst) / height if counts else np.inf
    return counts


@inner()
def _count(t0, t1, t2, t3, g, a, squares, L, terms):
    """Return the number of columns l ≥ low for which a pair of one of four columns j and l is reported."""
    hits = 0
    for l in range(a.size):
        r0, r1 = t0[l] - terms[0, 0] * g[l], t1[l] - terms[1, 0] * g[l]
        r2, r3 = t2[l] - terms[2, 0] * g[l], t3[l] - terms[3, 0] * g[l]
        f0 = (terms[0, 1] * r0 - terms[0, 2] * a[l]) * r0 + terms[0, 3] * L[l] + squares[l]
        f1 = (terms[1, 1] * r1 - terms[1, 2] * a[l]) * r1 + terms[1, 3] * L[l] + squares[l]
        f2 = (terms[2, 1] * r2 - terms[2, 2] * a[l]) * r2 + terms[2, 3] * L[l] + squares[l]
        f3 = (terms[3, 1] * r3 - terms[3, 2] * a[l]) * r3 + terms[3, 3] * L[l] + squares[l]
        hits += (f0 > terms[0, 4]) | (f1 > terms[1, 4]) | (f2 > terms[2, 4]) | (f3 > terms[3, 4])
    return hits
