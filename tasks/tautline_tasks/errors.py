"""The error for what a user can put right."""

from __future__ import annotations


class InputError(Exception):
    """What was given cannot be used; the message names it and says what to do about it."""
