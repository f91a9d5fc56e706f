"""What nets do to a photo: before and after TV layers, and maps of lambda."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from matplotlib import pyplot as plt
from skimage.data import astronaut
from torch import Tensor, nn

import tautstring
from tautstring_tasks import images, reporting
from tautstring_tasks.devices import testing
from tautstring_tasks.smooth.model import PredictedLambda, ResNet

_PHOTO = (slice(0, 240), slice(100, 340))
_CREDIT = (
    "The photo is NASA's portrait of Eileen Collins (public domain), as scikit-image has it.\n"
)
_MAPS_SHOWN = 3
Picture = npt.NDArray[np.generic]


def section(name: str, net: nn.Module, folder: Path) -> str:
    """Draw what a net does to a photo; return the section that shows it, or nothing."""
    photo = torch.from_numpy(np.ascontiguousarray(astronaut()[_PHOTO]))
    photo = photo.permute(2, 0, 1)[None].float()
    with testing(photo.device, "float32"):
        if isinstance(net, PredictedLambda) and net.is_map:
            return _lambda_maps(name, net, photo, folder)
        if isinstance(net, ResNet) and isinstance(net.smooth, tautstring.TVLayer):
            return _last_layer(name, net, photo, folder) + _inside(name, net, photo, folder)
    return ""


def _last_layer(name: str, net: ResNet, photo: Tensor, folder: Path) -> str:
    before = net.before_smoothing(photo)
    after = net.smooth(before)
    shown = {
        "photo": _colours(photo),
        "before the last TV layer": _colours(before),
        "after it": _colours(after),
        "difference, 8 times": _colours(128 + 8 * (after - before)),
    }
    file = _draw(shown, folder / f"smooth_{name}_stages.png")
    return (
        "## A photo before and after the last TV layer\n\n"
        f"![A photo before and after the last TV layer](images/{file.name})\n\n"
        f"The net is the package's {name}. {_CREDIT}\n"
    )


def _inside(name: str, net: ResNet, photo: Tensor, folder: Path) -> str:
    """Draw the maps that the first TV layer in the blocks changes most."""
    number, layer = next(iter(net.sharpen.items()))
    with _seen(layer) as seen:
        net(photo)
    before, after = (each[0].float() for each in seen)
    change = (after - before).abs().mean(dim=(1, 2)) / before.std(dim=(1, 2)).clamp(min=1e-12)
    shown: dict[str, Picture] = {}
    for channel in change.argsort(descending=True)[:_MAPS_SHOWN].tolist():
        low, high = before[channel].min(), before[channel].max()
        for title, maps in (("before", before), ("after", after)):
            grey = ((maps[channel] - low) / (high - low).clamp(min=1e-12)).clamp(0, 1)
            # As colours, which are drawn as they are: both with the same range.
            shown[f"channel {channel}, {title}"] = grey[..., None].expand(-1, -1, 3).numpy()
    file = _draw(shown, folder / f"smooth_{name}_maps.png")
    return (
        "## Feature maps before and after a TV-sharp layer\n\n"
        f"![Feature maps before and after a TV-sharp layer](images/{file.name})\n\n"
        f"The layer of block {number}, and the channels that it changes most.\n"
    )


def _lambda_maps(name: str, net: PredictedLambda, photo: Tensor, folder: Path) -> str:
    rows, columns = (each[0, 0].cpu().numpy() for each in net.lambdas(photo))
    shown = {
        "photo": _colours(photo),
        "result": _colours(net(photo)),
        f"lambda along rows, {rows.min():.3g} to {rows.max():.3g}": np.log(rows),
        f"along columns, {columns.min():.3g} to {columns.max():.3g}": np.log(columns),
    }
    file = _draw(shown, folder / f"smooth_{name}_lambdas.png")
    return (
        "## A map of lambda\n\n"
        f"![A map of lambda](images/{file.name})\n\n"
        f"The net is the package's {name}; lambda has a logarithmic scale, and white is strong "
        f"smoothing. {_CREDIT}"
    )


@contextmanager
def _seen(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Keep what a layer gets and what it makes of it."""
    seen: list[Tensor] = []

    def keep(_: nn.Module, inputs: tuple[Tensor], result: Tensor) -> None:
        seen.extend([inputs[0], result])

    hook = layer.register_forward_hook(keep)
    try:
        yield seen
    finally:
        hook.remove()


def _colours(image: Tensor) -> Picture:
    return images.to_pixels(image / 255)


def _draw(shown: Mapping[str, Picture], file: Path) -> Path:
    figure, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3.2))
    for axis, (title, image) in zip(axes, shown.items(), strict=True):
        axis.imshow(image, cmap="gray")
        axis.set_title(title, fontsize=8)
        axis.set_axis_off()
    reporting.save(figure, file)
    return file
