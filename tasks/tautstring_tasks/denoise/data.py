"""The training and test images of denoising, and the patches of a step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tautstring_tasks import images
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.training import step_generator

TRAIN = "train_cbsd432"
TESTS = ("CBSD68", "Kodak24", "McMaster")
WHAT = (
    f"The data folder has {TRAIN} (the 432 images of BSDS500 that are not in CBSD68) and the test "
    f"sets {', '.join(TESTS)}, each a folder of images. BSDS500 is Berkeley's segmentation "
    "benchmark (on GitHub: BIDS/BSDS500); the test sets come with FFDNet's code (on GitHub: "
    "cszn/FFDNet). `tautstring_tasks denoise generate FOLDER` renders small ones to try it out."
)
_ORIENTATIONS = 8  # of a square


@dataclass(frozen=True)
class NoiseOptions:
    """The noise that a net is trained against."""

    sigma: float = 25.0
    """Standard deviation of the noise; pixels are in 0..255."""
    patch: int = 40
    """Width and height of the patches."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("sigma", self.sigma, at_least=0)
        require("patch", self.patch, at_least=1)


@dataclass(frozen=True)
class Batch:
    """Patches of shape (N, 3, size, size), clean and with noise."""

    clean: Tensor
    noisy: Tensor


class Patches:
    """Random square patches of images, all held in memory on the training device."""

    def __init__(self, pictures: list[Pixels], size: int, device: torch.device) -> None:
        """Store the pixels of all pictures in one array of bytes."""
        smallest = min(min(picture.shape[:2]) for picture in pictures)
        if smallest < size:
            raise InputError(f"--patch: must fit the smallest image, {smallest} pixels, got {size}")
        self.size = size
        self._pixels = torch.from_numpy(
            np.concatenate([picture.reshape(-1, 3) for picture in pictures])
        ).to(device)
        heights, widths = (
            torch.tensor([picture.shape[axis] for picture in pictures], device=device)
            for axis in (0, 1)
        )
        self._heights, self._widths = heights, widths
        counts = heights * widths
        self._starts = counts.cumsum(0) - counts

    def batch(self, count: int, sigma: float, seed: int, step: int) -> Batch:
        """Draw the patches of a step: any place, any of 8 orientations, fresh noise."""
        device = self._pixels.device
        generator = step_generator(seed, step, device)

        def below(limits: Tensor) -> Tensor:
            drawn = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
            return (drawn * limits).long()

        picture = below(torch.full((count,), len(self._starts), device=device))
        heights, widths = self._heights[picture], self._widths[picture]
        top, left = below(heights - self.size + 1), below(widths - self.size + 1)
        turn = below(torch.full((count,), _ORIENTATIONS, device=device))
        row, column = (
            each + at for each, at in zip(self._oriented(turn), (top, left), strict=True)
        )
        index = self._starts[picture] + row * widths + column
        pixels = self._pixels[index.permute(2, 0, 1).contiguous()]
        clean = pixels.permute(0, 3, 1, 2).contiguous().float() / 255
        drawn = torch.randn(clean.shape, generator=generator, device=device)
        return Batch(clean, clean + drawn * (sigma / 255))

    def _oriented(self, turn: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows and columns of a patch's pixels, of shape (size, size, N)."""
        along = torch.arange(self.size, device=turn.device)
        down, across = along[:, None, None], along[None, :, None]
        is_transposed = (turn & 1).bool()
        row = torch.where(is_transposed, across, down)
        column = torch.where(is_transposed, down, across)
        last = self.size - 1
        return (
            torch.where((turn & 2).bool(), last - row, row),
            torch.where((turn & 4).bool(), last - column, column),
        )


def with_test_noise(clean: Pixels, sigma: float) -> Tensor:
    """Add the noise of KAIR's tests to an image: the same for all images of one size.

    NumPy's legacy generator, seeded with 0 for each image; shape (1, 3, H, W), in [0, 1], not
    clipped.
    """
    noise = np.random.RandomState(0).normal(0, sigma / 255, clean.shape)
    noisy = (clean.astype(np.float32) / 255 + noise).astype(np.float32)
    return torch.from_numpy(noisy).permute(2, 0, 1)[None]


def generate(folder: Path) -> None:
    """Render the task's folders, with a few small scenes in each."""
    for number, name in enumerate((TRAIN, *TESTS)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(8 if name == TRAIN else 2):
            scene = _render(np.random.default_rng([number, index]), height=64, width=80)
            images.write(folder / name / f"scene{index}.png", scene)


def _render(generator: np.random.Generator, height: int, width: int) -> Pixels:
    """Render rectangles and discs of plain colours over a gradient."""
    y, x = np.mgrid[:height, :width]
    slope = generator.uniform(-1, 1, (2, 3))
    scene = 128 + 60 * (slope[0] * (y / height)[..., None] + slope[1] * (x / width)[..., None])
    for _ in range(12):
        centre_y, centre_x = generator.uniform(0, height), generator.uniform(0, width)
        size = generator.uniform(4, 20)
        if generator.random() < 0.5:
            inside = (abs(y - centre_y) < size) & (abs(x - centre_x) < size / 2)
        else:
            inside = (y - centre_y) ** 2 + (x - centre_x) ** 2 < size**2
        scene[inside] = generator.uniform(0, 255, 3)
    pixels: Pixels = scene.clip(0, 255).astype(np.uint8)
    return pixels
