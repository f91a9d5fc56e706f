"""The training batches of CIFAR-10: each image once per epoch, mirrored and shifted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tautstring_tasks.cifar10 import CIFAR10, SIZE, Bytes
from tautstring_tasks.epochs import EpochOrder
from tautstring_tasks.errors import require
from tautstring_tasks.training import step_generator


@dataclass(frozen=True)
class ClassifyOptions:
    """What nets are trained on."""

    held_out: int = 0
    """Number of images at the end of the training set that are not trained on; the set `held-out`
    tests on them."""
    shift: int = 4
    """Images are shifted by at most this number of pixels in either direction; the border is filled
    with black."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("held_out", self.held_out, at_least=0)
        require("shift", self.shift, at_least=0)


@dataclass(frozen=True)
class Batch:
    """Images of shape (N, 3, 32, 32) in [-1, 1], and their labels."""

    images: Tensor
    labels: Tensor


def scaled(images: Bytes | Tensor) -> Tensor:
    """Return images of shape (N, 32, 32, 3) in 0..255 as nets take them."""
    values = torch.as_tensor(images).permute(0, 3, 1, 2).float()
    return values / 127.5 - 1


class Batches:
    """Training batches; all images are in memory on the training device."""

    def __init__(
        self,
        samples: CIFAR10,
        batch: int,
        options: ClassifyOptions,
        seed: int,
        device: torch.device,
    ) -> None:
        """Store images with a black border."""
        count = len(samples.images) - options.held_out
        self._order = EpochOrder(count, batch, seed, device)
        edge = options.shift
        images = torch.from_numpy(samples.images[:count]).to(device)
        self._images = torch.nn.functional.pad(images, (0, 0, edge, edge, edge, edge))
        self._labels = torch.from_numpy(samples.labels[:count]).long().to(device)
        self._options, self._seed = options, seed

    def of_step(self, step: int) -> Batch:
        """Return the batch of a step."""
        chosen = self._order.of_step(step)
        return Batch(self._moved(chosen, step), self._labels[chosen])

    def _moved(self, chosen: Tensor, step: int) -> Tensor:
        device = self._images.device
        generator = step_generator(self._seed, step, device)
        count, shifts = len(chosen), 2 * self._options.shift + 1
        top, left = torch.randint(0, shifts, (2, count), generator=generator, device=device)
        is_mirrored = torch.rand(count, generator=generator, device=device) < 0.5
        along = torch.arange(SIZE, device=device)
        rows = top[:, None] + along
        columns = left[:, None] + torch.where(is_mirrored[:, None], SIZE - 1 - along, along)
        return scaled(self._images[chosen[:, None, None], rows[:, :, None], columns[:, None, :]])
