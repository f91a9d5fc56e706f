"""Derivatives of the 1D op, behind three doors.

The *ops' door*: the formulas are registered with the ops. ``torch.compile``,
``torch.export`` and second derivatives go there. The *functions' door*:
``autograd.Function`` classes with ``jvp``, taken while a ``torch.func`` transform or
a forward-AD level is active. Registered formulas raise under the former and give a
zero tangent under the latter; functions with ``jvp`` cannot be compiled. The *eager
door*: a plain ``autograd.Function``, for what is left: it takes less than half the time
of the others. All doors lead to the same formulas.

The solution is constant on segments, and its derivatives are linear maps that know
nothing but the partition: `pull_back` (gradient of y to gradients of x and lam) and
`push_forward` (directions of x and lam to the direction of y), adjoint to one
another. So each is the other's derivative, and the second derivative of the
solution. With data weights the maps also depend on x, y and weight; where nobody
differentiates further the core does them in one pass, else they are put together
from segment means (`push_forward` without lam), which autograd then follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tautline import _extension
from tautline._shapes import arithmetic_dtype, size_along, sum_to

try:
    _are_transforms_active = torch._C._are_functorch_transforms_active
    _get_transforms = torch._C._functorch.get_interpreter_stack
    _FUNCTIONALIZE = torch._C._functorch.TransformType.Functionalize
    _below_autograd = torch._C._AutoDispatchBelowAutograd
except AttributeError as error:  # not of torch's public API
    raise ImportError(
        f"this tautline does not know torch {torch.__version__}; a newer one may"
    ) from error


def _takes_eager_door() -> bool:
    """Tell whether nothing but autograd can ask for a derivative here."""
    return not (
        _are_transforms_active() or forward_ad._current_level >= 0 or torch.compiler.is_compiling()
    )


def takes_functions_door() -> bool:
    """Tell whether only the functions' door gives all derivatives here."""
    if not _are_transforms_active():
        return forward_ad._current_level >= 0
    return torch.compiler.is_compiling() or not _is_functionalized_alone()


def _is_functionalized_alone() -> bool:
    """Tell whether functionalize is the only transform: it knows ops, but no functions."""
    transforms = {transform.key() for transform in _get_transforms()}
    if _FUNCTIONALIZE not in transforms:
        return False
    if len(transforms) > 1 or forward_ad._current_level >= 0:
        raise NotImplementedError(
            "tautline: torch.func.functionalize cannot be mixed with other transforms"
        )
    return True


class Solved(NamedTuple):
    """What the derivatives need of a solved batch; x, y and weight only with data weights."""

    partition: Tensor
    x: Tensor | None
    y: Tensor | None
    weight: Tensor | None
    dim: int
    sharpen: bool
    n: int
    dtype: torch.dtype

    def without_tangents(self) -> Solved:
        """Give the same, blind to the innermost level of forward AD."""
        saved = (self.x, self.y, self.weight)
        x, y, weight = (None if t is None else forward_ad.unpack_dual(t).primal for t in saved)
        return self._replace(x=x, y=y, weight=weight)

    def unweighted(self) -> Solved:
        """Give the same segments without data weights, for smoothing: their means."""
        return self._replace(x=None, y=None, weight=None, sharpen=False)


@dataclass(slots=True)
class Sharing:
    """How the values of lam are shared out to the rows of x; no tuple, since torch opens those."""

    size: int  # along dim
    shared_dims: tuple[int, ...]  # of x, along which all rows have the same
    dtype: torch.dtype


def pull_back(
    solved: Solved, grad_y: Tensor, wants_x: bool, sharing: Sharing | None
) -> tuple[Tensor, Tensor]:
    """Take the gradient of y to those of x and, as it is shared, of lam; None: not wanted."""
    if takes_functions_door():
        return _PullBack.apply(grad_y, *_flat(solved), wants_x, sharing)  # type: ignore[no-any-return]
    return _call_backward(solved, grad_y, wants_x, sharing)


def _call_backward(
    solved: Solved, grad_y: Tensor, wants_x: bool, sharing: Sharing | None
) -> tuple[Tensor, Tensor]:
    lam = sharing or Sharing(1, (), solved.dtype)
    return _extension.backward(  # type: ignore[no-any-return]
        grad_y,
        solved.partition,
        solved.dim,
        solved.sharpen,
        solved.dtype,
        lam.size,
        lam.shared_dims,
        lam.dtype,
        wants_x,
        sharing is not None,
    )


