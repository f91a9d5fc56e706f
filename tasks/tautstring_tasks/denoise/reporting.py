"""The page of the denoising runs: tables, differences, lambdas over training, a figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from tautstring_tasks.denoise import data
from tautstring_tasks.denoise.model import DnCNN
from tautstring_tasks.errors import InputError
from tautstring_tasks.images import Pixels, to_pixels
from tautstring_tasks.json_files import Maybe
from tautstring_tasks.paired import difference

Result = dict[str, Any]  # what `evaluate` wrote
Log = dict[str, Any]  # what `train` wrote
Scores = npt.NDArray[np.float64]  # (seeds, images)

ARMS = {
    "none": "DnCNN",
    "zero": "DnCNNTV, lambda 0 (control)",
    "blur": "DnCNN, trained filters instead (control)",
    "input": "DnCNNTV, input",
    "output": "DnCNNTV, output",
    "both": "DnCNNTV, both",
}
LAYERS = ("at_input", "at_output")
# The structure of the files (see json_files.check), as far as this module uses it.
_RUN = {
    "model": {"arm": tuple(ARMS), "depth": int, "width": int, "lam": float},
    "noise": {"sigma": float, "patch": int},
    "training": {
        **{"seed": int, "steps": int, "batch": int},
        **{"lr": float, "last_lr": float, "lam_lr_factor": float},
    },
    "calibrate": Maybe(int),
}
RESULT = {
    **_RUN,
    "sigma": float,
    "precision": str,
    "machine": {"cpu": str, "gpu": Maybe(str)},
    "sets": {str: {"sha256": str, "images": {str: {"psnr": float, "ssim": float}}}},
}
LOG = {
    **_RUN,
    "run": {"precision": str},
    "machine": {
        "cpu": str,
        "gpu": Maybe(str),
        "threads": str,
        "date": str,
        "commit": str,
        "packages": str,
    },
    "history": [
        {"step": int, "loss": float, "lam": {layer: Maybe([float, ...]) for layer in LAYERS}}
    ],
}
BASELINE = "none"
# By arm and sigma: PSNR on the test sets.
PAPER = {
    ("none", 25): {"CBSD68": 31.24, "Kodak24": 32.14, "McMaster": 31.52},
    ("none", 50): {"CBSD68": 27.95, "Kodak24": 28.95, "McMaster": 28.62},
    ("both", 25): {"CBSD68": 31.26, "Kodak24": 32.15, "McMaster": 32.32},
    ("both", 50): {"CBSD68": 28.07, "Kodak24": 29.09, "McMaster": 29.35},
}
_PHOTO = (slice(0, 200), slice(100, 340))  # of scikit-image's astronaut: her face


def page(results: Sequence[Result], notes: str = "") -> str:
    """Return the tables of all results, after notes on how to read them."""
    lines = ["# Colour image denoising", "", *_setting(results), ""]
    if notes:
        lines += [notes]
    for group in _alike(results):
        sigma = group[0]["sigma"]
        lines += [f"## Sigma {sigma:g}, {_amount(group[0])}", "", _recipe(group[0]), ""]
        lines += [*_means(group, sigma), "", *_differences(group)]
    return "\n".join([*lines, ""])


def _setting(results: Sequence[Result]) -> Iterator[str]:
    yield (
        f"Trained on {data.TRAIN}, tested on {_machines(result['machine'] for result in results)}. "
        "PSNR in dB (SSIM), means over images and seeds, ± deviation over seeds. Numbers in "
        "italics are the paper's. Its DnCNN was not trained for it: it is another paper's net for "
        "noise of any strength. So compare our DnCNN with our DnCNNTV."
    )


def _alike(entries: Sequence[Result]) -> list[list[Result]]:
    """Group results, or logs, that differ only in arm and seed: others are not compared."""
    found: dict[str, list[Result]] = {}
    for entry in entries:
        found.setdefault(json.dumps(_conditions(entry), sort_keys=True), []).append(entry)
    return sorted(
        found.values(),
        key=lambda group: (
            _tested_sigma(group[0]),
            group[0]["training"]["steps"],
            group[0].get("calibrate", 0),
        ),
    )


def _conditions(entry: Result | Log) -> dict[str, Any]:
    keys = (
        "noise",
        "data",
        "sigma",
        "precision",
        "start",
    )  # start: the net that training started from
    same = {key: entry[key] for key in keys if key in entry}
    same["calibrate"] = entry.get("calibrate", 0)
    sets = {name: found["sha256"] for name, found in entry.get("sets", {}).items()}
    net = {**entry["model"], "arm": ""}
    return {**same, "sets": sets, "model": net, "training": {**entry["training"], "seed": ""}}


def _tested_sigma(entry: Result | Log) -> float:
    return float(entry.get("sigma", entry["noise"]["sigma"]))


def _amount(result: Result) -> str:
    noise, training = result["noise"], result["training"]
    patches = f"{training['batch']} patches of {noise['patch']} x {noise['patch']}"
    against = f" against {noise['sigma']:g}" if noise["sigma"] != result["sigma"] else ""
    return f"trained{against} for {training['steps']} steps of {patches}"


def _recipe(result: Result) -> str:
    training, net = result["training"], result["model"]
    batches = result.get("calibrate", 0)
    norms = f", batch norms with the statistics of {batches} batches" if batches else ""
    return (
        f"Adam, learning rate {training['lr']:g} to {training['last_lr']:g}, for lambda "
        f"{training['lam_lr_factor']:g} times as large; lambda starts at {net['lam']:g}; "
        f"{net['depth']} convolutions, {net['width']} channels; tested in {result['precision']}"
        f"{norms}."
    )


def _machines(found: Iterable[dict[str, str]]) -> str:
    return ", ".join(sorted({machine.get("gpu", machine["cpu"]) for machine in found}))


def _by_arm(results: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    seen = set()
    for result in sorted(results, key=lambda result: result["training"]["seed"]):
        arm, seed = result["model"]["arm"], result["training"]["seed"]
        if (arm, seed) in seen:
            raise InputError(f"two results of arm {arm} with seed {seed}")
        seen.add((arm, seed))
        found.setdefault(arm, []).append(result)
    return {arm: found[arm] for arm in ARMS if arm in found}


def _scores(results: Sequence[Result], test: str, key: str) -> Scores:
    of_images = [result["sets"][test]["images"] for result in results]
    names = sorted(of_images[0])
    if any(sorted(found) != names for found in of_images):
        raise InputError(f"{test}: its images are not the same in all results")
    return np.array([[scores[name][key] for name in names] for scores in of_images])


def _tests(results: Sequence[Result]) -> list[str]:
    """Return the test sets common to all results, the paper's first."""
    shared = [test for test in results[0]["sets"] if all(test in r["sets"] for r in results)]
    return sorted(shared, key=lambda test: (*data.TESTS, test).index(test))


