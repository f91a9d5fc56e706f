# Specific to GPUs: streams, graphs, launches, no waiting, bad values as NaN.
# (All other test_torch files run on CUDA too, through the `device` fixture.)
import pytest
import torch
from torch_support import why_no_cuda

import tautstring
from tautstring import TVLayer, _extension

pytestmark = pytest.mark.skipif(why_no_cuda() is not None, reason=str(why_no_cuda()))


def noise(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator).to("cuda", dtype)


def work_on_device(function):
    """The names of all device activities of a call: kernels, copies, fills."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    function()
    torch.cuda.synchronize()
    # One cycle of events; torch warns about more if they are not accumulated.
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiled:
        function()
        torch.cuda.synchronize()
    return [event.name for event in profiled.events() if event.device_type == DeviceType.CUDA]


@pytest.mark.parametrize("n", [32, 1024])
def test_a_call_is_one_launch(n):
    x = noise(64, n)
    assert len(work_on_device(lambda: tautstring.prox_tv1d(x, 0.3))) == 1
    lam = torch.full((64, 1), 0.3, device="cuda")
    assert len(work_on_device(lambda: tautstring.prox_tv1d(x, lam))) == 1


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype:UserWarning")
@pytest.mark.parametrize("direction", ["2d", "row"])
def test_neither_forward_nor_backward_waits_for_the_device(direction):
    layer = TVLayer(3, direction=direction, device="cuda")
    x = noise(2, 3, 16, 32).requires_grad_()
    try:
        torch.cuda.set_sync_debug_mode("error")
        layer(x).square().sum().backward()
        tautstring.prox_tv1d(x, torch.tensor(0.3))  # on the CPU, read on the host
        tautstring.prox_tv2d(x, (torch.tensor(0.3), 0.2), return_info=True)
        tautstring.prox_tv2d(x, 0.3, method="accelerated", tol=1e-4).square().sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert layer.raw_lam.grad.isfinite().all()


def test_results_agree_with_the_cpu():
    x, grad_y = noise(20, 300, dtype=torch.float64), noise(20, 300, dtype=torch.float64)
    results = []
    for device in ("cpu", "cuda"):
        arguments = [x.to(device).requires_grad_(), torch.full((1,), 0.3, device=device)]
        arguments[1].requires_grad_()
        y = tautstring.prox_tv1d(*arguments)
        gradients = torch.autograd.grad(y, arguments, grad_y.to(device))
        results.append([t.detach().cpu() for t in (y, *gradients)])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("n", [20, 3000])
@pytest.mark.parametrize("solver", ["newton", tautstring.Newton(iterations=1)], ids=str)
def test_newton_agrees_with_the_cpu(n, solver):
    x, grad_y = noise(20, n, dtype=torch.float64), noise(20, n, dtype=torch.float64).cos()
    results = []
    for device in ("cpu", "cuda"):
        arguments = [x.to(device).requires_grad_(), torch.full((1,), 0.3, device=device)]
        arguments[1].requires_grad_()
        y, info = tautstring.prox_tv1d(*arguments, solver=solver, return_info=True)
        assert all(part.device == y.device for part in info)
        gradients = torch.autograd.grad(y, arguments, grad_y.to(device))
        results.append([t.detach().cpu() for t in (y, *gradients, info.converged, info.dual)])
    torch.testing.assert_close(*results)


IMAGE_SOLVERS = {
    "dykstra": {},
    "accelerated": {"method": "accelerated"},
    "unrolled": {"method": "accelerated", "tol": 1e-6, "grad": "unrolled"},
    "implicit": {"method": "accelerated", "tol": 1e-9, "iterations": 400},
}


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
@pytest.mark.parametrize("solver", IMAGE_SOLVERS)
@pytest.mark.parametrize("shape", [(6, 20, 30), (1, 70, 130), (4, 32, 32), (4, 56, 56)], ids=str)
def test_images_agree_with_the_cpu(shape, solver, mode):
    x, grad_y = noise(*shape, dtype=torch.float64), noise(*shape, dtype=torch.float64).cos()
    tangents = (grad_y, torch.ones(()).double(), torch.ones(shape[-1]).double())
    results = []
    for device in ("cpu", "cuda"):
        lams = torch.tensor(0.3).double(), torch.linspace(0.2, 0.6, shape[-1]).double()
        arguments = [t.to(device).requires_grad_() for t in (x, *lams)]

        def solve(x, rows, columns):
            return tautstring.prox_tv2d(x, (rows, columns), mode=mode, **IMAGE_SOLVERS[solver])

        y = solve(*arguments)
        gradients = torch.autograd.grad(y, arguments, grad_y.to(device))
        plain = tuple(argument.detach() for argument in arguments)
        _, tangent = torch.func.jvp(solve, plain, tuple(t.to(device) for t in tangents))
        results.append([t.detach().cpu() for t in (y, *gradients, tangent)])
    torch.testing.assert_close(*results)


def test_reports_of_images_agree_with_the_cpu():
    x = noise(6, 20, 30, dtype=torch.float64)
    options = {"method": "accelerated", "tol": 1e-5, "return_info": True}
    _, info = tautstring.prox_tv2d(x, 0.3, **options)
    _, expected = tautstring.prox_tv2d(x.cpu(), 0.3, **options)
    assert all(part.is_cuda for part in info)
    torch.testing.assert_close([part.cpu() for part in info], list(expected))


def test_an_image_with_a_bad_value_is_nan_alone():
    x = noise(4, 20, 30)
    lam = torch.full((4, 1, 1), 0.3, device="cuda")
    clean = tautstring.prox_tv2d(x, lam)
    lam[2] = -1
    y = tautstring.prox_tv2d(x, lam)
    assert y[2].isnan().all()
    assert torch.equal(y[[0, 1, 3]], clean[[0, 1, 3]])
    with pytest.raises(ValueError, match=r"^lam: must be >= 0 and not NaN, got -1 at index 2$"):
        tautstring.prox_tv2d(x, lam, check=True)
    with pytest.raises(ValueError, match=r"^lam_cols: must be >= 0 and not NaN, got -1 at index 2"):
        tautstring.prox_tv2d(x, (0.3, lam), check=True)
    with pytest.raises(ValueError, match="lam_rows: must be >= 0 and not NaN, got -1"):
        tautstring.prox_tv2d(x, (-1.0, lam))


def test_a_pair_on_the_cpu_is_read_on_the_host_and_has_all_derivatives():
    x = noise(4, 20, 30, dtype=torch.float64)

    def solve(rows, columns):
        return tautstring.prox_tv2d(x, (rows, columns))

    lams, tangents = ([torch.tensor(v).double() for v in pair] for pair in ((0.3, 0.5), (1, 2)))
    on_device = [[lam.cuda() for lam in pair] for pair in (lams, tangents)]
    _, expected = torch.func.jvp(solve, *map(tuple, on_device))
    _, result = torch.func.jvp(solve, tuple(lams), tuple(tangents))
    assert expected.abs().max() > 0
    assert torch.equal(result, expected)
    recorded = [lam.requires_grad_() for lam in lams]
    gradients = torch.autograd.grad(solve(*recorded).square().sum(), recorded)
    recorded = [lam.requires_grad_() for lam in on_device[0]]
    expected = torch.autograd.grad(solve(*recorded).square().sum(), recorded)
    torch.testing.assert_close(gradients, tuple(g.cpu() for g in expected))


def test_memory_of_a_step_on_images_is_the_partitions_then_the_gradient():
    x = noise(64, 128, 128).requires_grad_()
    size, small = x.numel() * x.element_size(), 16384
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    loss = tautstring.prox_tv2d(x, 0.3).sum()
    kept = torch.cuda.memory_allocated() - before
    assert size // 2 <= kept <= size // 2 + small  # 4 iterations of 4 bits per pixel
    loss.backward()
    left = torch.cuda.memory_allocated() - before
    assert size <= left <= size + small


def test_work_is_ordered_on_the_current_stream():
    x = noise(256, 1024)
    expected = tautstring.prox_tv1d(x + 1, 0.3)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)  # x + 1 is late; only stream order makes y right
        y = tautstring.prox_tv1d(x + 1, 0.3)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(y, expected)


@pytest.mark.parametrize("direction", ["2d", "row"])
def test_a_training_step_can_be_captured_in_a_graph(direction):
    layer = TVLayer(3, direction=direction, lam=0.2, device="cuda")
    x = noise(2, 3, 16, 32).requires_grad_()

    def step():
        x.grad = layer.raw_lam.grad = None
        y = layer(x)
        y.square().sum().backward()
        return [y.detach(), x.grad, layer.raw_lam.grad]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()  # what only a first call does is not for the graph
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        captured = step()
    for scale in (1.0, 3.0):
        with torch.no_grad():
            x.copy_(scale * noise(2, 3, 16, 32))
        expected = step()
        graph.replay()
        torch.testing.assert_close(captured, expected, rtol=0, atol=0)


def test_a_row_with_a_bad_value_is_nan_alone():
    x = noise(4, 50)
    lam = torch.full((4, 1), 0.3, device="cuda")
    clean = tautstring.prox_tv1d(x, lam)
    lam[2] = -1
    y = tautstring.prox_tv1d(x, lam)
    assert y[2].isnan().all()
    assert torch.equal(y[[0, 1, 3]], clean[[0, 1, 3]])


def test_check_asks_for_the_error():
    x = noise(4, 50)
    lam = torch.full((4, 1), 0.3, device="cuda")
    assert torch.equal(tautstring.prox_tv1d(x, lam, check=True), tautstring.prox_tv1d(x, lam))
    lam[2] = -1
    with pytest.raises(ValueError, match=r"^lam: must be >= 0 and not NaN, got -1 at index 2$"):
        tautstring.prox_tv1d(x, lam, check=True)
    weight = torch.ones(50, device="cuda")
    weight[7] = float("inf")
    with pytest.raises(ValueError, match=r"^weight: must be >= 0 and finite, got inf at index 7$"):
        tautstring.prox_tv1d(x, 0.3, weight=weight, check=True)


def test_a_number_is_checked_in_any_case():
    with pytest.raises(ValueError, match="lam: must be >= 0 and not NaN, got -1"):
        tautstring.prox_tv1d(noise(4, 50), -1.0)


def test_lam_without_dimensions_on_the_cpu_is_a_number_with_a_gradient():
    x = noise(4, 50)
    lam = torch.tensor(0.3, requires_grad=True)
    on_device = lam.detach().cuda().requires_grad_()
    tautstring.prox_tv1d(x, lam).square().sum().backward()
    tautstring.prox_tv1d(x, on_device).square().sum().backward()
    torch.testing.assert_close(lam.grad, on_device.grad.cpu())


@pytest.mark.parametrize("weighted", [False, True])
def test_lam_without_dimensions_on_the_cpu_has_all_derivatives(weighted):
    x = noise(4, 50, dtype=torch.float64)
    weight = noise(50, dtype=torch.float64).abs() + 0.5 if weighted else None

    def solve(lam):
        return tautstring.prox_tv1d(x, lam, weight=weight)

    def loss(lam):
        return solve(lam.square()).sin().sum()

    lam, tangent = (torch.tensor(value, dtype=torch.float64) for value in (0.3, 1.5))
    _, expected = torch.func.jvp(solve, (lam.cuda(),), (tangent.cuda(),))
    _, result = torch.func.jvp(solve, (lam,), (tangent,))
    assert expected.abs().max() > 0
    assert torch.equal(result, expected)
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            second = outer(inner(loss))
            # A gradient is where lam is, a forward derivative where the loss is.
            is_gradient = torch.func.jacrev in (outer, inner)
            assert second(lam).is_cpu == is_gradient
            torch.testing.assert_close(second(lam).cpu(), second(lam.cuda()).cpu())


def test_no_op_takes_a_host_tensor_for_one_of_the_device():
    x = noise(4, 50)
    _, partition = torch.ops.tautstring.prox_tv1d.number(x, 0.3, None, 1, False, True)
    push, pull = _extension.jvp, _extension.backward
    options = (1, False, 50, x.dtype)
    for tangents in ((x.cpu(), None), (None, torch.ones(1)), (x, torch.tensor(1.0))):
        with pytest.raises(RuntimeError, match="must be on partition's device cuda:0, got cpu"):
            push(partition, None, None, None, *tangents, None, *options)
    wanted = (1, (), x.dtype, True, True)
    with pytest.raises(RuntimeError, match="partition: must be on grad_y's device cuda:0, got cpu"):
        pull(x, partition.cpu(), 1, False, x.dtype, *wanted)
    with pytest.raises(RuntimeError, match="weight: must be on grad_y's device cuda:0, got cpu"):
        _extension.weighted_backward(x, partition, x, x, torch.ones(50), 1, False, *wanted, False)


@pytest.mark.parametrize("with_dual", [False, True])
def test_the_gap_of_any_image_is_that_on_the_cpu(with_dual):
    x = noise(3, 40, 50)
    y, info = tautstring.prox_tv2d(x, 0.3, return_info=True)
    dual = info.dual if with_dual else None
    gap = tautstring.gap2d(x, y, 0.3, dual=dual)
    expected = tautstring.gap2d(x.cpu(), y.cpu(), 0.3, dual=dual.cpu() if with_dual else None)
    torch.testing.assert_close(gap.cpu(), expected, rtol=1e-9, atol=1e-12)


def test_arguments_on_another_device_raise():
    with pytest.raises(ValueError, match="lam: must be on x's device cuda:0, got cpu"):
        tautstring.prox_tv1d(noise(4, 50), torch.ones(4, 1))
    with pytest.raises(ValueError, match="lam: must be on x's device cpu, got cuda:0"):
        tautstring.prox_tv1d(noise(4, 50).cpu(), torch.ones(4, 1, device="cuda"))
    with pytest.raises(ValueError, match="weight: must be on x's device cuda:0, got cpu"):
        tautstring.prox_tv1d(noise(4, 50), 0.3, weight=torch.ones(50))
    with pytest.raises(ValueError, match="lam_rows: must be on x's device cuda:0, got cpu"):
        tautstring.prox_tv2d(noise(4, 50), (torch.ones(4, 1), 1.0))
    with pytest.raises(ValueError, match="start: must be on x's device cuda:0, got cpu"):
        tautstring.prox_tv2d(noise(4, 50), 1.0, start=torch.ones(4, 50))
    with pytest.raises(ValueError, match="start: must be on x's device cuda:0, got cpu"):
        tautstring.prox_tv1d(noise(4, 50), 1.0, solver="newton", start=torch.ones(4, 49))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_a_tensor_on_the_second_device_is_solved_there():
    x = noise(4, 50)
    y = tautstring.prox_tv1d(x.to("cuda:1"), 0.3)
    assert y.device == torch.device("cuda:1")
    assert torch.equal(y.cpu(), tautstring.prox_tv1d(x, 0.3).cpu())
    assert torch.cuda.current_device() == 0


def test_memory_of_a_step_is_the_partition_then_the_gradient():
    x = noise(4096, 1024).requires_grad_()
    size, small = x.numel() * x.element_size(), 4096
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    loss = tautstring.prox_tv1d(x, 0.3).sum()  # which itself keeps neither y nor x
    kept = torch.cuda.memory_allocated() - before
    assert size // 16 <= kept <= size // 16 + small
    loss.backward()
    left = torch.cuda.memory_allocated() - before
    assert size <= left <= size + small
