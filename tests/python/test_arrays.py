# Shapes, strides, dtypes and broadcasting of arguments and results.
import numpy as np
import pytest
import tolerances

import tautstring.numpy as tn

FLOATS = [np.float16, np.float32, np.float64]


def assert_same_as_contiguous(x, **keywords):
    expected = tn.prox_tv1d(np.ascontiguousarray(x), 0.5, **keywords)
    np.testing.assert_array_equal(tn.prox_tv1d(x, 0.5, **keywords), expected)


def test_transposed_view_needs_no_copy_of_ones_own(batch):
    assert_same_as_contiguous(batch.transpose(2, 0, 1))


def test_reversed_view_is_read_backwards(batch):
    assert_same_as_contiguous(batch[::-1, :, ::-1])


def test_sliced_view_skips_what_is_between(batch):
    assert_same_as_contiguous(batch[:, 1::2, 3:40:3])


def test_fortran_order_is_read(batch):
    assert_same_as_contiguous(np.asfortranarray(batch))


def test_broadcast_view_with_stride_zero_is_read(signal):
    assert_same_as_contiguous(np.broadcast_to(signal, (3, signal.size)))


@pytest.mark.parametrize("packed", [np.zeros(9, "u1,f8"), np.zeros(1, "f8,f4")])
def test_field_of_a_packed_record_is_read(packed, rng):
    name = next(n for n in packed.dtype.names if packed.dtype[n] == np.float64)
    packed[name] = rng.normal(0, 1, packed.size)
    assert_same_as_contiguous(packed[name])


def test_foreign_byte_order_is_read_and_comes_out_native(signal):
    y = tn.prox_tv1d(signal.astype(">f4"), 0.5)
    assert y.dtype == np.dtype("=f4")
    np.testing.assert_array_equal(y, tn.prox_tv1d(signal.astype("f4"), 0.5))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_dim_is_the_axis_that_rows_run_along(batch, dim):
    last = np.moveaxis(tn.prox_tv1d(np.moveaxis(batch, dim, -1).copy(), 0.5), -1, dim)
    np.testing.assert_array_equal(tn.prox_tv1d(batch, 0.5, dim=dim), last)


def test_result_is_a_new_array_in_c_order(batch):
    y = tn.prox_tv1d(batch.T, 0)
    assert y.flags.c_contiguous and y.flags.owndata
    assert not np.shares_memory(y, batch)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_dtypes_are_kept_and_accurate(signal, dtype):
    x = signal.astype(dtype)
    y = tn.prox_tv1d(x, 0.25)
    assert y.dtype == dtype
    expected = tn.prox_tv1d(x.astype(np.float64), 0.25)
    tolerance = tolerances.for_values(y, x.astype(np.float64))
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_integers_and_bools_are_computed_as_float64(rng, dtype):
    x = rng.integers(0, 2, 40).astype(dtype)
    y = tn.prox_tv1d(x, 0.25)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, tn.prox_tv1d(x.astype(np.float64), 0.25))


def test_lists_are_read():
    np.testing.assert_array_equal(tn.prox_tv1d([0, 4], 1), [1.0, 3.0])


def test_zero_dimensions_are_one_row_of_one_sample():
    y = tn.prox_tv1d(np.float32(3), 1.0)
    assert isinstance(y, np.ndarray) and y.shape == () and y.dtype == np.float32
    assert y == 3


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 4)])
def test_empty_arrays_come_out_empty(shape):
    assert tn.prox_tv1d(np.zeros(shape), 1.0).shape == shape


def test_rows_of_one_sample_are_copied(rng):
    x = rng.normal(0, 1, (5, 1))
    np.testing.assert_array_equal(tn.prox_tv1d(x, 2.0), x)


def test_rows_of_two_samples_meet_at_their_mean():
    np.testing.assert_array_equal(tn.prox_tv1d([[0.0, 4.0], [0.0, 1.0]], 1.0), [[1, 3], [0.5, 0.5]])


