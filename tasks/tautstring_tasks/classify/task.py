"""Classification of CIFAR-10 by AllConv, and of its corrupted images, CIFAR-10-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from tqdm import tqdm

from tautstring_tasks import cifar10, cifar10c, runs
from tautstring_tasks.arrays import Array
from tautstring_tasks.cifar10 import CLASSES, SIZE, Bytes
from tautstring_tasks.classify.data import Batches, ClassifyOptions, scaled
from tautstring_tasks.classify.model import AllConv, AllConvOptions
from tautstring_tasks.devices import Precision, Share, testing
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.scores import Scored
from tautstring_tasks.sites import CONTROLS
from tautstring_tasks.task import Measure, PaperResults, Task, TestSet, Training, Values

CLEAN = "clean"
HELD_OUT = "held-out"
_TEST_BATCH = 250
_EPOCHS = 100
_ACCURACY = "accuracy"
_ALL = "all 15"
# The paper's columns, with the names of its glass and defocus exchanged (see `remark`).
_PAPER_COLUMNS = (
    CLEAN,
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur"),
    *("motion_blur", "zoom_blur", "snow", "frost", "fog", "brightness", "contrast"),
    *("elastic_transform", "pixelate", "jpeg_compression", _ALL),
)
_PAPER = {
    "none": (
        *(93.51, 36.2, 48.9, 46.6, 77.9, 46.7, 72.8, 71.9, 77.8),
        *(71.9, 82.5, 91.6, 67.1, 82.2, 72.2, 79.0, 68.4),
    ),
    "smooth": (
        *(93.61, 42.7, 55.0, 44.8, 79.4, 49.2, 74.5, 74.3, 79.4),
        *(75.3, 85.0, 92.1, 69.4, 81.8, 73.0, 78.4, 70.3),
    ),
    "sharp": (
        *(93.43, 40.6, 53.1, 46.5, 79.8, 50.3, 75.7, 73.9, 80.3),
        *(75.2, 86.2, 92.2, 74.4, 81.8, 72.6, 76.5, 70.6),
    ),
}


@dataclass(frozen=True)
class ClassifyTest:
    """What nets are tested on."""

    corrupted: Path | None = field(default=None, metadata=runs.PLACE)
    """Folder of CIFAR-10-C: what `cifar10c make` wrote, or the published files. Default: the folder
    CIFAR-10-C in the data folder."""
    corrupted_images: int = 0
    """Test only on the first images of each corrupted set and severity; 0: on all."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("corrupted_images", self.corrupted_images, at_least=0)


class Classify(Task[AllConvOptions, ClassifyOptions, ClassifyTest]):
    """AllConv classifies the images of CIFAR-10."""

    name = "classify"
    title = "Classification, and robustness to corrupted images"
    summary = "Classify the images of CIFAR-10, and corrupted ones."
    net = AllConvOptions()
    data = ClassifyOptions()
    test = ClassifyTest()
    recipe = Recipe(
        steps=_EPOCHS * 390,
        batch=128,
        optimizer="sgd",
        lr=0.1,
        last_lr=1e-6,
        lam_lr_factor=1.0,
        weight_decay=5e-4,
    )
    arms: ClassVar = {
        "none": "AllConv",
        "smooth": "TV-Smooth",
        "sharp": "TV-Sharp",
        "smooth-decayed": "TV-Smooth, lambda decayed",
        "sharp-decayed": "TV-Sharp, lambda decayed",
        "zero": f"TV-Smooth, {CONTROLS['zero']}",
        "blur": f"AllConv, {CONTROLS['blur']}",
    }
    sets = (CLEAN, *cifar10c.CORRUPTIONS)
    samples = "images"
    items = "images"
    measures = (Measure(_ACCURACY, "%", 2, scale=100),)
    units = "TV layers see the output of convolutions; the loss is the cross entropy."
    remark = (
        "The paper's columns Glass and Defocus are almost surely exchanged: in its files' usual "
        "order defocus comes first, and glass is far harder. Here its numbers are exchanged back."
    )
    makes_images = False
    is_paper_paired = True

    def make(self, net: AllConvOptions) -> AllConv:
        """Create a net."""
        return AllConv(net)

    def training(
        self,
        folder: Path,
        net: AllConvOptions,
        data: ClassifyOptions,
        recipe: Recipe,
        device: torch.device,
    ) -> Training:
        """Return batches of all images, epoch by epoch, mirrored and shifted."""
        del net
        samples = cifar10.load(folder, "train")
        batches = Batches(samples, recipe.batch, data, recipe.seed, device)

        def loss(called: Callable[[Tensor], Tensor], step: int, share: Share) -> Tensor:
            batch = batches.of_step(step)
            logits = called(share.of(batch.images))
            return nn.functional.cross_entropy(logits.float(), share.of(batch.labels))

        return Training(loss, {"CIFAR-10": _about(samples.images, samples.labels)})

    def tests(
        self, folder: Path, sets: Sequence[str], data: ClassifyOptions, test: ClassifyTest
    ) -> dict[str, TestSet]:
        """Return the clean test images, corrupted ones, and training images that were held out."""
        return {name: _test_set(folder, name, data, test) for name in sets}

    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return a column for each set, the mean over severities, and one for all corruptions."""
        found = {}
        for name, each in scores.items():
            is_right = each[measure.name].astype(np.float64)
            found[name] = is_right.mean(axis=0) if is_right.ndim > 1 else is_right
        if all(name in found for name in cifar10c.CORRUPTIONS):
            found[_ALL] = np.mean([found[name] for name in cifar10c.CORRUPTIONS], axis=0)
        return found

    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> str:
        """Say what is in the middle of a photo, of ten classes."""
        side = min(image.shape[:2])
        top, left = ((length - side) // 2 for length in image.shape[:2])
        square = Image.fromarray(image[top : top + side, left : left + side])
        small = np.asarray(square.resize((SIZE, SIZE), Image.Resampling.LANCZOS))
        with testing(device, precision):
            logits = net(scaled(small.copy()[None]).to(device)).float()
        shares = logits.softmax(1)[0].tolist()
        best = sorted(zip(shares, CLASSES, strict=True), reverse=True)[:3]
        return ", ".join(f"{name} {100 * share:.0f} %" for share, name in best)

    def generate(self, folder: Path) -> None:
        """Render a small data set of ten classes, with its corrupted images."""
        cifar10.generate(folder)
        draw = np.random.default_rng(0).integers
        overlays = [draw(0, 256, (200, 200, 3), np.uint8) for _ in cifar10c.OVERLAYS]
        test = cifar10.load(folder, "test")
        cifar10c.make(test, folder / "CIFAR-10-C", overlays=overlays, force=True)

    def paper(self, about: Mapping[str, object]) -> PaperResults:
        """Return the paper's accuracy."""
        del about
        return {
            arm: {name: (value,) for name, value in zip(_PAPER_COLUMNS, found, strict=True)}
            for arm, found in _PAPER.items()
        }

    def figures(self, groups: Sequence[Sequence[Scored]], folder: Path) -> str:
        """Plot accuracy over severity."""
        from tautstring_tasks.classify import figures

        return figures.severities(self, groups, folder)


