"""DnCNN for colour images, with total variation at its input, its output, or both.

As in the KAIR toolbox: 17 convolutions estimate the noise, which is subtracted from the image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tautstring_tasks.errors import require
from tautstring_tasks.sites import CONTROLS, Site, make_site
from tautstring_tasks.strips import in_strips

Arm = Literal["none", "input", "output", "both", "zero", "blur"]

COLOURS = 3
STRIP_PIXELS = 2**21  # 0.5 GB in 64 channels of float32
_BATCH_NORM_EPS = 1e-4
_ENDS_GAIN = 0.2  # of the first and the last convolution
_NEIGHBOURS = 0.01  # standard deviation of all weights other than the centre's


@dataclass(frozen=True)
class ModelOptions:
    """The architecture of the net."""

    arm: Arm = "both"
    """Where the TV layers are. Controls: `zero` has both, with lambda frozen at 0, which equals
    `none`; `blur` has trained 3x3 filters per colour instead of both."""
    depth: int = 17
    """Number of convolutions."""
    width: int = 64
    """Number of channels between them."""
    lam: float = 1e-2
    """Initial lambda; images are in [0, 1]."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        # At most: a damaged file could ask for any size.
        require("depth", self.depth, at_least=2, at_most=1000)
        require("width", self.width, at_least=1, at_most=10_000)
        require("lam", self.lam, above=0)


@dataclass(frozen=True)
class Stages:
    """An image at the stages of the net."""

    after_input: Tensor
    before_output: Tensor
    result: Tensor


class DnCNN(nn.Module):
    """Estimates the noise of images in [0, 1] and subtracts it."""

    def __init__(self, options: ModelOptions) -> None:
        """Create the net, with the weights of `reset_parameters`."""
        super().__init__()
        width = options.width
        layers: list[nn.Module] = [nn.Conv2d(COLOURS, width, 3, padding=1), nn.ReLU()]
        for _ in range(options.depth - 2):
            layers += [
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width, eps=_BATCH_NORM_EPS),
                nn.ReLU(),
            ]
        self.noise = nn.Sequential(*layers, nn.Conv2d(width, COLOURS, 3, padding=1))
        self.at_input = _site(options, "input")
        self.at_output = _site(options, "output")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the weights so that noise passes through all layers.

        Convolutions between equal numbers of channels start as rotations of each pixel by itself
        (delta-orthogonal), with small weights for its neighbours. Filters that mix neighbours from
        the start, like KAIR's, have lost a pixel's noise 15 layers later: at a rate of 1e-3 the net
        learns to return 0, and stays there for thousands of steps.
        """
        for layer in self.noise:
            if isinstance(layer, nn.Conv2d):
                _start_convolution(layer)
            elif isinstance(layer, nn.BatchNorm2d):
                layer.reset_parameters()

    def estimate_noise(self, image: Tensor) -> Tensor:
        """Estimate the noise; for large images strip by strip, to fit into memory."""
        if self.training:
            whole: Tensor = self.noise(image)
            return whole
        # Each convolution sees one pixel further.
        beside = sum(isinstance(layer, nn.Conv2d) for layer in self.noise)
        return in_strips(self.noise, image, beside, STRIP_PIXELS)

    def stages(self, noisy: Tensor) -> Stages:
        """Denoise, and keep the intermediate images."""
        after_input = self.at_input(noisy)
        before_output = after_input - self.estimate_noise(after_input)
        return Stages(after_input, before_output, self.at_output(before_output))

    def forward(self, noisy: Tensor) -> Tensor:
        """Denoise images of shape (N, 3, H, W)."""
        return self.stages(noisy).result


def _start_convolution(layer: nn.Conv2d) -> None:
    with torch.no_grad():
        if layer.in_channels == layer.out_channels:
            nn.init.normal_(layer.weight, std=_NEIGHBOURS)
            centre = torch.empty(layer.out_channels, layer.in_channels)
            layer.weight[:, :, 1, 1] += nn.init.orthogonal_(centre)
        else:
            nn.init.orthogonal_(layer.weight, _ENDS_GAIN)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def _site(options: ModelOptions, where: Literal["input", "output"]) -> nn.Module:
    site: Site = "smooth" if options.arm in (where, "both") else "none"
    if options.arm in CONTROLS:
        site = options.arm  # type: ignore[assignment]
    return make_site(site, COLOURS, options.lam)
