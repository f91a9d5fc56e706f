# The pullback: against central differences in float64, and its shapes and dtypes.
import numpy as np
import pytest
import tolerances

import tautstring.numpy as tn

MODES = ["smooth", "sharp"]


def central_difference(loss, argument):
    """The gradient of loss(argument), one element after the other."""
    step = tolerances.CENTRAL_DIFFERENCE_STEP
    argument = np.asarray(argument, np.float64)
    gradient = np.empty(argument.shape)
    for i in np.ndindex(argument.shape):
        ahead, behind = argument.copy(), argument.copy()
        ahead[i] += step
        behind[i] -= step
        gradient[i] = (loss(ahead) - loss(behind)) / (2 * step)
    return gradient


def assert_gradients_match_differences(x, lam, weight, mode, dim, rng):
    grad_y = rng.normal(0, 1, x.shape)

    def loss(x=x, lam=lam, weight=weight):
        return np.sum(grad_y * tn.prox_tv1d(x, lam, weight=weight, mode=mode, dim=dim))

    _, pullback = tn.prox_tv1d_vjp(x, lam, weight=weight, mode=mode, dim=dim)
    gradients = pullback(grad_y)
    close = {"rtol": 0, "atol": tolerances.CENTRAL_DIFFERENCE}
    np.testing.assert_allclose(gradients.x, central_difference(lambda v: loss(x=v), x), **close)
    np.testing.assert_allclose(
        gradients.lam, central_difference(lambda v: loss(lam=v), lam), **close
    )
    if weight is None:
        assert gradients.weight is None
    else:
        expected = central_difference(lambda v: loss(weight=v), weight)
        np.testing.assert_allclose(gradients.weight, expected, **close)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lam_shape", [(), (1,), (2, 1), (11,), (1, 11), (3, 1, 11), (3, 2, 11)])
def test_gradients_match_central_differences(rng, mode, lam_shape):
    x = rng.normal(0, 1, (3, 2, 12))
    lam = rng.uniform(0.2, 0.6, lam_shape)
    assert_gradients_match_differences(x, lam, None, mode, -1, rng)


# A weight is quadratic in the result, so its differences have an error of step^2.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weight_shape", [(), (12,), (2, 1), (3, 1, 12), (3, 2, 12)])
def test_gradients_with_weights_match_central_differences(rng, mode, weight_shape):
    x = rng.normal(0, 1, (3, 2, 12))
    weight = rng.uniform(0.5, 2, weight_shape)
    assert_gradients_match_differences(x, np.array([0.4]), weight, mode, -1, rng)


@pytest.mark.parametrize("dim", [0, 1, -3])
def test_gradients_along_any_dim_match_central_differences(rng, dim):
    x = rng.normal(0, 1, (5, 4, 3))
    weight = rng.uniform(0.5, 2, (4, 1))
    assert_gradients_match_differences(x, np.array(0.3), weight, "smooth", dim, rng)


def test_gradients_of_a_reversed_view_match_those_of_its_copy(rng):
    x = rng.normal(0, 1, (4, 20))[:, ::-1].T
    grad_y = rng.normal(0, 1, (4, 20))[::-1].T
    weight = rng.uniform(0.5, 2, (4, 20)).T
    _, of_view = tn.prox_tv1d_vjp(x, 0.3, dim=0, weight=weight)
    _, of_copy = tn.prox_tv1d_vjp(x.copy(), 0.3, dim=0, weight=weight.copy())
    for view, copy in zip(of_view(grad_y), of_copy(grad_y.copy()), strict=True):
        np.testing.assert_array_equal(view, copy)


def test_result_beside_the_pullback_is_that_of_prox_tv1d(batch):
    y, _ = tn.prox_tv1d_vjp(batch, 0.5, mode="sharp")
    np.testing.assert_array_equal(y, tn.prox_tv1d(batch, 0.5, mode="sharp"))


def test_gradients_have_the_shapes_and_dtypes_of_the_arguments(batch):
    x = batch.astype(np.float16)
    lam = np.full((4, 1), 0.5, np.float32)
    weight = np.ones(50, np.float16)
    _, pullback = tn.prox_tv1d_vjp(x, lam, weight=weight)
    gradients = pullback(np.ones(x.shape, np.float32))
    for gradient, argument in zip(gradients, (x, lam, weight), strict=True):
        assert isinstance(gradient, np.ndarray)
        assert (gradient.shape, gradient.dtype) == (argument.shape, argument.dtype)


def test_gradients_of_numbers_and_integers_are_float64():
    _, pullback = tn.prox_tv1d_vjp([1, 2, 8, 9], 1, weight=1)
    gradients = pullback([1, 0, 0, 0])
    assert all(gradient.dtype == np.float64 for gradient in gradients)
    assert gradients.lam.shape == gradients.weight.shape == ()


def test_shared_lam_is_summed_in_float64(rng):
    x = rng.normal(0, 1, (2000, 16)).astype(np.float32)
    grad_y = rng.normal(0, 1, x.shape).astype(np.float32)
    _, shared = tn.prox_tv1d_vjp(x, np.float32(0.25))
    _, each = tn.prox_tv1d_vjp(x, np.full((2000, 1), 0.25))
    assert shared(grad_y).lam == np.float32(each(grad_y).lam.sum())


def test_pullback_is_linear_and_can_be_called_again(signal):
    _, pullback = tn.prox_tv1d_vjp(signal, 0.5)
    once = pullback(signal)
    twice = pullback(2 * signal)
    np.testing.assert_array_equal(twice.x, 2 * once.x)
    np.testing.assert_array_equal(pullback(signal).x, once.x)


def test_changing_the_arrays_later_does_not_change_the_gradients(signal, rng):
    weight = rng.uniform(0.5, 2, signal.size)
    y, pullback = tn.prox_tv1d_vjp(signal, 0.5, weight=weight)
    expected = pullback(np.ones(signal.size))
    for array in (signal, weight, y):
        array[:] = 7
    for gradient, same in zip(pullback(np.ones(signal.size)), expected, strict=True):
        np.testing.assert_array_equal(gradient, same)


def test_lam_zero_hands_the_gradient_through(rng):
    grad_y = rng.normal(0, 1, 20)
    _, pullback = tn.prox_tv1d_vjp(rng.normal(0, 1, 20), 0)
    np.testing.assert_array_equal(pullback(grad_y).x, grad_y)


def test_gradient_of_a_missing_sample_is_zero():
    _, pullback = tn.prox_tv1d_vjp([1.0, np.nan, 3.0, 8.0], 0.5, weight=[1.0, 0.0, 1.0, 1.0])
    gradients = pullback(np.ones(4))
    assert gradients.x[1] == 0 and gradients.weight[1] == 0
    assert np.all(np.isfinite(gradients.x))


@pytest.mark.parametrize("weight", [None, 1.0])
@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (0,), (3, 0), (0, 3)])
def test_gradients_of_tiny_and_empty_arrays_have_the_right_shapes(shape, weight):
    _, pullback = tn.prox_tv1d_vjp(np.zeros(shape), 1.0, weight=weight)
    gradients = pullback(np.ones(shape))
    assert gradients.x.shape == shape
    assert gradients.lam == 0
    assert weight is None or gradients.weight == 0


def test_lam_of_no_edges_has_a_gradient_of_no_edges():
    _, pullback = tn.prox_tv1d_vjp(np.zeros((3, 1)), np.zeros((3, 0)))
    assert pullback(np.ones((3, 1))).lam.shape == (3, 0)
