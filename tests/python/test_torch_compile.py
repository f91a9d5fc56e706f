# The ops' registrations, and torch.compile, torch.export and AOTInductor on them.
import warnings

import pytest
import torch

import tautstring
from tautstring import TVLayer, _extension


@pytest.fixture(autouse=True)
def fresh_compiler(tmp_path, monkeypatch):
    """No graph of another test, or of another version of the ops."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    torch._dynamo.reset()


def assert_opcheck(op, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of newer versions, about their own check
        torch.library.opcheck(op, arguments)


def solved(x, lam, weight, dim):
    return _extension.solve(x, lam, weight, dim, False, True)


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_solve_passes_opcheck(make, make_positive, weighted, dim):
    x = make(2, 3, 20).transpose(0, dim).requires_grad_()
    lam = make_positive(1, requires_grad=True)
    weight = make_positive(1, requires_grad=True) if weighted else None
    assert_opcheck(_extension.solve, (x, lam, weight, dim, weighted, True))
    assert_opcheck(_extension.solve_number, (x, 0.3, weight, dim, weighted, True))
    assert_opcheck(_extension.solve, (x.detach(), lam.detach(), None, dim, weighted, False))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_backward_passes_opcheck(make, make_positive, dtype):
    x, lam, weight = make(3, 20, dtype=dtype), make_positive(3, 1), make_positive(20)
    grad_y = make(3, 20, dtype=dtype)
    _, partition = solved(x, lam, None, 1)
    options = (1, False, dtype, 19, (0,), torch.float32, True, True)
    assert_opcheck(_extension.backward, (grad_y.clone().requires_grad_(), partition, *options))
    y, partition = solved(x, lam, weight, 1)
    options = (1, False, 1, (0,), torch.float32, True, True, True)
    assert_opcheck(_extension.weighted_backward, (grad_y, partition, x, y, weight, *options))


def test_forward_derivative_passes_opcheck(make, make_positive):
    x, lam = make(3, 20), make_positive(3, 1)
    _, partition = solved(x, lam, None, 1)
    tangent_x, tangent_lam = make(3, 20, requires_grad=True), make(3, 1, requires_grad=True)
    for tangents in ((tangent_x, tangent_lam), (None, tangent_lam)):
        options = (None, 1, False, 20, x.dtype)
        assert_opcheck(_extension.jvp, (partition, None, None, None, *tangents, *options))


def test_readings_pass_opcheck(make, make_positive):
    x, y, lam, weight = make(3, 20), make(3, 20), make_positive(3, 1), make_positive(20)
    assert_opcheck(_extension.certify, (x, y, lam, weight, 1))
    assert_opcheck(_extension.certify_number, (x, y, 0.3, None, 0))
    assert_opcheck(_extension.find_lam_max, (x, weight, 1))


def test_question_for_cuda_passes_opcheck():
    assert_opcheck(_extension.has_cuda, ())
    assert _extension.has_cuda() is tautstring.show_config()["cuda"]


def test_every_op_of_the_library_is_checked_here():
    ops = {
        name for name in torch._C._dispatch_get_all_op_names() if name.startswith("tautstring::")
    }
    assert ops == {
        "tautstring::prox_tv1d",
        "tautstring::prox_tv1d.number",
        "tautstring::prox_tv1d_backward",
        "tautstring::prox_tv1d_weighted_backward",
        "tautstring::prox_tv1d_jvp",
        "tautstring::prox_tv1d_newton",  # these two in test_torch_newton_derivatives.py
        "tautstring::prox_tv1d_newton.number",
        "tautstring::certificate1d",
        "tautstring::certificate1d.number",
        "tautstring::lam_max",
        "tautstring::path1d",  # in test_torch_path1d.py
        "tautstring::prox_tv2d",  # these four in test_torch_compile2d.py
        "tautstring::prox_tv2d.number",
        "tautstring::prox_tv2d_backward",
        "tautstring::prox_tv2d_jvp",
        "tautstring::gap2d",  # these two in test_torch_gap2d.py
        "tautstring::gap2d.number",
        "tautstring::has_cuda",
    }


def test_tensors_without_data_have_the_shapes_strides_and_dtypes_of_results(make, make_positive):
    layouts = [make(2, 3, 20), make(20, 3, 2).permute(2, 1, 0), make(2, 1, 20).expand(2, 3, 20)]
    for x in layouts:
        x = x.to(torch.bfloat16) if x is layouts[0] else x
        arguments = (x, make_positive(3, 1), None, 2, False, True)
        meta = [t.to("meta") if isinstance(t, torch.Tensor) else t for t in arguments]
        for real, fake in zip(_extension.solve(*arguments), _extension.solve(*meta), strict=True):
            assert (real.shape, real.stride(), real.dtype) == (
                fake.shape,
                fake.stride(),
                fake.dtype,
            )
    assert tautstring.prox_tv1d(layouts[0].to("meta"), 0.1).device.type == "meta"


def calls_along(dim, x):
    """Every op on tensors of x's shape, along ``dim``."""
    partition = torch.zeros_like(x[..., :8] if x.ndim else x, dtype=torch.uint8)
    one = torch.ones_like(x[..., :1] if x.ndim else x)
    yield lambda: _extension.solve(x, one, None, dim, False, True)
    yield lambda: _extension.solve_number(x, 0.3, None, dim, False, True)
    newton = (None, dim, False, 20, 0.0, False, True, True, True)
    yield lambda: _extension.solve_newton(x, one, *newton)
    yield lambda: _extension.solve_newton_number(x, 0.3, *newton)
    wanted = (1, (), x.dtype, True, True)
    yield lambda: _extension.backward(x, partition, dim, False, x.dtype, *wanted)
    rows = (x, partition, x, x, one)
    yield lambda: _extension.weighted_backward(*rows, dim, False, *wanted, True)
    given = (None, None, None, x, None, None)
    yield lambda: _extension.jvp(partition, *given, dim, False, 20, x.dtype)
    yield lambda: _extension.certify(x, x, one, None, dim)
    yield lambda: _extension.certify_number(x, x, 0.3, None, dim)
    yield lambda: _extension.find_lam_max(x, None, dim)


