# The result: it is the optimum, and has the expected symmetries and limits.
import numpy as np
import pytest
import tolerances
from optimality import violation

import tautstring.numpy as tn


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0, 10.0])
def test_solution_fulfils_the_optimality_conditions(signal, lam):
    y = tn.prox_tv1d(signal, lam)
    assert violation(signal, y, lam) < 1e-12


@pytest.mark.parametrize("low, high", [(0, 1e-3), (0, 1), (0, 255), (1e6, 1e6 + 1)])
def test_solution_is_optimal_whatever_the_scale_of_the_data(rng, low, high):
    x = rng.uniform(low, high, 300)
    lam = 0.3 * (high - low)
    # Sums of 300 samples: a few hundred roundings of numbers of the data's size.
    assert violation(x, tn.prox_tv1d(x, lam), lam) < 300 * np.spacing(float(high)) * 2


def test_penalty_for_each_edge_fulfils_the_optimality_conditions(signal, rng):
    lam = rng.uniform(0, 1, signal.size - 1)
    assert violation(signal, tn.prox_tv1d(signal, lam), lam) < 1e-12


def test_data_weights_fulfil_the_optimality_conditions(signal, rng):
    weight = rng.uniform(0.1, 2, signal.size)
    y = tn.prox_tv1d(signal, 0.5, weight=weight)
    assert violation(signal, y, 0.5, weight) < 1e-12


def test_ties_on_a_grid_of_thirds_are_solved():
    x = np.array([1, -2, -3, -1, -5]) / 3
    expected = np.array([-1, -4, -4, -4, -7]) / 6
    np.testing.assert_allclose(tn.prox_tv1d(x, 0.5), expected, rtol=0, atol=1e-15)


def test_sharpening_is_the_opposite_step(signal):
    smooth = tn.prox_tv1d(signal, 0.5)
    sharp = tn.prox_tv1d(signal, 0.5, mode="sharp")
    tolerance = tolerances.for_values(sharp, signal)
    np.testing.assert_allclose(sharp, 2 * signal - smooth, rtol=0, atol=tolerance)


def test_shift_of_x_shifts_the_solution(signal):
    shifted = tn.prox_tv1d(signal + 5, 0.5)
    np.testing.assert_allclose(shifted, tn.prox_tv1d(signal, 0.5) + 5, rtol=0, atol=1e-13)


def test_scaling_of_x_and_lam_by_a_power_of_two_scales_the_bits(signal):
    np.testing.assert_array_equal(tn.prox_tv1d(4 * signal, 4 * 0.5), 4 * tn.prox_tv1d(signal, 0.5))


def test_reversal_of_x_reverses_the_solution(signal):
    reverse = tn.prox_tv1d(signal[::-1], 0.5)[::-1]
    np.testing.assert_allclose(reverse, tn.prox_tv1d(signal, 0.5), rtol=0, atol=1e-13)


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
def test_lam_zero_copies_every_bit(mode):
    x = np.array([-0.0, 1.0, np.inf, np.nan, 1e-310])
    assert tn.prox_tv1d(x, 0, mode=mode).tobytes() == x.tobytes()


def test_lam_infinity_gives_the_mean(signal):
    y = tn.prox_tv1d(signal, np.inf)
    assert np.all(y == y[0])
    assert y[0] == pytest.approx(signal.mean(), abs=1e-15)


def test_lam_past_its_maximum_gives_a_constant(signal):
    y = tn.prox_tv1d(signal, 1.001 * tn.lam_max(signal))
    assert np.all(y == y[0])


def test_rows_with_a_bad_sample_are_nan_and_the_others_exact(rng):
    x = rng.normal(0, 1, (4, 30))
    expected = tn.prox_tv1d(x, 0.5)
    x[1, 7], x[2, 29] = np.nan, np.inf
    y = tn.prox_tv1d(x, 0.5)
    assert np.all(np.isnan(y[1:3]))
    np.testing.assert_array_equal(y[[0, 3]], expected[[0, 3]])


def test_row_does_not_depend_on_its_batch(batch):
    y = tn.prox_tv1d(batch, 0.5)
    np.testing.assert_array_equal(y[2, 1], tn.prox_tv1d(batch[2, 1], 0.5))


@pytest.mark.parametrize("threads", [1, 2, 3, 16, None])
def test_number_of_threads_does_not_change_the_bits(rng, threads):
    x = rng.normal(0, 1, (300, 1000)).astype(np.float32)
    expected = tn.prox_tv1d(x, 0.5, threads=1)
    np.testing.assert_array_equal(tn.prox_tv1d(x, 0.5, threads=threads), expected)


def test_missing_samples_are_not_read():
    x = np.array([1.0, np.nan, 3.0, 8.0, np.inf])
    weight = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    y = tn.prox_tv1d(x, 0.5, weight=weight)
    assert np.all(np.isfinite(y))
    np.testing.assert_allclose(y[[0, 2, 3]], tn.prox_tv1d(x[[0, 2, 3]], 0.5), rtol=0, atol=1e-15)


def test_missing_samples_fulfil_the_optimality_conditions(signal, rng):
    weight = (rng.random(signal.size) < 0.6).astype(float)
    y = tn.prox_tv1d(np.where(weight == 0, np.nan, signal), 0.3, weight=weight)
    assert violation(signal, y, 0.3, weight) < 1e-12


def test_leading_and_trailing_missing_samples_take_the_nearest_value():
    y = tn.prox_tv1d([np.nan, 1.0, 9.0, np.nan], 1.0, weight=[0, 1, 1, 0])
    np.testing.assert_array_equal(y, [2.0, 2.0, 8.0, 8.0])


def test_row_without_any_sample_is_nan():
    y = tn.prox_tv1d([[1.0, 2.0], [1.0, 3.0]], 0.5, weight=[[0, 0], [1, 1]])
    np.testing.assert_array_equal(y, [[np.nan, np.nan], [1.5, 2.5]])
