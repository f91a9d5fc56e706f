"""The total variation layer of a neural network, with its lambda as a parameter."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NoReturn

import torch
from torch import Tensor, nn

from tautstring._options import (
    Grad,
    Method,
    Mode,
    Solver,
    read_choice,
    read_mode,
    read_solver1d,
    read_solver2d,
)
from tautstring._tensors import LamOrPair, read_tensor
from tautstring.functional import prox_tv1d, prox_tv2d

__all__ = ["TVLayer"]


def __dir__() -> list[str]:
    return sorted(__all__)


Direction = Literal["2d", "row", "col", "1d"]


class TVLayer(nn.Module):
    """Smooth or sharpen feature maps by total variation, with lambda trained or fixed.

    Solves ``y = argmin_y 1/2 ||y - x||^2 + lam TV(y)`` for every image (or every row, or
    every column) of every channel independently; ``mode="sharp"`` returns ``x + (x - y)``.
    This is the layer of Yeh, Hu, Ren and Schwing, *Total Variation Optimization Layers for
    Computer Vision* (CVPR 2022), with rows and columns solved exactly.

    Parameters
    ----------
    channels
        Number of channels, each with its own lambda; 1: one lambda for all channels.
    mode
        ``"smooth"`` or ``"sharp"``.
    direction
        ``"2d"``: differences along the last two dimensions of ``(N, C, H, W)`` or
        ``(C, H, W)``; ``"row"``: along the last only; ``"col"``: along the second to
        last only; ``"1d"``: along the last of ``(N, C, L)`` or ``(C, L)``.
    lam
        Initial value of lambda, or its value if not learnable: one number, or one per
        channel. > 0 if learnable, else >= 0 (0 is the identity, inf the mean).
    learnable
        True: the parameter ``raw_lam`` of shape ``(channels,)``, with lambda =
        softplus(raw_lam). False: the buffer ``fixed_lam``, lambda itself.
    method, iterations, tol, grad, isotropic
        For ``direction="2d"``, as in `tautstring.prox_tv2d`; they apply to every call.
    solver
        For all other directions, as in `tautstring.prox_tv1d`.
    device, dtype
        Device and dtype of the parameter or buffer.

    Examples
    --------
    >>> import torch, tautstring
    >>> layer = tautstring.TVLayer(3, lam=0.1)
    >>> layer
    TVLayer(3, mode='smooth', direction='2d', learnable=True, lam=[0.1, 0.1, 0.1])
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
        *others: NoReturn,
        mode: Mode = "smooth",
        direction: Direction = "2d",
        lam: float | Sequence[float] | Tensor = 0.05,
        learnable: bool = True,
        method: Method | None = None,
        iterations: int | None = None,
        tol: float | None = None,
        grad: Grad | None = None,
        isotropic: bool = False,
        solver: Solver = "direct",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Create the layer; see the class."""
        super().__init__()
        _refuse_positions(channels, others)
        read_mode(mode)
        read_choice("direction", direction, tuple(_LAYOUTS))
        read_solver2d(method, iterations, tol, grad, isotropic)
        read_solver1d(solver, weight=None, start=None, polish=True)
        self.method = method
        self.iterations = iterations
        self.tol = tol
        self.grad = grad
        self.solver = solver
        for name, value in self._unusual_options():
            if direction == "2d" and name == "solver":
                raise ValueError(f"solver: only for direction='row', 'col' or '1d', got {value!r}")
            if direction != "2d" and name != "solver":
                raise ValueError(f"{name}: only for direction='2d', got {value!r}")
        self.channels = _read_channels(channels)
        self.mode = mode
        self.direction = direction
        self.learnable = learnable
        dtype = dtype or torch.get_default_dtype()
        if not dtype.is_floating_point:
            raise TypeError(f"dtype: must be a floating dtype, got {dtype}")
        self._start = _read_start(lam, self.channels, learnable, dtype)
        values = torch.empty(self.channels, device=device, dtype=dtype)
        if learnable:
            self.raw_lam = nn.Parameter(values)
        else:
            self.register_buffer("fixed_lam", values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset lambda to its initial value, for instance after `torch.nn.Module.to_empty`."""
        values = self.raw_lam if self.learnable else self.fixed_lam
        start = torch.tensor(self._start, dtype=torch.float64, device="cpu")
        with torch.no_grad(), _mixing_with(values):
            values.copy_(start)

    @property
    def lam(self) -> Tensor:
        """Return the current lambdas, of shape ``(channels,)``, in at least float32."""
        values = self.raw_lam if self.learnable else self.fixed_lam
        if values.dtype in (torch.float16, torch.bfloat16):
            values = values.float()
        return nn.functional.softplus(values) if self.learnable else values

    def forward(self, x: Tensor, lam: LamOrPair | None = None) -> Tensor:
        """Smooth or sharpen x.

        Parameters
        ----------
        x
            ``(N, C, H, W)`` or ``(C, H, W)``; with ``direction="1d"`` ``(N, C, L)`` or
            ``(C, L)``.
        lam
            Lambdas for this call instead of the layer's own: a number, a tensor, or with
            ``direction="2d"`` a pair, as in `tautstring.prox_tv1d` and `tautstring.prox_tv2d`;
            for instance one per sample, of shape ``(N, 1, 1, 1)``.

        Returns
        -------
        torch.Tensor
            The result, with x's shape and dtype.
        """
        read_tensor("x", x)
        layout = _LAYOUTS[self.direction]
        if x.ndim not in layout.lam_shapes:
            raise ValueError(
                f"x: must have {layout.shapes} with direction={self.direction!r}, "
                f"got shape {tuple(x.shape)}"
            )
        if lam is None:
            # Not `in (1, ...)`: the compiler does not match symbolic sizes with numbers there.
            if self.channels != 1 and self.channels != x.shape[1 - layout.dims]:
                raise ValueError(
                    f"x: must have {self.channels} channels, got {x.shape[1 - layout.dims]} "
                    f"in shape {tuple(x.shape)}"
                )
            lam = self.lam.view(layout.lam_shapes[x.ndim])
        if layout.dim is not None:
            return prox_tv1d(
                x,
                lam,  # type: ignore[arg-type]
                dim=layout.dim,
                mode=self.mode,
                solver=self.solver,
            )
        return prox_tv2d(
            x,
            lam,
            mode=self.mode,
            method=self.method,
            iterations=self.iterations,
            tol=self.tol,
            grad=self.grad,
        )

    def extra_repr(self) -> str:
        """Show the settings, and the current lambdas if this process can read them."""
        return (
            f"{self.channels}, mode={self.mode!r}, direction={self.direction!r}, "
            + "".join(f"{name}={value!r}, " for name, value in self._unusual_options())
            + f"learnable={self.learnable}, lam=[{self._shown_lam()}]"
        )

    def _unusual_options(self) -> list[tuple[str, object]]:
        """Return the solver options that differ from their defaults."""
        return [
            (name, value)
            for name, usual in (
                ("method", None),
                ("iterations", None),
                ("tol", None),
                ("grad", None),
                ("solver", "direct"),
            )
            if (value := getattr(self, name)) != usual
        ]

    def _shown_lam(self) -> str:
        lam = self.lam.detach()
        if lam.is_meta or type(lam) is not Tensor:  # no data, or distributed over processes
            return "..."
        values = [f"{float(f'{value:.4g}')}" for value in lam[: _MOST_SHOWN + 1].tolist()]
        return ", ".join([*values[:_MOST_SHOWN], *["..." for _ in values[_MOST_SHOWN:]]])


