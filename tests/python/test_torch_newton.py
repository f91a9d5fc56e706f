# tautstring.prox_tv1d by the Newton solver: values, what is reported, starts, shapes,
# special values, bad arguments.
import numpy as np
import pytest
import torch
from test_torch_bad_input import assert_raises
from torch_support import DTYPES, assert_close

import tautstring
import tautstring.numpy as tn
from tautstring import Newton, TVLayer

MODES = ["smooth", "sharp"]
# Rows that converge, and rows that the direct solver has to finish.
SOLVERS = {"plain": "newton", "halving": Newton(line_search="halving"), "cut": Newton(iterations=1)}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


def solve(x, lam, solver="newton", **options):
    return tautstring.prox_tv1d(x, lam, solver=solver, **options)


def objective(x, y, lam):
    return (y - x).square().sum(-1) / 2 + (lam * y.diff().abs()).sum(-1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_it_agrees_with_the_direct_solver(make, solver, dtype, mode):
    for n in (50, 1000):
        x = make(6, n, dtype=dtype)
        y = solve(x, 0.7, solver, mode=mode)
        assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
        assert_close(y, tautstring.prox_tv1d(x.double(), 0.7, mode=mode), x)


def test_certificate_proves_the_solution(make, solver):
    x = make(6, 1000)
    for lam in (0.1, 1.0, 30.0):
        violation = tautstring.certificate1d(x, solve(x, lam, solver), lam)
        assert float(violation.max()) <= 1000 * torch.finfo(x.dtype).eps


@pytest.mark.parametrize("lam_shape", [(), (1,), (3, 1), (2, 1, 1), (11,), (2, 1, 11), (2, 3, 11)])
def test_lam_one_a_row_one_an_edge_and_shared(make, make_positive, solver, lam_shape):
    x, lam = make(2, 3, 12), make_positive(*lam_shape)
    assert_close(solve(x, lam, solver), tautstring.prox_tv1d(x, lam), x)


@pytest.mark.parametrize("dim", [-1, 0, 1, -2])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (0, 5), (5, 0), (4, 3, 6), (2, 1, 3, 4, 5)])
def test_any_shape_along_any_dim(make, shape, dim):
    x = make(*shape)
    y, info = solve(x, 0.4, dim=dim, return_info=True)
    if x.numel():
        assert_close(y, tautstring.prox_tv1d(x, 0.4, dim=dim), x)
    batch = x.movedim(dim, -1).shape[:-1]
    assert info.iterations.shape == info.gap.shape == info.converged.shape == batch
    assert info.dual.movedim(dim, -1).shape == (*batch, max(shape[dim] - 1, 0))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,)])
def test_tiny_rows(make, shape):
    x = make(*shape)
    y, info = solve(x, 0.4, return_info=True)
    assert torch.equal(y, tautstring.prox_tv1d(x, 0.4))
    assert info.gap.shape == () and info.dual.numel() == max(x.numel() - 1, 0)
    assert torch.equal(solve(x, 0.4, start=info.dual), y)


