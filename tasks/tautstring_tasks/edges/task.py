"""Edge detection by DexiNed, with total variation on its maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from tautstring_tasks import pooled, runs
from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import Precision, Share, testing
from tautstring_tasks.edges import data as edge_data
from tautstring_tasks.edges.data import CropOptions, Crops, Example
from tautstring_tasks.edges.maps import Bytes
from tautstring_tasks.edges.model import MULTIPLE, DexiNed, DexiNedOptions
from tautstring_tasks.edges.score import PRESETS, Scores, score_maps, scores_of, suppressed
from tautstring_tasks.errors import require
from tautstring_tasks.images import Pixels
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import CONTROLS
from tautstring_tasks.task import Measure, PaperResults, Task, TestSet, Training, Values

FUSED, AVERAGE, UNSUPPRESSED = "fused", "average", "fused, not suppressed"
KINDS = (FUSED, AVERAGE, UNSUPPRESSED)
CRISPNESS = "crispness"
_OTHERS = 1.1  # weight of pixels without an edge
_FUSED_WEIGHT = 1.3
_WEIGHTS = (0.7, 0.7, 1.1, 1.1, 0.3, 0.3)  # of the blocks' maps
_SUPPRESSION = PRESETS["dexined"]
# ODS, OIS and AP on BIPED.
_PAPER = {
    "HED": (0.829, 0.847, 0.869),
    "RCF": (0.843, 0.859, 0.882),
    "none": (0.859, 0.867, 0.905),
    "tv": (0.874, 0.879, 0.914),
}
_MEASURES = ("ODS", "OIS", "AP")


@dataclass(frozen=True)
class EdgeTest:
    """How edges are scored."""

    max_dist: float = 0.0075
    """How far apart a predicted and a true pixel may be, as a fraction of the diagonal."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("max_dist", self.max_dist, above=0, at_most=1)


class Edges(Task[DexiNedOptions, CropOptions, EdgeTest]):
    """DexiNed draws the edges of photos."""

    name = "edges"
    title = "Edge detection"
    summary = "Detect edges, and score maps of edges."
    net = DexiNedOptions()
    data = CropOptions()
    test = EdgeTest()
    recipe = Recipe(steps=12_000, batch=8, schedule="steps", lr=1e-4, drops=(0.6, 0.88))
    arms: ClassVar = {
        "none": "DexiNed",
        "tv": "DexiNed + TV",
        "zero": f"DexiNed + TV, {CONTROLS['zero']}",
        "blur": f"DexiNed, {CONTROLS['blur']}",
    }
    sets = tuple(edge_data.SETS)
    samples = "crops"
    items = "images"
    measures = tuple(Measure(name, "", 3, is_compared=True) for name in _MEASURES)
    units = "TV layers see logits; the loss is the weighted cross entropy, summed over maps."
    remark = (
        "ODS, OIS and AP are scores of all images together; intervals are by the jackknife over "
        "images. The paper's DexiNed is copied from another paper."
    )

    def make(self, net: DexiNedOptions) -> DexiNed:
        """Create a net."""
        return DexiNed(net)

    def training(
        self,
        folder: Path,
        net: DexiNedOptions,
        data: CropOptions,
        recipe: Recipe,
        device: torch.device,
    ) -> Training:
        """Return random crops of BIPED's training images."""
        del net
        found = edge_data.examples(folder, edge_data.TRAIN, "train")
        crops = Crops(found, data.crop, device)

        def loss(called: Callable[[Tensor], list[Tensor]], step: int, share: Share) -> Tensor:
            batch = crops.of_step(recipe.batch, recipe.seed, step)
            return weighted_loss(called(share.of(batch.images)), batch.edges, share)

        return Training(loss, {edge_data.TRAIN: _about(found)})

    def tests(
        self, folder: Path, sets: Sequence[str], data: CropOptions, test: EdgeTest
    ) -> dict[str, TestSet]:
        """Return test images; those of BSDS500 have several annotators."""
        del data
        return {name: _test_set(folder, name, test) for name in sets}

    def scores_stored(self) -> tuple[str, ...]:
        """Return the kinds of maps, of which counts are stored, and the crispness of fused maps."""
        return (*KINDS, CRISPNESS)

    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return all kinds of maps of each set."""
        return {
            f"{name}, {kind}": _jackknifed(each[kind], measure.name)
            for name, each in scores.items()
            for kind in KINDS
        }

    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> Pixels:
        """Draw the edges of a photo in black on white."""
        fused, _ = predicted(net, image, device, precision)
        return np.repeat(255 - fused[..., None], 3, axis=2)

    def generate(self, folder: Path) -> None:
        """Render small scenes with their edges."""
        edge_data.generate(folder)

    def figures(self, groups: Sequence[Sequence[Any]], folder: Path) -> str:
        """Plot precision over recall, tell how crisp maps are, and draw the package's nets."""
        from tautstring_tasks.edges import figures

        sections = (
            figures.curves(self, groups, folder),
            figures.crispness(self, groups),
            figures.pictures(self, folder),
        )
        return "\n".join(section for section in sections if section)

    def paper(self, about: Mapping[str, Any]) -> PaperResults:
        """Return the paper's results on BIPED."""
        del about
        return {arm: {f"BIPED, {FUSED}": found} for arm, found in _PAPER.items()}


