"""The ledger: its machinery, that the stored one is the code's own, and that each row can turn red."""

import datetime
import io
import json
import os

import pytest
from claims import CLAIMS, FOLDER
from commands import invoke
from liars import liars
from refusals import refuses
from rich.console import Console

from sparselin import ledger as machinery
from sparselin.ledger import Check, Verdict, claim, collect, decide, mutants
from sparselin.studies.ledger import command as ledger_command
from sparselin.studies.ledger import report


def a_claim(check, **fields):
    """A claim about nothing, to try the machinery on."""
    stated = {"id": "ours-x", "number": "1", "method": "exact", "verdict": Verdict.HOLDS}
    stated |= {"statement": "s", "hypotheses": "h", "mutants": ("sl.omp",)} | fields
    names = stated.pop("mutants")
    return claim(**stated)(mutants(*names)(check))


# --- machinery -------------------------------------------------------------------------------------------


def test_a_failing_case_is_shrunk_and_reported():
    from hypothesis import strategies as st

    def never_above_ten(check):
        check.forall(st.integers(), lambda x: x <= 10)

    test = a_claim(never_above_ten)
    assert decide(test.claim, 200).failure == "counterexample: 11"
    refuses("ours-x: counterexample: 11", test, error=AssertionError)


EVIDENCE = [
    (Verdict.HOLDS, lambda check: None, "'holds', but no case was checked"),
    (Verdict.HOLDS, lambda check: check.refutes(True, "w"), "'holds', but check.refutes has a witness"),
    (Verdict.CORRECTED, lambda check: check.tally(3), "'holds, corrected' needs a witness"),
    (Verdict.MISPRINT, lambda check: check.tally(3), "'holds, misprinted' needs a witness"),
    (Verdict.FALSE, lambda check: check.refutes(True, "w"), "'false as printed', but no case was checked"),
    (Verdict.EMPIRICAL, lambda check: check.measured("m"), "'empirical', but no case was checked"),
    (Verdict.FALSE, lambda check: check.refutes(False, "w"), "the printed statement is not refuted by w"),
    (Verdict.EMPIRICAL, lambda check: check.tally(3), "'empirical', but nothing was measured"),
    (Verdict.HOLDS, lambda check: check.tally(9, 2, "this"), "2 of 9 cases fail, the first: this"),
    (
        Verdict.CONTRADICTED,
        lambda check: check.tally(3),
        "'contradicted by the paper's own tables' needs a witness",
    ),
    (Verdict.REPRODUCED, lambda check: check.tally(3), "'reproduced' needs a conclusion from the records"),
    (
        Verdict.NOT_REPRODUCED,
        lambda check: check.concludes(Verdict.REPRODUCED),
        "'not reproduced', but the records say 'reproduced'",
    ),
    (
        Verdict.NEEDS_DATA,
        lambda check: check.concludes(Verdict.NEEDS_DATA),
        "'needs data', but nothing was measured",
    ),
    (
        Verdict.HOLDS,
        lambda check: [check.tally(3), check.concludes(Verdict.REPRODUCED)],
        "'holds', but the records say 'reproduced'",
    ),
    (Verdict.HOLDS, lambda check: check.over([1, 0], bool), "counterexample: 0"),
    (Verdict.HOLDS, lambda check: 1 / 0, "ZeroDivisionError: division by zero"),
]


@pytest.mark.parametrize(("verdict", "check", "failure"), EVIDENCE)
def test_a_verdict_needs_its_evidence(verdict, check, failure):
    correction = "c" if verdict in machinery.REFUTED else ""
    assert decide(a_claim(check, verdict=verdict, correction=correction).claim).failure.startswith(failure)


