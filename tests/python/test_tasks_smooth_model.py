# The nets of smoothing.
import pytest
import torch

import tautstring
from tautstring_tasks import nets
from tautstring_tasks.devices import autocast
from tautstring_tasks.smooth import model
from tautstring_tasks.smooth.data import Batch
from tautstring_tasks.smooth.model import PredictedLambda, SmoothOptions
from tautstring_tasks.smooth.task import Smooth, voted_loss

TASK = Smooth()
RESNETS = ("none", "tv", "zero", "blur")


def make(arm="none", **options):
    return nets.make(TASK, SmoothOptions(arm=arm, **{"channels": 4, "blocks": 4, **options}), 0)


def images_of(height=12, width=14):
    generator = torch.Generator().manual_seed(0)
    return 255 * torch.rand(2, 3, height, width, generator=generator)


@pytest.mark.parametrize(("arm", "count"), [("none", 1_961_091), ("vdcnn", 668_227)])
def test_the_published_nets_have_their_parameters(arm, count):
    with torch.device("meta"):
        net = TASK.make(SmoothOptions(arm=arm))
    assert sum(parameter.numel() for parameter in net.parameters()) == count


def test_resnet_tv_has_five_lambdas_more():
    counts = [sum(each.numel() for each in make(arm).parameters()) for arm in ("none", "tv")]
    assert counts[1] - counts[0] == 5


@pytest.mark.parametrize(
    ("blocks", "sites"), [(16, (4, 8, 12, 16)), (8, (2, 4, 6, 8)), (4, (1, 2, 3, 4))]
)
def test_tv_sharpens_rows_and_columns_in_evenly_spread_blocks(blocks, sites):
    layers = make("tv", blocks=blocks).sharpen
    found = {int(block): (layer.mode, layer.direction) for block, layer in layers.items()}
    assert found == {
        site: ("sharp", direction)
        for site, direction in zip(sites, ("row", "col", "row", "col"), strict=True)
    }


def test_the_last_layer_smooths_in_two_dimensions_with_one_lambda():
    layer = make("tv", lam=3.0).smooth
    assert (layer.mode, layer.direction, layer.lam.tolist()) == ("smooth", "2d", pytest.approx([3]))


@pytest.mark.parametrize("arm", ["tv", "zero", "blur"])
def test_all_arms_of_resnet_begin_with_the_same_weights(arm):
    baseline, ours = make().state_dict(), make(arm).state_dict()
    assert all(torch.equal(value, ours[name]) for name, value in baseline.items())


@pytest.mark.parametrize("arm", ["zero", "blur"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_controls_begin_as_the_baseline_bit_for_bit(arm, precision):
    x = images_of()
    with torch.no_grad(), autocast(x.device, precision):
        assert torch.equal(make(arm)(x), make()(x))


@pytest.mark.parametrize("arm", list(TASK.arms))
def test_results_are_not_rounded_to_bfloat16(arm):
    x = images_of()
    with torch.no_grad(), autocast(x.device, "bfloat16"):
        found = make(arm)(x)
    assert found.dtype == torch.float32
    assert found.shape == x.shape


@pytest.mark.parametrize("rows", [1, 3, 11])
def test_the_head_in_strips_gives_what_it_gives_whole(monkeypatch, rows):
    net, x = make("tv").eval(), images_of()
    with torch.no_grad():
        whole = net(x)
        monkeypatch.setattr(model, "_HEAD_PIXELS", 2 * 14 * rows)
        torch.testing.assert_close(net(x), whole, rtol=0, atol=1e-3)


@pytest.mark.parametrize("arm", ["tv", "single", "oracle"])
def test_gradients_reach_every_lambda(arm):
    net, x = make(arm), images_of()
    truths = images_of()[:, None].flip(3)
    voted_loss(net(x), Batch(x, truths, torch.ones(2, 1)), 1.0).backward()
    layers = [layer for layer in net.modules() if isinstance(layer, tautstring.TVLayer)]
    assert len(layers) == (5 if arm == "tv" else 1)
    for layer in layers:
        assert layer.raw_lam.grad.abs().min() > 0


@pytest.mark.parametrize("arm", ["image", "map"])
def test_nets_of_lambda_begin_with_the_same_lambda_everywhere(arm):
    net, x = make(arm, lam_alone=5.0), images_of()
    rows, columns = net.lambdas(x)
    assert (rows.shape, columns.shape) == ((2, 1, 12, 13), (2, 1, 11, 14))
    for lam in (rows, columns):
        torch.testing.assert_close(lam, torch.full_like(lam, 5.0))
    expected = tautstring.prox_tv2d(x, 5.0, tol=1e-4)
    torch.testing.assert_close(net(x), expected, rtol=0, atol=0.1)


def stirred(*, is_map):
    """A net of lambda after some training, in float64."""
    torch.manual_seed(1)
    net = PredictedLambda(20.0, is_map=is_map).double()
    torch.nn.init.normal_(net.layers[-1].weight, std=2.0)
    return net


def test_a_map_has_a_lambda_for_each_edge_and_an_image_has_one():
    x = images_of().double()
    assert len(stirred(is_map=True).lambdas(x)[0][0].unique()) == 12 * 13
    for lam in stirred(is_map=False).lambdas(x):
        assert [len(each.unique()) for each in lam] == [1, 1]
    assert all((lam > 0).all() for lam in stirred(is_map=True).lambdas(x))


@pytest.mark.parametrize("is_map", [True, False])
def test_the_gradient_through_the_exact_solution_is_that_of_finite_differences(monkeypatch, is_map):
    # To 1e-12, so that differences are not those of the iterations. Random values have no ties.
    monkeypatch.setattr(model, "_TOLERANCE", 1e-12)
    net, x = stirred(is_map=is_map), images_of(6, 7).double()
    wanted = images_of(6, 7).double().flip(2)
    net(x).sub(wanted).square().mean().backward()
    step = 1e-6
    for parameter in (net.layers[-1].weight, net.layers[4].bias):
        for index in range(0, parameter.numel(), 7):
            values = []
            for sign in (1, -1):
                with torch.no_grad():
                    parameter.view(-1)[index] += sign * step
                    values.append(net(x).sub(wanted).square().mean().item())
                    parameter.view(-1)[index] -= sign * step
            expected = (values[0] - values[1]) / (2 * step)
            found = parameter.grad.view(-1)[index].item()
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_nets_of_lambda_train_in_bfloat16():
    net, x = make("map").to(memory_format=torch.channels_last), images_of(48, 48)
    with autocast(x.device, "bfloat16"):
        loss = net(x).square().mean()
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in net.parameters())
