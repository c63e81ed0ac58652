"""The scripts of the gallery and the code of docs/teaching.md run, and show what their pages say."""

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

mpl.use("Agg")

FOLDER = Path(__file__).parent.parent / "docs" / "gallery"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    """Return the names that each script leaves, by its name; each draws one figure."""
    left = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: None)
        for script in sorted(FOLDER.glob("plot_*.py")):
            left[script.stem] = runpy.run_path(str(script))
            assert len(plt.get_fignums()) == 1, script.stem
            plt.close("all")
    return left


def test_what_the_scripts_say(found):
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
    chaos = found["plot_chaos"]
    at, errors, estimates = chaos["best"], chaos["errors"], chaos["estimates"]
    assert (chaos["degrees"][at], [chaos["found"][rule][at].k_ for rule in errors]) == (20, [30, 99])
    assert errors["cv"][at][30] < 0.8 * errors["loo"][at][99]
    assert min(estimates["loo"][-1]) < 0.3 * min(estimates["cv"][-1])
    subsets = found["plot_subsets"]
    greedy, swapped, best = subsets["squares"].values()
    tiny = 1e-12 * best[0]
    assert np.all(best <= swapped + tiny)
    assert np.all(swapped <= greedy + tiny)
    assert greedy.sum() > swapped.sum() > best.sum() * (1 + 1e-6)


# --- docs/teaching.md -------------------------------------------------------------------------------------


def test_the_pictures_of_a_class(tmp_path):
    """The code on the page draws them, each has an alternative text of its own, and films are small."""
    teaching = FOLDER.parent / "teaching"
    made = runpy.run_path(str(teaching / "draw.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    there = {f"{name}.{ending}": text for name, ending, text, _ in made["pictures"](page)}
    assert sorted(there) == sorted(path.name for path in teaching.glob("*.???"))
    still = [name.removesuffix(".png") for name in there if name.endswith(".png")]
    made["draw"](tmp_path, page, still)
    assert len(set(there.values())) == len(there)
    assert all(20 < len(text) <= 600 for text in there.values())
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in still)
    assert all(path.stat().st_size <= 2 * 2**20 for path in teaching.glob("*.gif"))
