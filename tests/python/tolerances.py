# The one table of tolerances: a fraction of the row's range, plus one unit in
# the last place of the output's dtype. Arithmetic is float64 for float64 and
# float32 for the others.
import numpy as np

VALUE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6, np.dtype(np.float16): 1e-6}

# Central differences with a step of 1e-5 on data of size 1, away from ties: the
# solution is linear there, so only rounding is left.
CENTRAL_DIFFERENCE_STEP = 1e-5
CENTRAL_DIFFERENCE = 1e-8


def for_values(result, data):
    """The absolute tolerance for `result`, computed from `data`."""
    data_range = float(np.max(data) - np.min(data))
    largest = np.asarray(np.max(np.abs(result)), result.dtype)
    return VALUE[result.dtype] * data_range + float(np.spacing(largest))
