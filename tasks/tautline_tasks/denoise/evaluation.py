"""The test protocol: fixed noise, whole images, PSNR and SSIM of 8-bit results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from tautline_tasks import images
from tautline_tasks.denoise import data, scores
from tautline_tasks.denoise.model import DnCNN
from tautline_tasks.images import Pixels


@dataclass(frozen=True)
class Score:
    """How well one image was denoised."""

    image: str
    psnr: float
    ssim: float


def to_pixels(image: Tensor) -> Pixels:
    """Give an image of shape (1, 3, H, W) in [0, 1] as 8-bit pixels."""
    clipped = image[0].clamp(0, 1).mul(255).round()
    return clipped.permute(1, 2, 0).cpu().numpy().astype(np.uint8)


def evaluate(net: DnCNN, files: list[Path], sigma: float, device: torch.device) -> Iterator[Score]:
    """Denoise each image with the noise of the protocol added to it, in float32."""
    for file in tqdm(files, desc=files[0].parent.name, mininterval=1.0):
        clean = images.read(file)
        noisy = data.with_test_noise(clean, sigma).to(device)
        result = to_pixels(net(noisy))
        yield Score(file.stem, scores.psnr(clean, result), scores.ssim(clean, result))
