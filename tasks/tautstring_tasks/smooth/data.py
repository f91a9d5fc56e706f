"""The images of BenchmarkEPS with their truths and votes, and the patches of a step."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from tautstring_tasks import files, images, matlab, runs, scenes
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.patches import Patches
from tautstring_tasks.training import step_generator

Split = Literal["train", "test"]

WHAT = (
    "The data folder has origin_images, gt_images and weight_matrix.mat, as published (on GitHub: "
    "zhufeida/Benchmark_EPS, folder dataset), or train, test and weights.csv. `tautstring_tasks "
    "smooth generate FOLDER` renders small scenes to try it out."
)
_LAST_OF_TRAINING = 400
_TRUTHS = 5
_VOTES = "weights.csv"
_COLUMNS = ("split", "image", "ground_truth", "weight")


@dataclass(frozen=True)
class PatchOptions:
    """What nets are trained on."""

    patch: int = 96
    """Width and height of the patches."""
    neighbourhood: float = 1.0
    """Weight of the loss's second term: the differences to the 24 pixels around each pixel."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("patch", self.patch, at_least=3)
        require("neighbourhood", self.neighbourhood, at_least=0)


@dataclass(frozen=True)
class Example:
    """An image, its truths, and the votes for each of these: parts of 1."""

    image: Path
    truths: tuple[Path, ...]
    votes: tuple[float, ...]

    def read(self) -> tuple[Pixels, Pixels]:
        """Return the pixels of the image and of its truths, of shape (truths, height, width, 3)."""
        pixels, truths = images.read(self.image), [images.read(file) for file in self.truths]
        for file, truth in zip(self.truths, truths, strict=True):
            if truth.shape != pixels.shape:
                raise InputError(f"{file}: has {_size(truth)} pixels, its image {_size(pixels)}")
        return pixels, np.stack(truths)


def examples(folder: Path, split: Split) -> list[Example]:
    """List the images of a split, sorted by name; the folder has one of two layouts."""
    if (folder / "origin_images").is_dir():
        found = _published(folder, split)
    elif (folder / _VOTES).is_file():
        found = _listed(folder, split)
    else:
        raise InputError(f"{folder}: has neither origin_images nor {_VOTES}. {WHAT}")
    if not found:
        raise InputError(f"{folder}: has no images of the split {split}. {WHAT}")
    return found


def about(found: Sequence[Example]) -> dict[str, Any]:
    """Describe images, with their truths and votes."""
    paths = [file for example in found for file in (example.image, *example.truths)]
    votes = np.array([vote for example in found for vote in example.votes])
    return {
        "items": len(found),
        "sha256": runs.hash_of_files(paths),
        "votes_sha256": runs.hash_of_arrays(votes),
    }


def _published(folder: Path, split: Split) -> list[Example]:
    """Read the matrix of votes: a row per image; images and their truths are numbered from 1."""
    file = folder / "weight_matrix.mat"
    matrix = matlab.load(file, "smooth").get("weight_matrix")
    if not isinstance(matrix, np.ndarray) or matrix.shape[1:] != (_TRUTHS,):
        raise InputError(f"{file}: must have a weight_matrix with {_TRUTHS} columns")
    found = []
    for number, row in enumerate(matrix, 1):
        if (number <= _LAST_OF_TRAINING) is not (split == "train"):
            continue
        image = folder / "origin_images" / f"{number:04}.png"
        truths = [
            folder / "gt_images" / f"{number:04}_{truth}.png" for truth in range(1, _TRUTHS + 1)
        ]
        for path in (image, *truths):
            if not path.is_file():
                raise InputError(f"{path}: does not exist. {WHAT}")
        found.append(_example(image, truths, row.tolist(), f"{file}: row {number}"))
    return found


