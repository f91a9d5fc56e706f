#!/usr/bin/env python3
"""Says which ratios got worse between two results of the same kind of machine.

usage: bench/compare.py OLD NEW [--tolerance FRACTION]

OLD and NEW are files as bench/report.py reads them. Ratios are those of its tables, each within one
run, so that a machine that is faster or slower as a whole changes none of them. One got worse
where it did by more than the tolerance and by more than both runs spread. Ends with 1 if any
did, or if a result turned wrong.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from goals import Comparison
from measurements import Measurements, load
from report import sections

TOLERANCE = 0.1


@dataclass(frozen=True)
class Change:
    """What became of a ratio: `factor` times as good or as bad."""

    name: str
    old: Comparison
    new: Comparison

    @property
    def is_wrong(self) -> bool:
        """Whether there was a time, and now is an error."""
        had_time = self.old.ours is not None and not self.old.ours.error
        return had_time and self.new.ours is not None and bool(self.new.ours.error)

    @property
    def factor(self) -> float | None:
        """How many times worse; None where a ratio is missing."""
        if self.old.ratio is None or self.new.ratio is None:
            return None
        if self.new.at_most:
            return self.new.ratio / self.old.ratio
        return self.old.ratio / self.new.ratio

    @property
    def noise(self) -> float:
        """How far medians may be apart by chance: the widest of the four spreads."""
        sides = (self.old.ours, self.old.other, self.new.ours, self.new.other)
        return max((side.spread for side in sides if side), default=0.0)

    def is_worse(self, tolerance: float) -> bool:
        """Whether somebody should look at it."""
        factor = self.factor
        return self.is_wrong or (factor is not None and factor > 1 + max(tolerance, self.noise))


def changes(old: Measurements, new: Measurements) -> Iterator[Change]:
    """Pairs the lines that both have, by section, case and what they are compared with."""
    before = dict(_lines(old))
    for key, line in _lines(new):
        if key in before:
            yield Change(key[1], before[key], line)


def _lines(measurements: Measurements) -> Iterator[tuple[tuple[str, str, str], Comparison]]:
    for section in sections(measurements):
        for line in section.comparisons:
            # Iterations that a solver took stand behind a comma, and may change.
            yield (section.title, line.case.split(",")[0], line.other_name), line


def main() -> None:
    """Reads the arguments and prints what got worse."""
    parser = argparse.ArgumentParser(description="What got worse between two results.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, metavar="FRACTION")
    arguments = parser.parse_args()
    found = list(changes(load([arguments.old]), load([arguments.new])))
    if not found:
        parser.error("the two files have no line in common")
    worse = [change for change in found if change.is_worse(arguments.tolerance)]
    for change in worse:
        if change.is_wrong:
            print(f"{change.name}: {change.new.ours.error}")
        else:
            ratios = f"{change.old.ratio:.3g}x before, {change.new.ratio:.3g}x now"
            print(f"{change.name} against {change.new.other_name}: {ratios}")
    print(f"{len(found)} ratios, {len(worse)} worse")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
