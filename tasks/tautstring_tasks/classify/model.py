"""AllConv for images of 32 x 32, with total variation in its first three units."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, cast

from torch import Tensor, nn

from tautstring_tasks.errors import require
from tautstring_tasks.sites import Site, make_site

Arm = Literal["none", "smooth", "sharp", "smooth-decayed", "sharp-decayed", "zero", "blur"]

_COLOURS = 3
_GELU_SLOPE = 1.702


@dataclass(frozen=True)
class AllConvOptions:
    """The architecture of the net."""

    arm: Arm = "smooth"
    """TV layers that smooth or sharpen between the convolution and the batch norm of the first
    three units; in arms called `-decayed` lambda has weight decay. Controls: `zero` has lambda
    frozen at 0, which equals `none`; `blur` has trained 3x3 filters per channel instead."""
    width: int = 96
    """Channels of the first three units; the others have twice as many."""
    dropout: float = 0.5
    """Probability with which a value is dropped after either max-pooling."""
    lam: float = 0.05
    """Initial lambda of each TV layer, shared by its channels."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("width", self.width, at_least=1, at_most=10_000)
        require("dropout", self.dropout, at_least=0, at_most=1)
        require("lam", self.lam, above=0)


class AllConv(nn.Module):
    """Returns the logits of ten classes for images of shape (N, 3, 32, 32) in [-1, 1]."""

    def __init__(self, options: AllConvOptions, classes: int = 10) -> None:
        """Create the net; all arms draw the same random numbers."""
        super().__init__()
        width, wide = options.width, 2 * options.width
        self.first = nn.Sequential(
            *(_unit(inputs, width, _site(options)) for inputs in (_COLOURS, width, width))
        )
        self.second = nn.Sequential(*(_unit(inputs, wide) for inputs in (width, wide, wide)))
        self.third = nn.Sequential(
            _unit(wide, wide, padding=0),
            *(_unit(wide, wide, size=1) for _ in range(2)),  # padding 1: from 6 x 6 to 10 x 10
        )
        self.shrink = nn.Sequential(nn.MaxPool2d(2), nn.Dropout(options.dropout))
        self.pool = nn.AvgPool2d(8)  # sees 8 x 8 of the 10 x 10
        self.classes = nn.Linear(wide, classes)
        for unit in (*self.first, *self.second, *self.third):
            _start_convolution(unit.get_submodule("conv"))
        nn.init.zeros_(self.classes.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Classify images."""
        maps = self.third(self.shrink(self.second(self.shrink(self.first(images)))))
        logits: Tensor = self.classes(self.pool(maps).flatten(1))
        return logits


class _SigmoidGELU(nn.Module):
    """x sigmoid(1.702 x)."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.silu(_GELU_SLOPE * x) / _GELU_SLOPE


def _site(options: AllConvOptions) -> nn.Module:
    site, _, decay = options.arm.partition("-")
    decayed = decay == "decayed"
    return make_site(cast(Site, site), options.width, options.lam, shared=True, decayed=decayed)


def _unit(
    inputs: int, outputs: int, tv: nn.Module | None = None, *, size: int = 3, padding: int = 1
) -> nn.Sequential:
    unit = {
        "conv": nn.Conv2d(inputs, outputs, size, padding=padding),
        "tv": tv or nn.Identity(),
        "norm": nn.BatchNorm2d(outputs),
        "gelu": _SigmoidGELU(),
    }
    return nn.Sequential(OrderedDict(unit))


def _start_convolution(layer: nn.Module) -> None:
    assert isinstance(layer, nn.Conv2d)
    height, width = layer.kernel_size
    nn.init.normal_(layer.weight, std=math.sqrt(2 / (height * width * layer.out_channels)))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
