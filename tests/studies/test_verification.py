"""`sparselin verify`: it passes on what is right, and catches each planted defect."""

import dataclasses
import types

import numpy as np
import pytest
import scipy.optimize
from refusals import refuses

import sparselin as sl
from sparselin.ensembles import ENSEMBLES
from sparselin.studies.verification import report as verification
from sparselin.studies.verification import run as equivalence
from sparselin.studies.verification.command import exit_status
from sparselin.studies.verification.run import (
    VerificationSettings,
    second_best_omp,
    summarize,
    verify_design,
    verify_one,
)
from sparselin.verification.checks import Methods, bracket, missing_from_active
from sparselin.verification.projected_design import Agreement, ProjectedDesign

SETTINGS = VerificationSettings(steps=4, reach_every=10**9, audit_every=10**9)


def run(names, methods=None, designs=3, first=5):
    """Records of a few designs of each ensemble, past those that are audited."""
    tasks = [(name, first + i) for name in names for i in range(designs)]
    return [verify_one(task, SETTINGS, methods) for task in tasks]


def reasons(records):
    return " | ".join(
        f"{check}: {reason}"
        for record in records
        for step in record.steps
        for check, reason in step.reasons.items()
    )


@pytest.mark.parametrize("name", ENSEMBLES)
def test_right_methods_agree(name):
    summary = summarize(run([name]))
    assert summary[0].violations == 0, name
    assert summary[0].agreements >= 0.9 * summary[0].steps
    assert exit_status(summary) == 0


def wrong_entry(**changes):
    """Return a first_entry with some fields replaced by functions of the right result."""

    def first_entry(X, y, forced=()):
        entry = sl.first_entry(X, y, forced=forced)
        return dataclasses.replace(entry, **{name: change(entry) for name, change in changes.items()})

    return first_entry


def wrong_lam_star(factor):
    return wrong_entry(lam_star=lambda entry: entry.lam_star * factor)


def scaling_projector(X, v, lam, forced=()):
    """Feasible and orthogonal to X_S, but only a point of the polytope: λ/λ*·P_S^⊥v."""
    right = sl.project_dual(X, v, lam, forced=forced)
    level = sl.first_entry(X, v, forced=forced)
    inside = sl.project_dual(X, v, 2 * level.lam_star, forced=forced).u
    return dataclasses.replace(right, u=inside * min(1.0, lam / level.lam_star))


def one_step_descent(X, y, lam, forced=(), rng=0, max_iter=0):
    result = sl.hadamard_descent(X, y, lam, forced=forced, rng=rng, max_iter=1)
    return dataclasses.replace(result, status=sl.Status.COMPLETED)


def wrong_feature_descent(X, y, lam, forced=(), rng=0, max_iter=0):
    """Trained to its certificate, then two features change places."""
    result = sl.hadamard_descent(X, y, lam, forced=forced, rng=rng, max_iter=max_iter)
    order = np.arange(X.shape[1])
    free = [j for j in order if j not in set(forced)]
    order[free] = np.roll(free, 1)
    return dataclasses.replace(result, w=result.w[order], theta=result.theta[order])


def start_returning_solver(Z, r, lam, start, target):
    return start


def window_share(share):
    return lambda entry: entry.lam_star - share * (entry.lam_star - entry.window_lower)


def stops_short(X, y, k, **options):
    return sl.sequential_lasso(X, y, 1, **options)


# name → the fields of `first_entry` that are wrong, and what is said of it
WRONG_ENTRIES = {
    "window too wide": ({"window_lower": window_share(1.05)}, "entry: "),
    "window too narrow": ({"window_lower": window_share(0.9)}, "entry: the solution goes on below"),
    "wrong signs": ({"signs": lambda entry: -entry.signs}, "entry: T ="),
    "wrong direction": ({"direction": lambda entry: 1.01 * entry.direction}, "entry: v does not solve"),
    "wrong λ₀": ({"proof_lower": lambda entry: 0.0}, "entry: λ₀"),
    "λ* too large": ({"lam_star": lambda entry: entry.lam_star * (1 + 1e-4)}, "lam_star: λ* ="),
    "λ* too small": ({"lam_star": lambda entry: entry.lam_star * (1 - 1e-4)}, "lam_star: λ* ="),
    "A := T": ({"active": lambda entry: entry.tied}, "active_set: "),
}
VIOLATES, UNDECIDED = Agreement.VIOLATES, Agreement.UNDECIDED
# name → the methods, what is said of them, and a verdict that comes up
PLANTS = {
    "Sequential LASSO stops short": (Methods(sequential_lasso=stops_short), "end: ", VIOLATES),
    "second-best OMP": (Methods(omp=second_best_omp), "pick: OMP picked", VIOLATES),
    "scaling projector": (Methods(project_dual=scaling_projector), "projection: projection", VIOLATES),
    "one-step descent": (Methods(hadamard_descent=one_step_descent), "attention: ", UNDECIDED),
    "swapped features": (Methods(hadamard_descent=wrong_feature_descent), "attention: ", None),
    "solver returns its start": (Methods(solve=start_returning_solver), "certificate", UNDECIDED),
} | {
    name: (Methods(first_entry=wrong_entry(**changes)), words, VIOLATES)
    for name, (changes, words) in WRONG_ENTRIES.items()
}
SEEN_WHERE_COLUMNS_TIE = ("Sequential LASSO stops short", "A := T")


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_defects_are_caught(plant):
    methods, words, verdict = PLANTS[plant]
    records = run(["planted_ties" if plant in SEEN_WHERE_COLUMNS_TIE else "gaussian"], methods)
    assert exit_status(summarize(records)) == 1
    assert words in reasons(records)
    if verdict is not None:
        assert any(step.verdict is verdict for record in records for step in record.steps)


