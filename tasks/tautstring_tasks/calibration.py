"""Batch norms with the statistics of many batches instead of those left by training."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from tautstring_tasks import checkpoints, nets, runs
from tautstring_tasks.devices import Share
from tautstring_tasks.nets import AnyTask

_LEAST_BATCH = 8


def calibrate(
    task: AnyTask, folder: Path, weights: Path, out: Path, batches: int, device: torch.device
) -> None:
    """Write a net whose batch norms have the statistics of many training batches.

    These are the batches that would have followed its training. During training the statistics
    follow the last few batches. If these are small, the statistics are noisy, which costs some nets
    a third of a dB, and others nothing.
    """
    module, about = nets.load(task, weights)
    net, options, recipe = nets.options_of(task, weights, about)
    recipe = dataclasses.replace(recipe, batch=max(_LEAST_BATCH, recipe.batch))
    loss = task.training(folder, net, options, recipe, device).loss
    module = module.to(device)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
            norm.train()
    with torch.no_grad():
        for step in tqdm(range(batches), desc="calibrate", mininterval=1.0):
            loss(module, recipe.steps + step, Share())
    about.pop("half", None)  # statistics are in float32
    calibrated = {"calibrate": batches, "calibrated_from": runs.hash_of_file(weights)}
    checkpoints.save(out, module.state_dict(), {**about, **calibrated})
