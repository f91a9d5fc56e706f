"""Many commands of this program, several at a time, each in a process of its own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """A command, and the file that all it says goes to."""

    arguments: Sequence[str]
    log: Path


def as_arguments(options: Any, *, without: frozenset[str] = frozenset()) -> list[str]:
    """Give a dataclass of options as the command line has them."""
    found: list[str] = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        name = field.name.replace("_", "-")
        if field.name in without or value is None:
            continue
        if isinstance(value, bool):
            found.append(f"--{name}" if value else f"--no-{name}")
        else:
            found += [f"--{name}", str(value)]
    return found


def run_all(jobs: Sequence[Job], at_once: int, minutes: float | None = None) -> list[Path]:
    """Run jobs in their order; after `minutes` no more are begun, and those that run are told.

    Each gets `--minutes` with what is left, and its share of the cores unless OMP_NUM_THREADS says
    otherwise. If any fails the others go on; returns the logs of those that did.
    """
    began = time.monotonic()
    threads = str(max(1, len(os.sched_getaffinity(0)) // at_once))
    environment = {"OMP_NUM_THREADS": threads, **os.environ}

    def run(job: Job) -> int:
        arguments = list(job.arguments)
        if minutes is not None:
            left = minutes - (time.monotonic() - began) / 60
            if left <= 0:
                return 0
            arguments += ["--minutes", f"{left:.2f}"]
        job.log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tautline_tasks", *arguments]
        with job.log.open("a", encoding="utf-8") as log:
            result = subprocess.run(command, stdout=log, stderr=log, check=False, env=environment)
            return result.returncode

    with ThreadPoolExecutor(at_once) as pool:
        codes = list(pool.map(run, jobs))
    return [job.log for job, code in zip(jobs, codes, strict=True) if code != 0]
