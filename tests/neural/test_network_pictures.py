"""Pictures of the results of networks: attention, the path of LassoNet, a ranking."""

import numpy as np
import pytest

from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin import plots
from sparselin.neural.results import AttentionPath, LassoNetPath
from sparselin.results import Status

NAMES = ("age", "bmi", "s$5")


def attention(phases):
    return AttentionPath(
        order=np.array([2, 1])[:phases],
        phase=np.array([1, 2])[:phases],
        attention=np.array([[0.2, 0.2, 0.8], [0.1, 0.3, 1.0]])[:phases],
        margin=np.array([0.75, 2 / 3])[:phases],
        loss=np.ones(phases),
        steps=np.ones(phases, int),
        penalty=np.zeros(phases),
        warm_up_steps=0,
        total_steps=2,
        warm_up_loss=np.nan,
        parametrization="softmax",
        groups=np.arange(3),
        status=Status.COMPLETED,
        names=NAMES,
    )


def test_attention_is_over_the_mean_of_what_is_left():
    ax = plots.show(attention(2))
    left, picked = [line.get_xdata() for line in ax.lines[:2]]
    assert left == pytest.approx([0.5, 0.5, 2.0])
    assert picked == pytest.approx([2.0])
    assert ax.lines[2].get_xdata() == pytest.approx([0.5, 1.5])  # 0.1 and 0.3 over 0.2: x2 is selected
    assert [label.get_text() for label in ax.get_yticklabels()] == [r"1  s\$5", "2  bmi"]
    assert "no phase has ended" in [text.get_text() for text in plots.show(attention(0)).texts]


def lassonet(rows, validation):
    mask = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1]], bool)[:rows]
    return LassoNetPath(
        lam=np.array([0.0, 1.0, 2.0])[:rows],
        objective=np.ones(rows),
        loss=np.arange(1.0, rows + 1),
        validation_loss=np.full(rows, validation),
        n_selected=mask.sum(axis=1),
        mask=mask,
        theta_norm=mask.astype(float),
        epochs=np.ones(rows, int),
        returns=np.zeros(rows, int),
        excess=np.zeros(rows),
        states=(),
        M=10.0,
        k=1,
        groups=None,
        status=Status.COMPLETED,
        names=NAMES,
    )


def test_a_path_of_lassonet_is_without_the_dense_network():
    ax = plots.show(lassonet(3, 0.5))
    assert ax.lines[0].get_xydata().tolist() == [[1, 2], [2, 1]]
    losses = ax.figure.axes[1].lines
    assert [line.get_ydata().tolist() for line in losses] == [[2, 3], [0.5, 0.5]]
    assert len(plots.show(lassonet(3, np.nan)).figure.axes[1].lines) == 1
    assert "only the dense network" in plots.show(lassonet(1, np.nan)).texts[0].get_text()


def test_a_ranking_has_a_bar_for_each_feature_selected():
    def ranking(scores):
        return FeatureRanking(
            support=np.array([2, 0]),
            scores=np.array(scores),
            picks=np.array([2, 0]),
            lam=np.full(2, np.nan),
            method="random forest",
            status=Status.COMPLETED,
            n_features=3,
            names=NAMES,
        )

    ax = plots.show(ranking([0.25, 0.1, 0.5]))
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25]
    assert ax.get_xlabel() == "score by random forest"
    assert "no finite scores" in plots.show(ranking([np.nan] * 3)).texts[0].get_text()
