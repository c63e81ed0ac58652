"""The files around the code: they agree with each other and with the code, and no blank is new."""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import metadata

import lock
import minimum
import pytest
from packaging.pylock import Pylock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import release
import sparselin as sl

ROOT = release.ROOT
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
BLANKS = {
    ".zenodo.json": 3, "CHANGELOG.md": 1, "CITATION.cff": 2, "docs/CODE_OF_CONDUCT.md": 1,
    "docs/CONTRIBUTING.md": 2, "docs/SECURITY.md": 2, "docs/paper/paper.md": 9,
    "pyproject.toml": 4, "release/recipe.yaml": 2,
}  # fmt: skip


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def line(name, key):
    """Return the value of a key of a YAML file that needs no parser, because it stands on one line."""
    return re.search(rf"^ *{key}: (.*)$", text(name), re.MULTILINE)[1].strip('"')


def test_no_blank_is_new_and_a_release_has_none():
    found = list(release.blanks())
    assert Counter(name for name, _ in found) <= Counter(BLANKS)
    result = subprocess.run([sys.executable, release.__file__], capture_output=True, text=True, check=False)
    assert result.returncode == bool(found)
    assert result.stdout.splitlines() == [f"{name}: {words}" for name, words in found]


def test_metadata_agree():
    zenodo = json.loads(text(".zenodo.json"))
    latest = re.search(r"^## \[(.*?)\]", text("CHANGELOG.md"), re.MULTILINE)[1]
    cited, packed = line("CITATION.cff", "version"), line("release/recipe.yaml", "version")
    assert {PROJECT["version"], sl.__version__, zenodo["version"], latest, cited, packed} == {sl.__version__}
    assert PROJECT["license"] == zenodo["license"] == line("CITATION.cff", "license")
    assert PROJECT["license"] == line("release/recipe.yaml", "license")
    assert zenodo["title"] == line("CITATION.cff", "title")
    assert (
        zenodo["description"] == f"<p>A Python package for {PROJECT['description'].replace('G', 'g', 1)}.</p>"
    )
    for name in ("CITATION.cff", "release/recipe.yaml"):
        assert PROJECT["description"] in " ".join(text(name).split())
    cited = re.search(r"keywords:\n((?:  - .*\n)+)", text("CITATION.cff"))[1]
    assert PROJECT["keywords"] == zenodo["keywords"] == re.findall("- (.*)", cited)


def test_the_conda_recipe_has_the_dependencies_of_the_package():
    """Its host environment builds the wheel, its run environment is that of pip, and it renders."""
    recipe = text("release/recipe.yaml")
    host, run = re.search(r"  host:\n(.*?)  run:\n(.*?)\n\n", recipe, re.DOTALL).groups()
    plain = [each.replace(" >=", ">=") for each in re.findall("- (.*)", run)]
    needed = [
        each.partition(";")[0] for each in PROJECT["dependencies"]
    ]  # conda has Numba wherever it is needed
    assert plain == ["python>=${{ python_min }}", *needed]
    assert line("release/recipe.yaml", "python_min") == PROJECT["requires-python"].removeprefix(">=")
    assert PYPROJECT["build-system"]["requires"][0].replace(">=", " >=") in host
    assert f"- sparselin = {PROJECT['scripts']['sparselin']}" in recipe
    rattler = pytest.importorskip("rattler_build", reason="make packaging")
    (variant,) = rattler.Stage0Recipe.from_yaml(recipe).render(rattler.VariantConfig())
    rendered = variant.recipe.to_dict()
    assert rendered["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert rendered["requirements"]["run"] == [each.replace(">=", " >=") for each in
                                               ["python>=3.11", *needed]]  # fmt: skip


def test_the_lowest_versions_are_those_of_all_dependencies():
    names = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert names <= {each.partition("==")[0] for each in minimum.lowest()}


