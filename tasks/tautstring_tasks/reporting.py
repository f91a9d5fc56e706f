"""The page of a task's studies: tables, differences, how nets were trained, lambdas over steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from tautstring_tasks import files
from tautstring_tasks.arrays import Array
from tautstring_tasks.errors import InputError
from tautstring_tasks.nets import AnyTask
from tautstring_tasks.paired import difference
from tautstring_tasks.scores import Scored
from tautstring_tasks.task import BASELINE, Measure, Values

_MOST_COLUMNS = 6  # a table with more is turned
_OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}


def page(task: AnyTask, runs: Sequence[Scored], notes: str, pictures: Path) -> str:
    """Return the page; its pictures go to a folder."""
    lead, heading, rest = notes.partition("## ")
    lines = [f"# {task.title}", ""]
    if lead.strip():
        lines += [lead.strip(), ""]
    lines += [_setting(task, runs), "", heading + rest]
    groups = _alike(runs)
    for group in groups:
        condition = task.condition(group[0].about)
        lines += [f"## {_joined(condition, _amount(task, group[0]))}", "", _recipe(group[0]), ""]
        lines += [*_means(task, group), ""]
        main, *others = task.measures
        for measure in (main, *(other for other in others if other.is_compared)):
            for arm in task.compared_with:
                lines += _differences(task, group, arm, measure)
    lines += [*_training(task, runs, pictures), task.figures(groups, pictures)]
    return "\n".join(lines).rstrip() + "\n"


def by_arm(task: AnyTask, runs: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Return the runs of each arm by seed; reject a seed that is there twice."""
    found: dict[str, dict[int, Scored]] = {arm: {} for arm in task.arms}
    for run in sorted(runs, key=lambda run: run.seed):
        if run.seed in found.setdefault(run.arm, {}):
            raise InputError(f"two results of arm {run.arm} with seed {run.seed}")
        found[run.arm][run.seed] = run
    return {arm: list(seeds.values()) for arm, seeds in found.items() if seeds}


def save(figure: Figure, file: Path) -> None:
    """Save a figure such that the same results always produce the same file."""
    figure.tight_layout()
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tautstring", "svg.fonttype": "none"}):
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        figure.savefig(content, format=file.suffix[1:], metadata=metadata, dpi=100)
    plt.close(figure)
    files.write_whole(file, content.getvalue())


def table(rows: Sequence[Sequence[str]], *, is_turned: bool = False) -> list[str]:
    """Return a table in Markdown; the first row is its head."""
    if is_turned:
        rows = list(zip(*rows, strict=True))
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return [head, "|---" * len(rows[0]) + "|", *others]


def _setting(task: AnyTask, runs: Sequence[Scored]) -> str:
    main, *others = task.measures
    trained = ", ".join(dict.fromkeys(name for run in runs for name in run.about["data"]))
    shown = f"{main.name} in {main.unit}" if main.unit else main.name
    shown += "".join(f" ({other.name})" for other in others)
    return (
        f"Trained on {trained}, tested on {_machines(run.about['machine'] for run in runs)}. "
        f"{shown}, means over {task.items} and seeds, ± deviation over seeds. Numbers in italics "
        f"are the paper's. {task.remark}"
    ).rstrip()


def _alike(runs: Sequence[Scored]) -> list[list[Scored]]:
    """Group runs that differ only in arm and seed: others are not compared."""
    found: dict[str, list[Scored]] = {}
    for run in runs:
        found.setdefault(json.dumps(_conditions(run.about), sort_keys=True), []).append(run)
    return list(found.values())


def _conditions(about: dict[str, Any]) -> dict[str, Any]:
    keys = ("options", "data", "execution", "test", "precision", "calibrate", "half", "sets")
    same = {key: about.get(key) for key in (*keys, "start")}  # start: the net training began with
    net, training = {**about["model"], "arm": ""}, {**about["training"], "seed": ""}
    same["execution"] = {key: about["execution"][key] for key in ("precision", "processes")}
    return {**same, "model": net, "training": training}


def _joined(*parts: str) -> str:
    text = ", ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def _amount(task: AnyTask, run: Scored) -> str:
    training = run.about["training"]
    return f"trained for {training['steps']} steps of {training['batch']} {task.samples}"


