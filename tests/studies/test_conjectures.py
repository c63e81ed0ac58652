"""One's own claims in `sparselin ledger`: a paper of one's own; counterexamples, saved and shrunk."""

import numpy as np
import pytest
from commands import invoke
from refusals import refuses

import sparselin as sl
from sparselin import ledger

MINE = '''
import sparselin as sl
from sparselin.ledger import HOLDS, claim, mutants, paper
from sparselin.testing import integer_designs

paper("mine", "My conjectures")

def first(method, design):
    return list(method(*design, 1).support)

@claim("mine-shrunk", "1", "float", HOLDS, cases=200)
@mutants("first")
def test_shrunk(check):
    """The first picks of OMP and OLS agree.

    Hypotheses: none
    """
    check.over(range(3), lambda x: x >= 0)
    check.forall(integer_designs(4, 4), lambda design: first(sl.omp, design) == first(sl.ols, design))

@claim("mine-drawn", "2", "float", HOLDS, cases=20)
@mutants("first")
def test_drawn(check):
    """OMP picks the same for X and for X without its last row.

    Hypotheses: none
    """
    draws = (sl.ensembles.gaussian(20, 30, check.rng, y="noise") for _ in range(check.cases))
    check.over(draws, lambda design: first(sl.omp, design) == first(sl.omp, (design.X[:-1], design.y[:-1])))

@claim("mine-true", "3", "float", HOLDS, cases=20)
@mutants("first")
def test_true(check):
    """x = x.

    Hypotheses: none
    """
    check.over(range(check.cases), lambda x: x == x)

@claim("mine-error", "4", "float", HOLDS, cases=20)
@mutants("first")
def test_error(check):
    """1/x is finite.

    Hypotheses: none
    """
    check.over(range(check.cases), lambda x: 1 / x)

@claim("mine-tally", "5", "float", HOLDS, cases=20)
@mutants("first")
def test_tally(check):
    """Counted elsewhere.

    Hypotheses: none
    """
    check.over(range(1, 3), lambda x: x)
    check.tally(3, 1, "the second")
'''


def a_folder(path):
    path.mkdir()
    (path / "__init__.py").write_text("")
    (path / "test_mine.py").write_text(MINE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """The folder, where counterexamples are saved, and what the command says."""
    folder = a_folder(tmp_path_factory.mktemp("conjectures") / "conjectures_of_mine")
    saved = folder.parent / "saved"
    line = ["ledger", "--folder", str(folder), "--counterexamples", str(saved), "--jobs", "1"]
    yield folder, saved, invoke(*line, exit_code=1)
    del ledger.PAPERS["mine"]


def test_a_paper_of_ones_own(mine):
    folder, _, output = mine
    assert "5 claims" in output
    assert [made.id for made in ledger.collect(folder, "mine", "mine-tr")] == ["mine-true"]
    line = ["ledger", "--folder", str(folder), "--jobs", "1"]
    output = invoke(*line, "--paper", "MINE", "--id", "mine-true")
    assert "1 claim, 20 cases: all verdicts hold" in output
    invoke(*line, "--id", "mine-true", "--write")
    assert "## My conjectures" in (folder / "LEDGER.md").read_text(encoding="utf-8")
    for name in ("LEDGER.md", "ledger.json"):
        (folder / name).unlink()
    output = invoke(*line, "--paper", "yours", exit_code=2)
    assert "must be one of SA, SR, LN, ours, mine; got 'yours'" in output
    ledger.paper("mine", "My conjectures")
    refuses("has the title 'My conjectures' already", ledger.paper, "mine", "Others")
    refuses("key must be a word", ledger.paper, "my-own", "x")


def test_a_failed_claim_is_saved_with_the_command_that_shows_it_again(mine):
    folder, saved, printed = mine
    failing = ("mine-shrunk", "mine-drawn", "mine-error")
    assert sorted(path.stem for path in saved.iterdir()) == sorted(failing)
    for id in failing:
        assert f"sparselin ledger --folder {folder} --design {saved / id}.npz" in printed
        line = ["ledger", "--folder", str(folder), "--design", str(saved / f"{id}.npz")]
        output = invoke(*line, exit_code=1)
        assert f"{id} fails: " in output
    assert "ZeroDivisionError" in output


def test_a_counterexample_is_shrunk(mine):
    """Hypothesis shrinks it within the strategy in `forall`; `over` shrinks it by columns and rows."""
    _, saved, output = mine
    with np.load(saved / "mine-shrunk.npz") as found:
        assert int(found["call"]) == 2
        assert found["X"].size <= 4
        assert set(np.unique(np.abs(found["X"]))) <= {0, 1, 2}
        assert "smaller_X" not in found
    with np.load(saved / "mine-drawn.npz") as found:
        assert found["X"].shape == (20, 30)
        X, y = found["smaller_X"], found["smaller_y"]
    assert X.size < 30
    assert list(sl.omp(X, y, 1).support) != list(sl.omp(X[:-1], y[:-1], 1).support)
    assert f"and on a smaller design of shape {X.shape}" in output
    assert "counterexample: X (20, 30), y (20,)" in output


def test_other_counterexamples_are_refused(mine, tmp_path):
    folder, saved, _ = mine
    other = tmp_path / "conjectures_of_others"
    other.mkdir()
    (other / "__init__.py").write_text("")
    (other / "test_others.py").write_text("")
    line = ["ledger", "--folder", str(other), "--design", str(saved / "mine-drawn.npz")]
    assert "has no claim mine-drawn" in invoke(*line, exit_code=2)
    line = ["ledger", "--folder", str(folder), "--design", str(tmp_path / "a.npz")]
    for arrays, words in (
        ({"X": np.eye(2)}, "is not a saved counterexample"),
        ({"value": 3, "claim": "mine-true"}, "call"),
        ({"value": 3, "claim": "mine-true", "call": 2}, "has no `forall` or `over` number 2"),
    ):
        np.savez(tmp_path / "a.npz", **arrays)
        assert words in invoke(*line, exit_code=2)
    np.savez(tmp_path / "a.npz", value=3, claim="mine-true", call=1)
    assert invoke(*line) == "mine-true holds"
    assert "--write: has no effect with --design" in invoke(*line, "--write", exit_code=2)
