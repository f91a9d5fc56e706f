"""The C++ part of the tasks (tasks/cpp)."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

CORRUPTIONS: tuple[str, ...]
SEVERITIES: int

def corrupt(
    images: Bytes,
    corruption: str,
    severity: int,
    seed: int = 0,
    first_index: int = 0,
    threads: int = 0,
    overlays: Sequence[Bytes] = (),
    progress: Callable[[int], object] | None = None,
) -> Bytes: ...
def draw(
    corruption: str,
    severity: int,
    seed: int = 0,
    index: int = 0,
    overlays: Sequence[Bytes] = (),
) -> npt.NDArray[np.float64]: ...
def corrupt_with(
    image: Bytes,
    random: npt.NDArray[np.float64],
    corruption: str,
    severity: int,
    overlays: Sequence[Bytes] = (),
) -> Bytes: ...
