"""Arrays in files (.npz), with a description as JSON."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tautstring_tasks import files, json_files
from tautstring_tasks.errors import InputError

Array = npt.NDArray[Any]
_ABOUT = "about"
# What NumPy and zipfile raise for damaged files.
_DAMAGED = (
    *(OSError, ValueError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError),
    *(KeyError, IndexError, AttributeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
)


def save(file: Path, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write arrays and their description; the same content always gives the same file."""
    content = io.BytesIO()
    named: dict[str, Any] = {_ABOUT: np.array(json.dumps(about)), **arrays}
    np.savez_compressed(content, **named)
    files.write_whole(file, content.getvalue())


def load(file: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read a file written by `save`."""
    try:
        # NumPy would leave a damaged file open.
        with file.open("rb") as content, np.load(content, allow_pickle=False) as opened:
            arrays = {name: np.asarray(opened[name]) for name in opened.files}
            about = str(arrays.pop(_ABOUT))
    except KeyError:
        raise InputError(f"{file}: was not written by tautstring_tasks") from None
    except _DAMAGED as error:
        raise InputError(f"{file}: cannot be read as npz ({error})") from None
    return json_files.parse(file, about), arrays


def read_npy(file: Path) -> Array:
    """Read one array from a file of NumPy's (.npy)."""
    try:
        values = np.load(file, allow_pickle=False)
    except _DAMAGED as error:
        raise InputError(f"{file}: cannot be read as a NumPy array ({error})") from None
    if not isinstance(values, np.ndarray):
        raise InputError(f"{file}: must be one NumPy array")
    return values
