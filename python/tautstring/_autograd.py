"""Derivatives of the 1D op, behind the three doors of `tautstring._doors`.

Without data weights they are the maps of `tautstring._maps`. With data weights the maps also
depend on x, y and weight; where nobody differentiates further the core does them in one
pass, else they are put together from segment means (`push_forward` without lam), which
autograd then follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tautstring import _extension
from tautstring._doors import (
    are_transforms_active,
    below_autograd,
    by_function,
    register_reading,
    takes_eager_door,
    takes_functions_door,
)
from tautstring._maps import (
    Argument,
    Batch,
    Sharing,
    adjoint_of_pull_back,
    adjoint_of_push_forward,
    gradients_of_arguments,
    pull_back,
    push_forward,
)
from tautstring._shapes import arithmetic_dtype
from tautstring._tensors import raise_by_kind


@dataclass(frozen=True)
class Rows(Batch):
    """A batch of rows of n samples along ``dim``; of it the partition is saved."""

    dim: int
    sharpen: bool
    n: int

    @property
    def lam_dims(self) -> tuple[int, ...]:
        """Give the dimension of the rows, for the one lam."""
        return (self.dim,)

    def call_backward(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        wants_x: bool,
        sharings: Sequence[Sharing | None],
    ) -> tuple[Tensor, ...]:
        """Call the op that takes the gradient of y to those of x and lam."""
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
        """Call the op that takes directions of x and lam to that of y."""
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


class Solved(NamedTuple):
    """What the derivatives need of a solved batch; x, y and weight only with data weights."""

    rows: Rows
    partition: Tensor
    x: Tensor | None = None
    y: Tensor | None = None
    weight: Tensor | None = None

    def without_tangents(self) -> Solved:
        """Give the same, blind to the innermost level of forward AD."""
        saved = (self.x, self.y, self.weight)
        x, y, weight = (None if t is None else forward_ad.unpack_dual(t).primal for t in saved)
        return self._replace(x=x, y=y, weight=weight)


class _WeightedMaps:
    """The two maps of a batch with data weights, put together from segment means."""

    def __init__(self, solved: Solved) -> None:
        assert solved.x is not None and solved.y is not None and solved.weight is not None
        self._dtype = solved.rows.dtype
        self._sharpen = solved.rows.sharpen
        # The same segments without data weights, for smoothing: their means.
        self._arithmetic = arithmetic_dtype(self._dtype)
        self._segments = replace(solved.rows, dtype=self._arithmetic, sharpen=False)
        self._saved = (solved.partition,)
        x, y = self._computed(solved.x), self._computed(solved.y)
        self._weight = self._computed(solved.weight).broadcast_to(x.shape)
        self._is_present = self._weight != 0
        total = self._means(self._weight)
        self._has_samples = total > 0
        # x - prox(x), 0 where a missing sample is not even a number, nor a row without any.
        is_known = torch.isfinite(x) & self._has_samples
        residual = torch.where(is_known, x, 0) - torch.where(is_known, y, 0)
        self._residual = self._flip(residual)
        self._mean_weight = torch.where(self._has_samples, total, 1)
        # Exactly 1 where a sample is its own segment: what comes through lam 0 keeps its bits.
        self._share = self._weight / self._mean_weight

    def pull_back(
        self, grad_y: Tensor, sharing: Sharing | None
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Take the gradient of y to those of x, lam (as it is shared) and weight (x's shape)."""
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
        """Take directions of x, lam and weight to the direction of y; None is 0."""
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
        """Change the sign where the solution is mirrored: sharpening, where there is a sample."""
        return torch.where(self._is_present, -values, values) if self._sharpen else values


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Keep the partition, and what weights need beside it."""
    x, lam, weight, dim, sharpen = inputs[:5]
    y, partition = output
    ctx.rows = Rows(x.dtype, dim, sharpen, x.shape[dim])
    ctx.lam = Argument.of(lam)
    ctx.weight = Argument.of(weight)
    saved = (partition,) if weight is None else (partition, x, y, weight)
    ctx.save_for_backward(*saved)
    return saved


def _gradients(ctx: Any, grad_y: Tensor | None) -> tuple[Tensor | None, ...]:
    """Give the gradients of x, lam and weight, None for those that nobody needs."""
    if grad_y is None:
        return None, None, None
    wants_x, wants_lam, wants_weight = ctx.needs_input_grad[:3]
    solved = Solved(ctx.rows, *ctx.saved_tensors)
    if solved.weight is None:
        saved = (solved.partition,)
        return *gradients_of_arguments(
            solved.rows, saved, grad_y, [ctx.lam], wants_x, [wants_lam]
        ), None
    (sharing,) = solved.rows.sharings([ctx.lam], grad_y.ndim, [wants_lam])
    grad_lam: Tensor | None
    if torch.is_grad_enabled() or takes_functions_door():
        grad_x, grad_lam, grad_weight = _WeightedMaps(solved).pull_back(grad_y, sharing)
    else:
        lam = sharing or Sharing(1, (), solved.rows.dtype)
        grad_x, grad_lam, grad_weight = _extension.weighted_backward(
            grad_y,
            *solved[1:],
            solved.rows.dim,
            solved.rows.sharpen,
            lam.size,
            lam.shared_dims,
            lam.dtype,
            wants_x,
            wants_lam,
            wants_weight,
        )
    return (
        grad_x if wants_x else None,
        ctx.lam.place(grad_lam) if wants_lam else None,
        ctx.weight.sum_to(grad_weight) if wants_weight else None,
    )


class ProxTv1d(torch.autograd.Function):
    """The eager door to the op: (x, lam, weight, dim, sharpen) to y, whose grad_fn has its name."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, lam: Tensor | float, weight: Tensor | None, dim: int, sharpen: bool
    ) -> Tensor:
        inputs = (x, lam, weight, dim, sharpen)
        with below_autograd():
            output = _op_for(lam)(*inputs, True)
        _save(ctx, inputs, output)
        return output[0]  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or not takes_eager_door():
            return (*_gradients(ctx, grad_y), None, None)
        try:
            with below_autograd():  # nobody records these calls
                return (*_gradients(ctx, grad_y), None, None)
        except RuntimeError as error:
            raise_by_kind(error)


