"""Exact, differentiable total variation.

The functions here and `TVLayer` work on torch tensors. ``tautstring.numpy`` has the
same functions for NumPy arrays and does not need torch:

>>> import tautstring.numpy as tn

This file imports neither NumPy nor torch, so users only pay for what they use:
torch is loaded when one of the names that need it is first used.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tautstring.functional import Config as Config
    from tautstring.functional import Info as Info
    from tautstring.functional import Newton as Newton
    from tautstring.functional import Segments as Segments
    from tautstring.functional import certificate1d as certificate1d
    from tautstring.functional import gap2d as gap2d
    from tautstring.functional import lam_max as lam_max
    from tautstring.functional import path1d as path1d
    from tautstring.functional import prox_tv1d as prox_tv1d
    from tautstring.functional import prox_tv2d as prox_tv2d
    from tautstring.functional import release_scratch as release_scratch
    from tautstring.functional import segments1d as segments1d
    from tautstring.functional import show_config as show_config
    from tautstring.functional import tv as tv
    from tautstring.layers import TVLayer as TVLayer

__version__: str = _version("tautstring")

_HOME_OF = {
    "Config": "functional",
    "Info": "functional",
    "Newton": "functional",
    "Segments": "functional",
    "TVLayer": "layers",
    "certificate1d": "functional",
    "gap2d": "functional",
    "lam_max": "functional",
    "path1d": "functional",
    "prox_tv1d": "functional",
    "prox_tv2d": "functional",
    "release_scratch": "functional",
    "segments1d": "functional",
    "show_config": "functional",
    "tv": "functional",
}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tautstring' has no attribute {name!r}")
    _import_module("tautstring._extension")  # first: explains what is wrong with torch
    value = getattr(_import_module(f"tautstring.{_HOME_OF[name]}"), name)
    globals()[name] = value  # later lookups do not get here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
