"""The commands of `tautstring_tasks denoise`; the functions' arguments are the command line's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from torch import Tensor

from tautstring_tasks import checkpoints, files, images, jobs, json_files, runs
from tautstring_tasks.denoise import calibration, data, model, plan, weights
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.training import (
    Device,
    RunOptions,
    Share,
    TrainingOptions,
    is_mixed,
    pick_device,
    processes,
)
from tautstring_tasks.training import train as train_net

Data = Annotated[Path, tyro.conf.arg(name="data", metavar="FOLDER")]

app = tyro.extras.SubcommandApp()


@app.command
def train(
    folder: Data,
    out: Path,
    weights_file: Annotated[Path | None, tyro.conf.arg(name="weights", metavar="FILE")] = None,
    noise: data.NoiseOptions = data.NoiseOptions(),  # noqa: B008 - frozen
    net: model.ModelOptions = model.ModelOptions(),  # noqa: B008
    training: TrainingOptions = TrainingOptions(),  # noqa: B008
    run: RunOptions = RunOptions(),  # noqa: B008
) -> None:
    """Train a net; a run that was stopped resumes from its last checkpoint.

    With several GPUs: torchrun --nproc-per-node=N -m tautstring_tasks denoise train ...

    Parameters
    ----------
    folder
        Data folder, with the images in its folder train_cbsd432.
    out
        The run's folder: checkpoint, weights.safetensors and run.json.
    weights_file
        Start from the net in this file, from this program or the C++ one, instead of the seed's.
    """
    pictures = images.files_of(folder / data.TRAIN, data.WHAT)
    device = pick_device(run.device)
    if weights_file is None:
        module, start = model.make(net, training.seed), {}
    else:
        module, found = weights.load(weights_file)
        net, start = _net_of(weights_file, found, net), {"start": found}
        module.train().requires_grad_()
    module = module.to(device)
    if is_mixed(run.precision, device):  # faster for convolutions in bfloat16
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    patches = data.Patches([images.read(file) for file in pictures], noise.patch, device)

    def loss(called: Callable[[Tensor], Tensor], step: int, share: Share) -> Tensor:
        batch = patches.batch(training.batch, noise.sigma, training.seed, step)
        return (called(share.of(batch.noisy)) - share.of(batch.clean)).abs().mean()

    with processes(device) as share:
        about = {**weights.describe(net, noise, pictures), **start}
        finished = train_net(module, loss, training, run, out, about, share)
    if share.rank == 0:
        state = "done" if finished.is_done else "stopped; the same command resumes it"
        print(f"{out}: {finished.steps} steps, {state}")


def _net_of(file: Path, found: dict[str, Any], wanted: model.ModelOptions) -> model.ModelOptions:
    """Return the options of a file's net; reject other options than these or the defaults."""
    net = json_files.options_of(file, found, "model", model.ModelOptions)
    if wanted not in (net, model.ModelOptions()):
        raise InputError(f"--weights {file}: is {net}; leave out --arm, --depth, --width and --lam")
    return net


@app.command
def calibrate(
    folder: Data,
    weights_file: Annotated[Path, tyro.conf.arg(name="weights")],
    out: Path,
    batches: int = 40,
    device: Device = "auto",
) -> None:
    """Set the statistics of a net's batch norms from many patches.

    Training leaves the statistics of its last few batches. If these were small, calibrate the net
    before a test.

    Parameters
    ----------
    folder
        Data folder, with the images in its folder train_cbsd432.
    weights_file
        A run's weights.safetensors.
    out
        Output file for the calibrated net.
    batches
        Number of batches, of 8 patches each.
    """
    require("batches", batches, at_least=1)
    files.prepare_place(out)
    where = pick_device(device)
    net, about = weights.load(weights_file)
    pictures = images.files_of(folder / data.TRAIN, data.WHAT)
    noise = json_files.options_of(weights_file, about, "noise", data.NoiseOptions)
    patches = data.Patches([images.read(file) for file in pictures], noise.patch, where)
    calibration.calibrate(net.to(where), patches, noise.sigma, batches)
    checkpoints.save(out, net.state_dict(), {**about, "calibrate": batches})
    print(f"wrote {out}")


