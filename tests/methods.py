"""Methods × invariances: one table, run by `test_methods.py` and `test_unwritten_memory.py`.

Every public function whose first argument is a design has a row in METHODS, "name" or "name, variant".
`lacks` maps an invariance, or "invariance, design" with a design of `test_methods.py` (tall, wide, ties), to
the reason; the test then asserts that it fails there, on every design if none is named, by a difference, a
TypeError or a ValueError. A class of results has a row in RESULTS, its fields in the order of the dataclass.
A new invariance needs an entry in INVARIANCES and a generator of that name (lower case, - as _) in
`test_methods.py`. The invariances of proximal steps and penalties, which take vectors, are in their files.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

import sparselin as sl
from sparselin.certificates.nonnegative import NonnegativeStep
from sparselin.certificates.ols import OlsStep
from sparselin.certificates.step import StepCertificate
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy

INVARIANCES = {
    "rotation": "QX and Qy: exactly, Q being a matrix of Hadamard over √n",
    "permutation": "of the columns",
    "scale": "of X and of y, by powers of two: no bit changes; by others to rounding",
    "lengths": "of each column, by powers of two: no bit changes",
    "layout": "order, strides, lists, frames: no bit changes; sparse or by columns to rounding",
    "dtype": "integers, and truth values, are float64 in every bit; float32 stays, to its rounding",
    "weights": "repeat rows",
    "intercept": "=True: adding constants to columns and to y changes nothing but the intercept",
    "read-only": "data are left alone",
    "Problem": "stands for the data, in every bit",
    "Gram": "matrix, Xᵀy and ‖y‖² stand for the data, to their rounding",
    "runs": "are equal in every bit",
}


class Levels(NamedTuple):
    """The arguments that scale with the data: λ as X·y, ν as 1/X; and S, which are columns."""

    lam: float = 1.0
    nu: float = 0.1
    S: tuple[int, ...] = ()


class Method(NamedTuple):
    """f(X, y, levels, **options); which option names columns; invariance → why it is lacking."""

    call: Callable
    columns: str | None
    lacks: MappingProxyType
    many: bool  # whether y is a matrix
    kind: str  # of a number or an array that it returns


class Kind(NamedTuple):
    """What a field holds, and its degree in X and in y.

    number: a scalar; column, sample: an entry for each column, each row of X; indices: columns in their
    order; set: columns in any order; equal: compared by ==; fit: β, compared through its duality gap; work:
    counts of iterations and the like, compared only where every bit must agree; state: it depends on random
    numbers, compared only on the same data; witness: one of many, not compared; double: float64 always.
    """

    what: str
    of_X: float = 0
    of_y: float = 0


def kinds(text):
    fields = (field.split() for field in text.split(","))
    return {name: Kind(what, *map(float, degrees)) for name, what, *degrees in fields}


SUBSET = """support indices, coef number -1 1, value number, r2 number, diversity number 1, gains number,
    candidates number, moves work, status equal, n_features equal, intercept witness, names witness"""
RESULTS = {
    sl.SelectionPath: """support indices, coef_path number -1 1, intercept_path witness,
        lam_star number 1 1, margin number, ties set, active_sets set, weights state,
        residual_norm number 0 1, status equal, n_features equal, names witness, with_intercept equal,
        standardized equal, positive equal""",
    sl.StabilitySelection: """paths indices, forced indices, threshold equal, method equal, n_rows equal,
        n_features equal, status equal, names witness""",
    sl.GeneralizedPath: """support indices, coef_path number -1, intercept_path witness, lam_star number 1,
        margin number, ties set, deviance number, optimality work, unfitted indices, recession witness,
        loss equal, status equal, n_features equal, names witness, with_intercept equal,
        standardized equal""",
    sl.BatchSelection: """support indices, coef number -1 1, n_selected equal, residual_norms number 0 1,
        status equal, n_features equal, names witness, n_redone work""",
    sl.FirstEntry: """lam_star number 1 1, tied set, active set, signs witness, direction witness,
        window_lower number 1 1, proof_lower number 1 1, residual_norm number 0 1, status equal,
        names witness""",
    sl.LassoPath: """knots number 1 1, features witness, coef_path witness, intercept witness, r2 number,
        active set, forced indices, status equal, n_features equal, names witness, with_intercept equal,
        standardized equal, positive equal""",
    sl.DualProjection: """u sample 0 1, coef column -1 1, active set, duality_gap number 0 2, status equal,
        names witness""",
    sl.DescentResult: """w work -.5 .5, theta state, weights state, coef fit -1 1, intercept witness,
        objective work 0 2, duality_gap work 0 2, status equal, names witness, standardized equal""",
    sl.SubsetResult: SUBSET,
    sl.BestSubset: SUBSET + ", residual number 0 2, lower_bound number 0 2, optimal equal, nodes work",
    sl.SwappedSubset: SUBSET + ", rule equal, removed indices, inserted indices, residuals double 0 2",
    sl.NuChoice: """nu number -1, lower number -1, upper number -1, method witness, selection equal,
        r2_lasso number, r2_refitted number, refitted equal, tried double -1, r2_tried double,
        qualifies equal""",
    sl.Certificate: """sha256 witness, shape witness, normalized equal, claim equal, forced indices,
        steps equal""",
    StepCertificate: """selected indices, pick indices, tied set, active set, signs witness,
        lam_star_squared number 2 2, coef witness, direction witness, rate witness, farkas witness,
        tau number""",
    OlsStep: """selected indices, pick indices, tied set, spanned set, decrease number 0 2, coef witness,
        basis witness, squares witness""",
    sl.TheoremCheck: """path equal, verdicts equal, reasons equal, supports equal, supports_reason equal,
        lam_star double 1 1, n_tied equal, n_active equal, window double, proof double, audited equal""",
    NonnegativeStep: """selected indices, pick indices, tied set, lam_star_squared number 2 2,
        coef witness""",
    sl.Interval: "lower number, upper number, method witness, rounding work",
    sl.Explanation: """feature indices, kind equal, names witness, step equal, forced equal, given indices,
        correlation number 1 1, level number 1 1, error work 1 1, runner_up indices, margin number, tied set,
        fall equal, left number, regression number, shares number, r2 number, gain number, partial_r2 number,
        intervals number 1 1, sentence witness""",
    sl.SubmodularityRatio: "lower number, upper number, method witness, rounding work, base set, added set",
    sl.SparseEigenvalues: """k equal, lambda_min number 2, lambda_max number 2, lambda_min_support set,
        lambda_max_support set, condition_number work, coherence number, babel double""",
    sl.GuaranteeBounds: """k equal, bounds equal, best number, best_support set, r2 number, supports indices,
        constants number, names witness""",
    sl.Bound: """name equal, algorithm equal, formula equal, source equal, hypotheses equal, lower number,
        upper number, achieved number""",
}
RESULTS = {cls: kinds(text) for cls, text in RESULTS.items()}
# properties that are compared too: their fields depend on the order of the columns
PROPERTIES = {sl.LassoPath: kinds("coef column -1 1")}


LAM, NU = object(), object()


def certify(X, y, k, **options):
    return sl.certify(X, y, sl.omp(X, y, k, **options))


def certify_positive(X, y, k, **options):
    return sl.certify(X, y, sl.omp(X, y, k, positive=True, **options), claim="nonnegative_omp")


def certify_ols(X, y, k, **options):
    return sl.certify(X, y, sl.ols(X, y, k, **options), claim="ols")


def explain(X, y, k, **options):
    """Of the pick, and of one that is not selected."""
    path = sl.omp(X, y, k, **options)
    weight = options.get("sample_weight")
    rest = np.setdiff1d(np.arange(path.n_features), path.support)
    found = [sl.explain(X, y, path, j, sample_weight=weight) for j in [*path.support, *rest]]
    return found[k - 1], max(found[k:], key=lambda one: one.gain)


def logistic(X, y, k, **options):
    """Of the signs of y, which are labels."""
    labels = y > 0 if hasattr(y, "dtype") else None if y is None else np.asarray(y) > 0
    return sl.generalized_omp(X, labels, k, loss="logistic", **options)


def poisson(X, y, k, **options):
    """Of 3 where y > 0 and 1 elsewhere."""
    counts = None if y is None else 1 + 2 * (np.asarray(y) > 0)
    return sl.generalized_omp(X, counts, k, loss="poisson", **options)


def sparse_eigenvalues(X, y, k, **options):
    return sl.sparse_eigenvalues(X, k, **options)


def of_design(function):
    """A function of X alone as one of X and y."""
    return lambda X, y, *numbers, **options: function(X, *numbers, **options)


def method(function, *numbers, columns=None, many=False, lacks=None, kind="", **options):
    """The row of function(X, y, *numbers, columns=S, **options); LAM and NU stand for the levels."""

    def call(X, y, at, **more):
        given = [at.lam if v is LAM else v for v in numbers]
        named = {option: at.nu if v is NU else v for option, v in options.items()}
        return function(X, y, *given, **named, **{columns: at.S} if columns else {}, **more)

    return Method(call, columns, MappingProxyType(lacks or {}), many, kind)


ROOTS, ENTROPY = GeneralizedRank(0.5), SmoothedDifferentialEntropy(1.0)
CORRELATIONS = {"lengths": "correlations, and λ, are with the columns as they are"}
SPECTRUM = {"lengths": "the eigenvalues of XᵀX are those of the columns as they are"}
OF_NUMBERS = {"weights": "has no sample_weight", "Gram": "a certificate is of the numbers as they are"}
OF_ROWS = {
    "rotation": "rows are drawn", "weights": "a row of weight w is one row", "Gram": "has no rows"
}  # fmt: skip
OF_LOSSES = {
    "rotation": "each row has its loss", "intercept": "y are labels or counts",
    "Problem": "its rows are weighted", "weights": "not those of a Problem", "Gram": "each row has its loss",
}  # fmt: skip
NO_WEIGHTS = {"weights": "has no sample_weight", "intercept": "has no intercept"}

METHODS = {
    "omp": method(sl.omp, 4, columns="forced", lacks=CORRELATIONS),
    "omp, positive": method(sl.omp, 4, positive=True, columns="forced", lacks=CORRELATIONS),
    "ols": method(sl.ols, 4, columns="forced"),
    "generalized_omp": method(logistic, 3, columns="forced", lacks=CORRELATIONS | OF_LOSSES),
    "generalized_omp, poisson": method(poisson, 4, columns="forced", lacks=CORRELATIONS | OF_LOSSES),
    "batch_omp": method(
        sl.batch_omp, 4, columns="forced", many=True,
        lacks=CORRELATIONS | NO_WEIGHTS | {"Problem": "has one y", "Gram": "has one y"},
    ),
    "sequential_lasso": method(sl.sequential_lasso, 4, columns="forced", lacks=CORRELATIONS),
    "sequential_lasso, by omp": method(
        sl.sequential_lasso, 4, method="omp", columns="forced", lacks=CORRELATIONS
    ),
    "sequential_attention": method(sl.sequential_attention, 4, columns="forced", lacks=CORRELATIONS),
    "sequential_attention, softmax": method(
        sl.sequential_attention, 4, parametrization="softmax", columns="forced",
        lacks=CORRELATIONS,
    ),
    "first_entry": method(sl.first_entry, columns="forced", lacks=CORRELATIONS),
    "lambda_star": method(sl.lambda_star, columns="forced", kind="number 1 1", lacks=CORRELATIONS),
    "window_ratios": method(sl.window_ratios, 4, columns="forced", kind="number", lacks=CORRELATIONS),
    "verify": method(
        sl.verify, 2, lacks=CORRELATIONS | NO_WEIGHTS | {
            "dtype": "is computed in float64", "Gram": "the checks need samples"
        }
    ),
    "lasso_path": method(sl.lasso_path, max_steps=4, columns="forced", lacks=CORRELATIONS),
    "lasso_path, positive": method(
        sl.lasso_path, max_steps=4, positive=True, columns="forced", lacks=CORRELATIONS
    ),
    "project_dual": method(
        sl.project_dual, LAM, columns="forced",
        lacks=CORRELATIONS | NO_WEIGHTS | {"Problem": "u is one of samples", "Gram": "u is one of samples"},
    ),
    "hadamard_descent": method(sl.hadamard_descent, LAM, columns="forced", lacks=CORRELATIONS),
    "best_subset": method(
        sl.best_subset, 3, columns="forced", lacks={"Gram, ties": "copies are known to √eps"}
    ),
    "swaps": method(sl.swaps, 3, columns="forced"),
    "swaps, of replacement": method(sl.swaps, 4, rule="ompr", columns="forced"),
    "stability_selection": method(
        sl.stability_selection, 4, pairs=3, columns="forced", lacks=CORRELATIONS | OF_ROWS
    ),
    "stability_selection, by ols": method(
        sl.stability_selection, 4, method="ols", pairs=3, columns="forced", lacks=OF_ROWS
    ),
    "stability_selection, of the LASSO": method(
        sl.stability_selection, 4, method="lasso", pairs=3, columns="forced", lacks=CORRELATIONS | OF_ROWS
    ),
    "forward_regression": method(sl.forward_regression, 4, columns="forced"),
    "forward_regression, regularized": method(
        sl.forward_regression, 4, regularizer=ROOTS, nu=NU, columns="forced", lacks=SPECTRUM
    ),
    "forward_regression, of entropy": method(
        sl.forward_regression, 4, regularizer=ENTROPY, nu=0.1, columns="forced",
        lacks=SPECTRUM | {"scale": "δ is a square of lengths"},
    ),
    "local_search": method(
        sl.local_search, regularizer=ROOTS, nu=NU, columns="forced", lacks=SPECTRUM
    ),
    "greedy_local_search": method(
        sl.greedy_local_search, 3, regularizer=ROOTS, nu=NU, columns="forced", lacks=SPECTRUM
    ),
    "choose_nu": method(sl.choose_nu, 3, ROOTS, columns="forced", lacks=SPECTRUM),
    "certify": method(
        certify, 4, columns="forced",
        lacks=CORRELATIONS | OF_NUMBERS,
    ),
    "certify, positive": method(
        certify_positive, 4, columns="forced",
        lacks=CORRELATIONS | OF_NUMBERS,
    ),
    "certify, ols": method(certify_ols, 4, columns="forced", lacks=OF_NUMBERS),
    "explain": method(explain, 4, columns="forced", lacks=CORRELATIONS),
    "guarantee_bounds": method(
        sl.guarantee_bounds, 4, columns="forced", lacks=SPECTRUM | {"Gram": "intervals widen by its rounding"}
    ),
    "submodularity_ratio": method(
        sl.submodularity_ratio, columns="U", k=2,
        lacks={"Gram, ties": "copies are known to √eps"},
    ),
    "submodularity_ratio, forced": method(
        sl.submodularity_ratio, (), 3, columns="forced", lacks={"Gram, ties": "copies are known to √eps"}
    ),
    "coherence": method(of_design(sl.coherence), kind="number", lacks=NO_WEIGHTS),
    "babel": method(of_design(sl.babel), 3, kind="double", lacks=NO_WEIGHTS),
    "exact_recovery_coefficient": method(
        of_design(sl.exact_recovery_coefficient), columns="S", kind="number",
        lacks={"lengths, tall": "it is of the columns as they are"} | NO_WEIGHTS
    ),
    "sparse_eigenvalues": method(
        sparse_eigenvalues, 3, lacks=SPECTRUM | NO_WEIGHTS | {"Gram": "intervals widen by its rounding"}
    ),
}  # fmt: skip
