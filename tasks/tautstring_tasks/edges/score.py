"""Scores of edge maps: ODS, OIS and AP, as defined by BSDS500 and Dollar's edge toolbox.

Suppression, thinning, matching and the curve are in C++ (tasks/cpp/edges).
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tqdm import tqdm

from tautstring_tasks import _native, files
from tautstring_tasks.edges import layouts, maps, plot
from tautstring_tasks.edges.layouts import Case, Layout, Split
from tautstring_tasks.edges.maps import Bytes, Counts, Floats, Point
from tautstring_tasks.errors import InputError, require

Preset = Literal["dexined", "rcf"]
Progress = Callable[[int], object]
"""Is called with the number of images that are finished."""

THRESHOLDS = tuple((k + 1) / 100 for k in range(_native.EDGE_THRESHOLDS))
REPORTS = (".csv", ".json")

_COUNTS = ("matched_truth", "truth", "matched_predicted", "predicted")


@dataclass(frozen=True)
class Suppression:
    """Parameters of non-maximum suppression.

    A pixel of value E stays if `factor` * E reaches the values up to `radius` pixels away on both
    sides across the edge. Those up to `border` pixels from the border are damped.
    """

    radius: int = 1
    border: int = 5
    factor: float = 1.03


PRESETS: dict[Preset, Suppression] = {
    "dexined": Suppression(),
    "rcf": Suppression(radius=2, factor=1.01),
}


@dataclass(frozen=True)
class Scores:
    """Scores of a set of images."""

    names: tuple[str, ...]
    counts: Counts
    """Of shape (images, thresholds, 4): matched true, true, matched predicted, predicted pixels."""
    curve: list[Point]
    ods: Point
    ois: Point
    """Its threshold is 0: each image has its own."""
    ap: float
    best: list[Point]
    """Of each image, at its own best threshold."""


def read(
    case: Case,
    suppression: Suppression | None = Suppression(),  # noqa: B008 - frozen
) -> tuple[Bytes, list[Bytes]]:
    """Read an image's prediction, suppress what is no maximum, and read its truths."""
    prediction = maps.read_prediction(case.prediction)
    truths = []
    for file in case.truths:
        for truth in maps.read_truths(file):
            if truth.shape != prediction.shape:
                raise InputError(
                    f"{file}: has {_size(truth.shape)} pixels, but the prediction "
                    f"{case.prediction} has {_size(prediction.shape)}"
                )
            truths.append(truth)
    if suppression is None:
        return maps.to_bytes(prediction), truths
    return suppressed(prediction, suppression), truths


def suppressed(prediction: Bytes | Floats, suppression: Suppression) -> Bytes:
    """Return a map without what is no maximum across its edge."""
    return _native.suppress_edges(maps.to_floats(prediction), **asdict(suppression))


def score_maps(
    names: Sequence[str],
    predictions: Sequence[Bytes],
    truths: Sequence[Sequence[Bytes]],
    max_dist: float = 0.0075,
    threads: int = 0,
    progress: Progress | None = None,
) -> Scores:
    """Score maps.

    Parameters
    ----------
    names
        Of the images.
    predictions
        Maps of 8 bits, already suppressed.
    truths
        The maps of each image's annotators: not 0 where an edge is.
    max_dist
        How far apart a predicted and a true pixel may be, as a fraction of the diagonal.
    threads
        Number of threads; 0: all that the machine has. Does not change the scores.
    progress
        Is called now and then, on the calling thread.
    """
    counts = _native.count_edges(
        predictions, truths, max_dist=max_dist, threads=threads, progress=progress
    )
    return scores_of(names, counts)


def scores_of(names: Sequence[str], counts: Counts) -> Scores:
    """Return the scores of counts of shape (images, thresholds, 4)."""
    curve, ods, ois, ap = _native.summarise_edges(counts)
    return Scores(tuple(names), counts, curve, ods, ois, ap, _native.best_edges(counts))


