"""Tests of masks: their forms equal the compiled ones, folded ones equal plain ones."""

import numpy as np
import pytest
import torch
from refusals import refuses
from torch import nn

from sparselin._kernels import descent as kernels
from sparselin.attention.descent import FORMS as CODES
from sparselin.neural import FeatureMask, SkipNetwork, masks, mlp
from sparselin.neural.training import seeded

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
        (r"parametrization must be one of \['l1'.*got 'hard'", {"parametrization": "hard"}),
        ("temperature must be positive", {"temperature": 0}),
        ('temperature is for "softmax" only', {"temperature": 2, "parametrization": "l1"}),
        ("groups must be 3 integers", {"groups": [0, 1]}),
        ("without a gap", {"groups": [0, 2, 2]}),
    ):
        refuses(words, FeatureMask, **{"n_features": 3} | options)
