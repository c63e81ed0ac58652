"""Tests of masks: their forms equal the compiled ones, folded ones equal plain ones; and of schedules."""

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from sparselin._kernels import descent as kernels  # noqa: E402
from sparselin.attention.descent import FORMS as CODES  # noqa: E402
from sparselin.neural import FeatureMask, SkipNetwork, masks, mlp, schedule  # noqa: E402
from sparselin.neural.training import seeded  # noqa: E402

FORMS = sorted(masks.FORMS)


def made(form, d, selected=(), groups=None, dtype=torch.float64, seed=0, **options):
    mask = FeatureMask(d, parametrization=form, groups=groups, dtype=dtype, **options)
    mask.attend()
    mask.select(list(selected))
    with torch.no_grad():
        w = np.random.default_rng(seed).uniform(0.2, 2, len(mask.logits))
        mask.logits.copy_(torch.as_tensor(w))
    return mask


def test_the_forms_are_those_of_the_linear_method():
    assert set(masks.FORMS) == set(CODES)


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_one_on_the_selected_and_the_form_off_them(form):
    mask = made(form, 7, [2, 5])
    free = np.delete(np.arange(7), [2, 5])
    expected = np.ones(7)
    w, s = mask.logits.detach().numpy()[free], np.empty(5)
    kernels.mask(CODES[form], w.copy(), s)
    expected[free] = s
    found = mask.weights()
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-14)
    assert found[2] == found[5] == 1.0
    (found * torch.arange(1.0, 8)).sum().backward()
    assert mask.logits.grad[[2, 5]].abs().max() == 0
    assert mask.logits.grad[free].abs().min() > 0


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_is_one_until_it_attends_and_then_starts_uniform(form):
    mask, X = FeatureMask(4, parametrization=form), torch.randn(3, 4)
    assert mask(X) is X
    mask.attend()
    np.testing.assert_allclose(mask.attention(), 0.25, rtol=1e-6)
    mask.select([1])
    np.testing.assert_allclose(mask.attention(), [1 / 3, 1, 1 / 3, 1 / 3], rtol=1e-6)
    mask.select([0, 2, 3])
    assert torch.equal(mask(X), X)
    assert mask.weights().isfinite().all()


def test_softmax_is_stable_over_the_unselected_only():
    mask = made("softmax", 4, [0], dtype=torch.float32)
    with torch.no_grad():
        mask.logits.copy_(torch.tensor([3e38, -1e5, 1e5, 1e5]))
    assert mask.weights().tolist() == [1, 0, 0.5, 0.5]
    mask.weights().square().sum().backward()
    assert mask.logits.grad.isfinite().all()


def test_temperature_divides_the_logits():
    mask, half = made("softmax", 5), made("softmax", 5, temperature=2.0)
    with torch.no_grad():
        mask.logits /= 2
    np.testing.assert_allclose(mask.attention(), half.attention(), rtol=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_folded_is_plain_with_its_gradients(form, grouped, dtype):
    groups = np.array([0, 0, 1, 2, 2, 2]) if grouped else None
    X = torch.randn(9, 6, dtype=dtype, generator=torch.Generator().manual_seed(0))
    found = []
    for folded in (False, True):
        with seeded(1):
            network = nn.Sequential(nn.Flatten(), mlp(6, [5], 2, dtype=dtype))
        mask = made(form, 6, [1], groups, dtype)
        whole = masks.apply_mask(network, mask, folded)
        assert any(isinstance(m, masks.MaskedLinear) for m in whole.modules()) == folded
        output = whole(X)
        output.square().sum().backward()
        found.append([output, mask.logits.grad, *(p.grad for p in network.parameters())])
    for plain, folded in zip(*found, strict=True):
        torch.testing.assert_close(folded, plain, rtol=1e3 * torch.finfo(dtype).eps, atol=0)


def test_folding_leaves_the_network_and_is_only_where_it_can_be():
    network = mlp(4, [3], 2)
    names = [name for name, _ in network.named_modules()]
    mask = FeatureMask(4)
    masks.apply_mask(network, mask, True)
    assert [name for name, _ in network.named_modules()] == names
    hooked = mlp(4, [3], 2)
    hooked[0].register_forward_hook(lambda *_: None)
    unfoldable = [
        nn.Sequential(nn.BatchNorm1d(4, affine=False), nn.Linear(4, 2)),
        nn.Sequential(nn.Softmax(1), nn.Linear(4, 2)),
        SkipNetwork(mlp(4, [3], 2), 4, 2),
        hooked,
        mlp(5, [3], 2),
        nn.Sequential(nn.Identity()),
    ]
    for other in unfoldable:
        assert isinstance(masks.apply_mask(other, mask)[0], FeatureMask)
        refuses("folded=True needs a network", masks.apply_mask, other, mask, True)
    twice = nn.Linear(4, 4)  # of its two places only the first reads x
    mask = made("softmax", 4, dtype=torch.float32)
    X, network = torch.randn(3, 4), nn.Sequential(twice, nn.ReLU(), twice)
    torch.testing.assert_close(masks.apply_mask(network, mask, True)(X), network(mask(X)))
    refuses("folded must be", masks.apply_mask, network, mask, "yes")


def test_a_mask_of_images_has_a_weight_for_each_pixel():
    mask = made("l1", 6, dtype=torch.float32)
    X = torch.randn(2, 1, 2, 3)
    torch.testing.assert_close(mask(X).flatten(1), X.flatten(1) * mask.features())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"parametrization": "hard"}, ValueError, r"parametrization must be one of \['l1'.*got 'hard'"),
        ({"temperature": 0}, ValueError, "temperature must be positive"),
        ({"temperature": 2, "parametrization": "l1"}, ValueError, 'temperature is for "softmax" only'),
        ({"groups": [0, 1]}, ValueError, "groups must be 3 integers"),
        ({"groups": [0, 2, 2]}, ValueError, "without a gap"),
    ],
)
def test_bad_masks_are_named(options, error, message):
    refuses(message, FeatureMask, **{"n_features": 3, **options}, error=error)


def test_sizes_of_phases():
    assert schedule.sizes_of(5, 1) == (1,) * 5
    assert schedule.sizes_of(5, 2) == (2, 2, 1)
    assert schedule.sizes_of(64, "double") == (1, 2, 4, 8, 16, 32, 1)
    assert schedule.sizes_of(7, "double") == (1, 2, 4)
    assert schedule.sizes_of(0, "double") == schedule.sizes_of(0, 3) == ()
    for wrong in ("triple", 0, 1.5):
        refuses("features_per_step", schedule.sizes_of, 3, wrong, error=(ValueError, TypeError))


@pytest.mark.parametrize(("k", "steps", "warm_up"), [(3, 3, 0), (7, 100, 0.1), (50, 8_600, 0.1), (4, 11, 5)])
def test_the_phases_share_all_steps_after_the_warm_up(k, steps, warm_up):
    plan = schedule.equal_phases(k, 1, steps, warm_up)
    lengths = [plan.length(t) for t in range(k)]
    assert plan.ends[-1] == steps == plan.warm_up + sum(lengths)
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) >= 1
    assert plan.warm_up == (warm_up if isinstance(warm_up, int) else int(warm_up * steps))


def test_bad_schedules_are_named():
    refuses("5 phases need a step each; got 4 steps", schedule.equal_phases, 5, 1, 4, 0)
    for wrong in (1.0, -0.1, -1):
        refuses("warm_up must be", schedule.equal_phases, 2, 1, 100, wrong)
    refuses("steps_per_phase must be at least 1", schedule.fixed_phases, 2, 1, 0, 0.1)
