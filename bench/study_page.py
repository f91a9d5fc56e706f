#!/usr/bin/env python3
"""Makes the page and the plots of the timing study from results that bench/report.py kept.

usage: bench/study_page.py FOLDER FILE...    writes FOLDER/timing.md and FOLDER/images/timing_*.svg

FILE is a result of the study, one for each device. Needs matplotlib, which the peers' environment
has (bench/peers/install).
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from measurements import STUDY, Measurements, Median, load

TABLE1_WHO = {
    "cvxpylayers": "CVXPYLayers",
    "prox_tv:taut_string": "proxTV, taut string",
    "prox_tv:projected_newton": "proxTV, projected Newton",
    "condat_tv": "condat_tv",
    "newton": "Tautstring, Newton",
    "newton:all_threads": "Tautstring, Newton, all threads",
    "newton:graph": "Tautstring, Newton, CUDA graph",
    "direct": "Tautstring, direct",
    "direct:all_threads": "Tautstring, direct, all threads",
    "direct:graph": "Tautstring, direct, CUDA graph",
}
# Not measured here: forward and backward, ms.
QUOTED = {
    "CVXPYLayers (the paper's table)": (20704.0, 9932.0),
    "proxTV, taut string (the paper's table)": (207.8, 430.7),
    "proxTV, projected Newton (the paper's table)": (257.3, 447.0),
    "the paper's code, Titan X (the paper's table)": (9.0, 17.7),
    "the paper's code, A6000 (the paper's table)": (10.0, 7.3),
    "the paper's code, H200 (this project's notes)": (7.785, 2.02),
}
INTRODUCTION = """\
# The timing study

Made by `bench/study_page.py` from the results of `make bench` and `make bench-gpu`; how they are
measured is in [bench/README.md](../bench/README.md). Compare numbers of one machine only.
"""
TABLE1_WORDS = """\
## The paper's Table 1

256 images of 32 x 32, along rows; a unit step with normal noise, lambda 1; ms, medians of 25 runs
(fewer where one takes seconds). Others run on one core, with a backward in PyTorch by the closed
form (CVXPYLayers has its own); proxTV takes one row at a time, so Python has a share in its time.
On a GPU a call from PyTorch is mostly Python's; replayed from a CUDA graph it is the solver's. In
italics: quoted, not measured here.
"""
NEWTON_WORDS = """\
On a GPU Newton solves rows of more than 4096 samples by one thread each: hence its cliff. Take the
direct solver for them.
"""
MEMORY_WORDS = """\
## Memory

Forward and backward, float32: what autograd keeps for the backward beside x (`direct` is ours), and
on a GPU the most that the step allocates, result and gradients included. Most of ours there is the
workspace, 32 bytes an element of few rows: it is for as many as the GPU solves at a time (0.5 to 2
bytes an element of 2^27). `paper_backward` solves like ours, but goes back through the paper's
dense matrices of n x n for each row; `unrolled_100` is 100 iterations of accelerated projected
gradient, recorded by autograd.
"""
NETS_WORDS = """\
## Inside a net

A training step (forward, loss, backward, SGD) with the TV layers that the paper's tasks have, and
without: three 2D layers on 96 maps of 32 x 32 (AllConv), two on colour patches (DnCNN), one on 2048
maps of 28 x 28 (ResNet-50). float32 as PyTorch comes, and bfloat16 by autocast with channels last;
`graphs` is `torch.compile(mode="reduce-overhead")`.
"""
IMAGES_WORDS = """\
## Images beside other libraries

