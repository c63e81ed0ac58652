"""Tests of losses, batches, seeds, and networks that begin with a linear layer."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from refusals import refuses
from torch import nn

from proofs_checks.experiments.networks.released import CORRECTED, Switches
from sparselin._kernels import descent as kernels
from sparselin.attention.descent import FORMS as CODES
from sparselin.neural import FeatureMask, SequentialAttention, SkipNetwork, masks, mlp, schedule, training
from sparselin.neural.batches import Shuffled
from sparselin.neural.networks import first_linear
from sparselin.neural.schedule import equal_phases
from sparselin.neural.training import seeded


def test_losses_are_by_rows():
    output, target = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    found = training.as_loss("cross_entropy")(output, target)
    assert torch.equal(found, nn.CrossEntropyLoss(reduction="none")(output, target))
    assert training.as_loss(nn.CrossEntropyLoss()) is training.cross_entropy
    assert training.as_loss(nn.CrossEntropyLoss(label_smoothing=0.1)) is not training.cross_entropy
    squares, halves = (training.as_loss(loss)(output, 0 * output) for loss in (nn.MSELoss(), "squared"))
    assert torch.allclose(squares, 2 * halves)
    refuses("'squared'", training.as_loss, "hinge")
    refuses("one number for each row", training.as_loss(lambda output, target: output.sum()), output, target)
    refuses("λ = 3", training.check_finite_loss, float("nan"), "λ = 3, step 7", error=training.NonFiniteLoss)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.HuberLoss()])
def test_targets_of_a_pytorch_loss_are_not_broadcast_against_a_column_of_outputs(loss):
    output, target = torch.randn(6, 1), torch.rand(6)
    by_rows = training.as_loss(loss)
    assert torch.equal(by_rows(output, target), by_rows(output, target[:, None]))
    own = training.as_loss(lambda output, target: (output - target) ** 2)
    refuses(r"\(6, 6\) for outputs \(6, 1\) and targets \(6,\)", own, output, target)


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 7, 100])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 10, 15, 22])
def test_a_last_row_alone_joins_the_batch_before_it_and_no_other_cut_changes(n, size):
    rows = training.Rows(torch.arange(float(n)).reshape(n, 1), torch.arange(n))
    found = [batch.y.tolist() for batch in rows.batches(size, torch.Generator().manual_seed(3))]
    expected = torch.randperm(n, generator=torch.Generator().manual_seed(3)).tolist()
    expected = [expected[i : i + (size or n)] for i in range(0, n, size or n)]
    if size is not None and 1 < size < n and n % size == 1:
        expected[-2:] = [expected[-2] + expected[-1]]
    assert found == expected or found == [list(range(n))] == [sorted(*expected)]
    assert len(found) == len(rows.cuts(size)) + 1 == len(Shuffled(rows, size))


def test_an_error_of_the_network_is_not_taken_for_one_of_batch_normalisation():
    def other(X):
        raise ValueError("of its own")

    refuses("of its own", training.forward, other, torch.ones(1, 2))


def test_seeds_leave_the_state_outside():
    before = torch.get_rng_state()
    for rng in (0, np.random.default_rng(0)):
        with training.seeded(rng) as generator:
            drawn = torch.rand(2), torch.rand(2, generator=generator)
        assert torch.equal(*drawn)
        assert torch.equal(before, torch.get_rng_state())


def test_the_first_linear_layer_is_found_or_refused():
    net = nn.Sequential(nn.Flatten(), mlp(4, [3], 2))
    assert first_linear(net, 4)[0] == "1.0"
    for wrong in (mlp(5, [3], 2), nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), nn.ReLU()):
        refuses(r"must begin with nn\.Linear\(4", first_linear, wrong, 4)
    assert SkipNetwork(net, 4, 2)(torch.ones(3, 4)).shape == (3, 2)


# --- masks: their forms equal the compiled ones, folded ones equal plain ones ----------------------------


FORMS = sorted(CODES)


def made(form, d, selected=(), groups=None, dtype=torch.float64, **options):
    mask = FeatureMask(d, parametrization=form, groups=groups, dtype=dtype, **options)
    mask.attend()
    mask.select(list(selected))
    with torch.no_grad():
        w = np.random.default_rng(0).uniform(0.2, 2, len(mask.logits))
        mask.logits.copy_(torch.as_tensor(w))
    return mask


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_one_on_the_selected_and_the_form_off_them(form):
    mask, free, expected = made(form, 7, [2, 5]), np.delete(np.arange(7), [2, 5]), np.ones(7)
    s = np.empty(5)
    kernels.mask(CODES[form], mask.logits.detach().numpy()[free], s)
    expected[free] = s
    found = mask.weights()
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-14)
    assert found[2] == found[5] == 1.0
    (found * torch.arange(1.0, 8)).sum().backward()
    assert mask.logits.grad[[2, 5]].abs().max() == 0 < mask.logits.grad[free].abs().min()


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_is_one_until_it_attends_and_then_starts_uniform(form):
    mask, X = FeatureMask(4, parametrization=form), torch.randn(3, 4)
    assert mask(X) is X
    mask.attend()
    for selected, expected in (([], 0.25), ([1], [1 / 3, 1, 1 / 3, 1 / 3]), ([0, 2, 3], 1)):
        mask.select(selected)
        np.testing.assert_allclose(mask.attention(), expected, rtol=1e-6)
    assert torch.equal(mask(X), X)


def test_softmax_is_stable_over_the_unselected_only():
    mask = made("softmax", 4, [0], dtype=torch.float32)
    mask.logits.data = torch.tensor([3e38, -1e5, 1e5, 1e5])
    assert mask.weights().tolist() == [1, 0, 0.5, 0.5]
    mask.weights().square().sum().backward()
    assert mask.logits.grad.isfinite().all()


def test_temperature_divides_the_logits():
    mask, half = made("softmax", 5), made("softmax", 5, temperature=2.0)
    mask.logits.data /= 2
    np.testing.assert_allclose(mask.attention(), half.attention(), rtol=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 2, 2, 2])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_folded_is_plain_with_its_gradients(form, groups, dtype):
    X = torch.randn(9, 6, dtype=dtype, generator=torch.Generator().manual_seed(0))
    found = []
    for folded in (False, True):
        with seeded(1):
            network = nn.Sequential(nn.Flatten(), mlp(6, [5], 2, dtype=dtype))
        mask = made(form, 6, [1], groups, dtype)
        whole = masks.apply_mask(network, mask, folded)
        assert any(isinstance(m, masks.MaskedLinear) for m in whole.modules()) == folded
        whole(X).square().sum().backward()
        found.append([whole(X), *(p.grad for p in (mask.logits, *network.parameters()))])
    torch.testing.assert_close(*found, rtol=1e3 * torch.finfo(dtype).eps, atol=0)


def test_folding_leaves_the_network_and_is_only_where_it_can_be():
    hooked, mask = mlp(4, [3], 2), made("softmax", 4, dtype=torch.float32)
    hooked[0].register_forward_hook(lambda *_: None)
    first = nn.BatchNorm1d(4, affine=False), nn.Softmax(1), nn.Identity()
    unfoldable = [nn.Sequential(layer, nn.Linear(4, 2)) for layer in first[:2]]
    unfoldable += [SkipNetwork(mlp(4, [3], 2), 4, 2), hooked, mlp(5, [3], 2), nn.Sequential(first[2])]
    for other in unfoldable:
        assert isinstance(masks.apply_mask(other, mask)[0], FeatureMask)
        refuses("folded=True needs a network", masks.apply_mask, other, mask, True)
    twice = nn.Linear(4, 4)  # of its two places only the first reads x
    X, network = torch.randn(3, 4), nn.Sequential(twice, nn.ReLU(), twice)
    torch.testing.assert_close(masks.apply_mask(network, mask, True)(X), network(mask(X)))
    assert list(network) == [twice, network[1], twice]
    refuses("folded must be", masks.apply_mask, network, mask, "yes")


def test_bad_masks_are_named():
    for words, options in (
        ("n_features must be at least 1", {"n_features": 0}),
        (r"parametrization must be one of linear, l1.*got 'hard'", {"parametrization": "hard"}),
        ("temperature must be positive", {"temperature": 0}),
        ('temperature is for "softmax" only', {"temperature": 2, "parametrization": "l1"}),
        ("groups must be 3 integers", {"groups": [0, 1]}),
        ("without a gap", {"groups": [0, 2, 2]}),
    ):
        refuses(words, FeatureMask, **{"n_features": 3} | options)


# --- the schedule of Sequential Attention, with each defect of the released code separately --------------


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
