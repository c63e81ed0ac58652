"""`sparselin verify --claim flow`: it passes on the flow, finds planted defects, and writes its report."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from commands import invoke
from liars import liars
from scipy.integrate import quad, solve_ivp

import sparselin as sl
from sparselin.ensembles import ENSEMBLES
from sparselin.results import FlowPath
from sparselin.studies.verification import command, report
from sparselin.studies.verification import run as studies
from sparselin.studies.verification.run import VerificationSettings, summarize, verify_one_flow
from sparselin.verification import flow as checks
from sparselin.verification.flow import LOGS, error_bound, integrate, verify_flow
from sparselin.verification.projected_design import Agreement

AGREES, VIOLATES, UNDECIDED = Agreement.AGREES, Agreement.VIOLATES, Agreement.UNDECIDED
SETTINGS = VerificationSettings(claim="flow")


def test_the_solver_agrees_with_a_closed_form_and_with_another_solver():
    """Compare with sinh(2Ls) → 2y/(α²x) for one column, and s = τλ* before 1/λ*."""
    L, times = 50.0, np.array([0.1, 0.2, 100.0])
    s = integrate(np.array([[0.5]]), np.array([3.0]), L, times, 1e-10)[:, 0]
    assert np.allclose(s[:2], [0.15, 0.3], rtol=1e-9)
    assert s[2] == pytest.approx(np.arcsinh(12 * math.exp(2 * L)) / (2 * L), abs=1e-9)
    X, y = sl.ensembles.gaussian(9, 12, rng=3)
    L, times = 8.0, np.linspace(0.5, 20, 40)

    def slope(_, s):
        return X.T @ (y - X @ (np.exp(-2 * L) / 2 * np.sinh(2 * L * s)))

    other = solve_ivp(slope, (0, 20), np.zeros(12), "Radau", times, rtol=1e-8, atol=1e-10)
    assert np.abs(integrate(X, y, L, times, 1e-9) - other.y.T).max() < 1e-6


def test_the_bound_is_its_formula():
    """Compare with quadrature of φ on three orthogonal columns, and the maximum in φ on a grid."""
    path, end = sl.gradient_flow(np.eye(3), [1.0, -0.3, 0.01]), 5.0
    x = np.linspace(0, 30, 3_000_001)

    def phi(tau, i, L):
        b, s = abs(path.at(tau)[i]), abs(path.s_at(tau)[i])
        least = 1 / (4 * math.e)
        return max(least, (x * (b - np.exp(x) / 4)).max()) if b else math.exp(2 * L * (s - 1)) * least

    for L in (0.5, 20.0):
        pieces = itertools.pairwise(np.unique([0, *path.tau[path.tau < end], end]))
        whole = sum(quad(phi, *piece, (i, L))[0] for piece in pieces for i in range(3))
        assert error_bound(path, end, L) ** 2 == pytest.approx(whole / L, rel=0.1 if L < 1 else 1e-3)
        assert error_bound(path, end, L) ** 2 >= whole / L * (1 - 1e-7)


def hard_designs():
    """Yield ties, duplicates, (nearly) dependent columns, exact fits, other scales, no correlation."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 6)), rng.standard_normal(8)
    I = rng.integers(-1, 2, (6, 9)).astype(float)
    yield from ((I, I[:, 0] + I[:, 1]), (I, np.eye(6)[0]), (np.eye(4), np.ones(4)), (I * 1e-12, I[:, 2]))
    yield from ((np.hstack([X, -X[:, :3], X[:, :2] + X[:, 1:3]]), y), (np.hstack([X, X + 1e-8 * X**2]), y))
    yield from ((X * 10.0 ** rng.uniform(-12, 12, 6), y), (X, X[:, 1]), (X, 0 * y), (np.zeros((3, 2)), y[:3]))
    yield np.array([[2.0, 0.6], [0.0, 0.1]]), np.array([0.5, 6.0])


def test_the_flow_agrees_on_hard_designs():
    for X, y in hard_designs():
        check = verify_flow(X, y)
        assert check.verdict is AGREES, check
        assert all(error <= bound for _, error, bound in check.runs)
        assert check.runs == () or check.runs[-1][1] < 1e-4
    assert check.leaves == 1


@pytest.mark.parametrize("name", ENSEMBLES)
def test_small_designs_of_each_ensemble_agree(name):
    settings = dataclasses.replace(SETTINGS, ensembles=(name,))
    records = [verify_one_flow((name, index), settings) for index in range(4)]
    (row,) = summarize(records)
    assert (row.agreements, row.passes) == (4, True)
    assert 4 <= min(row.n[0], row.d[0]) <= max(row.n[1], row.d[1]) <= 20
    assert all(len(r.check.runs) in (0, 2 if r.index else 4) for r in records)
    assert row.rate > row.error
    design, whole = settings.design(name, 2), ENSEMBLES[name].design(2)
    assert ENSEMBLES[name].family is not None or np.isin(design.y, whole.y).all()


def keeping(X, y, restart=False):
    """Compute a flow in which no feature leaves: β is least squares on all features so far, and s follows."""
    path = sl.gradient_flow(X, y, restart=restart)
    coef, S = np.zeros((len(path) + 1, X.shape[1])), []
    for k, support in enumerate(path.supports, 1):
        S = sorted({*S, *support})
        coef[k, S] = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    s = np.cumsum(np.diff(path.tau, prepend=0)[:, None] * (y - coef[:-1] @ X.T) @ X, axis=0)
    return path if restart else dataclasses.replace(path, s=s, coef_path=coef[:, path.features])


