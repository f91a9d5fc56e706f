"""Images with a class and boxes, and the features of a frozen trunk."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from tautstring_tasks import files, images, runs
from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import testing
from tautstring_tasks.epochs import EpochOrder
from tautstring_tasks.errors import InputError
from tautstring_tasks.images import Pixels
from tautstring_tasks.localise import boxes
from tautstring_tasks.localise.boxes import Boxed
from tautstring_tasks.localise.model import Lower
from tautstring_tasks.training import step_generator

Split = Literal["train", "test"]

INDEX = "index.csv"
WHAT = (
    "The data folder has index.csv (split,image,label,width,height,x0,y0,x1,y1) with the folders "
    "train and test, or CUB-200-2011 as published (images.txt, bounding_boxes.txt ... and the "
    "folder images). `tautstring_tasks localise generate FOLDER` renders a small one to try it out."
)
TRAINED_SIZE = 256  # of images in training, which are cropped
_BATCH = 16
_RENDERED, _RENDERED_TRAIN = 24, 18  # images of `generate`
_CUB = ("images", "image_class_labels", "train_test_split", "bounding_boxes")


@dataclass(frozen=True)
class LocaliseData:
    """What nets are trained on: all training images."""


@dataclass(frozen=True)
class Example:
    """An image with its class."""

    file: Path
    label: int
    boxed: Boxed


def examples(folder: Path, split: Split) -> list[Example]:
    """List the images of a split."""
    if (folder / INDEX).exists():
        found = _of_index(folder, split)
    elif (folder / "images.txt").exists():
        found = _of_cub(folder, split)
    else:
        raise InputError(f"{folder}: has neither {INDEX} nor images.txt. {WHAT}")
    if not found:
        raise InputError(f"{folder}: has no {split} images. {WHAT}")
    for example in found:
        if not example.file.exists():
            raise InputError(f"{example.file}: does not exist. {WHAT}")
    return found


def _of_index(folder: Path, split: Split) -> list[Example]:
    file = folder / INDEX
    boxed = boxes.read(file)
    lines = list(csv.DictReader(io.StringIO(files.read_text(file))))
    if not {"split", "label"} <= lines[0].keys():
        raise InputError(f"{file}: must have the columns split and label. {WHAT}")
    labels = {line["image"]: (line["split"], line["label"]) for line in lines}
    found = []
    for each in boxed:
        of_split, label = labels[each.name]
        if of_split == split:
            found.append(Example(folder / split / each.name, _label(file, label), each))
    return found


def _of_cub(folder: Path, split: Split) -> list[Example]:
    tables = {name: _table(folder / f"{name}.txt") for name in _CUB}
    found = []
    for number, (name,) in tables["images"].items():
        try:
            label, is_train, box = (tables[table][number] for table in _CUB[1:])
        except KeyError:
            raise InputError(f"{folder}: image {number} ({name}) is not in all tables") from None
        if (is_train == ["1"]) != (split == "train"):
            continue
        file = folder / "images" / name
        try:
            with Image.open(file) as image:
                width, height = image.size
            x, y, wide, high = map(float, box)
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: its size or box cannot be read ({error})") from None
        found.append(
            Example(
                file,
                _label(folder / "image_class_labels.txt", label[0]) - 1,
                Boxed(
                    *(name, width, height),
                    ((max(x, 0), max(y, 0), min(x + wide, width), min(y + high, height)),),
                ),
            )
        )
    return found


def _table(file: Path) -> dict[str, list[str]]:
    lines = [line.split() for line in files.read_text(file).splitlines() if line.strip()]
    return {number: values for number, *values in lines}


def _label(file: Path, text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"{file}: a label must be a number, got {text}")
    return int(text)


def labels_of(found: Sequence[Example], classes: int, folder: Path) -> npt.NDArray[np.int64]:
    """Return the labels of images; reject a net with another number of classes."""
    labels = np.array([example.label for example in found], np.int64)
    if labels.max() >= classes:
        raise InputError(f"--classes {classes}: {folder} has the label {labels.max()}")
    return labels


def about(found: Sequence[Example]) -> dict[str, Any]:
    """Describe images and what is known about them."""
    facts = hashlib.sha256(
        "\n".join(f"{each.boxed} {each.label}" for each in found).encode()
    ).hexdigest()
    pictures = runs.hash_of_files([each.file for each in found])
    return {
        "items": len(found),
        "sha256": hashlib.sha256(f"{facts} {pictures}".encode()).hexdigest(),
    }


def resized(pixels: Pixels, size: int) -> Tensor:
    """Return an image in 0..255 of shape (3, size, size)."""
    image = Image.fromarray(pixels).resize((size, size), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).float()


class Cache:
    """Features of a frozen trunk in half precision: in memory, or in files of a folder."""

    def __init__(self, folder: Path | None) -> None:
        """Keep features in a folder, if there is one, for later runs."""
        self._folder = folder
        self._kept: dict[str, Array] = {}

    def features(
        self,
        lower: Lower,
        about_lower: Mapping[str, Any],
        found: Sequence[Example],
        about_images: Mapping[str, Any],
        size: int,
        device: torch.device,
    ) -> Array:
        """Return features of shape (images, 2, channels, side, side): as it is, and mirrored.

        In tests (`size` SIZE) images are only as they are: the second axis has one item.
        """
        facts = f"{lower} {about_lower} {about_images} {size}"
        key = hashlib.sha256(facts.encode()).hexdigest()[:24]
        if key in self._kept:
            return self._kept[key]
        file = None if self._folder is None else self._folder / f"{key}.npy"
        if file is not None and file.exists():
            kept: Array = np.load(file, mmap_mode="r")
            return kept
        features = _features(lower, found, size, device)
        if file is None:
            self._kept[key] = features
        else:
            with files.whole(file) as opened:
                np.save(opened, features)
        return features


def _features(lower: Lower, found: Sequence[Example], size: int, device: torch.device) -> Array:
    features = np.empty(0)
    with tqdm(total=len(found), unit="image", desc="features", mininterval=1.0) as bar:
        for start in range(0, len(found), _BATCH):
            some = found[start : start + _BATCH]
            pixels = torch.stack([resized(images.read(each.file), size) for each in some])
            sides = [pixels, pixels.flip(3)] if size == TRAINED_SIZE else [pixels]
            with testing(device, "float32"):
                made = np.stack([lower(each.to(device)).cpu().half().numpy() for each in sides], 1)
            if start == 0:  # may be gigabytes, so there is only one copy
                features = np.empty((len(found), *made.shape[1:]), made.dtype)
            features[start : start + len(some)] = made
            bar.update(len(some))
    return features


@dataclass(frozen=True)
class Batch:
    """Features of the frozen trunk, and the labels of their images."""

    features: Tensor
    labels: Tensor


class Batches:
    """Training batches: each image once per epoch, mirrored or not, cropped to `side` features."""

    def __init__(
        self,
        features: Array,
        labels: npt.NDArray[np.int64],
        side: int,
        batch: int,
        seed: int,
        device: torch.device,
    ) -> None:
        """Take the features of all images."""
        self._features, self._labels = features, torch.from_numpy(labels)
        self._side, self._seed, self._device = side, seed, device
        self._order = EpochOrder(len(labels), batch, seed, torch.device("cpu"))

    def of_step(self, step: int) -> Batch:
        """Return the batch of a step."""
        chosen = self._order.of_step(step)
        generator = step_generator(self._seed, step, torch.device("cpu"))
        room = self._features.shape[-1] - self._side + 1
        is_mirrored = torch.randint(0, 2, (len(chosen),), generator=generator)
        top, left = torch.randint(0, room, (2, len(chosen)), generator=generator)
        crops = np.stack(
            [
                self._features[i, m, :, y : y + self._side, x : x + self._side]
                for i, m, y, x in zip(
                    *(each.tolist() for each in (chosen, is_mirrored, top, left)), strict=True
                )
            ]
        )
        features = torch.from_numpy(crops).to(self._device).float()
        return Batch(features, self._labels[chosen].to(self._device))


def generate(folder: Path) -> None:
    """Render noisy images with a shape each: three classes, with their boxes."""
    rows = []
    for number in range(_RENDERED):
        split = "train" if number < _RENDERED_TRAIN else "test"
        files.make_folder(folder / split)
        generator = np.random.default_rng(number)
        label = number % 3
        pixels, box = _shape(generator, label)
        name = f"shape{number}.png"
        images.write(folder / split / name, pixels)
        rows.append([split, name, label, *pixels.shape[1::-1], *box])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["split", "image", "label", *boxes.COLUMNS[1:]])
    writer.writerows(rows)
    files.write_whole(folder / INDEX, text.getvalue().encode())


def _shape(generator: np.random.Generator, label: int) -> tuple[Pixels, tuple[int, ...]]:
    """Return an image of a square, a disc or a cross in front of noise, and its box."""
    height, width = generator.integers(60, 90, 2)
    pixels = generator.integers(0, 120, (height, width, 3)).astype(np.uint8)
    side = int(generator.integers(20, 45))
    top, left = int(generator.integers(0, height - side)), int(generator.integers(0, width - side))
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    square, disc = np.full_like(x, True, bool), x**2 + y**2 <= 1.01
    cross = np.minimum(abs(x), abs(y)) < 0.4
    is_in = (square, disc, cross)[label]
    pixels[top : top + side, left : left + side][is_in] = generator.integers(150, 256, 3)
    return pixels, (left, top, left + side - 1, top + side - 1)
