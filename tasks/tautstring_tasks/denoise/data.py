"""The training and test images of denoising, and the patches of a step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tautstring_tasks import images, scenes
from tautstring_tasks.errors import require
from tautstring_tasks.images import Pixels
from tautstring_tasks.patches import Patches
from tautstring_tasks.training import step_generator

TRAIN = "train_cbsd432"
TESTS = ("CBSD68", "Kodak24", "McMaster")
WHAT = (
    f"The data folder has {TRAIN} (the 432 images of BSDS500 that are not in CBSD68) and the test "
    f"sets {', '.join(TESTS)}, each a folder of images. BSDS500 is Berkeley's segmentation "
    "benchmark (on GitHub: BIDS/BSDS500); the test sets come with FFDNet's code (on GitHub: "
    "cszn/FFDNet). `tautstring_tasks denoise generate FOLDER` renders small ones to try it out."
)


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


def noisy_patches(patches: Patches, count: int, sigma: float, seed: int, step: int) -> Batch:
    """Draw the patches of a step, with fresh noise."""
    generator = step_generator(seed, step, patches.device)
    pixels, _ = patches.draw(count, generator)
    clean = pixels.float() / 255
    drawn = torch.randn(clean.shape, generator=generator, device=clean.device)
    return Batch(clean, clean + drawn * (sigma / 255))


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
            scene = scenes.render(np.random.default_rng([number, index]), height=64, width=80)
            images.write(folder / name / f"scene{index}.png", scene)
