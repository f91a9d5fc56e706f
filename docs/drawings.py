"""The drawings of the pages, computed by the library itself when the site is built."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tautstring.numpy as ts

plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tautstring", "font.size": 9})


HERE = Path(__file__).parent


def setup(app):
    """Draw before pages are read."""
    app.connect("builder-inited", lambda app: draw_all(HERE / "drawn"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_all(folder: Path) -> None:
    """Draw each figure into a file of its name."""
    folder.mkdir(exist_ok=True)
    for draw in (lambdas, units, taut_string, dual, gradient, gap):
        figure = draw()
        figure.savefig(folder / f"{draw.__name__}.svg", metadata={"Date": None})
        plt.close(figure)


def _signal(count: int = 160, noise: float = 0.35) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    clean = np.repeat([0.0, 2.0, 0.8, 1.6], [count // 4] * 4)
    return clean, clean + rng.normal(0, noise, count)


def lambdas():
    """One signal, three lambdas."""
    clean, noisy = _signal()
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.4), sharey=True, layout="constrained")
    titles = ("0.2: too little", "2: about right", "30: too much")
    for axis, lam, title in zip(axes, (0.2, 2.0, 30.0), titles, strict=True):
        axis.plot(noisy, color="0.8", linewidth=0.8)
        axis.plot(clean, ":", color="k", linewidth=0.8)
        axis.plot(ts.prox_tv1d(noisy, lam=lam), color="C0")
        axis.set_title(f"lambda {title}")
    return figure


def units():
    """What lambda does to one plateau."""
    x = np.repeat([0.0, 1.0, 0.0], [10, 8, 10])
    figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
    axis.step(range(len(x)), x, where="mid", color="k", label="x")
    for color, lam in (("C0", 0.8), ("C1", 2.0), ("C2", 4.0)):
        y = ts.prox_tv1d(x, lam=lam)
        axis.step(range(len(x)), y, where="mid", color=color, label=f"lambda {lam:g}")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    axis.set_title("a plateau of 8 samples loses 2 lambda / 8 of its height")
    return figure


def taut_string():
    """The tube around the sums of the samples, the string in it, and its slopes."""
    rng = np.random.default_rng(1)
    x = np.repeat([0.4, 1.4, 0.6], [9, 7, 8]) + rng.normal(0, 0.35, 24)
    lam = 1.0
    y = ts.prox_tv1d(x, lam=lam)
    sums, string = (np.concatenate([[0], np.cumsum(each)]) for each in (x, y))
    width = np.full(len(sums), lam)
    width[[0, -1]] = 0
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    axes[0].fill_between(range(len(sums)), sums - width, sums + width, color="0.9")
    axes[0].plot(sums, ".", color="0.6", label="sums of x")
    axes[0].plot(string, color="C0", label="string: sums of y")
    axes[0].set_title("a string is pulled tight in a tube of radius lambda")
    axes[1].plot(range(1, len(x) + 1), x, ".", color="0.6", label="x")
    axes[1].step(range(1, len(x) + 1), y, where="mid", color="C0", label="y")
    axes[1].set_title("its slopes are the solution")
    for axis in axes:
        axis.legend()
    return figure


def dual():
    """The dual variable touches its bounds where the solution jumps."""
    _, x = _signal(80)
    lam = 1.5
    y = ts.prox_tv1d(x, lam=lam)
    u = np.cumsum(x - y)
    jumps = np.flatnonzero(np.diff(y))
    figure, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
    axes[0].plot(x, color="0.8")
    axes[0].step(range(len(y)), y, where="mid")
    axes[0].set_title("x and y")
    axes[1].plot(u, "C1")
    axes[1].axhline(lam, color="k", linewidth=0.8)
    axes[1].axhline(-lam, color="k", linewidth=0.8)
    for edge in jumps:
        for axis in axes:
            axis.axvline(edge + 0.5 if axis is axes[0] else edge, color="0.6", linestyle=":")
    axes[1].set_title("u stays within lambda, and touches it where y jumps")
    return figure


def gradient():
    """The derivative of the solution by a sample is spread over its segment."""
    _, x = _signal(40, noise=0.25)
    lam = 1.0
    segments = ts.segments1d(x, lam=lam)
    labels = np.repeat(np.arange(segments.starts.size), segments.lengths)
    jacobian = (labels[:, None] == labels) / segments.lengths[labels]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    axes[0].plot(x, ".", color="0.6")
    axes[0].step(range(len(x)), ts.prox_tv1d(x, lam=lam), where="mid")
    axes[0].set_title("segments")
    picture = axes[1].imshow(jacobian, cmap="Greys")
    axes[1].set_title("dy / dx: means over segments")
    figure.colorbar(picture, ax=axes[1])
    return figure


def gap():
    """How the duality gap of images falls with the iterations."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:128, :128]
    scene = 0.3 * (x > 50) + 0.3 * (y + x > 160) + rng.normal(0, 0.1, (128, 128))
    figure, axis = plt.subplots(figsize=(5.5, 3), layout="constrained")
    counts = (1, 2, 4, 8, 16, 32, 64)
    for method in ("dykstra", "accelerated"):
        gaps = []
        for count in counts:
            image = ts.prox_tv2d(scene, 0.2, method=method, iterations=count)
            objective = 0.5 * np.sum((image - scene) ** 2) + 0.2 * sum(
                np.abs(np.diff(image, axis=axis_)).sum() for axis_ in (0, 1)
            )
            gaps.append(ts.gap2d(scene, image, 0.2) / objective)
        axis.loglog(counts, gaps, "o-", label=method)
    axis.set(xlabel="iterations", ylabel="gap / objective")
    axis.legend()
    axis.grid(alpha=0.3)
    return figure
