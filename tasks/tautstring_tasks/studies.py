"""Studies: nets of several arms and seeds, trained and scored alike."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tautstring_tasks import checkpoints, jobs, nets, runs, scores
from tautstring_tasks.devices import Precision, Share, pick_device
from tautstring_tasks.nets import AnyTask
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.training import WEIGHTS, RunOptions, describe

STUDY = "study.npz"
_CALIBRATED = "calibrated.safetensors"


@dataclass(frozen=True)
class Run:
    """One of a study's runs, in a folder of its own."""

    arm: str
    seed: int
    place: Path

    @property
    def is_trained(self) -> bool:
        """Whether its weights exist."""
        return (self.place / WEIGHTS).exists()

    @property
    def scores(self) -> Path:
        """The file that exists once the run is scored."""
        return self.place / "scores.npz"


@dataclass(frozen=True)
class Study:
    """What is trained and scored, and how."""

    task: AnyTask
    folder: Path  # data
    out: Path
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    net: Any
    data: Any
    recipe: Recipe
    run: RunOptions
    sets: tuple[str, ...]
    test: Any
    precision: Precision  # of tests
    calibrate: int  # batches; 0: not at all

    @property
    def runs(self) -> list[Run]:
        """All runs, seed by seed."""
        wanted = dict.fromkeys(itertools.product(self.seeds, self.arms))
        return [Run(arm, seed, self.out / f"{arm}_seed{seed}") for seed, arm in wanted]

    def trainings(self) -> list[jobs.Job]:
        """Return the commands for untrained runs; reject runs that were trained differently."""
        device = pick_device(self.run.device)
        about_data = self.task.training(self.folder, self.net, self.data, self.recipe, device).about
        _ = self._about_sets  # fails now, not later
        kept = frozenset({"arm", "seed", "minutes"})
        options = [
            argument
            for each in (self.net, self.data, self.recipe, self.run)
            for argument in jobs.as_arguments(each, without=kept)
        ]
        found = []
        for run in self.runs:
            net = dataclasses.replace(self.net, arm=run.arm)
            recipe = dataclasses.replace(self.recipe, seed=run.seed)  # rejects an invalid one
            if run.is_trained:
                about = nets.describe(self.task, net, self.data, about_data)
                about |= describe(recipe, self.run, device, Share())
                weights = run.place / WEIGHTS
                checkpoints.check_about(weights, checkpoints.load_about(weights), about)
                continue
            own = ["--out", str(run.place), "--arm", run.arm, "--seed", str(run.seed)]
            found.append(self._job(run, "train", *own, *options))
        return found

    def calibrations(self) -> list[jobs.Job]:
        """Return the commands for runs that are trained but not calibrated."""
        return [
            self._job(
                run,
                "calibrate",
                *("--weights", str(run.place / WEIGHTS), "--out", str(run.place / _CALIBRATED)),
                *("--batches", str(self.calibrate), "--device", self.run.device, "--force"),
            )
            for run in self.runs
            if run.is_trained and self.calibrate and not self._is_calibrated(run)
        ]

    def tests(self) -> list[jobs.Job]:
        """Return the commands for runs that are ready to be scored and are not."""
        how = ["--sets", *self.sets, "--device", self.run.device, "--precision", self.precision]
        options = [*how, *jobs.as_arguments(self.test), "--force"]
        found = []
        for run in self.runs:
            if self._is_ready(run) and not self._is_scored(run):
                own = ["--weights", str(self._tested(run)), "--out", str(run.scores)]
                found.append(self._job(run, "evaluate", *own, *options))
        return found

    def save(self) -> int:
        """Write all runs that are scored to one file; return their number."""
        scored = [run for run in self.runs if self._is_ready(run) and self._is_scored(run)]
        if scored:
            loaded = [scores.load(self.task, run.scores)[0] for run in scored]
            scores.save(self.out / STUDY, loaded)
        else:
            (self.out / STUDY).unlink(missing_ok=True)
        return len(scored)

    def _job(self, run: Run, command: str, *arguments: str) -> jobs.Job:
        where = ("--data", str(self.folder), *jobs.as_arguments(self.task.places))
        return jobs.Job((self.task.name, command, *where, *arguments), run.place / f"{command}.log")

    def _tested(self, run: Run) -> Path:
        return run.place / (_CALIBRATED if self.calibrate else WEIGHTS)

    def _is_calibrated(self, run: Run) -> bool:
        """Whether it has been calibrated as asked for since it was trained."""
        file = run.place / _CALIBRATED
        if not file.exists():
            return False
        about = checkpoints.load_about(file)
        weights = runs.hash_of_file(run.place / WEIGHTS)
        return (about.get("calibrate"), about.get("calibrated_from")) == (self.calibrate, weights)

    def _is_ready(self, run: Run) -> bool:
        """Whether it can be scored."""
        return run.is_trained and (not self.calibrate or self._is_calibrated(run))

    def _is_scored(self, run: Run) -> bool:
        """Whether it has scores of its current weights, of these tests."""
        if not run.scores.exists():
            return False
        about = scores.load(self.task, run.scores)[0].about
        wanted = {
            "weights_sha256": runs.hash_of_file(self._tested(run)),
            "precision": self.precision,
            "test": runs.as_options(self.test),
            "sets": self._about_sets,
        }
        return wanted.items() <= about.items()

    @cached_property
    def _about_sets(self) -> dict[str, Any]:
        """What the test sets are now."""
        found = self.task.tests(self.folder, self.sets, self.data, self.test)
        return {name: each.about for name, each in found.items()}
