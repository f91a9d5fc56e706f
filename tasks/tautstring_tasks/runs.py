"""The record of a run: its options, data, machine and results."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from tautstring_tasks import files, json_files

_IS_PLACE = "is_place"
PLACE = {_IS_PLACE: True}  # metadata of an option that says where files are: not part of a record
_PACKAGES = (
    "tautstring",
    "tautstring-tasks",
    "torch",
    "numpy",
    "pillow",
    "scikit-image",
    "safetensors",
)


def about_machine(device: torch.device) -> dict[str, str]:
    """Describe the machine and software of a run."""
    found = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": ", ".join(_versions()),
        "cpu": _cpu_name(),
        "threads": str(torch.get_num_threads()),
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def hash_of_files(paths: Iterable[Path]) -> str:
    """Return one SHA-256 of all names and contents, in the order of names."""
    total = hashlib.sha256()
    for file in sorted(paths, key=lambda path: path.name):
        total.update(file.name.encode() + b"\0")
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def hash_of_arrays(*arrays: npt.NDArray[Any]) -> str:
    """Return one SHA-256 of all arrays' elements."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest())
    return total.hexdigest()


def hash_of_file(file: Path) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def save_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write JSON, completely or not at all, with one line per second-level entry."""
    entries = ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in content.items())
    files.write_whole(file, f"{{\n{entries}\n}}\n".encode())


def _lines(value: Any) -> str:
    if isinstance(value, dict) and value:
        entries = (f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
        return "{\n " + ",\n ".join(entries) + "\n}"
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


def load_json(file: Path) -> dict[str, Any]:
    """Read a file written by `save_json`."""
    return json_files.parse(file, files.read_text(file))


def as_options(options: Any) -> dict[str, Any]:
    """Return a dataclass of options in the form it has in JSON, without places of files."""
    kept = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if not field.metadata.get(_IS_PLACE)
    }
    content: dict[str, Any] = json.loads(json.dumps(kept, default=str))
    return content


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # else this is a copy somewhere
        changes = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
        return git("rev-parse", "--short", "HEAD") + changes
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _versions() -> Iterable[str]:
    for package in _PACKAGES:
        try:
            yield f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            yield f"{package} not installed"


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
