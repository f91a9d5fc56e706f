"""Weakly supervised localisation: class activation maps, with total variation on the features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

import tautstring
from tautstring_tasks import _native, pooled
from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import Precision, Share, testing
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.localise import data as images_data
from tautstring_tasks.localise import trunks
from tautstring_tasks.localise.data import Batches, Cache, Example, LocaliseData
from tautstring_tasks.localise.model import SIZE, Cam, LocaliseOptions
from tautstring_tasks.localise.score import LEVELS, V1_LEVEL
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import CONTROLS
from tautstring_tasks.task import Measure, PaperResults, Task, TestSet, Training, Values

TEST = "test"
OVERLAPS, LARGEST = "overlaps", "overlaps of the largest contour"
SPREAD, RIGHT = "standard deviation of features", "classified right"
V1, V2 = "MaxBoxAccV1", "MaxBoxAccV2"
_AT_LEVEL = {f"MaxBoxAcc at {level / 100:.1f}": level for level in LEVELS}
_TEST_BATCH = 32
_DRAWN_CUT = 51  # a fifth of the maximum, as in the paper that introduced these maps
_BOX_COLOUR = (0, 255, 0)
_HEAT_COLOURS = np.array([[0, 0, 128], [0, 128, 255], [255, 255, 0], [255, 0, 0]], np.float64)
# MaxBoxAccV2 on ImageNet.
_PAPER = {
    "vgg16": (60.13, 60.35),
    "inception_v3": (63.51, 63.80),
    "resnet50": (64.09, 65.36),
}


@dataclass(frozen=True)
class LocaliseTest:
    """How nets are tested."""

    test_lam: float | None = None
    """Lambda in tests, of a TV layer in any arm; default: as the net was trained."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        if self.test_lam is not None:
            require("test_lam", self.test_lam, at_least=0)


@dataclass(frozen=True)
class LocalisePlaces:
    """Where the frozen trunk is, and its features."""

    trunk: Path | None = None
    """State dict of the trunk, trained on ImageNet (.pth or .safetensors), with
    torchvision's names. Default: torchvision's, which is downloaded once."""
    cache: Path | None = None
    """Folder for the features of the frozen stages, which later runs read. Default: in memory."""


