"""The parts of the site that have logic: docstrings, formulas, links; and every public name has its page."""

import importlib
import inspect
import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refuses

pytest.importorskip("sphinx", reason="the site: make docs")
pytest.importorskip("latex2mathml", reason="the site: make docs")

from docutils import nodes
from docutils.core import publish_doctree

import sparselin as sl

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

NAMES = ("docstrings", "formulas", "links", "module_tables", "terms")
docstrings, formulas, links, module_tables, terms = map(importlib.import_module, NAMES)


def tree(text, **options):
    """Return the tree that docutils makes of a docstring without a complaint; names stay as they are."""
    complaints = io.StringIO()
    rst = "\n".join(docstrings.as_rst(inspect.cleandoc(text).split("\n"), **options))
    rst = ".. default-role:: literal\n\n" + rst.replace(":doc:", ":title:")
    made = publish_doctree(rst, settings_overrides={"warning_stream": complaints, "report_level": 1})
    assert not complaints.getvalue(), f"{complaints.getvalue()}\n{rst}"
    return made


def texts(made, kind):
    return [node.astext() for node in made.findall(kind)]


def test_marks_that_are_no_markup():
    line = "λ* and coef_ of |⟨X_i, r⟩|, a*b*c, **kwargs of the call, β_{S̄}, \\ and Σ_i |c_i|* |d|_"
    assert texts(tree(line), nodes.paragraph) == [line]
    assert not list(tree(line).findall(nodes.Inline))


def test_names_titles_and_pages():
    made = tree("See `omp`s, *Greed is\ngood* (2004), a **row** and docs/speed.md, (*again*).")
    assert texts(made, nodes.literal) == ["omp"]
    assert texts(made, nodes.emphasis) == ["Greed is\ngood", "again"]
    assert texts(made, nodes.strong) == ["row"]
    assert texts(made, nodes.title_reference) == ["docs/speed.md </docs/speed>"]
    assert docstrings.prose("`k`, `omp`", frozenset({"k"})) == "``k``, `omp`"


def test_formulas_and_lists():
    made = tree(
        """First.

        Each step takes

            i* = argmax |c_i|
              over S̄

        It has this:

        - one, which
          goes on;
        - two.

          A paragraph of two.

        Last:
        - three.
        """
    )
    assert texts(made, nodes.literal_block) == ["i* = argmax |c_i|\n  over S̄"]
    assert [len(node) for node in made.findall(nodes.bullet_list)] == [2, 1]
    assert texts(made, nodes.paragraph)[-2:] == ["Last:", "three."]
    assert "A paragraph of two." in texts(next(made.findall(nodes.bullet_list)), nodes.paragraph)


def test_entries():
    made = tree(
        """What it does.

        Parameters
        ----------
        X, y : the data
            of coef_.
        U (n, d), **rest : d.
        tol : float, default=None
            Stop *there*.
        k : how many.
            An integer;
            "ebic" : the first minimum,

                    EBIC = |c|

                and so on;
            "cv" : the least.

        Raises
        ------
        ValueError : for d_.
        """
    )
    assert texts(made, nodes.rubric) == ["Parameters", "Raises"]
    assert texts(made, nodes.term) == ["X, y", "U (n, d), **rest", "tol", "k", '"ebic"', '"cv"', "ValueError"]
    assert texts(made, nodes.classifier) == ["float, default=None"]
    assert texts(made, nodes.paragraph)[1:4] == ["the data\nof coef_.", "d.", "Stop there."]
    assert texts(made, nodes.literal_block) == ["EBIC = |c|"]
    assert "and so on;" in texts(made, nodes.paragraph)


def test_examples_are_kept_and_entries_need_no_section():
    made = tree(
        """A frame.

        library : "pandas" or
            "polars".

        >>> a_ * b_
        '|x|'
        """
    )
    assert texts(made, nodes.term) == ["library"]
    assert texts(made, nodes.doctest_block) == [">>> a_ * b_\n'|x|'"]


def test_fields_can_be_linked_and_are_told_once():
    class Result:
        """A result.

        Attributes
        ----------
        lower, upper : bounds.
        exact : whether they agree.
        """

        @property
        def exact(self):
            """Return whether both agree, in other words."""

    rst = docstrings.as_rst(inspect.getdoc(Result).split("\n"), owner=Result)
    assert [line for line in rst if "attribute::" in line] == [".. py:attribute:: lower"]
    assert rst[rst.index(".. py:attribute:: lower") + 1].split() == ["upper"]
    assert "**exact**" in rst