Time to as good a result as prox_tv's 2D solver and `denoise_tv_bregman(isotropic=False)` give, and
how their parameters map to lambda: [cpu_speed.md](cpu_speed.md#images), measured by `make bench`
too. scikit-image's Chambolle, kornia and deepinv minimise isotropic TV, which Tautstring does not
have yet, so there is nothing to compare them with.
"""
PARTS = ("forward", "backward", "total")
SOLVED = ("forward", "backward", "newton")
PART_COLOURS = {"forward": "C0", "backward": "C1", "newton": "C2", "copy": "0.6"}


@dataclass(frozen=True)
class Growth:
    """A plot: what grows, and where in a name its number stands."""

    group: str
    title: str
    axis: str
    field: int  # of shape, counted from 0; -1: lambda, -2: the group's own end

    def number(self, name: str) -> float:
        """Returns the number that grows."""
        group, _, shape, lam, _ = name.split("/")
        if self.field == -1:
            return float(lam.removeprefix("lam:"))
        if self.field == -2:
            return float(group.removeprefix(self.group + "_"))
        return float(shape.split("x")[self.field])


GROWTHS = [
    Growth("growth_n", "16 rows, noise, lambda 1", "samples of a row", 1),
    Growth("growth_rows", "rows of 32, noise, lambda 1", "rows", 0),
    Growth("growth_lam", "1024 rows of 1024, noise", "lambda", -1),
    Growth("growth_iterations", "2D, 16 x 3 x 128 x 128", "iterations", -2),
    Growth("growth_size", "2D, 4 iterations, 2^22 pixels", "width and height", 3),
]


def device_of(measurements: Measurements) -> str:
    """Returns the machine in words."""
    return measurements.about[STUDY[measurements.device]]


def medians_of(measurements: Measurements) -> dict[str, Median]:
    """Returns the study's one run."""
    (medians,) = measurements.runs.values()
    return medians


def curves(medians: dict[str, Median], growth: Growth) -> dict[str, list[tuple[float, float]]]:
    """Returns the points (number, ms) of each part."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, median in medians.items():
        if name.startswith(growth.group) and not median.error:
            part = name.rsplit("/", 1)[1].split(":")[0]
            found.setdefault(part, []).append((growth.number(name), median.ms))
    return {part: sorted(points) for part, points in found.items()}


def slope(points: list[tuple[float, float]]) -> float | None:
    """Fits time = c number^slope where calls no longer cost more than the work in them."""
    worked = [(math.log(x), math.log(ms)) for x, ms in points if ms > 4 * points[0][1]]
    if len(worked) < 3:
        return None
    mean_x, mean_y = (sum(values) / len(worked) for values in zip(*worked, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in worked)
    return above / sum((x - mean_x) ** 2 for x, _ in worked)


def plot(measurements: Measurements, file: Path) -> None:
    """Draws all growths of a device into one picture."""
    figure, axes = plt.subplots(2, 3, figsize=(12, 7))
    axes[1][2].set_axis_off()
    for axis, growth in zip(axes.flat, GROWTHS, strict=False):
        for part, points in curves(medians_of(measurements), growth).items():
            fitted = slope(points)
            label = part if fitted is None else f"{part}, slope {fitted:.2f}"
            colour = PART_COLOURS[part]
            axis.loglog(*zip(*points, strict=True), "o-", color=colour, label=label, markersize=3)
        axis.set(title=growth.title, xlabel=growth.axis, ylabel="ms")
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.suptitle(device_of(measurements))
    figure.tight_layout()
    # The same results give the same file.
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def table1(found: list[Measurements]) -> Iterator[str]:
    """Yields the lines of the paper's table, ours first measured, then what is quoted."""
    yield "| | forward | backward | both | off by, of the range |"
    yield "|---|---|---|---|---|"
    for measurements in found:
        medians = medians_of(measurements)
        for who, words in TABLE1_WHO.items():
            parts = [
                next((m for n, m in medians.items() if n.endswith(f"/{who}:{part}")), None)
                for part in PARTS
            ]
            if any(parts):
                yield f"| {words}; {device_of(measurements)} | {_times(parts)} |"
    for words, (forward, backward) in QUOTED.items():
        both = forward + backward
        yield f"| *{words}* | *{forward:g}* | *{backward:g}* | *{both:g}* | |"


def _times(parts: list[Median | None]) -> str:
    if errors := [median.error for median in parts if median and median.error]:
        return f"{errors[0]} | | |"
    cells = [f"{median.ms:.3g}" if median else "" for median in parts]
    differences = [median.difference for median in parts if median]
    return " | ".join([*cells, f"{max(differences):.1g}"])


def families(found: list[Measurements]) -> Iterator[str]:
    """Yields data families and dtypes as times a copy's time."""
    yield "| | " + " | ".join(f"{device_of(m)}: forward | backward | Newton" for m in found) + " |"
    yield "|---" * (1 + 3 * len(found)) + "|"
    names = [
        name.rsplit("/", 1)[0]
        for name in medians_of(found[0])
        if name.startswith(("growth_family", "growth_dtype")) and "/forward:" in name
    ]
    for case in dict.fromkeys(names):
        for dtype in ("fp64", "fp32", "bf16", "fp16"):
            cells = [_ratio(medians_of(m), case, what, dtype) for m in found for what in SOLVED]
            if any(cells):
                yield f"| {case.split('/')[1]}, {dtype} | " + " | ".join(cells) + " |"


def _ratio(medians: dict[str, Median], case: str, what: str, dtype: str) -> str:
    ours, copy = (medians.get(f"{case}/{who}:{dtype}") for who in (what, "copy"))
    if ours is None or copy is None:
        return ""
    return ours.error or copy.error or f"{ours.ms / copy.ms:.3g}x"


def memory(found: list[Measurements]) -> Iterator[str]:
    """Yields what a step keeps, needs at most, and takes."""
    yield "| rows | way | kept, bytes an element | at most, bytes an element | ms |"
    yield "|---|---|---|---|---|"
    for measurements in found:
        for name, median in medians_of(measurements).items():
            if not name.startswith("memory/"):
                continue
            _, _, shape, _, who = name.split("/")
            rows, n = map(int, shape.split("x"))
            words = f"{rows} of {n}; {device_of(measurements)} | {who.split(':')[0]}"
            if median.error:
                yield f"| {words} | {median.error} | | |"
                continue
            peak = f"{median.peak_bytes / (rows * n):.3g}" if median.peak_bytes else ""
            kept = f"{median.saved_bytes / (rows * n):.3g}"
            yield f"| {words} | {kept} | {peak} | {median.ms:.3g} |"


def nets(found: list[Measurements]) -> Iterator[str]:
    """Yields what TV layers add to a training step."""
    yield "| net | batch | | without, ms | with TV, ms | more | spreads |"
    yield "|---|---|---|---|---|---|---|"
    for measurements in found:
        medians = medians_of(measurements)
        for name, without in medians.items():
            if not name.startswith("nets/") or "/without_tv:" not in name:
                continue
            _, net, shape, _, who = name.split("/")
            other = name.replace("/without_tv:", "/with_tv:")
            with_tv = medians.get(other, Median(error="not measured"))
            words = f"{net} | {shape} | {who.split(':')[1]}, {device_of(measurements)}"
            error = without.error or with_tv.error
            more = error or f"{with_tv.ms / without.ms - 1:.1%}"
            spreads = f"{without.spread:.0%}, {with_tv.spread:.0%}"
            yield f"| {words} | {without.ms:.3g} | {with_tv.ms:.3g} | {more} | {spreads} |"


def page(found: list[Measurements], images: dict[str, str]) -> str:
    """Returns the page's Markdown."""
    lines = [
        INTRODUCTION,
        "| | " + " | ".join(device_of(m) for m in found) + " |",
        "|---" * (1 + len(found)) + "|",
    ]
    for key in ("date", "commit", "cpu", "threads", "driver", "packages"):
        cells = [m.about.get(key, "") for m in found]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    lines += ["", TABLE1_WORDS]
    lines += [*table1(found), "", "## How cost grows", ""]
    lines += [f"![How cost grows on {name}]({path})" for name, path in images.items()]
    lines += [
        "",
        NEWTON_WORDS,
        "Times a copy of x to y, 1024 rows of 1024, lambda 1:",
        "",
        *families(found),
    ]
    lines += ["", MEMORY_WORDS, *memory(found), "", NETS_WORDS, *nets(found), "", IMAGES_WORDS]
    return "\n".join(lines)


def main() -> None:
    """Reads the arguments and writes the page."""
    parser = argparse.ArgumentParser(description="The page of the timing study.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    found = [load([file]) for file in arguments.files]
    (arguments.folder / "images").mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update({"svg.hashsalt": "tautstring", "svg.fonttype": "none"})
    images = {}
    for measurements in found:
        path = f"images/timing_{measurements.device.removeprefix('study_')}.svg"
        plot(measurements, arguments.folder / path)
        images[device_of(measurements)] = path
    (arguments.folder / "timing.md").write_text(page(found, images), encoding="utf-8")


if __name__ == "__main__":
    main()
