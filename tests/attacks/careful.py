"""Attacks on the careful way of small problems, whose picks and knots a compiled call finds otherwise.

The designs of all attacks are small. So the rows of `paths` reach the compiled calls of `greedy._single` and
`lasso._small`, which answer if rounding leaves nothing undecided. Here these calls never answer, and the same
oracles judge the rule of each method and the homotopy. Where both ways decide, OMP and OLS must agree in the
picks, ties and statuses. The two ways of a LASSO path are each judged by KKT conditions, and not compared:
where columns are dependent they may follow different solutions.
"""

import contextlib
from unittest import mock

from sparselin.greedy._pursuit import Pursuit
from sparselin.greedy._runs import Run
from sparselin.greedy._single import ByRule
from sparselin.lasso import _small

from . import paths
from .oracles import C
from .run import UNDECIDED, call, claim


@contextlib.contextmanager
def without_compiled_calls():
    """Let the rule of the method make each pick of OMP and OLS, and no compiled call follow a path."""
    with (
        mock.patch.object(Run, "begin", return_value=None),
        mock.patch.object(Pursuit, "_screen", lambda self, first=None: ByRule(self.selection)),
        mock.patch.object(Pursuit, "_worth_screening", return_value=False),
        mock.patch.object(_small, "small_path", return_value=None),
        mock.patch.object(_small, "first_segment", return_value=None),
    ):
        yield


def _selection(name, attack, sl, case):
    with without_compiled_calls():
        verdict = attack(sl, case)
    arguments = case.given(), case.y, paths.asked(case)
    quick = call(case, getattr(sl, name), *arguments, forced=case.forced)
    with without_compiled_calls():
        careful = call(case, getattr(sl, name), *arguments, forced=case.forced)
    undecided = sl.Status.BEYOND_PRECISION in (quick.status, careful.status)
    exact = paths.known(case)
    for t in range(min(len(quick), len(careful))):
        a, b = int(quick.support[t]), int(careful.support[t])
        ours, others = set(quick.ties[t]), set(careful.ties[t])
        if a == b and ours == others:
            continue
        # a tie to rounding, or an error: each way has been judged, so rounding must explain it
        step = exact.at(quick.support[:t].tolist())
        size, error = (abs(step.c), step.e()) if name == "omp" else paths.error_of_fall(step)
        near = all(abs(size[a] - size[j]) <= C * (error[a] + error[j]) for j in {b} | (ours ^ others))
        words = f"pick {t} is {a} of {sorted(ours)}, and {b} of {sorted(others)} without the compiled call"
        claim(near, words)
        return UNDECIDED
    if undecided:
        return UNDECIDED
    claim(len(quick) == len(careful), f"{len(quick)} picks, and {len(careful)} without the compiled call")
    claim(quick.status == careful.status, f"{quick.status}, and {careful.status} without the compiled call")
    return verdict


def omp(sl, case):
    return _selection("omp", paths.omp, sl, case)


def ols(sl, case):
    return _selection("ols", paths.ols, sl, case)


def lasso_path(sl, case):
    with without_compiled_calls():
        return paths.lasso_path(sl, case)