def test_numpy_gives_the_same(make, solver):
    x = make(3, 200)
    y, info = solve(x, 0.4, solver, return_info=True)
    options = {"solver": solver, "return_info": True}
    expected, expected_info = tn.prox_tv1d(x.cpu().numpy(), 0.4, **options)
    assert_close(y.cpu(), torch.from_numpy(expected), x)
    assert info.converged.tolist() == expected_info.converged.tolist()
    if x.is_cpu:
        for part, other in zip(info, expected_info, strict=True):
            assert torch.equal(part, torch.from_numpy(np.asarray(other)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_report_has_these_dtypes(make, dtype):
    _, info = solve(make(3, 20, dtype=dtype), 0.4, return_info=True)
    dtypes = [torch.int32, torch.float64, torch.bool, torch.float64]
    assert [part.dtype for part in info] == dtypes


def test_dual_is_the_sum_of_what_was_taken_away(make):
    x = make(6, 200)
    y, info = solve(x, 0.7, return_info=True)
    torch.testing.assert_close(info.dual, (x - y).cumsum(-1)[:, :-1], rtol=0, atol=1e-12)
    assert (info.dual.abs() <= 0.7).all()
    assert (info.dual.abs() == 0.7).any()


def test_the_gap_of_what_has_converged_is_nothing_but_rounding(make):
    x = make(6, 200)
    y, info = solve(x, 0.7, return_info=True)
    assert info.converged.all() and (info.iterations >= 1).all()
    assert (info.gap <= 1e-14 * objective(x, y, 0.7)).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_report_is_about_what_is_returned(make, dtype, mode):
    x = (100 + make(6, 200).sigmoid()).to(dtype)
    y, info = solve(x, 0.01, Newton(tol=1e-4), mode=mode, return_info=True)
    wide, y = x.double(), y.double()
    smooth = 2 * wide - y if mode == "sharp" else y
    at_y = objective(wide, smooth, 0.01)
    excess = at_y - objective(wide, tautstring.prox_tv1d(wide, 0.01), 0.01)
    assert (info.gap >= excess - 1e-12 * at_y).all()
    assert torch.equal(info.converged, info.gap <= 1e-4 * at_y)
    assert not info.converged.any() if dtype.itemsize == 2 else info.converged.all()


@pytest.mark.parametrize("tol", [0, 1e-3])
def test_gap_bounds_what_is_above_the_optimum(make, tol):
    x = make(6, 200)
    optimum = objective(x, tautstring.prox_tv1d(x, 5.0), 5.0)
    cut = Newton(iterations=1, tol=tol)
    y, info = solve(x, 5.0, cut, polish=False, return_info=True)
    excess = objective(x, y, 5.0) - optimum
    assert (excess > 1e-6).any()  # else nothing is bounded here
    assert (info.gap >= excess - 1e-12 * optimum).all()


def test_polish_finishes_what_has_not_converged(make):
    x = make(6, 200)
    cut = Newton(iterations=1)
    rough, info = solve(x, 5.0, cut, polish=False, return_info=True)
    is_rough = ~info.converged
    assert is_rough.sum() >= 4 and info.iterations.tolist() == [1] * 6
    assert (tautstring.certificate1d(x, rough, 5.0)[is_rough] > 1e-6).all()
    polished, info = solve(x, 5.0, cut, return_info=True)
    assert torch.equal(~info.converged, is_rough)
    assert (tautstring.certificate1d(x, polished, 5.0) < 1e-12).all()


def test_each_row_stops_by_itself(make):
    x = make(8, 200)
    x[::2] = 0.01 * x[::2]  # nearly constant: all of it is one segment
    _, info = solve(x, 1.0, return_info=True)
    assert info.converged.all()
    assert (info.iterations[::2] < info.iterations[1::2]).all()


def test_dual_is_where_a_later_call_starts(make):
    x = make(6, 200)
    _, cold = solve(x, 1.0, return_info=True)
    near = x + 1e-3 * make(6, 200)
    for later, most in ((x, 1), (near, int(cold.iterations.min()) - 1)):
        again, warm = solve(later, 1.0, start=cold.dual, return_info=True)
        assert warm.converged.all() and (warm.iterations <= most).all()
        assert_close(again, tautstring.prox_tv1d(later, 1.0), x)


def test_any_start_leads_to_the_solution(make):
    x = make(4, 50)
    bad = make(4, 49)
    bad[1], bad[2, 7], bad[3] = float("nan"), float("inf"), 1e30
    for start in (torch.zeros_like(bad), 100 * make(4, 49), bad, bad.float(), make(49, 4).t()):
        assert_close(solve(x, 0.5, start=start), tautstring.prox_tv1d(x, 0.5), x)


def test_neither_the_report_nor_a_gradient_changes_a_bit(make, solver):
    x = make(4, 200, dtype=torch.float32)
    y = solve(x, 0.5, solver)
    reported, info = solve(x, 0.5, solver, return_info=True)
    recorded, again = solve(x.clone().requires_grad_(), 0.5, solver, return_info=True)
    assert torch.equal(reported, y) and torch.equal(recorded, y)
    assert torch.equal(solve(x.clone().requires_grad_(), 0.5, solver), y)
    assert all(torch.equal(a, b) for a, b in zip(info, again, strict=True))


def test_rows_do_not_depend_on_their_batch(make):
    x = make(70, 60, dtype=torch.float32)
    y, info = solve(x, 0.5, return_info=True)
    for i in (0, 33, 69):
        alone, own = solve(x[i], 0.5, return_info=True)
        assert torch.equal(y[i], alone)
        assert all(torch.equal(part[i], other) for part, other in zip(info, own, strict=True))


def test_the_same_bits_for_any_number_of_threads(make):
    x = make(700, 64)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            results.append(solve(x, 0.3))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(results[0], result) for result in results)


def test_views_give_the_bits_of_their_copies(make):
    x, start = make(8, 12), 0.1 * make(8, 11)
    for view, other in ((x.t(), start.t()), (x[::2, 1::3], start[::2, 1::4]), (x[1:], start[1:])):
        dim = 0 if view.shape[0] > other.shape[0] else 1
        expected = solve(view.contiguous(), 0.3, dim=dim, start=other.contiguous())
        assert torch.equal(solve(view, 0.3, dim=dim, start=other), expected)


def test_lam_zero_copies_bit_for_bit_beside_others(make):
    x = make(4, 30, dtype=torch.float32)
    x[0, 1], x[2, 3] = -0.0, float("nan")
    lam = torch.tensor([0, 0.3, 0, 0.5], device=x.device)[:, None]
    for given in (lam, lam.expand(4, 29)):
        y, info = solve(x, given, return_info=True)
        assert torch.equal(y[::2].view(torch.int32), x[::2].view(torch.int32))
        assert_close(y[1::2], tautstring.prox_tv1d(x[1::2], lam[1::2]), x[1::2])
        assert info.iterations[::2].tolist() == info.gap[::2].tolist() == [0, 0]
        assert not info.converged[::2].any()
        assert info.converged[1::2].all()


def test_an_edge_of_lam_zero_parts_a_row(make):
    x, lam = make(3, 30), torch.full((29,), 0.5, dtype=torch.float64)
    lam[12] = 0
    y = solve(x, lam.to(x.device))
    assert_close(y[:, :13], tautstring.prox_tv1d(x[:, :13], 0.5), x)
    assert_close(y[:, 13:], tautstring.prox_tv1d(x[:, 13:], 0.5), x)


def test_lam_inf_gives_the_mean(make, solver):
    x = make(3, 12)
    mean = x.mean(-1, keepdim=True).expand_as(x)
    assert_close(solve(x, float("inf"), solver), mean, x)
    assert_close(solve(x, 1e300, solver), mean, x)


def test_row_that_is_not_finite_comes_out_nan_alone(make):
    x = make(4, 12)
    clean = solve(x, 0.3)
    x[1, 5], x[2, 0] = float("nan"), float("inf")
    y, info = solve(x, 0.3, return_info=True)
    assert y[1:3].isnan().all()
    assert torch.equal(y[[0, 3]], clean[[0, 3]])
    assert info.converged.tolist() == [True, False, False, True]
    assert info.gap.isnan().tolist() == [False, True, True, False]


@pytest.mark.parametrize("low, high", [(0, 1e-3), (0, 255), (1e6, 1e6 + 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_it_converges_whatever_the_scale_of_the_data(make, dtype, low, high):
    x = (low + (high - low) * torch.sigmoid(make(6, 300))).to(dtype)
    lam = 0.3 * (high - low)
    y, info = solve(x, lam, return_info=True)
    assert info.converged.all()
    assert_close(y, tautstring.prox_tv1d(x.double(), lam), x)


@pytest.mark.parametrize("direction", ["row", "col", "1d"])
def test_layers_of_rows_take_the_solver(make, solver, direction):
    x = make(*((2, 3, 7) if direction == "1d" else (2, 3, 5, 6)), requires_grad=True)
    layers = [
        TVLayer(3, direction=direction, lam=0.3, solver=each).to(x.device, x.dtype)
        for each in (solver, "direct")
    ]
    results = []
    for layer in layers:
        y = layer(x)
        results.append([y, *torch.autograd.grad(y.square().sum(), (x, layer.raw_lam))])
    torch.testing.assert_close(*results, rtol=0, atol=1e-11)
    assert f"solver={solver!r}" in repr(layers[0]) and "solver" not in repr(layers[1])


def test_a_solver_is_a_value():
    assert Newton() == Newton(iterations=100, tol=0, line_search="interpolation")
    assert Newton is tn.Newton
    with pytest.raises(AttributeError):
        Newton().tol = 1.0


X = torch.zeros(3, 5)


@pytest.mark.parametrize("value", ["other", None, ["newton"], np.array(["a", "b"]), 1], ids=str)
def test_an_unknown_solver_raises(value):
    message = f"solver: must be 'direct', 'newton' or a Newton, got {value!r}"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, value))
    assert_raises(ValueError, message, lambda: TVLayer(1, direction="row", solver=value))


@pytest.mark.parametrize("given", ["newton", Newton()], ids=str)
def test_newton_has_no_data_weights(given):
    message = "weight: must be None with solver='newton', got Tensor"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, given, weight=torch.ones(5)))


