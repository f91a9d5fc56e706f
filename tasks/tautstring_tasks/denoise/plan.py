"""The runs of a study: which of them are done, and the commands for the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautstring_tasks import checkpoints, images, jobs, runs
from tautstring_tasks.denoise import data, weights
from tautstring_tasks.denoise.model import Arm, ModelOptions, Precision
from tautstring_tasks.training import (
    WEIGHTS,
    Device,
    RunOptions,
    Share,
    TrainingOptions,
    describe,
    pick_device,
)


@dataclass(frozen=True)
class Run:
    """One of a study's runs; `out` is the study's folder."""

    out: Path
    arm: Arm
    sigma: float
    seed: int

    @property
    def place(self) -> Path:
        """The run's own folder."""
        return self.out / f"{self.arm}_sigma{self.sigma:g}_seed{self.seed}"

    @property
    def weights(self) -> Path:
        """The file that exists once the run is trained."""
        return self.place / WEIGHTS

    @property
    def scores(self) -> Path:
        """The file that exists once the run is scored."""
        return self.out / f"{self.place.name}.json"

    @property
    def is_trained(self) -> bool:
        """Whether its weights exist."""
        return self.weights.exists()

    def is_scored(self, precision: Precision) -> bool:
        """Whether it has scores of its current weights, for its noise and on all test sets."""
        if not self.scores.exists():
            return False
        found = runs.load_json(self.scores)
        wanted = {
            "weights_sha256": runs.hash_of_file(self.weights),
            "sigma": self.sigma,
            "precision": precision,
        }
        sets = found.get("sets")
        return (
            wanted.items() <= found.items() and isinstance(sets, dict) and {*sets} == {*data.TESTS}
        )


def trainings(
    planned: Sequence[Run], folder: Path, training: TrainingOptions, run: RunOptions
) -> list[jobs.Job]:
    """Return the commands for untrained runs; reject runs that were trained differently."""
    files = images.files_of(folder / data.TRAIN, data.WHAT)
    for name in data.TESTS:  # fail now, not after all training
        images.files_of(folder / name, data.WHAT)
    kept = frozenset({"seed", "minutes"})
    options = jobs.as_arguments(training, without=kept) + jobs.as_arguments(run, without=kept)
    device = pick_device(run.device)
    found = []
    for each in planned:
        noise = data.NoiseOptions(sigma=each.sigma)
        seeded = dataclasses.replace(training, seed=each.seed)
        if each.is_trained:
            about = weights.describe(ModelOptions(arm=each.arm), noise, files)
            about["training"] = describe(seeded, run, device, Share())
            checkpoints.check_about(each.weights, checkpoints.load_about(each.weights), about)
            continue
        own = ["--arm", each.arm, "--sigma", str(each.sigma), "--seed", str(each.seed)]
        paths = ["--data", str(folder), "--out", str(each.place)]
        command = ("denoise", "train", *paths, *own, *options)
        found.append(jobs.Job(command, each.place / "train.log"))
    return found


def tests(
    planned: Sequence[Run], folder: Path, device: Device, precision: Precision
) -> list[jobs.Job]:
    """Return the commands for runs that are trained but not scored."""
    found = []
    for each in planned:
        if each.is_trained and not each.is_scored(precision):
            paths = ["--weights", str(each.weights), "--out", str(each.scores)]
            how = ["--data", str(folder), "--device", device, "--precision", precision]
            command = ("denoise", "evaluate", *paths, *how)
            found.append(jobs.Job(command, each.place / "evaluate.log"))
    return found
