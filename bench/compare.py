#!/usr/bin/env python3
"""Report which ratios got worse between two results of the same kind of machine.

usage: bench/compare.py OLD NEW [--tolerance FRACTION]

OLD and NEW are files that bench/report.py can read. The ratios are those of its tables. Each ratio
is formed within one run, so a machine that is faster or slower as a whole changes none of them. A
ratio counts as worse if it got worse by more than the tolerance and by more than the spread of both
runs. Exits with 1 if any ratio got worse or any result became wrong.
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
    """A ratio before and now; `factor` says how many times worse it is."""

    name: str
    old: Comparison
    new: Comparison

    @property
    def is_wrong(self) -> bool:
        """Whether there was a time before and is an error now."""
        had_time = self.old.ours is not None and not self.old.ours.error
        return had_time and self.new.ours is not None and bool(self.new.ours.error)

    @property
    def factor(self) -> float | None:
        """How many times worse; None if a ratio is missing."""
        if self.old.ratio is None or self.new.ratio is None:
            return None
        if self.new.at_most:
            return self.new.ratio / self.old.ratio
        return self.old.ratio / self.new.ratio

    @property
    def noise(self) -> float:
        """How much medians may differ by chance: the widest of the four spreads."""
        sides = (self.old.ours, self.old.other, self.new.ours, self.new.other)
        return max((side.spread for side in sides if side), default=0.0)

    def is_worse(self, tolerance: float) -> bool:
        """Whether this change needs attention."""
        factor = self.factor
        return self.is_wrong or (factor is not None and factor > 1 + max(tolerance, self.noise))


def changes(old: Measurements, new: Measurements) -> Iterator[Change]:
    """Yield the lines that both results have, paired by section, case and other side."""
    before = dict(_lines(old))
    for key, line in _lines(new):
        if key in before:
            yield Change(key[1], before[key], line)


def _lines(measurements: Measurements) -> Iterator[tuple[tuple[str, str, str], Comparison]]:
    for section in sections(measurements):
        for line in section.comparisons:
            # The solver's iterations follow after a comma and may change.
            yield (section.title, line.case.split(",")[0], line.other_name), line


def main() -> None:
    """Read the arguments and print what got worse."""
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
