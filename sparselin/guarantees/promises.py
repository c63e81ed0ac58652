"""The guarantees on R² as `Bound`s, for forward regression (FR), OMP, and methods with OMP's picks.

docs/guarantees.md has the proofs. C = XᵀX is the Gram matrix, and λ(s) denotes λ_min(C, s)/max_j C_jj, where
λ_min(C, s) is the least eigenvalue over sets of s columns. For unit columns λ(s) = λ_min(C, s). Our bounds
need no unit columns, because OMP's pick i decreases ‖r‖² by c_i²/ρ_i² ≥ c_i²/max_j C_jj, where c_i = ⟨X_i, r⟩
and ρ_i = ‖P_S^⊥X_i‖. Every factor increases with its constants, so certified bounds on the constants give
certified bounds on the factor. Constants and factors are therefore pairs (2,): a lower and an upper bound.
"""

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparselin.guarantees._along_path import PrefixBounds, r2_of_all
from sparselin.problem import Problem
from sparselin.problem.errors import UNIT
from sparselin.results import Bound, FloatArray, IndexArray, Interval
from sparselin.subsets.unit_data import UnitData

DAS_KEMPE = "Das and Kempe, Submodular meets Spectral (2011)"
OURS = "docs/guarantees.md"
Hypotheses = tuple[tuple[str, bool | None], ...]


class GreedyRun(NamedTuple):
    """A greedy selection S: its algorithm, constants at each step, bounds (2,) on γ_{S,k} and R²(S)/R²(best).

    γ_{S,k} is the submodularity ratio of R², and best is the best subset.
    """

    algorithm: str
    support: IndexArray
    steps: list[PrefixBounds]
    gamma: FloatArray
    achieved: Interval

    def bound(self, name: str, formula: str, source: str, needed: Hypotheses, factor: FloatArray) -> Bound:
        """Make a `Bound`. Its `lower` is the factor less rounding, or 0 unless all hypotheses hold.

        factor : (2,) lower and upper bounds on the factor of the guarantee.
        """
        lower, upper = (float(x) for x in np.clip(factor, 0.0, 1.0))
        verdict = _all_hold(holds for _, holds in needed)
        lower = max(0.0, lower - 2 * UNIT) if verdict else 0.0
        upper = 0.0 if verdict is False else max(lower, upper)
        return Bound(name, self.algorithm, formula, source, needed, lower, upper, self.achieved)


def of_forward_regression(run: GreedyRun, spectrum: dict[str, FloatArray], data: UnitData) -> list[Bound]:
    """Return the guarantees for R² of a run of FR (forward regression).

    spectrum : bounds (2,) on λ_min over sets of columns scaled to unit length, by the size of the sets:
        "2k − 1" and "2k".
    """
    picks = (("every pick gains most", _all_hold(step.largest_gain for step in run.steps)),)
    q_squared = _q2_bounds(run, 1)
    least = spectrum["2k"]
    source = f"{DAS_KEMPE}, Theorem 3.2"
    scaled = ("columns of length 1: scaled so, which changes neither FR nor R²", True)
    sparse = (*picks, scaled, independent(least, "2k"))
    path = [step.gamma * np.array([step.q_squared[1], 1.0]) for step in run.steps]
    return [
        run.bound("submodularity ratio", "1 − exp(−γ)", source, picks, saturate(run.gamma * q_squared)),
        run.bound("sparse eigenvalue", "1 − exp(−λ_min(C, 2k))", source, sparse, saturate(least * q_squared)),
        run.bound("along the path", "1 − Π_i (1 − γ_i/m_i)", f"{OURS}, Theorem 2", picks, product(run, path)),
        certificate(run, data),
    ]


