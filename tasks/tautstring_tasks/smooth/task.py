"""Edge-preserving smoothing of photos, scored against the truths of BenchmarkEPS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from tautstring_tasks import extras, images, nets, pooled
from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import Precision, Share, testing
from tautstring_tasks.errors import InputError
from tautstring_tasks.images import Pixels
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import CONTROLS
from tautstring_tasks.smooth import data as eps
from tautstring_tasks.smooth.data import Batch, Example, PatchOptions, Split, VotedPatches
from tautstring_tasks.smooth.model import Oracle, SmoothOptions, make_net
from tautstring_tasks.task import Measure, PaperResults, Task, TestSet, Training, Values

WMAE, WRMSE = "WMAE", "WRMSE"
_SPLITS: dict[str, Split] = {"test": "test", "train": "train"}
_NAME = "BenchmarkEPS"
_WHOLE_TEST = 100  # images
# WMAE and WRMSE on the whole test split.
_PAPER = {
    "L1 smoothing": (5.76, 9.89),
    "vdcnn": (6.15, 9.78),
    "none": (5.55, 9.03),
    "tv": (5.47, 8.87),
}
# One of each pair o and -o of the 5 x 5 neighbourhood.
_OFFSETS = [(y, x) for y in range(3) for x in range(-2, 3) if (y, x) > (0, 0)]


@dataclass(frozen=True)
class SmoothTest:
    """How nets are tested: always on whole images."""


class Smooth(Task[SmoothOptions, PatchOptions, SmoothTest]):
    """ResNet smooths photos and keeps their edges."""

    name = "smooth"
    title = "Edge-preserving smoothing"
    summary = "Smooth photos and keep their edges."
    net = SmoothOptions()
    data = PatchOptions()
    test = SmoothTest()
    recipe = Recipe(steps=345_000, batch=4, lr=1e-4, last_lr=1e-4)
    arms: ClassVar = {
        "none": "ResNet",
        "tv": "ResNetTV",
        "zero": f"ResNetTV, {CONTROLS['zero']}",
        "blur": f"ResNet, {CONTROLS['blur']}",
        "vdcnn": "VDCNN",
        "single": "TV alone, one lambda",
        "image": "TV alone, lambda predicted per image",
        "map": "TV alone, lambda predicted per edge",
        "oracle": "TV alone, best lambda of each image (uses its truths)",
    }
    compared_with = ("none", "single")
    sets = ("test",)
    samples = "patches"
    items = "images"
    measures = (Measure("Error", "levels", 3),)
    units = "Images are in 0..255; the loss has the neighbourhood term."
    remark = (
        "Lower is better. Errors are those of all images together; intervals are by the jackknife "
        "over images. On the 100 test images the unchanged image has a WMAE of 9.025 and a WRMSE "
        "of 13.476, the truth with most votes 4.226 and 8.671. The paper's ResNet, VDCNN and L1 "
        "smoothing seem to be copied from the benchmark's paper; its final lambda is 15.1."
    )

    def make(self, net: SmoothOptions) -> nn.Module:
        """Create a net."""
        return make_net(net)

    def training(
        self,
        folder: Path,
        net: SmoothOptions,
        data: PatchOptions,
        recipe: Recipe,
        device: torch.device,
    ) -> Training:
        """Return random patches of the training images."""
        del net
        found = eps.examples(folder, "train")
        patches = VotedPatches(found, data.patch, device)

        def loss(called: Callable[[Tensor], Tensor], step: int, share: Share) -> Tensor:
            batch = patches.of_step(recipe.batch, recipe.seed, step)
            mine = Batch(*(share.of(each) for each in (batch.images, batch.truths, batch.votes)))
            return voted_loss(called(mine.images), mine, data.neighbourhood)

        return Training(loss, {_NAME: eps.about(found)})

    def tests(
        self, folder: Path, sets: Sequence[str], data: PatchOptions, test: SmoothTest
    ) -> dict[str, TestSet]:
        """Return the test images; `train` has the images that nets were trained on."""
        del data, test
        return {name: _test_set(folder, name) for name in sets}

    def scores_stored(self) -> tuple[str, ...]:
        """Return the names of each image's sums, of which the scores are made."""
        return ("absolute", "squared", "values")

    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return WMAE and WRMSE of each set."""
        del measure
        found = {}
        for name, sums in scores.items():
            of_images = np.stack([sums[each] for each in self.scores_stored()], axis=1)
            found[f"{name}, {WMAE}"] = pooled.jackknife(wmae, of_images)
            found[f"{name}, {WRMSE}"] = pooled.jackknife(wrmse, of_images)
        return found

    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> Pixels:
        """Smooth a photo."""
        return images.to_pixels(_smoothed(net, image, device, precision) / 255)

    def generate(self, folder: Path) -> None:
        """Render small scenes with a texture, and their truths."""
        eps.generate(folder)

    def condition(self, about: Mapping[str, Any]) -> str:
        """Return the size of the net."""
        return f"{about['model']['channels']} channels, {about['model']['blocks']} blocks"

    def paper(self, about: Mapping[str, Any]) -> PaperResults:
        """Return the paper's errors, if these are comparable."""
        if about["sets"].get("test", {}).get("items") != _WHOLE_TEST:
            return {}
        columns = (f"test, {WMAE}", f"test, {WRMSE}")
        return {
            arm: {column: (error,) for column, error in zip(columns, found, strict=True)}
            for arm, found in _PAPER.items()
        }

    def figures(self, groups: Sequence[Sequence[Any]], folder: Path) -> str:
        """Plot what the package's nets do to a photo."""
        del groups
        found = [(name, nets.load(self, file)[0]) for name, file in self.weights().items()]
        if not found:
            return ""
        extras.require("skimage", "smooth")
        from tautstring_tasks.smooth import figures

        return "\n".join(figures.section(name, net, folder) for name, net in found)


