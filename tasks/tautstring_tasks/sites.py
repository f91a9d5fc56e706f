"""The places of TV layers in nets, and the controls that can stand there instead."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

import tautstring

Site = Literal["none", "smooth", "sharp", "zero", "blur"]

CONTROLS = {
    "zero": "lambda 0 (control)",
    "blur": "trained filters instead (control)",
}
_BLUR_SIZE = 3


class DecayedTVLayer(tautstring.TVLayer):
    """A TV layer whose lambda has the weight decay of all other weights.

    The decay pulls softplus(raw_lam) to 0.69, whatever the data.
    """


def make_site(
    site: Site,
    channels: int,
    lam: float,
    *,
    shared: bool = False,
    decayed: bool = False,
    **options: Any,
) -> nn.Module:
    """Create what stands at a place in a net; it draws no random numbers.

    So nets of all arms start with the same weights. `zero` is a TV layer with lambda frozen at 0,
    which is the identity; `blur` is one trained 3x3 filter per channel, initially the identity.

    Parameters
    ----------
    site
        `none`, a TV layer that smooths or sharpens, or one of the controls.
    channels
        Number of channels.
    lam
        Initial lambda.
    shared
        Whether all channels have the same lambda.
    decayed
        Whether lambda has weight decay.
    options
        Further options of `tautstring.TVLayer`.
    """
    lambdas = 1 if shared else channels
    if site == "none":
        return nn.Identity()
    if site == "zero":
        return tautstring.TVLayer(lambdas, lam=0.0, **{**options, "learnable": False})
    if site == "blur":
        return _identity_filter(channels)
    kind = DecayedTVLayer if decayed else tautstring.TVLayer
    layer: nn.Module = kind(lambdas, lam=lam, mode=site, **options)
    return layer


def lambdas_of(net: nn.Module) -> dict[str, list[float]]:
    """Return the lambdas of all TV layers, by the names of the layers."""
    return {
        name: [float(f"{value:.6g}") for value in layer.lam.tolist()]
        for name, layer in net.named_modules()
        if isinstance(layer, tautstring.TVLayer)
    }


class _ChannelFilter(nn.Conv2d):
    """One filter per channel, computed in float32 like TV layers; the result has x's dtype."""

    def forward(self, image: Tensor) -> Tensor:
        with torch.autocast(image.device.type, enabled=False):
            return super().forward(image.float()).to(image.dtype)


def _identity_filter(channels: int) -> nn.Conv2d:
    filters: nn.Conv2d = nn.utils.skip_init(
        *[_ChannelFilter, channels, channels, _BLUR_SIZE],
        padding=_BLUR_SIZE // 2,
        groups=channels,
        bias=False,
    )
    nn.init.dirac_(filters.weight, groups=channels)
    return filters
