"""How close a denoised image is to the clean one."""

from __future__ import annotations

import math

import numpy as np
from skimage.metrics import structural_similarity

from tautstring_tasks.images import Pixels

SSIM_WINDOW = 11  # width and height in pixels: 3.5 deviations to either side
_DEVIATION = 1.5


def psnr(clean: Pixels, image: Pixels) -> float:
    """Peak signal to noise ratio over all pixels and colours, in dB."""
    error = np.mean((clean.astype(np.float64) - image) ** 2)
    return math.inf if error == 0 else 20 * math.log10(255 / math.sqrt(error))


def ssim(clean: Pixels, image: Pixels) -> float:
    """Structural similarity, Gaussian window of 11 x 11, deviation 1.5; mean over colours."""
    found: float = structural_similarity(
        clean,
        image,
        data_range=255,
        channel_axis=2,
        gaussian_weights=True,
        sigma=_DEVIATION,
        use_sample_covariance=False,
    )
    return float(found)
