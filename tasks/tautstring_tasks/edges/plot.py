"""The plot of precision over recall."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from tautstring_tasks import extras
from tautstring_tasks.edges.maps import Point
from tautstring_tasks.errors import InputError

SUFFIXES = (".png", ".svg")


def check(file: Path) -> None:
    """Raise if a plot cannot be drawn to a file, before any work is done."""
    if file.suffix.lower() not in SUFFIXES:
        raise InputError(f"--plot {file}: the extension must be one of {', '.join(SUFFIXES)}")
    extras.require("matplotlib", "edges")


def draw(curve: Sequence[Point], ods: Point, label: str, suffix: str) -> bytes:
    """Return the file of a plot, with the lines along which F is constant."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="tight")
    axes = figure.subplots()
    for f in np.arange(0.1, 1, 0.1):
        recall = np.linspace(f / (2 - f), 1, 200)
        axes.plot(recall, f * recall / (2 * recall - f), color="0.85", linewidth=0.8)
        axes.annotate(f"{f:.1f}", (1, f / (2 - f)), color="0.6", fontsize=7)
    points = [(recall, precision) for _, recall, precision, f in curve if f > 0]
    if points:
        axes.plot(*zip(*points, strict=True), label=label)
    axes.plot(ods[1], ods[2], "o", label=f"best F = {ods[3]:.3f}")
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="lower left")
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tautstring", "svg.fonttype": "none"}):
        is_svg = suffix.lower() == ".svg"
        metadata = {"Date": None} if is_svg else {"Software": None}  # the same file each time
        figure.savefig(content, format=suffix.lower()[1:], metadata=metadata, dpi=150)
    return content.getvalue()
