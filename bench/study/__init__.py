"""The timing study: what a user of PyTorch waits for, here and with other libraries.

usage: PYTHONPATH=bench python -m study --json FILE [--device cpu|cuda] [--peers FOLDER] ...

The programs of bench/cpu and bench/cuda time the solver alone; here calls go through PyTorch, with
gradients. A part is a function that gives benchmarks; names are as everywhere:
group/family/shape/lam/who. Results have the shape that bench/measurements.py keeps.
"""
