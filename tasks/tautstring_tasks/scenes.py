"""Small rendered scenes, to try the commands of a task without its data."""

from __future__ import annotations

import numpy as np

from tautstring_tasks.images import Pixels


def render(generator: np.random.Generator, height: int, width: int) -> Pixels:
    """Render rectangles and discs of plain colours over a gradient."""
    y, x = np.mgrid[:height, :width]
    slope = generator.uniform(-1, 1, (2, 3))
    scene = 128 + 60 * (slope[0] * (y / height)[..., None] + slope[1] * (x / width)[..., None])
    for _ in range(12):
        centre_y, centre_x = generator.uniform(0, height), generator.uniform(0, width)
        size = generator.uniform(4, 20)
        if generator.random() < 0.5:
            inside = (abs(y - centre_y) < size) & (abs(x - centre_x) < size / 2)
        else:
            inside = (y - centre_y) ** 2 + (x - centre_x) ** 2 < size**2
        scene[inside] = generator.uniform(0, 255, 3)
    pixels: Pixels = scene.clip(0, 255).astype(np.uint8)
    return pixels
