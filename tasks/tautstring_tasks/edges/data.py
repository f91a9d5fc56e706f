"""The images of edge detection with their truths, and the crops of a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tautstring_tasks import files, images
from tautstring_tasks.edges import layouts, maps
from tautstring_tasks.edges.layouts import Layout, Split
from tautstring_tasks.edges.maps import Bytes
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.training import step_generator

# By data set: its folder in the data folder, its layout, its test images and its training images.
SETS: dict[str, tuple[Layout, str, str]] = {
    "BIPED": ("biped", "edges/imgs/test/rgbr", "edges/imgs/train/rgbr/real"),
    "BSDS500": ("bsds500", "data/images/test", "data/images/train"),
}
TRAIN = "BIPED"
WHAT = (
    "The data folder has BIPED (edges/imgs and edges/edge_maps, as published) and, to test on, "
    "BSDS500 (data/images and data/groundTruth; on GitHub: BIDS/BSDS500). `tautstring_tasks edges "
    "generate FOLDER` renders small ones to try it out."
)

_MEAN = (103.939, 116.779, 123.68)  # of ImageNet, in BGR
_EXPONENTS = (1.0, 0.75, 1.5)
_ANGLES = (0, 19, 46, 57, 90, 114, 138, 161, 180, 207, 230, 247, 270, 285, 322, 342)  # degrees
_EDGE_FROM = 0.8  # of an interpolated truth


@dataclass(frozen=True)
class CropOptions:
    """The crops that a net is trained on."""

    crop: int = 352
    """Width and height of the crops; a multiple of 16."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("crop", self.crop, at_least=16)
        if self.crop % 16:
            raise InputError(f"--crop: must be a multiple of 16, got {self.crop}")


@dataclass(frozen=True)
class Example:
    """An image and the files of its truths."""

    image: Path
    truths: tuple[Path, ...]

    def read(self) -> tuple[Pixels, list[Bytes]]:
        """Return the pixels and the truths of all annotators."""
        pixels = images.read(self.image)
        truths = [truth for file in self.truths for truth in maps.read_truths(file)]
        for truth in truths:
            if truth.shape != pixels.shape[:2]:
                raise InputError(
                    f"{self.image}: has {pixels.shape[1]} x {pixels.shape[0]} pixels, its truth "
                    f"{truth.shape[1]} x {truth.shape[0]}"
                )
        return pixels, truths


def examples(folder: Path, name: str, split: Split) -> list[Example]:
    """List the images of a data set, sorted by name."""
    if name not in SETS:
        raise InputError(f"--sets: must be one of {', '.join(SETS)}, got {name}")
    layout, test, train = SETS[name]
    found = images.files_of(folder / name / (test if split == "test" else train), WHAT)
    truths = layouts.truths_by_image(folder / name, layout, split)
    for file in found:
        if file.stem not in truths:
            raise InputError(f"{file}: has no truth of the same name")
    return [Example(file, tuple(truths[file.stem])) for file in found]


def prepared(pixels: Tensor) -> Tensor:
    """Return images of shape (N, 3, H, W), RGB in 0..255, as nets take them."""
    return pixels.flip(1) - pixels.new_tensor(_MEAN)[:, None, None]


@dataclass(frozen=True)
class Batch:
    """Images as nets take them, and where their edges are, of shape (N, 1, crop, crop)."""

    images: Tensor
    edges: Tensor