def of_omp(run: GreedyRun, spectrum: dict[str, FloatArray], data: UnitData) -> list[Bound]:
    """Return the guarantees for R² of a run of OMP, or of another method that picks the largest |c|, c = Xᵀr.

    spectrum : a dictionary. Its keys are the sizes s of sets of columns: "k", "2k − 1" and "2k". Its values
        are bounds (2,) on λ(s), the least eigenvalue over sets of s columns divided by the largest squared
        length.
    """
    largest = _all_hold(step.largest_correlation for step in run.steps)
    q_squared = _q2_bounds(run, 0)
    picks = (("every pick has the largest |⟨X_i, r⟩|", largest),)
    lengths = (*picks, equal_lengths(data.problem))
    gamma = run.gamma
    theirs, ours, direct = spectrum["2k"], spectrum["k"], spectrum["2k − 1"]
    path = [step.theta * np.array([step.q_squared[0], 1.0]) for step in run.steps]
    theory, here = f"{DAS_KEMPE}, Theorem 3.7", f"{OURS}, Theorem 1"
    both = (*lengths, independent(theirs, "2k"))
    sharper, direct_sharper = (*picks, independent(ours, "k")), (*picks, independent(direct, "2k − 1"))
    rows = (
        ("submodularity ratio", "1 − exp(−γ·λ_min(C, 2k))", theory, both, gamma * theirs),
        ("sparse eigenvalue", "1 − exp(−λ_min(C, 2k)²)", theory, both, theirs**2),
        ("submodularity ratio, sharper", "1 − exp(−γ·λ(k))", here, sharper, gamma * ours),
        ("sparse eigenvalue, sharper", "1 − exp(−λ(2k − 1))", here, direct_sharper, direct),
    )
    return [
        *(
            run.bound(name, formula, source, holds, saturate(exponent * q_squared))
            for name, formula, source, holds, exponent in rows
        ),
        run.bound("along the path", "1 − Π_i (1 − θ_i/m_i)", f"{OURS}, Theorem 2", picks, product(run, path)),
        certificate(run, data),
    ]


def _q2_bounds(run: GreedyRun, score: int) -> FloatArray:
    """Return bounds (2,) on q², where each pick is certain to have a score of at least q times the largest.

    Because of rounding q may be below 1. The constants of a guarantee are multiplied by q².

    score : 0 for picks by |c|, c = Xᵀr, and 1 for picks by |c|/ρ, ρ_i = ‖P_S^⊥X_i‖.
    """
    return np.array([min(step.q_squared[score] for step in run.steps), 1.0])


def _all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether all verdicts are True; None if one is undecided and none is False."""
    found = set(verdicts)
    if False in found:
        return False
    return None if None in found else True


def saturate(exponent: FloatArray) -> FloatArray:
    """Return 1 − e^{−x} for an exponent x: the share that a greedy method is guaranteed to attain."""
    return np.asarray(-np.expm1(-exponent))


def product(run: GreedyRun, constants: list[FloatArray]) -> FloatArray:
    """Return 1 − Π_{i<k} (1 − θ_i/m_i), for bounds (2,) on the constants θ_i; 1 if some m_i = 0.

    θ_i is the constant of step i (`PrefixBounds`), and m_i its `m`: the largest number of columns that can
    still increase R².
    """
    left = np.ones(2)
    for step, theta in itertools.islice(zip(run.steps, constants, strict=True), len(run.steps) - 1):
        left = left * (1 - theta / step.m if step.m else 0.0)
    return np.asarray(1 - left)


def certificate(run: GreedyRun, data: UnitData) -> Bound:
    """Return the guarantee that follows from the finished run, without hypotheses.

    Its factor is R²(S), S the selected set, divided by an upper bound on R² of k columns.
    """
    last = run.steps[-1]
    r2_upper = min(r2_of_all(data), *(step.r2_upper for step in run.steps))
    factor = max(0.0, last.r2 - last.error) / r2_upper if r2_upper > 0 else 1.0
    formula = "R²(S)/min(R²(all), min_i [R²(S_i) + gains_i/γ_i])"
    factors = np.array([factor, factor])
    return run.bound("certificate after the run", formula, f"{OURS}, Theorem 3", (), factors)


def equal_lengths(problem: Problem) -> tuple[str, bool]:
    """Return the hypothesis that all nonzero columns have the same length, and whether it holds.

    It is checked up to rounding. The common length does not matter.
    """
    norms = problem.column_norms[problem.column_norms > 0].astype(np.float64)
    if not len(norms):
        return "columns of equal length", True
    # rounding the entries of a column changes its length by at most √n·eps, relatively
    spread = float(norms.max() - norms.min()) / float(norms.max())
    return "columns of equal length", spread <= problem.rounding()


def independent(eigenvalue: FloatArray, size: str) -> tuple[str, bool | None]:
    """Return the hypothesis λ_min(C, size) > 0 and whether it holds (None: undecided), for C = XᵀX.

    λ_min(C, size) is the least eigenvalue over all sets of `size` columns.
    """
    lower, upper = eigenvalue
    undecided = not lower > 0 and upper > math.sqrt(2 * UNIT)
    return f"λ_min(C, {size}) > 0", None if undecided else bool(lower > 0)
