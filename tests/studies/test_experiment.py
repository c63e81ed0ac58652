"""Experiments: a function on many designs, as a table."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from house import PROJECT
from refusals import refuses

import sparselin as sl
from sparselin.testing import experiment


def quiet(*arguments, **options):
    return experiment(*arguments, progress=False, **options)


def test_the_table_does_not_depend_on_the_processes():
    """A local function and a lambda are called, on a name and on a function of a generator."""

    def shares(design):
        return {"r2": sl.omp(*design, 2).r2, "k": 2}

    ensembles = ["gaussian", lambda rng: sl.ensembles.ar1(9, 12, rng)]
    one, two = (quiet(shares, ensembles, 7, seed=3, processes=count) for count in (1, 2))
    assert one.equals(two)
    assert list(one.columns) == ["ensemble", "index", "seed", "n", "d", "r2", "k"]
    assert list(one["ensemble"]) == ["gaussian"] * 7 + ["<lambda>"] * 7
    assert one["r2"][2] == sl.omp(*sl.ensembles.ENSEMBLES["gaussian"].design(2, 3), 2).r2
    assert (one["n"][9], one["d"][9]) == (9, 12)
    assert r"\begin{tabular}" in one.to_latex()
    few = quiet(lambda X, y: X.shape[1], "gaussian", 2, seed=3, processes=1)
    assert list(few["value"]) == list(one["d"][:2])


def test_the_page_has_the_script_of_its_figure():
    script = (PROJECT / "docs" / "guarantees_experiment.py").read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 25
    assert f"```python\n{script}```\n" in (PROJECT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def test_ctrl_c_leaves_the_designs_so_far():
    count = []

    def stop(X, y):
        count.append(0)
        if len(count) > 12:
            raise KeyboardInterrupt
        return 1.0

    found = quiet(stop, "small_integers", 50, processes=1)
    assert (len(found), found.attrs["interrupted"]) == (10, True)


SCRIPT = """
import time
import sparselin as sl
print("begins", flush=True)
found = sl.testing.experiment(lambda X, y: time.sleep(0.1) or 1, "small_integers", 2000, processes=2)
print(len(found), found.attrs["interrupted"])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_in_a_script_without_a_main_guard():
    for seconds in (6, 30):  # a busy machine starts its workers late
        run = subprocess.Popen(
            [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert run.stdout.readline() == "begins\n"
        time.sleep(seconds)
        os.killpg(run.pid, signal.SIGINT)
        words = run.communicate(timeout=60)[0].split()
        if words[0] != "0":
            break
    assert words[1] == "True"
    assert 0 < int(words[0]) < 2000


def test_errors_say_where():
    with pytest.raises(ZeroDivisionError) as caught:
        quiet(lambda X, y: 1 / 0, "gaussian", 3, seed=5, processes=1)
    assert caught.value.__notes__ == ["design 0 of gaussian, seed 5"]
    lock = threading.Lock()
    words = "function cannot be sent to another process .*or pass processes=1"
    refuses(words, quiet, lambda X, y: lock, "gaussian", 9, processes=2, error=TypeError)
    refuses("must return other keys", quiet, lambda X, y: {"n": 1}, "gaussian", 1)
    refuses("unknown ensemble 'no'", quiet, len, "no")
    refuses("designs must be at least 1", quiet, len, "gaussian", 0)
    refuses("processes must be at least 1", quiet, len, "gaussian", processes=0)
    refuses("at least one ensemble", quiet, len, [])
    refuses("function must be a function", quiet, 3, "gaussian", error=TypeError)
    refuses("ensemble must be a name", quiet, len, 3, error=TypeError)
