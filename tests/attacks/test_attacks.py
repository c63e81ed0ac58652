"""Every family against every method with fixed seeds, and whether the attacks notice a liar."""

import dataclasses
import itertools
import math
import time
import tomllib
import types
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sparselin

from . import run
from .attacks import ATTACKS, attempt, make, warm_up
from .designs import FAMILIES
from .oracles import Design
from .run import CRASH, FAILURES, HANG, RIGHT, WRONG, Case

# Designs of each family for each method, in `make test` and with `make slow`; `make attack` is for more.
DESIGNS = {"step": (5, 10), "path": (3, 5), "set": (3, 5)}
# Of methods with options: sparse, operator, compressed, by columns and sparse in float32; a path to a knot.
SEEDS = (0, 5, 13, 19, 23)
STORED = tomllib.loads(Path(__file__).with_name("once_wrong.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm_up(ATTACKS)


def refute(family, method, seeds):
    """Judge what the method claims of the family's designs with these seeds."""
    failures = []
    for seed in seeds:
        kind, words = attempt(make(family, method, seed))
        if kind in FAILURES:
            failures.append(f"{kind}: --family {family} --method {method} --seed {seed} --cases 1: {words}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("method", ATTACKS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_false_claim(family, method):
    few, _ = DESIGNS[ATTACKS[method][0]]
    refute(family, method, SEEDS if method.endswith("+options") else range(few))


@pytest.mark.slow
@pytest.mark.parametrize("method", [method for method in ATTACKS if not method.endswith("+options")])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_false_claim_on_more_designs(family, method):
    refute(family, method, range(*DESIGNS[ATTACKS[method][0]]))


@pytest.mark.parametrize(("family", "method", "seed"), STORED["once_wrong"])
def test_what_was_wrong_once(family, method, seed):
    kind, words = attempt(make(family, method, seed))
    assert kind not in FAILURES, words


@pytest.mark.parametrize(("family", "method", "seed"), STORED["ended_too_early"])
def test_lasso_path_goes_on_where_the_data_decide(family, method, seed):
    kind, words = attempt(make(family, method, seed))
    assert kind == RIGHT, (kind, words)


def lying(method, lie):
    """The package, but for one function, whose answers are lied about."""
    liar = types.SimpleNamespace(**{name: getattr(sparselin, name) for name in sparselin.__all__})
    liar.spectral, liar.results = sparselin.spectral, sparselin.results
    honest = getattr(sparselin, method)
    setattr(liar, method, lambda *args, **kwargs: lie(honest(*args, **kwargs)))
    return liar


def changed(field, change):
    """One field of an answer changed; None says that there is nothing to lie about."""

    def lie(answer):
        new = change(getattr(answer, field))
        return answer if new is None else dataclasses.replace(answer, **{field: new})

    return lie


def swapped(support):
    return None if len(support) < 2 else support[[*range(len(support) - 2), -1, -2]]


def shorter(sets):
    return tuple(T[1:] if len(T) > 1 else T for T in sets)


def raised(interval):
    return dataclasses.replace(interval, lower=interval.lower + 0.01 * (1 + interval.upper), upper=1e9)


def lowered(interval):
    return dataclasses.replace(interval, upper=0.9 * interval.upper, lower=0.5 * interval.lower)


def belittled(bounds):
    return tuple(dataclasses.replace(b, achieved=lowered(b.achieved)) for b in bounds)


def boast(bounds):
    return tuple(dataclasses.replace(b, lower=0.999999, hypotheses=()) for b in bounds)


def crash(answer):
    raise ZeroDivisionError


def hang(answer):
    end = time.process_time() + 5
    while time.process_time() < end:
        pass


S = sparselin.Status
# (attack, function of the package, lie); the verdict is WRONG but for those of ENDS
LIES = {
    "two picks swapped": ("omp", "omp", changed("support", swapped)),
    "an index missing from T": ("omp", "omp", changed("ties", shorter)),
    "λ* a little off": ("omp", "omp", changed("lam_star", lambda x: x * (1 + 1e-9))),
    "margins off": ("omp", "omp", changed("margin", lambda x: x / 2 + 0.3)),
    "‖r‖ a little off": ("omp", "omp", changed("residual_norm", lambda x: x * (1 + 1e-9))),
    "coefficients off": ("omp", "omp", changed("coef_path", lambda x: x * (1 + 1e-9))),
    "an end that is none": ("omp", "omp", changed("status", lambda s: S.EXACT_FIT)),
    "no correlation left": ("ols", "ols", changed("status", lambda s: S.NO_CORRELATION)),
    "rank exhausted": ("ols", "ols", changed("status", lambda s: S.RANK_EXHAUSTED)),
    "two picks of OLS swapped": ("ols", "ols", changed("support", swapped)),
    "T of OLS": ("ols", "ols", changed("ties", shorter)),
    "A(S) too small": ("sequential_lasso", "sequential_lasso", changed("active_sets", shorter)),
    "A(S) of OMP's": ("sequential_lasso_omp", "sequential_lasso", changed("active_sets", shorter)),
    "a first entry's λ₂": ("first_entry", "first_entry", changed("window_lower", lambda x: x * 0.999)),
    "its v": ("first_entry", "first_entry", changed("direction", lambda v: v * (1 + 1e-6))),
    "its T": ("first_entry", "first_entry", changed("tied", lambda T: T[1:])),
    "λ* alone": ("lambda_star", "lambda_star", lambda x: x * (1 + 1e-9)),
    "a knot": ("lasso_path", "lasso_path", changed("knots", lambda x: np.r_[x[0] * 1.001, x[1:]])),
    "a solution": ("lasso_path", "lasso_path", changed("coef_path", lambda x: x * (1 + 1e-6))),
    "a path cut short": ("lasso_path", "lasso_path", changed("status", lambda s: S.EXACT_FIT)),
    "‖r‖ of the flow": ("gradient_flow", "gradient_flow", changed("residual_norm", lambda r: r * (1 + 1e-9))),
    "β of the flow": ("gradient_flow", "gradient_flow", changed("coef_path", lambda x: x * (1 + 1e-9))),
    "s of the flow": ("gradient_flow", "gradient_flow", changed("s", lambda s: s * (1 - 1e-9 * (s**2 < 1)))),
    "a flow's support": ("gradient_flow", "gradient_flow", changed("supports", shorter)),
    "uniqueness": ("gradient_flow", "gradient_flow", changed("unique", lambda u: [not x for x in u])),
    "picks of a Gram matrix swapped": ("gram_omp", "omp", changed("support", swapped)),
    "its λ*": ("gram_omp", "omp", changed("lam_star", lambda x: x * (1 + 1e-7))),
    "its path": ("gram_path", "lasso_path", changed("coef_path", lambda x: x * (1 + 1e-4))),
    "batch": ("batch_omp", "batch_omp", changed("support", lambda x: x[:, ::-1])),
    "projection": ("project_dual", "project_dual", changed("u", lambda u: u * (1 + 1e-6))),
    "no gap": ("hadamard_descent", "hadamard_descent", changed("duality_gap", lambda g: -g - 1e-6)),
    "gains": ("forward_regression", "forward_regression", changed("gains", lambda g: g * 1.001)),
    "g": ("spectral_forward", "forward_regression", changed("value", lambda g: g + 0.01)),
    "g of a search": ("local_search", "local_search", changed("value", lambda g: g - 0.01)),
    "not the best": ("best_subset", "best_subset", changed("lower_bound", lambda x: 1.01 * x + 1e-3)),
    "values of sets": ("subsets_within", "subsets_within", changed("values", lambda x: 1.001 * x + 1e-3)),
    "sets": ("subsets_within", "subsets_within", changed("supports", lambda sets: sets[:1] * len(sets))),
    "a bound for a gap": ("best_subset_gap", "best_subset", changed("lower_bound", lambda x: 1.1 * x + 0.1)),
    "γ from below": ("submodularity_ratio", "submodularity_ratio", raised),
    "γ from above": ("submodularity_ratio", "submodularity_ratio", lowered),
    "λ_min(C, k)": ("sparse_eigenvalues", "sparse_eigenvalues", changed("lambda_min", raised)),
    "λ_max(C, k)": ("sparse_eigenvalues", "sparse_eigenvalues", changed("lambda_max", lowered)),
    "R² of the best": ("guarantee_bounds", "guarantee_bounds", changed("best", lowered)),
    "a promise": ("guarantee_bounds", "guarantee_bounds", changed("bounds", boast)),
    "what g achieved": ("regularized_bounds", "guarantee_bounds", changed("bounds", belittled)),
    "attention's picks": ("sequential_attention", "sequential_attention", changed("support", swapped)),
    "picks swapped with options": ("omp+options", "omp", changed("support", swapped)),
    "T with options": ("omp+options", "omp", changed("ties", shorter)),
    "λ* with options": ("lambda_star+options", "lambda_star", lambda x: x * (1 + 1e-6)),
    "β with options": ("lasso_path+options", "lasso_path", changed("coef_path", lambda x: x * (1 + 1e-3))),
    "the first pick of a Gram matrix": ("gram_first", "omp", changed("support", lambda s: (s + 1) % 3)),
    "a certificate": ("certify", "certify", changed("steps", lambda s: s[::-1] if len(s) > 1 else None)),
    "a crash": ("omp", "omp", crash),
    "a hang": ("omp", "omp", hang),
}
ENDS = {"a crash": CRASH, "a hang": HANG}


@pytest.mark.parametrize("name", LIES)
def test_a_liar_is_noticed(name, monkeypatch):
    (method, function, lie), verdict = LIES[name], ENDS.get(name, WRONG)
    monkeypatch.setattr(run, "FLOOR", 0.05 if verdict == HANG else run.FLOOR)
    cases = [make(family, method, seed) for family in ("gaussian", "ties", "copies") for seed in (0, 1, 4)]
    honest = [attempt(case)[0] for case in cases]
    assert not set(honest) & set(FAILURES)
    found = {attempt(case, lying(function, lie))[0] for case in (cases[:2] if verdict == HANG else cases)}
    assert verdict in found


def test_a_failure_is_shrunk_and_written_down(tmp_path, monkeypatch):
    """To the column of ones and another; and what is written says the same."""
    monkeypatch.setattr(run, "FOUND", tmp_path)
    X = np.arange(1.0, 41).reshape(8, 5) ** 1.5
    case = Case("omp", X, np.ones(8), (1, 2), 3, "F")
    small = run.shrink(case, lambda c: c.X.shape[1] >= 2 and np.all(c.X[0] > 0) and len(c.X) >= 3)
    assert small.X.shape == (3, 2)
    assert (small.forced, small.form) == ((), "C")
    for dtype in (np.float64, np.float32):
        arrays = {"X": small.X.astype(dtype), "y": small.y.astype(dtype)}
        small = dataclasses.replace(small, **arrays, options=("weights",))
        again = run.read(run.write_down(small, "words"))
        assert (again.X == small.X).all()
        assert (again.y == small.y).all()
        assert again.X.dtype == again.y.dtype == dtype
        assert (again.method, again.forced, again.seed, again.form) == ("omp", (), 3, "C")
        assert again.options == ("weights",)


@pytest.mark.parametrize("seed", range(5))
def test_the_oracle_agrees_with_gram_schmidt(seed):
    """In fractions, column by column, on a design with a dependent column in S."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 5)), rng.standard_normal(6)
    X[:, 2] = 2 * X[:, 0]
    left = [[Fraction(x) for x in column] for column in np.column_stack([X, y]).T.tolist()]
    for j in (0, 2, 4):
        q = list(left[j])
        for i, v in enumerate(left):
            share = dot(q, v) / dot(q, q) if any(q) else 0
            left[i] = [b - share * a for a, b in zip(q, v, strict=True)]
    step = Design(X, y).at((0, 2, 4))
    for i, j in itertools.product(range(6), repeat=2):
        made = step.dot(i, j)
        assert Fraction(int(made.p), int(made.q)) == dot(left[i], left[j])


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_a_criterion_that_counts_weights_as_rows_is_noticed(monkeypatch):
    from sparselin.estimators import _selector

    honest = _selector.criterion

    def counted(name, models, task, gamma, variance):
        n = len(task.y)
        more = math.log((n if task.weight is None else float(np.sum(task.weight))) / n)
        return honest(name, models, task, gamma, variance) + more * np.array([model.rank for model in models])

    monkeypatch.setattr(_selector, "criterion", counted)
    for method in ("omp_selector", "ols_selector"):
        assert [attempt(make("gaussian", method, seed))[0] for seed in (1, 6, 11)].count(WRONG) >= 2, method
