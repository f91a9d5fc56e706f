"""What TV layers cost inside a net: a training step with and without them, eager and compiled.

The nets are those of the paper's tasks, with TV layers at the same places: AllConv with three
at its first convolutions, DnCNN with one at the input and one at the output, ResNet-50 (maps of
28 x 28) with one before the class activation map. A step is forward, loss, backward and plain
SGD, on synthetic data, in float32 (with PyTorch's defaults). On a GPU also in bfloat16, by
autocast with channels last, eager and compiled into CUDA graphs, as is usual for training
there; on a CPU AllConv of half the width in bfloat16 with channels last, in batches of 128, as
it is trained there, also with PyTorch's own GELU and without dropout.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from study.benchmark import Benchmark, Call
from tautstring_tasks.classify.model import AllConv, AllConvOptions
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.localise.model import ResNet50

REPEATS = 10
FIRST_STEPS = 4  # in which a net is compiled, then captured
LEARNING_RATE = 1e-3
HOWS = {
    "cpu": ("eager", "compiled"),
    "cuda": ("eager", "eager_bf16", "graphs_bf16"),
}


def all_conv(tv: bool, width: int = 96) -> nn.Module:
    """Return AllConv for 32 x 32 images in ten classes; `width` is that of its first layers."""
    return AllConv(AllConvOptions(arm="smooth" if tv else "none", width=width))


def all_conv_half(tv: bool) -> nn.Module:
    """Return AllConv of half the width: what two cores can train."""
    return all_conv(tv, width=48)


def all_conv_half_gelu(tv: bool) -> nn.Module:
    """Return the same with what else it does made cheap: PyTorch's own GELU, and no dropout."""
    net = AllConv(AllConvOptions(arm="smooth" if tv else "none", width=48, dropout=0.0))
    for unit in (*net.first, *net.second, *net.third):
        unit.gelu = nn.GELU()
    return net


def dn_cnn(tv: bool) -> nn.Module:
    """Return the DnCNN of the denoising task."""
    return DnCNN(ModelOptions(arm="both" if tv else "none"))


def res_net(tv: bool) -> nn.Module:
    """Return ResNet-50 for localisation, with maps of 28 x 28."""
    return ResNet50("smooth" if tv else "none")


@dataclass(frozen=True)
class Net:
    """A net and the batch that it is trained on."""

    make: Callable[[bool], nn.Module]
    sample: tuple[int, int, int]
    samples: dict[str, int]  # by device
    hows: dict[str, tuple[str, ...]] = field(default_factory=lambda: HOWS)


NETS = {
    "all_conv": Net(all_conv, (3, 32, 32), {"cpu": 8, "cuda": 128}),
    "all_conv_half": Net(all_conv_half, (3, 32, 32), {"cpu": 128}, {"cpu": ("eager_bf16",)}),
    "all_conv_half_gelu": Net(
        all_conv_half_gelu, (3, 32, 32), {"cpu": 128}, {"cpu": ("eager_bf16",)}
    ),
    "dn_cnn": Net(dn_cnn, (3, 40, 40), {"cpu": 8, "cuda": 64}),
    "res_net": Net(res_net, (3, 224, 224), {"cpu": 1, "cuda": 32}),
}


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield each net with and without TV layers, eager and compiled; lam is not a number here."""
    for name, net in NETS.items():
        if device not in net.samples:
            continue
        shape = (net.samples[device], *net.sample)
        case = f"nets/{name}/{'x'.join(map(str, shape))}/lam:trained"
        for how in net.hows[device]:
            for tv in (False, True):  # one right after the other: the speed of a machine varies
                who = f"{'with_tv' if tv else 'without_tv'}:{how}"
                yield Benchmark(
                    f"{case}/{who}",
                    lambda net=net, shape=shape, tv=tv, how=how: _step(net, shape, tv, how, device),
                    REPEATS,
                    threads=len(os.sched_getaffinity(0)),
                )


def _compiled(module: nn.Module, how: str) -> nn.Module:
    if how.startswith("eager"):
        return module
    # Without the reset, torch would treat this net as another of its class, with dynamic shapes.
    torch.compiler.reset()
    return torch.compile(module, mode="reduce-overhead" if how.startswith("graphs") else None)


def _step(net: Net, shape: tuple[int, ...], tv: bool, how: str, device: str) -> Call:
    torch.manual_seed(0)
    mixed = how.endswith("_bf16")
    layout = torch.channels_last if mixed else torch.contiguous_format
    x = torch.rand(shape, device=device).to(memory_format=layout)
    module = net.make(tv).to(device, memory_format=layout).train()
    called = _compiled(module, how)
    optimizer = torch.optim.SGD(module.parameters(), LEARNING_RATE)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=mixed):
            loss = called(x).square().mean()
        loss.backward()
        optimizer.step()

    for _ in range(FIRST_STEPS):
        run()
    return Call(run)
