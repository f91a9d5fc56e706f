"""Load the op library into torch, or explain in one sentence why it cannot be loaded.

All other modules take the ops from here: overloads, not packets, since a packet
looks up the overload in every call, which takes longer than the call.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import tautstring
from tautstring import _numpy

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        "tautstring works on torch tensors where torch 2.11 or newer is installed "
        "(pip install 'tautstring[torch]'); tautstring.numpy works without it"
    ) from error

_OLDEST_TORCH = (2, 11)
_LIBRARY = "_C_stable.so"


def find_library() -> Path | None:
    """Search all folders of the package: an editable install has more than one."""
    candidates = (Path(folder) / _LIBRARY for folder in tautstring.__path__)
    return next(filter(Path.exists, candidates), None)


def _load() -> ctypes.CDLL:
    if not torch.__version__ >= _OLDEST_TORCH:  # type: ignore[operator]  # it takes tuples
        raise ImportError(f"tautstring needs torch 2.11 or newer, found torch {torch.__version__}")
    library = find_library()
    if library is None:
        raise ImportError(
            "this tautstring was built for NumPy alone; build it without TAUTSTRING_TORCH=OFF, "
            "or use tautstring.numpy"
        )
    try:
        torch.ops.load_library(library)
    except OSError as error:
        raise ImportError(
            f"tautstring's op library does not load into torch {torch.__version__}: {error}"
        ) from error
    return ctypes.CDLL(str(library))


def _text(function: str) -> str:
    read = getattr(_library, function)
    read.restype = ctypes.c_char_p
    text: bytes = read()
    return text.decode("ascii")


_library = _load()
# Ctrl-C stops calls: the NumPy binding checks for signals, and the op library, which knows no
# Python, asks it.
_library.tautstring_set_stop_check.argtypes = (ctypes.c_void_p,)
_library.tautstring_set_stop_check.restype = None
_library.tautstring_set_stop_check(_numpy.stops_for_signal)

release_scratch = _library.tautstring_release_scratch
release_scratch.argtypes = ()
release_scratch.restype = None

# Prefixes of the op library's errors that Python converts to other exceptions.
INVALID_ARGUMENT = _text("tautstring_invalid_argument")
INTERRUPTED = _text("tautstring_interrupted")

solve = torch.ops.tautstring.prox_tv1d.default
solve_number = torch.ops.tautstring.prox_tv1d.number
backward = torch.ops.tautstring.prox_tv1d_backward.default
weighted_backward = torch.ops.tautstring.prox_tv1d_weighted_backward.default
jvp = torch.ops.tautstring.prox_tv1d_jvp.default
solve_newton = torch.ops.tautstring.prox_tv1d_newton.default
solve_newton_number = torch.ops.tautstring.prox_tv1d_newton.number
certify = torch.ops.tautstring.certificate1d.default
certify_number = torch.ops.tautstring.certificate1d.number
find_lam_max = torch.ops.tautstring.lam_max.default
find_path1d = torch.ops.tautstring.path1d.default
solve2d = torch.ops.tautstring.prox_tv2d.default
solve2d_number = torch.ops.tautstring.prox_tv2d.number
backward2d = torch.ops.tautstring.prox_tv2d_backward.default
jvp2d = torch.ops.tautstring.prox_tv2d_jvp.default
find_gap2d = torch.ops.tautstring.gap2d.default
find_gap2d_number = torch.ops.tautstring.gap2d.number
has_cuda = torch.ops.tautstring.has_cuda.default
