"""Tensors in files (safetensors), with a description as JSON in the metadata."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tautstring_tasks import files, json_files
from tautstring_tasks.errors import InputError

_ABOUT = "about"
_MODEL = "model."
_OPTIMIZER = "optimizer."


def save(file: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and their description."""
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {_ABOUT: json.dumps(about)}
    files.write_whole(file, safetensors.torch.save(on_cpu, metadata))


def load(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file written by `save`; tensors are on the CPU."""
    with _opened(file) as opened:
        about = _about(opened, file)
        return {name: opened.get_tensor(name) for name in opened.keys()}, about  # noqa: SIM118


def load_about(file: Path) -> dict[str, Any]:
    """Read the description of a file's tensors."""
    with _opened(file) as opened:
        return _about(opened, file)


def check_about(file: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Reject a file of another run."""
    for key, value in wanted.items():
        if found.get(key) != value:
            raise InputError(
                f"{file}: belongs to another run: its {key} is {found.get(key)}, not {value}. "
                "Choose another folder, or delete it."
            )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes of this program out of a run's folder."""
    files.make_folder(folder)
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder}: another process is training there") from None
        yield
    finally:
        os.close(opened)


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    try:
        with safetensors.safe_open(file, framework="pt") as opened:
            yield opened
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(f"{file}: cannot be read as safetensors ({error})") from None


def _about(opened: Any, file: Path) -> dict[str, Any]:
    about = (opened.metadata() or {}).get(_ABOUT)
    if about is None:
        raise InputError(f"{file}: was not written by tautstring_tasks")
    return json_files.parse(file, about)


def training_state(net: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return all tensors needed to resume training."""
    tensors = {_MODEL + name: tensor for name, tensor in net.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"{_OPTIMIZER}{index}.{name}": value for name, value in state.items()}
    return tensors


def restore(
    file: Path, net: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    """Restore what `training_state` returned for such a net; learning rates are not included."""
    try:
        _restore(net, optimizer, tensors)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{file}: does not fit the net ({error})") from None


def _restore(
    net: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    net.load_state_dict(
        {
            name.removeprefix(_MODEL): tensor
            for name, tensor in tensors.items()
            if name.startswith(_MODEL)
        }
    )
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(_OPTIMIZER):
            index, key = name.removeprefix(_OPTIMIZER).split(".", 1)
            state.setdefault(int(index), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    known = {index for group in groups for index in group["params"]}
    if not state.keys() <= known or len({frozenset(kept) for kept in state.values()}) > 1:
        raise ValueError("the optimizer's state is not that of the net's parameters")
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    # Files store tensors in row-major order. With the memory layout of its parameter, a tensor is
    # summed in the same order as before; and fused Adam on a GPU accepts nothing else.
    for parameter, kept in optimizer.state.items():
        for key, value in kept.items():
            if value.dim() == 0:  # a count of steps
                continue
            if value.shape != parameter.shape:
                raise ValueError(f"{key} does not have the shape of its parameter")
            kept[key] = torch.empty_like(parameter).copy_(value)
