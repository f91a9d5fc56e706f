"""Colour image denoising by DnCNN, with total variation at its input, its output, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from tautstring_tasks import extras, images, nets, runs
from tautstring_tasks.arrays import Array
from tautstring_tasks.denoise.data import (
    TESTS,
    TRAIN,
    WHAT,
    NoiseOptions,
    generate,
    noisy_patches,
    with_test_noise,
)
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.devices import Precision, Share, testing
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.images import Pixels
from tautstring_tasks.patches import Patches
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import CONTROLS
from tautstring_tasks.task import Measure, PaperResults, Task, TestSet, Training, Values

# By arm and sigma: PSNR on the test sets.
_PAPER: dict[tuple[str, int], dict[str, tuple[float, ...]]] = {
    ("none", 25): {"CBSD68": (31.24,), "Kodak24": (32.14,), "McMaster": (31.52,)},
    ("none", 50): {"CBSD68": (27.95,), "Kodak24": (28.95,), "McMaster": (28.62,)},
    ("both", 25): {"CBSD68": (31.26,), "Kodak24": (32.15,), "McMaster": (32.32,)},
    ("both", 50): {"CBSD68": (28.07,), "Kodak24": (29.09,), "McMaster": (29.35,)},
}
_PHOTO = (slice(0, 200), slice(100, 340))  # of scikit-image's astronaut: her face


@dataclass(frozen=True)
class DenoiseTest:
    """The noise of the tests."""

    test_sigma: float | None = None
    """Standard deviation of the noise in tests; by default the one the net was trained against."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        if self.test_sigma is not None:
            require("test_sigma", self.test_sigma, at_least=0)


class Denoise(Task[ModelOptions, NoiseOptions, DenoiseTest]):
    """DnCNN removes the noise from colour images."""

    name = "denoise"
    title = "Colour image denoising"
    summary = "Remove noise from colour images."
    net = ModelOptions()
    data = NoiseOptions()
    test = DenoiseTest()
    recipe = Recipe()
    arms: ClassVar = {
        "none": "DnCNN",
        "zero": f"DnCNNTV, {CONTROLS['zero']}",
        "blur": f"DnCNN, {CONTROLS['blur']}",
        "input": "DnCNNTV, input",
        "output": "DnCNNTV, output",
        "both": "DnCNNTV, both",
    }
    sets = TESTS
    samples = "patches"
    items = "images"
    measures = (Measure("PSNR", "dB", 3), Measure("SSIM", "", 4))
    units = "Images are in [0, 1]; the loss is the mean absolute error."
    remark = (
        "The paper's DnCNN was not trained for it: it is another paper's net for noise of any "
        "strength. So compare our DnCNN with our DnCNNTV."
    )
    shipped = "both_sigma25"

    def make(self, net: ModelOptions) -> DnCNN:
        """Create a net."""
        return DnCNN(net)

    def training(
        self,
        folder: Path,
        net: ModelOptions,
        data: NoiseOptions,
        recipe: Recipe,
        device: torch.device,
    ) -> Training:
        """Return random patches of the training images, with fresh noise."""
        del net
        found = images.files_of(folder / TRAIN, WHAT)
        patches = Patches([images.read(file) for file in found], data.patch, device)

        def loss(called: Callable[[Tensor], Tensor], step: int, share: Share) -> Tensor:
            batch = noisy_patches(patches, recipe.batch, data.sigma, recipe.seed, step)
            return (called(share.of(batch.noisy)) - share.of(batch.clean)).abs().mean()

        return Training(loss, {TRAIN: {"images": len(found), "sha256": runs.hash_of_files(found)}})

    def tests(
        self, folder: Path, sets: Sequence[str], data: NoiseOptions, test: DenoiseTest
    ) -> dict[str, TestSet]:
        """Return test sets with KAIR's noise."""
        sigma = data.sigma if test.test_sigma is None else test.test_sigma
        return {name: _test_set(folder / name, sigma) for name in sets}

    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return a column for each test set, the paper's first."""
        known = [name for name in TESTS if name in scores]
        names = dict.fromkeys([*known, *scores])
        return {name: scores[name][measure.name].astype(np.float64) for name in names}

    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> Pixels:
        """Remove the noise from a photo."""
        pixels = torch.from_numpy(image.copy()).to(device)
        with testing(device, precision):
            return images.to_pixels(net(pixels.permute(2, 0, 1)[None].float() / 255))

    def generate(self, folder: Path) -> None:
        """Render a few small scenes for each set."""
        generate(folder)

    def condition(self, about: Mapping[str, Any]) -> str:
        """Return the noise of the tests, and that of the training where it is another."""
        trained, tested = about["options"]["sigma"], _tested_sigma(about)
        against = f", trained against {trained:g}" if trained != tested else ""
        return f"sigma {tested:g}{against}"

    def paper(self, about: Mapping[str, Any]) -> PaperResults:
        """Return the paper's PSNR for this noise."""
        return {arm: psnr for (arm, sigma), psnr in _PAPER.items() if sigma == _tested_sigma(about)}

    def figures(self, groups: Sequence[Sequence[Any]], folder: Path) -> str:
        """Plot a photo at the stages of the package's net for strong noise."""
        del groups
        extras.require("skimage", "denoise")
        file = self.weights()["both_sigma50"]
        net, about = nets.load(self, file)
        return _stages_section(net, about["options"]["sigma"], folder)