@app.command
def evaluate(
    folder: Data,
    weights_file: Annotated[Path, tyro.conf.arg(name="weights")],
    out: Path,
    sets: tuple[str, ...] = data.TESTS,
    sigma: float | None = None,
    device: Device = "auto",
    precision: model.Precision = "float32",
) -> None:
    """Score a net on the test sets by KAIR's protocol: PSNR and SSIM of each image.

    Parameters
    ----------
    folder
        Data folder, with a folder of images for each test set.
    weights_file
        A run's weights.safetensors.
    out
        Output JSON file for the scores.
    sets
        Test sets to use.
    sigma
        Standard deviation of the noise; by default the one the net was trained against.
    precision
        Precision of convolutions. The protocol uses float32; bfloat16 takes a third of the time on
        a CPU that has instructions for it.
    """
    from tautstring_tasks.denoise import evaluation  # scikit-image takes a second to load

    where = pick_device(device)
    net, about = weights.load(weights_file)
    net = net.to(where)
    noise = about["noise"]["sigma"] if sigma is None else sigma
    require("sigma", noise, at_least=0)
    files.prepare_place(out)
    found = {name: images.files_of(folder / name, data.WHAT) for name in sets}
    for name, pictures in found.items():
        if len({file.stem for file in pictures}) < len(pictures):
            raise InputError(
                f"{folder / name}: image names must differ in more than their extensions"
            )
    result = {
        **about,
        "weights_sha256": runs.hash_of_file(weights_file),
        "sigma": noise,
        "precision": precision,
        "machine": runs.about_machine(where),
        "sets": {},
    }
    for name, pictures in found.items():
        scores = list(evaluation.evaluate(net, pictures, noise, where, precision))
        means = {
            key: sum(getattr(score, key) for score in scores) / len(scores)
            for key in ("psnr", "ssim")
        }
        result["sets"][name] = {
            "sha256": runs.hash_of_files(pictures),
            "mean": means,
            "images": {score.image: {"psnr": score.psnr, "ssim": score.ssim} for score in scores},
        }
        print(f"{name}: {means['psnr']:.3f} dB, SSIM {means['ssim']:.4f} ({len(pictures)} images)")
    runs.save_json(out, result)


@app.command
def study(
    folder: Data,
    out: Path,
    arms: tuple[model.Arm, ...] = ("none", "input", "output", "both"),
    sigmas: tuple[float, ...] = (25.0, 50.0),
    seeds: tuple[int, ...] = (0, 1, 2),
    at_once: int = 1,
    test_precision: model.Precision = "float32",
    training: TrainingOptions = TrainingOptions(),  # noqa: B008
    run: RunOptions = RunOptions(),  # noqa: B008
) -> None:
    """Train and score all arms with all seeds, seed by seed; resumes where it was stopped.

    Parameters
    ----------
    folder
        Data folder, with train_cbsd432 and the test sets.
    out
        Output folder: one folder per run, and one file of scores per run.
    at_once
        Number of runs at a time, each in its own process; the processes divide the CPU's cores. On
        a GPU, CUDA's multi-process service is recommended.
    test_precision
        Precision in tests, as in `evaluate`; `precision` and `minutes` apply to training.
    """
    require("at-once", at_once, at_least=1)
    if training.seed != TrainingOptions.seed:
        raise InputError("--seed: a study takes --seeds")
    wanted = itertools.product(seeds, sigmas, arms)
    planned = [*dict.fromkeys(plan.Run(out, arm, sigma, seed) for seed, sigma, arm in wanted)]
    failed = jobs.run_all(plan.trainings(planned, folder, training, run), at_once, run.minutes)
    failed += jobs.run_all(plan.tests(planned, folder, run.device, test_precision), at_once)
    print(f"{out}: {sum(each.is_trained for each in planned)} of {len(planned)} runs are trained")
    if failed:
        raise SystemExit(f"failed, see {', '.join(map(str, failed))}")


