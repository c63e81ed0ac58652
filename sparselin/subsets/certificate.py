"""Certificates of a best subset: a tree of cases that covers all subsets, and a proved bound for each case.

A *unit* is a feature, or a group of features if there are groups. The problem is to

    minimise q(β) = ½ Σ_i w_i(y_i − b₀ − X_iβ)² + (ridge/2)‖β‖²,   lower ≤ β ≤ upper,                      (1)

over the β with at most k nonzero units. The forced units are in every subset, so they count as nonzero even
if their coefficients are zero. With a hierarchy, so do the units that the units of a subset need. With an
intercept, b₀ minimises q; otherwise b₀ = 0. Below, column j is divided by 2^scale_j and β_j multiplied by it,
which changes no value of q.

**Bound.** Let G be the matrix of the quadratic form and W = diag(w), so that q(β) = ½yᵀWy − bᵀβ + ½βᵀGβ with
y centred. A *stage* is a diagonal matrix D ≥ 0 such that M = G − D is positive semidefinite. Take any vector
w (from here on w does not denote the weights), and let c = b − Mw. Because (β − w)ᵀM(β − w) ≥ 0,

    q(β) ≥ ½yᵀWy − ½wᵀMw − Σ_j (c_jβ_j − ½D_jβ_j²) ≥ ½yᵀWy − ½wᵀMw − Σ_{j: β_j ≠ 0} H_j,                   (2)

where H_j = max {c_jt − ½D_jt² : lower_j ≤ t ≤ upper_j} ≥ 0. The height of a unit is the sum of the H_j of its
features. A *case* consists of the β in which the units I are selected, the units E are not, and at most m
others are. In a case the last sum is at most the heights of I plus the m largest heights of the others. So
one *vector* w bounds q in a whole case, and many cases can share the same w.

**Box.** A vector w also confines β_j if D_j > 0. Let L be the lower bound that w gives for the case in which
the unit of j is selected, and h_j = c_j²/(2D_j). Since c_jt − ½D_jt² = h_j − ½D_j(t − c_j/D_j)², every β with
β_j ≠ 0 and q(β) ≤ U satisfies

    ½D_j(β_j − c_j/D_j)² ≤ U − L − H_j + h_j.                                                              (3)

The resulting bounds on β_j may replace lower_j and upper_j in (2) for other vectors. If U is the value q of
the given subset, they exclude no β that is better than the given subset.

**Hierarchy.** A pair (u, p) of a hierarchy says that each subset with the unit u contains the unit p. Before
each operation, the hierarchy decides further units of the case, once and in this order: p is in if u is in; a
free u is out if p is out; a free u is out if u and all p of its pairs that are not in are more units than may
still be selected. No subset that obeys the hierarchy is lost. If p is out and u is in, or if more than k
units are in, no subset is left, and the case needs no operation. The certificates of `best_subset` also have
the pairs that follow from others, because needs are transitive.

**Leaves.** A case may admit only one support. Let β minimise q on this support, with some features fixed at a
bound. By convexity, every other β′ of the case has q(β′) ≥ q(β) + Σ_j min {∂_jq(β)(t − β_j) : lower_j ≤ t ≤
upper_j}. Only the features fixed at a bound have a nonzero derivative ∂_jq(β).
"""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin.problem import as_problem
from sparselin.subsets.certificate_form import SubsetFields, SubsetStage, SubsetVector, form_fault
from sparselin.subsets.certificate_proof import SubsetProof

_FORMAT = "sparselin subset certificate 1"


@dataclasses.dataclass(frozen=True)
class SubsetVerification:
    """The result of checking a certificate of a subset; its truth value is `proved`.

    Attributes
    ----------
    proved : whether no subset has a value below (1 − gap)·value.
    failures : the conditions that are not met, one sentence each.
    value : the value q of the certificate's subset, or None if the certificate is malformed.
    gap : the relative gap that the certificate claims.
    leaves : the number of lower bounds that were checked.
    """

    proved: bool
    failures: tuple[str, ...]
    value: Fraction | None
    gap: Fraction
    leaves: int

    def __bool__(self) -> bool:
        return self.proved


