"""The training loop of all tasks: data parallel, in mixed precision, resumable.

A task provides a net and a function from a step's number to its loss. All randomness of a step
derives from its number and the seed, so a killed run resumes as if it had not been interrupted.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

import tautstring
from tautstring_tasks import checkpoints, json_files, runs
from tautstring_tasks.errors import InputError, require

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "float32", "bfloat16"]

CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"
LOG = "run.json"
MOST_SEED = 2**31 - 1


@dataclass(frozen=True)
class TrainingOptions:
    """How a net is trained, for any task."""

    seed: int = 0
    """Seed of the initial weights and of every step's data."""
    steps: int = 60_000
    batch: int = 64
    """Samples per step, over all processes."""
    lr: float = 1e-3
    """Initial learning rate; it decays along a cosine to `last_lr`."""
    last_lr: float = 1e-5
    lam_lr_factor: float = 50.0
    """The learning rate of lambda's parameters, as a multiple of `lr`."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("seed", self.seed, at_least=0, at_most=MOST_SEED)
        require("steps", self.steps, at_least=0)
        require("batch", self.batch, at_least=1)
        require("lr", self.lr, above=0)
        require("last_lr", self.last_lr, at_least=0)
        require("lam_lr_factor", self.lam_lr_factor, at_least=0)


@dataclass(frozen=True)
class RunOptions:
    """How a run is executed; all but the precision may change when it is resumed.

    On a CPU with the same number of threads, results are the same bit for bit.
    """

    device: Device = "auto"
    precision: Precision = "auto"
    """Precision of convolutions (autocast); TV layers use float32. `auto` is bfloat16 on a GPU and
    float32 on a CPU; with bfloat16, a CPU that has instructions for it takes half the time."""
    compile: bool = False
    """torch.compile with CUDA graphs: takes minutes at the start, then steps are shorter."""
    checkpoint_every: int = 5000
    log_every: int = 100
    minutes: float | None = None
    """Stop after this time, with a checkpoint to resume from."""
    tensorboard: bool = True
    """Also write losses and lambdas for TensorBoard."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("checkpoint_every", self.checkpoint_every, at_least=1)
        require("log_every", self.log_every, at_least=1)
        if self.minutes is not None:
            require("minutes", self.minutes, at_least=0)


@dataclass(frozen=True)
class Share:
    """One of the training processes."""

    rank: int = 0
    count: int = 1

    def of(self, samples: Tensor) -> Tensor:
        """Return this process's part of a batch."""
        return samples[self.rank :: self.count]


# From the net and a step's number: draws the samples, returns the loss of this process's share.
StepLoss = Callable[[Callable[[Tensor], Tensor], int, Share], Tensor]


@dataclass(frozen=True)
class Finished:
    """The outcome of a call of `train`."""

    is_done: bool  # else there is a checkpoint to resume from
    steps: int


