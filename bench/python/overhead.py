"""Measure the overhead of a call from Python, and a training step on a GPU.

usage: overhead.py

With rows of two samples the solver itself takes almost no time, so the time of a call is its
overhead. The goals are 20 us without a gradient and 45 us when recording. A step is forward
and backward; the step of relu shows what torch itself takes. If there is a GPU, a training
step of a layer on 8192 x 32 is timed too, called as usual and from a CUDA graph; the
paper's code takes 9.8 ms on an H200.
"""

import statistics
import time

import torch

import tautstring

REPEATS = 15
CALLS = 2000


def microseconds(function, calls=CALLS):
    """Return the median time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times)


def overheads(device):
    """Yield name, time and goal (None: for comparison) of each kind of call."""
    x = torch.randn(1, 1, 2, device=device)
    lam = torch.full((1,), 0.5, device=device)
    variable, parameter = x.clone().requires_grad_(), lam.clone().requires_grad_()
    layer = tautstring.TVLayer(1, direction="1d", lam=0.5, device=device)
    calls = [
        ("a number as lam", 20, lambda: tautstring.prox_tv1d(x, 0.5)),
        ("a tensor as lam", 20, lambda: tautstring.prox_tv1d(x, lam)),
        ("recording x", 45, lambda: tautstring.prox_tv1d(variable, 0.5)),
        ("recording x and lam", 45, lambda: tautstring.prox_tv1d(variable, parameter)),
        ("a layer", None, lambda: layer(variable)),
        ("a step of a layer", None, lambda: layer(variable).backward(x)),
        ("a step of relu", None, lambda: torch.relu(variable).backward(x)),
    ]
    for name, goal, call in calls:
        yield name, microseconds(call), goal


def training_steps():
    """Yield name and time of forward and backward of a layer on 8192 x 32, and of relu."""
    layer = tautstring.TVLayer(1, direction="1d", lam=0.05, device="cuda")
    x = torch.randn(8192, 1, 32, device="cuda", requires_grad=True)
    grad_y = torch.randn_like(x)

    def step(module):
        module(x).backward(grad_y)

    graph = torch.cuda.CUDAGraph()
    for _ in range(20):
        step(layer)
        step(torch.relu)
    yield "of a layer", microseconds(lambda: step(layer), calls=100)
    yield "of relu", microseconds(lambda: step(torch.relu), calls=100)
    with torch.cuda.graph(graph):
        step(layer)
    yield "of a layer, as a CUDA graph", microseconds(graph.replay, calls=100)


def main():
    """Print what was measured."""
    print(tautstring.show_config())
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        for name, time_us, goal in overheads(device):
            stated = f"   goal {goal} us" if goal else ""
            print(f"{device:5} {name:20} {time_us:6.1f} us{stated}")
    if torch.cuda.is_available():
        for name, time_us in training_steps():
            goal = "" if name == "of relu" else f"   goal {9800 / 60:.0f} us"
            print(f"cuda  8192 x 32, a step {name:28} {time_us:6.1f} us{goal}")


if __name__ == "__main__":
    main()
