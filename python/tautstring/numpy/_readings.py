"""What is read off rows and their solutions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tautstring import _numpy
from tautstring._docs import share_docs
from tautstring._options import Criterion, read_criterion, read_dim
from tautstring.numpy._arguments import FloatArray, read_array, read_weight, with_size
from tautstring.numpy._rows import Problem
from tautstring.numpy._types import Config, Segments


@share_docs
def certificate1d(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Measure how far y is from solving the problem: 0 proves that it does.

    {certificate1d}

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    y
        The array to test, of x's shape, from any source.

    Returns
    -------
    numpy.ndarray
        One number per row: x's shape without dim, float64 if x is, else float32.
        NaN where x or y is not finite.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> x = [1.0, 2.0, 8.0, 9.0]
    >>> tn.certificate1d(x, [2.0, 2.0, 8.0, 8.0], 1.0)
    array(0.)
    >>> tn.certificate1d(x, x, 1.0)
    array(0.125)
    """
    problem = Problem.read(x, lam, dim, weight)
    solution = read_array("y", y)
    out = _row_numbers(problem.x, problem.dim)
    try:
        _numpy.certificate1d(problem.x, solution, problem.lam, problem.weight, problem.dim, out)
    except ValueError as error:
        raise problem.with_hint(error) from None
    return _drop_dim(out, problem.dim)


def segments1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
) -> Segments | list[Segments]:
    """Return the constant segments of the solution: the change points of x.

    They are the solver's own decisions, not guessed from differences of the
    result, so no threshold is needed.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.

    Returns
    -------
    Segments or list of Segments
        If x has at most one dimension, the segments of that row. Otherwise a
        list with one entry per row, in row-major (C) order of x's other
        dimensions.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> segments = tn.segments1d([1.0, 2.0, 8.0, 9.0], 1.0)
    >>> segments.starts, segments.lengths
    (array([0, 2]), array([2, 2]))
    >>> segments.values, segments.signs
    (array([2., 8.]), array([0, 1], dtype=int8))
    """
    problem = Problem.read(x, lam, dim, weight)
    y, partition = problem.solve_with_partition()
    offsets = _segment_offsets(y, problem.dim, partition)
    every = _all_segments(y, problem.dim, partition, int(offsets[-1]))
    rows = [_cut(every, first, last) for first, last in pairwise(offsets.tolist())]
    return rows if y.ndim > 1 else rows[0]


def _cut(segments: Segments, first: int, last: int) -> Segments:
    return Segments(
        segments.starts[first:last],
        segments.lengths[first:last],
        segments.values[first:last],
        segments.signs[first:last],
    )


def _segment_offsets(
    y: FloatArray, dim: int, partition: npt.NDArray[np.uint32]
) -> npt.NDArray[np.int64]:
    n = y.shape[dim] if y.ndim else 1
    rows = int(np.prod(with_size(y.shape, dim, 1), dtype=np.int64))
    offsets = np.empty(rows + 1, np.int64)
    _numpy.segments1d_offsets(partition, rows, n, offsets)
    return offsets


def _all_segments(
    y: FloatArray, dim: int, partition: npt.NDArray[np.uint32], count: int
) -> Segments:
    starts, lengths = np.empty(count, np.int64), np.empty(count, np.int64)
    values, signs = np.empty(count, np.float64), np.empty(count, np.int8)
    _numpy.segments1d(y, partition, dim, starts, lengths, values, signs)
    return Segments(starts, lengths, values.astype(y.dtype, copy=False), signs)


@share_docs
def lam_max(x: npt.ArrayLike, *, dim: int = -1, weight: npt.ArrayLike | None = None) -> FloatArray:
    """Return for each row the smallest lam for which the solution is constant.

    {lam_max}

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        One number per row: x's shape without dim, float64 if x is, else float32.
        NaN for a row that has a non-finite sample or no samples.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.lam_max([1.0, 2.0, 8.0, 9.0])
    array(7.)
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    out = _row_numbers(samples, along)
    _numpy.lam_max(samples, read_weight(weight), along, out)
    return _drop_dim(out, along)


@share_docs
def path1d(x: npt.ArrayLike, *, dim: int = -1, weight: npt.ArrayLike | None = None) -> FloatArray:
    """Return for each edge the lam at which the jump of `prox_tv1d` across it closes.

    {path1d}

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        x's shape but n - 1 along dim, float64 if x is, else float32: 0 where the solution
        never jumps. NaN for a row that has a non-finite sample or no samples.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.path1d([1.0, 2.0, 8.0, 9.0])
    array([1., 7., 1.])
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    rows = np.atleast_1d(samples)
    edges = max(rows.shape[along] - 1, 0)
    lams = np.empty(with_size(rows.shape, along, edges), _arithmetic_dtype(samples))
    _numpy.path1d(rows, read_weight(weight), along, lams)
    return lams


