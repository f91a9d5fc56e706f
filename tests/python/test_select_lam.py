# The choice of lambda from the data: tests/cpp/select1d_test.cpp proves the optimum.
import numpy as np
import pytest

import tautstring.numpy as tn


@pytest.fixture
def steps(rng):
    """Clean steps of length 40, and the same with noise of 0.3."""
    clean = np.repeat(rng.normal(0, 2, (6, 10)), 40, axis=1)
    return clean, clean + rng.normal(0, 0.3, clean.shape)


def test_sure_removes_most_of_the_noise(steps):
    clean, noisy = steps
    lam = tn.select_lam(noisy, sigma=0.3)
    assert lam.shape == (6,)
    y = tn.prox_tv1d(noisy, lam[:, None])
    assert np.mean((y - clean) ** 2) < 0.2 * 0.3**2


def test_sigma_is_estimated_if_it_is_not_given(steps):
    _, noisy = steps
    sigma = tn.estimate_sigma(noisy)
    np.testing.assert_allclose(sigma, 0.3, rtol=0.25)
    np.testing.assert_array_equal(tn.select_lam(noisy), tn.select_lam(noisy, sigma=sigma[:, None]))


def test_bic_keeps_fewer_segments_than_sure(steps):
    _, noisy = steps
    for row in noisy:
        of = [tn.select_lam(row, method, sigma=0.3) for method in ("sure", "bic")]
        sure, bic = (len(tn.segments1d(row, lam).starts) for lam in of)
        assert bic <= sure
        assert of[1] >= of[0]


def test_segments_are_as_many_as_wanted(steps):
    _, noisy = steps
    lam = tn.select_lam(noisy[0], "segments", segments=10)
    assert len(tn.segments1d(noisy[0], lam * (1 + 1e-9)).starts) == 10


def test_the_discrepancy_is_met(steps):
    _, noisy = steps
    lam = tn.select_lam(noisy, "discrepancy", sigma=0.3)
    loss = ((tn.prox_tv1d(noisy, lam[:, None]) - noisy) ** 2).sum(axis=1)
    np.testing.assert_allclose(loss, 400 * 0.3**2)


def test_dims_weights_and_dtypes(steps):
    _, noisy = steps
    expected = tn.select_lam(noisy, sigma=0.3)
    np.testing.assert_array_equal(tn.select_lam(noisy.T, sigma=0.3, dim=0), expected)
    half = np.full_like(noisy, 0.5)
    np.testing.assert_allclose(
        tn.select_lam(noisy, sigma=0.3 * 0.5**0.5, weight=half), 0.5 * expected, rtol=1e-12
    )
    assert tn.select_lam(noisy.astype(np.float32)).dtype == np.float32
    assert tn.select_lam(noisy[0]).shape == ()


def test_bad_arguments_are_named(signal):
    bad = {
        "method: must be 'sure', 'bic', 'discrepancy' or 'segments', got 'aic'": {"method": "aic"},
        "segments: must be given with method='segments', and only then, got None": {
            "method": "segments"
        },
        "segments: must be given with method='segments', and only then, got 3": {"segments": 3},
        "segments: must be at least 1, got 0": {"method": "segments", "segments": 0},
        "sigma: must be >= 0 and finite, got -1 at index 0": {"sigma": -1.0},
        "sigma: must have size 1 along dim, got 200 at index 0": {"sigma": signal},
    }
    for message, arguments in bad.items():
        with pytest.raises(ValueError) as raised:
            tn.select_lam(signal, **arguments)
        assert str(raised.value) == message
