# tautstring.numpy.prox_tv2d: the iterations, the gap that proves them, dtypes, shapes, gradients,
# bad arguments.
import numpy as np
import pytest
import tolerances
from test_bad_input import assert_raises
from test_gradients import central_difference

import tautstring.numpy as tn

METHODS = ["dykstra", "accelerated"]
MODES = ["smooth", "sharp"]


def by_passes(x, lam_rows, lam_cols, iterations):
    """The paper's Algorithm 1, by exact 1D solves."""
    q = np.zeros_like(x)
    for _ in range(iterations):
        p = x - q - tn.prox_tv1d(x - q, lam_rows)
        y = tn.prox_tv1d(x - p, lam_cols, dim=-2)
        q = x - p - y
    return y


def objective(x, y, lam):
    penalty = sum(np.abs(np.diff(y, axis=axis)).sum((-2, -1)) for axis in (-2, -1))
    return np.square(y - x).sum((-2, -1)) / 2 + lam * penalty


@pytest.mark.parametrize("iterations", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_iterations_are_passes_over_rows_and_columns(images, dtype, iterations):
    x = images.astype(dtype)
    y = tn.prox_tv2d(x, 0.4, iterations=iterations)
    assert y.dtype == dtype and y.flags.c_contiguous
    expected = by_passes(x.astype(np.float64), 0.4, 0.4, iterations)
    np.testing.assert_allclose(
        y, expected, rtol=0, atol=4 * iterations * tolerances.for_values(y, x)
    )


def test_defaults_are_those_of_the_paper(images):
    np.testing.assert_array_equal(
        tn.prox_tv2d(images, 0.4), tn.prox_tv2d(images, 0.4, method="dykstra", iterations=4)
    )


def test_sharpening_is_the_opposite_step(images):
    y = tn.prox_tv2d(images, 0.4, mode="sharp")
    np.testing.assert_allclose(y, 2 * images - tn.prox_tv2d(images, 0.4), rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_gap_bounds_what_is_above_the_optimum(images, method):
    best = tn.prox_tv2d(images, 0.5, method="accelerated", iterations=2000)
    for iterations in (1, 4, 40):
        y, info = tn.prox_tv2d(images, 0.5, method=method, iterations=iterations, return_info=True)
        assert np.all(info.gap >= objective(images, y, 0.5) - objective(images, best, 0.5) - 1e-12)
        assert info.iterations.tolist() == [iterations] * 3


@pytest.mark.parametrize("mode", MODES)
def test_each_image_stops_within_the_tolerance(images, mode):
    options = {"method": "accelerated", "mode": mode, "return_info": True}
    y, info = tn.prox_tv2d(images, 0.5, tol=1e-6, **options)
    smooth = 2 * images - y if mode == "sharp" else y
    assert info.converged.all() and info.converged.shape == (3,)
    assert np.all(info.gap <= 1e-6 * objective(images, smooth, 0.5) * (1 + 1e-9))
    with pytest.warns(RuntimeWarning, match="3 of 3 images"):
        _, info = tn.prox_tv2d(images, 0.5, tol=1e-12, iterations=4, **options)
    assert not info.converged.any()


def test_dual_is_where_a_later_call_starts(images):
    _, first = tn.prox_tv2d(images, 0.5, method="accelerated", iterations=30, return_info=True)
    assert first.dual.shape == images.shape
    _, cold = tn.prox_tv2d(images, 0.5, iterations=1, return_info=True)
    _, warm = tn.prox_tv2d(images, 0.5, iterations=1, start=first.dual, return_info=True)
    assert np.all(warm.gap < 0.1 * cold.gap)


@pytest.mark.parametrize("dims", [(-2, -1), (2, 1), (0, -1), (1, 0)])
def test_any_two_dims_are_those_of_images(images, dims):
    y = tn.prox_tv2d(images, (0.3, 0.5), dims=dims)
    moved = np.moveaxis(images, dims, (-2, -1)).copy()
    expected = tn.prox_tv2d(moved, (0.3, 0.5))
    np.testing.assert_array_equal(np.moveaxis(y, dims, (-2, -1)), expected)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (0, 5), (5, 0), (2, 0, 3, 4)])
