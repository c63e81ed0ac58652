"""The checker of path certificates in plain Python: what it accepts and refuses, and that it stands alone."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from house import code_lines

import sparselin as sl
from sparselin.certificates.lasso import LassoCertificate, LassoKnot
from sparselin.check.path_checker import check
from tests.forged_lasso import mutate

CHECKER = Path(sl.__file__).parent / "check" / "path_checker.py"


def designs(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    return (np.round(2 * X), np.round(3 * y)) if seed % 2 else (X, y)


def certificates(X, y):
    """Yield certificates of every kind that exist for X and y."""
    k = min(2, *X.shape)
    unit = X / (np.linalg.norm(X, axis=0) + (X == 0).all(axis=0))
    calls = (
        lambda: sl.certify(X, y, sl.omp(X, y, k), claim="omp"),
        lambda: sl.certify(X, y, sl.omp(unit, y, 1), claim="omp", normalized=True),
        lambda: sl.certify(X, y, sl.sequential_lasso(X, y, k, forced=[1])),
        lambda: sl.certify(X, y, sl.omp(X, y, 1, intercept=True)),
        lambda: sl.certify(X, y, sl.omp(X, y, k, positive=True), claim="nonnegative_omp"),
        lambda: sl.certify(X, y, sl.ols(X, y, k), claim="ols"),
        lambda: sl.certify(X, y, sl.lasso_path(X, y)),
        lambda: sl.certify(X, y, sl.lasso_path(X, y, positive=True, forced=[0])),
        lambda: sl.certify(X, y, sl.lasso_path(X, y, intercept=True, lam_min=0.3)),
    )
    for call in calls:
        try:
            yield call()
        except ValueError:
            continue


@pytest.mark.parametrize("seed", range(4))
def test_both_checks_agree(seed):
    """Valid certificates are proved. A changed one is proved by both or by none."""
    X, y = designs(seed)
    rng = np.random.default_rng(seed)
    count = 0
    for given in certificates(X, y):
        proved, words = check(given.to_json(), X.tolist(), y.tolist())
        assert proved, words
        assert check(given.to_json(), X.tolist(), (y + 1).tolist()) == (False, "bound to other data")
        count += 1
        for _ in range(25):
            text = mutate(given.to_json(), rng)
            try:
                other = type(given).from_json(text)
                options = {} if isinstance(given, LassoCertificate) else {"exact": True}
                found = bool(other.verify(X, y, **options))
            except ValueError:
                found = False
            proved, words = check(text, X.tolist(), y.tolist())
            assert proved <= found, (text, words)
            if found and not proved:
                assert "malformed" not in words, (text, words)
    assert count > 4


def test_active_sets_alone_are_completed():
    X, y = designs(0)
    given = sl.certify(X, y, sl.lasso_path(X, y))
    rows = [LassoKnot(knot.active, knot.signs) for knot in given.knots]
    fields = json.loads(given.to_json())
    for row in fields["knots"][:-1]:
        row["lam"] = row["coef"] = None
    fields["knots"][-1]["coef"] = None
    assert len(rows) > 2
    assert check(json.dumps(fields), X.tolist(), y.tolist())[0]
    fields["knots"][1]["active"] = fields["knots"][0]["active"]
    assert not check(json.dumps(fields), X.tolist(), y.tolist())[0]


def test_the_checker_runs_by_itself(tmp_path):
    X, y = designs(2)
    given = sl.certify(X, y, sl.lasso_path(X, y))
    (tmp_path / "path.json").write_text(given.to_json(), encoding="utf-8")
    hexadecimal = [[v.hex() for v in row] for row in X.tolist()]
    (tmp_path / "data.json").write_text(json.dumps({"X": hexadecimal, "y": y.tolist()}), encoding="utf-8")
    np.savetxt(tmp_path / "data.csv", np.c_[X, y], delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "other.csv", np.c_[X, -y], delimiter=",", fmt="%.17g")
    (tmp_path / "check.py").write_text(CHECKER.read_text(encoding="utf-8"), encoding="utf-8")
    for name, answer in {"data.json": "PROVED", "data.csv": "PROVED", "other.csv": "REFUTED"}.items():
        for command in (["-I", "-S", "check.py"], ["-m", "sparselin.check"]):
            words = [sys.executable, *command, "path.json", name]
            run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (run.returncode, run.stdout.split(":")[0]) == (int(answer == "REFUTED"), answer), (
                run.stderr
            )


def test_the_checker_is_short_and_needs_the_standard_library_only():
    text = CHECKER.read_text(encoding="utf-8")
    assert code_lines(CHECKER) <= 300
    assert "numpy" not in text.replace("numpy only", "")
    assert "import sparselin" not in text