def test_the_evidence_for_each_verdict():
    def both(check):
        check.tally(2)
        check.undecided()
        check.measured("m")
        if check.cases == 7:
            check.refutes(True, "w")
        if verdict in machinery.EXPERIMENTAL:
            check.concludes(verdict)

    for verdict in Verdict:
        refuted = verdict in machinery.REFUTED
        outcome = decide(a_claim(both, verdict=verdict, correction="c" * refuted).claim, 7 if refuted else 8)
        assert outcome == machinery.Outcome(
            cases=2, undecided=1, witnesses=("w",) * refuted, found=("m",), failure=None
        )


MISFITS = [
    ({"id": "XX-1"}, "paper must be one of SA, SR, LN, ours; got 'XX'"),
    ({"statement": ""}, "lacks the statement, which comes first"),
    ({"hypotheses": ""}, "lacks Hypotheses:"),
    ({"method": "exact, guess"}, "method must be among .*; got 'guess'"),
    ({"verdict": Verdict.FALSE}, "FALSE needs a correction; the docstring lacks Instead:"),
    ({"correction": "c"}, "a correction, Instead:, belongs only to"),
    ({"mutants": ()}, "mutants must name"),
]


@pytest.mark.parametrize(("fields", "words"), MISFITS)
def test_fields_that_do_not_fit(fields, words):
    refuses(words, a_claim, lambda check: None, **fields)


def test_the_docstring_is_the_statement():
    @claim("SA-x", "Lemma 0", "exact", Verdict.FALSE, tolerance="shared")
    @mutants("sl.omp")
    def check(check):
        """For all x:

        x < x + 1, and note: no label.

        Hypotheses: x real

        Instead: x ≤ x
        + 1

        and more
        """

    made = check.claim
    assert made.statement == "For all x: x < x + 1, and note: no label."
    assert (made.hypotheses, made.correction) == ("x real", "x ≤ x + 1 and more")
    assert (made.paper, made.number, made.mutants) == ("SA", "Lemma 0", ("sl.omp",))
    assert (made.tolerance, made.unchecked, made.reading_of, made.consequences) == ("shared", "", "", "")


VERDICTS = {"a": "HOLDS", "b": "REPRODUCED"}


@machinery.claims(
    {"a": {"x": "1"}, "b": {"x": "2"}}, "SA-x", "Table 0", "exact", lambda key: Verdict[VERDICTS[key]]
)
@mutants("VERDICTS")
def of_each(check, key):
    """{x} ≥ 1.

    Hypotheses: none, {x}
    """
    check.over([key], lambda key: key == "a")
    check.measured(key)


def test_a_row_for_each_key_of_one_check():
    first, second = of_each.claims
    assert (first.id, second.id) == ("SA-x-a", "SA-x-b")
    assert (first.statement, second.hypotheses) == ("1 ≥ 1.", "none, 2")
    assert (first.verdict, second.verdict) == (Verdict.HOLDS, Verdict.REPRODUCED)
    assert first.test == second.test == "test_ledger.py::of_each"
    assert decide(first).found == ("a",)
    refuses(r"^SA-x-b: counterexample: 'b'$", of_each, error=AssertionError)


def test_randomness_depends_on_seed_and_id_alone():
    def draws(check):
        check.tally(1)
        check.measured(str(check.rng.integers(2**40)))

    made = a_claim(draws).claim
    assert decide(made, 1).found == decide(made, 5).found != decide(made, 1, seed=1).found


def test_no_value_within_the_hypotheses_is_a_failure():
    from hypothesis import assume
    from hypothesis import strategies as st

    check = Check(5, 0)
    with pytest.raises(Exception, match=r"no value met|Unable to satisfy"):
        check.forall(st.booleans(), lambda x: assume(False))


# --- the stored ledger -----------------------------------------------------------------------------------


def test_the_stored_ledger_says_what_the_code_says():
    assert report.changes(CLAIMS, report.read(FOLDER), whole=True) == []


def test_the_document_is_generated_from_the_numbers():
    assert (FOLDER / "LEDGER.md").read_text(encoding="utf-8") == report.markdown(report.read(FOLDER))


