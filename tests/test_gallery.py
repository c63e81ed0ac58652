"""The scripts of the gallery and the code of docs/teaching.md run, and draw what their pages show."""

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

FOLDER = Path(__file__).parent.parent / "docs" / "gallery"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("plot_*.py"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    return runpy.run_path(str(FOLDER / "make.py"))["draw"](folder), folder


def test_every_script_draws_its_figure(drawn):
    found, folder = drawn
    assert sorted(found) == SCRIPTS
    for name in SCRIPTS:
        assert (folder / f"{name}.png").stat().st_size > 10_000, name


def test_the_page_has_every_script_under_its_title():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^## \[(.*)\]\((\w+)\.py\)$", page, re.MULTILINE))
    assert sorted(shown.values()) == SCRIPTS == sorted(path.stem for path in FOLDER.glob("*.png"))
    for title, name in shown.items():
        rule, heading, again = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()[1:4]
        assert (heading, rule, again) == (title, "=" * len(title), "=" * len(title))
        assert f"({name}.png)]({name}.py)" in page


def test_what_the_page_says(drawn):
    found = drawn[0]
    searched = found["plot_grid_search"]
    assert len(searched["names"]) == searched["search"].best_params_["ompselector__n_features_to_select"]
    assert set(searched["names"]) < set(searched["X"])
    lars = found["plot_lasso_lars_cv"]
    assert lars["ours"].alpha_ == pytest.approx(lars["theirs"].alpha_, rel=1e-9)
    np.testing.assert_allclose(lars["ours"].coef_, lars["theirs"].coef_, rtol=1e-9)
    assert lars["worst"]["ours"] == pytest.approx(1, rel=1e-12)
    assert lars["worst"]["theirs"] > 2
    stable = found["plot_stability"]
    assert sorted(stable["stable"].tolist()) == stable["true"]
    groups = found["plot_groups"]
    names = groups["names"].tolist()
    assert {name.split("_")[0] for name in names} == set(groups["effects"])
    assert groups["selector"].k_ == 3
    assert len(names) == 11  # with all their dummies
    rules = found["plot_choosing_k"]
    assert (rules["by_ebic"].k_, rules["by_errors"].k_) == (5, 3)
    subsets = found["plot_subsets"]
    greedy, swapped, best = subsets["squares"].values()
    tiny = 1e-12 * best[0]
    assert np.all(best <= swapped + tiny)
    assert np.all(swapped <= greedy + tiny)
    assert greedy.sum() > swapped.sum() > best.sum() * (1 + 1e-6)


# --- docs/teaching.md -------------------------------------------------------------------------------------


def test_the_pictures_of_a_class(tmp_path):
    """The code on the page draws them, they show what their alternative texts say, and films are small."""
    teaching = FOLDER.parent / "teaching"
    made = runpy.run_path(str(teaching / "draw.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    there = {f"{name}.{ending}": text for name, ending, text, _ in made["pictures"](page)}
    assert sorted(there) == sorted(path.name for path in teaching.glob("*.???"))
    still = [name.removesuffix(".png") for name in there if name.endswith(".png")]
    told = made["draw"](tmp_path, page, still)
    assert {f"{name}.png": text for name, text in told.items()} == {
        name: text for name, text in there.items() if name.endswith(".png")
    }
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in still)
    assert all(path.stat().st_size <= 2 * 2**20 for path in teaching.glob("*.gif"))
