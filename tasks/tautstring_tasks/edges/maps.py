"""Files of edge maps: what a net predicts, and what annotators drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tautstring_tasks import arrays, images, matlab
from tautstring_tasks.errors import InputError

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]
Point = tuple[float, float, float, float]
"""Threshold, recall, precision, F."""

PICTURES = frozenset({".bmp", ".png", ".tif", ".tiff", ".webp"})  # without loss
ARRAYS = frozenset({".npy"})
MATLAB = frozenset({".mat"})
SUFFIXES = PICTURES | ARRAYS | MATLAB


def read_prediction(file: Path) -> Bytes | Floats:
    """Read a map of 8 bits, or of floating point numbers in [0, 1]."""
    suffix = file.suffix.lower()
    values = images.read_grey(file) if suffix in PICTURES else _read_array(file)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"{file}: must be one map of shape (height, width), got {values.shape}")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    if values.dtype == np.uint16 and suffix in PICTURES:
        return np.asarray(values / 65535, np.float32)
    if values.dtype == bool:
        return np.where(values, np.uint8(255), np.uint8(0))
    if values.dtype.kind != "f":
        raise InputError(f"{file}: must have bytes or floating point numbers, got {values.dtype}")
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= 1):  # NaN is neither
        raise InputError(f"{file}: values must be in [0, 1], got {low:g} to {high:g}")
    return np.ascontiguousarray(values, np.float32)


def read_truths(file: Path) -> list[Bytes]:
    """Read the maps of one annotator (a picture) or of all (a .mat of BSDS500), as 0 and 1."""
    if file.suffix.lower() in MATLAB:
        return [_binary(file, each) for each in _boundaries(file)]
    is_picture = file.suffix.lower() in PICTURES
    return [_binary(file, images.read_grey(file) if is_picture else _read_array(file))]


def to_bytes(values: Bytes | Floats) -> Bytes:
    """Return a map in 8 bits."""
    if values.dtype == np.uint8:
        return np.asarray(values, np.uint8)
    return np.asarray(np.floor(values * np.float32(255) + np.float32(0.5)), np.uint8)


def to_floats(values: Bytes | Floats) -> Floats:
    """Return a map in [0, 1]."""
    if values.dtype == np.uint8:
        return np.asarray(values / np.float32(255), np.float32)
    return np.asarray(values, np.float32)


def _binary(file: Path, values: npt.NDArray[Any]) -> Bytes:
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"{file}: must be one map of shape (height, width), got {values.shape}")
    if values.dtype.kind not in "buif":
        raise InputError(f"{file}: must have numbers, got {values.dtype}")
    # A sum of annotators, or a picture with soft edges, has no one set of true pixels.
    if not np.isin(values, (0, values.max())).all():
        raise InputError(
            f"{file}: a truth must have two values, 0 and where an edge is another one; got "
            f"{len(np.unique(values))}"
        )
    return np.asarray(values != 0, np.uint8)


def _read_array(file: Path) -> npt.NDArray[Any]:
    if file.suffix.lower() in MATLAB:
        return _only_map(file)
    return arrays.read_npy(file)


def _only_map(file: Path) -> npt.NDArray[Any]:
    content = matlab.load(file, "edges")
    found = [
        each
        for each in content.values()
        if isinstance(each, np.ndarray) and each.dtype.kind in "buf"
    ]
    if len(found) != 1:
        names = ", ".join(content) or "nothing"
        raise InputError(f"{file}: must have one array of numbers, has {names}")
    return found[0]


def _boundaries(file: Path) -> list[npt.NDArray[Any]]:
    """Return what is in groundTruth{k}.Boundaries, for all annotators k."""
    content = matlab.load(file, "edges")
    if "groundTruth" not in content:
        raise InputError(f"{file}: has no groundTruth, as the truths of BSDS500 have")
    found = []
    try:
        for annotator in content["groundTruth"].ravel():
            found.append(np.ascontiguousarray(annotator["Boundaries"][0, 0]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise InputError(
            f"{file}: groundTruth must be cells with Boundaries, as in BSDS500 ({error})"
        ) from None
    if not found:
        raise InputError(f"{file}: groundTruth is empty")
    return found
