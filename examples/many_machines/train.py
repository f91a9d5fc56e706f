"""Train a net with a TV layer on all processes that torchrun starts.

torchrun --standalone --nproc-per-node 2 examples/many_machines/train.py

With --shard the parameters and the state of the optimizer are shared out, too (FSDP).
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tautstring import TVLayer


def scenes(count, generator):
    """Plain areas, with and without noise."""
    corners = torch.rand(count, 1, 1, 2, generator=generator)
    rows, columns = torch.linspace(0, 1, 32)[:, None], torch.linspace(0, 1, 32)
    clean = ((rows > corners[..., :1]) ^ (columns > corners[..., 1:])).float()
    return clean, clean + 0.3 * torch.randn(clean.shape, generator=generator)


device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
dist.init_process_group()  # NCCL for GPUs, gloo for CPUs
rank = dist.get_rank()
if device != "cpu":
    torch.accelerator.set_device_index(rank % torch.accelerator.device_count())

torch.manual_seed(0)  # the same net everywhere
net = nn.Sequential(
    *(nn.Conv2d(1, 8, 3, padding=1), TVLayer(8, lam=0.1), nn.ReLU()),
    nn.Conv2d(8, 1, 3, padding=1),
).to(device)
if "--shard" in sys.argv:
    fully_shard(net)
else:
    net = DistributedDataParallel(net)

optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
generator = torch.Generator().manual_seed(1 + rank)  # other images on each process
for step in range(30):
    clean, noisy = (images.to(device) for images in scenes(8, generator))
    loss = nn.functional.mse_loss(net(noisy), clean)
    optimizer.zero_grad()
    loss.backward()  # gradients of the weights and of lambda are averaged over processes
    optimizer.step()
    if step % 10 == 9 and rank == 0:
        print(f"step {step + 1}: mean squared error {loss.item():.4f}")
dist.barrier()
dist.destroy_process_group()
