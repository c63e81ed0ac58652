"""The vectors of the inverse scale space flow: when features arrive, and errors of s (`lasso._flow`).

The arrays have an entry for each of the d features.
"""

import numpy as np

from sparselin._kernels import inner, kernel


@inner(inline="always")
def _interval(s, s_error, c, c_error):
    """Return the gap 1 − s·sign c, and bounds on the Δ ≥ 0 with s + Δc = sign c.

    If the errors leave the sign of c open, the gap is 1 − |s|, and there is no upper bound. If c and its
    error are zero, s does not move.
    """
    size = abs(c)
    gap = 1.0 - abs(s)
    low, high = np.inf, np.inf
    if size > c_error:
        gap = 1.0 - s if c > 0 else 1.0 + s
        high = (gap + s_error) / (size - c_error)
    if c_error > 0:
        low = max(gap - s_error, 0.0) / (size + c_error)
    return gap, low, high


@kernel()
def arrivals(s, s_error, c, c_error):
    """Return the gaps and the bounds of `_interval` for several features."""
    gap = np.empty(s.size)
    low = np.empty(s.size)
    high = np.empty(s.size)
    for j in range(s.size):
        gap[j], low[j], high[j] = _interval(s[j], s_error[j], c[j], c_error[j])
    return gap, low, high


@kernel()
def earliest(s, error, flow, c, c_error):
    """Return the features that may arrive first: their intervals meet that of the first one.

    error, flow : two bounds, whose sum bounds the error of s.
    """
    low = np.empty(s.size)
    least = np.inf
    for j in range(s.size):
        _, low[j], high = _interval(s[j], error[j] + flow[j], c[j], c_error[j])
        least = min(least, high)
    count = 0
    for j in range(s.size):
        count += (low[j] <= least) & (low[j] < np.inf)
    T = np.empty(count, np.intp)
    count = 0
    for j in range(s.size):
        if (low[j] <= least) & (low[j] < np.inf):
            T[count] = j
            count += 1
    return T


@kernel()
def move(step, c, c_error, unit, s, sum_error):
    """Add step·c to s, with |s| ≤ 1, and the error of this sum to `sum_error`, in place.

    unit : a bound on the relative rounding error of an operation.
    """
    for j in range(s.size):
        moved = s[j] + step * c[j]
        sum_error[j] += step * c_error[j] + unit * (abs(moved) + step * abs(c[j]))
        s[j] = min(max(moved, -1.0), 1.0)


@kernel()
def errors_after(drift, sign, norms, times, c, new, one_time, event):
    """Compute the errors of s after an event from those before it, in place, as `lasso._flow` derives them.

    drift : the error of s_j on the step, relative to ‖X_j‖, for features that move.
    sign : which features are at rest on the step; their entries are not zero.
    times : bounds on the errors of the time, and of the step.
    c, new : the correlations before and after the event.
    one_time, event : bounds on the errors of s at one time, and at the event.
    """
    at_one_time, of_step = times
    for j in range(sign.size):
        grown = drift * norms[j] if sign[j] == 0 else 0.0
        before = abs(c[j])
        first = one_time[j] + grown + at_one_time * abs(new[j] - c[j])
        second = event[j] + grown + of_step * before
        one_time[j] = first
        event[j] = min(second, first + at_one_time * max(before, abs(new[j])))


@kernel()
def stop(fixed, sign, fitted, c, c_error):
    """Set c and its error to zero on features that do not move: the fixed ones, those on the face, or all."""
    for j in range(c.size):
        if fixed[j] | (sign[j] != 0) | fitted:
            c[j], c_error[j] = 0.0, 0.0
