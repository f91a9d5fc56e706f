"""DexiNed for edge detection and a narrow relative, with total variation on their edge maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tautstring_tasks.errors import require
from tautstring_tasks.sites import CONTROLS, Site, make_site

Arm = Literal["none", "tv", "zero", "blur"]
Family = Literal["narrow", "published"]

MULTIPLE = 16  # height and width of images are multiples of this
_COLOURS = 3
_SIDE_CHANNELS = 16
_SHARPENED = (2, 3, 4)  # blocks
_DEEP_STEPS = 3


@dataclass(frozen=True)
class DexiNedOptions:
    """The architecture of the net."""

    arm: Arm = "tv"
    """`tv` has TV layers that sharpen the maps of blocks 2, 3 and 4 and smooth the fused map.
    Controls: `zero` has lambda frozen at 0, which equals `none`; `blur` has trained 3x3 filters
    instead."""
    family: Family = "narrow"
    """`published` has six blocks and 35 million parameters; `narrow` has four blocks of 16 to 96
    channels and 0.7 million."""
    lam: float = 0.1
    """Initial lambda of each TV layer; maps are logits."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("lam", self.lam, above=0)


@dataclass(frozen=True)
class _Widths:
    first: tuple[int, int]  # of the two convolutions of block 1
    blocks: tuple[int, int, int]  # 2, 3 and 4
    deep: tuple[int, int] | None  # 5 and 6


_WIDTHS: dict[Family, _Widths] = {
    "published": _Widths((32, 64), (128, 256, 512), (512, 256)),
    "narrow": _Widths((16, 16), (32, 64, 96), None),
}


class DexiNed(nn.Module):
    """Returns logits of edges: a map of the image's size per block, and at the end the fused one.

    Images have shape (N, 3, H, W), in BGR, less the mean of ImageNet; H and W are multiples of 16.
    """

    def __init__(self, options: DexiNedOptions) -> None:
        """Create the net; all arms draw the same random numbers."""
        super().__init__()
        widths = _WIDTHS[options.family]
        one, (two, three, four) = widths.first[1], widths.blocks
        self.block1 = _double(_COLOURS, *widths.first, stride=2)
        self.block2 = _double(one, two, two, ends_in_relu=False)
        self.block3 = _DenseBlock(two, three, steps=2)
        self.block4 = _DenseBlock(three, four, steps=3)
        self.shrink = nn.MaxPool2d(3, 2, padding=1)
        self.side1 = _single(one, two, stride=2)
        self.side2 = _single(two, three, stride=2)
        self.skip3 = _single(two, three)
        self.skip4 = _single(three, four)
        self.skip4_from2 = _single(two, three, stride=2)
        self.deep = _DeepBlocks(three, four, *widths.deep) if widths.deep else None
        outputs = [(one, 1), (two, 1), (three, 2), (four, 3)]
        outputs += [(width, 4) for width in widths.deep or ()]
        self.maps = nn.ModuleList(_upsampling(width, times) for width, times in outputs)
        self.fuse = nn.Conv2d(len(outputs), 1, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
                nn.init.xavier_normal_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        self.sharpen = nn.ModuleDict({str(b): _site(options, "sharp") for b in _SHARPENED})
        self.smooth = _site(options, "smooth")

    def forward(self, images: Tensor) -> list[Tensor]:
        """Return the logits of all maps, of shape (N, 1, H, W)."""
        block1 = self.block1(images)
        down2 = self.shrink(block2 := self.block2(block1))
        added2 = down2 + self.side1(block1)
        down3 = self.shrink(block3 := self.block3(added2, self.skip3(down2)))
        added3 = down3 + self.side2(added2)
        block4 = self.block4(added3, self.skip4(down3 + self.skip4_from2(down2)))
        blocks = [block1, block2, block3, block4]
        if self.deep is not None:
            blocks += self.deep(added3, block4, self.shrink(block4))
        maps = [upsample(block) for upsample, block in zip(self.maps, blocks, strict=True)]
        for block, site in self.sharpen.items():
            maps[int(block) - 1] = site(maps[int(block) - 1])
        return [*maps, self.smooth(self.fuse(torch.cat(maps, dim=1)))]


class _DenseBlock(nn.Module):
    """Convolutions whose result is averaged with one and the same skip connection."""

    def __init__(self, inputs: int, outputs: int, steps: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(
            nn.Sequential(
                nn.ReLU(),
                *(nn.Conv2d(inputs if step == 0 else outputs, outputs, 3, padding=2),),
                *(nn.BatchNorm2d(outputs), nn.ReLU()),
                *(nn.Conv2d(outputs, outputs, 3), nn.BatchNorm2d(outputs)),
            )
            for step in range(steps)
        )

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        for step in self.steps:
            x = (step(x) + skip) / 2
        return x


class _DeepBlocks(nn.Module):
    """Blocks 5 and 6, which work on a sixteenth of the image's size."""

    def __init__(self, three: int, four: int, five: int, six: int) -> None:
        super().__init__()
        self.block5 = _DenseBlock(four, five, _DEEP_STEPS)
        self.block6 = _DenseBlock(five, six, _DEEP_STEPS)
        self.side3 = _single(three, four, stride=2)
        self.side4 = _single(four, five)
        self.skip5 = _single(four, five)
        self.skip6 = _single(five, six)

    def forward(self, added3: Tensor, block4: Tensor, down4: Tensor) -> list[Tensor]:
        added4 = down4 + self.side3(added3)
        block5 = self.block5(added4, self.skip5(down4))
        block6 = self.block6(block5 + self.side4(added4), self.skip6(block5))
        return [block5, block6]


def _double(
    inputs: int, middle: int, outputs: int, stride: int = 1, ends_in_relu: bool = True
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, middle, 3, stride, padding=1),
        *(nn.BatchNorm2d(middle), nn.ReLU()),
        nn.Conv2d(middle, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU() if ends_in_relu else nn.Identity(),
    )


def _single(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


def _upsampling(inputs: int, times: int) -> nn.Sequential:
    """Return layers that double the size several times and end with one channel."""
    size = 2**times
    layers: list[nn.Module] = []
    for number in range(times):
        outputs = 1 if number == times - 1 else _SIDE_CHANNELS
        layers += [
            *(nn.Conv2d(inputs, outputs, 1), nn.ReLU()),
            nn.ConvTranspose2d(outputs, outputs, size, stride=2, padding=size // 2 - 1),
        ]
        inputs = outputs
    return nn.Sequential(*layers)


def _site(options: DexiNedOptions, how: Literal["smooth", "sharp"]) -> nn.Module:
    site: Site = how if options.arm == "tv" else "none"
    if options.arm in CONTROLS:
        site = options.arm  # type: ignore[assignment]
    return make_site(site, 1, options.lam)