def error_of(call):
    with pytest.raises(RuntimeError, match="invalid argument: ") as raised:
        call()
    return str(raised.value).partition("invalid argument: ")[2].partition("\n")[0]


@pytest.mark.parametrize("dim", [-3, -2, -1, 2])
def test_ops_refuse_a_dim_that_is_none_with_and_without_data(make, dim):
    x = make(3, 20)
    for call, fake in zip(calls_along(dim, x), calls_along(dim, x.to("meta")), strict=True):
        message = error_of(call)
        assert message.startswith("dim: must be from 0 to 1 for this ")
        assert message.endswith(f", got {dim}")
        assert error_of(fake) == message


@pytest.mark.parametrize("dim", [-2, -1, 1])
def test_ops_refuse_a_dim_that_is_none_under_vmap(make, dim):
    x = make(3, 20)
    for i in range(len(list(calls_along(dim, x)))):
        message = error_of(lambda i=i: torch.vmap(lambda row: [*calls_along(dim, row)][i]())(x))
        assert message.startswith("dim: must be from 0 to 0 for this ")


def test_ops_refuse_tensors_without_dimensions(make):
    x = make()
    for call, fake in zip(calls_along(0, x), calls_along(0, x.to("meta")), strict=True):
        message = error_of(call)
        assert message.endswith(": must have at least one dimension")
        assert error_of(fake) == message


def assert_same_training_step(compiled, layer, x):
    x = x.clone().requires_grad_()
    results = []
    for module in (compiled, layer):
        y = module(x)
        results.append([y, *torch.autograd.grad(y.square().sum(), (x, layer.raw_lam))])
    torch.testing.assert_close(*results)


def test_other_shapes_are_compiled_once_more_at_most(make):
    from torch._dynamo.testing import CompileCounterWithBackend

    layer = TVLayer(3, direction="row", lam=0.1, device=make(1).device)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for shape in [(2, 3, 6, 10), (4, 3, 7, 24), (3, 3, 5, 40)]:
        assert_same_training_step(compiled, layer, make(*shape, dtype=torch.float32))
    assert counter.frame_count <= 2  # the first shape, and all others


def test_inductor_compiles_forward_and_backward(make):
    layer = TVLayer(3, direction="row", lam=0.1, device=make(1).device)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for shape in [(2, 3, 6, 10), (4, 3, 7, 24)]:
        assert_same_training_step(compiled, layer, make(*shape, dtype=torch.float32))


