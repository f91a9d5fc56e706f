"""The test protocol: fixed noise, whole images, PSNR and SSIM of 8-bit results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from tautline_tasks import images
from tautline_tasks.denoise import data, model, scores

_CALIBRATION_BATCH = 8
_CALIBRATION_SEED = 2**31  # none that nets are trained with


@dataclass(frozen=True)
class Score:
    """How well one image was denoised."""

    image: str
    psnr: float
    ssim: float


def calibrate(net: model.DnCNN, patches: data.Patches, sigma: float, batches: int) -> None:
    """Give batch norms the statistics of many patches of training.

    While a net is trained they follow its last few batches; of small ones these are noise, which
    costs some nets a third of a dB, and others nothing.
    """
    norms = [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    net.train()
    with torch.no_grad():
        for step in range(batches):
            net(patches.batch(_CALIBRATION_BATCH, sigma, _CALIBRATION_SEED, step).noisy)
    net.eval()


def evaluate(
    net: model.DnCNN,
    files: list[Path],
    sigma: float,
    device: torch.device,
    precision: model.Precision = "float32",
) -> Iterator[Score]:
    """Denoise each image with the noise of the protocol added to it."""
    for file in tqdm(files, desc=files[0].parent.name, mininterval=1.0):
        clean = images.read(file)
        noisy = data.with_test_noise(clean, sigma).to(device)
        result = images.to_pixels(model.denoise(net, noisy, precision))
        yield Score(file.stem, scores.psnr(clean, result), scores.ssim(clean, result))
