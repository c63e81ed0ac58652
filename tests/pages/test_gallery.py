"""The scripts of the gallery and the code of docs/teaching.md run, and show what their pages say."""

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

mpl.use("Agg")

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"

pytestmark = pytest.mark.slow


def run(name):
    """Return the names that a script leaves; it draws one figure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: None)
        left = runpy.run_path(str(FOLDER / f"{name}.py"))
    assert len(plt.get_fignums()) == 1, name
    plt.close("all")
    return left


@pytest.fixture(scope="module")
def found():
    """Return what each script leaves, by its name, but that of pysindy."""
    names = sorted(script.stem for script in FOLDER.glob("plot_*.py"))
    return {name: run(name) for name in names if name != "plot_sindy"}


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
    pictures = found["plot_ksvd"]
    noisy, fixed, learned = (pictures["psnr"](pictures[name]) for name in ("noisy", "by_fixed", "by_learned"))
    assert noisy + 4 < fixed < learned - 0.4
    assert pictures["found"][0] == 0
    assert pictures["found"][1] > 45  # of 50 atoms


@pytest.mark.door("pysindy")
def test_the_equations_of_sindy():
    sindy = run("plot_sindy")
    for name, terms in (("Lorenz", [2, 3, 2]), ("Hopf", [4, 4]), ("Burgers", [2])):
        assert [np.count_nonzero(coef) for coef in sindy["models"][name].coefficients()] == terms
        assert all(sindy["proofs"][name])
        for other in sindy["others"].keys() - {"MIOSR"}:
            pairs = enumerate(zip(sindy["sizes"][name, other], sindy["errors"][name, other], strict=True))
            assert all(e >= sindy["errors"][name, "least"][i, k - 1] * (1 - 1e-9) for i, (k, e) in pairs)


def test_the_atoms_of_k_svd(found, rng):
    """Each is the first singular vector; unused and double atoms are replaced by signals."""
    Y, D = rng.normal(size=(8, 60)), rng.normal(size=(8, 12))
    D /= np.linalg.norm(D, axis=0)
    D[:, 5] = -D[:, 4]
    X = rng.normal(size=(12, 60)) * (rng.random((12, 60)) < 0.3)
    X[3] = 0
    before, R = D.copy(), Y - D @ X
    worst = np.argsort(-np.linalg.norm(R, axis=0))[:2]
    E = R + np.outer(D[:, 0], X[0])
    u = np.linalg.svd(E[:, X[0] != 0])[0][:, 0]
    found["plot_ksvd"]["update_atoms"](Y, D, X, R)
    np.testing.assert_allclose(D[:, 0], u * np.sign(u @ before[:, 0]), atol=1e-12)
    np.testing.assert_allclose(D[:, [3, 4]], (Y / np.linalg.norm(Y, axis=0))[:, worst], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(D, axis=0), 1)
    np.testing.assert_allclose(R, Y - D @ X, atol=1e-12)
    assert not X[[3, 4]].any()
    assert (np.einsum("ij,ij->j", D, before)[[0, 1, 2, *range(5, 12)]] >= 0).all()


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
