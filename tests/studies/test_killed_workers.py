"""A worker that is killed, or a job that raises, costs one job: the reports cover the others, with exit 1."""

import json
import os
import sys

import pytest
from commands import invoke

from sparselin.ensembles import ENSEMBLES, from_file
from sparselin.parallel.processes import Lost, try_jobs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
ENSEMBLE = """
import multiprocessing, os
import numpy as np

count = [0]

class Silent(Exception):
    def __str__(self):
        raise ValueError("no message")

def killed(n, d, rng):
    count[0] += 1
    if multiprocessing.parent_process() is not None and count[0] % 3 == 0:
        os.kill(os.getpid(), 9)
    return rng.standard_normal((n, d)), rng.standard_normal(n)

def raises(n, d, rng):
    count[0] += 1
    if multiprocessing.parent_process() is not None and count[0] % 3 == 0:
        raise Silent
    return rng.standard_normal((n, d)), rng.standard_normal(n)

def huge(n, d, rng):
    return 1e200 * rng.standard_normal((n, d)), rng.standard_normal(n)

def zero(n, d, rng):
    return 0 * rng.standard_normal((n, d)), rng.standard_normal(n)
"""
CLAIMS = '''
import os
from sparselin.ledger import HOLDS, claim, mutants

class Silent(Exception):
    def __str__(self):
        raise ValueError("no message")

class Odd:
    """A value that cannot be pickled."""
    def __reduce__(self):
        raise TypeError("not to be pickled")

def even(n):
    return 2 * n % 2 == 0

def stop(value):
    os.kill(os.getpid(), 9)

def silent(value):
    raise Silent
'''
CLAIM = '''
@claim("ours-{name}", "an example", "exact", HOLDS)
@mutants("even")
def test_{name}(check):
    """2n is even.

    Hypotheses: integer n
    """
    check.over({values}, {holds})
'''
WHY = "its process was killed"
EVEN = "even"
GENERATOR, EXIT = "(i for i in ())", "__import__('os')._exit(3)"


@pytest.fixture
def ensemble(tmp_path):
    """Return a function that gives FILE.py:NAME of an ensemble above."""
    (tmp_path / "own.py").write_text(ENSEMBLE)
    yield lambda name: f"{tmp_path / 'own.py'}:{name}"
    for name in [name for name in ENSEMBLES if name.startswith("own.py:")]:  # `verify` registers them
        del ENSEMBLES[name]


def test_a_job_that_has_no_result_is_named_and_the_others_have_theirs():
    jobs = [(eval, (code,)) for code in ("1", "1/0", GENERATOR, EXIT, "2", "3")]
    found = list(try_jobs(iter(jobs), 2))
    assert sorted(one for one in found if not isinstance(one, Lost)) == [1, 2, 3]
    why = {one.arguments[0]: one.why for one in found if isinstance(one, Lost)}
    assert why["1/0"] == "ZeroDivisionError: division by zero"
    assert "pickle" in why[GENERATOR]
    assert why[EXIT].startswith(WHY)
    alone = list(try_jobs(iter([jobs[1], jobs[0]]), 1))
    assert alone == [Lost(("1/0",), "ZeroDivisionError: division by zero"), 1]


@pytest.mark.parametrize(("name", "why"), [("killed", WHY), ("raises", "its message cannot be read")])
def test_verify_reports_the_other_designs(tmp_path, ensemble, name, why):
    output = tmp_path / "report"
    arguments = ["--ensembles", ensemble(name), "--designs=6", "--steps=1", "--jobs=2", "--output", output]
    printed = invoke("verify", *map(str, arguments), exit_code=1)
    results = json.loads((output / "results.json").read_text())
    failed = {failure["index"] for failure in results["failures"]}
    assert failed
    assert {design["index"] for design in results["designs"]} == set(range(6)) - failed
    for failure in results["failures"]:
        assert why in failure["why"]
        assert f"#{failure['index']} (seed 0) could not be checked: {failure['why']}" in printed


def test_verify_does_not_pass_without_a_check(tmp_path, ensemble):
    arguments = ("--designs=2", "--steps=1", "--jobs=1", f"--output={tmp_path / 'report'}")
    printed = invoke("verify", "--ensembles", ensemble("huge"), *arguments, exit_code=1)
    assert printed.count("could not be checked: ") == 2
    printed = invoke("verify", "--ensembles", ensemble("zero"), *arguments, exit_code=1)
    assert "passes" not in printed
    (row,) = json.loads((tmp_path / "report" / "results.json").read_text())["summary"]
    assert (row["steps"], row["passes"]) == (0, False)


@pytest.mark.parametrize(("name", "why"), [("killed", WHY), ("raises", "its message cannot be read")])
def test_guarantee_reports_the_other_designs(tmp_path, ensemble, monkeypatch, name, why):
    from sparselin.studies.guarantees import command

    given = ensemble(name)
    own = from_file(given)
    monkeypatch.setattr(command, "_BATCH", 1)
    arguments = ["--quick", "--designs=4", "--k=1", "--jobs=2", f"--output={tmp_path / 'report'}"]
    monkeypatch.setattr(command, "searches", lambda quick: [])
    printed = invoke("guarantee", "--ensembles", given, *arguments, exit_code=1)
    assert why in printed
    assert f"{own.name} #" in printed
    lost = printed.count("could not be examined")
    rows = (tmp_path / "report" / "results.csv").read_text().splitlines()[1:]
    assert 0 < lost < 6
    assert rows
    failures = json.loads((tmp_path / "report" / "results.json").read_text())["failures"]
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert len(failures) == lost
    assert "Not examined" in page
    assert f"Jobs that failed: {lost}." in page
    assert page.count("could not be examined") == lost


@pytest.mark.parametrize("kind", ["stop", "silent", "lambda value: False"])
def test_the_ledger_decides_the_other_claims(tmp_path, monkeypatch, kind):
    folder = tmp_path / "own_checks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    values = "[Odd()]" if kind.startswith("lambda") else "range(3)"
    checks = [CLAIM.format(name="bad", values=values, holds=kind)]
    checks += [CLAIM.format(name=f"good{i}", values="range(9)", holds=EVEN) for i in range(3)]
    (folder / "test_own.py").write_text(CLAIMS + "".join(checks))
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in [module for module in sys.modules if module.startswith("own_checks")]:
        monkeypatch.delitem(sys.modules, module)
    printed = invoke("ledger", "--folder", str(folder), "--jobs=2", exit_code=1)
    assert "4 claims, 27 cases: 1 verdict does not hold" in printed
    assert "ours-bad" in printed
    why = {"stop": WHY, "silent": "its message cannot be read"}.get(kind, "not to be pickled")
    assert why in " ".join(printed.split())
