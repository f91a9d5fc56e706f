"""The figures of the page on edges: precision over recall, crispness, and maps of two pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from tautstring_tasks import extras, nets, reporting
from tautstring_tasks.edges import data as edge_data
from tautstring_tasks.edges import task as edges
from tautstring_tasks.edges.score import scores_of
from tautstring_tasks.scores import Scored
from tautstring_tasks.task import BASELINE

_PHOTO = (slice(0, 256), slice(96, 352))  # of scikit-image's astronaut
_SCENE_SEED = 7


def curves(task: Any, groups: Sequence[Sequence[Scored]], folder: Path) -> str:
    """Plot precision over recall of the fused maps of each run; return the section."""
    links = []
    for number, runs in enumerate(groups, start=1):
        sets = list(runs[0].scores)
        figure, axes = plt.subplots(1, len(sets), figsize=(4.5 * len(sets), 4.5), squeeze=False)
        for axis, name in zip(axes[0], sets, strict=True):
            _draw_curves(axis, task, runs, name)
        file = folder / f"edges_curves{number}.svg"
        reporting.save(figure, file)
        links.append(f"![Precision over recall](images/{file.name})\n")
    return "\n".join(["## Precision over recall\n", *links, "Fused maps; a line per run.\n"])


def _draw_curves(axis: Axes, task: Any, runs: Sequence[Scored], name: str) -> None:
    for number, (arm, found) in enumerate(reporting.by_arm(task, runs).items()):
        label: str | None = task.arms[arm]
        for run in found:
            counts = run.scores[name][edges.FUSED].transpose(2, 0, 1)
            curve = scores_of([""] * len(counts), np.ascontiguousarray(counts, np.int64)).curve
            points = [(recall, precision) for _, recall, precision, f in curve if f > 0]
            if points:
                recalls, precisions = zip(*points, strict=True)
                axis.plot(recalls, precisions, f"C{number}", label=label, linewidth=1)
                label = None  # seeds look alike
    axis.set(title=name, xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1))
    axis.grid(alpha=0.3)
    if axis.lines:
        axis.legend(fontsize=7, loc="lower left")


def crispness(task: Any, groups: Sequence[Sequence[Scored]]) -> str:
    """Return the section with a table of how much of the maps survives suppression."""
    lines = ["## Crispness\n"]
    for runs in groups:
        sets = list(runs[0].scores)
        rows = [["", "seeds", *sets]]
        for arm, found in reporting.by_arm(task, runs).items():
            means = [[run.scores[name][edges.CRISPNESS].mean() for run in found] for name in sets]
            cells = [
                f"{np.mean(each):.3f}" + (f" ± {np.std(each, ddof=1):.3f}" if len(each) > 1 else "")
                for each in means
            ]
            rows.append([task.arms[arm], str(len(found)), *cells])
        lines += [*reporting.table(rows), ""]
    lines.append(
        "The part of a fused map's total that survives non-maximum suppression, mean over images: "
        "1 if all edges were one pixel wide.\n"
    )
    return "\n".join(lines)


def pictures(task: Any, folder: Path) -> str:
    """Draw the maps of the package's nets for a photo and a scene; return the section."""
    found = task.weights()
    if not found:
        return ""
    extras.require("skimage", "denoise")
    from skimage.data import astronaut

    scene, truth = edge_data.render(np.random.default_rng(_SCENE_SEED), height=256, width=256)
    photo = np.ascontiguousarray(astronaut()[_PHOTO])
    loaded = {nets.load(task, file)[1]["model"]["arm"]: file for file in found.values()}
    arms = sorted(loaded, key=lambda arm: arm != BASELINE)
    titles = ["image", "true edges", *(task.arms[arm] for arm in arms)]
    figure, axes = plt.subplots(2, len(titles), figsize=(3 * len(titles), 6.4))
    for row, (image, true) in zip(axes, ((photo, None), (scene, truth)), strict=True):
        shown = [image, None if true is None else 255 - true]
        shown += [255 - _fused(task, loaded[arm])(image) for arm in arms]
        for axis, title, picture in zip(row, titles, shown, strict=True):
            axis.set_axis_off()
            if picture is not None:
                axis.imshow(picture, cmap="gray", vmin=0, vmax=255)
                axis.set_title(title, fontsize=9)
    reporting.save(figure, folder / "edges_maps.png")
    return (
        "## Maps\n\n![Maps of edges](images/edges_maps.png)\n\n"
        "Fused maps of the package's nets, before suppression. The photo is NASA's portrait of "
        "Eileen Collins (public domain), as scikit-image has it; the scene is rendered.\n"
    )


def _fused(task: Any, file: Path) -> Callable[[Any], Any]:
    net, _ = nets.load(task, file)
    return lambda image: edges.predicted(net, image, torch.device("cpu"), "float32")[0]
