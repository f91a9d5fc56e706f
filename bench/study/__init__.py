"""The timing study: how long a user of PyTorch waits, with Tautstring and with other libraries.

usage: PYTHONPATH=bench python -m study --json FILE [--device cpu|cuda] [--peers FOLDER] ...

The programs of bench/cpu and bench/cuda time the solver alone. Here calls go through PyTorch, with
gradients. A part is a function that yields benchmarks. Names are group/family/shape/lam/who, as
everywhere. Results have the format of bench/measurements.py.
"""