def _recipe(run: Scored) -> str:
    about = run.about
    training, batches = about["training"], about.get("calibrate", 0)
    falls = f" to {training['last_lr']:g}" if training["schedule"] != "steps" else ""
    options = {**about["model"], **about["options"]}
    parts = [
        f"{_OPTIMIZERS[training['optimizer']]}, {training['schedule']}",
        f"learning rate {training['lr']:g}{falls}, for lambda {training['lam_lr_factor']:g} times "
        "as large",
        f"weight decay {training['weight_decay']:g}" if training["weight_decay"] else "",
        ", ".join(f"{key} {value}" for key, value in options.items() if key != "arm"),
        f"tested in {about['precision']}",
        f"batch norms with the statistics of {batches} batches" if batches else "",
        "stored in half precision" if about.get("half") else "",
    ]
    return "; ".join(part for part in parts if part) + "."


def _machines(found: Iterable[dict[str, str]]) -> str:
    return ", ".join(sorted({machine.get("gpu", machine["cpu"]) for machine in found}))


def _columns(task: AnyTask, runs: Sequence[Scored], measure: Measure) -> dict[str, Values]:
    """Return the columns of runs with the same tests, of shape (seeds, items), in their unit."""
    found = [task.columns(run.scores, measure) for run in runs]
    return {name: np.stack([each[name] for each in found]) * measure.scale for name in found[0]}


def _means(task: AnyTask, group: Sequence[Scored]) -> list[str]:
    names = list(_columns(task, group, task.measures[0]))
    rows = [["", "seeds", *names]]
    for arm, runs in by_arm(task, group).items():
        main, *others = task.measures
        cells = []
        for name, values in _columns(task, runs, main).items():
            of_seeds = values.mean(axis=1)
            cell = f"{of_seeds.mean():.{main.digits}f}"
            cell += f" ± {of_seeds.std(ddof=1):.{main.digits}f}" if len(runs) > 1 else ""
            for other in others:
                mean = _columns(task, runs, other)[name].mean()
                cell += f" ({mean:.{other.digits}f})"
            cells.append(cell)
        rows.append([task.arms[arm], str(len(runs)), *cells])
    for arm, results in task.paper(group[0].about).items():
        cells = [f"*{_as_in_paper(results[name])}*" if name in results else "" for name in names]
        rows.append([f"*{task.arms.get(arm, arm)}, the paper*", "", *cells])
    return table(rows, is_turned=len(names) > _MOST_COLUMNS)


def _as_in_paper(result: tuple[float, ...]) -> str:
    main, *others = result
    return " ".join([f"{main:g}", *(f"({other:g})" for other in others)])


def _differences(
    task: AnyTask, group: Sequence[Scored], compared_with: str, measure: Measure
) -> list[str]:
    """Return the table of all other arms against one of them, for seeds that both have."""
    arms = by_arm(task, group)
    baseline = {run.seed: run for run in arms.pop(compared_with, [])}
    names = list(_columns(task, group, measure))
    rows = [["", "seeds", *names]]
    for arm, runs in arms.items():
        pairs = [run for run in runs if run.seed in baseline]
        if not pairs:
            continue
        ours = _columns(task, pairs, measure)
        against = _columns(task, [baseline[run.seed] for run in pairs], measure)
        cells = []
        for name in names:
            found = difference(ours[name], against[name])
            mean, low, high = (
                f"{value:+.{measure.digits}f}" for value in (found.mean, found.low, found.high)
            )
            is_bold = found.is_clear and len(pairs) > 1
            cells.append(
                f"**{mean} ({low} to {high})**" if is_bold else f"{mean} ({low} to {high})"
            )
        rows.append([task.arms[arm], str(len(pairs)), *cells])
    if len(rows) == 1:
        return []
    unit = "percentage points" if measure.unit == "%" else measure.unit
    what = ", ".join(part for part in (measure.name, unit) if part)
    is_main = measure == task.measures[0]
    is_papers = task.is_paper_paired and compared_with == BASELINE and is_main
    paper = task.paper(group[0].about) if is_papers else {}
    for arm in (arm for arm in paper if arm != BASELINE):
        gains = {name: paper[arm][name][0] - paper[BASELINE][name][0] for name in paper[arm]}
        cells = [f"*{gains[name]:+.1f}*" if name in gains else "" for name in names]
        rows.append([f"*{task.arms[arm]}, the paper*", "", *cells])
    return [
        f"Against {task.arms[compared_with]}, pair by pair, {what} (95 % confidence over seeds "
        f"and {task.items}, bold if the interval excludes 0; for one seed over {task.items} only: "
        "another training may differ by more):",
        "",
        *table(rows, is_turned=len(names) > _MOST_COLUMNS),
        "",
    ]


