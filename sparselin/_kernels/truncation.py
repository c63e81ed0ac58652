"""The truncation of a line or of a circle by the linear inequalities of a selection event.

Row (j, ±) of a step is the inequality D_j±·v ∓ c_j ≥ 0, in which v and c_j are linear functions of y
(`post_selection._events`). `slack` holds its left side at y, `lead` and `B` hold v and c_j at each of h
directions. The kernels return an outer and an inner truncation: the first holds the exact one, and the exact
one holds the second, if the errors of all numbers are within their bounds.
"""

import numpy as np

from sparselin._kernels import kernel


@kernel()
def shorten(slack, slack_error, D, D_error, lead, lead_error, B, B_error, reach):
    """Shorten intervals of a line through y until they satisfy all rows of a step.

    slack, slack_error, D, D_error : (2, d); rows whose slack is infinite are left out.
    lead, lead_error : (h,) v at each direction, and the bounds on its errors.
    B, B_error : (d, h) c_j at each direction, and (d,) bounds on its errors.
    reach : (4, h) the outer and the inner distance to the upper end, then those to the lower end. A row
        whose slack divided by the largest possible slope exceeds all of them is skipped.
    """
    d, h = B.shape
    longest = (np.abs(lead) + lead_error).max()
    far = max(reach[0].max(), reach[2].max())
    done = 0
    for j in range(d):
        widest = -1.0
        for sign in range(2):
            low = slack[sign, j] - slack_error[sign, j]
            if not low < np.inf:
                continue
            if widest < 0:
                widest = 0.0
                for i in range(h):
                    widest = max(widest, abs(B[j, i]))
            steepest = (abs(D[sign, j]) + D_error[sign, j]) * longest + widest + B_error[j]
            if low >= far * steepest:
                continue
            high = slack[sign, j] + slack_error[sign, j]
            for i in range(h):
                b = B[j, i] if sign == 0 else -B[j, i]
                slope = D[sign, j] * lead[i] - b
                error = abs(D[sign, j]) * lead_error[i] + D_error[sign, j] * (abs(lead[i]) + lead_error[i])
                error += B_error[j]
                if slope + error < 0:
                    reach[0, i] = min(reach[0, i], high / -(slope + error))
                if slope - error < 0:
                    reach[1, i] = min(reach[1, i], max(low, 0.0) / (error - slope))
                if error - slope < 0:
                    reach[2, i] = min(reach[2, i], high / (slope - error))
                if -slope - error < 0:
                    reach[3, i] = min(reach[3, i], max(low, 0.0) / (slope + error))
            done += 1
            if done % 64 == 0:
                far = max(reach[0].max(), reach[2].max())
