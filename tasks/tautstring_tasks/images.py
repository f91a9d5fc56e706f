"""Folders of colour images."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps
from torch import Tensor

from tautstring_tasks import files
from tautstring_tasks.errors import InputError

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})

_KINDS_WITH_ALPHA = frozenset({"PNG", "TIFF", "WEBP"})

Pixels = npt.NDArray[np.uint8]  # (height, width, 3)
Alpha = npt.NDArray[np.uint8]  # (height, width)


def files_of(folder: Path, what: str) -> list[Path]:
    """List a folder's images, sorted by name; the error says what should be there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: does not exist. {what}")
    found = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    if not found:
        raise InputError(f"{folder}: has no images. {what}")
    return found


def read(file: Path) -> Pixels:
    """Read an image as 8-bit RGB, turned upright."""
    try:
        with Image.open(file) as image:
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I;16"):  # Pillow's conversion would clip
                grey = (np.asarray(upright).astype(np.uint32) + 128) // 257
                return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
            if upright.mode in ("I", "F"):
                what = "32-bit integers" if upright.mode == "I" else "floating point numbers"
                raise InputError(f"{file}: pixels must have 8 or 16 bits, got {what}")
            return np.asarray(upright.convert("RGB"))
    except (OSError, Image.DecompressionBombError) as error:
        raise InputError(f"{file}: cannot be read as an image ({error})") from None


def read_grey(file: Path) -> npt.NDArray[Any]:
    """Read a grey image of 1, 8 or 16 bits; colours must be grey."""
    try:
        with Image.open(file) as picture:
            if picture.mode in ("1", "L") or picture.mode.startswith("I;16"):
                return np.asarray(picture)
            if picture.mode in ("I", "F"):
                raise InputError(f"{file}: pixels must have 8 or 16 bits, got 32")
            pixels = np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{file}: cannot be read as an image ({error})") from None
    if (pixels != pixels[..., :1]).any():
        raise InputError(f"{file}: must be grey, got colours")
    return np.ascontiguousarray(pixels[..., 0])


def read_alpha(file: Path) -> Alpha | None:
    """Read an image's alpha in 8 bits, turned upright; None if it has none."""
    with Image.open(file) as image:
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I;16") or not upright.has_transparency_data:
            return None
        return np.asarray(upright.convert("RGBA").getchannel("A"))


def colour_profile(file: Path) -> bytes | None:
    """Return the ICC profile of an RGB image, if it has one."""
    with Image.open(file) as image:
        found: bytes | None = image.info.get("icc_profile") if "RGB" in image.mode else None
        return found


def to_pixels(image: Tensor) -> Pixels:
    """Round an image of shape (1, 3, H, W) in [0, 1] to 8 bits; other values are clipped."""
    values = image[0].clamp(0, 1).mul(255).round()
    return values.permute(1, 2, 0).cpu().numpy().astype(np.uint8)


def check_result(file: Path, force: bool) -> None:
    """Raise if an image cannot be written to a file, before any work is done."""
    if file.suffix.lower() not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{file}: the extension must be one of {known}")
    if not file.parent.is_dir():
        raise InputError(f"{file}: the folder {file.parent} does not exist")
    files.prepare_place(file)
    if not force:
        files.require_free(file)


def holds_alpha(file: Path) -> bool:
    """Return whether the format of the file's extension supports alpha."""
    return _kind_of(file) in _KINDS_WITH_ALPHA


def _kind_of(file: Path) -> str:
    return Image.registered_extensions()[file.suffix.lower()]


def write(
    file: Path,
    pixels: Pixels,
    profile: bytes | None = None,
    alpha: Alpha | None = None,
    force: bool = True,
) -> None:
    """Write an image in the format of the file's extension, completely or not at all.

    If the format has no alpha, the image is placed on white. Without ``force``, an existing file is
    kept.
    """
    image = Image.fromarray(pixels)
    if alpha is not None and holds_alpha(file):
        image.putalpha(Image.fromarray(alpha))
    elif alpha is not None:
        white = Image.new("RGB", image.size, "white")
        image = Image.composite(image, white, Image.fromarray(alpha))
    content = BytesIO()
    image.save(content, _kind_of(file), icc_profile=profile)
    files.write_whole(file, content.getvalue(), force)
