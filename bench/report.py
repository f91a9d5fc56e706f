#!/usr/bin/env python3
"""Print how a solver compares with its goals, wins and losses alike.

usage: bench/report.py FILE...                  the table as text
       bench/report.py --markdown FILE...       the table as Markdown
       bench/report.py --overview FILE...       a small table, as in docs/cpu_speed.md
       bench/report.py --save FOLDER FILE...    as text, and saves FOLDER/DEVICE-DATE-MACHINE.json

FILE is the JSON of Google Benchmark, of one run or of several with different TAUTSTRING_CPU, the
JSON of tautstring_bench_cuda or of bench/study, or a file that --save wrote. bench/results has the
files that are kept: one per machine and day.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import cuda_goals
import cuda_image_goals
import goals
import study_goals
from goals import NO_PEER, Comparison, Run, Section
from measurements import BEST, CUDA, STUDY, Measurements, Median, load

HEADER = ("case", "ours", "against", "its", "ratio", "goal", "", "spread")
NOTE_CPU = (
    "Times are in ns per element: medians of CPU time on one core, or of wall-clock time for "
    "threads. A ratio of 4x means 4 times as fast as the fastest peer (or one thread); with a goal "
    "of <= it means 4 times as slow. Ours also records the partition; peers get the same values as "
    "float64. Spread: interquartile range of our time, and of the other's."
)
NOTE_CUDA = (
    "Times are in ms per call on the GPU's clock: medians. A ratio is how many times as slow. "
    "Copy: of x to y (backward: of grad_y to grad_x) in the same run. Ours also writes the "
    "partition; the backward returns grad_x and one grad_lam per row. Images: lambda is one "
    "number, the backward returns grad_x and a grad_lam for each row and each column; a copy moves "
    "as many bytes as x, y and partitions of 4 bits per pixel and iteration have together, for "
    "large images 12.25 bytes per pixel and pass. Spread: interquartile range of our time, and of "
    "the other's if that is ours too."
)
NOTE_STUDY = (
    "Times are in ms per call from PyTorch: medians. A ratio is how many times as slow. Copy: of x "
    "to y, in the same run. Spread: interquartile range of the first time, and of the other."
)


def sections(measurements: Measurements) -> list[Section]:
    """Return all comparisons for the device of the results."""
    if measurements.device in STUDY:
        return study_goals.sections(measurements)
    if measurements.device == "cuda":
        return cuda_goals.sections(measurements) + cuda_image_goals.sections(measurements)
    return goals.sections(measurements)


def note(measurements: Measurements) -> str:
    """Return how to read the table."""
    if measurements.device in STUDY:
        return NOTE_STUDY
    return NOTE_CUDA if measurements.device == "cuda" else NOTE_CPU


def table(measurements: Measurements, section: Section) -> list[tuple[str, ...]]:
    """Return the cells of a section, without the header."""
    return [
        _cells(comparison, measurements.about.get("peers", ""))
        for comparison in section.comparisons
    ]


def _cells(comparison: Comparison, peers: str) -> tuple[str, ...]:
    verdict = {True: "met", False: "MISSED", None: ""}[comparison.met]
    if comparison.ours and comparison.ours.wrong:
        verdict = "WRONG"
    ratio = "" if comparison.ratio is None else f"{comparison.ratio:.3g}x"

    def time(median: Median | None) -> str:
        value = comparison.time(median)
        if value is not None:
            return f"{value:.3g}"
        return median.error if median else "not measured"

    against = f"none ({peers})" if comparison.other_name == NO_PEER else comparison.other_name
    spreads = [f"{m.spread:.0%}" for m in (comparison.ours, comparison.other) if m and m.spread]
    return (
        comparison.case,
        time(comparison.ours),
        against,
        time(comparison.other),
        ratio,
        comparison.goal_text,
        verdict,
        ", ".join(spreads),
    )


def as_text(measurements: Measurements) -> str:
    """Return the whole report in aligned columns."""
    lines = [f"{key + ':':<11}{value}" for key, value in measurements.about.items()]
    shown = [(s.title, table(measurements, s)) for s in sections(measurements) if s.comparisons]
    rows = [HEADER, *(row for _, cells in shown for row in cells)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()

    for title, cells in shown:
        lines += ["", title, line(HEADER), *map(line, cells)]
    return "\n".join(
        [*lines, "", *_memory(measurements), "", note(measurements), summary(measurements)]
    )


def as_markdown(measurements: Measurements) -> str:
    """Return the whole report as Markdown tables."""
    lines = ["| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in measurements.about.items()]
    for section in sections(measurements):
        if not section.comparisons:
            continue
        lines += ["", f"## {section.title}", "", _pipes(HEADER), "|---" * len(HEADER) + "|"]
        lines += [_pipes(row) for row in table(measurements, section)]
    return "\n".join(
        [*lines, "", *_memory(measurements), "", note(measurements), "", summary(measurements)]
    )


def as_overview(measurements: Measurements) -> str:
    """Return one small Markdown table: ns per element, and the speedup over the fastest peer."""
    best = Run(measurements.runs.get(BEST, {}))
    avx2 = Run(measurements.runs.get("avx2", {}))
    header = ("case", "fastest peer", "float32", "float64", "float32, AVX2")
    lines = [_pipes(header), "|---" * len(header) + "|"]

    def cell(run: Run, case: str, dtype: str) -> str:
        comparison = Comparison("", run.get(case, f"ours:{dtype}"), *run.fastest_peer(case), None)
        if comparison.ratio is None:
            return "-"
        return f"{comparison.time(comparison.ours):.3g} ({comparison.ratio:.2g}x)"

    for case in (c for group in ("rows", "signal", "hard") for c in best.cases(group)):
        name, peer = best.fastest_peer(case)
        if name == NO_PEER or peer is None:
            continue
        ours = (cell(best, case, "fp32"), cell(best, case, "fp64"), cell(avx2, case, "fp32"))
        lines.append(_pipes((case.split("/", 1)[1], f"{peer.cpu_ns:.3g}", *ours)))
    return "\n".join([*lines, "", summary(measurements)])


def _pipes(row: tuple[str, ...]) -> str:
    return "| " + " | ".join(row) + " |"


def _memory(measurements: Measurements) -> list[str]:
    """Return the scratch memory of calls: it may grow with n and threads, not with rows."""
    found: dict[str, list[str]] = {}
    main_run = CUDA if measurements.device == "cuda" else BEST
    for name, median in measurements.runs.get(main_run, {}).items():
        if median.scratch_bytes:
            _, family, shape, _, who = name.split("/")
            size = f"{who.split(':', 1)[1]} {median.scratch_bytes}"
            sizes = found.setdefault(f"{family} {shape}", [])
            sizes += [size] if size not in sizes else []
    return ["Bytes of scratch memory beyond input, output and partition:", ""] + [
        f"- {data}: {', '.join(sizes)}" for data, sizes in found.items()
    ]


def summary(measurements: Measurements) -> str:
    """Return the line that says how many goals are met."""
    judged = [c for s in sections(measurements) for c in s.comparisons if c.goal is not None]
    met, missed, open_ = (sum(c.met is verdict for c in judged) for verdict in (True, False, None))
    return f"{met} goals met, {missed} missed, {open_} not measured."


def main() -> None:
    """Read the arguments, print and save."""
    parser = argparse.ArgumentParser(description="Compare benchmarks with their goals.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--markdown", action="store_true", help="print Markdown")
    how.add_argument("--overview", action="store_true", help="print one small table (CPU)")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the medians as JSON")
    arguments = parser.parse_args()
    measurements = load(arguments.files)
    if arguments.overview and measurements.device != "cpu":
        parser.error("--overview shows results of the CPU only")
    show: Callable[[Measurements], str] = as_text
    if arguments.markdown or arguments.overview:
        show = as_markdown if arguments.markdown else as_overview
    print(show(measurements))
    if arguments.save:
        file = arguments.save / f"{measurements.file_name()}.json"
        measurements.save(file)
        print(f"saved as {file}")


if __name__ == "__main__":
    main()