def test_any_shape(shape):
    y, info = tn.prox_tv2d(np.ones(shape), 0.4, return_info=True)
    np.testing.assert_array_equal(y, np.ones(shape))
    assert all(part.shape == shape[:-2] for part in info[:3])


def test_lists_and_integers_are_arrays_too():
    y = tn.prox_tv2d([[0, 8], [0, 8]], 1)
    assert y.dtype == np.float64 and y.tolist() == [[1, 7], [1, 7]]


@pytest.mark.parametrize(
    "row_shape, column_shape", [((), ()), ((3, 1, 1), (11, 1)), ((12, 16), (11, 17)), ((16,), ())]
)
def test_pairs_are_one_an_image_a_line_or_an_edge(images, rng, row_shape, column_shape):
    pair = rng.uniform(0.2, 0.6, row_shape), rng.uniform(0.2, 0.6, column_shape)
    y = tn.prox_tv2d(images, pair)
    np.testing.assert_allclose(y, by_passes(images, *pair, 4), rtol=0, atol=1e-11)


def test_the_result_does_not_depend_on_threads(images):
    y = tn.prox_tv2d(images, 0.3, threads=1)
    for threads in (2, 5, None):
        np.testing.assert_array_equal(tn.prox_tv2d(images, 0.3, threads=threads), y)


def test_reversed_views_give_the_bits_of_their_copies(images):
    view = images[:, ::-1, ::2]
    np.testing.assert_array_equal(tn.prox_tv2d(view, 0.3), tn.prox_tv2d(view.copy(), 0.3))


def test_lam_zero_copies_bit_for_bit():
    x = np.array([[1.0, -0.0, np.inf], [np.nan, 1e-7, 0.0]])
    for mode in MODES:
        y = tn.prox_tv2d(x, 0.0, mode=mode)
        np.testing.assert_array_equal(y.view(np.int64), x.view(np.int64))
        assert tn.prox_tv2d(x, 0.0, mode=mode, return_info=True)[1].converged