def pick_device(wanted: Device) -> torch.device:
    """Return the GPU of this process, or the CPU."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU")
    if wanted == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def is_mixed(precision: Precision, device: torch.device) -> bool:
    """Return whether convolutions are in bfloat16."""
    return precision == "bfloat16" or (precision == "auto" and device.type == "cuda")


def describe(
    options: TrainingOptions, run: RunOptions, device: torch.device, share: Share
) -> dict[str, Any]:
    """Return everything that must match for two trainings to be the same, besides net and data."""
    precision = "bfloat16" if is_mixed(run.precision, device) else "float32"
    # Each process has its own batch norms, so the number of processes also matters.
    return {**runs.as_options(options), "precision": precision, "processes": share.count}


@contextmanager
def processes(device: torch.device) -> Iterator[Share]:
    """Join the processes that torchrun started, if it did."""
    if "WORLD_SIZE" not in os.environ:
        yield Share()
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Share(torch.distributed.get_rank(), torch.distributed.get_world_size())
    finally:
        torch.distributed.destroy_process_group()


def step_generator(seed: int, step: int, device: torch.device) -> torch.Generator:
    """Return the generator of all random numbers of a step."""
    return torch.Generator(device).manual_seed(seed * 1_000_000_007 + step)


def lambdas_of(net: nn.Module) -> dict[str, list[float]]:
    """Return the lambdas of all TV layers, by the names of the layers."""
    return {
        name: [float(f"{value:.6g}") for value in layer.lam.tolist()]
        for name, layer in net.named_modules()
        if isinstance(layer, tautstring.TVLayer)
    }


def parameter_groups(net: nn.Module, lam_lr_factor: float) -> list[dict[str, Any]]:
    """Split parameters: those of lambda have their own learning rate, and never weight decay.

    Decay would pull softplus(raw_lam) to 0.69 regardless of the data.
    """
    lams = [
        layer.raw_lam
        for layer in net.modules()
        if isinstance(layer, tautstring.TVLayer) and layer.learnable
    ]
    others = [p for p in net.parameters() if not any(p is lam for lam in lams)]
    groups: list[dict[str, Any]] = [{"params": others, "factor": 1.0}]
    if lams:
        groups.append({"params": lams, "factor": lam_lr_factor, "weight_decay": 0.0})
    return groups


def cosine(options: TrainingOptions, step: int) -> float:
    """Return the learning rate of a step."""
    falling = (1 + math.cos(math.pi * step / options.steps)) / 2
    return options.last_lr + (options.lr - options.last_lr) * falling


def train(
    net: nn.Module,
    loss: StepLoss,
    options: TrainingOptions,
    run: RunOptions,
    folder: Path,
    about: dict[str, Any],
    share: Share,
) -> Finished:
    """Train a net to the last step, from a checkpoint in `folder` if there is one.

    Maintains `run.json` there, and writes `weights.safetensors` at the end. `about` describes the
    task's own options and data; a checkpoint with others is rejected.
    """
    if options.batch % share.count:
        raise InputError(
            f"--batch: must be a multiple of the {share.count} processes, got {options.batch}"
        )
    with ExitStack() as stack:
        if share.rank == 0:
            stack.enter_context(checkpoints.alone_in(folder))
        device = next(net.parameters()).device
        about = {**about, "training": describe(options, run, device, share)}
        run = dataclasses.replace(run, precision=about["training"]["precision"])
        groups = parameter_groups(net, options.lam_lr_factor)
        optimizer = torch.optim.Adam(groups, fused=device.type == "cuda")
        log = _Log(about, runs.as_options(run), runs.about_machine(device))
        log.resume(folder / CHECKPOINT, net, optimizer)
        if log.step == options.steps and (folder / WEIGHTS).exists():
            return Finished(is_done=True, steps=log.step)
        called = _called(net, run.compile, share)
        writer = _writer(folder) if run.tensorboard and share.rank == 0 else None
        began = time.monotonic()
        before = log.seconds
        loss_sum = torch.tensor(log.loss_sum, device=device)
        progress = tqdm(
            range(log.step, options.steps),
            initial=log.step,
            total=options.steps,
            disable=share.rank != 0,
            mininterval=1.0,
        )

        def save() -> None:
            log.loss_sum = _mean_of_all(loss_sum, share)
            log.seconds = before + time.monotonic() - began
            if share.rank == 0:
                log.save(folder, net, optimizer)

        for step in progress:
            for group in optimizer.param_groups:
                group["lr"] = cosine(options, step) * group["factor"]
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=run.precision == "bfloat16"):
                value = loss(called, step, share)
            value.backward()
            optimizer.step()
            loss_sum += value.detach()
            log.step = step + 1
            if log.step % run.log_every == 0 or log.step == options.steps:
                mean = _mean_of_all(loss_sum, share) / (log.step - log.last_line)
                loss_sum.zero_()
                log.add(mean, lambdas_of(net))
                progress.set_postfix(loss=f"{mean:.5f}", refresh=False)
                if writer:
                    _write_scalars(writer, log.lines[-1])
                if not math.isfinite(mean):
                    raise RuntimeError(f"the loss is {mean} after {log.step} steps")
                if run.minutes is not None and _first_says(
                    time.monotonic() - began > 60 * run.minutes
                ):
                    break
            if log.step % run.checkpoint_every == 0 and log.step < options.steps:
                save()
        save()
        if writer:
            writer.close()
        is_done = log.step == options.steps
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


def _mean_of_all(value: Tensor, share: Share) -> float:
    """Return the mean over all processes; the same in all of them."""
    if share.count > 1:
        torch.distributed.all_reduce(value)
        value /= share.count
    return value.item()


def _called(net: nn.Module, is_compiled: bool, share: Share) -> Callable[[Tensor], Tensor]:
    called = DistributedDataParallel(net) if share.count > 1 else net
    return torch.compile(called, mode="reduce-overhead") if is_compiled else called


def _first_says(answer: bool) -> bool:
    """Return the first process's answer, in all processes."""
    if not torch.distributed.is_initialized():
        return answer
    answers = [answer]
    torch.distributed.broadcast_object_list(answers)
    return answers[0]


def _writer(folder: Path) -> SummaryWriter:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder / "tensorboard")


def _write_scalars(writer: SummaryWriter, line: dict[str, Any]) -> None:
    writer.add_scalar("loss", line["loss"], line["step"])
    for layer, lambdas in line["lam"].items():
        for channel, lam in enumerate(lambdas):
            writer.add_scalar(f"lam/{layer}/{channel}", lam, line["step"])