def weighted_loss(maps: Sequence[Tensor], edges: Tensor, share: Share) -> Tensor:
    """Return the published loss: edges weigh as much as all other pixels of the batch."""
    rest = 1 - edges.mean()
    weight = share.of(torch.where(edges > 0, rest, _OTHERS * (1 - rest)))
    wanted = share.of(edges)
    total = torch.zeros((), device=edges.device)
    *others, fused = maps
    pairs = [*zip(_WEIGHTS, others, strict=False), (_FUSED_WEIGHT, fused)]
    for factor, logits in pairs:
        each = nn.functional.binary_cross_entropy_with_logits(logits.float(), wanted, weight)
        total = total + factor * len(wanted) * each
    return total * share.count  # gradients are averaged over processes


def _jackknifed(counts: Array, measure: str) -> Values:
    return pooled.jackknife(lambda each: _score(each, measure), counts.transpose(2, 0, 1))


def _score(counts: Array, measure: str) -> float:
    found: Scores = scores_of([""] * len(counts), np.ascontiguousarray(counts, np.int64))
    return {"ODS": found.ods[3], "OIS": found.ois[3], "AP": found.ap}[measure]


def _about(found: Sequence[Example]) -> dict[str, Any]:
    paths = [file for example in found for file in (example.image, *example.truths)]
    return {"items": len(found), "sha256": runs.hash_of_files(paths)}


def _test_set(folder: Path, name: str, test: EdgeTest) -> TestSet:
    found = edge_data.examples(folder, name, "test")

    def score(net: nn.Module, device: torch.device, precision: Precision) -> dict[str, Array]:
        maps: dict[str, list[Bytes]] = {kind: [] for kind in KINDS}
        truths, surviving = [], []
        for example in tqdm(found, desc=name, mininterval=1.0):
            pixels, true = example.read()
            fused, average = predicted(net, pixels, device, precision)
            thinned = suppressed(fused, _SUPPRESSION)
            of_kinds = (thinned, suppressed(average, _SUPPRESSION), fused)
            for kind, each in zip(KINDS, of_kinds, strict=True):
                maps[kind].append(each)
            surviving.append(thinned.sum() / max(fused.sum(), 1))
            truths.append(true)
        names = [example.image.stem for example in found]
        counts = {
            kind: _counted(names, each, truths, test, f"{name}, {kind}")
            for kind, each in maps.items()
        }
        return {**counts, CRISPNESS: np.array(surviving, np.float32)}

    return TestSet(score, _about(found))


def _counted(
    names: list[str], maps: list[Bytes], truths: list[list[Bytes]], test: EdgeTest, title: str
) -> Array:
    """Return counts of shape (thresholds, 4, images)."""
    with tqdm(total=len(maps), desc=title, mininterval=1.0) as bar:
        scores = score_maps(
            names, maps, truths, test.max_dist, progress=lambda done: bar.update(done - bar.n)
        )
    return scores.counts.transpose(1, 2, 0).astype(np.int32)


def predicted(
    net: nn.Module, image: Pixels, device: torch.device, precision: Precision
) -> tuple[Bytes, Bytes]:
    """Return the fused map and the average of all maps, each from 0 to 255 over the image."""
    height, width = image.shape[:2]
    pixels = torch.from_numpy(image.copy()).to(device).permute(2, 0, 1)[None].float()
    missing = (0, -width % MULTIPLE, 0, -height % MULTIPLE)
    padded = nn.functional.pad(edge_data.prepared(pixels), missing, mode="replicate")
    with testing(device, precision):
        logits = net(padded)
    maps = [_stretched(each[0, 0, :height, :width]) for each in logits]
    return maps[-1], np.mean(maps, axis=0).astype(np.uint8)


def _stretched(logits: Tensor) -> Bytes:
    values = logits.float().sigmoid()
    low, high = values.min(), values.max()
    stretched = 255 * (values - low) / (high - low).clamp(min=1e-12)
    found: Bytes = stretched.cpu().numpy().astype(np.uint8)
    return found
