"""CIFAR-10-C: the test images with 15 corruptions at 5 severities, made here from CIFAR-10.

The original draws its random numbers without a seed, so the published files cannot be made again.
These follow its recipe with random numbers of their own: the same seed gives the same files, on any
number of threads. The corruptions are in C++ (tasks/cpp/cifar10c).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import tyro
from tqdm import tqdm

from tautstring_tasks import _native, cifar10, files, images, json_files
from tautstring_tasks.cifar10 import CIFAR10, Bytes
from tautstring_tasks.errors import InputError, require

Corruption = Literal[
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
]
Progress = Callable[[int], object]
"""Is called with the number of images that are finished."""

CORRUPTIONS: tuple[Corruption, ...] = _native.CORRUPTIONS  # type: ignore[assignment]
SEVERITIES = range(1, _native.SEVERITIES + 1)
OVERLAYS = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")
"""The pictures of frost; the original has a sixth one, which it never uses."""

_LABELS = "labels.npy"
_CHECKSUMS = "checksums.json"
_LEAST_OVERLAY = 163  # pixels: a fifth of it is larger than an image
_IMAGE = (cifar10.SIZE, cifar10.SIZE, 3)

app = tyro.extras.SubcommandApp()


def load(folder: Path, corruption: str, severity: int, images: int | None = None) -> Bytes:
    """Read the images of a severity by memory map, as they are made here or as published.

    Parameters
    ----------
    folder
        The folder with a file for each corruption.
    corruption
        One of `CORRUPTIONS`.
    severity
        From 1 to 5.
    images
        Number of images, from the first on; by default all.
    """
    if severity not in SEVERITIES:
        raise InputError(f"severity: must be in 1..{SEVERITIES[-1]}, got {severity}")
    if corruption not in CORRUPTIONS:
        raise InputError(f"{corruption}: is none of the corruptions {', '.join(CORRUPTIONS)}")
    file = folder / _name_of(corruption)
    found = _load_array(file)
    if found.dtype != np.uint8:
        raise InputError(f"{file}: must have bytes, got {found.dtype}")
    if found.ndim != 4 or found.shape[1:] != _IMAGE or len(found) % len(SEVERITIES):
        wanted = f"({len(SEVERITIES)} * N, {', '.join(map(str, _IMAGE))})"
        raise InputError(f"{file}: must have shape {wanted}, got {found.shape}")
    count = len(found) // len(SEVERITIES)
    if images is not None and images > count:
        raise InputError(f"{file}: has {count} images per severity, {images} are needed")
    first = count * (severity - 1)
    return found[first : first + (count if images is None else images)]


def load_labels(folder: Path) -> Bytes:
    """Read the labels of a severity's images, as they are made here or as published."""
    found = _load_array(folder / _LABELS)
    count, rest = divmod(len(found) if found.ndim == 1 else 0, len(SEVERITIES))
    if found.dtype.kind not in "iu" or rest or not count:
        raise InputError(
            f"{folder / _LABELS}: must have {len(SEVERITIES)} * N whole numbers, got "
            f"{found.dtype} of shape {found.shape}"
        )
    return found[:count].astype(np.uint8)


def _load_array(file: Path) -> npt.NDArray[Any]:
    if not file.is_file():
        raise InputError(f"{file}: does not exist; `tautstring_tasks cifar10c make` makes it")
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file}: cannot be read as a NumPy array ({error})") from None
    if not isinstance(found, np.ndarray):
        raise InputError(f"{file}: must be a NumPy array, got several")
    return found


def load_overlays(folder: Path) -> list[Bytes]:
    """Read the pictures of frost."""
    what = (
        f"--frost {folder}: must have the pictures {', '.join(OVERLAYS)} (on GitHub: "
        "hendrycks/robustness, in ImageNet-C/create_c/imagenet_c)"
    )
    found = []
    for file in (folder / name for name in OVERLAYS):
        if not file.is_file():
            raise InputError(f"--frost {file}: does not exist. {what}")
        pixels = images.read(file)  # without alpha
        height, width = pixels.shape[:2]
        if min(height, width) < _LEAST_OVERLAY:
            raise InputError(
                f"{file}: must be at least {_LEAST_OVERLAY} x {_LEAST_OVERLAY} pixels, "
                f"got {width} x {height}"
            )
        found.append(pixels)
    return found


