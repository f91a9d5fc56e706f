"""The training loop of all tasks: data parallel, in mixed precision, resumable.

A task provides a net and a function from a step's number to its loss. All randomness of a step
derives from its number and the seed, so a killed run resumes as if it had not been interrupted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from tautstring_tasks import checkpoints, extras, files, json_files, runs
from tautstring_tasks.devices import Device, Precision, Share, autocast
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.sites import lambdas_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"
LOG = "run.json"
_LONGEST_WITHOUT_CHECKPOINT = 600.0  # seconds


@dataclass(frozen=True)
class RunOptions:
    """How a run is executed; all but the precision may change when it is resumed.

    On a CPU with the same number of threads, results are the same bit for bit.
    """

    device: Device = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of convolutions (autocast). `auto` is bfloat16 on a GPU and float32 on a CPU; with
    bfloat16, a CPU that has instructions for it takes half the time."""
    compile: bool = False
    """torch.compile with CUDA graphs: takes minutes at the start, then steps are shorter."""
    checkpoint_every: int = 5000
    """Steps between checkpoints; there is also one every ten minutes."""
    log_every: int = 100
    minutes: float | None = None
    """Stop after this many minutes, with a checkpoint to resume from."""
    tensorboard: bool = False
    """Also write losses and lambdas for TensorBoard."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("checkpoint_every", self.checkpoint_every, at_least=1)
        require("log_every", self.log_every, at_least=1)
        if self.minutes is not None:
            require("minutes", self.minutes, at_least=0)

    def on(self, device: torch.device) -> Precision:
        """Return the precision on a device."""
        if self.precision == "auto":
            return "bfloat16" if device.type == "cuda" else "float32"
        return self.precision


# What a net is trained by: from the net (its output may be anything) and a step's number, draws the
# samples and returns the loss of this process's share.
StepLoss = Callable[[Callable[[Tensor], Any], int, Share], Tensor]


@dataclass(frozen=True)
class Finished:
    """The outcome of a call of `train`."""

    is_done: bool  # else there is a checkpoint to resume from
    steps: int


def describe(recipe: Recipe, run: RunOptions, device: torch.device, share: Share) -> dict[str, Any]:
    """Return everything that must match for two trainings to be the same, besides net and data."""
    # Each process has its own batch norms, so the number of processes also matters.
    execution = {"precision": run.on(device), "processes": share.count}
    return {"training": runs.as_options(recipe), "execution": execution}


def step_generator(seed: int, step: int, device: torch.device) -> torch.Generator:
    """Return the generator of all random numbers of a step."""
    return torch.Generator(device).manual_seed(seed * 1_000_000_007 + step)


def _seed_of_layers(seed: int, step: int, share: Share) -> int:
    """Return the seed of what layers draw in a step, such as dropout: not that of its data."""
    content = f"{seed} {step} {share.rank}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=4).digest(), "little")


def _diverged(loss: float, steps: int) -> InputError:
    return InputError(f"the loss is {loss} after {steps} steps; a lower --lr may help")


def train(
    net: nn.Module,
    loss: StepLoss,
    recipe: Recipe,
    run: RunOptions,
    folder: Path,
    about: dict[str, Any],
    share: Share,
    rates: Mapping[str, float] | None = None,
) -> Finished:
    """Train a net to the last step, from a checkpoint in `folder` if there is one.

    Maintains `run.json` there, and writes `weights.safetensors` at the end. `about` describes the
    task's own options and data; a checkpoint with others is rejected. `rates` are the learning
    rates of parts of the net, as multiples of the recipe's (see `Recipe.groups`).
    """
    if recipe.batch % share.count:
        raise InputError(
            f"--batch: must be a multiple of the {share.count} processes, got {recipe.batch}"
        )
    with ExitStack() as stack:
        if share.rank == 0:
            stack.enter_context(checkpoints.alone_in(folder))
            files.prepare_place(folder / WEIGHTS)  # fails now, not after the training
        device = next(net.parameters()).device
        about = {**about, **describe(recipe, run, device, share)}
        run = dataclasses.replace(run, precision=run.on(device))
        optimizer = recipe.make_optimizer(net, rates or {}, device)
        log = _Log(about, runs.as_options(run), runs.about_machine(device))
        log.resume(folder / CHECKPOINT, net, optimizer)
        if log.step == recipe.steps and (folder / WEIGHTS).exists():
            return Finished(is_done=True, steps=log.step)
        called = _called(net, run.compile, share)
        writer = _writer(folder, log.step) if run.tensorboard and share.rank == 0 else None
        began = saved = time.monotonic()
        before = log.seconds
        loss_sum = torch.tensor(log.loss_sum, device=device)
        progress = tqdm(
            range(log.step, recipe.steps),
            initial=log.step,
            total=recipe.steps,
            disable=share.rank != 0,
            mininterval=1.0,
        )

        def save() -> None:
            log.loss_sum = share.mean_of_all(loss_sum)
            log.seconds = before + time.monotonic() - began
            if share.rank == 0:
                log.save(folder, net, optimizer)

        for step in progress:
            torch.manual_seed(_seed_of_layers(recipe.seed, step, share))
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate(step) * group["factor"]
            optimizer.zero_grad(set_to_none=True)
            try:
                with autocast(device, run.on(device)):
                    value = loss(called, step, share)
            except ValueError:  # a TV layer rejects a lambda that is NaN
                lams = (lam for layer in lambdas_of(net).values() for lam in layer)
                if all(map(math.isfinite, lams)):
                    raise
                raise _diverged(math.nan, step) from None
            value.backward()
            optimizer.step()
            loss_sum += value.detach()
            log.step = step + 1
            if log.step % run.log_every == 0 or log.step == recipe.steps:
                mean = share.mean_of_all(loss_sum) / (log.step - log.last_line)
                loss_sum.zero_()
                log.add(mean, lambdas_of(net))
                progress.set_postfix(loss=f"{mean:.5f}", refresh=False)
                if writer:
                    _write_scalars(writer, log.lines[-1])
                if not math.isfinite(mean):
                    raise _diverged(mean, log.step)
                if run.minutes is not None and share.first_says(
                    time.monotonic() - began > 60 * run.minutes
                ):
                    break
            is_due = time.monotonic() - saved > _LONGEST_WITHOUT_CHECKPOINT
            if (is_due or log.step % run.checkpoint_every == 0) and log.step < recipe.steps:
                save()
                saved = time.monotonic()
        save()
        if writer:
            writer.close()
        is_done = log.step == recipe.steps
        if is_done and share.rank == 0:  # the last file: if it exists, so do all others
            checkpoints.save(folder / WEIGHTS, net.state_dict(), about)
        return Finished(is_done, log.step)


# What is restored from a checkpoint, besides tensors.
_RESUMED = {
    "run": dict,
    "machine": dict,
    "earlier": list,
    "steps": int,
    "seconds": float,
    "loss_sum": float,
    "history": [{"step": int}],
}


@dataclass
class _Log:
    """The record of a run and its steps so far."""

    about: dict[str, Any]
    run: dict[str, Any]  # options and machine of this call
    machine: dict[str, str]
    earlier: list[dict[str, Any]] = field(default_factory=list)  # calls: options, machine, steps
    step: int = 0  # number of steps done
    loss_sum: float = 0.0  # of those since the last line
    seconds: float = 0.0
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def last_line(self) -> int:
        """The step of the last line."""
        return self.lines[-1]["step"] if self.lines else 0

    def add(self, loss: float, lambdas: dict[str, list[float]]) -> None:
        """Add a line: the mean loss since the last one, and lambdas."""
        self.lines.append({"step": self.step, "loss": loss, "lam": lambdas})

    def save(self, folder: Path, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write the run's log, and the checkpoint to resume from."""
        content = {
            **self.about,
            "run": self.run,
            "machine": self.machine,
            "earlier": self.earlier,
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "history": self.lines,
        }
        runs.save_json(folder / LOG, content)
        tensors = checkpoints.training_state(net, optimizer)
        checkpoints.save(folder / CHECKPOINT, tensors, {**content, "loss_sum": self.loss_sum})

    def resume(self, file: Path, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Resume from a checkpoint of this run, if there is one."""
        if not file.exists():
            return
        tensors, found = checkpoints.load(file)
        checkpoints.check_about(file, found, self.about)
        json_files.check(file, found, _RESUMED)
        checkpoints.restore(file, net, optimizer, tensors)
        call = {key: found[key] for key in ("run", "machine", "steps")}
        self.earlier = [*found["earlier"], call]
        self.step, self.loss_sum = found["steps"], found["loss_sum"]
        self.seconds, self.lines = found["seconds"], found["history"]


def _called(net: nn.Module, is_compiled: bool, share: Share) -> Callable[[Tensor], Tensor]:
    called = DistributedDataParallel(net) if share.count > 1 else net
    return torch.compile(called, mode="reduce-overhead") if is_compiled else called


def _writer(folder: Path, step: int) -> SummaryWriter:
    extras.require("tensorboard", "tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder / "tensorboard", purge_step=step)


def _write_scalars(writer: SummaryWriter, line: dict[str, Any]) -> None:
    writer.add_scalar("loss", line["loss"], line["step"])
    for layer, lambdas in line["lam"].items():
        for channel, lam in enumerate(lambdas):
            writer.add_scalar(f"lam/{layer}/{channel}", lam, line["step"])
