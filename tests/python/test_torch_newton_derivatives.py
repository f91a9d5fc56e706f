# Derivatives through the Newton solver, which are the direct solver's; the registrations of its
# ops, and torch.compile and torch.export on them.
import pytest
import torch
from test_torch_compile import (  # noqa: F401  # a fixture among them
    assert_opcheck,
    assert_same_training_step,
    compile_and_load,
    exported,
    fresh_compiler,
)
from test_torch_gradients import Partitions, check_all_derivatives, every_hessian, saved_bytes
from test_torch_newton import MODES, SOLVERS, solve
from torch.autograd import forward_ad
from torch_support import DTYPES, assert_close

import tautstring
from tautstring import Newton, TVLayer, _extension


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lam_shape", [(), (2, 1), (6,), (2, 6)])
def test_derivatives_of_x_and_lam(make, make_positive, solver, mode, lam_shape):
    x = make(2, 7, requires_grad=True)
    lam = make_positive(*lam_shape, requires_grad=True)
    check_all_derivatives(lambda x, lam: solve(x, lam, solver, mode=mode), (x, lam))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_derivatives_along_any_dim_of_any_strides(make, make_positive, dim):
    x = make(3, 4, 2).permute(2, 0, 1).requires_grad_()
    lam = make_positive(1, requires_grad=True)
    check_all_derivatives(lambda x, lam: solve(x, lam, dim=dim), (x, lam))


def test_derivatives_of_x_alone_and_of_lam_alone(make, make_positive):
    x, lam = make(2, 7, requires_grad=True), make_positive(6, requires_grad=True)
    check_all_derivatives(lambda x: solve(x, 0.3), (x,))
    check_all_derivatives(lambda lam: solve(x.detach(), lam), (lam,))


@pytest.mark.parametrize("shape", [(), (1,), (3, 1)])
def test_derivatives_of_rows_of_one_sample(make, make_positive, shape):
    x, lam = make(*shape, requires_grad=True), make_positive(requires_grad=True)
    check_all_derivatives(lambda x, lam: solve(x, lam), (x, lam))


def test_derivatives_of_a_call_with_a_start(make, make_positive):
    x, lam = make(2, 7, requires_grad=True), make_positive(requires_grad=True)
    _, info = solve(x, lam, return_info=True)
    check_all_derivatives(lambda x, lam: solve(x, lam, start=info.dual), (x, lam))