def test_the_direct_solver_refuses_what_it_has_no_use_for():
    for name, value, message in (
        ("start", torch.zeros(3, 4), "start: must be None with solver='direct', got Tensor"),
        ("polish", False, "polish: must be True with solver='direct', got False"),
        ("return_info", True, "return_info: must be False with solver='direct', got True"),
    ):
        options = {name: value}
        assert_raises(ValueError, message, lambda o=options: tautstring.prox_tv1d(X, 1.0, **o))


def test_layers_of_images_refuse_the_solver():
    message = "solver: only for direction='row', 'col' or '1d', got 'newton'"
    assert_raises(ValueError, message, lambda: TVLayer(1, solver="newton"))


def test_iterations_that_are_no_count_raise():
    for value in (0, -3):
        message = f"iterations: must be an integer >= 1, got {value}"
        assert_raises(ValueError, message, lambda value=value: Newton(iterations=value))
    message = "iterations: must be at most 2147483647, got 2147483648"
    assert_raises(ValueError, message, lambda: Newton(iterations=2**31))
    message = "iterations: must be an integer, got 1.5"
    assert_raises(TypeError, message, lambda: Newton(iterations=1.5))


def test_tolerances_that_are_none_raise():
    for value in (-1e-4, float("nan"), float("inf")):
        message = f"tol: must be >= 0 and finite, got {value:g}"
        assert_raises(ValueError, message, lambda value=value: Newton(tol=value))
    for value in (None, "1"):
        message = f"tol: must be a number, got {value!r}"
        assert_raises(TypeError, message, lambda value=value: Newton(tol=value))