class Localise(Task[LocaliseOptions, LocaliseData, LocaliseTest]):
    """Nets that learn classes say where the objects are."""

    name = "localise"
    title = "Weakly supervised localisation"
    summary = "Find objects by class activation maps, and score heat maps against boxes."
    net = LocaliseOptions()
    data = LocaliseData()
    test = LocaliseTest()
    recipe = Recipe(
        steps=1000, batch=32, optimizer="sgd", schedule="steps", lr=1e-3, weight_decay=5e-4
    )
    places = LocalisePlaces()
    arms: ClassVar = {
        "none": "CAM",
        "tv": "CAM + TV",
        "zero": f"CAM + TV, {CONTROLS['zero']}",
        "blur": f"CAM, {CONTROLS['blur']}",
    }
    sets = (TEST,)
    samples = "images"
    items = "images"
    measures = tuple(Measure(name, "%", 2, scale=100) for name in (V2, *_AT_LEVEL, V1))
    units = "The TV layer sees the features before the head; the loss is the cross entropy."
    remark = (
        "Scores are those of all images together, each with its own best threshold; intervals are "
        "by the jackknife over images. The paper's numbers are ImageNet's: levels do not compare."
    )
    is_paper_paired = True

    def __init__(self) -> None:
        """Keep features of the trunk while the program runs, unless they are in files."""
        self._in_memory = Cache(None)

    def make(self, net: LocaliseOptions) -> Cam:
        """Create what is trained."""
        return Cam(net)

    def start(self, net: LocaliseOptions) -> Cam:
        """Create what is trained, with the upper stages of the trunk."""
        found = self.make(net)
        trunks.load(net, self.places.trunk).start(found)
        return found

    def rates(self, net: LocaliseOptions) -> dict[str, float]:
        """Let layers that were not in the trunk learn ten times as fast, or its last stage."""
        has_head = net.backbone in ("vgg16", "inception_v3")
        return {"head" if has_head else "stages": 10.0, "classes": 10.0}

    def condition(self, about: Mapping[str, Any]) -> str:
        """Name the backbone, and lambda in tests."""
        side = 28 if about["model"]["large"] else 14
        lam = about["test"]["test_lam"]
        parts = [about["model"]["backbone"], f"maps of {side} x {side}"]
        return ", ".join(parts + ([] if lam is None else [f"lambda {lam:g} in tests"]))

    def training(
        self,
        folder: Path,
        net: LocaliseOptions,
        data: LocaliseData,
        recipe: Recipe,
        device: torch.device,
    ) -> Training:
        """Return crops of the frozen trunk's features."""
        del data
        found = images_data.examples(folder, "train")
        labels = images_data.labels_of(found, net.classes, folder)
        trunk = trunks.load(net, self.places.trunk)
        side = 28 if net.large else 14
        batches: list[Batches] = []  # once they are asked for: a study only asks what the data are
        about = images_data.about(found)

        def loss(called: Callable[[Tensor], Tensor], step: int, share: Share) -> Tensor:
            if not batches:
                features = self._features(
                    net, trunk, found, about, images_data.TRAINED_SIZE, device
                )
                batches.append(Batches(features, labels, side, recipe.batch, recipe.seed, device))
            batch = batches[0].of_step(step)
            logits = called(share.of(batch.features))
            return nn.functional.cross_entropy(logits.float(), share.of(batch.labels))

        return Training(loss, {folder.resolve().name: {**about, "trunk": trunk.name}})

    def tests(
        self, folder: Path, sets: Sequence[str], data: LocaliseData, test: LocaliseTest
    ) -> dict[str, TestSet]:
        """Return the test images."""
        del data
        for name in sets:
            if name != TEST:
                raise InputError(f"--sets: must be {TEST}, got {name}")
        found = images_data.examples(folder, "test")
        about = images_data.about(found)

        def score(net: nn.Module, device: torch.device, precision: Precision) -> dict[str, Array]:
            cam = cast("Cam", net)
            labels = images_data.labels_of(found, cam.options.classes, folder)
            trunk = trunks.load(cam.options, self.places.trunk)
            trunk.require_own(cam)
            features = self._features(cam.options, trunk, found, about, SIZE, device)
            return _scores(cam, features[:, 0], labels, found, test, device, precision)

        return dict.fromkeys(sets, TestSet(score, about))

    def _features(
        self,
        options: LocaliseOptions,
        trunk: trunks.Trunk,
        found: Sequence[Example],
        about: Mapping[str, Any],
        size: int,
        device: torch.device,
    ) -> Array:
        cache = self._in_memory if self.places.cache is None else Cache(self.places.cache)
        lower = trunk.lower(options).to(device)
        about_lower = {"backbone": options.backbone, "large": options.large, "trunk": trunk.name}
        return cache.features(lower, about_lower, found, about, size, device)

    def scores_stored(self) -> tuple[str, ...]:
        """Return the names of what is stored per image."""
        return (OVERLAPS, LARGEST, SPREAD, RIGHT)

    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return the score of each set, as values per image."""
        return {name: _values(each, measure.name) for name, each in scores.items()}

    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> Pixels:
        """Draw the heat map of the most likely class over a photo, and the box of its object."""
        cam = cast("Cam", net)
        trunk = trunks.load(cam.options, self.places.trunk)
        trunk.require_own(cam)
        lower = trunk.lower(cam.options).to(device)
        with testing(device, precision):
            features = lower(images_data.resized(image, SIZE)[None].to(device))
            label = cam(features).argmax(1)
            heat = cam.maps(cam.tv(cam.features(features)), label).float()
        return drawn(image, _native.prepare_heat(heat[0].cpu().numpy()))

    def generate(self, folder: Path) -> None:
        """Render a small data set of three classes, and a trunk that was not trained."""
        images_data.generate(folder)
        trunks.save_random("mobilenet_v2", folder / "mobilenet_v2.safetensors", seed=0)

    def paper(self, about: Mapping[str, Any]) -> PaperResults:
        """Return the paper's MaxBoxAccV2, on ImageNet."""
        found = _PAPER.get(about["model"]["backbone"])
        if found is None:
            return {}
        return {arm: {TEST: (score,)} for arm, score in zip(("none", "tv"), found, strict=True)}


