# The nets of edge detection.
import pytest
import torch

from tautstring_tasks.edges.model import DexiNed, DexiNedOptions

FAMILIES = ("narrow", "published")
# A convolution with a batch norm, and the batch norm of the fusion, that the published code
# creates and never uses.
UNUSED = (512 * 256 + 256) + 2 * 256 + 2 * 1


def make(arm="none", family="narrow"):
    torch.manual_seed(0)
    return DexiNed(DexiNedOptions(arm=arm, family=family)).eval()


def images_of(height=32, width=48):
    return torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(0))


def test_the_published_net_has_its_parameters():
    with torch.device("meta"):
        net = DexiNed(DexiNedOptions(arm="none", family="published"))
    assert sum(each.numel() for each in net.parameters()) == 35_215_245 - UNUSED


def test_the_narrow_net_is_a_fiftieth_of_it():
    assert sum(each.numel() for each in make().parameters()) == 672_101


@pytest.mark.parametrize(("family", "blocks"), [("narrow", 4), ("published", 6)])
def test_there_is_a_map_of_the_images_size_per_block_and_the_fused_one(family, blocks):
    with torch.no_grad():
        maps = make(family=family)(images_of())
    assert [each.shape for each in maps] == [(2, 1, 32, 48)] * (blocks + 1)


def test_the_fused_map_is_a_sum_of_the_others():
    net = make()
    with torch.no_grad():
        *maps, fused = net(images_of())
    weights = net.fuse.weight.flatten()
    expected = sum(weight * each for weight, each in zip(weights, maps, strict=True))
    torch.testing.assert_close(fused, (expected + net.fuse.bias).detach())


@pytest.mark.parametrize("arm", ["tv", "zero", "blur"])
def test_all_arms_begin_with_the_same_convolutions(arm):
    baseline, ours = make().state_dict(), make(arm).state_dict()
    assert all(torch.equal(value, ours[name]) for name, value in baseline.items())


@pytest.mark.parametrize("arm", ["zero", "blur"])
def test_controls_begin_as_the_identity(arm):
    with torch.no_grad():
        for expected, found in zip(make()(images_of()), make(arm)(images_of()), strict=True):
            assert torch.equal(expected, found)


def test_tv_sharpens_three_maps_and_smooths_the_fused_one():
    net = make("tv")
    assert {name: layer.mode for name, layer in net.sharpen.items()} == {
        "2": "sharp",
        "3": "sharp",
        "4": "sharp",
    }
    assert net.smooth.mode == "smooth"
    with torch.no_grad():
        before, after = make()(images_of()), net(images_of())
    is_same = [torch.equal(one, other) for one, other in zip(before, after, strict=True)]
    assert is_same == [True, False, False, False, False]