@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-4])
def test_a_wrong_lam_star_is_caught_by_the_lasso_alone(factor, rng):
    """The bracket alone, without the comparison with ‖XᵀP_S^⊥y‖∞."""
    X, y = ENSEMBLES["gaussian"].design(7, 0)
    step = ProjectedDesign(X, y, np.zeros(0, np.intp), wrong_lam_star(factor)(X, y))
    target = 0.05 * (step.delta * step.entry.lam_star / step.lengths.max()) ** 2
    solve = Methods().solve
    found = bracket(step, step.delta, lambda lam: solve(*step.compressed, lam, step.start(rng), target))
    assert found.verdict is Agreement.VIOLATES


def test_an_omp_that_stops_early_is_caught():
    def stops(X, y, k, forced=()):
        return sl.omp(X, y, max(1, k - 1)) if not len(forced) else sl.omp(X, y, len(forced), forced=forced)

    records = run(["gaussian"], Methods(omp=stops))
    assert "OMP stopped" in reasons(records)
    assert exit_status(summarize(records)) == 1


def test_different_whole_supports_are_caught():
    def reversed_order(X, y, k, forced=()):
        path = sl.omp(X, y, k, forced=forced)
        return path if len(forced) else dataclasses.replace(path, support=path.support[::-1])

    X, y = ENSEMBLES["gaussian"].design(3, 0)
    _, supports, _ = verify_design(X, y, 4, methods=Methods(omp=reversed_order))
    assert supports.verdict is Agreement.VIOLATES


def test_different_supports_alone_are_counted_and_fail_the_run():
    """Steps and supports are counted apart: a run of steps that all agree fails by its supports."""
    (record,) = run(["gaussian"], designs=1)
    supports = dataclasses.replace(record.supports, verdict=Agreement.VIOLATES)
    wrong = dataclasses.replace(record, supports=supports)
    (row,) = summarize([record, wrong])
    assert (row.different, row.violations, row.agreements, row.passes) == (1, 0, row.steps, False)
    assert "; in 1 design the supports differ." in verification.headline([row], SETTINGS)[0]
    (row,) = summarize([record])
    assert (row.different, row.passes) == (0, True)


def test_the_audit_catches_a_wrong_projection_too():
    X, y = ENSEMBLES["gaussian"].design(3, 0)
    _, _, records = verify_design(X, y, 2, methods=Methods(project_dual=scaling_projector), audit=True)
    assert all("audit" in record.reasons for record in records)


def test_records_do_not_depend_on_the_number_of_processes():
    settings = dataclasses.replace(SETTINGS, designs=2, ensembles=("gaussian", "small_integers"), steps=2)
    runs = [
        sorted(
            equivalence.verify_all(dataclasses.replace(settings, jobs=jobs)),
            key=lambda r: (r.ensemble, r.index),
        )
        for jobs in (1, 2)
    ]
    assert repr(runs[0]) == repr(runs[1])


