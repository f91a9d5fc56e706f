"""Packages that only some commands need."""

from __future__ import annotations

from importlib.util import find_spec

from tautstring_tasks.errors import InputError


def require(package: str, extra: str) -> None:
    """Raise, saying what to install, if a package is missing."""
    if find_spec(package) is None:
        raise InputError(
            f"this needs the package {package}: pip install 'tautstring-tasks[{extra}]'"
        )