def test_hessians_by_all_orders_of_transforms_agree(make, make_positive):
    arguments = (make(2, 5), make_positive(1))

    def loss(x, lam):
        return solve(x.square(), lam).sin().sum()

    expected = torch.autograd.functional.hessian(loss, arguments)
    assert expected[0][1].abs().max() > 0
    for hessian in every_hessian(loss, arguments):
        torch.testing.assert_close(hessian, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_are_those_of_the_direct_solver(make, dtype):
    x, grad_y = make(6, 100, dtype=dtype), make(6, 100, dtype=dtype)
    results = []
    for each in ("newton", "direct"):
        arguments = [x.clone().requires_grad_(), torch.full((6, 1), 0.5, device=x.device)]
        arguments[1].requires_grad_()
        y = tautstring.prox_tv1d(*arguments, solver=each)
        results.append(torch.autograd.grad(y, arguments, grad_y))
    # Two precisions may split a near-tie differently.
    same = ((results[0][0] - results[1][0]).abs() < 1e-2).all(1)
    assert same.sum() >= 5
    for result, expected in zip(*results, strict=True):
        assert result.dtype == expected.dtype
        assert_close(result[same], expected[same], grad_y, factor=10)


def test_tangents_are_not_zero(make, make_positive, solver):
    x, lam = make(3, 8), make_positive(3, 1)
    tangents = torch.ones_like(x), torch.full_like(lam, 0.1)

    def by_solver(x, lam):
        return solve(x, lam, solver)

    for primals in ((x, lam), (x.clone().requires_grad_(), lam)):
        _, by_func = torch.func.jvp(by_solver, primals, tangents)
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
            by_level = forward_ad.unpack_dual(by_solver(*duals)).tangent
        assert torch.equal(by_func, by_level)
        assert (by_func != 0).all()
        assert not torch.allclose(by_func, torch.ones_like(by_func))


def test_vmap_over_any_argument_is_the_loop(make, make_positive):
    x, lam, start = make(4, 3, 6), make_positive(4, 5), 0.1 * make(3, 4, 5)
    own = (0, 0, 1)

    def by_newton(x, lam, start):
        return solve(x, lam, mode="sharp", start=start, return_info=True)

    for dims in [own, (0, None, None), (None, 0, None), (None, None, 1)]:
        given = [
            value if dim is not None else value.select(other, 0)
            for value, dim, other in zip((x, lam, start), dims, own, strict=True)
        ]
        y, info = torch.vmap(by_newton, in_dims=dims)(*given)
        for i in range(4):
            one = [
                value if dim is None else value.select(dim, i)
                for value, dim in zip(given, dims, strict=True)
            ]
            expected, expected_info = by_newton(*one)
            assert torch.equal(y[i], expected)
            for part, other in zip(info, expected_info, strict=True):
                assert torch.equal(part[i], other)


def test_per_sample_gradients_by_vmap_of_grad(make, make_positive):
    x, lam = make(5, 9), make_positive(5)

    def loss(x, lam):
        return solve(x, lam).square().sum()

    grads = torch.vmap(torch.func.grad(loss, argnums=(0, 1)))(x, lam)
    for i in range(5):
        expected = torch.func.grad(loss, argnums=(0, 1))(x[i], lam[i])
        torch.testing.assert_close([g[i] for g in grads], list(expected), rtol=1e-12, atol=1e-12)


def test_functionalize_alone_gives_the_same(make, make_positive):
    x, lam = make(3, 8, requires_grad=True), make_positive(3, 1, requires_grad=True)

    def by_newton(x, lam):
        return solve(x.clone().add_(1), lam)

    y = torch.func.functionalize(by_newton)(x, lam)
    assert torch.equal(y, by_newton(x, lam))
    expected = torch.autograd.grad(by_newton(x, lam).square().sum(), (x, lam))
    torch.testing.assert_close(torch.autograd.grad(y.square().sum(), (x, lam)), expected)


def test_backward_twice_with_retain_graph_gives_the_same(make, make_positive):
    x, lam = make(3, 8, requires_grad=True), make_positive(requires_grad=True)
    loss = solve(x, lam).square().sum()
    first = torch.autograd.grad(loss, (x, lam), retain_graph=True)
    second = torch.autograd.grad(loss, (x, lam))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_what_is_saved_is_two_bits_an_element(make, make_positive):
    x = make(64, 160, dtype=torch.float32, requires_grad=True)
    lam = make_positive(1, dtype=torch.float32, requires_grad=True)
    for return_info in (False, True):
        saved = saved_bytes(lambda r=return_info: solve(x, lam, return_info=r))
        assert saved == x.numel() * 2 // 8


def test_no_partition_is_made_where_nothing_needs_a_gradient(make, make_positive):
    def bytes_of_partitions(*arguments, **options):
        with Partitions(_extension.solve_newton, _extension.solve_newton_number) as partitions:
            solve(*arguments, **options)
        return partitions.bytes

    x, lam = make(4, 32), make_positive(1)
    assert bytes_of_partitions(x, 0.3) == 0
    assert bytes_of_partitions(x, lam, return_info=True) == 0
    for argument in (x, lam):
        argument.requires_grad_()
        assert bytes_of_partitions(x, lam) == x.numel() // 4
        with torch.no_grad():
            assert bytes_of_partitions(x, lam) == 0


def test_start_has_no_gradient_and_says_so(make):
    x, start = make(3, 6), make(3, 5)

    def loss(start):
        return solve(x, 0.3, start=start).square().sum()

    def backward():
        loss(start.clone().requires_grad_()).backward()

    def by_level():
        with forward_ad.dual_level():
            loss(forward_ad.make_dual(start, torch.ones_like(start)))

    for ask in (
        backward,
        by_level,
        lambda: torch.func.grad(loss)(start),
        lambda: torch.func.jvp(loss, (start,), (start,)),
    ):
        with pytest.raises(NotImplementedError, match=r"^prox_tv1d: treats start as a constant"):
            ask()


def test_reports_have_no_gradient(make):
    x = make(3, 6, requires_grad=True)
    y, info = solve(x, 0.3, return_info=True)
    assert y.requires_grad and not any(part.requires_grad for part in info)
    # Nor a tangent: a product with them has only the derivative of the other factor.
    _, tangent = torch.func.jvp(
        lambda x: x[:, 1:] * solve(x, 0.3, return_info=True)[1].dual,
        (x.detach(),),
        (torch.ones_like(x),),
    )
    assert torch.equal(tangent, info.dual)


def op_arguments(**given):
    options = {
        "sharpen": False,
        "iterations": 20,
        "tol": 0.0,
        "halving": False,
        "polish": True,
        "keep_partition": True,
        "report": True,
    }
    return tuple({**options, **given}.values())


OP_OPTIONS = [
    {},
    {"report": False, "sharpen": True, "halving": True},
    {"keep_partition": False, "polish": False, "iterations": 1},
]


@pytest.mark.parametrize("options", OP_OPTIONS, ids=str)
@pytest.mark.parametrize("dim", [0, 2])
def test_the_op_passes_opcheck(make, make_positive, options, dim):
    x, lam = make(2, 3, 20).transpose(0, dim), make_positive(1)
    start = torch.zeros_like(x.narrow(dim, 1, x.shape[dim] - 1))
    rest = (dim, *op_arguments(**options))
    if options.get("keep_partition", True):
        x.requires_grad_()
        lam.requires_grad_()
    assert_opcheck(_extension.solve_newton, (x, lam, None, *rest))
    assert_opcheck(_extension.solve_newton, (x, lam, start, *rest))
    assert_opcheck(_extension.solve_newton_number, (x, 0.3, None, *rest))


@pytest.mark.parametrize("options", OP_OPTIONS, ids=str)
def test_tensors_without_data_have_the_shapes_strides_and_dtypes_of_results(make, options):
    layouts = [
        make(2, 3, 20, dtype=torch.bfloat16),
        make(20, 3, 2).permute(2, 1, 0),
        make(2, 1, 20).expand(2, 3, 20),
        torch.zeros(2, 0),
    ]
    for x in layouts:
        for dim in range(x.ndim):
            results = [
                _extension.solve_newton_number(
                    x.to(device), 0.3, None, dim, *op_arguments(**options)
                )
                for device in (x.device, "meta")
            ]
            for real, fake in zip(*results, strict=True):
                assert (real.shape, real.stride(), real.dtype) == (
                    fake.shape,
                    fake.stride(),
                    fake.dtype,
                )
    assert solve(layouts[0].to("meta"), 0.1).device.type == "meta"


def test_one_graph_holds_every_argument(make, make_positive):
    x, start = make(3, 20, requires_grad=True), 0.1 * make(3, 19)
    lam = make_positive(3, 1, requires_grad=True)
    halving = Newton(iterations=50, line_search="halving")

    for given in ("newton", halving):

        def loss(x, lam, given=given):
            y, info = solve(x, lam, given, start=start, mode="sharp", return_info=True)
            return y.square().sum() + info.gap.sum(), info

        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        expected, info = loss(x, lam)
        result, again = compiled(x, lam)
        torch.testing.assert_close(again, info)
        torch.testing.assert_close(
            torch.autograd.grad(result, (x, lam)), torch.autograd.grad(expected, (x, lam))
        )


def test_a_solver_made_inside_a_graph_is_compiled(make):
    def by_own_solver(x):
        return solve(x, 0.3, Newton(iterations=7, tol=1e-9))

    x = make(3, 20)
    compiled = torch.compile(by_own_solver, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), by_own_solver(x))


