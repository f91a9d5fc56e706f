"""MATLAB's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tautstring_tasks import extras
from tautstring_tasks.errors import InputError


def load(file: Path, extra: str) -> dict[str, Any]:
    """Read a .mat file's variables; `extra` is what to install where SciPy is missing."""
    extras.require("scipy", extra)
    from scipy.io import loadmat

    try:
        content = loadmat(file)
    except Exception as error:  # of any kind, where a file is damaged
        raise InputError(f"{file}: cannot be read as a .mat file ({error})") from None
    return {name: each for name, each in content.items() if not name.startswith("__")}
