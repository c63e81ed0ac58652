"""The tables of tests/tables/, in forms that people have: each is read right, or refused with a remedy."""

import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from reading import proposals, read_with
from tables import make

from sparselin.studies.common.tables import BadTable

pd = pytest.importorskip("pandas")
FOLDER = Path(__file__).parents[1] / "tables"
INDEX = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))


def truth(name):
    return pd.read_csv(FOLDER / "truth" / f"{name}.csv", keep_default_na=False, na_values=[""])


def assert_same(frame, name):
    """The frame has the numbers, texts and gaps of a file in truth/, to the last bit."""
    wanted = truth(name)
    assert list(frame) == list(wanted)
    for column in wanted:
        found, right = frame[column], wanted[column]
        if right.dtype.kind in "if":
            assert found.dtype.kind in "if", column
            np.testing.assert_array_equal(found.to_numpy(float), right.to_numpy(float), err_msg=column)
        else:
            found = found.dt.strftime("%Y-%m-%d") if found.dtype.kind == "M" else found
            assert found.isna().tolist() == right.isna().tolist(), column
            assert found.dropna().tolist() == right.dropna().tolist(), column


def test_there_are_a_hundred_kinds():
    assert len({entry["shows"] for entry in INDEX.values()}) >= 150


@pytest.mark.parametrize("name", INDEX)
def test_a_table_is_read_right_or_refused_with_a_remedy(name):
    entry, path = INDEX[name], FOLDER / name
    if path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    options = shlex.split(entry.get("options", ""))
    numbers = ["--numbers", entry["numbers"]] if "numbers" in entry else []
    if "refused" in entry:
        with pytest.raises(BadTable) as refused:
            read_with(path, numbers)
        assert entry["refused"] in str(refused.value)
        assert str(path) in str(refused.value)
        found = proposals(str(refused.value))
        separately = [option[i : i + 2] for option in found for i in range(0, len(option), 2)]
        assert options in found or all(options[i : i + 2] in separately for i in range(0, len(options), 2))
        for option in found:
            if "=" not in option[1]:  # an option for a single column settles no other
                read_with(path, [*option, *numbers])
    table = read_with(path, options + numbers)
    assert_same(table.frame, entry["truth"])
    # the printed program reads the same
    space = {"pd": pd, "table": getattr(pd, table.reader)(path, **table.options)}
    if table.renamed:
        space["table"].columns = space["table"].columns.astype(str).str.strip()
    for step in table.steps:
        exec(step, space)
    assert_same(space["table"], entry["truth"])


def test_the_tables_come_from_the_script():
    """The stored texts and the index are those that make.py writes."""
    assert (FOLDER / "index.toml").read_text(encoding="utf-8") == make.index()
    for name, (data, _) in make.TABLES.items():
        assert not isinstance(data, bytes) or name.endswith(".gz") or (FOLDER / name).read_bytes() == data, (
            name
        )
    for name, columns in make.TRUTHS.items():
        assert (FOLDER / "truth" / f"{name}.csv").read_text(encoding="utf-8") == make.truth(columns)
