"""Docstring paragraphs shared by the functions on tensors and on NumPy arrays.

A docstring names them in braces, each on a line of its own. Knows neither torch nor NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable[..., object])

_PARAGRAPHS = {
    "prox_tv1d": """\
``y = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|``.
With ``mode="sharp"`` the result is the opposite step, ``x + (x - y)``, rounded once.""",
    "prox_tv2d": """\
``y = argmin_y 1/2 |y - x|^2 + sum_rows lam |y_{r,c+1} - y_{r,c}| + sum_columns lam
|y_{r+1,c} - y_{r,c}|`` for each image of x. With ``mode="sharp"`` the result is the
opposite step, ``x + (x - y)``, rounded once. Exact 1D solves of all rows and of all columns
alternate. The first iterations are Algorithm 1 of the paper (Yeh, Hu, Ren and Schwing,
CVPR 2022).""",
    "mode": """\
mode
    ``"smooth"`` or ``"sharp"``.""",
    "solver": """\
solver
    ``"direct"``: exact, in linear time. ``"newton"``, or a `Newton` with options: the
    projected Newton method of the paper (Yeh, Hu, Ren and Schwing, CVPR 2022). It gives the
    same result, more slowly, and can report on its iterations. It has no data weights.""",
    "polish": """\
polish
    With Newton: whether to solve rows that have not converged directly.""",
    "return_info_of_rows": """\
return_info
    With Newton: whether to return an `Info` as well.""",
    "dims": """\
dims
    The dimensions of x that hold the height and the width of the images. Rows run along
    ``dims[1]``.""",
    "method": """\
method
    ``"dykstra"``: the paper's Algorithm 1. ``"accelerated"``: the same passes with momentum,
    which needs far fewer of them. None: accelerated with ``tol``, else dykstra.""",
    "iterations": """\
iterations
    The number of iterations, of two passes each; with ``tol``, the largest number. None: 4
    for dykstra, 16 for accelerated, 128 with ``tol``.""",
    "tol": """\
tol
    Each image stops once its duality gap is at most ``tol`` times its objective. The gap is
    checked every fourth iteration. 1e-4 is a good value in float32, 1e-6 in float64. None:
    all iterations are done.""",
    "return_info_of_images": """\
return_info
    Whether to return an `Info` as well.""",
    "certificate1d": """\
Let ``u_i = sum_{j<=i} weight_j (x_j - y_j)``. Only the solution satisfies
``|u_i| <= lam_i``, ``u_i = lam_i sign(y_i - y_{i+1})`` where y jumps after i, and
``u_n = 0``. The result is the largest violation, relative to
``max(range of x, largest finite lam)``. It includes the rounding of y to its dtype.""",
    "gap2d": """\
It is the duality gap of y for dual variables that are computed here. It is valid for any y.""",
    "dual_of_gap2d": """\
dual
    ``Info.dual`` of a call of `prox_tv2d` with this x and lam. One iteration turns it into
    the dual variables, and the gap is then at most ``Info.gap``. Any other array gives a
    bound as well, but a larger one; in an image where it is not finite, 0 is used instead.
    None: accelerated iterations, at most 128, until the gap is within 1 % of what it bounds.""",
    "lam_max": """\
It is ``max_i |sum_{j<=i} weight_j (x_j - c)|``, where ``c`` is the (weighted) mean of the
row.""",
    "path1d": """\
Its solutions for all lam at once. As lam grows, segments only merge. So the edges whose
number is above lam are the borders of the solution at lam, and sorted, the numbers rank the
change points of a row. (With a lam per edge this does not hold: segments may split again.)""",
    "info": """\
iterations
    The number of iterations (int32), of two passes each for images. 0 for a row or an image
    that is not finite, and for a row that is not iterated on (see ``converged``).
gap
    An upper bound on how far the objective at the result is from the optimum (float64). It
    holds for the result as returned, rounded to x's dtype; with ``mode="sharp"``, for the
    smooth row or image that the result represents, ``x - (y - x)``. Infinite where y
    overflows its dtype.
converged
    For images: whether the gap is at most ``tol`` times the objective of the result (bool);
    without ``tol``, at most 1e-4 times, or 1e-6 for a float64 x. For rows: whether Newton's
    iterations ended by themselves and, with a ``tol``, the gap meets it as well. False for
    rows that the direct solver finished (``polish``), that are copied (lam 0) or that have
    an edge with lam 0. Iterations are stopped by the gap before rounding, so a float16 or
    bfloat16 result may miss a tolerance that its iterations have met.
dual
    The ``start`` for a later call. For images: x's shape, in the dtype of the arithmetic.
    For rows: ``u_i = sum_{j<=i} (x_j - y_j)`` with the smooth y (float64), x's shape but
    n - 1 along dim.""",
    "segments": """\
starts
    Index of the first element of each segment (int64).
lengths
    Number of elements of each segment (int64).
values
    Value of the solution on each segment, in x's dtype.
signs
    Direction of the jump to each segment: +1, -1, or 0 at the start of the row (int8).""",
}
_PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def share_docs(documented: Documented) -> Documented:
    """Put the shared paragraphs into the docstring of a function or a class."""
    if documented.__doc__ is not None:  # None under python -OO
        documented.__doc__ = _PLACEHOLDER.sub(_paragraph, documented.__doc__)
    return documented


def _paragraph(place: re.Match[str]) -> str:
    indent, name = place.groups()
    lines = _PARAGRAPHS[name].split("\n")
    return "\n".join(indent + line if line else "" for line in lines)
