"""The total variation layer of a neural network, with its lambda as a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from tautline.functional import Mode, prox_tv1d

__all__ = ["TVLayer"]

Direction = Literal["2d", "row", "col", "1d"]


class TVLayer(nn.Module):
    """Smooth or sharpen feature maps by total variation, with lambda trained or fixed.

    ``y = argmin_y 1/2 ||y - x||^2 + lam TV(y)`` on every row (or column) of every
    channel on its own; ``mode="sharp"`` gives ``x + (x - y)``. It is the layer of Yeh,
    Hu, Ren and Schwing, *Total Variation Optimization Layers for Computer Vision*
    (CVPR 2022), solved exactly.

    Parameters
    ----------
    channels
        Number of channels, each with a lambda of its own; 1: one lambda for all.
    mode
        ``"smooth"`` or ``"sharp"``.
    direction
        ``"row"``: differences along the last dimension of ``(N, C, H, W)`` or
        ``(C, H, W)``; ``"col"``: along the one before it; ``"1d"``: along the last of
        ``(N, C, L)`` or ``(C, L)``. (``"2d"``, both directions of an image at once, is
        not there yet.)
    lam
        Where lambda starts, or its value if it is not learnable: a number or one for
        each channel. > 0 if learnable, else >= 0 (0 is the identity, inf the mean).
    learnable
        True: the parameter ``raw_lam`` of shape ``(channels,)``, with lambda =
        softplus(raw_lam). False: the buffer ``fixed_lam``, which is lambda itself.
    device, dtype
        Of the parameter or buffer.

    Examples
    --------
    >>> import torch, tautline
    >>> layer = tautline.TVLayer(3, direction="row", lam=0.1)
    >>> layer
    TVLayer(3, mode='smooth', direction='row', learnable=True, lam=[0.1, 0.1, 0.1])
    >>> features = torch.rand(8, 3, 16, 16)
    >>> layer(features).mean().backward()
    >>> layer.raw_lam.grad.shape
    torch.Size([3])
    """

    raw_lam: nn.Parameter
    fixed_lam: Tensor

    def __init__(
        self,
        channels: int,
        *,
        mode: Mode = "smooth",
        direction: Direction = "2d",
        lam: float | Sequence[float] | Tensor = 0.05,
        learnable: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Make the layer; see the class."""
        super().__init__()
        if not isinstance(channels, int) or channels < 1:
            raise ValueError(f"channels: must be an integer >= 1, got {channels!r}")
        if mode not in ("smooth", "sharp"):
            raise ValueError(f"mode: must be 'smooth' or 'sharp', got {mode!r}")
        if direction == "2d":
            raise NotImplementedError(
                "direction: '2d' is not there yet; must be 'row', 'col' or '1d'"
            )
        if direction not in _LAYOUTS:
            raise ValueError(f"direction: must be 'row', 'col' or '1d', got {direction!r}")
        self.channels = channels
        self.mode = mode
        self.direction = direction
        self.learnable = learnable
        start = _read_start(lam, channels, learnable).to(
            device=device, dtype=dtype or torch.get_default_dtype()
        )
        if learnable:
            self.raw_lam = nn.Parameter(_inverse_softplus(start))
        else:
            self.register_buffer("fixed_lam", start)

    @property
    def lam(self) -> Tensor:
        """Give the current lambdas, of shape ``(channels,)``, in at least float32."""
        values = self.raw_lam if self.learnable else self.fixed_lam
        if values.dtype in (torch.float16, torch.bfloat16):
            values = values.float()
        return nn.functional.softplus(values) if self.learnable else values

    def forward(self, x: Tensor, lam: Tensor | float | None = None) -> Tensor:
        """Smooth or sharpen x.

        Parameters
        ----------
        x
            ``(N, C, H, W)`` or ``(C, H, W)``; with ``direction="1d"`` ``(N, C, L)`` or
            ``(C, L)``.
        lam
            Lambdas for this call in place of the layer's own: a number or a tensor, as
            in `tautline.prox_tv1d`, for instance of shape ``(N, 1, 1, 1)``, one a sample.

        Returns
        -------
        torch.Tensor
            Of x's shape and dtype.
        """
        layout = _LAYOUTS[self.direction]
        if x.ndim not in (layout.dims, layout.dims - 1):
            raise ValueError(
                f"x: must have {layout.shapes} with direction={self.direction!r}, "
                f"got shape {tuple(x.shape)}"
            )
        channels = x.shape[1 - layout.dims]
        if lam is None:
            # Not `in (1, channels)`: the compiler takes no symbol for an equal number there.
            if self.channels != 1 and self.channels != channels:
                raise ValueError(
                    f"x: must have {self.channels} channels, got {channels} "
                    f"in shape {tuple(x.shape)}"
                )
            lam = self.lam.view(-1, *[1] * (layout.dims - 2))
        return prox_tv1d(x, lam, dim=layout.dim, mode=self.mode)

    def extra_repr(self) -> str:
        """Show the settings and the current lambdas."""
        lam = [float(f"{value:.4g}") for value in self.lam.detach().flatten().tolist()]
        shown = lam if len(lam) <= _MOST_SHOWN else [*lam[:_MOST_SHOWN], "..."]
        values = ", ".join(str(value) for value in shown)
        return (
            f"{self.channels}, mode={self.mode!r}, direction={self.direction!r}, "
            f"learnable={self.learnable}, lam=[{values}]"
        )


_MOST_SHOWN = 4


class _Layout:
    """Where a direction has its channels and its rows."""

    def __init__(self, dims: int, dim: int, shapes: str) -> None:
        self.dims = dims
        self.dim = dim
        self.shapes = shapes


_IMAGES = "shape (N, C, H, W) or (C, H, W)"
_LAYOUTS = {
    "row": _Layout(4, -1, _IMAGES),
    "col": _Layout(4, -2, _IMAGES),
    "1d": _Layout(3, -1, "shape (N, C, L) or (C, L)"),
}


def _read_start(lam: float | Sequence[float] | Tensor, channels: int, learnable: bool) -> Tensor:
    """Give one lambda a channel in float64, or say what is wrong with it."""
    try:
        values = torch.as_tensor(lam, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"lam: must be a number or one a channel, got {lam!r}") from None
    if values.shape not in ((), (1,), (channels,)):
        raise ValueError(
            f"lam: must be a number or of shape ({channels},), got shape {tuple(values.shape)}"
        )
    allowed, is_bad = (
        ("> 0 and finite", ~((values > 0) & values.isfinite()))
        if learnable
        else (
            ">= 0 and not NaN",
            ~(values >= 0),
        )
    )
    if is_bad.any():
        given = float(values.flatten()[is_bad.flatten()][0])
        raise ValueError(f"lam: must be {allowed} with learnable={learnable}, got {given:g}")
    return values.expand(channels).clone()


def _inverse_softplus(lam: Tensor) -> Tensor:
    """Give r with softplus(r) = lam, without cancellation for small or large lam."""
    return lam + torch.log(-torch.expm1(-lam))