def push_forward(
    solved: Solved, tangent_x: Tensor | None, tangent_lam: Tensor | None = None
) -> Tensor:
    """Take directions of x and lam to the direction of y; None is 0."""
    if takes_functions_door():
        return _PushForward.apply(tangent_x, tangent_lam, *_flat(solved))  # type: ignore[no-any-return]
    return _extension.jvp(  # type: ignore[no-any-return]
        solved.partition,
        None,
        None,
        None,
        tangent_x,
        tangent_lam,
        None,
        solved.dim,
        solved.sharpen,
        solved.n,
        solved.dtype,
    )


def _flat(solved: Solved) -> tuple[Any, ...]:
    """Give the parts of a batch without weights: functions see tensors only one by one."""
    return solved.partition, solved.dim, solved.sharpen, solved.n, solved.dtype


def _unflat(partition: Tensor, dim: int, sharpen: bool, n: int, dtype: torch.dtype) -> Solved:
    return Solved(partition, None, None, None, dim, sharpen, n, dtype)


class _WeightedMaps:
    """The two maps of a batch with data weights, put together from segment means."""

    def __init__(self, solved: Solved) -> None:
        assert solved.x is not None and solved.y is not None and solved.weight is not None
        self._segments = solved.unweighted()._replace(dtype=arithmetic_dtype(solved.dtype))
        self._dtype = solved.dtype
        self._sharpen = solved.sharpen
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
            _, grad_lam = pull_back(self._segments, means, False, sharing)
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
            total = total + push_forward(self._segments, None, self._computed(tangent_lam))
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
        return tensor.to(self._segments.dtype)

    def _means(self, values: Tensor) -> Tensor:
        return push_forward(self._segments, values)

    def _divide(self, means: Tensor) -> Tensor:
        return torch.where(self._has_samples, means / self._mean_weight, 0)

    def _flip(self, values: Tensor) -> Tensor:
        """Change the sign where the solution is mirrored: sharpening, where there is a sample."""
        return torch.where(self._is_present, -values, values) if self._sharpen else values


