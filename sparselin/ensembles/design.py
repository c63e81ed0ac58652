"""A design with its response, and the ways to draw a response."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from sparselin.validation import FloatArray, IndexArray, check_count, check_finite, check_real

# a name of RESPONSES, or a function of (X, rng) that returns y (n,), or (y, β)
Response: TypeAlias = str | Callable[[FloatArray, Generator], Any]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Design:
    """A design X with its response y, and the true β and noise, if there are any.

    It unpacks into X and y: X, y = design.

    Attributes
    ----------
    X, y : design (n, d) and response (n,), float64, which may be written to.
    coef : (d,) the β with y = Xβ + noise to rounding; zero if y is only noise; None if y has no such form.
    noise : (n,) the noise in y; None if `coef` is None.
    """

    X: FloatArray
    y: FloatArray
    coef: FloatArray | None = None
    noise: FloatArray | None = None

    @property
    def support(self) -> IndexArray | None:
        """The indices at which β is nonzero, increasing; None if there is no β."""
        return None if self.coef is None else np.flatnonzero(self.coef)

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.X, self.y))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> FloatArray:
        return (self.X, self.y)[i]

    def __repr__(self) -> str:
        support = self.support
        truth = "no β" if support is None else f"support={support.tolist()}"
        return f"<Design: X {self.X.shape}, y {self.y.shape}, {truth}>"


def respond(
    X: FloatArray, rng: Generator, y: Response, k: int | None, snr: float | None, own: dict[str, FloatArray]
) -> Design:
    """Draw the response of a design X by the rule `y`, a name or a function, and return the `Design`.

    own : the responses that only this ensemble has, by name.

    Raises TypeError and ValueError in the cases that `sparselin.ensembles` lists for all ensembles.
    """
    if y != "signal" and not (k is None and snr is None):
        raise ValueError(f"k and snr belong to y='signal'; got y={y!r}")
    if y == "signal":
        return _equal_signal(X, rng, k, snr)
    if isinstance(y, str) and y in own:
        return Design(X, own[y])
    if isinstance(y, str) and y in RESPONSES:
        return RESPONSES[y](X, rng)
    if not callable(y):
        known = ", ".join(map(repr, [*own, *RESPONSES]))
        raise ValueError(f"y must be one of {known}, or a function of (X, rng); got {y!r}")
    return _from_function(X, y(X, rng))


def _noise(X: FloatArray, rng: Generator) -> Design:
    noise = rng.standard_normal(len(X))
    return Design(X, noise.copy(), np.zeros(X.shape[1]), noise)


def _generic(X: FloatArray, rng: Generator) -> Design:
    if rng.random() < 0.5:
        return _noise(X, rng)
    s = 1 + int(rng.integers(min(8, X.shape[1])))
    return _signal(X, rng.standard_normal(s), 10 ** rng.uniform(0, 3), rng)


def _tying(X: FloatArray, rng: Generator) -> Design:
    n, d = X.shape
    if rng.random() < 0.75:
        y = rng.choice(np.array([-1.0, 1.0]), n) * (rng.random(n) < rng.uniform(0.2, 1))
        if not y.any():
            y[0] = 1
        return Design(X, y)
    coef = np.zeros(d)
    S = rng.choice(d, min(int(rng.integers(2, 5)), d), replace=False)
    signs = rng.choice(np.array([-1.0, 1.0]), len(S))
    coef[S] = signs
    y = X[:, S] @ signs
    noise = np.zeros(n)
    if not y.any():
        y[0] = noise[0] = 1
    return Design(X, y, coef, noise)


def _equal_signal(X: FloatArray, rng: Generator, k: int | None = None, snr: float | None = None) -> Design:
    nonzero = int(X.any(axis=0).sum())
    k = min(5, nonzero) if k is None else check_count(k, "k", 1, nonzero)
    snr = 10.0 if snr is None else snr
    if not _is_infinite(snr) and check_real(snr, "snr") < 1e-100:
        # for a smaller snr ‖y‖² would overflow
        raise ValueError(f"snr must be at least 1e-100; got {snr}")
    return _signal(X, rng.choice(np.array([-1.0, 1.0]), k), snr, rng)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(value == math.inf)


def _signal(X: FloatArray, beta: FloatArray, snr: float, rng: Generator) -> Design:
    """Draw y = Xβ + noise with ‖Xβ‖ = snr·‖noise‖; β has the values `beta` on random nonzero columns."""
    J = np.flatnonzero(X.any(axis=0))
    S = J[rng.choice(len(J), min(len(beta), len(J)), replace=False)] if len(J) else J
    signal = X[:, S] @ beta[: len(S)]
    noise = rng.standard_normal(len(X))
    noise *= np.linalg.norm(signal) / (snr * np.linalg.norm(noise))
    coef = np.zeros(X.shape[1])
    coef[S] = beta[: len(S)]
    return Design(X, signal + noise, coef, noise + 0.0)


# the names of y for every random ensemble
RESPONSES: dict[str, Callable[[FloatArray, Generator], Design]] = {
    "generic": _generic,
    "noise": _noise,
    "signal": _equal_signal,
    "tying": _tying,
}


def _from_function(X: FloatArray, drawn: Any) -> Design:
    """Check y, or (y, β), which a user's function returned for X, and return the `Design`."""
    y, coef = drawn if isinstance(drawn, tuple) and len(drawn) == 2 else (drawn, None)
    y = _vector(y, len(X), "y")
    if coef is None:
        return Design(X, y)
    coef = _vector(coef, X.shape[1], "β")
    return Design(X, y, coef, y - X @ coef)


def _vector(values: Any, length: int, name: str) -> FloatArray:
    try:
        vector = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the function y must return numbers; {name} is {error}") from None
    if vector.shape != (length,):
        raise ValueError(f"the function y must return {name} ({length},); got the shape {vector.shape}")
    check_finite(vector, name)
    return vector