def test_an_unknown_line_search_raises():
    message = "line_search: must be 'interpolation' or 'halving', got 'golden'"
    assert_raises(ValueError, message, lambda: Newton(line_search="golden"))


def test_start_of_another_shape_dtype_or_device_raises():
    message = "start: must have size n - 1 (one per edge) along dim, got 5"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, start=X))
    message = "start: must have the size of x in its batch dimensions"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, start=X[:1, :4]))
    message = "start: must have as many dimensions as x, got 1"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, start=X[0, :4]))
    message = "start: must not have more dimensions than x, got 3"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, start=X[None, :, :4]))
    message = "start: must be on x's device cpu, got meta"
    assert_raises(ValueError, message, lambda: solve(X, 1.0, start=X[:, :4].to("meta")))
    assert_raises(TypeError, "start: must be a tensor, got int", lambda: solve(X, 1.0, start=0))
    message = "start: dtype must be float16, bfloat16, float32 or float64, got torch.int64"
    assert_raises(TypeError, message, lambda: solve(X, 1.0, start=X[:, :4].long()))


@pytest.mark.parametrize("lam, text", [(-1.0, "-1"), (float("nan"), "nan")])
def test_negative_or_nan_lam_raises(lam, text):
    message = f"lam: must be >= 0 and not NaN, got {text}"
    for value in (lam, torch.full((3, 1), lam), torch.tensor(lam, requires_grad=True)):
        assert_raises(ValueError, message, lambda value=value: solve(X, value))
    gradient = torch.func.grad(lambda x: solve(x, lam).sum())
    assert_raises(ValueError, message, lambda: gradient(X))
