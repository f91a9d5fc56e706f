"""Weights of trunks that were trained on ImageNet: torchvision's by name, or from a file."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.error import URLError

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tautstring_tasks import files
from tautstring_tasks.errors import InputError
from tautstring_tasks.localise.model import Backbone, Cam, LocaliseOptions, Lower

_URL = "https://download.pytorch.org/models/"
_FILES: dict[Backbone, str] = {
    "vgg16": "vgg16-397923af.pth",
    "inception_v3": "inception_v3_google-0cc3c7bd.pth",
    "resnet50": "resnet50-0676ba61.pth",
    "mobilenet_v2": "mobilenet_v2-b0353104.pth",
}
_VGG16 = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)  # convolutions among its layers
_MOBILENET_V2_BLOCKS = 17
_RESNET50_BLOCKS = (3, 4, 6, 3)
_SEVEN = ("1x1", "7x7_1", "7x7_2", "7x7_3", *(f"7x7dbl_{k}" for k in range(1, 6)), "_pool")
_INCEPTION_V3 = (
    *(f"Conv2d_{name}" for name in ("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3")),
    *(
        f"Mixed_5{block}.branch{name}"
        for block in "bcd"
        for name in ("1x1", "5x5_1", "5x5_2", "3x3dbl_1", "3x3dbl_2", "3x3dbl_3", "_pool")
    ),
    *(f"Mixed_6a.branch{name}" for name in ("3x3", "3x3dbl_1", "3x3dbl_2", "3x3dbl_3")),
    *(f"Mixed_6{block}.branch{name}" for block in "bcde" for name in _SEVEN),
)
_ID_BYTES = 8
_DAMAGED = (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError)


@dataclass(frozen=True)
class Trunk:
    """A trunk's tensors in the order of its layers."""

    source: str
    tensors: list[Tensor]

    @cached_property
    def id(self) -> Tensor:
        """Eight bytes that tell trunks apart."""
        total = hashlib.blake2b(digest_size=_ID_BYTES)
        for tensor in self.tensors:
            total.update(tensor.contiguous().numpy().tobytes())
        return torch.tensor(list(total.digest()), dtype=torch.uint8)

    @property
    def name(self) -> str:
        """The same in writing."""
        return _hex(self.id)

    def start(self, net: Cam) -> None:
        """Give a net the upper stages with which its training starts."""
        stages = _tensors_of(net.stages)
        _copy(self.tensors[len(self.tensors) - len(stages) :], stages)
        net.trunk_id.copy_(self.id)

    def require_own(self, net: Cam) -> None:
        """Reject a net that was trained with another trunk."""
        if not torch.equal(net.trunk_id.cpu(), self.id):
            raise InputError(
                f"{self.source}: is not the trunk that this net was trained with: {self.name}, not "
                f"{_hex(net.trunk_id)}"
            )

    def lower(self, options: LocaliseOptions) -> Lower:
        """Return the frozen stages."""
        lower = Lower(options.backbone, large=options.large)
        _copy(self.tensors, _tensors_of(lower))
        return lower.eval().requires_grad_(False)


@lru_cache(maxsize=1)  # for a folder of photos
def load(options: LocaliseOptions, file: Path | None) -> Trunk:
    """Read a trunk from a state dict with torchvision's names, or download torchvision's."""
    backbone = options.backbone
    if file is None:
        name = _FILES[backbone]
        try:
            found = torch.hub.load_state_dict_from_url(
                _URL + name, map_location="cpu", weights_only=True
            )
        except (URLError, *_DAMAGED) as error:
            place = Path(torch.hub.get_dir()) / "checkpoints" / name
            raise InputError(
                f"the weights of {backbone} cannot be downloaded from {_URL}{name} ({error}). Put "
                f"that file at {place}, or give one with its weights: --trunk FILE (.pth or "
                ".safetensors)"
            ) from None
        source = name
    else:
        found, source = _read(file), str(file)
    with torch.device("meta"):
        parts = Lower(backbone, large=options.large), Cam(options).stages
    wanted = [tensor.shape for part in parts for tensor in _tensors_of(part)]
    tensors = []
    for name, shape in zip(_names(backbone), wanted, strict=True):
        if name not in found:
            raise InputError(f"{source}: is no state dict of {backbone}: {name} not found")
        if found[name].shape != shape:
            raise InputError(
                f"{source}: is no state dict of {backbone}: {name} has the shape "
                f"{tuple(found[name].shape)}, not {tuple(shape)}"
            )
        tensors.append(found[name].float())
    return Trunk(source, tensors)


