"""Where data sets keep their truths, and which truths belong to which prediction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tautstring_tasks.edges import maps
from tautstring_tasks.errors import InputError

Layout = Literal["auto", "folder", "biped", "bsds500", "mdbd"]
Split = Literal["test", "train", "val"]

# In the folder that is given, or in one of these.
_ROOTS = (".", "BIPED", "BIPED/BIPED", "BSDS500", "BSR/BSDS500", "multicue", "MDBD")
_PLACES: dict[str, tuple[str, ...]] = {
    "biped": ("edges/edge_maps/{split}/rgbr/real", "edges/edge_maps/{split}/rgbr"),
    "bsds500": ("data/groundTruth/{split}", "groundTruth/{split}"),
    "mdbd": ("ground-truth/edges", "ground_truth/edges", "groundtruth/edges"),
}
_ANNOTATOR = re.compile(r"(?P<image>.+)[._-](?:gt|ann|annotator)?\d+$")


@dataclass(frozen=True)
class Case:
    """An image: the file of its prediction, and those of its truths."""

    name: str
    prediction: Path
    truths: tuple[Path, ...]


def cases(predictions: Path, truths: Path, layout: Layout, split: Split) -> list[Case]:
    """List the images of a data set by name.

    Every truth must have a prediction. Predictions without truth are left out.
    """
    predicted = _predictions(predictions)
    folder, kind = _truth_folder(truths, layout, split)
    # In a data set that may have several annotators, a truth NAME_1 can be one of NAME.
    has_annotators = kind in ("folder", "mdbd")
    found: dict[str, list[Path]] = {}
    for stem, file in _truths(folder):
        name = stem
        annotated = _ANNOTATOR.fullmatch(stem)
        if stem not in predicted and has_annotators and annotated:
            name = annotated["image"]
        if name not in predicted:
            raise InputError(f"{file}: has no prediction; {predictions / stem}.png does not exist")
        found.setdefault(name, []).append(file)
    return [Case(name, predicted[name], tuple(files)) for name, files in sorted(found.items())]


def truths_by_image(truths: Path, layout: Layout, split: Split) -> dict[str, list[Path]]:
    """Return the files of each image's truths, by the image's name."""
    folder, _ = _truth_folder(truths, layout, split)
    found: dict[str, list[Path]] = {}
    for name, file in _truths(folder):
        found.setdefault(name, []).append(file)
    return found


def _predictions(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in _maps(folder, "predictions"):
        if file.stem in found:
            raise InputError(f"{file}: {found[file.stem].name} is a prediction of the same name")
        found[file.stem] = file
    if not found:
        raise InputError(f"{folder}: has no predictions ({', '.join(sorted(maps.SUFFIXES))})")
    return found


def _truth_folder(folder: Path, layout: Layout, split: Split) -> tuple[Path, str]:
    """Return where the truths are, and the layout."""
    if not folder.is_dir():
        raise InputError(f"{folder}: does not exist; it must be the folder of truths")
    if layout == "folder":
        return folder, layout
    wanted = _PLACES if layout == "auto" else {layout: _PLACES[layout]}
    for kind, places in wanted.items():
        for place in (f"{root}/{each}" for each in places for root in _ROOTS):
            found = folder / place.format(split=split)
            if found.is_dir():
                return found, kind
    if layout == "auto":
        return folder, "folder"
    missing = _PLACES[layout][-1].format(split=split)
    raise InputError(f"{folder}: has no {missing}, where {layout} keeps its truths")


def _truths(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the name of each truth's image, and its file: NAME.png, or NAME/any.png."""
    found = [(file.stem, file) for file in _maps(folder, "truths")]
    for inner in sorted(each for each in folder.iterdir() if each.is_dir()):
        found += [(inner.name, file) for file in _maps(inner, "truths")]
    if not found:
        raise InputError(f"{folder}: has no truths ({', '.join(sorted(maps.SUFFIXES))})")
    return iter(found)


def _maps(folder: Path, what: str) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: does not exist; it must be the folder of {what}")
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in maps.SUFFIXES)
