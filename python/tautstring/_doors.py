"""The three doors through which derivatives are asked for, and which of them is open here.

The *ops' door*: the formulas are registered with the ops. ``torch.compile``,
``torch.export`` and second derivatives go there. The *functions' door*:
``autograd.Function`` classes with ``jvp``, taken while a ``torch.func`` transform or
a forward-AD level is active. Registered formulas raise under the former and give a
zero tangent under the latter; functions with ``jvp`` cannot be compiled. The *eager
door*: a plain ``autograd.Function``, for what is left: it takes less than half the time
of the others. All doors lead to the same formulas.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad

try:
    are_transforms_active = torch._C._are_functorch_transforms_active
    below_autograd = torch._C._AutoDispatchBelowAutograd
    _get_transforms = torch._C._functorch.get_interpreter_stack
    _FUNCTIONALIZE = torch._C._functorch.TransformType.Functionalize
except AttributeError as error:  # not of torch's public API
    raise ImportError(
        f"this tautstring does not know torch {torch.__version__}; a newer one may"
    ) from error


def takes_eager_door() -> bool:
    """Tell whether nothing but autograd can ask for a derivative here."""
    return not (
        are_transforms_active() or forward_ad._current_level >= 0 or torch.compiler.is_compiling()
    )


def takes_functions_door() -> bool:
    """Tell whether only the functions' door gives all derivatives here."""
    if not are_transforms_active():
        return forward_ad._current_level >= 0
    return torch.compiler.is_compiling() or not _is_functionalized_alone()


def _is_functionalized_alone() -> bool:
    """Tell whether functionalize is the only transform: it knows ops, but no functions."""
    transforms = {transform.key() for transform in _get_transforms()}
    if _FUNCTIONALIZE not in transforms:
        return False
    if len(transforms) > 1 or forward_ad._current_level >= 0:
        raise NotImplementedError(
            "tautstring: torch.func.functionalize cannot be mixed with other transforms"
        )
    return True


def by_function(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Call through the functions' door.

    The compiler would follow the function's forward and lose its jvp: a transform inside
    torch.compile runs as it is, and is an error where it must not (fullgraph=True).
    """
    if torch.compiler.is_compiling():
        torch._dynamo.graph_break("tautstring: torch.func and forward AD cannot be compiled")
    return function.apply(*arguments)


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
        return by_function(_Reading, op, *arguments)  # type: ignore[no-any-return]
    return op(*arguments)  # type: ignore[no-any-return]


def _refuse_derivative(op: Any) -> NoReturn:
    name = op._schema.name.split("::")[1]
    raise NotImplementedError(f"{name}: has no gradient; give it tensors that are detached")


def register_reading(op: Any) -> None:
    """Make the ops' door to an op without derivatives say so."""

    def backward(ctx: Any, *grads: Tensor) -> NoReturn:
        _refuse_derivative(op)

    torch.library.register_autograd(op, backward)