def make(
    test: CIFAR10,
    out: Path,
    corruptions: Sequence[Corruption] = CORRUPTIONS,
    overlays: Sequence[Bytes] = (),
    seed: int = 0,
    threads: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write a file for each corruption, one of labels, and one of checksums.

    Parameters
    ----------
    test
        The images to corrupt.
    out
        The folder for the files; it may have other corruptions of the same images and seed.
    corruptions
        The corruptions to make.
    overlays
        The pictures of frost; only needed for this corruption.
    seed
        Seed of all random numbers.
    threads
        Number of threads; 0: all that the machine has.
    force
        Overwrite files that exist.
    progress
        Is called now and then, on the calling thread.
    """
    about = _checked_about(out, _about(test, seed), set(corruptions), force)
    done = 0

    def report(finished: int) -> None:
        if progress is not None:
            progress(done + finished)

    labels = np.tile(test.labels, len(SEVERITIES))
    about["sha256"][_LABELS] = _save(out / _LABELS, labels, force=True)
    for name in CORRUPTIONS:
        if name not in corruptions:
            continue
        made = []
        for severity in SEVERITIES:
            made.append(
                _native.corrupt(
                    test.images,
                    name,
                    severity,
                    seed=seed,
                    threads=threads,
                    overlays=overlays if name == "frost" else (),
                    progress=report,
                )
            )
            done += len(test.images)
        about["sha256"][_name_of(name)] = _save(out / _name_of(name), np.concatenate(made), force)
        _save_checksums(out / _CHECKSUMS, about)


def _name_of(corruption: str) -> str:
    return f"{corruption}.npy"


def _version() -> str:
    try:
        return metadata.version("tautstring-tasks")
    except metadata.PackageNotFoundError:
        return "unknown"


def _about(test: CIFAR10, seed: int) -> dict[str, Any]:
    """Return what the checksums depend on, and what is stored with them."""
    return {
        "seed": seed,
        "images": len(test.images),
        "images_sha256": hashlib.sha256(test.images.tobytes()).hexdigest(),
        "version": _version(),
        "sha256": {},
    }


def _checked_about(
    out: Path, about: dict[str, Any], corruptions: set[Corruption], force: bool
) -> dict[str, Any]:
    """Add the checksums of files that stay; reject those that must not be overwritten or mixed."""
    names = {_name_of(each) for each in corruptions}
    if not force:
        for name in sorted(names):
            files.require_free(out / name)
    checksums = out / _CHECKSUMS
    if not checksums.exists():
        if not force:
            files.require_free(out / _LABELS)
        return about
    found = _load_checksums(checksums)
    kept = {name: each for name, each in found["sha256"].items() if name not in names}
    kept.pop(_LABELS, None)
    for key in ("seed", "images", "images_sha256"):
        if kept and found[key] != about[key]:
            raise InputError(
                f"{checksums}: describes other files ({key} {found[key]}, not {about[key]}); "
                "write to another folder"
            )
    return {**about, "sha256": kept}


def _load_checksums(file: Path) -> dict[str, Any]:
    content = json_files.parse(file, files.read_text(file))
    wanted = {"seed": int, "images": int, "images_sha256": str, "sha256": {str: str}}
    json_files.check(file, content, wanted)
    return content


def _save(file: Path, values: Bytes, force: bool) -> str:
    """Write an array and return the file's SHA-256."""
    content = BytesIO()
    np.save(content, values)
    files.write_whole(file, content.getvalue(), force)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def _save_checksums(file: Path, about: dict[str, Any]) -> None:
    order = [*map(_name_of, CORRUPTIONS), _LABELS]
    found = about["sha256"]
    about = {**about, "sha256": {name: found[name] for name in order if name in found}}
    files.write_whole(file, f"{json.dumps(about, indent=1)}\n".encode())


@app.command(name="make")
def make_files(
    data: Annotated[Path, tyro.conf.arg(metavar="FOLDER")],
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")],
    frost: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
    corruptions: tuple[Corruption, ...] = CORRUPTIONS,
    images: int | None = None,
    seed: int = 0,
    threads: int = 0,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Make CIFAR-10-C: NAME.npy of shape (5 * N, 32, 32, 3), severity by severity, and labels.npy.

    The corruptions are those of Hendrycks and Dietterich (ICLR 2019), with other random numbers.
    checksums.json has the SHA-256 of each file. Corruptions can be made one after another.

    Parameters
    ----------
    data
        CIFAR-10, in any of its official versions.
    out
        Output folder.
    frost
        Folder with the pictures of frost. Default: the folder frost in the data folder.
    corruptions
        The corruptions to make.
    images
        Number of test images, from the first on. Default: all.
    seed
        Seed of all random numbers. The same seed gives the same files.
    threads
        Number of threads. 0 takes all that the machine has; it does not change the files.
    force
        Overwrite files that exist.
    """
    require("seed", seed, at_least=0, at_most=2**63 - 1)
    require("threads", threads, at_least=0, at_most=2**31 - 1)
    if not corruptions:
        raise InputError("--corruptions: at least one is needed")
    test = cifar10.load(data, "test")
    if images is not None:
        require("images", images, at_least=1, at_most=len(test.images))
        test = CIFAR10(test.images[:images], test.labels[:images])
    overlays = load_overlays(frost or data / "frost") if "frost" in corruptions else []
    wanted = tuple(dict.fromkeys(corruptions))
    total = len(wanted) * len(SEVERITIES) * len(test.images)
    with tqdm(total=total, unit="image", smoothing=0) as bar:
        make(
            *(test, out, wanted, overlays, seed, threads, force),
            progress=lambda done: bar.update(done - bar.n),
        )
    print(f"{out}: wrote {', '.join(map(_name_of, wanted))}, {_LABELS} and {_CHECKSUMS}")


@app.command(name="check")
def check_files(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
) -> None:
    """Compare the files of a folder with its checksums.json.

    Parameters
    ----------
    folder
        A folder written by `make`.
    """
    expected = _load_checksums(folder / _CHECKSUMS)["sha256"]
    for name, checksum in expected.items():
        file = folder / name
        try:
            with file.open("rb") as opened:
                found = hashlib.sha256(opened.read()).hexdigest()
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
        if found != checksum:
            raise InputError(f"{file}: has the SHA-256 {found}, but it should be {checksum}")
    print(f"{folder}: {len(expected)} files are as they were made")
