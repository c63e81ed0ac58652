"""Checks of certificates in fractions."""

from fractions import Fraction

from fractional import dot, fractions

F = Fraction


def is_solution(X, y, step, t, normalized):
    """The KKT conditions at λ = (1 − t)λ* of the β that the step states, in fractions."""
    rows = fractions(X)
    columns = list(zip(*rows, strict=True))
    beta = [F(0)] * len(columns)
    for j, b, g in zip(step.selected, step.coef, step.rate, strict=True):
        beta[j] = b + t * g
    for i, s, u in zip(step.tied, step.signs, step.direction, strict=True):
        beta[i] = s * t * u
    r = [v - dot(row, beta) for v, row in zip(fractions(y), rows, strict=True)]
    for j, x in enumerate(columns):
        c, bound = dot(x, r), (1 - t) ** 2 * step.lam_star_squared * (dot(x, x) if normalized else 1)
        if j in step.selected:
            assert c == 0
        else:
            assert c * c <= bound
            assert beta[j] == 0 or (c * c == bound and c * beta[j] >= 0)
    return True


def both(certificate, X, y):
    exact, rounded = certificate.verify(X, y, exact=True), certificate.verify(X, y)
    assert (exact.failures, rounded.failures) == ((), ())
    assert exact.steps == rounded.steps == len(certificate.steps)
    return True
