# Arrays of more than eight dimensions: same results as with few dimensions.
import numpy as np
import pytest

import tautstring.numpy as tn

SHAPES = [(2, 1, 2, 3, 2, 1, 2, 2, 5), (2, 1, 3, 2, 1, 2, 1, 2, 1, 1, 2, 5)]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{len(shape)} dims")
def x(request, rng):
    return rng.normal(0, 1, request.param)


def flat(x, dim):
    """The same rows in three dimensions, with dim the second."""
    return x.reshape(int(np.prod(x.shape[:dim])), x.shape[dim], -1)


@pytest.mark.parametrize("dim", [0, 3, -1])
def test_rows(x, dim):
    dim %= x.ndim
    y = tn.prox_tv1d(x, 0.4, dim=dim)
    assert y.shape == x.shape
    np.testing.assert_array_equal(flat(y, dim), tn.prox_tv1d(flat(x, dim), 0.4, dim=1))
    newton, info = tn.prox_tv1d(x, 0.4, dim=dim, solver="newton", return_info=True)
    np.testing.assert_allclose(newton, y, rtol=0, atol=1e-12)
    assert info.gap.shape == (*x.shape[:dim], *x.shape[dim + 1 :])
    assert np.all(tn.certificate1d(x, y, 0.4, dim=dim) < 1e-12)


def test_readings(x):
    rows = flat(x, x.ndim - 1)[..., 0]
    np.testing.assert_array_equal(tn.lam_max(x).reshape(-1), tn.lam_max(rows))
    np.testing.assert_array_equal(tn.tv(x).reshape(-1), tn.tv(rows))
    found, expected = tn.segments1d(x, 0.4), tn.segments1d(rows, 0.4)
    assert [s.starts.tolist() for s in found] == [s.starts.tolist() for s in expected]


def test_lam_and_weight_broadcast(x, rng):
    lam = rng.uniform(0.2, 0.8, (x.shape[-6], *[1] * 5))
    weight = rng.uniform(0.5, 2, x.shape[-1])
    y, pullback = tn.prox_tv1d_vjp(x, lam, weight=weight)
    few = x.reshape(-1, x.shape[-6], int(np.prod(x.shape[-5:-1])), x.shape[-1])
    expected, few_pullback = tn.prox_tv1d_vjp(few, lam.reshape(-1, 1, 1), weight=weight)
    np.testing.assert_array_equal(y.reshape(few.shape), expected)
    gradients, few_gradients = pullback(np.cos(x)), few_pullback(np.cos(few))
    np.testing.assert_array_equal(gradients.x.reshape(few.shape), few_gradients.x)
    np.testing.assert_allclose(gradients.lam.reshape(-1), few_gradients.lam.reshape(-1), rtol=1e-13)
    np.testing.assert_allclose(gradients.weight, few_gradients.weight, rtol=1e-13)


def test_any_strides(x):
    for view in (x.T, x[::-1], np.moveaxis(x, 0, -2), x[..., ::2]):
        np.testing.assert_array_equal(tn.prox_tv1d(view, 0.4), tn.prox_tv1d(view.copy(), 0.4))
    np.testing.assert_array_equal(tn.prox_tv1d(x.T, 0.4, dim=0), tn.prox_tv1d(x, 0.4).T)


@pytest.mark.parametrize("dims", [(-2, -1), (3, -1), (0, 3)])
def test_images(x, dims, rng):
    lam = rng.uniform(
        0.2, 0.8, [1 if d - x.ndim in dims or d in dims else s for d, s in enumerate(x.shape)]
    )
    moved, moved_lam = (np.moveaxis(a, dims, (-2, -1)) for a in (x, lam))
    few = moved.reshape(-1, *moved.shape[-2:])
    few_lam = moved_lam.reshape(-1, 1, 1)
    y, info = tn.prox_tv2d(x, lam, dims=dims, tol=1e-6, return_info=True)
    expected, few_info = tn.prox_tv2d(few, few_lam, tol=1e-6, return_info=True)
    np.testing.assert_array_equal(np.moveaxis(y, dims, (-2, -1)).reshape(few.shape), expected)
    np.testing.assert_array_equal(info.gap.reshape(-1), few_info.gap)
    gap = tn.gap2d(x, y, lam, dims=dims, dual=info.dual)
    np.testing.assert_array_equal(
        gap.reshape(-1), tn.gap2d(few, expected, few_lam, dual=few_info.dual)
    )
    _, pullback = tn.prox_tv2d_vjp(x, lam, dims=dims)
    _, few_pullback = tn.prox_tv2d_vjp(few, few_lam)
    gradients, few_gradients = pullback(np.cos(x)), few_pullback(np.cos(few))
    grad_x = np.moveaxis(gradients.x, dims, (-2, -1)).reshape(few.shape)
    np.testing.assert_array_equal(grad_x, few_gradients.x)
    grad_lam = np.moveaxis(gradients.lam, dims, (-2, -1)).reshape(few_lam.shape)
    np.testing.assert_array_equal(grad_lam, few_gradients.lam)


def test_empty_arrays():
    for shape in ((0, *[2] * 9, 5), (*[2] * 9, 0)):
        assert tn.prox_tv1d(np.zeros(shape), 0.4).shape == shape
        assert tn.prox_tv2d(np.zeros(shape), 0.4).shape == shape