@pytest.mark.parametrize("weighted", [False, True])
def test_one_graph_holds_every_argument(make, make_positive, weighted):
    x, lam = make(3, 20, requires_grad=True), make_positive(3, 1, requires_grad=True)
    weight = make_positive(20, requires_grad=True) if weighted else None

    def loss(x, lam, weight):
        y = tautstring.prox_tv1d(x, lam, weight=weight, mode="sharp")
        return y.square().sum() + tautstring.tv(y).sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    arguments = (x, lam, *([weight] if weighted else []))
    expected = torch.autograd.grad(loss(x, lam, weight), arguments)
    torch.testing.assert_close(torch.autograd.grad(compiled(x, lam, weight), arguments), expected)


def test_numbers_as_lam_are_compiled(make):
    compiled = torch.compile(tautstring.prox_tv1d, fullgraph=True, backend="aot_eager")
    x = make(3, 20)
    for lam in (0.1, 0.2, 1):
        assert torch.equal(compiled(x, lam), tautstring.prox_tv1d(x, lam))


def test_a_lam_that_changes_is_compiled_once_as_a_tensor_and_anew_as_a_number(make):
    from torch._dynamo.testing import CompileCounterWithBackend

    x = make(3, 20)

    def count_graphs(lams):
        torch._dynamo.reset()
        counter = CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(tautstring.prox_tv1d, fullgraph=True, backend=counter)
        for lam in lams:
            assert torch.equal(compiled(x, lam), tautstring.prox_tv1d(x, lam))
        return counter.frame_count

    values = [0.1, 0.2, 0.3, 0.4]
    assert count_graphs(torch.tensor(value) for value in values) == 1
    # What the documentation warns of; if this changes, update the documentation.
    assert count_graphs(values) >= len(values)


def test_readings_are_compiled(make):
    def read(x, y):
        return tautstring.certificate1d(x, y, 0.3), tautstring.lam_max(x), tautstring.tv(x)

    x, y = make(3, 20), make(3, 20)
    compiled = torch.compile(read, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, y), read(x, y))


def test_bad_values_inside_a_compiled_graph_are_runtime_errors(make):
    compiled = torch.compile(tautstring.prox_tv1d, fullgraph=True, backend="aot_eager")
    x = make(3, 20)
    if x.is_cuda:
        pytest.skip("values on CUDA are not looked at")
    with pytest.raises(RuntimeError, match="lam: must be >= 0 and not NaN, got -1"):
        compiled(x, torch.full((3, 1), -1.0))


def test_check_is_refused_inside_a_compiled_graph(make):
    compiled = torch.compile(
        lambda x: tautstring.prox_tv1d(x, 0.1, check=True), fullgraph=True, backend="eager"
    )
    with pytest.raises(Exception, match="check: must be False"):
        compiled(make(3, 20))


def test_transforms_inside_a_compiled_function_are_right_or_refused(make):
    x = make(3, 20)

    def push(x):
        return torch.func.jvp(lambda x: tautstring.prox_tv1d(x, 0.3), (x,), (torch.ones_like(x),))[
            1
        ]

    def pull(x):
        return torch.func.grad(lambda x: tautstring.prox_tv1d(x, 0.3).square().sum())(x)

    for function in (push, pull):
        with pytest.raises(Exception, match=r"torch\.func and forward AD cannot be compiled"):
            torch.compile(function, backend="aot_eager", fullgraph=True)(x)
        compiled = torch.compile(function, backend="aot_eager")
        torch.testing.assert_close(compiled(x), function(x))
        assert compiled(x).abs().max() > 0


def exported(layer, x):
    dims = {0: torch.export.Dim("n"), 2: torch.export.Dim("h"), 3: torch.export.Dim("w")}
    return torch.export.export(layer, (x,), dynamic_shapes=(dims,))


def test_export_with_dynamic_shapes(make):
    layer = TVLayer(3, direction="col", lam=0.1, device=make(1).device)
    program = exported(layer, make(2, 3, 10, 12, dtype=torch.float32))
    x = make(4, 3, 33, 7, dtype=torch.float32)
    assert torch.equal(program.module()(x), layer(x))


def compile_and_load(program, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of its own parts
        package = torch._inductor.aoti_compile_and_package(
            program, package_path=str(folder / "layer.pt2")
        )
        return torch._inductor.aoti_load_package(package)


def test_aot_inductor_package_gives_the_same(make, tmp_path):
    layer = TVLayer(3, direction="row", lam=0.1, learnable=False, device=make(1).device)
    program = exported(layer, make(2, 3, 10, 12, dtype=torch.float32))
    loaded = compile_and_load(program, tmp_path)
    x = make(4, 3, 9, 33, dtype=torch.float32)
    assert torch.equal(loaded(x), layer(x))
