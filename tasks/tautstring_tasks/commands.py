"""The commands that every task has; the functions' arguments are those of the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from tautstring_tasks import (
    applying,
    calibration,
    evaluation,
    extras,
    files,
    images,
    jobs,
    json_files,
    nets,
    scores,
    training,
)
from tautstring_tasks.devices import Device, Precision, pick_device, processes
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.nets import AnyTask
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.studies import STUDY, Study
from tautstring_tasks.training import RunOptions

Folder = Annotated[Path, tyro.conf.arg(name="data", metavar="FOLDER")]
Net = Annotated[str, tyro.conf.arg(metavar="NET")]
Force = Annotated[bool, tyro.conf.FlagCreatePairsOff]
Photo = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PHOTO")]
Result = Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[RESULT]")]
Studies = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE...")]


def app_of(task: AnyTask) -> tyro.extras.SubcommandApp:
    """Return the command line of a task."""
    app = tyro.extras.SubcommandApp()
    for name, command in commands_of(task).items():
        app.command(name=name)(command)
    return app


def commands_of(task: AnyTask) -> dict[str, Callable[..., None]]:
    """Return the commands of a task by name."""

    def train(
        folder: Folder,
        out: Path,
        weights: Net | None = None,
        net: Any = task.net,
        data: Any = task.data,
        recipe: Recipe = task.recipe,
        run: RunOptions = RunOptions(),  # noqa: B008 - frozen
        places: Any = task.places,
    ) -> None:
        """Train a net; a run that was stopped resumes from its last checkpoint.

        With several GPUs: torchrun --nproc-per-node=N -m tautstring_tasks TASK train ...

        Parameters
        ----------
        folder
            The data folder.
        out
            The run's folder: checkpoint, weights.safetensors and run.json.
        weights
            Start from this net instead of the seed's: a file, or the name of a net of the package.
        """
        device = pick_device(run.device)
        here = task.at(places)
        start: dict[str, Any] = {}
        if weights is None:
            module = nets.make(here, net, recipe.seed)
        else:
            module, net, start = _start(task, weights, net)
        module = module.to(device)
        if run.on(device) == "bfloat16":  # faster for convolutions in bfloat16
            module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        samples = here.training(folder, net, data, recipe, device)
        about = {**nets.describe(task, net, data, samples.about), **start}
        with processes(device) as share:
            finished = training.train(
                module, samples.loss, recipe, run, out, about, share, task.rates(net)
            )
        if share.rank == 0:
            state = "done" if finished.is_done else "stopped; the same command resumes it"
            print(f"{out}: {finished.steps} steps, {state}")

    def calibrate(
        folder: Folder,
        weights: Net,
        out: Path,
        batches: int = 40,
        device: Device = "auto",
        force: Force = False,
        places: Any = task.places,
    ) -> None:
        """Set the statistics of a net's batch norms from many batches.

        Training leaves the statistics of its last few batches. If these were small, calibrate the
        net before a test.

        Parameters
        ----------
        folder
            The data folder.
        weights
            A run's weights.safetensors.
        out
            Output file for the calibrated net.
        batches
            Number of batches.
        force
            Overwrite a file that exists.
        """
        require("batches", batches, at_least=1)
        _prepare(out, force)
        file = nets.find(task, weights)
        calibration.calibrate(task.at(places), folder, file, out, batches, pick_device(device))
        print(f"wrote {out}")

    def halve(weights: Net, out: Path, force: Force = False) -> None:
        """Store a net in half precision. It is another net: score the file that this writes.

        Parameters
        ----------
        weights
            A run's weights.safetensors.
        out
            Output file.
        force
            Overwrite a file that exists.
        """
        _prepare(out, force)
        nets.halve(task, nets.find(task, weights), out)
        print(f"wrote {out}")

    def evaluate(
        folder: Folder,
        weights: Net,
        out: Path,
        sets: tuple[str, ...] = task.sets,
        test: Any = task.test,
        device: Device = "auto",
        precision: Precision = "float32",
        force: Force = False,
        places: Any = task.places,
    ) -> None:
        """Score a net on the test sets.

        Parameters
        ----------
        folder
            The data folder.
        weights
            A run's weights.safetensors, or the name of a net of the package.
        out
            Output file for the scores (.npz), which `report` reads.
        sets
            Test sets to use.
        precision
            Precision of convolutions. bfloat16 takes a third of the time on a CPU that has
            instructions for it.
        force
            Overwrite a file that exists.
        """
        _require_some(sets=sets)
        _prepare(out, force)
        file = nets.find(task, weights)
        found = evaluation.evaluate(
            task.at(places), folder, file, sets, test, pick_device(device), precision
        )
        scores.save(out, [found])
        for measure in task.measures:
            for name, values in task.columns(found.scores, measure).items():
                mean = values.mean() * measure.scale
                print(f"{name}: {measure.name} {mean:.{measure.digits}f} {measure.unit}")

    def study(
        folder: Folder,
        out: Path,
        arms: tuple[str, ...] = tuple(task.arms),
        seeds: tuple[int, ...] = (0, 1, 2),
        sets: tuple[str, ...] = task.sets,
        calibrate: int = 0,
        at_once: int = 1,
        test_precision: Precision = "float32",
        net: Any = task.net,
        data: Any = task.data,
        recipe: Recipe = task.recipe,
        test: Any = task.test,
        run: RunOptions = RunOptions(),  # noqa: B008
        places: Any = task.places,
    ) -> None:
        """Train and score all arms with all seeds, seed by seed; resumes where it was stopped.

        Parameters
        ----------
        folder
            The data folder.
        out
            Output folder: one folder per run, and study.npz with the scores and logs of those that
            are done.
        calibrate
            Number of batches that set the statistics of batch norms before tests; 0 keeps those
            left by training.
        at_once
            Number of runs at a time, each in its own process; the processes divide the CPU's cores.
            On a GPU, CUDA's multi-process service is recommended.
        test_precision
            Precision in tests, as in `evaluate`; `precision` and `minutes` apply to training.
        """
        _require_some(arms=arms, seeds=seeds, sets=sets)
        require("at-once", at_once, at_least=1)
        require("calibrate", calibrate, at_least=0)
        for option in ("arm", "seed"):
            given, usual = (net, task.net) if option == "arm" else (recipe, task.recipe)
            if getattr(given, option) != getattr(usual, option):
                raise InputError(f"--{option}: a study takes --{option}s")
        for arm in arms:
            if arm not in task.arms:
                raise InputError(f"--arms: must be one of {', '.join(task.arms)}, got {arm}")
        plan = Study(
            task=task.at(places),
            folder=folder,
            out=out,
            arms=arms,
            seeds=seeds,
            net=net,
            data=data,
            recipe=recipe,
            run=run,
            sets=sets,
            test=test,
            precision=test_precision,
            calibrate=calibrate,
        )
        failed = jobs.run_all(plan.trainings(), at_once, run.minutes)
        failed += jobs.run_all(plan.calibrations(), at_once)
        failed += jobs.run_all(plan.tests(), at_once)
        trained, saved = sum(each.is_trained for each in plan.runs), plan.save()
        print(f"{out}: {trained} of {len(plan.runs)} runs are trained, {saved} are in {STUDY}")
        if failed:
            raise SystemExit(f"failed, see {', '.join(map(str, failed))}")

    def report(
        studies: Studies,
        out: Path,
        notes: Path | None = None,
        force: Force = False,
    ) -> None:
        """Write a page about studies: tables with the paper's results, differences, lambdas.

        Parameters
        ----------
        studies
            Files written by `study` or `evaluate`.
        out
            Output Markdown file; pictures go to the folder `images` next to it.
        notes
            Markdown for the top of the page: how to read it.
        force
            Overwrite files that exist.
        """
        extras.require("matplotlib", "report")
        extras.require("scipy", "report")
        from tautstring_tasks import reporting

        if not studies:
            raise InputError(
                "FILE...: at least one file written by `study` or `evaluate` is needed"
            )
        _prepare(out, force)
        runs = [run for file in studies for run in scores.load(task, file)]
        text = files.read_text(notes) if notes else ""
        pictures = out.parent / "images"
        if not force:
            for picture in pictures.glob(f"{task.name}_*"):
                files.require_free(picture)
        page = reporting.page(task, runs, text, pictures)
        files.write_whole(out, page.encode())
        print(f"wrote {out}")

    def apply(
        photo: Photo,
        out: Result = None,
        weights: Net = tyro.MISSING if task.shipped is None else task.shipped,
        force: Force = False,
        device: Device = "auto",
        precision: Precision = "float32",
        places: Any = task.places,
    ) -> None:
        """Apply a net to a photo, or to all in a folder. An image's alpha is left unchanged.

        Parameters
        ----------
        photo
            A photo in any common format, or a folder of photos.
        out
            Output file, whose extension selects the format, or output folder. Default: a PNG or a
            folder next to the photo, with the task's name at the end of its own.
        weights
            The name of a net of the package, or a file of your own.
        force
            Overwrite files that exist.
        """
        photos = applying.places(task, photo, out)
        if not task.makes_images and out is not None:
            raise InputError(f"{out}: this task prints what it sees; it writes no images")
        if task.makes_images and photo.is_dir():
            files.make_folder(photos[0][1].parent)
        for _, result in photos if task.makes_images else ():
            images.check_result(result, force)
        where = pick_device(device)
        net, _ = nets.load(task, nets.find(task, weights))
        here = task.at(places)
        for line in applying.apply(here, net.to(where), photos, force, where, precision):
            print(line)

    def generate(folder: Annotated[Path, tyro.conf.Positional], force: Force = False) -> None:
        """Render a small data set to try the other commands.

        Parameters
        ----------
        folder
            Output folder: new or empty.
        force
            Write into a folder that has files, and overwrite those of the same names.
        """
        files.make_folder(folder)
        if not force and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty (use --force to write into it)")
        task.generate(folder)

    found = (train, calibrate, halve, evaluate, study, report, apply, generate)
    return {command.__name__: command for command in found}


def _start(task: AnyTask, weights: str, wanted: Any) -> tuple[torch.nn.Module, Any, dict[str, Any]]:
    """Return a net to start from, its options, and what describes it.

    Rejects other options than its own or the defaults.
    """
    module, found = nets.load(task, nets.find(task, weights))
    net = json_files.options_of(Path(weights), found, "model", type(task.net))
    if wanted not in (net, task.net):
        raise InputError(f"--weights {weights}: is {net}; leave out the options of the net")
    return module.train().requires_grad_(), net, {"start": found}


def _require_some(**options: tuple[Any, ...]) -> None:
    for name, values in options.items():
        if not values:
            raise InputError(f"--{name}: at least one is needed")


def _prepare(out: Path, force: bool) -> None:
    files.prepare_place(out)
    if not force:
        files.require_free(out)