class SubsetCertificate(SubsetFields):
    """A proof, for one X and y, that no subset is better than the given one by more than a gap.

    The docstring of `sparselin.subsets.certificate` states the problem, in which a *unit* is a feature or a
    group of features, and explains the proof. A certificate is plain data: it can be read, sent (`to_json`),
    and checked without the search that made it (`verify`).

    Attributes
    ----------
    shape : (n, d).
    k : the largest number of units, the forced ones included.
    ridge, gap : floats ≥ 0; the gap is at most 1.
    intercept : whether there is an intercept, which is not penalised.
    forced : units that always count as selected.
    groups : (d,) the number of the unit of each feature, or None if each feature is a unit.
    lower, upper : (d,) bounds of β in the units of X, lower ≤ 0 ≤ upper, infinite where there is none.
    support : the units of the best known subset, the forced ones among them.
    at_lower, at_upper : the features of the support whose coefficients are at a bound. The objective q is
        minimised over the other coefficients.
    scale : (d,) exponents of two, near those of the largest entries of the columns.
    box : the number of the vector that confines β by formula (3) of the module, or None. Its stage contains
        all features.
    stages, vectors : see `SubsetStage` and `SubsetVector`.
    tree : operations on the current case (I, E), in which the units I are selected ("in") and the units E are
        not ("out"). The first case is I = forced and E = ∅. The tree ends when q has been bounded in every
        case.

        - ("split", j): the operations that follow bound the case with j in I, and then the case with j in E.
        - ("out", v, (j, …)): for each of these j, vector v bounds the case (I ∪ {j}, E). Then all j join E.
        - ("in", v, (j, …)): for each of these j, vector v bounds the case (I, E ∪ {j}). Then all j join I.
        - ("bound", v): vector v bounds the current case.
        - ("value", at_lower, at_upper): the case has one support, because k units are in I, or at most k are
          not in E. The minimum of q on these units, with the listed features at their bounds, bounds the
          case.

    hierarchy : pairs (u, p) of units: each subset with the unit u contains the unit p.
    """

    def __repr__(self) -> str:
        """Return one line, without the vectors."""
        return (
            f"SubsetCertificate(shape={self.shape}, k={self.k}, support={self.support}, gap={self.gap}, "
            f"{len(self.vectors)} vectors, {len(self.tree)} operations)"
        )

    def verify(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> SubsetVerification:
        """Check the certificate on (X, y) in exact arithmetic, without a tolerance.

        Parameters
        ----------
        X, y : the data, or one `Problem` without an intercept in place of both. The rows of a problem are
            taken as they are.
        sample_weight : (n,) the weights w_i.

        Returns
        -------
        SubsetVerification, with all failures. A malformed certificate has one failure, which says what is
        wrong.

        Raises
        ------
        TypeError, ValueError : invalid X, y or weights.
        """
        if sample_weight is not None:
            as_problem(X, y, sample_weight=sample_weight)  # checks the weights
        problem = as_problem(X, y)
        data = problem.exact_columns()
        if data is None or not problem.is_plain:
            raise ValueError("verify needs X and y; got a Problem that was changed. Pass X and y")
        weights = np.ones(problem.n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if fault := form_fault(self, *data.shape):
            return SubsetVerification(False, (fault,), None, Fraction(0), 0)
        proof = SubsetProof(self, data, problem.double_y, weights)
        failures = tuple(proof.failures())
        return SubsetVerification(not failures, failures, proof.value, Fraction(self.gap), proof.leaves)

    def to_json(self) -> str:
        """Return the certificate as text: lists of numbers, where null is an infinite bound."""
        fields: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["stages"] = [[stage.features, stage.diagonal] for stage in self.stages]
        fields["vectors"] = [[v.stage, v.features, v.entries, v.exponent] for v in self.vectors]
        for name in ("lower", "upper"):
            fields[name] = [x if math.isfinite(x) else None for x in fields[name].tolist()]
        whole = {"format": _FORMAT, **fields}
        return json.dumps(whole, default=np.ndarray.tolist, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> SubsetCertificate:
        """Read a certificate that `to_json` wrote; ValueError if the text is not such a certificate."""
        try:
            fields = json.loads(text)
            if not isinstance(fields, dict) or fields.pop("format", None) != _FORMAT:
                raise ValueError('it must be an object with that "format"')
            for name, sign in (("lower", -1), ("upper", 1)):
                fields[name] = _array([sign * math.inf if x is None else x for x in fields[name]], float)
            fields["hierarchy"] = _as_tuple(fields["hierarchy"])
            fields["groups"] = None if fields["groups"] is None else _array(fields["groups"], int)
            fields["scale"] = _array(fields["scale"], int)
            pairs = ((_array(J, int), _array(D, float)) for J, D in fields["stages"])
            fields["stages"] = tuple(SubsetStage(*pair) for pair in pairs)
            fields["vectors"] = tuple(
                SubsetVector(s, _array(J, int), _array(w, int), power) for s, J, w, power in fields["vectors"]
            )
            return cls(**{name: _as_tuple(value) for name, value in fields.items()})
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"this text is no {_FORMAT!r}: {error}") from None


def _array(values: Any, kind: type[int | float]) -> NDArray[Any]:
    """Return a list of numbers of this type as an array; ValueError for anything else."""
    if type(values) is not list or not all(type(value) is kind for value in values):
        raise ValueError(f"a list must have entries of the type {kind.__name__} only")
    return np.array(values, np.intp if kind is int else np.float64)


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(entry) for entry in value) if isinstance(value, list) else value
