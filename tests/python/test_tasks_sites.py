# The places of TV layers in nets, and the controls that can stand there.
import pytest
import torch
from tasks_support import ABOUT, RECIPE, assert_same_tensors, small_loss
from torch import nn

import tautstring
from tautstring_tasks import checkpoints, training
from tautstring_tasks.devices import Share
from tautstring_tasks.sites import lambdas_of, make_site
from tautstring_tasks.training import RunOptions

SITES = ("none", "smooth", "sharp", "zero", "blur")


@pytest.mark.parametrize("site", ["none", "zero", "blur"])
def test_controls_start_as_the_identity(site):
    x = torch.randn(2, 3, 8, 9, generator=torch.Generator().manual_seed(0))
    assert torch.equal(make_site(site, 3, 0.1)(x), x)


@pytest.mark.parametrize("site", ["smooth", "sharp"])
def test_tv_layers_are_not_the_identity(site):
    x = torch.rand(2, 3, 8, 9, generator=torch.Generator().manual_seed(0))
    layer = make_site(site, 3, 0.1)
    assert layer.mode == site
    torch.testing.assert_close(layer(x), tautstring.TVLayer(3, lam=0.1, mode=site)(x))
    assert not torch.allclose(layer(x), x, atol=1e-2)


@pytest.mark.parametrize("site", SITES)
def test_every_site_returns_the_dtype_that_it_is_given(site):
    x = torch.rand(1, 3, 8, 9).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        assert make_site(site, 3, 0.1)(x).dtype == torch.bfloat16


@pytest.mark.parametrize("site", SITES)
def test_no_site_draws_random_numbers(site):
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    make_site(site, 3, 0.1)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("shared", "count"), [(True, 1), (False, 3)])
def test_lambda_is_one_per_channel_or_shared_by_all(shared, count):
    for site in ("smooth", "sharp", "zero"):
        assert make_site(site, 3, 0.1, shared=shared).lam.shape == (count,)


def test_a_shared_lambda_is_that_of_every_channel():
    x = torch.rand(2, 3, 8, 9, generator=torch.Generator().manual_seed(0))
    shared, own = (make_site("smooth", 3, 0.1, shared=each) for each in (True, False))
    assert torch.equal(shared(x), own(x))


def trained(folder, site):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1),
        make_site(site, 2, 0.1),
        nn.BatchNorm2d(2),
        nn.Conv2d(2, 2, 3),
    )
    run = RunOptions(device="cpu", log_every=10)
    training.train(net, small_loss(), RECIPE, run, folder, ABOUT, Share())
    return checkpoints.load(folder / training.WEIGHTS)[0]


def test_zero_is_trained_to_the_same_weights_as_none(tmp_path):
    zero = trained(tmp_path / "zero", "zero")
    assert not zero.pop("1.fixed_lam").any()
    assert_same_tensors(trained(tmp_path / "none", "none"), zero)


def test_the_filters_of_blur_are_trained(tmp_path):
    weight = trained(tmp_path, "blur")["1.weight"]
    assert not torch.equal(weight, make_site("blur", 2, 0.1).weight)


def test_the_filters_of_blur_see_their_own_channel_only():
    blur = make_site("blur", 3, 0.1)
    nn.init.constant_(blur.weight, 0.3)
    x = torch.zeros(1, 3, 5, 5)
    x[:, 1] = 1
    found = blur(x)
    assert found[:, 1].min() > 0
    assert not found[:, [0, 2]].any()


@pytest.mark.parametrize("site", SITES)
def test_no_site_rounds_the_image_to_bfloat16(site):
    with torch.autocast("cpu", torch.bfloat16):
        assert make_site(site, 3, 0.1)(torch.rand(1, 3, 8, 8)).dtype == torch.float32


def test_lambdas_are_listed_by_the_names_of_their_layers():
    net = nn.Sequential(make_site("smooth", 2, 0.25), make_site("none", 2, 0.1), nn.ReLU())
    net.append(make_site("zero", 2, 0.1, shared=True))
    assert lambdas_of(net) == {"0": [0.25, 0.25], "3": [0.0]}
