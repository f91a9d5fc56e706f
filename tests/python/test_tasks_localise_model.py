# The nets of localisation.
import pytest
import torch

from tautstring_tasks.localise.model import Cam, LocaliseOptions, Lower, ResNet50

BACKBONES = ("vgg16", "inception_v3", "resnet50", "mobilenet_v2")
# Of torchvision's nets, without what is left out here.
PARAMETERS = {
    "vgg16": 14_714_688,
    "inception_v3": 8_965_856,
    "resnet50": 23_508_032,
    "mobilenet_v2": 2_223_872,
}
FEATURES = {"vgg16": 1024, "inception_v3": 1024, "resnet50": 2048, "mobilenet_v2": 1280}


def make(backbone, arm="none", **options):
    torch.manual_seed(0)
    return Cam(LocaliseOptions(arm=arm, backbone=backbone, **options)).eval()


def features_of(net, count=2, side=6):
    channels = {"vgg16": 512, "inception_v3": 768, "resnet50": 1024, "mobilenet_v2": 96}
    generator = torch.Generator().manual_seed(0)
    return torch.rand(count, channels[net.options.backbone], side, side, generator=generator)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_trunk_has_the_parameters_of_torchvisions(backbone):
    with torch.device("meta"):
        parts = Lower(backbone, large=False), make(backbone).stages
    assert sum(each.numel() for part in parts for each in part.parameters()) == PARAMETERS[backbone]


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize(("large", "side"), [(False, 14), (True, 28)])
def test_maps_have_the_published_size(backbone, large, side):
    with torch.device("meta"):
        lower = Lower(backbone, large=large)
        net = make(backbone, large=large)
        seen = net.features(lower(torch.zeros(1, 3, 224, 224)))
        wider = lower(torch.zeros(1, 3, 256, 256))
    assert seen.shape == (1, FEATURES[backbone], side, side)
    assert wider.shape[2:] == (side * 8 // 7, side * 8 // 7)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_logits_are_the_means_of_the_maps(backbone):
    net = make(backbone)
    features = features_of(net)
    with torch.no_grad():
        logits = net(features)
        for label in (0, 7):
            maps = net.maps(net.features(features), torch.tensor([label, label]))
            expected = maps.mean(dim=(1, 2)) + net.classes.bias[label]
            torch.testing.assert_close(logits[:, label], expected)


@pytest.mark.parametrize("arm", ["tv", "zero", "blur"])
def test_all_arms_begin_with_the_same_weights(arm):
    baseline, ours = (make("vgg16", each).state_dict() for each in ("none", arm))
    assert all(torch.equal(value, ours[name]) for name, value in baseline.items())


@pytest.mark.parametrize("arm", ["zero", "blur"])
def test_controls_begin_as_the_identity(arm):
    with torch.no_grad():
        nets = [make("mobilenet_v2", each) for each in ("none", arm)]
        expected, found = (net(features_of(net)) for net in nets)
    assert torch.equal(expected, found)


def test_tv_is_fixed_and_shared_and_smooths_before_the_head():
    net = make("inception_v3", "tv", lam=0.5)
    assert net.tv.lam.tolist() == [0.5]
    assert net.tv.mode == "smooth"
    assert "tv.raw_lam" not in dict(net.named_parameters())
    features = features_of(net)
    with torch.no_grad():
        smooth = net.tv(net.features(features))
        expected = net.classes(smooth.mean(dim=(2, 3)))
        torch.testing.assert_close(net(features), expected)


def test_images_are_scaled_as_the_weights_expect():
    image = torch.full((1, 3, 224, 224), 255.0)
    seen = []
    for backbone in ("inception_v3", "vgg16"):
        lower = Lower(backbone, large=False)
        lower[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0, :, 0, 0]))
        with torch.no_grad():
            lower(image)
    assert seen[0].tolist() == [1, 1, 1]
    expected = (1 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225])
    torch.testing.assert_close(seen[1], expected)


def test_the_whole_resnet_classifies_images():
    with torch.device("meta"):
        net = ResNet50("none", classes=10)
        assert net(torch.zeros(2, 3, 224, 224)).shape == (2, 10)