class Solve(torch.autograd.Function):
    """The functions' door to the op: (x, lam, weight, dim, sharpen) to (y, partition)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, lam: Tensor | float, weight: Tensor | None, dim: int, sharpen: bool
    ) -> tuple[Tensor, Tensor]:
        """Solve, with the partition."""
        return _op_for(lam)(x, lam, weight, dim, sharpen, True)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """Keep what the derivatives need."""
        ctx.save_for_forward(*_save(ctx, inputs, output))
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        """Give the gradients of x, lam and weight."""
        return (*_gradients(ctx, grad_y), None, None)

    @staticmethod
    def jvp(
        ctx: Any,
        tangent_x: Tensor | None,
        tangent_lam: Tensor | None,
        tangent_weight: Tensor | None,
        *_: None,
    ) -> tuple[Tensor, None]:
        """Give the direction of y."""
        solved = Solved(ctx.rows, *ctx.saved_tensors)
        if solved.weight is None:
            return push_forward(solved.rows, (solved.partition,), tangent_x, [tangent_lam]), None
        # torch calls this with forward AD switched off, so that saved tensors' own
        # tangents do no harm; of nested transforms it would lose the outer ones'.
        with forward_ad._set_fwd_grad_enabled(True):
            maps = _WeightedMaps(solved.without_tangents())
            return maps.push_forward(tangent_x, tangent_lam, tangent_weight), None


def _op_for(lam: Tensor | float) -> Any:
    return _extension.solve if isinstance(lam, Tensor) else _extension.solve_number


def solve(
    x: Tensor,
    lam: Tensor | float,
    weight: Tensor | None,
    dim: int,
    sharpen: bool,
    needs_gradient: bool,
) -> Tensor:
    """Solve through the door that gives all derivatives which can be asked for here."""
    if not takes_eager_door():
        y, _ = solve_with_partition(x, lam, weight, dim, sharpen, needs_gradient)
        return y
    if needs_gradient:
        return ProxTv1d.apply(x, lam, weight, dim, sharpen)  # type: ignore[no-any-return]
    with below_autograd():
        return _op_for(lam)(x, lam, weight, dim, sharpen, False)[0]  # type: ignore[no-any-return]


def solve_with_partition(
    x: Tensor,
    lam: Tensor | float,
    weight: Tensor | None,
    dim: int,
    sharpen: bool,
    keep_partition: bool = True,
) -> tuple[Tensor, Tensor]:
    """Solve through one of the doors that give the partition as well."""
    if takes_functions_door():
        return by_function(Solve, x, lam, weight, dim, sharpen)  # type: ignore[no-any-return]
    # Functionalize hides from us whether a gradient will be asked for.
    keeps = keep_partition or are_transforms_active()
    return _op_for(lam)(x, lam, weight, dim, sharpen, keeps)  # type: ignore[no-any-return]


def _save_solve(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    _save(ctx, inputs, output)
    ctx.keeps_partition = inputs[5]


def _backward_of_solve(ctx: Any, grad_y: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
    if not ctx.keeps_partition:
        raise RuntimeError("prox_tv1d: has gradients only with keep_partition=True")
    return (*_gradients(ctx, grad_y), None, None, None)


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
        raise NotImplementedError("prox_tv1d_jvp: has no derivative with weight")
    ctx.rows = Rows(dtype, dim, sharpen, n)
    ctx.tangents = (Argument.of(tangent_x), Argument.of(tangent_lam))
    ctx.save_for_backward(partition)


def _backward_of_jvp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad[4:6]
    gradients = adjoint_of_push_forward(ctx.rows, ctx.saved_tensors, ctx.tangents, grad, wanted)
    return (*[None] * 4, *gradients, *[None] * 5)


for _op in (_extension.solve, _extension.solve_number):
    torch.library.register_autograd(_op, _backward_of_solve, setup_context=_save_solve)
torch.library.register_autograd(
    _extension.backward, _backward_of_backward, setup_context=_save_backward
)
torch.library.register_autograd(_extension.jvp, _backward_of_jvp, setup_context=_save_jvp)
for _op in (
    _extension.weighted_backward,  # with weights, second derivatives go another way
    _extension.certify,
    _extension.certify_number,
    _extension.find_lam_max,
):
    register_reading(_op)