def test_what_is_returned_is_linked():
    title = ["Returns", "-------"]
    assert docstrings.as_rst([*title, "SelectionPath. More."])[2] == "`SelectionPath`. More."
    assert docstrings.as_rst([*title, "The Axes."])[2] == "The Axes."


IN_MARKDOWN = [
    ("omp", "omp"),
    ("sl.omp(X, y, 4)", "omp"),
    ("sparselin.omp", "omp"),
    ("plots.show(path)", "plots.show"),
    ("q", None),
    ("omp/noise", None),
    ("sl.omp(X, y).support", None),
    ("path.support", None),
]


@pytest.mark.parametrize(("code", "name"), IN_MARKDOWN)
def test_names_in_markdown(code, name):
    found = docstrings._PUBLIC.fullmatch(code)
    assert (found and found[1]) == name


# the stand-in of the site for PyTorch, in a process of its own: other tests skip without PyTorch
STAND_IN = f"""
import inspect, sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
import torch_stub
torch_stub.install()
import scipy.stats
import sparselin as sl
import proofs_checks.experiments.networks.baselines
def public_names(module):
    names = getattr(module, "__all__", None) or vars(module)
    return [name for name in names if name[0] != "_" and callable(getattr(module, name))]
"""


def with_stand_in(script, *arguments):
    """Return what a script prints that sees the stand-in for PyTorch, with or without PyTorch."""
    run = [sys.executable, "-c", STAND_IN + script, *arguments]
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


UNLISTED = """
listed = sys.argv[1:]
public = {"spectral", "estimators", "plots", "ensembles", "testing", "neural", "results"} | set(sl.__all__)
for module in (sl.estimators, sl.neural, sl.plots, sl.results, sl.spectral):
    place = module.__name__.removeprefix("sparselin.")
    public |= {f"{place}.{name}" for name in public_names(module)}
again = {f"{place}.{name}" for place in ("results", "spectral") for name in sl.__all__}  # exported twice
print(sorted(public - set(listed) - again))
for name in listed:
    thing = sl
    for part in name.split("."):
        thing = getattr(thing, part, None) or __import__(f"sparselin.{name}", fromlist=["x"])
"""


def test_every_public_name_has_a_page():
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ~?sparselin\.([\w.]+)$", page, re.MULTILINE)
    assert len(set(listed)) == len(listed)
    assert with_stand_in(UNLISTED, *listed) == "[]\n"


DOCUMENTED = """
modules = (sl.neural, sl.neural.plots, sl.estimators)
things = [getattr(module, name) for module in modules for name in public_names(module)]
assert all(inspect.getdoc(thing) for thing in things)
assert all(inspect.signature(thing) for thing in things if thing is not sl.neural.NonFiniteLoss)
mask = sl.neural.FeatureMask
print(inspect.signature(mask), sys.modules["torch"].nn.Module in mask.__mro__)
"""


def test_the_pages_of_networks_need_no_torch():
    """Their names, signatures and docstrings are those of our own code, on a stand-in for PyTorch."""
    printed = with_stand_in(DOCUMENTED)
    assert printed.endswith("True\n")
    assert "dtype: 'torch.dtype' = torch.float32" in printed


# --- the modules of the package -----------------------------------------------------------------------------


def test_the_table_of_modules_shows_code_and_titles():
    rows = [("greedy/", "Greedy selection."), ("greedy/x.py", "The rule λ* of *A Title*, for `y`.")]
    table = module_tables.table(rows)
    assert [code.astext() for code in table.findall(nodes.literal)] == ["greedy/", "greedy/x.py", "y"]
    assert [name.astext() for name in table.findall(nodes.strong)] == ["greedy/"]
    assert [title.astext() for title in table.findall(nodes.emphasis)] == ["A Title"]
    assert table.astext().endswith("The rule λ* of A Title, for y.")


# --- formulas ---------------------------------------------------------------------------------------------