def test_other_shapes_are_compiled_once_more_at_most(make):
    from torch._dynamo.testing import CompileCounterWithBackend

    layer = TVLayer(3, direction="row", lam=0.1, solver="newton", device=make(1).device)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for shape in [(2, 3, 6, 10), (4, 3, 7, 24), (3, 3, 5, 40)]:
        assert_same_training_step(compiled, layer, make(*shape, dtype=torch.float32))
    assert counter.frame_count <= 2  # the first shape, and all others


def test_reports_of_other_shapes_are_compiled_once_more_at_most(make):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")

    def dual_of(x):
        return solve(x, 0.3, return_info=True)[1].dual

    compiled = torch.compile(dual_of, fullgraph=True, backend=counter)
    for shape in [(2, 10), (4, 24), (3, 40)]:
        x = make(*shape)
        assert torch.equal(compiled(x), dual_of(x))
    assert counter.frame_count <= 2


def test_export_with_dynamic_shapes(make):
    layer = TVLayer(3, direction="col", lam=0.1, solver="newton", device=make(1).device)
    program = exported(layer, make(2, 3, 10, 12, dtype=torch.float32))
    x = make(4, 3, 33, 7, dtype=torch.float32)
    assert torch.equal(program.module()(x), layer(x))


def test_aot_inductor_package_gives_the_same(make, tmp_path):
    newton = Newton(line_search="halving")
    layer = TVLayer(3, direction="row", lam=0.1, learnable=False, solver=newton)
    program = exported(layer.to(make(1).device), make(2, 3, 10, 12, dtype=torch.float32))
    loaded = compile_and_load(program, tmp_path)
    x = make(4, 3, 9, 33, dtype=torch.float32)
    assert torch.equal(loaded(x), layer(x))
