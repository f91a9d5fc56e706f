# What test_torch_distributed.py runs under torchrun, on each of two processes (gloo).
import gc
import sys
import weakref

import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a group: its functions keep it as a default argument
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

import tautstring
from tautstring import TVLayer


def check_ddp():
    """A net under DDP takes the same steps as one process with the whole batch."""
    from torch.nn.parallel import DistributedDataParallel

    def make_net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv1d(1, 3, 3, padding=1), TVLayer(3, direction="1d", lam=0.2))

    alone, shared = make_net().double(), DistributedDataParallel(make_net().double())
    batch = torch.randn(4, 1, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    share = batch.chunk(dist.get_world_size())[dist.get_rank()]
    for net, x in ((alone, batch), (shared, share)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
    lam = alone[1].lam
    assert (lam - 0.2).abs().min() > 0
    torch.testing.assert_close(shared.module[1].lam, lam)


def check_dtensor():
    """Rows of a sharded batch are solved on their process, forward without communication."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(5, 3, 12, generator=generator, dtype=torch.float64)  # 5 rows: uneven shares
    weight = torch.rand(5, 1, 12, generator=generator, dtype=torch.float64) + 0.5
    lam = torch.full((3, 1), 0.3, dtype=torch.float64)

    def run(place_lam, dim, sharded, weight=None):
        plain = [t.clone().requires_grad_() for t in (x, lam)]
        placed = [
            distribute_tensor(x, mesh, [Shard(sharded)]).requires_grad_(),
            distribute_tensor(lam.expand(3, 1), mesh, [place_lam]).requires_grad_(),
        ]
        placed_weight = None if weight is None else distribute_tensor(weight, mesh, [Shard(0)])
        expected = tautstring.prox_tv1d(*plain, dim=dim, weight=weight)
        with CommDebugMode() as communication:
            y = tautstring.prox_tv1d(*placed, dim=dim, weight=placed_weight)
        assert communication.get_total_counts() == 0, communication.get_comm_counts()
        assert y.placements == (Shard(sharded),)
        assert torch.equal(y.full_tensor(), expected)
        expected.square().sum().backward()
        y.square().sum().backward()
        for one, other in zip(placed, plain, strict=True):
            torch.testing.assert_close(one.grad.full_tensor(), other.grad)

    def second_derivatives(arguments, weight):
        x, lam = arguments if len(arguments) == 2 else (*arguments, 0.3)
        y = tautstring.prox_tv1d(x.square(), lam, weight=weight)
        first = torch.autograd.grad(y.sin().sum(), arguments, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), arguments)

    def run_twice(*arguments, weight=None):
        plain = [tensor.clone().requires_grad_() for tensor, _ in arguments]
        placed = [distribute_tensor(t, mesh, [place]).requires_grad_() for t, place in arguments]
        placed_weight = None if weight is None else distribute_tensor(weight, mesh, [Shard(0)])
        expected = second_derivatives(plain, weight)
        for one, other in zip(second_derivatives(placed, placed_weight), expected, strict=True):
            assert other.abs().max() > 0
            torch.testing.assert_close(one.full_tensor(), other)

    run_twice((x, Shard(0)))
    run_twice((x, Shard(0)), (lam, Replicate()))
    run_twice((x, Shard(1)), (lam, Shard(0)))
    run_twice((x, Shard(0)), (lam, Replicate()), weight=weight)

    run(Replicate(), dim=2, sharded=0)
    run(Shard(0), dim=2, sharded=1)
    run(Replicate(), dim=2, sharded=0, weight=weight)

    def run_newton(place_lam, dim, sharded):
        plain = [t.clone().requires_grad_() for t in (x, lam)]
        placed = [
            distribute_tensor(x, mesh, [Shard(sharded)]).requires_grad_(),
            distribute_tensor(lam, mesh, [place_lam]).requires_grad_(),
        ]
        options = {"dim": dim, "solver": "newton", "return_info": True}
        _, first = tautstring.prox_tv1d(*plain, **options)
        expected, expected_info = tautstring.prox_tv1d(*plain, start=first.dual, **options)
        with CommDebugMode() as communication:
            _, first = tautstring.prox_tv1d(*placed, **options)
            y, info = tautstring.prox_tv1d(*placed, start=first.dual, **options)
        assert communication.get_total_counts() == 0, communication.get_comm_counts()
        assert y.placements == (Shard(sharded),)
        assert torch.equal(y.full_tensor(), expected)
        for one, other in zip(info, expected_info, strict=True):
            assert torch.equal(one.full_tensor(), other)
        expected.square().sum().backward()
        y.square().sum().backward()
        for one, other in zip(placed, plain, strict=True):
            torch.testing.assert_close(one.grad.full_tensor(), other.grad)

    run_newton(Replicate(), dim=2, sharded=0)
    run_newton(Shard(0), dim=2, sharded=1)

    # The dimension of the rows is gathered if it is sharded.
    along = distribute_tensor(x, mesh, [Shard(2)])
    assert torch.equal(tautstring.prox_tv1d(along, 0.3).full_tensor(), tautstring.prox_tv1d(x, 0.3))
    assert torch.equal(tautstring.lam_max(along).full_tensor(), tautstring.lam_max(x))
    rows = distribute_tensor(x, mesh, [Shard(0)])
    violation = tautstring.certificate1d(rows, tautstring.prox_tv1d(rows, 0.3), 0.3)
    assert violation.full_tensor().max() < 1e-12
    try:
        tautstring.segments1d(rows, 0.3)
    except TypeError as error:
        assert str(error).startswith("x: must be a plain tensor in segments1d, got DTensor")
    else:
        raise AssertionError("segments1d took a DTensor")


def check_dtensor_of_images():
    """Images of a sharded batch, and their derivatives, are solved on their process."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(5, 3, 12, 7, generator=generator, dtype=torch.float64)  # 5: uneven shares
    lam = torch.full((3, 1, 1), 0.3, dtype=torch.float64)

    def derivatives(x, lam, **options):
        y = tautstring.prox_tv2d(x.square(), lam, **options)
        first = torch.autograd.grad(y.sin().sum(), (x, lam), create_graph=True)
        return *first, *torch.autograd.grad(sum(g.square().sum() for g in first), (x, lam))

    def run(sharded, place_lam, **options):
        plain = [t.clone().requires_grad_() for t in (x, lam)]
        placed = [
            distribute_tensor(x, mesh, [Shard(sharded)]).requires_grad_(),
            distribute_tensor(lam, mesh, [place_lam]).requires_grad_(),
        ]
        expected, expected_info = tautstring.prox_tv2d(*plain, return_info=True, **options)
        with CommDebugMode() as communication:
            y, info = tautstring.prox_tv2d(*placed, return_info=True, **options)
        assert communication.get_total_counts() == 0, communication.get_comm_counts()
        assert y.placements == (Shard(sharded),)
        assert torch.equal(y.full_tensor(), expected)
        for one, other in zip(info, expected_info, strict=True):
            assert torch.equal(one.full_tensor(), other)
        with CommDebugMode() as communication:
            gap = tautstring.gap2d(placed[0], y, placed[1], dual=info.dual)
        assert communication.get_total_counts() == 0, communication.get_comm_counts()
        again = tautstring.gap2d(plain[0], expected, plain[1], dual=expected_info.dual)
        assert torch.equal(gap.full_tensor(), again)
        expected = derivatives(*plain, **options)
        for one, other in zip(derivatives(*placed, **options), expected, strict=True):
            assert other.abs().max() > 0
            torch.testing.assert_close(one.full_tensor(), other)
        # A gradient with other placements is redistributed to those of the images.
        grad_y = x.cos()
        (expected,) = torch.autograd.grad(tautstring.prox_tv2d(*plain, **options), plain[0], grad_y)
        for place in (Shard(1 - sharded), Shard(2), Replicate()):
            y = tautstring.prox_tv2d(*placed, **options)
            (grad_x,) = torch.autograd.grad(y, placed[0], distribute_tensor(grad_y, mesh, [place]))
            torch.testing.assert_close(grad_x.full_tensor(), expected)

    run(0, Replicate())
    run(1, Shard(0), method="accelerated", iterations=5)
    run(0, Replicate(), method="accelerated", tol=1e-6)
    along = distribute_tensor(x, mesh, [Shard(3)])
    assert torch.equal(tautstring.prox_tv2d(along, 0.3).full_tensor(), tautstring.prox_tv2d(x, 0.3))
    pair = (0.3, distribute_tensor(lam, mesh, [Replicate()]))
    y = tautstring.prox_tv2d(distribute_tensor(x, mesh, [Shard(0)]), pair)
    assert torch.equal(y.full_tensor(), tautstring.prox_tv2d(x, (0.3, lam)))


def check_compiled_dtensor():
    """One graph contains forward and backward, from the very first DTensor on."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_module, distribute_tensor

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    x = torch.randn(4, 3, 12, generator=torch.Generator().manual_seed(2))
    alone = TVLayer(3, direction="1d", lam=0.3)
    layer = distribute_module(TVLayer(3, direction="1d", lam=0.3), mesh)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    placed = distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
    y = compiled(placed)
    assert y.placements == (Shard(0),)
    assert torch.equal(y.full_tensor(), alone(x))
    y.square().sum().backward()
    alone(x.requires_grad_()).square().sum().backward()
    torch.testing.assert_close(placed.grad.full_tensor(), x.grad)
    torch.testing.assert_close(layer.raw_lam.grad.full_tensor(), alone.raw_lam.grad)


def check_sharded_parameters():
    """A layer created without data, sharded and filled, equals a layer created directly."""
    from torch.distributed.fsdp import fully_shard

    lam = [0.1, 0.2, 0.3]
    expected = TVLayer(3, direction="1d", lam=lam)
    with torch.device("meta"):
        layer = TVLayer(3, direction="1d", lam=lam)
    fully_shard(layer)
    layer.to_empty(device="cpu")
    layer.reset_parameters()
    assert torch.equal(layer.raw_lam.full_tensor(), expected.raw_lam)
    assert repr(layer).endswith("lam=[...])")
    x = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(2))
    assert torch.equal(layer(x), expected(x))


def end_group():
    """Ends the group together with gloo's threads, before Python shuts down.

    A thread of gloo releases a collective's tensors a moment after the collective is over. It takes
    Python's lock for that and, if Python is shutting down, aborts the process:
    https://github.com/pytorch/pytorch/issues/190489. destroy_process_group waits for the threads,
    but only if nothing else holds the group.
    """
    dist.barrier()  # neither leaves while the other still talks to it
    gc.collect()  # sharded modules are cycles
    for mesh in gc.get_objects():
        if type(mesh) is DeviceMesh:
            mesh._pg_registry.clear()  # torch's caches keep the meshes
    group = weakref.ref(dist.group.WORLD)
    dist.destroy_process_group()
    assert group() is None, "gloo's threads are still there"


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    checks = {
        "ddp": check_ddp,
        "dtensor": check_dtensor,
        "dtensor_of_images": check_dtensor_of_images,
        "compiled_dtensor": check_compiled_dtensor,
        "sharded_parameters": check_sharded_parameters,
    }
    checks[sys.argv[1]]()
    end_group()