@pytest.mark.parametrize(
    "number", [1, 0.5, True, np.float32(0.5), np.float64(0.5), np.int32(1), np.array(0.5)]
)
def test_lam_may_be_any_real_number(signal, number):
    np.testing.assert_array_equal(tn.prox_tv1d(signal, number), tn.prox_tv1d(signal, float(number)))


@pytest.mark.parametrize("shape", [(), (1,), (4, 1), (3, 1, 1), (1, 4, 1), (3, 4, 1)])
def test_lam_for_each_row_broadcasts_to_the_batch(batch, rng, shape):
    lam = rng.uniform(0.1, 1, shape)
    every = np.broadcast_to(lam, (3, 4, 1))
    expected = [[tn.prox_tv1d(batch[i, j], every[i, j, 0]) for j in range(4)] for i in range(3)]
    np.testing.assert_array_equal(tn.prox_tv1d(batch, lam), expected)


@pytest.mark.parametrize("shape", [(49,), (4, 49), (3, 1, 49), (3, 4, 49)])
def test_lam_for_each_edge_broadcasts_to_the_batch(batch, rng, shape):
    lam = rng.uniform(0.1, 1, shape)
    every = np.broadcast_to(lam, (3, 4, 49))
    expected = [[tn.prox_tv1d(batch[i, j], every[i, j]) for j in range(4)] for i in range(3)]
    np.testing.assert_array_equal(tn.prox_tv1d(batch, lam), expected)


def test_lam_for_each_edge_runs_along_dim(batch, rng):
    lam = rng.uniform(0.1, 1, (2, 1, 1))
    moved = tn.prox_tv1d(np.moveaxis(batch, 0, -1), np.moveaxis(lam, 0, -1))
    np.testing.assert_array_equal(tn.prox_tv1d(batch, lam, dim=0), np.moveaxis(moved, -1, 0))


@pytest.mark.parametrize("shape", [(), (50,), (4, 1), (3, 1, 50), (3, 4, 50)])
def test_weight_broadcasts_to_x(batch, rng, shape):
    weight = rng.uniform(0.1, 2, shape)
    expected = tn.prox_tv1d(batch, 0.5, weight=np.broadcast_to(weight, batch.shape).copy())
    np.testing.assert_array_equal(tn.prox_tv1d(batch, 0.5, weight=weight), expected)


def test_lam_and_weight_may_have_other_dtypes_than_x(signal):
    lam, weight = np.full(1, 0.5), np.ones(signal.size)
    expected = tn.prox_tv1d(signal, lam, weight=weight)
    mixed = tn.prox_tv1d(signal, lam.astype("f2"), weight=weight.astype("i4"))
    np.testing.assert_array_equal(mixed, expected)


def test_read_only_arguments_are_accepted(signal):
    lam, weight = np.full(signal.size - 1, 0.5), np.ones(signal.size)
    for array in (signal, lam, weight):
        array.flags.writeable = False
    y, pullback = tn.prox_tv1d_vjp(signal, lam, weight=weight)
    y.flags.writeable = False
    assert tn.certificate1d(signal, y, lam, weight=weight) < 1e-12
    assert pullback(y).x.shape == signal.shape


def test_arguments_are_never_modified(signal, rng):
    lam, weight = rng.uniform(0, 1, signal.size - 1), rng.uniform(0, 2, signal.size)
    grad_y = rng.normal(0, 1, signal.size)
    arguments = (signal, lam, weight, grad_y)
    before = [array.copy() for array in arguments]
    for mode in ("smooth", "sharp"):
        y, pullback = tn.prox_tv1d_vjp(signal, lam, weight=weight, mode=mode)
        pullback(grad_y)
    tn.certificate1d(signal, y, lam, weight=weight)
    tn.segments1d(signal, lam, weight=weight)
    tn.lam_max(signal, weight=weight)
    for array, copy in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(array, copy)
