"""What the CPU solver is compared with, and the goal of each comparison.

A benchmark's name is group/family/shape/lam/who. `who` is ours:DTYPE, a peer as PACKAGE:SOLVER, or
something specific to the group (see bench/cpu).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from measurements import BEST, Measurements, Median

PEERS = ("prox_tv:", "condat_tv:")
NO_PEER = "no peer"
DOUGLAS_RACHFORD = "prox_tv:douglas_rachford"
PROJECTED_NEWTON = "prox_tv:projected_newton"
SPLIT_BREGMAN = "scikit_image:split_bregman"
TWO = "ours:{}:2_threads"

# Lower limits: how many times faster than the fastest peer, by lambda.
ROWS = {
    "fp32": {"0.05": 4.0, "1": 9.0, "10": 6.0},
    "fp64": {"0.05": 2.5, "1": 5.0, "10": 3.5},
}
ROWS_AVX2 = {"fp32": {"0.05": 3.0, "1": 6.0, "10": 4.0}}
SIGNAL = {"fp32": {"0.05": 3.5, "1": 7.0, "10": 4.0, "100": 1.3}}
HARD = 1.0  # also for single rows
TWO_THREADS = 1.8  # times faster than one thread
NEWTON = 2.0  # times faster than prox_tv's projected Newton
# To the objective value that prox_tv's 35 iterations reach: times faster than prox_tv on one core.
IMAGE = {"fp64": 4.0}
IMAGE_TWO_THREADS = {"fp64": 7.0}

# Upper limits: how many times slower.
HARD_TO_NOISE = 4.0  # per element, than noise of 1024x1024 with the nearest lambda
EDGES = 1.5  # than one lambda for all
COLUMNS = 1.3  # than rows of the same images
BACKWARD = 4.0  # than memcpy of the same bytes
EMPTY_CALL = 0.02  # as a fraction of the time of a peer
PLANES = 0.8  # per pixel and pass, than rows of the same planes, per sample
PLANES_BACKWARD = 0.5  # per pixel and pass, than the forward
STORAGE = 1.15  # 16-bit types and channels last, than contiguous float32
STORED = ("bf16", "fp16", "fp32:channels_last", "bf16:channels_last", "fp16:channels_last")


@dataclass(frozen=True)
class Comparison:
    """A line of the table. `ratio` is how many times faster, or slower if `at_most`."""

    case: str
    ours: Median | None
    other_name: str
    other: Median | None
    goal: float | None
    at_most: bool = False
    wall: bool = False  # compare wall-clock times, for threads

    def time(self, median: Median | None) -> float | None:
        """Return the ns per element that count in this comparison."""
        if median is None or median.error:
            return None
        return median.wall_ns if self.wall else median.cpu_ns

    @property
    def ratio(self) -> float | None:
        """None if one of the two was not measured."""
        ours, other = self.time(self.ours), self.time(self.other)
        if ours is None or other is None:
            return None
        return ours / other if self.at_most else other / ours

    @property
    def met(self) -> bool | None:
        """None if there is no goal or no ratio."""
        if self.ratio is None or self.goal is None:
            return None
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal

    @property
    def goal_text(self) -> str:
        """The goal as the table shows it; empty if there is none."""
        sign = "<=" if self.at_most else ">="
        return "" if self.goal is None else f"{sign} {self.goal:g}x"


@dataclass(frozen=True)
class Section:
    """A part of the table."""

    title: str
    comparisons: list[Comparison]


class Run:
    """The medians of one instruction set, found by the parts of their names."""

    def __init__(self, medians: dict[str, Median]) -> None:
        self._medians = medians

    def get(self, case: str, who: str) -> Median | None:
        """Return the median of `who` at a case (group/family/shape/lam)."""
        return self._medians.get(f"{case}/{who}")

    def cases(self, group: str) -> list[str]:
        """Return the cases of a group in the order of the run."""
        found = (name.rsplit("/", 1)[0] for name in self._medians if name.startswith(group + "/"))
        return list(dict.fromkeys(found))

    def cases_that_begin(self, start: str) -> list[str]:
        """Return the cases of all groups whose names begin with `start`."""
        found = (name.rsplit("/", 1)[0] for name in self._medians if name.startswith(start))
        return list(dict.fromkeys(found))

    def dtypes(self, case: str, what: str = "ours") -> list[str]:
        """Return the dtypes in which `what` was measured, on one thread."""
        start = f"{case}/{what}:"
        found = (name.removeprefix(start) for name in self._medians if name.startswith(start))
        return [dtype for dtype in found if ":" not in dtype]

    def peers(self, case: str) -> list[tuple[str, Median]]:
        """Return the names and the medians of the peers that have a time."""
        return [
            (name.removeprefix(case + "/"), median)
            for name, median in self._medians.items()
            if name.startswith(tuple(f"{case}/{peer}" for peer in PEERS)) and not median.error
        ]

    def fastest_peer(self, case: str) -> tuple[str, Median | None]:
        """Return the name and the median of the fastest peer."""
        return min(self.peers(case), key=lambda peer: peer[1].cpu_ns, default=(NO_PEER, None))

    def against_peer(
        self, group: str, goals: dict[str, dict[str, float]], dtypes: tuple[str, ...]
    ) -> Iterator[Comparison]:
        """Compare every case of a group with its fastest peer, for each dtype."""
        for dtype in dtypes:
            for case in self.cases(group):
                if (ours := self.get(case, f"ours:{dtype}")) is None:
                    continue
                goal = goals.get(dtype, {}).get(lam_of(case))
                yield Comparison(f"{case} {dtype}", ours, *self.fastest_peer(case), goal)

    def against_group(
        self, group: str, other: str, goal: float | None, dtype: str = ""
    ) -> Iterator[Comparison]:
        """Compare every case of a group with the same case of another group or dtype."""
        for case in self.cases(group):
            other_case = other + case.removeprefix(group)
            for own in self.dtypes(case):
                who = f"ours:{dtype or own}"
                if group == other and own == dtype:
                    continue
                name = f"{other}, {dtype}" if dtype else other
                ours = self.get(case, f"ours:{own}")
                yield Comparison(
                    f"{case} {own}", ours, name, self.get(other_case, who), goal, at_most=True
                )


def lam_of(case: str) -> str:
    """Return the penalty as written in the name of the case."""
    return case.rsplit("lam:", 1)[1]


def newton_lines(run: Run, who: str) -> Iterator[tuple[str, str, str, Median]]:
    """Yield case, dtype, first cell and median; the cell has iterations and unsolved rows."""
    for case in run.cases("newton"):
        for dtype in run.dtypes(case, who):
            if (ours := run.get(case, f"{who}:{dtype}")) is not None:
                left = f", {100 * ours.left:.2g} % unsolved" if ours.left else ""
                cell = f"{case} {dtype}, at most {ours.iterations} iterations{left}"
                yield case, dtype, cell, ours


def sections(measurements: Measurements) -> list[Section]:
    """Return all comparisons, whatever their outcome."""
    best = Run(measurements.runs.get(BEST, {}))
    avx2 = Run(measurements.runs.get("avx2", {}))
    both = ("fp32", "fp64")
    bf16 = [c for c in best.against_group("rows", "rows", None, "fp32") if c.case.endswith("bf16")]
    return [
        Section("Rows", list(best.against_peer("rows", ROWS, both))),
        Section("Rows, AVX2 forced", list(avx2.against_peer("rows", ROWS_AVX2, both))),
        Section("One signal of 1e7", list(best.against_peer("signal", SIGNAL, both))),
        Section("One signal, two threads against one (wall clock)", list(_threads(best, "signal"))),
        Section("Hard data", list(best.against_peer("hard", _win(best, "hard"), both))),
        Section("Single rows", list(best.against_peer("single", _win(best, "single"), both))),
        Section("Hard data against noise, ours, per element", list(_hard_to_noise(best))),
        Section(
            "One lambda per edge against one for all",
            [
                *best.against_group("edges_varied", "rows", EDGES),
                *best.against_group("edges_equal", "rows", EDGES),
            ],
        ),
        Section("One lambda per edge", list(best.against_peer("edges_varied", {}, both))),
        Section(
            "One lambda per row against one for all",
            list(best.against_group("lam_per_row", "rows", None)),
        ),
        Section(
            "Columns of images against rows",
            list(best.against_group("image_columns", "image_rows", COLUMNS)),
        ),
        Section("Backward against memcpy of the same bytes", list(_backward(best))),
        Section("Newton against prox_tv's", list(_newton(best, "ours", PROJECTED_NEWTON, NEWTON))),
        Section("Newton against the direct solver", list(_newton(best, "ours", "direct:{}", None))),
        Section(
            "Newton, halving steps against interpolating them",
            list(_newton(best, "halving", "ours:{}", None)),
        ),
        Section(
            "An image, to the objective value that prox_tv reaches with its defaults",
            [
                *_images(best, "image", "ours:{}", DOUGLAS_RACHFORD, IMAGE),
                *_images(best, "image", "algorithm_1:{}", DOUGLAS_RACHFORD, {}),
            ],
        ),
        Section(
            "The same, ours on two threads (wall clock)",
            [
                *_images(best, "image", TWO, DOUGLAS_RACHFORD, IMAGE_TWO_THREADS, wall=True),
                *_images(best, "image", TWO, DOUGLAS_RACHFORD + ":2_threads", {}, wall=True),
            ],
        ),
        Section("An image, two threads against one (wall clock)", list(_threads(best, "image"))),
        Section(
            "An image, as near to the solution as scikit-image with its defaults",
            list(_images(best, "image_inner", "ours:{}", SPLIT_BREGMAN, {})),
        ),
        Section(
            "Planes of nets, four iterations: per pixel and pass, against rows",
            list(_planes(best, "forward", "rows", PLANES)),
        ),
        Section(
            "Planes of nets, backward against forward",
            list(_planes(best, "backward", "forward", PLANES_BACKWARD)),
        ),
        Section("Planes of nets, dtypes and layouts against float32", list(_storage(best))),
        Section("bfloat16 against float32", bf16),
        Section("An empty call (column ours) against the fastest peer", list(_empty_calls(best))),
    ]


def _win(run: Run, group: str) -> dict[str, dict[str, float]]:
    lams = {lam_of(case): HARD for case in run.cases(group)}
    return {"fp32": lams, "fp64": lams}


def _planes(run: Run, what: str, other: str, goal: float) -> Iterator[Comparison]:
    for case in run.cases("planes"):
        for dtype in ("fp32", "fp64"):
            ours, theirs = run.get(case, f"{what}:{dtype}"), run.get(case, f"{other}:{dtype}")
            if ours is None:
                continue
            own_goal = goal if dtype == "fp32" else None
            yield Comparison(f"{case} {dtype}", ours, other, theirs, own_goal, at_most=True)


def _storage(run: Run) -> Iterator[Comparison]:
    for case in run.cases("planes"):
        for what in ("rows", "forward", "backward"):
            plain = run.get(case, f"{what}:fp32")
            for stored in STORED:
                if (ours := run.get(case, f"{what}:{stored}")) is not None:
                    name = f"{case} {what} {stored}"
                    yield Comparison(name, ours, "fp32", plain, STORAGE, at_most=True)


def _images(
    run: Run, group: str, who: str, peer: str, goals: dict[str, float], *, wall: bool = False
) -> Iterator[Comparison]:
    for case in run.cases(group):
        for dtype in ("fp64", "fp32"):
            ours = run.get(case, who.format(dtype))
            if ours is None:
                continue
            method = "" if who.startswith("ours") else who.split(":", 1)[0] + " "
            name = f"{case} {method}{dtype}, {ours.iterations} iterations"
            yield Comparison(name, ours, peer, run.get(case, peer), goals.get(dtype), wall=wall)


def _newton(run: Run, who: str, other: str, goal: float | None) -> Iterator[Comparison]:
    for case, dtype, cell, ours in newton_lines(run, who):
        other_name = other.format(dtype)
        own_goal = goal if dtype == "fp64" else None
        yield Comparison(cell, ours, other_name, run.get(case, other_name), own_goal)


def _threads(run: Run, group: str) -> Iterator[Comparison]:
    for case in run.cases(group):
        for dtype in run.dtypes(case):
            two, one = run.get(case, f"ours:{dtype}:2_threads"), run.get(case, f"ours:{dtype}")
            yield Comparison(f"{case} {dtype}", two, "one thread", one, TWO_THREADS, wall=True)


def _hard_to_noise(run: Run) -> Iterator[Comparison]:
    noise = [case for case in run.cases("rows") if "/noise/1024x1024/" in case]
    for case in run.cases("hard") if noise else []:
        lam = float(lam_of(case))
        nearest = min(noise, key=lambda other: abs(float(lam_of(other)) - lam))
        for dtype in run.dtypes(case):
            who = f"ours:{dtype}"
            name = f"noise, lam {lam_of(nearest)}"
            yield Comparison(
                f"{case} {dtype}",
                run.get(case, who),
                name,
                run.get(nearest, who),
                HARD_TO_NOISE,
                at_most=True,
            )


def _backward(run: Run) -> Iterator[Comparison]:
    for case in run.cases("backward"):
        for what in ("grad_x", "grad_x_lam"):
            for dtype in run.dtypes(case, what):
                ours, copy = run.get(case, f"{what}:{dtype}"), run.get(case, f"memcpy:{dtype}")
                name = f"{case} {what} {dtype}"
                yield Comparison(name, ours, "memcpy", copy, BACKWARD, at_most=True)


def _empty_calls(run: Run) -> Iterator[Comparison]:
    for group in ("rows", "signal", "hard"):
        for measured in run.cases(group):
            if (empty := run.get(measured, "empty_call")) is None:
                continue
            same_data = [c for c in run.cases(group) if _data_of(c) == _data_of(measured)]
            peers = [run.fastest_peer(case) for case in same_data]
            timed = [(name, median) for name, median in peers if median is not None]
            if not timed:
                continue
            name, fastest = min(timed, key=lambda peer: peer[1].cpu_ns)
            yield Comparison(_data_of(measured), empty, name, fastest, EMPTY_CALL, at_most=True)


def _data_of(case: str) -> str:
    return case.rsplit("/", 1)[0]
