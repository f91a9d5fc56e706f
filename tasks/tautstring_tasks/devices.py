"""Devices, precision, and the processes that share a training."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tautstring_tasks.errors import InputError

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # of glibc's mallopt

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "bfloat16"]  # of convolutions


@dataclass(frozen=True)
class Share:
    """One of the training processes."""

    rank: int = 0
    count: int = 1

    def of(self, samples: Tensor) -> Tensor:
        """Return this process's part of a batch."""
        return samples[self.rank :: self.count]

    def mean_of_all(self, value: Tensor) -> float:
        """Return the mean over all processes; the same in all of them."""
        if self.count > 1:
            torch.distributed.all_reduce(value)
            value /= self.count
        return value.item()

    def first_says(self, answer: bool) -> bool:
        """Return the first process's answer, in all processes."""
        answers = [answer]
        if self.count > 1:
            torch.distributed.broadcast_object_list(answers)
        return answers[0]


def pick_device(wanted: Device) -> torch.device:
    """Return the GPU of this process, or the CPU."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU")
    if wanted == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def keep_memory() -> None:
    """Keep memory that tensors on the CPU free, for the next ones.

    By default glibc returns large blocks to the system at once, and the next step gets zeroed pages
    one by one, which takes time in every step.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        set_option = ctypes.CDLL(None).mallopt
        set_option(_MMAP_MAX, 0)
        set_option(_TRIM_THRESHOLD, 2**31 - 1)
        set_option(_TOP_PAD, 2**28)


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
        torch.distributed.barrier()  # one that leaves early can make another's exit fail
    finally:
        torch.distributed.destroy_process_group()


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """Return the context in which convolutions have this precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


@contextmanager
def testing(device: torch.device, precision: Precision) -> Iterator[None]:
    """Apply nets without gradients. With float32, TF32 is off: convolutions would round to it."""
    in_float32 = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with torch.no_grad(), autocast(device, precision), in_float32:
        yield
