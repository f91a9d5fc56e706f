"""Nets in files: what describes them, and how they are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from tautstring_tasks import checkpoints, json_files, runs
from tautstring_tasks.errors import InputError
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.task import Task
from tautstring_tasks.training import WEIGHTS

AnyTask = Task[Any, Any, Any]


def describe(task: AnyTask, net: Any, data: Any, about_data: dict[str, Any]) -> dict[str, Any]:
    """Describe a net and what it is trained on."""
    return {
        "task": task.name,
        "model": runs.as_options(net),
        "options": runs.as_options(data),
        "data": about_data,
        "start": None,  # the net that training began with; None: the seed's
    }


def make(task: AnyTask, net: Any, seed: int) -> nn.Module:
    """Create the net of a seed, whatever random numbers were drawn before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return task.start(net)


def find(task: AnyTask, weights: str | Path) -> Path:
    """Return the file of a net: one of the package's by its name, or any by its path."""
    return task.weights().get(str(weights)) or Path(weights)


def load(task: AnyTask, file: Path) -> tuple[nn.Module, dict[str, Any]]:
    """Return the net of a file, ready for use, and its description."""
    if not file.exists() and file.suffix == "":
        known = ", ".join(task.weights()) or "none"
        raise InputError(f"{file}: is neither a file nor one of the package's nets ({known})")
    tensors, about = checkpoints.load(file)
    net, _, _ = options_of(task, file, about)
    with torch.device("meta"):  # options could ask for a net of any size
        wanted = {name: tensor.shape for name, tensor in task.make(net).state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
        raise InputError(
            f"{file}: does not contain the weights of its net, {net}; a run's are in {WEIGHTS}"
        )
    module = task.make(net)
    module.load_state_dict(tensors)
    # In this format, convolutions of whole images on a CPU take three quarters of the time.
    module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return module.eval().requires_grad_(False), about


def options_of(task: AnyTask, file: Path, about: dict[str, Any]) -> tuple[Any, Any, Recipe]:
    """Return the options of a file's net, of what it was trained on, and of its training."""
    if about.get("task") != task.name:
        raise InputError(f"{file}: belongs to the task {about.get('task')!r}, not {task.name!r}")
    return (
        json_files.options_of(file, about, "model", type(task.net)),
        json_files.options_of(file, about, "options", type(task.data)),
        json_files.options_of(file, about, "training", Recipe),
    )


def halve(task: AnyTask, weights: Path, out: Path) -> None:
    """Store a net in half precision."""
    load(task, weights)  # it is one of this task
    tensors, about = checkpoints.load(weights)
    halves = {n: t.half() if t.is_floating_point() else t for n, t in tensors.items()}
    checkpoints.save(out, halves, {**about, "half": True})
