# The registrations of the 2D ops, and torch.compile, torch.export and AOTInductor on them.
import pytest
import torch
from test_torch_compile import (  # noqa: F401  # a fixture among them
    assert_opcheck,
    assert_same_training_step,
    compile_and_load,
    error_of,
    exported,
    fresh_compiler,
)

import tautstring
from tautstring import TVLayer, _extension


def solver_arguments(height_dim, width_dim, **given):
    options = {
        "sharpen": False,
        "accelerated": True,
        "iterations": 3,
        "tol": 0.0,
        "implicit": False,
        "keep_partitions": True,
        "report": True,
    }
    return (height_dim, width_dim, *{**options, **given}.values())


OPTIONS = [
    {},
    {"keep_partitions": False, "report": False},
    {"report": False, "sharpen": True, "accelerated": False},
    {"tol": 1e-3, "iterations": 16},
    {"tol": 1e-3, "iterations": 16, "implicit": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dims", [(1, 2), (2, 0)])
def test_solve_passes_opcheck(make, make_positive, options, dims):
    x = make(2, 3, 20).transpose(0, 1)
    lams = make_positive(1, 1, 1), make_positive()
    rest = solver_arguments(*dims, **options)
    if options.get("keep_partitions", True):
        x.requires_grad_()
        lams[0].requires_grad_()
    assert_opcheck(_extension.solve2d, (x, *lams, None, *rest))
    assert_opcheck(_extension.solve2d, (x, *lams, torch.zeros_like(x), *rest))
    assert_opcheck(_extension.solve2d_number, (x, 0.3, 0.2, None, *rest))


def solved(x, lam, **options):
    results = _extension.solve2d(x, lam, lam, None, *solver_arguments(1, 2, **options))
    return results[1:4]  # partitions, momentum, done


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_backward_passes_opcheck(make, make_positive, dtype, implicit):
    x, grad_y = make(3, 6, 20, dtype=dtype), make(3, 6, 20, dtype=dtype)
    saved = solved(x, make_positive(3, 1, 1), implicit=implicit)
    lams = (19, (0,), torch.float32, 1, (0, 2), torch.float64)
    options = (1, 2, False, 3, implicit, dtype, *lams, True, True, True)
    assert_opcheck(_extension.backward2d, (grad_y.clone().requires_grad_(), *saved, *options))
    unwanted = (*options[:-3], False, True, False)
    assert_opcheck(_extension.backward2d, (grad_y, *saved, *unwanted))


@pytest.mark.parametrize("implicit", [False, True])
def test_forward_derivative_passes_opcheck(make, make_positive, implicit):
    x, lam = make(3, 6, 20), make_positive(3, 1, 1)
    saved = solved(x, lam, implicit=implicit)
    tangent_x, tangent_lam = make(3, 6, 20, requires_grad=True), make(3, 1, 1, requires_grad=True)
    options = (1, 2, False, 3, implicit, 6, 20, x.dtype)
    for tangents in ((tangent_x, tangent_lam, None), (None, tangent_lam, tangent_lam)):
        assert_opcheck(_extension.jvp2d, (*saved, *tangents, *options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_tensors_without_data_have_the_shapes_strides_and_dtypes_of_results(make, options):
    layouts = [
        make(2, 3, 20, dtype=torch.bfloat16),
        make(20, 3, 2).permute(2, 1, 0),
        make(2, 1, 20).expand(2, 3, 20),
    ]
    for x in layouts:
        results = [
            _extension.solve2d_number(
                x.to(device), 0.3, 0.2, None, *solver_arguments(1, 2, **options)
            )
            for device in (x.device, "meta")
        ]
        for real, fake in zip(*results, strict=True):
            assert (real.shape, real.stride(), real.dtype) == (
                fake.shape,
                fake.stride(),
                fake.dtype,
            )
    assert tautstring.prox_tv2d(layouts[0].to("meta"), 0.1).device.type == "meta"


def calls_along(dims, x):
    """Every 2D op on tensors of x's shape, with images along ``dims``."""
    partitions = torch.zeros_like(x[..., 0], dtype=torch.uint8)
    saved = (partitions, partitions.double(), partitions.int())
    one = torch.ones((), device=x.device)
    yield lambda: _extension.solve2d(x, one, one, None, *solver_arguments(*dims))
    yield lambda: _extension.solve2d_number(x, 0.3, 0.3, None, *solver_arguments(*dims))
    lams = (1, (), x.dtype, 1, (), x.dtype)
    wanted = (True, True, True)
    yield lambda: _extension.backward2d(x, *saved, *dims, False, 3, False, x.dtype, *lams, *wanted)
    yield lambda: _extension.jvp2d(*saved, x, None, None, *dims, False, 3, False, 3, 4, x.dtype)
    yield lambda: _extension.find_gap2d(x, x, one, one, None, *dims)
    yield lambda: _extension.find_gap2d_number(x, x, 0.3, 0.3, None, *dims)


@pytest.mark.parametrize(
    "dims, message",
    [
        ((-1, 0), "height_dim: must be from 0 to 2 for this "),
        ((3, 0), "height_dim: must be from 0 to 2 for this "),
        ((0, -2), "width_dim: must be from 0 to 2 for this "),
        ((1, 1), "width_dim: must not be height_dim, got 1"),
    ],
)
def test_ops_refuse_dims_that_are_none_with_and_without_data(make, dims, message):
    x = make(2, 3, 4)
    for call, fake in zip(calls_along(dims, x), calls_along(dims, x.to("meta")), strict=True):
        assert error_of(call).startswith(message)
        assert error_of(fake) == error_of(call)


def test_ops_refuse_dims_that_are_none_under_vmap(make):
    x = make(2, 3, 4)
    for i in range(6):
        for dims in ((-1, 0), (0, 2)):
            message = error_of(
                lambda i=i, dims=dims: torch.vmap(lambda x: [*calls_along(dims, x)][i]())(x)
            )
            assert "must be from 0 to 1 for this " in message


def test_ops_refuse_tensors_without_images(make):
    x = make(4)
    for call, fake in zip(calls_along((0, 1), x), calls_along((0, 1), x.to("meta")), strict=True):
        assert error_of(call).endswith(": must have at least 2 dimensions, got 1")
        assert error_of(fake) == error_of(call)


SOLVERS = [{}, {"method": "accelerated", "tol": 1e-4}]


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_other_shapes_are_compiled_once_more_at_most(make, options):
    from torch._dynamo.testing import CompileCounterWithBackend

    layer = TVLayer(3, lam=0.1, device=make(1).device, **options)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for shape in [(2, 3, 6, 10), (4, 3, 7, 24), (3, 3, 5, 40)]:
        assert_same_training_step(compiled, layer, make(*shape, dtype=torch.float32))
    assert counter.frame_count <= 2  # the first shape, and all others


def test_inductor_compiles_forward_and_backward(make):
    layer = TVLayer(3, lam=0.1, device=make(1).device)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for shape in [(2, 3, 6, 10), (4, 3, 7, 24)]:
        assert_same_training_step(compiled, layer, make(*shape, dtype=torch.float32))


@pytest.mark.parametrize("options", [*SOLVERS, {"grad": "implicit", "mode": "sharp"}], ids=str)
def test_one_graph_holds_every_argument(make, make_positive, options):
    x, start = make(3, 12, 20, requires_grad=True), 0.1 * make(3, 12, 20)
    lams = make_positive(3, 1, 1, requires_grad=True), make_positive(11, 1, requires_grad=True)

    def loss(x, rows, columns):
        y, info = tautstring.prox_tv2d(
            x, (rows, columns), start=start, dims=(1, 2), return_info=True, **options
        )
        return y.square().sum() + info.gap.sum(), info

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    expected, info = loss(x, *lams)
    result, again = compiled(x, *lams)
    torch.testing.assert_close(again, info)
    torch.testing.assert_close(
        torch.autograd.grad(result, (x, *lams)), torch.autograd.grad(expected, (x, *lams))
    )


def test_pairs_of_numbers_and_tensors_are_compiled(make, make_positive):
    compiled = torch.compile(tautstring.prox_tv2d, fullgraph=True, backend="aot_eager")
    x, lam = make(3, 12, 20), make_positive()
    for pair in (0.1, (0.1, 0.2), (lam, 0.2), (1, lam)):
        assert torch.equal(compiled(x, pair), tautstring.prox_tv2d(x, pair))


def test_bad_values_inside_a_compiled_graph_are_runtime_errors(make):
    x = make(3, 12, 20)
    if x.is_cuda:
        pytest.skip("values on CUDA are not looked at")
    compiled = torch.compile(tautstring.prox_tv2d, fullgraph=True, backend="aot_eager")
    with pytest.raises(RuntimeError, match=" lam: must be >= 0 and not NaN, got -1"):
        compiled(x, torch.full((3, 1, 1), -1.0))


def test_transforms_inside_a_compiled_function_are_right_or_refused(make):
    x = make(3, 12, 20)

    def push(x):
        return torch.func.jvp(lambda x: tautstring.prox_tv2d(x, 0.3), (x,), (torch.ones_like(x),))[
            1
        ]

    def pull(x):
        return torch.func.grad(lambda x: tautstring.prox_tv2d(x, 0.3).square().sum())(x)

    for function in (push, pull):
        with pytest.raises(Exception, match=r"torch\.func and forward AD cannot be compiled"):
            torch.compile(function, backend="aot_eager", fullgraph=True)(x)
        compiled = torch.compile(function, backend="aot_eager")
        torch.testing.assert_close(compiled(x), function(x))
        assert compiled(x).abs().max() > 0


def test_export_with_dynamic_shapes(make):
    layer = TVLayer(3, lam=0.1, mode="sharp", device=make(1).device)
    program = exported(layer, make(2, 3, 10, 12, dtype=torch.float32))
    x = make(4, 3, 33, 7, dtype=torch.float32)
    assert torch.equal(program.module()(x), layer(x))


def test_aot_inductor_package_gives_the_same(make, tmp_path):
    layer = TVLayer(3, lam=0.1, learnable=False, device=make(1).device)
    program = exported(layer, make(2, 3, 10, 12, dtype=torch.float32))
    loaded = compile_and_load(program, tmp_path)
    x = make(4, 3, 9, 33, dtype=torch.float32)
    assert torch.equal(loaded(x), layer(x))
