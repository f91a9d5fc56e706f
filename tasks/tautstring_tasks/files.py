"""Files that are either complete or absent, and errors that name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tautstring_tasks.errors import InputError


def make_folder(folder: Path) -> None:
    """Create a folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot create the folder ({error.strerror})") from None


def prepare_place(file: Path) -> None:
    """Create a file's folder, or raise if the file cannot be written, before any work is done."""
    make_folder(file.parent)
    if file.is_dir():
        raise InputError(f"{file}: is a folder; a file must be written there")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{file}: the folder {file.parent} cannot be written to")


def require_free(file: Path) -> None:
    """Reject a path that exists."""
    if file.exists() or file.is_symlink():
        raise _exists(file)


def _exists(file: Path) -> InputError:
    return InputError(f"{file}: already exists (use --force to overwrite it)")


def write_whole(file: Path, content: bytes, force: bool = True) -> None:
    """Write a file completely or not at all; see `whole`."""
    with whole(file, force) as opened:
        opened.write(content)


@contextmanager
def whole(file: Path, force: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file next to the target; at the end it is moved into place.

    Without ``force``, a file that has appeared there in the meantime is kept.
    """
    prepare_place(file)
    partial = file.with_name(f".{file.name}.partial")
    try:
        with partial.open("wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        if force:
            partial.replace(file)
        else:
            _put_where_nothing_is(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _put_where_nothing_is(partial: Path, file: Path) -> None:
    try:
        file.hardlink_to(partial)  # unlike a rename it never replaces a file
    except FileExistsError:
        raise _exists(file) from None
    except OSError:  # a file system without links: use a check and a rename
        require_free(file)
        partial.replace(file)


def read_text(file: Path) -> str:
    """Read a text file."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not a text file") from None
