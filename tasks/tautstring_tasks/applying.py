"""A net applied to photos."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from tautstring_tasks import images
from tautstring_tasks.devices import Precision
from tautstring_tasks.errors import InputError
from tautstring_tasks.nets import AnyTask


def places(task: AnyTask, photo: Path, out: Path | None) -> list[tuple[Path, Path]]:
    """Return the photos of a file or folder, each with the file for its result."""
    if not photo.is_dir():
        return [(photo, out or photo.with_name(f"{photo.stem}_{task.name}.png"))]
    found = images.files_of(photo, "A folder of photos is needed.")
    place = photo if photo.name.strip(".") else photo.resolve()  # "." and ".." are no names
    folder = out or place.with_name(f"{place.name}_{task.name}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: must be a folder, since {photo} is one")
    results = [(file, folder / f"{file.stem}.png") for file in found]
    if len({result for _, result in results}) < len(results):
        raise InputError(f"{photo}: image names must differ in more than their extensions")
    return results


def apply(
    task: AnyTask,
    net: nn.Module,
    photos: list[tuple[Path, Path]],
    force: bool,
    device: torch.device,
    precision: Precision,
) -> Iterator[str]:
    """Apply a net to photos; write the results, or yield what it has to say about each."""
    for photo, result in tqdm(photos, disable=len(photos) == 1):
        pixels = images.read(photo)
        found = task.apply(net, pixels, device, precision)
        if isinstance(found, str):
            yield f"{photo}: {found}"
            continue
        alpha = images.read_alpha(photo)
        images.write(result, found, images.colour_profile(photo), alpha, force)
        if alpha is not None and not images.holds_alpha(result):
            name = result.suffix.lower().removeprefix(".")
            yield f"note: {name} does not support alpha; the image is placed on white"
        yield f"wrote {result}"
