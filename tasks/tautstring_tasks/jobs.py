"""Many commands of this program, several at a time, each in its own process."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOOK_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class Job:
    """A command, and the log file for all of its output."""

    arguments: tuple[str, ...]
    log: Path


def as_arguments(options: Any, *, without: frozenset[str] = frozenset()) -> list[str]:
    """Return a dataclass of options as command line arguments."""
    found: list[str] = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        name = field.name.replace("_", "-")
        if field.name in without or value is None:
            continue
        if isinstance(value, bool):
            found.append(f"--{name}" if value else f"--no-{name}")
        elif isinstance(value, tuple):
            found += [f"--{name}", *map(str, value)]
        else:
            found += [f"--{name}", str(value)]
    return found


def run_all(jobs: Sequence[Job], at_once: int, minutes: float | None = None) -> list[Path]:
    """Run jobs in order; after `minutes` no more are started. Return the logs of those that failed.

    Each job gets `--minutes` with the time left, and its share of the cores unless OMP_NUM_THREADS
    says otherwise. If one fails, the others continue. If this function is interrupted, all jobs are
    ended.
    """
    began = time.monotonic()
    threads = str(max(1, len(os.sched_getaffinity(0)) // at_once))
    environment = {"OMP_NUM_THREADS": threads, **os.environ}

    waiting = deque(jobs)
    running: dict[Job, subprocess.Popen[bytes]] = {}
    failed = []
    try:
        while waiting or running:
            left = None if minutes is None else minutes - (time.monotonic() - began) / 60
            if left is not None and left <= 0:
                waiting.clear()
            while waiting and len(running) < at_once:
                job = waiting.popleft()
                running[job] = _start(job, left, environment)
            time.sleep(_LOOK_EVERY)
            for job in [job for job, process in running.items() if process.poll() is not None]:
                if running.pop(job).returncode != 0:
                    failed.append(job.log)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    return failed


def _start(
    job: Job, minutes: float | None, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a job, which appends its output to its log."""
    arguments = [*job.arguments, *([] if minutes is None else ["--minutes", f"{minutes:.2f}"])]
    job.log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tautstring_tasks", *arguments]
    with job.log.open("a", encoding="utf-8") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=dict(environment))
