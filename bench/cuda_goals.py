"""What the CUDA solver is compared with, and the goal of each comparison.

A benchmark's name is group/family/shape/lam/what:DTYPE. `what` is forward or backward; with the
suffix _queued for many calls in a row, or _graph for calls replayed from a CUDA graph; or newton or
newton_halving, which are measured next to a forward by the direct solver (see bench/cuda).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from goals import Comparison, Run, Section, lam_of, newton_lines
from measurements import CUDA, Measurements, Median

FORWARD, BACKWARD = "forward", "backward"
QUEUED = "_queued"  # suffix: many calls in a row

# Upper limits, as multiples of the time of a copy, by row length: forward and backward, lambda 1.
SHORT_ROWS = {FORWARD: 1.6, BACKWARD: 1.1}
MIDDLE_ROWS = {FORWARD: 2.0, BACKWARD: 1.1}
LONG_ROWS = {FORWARD: 2.5, BACKWARD: 1.2}
ROWS = {
    **dict.fromkeys((32, 64, 128), SHORT_ROWS),
    **dict.fromkeys((224, 256), MIDDLE_ROWS),
    **dict.fromkeys((512, 1024, 2048, 4096, 8192), LONG_ROWS),
}
LONG_ROWS_OTHER_LAM = {"10": 4.0, "0.05": 3.0}  # forward
SHORT_COLUMNS = {FORWARD: 2.0, BACKWARD: 1.5}
LONG_COLUMNS = {FORWARD: 3.0, BACKWARD: 2.0}
COLUMNS = {
    **dict.fromkeys((32, 64, 128, 256), SHORT_COLUMNS),
    **dict.fromkeys((512, 1024, 2048), LONG_COLUMNS),
}
FEW_ROWS = {FORWARD: 10.0, BACKWARD: 3.0}
FEW_ROWS_PLUS_MS = {FORWARD: 0.02, BACKWARD: 0.0}
FLOAT64 = 3.0  # forward

PAPER_MS = {FORWARD: 0.011, BACKWARD: 0.0065}  # queued, not replayed from a graph

# Upper limits of Newton in ms, by shape: a twentieth of what the paper's own code takes.
NEWTON_MS = {"8192x32": 0.39, "65536x32": 0.65, "16384x64": 0.64, "14336x224": 1.1}

# Upper limits of the forward, as multiples of the time of another case.
RAMP = 3.0  # noise of the same shape
ONE_RAMP = 1.1  # the noise and the ramp row alone, one after the other
EDGES = 1.5  # one lambda for all, per byte read or written
BFLOAT16 = 1.0  # float32


@dataclass(frozen=True)
class DeviceComparison(Comparison):
    """A comparison in ms; the limit is `goal` times the other time, plus `plus_ms`."""

    at_most: bool = True
    plus_ms: float = 0.0

    def time(self, median: Median | None) -> float | None:
        """Return the ms of the whole call."""
        return None if median is None or median.error else median.ms

    @property
    def met(self) -> bool | None:
        """None if there is no goal or a time is missing; a wrong result misses its goal."""
        if self.goal is None:
            return None
        if self.ours is not None and self.ours.wrong:
            return False
        ours, other = self.time(self.ours), self.time(self.other) if self.goal else 0.0
        if ours is None or other is None:
            return None
        return ours <= self.goal * other + self.plus_ms

    @property
    def goal_text(self) -> str:
        """The goal as the table shows it; empty if there is none."""
        if self.goal is None:
            return ""
        terms = [f"{self.goal:g}x"] if self.goal else []
        terms += [f"{self.plus_ms:g} ms"] if self.plus_ms else []
        return "<= " + " + ".join(terms)


def sections(measurements: Measurements) -> list[Section]:
    """Return all comparisons, whatever their outcome."""
    run = Run(measurements.runs[CUDA])
    lines = [
        ("Rows, forward, against a copy", against_copy(run, "rows", FORWARD, _rows_goal)),
        ("Rows, backward, against a copy", against_copy(run, "rows", BACKWARD, _rows_goal)),
        ("Columns, forward, against a copy", against_copy(run, "columns", FORWARD, _columns_goal)),
        (
            "Columns, backward, against a copy",
            against_copy(run, "columns", BACKWARD, _columns_goal),
        ),
        (
            "8192 rows of 32, as in the paper, next to an empty launch",
            beside_empty_launch(run, "paper", lambda _: PAPER_MS),
        ),
        ("Few long rows against a copy", _few_rows(run)),
        ("Ramps, forward", _ramps(run)),
        ("One lambda per edge against one for all, forward, per byte", _edges(run)),
        ("float64 against a copy", _float64(run)),
        ("bfloat16 against float32", _bfloat16(run)),
        ("Hard data, forward, against a copy", against_copy(run, "hard", FORWARD)),
        ("Hard data, backward, against a copy", against_copy(run, "hard", BACKWARD)),
        ("Newton against the direct solver", _newton(run, "newton", FORWARD, NEWTON_MS)),
        (
            "Newton, halved steps against interpolated ones",
            _newton(run, "newton_halving", "newton"),
        ),
    ]
    return [Section(title, list(comparisons)) for title, comparisons in lines]


def _length_of(case: str) -> int:
    """Return n, from a shape rows x n or images x n x width."""
    return int(case.split("/")[2].split("x")[1])


def _no_goal(_case: str, _what: str) -> float | None:
    return None


def _rows_goal(case: str, what: str) -> float | None:
    goals = ROWS[_length_of(case)]
    if lam_of(case) == "1":
        return goals[what]
    is_judged = goals is LONG_ROWS and what == FORWARD
    return LONG_ROWS_OTHER_LAM[lam_of(case)] if is_judged else None


def _columns_goal(case: str, what: str) -> float | None:
    return COLUMNS[_length_of(case)][what]


def against_copy(
    run: Run,
    group: str,
    what: str,
    goal_of: Callable[[str, str], float | None] = _no_goal,
    dtype: str = "fp32",
    plus_ms: float = 0.0,
) -> Iterator[DeviceComparison]:
    """Compare every case of a group with the copy that was timed next to it."""
    for case in run.cases(group):
        if (ours := run.get(case, f"{what}:{dtype}")) is not None:
            name = f"{case} {what} {dtype}"
            copy = None if ours.error else Median(ms=ours.copy_ms)
            goal = goal_of(case, what)
            yield DeviceComparison(name, ours, "copy", copy, goal, plus_ms=plus_ms)


def beside_empty_launch(
    run: Run, group: str, limits_of: Callable[[str], dict[str, float]]
) -> Iterator[DeviceComparison]:
    """Show short calls; the limits (ms) apply to calls in a row."""
    for case in run.cases(group):
        empty = run.get(case, "empty_launch")
        for what in (FORWARD, BACKWARD):
            limit = limits_of(case).get(what)
            for way in "", QUEUED, "_graph":
                if ours := run.get(case, f"{what}{way}:fp32"):
                    name = f"{case} {what} fp32{way.replace('_', ', ')}"
                    is_judged = way == QUEUED and limit is not None
                    goal, plus_ms = (0.0, limit) if is_judged else (None, 0.0)
                    yield DeviceComparison(name, ours, "empty launch", empty, goal, plus_ms=plus_ms)


def _few_rows(run: Run) -> Iterator[DeviceComparison]:
    for what, plus_ms in FEW_ROWS_PLUS_MS.items():
        yield from against_copy(
            run, "few_rows", what, lambda _, what: FEW_ROWS[what], plus_ms=plus_ms
        )


def _ramps(run: Run) -> Iterator[DeviceComparison]:
    who = "forward:fp32"
    for case in run.cases("ramp"):
        same_shape = run.get(f"rows/noise/{case.split('/')[2]}/lam:1", who)
        yield DeviceComparison(case, run.get(case, who), "noise of this shape", same_shape, RAMP)
    parts = {case.split("/")[1]: run.get(case, who) for case in run.cases("one_ramp")}
    if "noise_one_ramp" in parts:
        noise, row = parts.get("noise"), parts.get("ramp")
        both = None
        if noise and row and not noise.error and not row.error:
            both = Median(ms=noise.ms + row.ms)
        name = "one_ramp: a ramp among noise, one lambda per row"
        yield DeviceComparison(
            name, parts["noise_one_ramp"], "noise + the ramp alone", both, ONE_RAMP
        )


def _edges(run: Run) -> Iterator[DeviceComparison]:
    for case in run.cases("edges"):
        ours = run.get(case, "forward:fp32")
        number = run.get("rows" + case.removeprefix("edges"), "forward:fp32")
        if ours and number and ours.bytes and number.bytes:
            number = replace(number, ms=number.ms * ours.bytes / number.bytes)
        yield DeviceComparison(case, ours, "one for all, same bytes", number, EDGES)


def _float64(run: Run) -> Iterator[DeviceComparison]:
    for what, goal in ((FORWARD, FLOAT64), (BACKWARD, None)):
        yield from against_copy(run, "rows", what, lambda *_, goal=goal: goal, "fp64")


def _bfloat16(run: Run) -> Iterator[DeviceComparison]:
    for what, goal in ((FORWARD, BFLOAT16), (BACKWARD, None)):
        for case in run.cases("rows"):
            if (ours := run.get(case, f"{what}:bf16")) is not None:
                single = run.get(case, f"{what}:fp32")
                yield DeviceComparison(f"{case} {what} bf16", ours, "float32", single, goal)


def _newton(
    run: Run, who: str, other: str, limits: dict[str, float] | None = None
) -> Iterator[DeviceComparison]:
    other_name = "direct" if other == FORWARD else other
    for case, dtype, cell, ours in newton_lines(run, who):
        limit = (limits or {}).get(case.split("/")[2])
        goal, plus_ms = (None, 0.0) if limit is None else (0.0, limit)
        against = run.get(case, f"{other}:{dtype}")
        yield DeviceComparison(cell, ours, other_name, against, goal, plus_ms=plus_ms)
