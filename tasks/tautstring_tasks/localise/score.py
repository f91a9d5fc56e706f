"""Scores of heat maps: MaxBoxAcc, MaxBoxAccV2 and PxAP, as wsolevaluation defines them.

Resizing, boxes of all thresholds, overlaps and counts of pixels are in C++ (tasks/cpp/localise).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import tyro
from tqdm import tqdm

from tautstring_tasks import _native, arrays, files, images
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.localise import boxes
from tautstring_tasks.localise.boxes import Boxed

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Overlaps = npt.NDArray[np.uint8]

LEVELS = (30, 50, 70)  # of intersection over union, in percent
V1_LEVEL = 50
REPORTS = (".csv", ".json")
# Which cut a threshold is: 255 t, rounded down, if the map's maximum is 255.
_CUTS = np.floor(np.arange(1000) * 0.001 * 255).astype(int)
THRESHOLDS: tuple[float, ...] = tuple(
    (np.searchsorted(_CUTS, np.arange(_native.HEAT_CUTS)) / 1000).tolist()
)
"""Of each cut, the lowest threshold."""

_AT_ONCE = 64  # images
_MOST_SIDE = 1 << 15  # of maps, in C++


@dataclass(frozen=True)
class Best:
    """The threshold at which most images are hit, and the part of them that is."""

    accuracy: float
    cut: int

    @property
    def threshold(self) -> float:
        """The lowest threshold of this cut."""
        return THRESHOLDS[self.cut]


@dataclass(frozen=True)
class Scores:
    """Scores of a set of images."""

    by_level: dict[int, Best]
    """MaxBoxAcc, by the level of intersection over union in percent."""
    v1: Best

    @property
    def v2(self) -> float:
        """MaxBoxAccV2: the mean over levels, each with its own threshold."""
        return float(np.mean([best.accuracy for best in self.by_level.values()]))


def scores_of(overlaps: Overlaps) -> Scores:
    """Return the scores of overlaps of shape (images, 2, cuts), in percent.

    Overlaps are those of all contours, and of the largest one.
    """
    by_level = {level: _best(overlaps[:, 0] >= level) for level in LEVELS}
    return Scores(by_level, _best(overlaps[:, 1] >= V1_LEVEL))


def _best(is_hit: npt.NDArray[np.bool_]) -> Best:
    accuracies = is_hit.mean(axis=0)
    cut = int(accuracies.argmax())
    return Best(float(accuracies[cut]), cut)


def pixel_precision(counts: npt.NDArray[np.int64]) -> float:
    """Return PxAP of counts of shape (2, bins): pixels of objects, and others, by their value."""
    found, wrong = counts[:, ::-1].cumsum(axis=1)
    precision = found / np.maximum(found + wrong, 1)
    gain = np.diff(found / found[-1], prepend=0)
    return float((precision * gain).sum())


def score(
    maps: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MAPS")],
    truths: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="BOXES")],
    masks: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
    ignored: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    as_json: Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff] = False,
    threads: int = 0,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Score heat maps against true boxes: MaxBoxAcc and MaxBoxAccV2, by wsolevaluation's protocol.

    Maps are resized to 224 x 224, stretched from 0 to 1 and cut at 1000 thresholds. An image is hit
    if the box of a contour overlaps a true one enough; the best threshold for all images counts.

    Parameters
    ----------
    maps
        Folder of maps of any size: NAME.npy, where the image's name is NAME, or NAME with an
        extension.
    truths
        Table of boxes, one line per box: image,width,height,x0,y0,x1,y1 in the image's pixels.
    masks
        Folder of masks, NAME.png or NAME/1.png, NAME/2.png ...: not 0 where an object is. With
        them PxAP is computed, too.
    ignored
        Folder of masks NAME.png: not 0 where pixels do not count, unless an object is there.
    out
        Output file for a report per image (.csv or .json; .json has the overlaps of all cuts).
    as_json
        Print JSON: max_box_acc by the level of intersection over union, max_box_acc_v2,
        max_box_acc_v1, px_ap (all in percent), and the thresholds at which they are reached.
    threads
        Number of threads. 0 takes all that the machine has; it does not change the scores.
    force
        Overwrite files that exist.
    """
    require("threads", threads, at_least=0)
    _check_output(out, force)
    if ignored is not None and masks is None:
        raise InputError("--ignored: needs --masks")
    found = boxes.read(truths)
    places = _places(maps, found)
    counts = np.zeros((2, _native.HEAT_BINS), np.int64)
    overlaps = []
    with tqdm(total=len(found), unit="image", smoothing=0) as bar:
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            read = [read_map(place) for place in places[start : start + _AT_ONCE]]
            scaled = [each.scaled() for each in some]
            overlaps.append(_native.score_heat(read, scaled, threads=threads))
            if masks is not None:
                wanted = [read_mask(masks, ignored, each.name) for each in some]
                counts += _native.count_heat(read, wanted, threads=threads)
            bar.update(len(some))
    if masks is not None and not counts[0].any():
        raise InputError(f"{masks}: no mask has a pixel of an object")
    all_overlaps = np.concatenate(overlaps)
    result = summary(scores_of(all_overlaps), len(found))
    if masks is not None:
        result["px_ap"] = 100 * pixel_precision(counts)
    if out is not None:
        content = _report(out.suffix.lower(), found, all_overlaps, result)
        files.write_whole(out, content, force)
    print(json.dumps(result) if as_json else _text(result))


