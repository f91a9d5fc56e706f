"""ResNet-50 for class activation maps, with total variation before its head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tautstring_tasks.sites import Site, make_site

_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 1), (512, 3, 1))  # width, blocks, stride
_EXPANSION = 4


class _Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = _EXPANSION * width
        self.branch = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            *(nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.branch(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """Returns the logits of classes for images of shape (N, 3, 224, 224), by maps of 28 x 28."""

    def __init__(self, site: Site, lam: float = 1.0, classes: int = 200) -> None:
        """Create the net; lambda is fixed and shared by all channels."""
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, 64, 7, 2, padding=3, bias=False),
            *(nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)),
        ]
        inputs = 64
        for width, blocks, stride in _STAGES:
            for block in range(blocks):
                layers.append(_Bottleneck(inputs, width, stride if block == 0 else 1))
                inputs = _EXPANSION * width
        self.trunk = nn.Sequential(*layers)
        self.tv = make_site(site, inputs, lam, shared=True, learnable=False)
        self.classes = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Classify images."""
        logits: Tensor = self.classes(self.tv(self.trunk(images)).mean(dim=(2, 3)))
        return logits
