"""Large images strip by strip, to fit into memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def in_strips(
    convolved: Callable[[Tensor], Tensor], image: Tensor, beside: int, pixels: int
) -> Tensor:
    """Apply convolutions to an image in strips of about this number of pixels.

    With `beside` rows on either side, as far as the convolutions see, a strip gives the same result
    as the whole image.
    """
    height, width = image.shape[-2:]
    rows = max(1, pixels // (image.shape[0] * width))
    if rows >= height:
        return convolved(image)
    strips = []
    for top in range(0, height, rows):
        first = max(0, top - beside)
        seen = image[..., first : top + rows + beside, :]
        strips.append(convolved(seen)[..., top - first : top - first + rows, :])
    return torch.cat(strips, dim=-2)
