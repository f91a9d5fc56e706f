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

EDGE_THRESHOLDS: int

Counts = npt.NDArray[np.int64]
Point = tuple[float, float, float, float]

def suppress_edges(
    map: npt.NDArray[np.float32],
    radius: int = 1,
    border: int = 5,
    factor: float = 1.03,
) -> Bytes: ...
def thin_edges(map: Bytes) -> Bytes: ...
def match_edges(predicted: Bytes, truth: Bytes, max_distance: float) -> tuple[Bytes, Bytes]: ...
def count_edges(
    maps: Sequence[Bytes],
    truths: Sequence[Sequence[Bytes]],
    max_dist: float = 0.0075,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Counts: ...
def summarise_edges(counts: Counts) -> tuple[list[Point], Point, Point, float]: ...
def best_edges(counts: Counts) -> list[Point]: ...

HEAT_SIZE: tuple[int, int]
HEAT_CUTS: int
HEAT_BINS: int
IGNORED: int

Boxes = npt.NDArray[np.int32]

def prepare_heat(map: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]: ...
def heat_boxes(map: Bytes) -> tuple[Boxes, Boxes]: ...
def score_heat(
    maps: Sequence[npt.NDArray[np.float32]], truths: Sequence[Boxes], threads: int = 0
) -> Bytes: ...
def count_heat(
    maps: Sequence[npt.NDArray[np.float32]], masks: Sequence[Bytes], threads: int = 0
) -> npt.NDArray[np.int64]: ...
