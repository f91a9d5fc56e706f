# tautstring.numpy.gap2d: a bound on how far the objective of any image is above the optimum.
import numpy as np
import pytest
from test_bad_input import assert_raises
from test_prox_tv2d import objective

import tautstring.numpy as tn

BEST = {"method": "accelerated", "tol": 1e-14, "iterations": 5000}


@pytest.mark.parametrize("size", [0, 1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_gap_is_not_less_than_the_excess_and_not_much_more(images, rng, dtype, size):
    best, info = tn.prox_tv2d(images, 0.5, return_info=True, **BEST)
    y = (best + rng.normal(0, 1, images.shape) * size).astype(dtype)
    at_y = objective(images, y.astype(np.float64), 0.5)
    excess = at_y - objective(images, best, 0.5)
    gap, by_dual = tn.gap2d(images, y, 0.5), tn.gap2d(images, y, 0.5, dual=info.dual)
    assert gap.shape == (3,) and gap.dtype == np.float64
    assert np.all(gap >= excess - 1e-12 * at_y)
    assert np.all(gap <= 1.01 * excess + 1e-5 * at_y)
    np.testing.assert_allclose(by_dual, excess, rtol=0, atol=1e-12 * at_y.max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"method": "accelerated", "tol": 1e-5}], ids=str)
def test_gap_of_a_result_is_not_more_than_the_one_that_came_with_it(
    images,
    options,
    dtype,
):
    x = images.astype(dtype)
    y, info = tn.prox_tv2d(x, 0.5, return_info=True, **options)
    gap = tn.gap2d(x, y, 0.5, dual=info.dual)
    assert np.all(gap <= info.gap * (1 + 1e-9))


def test_any_dual_gives_a_bound(images, rng):
    best = tn.prox_tv2d(images, 0.5, **BEST)
    excess = objective(images, images, 0.5) - objective(images, best, 0.5)
    for size in (0.1, 1e3, 1e100):
        dual = rng.normal(0, size, images.shape)
        assert np.all(tn.gap2d(images, images, 0.5, dual=dual) >= excess * (1 - 1e-12))
    at_zero = tn.gap2d(images, images, 0.5, dual=np.zeros_like(images))
    dual[1, 2, 3] = np.nan
    assert tn.gap2d(images, images, 0.5, dual=dual)[1] == at_zero[1]


def test_lams_of_edges_any_dims_and_views(images, rng):
    rows, columns = rng.uniform(0, 1, (12, 16)), rng.uniform(0, 1, (3, 11, 1))
    y = tn.prox_tv2d(images, (rows, columns))
    expected = tn.gap2d(images, y, (rows, columns))
    turned = [np.ascontiguousarray(a.transpose(2, 0, 1)).transpose(1, 2, 0) for a in (images, y)]
    np.testing.assert_array_equal(tn.gap2d(*turned, (rows, columns)), expected)
    last = [np.moveaxis(a, 0, -1) for a in (images, y)]
    lams = rows[..., None], np.moveaxis(columns, 0, -1)
    np.testing.assert_array_equal(tn.gap2d(*last, lams, dims=(0, 1)), expected)


def test_without_lam_it_is_half_the_square_of_the_change(images):
    gap = tn.gap2d(images, np.zeros_like(images), 0.0)
    np.testing.assert_allclose(gap, np.square(images).sum((1, 2)) / 2, rtol=1e-14)
    np.testing.assert_array_equal(tn.gap2d(images, images, 0), 0)


def test_what_is_not_finite_has_no_gap(images):
    x, y = images.copy(), images.copy()
    x[0, 1, 2], y[1, 3, 4] = np.nan, np.inf
    np.testing.assert_array_equal(np.isnan(tn.gap2d(x, y, 0.5)), [True, True, False])


def test_lists_empty_batches_and_images_without_pixels():
    assert tn.gap2d([[0, 8]], [[1, 7]], 1) == 0
    assert tn.gap2d([[0, 8]], [[0, 8]], 1) == 1
    assert tn.gap2d(np.zeros((0, 3, 4)), np.zeros((0, 3, 4)), 1.0).shape == (0,)
    np.testing.assert_array_equal(tn.gap2d(np.zeros((2, 0, 4)), np.zeros((2, 0, 4)), 1.0), [0, 0])


def test_bad_arguments_raise_by_name():
    x = np.zeros((2, 3, 5))

    def find(x=x, y=x, lam=1.0, **options):
        return lambda: tn.gap2d(x, y, lam, **options)

    assert_raises(ValueError, "x: must have at least 2 dimensions, got 1", find(x=np.zeros(3)))
    assert_raises(TypeError, "y: dtype must be float16", find(y=x.astype(complex)))
    assert_raises(TypeError, "dual: dtype must be float16", find(dual="text"))
    allowed = "must be >= 0 and not NaN, got -1"
    assert_raises(ValueError, f"lam: {allowed}", find(lam=-1.0))
    assert_raises(ValueError, f"lam_cols: {allowed}", find(lam=(1.0, np.full((2, 1), -1.0))))
    assert_raises(ValueError, "lam: must have size 1 along both dims", find(lam=np.ones(4)))
    assert_raises(ValueError, "dims: must be from -3 to 2", find(dims=(0, 3)))
    assert_raises(ValueError, "y: must have the size of x along dim, got 4", find(y=x[..., :4]))
    assert_raises(
        ValueError, "dual: must have the size of x along dim, got 4", find(dual=x[:, :, 1:])
    )
    with pytest.raises(TypeError):
        tn.gap2d(x, x, 1.0, x)
