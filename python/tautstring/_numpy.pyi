# The extension module, made from src/numpy/. Arrays are float16, float32 or
# float64 of any strides in whole elements; outputs are written in place.
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.floating[Any]]

version: str
compiler: str
cpu_target: str
cpu_targets: tuple[str, ...]
stops_for_signal: int

def raise_stop_reason() -> None: ...
def hardware_threads() -> int: ...
def release_scratch() -> None: ...
def partition_size(x: _Array, dim: int) -> int: ...
def prox_tv1d(
    x: _Array,
    lam: float | _Array,
    weight: _Array | None,
    dim: int,
    sharpen: bool,
    threads: int,
    y: _Array,
    partition: npt.NDArray[np.uint32] | None,
) -> None: ...
def prox_tv1d_newton(
    x: _Array,
    lam: float | _Array,
    start: _Array | None,
    dim: int,
    sharpen: bool,
    iterations: int,
    tol: float,
    halving: bool,
    polish: bool,
    threads: int,
    y: _Array,
    partition: npt.NDArray[np.uint32] | None,
    done: npt.NDArray[np.int32] | None,
    gap: npt.NDArray[np.float64] | None,
    converged: npt.NDArray[np.uint8] | None,
    dual: _Array | None,
) -> None: ...
def prox_tv1d_backward(
    partition: npt.NDArray[np.uint32],
    x: _Array | None,
    y: _Array | None,
    weight: _Array | None,
    dim: int,
    sharpen: bool,
    grad_y: _Array,
    grad_x: _Array,
    grad_lam: _Array,
    grad_weight: _Array | None,
) -> None: ...
def certificate1d(
    x: _Array, y: _Array, lam: float | _Array, weight: _Array | None, dim: int, out: _Array
) -> None: ...
def segments1d_offsets(
    partition: npt.NDArray[np.uint32], rows: int, n: int, offsets: npt.NDArray[np.int64]
) -> None: ...
def segments1d(
    y: _Array,
    partition: npt.NDArray[np.uint32],
    dim: int,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    signs: npt.NDArray[np.int8],
) -> None: ...
def lam_max(x: _Array, weight: _Array | None, dim: int, out: _Array) -> None: ...
def path1d(x: _Array, weight: _Array | None, dim: int, lams: _Array) -> None: ...
def select_lam1d(
    x: _Array,
    sigma: _Array | None,
    weight: _Array | None,
    dim: int,
    criterion: int,
    segments: int,
    lam: _Array,
) -> None: ...
def estimate_sigma1d(x: _Array, weight: _Array | None, dim: int, sigma: _Array) -> None: ...
def tv(x: _Array, dim: int, out: _Array) -> None: ...
def saved_words2d(x: _Array, height_dim: int, width_dim: int, iterations: int) -> int: ...
def prox_tv2d(
    x: _Array,
    lam_rows: float | _Array,
    lam_cols: float | _Array,
    start: _Array | None,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    accelerated: bool,
    iterations: int,
    tol: float,
    implicit: bool,
    threads: int,
    y: _Array,
    partitions: npt.NDArray[np.uint32] | None,
    momentum: npt.NDArray[np.float64] | None,
    done: npt.NDArray[np.int32],
    gap: npt.NDArray[np.float64] | None,
    objective: npt.NDArray[np.float64] | None,
    converged: npt.NDArray[np.uint8] | None,
    dual: _Array | None,
) -> None: ...
def prefers_accelerated(tol: float) -> bool: ...
def default_iterations(accelerated: bool, tol: float) -> int: ...
def gap2d(
    x: _Array,
    y: _Array,
    lam_rows: float | _Array,
    lam_cols: float | _Array,
    dual: _Array | None,
    height_dim: int,
    width_dim: int,
    gap: npt.NDArray[np.float64],
) -> None: ...
def prox_tv2d_backward(
    partitions: npt.NDArray[np.uint32],
    momentum: npt.NDArray[np.float64],
    done: npt.NDArray[np.int32],
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    iterations: int,
    implicit: bool,
    grad_y: _Array,
    grad_x: _Array,
    grad_lam_rows: _Array,
    grad_lam_cols: _Array,
) -> None: ...
