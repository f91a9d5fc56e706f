"""The error for what a user can fix."""

from __future__ import annotations

import math


class InputError(Exception):
    """An input cannot be used; the message names it and says what to do about it."""


def require(
    option: str,
    value: float,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
) -> None:
    """Reject a value of an option that is out of bounds, infinite or NaN."""
    if math.isfinite(value) and at_least <= value <= at_most and value > above:
        return
    bounds = {"at least": at_least, "above": above, "at most": at_most}
    wanted = [f"{how} {bound}" for how, bound in bounds.items() if math.isfinite(bound)]
    if not math.isfinite(value):
        wanted.insert(0, "finite")
    raise InputError(f"--{option.replace('_', '-')}: must be {' and '.join(wanted)}, got {value}")
