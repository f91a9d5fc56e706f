"""The order of samples in training, epoch by epoch."""

from __future__ import annotations

import torch
from torch import Tensor

from tautstring_tasks.errors import InputError


class EpochOrder:
    """Which samples each step has: all once per epoch, in a random order.

    The incomplete last batch of an epoch is dropped.
    """

    def __init__(self, count: int, batch: int, seed: int, device: torch.device) -> None:
        """Order `count` samples."""
        if batch > count:
            raise InputError(f"--batch: must be at most the {count} training images, got {batch}")
        self._count, self._batch, self._seed, self._device = count, batch, seed, device
        self._epoch, self._order = -1, torch.empty(0)

    def of_step(self, step: int) -> Tensor:
        """Return the numbers of a step's samples."""
        epoch, number = divmod(step, self._count // self._batch)
        if epoch != self._epoch:
            # Steps have generators of their own; epochs take those before the first step.
            generator = torch.Generator(self._device).manual_seed(
                -1 - self._seed * 1_000_003 - epoch
            )
            self._order = torch.randperm(self._count, generator=generator, device=self._device)
            self._epoch = epoch
        return self._order[number * self._batch : (number + 1) * self._batch]