class _Argument(NamedTuple):
    """Shape, dtype and device of an argument, which its gradient has too."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, argument: Any) -> _Argument | None:
        """Give None for what is no tensor."""
        if not isinstance(argument, Tensor):
            return None
        return cls(argument.shape, argument.dtype, argument.device)

    def sum_to(self, gradient: Tensor) -> Tensor:
        """Give a gradient in x's shape as the argument's own, summed in float64."""
        return sum_to(gradient, self.shape, self.dtype)

    def sharing(self, dim: int, ndim: int) -> Sharing:
        """Tell how the argument is shared out to rows along ``dim`` of ``ndim`` dimensions."""
        added = ndim - len(self.shape)
        ones = [added + d for d, size in enumerate(self.shape) if size == 1]
        shared = tuple(d for d in (*range(added), *ones) if d != dim)
        return Sharing(size_along(self.shape, dim, ndim), shared, self.dtype)

    def place(self, gradient: Tensor) -> Tensor:
        """Give the gradient that came by `sharing` the argument's own dimensions and device."""
        if gradient.ndim != len(self.shape):
            gradient = gradient.reshape(self.shape)
        # A number on the CPU may stand beside an x on CUDA.
        return gradient if gradient.device == self.device else gradient.to(self.device)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Keep the partition, and what weights need beside it."""
    x, lam, weight, dim, sharpen = inputs[:5]
    y, partition = output
    ctx.problem = (dim, sharpen, x.shape[dim], x.dtype)
    ctx.lam = _Argument.of(lam)
    ctx.weight = _Argument.of(weight)
    saved = (partition,) if weight is None else (partition, x, y, weight)
    ctx.save_for_backward(*saved)
    return saved


def _solved(ctx: Any) -> Solved:
    saved = ctx.saved_tensors
    if len(saved) == 1:
        return Solved(saved[0], None, None, None, *ctx.problem)
    return Solved(*saved, *ctx.problem)


def _gradients(ctx: Any, grad_y: Tensor | None) -> tuple[Tensor | None, ...]:
    """Give the gradients of x, lam and weight, None for those that nobody needs."""
    if grad_y is None:
        return None, None, None
    wants_x, wants_lam, wants_weight = ctx.needs_input_grad[:3]
    solved = _solved(ctx)
    sharing = ctx.lam.sharing(solved.dim, grad_y.ndim) if wants_lam else None
    grad_lam: Tensor | None
    grad_weight: Tensor | None
    if solved.weight is None:
        grad_x, grad_lam = pull_back(solved, grad_y, wants_x, sharing)
        grad_weight = None
    elif torch.is_grad_enabled() or takes_functions_door():
        grad_x, grad_lam, grad_weight = _WeightedMaps(solved).pull_back(grad_y, sharing)
    else:
        lam = sharing or Sharing(1, (), solved.dtype)
        grad_x, grad_lam, grad_weight = _extension.weighted_backward(
            grad_y,
            *solved[:6],
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
        with _below_autograd():
            output = _op_for(lam)(*inputs, True)
        _save(ctx, inputs, output)
        return output[0]  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or not _takes_eager_door():
            return (*_gradients(ctx, grad_y), None, None)
        with _below_autograd():  # nobody records these calls
            return (*_gradients(ctx, grad_y), None, None)


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
        solved = _solved(ctx)
        if solved.weight is None:
            return push_forward(solved, tangent_x, tangent_lam), None
        # torch calls this with forward AD switched off, so that saved tensors' own
        # tangents do no harm; of nested transforms it would lose the outer ones'.
        with forward_ad._set_fwd_grad_enabled(True):
            maps = _WeightedMaps(solved.without_tangents())
            return maps.push_forward(tangent_x, tangent_lam, tangent_weight), None


class _PullBack(torch.autograd.Function):
    """`pull_back` with its own derivatives: linear in grad_y, with `push_forward` as adjoint."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        grad_y: Tensor,
        partition: Tensor,
        dim: int,
        sharpen: bool,
        n: int,
        dtype: torch.dtype,
        wants_x: bool,
        sharing: Sharing | None,
    ) -> tuple[Tensor, Tensor]:
        solved = _unflat(partition, dim, sharpen, n, dtype)
        return _call_backward(solved, grad_y, wants_x, sharing)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        grad_y, partition, *rest = inputs
        *ctx.rest, ctx.wants_x, ctx.sharing = rest
        ctx.grad_dtype = grad_y.dtype
        ctx.save_for_backward(partition)
        ctx.save_for_forward(partition)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        solved = _unflat(*ctx.saved_tensors, *ctx.rest)._replace(dtype=ctx.grad_dtype)
        wanted = (ctx.wants_x, ctx.sharing is not None)
        return (_adjoint_of_pull_back(solved, *wanted, *cotangents), *[None] * 7)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> tuple[Tensor, Tensor]:
        solved = _unflat(*ctx.saved_tensors, *ctx.rest)
        return pull_back(solved, tangent, ctx.wants_x, ctx.sharing)


class _PushForward(torch.autograd.Function):
    """`push_forward` with its own derivatives: linear, with `pull_back` as adjoint."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        tangent_x: Tensor | None,
        tangent_lam: Tensor | None,
        partition: Tensor,
        dim: int,
        sharpen: bool,
        n: int,
        dtype: torch.dtype,
    ) -> Tensor:
        if tangent_lam is not None:  # a number on the CPU may stand beside an x on CUDA
            tangent_lam = tangent_lam.to(partition.device)
        return _extension.jvp(  # type: ignore[no-any-return]
            partition, None, None, None, tangent_x, tangent_lam, None, dim, sharpen, n, dtype
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        tangent_x, tangent_lam, partition, *rest = inputs
        ctx.rest = rest
        ctx.tangents = (_Argument.of(tangent_x), _Argument.of(tangent_lam))
        ctx.save_for_backward(partition)
        ctx.save_for_forward(partition)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        solved = _unflat(*ctx.saved_tensors, *ctx.rest)
        wants = ctx.needs_input_grad[:2]
        return (*_adjoint_of_push_forward(solved, ctx.tangents, grad, *wants), *[None] * 5)

    @staticmethod
    def jvp(ctx: Any, tangent_x: Tensor | None, tangent_lam: Tensor | None, *_: None) -> Tensor:
        return push_forward(_unflat(*ctx.saved_tensors, *ctx.rest), tangent_x, tangent_lam)


def _adjoint_of_pull_back(
    solved: Solved,
    wants_x: bool,
    wants_lam: bool,
    for_grad_x: Tensor | None,
    for_grad_lam: Tensor | None,
) -> Tensor | None:
    tangent_x = for_grad_x if wants_x else None
    tangent_lam = for_grad_lam if wants_lam else None
    if tangent_x is None and tangent_lam is None:
        return None
    return push_forward(solved, tangent_x, tangent_lam)


def _adjoint_of_push_forward(
    solved: Solved,
    tangents: tuple[_Argument | None, _Argument | None],
    grad: Tensor,
    wants_x: bool,
    wants_lam: bool,
) -> tuple[Tensor | None, Tensor | None]:
    tangent_x, tangent_lam = tangents
    sharing = None
    if wants_lam and tangent_lam is not None:
        sharing = tangent_lam.sharing(solved.dim, grad.ndim)
    grad_x, grad_lam = pull_back(solved, grad, wants_x, sharing)
    return (
        grad_x.to(tangent_x.dtype) if wants_x and tangent_x is not None else None,
        tangent_lam.place(grad_lam) if wants_lam and tangent_lam is not None else None,
    )


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
    if not _takes_eager_door():
        y, _ = solve_with_partition(x, lam, weight, dim, sharpen, needs_gradient)
        return y
    if needs_gradient:
        return ProxTv1d.apply(x, lam, weight, dim, sharpen)  # type: ignore[no-any-return]
    with _below_autograd():
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
        return _by_function(Solve, x, lam, weight, dim, sharpen)  # type: ignore[no-any-return]
    # Functionalize hides from us whether a gradient will be asked for.
    keeps = keep_partition or _are_transforms_active()
    return _op_for(lam)(x, lam, weight, dim, sharpen, keeps)  # type: ignore[no-any-return]


def _by_function(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Call through the functions' door.

    The compiler would follow the function's forward and lose its jvp: a transform inside
    torch.compile runs as it is, and is an error where it must not (fullgraph=True).
    """
    if torch.compiler.is_compiling():
        torch._dynamo.graph_break("tautline: torch.func and forward AD cannot be compiled")
    return function.apply(*arguments)


