"""CIFAR-10 in any of the forms in which it is passed on; knows nothing of nets or torch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from tautstring_tasks import files, images
from tautstring_tasks.errors import InputError, require

Part = Literal["train", "test"]
Bytes = npt.NDArray[np.uint8]

CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
SIZE = 32  # width and height of an image
WHAT = (
    "CIFAR-10 is a folder with the official binary version (data_batch_1..5.bin, test_batch.bin), "
    "the official Python version (data_batch_1..5, test_batch), or mosaics (train_1..5.webp, "
    "test.webp, train_labels.u8, test_labels.u8)"
)

_BATCHES = range(1, 6)
_COLOURS = 3
_VALUES = SIZE * SIZE * _COLOURS
_RECORD = 1 + _VALUES  # bytes: a label, then the red, green and blue plane
_TILES = 100  # images along either side of a mosaic
_OFFICIAL_FOLDERS = ("", "cifar-10-batches-bin", "cifar-10-batches-py")  # as unpacked


@dataclass(frozen=True)
class CIFAR10:
    """Images of shape (N, 32, 32, 3) and their labels of shape (N,): indices of `CLASSES`."""

    images: Bytes
    labels: Bytes


@dataclass(frozen=True)
class _Format:
    names: dict[Part, tuple[str, ...]]
    """The files with images, in their order."""
    labels: dict[Part, tuple[str, ...]]
    """The files with nothing but labels."""
    read: Callable[[list[Path]], CIFAR10]
    """Reads the files of a part, images first."""


def load(folder: Path, part: Part) -> CIFAR10:
    """Read the training or the test images; the folder may have fewer than there are."""
    form, where = _find(folder, part)
    return form.read(_files(form, where, part))


def files_of(folder: Path, part: Part) -> list[Path]:
    """List the files that `load` reads, in their order."""
    form, where = _find(folder, part)
    return _files(form, where, part)


def _find(folder: Path, part: Part) -> tuple[_Format, Path]:
    """Return the format of which a folder has a file, and the folder where it is."""
    if not folder.is_dir():
        raise InputError(f"{folder}: does not exist. {WHAT}")
    for where in (folder / name for name in _OFFICIAL_FOLDERS):
        for form in _FORMATS:
            if any((where / name).exists() for name in form.names[part]):
                return form, where
    raise InputError(f"{folder}: has no {part} images. {WHAT}")


def _files(form: _Format, where: Path, part: Part) -> list[Path]:
    found = [where / name for name in (*form.names[part], *form.labels[part])]
    for file in found:
        if not file.is_file():
            raise InputError(f"{file}: does not exist. {WHAT}")
    return found


def _joined(parts: list[CIFAR10]) -> CIFAR10:
    return CIFAR10(
        np.concatenate([part.images for part in parts]),
        np.concatenate([part.labels for part in parts]),
    )


def _checked_labels(file: Path, labels: Bytes) -> Bytes:
    if labels.size and labels.max() >= len(CLASSES):
        raise InputError(f"{file}: labels must be below {len(CLASSES)}, got {labels.max()}")
    return labels


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None


def _from_planes(planes: Bytes) -> Bytes:
    """Interleave colours of shape (N, 3 * 32 * 32)."""
    images = planes.reshape(-1, _COLOURS, SIZE, SIZE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images)


def _read_binary(found: list[Path]) -> CIFAR10:
    return _joined([_read_binary_file(file) for file in found])


def _read_binary_file(file: Path) -> CIFAR10:
    content = np.frombuffer(_read_bytes(file), np.uint8)
    if content.size == 0 or content.size % _RECORD:
        raise InputError(
            f"{file}: must have {_RECORD} bytes per image (10000 of them in the official version: "
            f"{10000 * _RECORD} bytes), got {content.size} bytes"
        )
    records = content.reshape(-1, _RECORD)
    labels = np.ascontiguousarray(records[:, 0])
    return CIFAR10(_from_planes(records[:, 1:]), _checked_labels(file, labels))


class _PickledDtype:
    """The dtype of a pickled array: only its name."""

    def __init__(self, name: object = None, *_: object) -> None:
        self.name = name.decode("latin-1") if isinstance(name, bytes) else name

    def __setstate__(self, _: object) -> None:
        """Ignore byte order and the like; bytes have none."""


class _PickledArray:
    """A pickled array: what is needed to build it."""

    state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    """Reads numbers, texts, lists, dictionaries and arrays; everything else is an error.

    A pickle may call any function of any module. This one calls none, not even NumPy's: the
    functions that make arrays are replaced by classes that store their arguments.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a global name of the pickle."""
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: _PickledArray()
        if (module, name) == ("numpy", "ndarray"):
            return _PickledArray
        if (module, name) == ("numpy", "dtype"):
            return _PickledDtype
        raise pickle.UnpicklingError(f"it needs {module}.{name}")


def _array_of(found: object) -> Bytes | None:
    """Return a pickled array of bytes of shape (N, 3072), None for anything else."""
    state = found.state if isinstance(found, _PickledArray) else None
    if not isinstance(state, tuple) or len(state) != 5:
        return None
    _, shape, dtype, is_fortran, raw = state
    is_bytes = isinstance(dtype, _PickledDtype) and dtype.name in ("u1", "|u1")
    if not (is_bytes and isinstance(raw, bytes) and isinstance(shape, tuple) and len(shape) == 2):
        return None
    if shape != (len(raw) // _VALUES, _VALUES) or len(raw) % _VALUES:
        return None
    return np.frombuffer(raw, np.uint8).reshape(shape, order="F" if is_fortran else "C")


def _read_python(found: list[Path]) -> CIFAR10:
    return _joined([_read_python_file(file) for file in found])


def _read_python_file(file: Path) -> CIFAR10:
    what = "must be a batch of the official Python version"
    try:
        content = _Unpickler(BytesIO(_read_bytes(file)), encoding="bytes").load()
    except InputError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(f"{file}: {what}, and cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: {what}, a dictionary; got {type(content).__name__}")
    named = {
        key.decode("latin-1") if isinstance(key, bytes) else key: value
        for key, value in content.items()
    }
    data, labels = _array_of(named.get("data")), named.get("labels")
    if data is None or not data.size:
        raise InputError(f"{file}: {what}; its data must be bytes of shape (N, {_VALUES})")
    if not isinstance(labels, list) or len(labels) != len(data):
        raise InputError(f"{file}: {what}; its labels must be a list of {len(data)} numbers")
    if not all(isinstance(label, int) and 0 <= label < len(CLASSES) for label in labels):
        raise InputError(f"{file}: labels must be integers in 0..{len(CLASSES) - 1}")
    return CIFAR10(_from_planes(data), np.array(labels, np.uint8))


def _read_mosaics(found: list[Path]) -> CIFAR10:
    *pictures, labels_file = found
    labels = np.frombuffer(_read_bytes(labels_file), np.uint8)
    count = len(pictures) * _TILES * _TILES
    if labels.size != count:
        raise InputError(
            f"{labels_file}: must have one byte per image, {count}, got {labels.size} bytes"
        )
    tiles = np.concatenate([_read_mosaic(file) for file in pictures])
    return CIFAR10(tiles, _checked_labels(labels_file, labels.copy()))


def _read_mosaic(file: Path) -> Bytes:
    pixels = images.read(file)
    height, width = pixels.shape[:2]
    if (height, width) != (_TILES * SIZE,) * 2:
        side = _TILES * SIZE
        raise InputError(f"{file}: must be {side} x {side} pixels, got {width} x {height}")
    rows = pixels.reshape(_TILES, SIZE, _TILES, SIZE, _COLOURS)
    return rows.transpose(0, 2, 1, 3, 4).reshape(-1, SIZE, SIZE, _COLOURS)


def _numbered(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.format(number) for number in _BATCHES)


_BINARY = _Format(
    names={"train": _numbered("data_batch_{}.bin"), "test": ("test_batch.bin",)},
    labels={"train": (), "test": ()},
    read=_read_binary,
)
_FORMATS = (
    _BINARY,
    _Format(
        names={"train": _numbered("data_batch_{}"), "test": ("test_batch",)},
        labels={"train": (), "test": ()},
        read=_read_python,
    ),
    _Format(
        names={"train": _numbered("train_{}.webp"), "test": ("test.webp",)},
        labels={"train": ("train_labels.u8",), "test": ("test_labels.u8",)},
        read=_read_mosaics,
    ),
)


def generate(folder: Path, train: int = 1000, test: int = 200) -> None:
    """Render a small data set in the layout of the official binary version.

    Each class has a shape and a range of colours, on a plain background with noise. The same
    numbers give the same images.

    Parameters
    ----------
    folder
        Where the files go; those of another data set there are overwritten.
    train, test
        Number of images.
    """
    require("train", train, at_least=len(_BATCHES))
    require("test", test, at_least=1)
    for number, (part, count) in enumerate((("train", train), ("test", test))):
        names = _BINARY.names[cast(Part, part)]
        generator = np.random.default_rng([0, number])
        records = np.array_split(_records(generator, count), len(names))
        for name, content in zip(names, records, strict=True):
            files.write_whole(folder / name, content.tobytes())


def _records(generator: np.random.Generator, count: int) -> Bytes:
    labels = generator.permutation(np.arange(count) % len(CLASSES)).astype(np.uint8)
    planes = [_scene(generator, label).transpose(2, 0, 1).reshape(_VALUES) for label in labels]
    return np.concatenate([labels[:, None], np.stack(planes)], axis=1)


def _scene(generator: np.random.Generator, label: int) -> Bytes:
    """Render one of five shapes, in warm colours for one class and in cold ones for another."""
    y, x = np.mgrid[:SIZE, :SIZE].astype(float)
    size = generator.uniform(6, 10)
    y, x = (each - generator.uniform(11, SIZE - 12) for each in (y, x))
    distance = np.hypot(y, x)
    inside = (
        distance < size,  # a disc
        (distance < size) & (distance > size / 2),  # a ring
        np.maximum(abs(y), abs(x)) < 0.8 * size,  # a square
        np.minimum(abs(y), abs(x)) < size / 4,  # a cross over the whole image
        (abs(y) < size) & (np.floor(y / 3) % 2 == 0),  # stripes
    )[label % 5]
    bright, middle, dark = generator.uniform([180, 60, 0], [255, 140, 60])
    colour = (bright, middle, dark) if label < 5 else (dark, middle, bright)
    slope = generator.uniform(-2, 2, 2)
    background = generator.uniform(60, 190) + slope[0] * y + slope[1] * x
    scene = np.where(inside[..., None], colour, background[..., None])
    scene += generator.normal(0, 8, scene.shape)
    pixels: Bytes = scene.clip(0, 255).astype(np.uint8)
    return pixels
