"""Nets for edge-preserving smoothing: ResNet with TV layers, VDCNN, exact TV with a learned lambda.

Images have shape (N, 3, H, W) and are in 0..255, both those that nets take and those they return.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

import tautstring
from tautstring_tasks.errors import require
from tautstring_tasks.sites import CONTROLS, Site, make_site
from tautstring_tasks.strips import in_strips

Arm = Literal["none", "tv", "zero", "blur", "vdcnn", "single", "image", "map", "oracle"]

_COLOURS = 3
_HALF_RANGE = 127.5
_SHARPENED = 4  # blocks
_HEAD = 4  # times as many channels as in the blocks
_HEAD_BESIDE = 2  # pixels that its convolutions see to either side
_HEAD_PIXELS = 2**20  # 2 GB in its 256 channels, before and after a convolution
_START = 0.02  # standard deviation of ResNet's weights
_VDCNN_CONVOLUTIONS = 20
_TOLERANCE = 1e-4  # of exact solutions in float32
# A multiple of 16: with 24 the weights' gradients of dilated convolutions are NaN in bfloat16, on a
# CPU, channels last (torch 2.11).
_MAP_CHANNELS = 32
_DILATIONS = (1, 2, 4, 8, 4, 1)
_SOFTPLUS_IS_1 = math.log(math.e - 1)
# The oracle tries these multiples of its lambda: factors of sqrt(2).
_MULTIPLES = tuple(2 ** (power / 2) for power in range(-8, 7))


@dataclass(frozen=True)
class SmoothOptions:
    """The architecture of the net."""

    arm: Arm = "tv"
    """`tv` has TV layers that sharpen in four of the blocks, rows and columns in turn, and one that
    smooths the result. Controls: `zero` has lambda frozen at 0, which equals `none`; `blur` has
    trained 3x3 filters instead. `vdcnn` is another net without TV. The others are an exact solution
    of TV in 2D, with one lambda (`single`), one that a small net predicts for each `image`, or a
    `map` of them; `oracle` takes the multiple of its lambda that is best for the truths of the
    image that it is tested on."""
    channels: int = 64
    """Channels of ResNet's blocks and of VDCNN."""
    blocks: int = 16
    """Blocks of ResNet."""
    lam: float = 2.0
    """Initial lambda of ResNet's last TV layer; images are in 0..255."""
    lam_inside: float = 0.1
    """Initial lambda of the TV layers in its blocks."""
    lam_alone: float = 6.0
    """Initial lambda where there is no ResNet: of 12 from 4 to 34, the one with the least WMAE and
    WRMSE on 100 training images (every fourth)."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("channels", self.channels, at_least=1, at_most=10_000)
        require("blocks", self.blocks, at_least=_SHARPENED, at_most=1000)
        for name in ("lam", "lam_inside", "lam_alone"):
            require(name, getattr(self, name), above=0)


def make_net(options: SmoothOptions) -> nn.Module:
    """Create the net of an arm."""
    if options.arm == "vdcnn":
        return VDCNN(options.channels)
    if options.arm == "single":
        return OneLambda(options.lam_alone)
    if options.arm == "oracle":
        return Oracle(options.lam_alone)
    if options.arm in ("image", "map"):
        return PredictedLambda(options.lam_alone, is_map=options.arm == "map")
    return ResNet(options)


class ResNet(nn.Module):
    """The benchmark's net: residual blocks, and a last skip connection over all of them."""

    def __init__(self, options: SmoothOptions) -> None:
        """Create the net; all arms draw the same random numbers."""
        super().__init__()
        channels = options.channels
        wide = _HEAD * channels
        self.first = _convolution(_COLOURS, channels)
        self.blocks = nn.ModuleList(
            nn.Sequential(*_normed(channels), nn.ReLU(), *_normed(channels))
            for _ in range(options.blocks)
        )
        self.last = nn.Sequential(*_normed(channels))
        self.head = nn.Sequential(
            *(_convolution(channels, wide), nn.ReLU()),
            *(_convolution(wide, wide), nn.ReLU()),
            _convolution(wide, _COLOURS, 1),
        )
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=_START)
            elif isinstance(layer, nn.BatchNorm2d):
                nn.init.normal_(layer.weight, mean=1.0, std=_START)
        self.sharpen = nn.ModuleDict(
            {
                str(options.blocks * (index + 1) // _SHARPENED): _site(
                    options, "sharp", channels, options.lam_inside, "col" if index % 2 else "row"
                )
                for index in range(_SHARPENED)
            }
        )
        self.smooth = _site(options, "smooth", _COLOURS, options.lam, "2d")

    def before_smoothing(self, images: Tensor) -> Tensor:
        """Return images as the last TV layer gets them."""
        scaled = images / _HALF_RANGE - 1
        first = maps = self.first(scaled).relu()
        for number, block in enumerate(self.blocks, 1):
            change = block(maps)
            if str(number) in self.sharpen:
                change = self.sharpen[str(number)](change)
            maps = maps + change
        maps = self.last(maps) + first
        if self.training:
            change = self.head(maps)
        else:
            change = in_strips(self.head, maps, _HEAD_BESIDE, _HEAD_PIXELS)
        result: Tensor = (change.to(images.dtype).tanh() + scaled + 1) * _HALF_RANGE
        return result

    def forward(self, images: Tensor) -> Tensor:
        """Smooth images."""
        smoothed: Tensor = self.smooth(self.before_smoothing(images))
        return smoothed


