# Derivatives: first and second, backward and forward, against differences and
# against one another; what is saved for them; their dtypes and shapes.
import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch_support import DTYPES, assert_close

import tautstring
import tautstring.numpy as tn
from tautstring import _extension

MODES = ["smooth", "sharp"]


def check_all_derivatives(function, arguments):
    """First and second derivatives in all modes, by differences in float64."""
    assert gradcheck(function, arguments, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, arguments, check_fwd_over_rev=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lam_shape", [(), (1,), (2, 1), (6,), (2, 6)])
def test_derivatives_of_x_and_lam(make, make_positive, mode, lam_shape):
    x = make(2, 7, requires_grad=True)
    lam = make_positive(*lam_shape, requires_grad=True)
    check_all_derivatives(lambda x, lam: tautstring.prox_tv1d(x, lam, mode=mode), (x, lam))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weight_shape", [(), (2, 1), (7,), (2, 7)])
def test_derivatives_with_data_weights(make, make_positive, mode, weight_shape):
    arguments = (
        make(2, 7, requires_grad=True),
        make_positive(1, requires_grad=True),
        make_positive(*weight_shape, requires_grad=True),
    )
    check_all_derivatives(
        lambda x, lam, weight: tautstring.prox_tv1d(x, lam, weight=weight, mode=mode), arguments
    )


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_derivatives_along_any_dim_of_any_strides(make, make_positive, dim):
    x = make(3, 4, 2).permute(2, 0, 1).requires_grad_()
    lam = make_positive(1, requires_grad=True)
    check_all_derivatives(lambda x, lam: tautstring.prox_tv1d(x, lam, dim=dim), (x, lam))


def test_derivatives_with_a_number_as_lam(make):
    x = make(2, 7, requires_grad=True)
    check_all_derivatives(lambda x: tautstring.prox_tv1d(x, 0.3), (x,))


def test_derivatives_of_lam_and_weight_alone(make, make_positive):
    x = make(2, 7)
    lam, weight = make_positive(6, requires_grad=True), make_positive(7, requires_grad=True)
    check_all_derivatives(lambda lam: tautstring.prox_tv1d(x, lam), (lam,))
    check_all_derivatives(lambda weight: tautstring.prox_tv1d(x, 0.3, weight=weight), (weight,))


@pytest.mark.parametrize("shape", [(), (1,), (3, 1)])
def test_derivatives_of_rows_of_one_sample(make, make_positive, shape):
    x, lam = make(*shape, requires_grad=True), make_positive(requires_grad=True)
    check_all_derivatives(lambda x, lam: tautstring.prox_tv1d(x, lam), (x, lam))


def every_hessian(function, arguments):
    func, numbers = torch.func, tuple(range(len(arguments)))
    for outer in (func.jacfwd, func.jacrev):
        for inner in (func.jacfwd, func.jacrev):
            yield outer(inner(function, argnums=numbers), argnums=numbers)(*arguments)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_hessians_by_all_orders_of_transforms_agree(make, make_positive, mode, weighted):
    arguments = (make(2, 5), make_positive(1), *([make_positive(2, 5)] if weighted else []))

    def loss(x, lam, weight=None):
        return tautstring.prox_tv1d(x.square(), lam, weight=weight, mode=mode).sin().sum()

    expected = torch.autograd.functional.hessian(loss, arguments)
    assert expected[0][1].abs().max() > 0
    for hessian in every_hessian(loss, arguments):
        torch.testing.assert_close(hessian, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_tangents_are_not_zero(make, make_positive, weighted):
    x, lam = make(3, 8), make_positive(3, 1)
    weight = make_positive(8) if weighted else None
    tangents = torch.ones_like(x), torch.full_like(lam, 0.1)

    def solve(x, lam):
        return tautstring.prox_tv1d(x, lam, weight=weight)

    for primals in ((x, lam), (x.clone().requires_grad_(), lam)):
        _, by_func = torch.func.jvp(solve, primals, tangents)
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
            by_level = forward_ad.unpack_dual(solve(*duals)).tangent
        # x moves all values by 1, lam those of some segments by less.
        assert torch.equal(by_func, by_level)
        assert (by_func != 0).all()
        assert not torch.allclose(by_func, torch.ones_like(by_func))


def test_vmap_over_any_argument_is_the_loop(make, make_positive):
    x, lam, weight = make(4, 3, 6), make_positive(4, 5), make_positive(6, 4)

    def solve(x, lam, weight):
        return tautstring.prox_tv1d(x, lam, weight=weight, mode="sharp")

    for dims in [(0, 0, 1), (0, None, None), (None, 0, None), (None, None, 1), (1, None, None)]:
        arguments = [
            value if dim is not None else value.select(other, 0)
            for value, dim, other in zip((x, lam, weight), dims, (0, 0, 1), strict=True)
        ]
        if dims[0] == 1:
            arguments[0] = x.transpose(0, 1)
        result = torch.vmap(solve, in_dims=dims)(*arguments)
        for i in range(4):
            one = [
                value if dim is None else value.select(dim, i)
                for value, dim in zip(arguments, dims, strict=True)
            ]
            assert torch.equal(result[i], solve(*one))


def test_per_sample_gradients_by_vmap_of_grad(make, make_positive):
    x, lam = make(5, 9), make_positive(5)

    def loss(x, lam):
        return tautstring.prox_tv1d(x, lam).square().sum()

    grads = torch.vmap(torch.func.grad(loss, argnums=(0, 1)))(x, lam)
    for i in range(5):
        expected = torch.func.grad(loss, argnums=(0, 1))(x[i], lam[i])
        torch.testing.assert_close([g[i] for g in grads], list(expected), rtol=1e-12, atol=1e-12)


def test_vmap_of_tensors_without_dimensions(make):
    x = make(4)
    result = torch.vmap(lambda value: tautstring.prox_tv1d(value, 0.3))(x)
    assert torch.equal(result, x)
    grads = torch.vmap(torch.func.grad(lambda value: tautstring.prox_tv1d(value, 0.3)))(x)
    assert torch.equal(grads, torch.ones_like(x))


def test_functionalize_alone_gives_the_same(make, make_positive):
    x, lam = make(3, 8, requires_grad=True), make_positive(3, 1, requires_grad=True)

    def solve(x, lam):
        shifted = x.clone().add_(1)
        return tautstring.prox_tv1d(shifted, lam) + tautstring.lam_max(shifted.detach())[:, None]

    y = torch.func.functionalize(solve)(x, lam)
    assert torch.equal(y, solve(x, lam))
    expected = torch.autograd.grad(solve(x, lam).square().sum(), (x, lam))
    torch.testing.assert_close(torch.autograd.grad(y.square().sum(), (x, lam)), expected)


def test_functionalize_among_other_transforms_is_refused(make):
    x, functionalize = make(3, 8), torch.func.functionalize

    def loss(x):
        return tautstring.prox_tv1d(x, 0.3).square().sum()

    for transformed in (
        functionalize(torch.func.grad(loss)),
        torch.func.grad(functionalize(loss)),
        lambda x: torch.func.jvp(functionalize(loss), (x,), (x,)),
        torch.vmap(functionalize(loss)),
    ):
        with pytest.raises(NotImplementedError, match="functionalize cannot be mixed with other"):
            transformed(x)


def test_readings_can_be_vmapped(make, make_positive):
    x, lam = make(4, 6), make_positive(4)
    y = torch.vmap(tautstring.prox_tv1d)(x, lam)
    violations = torch.vmap(tautstring.certificate1d)(x, y, lam)
    assert torch.equal(violations, tautstring.certificate1d(x, y, lam[:, None]))
    assert torch.equal(torch.vmap(tautstring.lam_max)(x), tautstring.lam_max(x))
    assert torch.equal(torch.vmap(tautstring.tv)(x), tautstring.tv(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_in_every_dtype_agree_with_float64(make, dtype):
    x, grad_y = make(6, 100, dtype=dtype), make(6, 100, dtype=dtype)
    lam = torch.full((6, 1), 0.5, dtype=dtype, device=x.device)
    result = gradients_of(x, lam, grad_y)
    expected = gradients_of(x.double(), lam.double(), grad_y.double())
    segments = tautstring.segments1d(x, lam), tautstring.segments1d(x.double(), lam.double())
    same = [torch.equal(a.starts, b.starts) for a, b in zip(*segments, strict=True)]
    assert sum(same) >= 5  # two precisions may split a near-tie differently
    assert_close(result[0][same], expected[0][same], grad_y)
    # A sum of jumps: against the size of its terms.
    assert_close(result[1][same], expected[1][same], grad_y, factor=10)


def gradients_of(x, lam, grad_y):
    x, lam = x.clone().requires_grad_(), lam.clone().requires_grad_()
    return torch.autograd.grad(tautstring.prox_tv1d(x, lam), (x, lam), grad_y)


def test_gradients_have_the_shapes_and_dtypes_of_their_arguments(make, make_positive):
    arguments = [
        make(2, 3, 8, dtype=torch.bfloat16, requires_grad=True),
        make_positive(3, 1, dtype=torch.float32, requires_grad=True),
        make_positive(8, dtype=torch.float64, requires_grad=True),
    ]
    x, lam, weight = arguments
    tautstring.prox_tv1d(x, lam, weight=weight).sum().backward()
    for argument in arguments:
        assert argument.grad.shape == argument.shape
        assert argument.grad.dtype == argument.dtype


def test_gradients_are_those_of_the_numpy_pullback(make, make_positive):
    x, lam, grad_y = make(3, 20), make_positive(19), make(3, 20)
    _, pull_back = tn.prox_tv1d_vjp(x.cpu().numpy(), lam.cpu().numpy())
    expected = pull_back(grad_y.cpu().numpy())
    result = gradients_of(x, lam, grad_y)
    torch.testing.assert_close(result[0].cpu(), torch.from_numpy(expected.x))
    torch.testing.assert_close(result[1].cpu(), torch.from_numpy(expected.lam))


def test_shared_lam_is_summed_in_float64(make):
    x, grad_y = make(2000, 16, dtype=torch.float32), make(2000, 16, dtype=torch.float32)
    lam = torch.tensor(0.25, device=x.device)
    _, shared = gradients_of(x, lam, grad_y)
    _, each = gradients_of(x, lam.expand(2000, 1), grad_y)
    assert shared == each.double().sum().float()


def test_lam_zero_hands_the_gradient_through_bit_for_bit(make):
    x, grad_y = make(3, 8, dtype=torch.float32), make(3, 8, dtype=torch.float32)
    for mode in MODES:
        x = x.clone().requires_grad_()
        (grad_x,) = torch.autograd.grad(tautstring.prox_tv1d(x, 0.0, mode=mode), x, grad_y)
        assert torch.equal(grad_x, grad_y)


def all_first_derivatives_of_x(solve, x, direction):
    """By the core in one call, by autograd for a second derivative, and forward."""
    for create_graph in (False, True):
        x = x.clone().requires_grad_()
        (grad_x,) = torch.autograd.grad(solve(x), x, direction, create_graph=create_graph)
        yield grad_x.detach()
    yield torch.func.vjp(solve, x.detach())[1](direction)[0]
    yield torch.func.jvp(solve, (x.detach(),), (direction,))[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lam_zero_with_weights_hands_derivatives_through_bit_for_bit(
    make, make_positive, dtype, mode
):
    x, direction = make(4, 40, dtype=dtype), make(4, 40, dtype=dtype)
    zeros = torch.zeros(4, 1, device=x.device)
    some = torch.tensor([0, 0.3, 0, 0.5], device=x.device)[:, None]
    for weight in (make_positive(40, dtype=torch.float32), make_positive(4, 40)):
        for lam in (0.0, zeros, zeros.expand(4, 39)):

            def solve(x, lam=lam, weight=weight):
                return tautstring.prox_tv1d(x, lam, weight=weight, mode=mode)

            for derivative in all_first_derivatives_of_x(solve, x, direction):
                assert torch.equal(derivative, direction)
        for lam in (some, some.expand(4, 39)):

            def solve(x, lam=lam, weight=weight):
                return tautstring.prox_tv1d(x, lam, weight=weight, mode=mode)

            for derivative in all_first_derivatives_of_x(solve, x, direction):
                assert torch.equal(derivative[::2], direction[::2])
                assert not torch.equal(derivative[1::2], direction[1::2])


def test_gradient_of_lam_zero_is_the_sign_of_the_jump(device):
    x = torch.tensor([0.0, 2.0, 2.0, 1.0], device=device)
    lam = torch.zeros(3, device=device, requires_grad=True)
    tautstring.prox_tv1d(x, lam).backward(torch.tensor([1.0, 10.0, 100.0, 1000.0], device=device))
    assert lam.grad.tolist() == [-9.0, 0.0, 900.0]


def test_backward_twice_with_retain_graph_gives_the_same(make, make_positive):
    x, lam = make(3, 8, requires_grad=True), make_positive(1, requires_grad=True)
    loss = tautstring.prox_tv1d(x, lam, weight=make_positive(8)).square().sum()
    first = torch.autograd.grad(loss, (x, lam), retain_graph=True)
    second = torch.autograd.grad(loss, (x, lam))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def saved_bytes(function):
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        function()
    return sum(t.numel() * t.element_size() for t in saved)


def test_what_is_saved_is_two_bits_an_element(make, make_positive):
    x = make(64, 160, dtype=torch.float32, requires_grad=True)
    lam = make_positive(1, dtype=torch.float32, requires_grad=True)
    assert saved_bytes(lambda: tautstring.prox_tv1d(x, lam)) == x.numel() * 2 // 8
    assert saved_bytes(lambda: tautstring.prox_tv1d(x, lam, mode="sharp")) == x.numel() * 2 // 8


def test_with_weights_x_y_and_weight_are_saved_too(make, make_positive):
    x = make(64, 160, dtype=torch.float32, requires_grad=True)
    weight = make_positive(160, dtype=torch.float32)
    expected = x.numel() * 2 // 8 + 2 * x.numel() * 4 + weight.numel() * 4
    assert saved_bytes(lambda: tautstring.prox_tv1d(x, 0.3, weight=weight)) == expected


class Partitions(TorchDispatchMode):
    """Counts the bytes of the partitions that the ops make, saved or not."""

    def __init__(self, *ops):
        super().__init__()
        self.ops = ops
        self.bytes = 0

    def __torch_dispatch__(self, op, types, arguments=(), options=None):
        result = op(*arguments, **options or {})
        if op in self.ops:
            self.bytes += result[1].numel()
        return result


def bytes_of_partitions(*arguments, **options):
    with Partitions(_extension.solve, _extension.solve_number) as partitions:
        tautstring.prox_tv1d(*arguments, **options)
    return partitions.bytes


def test_no_partition_is_made_where_nothing_needs_a_gradient(make, make_positive):
    x, lam, weight = make(64, 160), make_positive(1), make_positive(160)
    assert bytes_of_partitions(x, 0.3) == 0
    assert bytes_of_partitions(x, lam) == 0
    assert bytes_of_partitions(x, lam, weight=weight) == 0
    for argument in (x, lam, weight):
        argument.requires_grad_()
        assert bytes_of_partitions(x, lam, weight=weight) == x.numel() * 2 // 8
        for without_gradients in (torch.no_grad(), torch.inference_mode()):
            with without_gradients:
                assert bytes_of_partitions(x, lam, weight=weight) == 0
        argument.requires_grad_(False)


def test_gradients_nobody_needs_are_not_computed(make, make_positive, monkeypatch):
    asked = []
    op = _extension.backward

    def spy(*arguments):
        asked.append(arguments[-2:])
        return op(*arguments)

    monkeypatch.setattr(_extension, "backward", spy)
    x, lam = make(3, 8), make_positive(1)
    tautstring.prox_tv1d(x.clone().requires_grad_(), lam).sum().backward()
    tautstring.prox_tv1d(x, lam.clone().requires_grad_()).sum().backward()
    assert asked == [(True, False), (False, True)]


def test_row_that_is_not_finite_leaves_the_other_gradients_alone(make):
    x, grad_y = make(3, 8), make(3, 8)
    lam = torch.full((3, 1), 0.3, dtype=x.dtype, device=x.device)
    clean = gradients_of(x, lam, grad_y)
    x[1, 2] = float("nan")
    for gradient, expected in zip(gradients_of(x, lam, grad_y), clean, strict=True):
        assert torch.equal(gradient[[0, 2]], expected[[0, 2]])


@pytest.mark.parametrize("order", [1, 2])
def test_missing_samples_have_no_gradient(make, order):
    x, lam = make(2, 8), torch.tensor(0.3, dtype=torch.float64)
    weight = torch.ones_like(x)
    weight[:, 3] = 0
    x[:, 3] = float("nan")
    x, lam = x.requires_grad_(), lam.to(x.device).requires_grad_()
    for mode in MODES:
        y = tautstring.prox_tv1d(x, lam, weight=weight, mode=mode)
        grads = torch.autograd.grad(y.square().sum(), (x, lam), create_graph=order == 2)
        if order == 2:
            grads = torch.autograd.grad(sum(g.square().sum() for g in grads), (x, lam))
        assert all(g.isfinite().all() for g in grads)
        assert (grads[0][:, 3] == 0).all()


READINGS = {
    "lam_max": tautstring.lam_max,
    "lam_max of weight": lambda x: tautstring.lam_max(x.detach(), weight=x.exp()),
    "certificate1d": lambda x: tautstring.certificate1d(x, x, 0.3),
    "certificate1d of lam": lambda x: tautstring.certificate1d(
        x.detach(), x.detach(), x[:, :1].exp()
    ),
}


def loss_of(reading):
    return lambda x: reading(x).sum()


def assert_no_gradient(name, reading, x):
    """Request the derivatives of a reading of x in every way: each request raises."""
    tangent = torch.ones_like(x)

    def backward():
        reading(x.clone().requires_grad_()).sum().backward()

    def by_level():
        with forward_ad.dual_level():
            reading(forward_ad.make_dual(x, tangent))

    func = torch.func
    for ask in (
        backward,
        by_level,
        lambda: func.jvp(reading, (x,), (tangent,)),
        lambda: func.grad(loss_of(reading))(x),
        lambda: func.hessian(loss_of(reading))(x),
        lambda: torch.vmap(func.grad(loss_of(reading)))(x[None]),
    ):
        with pytest.raises(NotImplementedError, match=f"^{name}: has no gradient"):
            ask()


@pytest.mark.parametrize("name", READINGS)
def test_readings_have_no_gradient_and_say_so(make, name):
    assert_no_gradient(name.split()[0], READINGS[name], make(3, 8))


@pytest.mark.parametrize("name", READINGS)
def test_readings_stand_beside_derivatives_of_others(make, name):
    x, reading = make(3, 8), READINGS[name]

    def loss(y):
        return (reading(x) * y.square().sum(-1)).sum()

    expected = 2 * x * reading(x)[:, None]
    torch.testing.assert_close(torch.func.grad(loss)(x), expected)
    _, tangent = torch.func.jvp(loss, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, expected.sum())


def test_total_variation_is_differentiable(make):
    x = make(3, 8, requires_grad=True)
    assert gradcheck(tautstring.tv, (x,), check_forward_ad=True)


def test_checkpointing_recomputes_the_same(make, make_positive):
    from torch.utils.checkpoint import checkpoint

    x, lam = make(3, 8, requires_grad=True), make_positive(1, requires_grad=True)
    plain = torch.autograd.grad(tautstring.prox_tv1d(x, lam).square().sum(), (x, lam))
    y = checkpoint(tautstring.prox_tv1d, x, lam, use_reentrant=False)
    again = torch.autograd.grad(y.square().sum(), (x, lam))
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))


def test_a_row_without_samples_has_no_weight_gradient_in_any_order() -> None:
    x = torch.rand(2, 4, dtype=torch.float64)
    weight = torch.tensor([[1.0] * 4, [0.0] * 4], dtype=torch.float64, requires_grad=True)
    for create_graph in (False, True):
        y = tautstring.prox_tv1d(x, 0.1, weight=weight)
        (gradient,) = torch.autograd.grad(y[0].sum(), weight, create_graph=create_graph)
        assert gradient[1].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_a_row_without_samples_hands_no_nan_to_x(mode) -> None:
    x = torch.rand(2, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([[1.0] * 4, [0.0] * 4], dtype=torch.float64)
    for create_graph in (False, True):
        y = tautstring.prox_tv1d(x, 0.1, weight=weight, mode=mode)
        (gradient,) = torch.autograd.grad(y.square().sum(), x, create_graph=create_graph)
        assert gradient[1].tolist() == [0, 0, 0, 0]
