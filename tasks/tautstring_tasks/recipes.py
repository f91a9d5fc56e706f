"""Recipes of training: the optimizer, its parameter groups, and the learning rate of each step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

import tautstring
from tautstring_tasks.errors import InputError, require
from tautstring_tasks.sites import DecayedTVLayer

MOST_SEED = 2**31 - 1
_MOMENTUM = 0.9
_START_OF_RISE = 1 / 25  # of the highest rate, with one-cycle


@dataclass(frozen=True)
class Recipe:
    """How a net is trained, for any task."""

    seed: int = 0
    """Seed of the initial weights and of every step's data."""
    steps: int = 60_000
    """Number of steps, whatever the batch."""
    batch: int = 64
    """Samples per step, over all processes."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """`sgd` has Nesterov's momentum of 0.9."""
    schedule: Literal["cosine", "steps", "one-cycle"] = "cosine"
    """How the learning rate falls from `lr`. `cosine`: to `last_lr` along a cosine. `steps`: to a
    tenth at each of `drops`. `one-cycle`: it first rises to `lr` during `rise` of the steps."""
    lr: float = 1e-3
    """Highest learning rate."""
    last_lr: float = 1e-5
    drops: tuple[float, ...] = (0.3, 0.6, 0.9)
    """For `steps`: parts of the training after which the learning rate is divided by 10."""
    rise: float = 0.2
    """For `one-cycle`: the part of the training in which the learning rate rises."""
    weight_decay: float = 0.0
    """Weight decay of all parameters; of lambda's only in arms that say so. With `adam` it is
    decoupled (AdamW)."""
    lam_lr_factor: float = 50.0
    """The learning rate of lambda's parameters, as a multiple of that of the others."""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        require("seed", self.seed, at_least=0, at_most=MOST_SEED)
        require("steps", self.steps, at_least=0)
        require("batch", self.batch, at_least=1)
        require("lr", self.lr, above=0)
        require("last_lr", self.last_lr, at_least=0)
        for drop in self.drops:
            require("drops", drop, above=0, at_most=1)
        require("rise", self.rise, at_least=0, at_most=1)
        require("weight_decay", self.weight_decay, at_least=0)
        require("lam_lr_factor", self.lam_lr_factor, at_least=0)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        done = step / self.steps
        if self.schedule == "steps":
            return self.lr * math.pow(0.1, sum(done >= drop for drop in self.drops))
        if self.schedule == "one-cycle" and done < self.rise:
            return _along_cosine(self.lr, self.lr * _START_OF_RISE, 1 - done / self.rise)
        rise = self.rise if self.schedule == "one-cycle" else 0.0
        return _along_cosine(self.lr, self.last_lr, (done - rise) / (1 - rise))

    def make_optimizer(
        self, net: nn.Module, factors: Mapping[str, float], device: torch.device
    ) -> torch.optim.Optimizer:
        """Create the optimizer; each of its groups has a `factor` for the learning rate."""
        groups = self.groups(net, factors)
        is_fused = device.type == "cuda"
        if self.optimizer == "sgd":
            return torch.optim.SGD(groups, self.lr, _MOMENTUM, nesterov=True, fused=is_fused)
        return torch.optim.Adam(groups, decoupled_weight_decay=True, fused=is_fused)

    def groups(self, net: nn.Module, factors: Mapping[str, float]) -> list[dict[str, Any]]:
        """Split parameters by their learning rate.

        `factors` has multiples of the rate by the first part of the parameters' names. Lambda has
        no weight decay, which would pull softplus(raw_lam) to 0.69 regardless of the data; only a
        `DecayedTVLayer` asks for that.
        """
        decay_of_lams = {
            id(layer.raw_lam): self.weight_decay if isinstance(layer, DecayedTVLayer) else 0.0
            for layer in net.modules()
            if isinstance(layer, tautstring.TVLayer) and layer.learnable
        }
        found: dict[tuple[bool, float, float], list[nn.Parameter]] = {}
        named = list(net.named_parameters())
        for prefix in factors:
            if not any(_is_in(name, prefix) for name, _ in named):
                raise InputError(f"the net has no parameters in {prefix}, which has its own rate")
        for name, parameter in named:
            factor = next((f for prefix, f in factors.items() if _is_in(name, prefix)), 1.0)
            rule = (False, factor, self.weight_decay)
            if id(parameter) in decay_of_lams:
                rule = (True, self.lam_lr_factor, decay_of_lams[id(parameter)])
            found.setdefault(rule, []).append(parameter)
        # Lambda comes last: a net with TV layers numbers its other parameters as one without.
        return [
            {"params": parameters, "factor": factor, "weight_decay": decay}
            for (_, factor, decay), parameters in sorted(
                found.items(), key=lambda group: group[0][0]
            )
        ]


def _along_cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * done)) / 2


def _is_in(name: str, prefix: str) -> bool:
    return name.startswith(prefix + ".")