def test_the_numbers_that_the_project_promises():
    cases = {row["id"]: row["cases"] for row in report.read(FOLDER)["rows"]}
    assert cases["SA-theorem-3.3"] >= 10_000
    assert cases["SA-theorem-3.3-floats"] >= 1_000_000
    assert cases["SA-theorem-1.1"] >= 10_000


def test_a_changed_verdict_or_statement_is_seen():
    ledger = report.read(FOLDER)
    first = ledger["rows"][0]
    first["verdict"], ledger["rows"][1]["statement"] = "open", "something else"
    extra = ledger["rows"][2]["id"]
    ledger["rows"][2]["id"] = "SA-gone"
    found = report.changes(CLAIMS, ledger, whole=True)
    assert f"{first['id']}: the stored verdict is 'open'" in found
    assert f"{extra} is not in the stored ledger" in found
    assert "SA-gone is only in the stored ledger" in found
    assert len(found) == 4


# --- the command -----------------------------------------------------------------------------------------


LEDGER = ("ledger", "--folder", FOLDER)


def test_the_command_checks_one_claim_against_the_stored_verdict():
    output = invoke(*LEDGER, "--id", "SA-item-1", "--cases", "5", "--jobs", "1")
    assert "false as printed" in output
    assert "1 claim, 5 cases: all verdicts hold" in output


def test_a_red_row_is_exit_status_1(monkeypatch):
    import sparselin as sl

    monkeypatch.setattr(sl, "lasso_path", dict(liars(sl.lasso_path))["scaled"])
    output = invoke(*LEDGER, "--id", "SA-item-1", "--cases", "5", "--jobs", "1", exit_code=1)
    assert "FAILED" in output
    assert "1 verdict does not hold" in output


def test_a_part_is_stored_beside_what_is_there(tmp_path, monkeypatch):
    stored = {"sparselin": "0", "rows": [row for row in report.read(FOLDER)["rows"] if row["paper"] == "LN"]}
    report.write(tmp_path, stored)
    monkeypatch.setattr(ledger_command.ledger_report, "read", lambda folder, read=report.read: read(tmp_path))
    monkeypatch.setattr(
        ledger_command.ledger_report, "write", lambda folder, made, write=report.write: write(tmp_path, made)
    )
    invoke(*LEDGER, "--id", "SA-item-1", "--cases", "3", "--jobs", "1", "--seed", "7", "--write")
    rows = json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8"))["rows"]
    assert [row["id"] for row in rows] == ["SA-item-1", *(row["id"] for row in stored["rows"])]
    assert (rows[0]["cases"], rows[0]["seed"]) == (3, 7)


def a_folder(path, text):
    """A package of checks."""
    path.mkdir()
    (path / "__init__.py").write_text("")
    (path / "test_x.py").write_text(text)
    return path


CHECK = '''
from sparselin.ledger import HOLDS, claim, mutants

def double(x):
    return 2 * x

@claim("ours-{0}", "1", "exact", HOLDS)
@mutants("double")
def test_{0}(check):
    """2x = x + x.

    Hypotheses: integers
    """
    check.over(range(check.cases), lambda x: double(x) == x + x)
'''


def test_processes_and_one_process_find_the_same(tmp_path):
    folder = a_folder(tmp_path / "checks_in_two", CHECK.format("a") + CHECK.format("b"))
    claims = collect(folder)
    alone = {made.id: outcome for made, outcome in machinery.decide_all(claims, 7)}
    together = {made.id: outcome for made, outcome in machinery.decide_all(claims, 7, jobs=2)}
    assert alone == together
    assert [outcome.cases for outcome in alone.values()] == [7, 7]


def test_a_folder_without_a_ledger(tmp_path):
    folder = a_folder(tmp_path / "checks_alone", CHECK.format("a"))
    output = invoke("ledger", "--folder", folder, "--jobs", "1", "--cases", "3")
    assert "There is no ledger in" in output
    assert "Witnesses" not in output
    (folder / "ledger.json").write_text("[]")
    assert "is not a ledger" in invoke("ledger", "--folder", folder, exit_code=2)


