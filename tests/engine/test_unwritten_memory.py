"""No result depends on memory that was not written (np.empty may hold anything), or on where arrays are."""

import numpy as np
import pytest
from bits import bits
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
# interpreted; the searches of `guarantee_bounds` have rows of their own
LONG = ("submodularity_ratio", "submodularity_ratio, forced", "subsets_within", "guarantee_bounds")
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


@pytest.mark.parametrize("name", METHODS)
def test_results_are_the_same_whatever_it_holds(monkeypatch, name):
    right, right_like = np.empty, np.empty_like
    method = METHODS[name]
    for X, y, S in designs():
        refused = X.dtype == np.float32 and "float32" not in SUPPORT[method.name].data
        if refused or (X.shape[1] > 20 and name in SMALL) or (len(S) > 1 and name not in PATHS):
            continue
        arguments = X, np.stack([y, y[::-1]], axis=1) if method.many else y, Levels(lam=0.5, S=S)
        usual = bits(method.call(*arguments))
        for filling, form in ((0, "always"), (1e30, "always"), (np.nan, "always"), (np.nan, "never")):
            if form == "never" and (X.size > 400 or name in LONG):
                continue  # only interpreted kernels call np.empty

            def filled(array, filling=filling):
                if array.dtype.kind in "fi":
                    array.fill(filling if array.dtype.kind == "f" else 7)
                return array

            with monkeypatch.context() as patch, _kernels.use(form):
                patch.setattr(np, "empty", lambda *a, **k: filled(right(*a, **k)))
                patch.setattr(np, "empty_like", lambda *a, **k: filled(right_like(*a, **k)))
                assert bits(method.call(*arguments)) == usual


# Where arrays are


def test_a_mask_has_the_same_bits_wherever_its_arrays_are(rng):
    for _ in range(100):
        w, far, near = rng.normal(size=7), np.empty(7), np.empty(40)
        gap = int(rng.integers(7, 32))
        near[:7] = w
        descent.mask(descent.SOFTMAX, w, far)
        descent.mask(descent.SOFTMAX, near[:7], near[gap : gap + 7])
        assert far.tobytes() == near[gap : gap + 7].tobytes(), gap