def _means(results: Sequence[Result], sigma: float) -> Iterator[str]:
    tests = _tests(results)
    yield "| | seeds | " + " | ".join(tests) + " |"
    yield "|---" * (2 + len(tests)) + "|"
    for arm, runs in _by_arm(results).items():
        cells = []
        for test in tests:
            of_seeds = _scores(runs, test, "psnr").mean(axis=1)
            ssim = _scores(runs, test, "ssim").mean()
            spread = f" ± {of_seeds.std(ddof=1):.3f}" if len(runs) > 1 else ""
            cells.append(f"{of_seeds.mean():.3f}{spread} ({ssim:.4f})")
        yield f"| {ARMS[arm]} | {len(runs)} | " + " | ".join(cells) + " |"
    for (arm, of_sigma), psnr in PAPER.items():
        if of_sigma == sigma:
            shown = [f"*{psnr[test]}*" if test in psnr else "" for test in tests]
            yield f"| *{ARMS[arm]}, the paper* | | " + " | ".join(shown) + " |"


def _differences(results: Sequence[Result]) -> list[str]:
    """Return the table of arms against the baseline, for seeds that both have."""
    tests = _tests(results)
    arms = _by_arm(results)
    baseline = {result["training"]["seed"]: result for result in arms.pop(BASELINE, [])}
    rows = []
    for arm, runs in arms.items():
        pairs = [run for run in runs if run["training"]["seed"] in baseline]
        if not pairs:
            continue
        against = [baseline[run["training"]["seed"]] for run in pairs]
        cells = []
        for test in tests:
            found = difference(_scores(pairs, test, "psnr"), _scores(against, test, "psnr"))
            cell = f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
            cells.append(f"**{cell}**" if found.is_clear and len(pairs) > 1 else cell)
        rows.append(f"| {ARMS[arm]} | {len(pairs)} | " + " | ".join(cells) + " |")
    if not rows:
        return []
    return [
        "Against DnCNN, pair by pair, dB (95 % confidence over seeds and images, bold if the "
        "interval excludes 0; for one seed over images only: another training may differ by more):",
        "",
        "| | seeds | " + " | ".join(tests) + " |",
        "|---" * (2 + len(tests)) + "|",
        *rows,
        "",
    ]


