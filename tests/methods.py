"""The public methods, their options and what they lack: one table, run on all of `invariances.py`.

Every public function whose first argument is a design has a row for each variant in `ROWS`. `lacks` maps an
invariance, or an invariance and a design of `invariances.py` (tall, wide, ties), to the reason. Then the test
asserts that the invariance fails there, on every design if none is named, by a difference, a TypeError or a
ValueError. A class of results has a row in `kinds.py`. The invariances of proximal steps and penalties, which
take vectors, are in their files.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from kinds import DOUBLE, EQUAL, NUMBER, Kind

import sparselin as sl
from sparselin.problem.support import OPTIONS, SUPPORT
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy


class Levels(NamedTuple):
    """The arguments that scale with the data: λ as X·y, ν as 1/X; and S, which are columns."""

    lam: float = 1.0
    nu: float = 0.1
    S: tuple[int, ...] = ()


LAM, NU = object(), object()  # in a row: the λ and ν of the levels


@dataclass(frozen=True)
class Method:
    """A public function in one variant, called as function(X, y, *arguments, **options)."""

    name: str
    variant: str = ""
    arguments: tuple = (4,)
    options: Mapping = field(default_factory=dict)
    columns: str | None = "forced"  # the option that names columns
    lacks: Mapping[str | tuple[str, str], str] = field(default_factory=dict)  # and why
    many: bool = False  # whether y is a matrix
    takes_y: bool = True
    returns: Kind = EQUAL  # of a number or an array
    function: Callable | None = None  # called in place of the public function

    @property
    def id(self):
        return f"{self.name}, {self.variant}" if self.variant else self.name

    def call(self, X, y, levels, **more):
        """Call the function at these levels, with more options."""
        data = (X, y) if self.takes_y else (X,)
        arguments = [levels.lam if value is LAM else value for value in self.arguments]
        options = {name: levels.nu if value is NU else value for name, value in self.options.items()}
        columns = {self.columns: levels.S} if self.columns else {}
        return (self.function or getattr(sl, self.name))(*data, *arguments, **options, **columns, **more)

    def must_fail(self, invariance, design):
        """Return whether the invariance fails on this design, by the row or by `SUPPORT`.

        A function that is called in place of the public one may hand its options to another.
        """
        support = SUPPORT[self.name]
        unsupported = {"Gram"} - set(support.data)
        if self.function is None:
            unsupported |= set(OPTIONS) - set(support.options)
        return invariance in unsupported or invariance in self.lacks or (invariance, design) in self.lacks


def certify(X, y, k, claim="sequential_lasso", **options):
    """Certify the path of the method that the claim is about."""
    select = sl.ols if claim == "ols" else sl.omp
    positive = {"positive": True} if claim == "nonnegative_omp" else {}
    return sl.certify(X, y, select(X, y, k, **positive, **options), claim=claim)


def explain(X, y, k, **options):
    """Explain the pick, and a feature that is not selected."""
    path = sl.omp(X, y, k, **options)
    weight = options.get("sample_weight")
    rest = np.setdiff1d(np.arange(path.n_features), path.support)
    columns = [j if path.names is None else path.names[j] for j in [*path.support, *rest]]
    found = [sl.explain(X, y, path, j, sample_weight=weight) for j in columns]
    return found[k - 1], max(found[k:], key=lambda explanation: explanation.gain)


def leave_one_out(X, y, k, **options):
    """Leave each row out along the path of OLS, which does not depend on the lengths of columns."""
    return sl.leave_one_out(X, y, sl.ols(X, y, k, **options), sample_weight=options.get("sample_weight"))


def condition(X, y, k, **options):
    """Return the condition numbers of a path of OLS, which do not depend on the lengths of columns."""
    return sl.condition(X, y, sl.ols(X, y, k, **options), sample_weight=options.get("sample_weight"))


def inference(X, y, k, **options):
    """Test the steps of a path of OLS and its coefficients, with the standard deviation of y as σ."""
    path, weight = sl.ols(X, y, k, **options), options.get("sample_weight")
    return sl.inference(X, y, path, sigma="response", sample_weight=weight)


def logistic(X, y, k, **options):
    """Select for the signs of y, which are labels."""
    labels = y
    if y is not None:
        labels = y > 0 if hasattr(y, "dtype") else np.asarray(y) > 0
    return sl.generalized_omp(X, labels, k, loss="logistic", **{"intercept": True} | options)


def poisson(X, y, k, **options):
    """Select for counts: 3 where y > 0 and 1 elsewhere."""
    counts = None if y is None else 1 + 2 * (np.asarray(y) > 0)
    return sl.generalized_omp(X, counts, k, loss="poisson", **{"intercept": True} | options)


def related(X, y, k, S=(), **options):
    """Select the best subset where each column of S needs the next one."""
    return sl.best_subset(X, y, k, hierarchy=dict(itertools.pairwise(S)), **options)


ROOTS, ENTROPY = GeneralizedRank(0.5), SmoothedDifferentialEntropy(1.0)
OF_LASSO = {"method": "lasso", "pairs": 3}
OF_ROOTS, OF_ENTROPY = {"regularizer": ROOTS, "nu": NU}, {"regularizer": ENTROPY, "nu": 0.1}
CORRELATIONS = {"lengths": "correlations, and λ, are with the columns as they are"}
SPECTRUM = {"lengths": "the eigenvalues of XᵀX are those of the columns as they are"}
OF_FRACTIONS = {
    "weights": "has no sample_weight",
    "noise": "its fractions are of the entries as they are",
}
OF_ROWS = {"rotation": "rows are drawn", "weights": "a row of weight w is one row"}
OF_LOSSES = CORRELATIONS | {
    "rotation": "each row has its loss",
    "intercept": "y are labels or counts",
    "Problem": "its rows are weighted",
    "weights": "not those of a Problem",
}
OF_EACH_ROW = {"rotation": "each row is left out", "weights": "a row of weight w is one row"}
IN_SAMPLES = {"Problem": "u is one of samples"}
IN_DOUBLE = {"dtype": "is computed in float64"}
ONE_Y = {"Problem": "has one y"}
COPIES = {("Gram", "ties"): "copies are known to √eps"}
WIDER = {"Gram": "intervals widen by its rounding"}
UNSCALED = {("lengths", "tall"): "it is of the columns as they are"}
WITH_TIES = [
    "rotation", "permutation", "scale", "lengths", "layout", "intercept", "read-only", "Problem", "runs",
]  # fmt: skip
TIES = {(name, "ties"): "paths with ties are refused" for name in WITH_TIES}
OF_NOISE = {"dtype": "refuses float32", "weights": "a row of weight w has the variance σ²/w"}
SQUARES = {"scale": "δ is a square of lengths"}

ROWS = [
    Method("omp", lacks=CORRELATIONS),
    Method("omp", "positive", options={"positive": True}, lacks=CORRELATIONS),
    Method("ols"),
    Method("generalized_omp", arguments=(3,), lacks=OF_LOSSES, function=logistic),
    Method("generalized_omp", "poisson", lacks=OF_LOSSES, function=poisson),
    Method("batch_omp", many=True, lacks=CORRELATIONS | ONE_Y),
    Method("sequential_lasso", lacks=CORRELATIONS),
    Method("sequential_lasso", "by omp", options={"method": "omp"}, lacks=CORRELATIONS),
    Method("sequential_attention", lacks=CORRELATIONS),
    Method("sequential_attention", "softmax", options={"parametrization": "softmax"}, lacks=CORRELATIONS),
    Method("first_entry", arguments=(), lacks=CORRELATIONS),
    Method("lambda_star", arguments=(), returns=NUMBER(1, 1), lacks=CORRELATIONS),
    Method("window_ratios", returns=NUMBER, lacks=CORRELATIONS),
    Method("verify", arguments=(2,), columns=None, lacks=CORRELATIONS | IN_DOUBLE),
    Method("lasso_path", arguments=(), options={"max_steps": 4}, lacks=CORRELATIONS),
    Method("lasso_path", "positive", (), {"max_steps": 4, "positive": True}, lacks=CORRELATIONS),
    Method("gradient_flow", arguments=(), options={"max_events": 4}, lacks=CORRELATIONS),
    Method("gradient_flow", "restarted", (), {"max_events": 4, "restart": True}, lacks=CORRELATIONS),
    Method("project_dual", arguments=(LAM,), lacks=CORRELATIONS | IN_SAMPLES),
    Method("hadamard_descent", arguments=(LAM,), lacks=CORRELATIONS),
    Method("best_subset", arguments=(3,), lacks=COPIES),
    Method("best_subset", "hierarchy", (3,), columns="S", lacks=COPIES, function=related),
    Method("subsets_within", arguments=(3,), options={"eps": 0.2}, lacks=COPIES),
    Method("swaps", arguments=(3,)),
    Method("swaps", "of replacement", options={"rule": "ompr"}),
    Method("stability_selection", options={"pairs": 3}, lacks=CORRELATIONS | OF_ROWS),
    Method("stability_selection", "by ols", options={"method": "ols", "pairs": 3}, lacks=OF_ROWS),
    Method("stability_selection", "of the LASSO", options=OF_LASSO, lacks=CORRELATIONS | OF_ROWS),
    Method("forward_regression"),
    Method("forward_regression", "regularized", options=OF_ROOTS, lacks=SPECTRUM),
    Method("forward_regression", "of entropy", options=OF_ENTROPY, lacks=SPECTRUM | SQUARES),
    Method("local_search", arguments=(), options=OF_ROOTS, lacks=SPECTRUM),
    Method("greedy_local_search", arguments=(3,), options=OF_ROOTS, lacks=SPECTRUM),
    Method("choose_nu", arguments=(3, ROOTS), lacks=SPECTRUM),
    Method("certify", function=certify, lacks=CORRELATIONS | OF_FRACTIONS),
    Method(
        "certify", "positive", (4, "nonnegative_omp"), function=certify, lacks=CORRELATIONS | OF_FRACTIONS
    ),
    Method("certify", "ols", (4, "ols"), function=certify, lacks=OF_FRACTIONS),
    Method("leave_one_out", function=leave_one_out, lacks=OF_EACH_ROW),
    Method("condition", function=condition, lacks={}),
    Method("inference", function=inference, lacks=OF_NOISE | TIES),
    Method("explain", function=explain, lacks=CORRELATIONS),
    Method("guarantee_bounds", lacks=SPECTRUM | WIDER),
    Method("submodularity_ratio", "", (), {"k": 2}, columns="U", lacks=COPIES),
    Method("submodularity_ratio", "forced", ((), 3), lacks=COPIES),
    Method("coherence", "", (), columns=None, takes_y=False, returns=NUMBER),
    Method("babel", "", (3,), columns=None, takes_y=False, returns=DOUBLE),
    Method("exact_recovery_coefficient", "", (), columns="S", takes_y=False, returns=NUMBER, lacks=UNSCALED),
    Method("sparse_eigenvalues", "", (3,), columns=None, takes_y=False, lacks=SPECTRUM | WIDER),
]
METHODS = {method.id: method for method in ROWS}
