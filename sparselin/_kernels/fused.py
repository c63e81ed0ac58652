"""The fused multiply-add, for which compiled code has an instruction (see the module `compiler`)."""

import math
from fractions import Fraction


def multiply_add(a, b, c):
    """Return a·b + c, rounded once, by exact fractions; Python has such a function only from version 3.13 on.

    A sum or product that is not finite is left to floats.
    """
    if not math.isfinite(a * b + c):
        return a * b + c
    return float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))
