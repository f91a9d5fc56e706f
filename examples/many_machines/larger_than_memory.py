"""Smooth an array that is larger than memory, on all processes or machines of a Dask cluster.

python examples/many_machines/larger_than_memory.py

Here the array is small and the cluster is two processes of this machine. `Client("tcp://...")`
connects to any other.
"""

import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import tautstring.numpy as ts


def smooth_rows(block):
    """Smooth the rows of one block, on the one thread that Dask gives to it."""
    return ts.prox_tv1d(block, lam=0.5, threads=1)


def smooth_images(block):
    """Smooth the images of one block to a proved accuracy."""
    return ts.prox_tv2d(block, lam=0.1, tol=1e-4, threads=1)


def main(folder):
    """Smooth files block by block, and compare with one call."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        random = da.random.default_rng(0)
        signals = random.normal(size=(1000, 400), chunks=(100, -1)).cumsum(axis=1)
        da.to_npy_stack(folder / "signals", signals)  # a folder of ten files

        rows = da.from_npy_stack(folder / "signals")  # workers read what they solve
        da.to_npy_stack(folder / "smooth", rows.map_blocks(smooth_rows))
        result = da.from_npy_stack(folder / "smooth").compute()
        expected = ts.prox_tv1d(rows.compute(), lam=0.5)

        images = random.random((12, 64, 48), chunks=(3, -1, -1))  # -1: whole images
        smooth = images.map_blocks(smooth_images).compute()
        expected_images = ts.prox_tv2d(images.compute(), lam=0.1, tol=1e-4)

    assert np.array_equal(result, expected)
    assert np.array_equal(smooth, expected_images)
    print("10 blocks of rows and 4 of images: the same bits as one call")


if __name__ == "__main__":  # workers import this file
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
