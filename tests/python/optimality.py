# An independent check of a 1D solution, in plain NumPy and float64: the
# conditions that only the optimum satisfies. It knows nothing of
# the library.
import numpy as np


def violation(x, y, lam, weight=None):
    """The largest violation of the optimality conditions of one row.

    With u_i = sum_{j<=i} weight_j (x_j - y_j): |u_i| <= lam_i on every edge,
    u_i = lam_i sign(y_i - y_{i+1}) where y jumps, and u = 0 at the end.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    weight = np.ones(x.size) if weight is None else np.asarray(weight, np.float64)
    lam = np.broadcast_to(np.asarray(lam, np.float64), (x.size - 1,))
    present = weight != 0
    dual = np.cumsum(np.where(present, weight * (np.where(present, x, 0) - y), 0))
    edges = dual[:-1]
    jumps = np.sign(y[:-1] - y[1:])
    off_bound = np.where(jumps != 0, np.abs(edges - lam * jumps), 0)
    too_large = np.maximum(np.abs(edges) - lam, 0)
    return max(np.max(off_bound, initial=0), np.max(too_large, initial=0), abs(dual[-1]))
