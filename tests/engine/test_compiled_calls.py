"""The compiled calls for small problems answer most designs, and find what the careful way finds."""

from unittest import mock

import numpy as np
from attacks.careful import without_compiled_calls

import sparselin as sl
from sparselin.greedy._outcomes import AddedPicks
from sparselin.greedy._single import Screened
from sparselin.lasso import _working_set


def designs():
    for seed in range(30):
        rng = np.random.default_rng([20261128, seed])
        X, y = rng.standard_normal((20, 12)), rng.standard_normal(20)
        yield seed, X * 2.0 ** rng.integers(-40, 41), y * 2.0 ** rng.integers(-40, 41)


def test_compiled_picks_are_those_of_the_rule():
    for function in (sl.omp, sl.ols):
        made = []
        extend = Screened.extend

        def counting(self, *arguments, made=made, extend=extend):
            added = extend(self, *arguments)
            made.append(len(added.picks) if isinstance(added, AddedPicks) else 0)
            return added

        for seed, X, y in designs():
            with mock.patch.object(Screened, "extend", counting):
                quick = function(X, y, 6)
            with without_compiled_calls():
                careful = function(X, y, 6)
            assert quick.support.tolist() == careful.support.tolist(), seed
            assert quick.ties == careful.ties, seed
            np.testing.assert_allclose(quick.lam_star, careful.lam_star, rtol=1e-12, err_msg=str(seed))
            np.testing.assert_allclose(quick.margin, careful.margin, rtol=1e-9, err_msg=str(seed))
        assert sum(made) == 30 * 6, f"{function.__name__}: {sum(made)} picks of 180 were compiled"


def test_compiled_knots_are_those_of_the_homotopy():
    answers = []

    def counting(*arguments, follow=_working_set.small_path):
        answers.append(follow(*arguments))
        return answers[-1]

    for seed, X, y in designs():
        with mock.patch.object(_working_set, "small_path", counting):
            quick = sl.lasso_path(X, y)
        with without_compiled_calls():
            careful = sl.lasso_path(X, y)
        assert quick.active == careful.active, seed
        np.testing.assert_allclose(quick.knots, careful.knots, rtol=1e-10, atol=1e-12 * quick.knots[0])
    assert sum(answer is not None for answer in answers) == 30
