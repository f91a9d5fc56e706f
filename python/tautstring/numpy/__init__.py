"""Exact total variation of NumPy arrays.

The objective, for every row of ``x`` along ``dim`` independently, is::

    prox(x, lam) = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|

(`prox_tv2d` does the same for images, with differences along rows and along columns.)

The solution is exact, takes time linear in the row length, and is the same bit
for bit for any number of threads. These arguments mean the same in all
functions:

``x``
    array_like of any shape and strides, cut into rows along ``dim``. float16,
    float32 and float64 are kept; integers and bools are computed as float64. A
    row with a non-finite sample becomes NaN, the others are exact. At most 32
    dimensions.
``lam``
    the penalty, >= 0: a number, or an array that broadcasts to ``x`` and whose
    size along ``dim`` is 1 (one per row) or n - 1 (one per edge). ``inf`` gives
    the mean, 0 copies the row bit for bit.
``dim``
    the dimension of ``x`` that the rows run along.
``weight``
    data weights, finite and >= 0, broadcasting to ``x``; None: all 1. A sample
    of weight 0 is missing: ``x`` is not read there and may be NaN.

A bad argument raises TypeError or ValueError with its name, the value passed and
what is allowed. Arguments are never written to.

Ctrl-C stops a call on the main thread: it raises KeyboardInterrupt, or whatever the
signal's handler raises. Every 50 ms the call checks for signals between parts of its
work, such as small groups of rows or passes over an image. So it usually stops within
a tenth of a second; a single row of many million samples can take longer.
"""

from __future__ import annotations

from tautstring._options import Newton
from tautstring.numpy._images import gap2d, prox_tv2d, prox_tv2d_vjp
from tautstring.numpy._readings import (
    certificate1d,
    estimate_sigma,
    lam_max,
    path1d,
    release_scratch,
    segments1d,
    select_lam,
    show_config,
    tv,
)
from tautstring.numpy._rows import prox_tv1d, prox_tv1d_vjp
from tautstring.numpy._types import Config, Gradients, Gradients2d, Info, Segments

__all__ = [
    "Config",
    "Gradients",
    "Gradients2d",
    "Info",
    "Newton",
    "Segments",
    "certificate1d",
    "estimate_sigma",
    "gap2d",
    "lam_max",
    "path1d",
    "prox_tv1d",
    "prox_tv1d_vjp",
    "prox_tv2d",
    "prox_tv2d_vjp",
    "release_scratch",
    "segments1d",
    "select_lam",
    "show_config",
    "tv",
]


def __dir__() -> list[str]:
    return sorted(__all__)
