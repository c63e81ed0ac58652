"""Shared by the tests."""

import signal

import numpy as np
import pytest
from sklearn.datasets import load_diabetes


def pytest_runtest_setup(item):
    """Skip a test whose mark `door` names a module that is absent. Under `make doors` the test fails."""
    if item.config.option.markexpr != "door":
        for mark in item.iter_markers("door"):
            for module in mark.args:
                pytest.importorskip(module, reason=f"{module}: make doors")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


@pytest.fixture(autouse=True, scope="module")
def interruptible():
    """The command ignores Ctrl-C while it writes its report; what runs after it in this process must not."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def no_pictures(monkeypatch):
    """A report without figures, which take most of the time."""
    monkeypatch.setattr("sparselin.studies.select.report._figures", lambda job: [])


@pytest.fixture(scope="module")
def frame():
    loaded = load_diabetes(as_frame=True, scaled=False).frame
    return loaded.rename(columns={"target": "progression"})