def _save_solve(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    _save(ctx, inputs, output)
    ctx.keeps_partition = inputs[5]


def _backward_of_solve(ctx: Any, grad_y: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
    if not ctx.keeps_partition:
        raise RuntimeError("prox_tv1d: has gradients only with keep_partition=True")
    return (*_gradients(ctx, grad_y), None, None, None)


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    grad_y, partition, dim, sharpen, *_, wants_x, wants_lam = inputs
    ctx.solved = (dim, sharpen, grad_y.shape[dim], grad_y.dtype)
    ctx.wanted = (wants_x, wants_lam)
    ctx.save_for_backward(partition)


def _backward_of_backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
    solved = _unflat(*ctx.saved_tensors, *ctx.solved)
    return (_adjoint_of_pull_back(solved, *ctx.wanted, *cotangents), *[None] * 9)


def _save_jvp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    partition, _, _, weight, tangent_x, tangent_lam, _, *rest = inputs
    if weight is not None:
        raise NotImplementedError("prox_tv1d_jvp: has no derivative with weight")
    ctx.solved = rest
    ctx.tangents = (_Argument.of(tangent_x), _Argument.of(tangent_lam))
    ctx.save_for_backward(partition)


def _backward_of_jvp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    solved = _unflat(*ctx.saved_tensors, *ctx.solved)
    gradients = _adjoint_of_push_forward(solved, ctx.tangents, grad, *ctx.needs_input_grad[4:6])
    return (*[None] * 4, *gradients, *[None] * 5)


class _Reading(torch.autograd.Function):
    """The functions' door to an op without derivatives: a tangent of 0 would be wrong."""

    generate_vmap_rule = True

    @staticmethod
    def forward(op: Any, *arguments: Any) -> Tensor:
        return op(*arguments)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.op = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> NoReturn:
        _refuse_derivative(ctx.op)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> NoReturn:
        _refuse_derivative(ctx.op)


def read(op: Any, *arguments: Any) -> Tensor:
    """Call an op without derivatives, through the door that says so where one is asked for."""
    if takes_functions_door():
        return _by_function(_Reading, op, *arguments)  # type: ignore[no-any-return]
    return op(*arguments)  # type: ignore[no-any-return]


def _refuse_derivative(op: Any) -> NoReturn:
    name = op._schema.name.split("::")[1]
    raise NotImplementedError(f"{name}: has no gradient; give it tensors that are detached")


def _has_no_gradient(op: Any) -> Any:
    def backward(ctx: Any, *grads: Tensor) -> NoReturn:
        _refuse_derivative(op)

    return backward


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
    torch.library.register_autograd(_op, _has_no_gradient(_op))
