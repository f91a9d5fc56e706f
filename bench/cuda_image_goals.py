"""What the CUDA solver is compared with in 2D, and the goal of each comparison.

Names are as in cuda_goals. The group selects the solver: the paper's Algorithm 1 with 4 iterations
(small, net, odd, large) or 16, the accelerated one with 16, or the accelerated one to a gap of
1e-4.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cuda_goals import (
    BACKWARD,
    FORWARD,
    QUEUED,
    DeviceComparison,
    against_copy,
    beside_empty_launch,
)
from goals import Comparison, Run, Section
from measurements import CUDA, Measurements, Median

# Upper limits in ms for calls in a row, by family and shape.
SMALL_MS = {
    "noise/256x1x32x32": {FORWARD: 0.045, BACKWARD: 0.016},
    "noise/16x64x56x56": {FORWARD: 0.15, BACKWARD: 0.055},
}
# Upper limits, as multiples of the time of a copy.
NET = {FORWARD: 10.0, BACKWARD: 2.5}
LARGE = {"noise": {FORWARD: 3.0, BACKWARD: 3.0}, "smooth": {FORWARD: 6.0, BACKWARD: 3.0}}
# Upper limits, as multiples of the time of another case.
ODD = 1.5  # the next larger square, per pixel
ACCELERATED = 1.25  # Algorithm 1 with as many iterations
TO_GAP = 10.0  # Algorithm 1 with 4 iterations; forward
SQUARES = (56, 64)  # odd shapes are compared with the smallest of these that has room for them

SAVED_ITERATIONS = {
    **dict.fromkeys(("images_small", "images_net", "images_odd", "images_large"), 4),
    **dict.fromkeys(("images_dykstra16", "images_accelerated16"), 16),
    "images_to_gap": 1,
}
SAVED_BITS = 4  # per pixel and iteration
SAVED_BITS_AN_IMAGE = 64  # per image and iteration: its momentum


@dataclass(frozen=True)
class SavedComparison(Comparison):
    """A comparison in bits per pixel; the limit is `goal` times the other number."""

    at_most: bool = True
    pixels: int = 1  # of all images

    def time(self, median: Median | None) -> float | None:
        """Return the bits per pixel."""
        return None if median is None or median.error else 8 * median.saved_bytes / self.pixels


def sections(measurements: Measurements) -> list[Section]:
    """Return all comparisons, whatever their outcome."""
    run = Run(measurements.runs[CUDA])
    lines = [
        (
            "Small images, Algorithm 1, K = 4, next to an empty launch",
            beside_empty_launch(run, "images_small", lambda case: SMALL_MS.get(_data_of(case), {})),
        ),
        ("A classification net's layer, Algorithm 1, K = 4, against a copy", _net(run)),
        ("Odd shapes, Algorithm 1, K = 4, against a square, per pixel; queued", _odd(run)),
        (
            "Large images, Algorithm 1, K = 4, against a copy of the bytes of all passes",
            _large(run),
        ),
        ("Accelerated against Algorithm 1, K = 16", _accelerated(run)),
        ("Accelerated to a gap of 1e-4 against Algorithm 1, K = 4", _to_gap(run)),
        ("Saved for the backward, bits per pixel", _saved(run)),
    ]
    return [Section(title, list(comparisons)) for title, comparisons in lines]


def _data_of(case: str) -> str:
    """Return family/shape."""
    return "/".join(case.split("/")[1:3])


def _sizes_of(case: str) -> tuple[int, int, int, int]:
    samples, channels, height, width = map(int, case.split("/")[2].split("x"))
    return samples, channels, height, width


def _pixels_of(case: str) -> int:
    samples, channels, height, width = _sizes_of(case)
    return samples * channels * height * width


def _net(run: Run) -> Iterator[DeviceComparison]:
    for what in NET:
        yield from against_copy(run, "images_net", what, lambda _, what: NET[what])


def _odd(run: Run) -> Iterator[DeviceComparison]:
    for what in (FORWARD, BACKWARD):
        for case in run.cases("images_odd"):
            samples, channels, height, width = _sizes_of(case)
            if height == width or not (ours := run.get(case, f"{what}{QUEUED}:fp32")):
                continue
            side = min(square for square in SQUARES if square >= max(height, width))
            square = f"images_odd/noise/{samples}x{channels}x{side}x{side}/lam:1"
            other = run.get(square, f"{what}{QUEUED}:fp32")
            if other is not None:
                other = replace(other, ms=other.ms * _pixels_of(case) / _pixels_of(square))
            name = f"{case} {what} fp32, queued"
            yield DeviceComparison(name, ours, f"{side}x{side}, as many pixels", other, ODD)


def _large(run: Run) -> Iterator[DeviceComparison]:
    for what in (FORWARD, BACKWARD):
        yield from against_copy(
            run, "images_large", what, lambda case, what: LARGE[case.split("/")[1]][what]
        )


def _accelerated(run: Run) -> Iterator[DeviceComparison]:
    group = "images_accelerated16"
    for what in (FORWARD, BACKWARD):
        for case in run.cases(group):
            if ours := run.get(case, f"{what}:fp32"):
                plain = run.get("images_dykstra16" + case.removeprefix(group), f"{what}:fp32")
                name = f"{case} {what} fp32"
                yield DeviceComparison(name, ours, "Algorithm 1", plain, ACCELERATED)


def _to_gap(run: Run) -> Iterator[DeviceComparison]:
    group = "images_to_gap"
    for what, goal in ((FORWARD, TO_GAP), (BACKWARD, None)):
        for case in run.cases(group):
            if ours := run.get(case, f"{what}:fp32"):
                plain = run.get("images_small" + case.removeprefix(group), f"{what}:fp32")
                took = f", at most {ours.iterations} iterations" if ours.iterations else ""
                name = f"{case} {what} fp32{took}"
                yield DeviceComparison(name, ours, "Algorithm 1, K = 4", plain, goal)


def _saved(run: Run) -> Iterator[SavedComparison]:
    for group, iterations in SAVED_ITERATIONS.items():
        for case in run.cases(group):
            if (ours := run.get(case, f"{FORWARD}:fp32")) is None or not ours.saved_bytes:
                continue
            samples, channels, _, _ = _sizes_of(case)
            bits = iterations * (
                SAVED_BITS * _pixels_of(case) + SAVED_BITS_AN_IMAGE * samples * channels
            )
            saved, limit = Median(saved_bytes=ours.saved_bytes), Median(saved_bytes=bits // 8)
            name = f"{SAVED_BITS} K, and {SAVED_BITS_AN_IMAGE} K per image"
            yield SavedComparison(case, saved, name, limit, 1.0, pixels=_pixels_of(case))