class VDCNN(nn.Module):
    """The benchmark's other net: convolutions whose result is added to the image."""

    def __init__(self, channels: int) -> None:
        """Create the net."""
        super().__init__()
        widths = [_COLOURS, *[channels] * (_VDCNN_CONVOLUTIONS - 1), _COLOURS]
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise(widths):
            convolution = _convolution(inputs, outputs)
            # The first convolution starts as if it had one input, as published.
            nn.init.normal_(convolution.weight, std=math.sqrt(2 / 9 / (inputs if layers else 1)))
            layers += [convolution, nn.ReLU()]
        self.change = nn.Sequential(*layers[:-1])

    def forward(self, images: Tensor) -> Tensor:
        """Smooth images."""
        smoothed: Tensor = images + self.change(images).to(images.dtype)
        return smoothed


class OneLambda(nn.Module):
    """Exact TV in 2D, with one lambda for all images."""

    def __init__(self, lam: float) -> None:
        """Create the layer."""
        super().__init__()
        self.smooth = tautstring.TVLayer(1, lam=lam, tol=_TOLERANCE)

    def forward(self, images: Tensor) -> Tensor:
        """Smooth images."""
        smoothed: Tensor = self.smooth(images)
        return smoothed


class Oracle(OneLambda):
    """Exact TV in 2D that can be told how good its results are: a bound, not a method."""

    def best(self, image: Tensor, error: Callable[[Tensor], float]) -> Tensor:
        """Return the result of least error, of a range of multiples of the trained lambda."""
        return min(self._results(image), key=error)

    def _results(self, image: Tensor) -> Iterator[Tensor]:
        for multiple in _MULTIPLES:
            yield tautstring.prox_tv2d(image, multiple * self.smooth.lam.item(), tol=_TOLERANCE)


class PredictedLambda(nn.Module):
    """A small net that sees the image and says how strongly to smooth it: exact TV in 2D.

    It is trained through the solution: the derivative of the optimum for each lambda.
    """

    def __init__(self, lam: float, *, is_map: bool) -> None:
        """Create the net; it starts with the same lambda everywhere.

        With `is_map` each edge between two pixels has its own lambda, otherwise each image.
        """
        super().__init__()
        self.is_map = is_map
        self._lam = lam
        layers: list[nn.Module] = []
        for index, dilation in enumerate(_DILATIONS):
            inputs = _MAP_CHANNELS if index else _COLOURS
            layers += [_convolution(inputs, _MAP_CHANNELS, dilation=dilation), nn.ReLU()]
        last = _convolution(_MAP_CHANNELS, 2, 1)
        nn.init.zeros_(last.weight)
        self.layers = nn.Sequential(*layers, last)

    def lambdas(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return lambdas for edges along rows and along columns, all colours alike.

        Of shape (N, 1, H, W-1) and (N, 1, H-1, W).
        """
        found = self.layers(images / _HALF_RANGE - 1).to(images.dtype)
        if not self.is_map:
            found = found.mean(dim=(1, 2, 3), keepdim=True).expand_as(found)
        lam = self._lam * nn.functional.softplus(found + _SOFTPLUS_IS_1)
        return lam[:, :1, :, :-1], lam[:, 1:, :-1, :]

    def forward(self, images: Tensor) -> Tensor:
        """Smooth images."""
        return tautstring.prox_tv2d(images, self.lambdas(images), tol=_TOLERANCE)


def _convolution(inputs: int, outputs: int, size: int = 3, dilation: int = 1) -> nn.Conv2d:
    """Return a convolution that keeps the image's size, with biases of 0."""
    padding = dilation * (size // 2)
    layer = nn.Conv2d(inputs, outputs, size, padding=padding, dilation=dilation)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def _normed(channels: int) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    return convolution, nn.BatchNorm2d(channels)


def _site(
    options: SmoothOptions, how: Site, channels: int, lam: float, direction: str
) -> nn.Module:
    site: Site = how if options.arm == "tv" else "none"
    if options.arm in CONTROLS:
        site = options.arm  # type: ignore[assignment]
    return make_site(site, channels, lam, shared=True, direction=direction)
