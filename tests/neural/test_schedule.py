"""Tests of the schedule of Sequential Attention, with each defect of the released code separately."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from refusals import refuses

from proofs_checks.experiments.networks.released import CORRECTED, Switches
from sparselin.neural import SequentialAttention, mlp, schedule
from sparselin.neural.schedule import equal_phases
from sparselin.neural.training import seeded


def by_steps(k, m, steps):
    """Return (steps before it, features) of each selection, by the rule of the released code."""
    phases, picks, selected = k // m, [], 0
    for step in range(steps):
        index = min(
            math.floor((Fraction(step, steps) - Fraction(1, 10)) / Fraction(9, 10) * phases), phases - 1
        )
        if index >= selected:
            picks.append((step, m))
            selected += m
    return picks


@pytest.mark.parametrize("steps", [300, 1234])
@pytest.mark.parametrize(("k", "m"), [(50, 1), (50, 5), (64, 2), (64, 8), (64, 32), (64, 64), (6, 3)])
def test_all_defects_are_the_released_rule(k, m, steps):
    plan = Switches().schedule(k, m, steps)
    expected = by_steps(k, m, steps)
    assert plan.sizes == tuple(size for _, size in expected)
    # steps are rounded down twice here, up once there: they differ by less than 3
    assert all(0 <= there - here <= 2 for here, (there, _) in zip(plan.ends, expected, strict=True))


def test_one_more_phase_is_wasted_or_the_first_is_drawn():
    """Each by itself; the doctest has both together, and several features at a time."""
    for switch, lengths, steps in (("last_wasted", [22, 23, 22], 77), ("first_at_random", [0, 45, 45], 100)):
        plan = dataclasses.replace(CORRECTED, **{switch: True}).schedule(3, 1, 100)
        assert [plan.length(t) for t in range(3)] == lengths
        assert (plan.warm_up, plan.ends[-1], plan.sizes) == (10, steps, (1, 1, 1))


def test_phases_that_have_no_step_are_named():
    assert schedule.sizes_of(64, "double") == (1, 2, 4, 8, 16, 32, 1)
    assert schedule.sizes_of(0, "double") == schedule.sizes_of(0, 3) == ()
    with_a_random_pick = dataclasses.replace(CORRECTED, first_at_random=True)
    assert with_a_random_pick.schedule(3, 1, 2).ends == (0, 1, 2)
    refuses("2 phases need a step each; got 1 steps", with_a_random_pick.schedule, 3, 1, 1)
    refuses("3 phases need a step each; got 2 steps", equal_phases, 3, 1, 2, 0)
    refuses("warm_up must be", equal_phases, 2, 1, 100, 1.0)
    refuses("features_per_step", schedule.sizes_of, 3, "triple")
    refuses("steps_per_phase must be at least 1", schedule.fixed_phases, 2, 1, 0, 0.1)


X = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
BATCH = X, (3 * X[:, 5] + 2 * X[:, 2])[:, None]


def selector(k, plan, rng=0):
    with seeded(0):
        network = mlp(8, (8,), 1)
    options = {"optimizer": lambda parameters: torch.optim.Adam(parameters, lr=0.02), "loss": "squared"}
    return SequentialAttention(network, k, n_features=8, schedule=plan, rng=rng, **options)


@pytest.mark.parametrize("warm_up", [0, 0.1])
def test_units_of_a_phase_without_steps_are_drawn(warm_up):
    def run(rng):
        return selector(3, plan, rng).fit([BATCH], 60)

    def plan(steps):
        trained = equal_phases(2, 1, steps, warm_up)
        return schedule.Schedule(trained.warm_up, (trained.warm_up, *trained.ends), (1, 1, 1))

    paths = [run(rng) for rng in range(8)]
    assert len({path.order[0] for path in paths}) >= 3
    assert all({2, 5} <= set(path.order) for path in paths)
    assert run(7) == paths[7]
    np.testing.assert_allclose(paths[0].attention[0], 1 / 8)
    assert paths[0].steps.tolist() == [0, plan(60).length(1), plan(60).length(2)]


def test_a_schedule_picks_k():
    words = "schedule must select 3 units, k less the forced; got 2"
    refuses(words, selector, 3, lambda steps: equal_phases(2, 1, steps, 0.1))
    made = selector(3, lambda steps: equal_phases(3, 1, steps, 0.1))
    assert made.fit([BATCH], 40).order.tolist() == selector(3, None).fit([BATCH], 40).order.tolist()
