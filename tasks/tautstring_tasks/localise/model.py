"""Nets for class activation maps, with total variation before their head.

A net is a trunk and a head. The lower stages of the trunk are frozen: `Lower`. The upper ones are
trained with the head: `Cam`. Layers are in the order of torchvision's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tautstring_tasks.errors import require
from tautstring_tasks.sites import Site, make_site

Arm = Literal["none", "tv", "zero", "blur"]
Backbone = Literal["vgg16", "inception_v3", "resnet50", "mobilenet_v2"]

SIZE = 224  # of images
_SITES: dict[Arm, Site] = {"none": "none", "tv": "smooth", "zero": "zero", "blur": "blur"}
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 1))  # width, blocks, stride
_EXPANSION = 4
# Expansion, channels, blocks, stride.
_INVERTED = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 1), (6, 320, 1, 1)),
)
_MOBILE_CHANNELS = 1280
_HEAD_CHANNELS = 1024


@dataclass(frozen=True)
class LocaliseOptions:
    """The architecture of the net."""

    arm: Arm = "tv"
    """`tv` has a TV layer that smooths the features before the head, with a fixed lambda. Controls:
    `zero` has lambda 0, which equals `none`; `blur` has trained 3x3 filters instead."""
    backbone: Backbone = "vgg16"
    large: bool = False
    """Class activation maps of 28 x 28 instead of 14 x 14."""
    lam: float = 1.0
    """Lambda of the TV layer, shared by all channels."""
    classes: int = 25

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("lam", self.lam, at_least=0)
        require("classes", self.classes, at_least=2)


@dataclass(frozen=True)
class Stages:
    """The stages of a trunk, and what comes out of them."""

    lower: list[nn.Module]
    upper: list[nn.Module]
    channels: int


def stages(backbone: Backbone, *, large: bool) -> Stages:
    """Create a trunk; the published nets are changed such that maps are of 14 x 14 or 28 x 28."""
    make = {
        "vgg16": _vgg16,
        "inception_v3": _inception_v3,
        "resnet50": _resnet50,
        "mobilenet_v2": _mobilenet_v2,
    }
    return make[backbone](large)


class Lower(nn.Sequential):
    """The frozen stages of a trunk: features of images with values in 0..255, (N, 3, H, W)."""

    def __init__(self, backbone: Backbone, *, large: bool) -> None:
        """Create the stages."""
        super().__init__(*stages(backbone, large=large).lower)
        self._is_inception = backbone == "inception_v3"

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of images."""
        scaled = images / 255
        if self._is_inception:  # its weights expect values in [-1, 1]
            values = 2 * scaled - 1
        else:
            mean, deviation = scaled.new_tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
            values = (scaled - mean[:, None, None]) / deviation[:, None, None]
        for stage in self:
            values = stage(values)
        return values


class Cam(nn.Module):
    """The trained stages and the head: logits of classes, from the features of `Lower`."""

    trunk_id: Tensor

    def __init__(self, options: LocaliseOptions) -> None:
        """Create the net; arms begin with the same weights."""
        super().__init__()
        self.options = options
        made = stages(options.backbone, large=options.large)
        self.stages = nn.Sequential(*made.upper)
        self.head, channels = _head(options.backbone, made.channels)
        self.tv = make_site(
            _SITES[options.arm], channels, options.lam, shared=True, learnable=False
        )
        self.dropout = nn.Dropout(0.5 if options.backbone == "inception_v3" else 0.0)
        self.classes = nn.Linear(channels, options.classes)
        for name, weight in self.head.named_parameters():
            if name.endswith("weight"):
                nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu")
            else:
                nn.init.zeros_(weight)
        nn.init.normal_(self.classes.weight, std=0.01)
        nn.init.zeros_(self.classes.bias)
        # Which trunk it belongs to, as its lower stages are not among these weights.
        self.register_buffer("trunk_id", torch.zeros(8, dtype=torch.uint8))

    def features(self, lower: Tensor) -> Tensor:
        """Return what the TV layer sees."""
        features: Tensor = self.head(self.stages(lower))
        return features

    def forward(self, lower: Tensor) -> Tensor:
        """Return the logits of classes."""
        smooth = self.dropout(self.tv(self.features(lower)))
        logits: Tensor = self.classes(smooth.mean(dim=(2, 3)))
        return logits

    def maps(self, smooth: Tensor, labels: Tensor) -> Tensor:
        """Return the class activation maps of labels, from what the TV layer returns."""
        return torch.einsum("nchw,nc->nhw", smooth, self.classes.weight[labels])


