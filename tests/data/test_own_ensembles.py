"""Ensembles of one's own: registered, or a function in a file."""

import itertools
import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke
from oracles import same
from refusals import refuses

from sparselin import ensembles
from sparselin.ensembles import ENSEMBLES
from sparselin.studies.common.command import ensemble_names
from sparselin.studies.common.group import cli
from sparselin.studies.guarantees import tasks as promises
from sparselin.studies.verification import run as verification


def test_a_registered_ensemble_is_in_commands_and_tables(tmp_path):
    """Nothing but `register` is called: settings, options, reports and the study of promises have it."""
    refuses("an ensemble 'gaussian' already", ensembles.register, ENSEMBLES["gaussian"])
    ensembles.register(ensembles.of_random_size("toy", "a toy", ensembles.heavy_tails))
    try:
        assert "toy" in verification.VerificationSettings().ensembles
        assert {
            task.study for task in promises.GuaranteeSettings(designs=20).tasks() if task.ensemble == "toy"
        } == {"check", "ensembles"}
        assert ensemble_names("toy", promises.families()) == ("toy",)
        line = ["verify", "--designs", "2", "--steps", "2", "--ensembles", "toy", "--jobs", "2"]
        invoke(*line, "--output", tmp_path)
        assert "a toy" in (tmp_path / "index.html").read_text(encoding="utf-8")
    finally:
        del ENSEMBLES["toy"]


# ---- a function in a file

FILE = '''
import numpy as np

def tree(n, d, rng):
    """Columns of a
    random tree.

    Further words."""
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] += X[:, rng.integers(j)]
    return X, rng.standard_normal(n)

def raises(n, d, rng):
    raise KeyError("x")

def shape(n, d, rng):
    return np.ones((n, d + 1)), np.ones(n)

def nan(n, d, rng):
    return np.full((n, d), np.nan), np.ones(n)

def short(n, d, rng):
    return np.ones((n, d)), np.ones(n - 1)

def one(n, d, rng):
    return np.ones((n, d))

number = 3
'''


LATE = """
class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")

def mute(n, d, rng):
    raise Mute

def huge(n, d, rng):
    X, y = tree(n, d, rng)
    return 1e200 * X, y

calls = []

def late(n, d, rng):
    calls.append(n)
    return tree(n, d, rng) if len(calls) < 2 else 3
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(FILE, encoding="utf-8")
    yield path
    ENSEMBLES.pop("my.py:tree", None)


def test_a_function_in_a_file_is_an_ensemble(own):
    tree = ensembles.from_file(f"{own}:tree")
    words = "Columns of a random tree."
    assert (tree.name, tree.description, tree.origin) == ("my.py:tree", words, f"{own}:tree")
    X, y = tree.design(4)
    assert 20 <= len(y) <= 60
    assert 30 <= X.shape[1] <= 120
    assert same(tree.design(4), pickle.loads(pickle.dumps(tree)).design(4))
    own.write_text(FILE.replace("random tree", "tall tree"), encoding="utf-8")
    assert ensembles.from_file(f"{own}:tree").description == "Columns of a tall tree."


# ---- of a size of one's own


def test_verify_draws_every_ensemble_at_the_shape_that_is_given(own, tmp_path):
    arguments = ["verify", "--designs", "3", "--steps", "1", "--ensembles", f"{own}:tree,gaussian,digits"]
    invoke(*arguments, "--shape", "9-10x12", "--jobs", "1", "--output", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    assert results["run"]["command"].endswith(f"{own}:tree,gaussian,digits --shape 9-10x12 --seed 0")
    assert {(design["n"] in (9, 10), design["d"]) for design in results["designs"]} == {(True, 12)}
    settings = verification.VerificationSettings(shape=((9, 10), (12, 12)))
    X, y = settings.design("digits", 0)
    assert np.isin(y, ensembles.digits().y).all()
    assert X.shape[1] == 12


WRONG_SHAPES = [
    ("30", "must be rows x columns, such as 30x50"),
    ("0x4", "must begin at 1 or more"),
    ("9-3x4", "must begin at 1 or more, and not end before"),
    ("30x80", "breast_cancer has 284 rows and 30 columns"),
]


@pytest.mark.parametrize(("shape", "words"), WRONG_SHAPES)
def test_a_wrong_shape_is_refused(tmp_path, shape, words):
    arguments = ["verify", "--ensembles", "breast_cancer", "--output", tmp_path / "report"]
    assert words in invoke(*arguments, "--shape", shape, exit_code=2)
    assert "n, d ≤ 20; got 30x50" in invoke("verify", "--claim", "flow", "--shape", "30x50", exit_code=2)


def test_all_ensembles_leave_out_real_data_that_are_too_small(tmp_path):
    arguments = ["verify", "--designs", "1", "--steps", "1", "--jobs", "1", "--quick"]
    output = invoke(*arguments, "--shape", "9x40", "--output", tmp_path)
    assert "Without breast_cancer, which have fewer rows or columns" in output


# ---- in the other commands


def test_guarantee_takes_a_function_in_a_file(own, tmp_path):
    arguments = ["guarantee", "--designs", "3", "--quick", "--k", "1", "--ensembles", f"{own}:tree"]
    invoke(*arguments, "--jobs", "2", "--output", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    assert results["run"]["command"].endswith(f"--ensembles {own}:tree --seed 0 --quick")
    assert "my.py:tree" in (tmp_path / "report" / "results.csv").read_text(encoding="utf-8")
    assert "must have a function" in invoke("guarantee", "--ensembles", f"{own}:no", exit_code=2)


CLAIM = """
from sparselin.ledger import HOLDS, claim, mutants, paper

