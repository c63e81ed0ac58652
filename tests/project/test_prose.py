"""The English that a machine can check: openings, words, the length of first sentences, names of functions.

docs/CONTRIBUTING.md states the rules; words of the field (`patience` of early stopping) stand in ALLOWED.
"""

import ast
import re

import pytest
from house import PROJECT, PYTHON, files, tree_of

OPENINGS = re.compile(
    r"(of|those|what|how|which|whose|that|as|by|whether|where|beside|than|but|not|with|who|whom|why|such|so|also|"
    r"again|likewise|except|without)\b",
    re.IGNORECASE,
)
WORDS = re.compile(
    r"\b(told|manieth|shall|for want of|for ever|storeys?|stretch|leeway|patience|beside|so many|the former|"
    r"such as are|that are none|are asked|is asked)\b",
    re.IGNORECASE,
)
ALLOWED = {
    "patience": ("neural", "estimators", "networks", "lassonet", "warm_up"),
    "stretch": ("benchmark",),
}  # word → folders in which it is the field's term
PARTICIPLE = re.compile(
    r"(^|_)(?!seed|speed|need|thread|r_squared|embed|exceed|feed|proceed)\w*"
    r"([a-z]{2}ed|told|known|begun|kept|left|held|found|made|given|seen|drawn|put|said|built|taken|chosen|written|"
    r"beside)$"
)
VERBS = ("is_", "has_", "was_", "are_", "test_", "find_", "check_", "assert_", "stays_", "holds_", "of_")
# names of `sl` and its results, which stay
PUBLIC = {"selected", "undecided", "measured", "duplicated", "equicorrelated", "ill_conditioned", "carried"}
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "benchmarks/*.md", "notebooks/*.md")
    for path in sorted(PROJECT.glob(pattern))
    if path.name not in ("CHANGELOG.md", "LEDGER.md", "RESULTS.md")
]
TEXTS = [
    path for folder in ("sparselin", "proofs_checks") for path in sorted((PROJECT / folder).rglob("*.toml"))
]


def described(tree):
    """Yield each module, class and function with a docstring, and the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            words = ast.get_docstring(node)
            if words:
                yield getattr(node, "name", "module"), words


def faults(path):
    """Return the faults of a module's English, one line each."""
    found = []
    for name, words in described(tree_of(path)):
        first = words.split("\n\n")[0]
        if OPENINGS.match(first):
            found.append(f"{name}: opens with a fragment: {first!r}")
        sentence = re.split(r"(?<=[.:;])\s", first)[0]
        if len(sentence.split()) > 30:
            found.append(f"{name}: a first sentence of more than 30 words: {sentence!r}")
    return found + [f"forbidden word {word!r}" for word in forbidden(path)]


def forbidden(path):
    """Return the forbidden words of a file that are not the field's terms in its folder."""
    source = path.read_text(encoding="utf-8")
    where = path.relative_to(PROJECT).as_posix()
    return [
        word
        for word in WORDS.findall(source)
        if not any(folder in where for folder in ALLOWED.get(word.lower(), ()))
    ]


def participles(path):
    """Return the functions that are named by a participle: a verb or a noun would say what they return."""
    return [
        node.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef)
        and PARTICIPLE.search(node.name)
        and node.name not in PUBLIC
        and not node.name.lstrip("_").startswith(VERBS)
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


def name(path):
    return path.relative_to(PROJECT).as_posix()


ALL = [path for path in files(*PYTHON) if path.name != "test_prose.py"]
NOT_TESTS = files("sparselin", "benchmarks", "docs", "proofs_checks/experiments")


@pytest.mark.parametrize("path", ALL, ids=name)
def test_docstrings_are_sentences(path):
    assert not faults(path)


@pytest.mark.parametrize("path", PAGES + TEXTS, ids=name)
def test_pages_have_no_private_words(path):
    assert not forbidden(path)


@pytest.mark.parametrize("path", NOT_TESTS, ids=name)
def test_names_are_nouns_or_verbs(path):
    """No function is a participle; a loop variable is the singular of the things it runs over."""
    assert not participles(path)
    targets = [n.target for n in ast.walk(tree_of(path)) if isinstance(n, ast.For | ast.comprehension)]
    assert not [t.id for t in targets if isinstance(t, ast.Name) and t.id in ("one", "it")]


def test_the_readme_is_short():
    """A README says what the package is, for whom, and how to begin: the pages of docs/ have the rest."""
    words = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(words.splitlines()) <= 110
    assert len(words.split()) <= 900