def _about(images: Bytes, labels: Bytes) -> dict[str, object]:
    return {"items": len(labels), "sha256": runs.hash_of_arrays(images, labels)}


def _test_set(folder: Path, name: str, data: ClassifyOptions, test: ClassifyTest) -> TestSet:
    if name == HELD_OUT:
        if data.held_out == 0:
            raise InputError("--sets held-out: the net was trained on all images (see --held-out)")
        samples = cifar10.load(folder, "train")
        images, labels = (each[-data.held_out :] for each in (samples.images, samples.labels))
        return TestSet(*_scored(name, [images], labels))
    samples = cifar10.load(folder, "test")
    if name == CLEAN:
        return TestSet(*_scored(name, [samples.images], samples.labels))
    if name not in cifar10c.CORRUPTIONS:
        known = ", ".join((CLEAN, HELD_OUT, *cifar10c.CORRUPTIONS))
        raise InputError(f"--sets: must be one of {known}, got {name}")
    where = test.corrupted or folder / "CIFAR-10-C"
    severities = [
        cifar10c.load(where, name, severity, test.corrupted_images or None)
        for severity in cifar10c.SEVERITIES
    ]
    count = len(severities[0])
    if not np.array_equal(cifar10c.load_labels(where)[:count], samples.labels[:count]):
        raise InputError(f"{where}: belongs to other test images: its labels differ")
    return TestSet(*_scored(name, severities, samples.labels[:count]))


def _scored(
    name: str, severities: Sequence[Bytes], labels: Bytes
) -> tuple[Callable[..., dict[str, Array]], dict[str, object]]:
    """Return how a net is scored on images, and a description of these."""

    def score(net: nn.Module, device: torch.device, precision: Precision) -> dict[str, Array]:
        total = len(severities) * len(labels)
        with tqdm(total=total, desc=name, mininterval=1.0) as progress:
            rows = [
                list(_is_right(net, each, labels, device, precision, progress.update))
                for each in severities
            ]
        is_right = np.array([np.concatenate(row) for row in rows])
        return {_ACCURACY: is_right if len(severities) > 1 else is_right[0]}

    about = {"items": len(labels), "sha256": runs.hash_of_arrays(*severities, labels)}
    return score, about


def _is_right(
    net: nn.Module,
    images: Bytes,
    labels: Bytes,
    device: torch.device,
    precision: Precision,
    advance: Callable[[int], object],
) -> Iterator[Array]:
    for start in range(0, len(labels), _TEST_BATCH):
        batch = slice(start, start + _TEST_BATCH)
        values = scaled(np.array(images[batch])).to(device)
        with testing(device, precision):
            best = net(values).argmax(1).cpu().numpy()
        advance(len(best))
        yield best == labels[batch]
