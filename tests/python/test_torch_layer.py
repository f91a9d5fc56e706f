# TVLayer: directions, lambdas, training, copies, state.
import copy
import io
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import tautstring
from tautstring import TVLayer

EXAMPLES = Path(__file__).parents[2] / "examples"
DIRECTIONS = {
    "2d": ((2, 3, 5, 6), None),
    "row": ((2, 3, 5, 6), -1),
    "col": ((2, 3, 5, 6), -2),
    "1d": ((2, 3, 7), -1),
}


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_directions_run_along_their_dim(make, direction, mode):
    shape, dim = DIRECTIONS[direction]
    x = make(*shape, dtype=torch.float32)
    layer = TVLayer(1, mode=mode, direction=direction, lam=0.3, learnable=False).to(x.device)
    if dim is None:
        expected = tautstring.prox_tv2d(x, layer.fixed_lam, mode=mode)
    else:
        expected = tautstring.prox_tv1d(x, layer.fixed_lam, dim=dim, mode=mode)
    assert torch.equal(layer(x), expected)


def test_images_are_the_default():
    assert TVLayer(3).direction == "2d"


OPTIONS = [
    {"method": "accelerated"},
    {"iterations": 2},
    {"method": "accelerated", "tol": 1e-4},
    {"method": "accelerated", "tol": 1e-4, "iterations": 8, "grad": "unrolled"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_call_iterates_as_the_layer_was_told(make, options):
    x = make(2, 3, 5, 6, requires_grad=True)
    layer = TVLayer(3, lam=0.3, **options).to(x.device, x.dtype)
    y = layer(x)
    expected = tautstring.prox_tv2d(x, layer.lam.view(3, 1, 1), **options)
    assert torch.equal(y, expected)
    grads = [torch.autograd.grad(z.square().sum(), (x, layer.raw_lam)) for z in (y, expected)]
    torch.testing.assert_close(*grads, rtol=0, atol=0)


def test_an_image_layer_takes_a_pair_of_lambdas_with_the_call(make, make_positive):
    x, pair = make(2, 3, 5, 6), (make_positive(5, 5), make_positive(2, 1, 1, 1))
    layer = TVLayer(1).to(x.device)
    assert torch.equal(layer(x, lam=pair), tautstring.prox_tv2d(x, pair))
    assert torch.equal(layer(x, lam=(0.3, 0)), tautstring.prox_tv1d(x, 0.3))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_batch_is_the_samples_one_by_one(make, direction):
    x = make(*DIRECTIONS[direction][0], dtype=torch.float32)
    layer = TVLayer(3, direction=direction, lam=[0.1, 0.2, 0.3]).to(x.device)
    assert torch.equal(layer(x), torch.stack([layer(sample) for sample in x]))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_channel_has_its_own_lambda(make, direction):
    x = make(*DIRECTIONS[direction][0], dtype=torch.float32)
    layer = TVLayer(3, direction=direction, lam=[0.1, 0.2, 0.3], learnable=False).to(x.device)
    y = layer(x)
    for channel, lam in enumerate((0.1, 0.2, 0.3)):
        single = TVLayer(1, direction=direction, lam=lam, learnable=False).to(x.device)
        assert torch.equal(y[:, channel : channel + 1], single(x[:, channel : channel + 1]))


@pytest.mark.parametrize("lam", [1e-12, 1e-3, 0.05, 1.0, 30.0, 1e6])
def test_a_learnable_lambda_starts_at_lam_itself(lam):
    layer = TVLayer(2, direction="row", lam=lam, dtype=torch.float64)
    expected = torch.full((2,), lam, dtype=torch.float64)
    torch.testing.assert_close(layer.lam, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("direction", ["2d", "col"])
def test_a_fixed_lambda_of_zero_is_the_identity(make, direction, mode, dtype):
    x = make(2, 3, 5, 6, dtype=dtype)
    layer = TVLayer(3, mode=mode, direction=direction, lam=0, learnable=False).to(x.device)
    assert torch.equal(layer(x), x)


def test_a_fixed_lambda_of_infinity_is_the_mean(make):
    x = make(2, 3, 7, dtype=torch.float32)
    layer = TVLayer(3, direction="1d", lam=math.inf, learnable=False).to(x.device)
    torch.testing.assert_close(layer(x), x.mean(-1, keepdim=True).expand_as(x))


@pytest.mark.parametrize("lam_shape", [(2, 1, 1, 1), (3, 1, 1), (5, 5), (2, 3, 5, 5)])
def test_lambdas_given_with_the_call_go_before_the_own(make, make_positive, lam_shape):
    x = make(2, 3, 5, 6)
    lam = make_positive(*lam_shape, requires_grad=True)
    layer = TVLayer(1, direction="row").to(x.device)
    y = layer(x, lam=lam)
    assert torch.equal(y, tautstring.prox_tv1d(x, lam))
    y.sum().backward()
    assert lam.grad.shape == lam.shape and layer.raw_lam.grad is None
    assert torch.equal(layer(x, lam=0), x)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gradients_reach_the_parameter(make, direction, channels):
    x = make(*DIRECTIONS[direction][0])
    layer = TVLayer(channels, direction=direction, lam=0.3, dtype=torch.float64).to(x.device)
    layer(x).square().sum().backward()
    assert layer.raw_lam.grad.shape == (channels,)
    assert (layer.raw_lam.grad != 0).all()

    def loss(raw_lam):
        return torch.func.functional_call(layer, {"raw_lam": raw_lam}, (x,)).square().sum()

    assert torch.autograd.gradcheck(loss, (layer.raw_lam.detach().requires_grad_(),))


@pytest.mark.parametrize("factor", [10, 0.1])
def test_the_layer_learns_a_known_lambda(make, factor):
    known = torch.tensor([0.2, 0.5], dtype=torch.float64)
    x = make(8, 2, 100)
    assert (tautstring.lam_max(x).cpu() > 10 * known).any(0).all()  # beyond it nothing is learnt
    target = TVLayer(2, direction="1d", lam=known, learnable=False, dtype=x.dtype).to(x.device)(x)
    layer = TVLayer(2, direction="1d", lam=factor * known, dtype=x.dtype).to(x.device)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
    for _ in range(300):
        optimizer.zero_grad()
        (layer(x) - target).square().mean().backward()
        optimizer.step()
        schedule.step()
    torch.testing.assert_close(layer.lam.cpu(), known, rtol=0.01, atol=0)


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
@pytest.mark.parametrize("factor", [5, 0.2])
def test_an_image_layer_learns_a_known_lambda(make, factor, mode):
    known = torch.tensor([0.2, 0.5], dtype=torch.float64)
    x = make(4, 2, 16, 16)
    options = {"mode": mode, "dtype": x.dtype, "device": x.device}
    target = TVLayer(2, lam=known, learnable=False, **options)(x)
    layer = TVLayer(2, lam=factor * known, **options)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    for _ in range(200):
        optimizer.zero_grad()
        (layer(x) - target).square().mean().backward()
        optimizer.step()
        schedule.step()
    torch.testing.assert_close(layer.lam.cpu(), known, rtol=0.01, atol=0)


@pytest.mark.parametrize("learnable", [True, False])
def test_copies_pickles_and_states_give_the_same_bits(make, learnable):
    x = make(2, 3, 7, dtype=torch.float32)
    layer = TVLayer(3, direction="1d", lam=[0.1, 0.2, 0.3], learnable=learnable).to(x.device)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    loaded = TVLayer(3, direction="1d", learnable=learnable).to(x.device)
    loaded.load_state_dict(torch.load(file))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded):
        assert torch.equal(other(x), layer(x))


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not here")
def test_state_is_the_one_that_cpp_loads():
    # examples/cpp/load_state.cpp reads the same file into the same net.
    net = torch.nn.Sequential(
        TVLayer(3, direction="row"), TVLayer(1, direction="col", learnable=False)
    )
    net.load_state_dict(torch.load(EXAMPLES / "cpp" / "python_state.pt"))
    torch.testing.assert_close(net[0].lam, torch.tensor([0.1, 0.2, 0.3]))
    assert net[1].lam.tolist() == [0.25]


def test_a_half_precision_net_keeps_its_lambda_in_float32(make):
    x = make(2, 3, 7, dtype=torch.bfloat16)
    layer = TVLayer(3, direction="1d", lam=0.3).to(x.device, torch.bfloat16)
    assert layer.lam.dtype == torch.float32
    assert layer(x).dtype == torch.bfloat16
    layer(x).sum().backward()
    assert layer.raw_lam.grad.dtype == torch.bfloat16


def test_autocast_rounds_neither_lambda_nor_features(make):
    x = make(2, 3, 7, dtype=torch.float32)
    layer = TVLayer(3, direction="1d", lam=0.3).to(x.device)
    expected = layer(x)
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        assert torch.equal(layer(x), expected)


def test_a_net_in_channels_last_stays_so(make):
    x = make(2, 3, 5, 6, dtype=torch.float32).to(memory_format=torch.channels_last)
    x.requires_grad_()
    for direction in ("2d", "col"):
        y = TVLayer(3, direction=direction).to(x.device)(x)
        assert y.is_contiguous(memory_format=torch.channels_last)
        (grad_x,) = torch.autograd.grad(y.square().sum(), x)
        assert grad_x.is_contiguous(memory_format=torch.channels_last)


def test_representation_shows_settings_and_lambdas():
    assert repr(TVLayer(2, mode="sharp", direction="col", lam=[0.1, 0.25], learnable=False)) == (
        "TVLayer(2, mode='sharp', direction='col', learnable=False, lam=[0.1, 0.25])"
    )
    assert repr(TVLayer(64, direction="row")).endswith("lam=[0.05, 0.05, 0.05, 0.05, ...])")
    assert repr(TVLayer(1, method="accelerated", tol=1e-4)) == (
        "TVLayer(1, mode='smooth', direction='2d', method='accelerated', tol=0.0001, "
        "learnable=True, lam=[0.05])"
    )


LAMBDAS = {"raw_lam": True, "fixed_lam": False}


@pytest.mark.parametrize("name", LAMBDAS)
def test_a_layer_made_without_data_gets_it_by_reset_parameters(device, name):
    def make(**options):
        return TVLayer(3, direction="1d", lam=[0.1, 0.2, 0.3], learnable=LAMBDAS[name], **options)

    expected = make()
    with torch.device("meta"):
        by_context = make()
    for layer in (by_context, make(device="meta")):
        assert getattr(layer, name).is_meta
        assert repr(layer).endswith("lam=[...])")
        layer.to_empty(device=device)
        getattr(layer, name).detach().fill_(7)
        layer.reset_parameters()
        assert torch.equal(getattr(layer, name).cpu(), getattr(expected, name))


@pytest.mark.parametrize("learnable", [True, False])
def test_reset_parameters_goes_back_to_the_start_in_the_present_dtype(learnable):
    layer = TVLayer(2, direction="row", lam=0.3, learnable=learnable).double()
    values = layer.raw_lam if learnable else layer.fixed_lam
    values.detach().fill_(7)
    layer.reset_parameters()
    torch.testing.assert_close(
        layer.lam, torch.full((2,), 0.3, dtype=torch.float64), rtol=1e-15, atol=0
    )


@pytest.mark.parametrize("learnable", [True, False])
def test_a_layer_of_fake_tensors_can_be_made_shown_and_called(learnable):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        layer = TVLayer(3, direction="1d", lam=0.3, learnable=learnable)
        assert layer(torch.empty(2, 3, 7)).shape == (2, 3, 7)
    assert repr(layer).endswith("lam=[...])")


@pytest.mark.parametrize("channels", [3, np.int64(3), np.uint8(3), torch.tensor(3)], ids=repr)
def test_channels_are_an_integer_of_any_type(channels):
    layer = TVLayer(channels, direction="row")
    assert type(layer.channels) is int
    assert layer.raw_lam.shape == (3,)


@pytest.mark.parametrize("lam", [[0.1, 0.25], (0.1, 0.25), np.array([0.1, 0.25])], ids=repr)
def test_lambdas_come_as_any_sequence(lam):
    expected = TVLayer(2, direction="row", lam=torch.tensor([0.1, 0.25], dtype=torch.float64))
    assert torch.equal(TVLayer(2, direction="row", lam=lam).raw_lam, expected.raw_lam)


def test_device_and_dtype_are_those_of_the_lambda(device):
    layer = TVLayer(2, direction="row", device=device, dtype=torch.float64)
    assert (layer.raw_lam.device.type, layer.raw_lam.dtype) == (device, torch.float64)


def test_a_small_lambda_starts_where_its_inverse_fits() -> None:
    layer = tautstring.TVLayer(1, direction="row", lam=1e-8, dtype=torch.float16)
    assert layer.raw_lam.isfinite().all()
    assert 0.9e-8 < float(layer.lam.detach()) < 1.1e-8


def test_dtype_must_be_floating() -> None:
    with pytest.raises(TypeError, match=r"dtype: must be a floating dtype, got torch\.int64"):
        tautstring.TVLayer(1, direction="row", dtype=torch.int64)
