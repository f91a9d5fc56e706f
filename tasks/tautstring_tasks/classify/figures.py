"""The figure of the classification page: accuracy over the severity of each corruption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from tautstring_tasks import cifar10c, reporting
from tautstring_tasks.scores import Scored

_COLUMNS = 5


def severities(task: Any, groups: Sequence[Sequence[Scored]], folder: Path) -> str:
    """Plot the mean accuracy of each arm; return the section that shows it."""
    drawn: list[str] = []
    for runs in groups:
        names = [name for name in cifar10c.CORRUPTIONS if name in runs[0].scores]
        if names:
            file = folder / f"classify_severities{len(drawn) + 1}.svg"
            _draw(task, runs, names, file)
            drawn.append(f"![Accuracy over severity](images/{file.name})\n\n")
    if not drawn:
        return ""
    return f"## Accuracy over severity\n\n{''.join(drawn)}Means over seeds, in the tables' order.\n"


def _draw(task: Any, runs: Sequence[Scored], names: Sequence[str], file: Path) -> None:
    rows = -(-len(names) // _COLUMNS)
    figure, axes = plt.subplots(
        rows, _COLUMNS, figsize=(2.4 * _COLUMNS, 2.2 * rows), sharex=True, squeeze=False
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    arms = reporting.by_arm(task, runs)
    for axis, name in zip(axes.flat, names, strict=False):
        for arm, found in arms.items():
            each = [run.scores[name]["accuracy"].mean(axis=-1) for run in found]
            accuracy = 100 * np.mean(each, axis=0)
            axis.plot(cifar10c.SEVERITIES, accuracy, ".-", label=task.arms[arm], linewidth=1)
        axis.set_title(name.replace("_", " "), fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=5)
    figure.supxlabel("severity", fontsize=8)
    figure.supylabel("accuracy, %", fontsize=8)
    reporting.save(figure, file)