def training_section(logs: Sequence[Log], folder: Path) -> str:
    """Return the section on how runs were trained, with their lambdas; plot these over training."""
    machines = [log["machine"] for log in logs]
    precisions = ", ".join(sorted({log["run"]["precision"] for log in logs}))

    def each(key: str) -> str:
        return "; ".join(sorted({machine[key] for machine in machines}))

    lines = [
        "## Training",
        "",
        f"On {_machines(machines)}, threads per run: {each('threads')}, precision {precisions}; "
        f"{', '.join(sorted({m['date'][:10] for m in machines}))}, commit {each('commit')}, "
        f"{each('packages')}. Images are in [0, 1]. The loss is the mean absolute error of the "
        "last tenth of the steps; lambdas are those of the last step, means over colours and "
        "seeds, with the least and the greatest seed in brackets.",
        "",
        "| | sigma | steps | runs | loss | lambda at the input | at the output |",
        "|---|---|---|---|---|---|---|",
        *_trainings(logs),
        "",
        f"![Lambdas over training](images/{_draw_lambdas(logs, folder).name})",
        "",
    ]
    return "\n".join([*lines, ""])


def _trainings(logs: Sequence[Log]) -> Iterator[str]:
    for runs in _by_training(logs):
        sigma, steps, arm = _names(runs)
        lambdas = [_last_lambda(runs, layer) for layer in LAYERS]
        loss = np.mean([_last_loss(log) for log in runs])
        cells = [ARMS[arm], f"{sigma:g}", str(steps), str(len(runs)), f"{loss:.4g}", *lambdas]
        yield f"| {' | '.join(cells)} |"


def _by_training(logs: Sequence[Log]) -> list[list[Log]]:
    """Group runs that differ only in their seed."""
    return [runs for group in _alike(logs) for runs in _by_arm(group).values()]


def _names(runs: Sequence[Log]) -> tuple[float, int, str]:
    """Return the values that label a group of runs: sigma, steps and arm."""
    log = runs[0]
    return log["noise"]["sigma"], log["history"][-1]["step"], log["model"]["arm"]


def _last_loss(log: Log) -> float:
    """Return the mean loss of the last tenth of the steps."""
    lines = log["history"]
    return float(np.mean([line["loss"] for line in lines[-max(1, len(lines) // 10) :]]))


def _last_lambda(logs: Sequence[Log], layer: str) -> str:
    found = [np.mean(last[layer]) for log in logs if layer in (last := log["history"][-1]["lam"])]
    return f"{np.mean(found):.3g} ({min(found):.3g} to {max(found):.3g})" if found else ""


def _draw_lambdas(logs: Sequence[Log], folder: Path) -> Path:
    file = folder / "denoise_lambdas.svg"
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True)
    for axis, layer in zip(axes, LAYERS, strict=True):
        for number, runs in enumerate(_by_training(logs)):
            sigma, steps, arm = _names(runs)
            label: str | None = f"{arm}, sigma {sigma:g}, {steps} steps"
            for log in runs:
                points = [
                    (line["step"], np.mean(line["lam"][layer]))
                    for line in log["history"]
                    if layer in line["lam"]
                ]
                if points:
                    axis.plot(*zip(*points, strict=True), f"C{number}", label=label, linewidth=1)
                    label = None  # seeds look alike
        axis.set(title=layer.replace("_", " "), xlabel="step", yscale="log")
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize=6)
    axes[0].set_ylabel("lambda, mean of colours")
    figure.tight_layout()
    _save(figure, file)
    return file


def stages_section(net: DnCNN, about: dict[str, Any], folder: Path) -> str:
    """Plot a photo at the stages of a net, and return the section that shows it."""
    from skimage.data import astronaut

    clean: Pixels = np.ascontiguousarray(astronaut()[_PHOTO])
    sigma = about["noise"]["sigma"]
    noisy = data.with_test_noise(clean, sigma)
    with torch.no_grad():
        stages = net.stages(noisy)
    shown = {
        f"noisy, sigma {sigma:g}": noisy,
        "after the input's TV": stages.after_input,
        "before the output's TV": stages.before_output,
        "result": stages.result,
    }
    file = folder / "denoise_stages.png"
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3))
    for axis, (title, image) in zip(axes, shown.items(), strict=True):
        axis.imshow(to_pixels(image))
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    figure.tight_layout()
    _save(figure, file)
    return (
        "## A photo at each stage of the net\n\n"
        f"![A photo at each stage of the net](images/{file.name})\n\n"
        "The photo is NASA's portrait of Eileen Collins (public domain), as scikit-image has it.\n"
    )


def _save(figure: Figure, file: Path) -> None:
    """Save a figure such that the same results always produce the same file."""
    with mpl.rc_context({"svg.hashsalt": "tautstring", "svg.fonttype": "none"}):
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        figure.savefig(file, metadata=metadata, dpi=100)
    plt.close(figure)
