"""Spectral set functions by their definition, and the printed searches on tables of all their values."""

import dataclasses

import numpy as np
from hypothesis import strategies as st

from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance


def by_eigenvalues(f, C, S):
    """f(S) from the eigenvalues of C_S, those below 1e-10 being zero."""
    S = list(S)
    values = np.linalg.eigvalsh(C[np.ix_(S, S)]) if S else np.zeros(0)
    if isinstance(f, SmoothedDifferentialEntropy):
        return np.log2(f.delta + values).sum() - (3 * f.k * np.log2(f.delta) if f.k else 0.0)
    if isinstance(f, SpectralVariance):
        return (9.0 * f.k**2 if f.k else 0.0) - ((values - 1) ** 2).sum()
    return (values[values > 1e-10] ** f.alpha).sum()


@st.composite
def designs(draw, max_d=7, unit=True):
    """Small integer columns, often equal, opposite or dependent; scaled to unit length or not."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, max_d))
    entries = draw(st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d))
    X = np.array(entries, float).reshape(n, d)
    X[0, ~X.any(axis=0)] = 1
    return X / np.linalg.norm(X, axis=0) if unit else X


def members(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


REGULARIZERS = [
    SmoothedDifferentialEntropy(1.0),
    SmoothedDifferentialEntropy(0.1, k=6),
    SpectralVariance(k=6),
    GeneralizedRank(0.5),
    GeneralizedRank(0.0),
    GeneralizedRank(1.0),
]
NUS = st.sampled_from([1e-3, 0.03, 0.3, 3.0])
CLOSE = 1e-8  # what is closer is tied


@dataclasses.dataclass(frozen=True)
class Table:
    """A set function given by its values: an object with what a regularizer must have."""

    values: tuple[float, ...]
    submodular: bool = True

    def value(self, C, S):
        return self.values[mask_of(S)]

    def gains(self, C, S):
        here = mask_of(S)
        return np.array([self.values[here | 1 << x] - self.values[here] for x in range(len(C))])


def mask_of(S):
    return sum(1 << int(i) for i in S)


def r_squared(X, y, S):
    if not S or not y.any():
        return 0.0
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=1e-10)[0]
    return 1 - (r @ r) / (y @ y)


def tables(X, y, f, nu):
    C, d = X.T @ X, X.shape[1]
    values = [by_eigenvalues(f, C, members(A)) for A in range(1 << d)]
    return values, [r_squared(X, y, members(A)) + nu * values[A] for A in range(1 << d)]


def best_of(options, table):
    """The first whose value is the largest."""
    top = max(table[A] for A in options)
    return next(A for A in options if table[A] >= top - CLOSE * max(1.0, abs(top)))


def naive_forward(g, k, ground):
    picked = []
    while len(picked) < min(k, ground.bit_count()):
        S = mask_of(picked)
        options = [S | 1 << x for x in members(ground & ~S)]
        picked.append(members(best_of(options, g) ^ S)[0])
    return picked


def naive_climb(f, eps, ground, complete):
    """LS: of the moves of a kind that raise f enough, the one that raises it most."""
    S = best_of([1 << x for x in members(ground)], f)
    rate = 1 + eps / ground.bit_count() ** 2
    while True:
        added = [S | 1 << x for x in members(ground & ~S)]
        less = [S ^ 1 << x for x in members(S)] if complete else []
        slack = CLOSE * max(1.0, abs(f[S]))
        for moves, needed in ((added, slack if complete else -slack), (less, slack)):
            if moves and f[best_of(moves, f)] - rate * f[S] >= needed:
                S = best_of(moves, f)
                break
        else:
            return S


def naive_local(f, g, eps, ground, complete):
    S = naive_climb(f, eps, ground, complete)
    return [S, ground & ~S, ground]


def trap(d, q):
    """q|A| without element 0, q + |A| with it: submodular for q ≥ 1; 0 looks best and spoils the others."""
    return Table(tuple(float(q + m.bit_count() if m & 1 else q * m.bit_count()) for m in range(1 << d)))
