"""What the timing study compares, line by line. Few lines have goals; the others only inform.

Names are as in bench/study: group/family/shape/lam/who.
"""

from collections.abc import Iterator

from cuda_goals import DeviceComparison
from goals import NO_PEER, Run, Section, lam_of
from measurements import Measurements, Median

DIRECT = "direct"
PARTS = ("forward", "backward", "total")
NET_STEPS = ("eager", "compiled", "eager_bf16", "graphs_bf16")
CALLS = {"0.05": 4, "1": 9, "10": 7}  # times faster than the fastest peer
LAYOUT_GOAL = 1.15  # times the contiguous rows
NET_GOALS = {"all_conv_half": 1.75, "all_conv_half_gelu": 1.75}  # times the step without TV
GROWING = {
    "growth_n": "How time grows with the length of 16 rows",
    "growth_rows": "How time grows with the number of rows of 32",
    "growth_lam": "How time grows with lambda, 1024 rows of 1024",
    "growth_family": "Data families, 1024 rows of 1024",
    "growth_dtype": "Dtypes, 1024 rows of 1024",
    "growth_iterations": "Iterations in 2D, 16 colour images of 128 x 128",
    "growth_size": "Image size in 2D, four iterations, 2^22 pixels",
}


def sections(measurements: Measurements) -> list[Section]:
    """Return all comparisons."""
    (medians,) = measurements.runs.values()
    run = Run(medians)
    found = [Section("Table 1: others against our direct solver", list(_table1(run, medians)))]
    calls = Section("One signal, called from Python, with fresh results", list(_calls(run)))
    found.append(calls)
    found.append(Section("Rows and columns, channels last against contiguous", list(_layouts(run))))
    for group, title in GROWING.items():
        found.append(Section(f"{title}: against a copy", list(_against_copy(run, group))))
    found.append(Section("A training step's memory and time", list(_memory(run, medians))))
    found.append(Section("Nets with TV layers against the same nets without", list(_nets(run))))
    return found


def _calls(run: Run) -> Iterator[DeviceComparison]:
    for case in run.cases("calls"):
        name, fastest = min(run.peers(case), key=lambda peer: peer[1].ms, default=(NO_PEER, None))
        for who in ("torch:fp32", "torch:fp64", "numpy:fp32"):
            ours = run.get(case, who)
            goal = 1 / CALLS[lam_of(case)] if who == "torch:fp32" else None
            yield DeviceComparison(f"{case} {who}", ours, name, fastest, goal)


def _layouts(run: Run) -> Iterator[DeviceComparison]:
    others = {
        "rows:channels_last": LAYOUT_GOAL,
        "columns:channels_last": LAYOUT_GOAL,
        "columns:contiguous": None,
        "conversion:contiguous": None,
    }
    for case in run.cases("layout"):
        contiguous = run.get(case, "rows:contiguous")
        for who, goal in others.items():
            yield DeviceComparison(
                f"{case} {who}", run.get(case, who), "rows:contiguous", contiguous, goal
            )


def _who(medians: dict[str, Median], case: str) -> list[str]:
    """Return who was measured at a case, without the part at the end of the name."""
    found = (name.removeprefix(case + "/") for name in medians if name.startswith(case + "/"))
    return list(dict.fromkeys(who.rsplit(":", 1)[0] for who in found))


def _table1(run: Run, medians: dict[str, Median]) -> Iterator[DeviceComparison]:
    for case in run.cases("table1"):
        for who in _who(medians, case):
            for part in PARTS:
                ours = run.get(case, f"{DIRECT}:{part}")
                name = f"{case} {who} {part}"
                yield DeviceComparison(name, run.get(case, f"{who}:{part}"), DIRECT, ours, None)


def _against_copy(run: Run, group: str) -> Iterator[DeviceComparison]:
    for case in run.cases_that_begin(group):
        for what in ("forward", "backward", "newton"):
            for dtype in run.dtypes(case, what):
                copy = run.get(case, f"copy:{dtype}")
                ours = run.get(case, f"{what}:{dtype}")
                yield DeviceComparison(f"{case} {what} {dtype}", ours, "copy", copy, None)


def _memory(run: Run, medians: dict[str, Median]) -> Iterator[DeviceComparison]:
    for case in run.cases("memory"):
        ours = run.get(case, f"{DIRECT}:fp32")
        for who in _who(medians, case):
            if who != DIRECT:
                other = run.get(case, f"{who}:fp32")
                yield DeviceComparison(f"{case} {who}", other, DIRECT, ours, None)


def _nets(run: Run) -> Iterator[DeviceComparison]:
    for case in run.cases("nets"):
        for how in NET_STEPS:
            with_tv, without = (run.get(case, f"{who}:{how}") for who in ("with_tv", "without_tv"))
            if with_tv is not None:
                goal = NET_GOALS.get(case.split("/")[1])
                yield DeviceComparison(f"{case} {how}", with_tv, "without TV", without, goal)
