"""True boxes of images, and the file of these."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tautstring_tasks import _native, files
from tautstring_tasks.errors import InputError

BoxArray = npt.NDArray[np.int32]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels of the image."""

COLUMNS = ("image", "width", "height", "x0", "y0", "x1", "y1")


@dataclass(frozen=True)
class Boxed:
    """An image with its size and its true boxes."""

    name: str
    width: int
    height: int
    boxes: tuple[Box, ...]

    def scaled(self) -> BoxArray:
        """Return the boxes in a heat map as it is scored, cut to whole pixels."""
        height, width = _native.HEAT_SIZE
        factors = (width, height) * 2
        sides = (self.width, self.height) * 2
        # In this order, as rounding matters: 30 * 224 / 60 is whole.
        values = [
            [each * factor / side for each, factor, side in zip(box, factors, sides, strict=True)]
            for box in self.boxes
        ]
        return np.array(values).astype(np.int32)


def read(file: Path) -> list[Boxed]:
    """Read a table with the columns COLUMNS, and perhaps others: one line per box."""
    lines = csv.DictReader(io.StringIO(files.read_text(file)), strict=True)
    found: dict[str, Boxed] = {}
    try:
        missing = [name for name in COLUMNS if name not in (lines.fieldnames or ())]
        if missing:
            raise InputError(
                f"{file}: the first line must name the columns {','.join(COLUMNS)}; "
                f"{', '.join(missing)} not found"
            )
        for line in lines:
            place = f"{file}, line {lines.line_num}"
            each = _boxed(place, line)
            known = found.setdefault(each.name, each)
            if (known.width, known.height) != (each.width, each.height):
                raise InputError(
                    f"{place}: {each.name} has {each.width} x {each.height} pixels, but "
                    f"{known.width} x {known.height} in an earlier line"
                )
            if known is not each:
                found[each.name] = Boxed(
                    each.name, each.width, each.height, known.boxes + each.boxes
                )
    except csv.Error as error:
        raise InputError(
            f"{file}, near line {lines.line_num}: cannot be read as CSV ({error})"
        ) from None
    if not found:
        raise InputError(f"{file}: has no boxes")
    return list(found.values())


def written(found: Sequence[Boxed]) -> bytes:
    """Return the file that `read` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for image in found:
        writer.writerows([image.name, image.width, image.height, *box] for box in image.boxes)
    return text.getvalue().encode()


def _boxed(place: str, line: Mapping[str, str | None]) -> Boxed:
    name = line["image"]
    if not name:
        raise InputError(f"{place}: has no image")
    width, height, *box = (_number(place, column, line[column]) for column in COLUMNS[1:])
    for column, side in (("width", width), ("height", height)):
        if side < 1 or side != int(side):
            raise InputError(f"{place}: {column} must be a number of pixels, got {line[column]}")
    x0, y0, x1, y1 = box
    for axis, low, high, side in (("x", x0, x1, width), ("y", y0, y1, height)):
        if not 0 <= low <= high <= side:
            raise InputError(
                f"{place}: the box of {name} must be inside the image, 0 <= {axis}0 <= {axis}1 <= "
                f"{side:g}; got {axis}0 = {low:g}, {axis}1 = {high:g}"
            )
    return Boxed(name, int(width), int(height), ((x0, y0, x1, y1),))


def _number(place: str, column: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: {column} must be a number, got {text or 'nothing'}")
    return value
