"""Nets in files: those of a run, and those shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tautstring_tasks import checkpoints, json_files, runs
from tautstring_tasks.denoise.data import TRAIN, NoiseOptions
from tautstring_tasks.denoise.model import Arm, DnCNN, ModelOptions
from tautstring_tasks.errors import InputError
from tautstring_tasks.training import WEIGHTS

TASK = "denoise"
FOLDER = Path(__file__).parent / "weights"


def describe(net: ModelOptions, noise: NoiseOptions, files: Sequence[Path]) -> dict[str, Any]:
    """Describe a net and what it is trained on."""
    return {
        "task": TASK,
        "model": runs.as_options(net),
        "noise": runs.as_options(noise),
        "data": {TRAIN: {"images": len(files), "sha256": runs.hash_of_files(files)}},
    }


def load(file: Path) -> tuple[DnCNN, dict[str, Any]]:
    """Return the net of a file, ready for use, and its description."""
    tensors, about = checkpoints.load(file)
    if about.get("task") != TASK:
        raise InputError(f"{file}: belongs to the task {about.get('task')!r}, not {TASK!r}")
    options = json_files.options_of(file, about, "model", ModelOptions)
    json_files.options_of(file, about, "noise", NoiseOptions)
    if not _may_fit(options, tensors):
        raise InputError(f"{file}: does not contain the weights of a net; a run's are in {WEIGHTS}")
    net = DnCNN(options)
    try:
        net.load_state_dict(tensors)
    except RuntimeError:
        raise InputError(f"{file}: does not contain the weights of its net, {options}") from None
    # In this format, convolutions of whole images on a CPU take three quarters of the time.
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return net.eval().requires_grad_(False), about


def _may_fit(options: ModelOptions, tensors: Mapping[str, Tensor]) -> bool:
    """Return whether the net is no larger than its file; options could ask for any size."""
    first = tensors.get("noise.0.weight")
    return options.depth <= len(tensors) and first is not None and len(first) == options.width


def shipped(sigma: int | None = None, arm: Arm | None = None) -> Path:
    """Return the file of the package's own net for noise of standard deviation sigma."""
    found = {file.stem: file for file in FOLDER.glob("*.safetensors")}
    sigma = 25 if sigma is None else sigma
    name = f"{arm or 'both'}_sigma{sigma}"
    if name not in found:
        have = ", ".join(sorted(found)) or "nothing"
        raise InputError(f"--sigma {sigma}: the package has no such weights, only: {have}")
    return found[name]
