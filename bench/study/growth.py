"""How the cost grows with n, rows, lambda, data, iterations, image size and dtype.

Each case has forward, backward (the gradients of x and of lambda) and a copy of x; most groups of
rows have Newton too. Each group varies one variable and keeps the others at a middle value. On a
GPU calls are replayed from CUDA graphs: most are shorter than the time Python takes to launch them.
"""

from collections.abc import Callable, Iterator

import torch

import tautstring
from study.benchmark import Benchmark, Call
from study.data import FAMILIES, images
from study.timing import graph_of

ROWS, LENGTH, LAM = 1024, 1024, 1.0
SHORT_LENGTH = 32  # of the rows whose number grows
FEW_ROWS = 16  # whose length grows
PIXELS = 1 << 22  # of all images whose size grows
IMAGES = (16, 3, 128, 128)  # whose iterations grow
IMAGE_LAM = 0.2
ITERATIONS = 4

LENGTHS = [8, 32, 128, 512, 2048, 8192, 32_768, 131_072, 1_000_000]
LONGEST_OF_NEWTON = 32_768  # longer rows take seconds on a GPU
COUNTS = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
LAMS = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0]
SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]
DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
PARTS = ("forward", "backward", "copy")

Solve = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield all groups."""
    with_newton = (*PARTS, "newton")
    for n in LENGTHS:
        parts = with_newton if n <= LONGEST_OF_NEWTON else PARTS
        yield from _rows(device, "growth_n", rows=FEW_ROWS, n=n, parts=parts)
    for rows in COUNTS:
        yield from _rows(device, "growth_rows", rows=rows, n=SHORT_LENGTH, parts=with_newton)
    for lam in LAMS:
        yield from _rows(device, "growth_lam", lam=lam, parts=with_newton)
    for family in FAMILIES:
        yield from _rows(device, "growth_family", family=family, parts=with_newton)
    for dtype in DTYPES:
        yield from _rows(device, "growth_dtype", dtype=dtype)
    for iterations in (1, 2, 4, 8, 16, 32):
        yield from _images(device, f"growth_iterations_{iterations:02}", IMAGES, iterations)
    for size in SIZES:
        shape = (PIXELS // size**2, 1, size, size)
        yield from _images(device, "growth_size", shape, ITERATIONS)


def _rows(
    device: str,
    group: str,
    *,
    family: str = "noise",
    rows: int = ROWS,
    n: int = LENGTH,
    lam: float = LAM,
    dtype: str = "fp32",
    parts: tuple[str, ...] = PARTS,
) -> Iterator[Benchmark]:
    def make_x() -> torch.Tensor:
        return FAMILIES[family](rows, n)

    case = f"{group}/{family}/{rows}x{n}/lam:{lam:g}"
    for part in parts:
        solver = "newton" if part == "newton" else "direct"

        def solve(x: torch.Tensor, lam: torch.Tensor, solver: str = solver) -> torch.Tensor:
            return tautstring.prox_tv1d(x, lam, solver=solver)

        yield _benchmark(case, part, make_x, lam, dtype, device, solve)


def _images(
    device: str, group: str, shape: tuple[int, int, int, int], iterations: int
) -> Iterator[Benchmark]:
    def solve(x: torch.Tensor, lam: torch.Tensor) -> torch.Tensor:
        return tautstring.prox_tv2d(x, lam, iterations=iterations)

    case = f"{group}/noise/{'x'.join(map(str, shape))}/lam:{IMAGE_LAM:g}"
    for part in PARTS:
        yield _benchmark(case, part, lambda: images(*shape), IMAGE_LAM, "fp32", device, solve)


def _benchmark(
    case: str,
    part: str,
    make_x: Callable[[], torch.Tensor],
    lam: float,
    dtype: str,
    device: str,
    solve: Solve,
) -> Benchmark:
    def make() -> Call:
        x = make_x().to(device, DTYPES[dtype])

        def prepare() -> Callable[[], object]:
            if part == "copy":
                copy = torch.empty_like(x)
                return lambda: copy.copy_(x)
            parameter = torch.tensor(lam, dtype=torch.float32, device=device)
            if part != "backward":
                return lambda: solve(x, parameter)
            inputs = (x.detach().requires_grad_(), parameter.requires_grad_())
            y = solve(*inputs)
            grad_y = x.cos()
            return lambda: torch.autograd.grad(y, inputs, grad_y, retain_graph=True)

        run = graph_of(prepare) if device == "cuda" else prepare()
        return Call(run, bytes=2 * x.nbytes)

    return Benchmark(f"{case}/{part}:{dtype}", make)