class TestOneDesign:
    """sl.verify."""

    def test_each_step_is_told(self):
        X, y = ENSEMBLES["planted_ties"].design(1, 0)
        check = sl.verify(X, y, 4)
        assert check.agrees
        assert check.verdicts == ("agrees",) * 4
        assert check.verdict == check.supports == "agrees"
        assert check.path == sl.sequential_lasso(X, y, 4)
        for t in range(4):
            entry = sl.first_entry(X, y, forced=check.path.support[:t])
            assert (check.n_tied[t], check.n_active[t]) == (len(entry.tied), len(entry.active))
            assert check.lam_star[t] == entry.lam_star
            assert check.window[t] == entry.window_lower / entry.lam_star
            assert check.proof[t] == entry.proof_lower / entry.lam_star
        assert np.array_equal(check.window, sl.window_ratios(X, y, 4))
        assert not check.audited
        assert check == sl.verify(X, y, 4)
        assert repr(check) == "<TheoremCheck: 4 steps, 4 agree>"
        assert str(check).count("agrees") == 4

    def test_a_violation_is_told(self, monkeypatch):
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        monkeypatch.setattr("sparselin.verification.along_path.Methods", lambda: Methods(omp=second_best_omp))
        check = sl.verify(X, y, 3)
        assert (check.agrees, check.verdict, check.supports) == (False, "violates", "violates")
        assert check.verdicts == ("violates",) * 3
        assert [[name for name, _ in found] for found in check.reasons] == [["pick"]] * 3
        assert repr(check) == "<TheoremCheck: 3 steps, 0 agree, 3 violate, the supports: violates>"
        text = str(check)
        assert "step 2, pick: OMP picked" in text
        assert "supports: violates: step" in text
        assert check.to_frame()["why"][0].startswith("pick: OMP picked")

    def test_a_path_that_ends_early(self):
        X = np.eye(4)[:, :3]
        assert sl.verify(X, X[:, 0], 3).verdicts == ("agrees",)
        check = sl.verify(X, np.zeros(4), 2)
        assert (check.verdicts, check.agrees, len(check.window)) == ((), True, 0)
        assert str(check)
        assert sl.verify(X, np.eye(4)[3], 2).agrees

    def test_an_early_end_that_is_wrong(self, monkeypatch):
        stops = Methods(sequential_lasso=lambda X, y, k: sl.sequential_lasso(X, y, 1))
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        monkeypatch.setattr("sparselin.verification.along_path.Methods", lambda: stops)
        check = sl.verify(X, y, 2)
        assert check.verdicts == ("agrees", "violates")
        assert "–" in str(check).splitlines()[3]
        assert check.to_frame()["feature"].tolist()[1] == -1

    def test_forms_of_data(self):
        pandas = pytest.importorskip("pandas")
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        names = [f"f{j}" for j in range(X.shape[1])]
        check = sl.verify(pandas.DataFrame(X, columns=names), y, 2)
        assert check.path.support_names == tuple(names[j] for j in check.path.support)
        assert check.path.support_names[0] in str(check)
        assert sl.verify(X, y, 2, audit=True).audited

    @pytest.mark.parametrize(
        ("options", "words"),
        [({"intercept": True}, "centred and scaled"), ({"standardize": True}, "centred")],
    )
    def test_other_problems_are_refused(self, options, words):
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        refuses(words, sl.verify, sl.Problem(X, y, **options), 2)
        refuses("holds no samples", sl.verify, sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), 2)


def test_window_ratios_of_a_path():
    X, y = ENSEMBLES["ar1"].design(3, 0)
    path = sl.sequential_lasso(X, y, 5, forced=[7, 2])
    ratios = sl.window_ratios(X, y, 5, forced=[7, 2])
    assert np.isnan(ratios).tolist() == [True, True, False, False, False]
    for t in range(2, 5):
        entry = sl.first_entry(X, y, forced=path.support[:t])
        assert ratios[t] == entry.window_lower / entry.lam_star
    centred = X - X.mean(axis=0)
    by_hand = sl.window_ratios(centred, y - y.mean(), 4)
    np.testing.assert_allclose(sl.window_ratios(X, y, 4, intercept=True), by_hand, rtol=1e-9)
    assert sl.window_ratios(np.eye(3), np.eye(3)[0], 3).tolist() == [0.0]
    assert len(sl.window_ratios(np.eye(3), np.zeros(3), 2)) == 0


def test_window_ratios_are_where_the_support_changes():
    """The first knot below λ* of the LASSO path with S unpenalised is λ₂."""
    X, y = ENSEMBLES["gaussian"].design(2, 0)
    support = sl.sequential_lasso(X, y, 4).support
    for t, ratio in enumerate(sl.window_ratios(X, y, 4)):
        knots = sl.lasso_path(X, y, unpenalized=support[:t], max_steps=2).knots
        assert ratio == pytest.approx(knots[1] / knots[0], rel=1e-9)


@pytest.mark.parametrize("exponent", [10, 30, 40])
def test_a_feature_that_is_missing_from_the_active_set_is_found_at_every_length(exponent):
    b = 2.0**exponent
    X = np.array([[1 - b, 1, 1], [b, 0, 0]])
    true = sl.first_entry(X, np.ones(2))
    v = np.array([1 / b, 2 - 1 / b, 0])  # the copy may take all or nothing of the 2 − 1/b
    false = dataclasses.replace(true, active=(0, 1), direction=v)
    step = types.SimpleNamespace(entry=false, Z=X, lengths=np.linalg.norm(X, axis=0))
    assert missing_from_active(step) == ([2], [])


@pytest.mark.parametrize("lie", ["failed", "zero", "infeasible"])
def test_a_linear_program_is_not_trusted_for_having_returned(lie, monkeypatch):
    """An answer that no bound of ours confirms leaves open whether features are missing."""
    linprog = scipy.optimize.linprog

    def lying(*arguments, **options):
        lp = linprog(*arguments, **options)
        lp.status = 4 if lie == "failed" else 0
        lp.x = lp.x * {"failed": 1, "zero": 0, "infeasible": 2}[lie]
        lp.eqlin.marginals = 0 * lp.eqlin.marginals
        return lp

    X = np.array([[-7.0, 1, 1], [8, 0, 0]])
    false = dataclasses.replace(
        sl.first_entry(X, np.ones(2)), active=(0, 1), direction=np.array([1 / 8, 15 / 8, 0])
    )
    step = types.SimpleNamespace(entry=false, Z=X, lengths=np.linalg.norm(X, axis=0))
    monkeypatch.setattr(scipy.optimize, "linprog", lying)
    assert missing_from_active(step) == ([], [2])
