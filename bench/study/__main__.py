"""Run the parts of the study and save their results."""

import argparse
import datetime
import json
import platform
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import torch
from measurements import Median

import tautstring
from study import calls, data, growth, layouts, memory, nets, table1
from study.benchmark import Benchmark, measure
from study.timing import Timer

PARTS: dict[str, Callable[[str], Iterator[Benchmark]]] = {
    "table1": table1.benchmarks,
    "calls": calls.benchmarks,
    "layouts": layouts.benchmarks,
    "growth": growth.benchmarks,
    "memory": memory.benchmarks,
    "nets": nets.benchmarks,
}
PACKAGES = ("torch", "numpy", "prox_tv", "condat_tv", "cvxpylayers", "scikit-image")


def about(device: str) -> dict[str, str]:
    """Return the machine and the software of the measurement."""
    config = tautstring.show_config()
    found = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "tautstring": config["version"],
        "compiler": config["compiler"],
        "python": platform.python_version(),
        "packages": ", ".join(_versions()),
        "threads": str(torch.get_num_threads()),
        "cpu": _cpu_name(),
    }
    if device == "cuda":
        driver = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        found |= {"gpu": torch.cuda.get_device_name(), "driver": driver, "cuda": torch.version.cuda}
    return found


def _versions() -> Iterator[str]:
    for package in PACKAGES:
        try:
            yield f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            yield f"{package} not installed"


def _cpu_name() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _line(name: str, median: Median) -> str:
    return f"{name:<66}{median.error or f'{median.ms:.4g} ms ({median.spread:.0%})'}"


def main() -> None:
    """Read the arguments and measure; print and save after each benchmark."""
    parser = argparse.ArgumentParser(prog="study", description="The timing study.")
    parser.add_argument("--json", type=Path, required=True, help="file for the results")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--peers", help="folder of the peers' environment (bench/peers/install)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--filter", type=re.compile, default=re.compile(""), metavar="REGEX")
    arguments = parser.parse_args()
    if arguments.peers:
        data.add_peers(arguments.peers)
    results: dict[str, dict[str, object]] = {}
    file = {"about": about(arguments.device), "runs": {f"study_{arguments.device}": results}}
    benchmarks = (
        benchmark
        for part in arguments.parts
        for benchmark in PARTS[part](arguments.device)
        if arguments.filter.search(benchmark.name)
    )
    for name, median in measure(benchmarks, Timer(arguments.device)):
        print(_line(name, median), flush=True)
        results[name] = {key: value for key, value in asdict(median).items() if value}
        arguments.json.write_text(json.dumps(file, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