def ending_early(X, y, restart=False):
    path = sl.gradient_flow(X, y, restart=restart)
    kept = {name: getattr(path, name)[:-1] for name in ("tau", "s", "s_error", "coef_path", "supports")}
    return dataclasses.replace(path, **kept)


def picking_last(X, y, restart=False):
    path = sl.gradient_flow(X, y, restart=restart)
    return dataclasses.replace(path, supports=tuple(S[::-1] for S in path.supports))


PLANTS = {name: (flow, "limit") for name, flow in studies.FLOW_PLANTS.items() if name} | {
    "keeps": (keeping, "limit"),
    "ends early": (ending_early, "restart"),
    "other picks": (picking_last, "restart"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_defects_are_found(plant):
    flow, name = PLANTS[plant]
    check = verify_flow(*SETTINGS.design("gaussian", 9), flow=flow)
    assert (check.verdict, name in check.reasons) == (VIOLATES, True)


@pytest.mark.parametrize("wrong", [{"is_lasso": True}, {"is_lasso": False}, {"excess": 0.0}])
def test_wrong_averages_are_found(monkeypatch, wrong):
    right = FlowPath.average
    monkeypatch.setattr(FlowPath, "average", lambda *args: dataclasses.replace(right(*args), **wrong))
    assert "average" in verify_flow(*SETTINGS.design("gaussian", 9)).reasons


def test_lies_about_the_path_are_found():
    X, y = SETTINGS.design("gaussian", 9)
    for name, lie in liars(sl.gradient_flow):
        try:
            assert verify_flow(X, y, flow=lie).verdict is not AGREES, name
        except (ValueError, IndexError):
            continue


def test_a_result_of_the_solver_that_moves_is_undecided(monkeypatch):
    X, y = SETTINGS.design("gaussian", 9)
    for first, again, verdict in ((0.5, 0, UNDECIDED), (0.5, 0.5, VIOLATES), (np.nan, np.nan, UNDECIDED)):

        def moved(X, y, L, times, tol, errors=(first, again)):
            return integrate(X, y, L, times, tol) + errors[int(tol < 2e-4 / L)] * (L / LOGS[-1] > 1.1)

        monkeypatch.setattr(checks, "integrate", moved)
        assert verify_flow(X, y, sample=False).verdict is verdict


def test_a_path_that_is_cut_off_is_checked_up_to_its_last_event():
    X, y = SETTINGS.design("gaussian", 9)

    def cut(X, y, restart=False):
        return sl.gradient_flow(X, y, restart=restart, max_events=None if restart else 3)

    assert verify_flow(X, y, flow=cut).verdict is AGREES
    r = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    assert verify_flow(X, r).verdict is (UNDECIDED if len(sl.gradient_flow(X, r)) else AGREES)


class TestCommand:
    def test_a_run_writes_its_report(self, tmp_path):
        arguments = ["verify", "--claim", "flow", "--designs", "3", "--ensembles", "gaussian,digits"]
        words = invoke(*arguments, "--jobs", "1", "--output", tmp_path)
        assert "The run passes. In 3 designs with" in words
        names = {"index.html", "results.json", "agreement.tex", "errors.svg", "errors.png"}
        assert {path.name for path in tmp_path.iterdir()} == names
        page = (tmp_path / "index.html").read_text(encoding="utf-8")
        assert "sparselin verify --designs 3 --claim flow --ensembles gaussian,digits --seed 0" in page
        assert "stiff solver" in page
        assert "λ*(S)" not in page
        results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
        assert [row["agreements"] for row in results["summary"]] == [2, 1]
        assert [len(record["check"]["runs"]) for record in results["designs"]] == [4, 4, 2]

    def test_a_planted_defect_fails_the_run_and_is_reproduced(self, tmp_path):
        arguments = ["verify", "--claim", "flow", "--designs", "1", "--jobs", "1", "--ensembles", "gaussian"]
        words = invoke(*arguments, "--plant", "late", "--output", tmp_path, exit_code=1)
        command = ["verify", "--design", str(tmp_path / "violation-gaussian-0.npz"), "--claim", "flow"]
        assert f"sparselin {' '.join(command)} --plant late" in words
        assert "violated by gaussian #0: limit: L = " in words
        assert json.loads(invoke(*command, "--plant", "late", exit_code=1))["verdict"] == "violates"
        assert json.loads(invoke(*command))["verdict"] == "agrees"

    def test_the_command_of_a_long_run_is_accepted(self, monkeypatch, tmp_path):
        """The descents of the other claim have no cap from 10,000 designs on; this claim has none to lift."""
        seen = []
        monkeypatch.setattr(
            command, "_collect", lambda _, settings: (seen.append(settings), ([], [], True))[1]
        )
        arguments = ["verify", "--claim", "flow", "--designs", "10000", "--output", tmp_path]
        invoke(*arguments, exit_code=130)
        assert "--uncapped" not in report._command(seen[0])

    def test_options_of_the_other_claim_are_refused(self):
        for options in (["--steps", "3"], ["--uncapped"], ["--plant", "second-best"]):
            assert options[0] in invoke("verify", "--claim", "flow", *options, exit_code=2)
        assert "--plant" in invoke("verify", "--plant", "late", exit_code=2)
