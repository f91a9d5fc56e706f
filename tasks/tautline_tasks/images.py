"""Folders of colour images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps
from torch import Tensor

from tautline_tasks.errors import InputError

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})

Pixels = npt.NDArray[np.uint8]  # (height, width, 3)


def files_of(folder: Path, what: str) -> list[Path]:
    """List a folder's images by name, or say what should be there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: not there. {what}")
    found = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    if not found:
        raise InputError(f"{folder}: has no images. {what}")
    return found


def read(file: Path) -> Pixels:
    """Read an image as RGB, upright as its camera says."""
    try:
        with Image.open(file) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read as an image ({error})") from None


def to_pixels(image: Tensor) -> Pixels:
    """Round an image of shape (1, 3, H, W) in [0, 1] to 8 bits; what is outside is clipped."""
    values = image[0].clamp(0, 1).mul(255).round()
    return values.permute(1, 2, 0).cpu().numpy().astype(np.uint8)


def check_result(file: Path) -> None:
    """Say what is wrong with the name of an image that is to be written, before work is done."""
    if file.suffix.lower() not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{file}: its name must end in one of {known}")
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}")


def write(file: Path, pixels: Pixels) -> None:
    """Write an image in the format of the file's name."""
    Image.fromarray(pixels).save(file)