def _scores(
    net: Cam,
    features: Array,
    labels: Array,
    found: Sequence[Example],
    test: LocaliseTest,
    device: torch.device,
    precision: Precision,
) -> dict[str, Array]:
    """Return what is stored of each image; the last axis has the images."""
    overlaps, spreads, is_right = [], [], []
    with tqdm(total=len(found), unit="image", desc=TEST, mininterval=1.0) as bar:
        for start in range(0, len(found), _TEST_BATCH):
            batch = slice(start, start + _TEST_BATCH)
            lower = torch.from_numpy(np.array(features[batch])).to(device).float()
            wanted = torch.from_numpy(labels[batch]).to(device)
            with testing(device, precision):
                seen = net.features(lower)
                smooth = _smoothed(net, seen, test.test_lam)
                logits = net.classes(smooth.mean(dim=(2, 3)))
                maps = net.maps(smooth, wanted).float().cpu().numpy()
            truths = [example.boxed.scaled() for example in found[batch]]
            overlaps.append(_native.score_heat(list(maps), truths))
            spreads.append(seen.float().flatten(1).std(dim=1).cpu().numpy())
            is_right.append((logits.argmax(1) == wanted).cpu().numpy())
            bar.update(len(maps))
    of_all, of_largest = np.concatenate(overlaps).transpose(1, 2, 0)
    return {
        OVERLAPS: np.ascontiguousarray(of_all),
        LARGEST: np.ascontiguousarray(of_largest),
        SPREAD: np.concatenate(spreads),
        RIGHT: np.concatenate(is_right),
    }


def _smoothed(net: Cam, features: Tensor, lam: float | None) -> Tensor:
    """Return the features after the TV layer, or after one with another lambda."""
    if lam is None:
        smooth: Tensor = net.tv(features)
        return smooth
    layer = tautstring.TVLayer(1, lam=lam, mode="smooth", learnable=False).to(features.device)
    found: Tensor = layer(features)
    return found


def _values(scores: Mapping[str, Array], measure: str) -> Values:
    if measure == V1:
        return jackknifed([scores[LARGEST] >= V1_LEVEL])
    levels = LEVELS if measure == V2 else (_AT_LEVEL[measure],)
    return jackknifed([scores[OVERLAPS] >= level for level in levels])


def jackknifed(hits: Sequence[Array]) -> Values:
    """Return a value per image whose mean is the mean score of all images together.

    Hits are of shape (cuts, images): each score is that of its best cut.
    """
    count = hits[0].shape[1]
    whole = np.mean([each.mean(axis=1).max() for each in hits])
    if count == 1:
        return pooled.pseudo_values(float(whole), [])
    totals = [each.sum(axis=1, keepdims=True) for each in hits]
    without = [
        ((total - each) / (count - 1)).max(axis=0) for total, each in zip(totals, hits, strict=True)
    ]
    return pooled.pseudo_values(float(whole), np.mean(without, axis=0))


def drawn(image: Pixels, heat: Array) -> Pixels:
    """Return a photo under its heat map, with the box of the largest contour."""
    height, width = image.shape[:2]
    rows = np.arange(height) * len(heat) // height
    columns = np.arange(width) * heat.shape[1] // width
    shares = np.linspace(0, 1, len(_HEAT_COLOURS))
    colours = np.stack([np.interp(heat, shares, each) for each in _HEAT_COLOURS.T], axis=2)
    found: Pixels = (image / 2 + colours[rows][:, columns] / 2).astype(np.uint8)
    _, largest = _native.heat_boxes((heat * 255).astype(np.uint8))
    x0, y0, x1, y1 = largest[_DRAWN_CUT].tolist()
    left, right = x0 * width // heat.shape[1], min(-(-(x1 + 1) * width // heat.shape[1]), width)
    top, bottom = y0 * height // len(heat), min(-(-(y1 + 1) * height // len(heat)), height)
    thick = max(1, min(height, width) // 150)
    for frame in (
        (slice(top, top + thick), slice(left, right)),
        (slice(max(bottom - thick, top), bottom), slice(left, right)),
        (slice(top, bottom), slice(left, left + thick)),
        (slice(top, bottom), slice(max(right - thick, left), right)),
    ):
        found[frame] = _BOX_COLOUR
    return found
