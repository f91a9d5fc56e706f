"""Scores of a net on the task's test sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tautstring_tasks import json_files, nets, runs, scores
from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import Precision
from tautstring_tasks.errors import InputError
from tautstring_tasks.nets import AnyTask
from tautstring_tasks.scores import Scored
from tautstring_tasks.training import LOG

_LOG = {"machine": dict, "history": [{"step": int, "loss": float, "lam": dict}]}


def evaluate(
    task: AnyTask,
    folder: Path,
    weights: Path,
    sets: Sequence[str],
    test: Any,
    device: torch.device,
    precision: Precision,
) -> Scored:
    """Score a net. Where the log of its training lies beside it, the result includes that."""
    module, about = nets.load(task, weights)
    _, options, _ = nets.options_of(task, weights, about)
    found = task.tests(folder, sets, options, test)
    module = module.to(device)
    trained_on, history = _training_of(weights, about)
    about = {
        **about,
        **trained_on,
        "weights_sha256": runs.hash_of_file(weights),
        "test": runs.as_options(test),
        "precision": precision,
        "machine": runs.about_machine(device),
        "sets": {name: each.about for name, each in found.items()},
    }
    result = {name: each.score(module, device, precision) for name, each in found.items()}
    return Scored(about, result, history)


def _training_of(weights: Path, about: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what the log beside a net says, if it is the log of this net's training."""
    log = weights.parent / LOG
    if not log.exists():
        return {}, {}
    content = runs.load_json(log)
    json_files.check(log, content, _LOG)
    if any(content.get(key) != about[key] for key in ("model", "options", "data", "training")):
        return {}, {}
    try:
        history = scores.lines_of(content["history"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"{log}: its history is not that of a training") from None
    return {"trained_on": content["machine"]}, history