def put_in_the_way(path, kind):
    """Put a file of somebody in a place; what must stay."""
    outside = path.with_name("outside")
    path.parent.mkdir(exist_ok=True)
    (path if kind == "another" else outside).write_bytes(b"precious")
    if kind == "link":
        path.symlink_to(outside)
    return path if kind == "another" else outside


@pytest.mark.parametrize("kind", ["another", "link"])
@pytest.mark.parametrize("name", ["LEDGER.md", "ledger.json", "ours-a.npz"])
def test_nothing_is_written_over_what_another_wrote(tmp_path, monkeypatch, name, kind):
    folder = a_folder(tmp_path / f"checks_{name[:3]}_{kind}", CHECK.format("a").replace("x + x", "x + 1"))
    place = tmp_path / "found"
    mine = put_in_the_way((place if name == "ours-a.npz" else folder) / name, kind)
    line = ["ledger", "--folder", str(folder), "--jobs", "1", "--cases", "3", "--write"]
    monkeypatch.setattr(ledger_command, "_decide", None)
    assert name in invoke(*line, "--counterexamples", place, exit_code=2)
    assert mine.read_bytes() == b"precious"
    assert (folder / name).is_symlink() or (place / name).is_symlink() or kind == "another"


def test_what_the_command_wrote_is_written_again(tmp_path):
    """A counterexample, and the ledger; a broken one in its place is another's."""
    folder = a_folder(tmp_path / "checks_again", CHECK.format("a").replace("x + x", "x + 1"))
    line = ["ledger", "--folder", str(folder), "--jobs", "1", "--cases", "3", "--write"]
    line += ["--counterexamples", str(tmp_path / "found")]
    for _ in range(2):
        invoke(*line, exit_code=1)
        assert {path.name for path in (tmp_path / "found").iterdir()} == {"ours-a.npz"}
        assert {"LEDGER.md", "ledger.json"} < {path.name for path in folder.iterdir()}
    file = tmp_path / "found" / "ours-a.npz"
    for data in (b"", file.read_bytes()[:200]):
        file.write_bytes(data)
        invoke(*line, exit_code=2)
        assert file.read_bytes() == data
        assert "ours-a.npz is" in invoke("ledger", "--folder", folder, "--design", file, exit_code=2)


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    folder = a_folder(tmp_path / "checks_full", CHECK.format("a"))
    line = ["ledger", "--folder", str(folder), "--jobs", "1", "--cases", "3", "--write"]
    invoke(*line)
    files = {name: (folder / name).read_bytes() for name in ("LEDGER.md", "ledger.json")}
    fsync, left = os.fsync, []

    def full(file):
        if not left.pop():
            raise OSError(28, "No space left on device")
        fsync(file)

    monkeypatch.setattr("sparselin.studies.common.folder.os.fsync", full)
    for whole in (0, 1):
        left[:] = [False, *[True] * whole]
        assert "No space left on device" in invoke(*line, "--seed", "5", exit_code=1)
        assert {name: (folder / name).read_bytes() for name in files} == files
    assert not list(folder.glob(".*part"))


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "{}", '{"rows": 3}', '{"rows": [3]}', '{"rows": [{"id": "a"}]}', "[" * 100_000, "\xff"],
    ids=range(9),
)
def test_a_broken_ledger_is_named(tmp_path, text):
    folder = a_folder(tmp_path / "checks_broken_ledger", "")
    (folder / "ledger.json").write_bytes(text.encode("latin-1"))
    refuses(r"cannot read .*ledger\.json|ledger\.json is not a ledger", report.read, folder)


@claim("ours-toy", "a toy", "exact", Verdict.HOLDS)
@mutants("machinery")
def test_a_toy(check):
    """x < x + 1.

    Hypotheses: integers
    """
    check.over(range(check.cases), lambda x: x < x + 1)