SOLVERS = {
    "dykstra": {},
    "accelerated": {"method": "accelerated", "iterations": 5},
    "stopped": {"method": "accelerated", "tol": 1e-4, "grad": "unrolled"},
    "implicit": {"method": "accelerated", "tol": 1e-12, "iterations": 400},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("lam_shapes", [[()], [(2, 1, 1)], [(5,), (3, 6)], [(), (3, 1)]], ids=str)
def test_gradients_match_central_differences(rng, lam_shapes, solver, mode):
    x, grad_y = rng.normal(0, 1, (2, 4, 6)), rng.normal(0, 1, (2, 4, 6))
    lams = [rng.uniform(0.2, 0.6, shape) for shape in lam_shapes]
    options = {"mode": mode, **SOLVERS[solver]}

    def given(lams):
        return lams[0] if len(lams) == 1 else tuple(lams)

    def loss(x, lams):
        return np.sum(grad_y * tn.prox_tv2d(x, given(lams), **options))

    y, pullback = tn.prox_tv2d_vjp(x, given(lams), **options)
    np.testing.assert_array_equal(y, tn.prox_tv2d(x, given(lams), **options))
    gradients = pullback(grad_y)
    close = {"rtol": 0, "atol": tolerances.CENTRAL_DIFFERENCE}
    np.testing.assert_allclose(gradients.x, central_difference(lambda v: loss(v, lams), x), **close)
    grad_lams = gradients.lam if len(lams) == 2 else (gradients.lam,)
    for i, grad_lam in enumerate(grad_lams):
        expected = central_difference(
            lambda v, i=i: loss(x, [*lams[:i], v, *lams[i + 1 :]]), lams[i]
        )
        assert grad_lam.shape == lams[i].shape
        np.testing.assert_allclose(grad_lam, expected, **close)


def test_gradients_have_the_shapes_and_dtypes_of_the_arguments(images):
    x, lam = images.astype(np.float16), np.full((3, 1, 1), 0.5, np.float32)
    _, pullback = tn.prox_tv2d_vjp(x, (lam, 1))
    gradients = pullback(np.ones(x.shape, np.float32))
    assert (gradients.x.shape, gradients.x.dtype) == (x.shape, x.dtype)
    assert (gradients.lam[0].shape, gradients.lam[0].dtype) == (lam.shape, lam.dtype)
    assert (gradients.lam[1].shape, gradients.lam[1].dtype) == ((), np.float64)


def test_pullback_can_be_called_again_and_keeps_nothing_of_the_arrays(images, rng):
    grad_y = rng.normal(0, 1, images.shape)
    y, pullback = tn.prox_tv2d_vjp(images, 0.3)
    once = pullback(grad_y)
    images[:] = y[:] = 7
    np.testing.assert_array_equal(pullback(grad_y).x, once.x)
    np.testing.assert_array_equal(pullback(grad_y).lam, once.lam)


X = np.zeros((2, 3, 5))


def test_bad_arguments_raise_by_name():
    def solve(x=X, lam=1.0, **options):
        return lambda: tn.prox_tv2d(x, lam, **options)

    message = "x: must have at least 2 dimensions, got 1"
    assert_raises(ValueError, message, solve(x=np.zeros(3)))
    assert_raises(TypeError, "x: dtype must be float16", solve(x=np.zeros((3, 3), complex)))
    assert_raises(TypeError, "lam_cols: dtype must be float16", solve(lam=(1.0, "text")))
    assert_raises(TypeError, "start: dtype must be float16", solve(start="text"))
    for bad in (-1.0, np.full((2, 1, 1), -1.0)):
        allowed = "must be >= 0 and not NaN, got -1"
        assert_raises(ValueError, f"lam: {allowed}", solve(lam=bad))
        assert_raises(ValueError, f"lam_rows: {allowed}", solve(lam=(bad, 1.0)))
        assert_raises(ValueError, f"lam_cols: {allowed}", solve(lam=(1.0, bad)))
    message = "lam: must have size 1 along both dims, or be a pair (lam_rows, lam_cols), got shape "
    assert_raises(ValueError, message + "(4,)", solve(lam=np.ones(4)))
    message = "lam: must be one or a pair (lam_rows, lam_cols), got 3"
    assert_raises(ValueError, message, solve(lam=(1.0, 1.0, 1.0)))
    message = "lam_rows: must fit in a float64, got a larger number"
    assert_raises(ValueError, message, solve(lam=(10**400, 1.0)))
    assert_raises(TypeError, "dims: must be a pair of integers, got 1", solve(dims=1))
    message = "dims: must be from -3 to 2 for this x, got 3"
    assert_raises(ValueError, message, solve(dims=(0, 3)))
    message = "dims: must be two different dimensions of x, got (0, -3)"
    assert_raises(ValueError, message, solve(dims=(0, -3)))
    message = "method: must be None, 'dykstra' or 'accelerated', got 'newton'"
    assert_raises(ValueError, message, solve(method="newton"))
    message = "grad: must be None, 'unrolled' or 'implicit', got 'exact'"
    assert_raises(ValueError, message, solve(grad="exact"))
    message = "iterations: must be an integer >= 1, got 0"
    assert_raises(ValueError, message, solve(iterations=0))
    message = "tol: must be None or > 0 and finite, got 0"
    assert_raises(ValueError, message, solve(tol=0))
    message = "start: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, solve(start=X[..., :4]))
    message = "grad_y: must have y's shape (2, 3, 5), got (5,)"
    assert_raises(ValueError, message, lambda: tn.prox_tv2d_vjp(X, 1.0)[1](np.ones(5)))
