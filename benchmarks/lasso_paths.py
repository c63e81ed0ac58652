"""Count the LASSO paths that `certify` proves: `python -m benchmarks.lasso_paths COUNT SEED`.

The paths of scikit-learn's `lars_path` and of cvxcla, where they are installed, become a `LassoPath`. A
path is right if all its active sets are: `certify` proves the exact path, and refutes another one at a knot.
"""

import dataclasses
import importlib.util
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

import sparselin as sl


def scikit_learn(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots and the coefficients (m, d) of `lars_path`."""
    from sklearn.linear_model import lars_path

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alphas, _, coef = lars_path(X, y, method="lasso", alpha_min=0)
    return alphas * len(y), coef.T


def cvxcla(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots and the coefficients (m, d) of cvxcla."""
    import cvxcla as package

    points = package.Lasso(x=X, y=y).path
    coef = np.array([point.beta for point in points])
    return np.abs(X.T @ (y[:, None] - X @ coef.T)).max(axis=0), coef


def own(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    path = sl.lasso_path(X, y)
    return path.knots, path.coef


def judge(X: np.ndarray, y: np.ndarray, knots: np.ndarray, coef: np.ndarray) -> str:
    """Say whether the active sets of a path are right."""
    pattern = sl.lasso_path(X, y)
    midpoints = (coef[:-1] + coef[1:]) / 2
    active = [tuple(np.flatnonzero(row).tolist()) for row in midpoints]
    features = np.flatnonzero(coef.any(axis=0))
    changes: dict[str, Any] = {
        "knots": knots,
        "features": features,
        "coef_path": np.ascontiguousarray(coef[:, features]),
        "intercept": np.zeros(len(knots)),
        "r2": np.zeros(len(knots)),
        "active": (*active, active[-1] if active else ()),
    }
    try:
        sl.certify(X, y, dataclasses.replace(pattern, **changes))
    except ValueError as error:
        return "undecided" if "undecided" in str(error) or "dependent" in str(error) else "refuted"
    return "proved"


def designs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw a design of each kind."""
    n, d = int(rng.integers(8, 16)), int(rng.integers(4, 24))
    X = rng.standard_normal((n, d))
    near = X + 10.0 ** rng.integers(2, 7) * rng.standard_normal((n, 1))
    return {
        "Gaussian": X,
        "common part": near,
        "scales": X * 10.0 ** rng.integers(-6, 7, d),
        "small integers": np.round(2 * X),
    }


def main() -> None:
    rng, counts = np.random.default_rng(int(sys.argv[2])), Counter[tuple[str, str, str]]()
    packages = {"sparselin": own, "sklearn": scikit_learn, "cvxcla": cvxcla}
    found = {name: run for name, run in packages.items() if importlib.util.find_spec(name)}
    for _ in range(int(sys.argv[1])):
        for kind, X in designs(rng).items():
            y = rng.standard_normal(len(X)) if kind != "small integers" else rng.integers(-3, 4, len(X)) * 1.0
            for name, run in found.items():
                try:
                    answer = judge(X, y, *run(X, y))
                except (ValueError, IndexError, ArithmeticError, AttributeError) as error:
                    answer = f"{type(error).__name__}"
                counts[kind, name, answer] += 1
    for key, number in sorted(counts.items()):
        print(*key, number, sep=": ")  # noqa: T201


if __name__ == "__main__":
    main()