def select_lam(
    x: npt.ArrayLike,
    method: Criterion = "sure",
    *,
    sigma: npt.ArrayLike | None = None,
    segments: int | None = None,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return for each row the best lam of `prox_tv1d` by a criterion: the exact optimum.

    As lam grows, segments only merge (`path1d`), so all solutions are compared, not those on a
    grid. With ``loss = sum_i weight_i (y_i - x_i)^2``, the number k of segments and the number n
    of samples:

    Parameters
    ----------
    x, dim, weight
        See the top of this module.
    method
        ``"sure"``: the smallest ``loss + 2 sigma^2 k``, Stein's unbiased estimate of how far y
        is from the signal without noise. ``"bic"``: the smallest ``loss + sigma^2 log(n) k``,
        which keeps fewer segments. ``"discrepancy"``: the largest lam with
        ``loss <= n sigma^2``. ``"segments"``: the smallest lam with at most that many.
    sigma
        The standard deviation of the noise of a sample of weight 1: a number, or an array that
        broadcasts to x, with size 1 along dim. None: `estimate_sigma` of each row.
    segments
        With ``method="segments"``, their number.

    Returns
    -------
    numpy.ndarray
        One number per row: x's shape without dim, float64 if x is, else float32. NaN for a row
        that has a non-finite sample or no samples, or whose sigma is not known.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.select_lam([1.0, 2.0, 8.0, 9.0], "segments", segments=2)
    array(1.)
    """
    criterion, most = read_criterion(method, segments)
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    noise = None if sigma is None else read_array("sigma", sigma)
    lam = _row_numbers(samples, along)
    _numpy.select_lam1d(samples, noise, read_weight(weight), along, criterion, most, lam)
    return _drop_dim(lam, along)


def estimate_sigma(
    x: npt.ArrayLike, *, dim: int = -1, weight: npt.ArrayLike | None = None
) -> FloatArray:
    """Return for each row an estimate of the standard deviation of its noise.

    It is the median size of second differences, over what it is for normal noise. Plateaus and
    ramps do not count, and jumps hardly, since they are few.

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        One number per row: x's shape without dim, float64 if x is, else float32. NaN for a row
        that has a non-finite sample, or no three present samples one after the other.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.estimate_sigma([0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 9.0])
    array(0.)
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    sigma = _row_numbers(samples, along)
    _numpy.estimate_sigma1d(samples, read_weight(weight), along, sigma)
    return _drop_dim(sigma, along)


def tv(x: npt.ArrayLike, *, dim: int = -1) -> FloatArray:
    """Return the total variation ``sum_i |x_{i+1} - x_i|`` of each row.

    Parameters
    ----------
    x, dim
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        One number per row: x's shape without dim, float64 if x is, else float32.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.tv([[1.0, 2.0, 8.0, 9.0], [0.0, 5.0, 0.0, 5.0]])
    array([ 8., 15.])
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    out = _row_numbers(samples, along)
    _numpy.tv(samples, along, out)
    return _drop_dim(out, along)


def show_config() -> Config:
    """Return the configuration: version, compiler, instruction sets and threads.

    ``cpu_targets``: the instruction sets that can run here, fastest first. ``cpu_target``:
    the one in use, which is the first, or the one that the environment variable
    TAUTSTRING_CPU named at the first call ("none" if that cannot run here; calls then
    raise ValueError).

    Examples
    --------
    >>> import tautstring
    >>> import tautstring.numpy as tn
    >>> tn.show_config()["version"] == tautstring.__version__
    True
    """
    return Config(
        version=_numpy.version,
        compiler=_numpy.compiler,
        cpu_target=_numpy.cpu_target,
        cpu_targets=_numpy.cpu_targets,
        threads=_numpy.hardware_threads(),
    )


def release_scratch() -> None:
    """Free the scratch memory that calls keep for later calls.

    Keeping it saves the time that fresh memory takes. At most 64 MiB are kept, by calls on
    any thread.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.release_scratch()
    """
    _numpy.release_scratch()


def _row_numbers(x: FloatArray, dim: int) -> FloatArray:
    """Allocate one number per row, in x's own arithmetic type."""
    return np.empty(with_size(x.shape, dim, 1), _arithmetic_dtype(x))


def _arithmetic_dtype(x: FloatArray) -> type[np.float64 | np.float32]:
    return np.float64 if x.dtype == np.float64 else np.float32


def _drop_dim(numbers: FloatArray, dim: int) -> FloatArray:
    return numbers.squeeze(axis=dim) if numbers.ndim else numbers
