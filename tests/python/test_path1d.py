# The lambdas at which jumps close, through NumPy: tests/cpp/path1d_test.cpp proves the numbers.
import numpy as np
import pytest

import tautstring.numpy as tn


def test_borders_of_solutions_are_the_edges_above_lam(rng):
    x = rng.normal(0, 1, (5, 60)).cumsum(axis=1)
    path = tn.path1d(x)
    assert path.shape == (5, 59)
    for lam in (0.1, 1.0, 7.0):
        jumps = np.diff(tn.prox_tv1d(x, lam)) != 0
        np.testing.assert_array_equal(jumps, path > lam)


def test_the_largest_is_lam_max(batch, rng):
    np.testing.assert_allclose(tn.path1d(batch).max(axis=-1), tn.lam_max(batch), rtol=1e-12)
    weight = rng.uniform(0.5, 2, batch.shape)
    path = tn.path1d(batch, dim=1, weight=weight)
    np.testing.assert_allclose(
        path.max(axis=1), tn.lam_max(batch, dim=1, weight=weight), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_dtypes_are_those_of_the_arithmetic(dtype):
    x = np.array([1, 2, 8, 9], dtype)
    path = tn.path1d(x)
    assert path.dtype == (np.float64 if dtype in (np.float64, np.int32) else np.float32)
    np.testing.assert_array_equal(path, [1, 7, 1])


def test_sizes_without_edges():
    assert tn.path1d(3.0).shape == (0,)
    assert tn.path1d([3.0]).shape == (0,)
    assert tn.path1d(np.zeros((4, 0))).shape == (4, 0)
    assert tn.path1d(np.zeros((0, 4))).shape == (0, 3)


def test_bad_arguments_are_named(signal):
    with pytest.raises(ValueError, match=r"^weight: must be >= 0 and finite, got -1 at index 0"):
        tn.path1d(signal, weight=-np.ones(200))
    with pytest.raises(ValueError, match=r"^dim: must be from -1 to 0 for this x, got 1"):
        tn.path1d(signal, dim=1)
