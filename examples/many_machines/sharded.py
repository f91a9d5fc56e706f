"""Smooth a tensor whose images are shared out over processes, as a DTensor.

torchrun --standalone --nproc-per-node 2 examples/many_machines/sharded.py
"""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import tautstring

device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
dist.init_process_group()
mesh = init_device_mesh(str(device), (dist.get_world_size(),))

images = torch.rand(6, 3, 64, 64, generator=torch.Generator().manual_seed(0))
shared = distribute_tensor(images, mesh, [Shard(0)])  # some of the images on each process
smooth = tautstring.prox_tv2d(shared, 0.1)  # each process solves its own, without communication
print(f"process {dist.get_rank()} has solved {len(smooth.to_local())} images")

whole = smooth.full_tensor()  # gathers the images
alone = tautstring.prox_tv2d(images.to(whole.device), 0.1)
assert torch.equal(whole, alone)  # the same bits as on one process
dist.barrier()
dist.destroy_process_group()
