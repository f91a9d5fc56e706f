"""The test protocol: fixed noise, whole images, PSNR and SSIM of 8-bit results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from tautstring_tasks import images
from tautstring_tasks.denoise import data, model, scores
from tautstring_tasks.errors import InputError


@dataclass(frozen=True)
class Score:
    """The quality of one denoised image."""

    image: str
    psnr: float
    ssim: float


def evaluate(
    net: model.DnCNN,
    files: list[Path],
    sigma: float,
    device: torch.device,
    precision: model.Precision = "float32",
) -> Iterator[Score]:
    """Add the protocol's noise to each image, denoise it and yield its score."""
    for file in tqdm(files, desc=files[0].parent.name, mininterval=1.0):
        clean = images.read(file)
        if min(clean.shape[:2]) < scores.SSIM_WINDOW:
            raise InputError(
                f"{file}: must be at least {scores.SSIM_WINDOW} pixels wide and high for SSIM"
            )
        noisy = data.with_test_noise(clean, sigma).to(device)
        result = images.to_pixels(model.denoise(net, noisy, precision))
        yield Score(file.stem, scores.psnr(clean, result), scores.ssim(clean, result))