class ResNet50(nn.Module):
    """The whole net for images of shape (N, 3, 224, 224), by maps of 28 x 28."""

    def __init__(self, site: Site, lam: float = 1.0, classes: int = 200) -> None:
        """Create the net; lambda is fixed and shared by all channels."""
        super().__init__()
        made = _resnet50(large=True)
        self.trunk = nn.Sequential(*made.lower, *made.upper)
        self.tv = make_site(site, made.channels, lam, shared=True, learnable=False)
        self.classes = nn.Linear(made.channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Classify images."""
        logits: Tensor = self.classes(self.tv(self.trunk(images)).mean(dim=(2, 3)))
        return logits


def _head(backbone: Backbone, channels: int) -> tuple[nn.Sequential, int]:
    """Return the layers between trunk and TV layer, and their channels."""
    if backbone == "vgg16":
        layers = [nn.Conv2d(channels, _HEAD_CHANNELS, 3, padding=1), nn.ReLU()]
        return nn.Sequential(*layers), _HEAD_CHANNELS
    if backbone == "inception_v3":
        layers = []
        for inputs in (channels, _HEAD_CHANNELS):
            layers += [nn.Dropout(0.5), nn.Conv2d(inputs, _HEAD_CHANNELS, 3, padding=1), nn.ReLU()]
        return nn.Sequential(*layers), _HEAD_CHANNELS
    return nn.Sequential(), channels


def _vgg16(large: bool) -> Stages:
    """Freeze all but the last three convolutions."""
    stages_of_layers: list[list[nn.Module]] = []
    inputs = 3
    for width, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers: list[nn.Module] = []
        for _ in range(convolutions):
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            inputs = width
        stages_of_layers.append(layers)
    *lower, upper = stages_of_layers
    found: list[nn.Module] = []
    for number, layers in enumerate(lower, start=1):
        has_pool = number < len(lower) or not large
        found += [*layers, *([nn.MaxPool2d(2)] if has_pool else [])]
    return Stages(found, upper, inputs)


class _Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = _EXPANSION * width
        self.branch = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            *(nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.branch(x) + self.shortcut(x))


def _resnet50(large: bool) -> Stages:
    """Freeze all but the last stage."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, padding=3, bias=False),
        *(nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)),
    ]
    inputs = 64
    for number, (width, blocks, stride) in enumerate(_STAGES, start=1):
        first_stride = 1 if large and number == 3 else stride
        for block in range(blocks):
            layers.append(_Bottleneck(inputs, width, first_stride if block == 0 else 1))
            inputs = _EXPANSION * width
    last = _STAGES[-1][1]
    return Stages(layers[:-last], layers[-last:], inputs)


def _unit(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        *(nn.BatchNorm2d(outputs), nn.ReLU6()),
    )


class _Inverted(nn.Module):
    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int) -> None:
        super().__init__()
        inner = expansion * inputs
        self.branch = nn.Sequential(
            *([_unit(inputs, inner, 1)] if expansion > 1 else []),
            _unit(inner, inner, 3, stride, groups=inner),
            nn.Conv2d(inner, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.branch(x)
        return x + y if self.is_residual else y


def _mobilenet_v2(large: bool) -> Stages:
    """Freeze up to the blocks of 96 channels; those of 160 keep the size instead of halving it."""
    lower: list[nn.Module] = [_unit(3, 32, 3, 2)]
    upper: list[nn.Module] = []
    inputs = 32
    for expansion, outputs, blocks, stride in _INVERTED:
        first_stride = 1 if large and outputs == 64 else stride
        for block in range(blocks):
            made = _Inverted(inputs, outputs, expansion, first_stride if block == 0 else 1)
            (lower if outputs <= 96 else upper).append(made)
            inputs = outputs
    return Stages(lower, [*upper, _unit(inputs, _MOBILE_CHANNELS, 1)], _MOBILE_CHANNELS)


class _Branches(nn.Module):
    """Sequences of layers side by side."""

    def __init__(self, *branches: Iterator[nn.Module] | list[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Sequential(*each) for each in branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def _convolutions(
    inputs: int, *layers: tuple[int, int | tuple[int, int]], is_padded: bool = True, stride: int = 1
) -> list[nn.Module]:
    """Return convolutions with batch norms, each given by its channels and size."""
    found: list[nn.Module] = []
    for outputs, size in layers:
        height, width = (size, size) if isinstance(size, int) else size
        padding = (height // 2, width // 2) if is_padded else (0, 0)
        found += [
            nn.Conv2d(inputs, outputs, (height, width), stride, padding, bias=False),
            *(nn.BatchNorm2d(outputs, eps=1e-3), nn.ReLU()),
        ]
        inputs = outputs
    return found


def _inception_v3(large: bool) -> Stages:
    """Freeze the whole trunk, which ends after the blocks with factorised convolutions."""

    def average(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.AvgPool2d(3, 1, padding=1), *_convolutions(inputs, (outputs, 1))]

    layers: list[nn.Module] = [
        *_convolutions(3, (32, 3), stride=2),
        *_convolutions(32, (32, 3), is_padded=False),
        *_convolutions(32, (64, 3)),
        nn.MaxPool2d(3, 2, padding=1, ceil_mode=True),
        *_convolutions(64, (80, 1)),
        *_convolutions(80, (192, 3), is_padded=False),
        nn.MaxPool2d(3, 2, padding=1, ceil_mode=True),
    ]
    inputs = 192
    for pooled in (32, 64, 64):
        layers.append(
            _Branches(
                _convolutions(inputs, (64, 1)),
                _convolutions(inputs, (48, 1), (64, 5)),
                _convolutions(inputs, (64, 1), (96, 3), (96, 3)),
                average(inputs, pooled),
            )
        )
        inputs = 224 + pooled
    # wsolevaluation pools before this block, which for 14 x 14 keeps its stride of 1, too: only a
    # trunk that is trained as a whole adapts to that.
    stride = 1 if large else 2
    layers.append(
        _Branches(
            _convolutions(inputs, (384, 3), stride=stride),
            [
                *_convolutions(inputs, (64, 1), (96, 3)),
                *_convolutions(96, (96, 3), stride=stride),
            ],
            [nn.MaxPool2d(3, stride, padding=1)],
        )
    )
    inputs = 768
    for c in (128, 160, 160, 192):
        layers.append(
            _Branches(
                _convolutions(inputs, (192, 1)),
                _convolutions(inputs, (c, 1), (c, (1, 7)), (192, (7, 1))),
                _convolutions(inputs, (c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7))),
                average(inputs, 192),
            )
        )
    return Stages(layers, [], inputs)
