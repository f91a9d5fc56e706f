"""Files that are either whole or not there, and errors that name them."""

from __future__ import annotations

import os
from pathlib import Path

from tautstring_tasks.errors import InputError


def make_folder(folder: Path) -> None:
    """Make a folder, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder ({error.strerror})") from None


def prepare_place(file: Path) -> None:
    """Make a file's folder, or say why it cannot be written, before the work for it is done."""
    make_folder(file.parent)
    if file.is_dir():
        raise InputError(f"{file}: is a folder, and a file is to be written there")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file}: the folder {file.parent} cannot be written to")


def write_whole(file: Path, content: bytes) -> None:
    """Write a file beside the wanted one, then put it in its place."""
    prepare_place(file)
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    partial.replace(file)


def read_text(file: Path) -> str:
    """Read a text."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is no text") from None