def test_the_lock_file_satisfies_the_package_and_names_no_host():
    """The lock serves each Python that it is for. The bill of materials lists packages of the lock."""
    locked = Pylock.from_dict(tomllib.loads(text("release/pylock.toml")))
    locked.validate()
    extras, groups = PROJECT["optional-dependencies"], PYPROJECT["dependency-groups"]
    wanted = [*PROJECT["dependencies"], *extras["verify"], *extras["frames"], *extras["scale"],
              *(each for group in ("test", "doors", "browser", "docs") for each in groups[group]
                if isinstance(each, str))]  # fmt: skip
    for python in ("3.11", "3.12", "3.13"):
        here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
        versions = {package.name: package.version for package in locked.packages
                    if package.marker is None or package.marker.evaluate(here)}  # fmt: skip
        for requirement in map(Requirement, wanted):
            assert versions[canonicalize_name(requirement.name)] in requirement.specifier
    every = {(package.name, str(package.version)) for package in locked.packages}
    bill = json.loads(text("release/sbom.cdx.json"))["components"]
    listed = {(canonicalize_name(part["name"]), part["version"]) for part in bill}
    assert listed - every <= {each for each in listed if each[0] in ("pip", "setuptools")}
    assert len(listed) > 0.9 * len({name for name, _ in every})
    assert len(list(lock.requirements())) == len(locked.packages)
    for name in ("release/pylock.toml", "release/sbom.cdx.json"):
        plain = text(name).replace("http://cyclonedx.org/schema/", "")
        assert not re.findall(r"://|file:|localhost|\.org\b|\.com\b|(?<!wheels)/(?:\w+/){2}", plain)


def test_the_workflow_runs_targets_of_the_makefile_on_every_python():
    """It runs from the lowest Python of the package to the newest of Numba, the last that gets Numba."""
    workflow = text(".github/workflows/test.yml")
    targets = set(re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE))
    called = set(" ".join(re.findall(r"(?m)(?:^ *|run: )(?:make|- target:) ([a-z -]+)", workflow)).split())
    assert {"test", "slow", "doors", "docs", "test-minimum", "packaging"} <= called <= targets
    minor = re.compile(r"3\.(\d+)")
    known = [
        int(minor.search(each)[1]) for each in metadata("numba").get_all("Classifier") if minor.search(each)
    ]
    lowest = int(minor.search(PROJECT["requires-python"])[1])
    tried = {int(each) for each in re.findall(r'"3\.(\d+)"', workflow)}
    assert {f"3.{each}" for each in range(lowest, max(known) + 1)} <= {f"3.{each}" for each in tried}
    (numba,) = (each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "numba")
    wanted = f'platform_system != "Emscripten" and python_version < "3.{max(tried) + 1}"'
    assert str(numba.marker) == wanted  # elsewhere kernels run interpreted
    assert {"ubuntu", "macos", "windows"} <= set(re.findall(r"\b(ubuntu|macos|windows)-", workflow))


def test_marks_are_named_in_the_files_of_their_tests():
    """`make slow` and `make doors` collect only the files that name their mark."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert len(helpers) > 50
    assert not [path for path in helpers if re.search(r"\bmark\.(slow|door)\b", path.read_text("utf-8"))]


def test_the_paper_has_the_form_of_the_journal_and_only_numbers_of_our_pages():
    """Its references are those of its bibliography, and numbers.txt has its phrases with numbers.

    The answers about AI usage are the authors', with numbers of their own.
    """
    paper = text("docs/paper/paper.md")
    assert 750 <= len(paper.split()) <= 1750
    titles = "Summary, Statement of need, State of the field, Software design, Research impact statement"
    titles += ", AI usage disclosure, Acknowledgements, References"
    assert re.findall(r"^# (.*)", paper, re.MULTILINE) == titles.split(", ")
    body = re.sub(r"(?s)^---.*?\n---\n|```.*?```|# AI usage.*?(?=The repository itself)", "", paper)
    keys = re.findall(r"^@\w+\{(\w+),", text("docs/paper/paper.bib"), re.MULTILINE)
    assert sorted(keys) == sorted(set(re.findall(r"@(\w+)", body)))
    body = left = " ".join(body.split())
    for page, phrase in (each.split(": ", 1) for each in text("docs/paper/numbers.txt").splitlines()):
        assert phrase in body
        assert phrase in " ".join(text(page).split())
        left = left.replace(phrase, "")
    assert not re.findall(r"(?<!\w)\d", re.sub(r"@\w+", "", left))