def voted_loss(smoothed: Tensor, batch: Batch, neighbourhood: float) -> Tensor:
    """Return the mean distance to the truths by their votes, of pixels and of differences.

    The differences are those to the 24 pixels around each one, as far as the patch has them; an
    absolute difference counts for both of its pixels.
    """
    # Votes are at least 0, so they can be inside of all absolute values; and the difference of
    # two images' differences is that of the images' difference.
    off = (smoothed[:, None] - batch.truths) * batch.votes[:, :, None, None, None]
    truths = off.shape[1]
    loss = off.abs().mean() * truths
    for y, x in _OFFSETS if neighbourhood else ():
        here = off[..., : off.shape[-2] - y, max(0, -x) : off.shape[-1] - max(0, x)]
        there = off[..., y:, max(0, x) : off.shape[-1] + min(0, x)]
        loss = loss + (there - here).abs().mean() * (2 * neighbourhood * truths)
    return loss


def wmae(images: Array) -> float:
    """Return the error of images from their sums, of shape (images, 3)."""
    absolute, _, values = images.sum(axis=0)
    return float(absolute / values)


def wrmse(images: Array) -> float:
    """Return the root of the mean squared error of images from their sums."""
    _, squared, values = images.sum(axis=0)
    return float(np.sqrt(squared / values))


def sums_of(image: Tensor, truths: Tensor, votes: Tensor) -> tuple[float, float, int]:
    """Return the absolute and the squared errors by votes, summed, and the number of values."""
    off = image - truths
    absolute = off.abs().sum(dim=(1, 2, 3)) @ votes
    squared = off.square().sum(dim=(1, 2, 3)) @ votes
    return float(absolute), float(squared), image.numel()


def _test_set(folder: Path, name: str) -> TestSet:
    if name not in _SPLITS:
        raise InputError(f"--sets: must be one of {', '.join(_SPLITS)}, got {name}")
    found = eps.examples(folder, _SPLITS[name])

    def score(net: nn.Module, device: torch.device, precision: Precision) -> dict[str, Array]:
        sums = []
        for example in tqdm(found, desc=name, mininterval=1.0):
            sums.append(_sums_of(net, example, device, precision))
        absolute, squared, values = zip(*sums, strict=True)
        return {
            "absolute": np.array(absolute),
            "squared": np.array(squared),
            "values": np.array(values),
        }

    return TestSet(score, eps.about(found))


def _sums_of(
    net: nn.Module, example: Example, device: torch.device, precision: Precision
) -> tuple[float, float, int]:
    pixels, read = example.read()
    truths = torch.from_numpy(read).to(device).permute(0, 3, 1, 2).double()
    votes = truths.new_tensor(example.votes)

    def sums(smoothed: Tensor) -> tuple[float, float, int]:
        return sums_of(smoothed.clamp(0, 255).double(), truths, votes)

    if isinstance(net, Oracle):
        best = net.best(_as_tensor(pixels, device), lambda each: sums(each)[0])
        return sums(best)
    return sums(_smoothed(net, pixels, device, precision))


def _smoothed(net: nn.Module, image: Pixels, device: torch.device, precision: Precision) -> Tensor:
    with testing(device, precision):
        smoothed: Tensor = net(_as_tensor(image, device))
    return smoothed


def _as_tensor(image: Pixels, device: torch.device) -> Tensor:
    return torch.from_numpy(image.copy()).to(device).permute(2, 0, 1)[None].float()
