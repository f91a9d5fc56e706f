"""Medians of a benchmark run, from the program's JSON to the small file that is kept.

Knows nothing about goals and tables.
"""

import json
import re
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

BEST = "best"  # the instruction set that the library selects by default
CUDA = "cuda"  # the only run in the results of a GPU
STUDY = {"study_cpu": "cpu", "study_cuda": "gpu"}  # run of bench/study, and key of its machine name
ABOUT = (
    *("date", "commit", "tautstring", "compiler", "peers"),
    *("cpu", "cpu_flags", "cores", "caches", "threads"),
)


@dataclass(frozen=True)
class Median:
    """The median of one benchmark's repetitions: in ns per element, on a GPU in ms."""

    cpu_ns: float = 0.0
    wall_ns: float = 0.0
    ms: float = 0.0  # of a whole call
    copy_ms: float = 0.0  # of a plain copy of the same bytes, in the same run
    ratio_to_copy: float = 0.0
    spread: float = 0.0  # interquartile range of the (CPU) time, as a fraction of the median
    bytes: int = 0  # read and written on a GPU, as many as by its copy
    scratch_bytes: int = 0
    saved_bytes: int = 0  # for the backward
    peak_bytes: int = 0  # the most memory that a step has allocated at any time
    launches: int = 0
    difference: float = 0.0  # the largest difference from the CPU's result, as a fraction of range
    iterations: int = 0  # the most iterations, for a solver that stops at some accuracy
    left: float = 0.0  # share of rows that the solver did not solve
    error: str = ""  # why there is no time

    @property
    def wrong(self) -> bool:
        """Whether the result was wrong; other errors are failed calls."""
        return self.error.startswith("WRONG")


@dataclass
class Measurements:
    """All medians by instruction set (or CUDA) and name, and the machine they are from."""

    about: dict[str, str]
    trials: dict[str, str] = field(default_factory=dict)  # trials of every peer, by case
    runs: dict[str, dict[str, Median]] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """Return cpu or cuda, or the name of the only run of the study."""
        for study in STUDY:
            if study in self.runs:
                return study
        return "cuda" if CUDA in self.runs else "cpu"

    def file_name(self) -> str:
        """Return DEVICE-DATE-MACHINE, without a suffix."""
        name = self.about[STUDY.get(self.device, "gpu" if self.device == "cuda" else "cpu")]
        machine = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        return f"{self.device}-{self.about['date'][:10]}-{machine}"

    def save(self, file: Path) -> None:
        """Write one line per benchmark, so that two files can be compared line by line."""

        def lines(entries: dict[str, Any]) -> str:
            return ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items())

        def small(median: Median) -> dict[str, Any]:
            return {
                k: _short(v) if isinstance(v, float) else v for k, v in asdict(median).items() if v
            }

        runs = ",\n".join(
            f"{json.dumps(target)}: {{\n{lines({k: small(v) for k, v in run.items()})}\n}}"
            for target, run in self.runs.items()
        )
        file.write_text(
            f'{{"about": {{\n{lines(self.about)}\n}},\n'
            f'"trials": {{\n{lines(self.trials)}\n}},\n'
            f'"runs": {{\n{runs}\n}}}}\n',
            encoding="utf-8",
        )


def load(files: list[Path]) -> Measurements:
    """Read a file written by `save` or a GPU benchmark, or the JSON of Google Benchmark runs."""
    texts = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if "about" in texts[0]:
        kept = texts[0]
        runs = {
            target: {name: Median(**entry) for name, entry in run.items()}
            for target, run in kept["runs"].items()
        }
        if "commit" not in kept["about"]:  # fresh from the program
            kept["about"]["commit"] = _commit()
        return Measurements(kept["about"], kept.get("trials", {}), runs)
    measurements = Measurements(_about(texts[0]["context"]))
    for text in texts:
        context = text["context"]
        measurements.runs[context["cpu_target"]] = _medians(text["benchmarks"])
        for key, value in context.items():
            if key.startswith("trial "):
                measurements.trials.setdefault(key.removeprefix("trial "), value)
    return measurements


def _about(context: dict[str, Any]) -> dict[str, str]:
    caches = [f"L{c['level']} {c['type']} {c['size'] // 1024} KiB" for c in context["caches"]]
    found = {
        **context,
        "commit": _commit(),
        "cores": str(context["num_cpus"]),
        "caches": ", ".join(caches),
    }
    return {key: found[key] for key in ABOUT}


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        dirty = " with changes" if git("status", "--porcelain") else ""
        return git("rev-parse", "--short", "HEAD") + dirty
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _medians(benchmarks: list[dict[str, Any]]) -> dict[str, Median]:
    spreads = {b["run_name"]: b for b in benchmarks if b.get("aggregate_name") == "iqr"}
    medians = {}
    # Repetitions are interleaved; families are numbered in the order of registration.
    for entry in sorted(benchmarks, key=lambda b: b["family_index"]):
        name = entry["run_name"]
        if entry.get("error_occurred"):
            medians[name] = Median(error=entry["error_message"])
        elif entry.get("aggregate_name", "median") == "median":
            medians[name] = _median(entry, spreads.get(name, {"cpu_time": 0.0}))
    return medians


def _median(entry: dict[str, Any], spread: dict[str, Any]) -> Median:
    to_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[entry["time_unit"]] / entry["elements"]
    return Median(
        cpu_ns=_short(entry["cpu_time"] * to_ns),
        wall_ns=_short(entry["real_time"] * to_ns),
        spread=_short(spread["cpu_time"] / entry["cpu_time"], digits=2),
        scratch_bytes=int(entry.get("scratch_bytes", 0)),
        iterations=int(entry.get("solver_iterations", 0)),
        left=float(entry.get("left", 0)),
    )


def _short(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")