def _training(task: AnyTask, runs: Sequence[Scored], pictures: Path) -> Iterator[str]:
    """Return the section on how runs were trained, with their lambdas; plot these over steps."""
    trained = list({_place(run): run for run in runs if len(run.history) > 0}.values())
    if not trained:
        return
    machines = [run.about["trained_on"] for run in trained]
    precisions = ", ".join(sorted({run.about["execution"]["precision"] for run in trained}))

    def each(key: str) -> str:
        return "; ".join(sorted({machine[key] for machine in machines}))

    layers = list(dict.fromkeys(layer for run in trained for layer in run.lambdas))
    head = ["", "", "steps", "runs", "loss", *(f"lambda: {_plain(layer)}" for layer in layers)]
    rows = [head]
    for group in _by_training(task, trained):
        condition, steps, arm = _labels(task, group[0])
        loss = np.mean([_last_loss(run) for run in group])
        lambdas = [_last_lambda(group, layer) for layer in layers]
        rows.append(
            [task.arms[arm], condition, str(steps), str(len(group)), f"{loss:.4g}", *lambdas]
        )
    yield from (
        "## Training",
        "",
        f"On {_machines(machines)}, threads per run: {each('threads')}, precision {precisions}; "
        f"{', '.join(sorted({m['date'][:10] for m in machines}))}, commit {each('commit')}, "
        f"{each('packages')}. {task.units} The loss shown is the mean of the last tenth of the "
        "steps; lambdas are those of the last step, means over channels and seeds, with the least "
        "and the greatest seed in brackets.",
        "",
        *table(rows),
        "",
    )
    file = pictures / f"{task.name}_losses.svg"
    _draw_history(task, trained, {"": lambda run: run.history["loss"]}, "loss", file)
    yield from (f"![Loss over training](images/{file.name})", "")
    if layers:
        file = pictures / f"{task.name}_lambdas.svg"
        curves = {_plain(layer): partial(_mean_lambda, layer) for layer in layers}
        _draw_history(task, trained, curves, "lambda, mean over channels", file)
        yield from (f"![Lambdas over training](images/{file.name})", "")


def _place(run: Scored) -> str:
    """Return what tells trainings apart: a net may be scored more than once."""
    keys = ("model", "options", "data", "training", "execution", "start")
    return json.dumps({key: run.about.get(key) for key in keys}, sort_keys=True)


def _by_training(task: AnyTask, runs: Sequence[Scored]) -> list[list[Scored]]:
    """Group runs that differ only in their seed."""
    found: dict[str, list[Scored]] = {}
    for run in sorted(runs, key=lambda run: list(task.arms).index(run.arm)):
        training = {**run.about["training"], "seed": ""}
        keys = ("model", "options", "data", "start")
        key = json.dumps([training, *(run.about.get(key) for key in keys)], sort_keys=True)
        found.setdefault(key, []).append(run)
    return sorted(found.values(), key=lambda group: _labels(task, group[0])[:2])


def _labels(task: AnyTask, run: Scored) -> tuple[str, int, str]:
    return task.condition(run.about), int(run.history["step"][-1]), run.arm


def _last_loss(run: Scored) -> float:
    """Return the mean loss of the last tenth of the steps."""
    losses = run.history["loss"]
    return float(losses[-max(1, len(losses) // 10) :].mean())


def _last_lambda(runs: Sequence[Scored], layer: str) -> str:
    found = [float(run.lambdas[layer][-1].mean()) for run in runs if layer in run.lambdas]
    return f"{np.mean(found):.3g} ({min(found):.3g} to {max(found):.3g})" if found else ""


def _mean_lambda(layer: str, run: Scored) -> Array | None:
    """Return the mean over channels at each line of the log; None without such a layer."""
    return run.lambdas[layer].mean(axis=1) if layer in run.lambdas else None


def _draw_history(
    task: AnyTask,
    runs: Sequence[Scored],
    curves: Mapping[str, Callable[[Scored], Array | None]],
    what: str,
    file: Path,
) -> None:
    """Plot values over the steps of all runs; `curves` returns those of a run, by title."""
    figure, axes = plt.subplots(
        1, len(curves), figsize=(5 * len(curves), 3.5), sharey=True, squeeze=False
    )
    for axis, (title, values_of) in zip(axes[0], curves.items(), strict=True):
        for number, group in enumerate(_by_training(task, runs)):
            condition, steps, arm = _labels(task, group[0])
            label: str | None = _joined(arm, condition, f"{steps} steps")
            for run in group:
                values = values_of(run)
                if values is not None:
                    axis.plot(run.history["step"], values, f"C{number}", label=label, linewidth=1)
                    label = None  # seeds look alike
        axis.set(title=title, xlabel="step", yscale="log")
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize=6)
    axes[0][0].set_ylabel(what)
    save(figure, file)


def _plain(layer: str) -> str:
    return layer.replace("_", " ")
