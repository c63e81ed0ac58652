"""Certificates as files for the proof assistant Rocq: what is written, what its kernel accepts, refuses."""

import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from refusals import refuses

import sparselin as sl
from proofs_checks.formal.check import LIBRARY, check, has_rocq, printed_by_coq
from sparselin.certificates import rocq
from sparselin.ledger import collect

without_rocq = pytest.mark.skipif(not has_rocq(), reason="needs coqc, and `make formal` before")
# columns of length 3, c = (3, 3, 3), A(∅) = {0, 1}
TIED_X, TIED_Y = np.array([[3.0, 0.0, 2.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, -1.0])


def needs_rocq(test):
    """Mark a slow test that runs Coq."""
    return pytest.mark.slow(without_rocq(test))


def certified(X, y, k, claim="sequential_lasso", method=sl.sequential_lasso, **options):
    return sl.certify(X, y, method(X, y, k, **options), claim=claim)


def picks_of(certificate):
    return [step.pick for step in certificate.steps]


def fractions_of(values):
    return [Fraction(v) for v in np.ravel(values).tolist()]


@pytest.fixture
def design(rng):
    return rng.integers(-3, 4, (6, 8)) * 0.25, rng.integers(-5, 6, 6) * 1.0


def test_the_literals_are_the_data_exactly(tmp_path, rng):
    """They are exact even if one entry is 2⁻¹⁰⁷⁴ and another 10¹⁴⁰."""
    X, y = rng.normal(size=(3, 4)), rng.normal(size=3)
    X[0, 0], X[1, 1], y[2] = 5e-324, 1e140, -0.1
    certified(X, y, 2).to_rocq(tmp_path / "picks.v", X, y)
    goal, columns, entries = rocq.read((tmp_path / "picks.v").read_text(encoding="utf-8"))
    assert columns == fractions_of(X.T)
    assert entries == fractions_of(y)
    assert re.fullmatch(r"sequential_lasso_picks \(.*\) \[::\] \[:: \d; \d\]", goal)


def test_a_printer_that_loses_an_integer_is_noticed(tmp_path, design, monkeypatch):
    certificate = certified(*design, 2)
    exact = rocq._integers
    monkeypatch.setattr(
        rocq, "_integers", lambda values: ([v - (v > 2) for v in exact(values)[0]], exact(values)[1])
    )
    refuses("not those of X and y", certificate.to_rocq, tmp_path / "picks.v", *design, error=RuntimeError)


@pytest.mark.parametrize(
    "options",
    [{"claim": "ols", "method": sl.ols}, {"claim": "nonnegative_omp", "method": sl.omp, "positive": True}],
)
def test_claims_without_a_checker_are_refused(tmp_path, design, options):
    refuses("claim must be one of", certified(*design, 1, **options).to_rocq, tmp_path / "picks.v", *design)


def test_what_cannot_be_stated_is_refused_by_name(tmp_path, design):
    X, y = design
    certificate, file = certified(X, y, 2), tmp_path / "picks.v"
    with pytest.raises(ValueError, match="normalized=True"):
        sl.certify(X, y, sl.omp(X / np.linalg.norm(X, axis=0), y, 1), normalized=True).to_rocq(file, X, y)
    refuses("without steps", sl.certify(X, y, sl.omp(X, y, 2, forced=[0, 1])).to_rocq, file, X, y)
    refuses("NaN", certificate.to_rocq, file, X, np.where(y == y[0], np.nan, y))
    refuses("bound to other data", certificate.to_rocq, file, X, y + 1)
    refuses(r"a name like picks\.v", certificate.to_rocq, tmp_path / "my-picks.txt", X, y)
    assert not file.exists()


@needs_rocq
@pytest.mark.parametrize("size", [(6, 8, 4), (12, 20, 4)])
def test_the_kernel_accepts_both_runs(tmp_path, rng, size):
    n, d, k = size
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    certificate = certified(X, y, k)
    certificate.to_rocq(tmp_path / "picks.v", X, y)
    picks = "; ".join(str(step.pick) for step in certificate.steps)
    goal = check(tmp_path / "picks.v", X, y, picks_of(certificate))
    assert goal.endswith(f"[::] [:: {picks}]")


@needs_rocq
def test_ties_forced_features_and_ones(tmp_path, design):
    """OMP may pick feature 2 of the tied design, Sequential LASSO may not."""
    X, y = design
    file = tmp_path / "picks.v"
    certified(TIED_X, TIED_Y, 3).to_rocq(file, TIED_X, TIED_Y)
    check(file, TIED_X, TIED_Y, [0, 1, 2])
    reordered = TIED_X[:, [2, 0, 1]]  # of equals OMP takes the first
    certified(reordered, TIED_Y, 1, claim="omp", method=sl.omp).to_rocq(file, reordered, TIED_Y)
    assert check(file, reordered, TIED_Y, [0], claim="omp").endswith("entries) [::] [:: 0]")
    certificate = certified(X, y, 4, method=sl.omp, forced=[5, 2])
    certificate.to_rocq(file, X, y)
    assert "[:: 5; 2] [::" in check(file, X, y, picks_of(certificate), forced=[2, 5])
    certificate = certified(X, y, 2, method=sl.omp, intercept=True)
    certificate.to_rocq(file, X, y)
    assert "[:: 8] [::" in check(file, X, y, picks_of(certificate), intercept=True)


@needs_rocq
def test_numbers_of_any_size(tmp_path):
    X, y = np.array([[1e140, 2.0**-1074], [2.5, -1e-100]]), np.array([0.1, -3e20])
    certificate = certified(X, y, 2)
    certificate.to_rocq(tmp_path / "picks.v", X, y)
    check(tmp_path / "picks.v", X, y, picks_of(certificate))


OTHER_PROOFS = [
    ("sequential_lasso", {"k": 2}, {}, r"Its picks are \[\d, \d\], not \[\d, \d, \d, \d\]"),
    ("omp", {"k": 2}, {}, r"Its picks are \[\d, \d\], not \[\d, \d, \d, \d\]"),
    ("sequential_lasso", {"k": 4}, {"claim": "omp"}, "claim is 'sequential_lasso', not 'omp'"),
    ("omp", {"k": 4}, {"claim": "sequential_lasso"}, "claim is 'omp', not 'sequential_lasso'"),
    ("omp", {"k": 4, "forced": [5, 2]}, {}, r"forced features are \[5, 2\], not \[\]"),
    ("omp", {"k": 4}, {"forced": [5, 2]}, r"forced features are \[\], not \[5, 2\]"),
    ("omp", {"k": 4, "intercept": True}, {}, "It is about X and a column of ones"),
    ("omp", {"k": 4}, {"intercept": True}, "It is about X without a column of ones"),
]


@needs_rocq
@pytest.mark.parametrize(("claim", "written", "asked", "message"), OTHER_PROOFS)
def test_a_proof_of_something_else_is_refused(tmp_path, design, claim, written, asked, message):
    """Coq accepts each file, and it is about this X and y."""
    file, method = tmp_path / "picks.v", getattr(sl, claim)
    certified(*design, claim=claim, method=method, **written).to_rocq(file, *design)
    picks = picks_of(certified(*design, claim=claim, method=method, **{**written, "k": 4}))
    refuses(message, check, file, *design, picks, **{"claim": claim, **asked})


@pytest.mark.parametrize(
    ("picks", "forced", "message"),
    [((), (), "picks must name at least one"), ((0, 6), (), "picks must be columns of X, 0 to 5; got 6"),
     ((0,), (-1,), "forced must be columns of X, 0 to 5; got -1")],
)  # fmt: skip
def test_features_that_x_does_not_have_are_refused(picks, forced, message):
    X, y = np.eye(6), np.arange(6.0)
    refuses(message, check, "no-such-file.v", X, y, picks, forced=forced)


@needs_rocq
def test_the_command_says_what_is_proved_or_what_differs(tmp_path):
    file, data = tmp_path / "picks.v", tmp_path / "data.npz"
    certified(TIED_X, TIED_Y, 2).to_rocq(file, TIED_X, TIED_Y)
    np.savez(data, X=TIED_X, y=TIED_Y)

    def command(*picks):
        words = [sys.executable, "-m", "proofs_checks.formal.check", file, data, *picks]
        return subprocess.run(words, capture_output=True, text=True, cwd=LIBRARY.parents[1])

    proved = command("--picks", "0", "1").stdout
    assert proved.startswith("Proved, without axioms: sequential_lasso_picks")
    assert proved.endswith("entries) [::] [:: 0; 1]\n")
    refused = command("--picks", "0", "1", "2")
    assert refused.returncode == 1
    assert "Its picks are [0, 1], not [0, 1, 2]." in refused.stderr
    assert command().returncode == 2  # there is no default
    np.savez(data, X=TIED_X)
    assert "data.npz has no y; write it by np.savez" in command("--picks", "0", "1").stderr
    data.unlink()
    assert "data.npz cannot be read" in command("--picks", "0", "1").stderr


def forged(text, old, new):
    """The file with one change in it."""
    assert re.search(old, text)
    return re.sub(old, new, text, count=1)


FORGED = [
    (r"\[:: 0; 1\]\.", "[:: 1; 0]."),  # another goal
    (r"Step 0 ", "Step 2 "),  # the pick that A(S) does not have, with the goal below
    (r"\[:: 3; 0; 0\]", "[:: 2; 0; 0]"),  # an entry of X
    (r"\[:: 1; 1; -1\]", "[:: 1; 2; -1]"),  # an entry of y
    (r"\[:: 0x1; 0x1; 0x0\]", "[:: 0x1; 0x1; 0x1]"),  # a direction
    (r"Step 1 0x3\n    \[:: 0x1; 0x0; 0x0\]", "Step 1 0x3\n    [:: 0x1; 0x1; 0x0]"),  # coefficients
    (r"Step 1 0x3", "Step 1 (-0x3)"),  # a denominator
]


@needs_rocq
@pytest.mark.parametrize(("old", "new"), FORGED)
def test_the_kernel_refuses_what_is_forged(tmp_path, old, new):
    certificate, file = certified(TIED_X, TIED_Y, 2), tmp_path / "picks.v"
    certificate.to_rocq(file, TIED_X, TIED_Y)
    text = forged(file.read_text(encoding="utf-8"), old, new)
    if new == "Step 2 ":
        text = forged(text, r"\[:: 0; 1\]\.", "[:: 2; 1].")
    file.write_text(text, encoding="utf-8")
    refuses("Coq does not accept", check, file, TIED_X, TIED_Y, [2, 1] if new == "Step 2 " else [0, 1])


@needs_rocq
@pytest.mark.parametrize("change", ["y doubled", "an entry of X off by one ulp"])
def test_a_proof_about_other_data_is_refused(tmp_path, change):
    """Coq accepts it, with the same picks."""
    file, X, y = tmp_path / "picks.v", TIED_X.copy(), TIED_Y
    if change == "y doubled":
        y = 2 * y
    else:
        X[0, 0] = np.nextafter(3, 4)
    certificate = certified(X, y, 2)
    assert picks_of(certificate) == [0, 1]
    certificate.to_rocq(file, X, y)
    refuses("not about this X and y", check, file, TIED_X, TIED_Y, [0, 1])


AXIOM = "Axiom anything : forall P : Prop, P.\nTheorem"
TRIVIAL = """Definition sequential_lasso_picks {n d} (X : 'M[rat]_(n, d)) (y : 'cV[rat]_n)
  (forced picks : seq nat) := True.
Theorem"""


PRINTED = [
    (AXIOM, "exact: anything. Qed", "picks_are_right", "axioms"),
    (AXIOM, "exact: anything. Qed", "nat", "axioms"),  # prints that nat has none
    ("Theorem", "Admitted", "nat", "axioms"),
    (TRIVIAL, "exact: I. Qed", "picks_are_right", "another goal"),
]


@needs_rocq
@pytest.mark.parametrize(("before", "proof", "prints", "message"), PRINTED)
def test_a_file_that_prints_more_than_it_proves_is_refused(tmp_path, before, proof, prints, message):
    """Coq accepts each, of the pick 2 that A(S) does not have, and prints the goal as it should be."""
    file = tmp_path / "picks.v"
    certified(TIED_X, TIED_Y, 2).to_rocq(file, TIED_X, TIED_Y)
    text = forged(file.read_text(encoding="utf-8"), r"\[:: 0; 1\]\.", "[:: 2; 1].")
    text = forged(forged(text, "Theorem", before), r"Proof.*Qed\.", f"Proof. {proof}.")
    file.write_text(forged(text, "Assumptions .*", f"Assumptions {prints}."), encoding="utf-8")
    assert "[:: 2; 1]" in printed_by_coq(file, tmp_path)
    refuses(message, check, file, TIED_X, TIED_Y, [2, 1])


@needs_rocq
def test_a_file_that_prints_the_whole_path_and_proves_its_beginning_is_refused(tmp_path):
    file = tmp_path / "picks.v"
    certified(TIED_X, TIED_Y, 2).to_rocq(file, TIED_X, TIED_Y)
    text = file.read_text(encoding="utf-8")
    goal = re.search(r"picks_are_right :\n  (.*)\.\nProof", text)[1].replace("[:: 0; 1]", "[:: 0; 1; 2]")
    shown = f"Module Shown. Axiom picks_are_right : {goal}. End Shown.\nCheck Shown.picks_are_right."
    file.write_text(forged(text, r"Check picks_are_right\.", shown), encoding="utf-8")
    assert "[:: 0; 1; 2]" in printed_by_coq(file, tmp_path)
    refuses("another goal", check, file, TIED_X, TIED_Y, [0, 1, 2])


@needs_rocq
def test_a_goal_about_some_of_the_columns_is_refused(tmp_path):
    """X has a third column, which OMP would pick; the file shows it, and its goal has the first two."""
    X, y, file = np.array([[1.0, 0.0, 9.0], [0.0, 1.0, 9.0]]), np.array([2.0, 1.0]), tmp_path / "picks.v"
    certified(X[:, :2], y, 1).to_rocq(file, X[:, :2], y)
    text = forged(file.read_text(encoding="utf-8"), r"\[:: 0; 1\]\]%BZ", "[:: 0; 1]; [:: 9; 9]]%BZ")
    text = forged(text, "Theorem", "Definition two : seq column := [:: [:: 1; 0]; [:: 0; 1]]%BZ.\nTheorem")
    same = "have -> : dyadic_matrix 2 2 0 columns = dyadic_matrix 2 2 0 two"
    same += " by apply/matrixP=> k [[|[|]] //= j]; rewrite !mxE."
    file.write_text(forged(text, "Proof.", f"Proof. {same}"), encoding="utf-8")
    assert "9%BZ; 9%BZ]]" in printed_by_coq(file, tmp_path)
    refuses("another goal", check, file, X, y, [0])


def theorems():
    """The names of theorems.v, and those whose assumptions it prints."""
    text = (LIBRARY / "theorems.v").read_text(encoding="utf-8")
    return re.findall(r"^Theorem (\w+)", text, re.M), re.findall(r"^Print Assumptions (\w+)\.", text, re.M)


def test_the_page_names_every_theorem():
    page = (LIBRARY.parents[1] / "docs" / "proofs" / "formal.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]\w*_\w+)`", page))
    assert set(theorems()[0]) - {"omp_certificates_are_sound"} - named == set()
    assert named - set(theorems()[0]) == {"fix_in", "fix_out", "to_rocq", "vm_cast_no_check"}


def test_every_theorem_prints_what_it_depends_on():
    stated, printed = theorems()
    assert stated == printed != []


def test_the_rows_that_are_formal_name_theorems():
    formal = {made.id: made.formal for made in collect(LIBRARY.parent) if made.formal}
    named = {id: re.findall(r"\b[a-z]\w*_\w+", text) for id, text in formal.items()}
    assert "SA-theorem-3.3" in named
    assert all(names and set(names) <= set(theorems()[0]) for names in named.values())
