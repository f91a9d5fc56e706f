"""The derivatives of a solution: two linear maps, each the other's adjoint.

The solution is constant on segments, and its derivatives are linear maps that depend
only on the partition: `pull_back` (gradient of y to gradients of x and the lams) and
`push_forward` (directions of x and the lams to the direction of y), each the adjoint of
the other. So each gives the other's derivative, and the second derivative of the
solution. Both are the same in 1D and in 2D except for the ops they call, which a `Batch`
provides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tautstring._autograd_paths import takes_functional_path
from tautstring._shapes import size_along, sum_to


@dataclass(slots=True)
class Sharing:
    """How the values of lam are shared by the rows of x. Not a tuple: torch flattens those."""

    size: int  # along dim
    shared_dims: tuple[int, ...]  # dimensions of x along which all rows have the same values
    dtype: torch.dtype


class Argument(NamedTuple):
    """Shape, dtype and device of an argument and of its gradient."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, argument: Any) -> Argument | None:
        """Describe an argument; None if it is not a tensor."""
        if not isinstance(argument, Tensor):
            return None
        return cls(argument.shape, argument.dtype, argument.device)

    def sum_to(self, gradient: Tensor) -> Tensor:
        """Reduce a gradient in x's shape to the argument's own, summing in float64."""
        return sum_to(gradient, self.shape, self.dtype)

    def sharing(self, dim: int, ndim: int) -> Sharing:
        """Return how rows along ``dim`` of ``ndim`` dimensions share the argument."""
        added = ndim - len(self.shape)
        ones = [added + d for d, size in enumerate(self.shape) if size == 1]
        shared = tuple(d for d in (*range(added), *ones) if d != dim)
        return Sharing(size_along(self.shape, dim, ndim), shared, self.dtype)

    def place(self, gradient: Tensor) -> Tensor:
        """Bring a gradient computed with `sharing` to the shape and device of the argument."""
        if gradient.ndim != len(self.shape):
            gradient = gradient.reshape(self.shape)
        # lam may be a number on the CPU while x is on CUDA.
        return gradient if gradient.device == self.device else gradient.to(self.device)


@dataclass(frozen=True)
class Batch(ABC):
    """What describes a solved batch besides its saved tensors. Not a tuple either."""

    dtype: torch.dtype

    @property
    @abstractmethod
    def lam_dims(self) -> tuple[int, ...]:
        """Return for each lam the dimension of x along which it may have one value per edge."""

    @abstractmethod
    def call_backward(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        wants_x: bool,
        sharings: Sequence[Sharing | None],
    ) -> tuple[Tensor, ...]:
        """Call the op that maps the gradient of y to those of x and the lams."""

    @abstractmethod
    def call_jvp(
        self,
        saved: Sequence[Tensor],
        tangent_x: Tensor | None,
        tangent_lams: Sequence[Tensor | None],
    ) -> Tensor:
        """Call the op that maps directions of x and the lams to that of y."""

    def gradients(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        arguments: Sequence[Argument | None],
        wanted: Sequence[bool],
    ) -> list[Tensor | None]:
        """Return the gradients of x, the lams and the extra argument; None for those not wanted.

        ``arguments`` describes the lams and the extra argument.
        """
        wants_x, *wants_lams, _ = wanted
        return [
            *gradients_of_arguments(self, saved, grad_y, arguments[:-1], wants_x, wants_lams),
            None,
        ]

    def direction(
        self,
        saved: Sequence[Tensor],
        tangent_x: Tensor | None,
        tangent_lams: Sequence[Tensor | None],
        tangent_extra: Tensor | None,
    ) -> Tensor:
        """Return the direction of y; None stands for 0."""
        assert tangent_extra is None
        return push_forward(self, saved, tangent_x, tangent_lams)

    def sharings(
        self, lams: Sequence[Argument | None], ndim: int, wants_lams: Sequence[bool]
    ) -> list[Sharing | None]:
        """Return the sharing of each lam whose gradient is wanted, None for the others."""
        wanted = zip(lams, self.lam_dims, wants_lams, strict=True)
        return [lam.sharing(dim, ndim) if wants and lam else None for lam, dim, wants in wanted]


def pull_back(
    batch: Batch,
    saved: Sequence[Tensor],
    grad_y: Tensor,
    wants_x: bool,
    sharings: Sequence[Sharing | None],
) -> tuple[Tensor, ...]:
    """Map the gradient of y to those of x and the lams (in their shared form; None: not wanted)."""
    if takes_functional_path():
        return _PullBack.apply(batch, grad_y, wants_x, *sharings, *saved)  # type: ignore[no-any-return]
    return batch.call_backward(saved, grad_y, wants_x, sharings)


