"""No result depends on memory that was not written (np.empty may hold anything), or on where arrays are."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from methods import METHODS, Levels

from sparselin import _kernels
from sparselin._kernels import descent
from sparselin.problem.support import SUPPORT

SMALL = (
    "best_subset",
    "subsets_within",
    "submodularity_ratio",
    "sparse_eigenvalues",
    "guarantee_bounds",
    "choose_nu",
    "local_search",
    "greedy_local_search",
)
# those whose S are not counted in k
PATHS = ("first_entry", "lambda_star", "lasso_path", "gradient_flow", "project_dual", "hadamard_descent")


def designs():
    rng = np.random.default_rng(0)
    for n, d in ((12, 20), (40, 9), (60, 200)):
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        yield X, y, ()
        yield np.asfortranarray(X.astype(np.float32)), y.astype(np.float32), (3,)
        # dependent only together: κ(X_S) is 2e7, and what decides is the condition of all of them
        t = min(n, d) - 4
        S = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :t] @ (np.eye(t) - np.triu(np.ones((t, t)), 1))
        yield np.column_stack([S / np.linalg.norm(S, axis=0), X[:, :4]]), y, tuple(range(t))


def numbers(value):
    if dataclasses.is_dataclass(value):
        return [numbers(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


@pytest.mark.parametrize("name", METHODS)
def test_results_are_the_same_whatever_it_holds(monkeypatch, name):
    right, right_like = np.empty, np.empty_like
    method = METHODS[name]
    for X, y, S in designs():
        refused = X.dtype == np.float32 and "float32" not in SUPPORT[method.name].data
        if refused or (X.shape[1] > 20 and name in SMALL) or (len(S) > 1 and name not in PATHS):
            continue
        arguments = X, np.stack([y, y[::-1]], axis=1) if method.many else y, Levels(lam=0.5, S=S)
        usual = numbers(method.call(*arguments))  # and kernels are compiled, for which np.empty is a name
        for filling in (0, 1e30, np.nan):

            def filled(array, filling=filling):
                if array.dtype.kind in "fi":
                    array.fill(filling if array.dtype.kind == "f" else 7)
                return array

            with monkeypatch.context() as patch:
                patch.setattr(np, "empty", lambda *a, **k: filled(right(*a, **k)))
                patch.setattr(np, "empty_like", lambda *a, **k: filled(right_like(*a, **k)))
                assert numbers(method.call(*arguments)) == usual


# Where arrays are


def reassociating_kernels():
    for path in sorted(Path(_kernels.__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                options in ast.unparse(node.decorator_list)
                for options in ("VECTORIZED", "_OPTIONS", "_FINITE")
            ):
                yield f"{path.name}:{node.name}", node


def names(node):
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def integers(function):
    """Variables that start as integers: the order of their sums does not matter."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, values = ([part] for part in (node.targets[0], node.value))
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                targets, values = node.targets[0].elts, node.value.elts
            for target, value in zip(targets, values, strict=True):
                if isinstance(value, ast.Constant) and isinstance(value.value, int):
                    yield from names(target)


def sums_and_stores(loop, counts):
    """Return whether a loop sums floats, in a variable or an entry of an array, and stores in an array."""
    nodes = [node for line in loop.body for node in ast.walk(line)]
    if any(isinstance(node, ast.For | ast.While) for node in nodes):
        return False  # not vectorised; the inner ones are looked at by themselves
    added = [node for node in nodes if isinstance(node, ast.AugAssign)]
    sums = [node.target for node in added if isinstance(node.op, ast.Add | ast.Sub)]
    variables = [sum_ for sum_ in sums if isinstance(sum_, ast.Name) and sum_.id not in counts]
    subscripts = [sum_ for sum_ in sums if isinstance(sum_, ast.Subscript)]
    entries = [sum_ for sum_ in subscripts if not names(loop.target) & names(sum_.slice)]
    stores = [node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    return bool((variables and stores) or entries)


def test_no_loop_of_a_kernel_sums_and_stores():
    """See `VECTORIZED`."""
    assert not [
        f"{name}:{loop.lineno}"
        for name, function in reassociating_kernels()
        for loop in ast.walk(function)
        if isinstance(loop, ast.For) and sums_and_stores(loop, set(integers(function)))
    ]


def test_a_mask_has_the_same_bits_wherever_its_arrays_are(rng):
    for _ in range(100):
        w, far, near = rng.normal(size=7), np.empty(7), np.empty(40)
        gap = int(rng.integers(7, 32))
        near[:7] = w
        descent.mask(descent.SOFTMAX, w, far)
        descent.mask(descent.SOFTMAX, near[:7], near[gap : gap + 7])
        assert far.tobytes() == near[gap : gap + 7].tobytes(), gap
