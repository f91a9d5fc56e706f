# tautstring.numpy.prox_tv2d with tol: the method it takes, and a warning where tol is missed.
import re
import warnings

import numpy as np
import pytest

import tautstring.numpy as tn
from tautstring import _missed


@pytest.fixture
def noise(rng):
    return rng.normal(0, 1, (256, 256)).astype(np.float32)


def test_with_tol_the_default_is_accelerated(noise):
    y, info = tn.prox_tv2d(noise, 1.0, tol=1e-4, return_info=True)
    assert info.converged and info.iterations < 128
    np.testing.assert_array_equal(y, tn.prox_tv2d(noise, 1.0, method="accelerated", tol=1e-4))


def test_without_tol_the_default_is_dykstra(images):
    expected = tn.prox_tv2d(images, 0.4, method="dykstra")
    np.testing.assert_array_equal(tn.prox_tv2d(images, 0.4), expected)


def test_a_method_that_is_named_is_taken(images):
    options = {"tol": 1e-4, "return_info": True}
    _, info = tn.prox_tv2d(images, 0.5, method="dykstra", **options)
    assert info.converged.all()
    assert np.all(info.iterations > tn.prox_tv2d(images, 0.5, **options)[1].iterations)


def test_a_missed_tolerance_is_told_with_what_to_do(images):
    images[1] *= 1e-3  # constant at once
    message = (
        r"prox_tv2d: 2 of 3 images \(0, 2\) stopped after 4 iterations to a gap of "
        r"[\d.e-]+ of the objective, which is above tol 1e-09; allow more iterations, "
        r"or use method='accelerated'"
    )
    with pytest.warns(RuntimeWarning, match=f"^{message}$") as caught:
        tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4, method="dykstra")
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="allow more iterations$"):
        tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4)


def test_the_gap_that_is_told_is_that_of_info(images):
    with pytest.warns(RuntimeWarning) as caught:
        y, info = tn.prox_tv2d(images[0], 0.5, tol=1e-9, iterations=4, return_info=True)
    penalty = sum(np.abs(np.diff(y, axis=axis)).sum() for axis in (0, 1))
    fraction = info.gap / (np.square(y - images[0]).sum() / 2 + 0.5 * penalty)
    text = f"prox_tv2d: the image stopped after 4 iterations to a gap of {fraction:.2g} of the "
    assert str(caught[0].message).startswith(text)
    assert not info.converged


def test_every_line_is_told_once(images):
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(3):
            tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4)
        tn.prox_tv2d_vjp(images, 0.5, tol=1e-9, iterations=4)
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert caught[1].lineno == caught[0].lineno + 1


def test_a_warning_that_is_an_error_is_raised_every_time(images):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(RuntimeWarning, match="above tol"):
                tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4)


@pytest.mark.filterwarnings("ignore:prox_tv2d")
def test_the_warning_changes_no_bit(images):
    results = [tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4) for _ in range(2)]
    reported, _ = tn.prox_tv2d(images, 0.5, tol=1e-9, iterations=4, return_info=True)
    np.testing.assert_array_equal(results[0], reported)
    np.testing.assert_array_equal(results[1], reported)


def test_nothing_is_told_where_nothing_was_missed(images):
    tn.prox_tv2d(images, 0.5, iterations=1)  # no tolerance
    tn.prox_tv2d(images, 0.5, tol=1e-3)
    tn.prox_tv2d(images, 0.0, tol=1e-9)  # copied
    images[...] = np.nan  # there is no solution
    tn.prox_tv2d(images, 0.5, tol=1e-9)
    tn.prox_tv2d(images[:, :0], 0.5, tol=1e-9)
    tn.prox_tv2d(images[:0], 0.5, tol=1e-9)


def missed(*parts):
    return [_missed.Image(*part) for part in parts]


@pytest.mark.parametrize(
    "dtype, advice",
    [
        ("float16", "raise tol or pass x in float32 (float16 may be too coarse for this tol)"),
        ("bfloat16", "raise tol or pass x in float32 (bfloat16 may be too coarse for this tol)"),
        ("float32", "raise tol or pass x in float64 (float32 may be too coarse for this tol)"),
        ("float64", "raise tol (float64 may be too coarse for this tol)"),
    ],
)
def test_what_rounding_took_away_more_iterations_do_not_give(dtype, advice):
    images = missed(((3,), 12, 0.2), ((5,), 16, 0.03))
    text = _missed.describe(images, 8, 1e-4, 128, True, dtype)
    assert text == (
        "prox_tv2d: 2 of 8 images (3, 5) stopped after 12 iterations to a gap of 0.2 of the "
        f"objective, which is above tol 0.0001; {advice}"
    )


def test_half_precision_and_few_iterations_have_both_advices():
    text = _missed.describe(missed(((), 128, 0.2)), 1, 1e-4, 128, False, "float16")
    advice = "; allow more iterations, or use method='accelerated', or raise tol or pass x in"
    assert advice in text


def test_many_images_are_not_all_named():
    images = missed(*[((0, i), 128, 0.1) for i in range(6)])
    text = _missed.describe(images, 20, 1e-4, 128, True, "float32")
    assert re.search(r"6 of 20 images \(\(0, 0\), \(0, 1\), \(0, 2\), \(0, 3\), \.\.\.\)", text)