def push_forward(
    batch: Batch,
    saved: Sequence[Tensor],
    tangent_x: Tensor | None,
    tangent_lams: Sequence[Tensor | None],
) -> Tensor:
    """Map directions of x and the lams to the direction of y; None stands for 0."""
    if takes_functional_path():
        return _PushForward.apply(batch, tangent_x, *tangent_lams, *saved)  # type: ignore[no-any-return]
    return batch.call_jvp(saved, tangent_x, tangent_lams)


def gradients_of_arguments(
    batch: Batch,
    saved: Sequence[Tensor],
    grad_y: Tensor,
    lams: Sequence[Argument | None],
    wants_x: bool,
    wants_lams: Sequence[bool],
) -> list[Tensor | None]:
    """Return the gradients of x and the lams, None for those not wanted."""
    sharings = batch.sharings(lams, grad_y.ndim, wants_lams)
    grad_x, *grad_lams = pull_back(batch, saved, grad_y, wants_x, sharings)
    placed = zip(lams, grad_lams, wants_lams, strict=True)
    return [
        grad_x if wants_x else None,
        *[lam.place(grad) if wants and lam else None for lam, grad, wants in placed],
    ]


class _PullBack(torch.autograd.Function):
    """`pull_back` with its own derivatives: linear in grad_y, with `push_forward` as adjoint."""

    generate_vmap_rule = True

    @staticmethod
    def forward(batch: Batch, grad_y: Tensor, wants_x: bool, *rest: Any) -> tuple[Tensor, ...]:
        sharings, saved = _part(batch, rest)
        return batch.call_backward(saved, grad_y, wants_x, sharings)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.batch, grad_y, ctx.wants_x, *rest = inputs
        ctx.sharings, saved = _part(ctx.batch, rest)
        ctx.grad_dtype = grad_y.dtype
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        batch = replace(ctx.batch, dtype=ctx.grad_dtype)
        wanted = (ctx.wants_x, *[sharing is not None for sharing in ctx.sharings])
        grad = adjoint_of_pull_back(batch, ctx.saved_tensors, wanted, cotangents)
        return None, grad, None, *[None] * (len(ctx.sharings) + len(ctx.saved_tensors))

    @staticmethod
    def jvp(ctx: Any, _: None, tangent: Tensor, *rest: None) -> tuple[Tensor, ...]:
        return pull_back(ctx.batch, ctx.saved_tensors, tangent, ctx.wants_x, ctx.sharings)


class _PushForward(torch.autograd.Function):
    """`push_forward` with its own derivatives: linear, with `pull_back` as adjoint."""

    generate_vmap_rule = True

    @staticmethod
    def forward(batch: Batch, tangent_x: Tensor | None, *rest: Any) -> Tensor:
        tangent_lams, saved = _part(batch, rest)
        # lam may be a number on the CPU while x is on CUDA.
        device = saved[0].device
        on_device = [None if lam is None else lam.to(device) for lam in tangent_lams]
        return batch.call_jvp(saved, tangent_x, on_device)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.batch, tangent_x, *rest = inputs
        tangent_lams, saved = _part(ctx.batch, rest)
        ctx.tangents = [Argument.of(tangent) for tangent in (tangent_x, *tangent_lams)]
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved, count = ctx.saved_tensors, len(ctx.tangents)
        wanted = ctx.needs_input_grad[1 : 1 + count]
        gradients = adjoint_of_push_forward(ctx.batch, saved, ctx.tangents, grad, wanted)
        return None, *gradients, *[None] * len(saved)

    @staticmethod
    def jvp(ctx: Any, _: None, tangent_x: Tensor | None, *rest: Any) -> Tensor:
        tangent_lams, _saved = _part(ctx.batch, rest)
        return push_forward(ctx.batch, ctx.saved_tensors, tangent_x, tangent_lams)


def _part(batch: Batch, rest: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Split the arguments into those of the lams and the saved tensors."""
    count = len(batch.lam_dims)
    return rest[:count], rest[count:]


def adjoint_of_pull_back(
    batch: Batch,
    saved: Sequence[Tensor],
    wanted: Sequence[bool],
    cotangents: Sequence[Tensor | None],
) -> Tensor | None:
    """Map directions of the gradients of x and the lams to that of the gradient of y."""
    pairs = zip(wanted, cotangents, strict=True)
    tangents = [tangent if wants else None for wants, tangent in pairs]
    if all(tangent is None for tangent in tangents):
        return None
    return push_forward(batch, saved, tangents[0], tangents[1:])


def adjoint_of_push_forward(
    batch: Batch,
    saved: Sequence[Tensor],
    tangents: Sequence[Argument | None],
    grad: Tensor,
    wanted: Sequence[bool],
) -> list[Tensor | None]:
    """Map the gradient of y's direction to those of the directions of x and the lams."""
    tangent_x, *tangent_lams = tangents
    gradients = gradients_of_arguments(batch, saved, grad, tangent_lams, wanted[0], wanted[1:])
    if gradients[0] is not None and tangent_x is not None:
        gradients[0] = gradients[0].to(tangent_x.dtype)
    return gradients