_MOST_SHOWN = 4


class _Layout:
    """Where the channels and rows of a direction are; ``dim`` None: both dims of an image."""

    def __init__(self, dims: int, dim: int | None, shapes: str) -> None:
        self.dims = dims
        self.dim = dim
        self.shapes = shapes
        # lam with as many dimensions as x: its gradient then needs no reshaping.
        unbatched = (-1, *[1] * (dims - 2))
        self.lam_shapes = {dims: (1, *unbatched), dims - 1: unbatched}


_IMAGES = "shape (N, C, H, W) or (C, H, W)"
_LAYOUTS = {
    "2d": _Layout(4, None, _IMAGES),
    "row": _Layout(4, -1, _IMAGES),
    "col": _Layout(4, -2, _IMAGES),
    "1d": _Layout(3, -1, "shape (N, C, L) or (C, L)"),
}


def _refuse_positions(channels: int, others: tuple[object, ...]) -> None:
    """Reject positional arguments other than channels, and say how to pass them."""
    if others:
        lam = others[0] if isinstance(others[0], numbers.Real) else 0.1
        raise TypeError(
            f"TVLayer: only channels may be positional, got {len(others) + 1} arguments; "
            f"pass the others by keyword, as in TVLayer({channels!r}, lam={lam!r})"
        )


def _read_channels(channels: int) -> int:
    try:
        count = int(operator.index(channels))
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"channels: must be an integer >= 1, got {channels!r}")
    return count


def _read_start(
    lam: float | Sequence[float] | Tensor, channels: int, learnable: bool, dtype: torch.dtype
) -> tuple[float, ...]:
    """Return the initial parameter or buffer of each channel, or raise if lam is invalid.

    As plain numbers: tensors may have no data where the layer is created.
    """
    lams = _read_numbers(lam)
    if len(lams) not in (1, channels):
        raise ValueError(
            f"lam: must be a number or of shape ({channels},), got shape ({len(lams)},)"
        )
    for value in lams:
        if learnable and not 0 < value < math.inf:
            raise ValueError(f"lam: must be > 0 and finite with learnable=True, got {value:g}")
        if not value >= 0:
            raise ValueError(f"lam: must be >= 0 and not NaN with learnable=False, got {value:g}")
    # Check the inverse: it may fit where a small lambda itself would not.
    start = [_inverse_softplus(value) if learnable else value for value in lams]
    for value, first in zip(lams, start, strict=True):
        if torch.finfo(dtype).max < first < math.inf:
            raise ValueError(f"lam: must fit in {dtype}, got {value:g}")
    return tuple(start * channels if len(start) == 1 else start)


def _read_numbers(lam: float | Sequence[float] | Tensor) -> list[float]:
    try:
        given = lam.tolist() if hasattr(lam, "tolist") else lam  # a tensor or an array
    except RuntimeError:
        raise TypeError(f"lam: must have values, got {lam!r}") from None
    values = given if isinstance(given, Sequence) else [given]
    if not all(isinstance(value, numbers.Real) for value in values):
        raise TypeError(f"lam: must be one number or one per channel, got {lam!r}")
    try:
        return [float(value) for value in values]
    except OverflowError:
        raise ValueError("lam: must fit in a float64, got a larger number") from None


def _inverse_softplus(lam: float) -> float:
    """Return r with softplus(r) = lam, without cancellation for small or large lam."""
    return lam + math.log(-math.expm1(-lam))


def _mixing_with(values: Tensor) -> AbstractContextManager[None]:
    """Allow operations of ``values``, which may be a DTensor, with a replicated plain tensor."""
    if not hasattr(values, "full_tensor"):
        return nullcontext()
    from torch.distributed.tensor.experimental import implicit_replication

    return implicit_replication()
