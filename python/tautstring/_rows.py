"""The ops that solve rows (`tautstring._solve`), directly or by Newton's method.

Both return the partition of the solution, so their derivatives are the same: without data
weights, the maps of `tautstring._derivatives`. With data weights, the maps also depend on x, y
and weight. If no further derivative is needed, the core computes them in one go; otherwise they
are composed of segment means (`push_forward` without lam), which autograd can differentiate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tautstring import _extension
from tautstring._autograd_paths import register_reading, see_forward_ad, takes_functional_path
from tautstring._derivatives import (
    Argument,
    Batch,
    Sharing,
    adjoint_of_pull_back,
    adjoint_of_push_forward,
    pull_back,
    push_forward,
)
from tautstring._shapes import arithmetic_dtype
from tautstring._solve import EagerFunction, Solver, register


@dataclass(frozen=True)
class Rows(Batch):
    """A batch of rows of n samples along ``dim``; the partition is saved."""

    dim: int
    sharpen: bool
    n: int

    @property
    def lam_dims(self) -> tuple[int, ...]:
        """Return the dimension of the rows, for the only lam."""
        return (self.dim,)

    def call_backward(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        wants_x: bool,
        sharings: Sequence[Sharing | None],
    ) -> tuple[Tensor, ...]:
        """Call the op that maps the gradient of y to those of x and lam."""
        lam = sharings[0] or Sharing(1, (), self.dtype)
        return _extension.backward(  # type: ignore[no-any-return]
            grad_y,
            *saved,
            self.dim,
            self.sharpen,
            self.dtype,
            lam.size,
            lam.shared_dims,
            lam.dtype,
            wants_x,
            sharings[0] is not None,
        )

    def call_jvp(
        self,
        saved: Sequence[Tensor],
        tangent_x: Tensor | None,
        tangent_lams: Sequence[Tensor | None],
    ) -> Tensor:
        """Call the op that maps directions of x and lam to that of y."""
        return _extension.jvp(  # type: ignore[no-any-return]
            *saved,
            None,
            None,
            None,
            tangent_x,
            *tangent_lams,
            None,
            self.dim,
            self.sharpen,
            self.n,
            self.dtype,
        )


@dataclass(frozen=True)
class WeightedRows(Rows):
    """Rows with data weights; the partition, x, y and weight are saved."""

    def gradients(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        arguments: Sequence[Argument | None],
        wanted: Sequence[bool],
    ) -> list[Tensor | None]:
        """Return the gradients of x, lam and weight, None for those not wanted."""
        wants_x, wants_lam, wants_weight = wanted
        lam, weight = arguments
        (sharing,) = self.sharings([lam], grad_y.ndim, [wants_lam])
        grad_lam: Tensor | None
        if torch.is_grad_enabled() or takes_functional_path():
            maps = _WeightedMaps(self, *saved)
            grad_x, grad_lam, grad_weight = maps.pull_back(grad_y, sharing)
        else:
            shared = sharing or Sharing(1, (), self.dtype)
            grad_x, grad_lam, grad_weight = _extension.weighted_backward(
                grad_y,
                *saved,
                self.dim,
                self.sharpen,
                shared.size,
                shared.shared_dims,
                shared.dtype,
                wants_x,
                wants_lam,
                wants_weight,
            )
        return [
            grad_x if wants_x else None,
            lam.place(grad_lam) if wants_lam and lam and grad_lam is not None else None,
            weight.sum_to(grad_weight) if wants_weight and weight else None,
        ]

    def direction(
        self,
        saved: Sequence[Tensor],
        tangent_x: Tensor | None,
        tangent_lams: Sequence[Tensor | None],
        tangent_extra: Tensor | None,
    ) -> Tensor:
        """Return the direction of y; None stands for 0."""
        # torch calls this with forward AD disabled, so that the tangents of saved tensors are not
        # seen; in nested transforms that would lose the outer ones' tangents.
        with see_forward_ad():
            partition, *others = saved
            blind = [forward_ad.unpack_dual(tensor).primal for tensor in others]
            maps = _WeightedMaps(self, partition, *blind)
            (tangent_lam,) = tangent_lams
            return maps.push_forward(tangent_x, tangent_lam, tangent_extra)


class _WeightedMaps:
    """The two maps of a batch with data weights, composed of segment means."""

    def __init__(
        self, rows: WeightedRows, partition: Tensor, x: Tensor, y: Tensor, weight: Tensor
    ) -> None:
        self._dtype = rows.dtype
        self._sharpen = rows.sharpen
        # The same segments without data weights and without sharpening, to compute their means.
        self._arithmetic = arithmetic_dtype(self._dtype)
        self._segments = Rows(self._arithmetic, rows.dim, False, rows.n)
        self._saved = (partition,)
        x, y = self._computed(x), self._computed(y)
        self._weight = self._computed(weight).broadcast_to(x.shape)
        self._is_present = self._weight != 0
        total = self._means(self._weight)
        self._has_samples = total > 0
        # x - prox(x); 0 where a missing sample is not finite, and in rows that are all missing.
        is_known = torch.isfinite(x) & self._has_samples
        residual = torch.where(is_known, x, 0) - torch.where(is_known, y, 0)
        self._residual = self._flip(residual)
        self._mean_weight = torch.where(self._has_samples, total, 1)
        # Exactly 1 where a sample is its own segment, so that lam 0 preserves bits.
        self._share = self._weight / self._mean_weight

    def pull_back(
        self, grad_y: Tensor, sharing: Sharing | None
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Map the gradient of y to those of x, lam (in shared form) and weight (in x's shape)."""
        grad_y = self._computed(grad_y)
        means = torch.where(self._has_samples, self._means(self._flip(grad_y)), 0)
        grad_x = self._share * means
        if self._sharpen:
            grad_x = grad_x + torch.where(self._is_present, 2 * grad_y, 0)
        means = self._divide(means)
        grad_lam = None
        if sharing is not None:
            _, grad_lam = pull_back(self._segments, self._saved, means, False, [sharing])
        return grad_x.to(self._dtype), grad_lam, means * self._residual

    def push_forward(
        self,
        tangent_x: Tensor | None,
        tangent_lam: Tensor | None,
        tangent_weight: Tensor | None,
    ) -> Tensor:
        """Map directions of x, lam and weight to the direction of y; None stands for 0."""
        total = torch.zeros_like(self._weight)
        if tangent_lam is not None:
            tangent_lam = self._computed(tangent_lam)
            total = total + push_forward(self._segments, self._saved, None, [tangent_lam])
        if tangent_weight is not None:
            total = total + self._means(self._computed(tangent_weight) * self._residual)
        smoothed = self._divide(total)
        if tangent_x is not None:
            tangent_x = self._computed(tangent_x)
            shares = torch.where(self._is_present, self._share * tangent_x, 0)
            smoothed = smoothed + self._means(shares)
        tangent_y = self._flip(smoothed)
        if self._sharpen and tangent_x is not None:
            tangent_y = tangent_y + torch.where(self._is_present, 2 * tangent_x, 0)
        return tangent_y.to(self._dtype)

    def _computed(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._arithmetic)

    def _means(self, values: Tensor) -> Tensor:
        return push_forward(self._segments, self._saved, values, [None])

    def _divide(self, means: Tensor) -> Tensor:
        return torch.where(self._has_samples, means / self._mean_weight, 0)

    def _flip(self, values: Tensor) -> Tensor:
        """Change the sign where sharpening mirrors the solution: at samples that are present."""
        return torch.where(self._is_present, -values, values) if self._sharpen else values


