"""Random square patches of images, drawn on the training device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tautstring_tasks.arrays import Array
from tautstring_tasks.errors import InputError

_ORIENTATIONS = 8  # of a square


class Patches:
    """Random square patches of pictures of bytes, all held in memory on the training device."""

    def __init__(self, pictures: Sequence[Array], size: int, device: torch.device) -> None:
        """Store all pictures, of shape (height, width, channels), in one array of bytes."""
        smallest = min(min(picture.shape[:2]) for picture in pictures)
        if smallest < size:
            raise InputError(f"--patch: must fit the smallest image, {smallest} pixels, got {size}")
        self.size = size
        self._pixels = torch.from_numpy(
            np.concatenate([picture.reshape(-1, picture.shape[2]) for picture in pictures])
        ).to(device)
        heights, widths = (
            torch.tensor([picture.shape[axis] for picture in pictures], device=device)
            for axis in (0, 1)
        )
        self._heights, self._widths = heights, widths
        counts = heights * widths
        self._starts = counts.cumsum(0) - counts

    @property
    def device(self) -> torch.device:
        """Where the pictures are."""
        return self._pixels.device

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw patches at any place and in any of 8 orientations.

        Returns their bytes, of shape (count, channels, size, size), and the pictures' numbers.
        """
        device = self.device

        def below(limits: Tensor) -> Tensor:
            drawn = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
            return (drawn * limits).long()

        picture = below(torch.full((count,), len(self._starts), device=device))
        heights, widths = self._heights[picture], self._widths[picture]
        top, left = below(heights - self.size + 1), below(widths - self.size + 1)
        turn = below(torch.full((count,), _ORIENTATIONS, device=device))
        row, column = (
            each + at for each, at in zip(self._oriented(turn), (top, left), strict=True)
        )
        index = self._starts[picture] + row * widths + column
        pixels = self._pixels[index.permute(2, 0, 1).contiguous()]
        return pixels.permute(0, 3, 1, 2).contiguous(), picture

    def _oriented(self, turn: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows and columns of a patch's pixels, of shape (size, size, N)."""
        along = torch.arange(self.size, device=turn.device)
        down, across = along[:, None, None], along[None, :, None]
        is_transposed = (turn & 1).bool()
        row = torch.where(is_transposed, across, down)
        column = torch.where(is_transposed, down, across)
        last = self.size - 1
        return (
            torch.where((turn & 2).bool(), last - row, row),
            torch.where((turn & 4).bool(), last - column, column),
        )