def _tested_sigma(about: Mapping[str, Any]) -> float:
    sigma = about["test"]["test_sigma"]
    return float(about["options"]["sigma"] if sigma is None else sigma)


def _test_set(folder: Path, sigma: float) -> TestSet:
    found = images.files_of(folder, WHAT)
    if len({file.stem for file in found}) < len(found):
        raise InputError(f"{folder}: image names must differ in more than their extensions")

    def score(net: nn.Module, device: torch.device, precision: Precision) -> dict[str, Array]:
        from tautstring_tasks.denoise import scores  # scikit-image takes a second to load

        pairs = []
        for file in tqdm(found, desc=folder.name, mininterval=1.0):
            clean = images.read(file)
            if min(clean.shape[:2]) < scores.SSIM_WINDOW:
                raise InputError(
                    f"{file}: must be at least {scores.SSIM_WINDOW} pixels wide and high for SSIM"
                )
            noisy = with_test_noise(clean, sigma).to(device)
            with testing(device, precision):
                result = images.to_pixels(net(noisy))
            pairs.append((scores.psnr(clean, result), scores.ssim(clean, result)))
        psnr, ssim = np.array(pairs).T
        return {"PSNR": psnr, "SSIM": ssim}

    extras.require("skimage", "denoise")
    return TestSet(score, {"items": len(found), "sha256": runs.hash_of_files(found)})


def _stages_section(net: nn.Module, sigma: float, folder: Path) -> str:
    """Plot a photo at the stages of a net, and return the section that shows it."""
    from matplotlib import pyplot as plt
    from skimage.data import astronaut

    from tautstring_tasks import reporting

    assert isinstance(net, DnCNN)
    noisy = with_test_noise(np.ascontiguousarray(astronaut()[_PHOTO]), sigma)
    with testing(noisy.device, "float32"):
        stages = net.stages(noisy)
    shown = {
        f"noisy, sigma {sigma:g}": noisy,
        "after the input's TV": stages.after_input,
        "before the output's TV": stages.before_output,
        "result": stages.result,
    }
    figure, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3))
    for axis, (title, image) in zip(axes, shown.items(), strict=True):
        axis.imshow(images.to_pixels(image))
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    reporting.save(figure, folder / "denoise_stages.png")
    return (
        "## A photo at each stage of the net\n\n"
        "![A photo at each stage of the net](images/denoise_stages.png)\n\n"
        "The net is the package's both_sigma50. The photo is NASA's portrait of Eileen Collins "
        "(public domain), as scikit-image has it.\n"
    )