def test_bars_and_operators():
    made = formulas.mathml(r"|c_j| \ln 2")
    assert made.count('lspace="0" rspace="0"') == 2
    assert '<mi>ln</mi><mspace width="0.17em"/><mn>2</mn>' in made
    assert "mspace" not in formulas.mathml(r"\log_2")  # the base stays the second child of <msub>
    assert "<munder><mo>min</mo>" in formulas.mathml(r"\min_v v^2", "block")
    assert "<msup>" not in formulas.mathml("k'")
    assert "<mo>&#x027C2;</mo>" in formulas.mathml(r"u \perp v")
    assert 'display="block"' in formulas.mathml("x", "block")
    refuses(r"nosuchcommand", formulas.mathml, r"\nosuchcommand x")


def formulas_of(text):
    """Return the formulas of a text in Markdown, which stand outside its code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return {"".join(both) for both in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", prose, re.DOTALL)}


def test_every_formula_of_the_pages_and_notebooks():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("**/*.md")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    found = set().union(*map(formulas_of, texts))
    assert len(found) > 1000
    for tex in found:
        assert "<math" in formulas.mathml(tex)


# --- links ------------------------------------------------------------------------------------------------


LOADED = (
    '<script src="https://there/x.js"></script>',
    "<link rel='stylesheet' href='//there/x.css'>",
    '<img alt="a"\n src="http://there/x.png">',
    "<img src=https://there/x.png>",
    "@import 'https://there/x.css'",
    "@font-face { src: url(https://there/x.woff2) }",
)
OWN = ('<a href="https://there/">', '<img src="../x.png"/>', "url(x.woff2)")
NO_ADDRESS = '<svg xmlns="http://www.w3.org/2000/svg">'


@pytest.mark.parametrize("text", [*LOADED, *OWN, NO_ADDRESS])
def test_what_would_be_loaded(text):
    assert len(links.load_addresses(text)) == (text in LOADED)


def test_outward():
    page = '<a class="x" href="https://a/?b=1&amp;c"> <a href="b.html">'
    assert links.outward(page) == ["https://a/?b=1&c"]


def test_links_of_pages_that_are_made():
    made = "[a](/docs/made/gallery/index.rst#b) [c](d.md)"
    assert links.read_as("[a](gallery/README.rst#b) [c](d.md)", "docs") == made
    assert links.read_as("[a](README.rst)", "docs/gallery") == "[a](/docs/made/gallery/index.rst)"
    assert all((ROOT / source).exists() for source in links.READ_AS)


def test_the_configuration_names_nothing_of_ours():
    for _, pattern in runpy.run_path(str(ROOT / "docs" / "conf.py"))["nitpick_ignore_regex"]:
        assert not re.fullmatch(pattern, "sparselin.omp")


# --- the glossary -----------------------------------------------------------------------------------------


def test_the_glossary_is_one_of_sphinx():
    text = "# Terms\n\nWords.\n\n- **window** ((λ₂, λ\\*)): between: two.\n- **fold**, **part**: some rows.\n"
    assert terms.as_glossary(text) == (
        "# Terms\n\nWords.\n\n```{glossary}\nwindow\n  ((λ₂, λ\\*)) between: two.\n\n"
        "fold\npart\n  some rows.\n```"
    )


def test_the_glossary_explains_every_status_and_no_term_twice():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    names = re.findall(r"\*\*(.+?)\*\*", text)
    assert len(set(names)) == len(names) > 80
    assert {status.name for status in sl.Status} <= set(names)
    assert terms.as_glossary(text).count("- **") == 0


def test_marks_are_index_entries():
    text = "# Title\n\n<!-- index: p-value; margin -->\nWords.\n"
    first, second = (f"```{{index}} ! single: {word}\n```\n" for word in ("p-value", "margin"))
    assert terms.with_index(text) == f"# Title\n\n{first}\n{second}Words.\n"


SEARCHED = [
    ("after_selection", "p-value"),
    ("choosing_k", "logistic"),
    ("data", "intercept"),
    ("from_scikit_learn", "alpha"),
    ("from_scikit_learn", "n_nonzero_coefs"),
    ("dictionaries", "Fourier"),
]


@pytest.mark.parametrize(("page", "term"), SEARCHED)
def test_the_guide_marks_the_words_that_users_search(page, term):
    text = (ROOT / "docs" / "guide" / f"{page}.md").read_text(encoding="utf-8")
    assert f"! single: {term}\n" in terms.with_index(text)
