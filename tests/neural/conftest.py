"""Fixtures of the network tests. The networks are small, so one thread is enough."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

if importlib.util.find_spec("torch") is None:
    others = {f"test_networks_{name}.py" for name in ("ledger", "tables", "verdicts")}
    collect_ignore = [
        path.name for path in Path(__file__).parent.glob("test_*.py") if path.name not in others
    ]
else:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def refuses_wrong_values():
    """Return a function that checks that a call (name, value) names each argument that has a wrong value."""
    junk = ["nope", "", 1j, object(), [[0, 1], [2]], np.array([1.0, 2.0]), {"a": 1}, b"x", [None]]
    numbers = [*junk, float("nan"), -1, 10**400]
    names = (
        "epochs batch_size learning_rate M l2 growth momentum tol patience lam_start dropout temperature "
        "penalty features_per_step warm_up validation_fraction n_features_to_select k rounds steps_per_phase"
    )
    flags = ["no", 1, None, np.array([1, 2])]
    wrong = dict.fromkeys(names.split(), numbers) | {
        "device": ["nope", "", "meta", -1, 1.5, [1], "cuda:99", object()],
        "dtype": ["float16", None, ["float32"], {}],
        "groups": [5, "nope", [[0, 1], [2, 2]], [[0, 1], [2, "a"]], 1.5, np.array(3), [[0.5, 1], [2, 3]]],
        "loss": [*junk[:-1], lambda output, target: None],
        "hidden_layer_sizes": [*junk, 0, -1, 1.5, 10**400],
        "network": [*junk, 5.5],
        "random_state": ["nope", -1, 1.5, object()],
        "rng": ["nope", -1, 1.5, object(), [None], np.array([1.0, 2.0])],
        "lams": [*junk[:5], {}, [1, "a"], [2, 1], [0.0], 10**400, [float("nan")], []],
        "parametrization": junk, "keep": junk, "stop_on": junk, "folded": junk, "names": [5, "nope", ["a"]],
        "refit": flags, "backtrack": flags, "one_standard_error": flags, "reset_moments": flags,
        "cv": ["nope", 0, 1, 100, [], [1, 2], 1.5, [([0], [])], [([0.5], [1])]],
        "class_weight": ["nope", 5, {0: -1, 1: 1}, {0: float("nan"), 1: 1}, {0: 0, 1: 0}],
        "forced": [5, "nope", [9], [0, 0]],
        "callback": [5, "nope"], "schedule": [5, "nope", lambda steps: None], "inputs": [5, "nope"],
        "optimizer": [5, lambda parameters: None],
        "validation": [5, "nope", (), (1,), np.ones((3, 3))],
        "features": [5, "nope", [], [9]],
        **{name: ["nope", 5, [], [[0, 1], [2]], [1.0, "a"], 1j] for name in ("X", "y", "sample_weight")},
    }  # fmt: skip

    def check(call, names):
        for name in names:
            for value in wrong.get(name, ()):
                with pytest.raises((TypeError, ValueError), match=name) as raised:
                    call(name, value)
                assert "ambiguous" not in str(raised.value), name

    return check
