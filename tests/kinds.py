"""The content of each field of a result, by class: `test_methods.py` compares results by this table.

The fields of a class stand in the order of its dataclass.
"""

from typing import NamedTuple

import sparselin as sl
from sparselin.certificates.step import NonnegativeStep, OlsStep, StepCertificate


class Kind(NamedTuple):
    """The content of a field, and its degrees in X and y; `NUMBER(1, 2)` is a number of degrees 1 and 2."""

    what: str
    of_X: float = 0
    of_y: float = 0

    def __call__(self, of_X, of_y=0):
        return self._replace(of_X=of_X, of_y=of_y)


NUMBER = Kind("number")  # a scalar
COLUMN, SAMPLE = Kind("column"), Kind("sample")  # an entry for each column, each row of X
INDICES, SET = Kind("indices"), Kind("set")  # columns in their order, columns in any order
EQUAL = Kind("equal")  # compared by ==
FIT = Kind("fit")  # β, compared through its duality gap
WORK = Kind("work")  # counts of iterations and the like, compared only where every bit must agree
STATE = Kind("state")  # it depends on random numbers, compared only on the same data
WITNESS = Kind("witness")  # one of many, not compared
DOUBLE = Kind("double")  # a number that is float64 always

LOSS = {"by_length": EQUAL, "loss": EQUAL, "classes": EQUAL}
SUBSET = {
    "support": INDICES, "coef": NUMBER(-1, 1), "value": NUMBER, "r2": NUMBER, "diversity": NUMBER(1),
    "gains": NUMBER, "candidates": NUMBER, "moves": WORK, "status": EQUAL, "n_features": EQUAL,
    "intercept": WITNESS, "names": WITNESS,
}  # fmt: skip
RESULTS = {
    sl.results.SelectionPath: {
        "support": INDICES, "coef_path": NUMBER(-1, 1), "intercept_path": WITNESS, "lam_star": NUMBER(1, 1),
        "margin": NUMBER, "ties": SET, "active_sets": SET, "weights": STATE, "residual_norm": NUMBER(0, 1),
        "status": EQUAL, "n_features": EQUAL, "names": WITNESS, "with_intercept": EQUAL,
        "standardized": EQUAL, "positive": EQUAL, **LOSS,
    },
    sl.results.StabilitySelection: {
        "paths": INDICES, "forced": INDICES, "threshold": EQUAL, "method": EQUAL, "n_rows": EQUAL,
        "n_features": EQUAL, "status": EQUAL, "names": WITNESS, "undecided": EQUAL, "groups": EQUAL,
    },
    sl.results.Inference: {
        "support": INDICES, "leaves": EQUAL, "estimate": NUMBER(-1, 1), "standard_error": NUMBER(-1, 1),
        "truncation": WITNESS, "bounds": DOUBLE, "step_bounds": DOUBLE, "spacing_bounds": DOUBLE,
        "log_bounds": DOUBLE, "log_step_bounds": DOUBLE, "log_spacing_bounds": DOUBLE,
        "interval_bounds": DOUBLE(-1, 1), "sigma": DOUBLE(0, 1), "degrees": EQUAL, "approximate": EQUAL,
        "level": EQUAL, "method": EQUAL,
        "model": WITNESS, "status": EQUAL, "n_features": EQUAL, "names": WITNESS, "with_intercept": EQUAL,
        "standardized": EQUAL, "positive": EQUAL, **LOSS,
    },
    sl.results.LeaveOneOut: {
        "sizes": EQUAL, "error": DOUBLE(0, 2), "corrected": DOUBLE(0, 2), "r2": DOUBLE, "best": EQUAL,
        "best_corrected": EQUAL,
    },
    sl.results.Condition: {
        "features": INDICES, "rivals": WITNESS, "signs": WITNESS, "numbers": DOUBLE, "distances_y": DOUBLE,
        "lowers": WITNESS, "lam": EQUAL, "in_y": EQUAL, "names": WITNESS, "source": WITNESS,
    },
    sl.results.GeneralizedPath: {
        "support": INDICES, "coef_path": NUMBER(-1), "intercept_path": WITNESS, "lam_star": NUMBER(1),
        "margin": NUMBER, "ties": SET, "deviance": NUMBER, "optimality": WORK, "unfitted": INDICES,
        "recession": WITNESS, "status": EQUAL, "n_features": EQUAL, "names": WITNESS,
        "with_intercept": EQUAL, "standardized": EQUAL, "positive": EQUAL, **LOSS,
    },
    sl.results.BatchSelection: {
        "support": INDICES, "coef": NUMBER(-1, 1), "n_selected": EQUAL, "residual_norms": NUMBER(0, 1),
        "status": EQUAL, "n_features": EQUAL, "names": WITNESS, "n_redone": WORK,
    },
    sl.results.FirstEntry: {
        "lam_star": NUMBER(1, 1), "tied": SET, "active": SET, "signs": WITNESS, "direction": WITNESS,
        "window_lower": NUMBER(1, 1), "proof_lower": NUMBER(1, 1), "residual_norm": NUMBER(0, 1),
        "status": EQUAL, "names": WITNESS,
    },
    sl.results.LassoPath: {
        "knots": NUMBER(1, 1), "features": WITNESS, "coef_path": WITNESS, "intercept": WITNESS, "r2": NUMBER,
        "active": SET, "forced": INDICES, "status": EQUAL, "n_features": EQUAL, "names": WITNESS,
        "with_intercept": EQUAL, "standardized": EQUAL, "positive": EQUAL, **LOSS,
    },
    sl.results.FlowPath: {
        "tau": DOUBLE(-1, -1), "s": COLUMN, "s_error": WORK, "features": WITNESS, "coef_path": WITNESS,
        "intercept_path": WITNESS, "residual_norm": NUMBER(0, 1), "r2": NUMBER, "supports": SET,
        "unique": EQUAL, "penalty": WITNESS, "restarted": EQUAL, "forced": INDICES, "status": EQUAL,
        "n_features": EQUAL, "names": WITNESS, "with_intercept": EQUAL, "standardized": EQUAL,
        "positive": EQUAL, **LOSS,
    },
    sl.results.DualProjection: {
        "u": SAMPLE(0, 1), "coef": COLUMN(-1, 1), "active": SET, "duality_gap": NUMBER(0, 2), "status": EQUAL,
        "names": WITNESS,
    },
    sl.results.DescentResult: {
        "w": WORK(-.5, .5), "theta": STATE, "weights": STATE, "coef": FIT(-1, 1), "intercept": WITNESS,
        "objective": WORK(0, 2), "duality_gap": WORK(0, 2), "status": EQUAL, "names": WITNESS,
        "standardized": EQUAL,
    },
    sl.results.SubsetResult: SUBSET,
    sl.results.BestSubset: {
        **SUBSET, "residual": NUMBER(0, 2), "restrictions": EQUAL, "objective": NUMBER(0, 2),
        "lower_bound": NUMBER(0, 2), "optimal": EQUAL, "nodes": WORK, "unique": WORK,
        "second": WITNESS, "uniqueness": WITNESS, "certificate": WITNESS,
        "why_no_certificate": WITNESS, "by_size": EQUAL, "saved": WITNESS,
    },
    sl.results.SubsetsWithin: {
        "supports": WITNESS, "values": DOUBLE(0, 2), "limit": NUMBER(0, 2), "lower_bound": NUMBER(0, 2),
        "complete": EQUAL, "share": WITNESS, "y_square": NUMBER(0, 2), "status": EQUAL,
        "n_features": EQUAL, "nodes": WORK, "names": WITNESS, "by_size": EQUAL,
    },
    sl.results.SwappedSubset: {
        **SUBSET, "rule": EQUAL, "removed": INDICES, "inserted": INDICES, "residuals": DOUBLE(0, 2),
    },
    sl.results.NuChoice: {
        "nu": NUMBER(-1), "lower": NUMBER(-1), "upper": NUMBER(-1), "method": WITNESS, "selection": EQUAL,
        "r2_lasso": NUMBER, "r2_refitted": NUMBER, "refitted": EQUAL, "tried": DOUBLE(-1), "r2_tried": DOUBLE,
        "qualifies": EQUAL,
    },
    sl.results.Certificate: {
        "sha256": WITNESS, "shape": WITNESS, "normalized": EQUAL, "claim": EQUAL, "forced": INDICES,
        "steps": EQUAL,
    },
    StepCertificate: {
        "selected": INDICES, "pick": INDICES, "tied": SET, "active": SET, "signs": WITNESS,
        "lam_star_squared": NUMBER(2, 2), "coef": WITNESS, "direction": WITNESS, "rate": WITNESS,
        "farkas": WITNESS, "tau": NUMBER,
    },
    OlsStep: {
        "selected": INDICES, "pick": INDICES, "tied": SET, "spanned": SET, "decrease": NUMBER(0, 2),
        "coef": WITNESS, "basis": WITNESS, "squares": WITNESS,
    },
    sl.results.TheoremCheck: {
        "path": EQUAL, "verdicts": EQUAL, "reasons": EQUAL, "supports": EQUAL, "supports_reason": EQUAL,
        "lam_star": DOUBLE(1, 1), "n_tied": EQUAL, "n_active": EQUAL, "window": DOUBLE, "proof": DOUBLE,
        "audited": EQUAL,
    },
    NonnegativeStep: {
        "selected": INDICES, "pick": INDICES, "tied": SET, "lam_star_squared": NUMBER(2, 2), "coef": WITNESS,
    },
    sl.results.Interval: {"lower": NUMBER, "upper": NUMBER, "method": WITNESS, "rounding": WORK},
    sl.results.Explanation: {
        "feature": INDICES, "kind": EQUAL, "names": WITNESS, "step": EQUAL, "forced": EQUAL, "given": INDICES,
        "correlation": NUMBER(1, 1), "level": NUMBER(1, 1), "error": WORK(1, 1), "runner_up": INDICES,
        "margin": NUMBER, "tied": SET, "fall": EQUAL, "left": NUMBER, "regression": NUMBER, "shares": NUMBER,
        "r2": NUMBER, "gain": NUMBER, "partial_r2": NUMBER, "intervals": NUMBER(1, 1), "sentence": WITNESS,
    },
    sl.results.SubmodularityRatio: {
        "lower": NUMBER, "upper": NUMBER, "method": WITNESS, "rounding": WORK, "base": SET, "added": SET,
    },
    sl.results.SparseEigenvalues: {
        "k": EQUAL, "lambda_min": NUMBER(2), "lambda_max": NUMBER(2), "lambda_min_support": SET,
        "lambda_max_support": SET, "condition_number": WORK, "coherence": NUMBER, "babel": DOUBLE,
    },
    sl.results.GuaranteeBounds: {
        "k": EQUAL, "bounds": EQUAL, "best": NUMBER, "best_support": SET, "r2": NUMBER, "supports": INDICES,
        "constants": NUMBER, "names": WITNESS,
    },
    sl.results.Bound: {
        "name": EQUAL, "algorithm": EQUAL, "formula": EQUAL, "source": EQUAL, "hypotheses": EQUAL,
        "lower": NUMBER, "upper": NUMBER, "achieved": NUMBER,
    },
}  # fmt: skip
# properties that are compared too: their fields depend on the order of the columns
PROPERTIES = {
    sl.results.LassoPath: {"coef": COLUMN(-1, 1)}, sl.results.FlowPath: {"coef": COLUMN(-1, 1)},
    sl.results.SubsetsWithin: {"in_all": SET, "in_some": SET, "in_none": SET},
}  # fmt: skip