def summary(scores: Scores, count: int) -> dict[str, Any]:
    """Return what `--json` prints."""
    named = {f"{level / 100:.1f}": best for level, best in scores.by_level.items()}
    return {
        "images": count,
        "max_box_acc": {name: 100 * best.accuracy for name, best in named.items()},
        "max_box_acc_v2": 100 * scores.v2,
        "max_box_acc_v1": 100 * scores.v1.accuracy,
        "best_thresholds": {name: best.threshold for name, best in named.items()},
        "best_threshold_v1": scores.v1.threshold,
    }


def _text(result: dict[str, Any]) -> str:
    by_level = [
        f"{value:.2f} at IoU {level} (threshold {result['best_thresholds'][level]:.3f})"
        for level, value in result["max_box_acc"].items()
    ]
    lines = [
        f"MaxBoxAcc   {', '.join(by_level)}",
        f"MaxBoxAccV2 {result['max_box_acc_v2']:.2f}",
        f"MaxBoxAccV1 {result['max_box_acc_v1']:.2f} (threshold {result['best_threshold_v1']:.3f})",
    ]
    if "px_ap" in result:
        lines.append(f"PxAP        {result['px_ap']:.2f}")
    lines.append(f"{result['images']} image{'s' if result['images'] > 1 else ''}")
    return "\n".join(lines)


def _report(
    suffix: str, found: Sequence[Boxed], overlaps: Overlaps, result: dict[str, Any]
) -> bytes:
    """Return the file with each image's overlaps at the set's best thresholds, in percent."""
    scores = scores_of(overlaps)
    rows: list[dict[str, Any]] = []
    for image, (of_all, of_largest) in zip(found, overlaps.tolist(), strict=True):
        at_best = {
            f"overlap_{level / 100:.1f}": of_all[best.cut]
            for level, best in scores.by_level.items()
        }
        row = {"image": image.name, "boxes": len(image.boxes), **at_best}
        rows.append({**row, "overlap_v1": of_largest[scores.v1.cut]})
    if suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    for row, (of_all, of_largest) in zip(rows, overlaps.tolist(), strict=True):
        row |= {"overlaps": of_all, "overlaps_v1": of_largest}
    content = {**result, "cut_thresholds": THRESHOLDS, "per_image": rows}
    return f"{json.dumps(content, indent=1)}\n".encode()


def _check_output(out: Path | None, force: bool) -> None:
    """Raise if the report cannot be written, before any work is done."""
    if out is None:
        return
    if out.suffix.lower() not in REPORTS:
        raise InputError(f"--out {out}: the extension must be one of {', '.join(REPORTS)}")
    files.prepare_place(out)
    if not force:
        files.require_free(out)


def _places(folder: Path, found: Sequence[Boxed]) -> list[Path]:
    """Return the files of all images' maps, before any is read."""
    if not folder.is_dir():
        raise InputError(f"{folder}: does not exist; it must be the folder of maps")
    return [_place(folder, image.name, ".npy", "map") for image in found]


def _place(folder: Path, name: str, suffix: str, what: str) -> Path:
    """Return the file of an image, whose name may have an extension of its own."""
    places = (folder / f"{name}{suffix}", (folder / name).with_suffix(suffix))
    for place in places:
        if place.exists():
            return place
    raise InputError(f"{places[1]}: does not exist; it must be the {what} of {name}")


def read_map(file: Path) -> Floats:
    """Read a heat map; it may have NaN, but nothing infinite."""
    values = arrays.read_npy(file)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"{file}: must be one map of shape (height, width), got {values.shape}")
    if max(values.shape) > _MOST_SIDE:
        raise InputError(
            f"{file}: must have at most {_MOST_SIDE} pixels per side, got {values.shape}"
        )
    if values.dtype.kind not in "buif":
        raise InputError(f"{file}: must have numbers, got {values.dtype}")
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(values, np.float32)
    if np.isinf(found).any():
        value = values[np.isinf(found)][0]
        raise InputError(f"{file}: values must be finite in float32, got {value:g}")
    return found


def read_mask(folder: Path, ignored: Path | None, name: str) -> Bytes:
    """Read the mask of an image in the size of heat maps as they are scored."""
    is_object = np.any([_read_mask(part) for part in _parts(folder, name)], axis=0)
    mask = np.where(is_object, np.uint8(1), np.uint8(0))
    if ignored is not None:
        is_ignored = _read_mask(_place(ignored, name, ".png", "mask of ignored pixels"))
        mask[is_ignored & ~is_object] = _native.IGNORED
    return mask


def _parts(folder: Path, name: str) -> list[Path]:
    """Return the masks of an image: one, or those in a folder of its name."""
    for inner in (folder / name, (folder / name).with_suffix("")):
        if inner.is_dir():
            found = [file for file in sorted(inner.iterdir()) if file.suffix.lower() == ".png"]
            if not found:
                raise InputError(f"{inner}: has no masks (.png)")
            return found
    return [_place(folder, name, ".png", "mask")]


def _read_mask(file: Path) -> npt.NDArray[np.bool_]:
    """Read where a mask is not 0, from the pixels that OpenCV's nearest interpolation takes."""
    values = images.read_grey(file)
    rows, columns = (
        np.minimum(np.floor(np.arange(to) * (1 / (to / side))).astype(int), side - 1)
        for to, side in zip(_native.HEAT_SIZE, values.shape, strict=True)
    )
    found: npt.NDArray[np.bool_] = values[rows][:, columns] != 0
    return found
