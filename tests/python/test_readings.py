# What can be read off data and solutions: certificate, segments, lam_max, tv.
import numpy as np
import pytest
from optimality import violation

import tautstring.numpy as tn


def test_certificate_is_the_largest_violation_relative_to_the_data(signal):
    guess = signal.copy()
    guess[3] += 0.5
    size = max(np.ptp(signal), 0.2)
    expected = violation(signal, guess, 0.2) / size
    assert tn.certificate1d(signal, guess, 0.2) == pytest.approx(expected, rel=1e-12)


def test_certificate_of_a_solution_is_rounding(batch, rng):
    lam, weight = rng.uniform(0.1, 1, 49), rng.uniform(0.1, 2, (4, 1))
    y = tn.prox_tv1d(batch, lam, weight=weight)
    certificate = tn.certificate1d(batch, y, lam, weight=weight)
    assert certificate.shape == (3, 4)
    assert np.all(certificate < 1e-13)


def test_segments_tile_the_row_and_carry_the_solution(signal):
    segments = tn.segments1d(signal, 0.5)
    y = tn.prox_tv1d(signal, 0.5)
    np.testing.assert_array_equal(np.repeat(segments.values, segments.lengths), y)
    np.testing.assert_array_equal(np.cumsum(segments.lengths)[:-1], segments.starts[1:])
    np.testing.assert_array_equal(segments.signs[1:], np.sign(np.diff(segments.values)))
    assert segments.starts[0] == 0 and segments.signs[0] == 0


def test_segments_of_a_batch_are_listed_in_row_major_order(batch):
    listed = tn.segments1d(batch, 0.5, dim=1)
    rows = np.moveaxis(batch, 1, -1).reshape(-1, 4)
    assert len(listed) == len(rows)
    for segments, row in zip(listed, rows, strict=True):
        for got, expected in zip(segments, tn.segments1d(row, 0.5), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_segments_have_the_dtype_of_x(signal):
    segments = tn.segments1d(signal.astype(np.float16), 0.5)
    assert segments.values.dtype == np.float16


def test_segments_of_zero_dimensions_are_one():
    segments = tn.segments1d(5.0, 1.0)
    assert [column.tolist() for column in segments] == [[0], [1], [5.0], [0]]


def test_segments_of_an_empty_row_are_none():
    assert tn.segments1d([], 1.0).starts.size == 0
    assert [s.starts.size for s in tn.segments1d(np.zeros((2, 0)), 1.0)] == [0, 0]


def test_segments_of_an_empty_batch_are_an_empty_list():
    assert tn.segments1d(np.zeros((0, 5)), 1.0) == []


def test_lam_max_is_where_the_solution_becomes_constant(signal):
    largest = tn.lam_max(signal)
    assert len(tn.segments1d(signal, 1.0001 * largest).starts) == 1
    assert len(tn.segments1d(signal, 0.9999 * largest).starts) == 2


def test_lam_max_is_the_largest_dual_of_the_mean(batch):
    dual = np.cumsum(batch - batch.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    expected = np.abs(dual).max(axis=1)
    np.testing.assert_allclose(tn.lam_max(batch, dim=1), expected, rtol=0, atol=1e-13)


def test_lam_max_leaves_missing_samples_out():
    assert tn.lam_max([1.0, np.nan, 5.0], weight=[1, 0, 1]) == tn.lam_max([1.0, 5.0])


def test_tv_is_the_sum_of_absolute_differences(batch):
    expected = np.abs(np.diff(batch, axis=0)).sum(axis=0)
    np.testing.assert_allclose(tn.tv(batch, dim=0), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "given, returned", [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8")]
)
def test_readings_of_rows_are_float64_for_float64_and_else_float32(given, returned):
    x = np.arange(12).reshape(3, 4).astype(given)
    for reading in (tn.tv(x), tn.lam_max(x), tn.certificate1d(x, x, 1.0)):
        assert reading.dtype == returned and reading.shape == (3,)


def test_readings_of_one_row_have_no_dimension(signal):
    for x in (signal, 5.0):
        for reading in (tn.tv(x), tn.lam_max(x), tn.certificate1d(x, x, 1.0)):
            assert isinstance(reading, np.ndarray) and reading.shape == ()
