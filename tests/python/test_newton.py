# tautstring.numpy.prox_tv1d by the Newton solver: the answer, what is reported, shapes, gradients,
# bad arguments.
import numpy as np
import pytest
import tolerances
from optimality import violation
from test_bad_input import assert_raises
from test_gradients import central_difference

import tautstring.numpy as tn

MODES = ["smooth", "sharp"]
SOLVERS = {
    "plain": "newton",
    "halving": tn.Newton(line_search="halving"),
    "cut": tn.Newton(iterations=1),
}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0, 10.0])
def test_solution_fulfils_the_optimality_conditions(signal, solver, lam):
    y = tn.prox_tv1d(signal, lam, solver=solver)
    assert violation(signal, y, lam) < 1e-12


def test_penalty_for_each_edge_fulfils_the_optimality_conditions(signal, rng, solver):
    lam = rng.uniform(0.1, 1, signal.size - 1)
    assert violation(signal, tn.prox_tv1d(signal, lam, solver=solver), lam) < 1e-12


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_it_agrees_with_the_direct_solver(batch, solver, dtype, mode):
    x = batch.astype(dtype)
    y = tn.prox_tv1d(x, 0.5, mode=mode, solver=solver)
    assert y.dtype == dtype and y.flags.c_contiguous
    expected = tn.prox_tv1d(x.astype(np.float64), 0.5, mode=mode)
    np.testing.assert_allclose(y, expected, rtol=0, atol=tolerances.for_values(y, x))


def test_a_report_tells_how_each_row_ended(batch):
    y, info = tn.prox_tv1d(batch, 0.5, solver="newton", return_info=True)
    assert info.converged.all() and info.converged.shape == (3, 4)
    assert np.all(info.iterations >= 1) and info.iterations.dtype == np.int32
    assert info.gap.shape == (3, 4) and np.all(np.abs(info.gap) < 1e-12)
    np.testing.assert_allclose(info.dual, np.cumsum(batch - y, -1)[..., :-1], rtol=0, atol=1e-12)


def test_polish_finishes_what_has_not_converged(signal):
    options = {"solver": tn.Newton(iterations=1), "return_info": True}
    rough, info = tn.prox_tv1d(signal, 5.0, polish=False, **options)
    assert not info.converged and info.gap > 1e-6
    assert violation(signal, rough, 5.0) > 1e-6
    polished, info = tn.prox_tv1d(signal, 5.0, **options)
    assert not info.converged
    assert violation(signal, polished, 5.0) < 1e-12


def test_dual_is_where_a_later_call_starts(batch):
    options = {"solver": "newton", "return_info": True}
    y, cold = tn.prox_tv1d(batch, 0.5, **options)
    again, warm = tn.prox_tv1d(batch, 0.5, start=cold.dual, **options)
    assert np.all(warm.iterations < cold.iterations)
    np.testing.assert_allclose(again, y, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (0, 3), (4, 3, 6)])
def test_any_shape_along_any_dim(rng, shape):
    x = np.asarray(rng.normal(0, 1, shape))
    for dim in range(max(len(shape), 1)):
        y, info = tn.prox_tv1d(x, 0.4, dim=dim, solver="newton", return_info=True)
        np.testing.assert_allclose(y, tn.prox_tv1d(x, 0.4, dim=dim), rtol=0, atol=1e-12)
        sizes = np.atleast_1d(x).shape
        batch = (*sizes[:dim], *sizes[dim + 1 :])
        assert all(part.shape == batch for part in info[:3])
        edges = max(sizes[dim] - 1, 0)
        assert info.dual.shape == (*sizes[:dim], edges, *sizes[dim + 1 :])
        again = tn.prox_tv1d(x, 0.4, dim=dim, solver="newton", start=info.dual)
        np.testing.assert_allclose(again, y, rtol=0, atol=1e-12)


def test_views_give_the_bits_of_their_copies(rng):
    x, start = rng.normal(0, 1, (8, 13))[::-1, ::2], rng.normal(0, 1, (8, 12))[::-1, ::2]
    y = tn.prox_tv1d(x, 0.3, solver="newton", start=start)
    expected = tn.prox_tv1d(x.copy(), 0.3, solver="newton", start=start.copy())
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("threads", [2, 5, None])
def test_number_of_threads_does_not_change_the_bits(rng, threads):
    x = rng.normal(0, 1, (300, 100))
    expected = tn.prox_tv1d(x, 0.5, solver="newton", threads=1)
    y = tn.prox_tv1d(x, 0.5, solver="newton", threads=threads)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lam_shape", [(), (2, 1), (11,)])
def test_gradients_match_central_differences(rng, solver, mode, lam_shape):
    x, lam = rng.normal(0, 1, (3, 2, 12)), rng.uniform(0.2, 0.6, lam_shape)
    grad_y = rng.normal(0, 1, x.shape)
    options = {"mode": mode, "solver": solver, "start": rng.normal(0, 0.1, (3, 2, 11))}

    def loss(x, lam):
        return np.sum(grad_y * tn.prox_tv1d(x, lam, **options))

    y, pullback = tn.prox_tv1d_vjp(x, lam, **options)
    np.testing.assert_array_equal(y, tn.prox_tv1d(x, lam, **options))
    gradients = pullback(grad_y)
    close = {"rtol": 0, "atol": tolerances.CENTRAL_DIFFERENCE}
    np.testing.assert_allclose(gradients.x, central_difference(lambda v: loss(v, lam), x), **close)
    expected = central_difference(lambda v: loss(x, v), lam)
    np.testing.assert_allclose(gradients.lam, expected, **close)
    assert gradients.weight is None


X = np.zeros((3, 5))


@pytest.mark.parametrize("solver", ["direct", "newton"])
@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (1, 1)])
def test_beside_a_single_sample_lam_is_a_number(solver, shape):
    message = f"lam: must not have more dimensions than x, got {len(shape)}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(3.0, np.ones(shape), solver=solver))
    assert tn.prox_tv1d(3.0, np.ones(()), solver=solver) == 3


def test_bad_arguments_raise_by_name():
    def solve(**options):
        return lambda: tn.prox_tv1d(X, 1.0, **{"solver": "newton", **options})

    message = "solver: must be 'direct', 'newton' or a Newton, got 'fast'"
    assert_raises(ValueError, message, solve(solver="fast"))
    assert_raises(ValueError, message, lambda: tn.prox_tv1d_vjp(X, 1.0, solver="fast"))
    message = "weight: must be None with solver='newton', got ndarray"
    assert_raises(ValueError, message, solve(weight=X))
    message = "start: must be None with solver='direct', got ndarray"
    assert_raises(ValueError, message, solve(solver="direct", start=X))
    message = "polish: must be True with solver='direct', got False"
    assert_raises(ValueError, message, solve(solver="direct", polish=False))
    message = "return_info: must be False with solver='direct', got True"
    assert_raises(ValueError, message, solve(solver="direct", return_info=True))
    message = "start: must have size n - 1 (one per edge) along dim, got 5"
    assert_raises(ValueError, message, solve(start=X))
    assert_raises(TypeError, "start: dtype must be float16", solve(start="text"))
    message = "lam: must be >= 0 and not NaN, got -1"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, -1.0, solver="newton"))
    message = "iterations: must be an integer >= 1, got 0"
    assert_raises(ValueError, message, lambda: tn.Newton(iterations=0))
    message = "tol: must be >= 0 and finite, got -1"
    assert_raises(ValueError, message, lambda: tn.Newton(tol=-1))
    message = "line_search: must be 'interpolation' or 'halving', got None"
    assert_raises(ValueError, message, lambda: tn.Newton(line_search=None))
