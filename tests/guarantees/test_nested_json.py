"""JSON texts of certificates in which one value is nested deeply: each is refused or not proved."""

import json

import numpy as np
import pytest

import sparselin as sl
from sparselin.certificates.certify import Certificate
from sparselin.certificates.flow import FlowCertificate
from sparselin.certificates.lasso import LassoCertificate
from sparselin.subsets.certificate import SubsetCertificate

DEPTHS = (600, 3_000, 100_000)  # below the limit of the interpreter, which counts calls, and above it


def design():
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, (9, 4)).astype(float)
    return X, X[:, 0] - 2 * X[:, 2] + rng.integers(-1, 2, 9)


def certificates():
    X, y = design()
    return {
        Certificate: sl.certify(X, y, sl.omp(X, y, 2)),
        LassoCertificate: sl.certify(X, y, sl.lasso_path(X, y)),
        FlowCertificate: sl.certify(X, y, sl.gradient_flow(X, y)),
        SubsetCertificate: sl.best_subset(X, y, 2, ridge=0.5).certificate,
    }


def spots(value, at=()):
    """All places in a JSON value, as tuples of keys."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from spots(value[key], (*at, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 2)):
            yield from spots(value[i], (*at, i))


def with_value(fields, at, text):
    """The JSON text of `fields` with the JSON value `text` at the place `at`."""
    if not at:
        return text
    marked = json.loads(json.dumps(fields))
    inner = marked
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = "the place"
    return json.dumps(marked).replace('"the place"', text)


@pytest.mark.parametrize("kind", certificates(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a": ', "}")], ids=["lists", "objects"])
def test_a_value_nested_deeply(kind, depth, brackets):
    (X, y), certificate = design(), certificates()[kind]
    assert certificate.verify(X, y)
    fields = json.loads(certificate.to_json())
    nested = brackets[0] * depth + "1" + brackets[1] * depth
    places = list(spots(fields))
    assert len(places) > 10
    for at in places:
        text = with_value(fields, at, nested)
        try:
            made = kind.from_json(text)
        except ValueError as error:
            refusal = str(error)
        else:
            assert not made.verify(X, y), at
            continue
        assert "this text is no" in refusal
        assert len(refusal) < 10 * depth
