"""The table of docs/data.md agrees with the functions."""

import forms
import pytest


@pytest.mark.parametrize("name", forms.names())
def test_the_table_tells_what_happens(name):
    """Rewrite the table by `python -m tests.forms` if this fails."""
    rows = forms.find_table(forms.PAGE.read_text(encoding="utf-8")).splitlines()
    assert f"| {' | '.join(forms.row(name))} |" in rows
    assert len(rows) == 2 + len(forms.names())


@pytest.mark.parametrize("name", forms.names())
def test_a_large_sparse_design_stays_sparse_or_is_refused_before_it_is_copied(name):
    """The design would need 75 GiB as an array."""
    error, peak = forms.on_large(name)
    assert peak < 2**27
    assert isinstance(error, MemoryError) == forms.SUPPORT[name].copies
    if error is not None:
        assert isinstance(error, MemoryError)
        assert "GiB as a dense array of shape" in str(error)