def score(
    predictions: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PREDICTIONS")],
    truths: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TRUTHS")],
    nms: bool = True,
    preset: Preset = "dexined",
    radius: int | None = None,
    border: int | None = None,
    factor: float | None = None,
    max_dist: float = 0.0075,
    layout: Layout = "auto",
    split: Split = "test",
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    plot_file: Annotated[Path | None, tyro.conf.arg(name="plot", metavar="FILE")] = None,
    as_json: Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff] = False,
    threads: int = 0,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Score edge maps against truths: ODS, OIS and AP, by the protocol of BSDS500.

    Maps are thinned by non-maximum suppression, cut at 99 thresholds and thinned to lines. Their
    pixels are matched one to one with true pixels nearby, as many as possible.

    Parameters
    ----------
    predictions
        Folder of maps: NAME.png (8 or 16 bits), NAME.npy ([0, 1] or bytes) or NAME.mat (one array).
    truths
        Folder of truths: NAME.png (two values) or NAME.mat (BSDS500's, all annotators in one file).
        Several annotators can also be NAME_1.png, NAME_2.png ... or NAME/1.png, NAME/2.png ... May
        be the top folder of BIPED, BSDS500 or MDBD.
    nms
        Suppress what is no maximum. --no-nms if the maps are results of that already.
    preset
        Parameters of the suppression: radius 1, border 5, factor 1.03 (DexiNed's), or 2, 5, 1.01
        (RCF's).
    radius
        A pixel is compared with those up to this far, on both sides. Default: the preset's.
    border
        Pixels up to this far from the border are damped. Default: the preset's.
    factor
        A pixel stays if its value times this reaches the others. Default: the preset's.
    max_dist
        How far apart a predicted and a true pixel may be, as a fraction of the diagonal.
    layout
        Where the truths are. auto looks for those of the data sets; folder takes TRUTHS as it is.
    split
        Part of BIPED or BSDS500.
    out
        Output file for a report per image (.csv or .json; .json has the counts of all thresholds).
    plot_file
        Output file for the plot of precision over recall (.png or .svg).
    as_json
        Print JSON: ods, ois and ap, their thresholds, and for each threshold the counts
        [matched_truth, truth, matched_predicted, predicted], summed over images.
    threads
        Number of threads. 0 takes all that the machine has; it does not change the scores.
    force
        Overwrite files that exist.
    """
    require("max-dist", max_dist, at_least=0, at_most=1)
    require("threads", threads, at_least=0)
    suppression = _suppression(preset, radius, border, factor) if nms else None
    _check_outputs(out, plot_file, force)
    found = layouts.cases(predictions, truths, layout, split)
    read_maps, read_truths = _read_all(found, suppression, threads)
    with tqdm(total=len(found), unit="image", desc="match", smoothing=0) as bar:
        scores = score_maps(
            [case.name for case in found],
            *(read_maps, read_truths, max_dist, threads),
            progress=lambda done: bar.update(done - bar.n),
        )
    settings = {
        "max_dist": max_dist,
        "nms": None if suppression is None else asdict(suppression),
    }
    annotators = [len(each) for each in read_truths]
    if out is not None:
        files.write_whole(out, _report(out.suffix.lower(), scores, annotators, settings), force)
    if plot_file is not None:
        label = predictions.resolve().name
        picture = plot.draw(scores.curve, scores.ods, label, plot_file.suffix)
        files.write_whole(plot_file, picture, force)
    print(json.dumps(summary(scores, settings)) if as_json else _text(scores))


def summary(scores: Scores, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "images": len(scores.names),
        **settings,
        **_named("ods", scores.ods),
        "ods_threshold": scores.ods[0],
        **_named("ois", scores.ois),
        "ois_thresholds": dict(zip(scores.names, (best[0] for best in scores.best), strict=True)),
        "ap": scores.ap,
        "thresholds": list(THRESHOLDS),
        "counts": scores.counts.sum(axis=0).tolist(),
    }


def _named(name: str, point: Point) -> dict[str, float]:
    return {name: point[3], f"{name}_recall": point[1], f"{name}_precision": point[2]}


def _text(scores: Scores) -> str:
    threshold, recall, precision, f = scores.ods
    lines = [
        f"ODS {f:.3f} (threshold {threshold:.2f}, recall {recall:.3f}, precision {precision:.3f})",
        f"OIS {scores.ois[3]:.3f} (recall {scores.ois[1]:.3f}, precision {scores.ois[2]:.3f})",
        f"AP  {scores.ap:.3f}",
        f"{len(scores.names)} image{'s' if len(scores.names) > 1 else ''}",
    ]
    return "\n".join(lines)


def _report(
    suffix: str, scores: Scores, annotators: Sequence[int], settings: dict[str, Any]
) -> bytes:
    """Return the file with each image's best threshold and what it gives."""
    rows = []
    for name, count, counts, best in zip(
        scores.names, annotators, scores.counts, scores.best, strict=True
    ):
        threshold, recall, precision, f = best
        at_best = counts[THRESHOLDS.index(threshold)].tolist()
        rows.append(
            {
                "image": name,
                "annotators": count,
                "threshold": threshold,
                "recall": recall,
                "precision": precision,
                "f": f,
                **dict(zip(_COUNTS, at_best, strict=True)),
            }
        )
    if suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    for row, counts in zip(rows, scores.counts, strict=True):
        row["counts"] = counts.tolist()
    return f"{json.dumps({**summary(scores, settings), 'per_image': rows}, indent=1)}\n".encode()


def _suppression(
    preset: Preset, radius: int | None, border: int | None, factor: float | None
) -> Suppression:
    default = PRESETS[preset]
    found = Suppression(
        default.radius if radius is None else radius,
        default.border if border is None else border,
        default.factor if factor is None else factor,
    )
    require("radius", found.radius, at_least=1, at_most=100)
    require("border", found.border, at_least=0, at_most=10000)
    require("factor", found.factor, above=0)
    return found


def _check_outputs(out: Path | None, plot_file: Path | None, force: bool) -> None:
    """Raise if a result cannot be written, before any work is done."""
    if out is not None and out.suffix.lower() not in REPORTS:
        raise InputError(f"--out {out}: the extension must be one of {', '.join(REPORTS)}")
    if plot_file is not None:
        plot.check(plot_file)
    for file in (out, plot_file):
        if file is None:
            continue
        files.prepare_place(file)
        if not force:
            files.require_free(file)


def _read_all(
    found: Sequence[Case], suppression: Suppression | None, threads: int
) -> tuple[list[Bytes], list[list[Bytes]]]:
    """Read all files before any is scored: an error comes at once."""
    read_maps, read_truths = [], []
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        try:
            reading = pool.map(lambda case: read(case, suppression), found)
            for prediction, truths in tqdm(reading, "read", len(found), unit="image", smoothing=0):
                read_maps.append(prediction)
                read_truths.append(truths)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return read_maps, read_truths


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, reversed(shape)))