@pytest.fixture
def toy():
    made = machinery.register(test_a_toy.claim)
    yield made
    del machinery.CLAIMS[made.id]


def test_a_registered_claim_is_in_the_command_and_its_tables(tmp_path, toy):
    """Nothing but `register` is called: processes, the table and the ledger that is written have it."""
    refuses("there is a claim 'ours-toy' already; choose another name", machinery.register, toy)
    folder = a_folder(tmp_path / "checks_and_toy", CHECK.format("a"))
    line = ["ledger", "--folder", str(folder), "--jobs", "2", "--cases", "3", "--write"]
    output = invoke(*line)
    assert "2 claims, 6 cases: all verdicts hold" in output
    assert "ours-toy" in output
    assert [row["id"] for row in report.read(folder)["rows"]] == ["ours-a", "ours-toy"]
    assert "[ours-toy](" in (folder / "LEDGER.md").read_text(encoding="utf-8")
    output = invoke(*LEDGER, "--id", "ours-toy", "--jobs", "1", exit_code=1)
    assert "Changed: ours-toy is not in the stored ledger" in output


def test_a_file_that_cannot_be_imported_is_named(tmp_path):
    folder = a_folder(tmp_path / "checks_broken", "def (")
    refuses(r"checks_broken.test_x cannot be imported: SyntaxError", collect, folder)


def test_one_id_for_two_claims(tmp_path):
    twice = CHECK.format("a") + CHECK.format("b").replace("ours-b", "ours-A")
    folder = a_folder(tmp_path / "checks_twice", twice)
    refuses(r"ours-A is claimed by test_x.py::test_a and by test_x.py::test_b", collect, folder)


def test_ids_and_papers_in_any_case():
    assert [made.id for made in collect(FOLDER, "SA", "sa-ITEM-1")] == ["SA-item-1"]
    invoke(*LEDGER, "--paper", "sa", "--id", "sa-item-1", "--cases", "3", "--jobs", "1")


def test_bad_arguments(tmp_path):
    output = invoke(*LEDGER, "--id", "zzz", "--paper", "LN", exit_code=2)
    assert "no claim in LN has an id that begins with 'zzz'" in output
    assert "no test_*.py in" in invoke("ledger", "--folder", tmp_path, exit_code=2)


def test_a_ledger_is_written_and_read_back(tmp_path):
    made = next(made for made in CLAIMS if made.id == "SA-item-1")
    written = report.document([(made, decide(made, 3))], 0, datetime.date(2026, 11, 21))
    report.write(tmp_path, written)
    assert report.read(tmp_path) == json.loads(json.dumps(written))
    line = (tmp_path / "LEDGER.md").read_text(encoding="utf-8").splitlines()[-1]
    assert line.startswith('| <a id="sa-item-1"></a>[SA-item-1](test_lemma_3_4.py) | ')
    assert line.endswith(f"| *Instead:* {report._text(report.short(made.correction))} |")


def test_a_text_is_cut_to_its_first_words():
    words = [f"w{i}" for i in range(report.WORDS + 1)]
    assert report.short(" ".join(words[:-1])) == " ".join(words[:-1])
    assert report.short(" ".join(words)) == " ".join(words[:-1]) + " …"
    assert report.short("") == ""


def test_brackets_and_underscores_are_shown_not_obeyed(tmp_path):
    def fails(check):
        raise AssertionError("at X = [[1, 2], [/b]]")

    made = a_claim(fails, statement="ℓ : 2^[d] → ℝ, S ⊆ [n], a_b*c_d*e").claim
    outcome = decide(made)
    console = Console(width=200, file=io.StringIO())
    console.print(report.table([(made, outcome)]))
    shown = console.file.getvalue()
    assert "ℓ : 2^[d] → ℝ, S ⊆ [n]" in shown
    assert "[[1, 2], [/b]]" in shown
    text = report.markdown(report.document([(made, outcome)], 0, datetime.date(2026, 11, 21)))
    assert r"a\_b\*c\_d\*e" in text