@app.command
def report(
    results: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE...")],
    out: Path,
    logs: tuple[Path, ...] = (),
    figure_weights: Path | None = None,
    notes: Path | None = None,
) -> None:
    """Write a page about all runs: tables with the paper's results, differences, lambdas, a figure.

    Parameters
    ----------
    results
        JSON files written by `evaluate`.
    out
        Output Markdown file; pictures go to the folder `images` next to it.
    logs
        run.json of the runs: how they were trained, and their lambdas.
    figure_weights
        A net, to show its stages on a photo.
    notes
        Markdown for the top of the page: how to read it.
    """
    from tautstring_tasks.denoise import reporting  # matplotlib takes as long

    if not results:
        raise InputError("FILE...: at least one of `evaluate` is needed")
    files.prepare_place(out)
    text = files.read_text(notes) if notes else ""
    page = reporting.page(
        [_load(file, "sets", "evaluate", reporting.RESULT) for file in results], text
    )
    pictures = out.parent / "images"
    if logs:
        found = [_load(file, "history", "train", reporting.LOG) for file in logs]
        page += reporting.training_section(found, pictures)
    if figure_weights:
        net, about = weights.load(figure_weights)
        page += reporting.stages_section(net, about, pictures)
    files.write_whole(out, page.encode())
    print(f"wrote {out}")


def _load(file: Path, key: str, command: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Read a file written by a command, which must have something under `key`."""
    content = runs.load_json(file)
    if content.get("task") != weights.TASK or not content.get(key):
        raise InputError(f"{file}: is not what `denoise {command}` writes, or it has no {key}")
    json_files.check(file, content, wanted)
    return content


@app.command
def apply(
    photo: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PHOTO")],
    out: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[RESULT]")] = None,
    weights_file: Annotated[Path | None, tyro.conf.arg(name="weights", metavar="FILE")] = None,
    sigma: Annotated[int | None, tyro.conf.arg(metavar="{25,50}")] = None,
    arm: Annotated[Literal["none", "both"] | None, tyro.conf.arg(metavar="{none,both}")] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    device: Device = "auto",
) -> None:
    """Remove the noise from a photo. Alpha is left unchanged.

    Parameters
    ----------
    photo
        The noisy photo, in any common format.
    out
        Output file; its extension selects the format. Default: PHOTO_denoised.png next to the
        photo.
    weights_file
        A net of your own, instead of one of the package's.
    sigma
        Standard deviation of the noise, for pixels in 0..255: selects one of the package's nets.
        Default: 25.
    arm
        Selects the package's net with TV layers at both ends or with none. Default: both.
    force
        Overwrite files that exist.
    """
    for option, value in (("sigma", sigma), ("arm", arm)):
        if weights_file and value is not None:
            raise InputError(
                f"--{option}: selects one of the package's nets; leave it out with --weights"
            )
    result = out or photo.with_name(f"{photo.stem}_denoised.png")
    images.check_result(result, force)
    where = pick_device(device)
    net, _ = weights.load(weights_file or weights.shipped(sigma, arm))
    pixels = torch.from_numpy(images.read(photo).copy()).to(where)
    noisy = pixels.permute(2, 0, 1)[None].float() / 255
    denoised = images.to_pixels(model.denoise(net.to(where), noisy))
    alpha = images.read_alpha(photo)
    images.write(result, denoised, images.colour_profile(photo), alpha, force)
    if alpha is not None and not images.holds_alpha(result):
        name = result.suffix.lower().removeprefix(".")
        print(f"note: {name} does not support alpha; the image is placed on white")
    print(f"wrote {result}")


@app.command
def generate(folder: Annotated[Path, tyro.conf.Positional]) -> None:
    """Render a small data set to try the other commands."""
    data.generate(folder)
