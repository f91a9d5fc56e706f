"""Exact, differentiable total variation.

``tautline.numpy`` has the functions on NumPy arrays; import it by name:

>>> import tautline.numpy as tn

This file imports neither NumPy nor torch, so that each user pays only for the
part that they ask for.
"""

from importlib.metadata import version as _version

__version__: str = _version("tautline")

__all__ = ["__version__"]
