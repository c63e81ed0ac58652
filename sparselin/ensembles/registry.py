"""The ensembles by name: the ensembles of the commands, and the ensembles that users add."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import math
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sparselin.ensembles import families
from sparselin.ensembles.design import Design
from sparselin.parallel.processes import describe_error
from sparselin.validation import FloatArray, check_count, check_design, check_finite, check_new, check_vector

# the value that a family may return
Pair: TypeAlias = Design | tuple[FloatArray, FloatArray]


class BadEnsemble(ValueError):
    """The error for a function of designs that cannot be loaded, raises an error, or returns no design."""


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """A named family of designs.

    Attributes
    ----------
    name : the key in `ENSEMBLES`.
    description : a few words for tables.
    draw : the function that takes a Generator and returns a `Design`, or (X, y).
    unit_columns : whether ‖X_j‖ = 1 to rounding for every column that is not zero.
    ties : whether some of its designs tie exactly at the first step.
    ill_conditioned : whether κ(X), for the nonzero singular values, is about 1e6 or more.
    full : for real data, the function that returns the whole set.
    family : for random designs, the function of (n, d, rng).
    response : a few words on the way in which y is drawn.
    origin : FILE:NAME for a function in a file; else empty.
    """

    name: str
    description: str
    draw: Callable[[np.random.Generator], Pair]
    unit_columns: bool = True
    ties: bool = False
    ill_conditioned: bool = False
    full: Callable[[], Design] | None = None
    family: Callable[..., Pair] | None = None
    response: str = "its own"
    origin: str = ""

    def design(self, index: int, seed: int = 0) -> Design:
        """Return the design with number `index` ≥ 0; for real data index 0 is the whole set.

        The generator of the design is made from SeedSequence(seed, spawn_key=(crc32(name), index)). So the
        design depends neither on other ensembles nor on the number of designs.

        >>> X, y = ENSEMBLES["gaussian"].design(3)
        >>> bool((X == ENSEMBLES["gaussian"].design(3)[0]).all()), ENSEMBLES["diabetes"].design(0)[0].shape
        (True, (442, 55))
        """
        index = check_count(index, "index", 0)
        seed = check_count(seed, "seed", 0, math.inf)
        if index == 0 and self.full is not None:
            return self.full()
        key = (zlib.crc32(self.name.encode()), index)
        drawn = self.draw(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)))
        return drawn if isinstance(drawn, Design) else Design(*drawn)


ENSEMBLES: dict[str, Ensemble] = {}


def register(ensemble: Ensemble) -> Ensemble:
    """Add an ensemble to `ENSEMBLES`, which tables, commands and tests use.

    Raises ValueError if the name is taken.

    >>> def stars(n, d, rng):
    ...     return families.gaussian(n, d, rng)
    >>> register(of_random_size("stars", "an example", stars)).design(0)[0].shape[0] in range(20, 61)
    True
    >>> del ENSEMBLES["stars"]
    """
    ENSEMBLES[check_new(ensemble.name, ENSEMBLES, "an ensemble")] = ensemble
    return ensemble


def carried() -> Callable[[], None]:
    """Return a function that registers the ensembles of this process in another process.

    The function is pickled when it is sent to that process, so each `draw` must be picklable.

    >>> _ = register(of_random_size("mine", "an example", families.gaussian))
    >>> restore = carried()
    >>> del ENSEMBLES["mine"]  # as in another process, which does not have it
    >>> restore()
    >>> ENSEMBLES.pop("mine").description
    'an example'
    """
    return functools.partial(_update_registry, dict(ENSEMBLES))


def _update_registry(ensembles: dict[str, Ensemble]) -> None:
    ENSEMBLES.update(ensembles)


def of_random_size(
    name: str,
    description: str,
    family: Callable[..., Pair],
    rows: tuple[int, int] = (20, 60),
    columns: tuple[int, int] = (30, 120),
    **properties: Any,
) -> Ensemble:
    """Make an ensemble of the designs family(n, d, rng), with n and d drawn at random.

    rows, columns : the ranges of n and d, ends included.
    properties : other fields of the `Ensemble`.

    The `draw` of the ensemble raises `BadEnsemble` if the family raises an error, or does not return a finite
    X (n, d) and y (n,).

    >>> wide = of_random_size("wide", "more columns than rows", families.gaussian, (5, 9), (40, 40))
    >>> X, y = wide.design(0)
    >>> len(y) in range(5, 10), X.shape[1]
    (True, 40)
    """
    # a partial, not a closure: an Ensemble can be pickled and sent to another process
    draw = functools.partial(_draw, name, family, (rows, columns))
    return Ensemble(name=name, description=description, draw=draw, family=family, **properties)


def _draw(name: str, family: Callable[..., Pair], sizes: Any, rng: np.random.Generator) -> Design:
    n, d = (int(rng.integers(low, high, endpoint=True)) for low, high in sizes)
    call = f"{name}({n}, {d}, rng)"
    try:
        drawn = family(n, d, rng)
    except Exception as error:
        raise BadEnsemble(f"{call} raises {describe_error(error)}") from error
    try:
        X, y = drawn
        X = check_design(X).astype(np.float64, copy=False)
        if not isinstance(X, np.ndarray) or X.shape != (n, d):
            raise ValueError(f"X must be an array {(n, d)}; got {type(X).__name__} {X.shape}")
        check_finite(X, "X")
        y = check_vector(y, "y", n, np.dtype(np.float64))
        check_finite(y, "y")
    except (TypeError, ValueError) as error:
        raise BadEnsemble(f"{call} must return X ({n}, {d}) and y ({n},): {error}") from None
    return drawn if isinstance(drawn, Design) else Design(X, y)


def from_file(origin: str) -> Ensemble:
    """Make an ensemble of a function (n, d, rng) → (X, y) in a file, which is given as "path/my.py:name".

    The ensemble is called "my.py:name". It draws n from 20..60 and d from 30..120. Raises `BadEnsemble` if
    there is no such file or function, or if the file cannot be run.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "my.py")
    >>> _ = file.write_text("def signs(n, d, rng): return rng.choice([-1.0, 1.0], (n, d)), rng.random(n)")
    >>> ensemble = from_file(f"{file}:signs")
    >>> ensemble.name, len(ensemble.design(0).X) in range(20, 61)
    ('my.py:signs', True)
    """
    path, _, name = origin.rpartition(":")
    _function.cache_clear()
    whole = str(Path(path).resolve())
    family = functools.partial(_draw_by_file, whole, name)  # it can be pickled: each process loads the file
    words = " ".join((getattr(_function(whole, name), "__doc__", None) or "").split("\n\n")[0].split())
    words = words or "a function without a docstring"
    return of_random_size(f"{Path(path).name}:{name}", words, family, unit_columns=False, origin=origin)


def _draw_by_file(path: str, name: str, n: int, d: int, rng: np.random.Generator) -> Pair:
    """Draw a design by a function in a file."""
    return _function(path, name)(n, d, rng)  # type: ignore[no-any-return]


@functools.cache
def _function(path: str, name: str) -> Callable[..., Any]:
    module = f"_ensembles_in_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise BadEnsemble(f"there is no Python file {path}")
    loaded = sys.modules[module] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        raise BadEnsemble(f"{path} cannot be run: {describe_error(error)}") from error
    function = getattr(loaded, name, None)
    if not callable(function):
        found = "it is not there" if function is None else f"it is of type {type(function).__name__}"
        raise BadEnsemble(f"{path} must have a function {name!r}; {found}")
    return function  # type: ignore[no-any-return]


def _register_own(family: Callable[..., Pair], description: str, **properties: Any) -> None:
    """Register a family of this package under its name, with its default y."""
    given = inspect.signature(family).parameters
    rule = given["y"].default if "y" in given else "signal"
    register(of_random_size(family.__name__, description, family, **{"response": rule, **properties}))


_SMALL: dict[str, Any] = {"rows": (8, 20), "columns": (12, 30), "unit_columns": False, "ties": True}
_register_own(families.gaussian, "white noise")
_register_own(families.rademacher, "random signs")
_register_own(families.ar1, "neighbours correlate by 0.9")
_register_own(families.equicorrelated, "all pairs correlate by 0.5")
_register_own(families.random_walk, "running sums of white noise")
_register_own(families.partial_dft, "oversampled cosines", ill_conditioned=True)
_register_own(families.partial_hadamard, "random part of a Hadamard matrix", unit_columns=False, ties=True)
_register_own(families.duplicated, "half the columns copied or negated", ties=True)
_register_own(families.small_integers, "entries −1, 0, 1", **_SMALL)
_register_own(families.planted_ties, "half the columns tie at the first step", response="e₁", **_SMALL)
# few columns: otherwise greedy selection does not reach the nearly dependent ones
_register_own(families.ill_conditioned, "condition 1e6 to 1e8", columns=(10, 40), ill_conditioned=True)
_register_own(families.heavy_tails, "Student t, 2 degrees of freedom")
_register_own(families.sparse_signal, "five equal coefficients plus noise")
for _draw_real, _words in (
    (families.diabetes, "real: 442 patients, 55 features"),
    (families.digits, "real: 1797 images, 64 pixels"),
    (families.breast_cancer, "real: 569 tumours, 30 features"),
):
    register(
        Ensemble(
            name=_draw_real.__name__,
            description=_words,
            draw=_draw_real,
            full=_draw_real,
            response="measured",
        )
    )
