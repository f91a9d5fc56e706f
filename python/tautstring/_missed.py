"""Warn if images missed the requested tolerance, once per line of the user's code.

Shared by ``tautstring`` and ``tautstring.numpy``, so it imports neither torch nor NumPy.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NamedTuple

_LIBRARIES = frozenset({"tautstring", "torch"})  # their frames are between the user's and this one
_MOST_NAMED = 4
_HALF_DTYPES = frozenset({"float16", "bfloat16"})
_WIDER_DTYPE = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}

_warned: set[tuple[str, int]] = set()


class Line(NamedTuple):
    """A line of the user's code that calls this package."""

    file: str
    number: int
    variables: dict[str, Any]  # of its module

    @property
    def key(self) -> tuple[str, int]:
        """Return what identifies the line."""
        return self.file, self.number


class Image(NamedTuple):
    """An image that missed the tolerance."""

    place: tuple[int, ...]  # in the batch
    iterations: int
    gap: float  # as a fraction of the objective


def find_line() -> Line | None:
    """Return the calling line of the user's code, or None if it has been warned already."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _library_of(frame) in _LIBRARIES:
        frame = frame.f_back
    if frame is None:
        return None
    line = Line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)
    return None if line.key in _warned else line


def _library_of(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def warn(line: Line, text: str) -> None:
    """Issue the warning at a line of the user's code."""
    registry = line.variables.setdefault("__warningregistry__", {})
    module = line.variables.get("__name__")
    warnings.warn_explicit(text, RuntimeWarning, *line.key, module, registry)
    _warned.add(line.key)  # not reached if warnings are errors, so the next call raises too


def describe(
    missed: Sequence[Image],
    count: int,
    tol: float,
    iterations: int,
    accelerated: bool,
    dtype: str,
) -> str:
    """Say which of ``count`` images missed the tolerance, by how much, and what to do.

    ``iterations`` is the limit of the call. An image that stopped earlier reached its tolerance,
    but lost it when it was rounded to its dtype.
    """
    worst = max(missed, key=lambda image: image.gap)
    advice = []
    if any(image.iterations == iterations for image in missed):
        advice.append("allow more iterations")
        if not accelerated:
            advice.append("use method='accelerated'")
    if dtype in _HALF_DTYPES or any(image.iterations < iterations for image in missed):
        wider = _WIDER_DTYPE.get(dtype)
        what = "raise tol" if wider is None else f"raise tol or pass x in {wider}"
        advice.append(f"{what} ({dtype} may be too coarse for this tol)")
    return (
        f"prox_tv2d: {_name(missed, count)} stopped after {worst.iterations} iterations to a gap "
        f"of {worst.gap:.2g} of the objective, which is above tol {tol:g}; {', or '.join(advice)}"
    )


def _name(missed: Sequence[Image], count: int) -> str:
    """Describe images by their places in the batch."""
    if not missed[0].place:
        return "the image"
    places = [str(place[0] if len(place) == 1 else place) for place, *_ in missed[:_MOST_NAMED]]
    if len(missed) > _MOST_NAMED:
        places.append("...")
    return f"{len(missed)} of {count} images ({', '.join(places)})"