def _listed(folder: Path, split: Split) -> list[Example]:
    """Read the list of votes; image NAME has the truths NAME_gt1, NAME_gt2, ..."""
    file = folder / _VOTES
    votes: dict[str, dict[str, float]] = {}
    for number, row in enumerate(csv.DictReader(files.read_text(file).splitlines()), 2):
        where = f"{file}: line {number}"
        values = _values(row, where)
        if values["split"] == split:
            of_image = votes.setdefault(values["image"], {})
            if values["ground_truth"] in of_image:
                raise InputError(f"{where}: is the second one for this truth")
            of_image[values["ground_truth"]] = _number(values["weight"], where)
    if not votes:
        return []
    place = folder / split
    known = {path.stem: path for path in images.files_of(place, WHAT)}
    found = []
    for name, of_image in sorted(votes.items()):
        names = [name, *(f"{name}_gt{truth}" for truth in of_image)]
        for each in names:
            if each not in known:
                raise InputError(f"{place / each}: there is no image of this name. {WHAT}")
        image, *truths = (known[each] for each in names)
        found.append(_example(image, truths, list(of_image.values()), f"{file}: {name}"))
    return found


def _values(row: Mapping[str, str | None], where: str) -> dict[str, str]:
    values = {column: row.get(column) for column in _COLUMNS}
    if None in values.values():
        raise InputError(f"{where}: must have the columns {', '.join(_COLUMNS)}")
    return {column: str(value) for column, value in values.items()}


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: the weight must be a number, got {text!r}") from None


def _example(image: Path, truths: Sequence[Path], votes: list[float], where: str) -> Example:
    if not all(math.isfinite(vote) and vote >= 0 for vote in votes) or sum(votes) == 0:
        raise InputError(f"{where}: weights must be at least 0, and one above, got {votes}")
    # A data set may have only some of the truths.
    return Example(image, tuple(truths), tuple(vote / sum(votes) for vote in votes))


def _size(pixels: Pixels) -> str:
    return f"{pixels.shape[1]} x {pixels.shape[0]}"


@dataclass(frozen=True)
class Batch:
    """Images of shape (N, 3, size, size), their truths (N, K, 3, size, size) and votes (N, K)."""

    images: Tensor
    truths: Tensor
    votes: Tensor


class VotedPatches:
    """Random patches of images with their truths, in any of 8 orientations."""

    def __init__(self, found: Sequence[Example], size: int, device: torch.device) -> None:
        """Hold all images in memory, with truths of weight 0 where one has fewer than others."""
        most = max(len(example.truths) for example in found)
        votes = np.zeros((len(found), most), np.float32)
        pictures = []
        for example, row in zip(found, votes, strict=True):
            pixels, truths = example.read()
            height, width, _ = pixels.shape
            row[: len(truths)] = example.votes
            picture = np.zeros((height, width, 1 + most, 3), np.uint8)
            picture[:, :, 0] = pixels
            picture[:, :, 1 : 1 + len(truths)] = truths.transpose(1, 2, 0, 3)
            pictures.append(picture.reshape(height, width, -1))
        self._patches = Patches(pictures, size, device)
        self._votes = torch.from_numpy(votes).to(device)

    def of_step(self, count: int, seed: int, step: int) -> Batch:
        """Draw the patches of a step."""
        generator = step_generator(seed, step, self._patches.device)
        pixels, picture = self._patches.draw(count, generator)
        layers = pixels.float().unflatten(1, (-1, 3))
        return Batch(layers[:, 0].contiguous(), layers[:, 1:], self._votes[picture])


def generate(folder: Path) -> None:
    """Render small scenes with a texture, and truths that keep less and less of it."""
    rows: list[tuple[object, ...]] = [_COLUMNS]
    for index in range(10):
        split = "train" if index < 8 else "test"
        generator = np.random.default_rng([7, index])
        scene = scenes.render(generator, height=64, width=80).astype(np.float64)
        y, x = np.mgrid[:64, :80]
        waves = np.sin(x * generator.uniform(0.5, 2)) * np.sin(y * generator.uniform(0.5, 2))
        texture = 12 * waves[..., None] + generator.normal(0, 6, scene.shape)
        votes = generator.multinomial(8, [1 / _TRUTHS] * _TRUTHS) + 1
        kept = {f"scene{index}": 1.0} | {
            f"scene{index}_gt{truth}": 0.3 / truth for truth in range(1, _TRUTHS + 1)
        }
        files.make_folder(folder / split)
        for name, part in kept.items():
            pixels = (scene + part * texture).clip(0, 255).round().astype(np.uint8)
            images.write(folder / split / f"{name}.png", pixels)
        rows += [
            (split, f"scene{index}", truth, f"{vote / votes.sum():.6f}")
            for truth, vote in enumerate(votes, 1)
        ]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    files.write_whole(folder / _VOTES, text.encode())