class Crops:
    """Random crops of images that are turned, mirrored and made brighter or darker.

    As in the augmentation of DexiNed, drawn afresh for each step: of the whole image or the square
    at its left or right end; turned by one of 16 angles, without what is beyond the borders.
    """

    def __init__(self, found: list[Example], size: int, device: torch.device) -> None:
        """Hold all images in memory; with several annotators the first one counts."""
        self.size, self._device = size, device
        self._pictures = []
        for example in found:
            pixels, truths = example.read()
            both = np.concatenate([pixels, 255 * truths[0][..., None]], axis=2)
            self._pictures.append(torch.from_numpy(both).to(device))
            height, width = pixels.shape[:2]
            least = min(min(_inside(height, height, a)) for a in _ANGLES)
            if min(least, *_inside(width, height, 46)) < size or width < height:
                raise InputError(
                    f"{example.image}: is too small for crops of {size} pixels that are turned, or "
                    f"upright ({width} x {height} pixels)"
                )

    def of_step(self, count: int, seed: int, step: int) -> Batch:
        """Draw the crops of a step."""
        generator = step_generator(seed, step, torch.device("cpu"))
        drawn = torch.rand(count, 7, generator=generator, dtype=torch.float64).tolist()
        crops = torch.stack([self._crop(*numbers) for numbers in drawn])
        edges = (crops[:, 3:] >= 255 * _EDGE_FROM).float()
        return Batch(prepared(crops[:, :3]), edges)

    def _crop(
        self,
        picture: float,
        frame: float,
        turn: float,
        mirror: float,
        light: float,
        down: float,
        along: float,
    ) -> Tensor:
        """Return a crop of shape (4, size, size) from numbers in [0, 1)."""
        pixels = self._pictures[int(picture * len(self._pictures))]
        height, width = pixels.shape[:2]
        # The middle and the width of the frame: the image, or the square at one of its ends.
        middle, wide = ((width / 2, width), (height / 2, height), (width - height / 2, height))[
            int(3 * frame)
        ]
        angle = _ANGLES[int(len(_ANGLES) * turn)]
        room_x, room_y = (side - self.size for side in _inside(wide, height, angle))
        # Whole pixels: what is turned by a right angle, or not at all, is not interpolated.
        offsets = torch.arange(self.size, device=self._device) - (self.size - 1) / 2
        x = offsets + math.trunc((along - 0.5) * room_x)
        y = offsets + math.trunc((down - 0.5) * room_y)
        if mirror < 0.5:
            x = -x
        cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        from_x = middle + cosine * x[None, :] - sine * y[:, None]
        from_y = height / 2 + sine * x[None, :] + cosine * y[:, None]
        grid = torch.stack([2 * from_x / width - 1, 2 * from_y / height - 1], dim=-1)
        source = pixels.permute(2, 0, 1)[None].float()
        crop = torch.nn.functional.grid_sample(source, grid[None], align_corners=False)[0]
        exponent = _EXPONENTS[int(len(_EXPONENTS) * light)]
        crop[:3] = 255 * (crop[:3] / 255) ** exponent
        return crop


def _inside(width: float, height: float, degrees: float) -> tuple[float, float]:
    """Return the sides of the largest upright rectangle in a rectangle that is turned."""
    sine, cosine = (abs(f(math.radians(degrees))) for f in (math.sin, math.cos))
    long, short = max(width, height), min(width, height)
    if short <= 2 * sine * cosine * long or abs(sine - cosine) < 1e-9:
        half = short / 2  # two corners touch the long sides
        sides = (half / sine, half / cosine) if width >= height else (half / cosine, half / sine)
    else:
        both = cosine**2 - sine**2
        sides = (
            (width * cosine - height * sine) / both,
            (height * cosine - width * sine) / both,
        )
    return abs(sides[0]), abs(sides[1])


def generate(folder: Path) -> None:
    """Render small scenes of rectangles with their borders, in the layouts of the data sets."""
    biped, bsds = folder / "BIPED" / "edges", folder / "BSDS500" / "data"
    for index in range(6):
        place = "train/rgbr/real"
        _write(biped / "imgs" / place, [biped / "edge_maps" / place], f"scene{index}", index)
    for index in range(6, 8):
        place = "test/rgbr"
        _write(biped / "imgs" / place, [biped / "edge_maps" / place], f"scene{index}", index)
    for index in range(8, 10):
        name = f"scene{index}"
        truths = [bsds / "groundTruth" / "test" / name] * 2  # of two annotators
        _write(bsds / "images" / "test", truths, name, index)


def _write(place: Path, truths: list[Path], name: str, seed: int) -> None:
    """Write a scene, and a truth of each annotator: the second one sees the upper half only."""
    scene, edges = render(np.random.default_rng(seed), height=96, width=128)
    files.make_folder(place)
    images.write(place / f"{name}.png", scene)
    for number, folder in enumerate(truths):
        files.make_folder(folder)
        seen = edges.copy()
        seen[len(edges) // (number + 1) :] = 0
        file = folder / (f"{name}.png" if len(truths) == 1 else f"{number + 1}.png")
        images.write(file, np.repeat(seen[..., None], 3, axis=2))


def render(generator: np.random.Generator, height: int, width: int) -> tuple[Pixels, Bytes]:
    """Return a scene of plain rectangles with some noise, and the borders of its regions."""
    labels = np.zeros((height, width), int)
    for label in range(1, 7):
        top, left = generator.integers(0, height - 20), generator.integers(0, width - 20)
        size_y, size_x = generator.integers(15, 50, 2)
        labels[top : top + size_y, left : left + size_x] = label
    colours = generator.integers(0, 256, (7, 3))
    noise = generator.normal(0, 6, (height, width, 3))
    scene = (colours[labels] + noise).clip(0, 255).astype(np.uint8)
    edges = np.zeros((height, width), bool)
    edges[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edges[1:] |= labels[1:] != labels[:-1]
    return scene, np.where(edges, np.uint8(255), np.uint8(0))