def _names(backbone: Backbone) -> list[str]:
    """Return torchvision's names of a trunk's tensors, in the order of its layers."""
    if backbone == "vgg16":
        return [f"features.{number}.{kind}" for number in _VGG16 for kind in ("weight", "bias")]
    pairs = {
        "inception_v3": [(f"{name}.conv", f"{name}.bn") for name in _INCEPTION_V3],
        "resnet50": _names_of_resnet(),
        "mobilenet_v2": _names_of_mobilenet(),
    }[backbone]
    kinds = ("weight", "bias", "running_mean", "running_var")
    return [
        name
        for convolution, norm in pairs
        for name in (f"{convolution}.weight", *(f"{norm}.{kind}" for kind in kinds))
    ]


def _names_of_resnet() -> list[tuple[str, str]]:
    found = [("conv1", "bn1")]
    for stage, blocks in enumerate(_RESNET50_BLOCKS, start=1):
        for block in range(blocks):
            place = f"layer{stage}.{block}"
            found += [(f"{place}.conv{k}", f"{place}.bn{k}") for k in (1, 2, 3)]
            if block == 0:
                found.append((f"{place}.downsample.0", f"{place}.downsample.1"))
    return found


def _names_of_mobilenet() -> list[tuple[str, str]]:
    found = [("features.0.0", "features.0.1")]
    for block in range(1, _MOBILENET_V2_BLOCKS + 1):
        place = f"features.{block}.conv"
        units = 1 if block == 1 else 2  # the first one does not expand
        found += [(f"{place}.{k}.0", f"{place}.{k}.1") for k in range(units)]
        found.append((f"{place}.{units}", f"{place}.{units + 1}"))
    last = f"features.{_MOBILENET_V2_BLOCKS + 1}"
    return [*found, (f"{last}.0", f"{last}.1")]


def _read(file: Path) -> dict[str, Tensor]:
    try:
        if file.suffix.lower() == ".safetensors":
            found = safetensors.torch.load_file(file)
        else:
            found = torch.load(file, map_location="cpu", weights_only=True)
    except (*_DAMAGED, safetensors.SafetensorError) as error:
        raise InputError(f"--trunk {file}: cannot be read as a state dict ({error})") from None
    if not isinstance(found, dict) or not all(isinstance(each, Tensor) for each in found.values()):
        raise InputError(f"--trunk {file}: must be a state dict: tensors by name")
    return found


def save_random(backbone: Backbone, file: Path, seed: int) -> None:
    """Write a trunk that was not trained, to try the commands."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        options = LocaliseOptions(backbone=backbone)
        parts = (Lower(backbone, large=False), Cam(options).stages)
    tensors = [tensor for part in parts for tensor in _tensors_of(part)]
    named = dict(zip(_names(backbone), tensors, strict=True))
    files.write_whole(file, safetensors.torch.save(named))


def _tensors_of(module: nn.Module) -> list[Tensor]:
    """Return the tensors of a module's state, without batch norms' numbers of batches."""
    return [
        tensor
        for name, tensor in module.state_dict().items()
        if not name.endswith("num_batches_tracked")
    ]


def _copy(source: list[Tensor], targets: list[Tensor]) -> None:
    """Copy the first tensors."""
    with torch.no_grad():
        for tensor, target in zip(source, targets, strict=False):
            target.copy_(tensor)


def _hex(number: Tensor) -> str:
    return bytes(number.tolist()).hex()