paper("ownensemble", "A claim about designs of the run")

def tall(design):
    return abs(design.X).max() < 100

@claim("ownensemble-1", "a conjecture", "float", HOLDS, cases=4)
@mutants("tall")
def test_sizes(check):
    "Entries are small.\\n\\nHypotheses: none"
    check.over(check.designs(), tall)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_claims_draw_from_a_function_in_a_file(own, tmp_path, monkeypatch, jobs):
    folder = tmp_path / f"claims_{jobs}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    text = CLAIM.replace("ownensemble", f"ownensemble{jobs}")
    (folder / "test_sizes.py").write_text(text, encoding="utf-8")
    more = "\ndef large(n, d, rng):\n    return 1000 * np.ones((n, d)), np.ones(n)\n"
    own.write_text(FILE + more, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    line = ["ledger", "--folder", folder, "--jobs", jobs]
    try:
        assert "1 claim, 4 cases: all verdicts hold" in invoke(*line, "--ensembles", f"gaussian,{own}:tree")
        assert "does not hold" in invoke(*line, "--ensembles", f"gaussian,{own}:large", exit_code=1)
        words = "unknown ensemble 'no'"
        assert words in invoke(*line, "--ensembles", "no", exit_code=2)
    finally:
        ENSEMBLES.pop("my.py:large", None)


BAD_FUNCTIONS = [
    ("raises", "raises KeyError: 'x'"),
    ("shape", "X must be an array"),
    ("nan", "X must be finite"),
    ("short", "y must have"),
    ("one", "must return X"),
    ("none", "must have a function 'none'; it is not there"),
    ("number", "must have a function 'number'; it is of type int"),
]


@pytest.mark.parametrize(("name", "words"), BAD_FUNCTIONS)
def test_a_bad_function_is_one_line(own, tmp_path, name, words):
    arguments = ["verify", "--designs", "2", "--steps", "1", "--ensembles", f"{own}:{name}"]
    result = CliRunner().invoke(cli, [*arguments, "--output", str(tmp_path / "report")])
    assert result.exit_code == 2
    line = [line for line in result.output.splitlines() if line.startswith("Error")]
    assert len(line) == 1
    assert words in line[0]
    assert not (tmp_path / "report").exists()


def test_a_bad_file_is_one_line(tmp_path):
    (tmp_path / "broken.py").write_text("def f(:", encoding="utf-8")
    (tmp_path / "quits.py").write_text("raise SystemExit(0)", encoding="utf-8")
    for name, words in (
        ("no.py", "there is no Python file"),
        ("broken.py", "SyntaxError"),
        ("quits.py", "SystemExit"),
    ):
        output = invoke("verify", "--ensembles", f"{tmp_path / name}:f", exit_code=2)
        assert words in output
        assert "Traceback" not in output


@pytest.mark.parametrize(("name", "words"), [("late", "must return X"), ("huge", "norm whose square over-")])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_designs_that_cannot_be_checked_are_counted_and_named_and_the_others_reported(
    own, tmp_path, name, words
):
    own.write_text(FILE + LATE, encoding="utf-8")
    arguments = ["verify", "--designs", "4", "--steps", "1", "--ensembles", f"gaussian,{own}:{name}"]
    try:
        output = invoke(*arguments, "--jobs", "1", "--output", tmp_path / "report", exit_code=1)
    finally:
        del ENSEMBLES[f"my.py:{name}"]
    assert "2 could not be checked" in output
    for index in (0, 1):
        assert f"my.py:{name} #{index} (seed 0) could not be checked" in output
    assert words in output
    assert "Traceback" not in output
    assert (tmp_path / "report" / "index.html").exists()


def test_an_error_without_a_readable_message_is_one_line(own, tmp_path):
    own.write_text(FILE + LATE, encoding="utf-8")
    output = invoke("verify", "--ensembles", f"{own}:mute", "--output", tmp_path / "report", exit_code=2)
    assert "raises Mute: its message cannot be read" in output
    assert "Traceback" not in output


def test_designs_are_drawn_when_their_turn_comes(tmp_path):
    """A trillion designs are no reason to wait, or to need memory, before the first."""
    settings = verification.VerificationSettings(designs=10**12)
    first = list(itertools.islice(settings.tasks(), 3))
    assert [index for _, index in first] == [0, 0, 0]
    words = invoke("guarantee", "--designs", 10**12, "--output", tmp_path / "report", exit_code=2)
    assert "is not in the range" in words