class ProxTv1d(EagerFunction):
    """The eager path to the direct solver."""


class ProxTv1dNewton(EagerFunction):
    """The eager path to Newton's method."""


class NewtonOptions(NamedTuple):
    """The arguments of the Newton op besides tensors."""

    dim: int
    sharpen: bool
    iterations: int
    tol: float
    halving: bool
    polish: bool


def _make_batch(
    inputs: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Rows, tuple[Tensor, ...]]:
    x, _, _, dim, sharpen, *_ = inputs
    _, partition, *_ = results
    return Rows(x.dtype, dim, sharpen, x.shape[dim]), (partition,)


def _make_batch_with_weight(
    inputs: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Rows, tuple[Tensor, ...]]:
    x, _, weight, dim, sharpen, *_ = inputs
    if weight is None:
        return _make_batch(inputs, results)
    y, partition = results
    return WeightedRows(x.dtype, dim, sharpen, x.shape[dim]), (partition, x, y, weight)


DIRECT = Solver(
    name="prox_tv1d",
    op=_extension.solve,
    op_of_numbers=_extension.solve_number,
    eager_function=ProxTv1d,
    lams=1,
    make_batch=_make_batch_with_weight,
)
NEWTON = Solver(
    name="prox_tv1d",
    op=_extension.solve_newton,
    op_of_numbers=_extension.solve_newton_number,
    eager_function=ProxTv1dNewton,
    lams=1,
    make_batch=_make_batch,
    reported=slice(2, 6),  # done, gap, converged, dual
    takes_start=True,
)


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    grad_y, partition, dim, sharpen, *_, wants_x, wants_lam = inputs
    ctx.rows = Rows(grad_y.dtype, dim, sharpen, grad_y.shape[dim])
    ctx.wanted = (wants_x, wants_lam)
    ctx.save_for_backward(partition)


def _backward_of_backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
    grad = adjoint_of_pull_back(ctx.rows, ctx.saved_tensors, ctx.wanted, cotangents)
    return (grad, *[None] * 9)


def _save_jvp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    partition, _, _, weight, tangent_x, tangent_lam, _, dim, sharpen, n, dtype = inputs
    if weight is not None:
        raise NotImplementedError("prox_tv1d_jvp: not differentiable with weight")
    ctx.rows = Rows(dtype, dim, sharpen, n)
    ctx.tangents = (Argument.of(tangent_x), Argument.of(tangent_lam))
    ctx.save_for_backward(partition)


def _backward_of_jvp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad[4:6]
    gradients = adjoint_of_push_forward(ctx.rows, ctx.saved_tensors, ctx.tangents, grad, wanted)
    return (*[None] * 4, *gradients, *[None] * 5)


register(DIRECT)
register(NEWTON)
torch.library.register_autograd(
    _extension.backward, _backward_of_backward, setup_context=_save_backward
)
torch.library.register_autograd(_extension.jvp, _backward_of_jvp, setup_context=_save_jvp)
for _op in (
    _extension.weighted_backward,  # with weights, second derivatives use `_WeightedMaps`
    _extension.certify,
    _extension.certify_number,
    _extension.find_lam_max,
    _extension.find_path1d,
):
    register_reading(_op)
