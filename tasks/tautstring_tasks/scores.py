"""The scores of nets on test sets, and studies: files with the scores of many runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tautstring_tasks import arrays, json_files, runs
from tautstring_tasks.arrays import Array
from tautstring_tasks.errors import InputError
from tautstring_tasks.json_files import Maybe
from tautstring_tasks.nets import AnyTask, options_of

_MACHINE = {"cpu": str, "gpu": Maybe(str)}
_RUN = {
    "precision": str,
    "machine": _MACHINE,
    "calibrate": Maybe(int),
    "sets": {str: {"sha256": str, "items": int}},
    "execution": {"precision": str, "processes": int},
    "data": dict,
    "trained_on": Maybe(
        {**dict.fromkeys(("threads", "date", "commit", "packages"), str), **_MACHINE}
    ),
}


@dataclass(frozen=True)
class Scored:
    """A run with its scores and, where it is known, how its training went."""

    about: dict[str, Any]
    scores: dict[str, dict[str, Array]]  # by test set and name, each of shape (..., items)
    history: dict[str, Array]  # "step" and "loss", of shape (lines,); lambdas, (lines, channels)

    @property
    def arm(self) -> str:
        """The arm of its net."""
        return str(self.about["model"]["arm"])

    @property
    def seed(self) -> int:
        """The seed of its training."""
        return int(self.about["training"]["seed"])

    @property
    def lambdas(self) -> dict[str, Array]:
        """The lambdas of each TV layer, of shape (lines, channels)."""
        kind = "lam/"
        return {
            name.removeprefix(kind): values
            for name, values in self.history.items()
            if name.startswith(kind)
        }


def save(file: Path, scored: Iterable[Scored]) -> None:
    """Write a study."""
    abouts: list[dict[str, Any]] = []
    found: dict[str, Array] = {}
    for index, run in enumerate(scored):
        abouts.append(run.about)
        for test, scores in run.scores.items():
            found |= {f"{index}/scores/{test}/{name}": each for name, each in scores.items()}
        found |= {f"{index}/history/{name}": each for name, each in run.history.items()}
    arrays.save(file, {"runs": abouts}, found)


def load(task: AnyTask, file: Path) -> list[Scored]:
    """Read the runs of a study of this task."""
    about, found = arrays.load(file)
    json_files.check(file, about, {"runs": [dict, ...]})
    return [_load(task, file, each, found, f"{i}/") for i, each in enumerate(about["runs"])]


def _load(
    task: AnyTask, file: Path, about: dict[str, Any], found: Mapping[str, Array], run: str
) -> Scored:
    options = zip(("model", "options", "training"), options_of(task, file, about), strict=True)
    json_files.check(file, about, _RUN)
    # Options that are newer than the file have their defaults.
    about = {**about, **{key: runs.as_options(each) for key, each in options}}
    test_options = json_files.options_of(file, about, "test", type(task.test))
    about["test"] = runs.as_options(test_options)
    scores: dict[str, dict[str, Array]] = {test: {} for test in about["sets"]}
    history = {}
    for name, values in found.items():
        kind, _, rest = name.removeprefix(run).partition("/")
        if not name.startswith(run) or values.dtype.kind not in "biuf":
            continue
        if kind == "history" and values.size:
            history[rest] = values
        test, _, score = rest.rpartition("/")
        if kind == "scores" and test in scores and values.ndim:
            if values.shape[-1] != about["sets"][test]["items"] or not values.size:
                raise InputError(f"{file}: {name} does not have a value for each item")
            scores[test][score] = values
    for test, name in itertools.product(scores, task.scores_stored()):
        if name not in scores[test]:
            raise InputError(f"{file}: has no {name} on {test} of {about['model']}")
    for test, measure in itertools.product(scores, task.measures):
        place = f"{file}: {run}scores/{test}/{measure.name}"
        try:
            columns = task.columns({test: scores[test]}, measure)
        except (ValueError, IndexError) as error:
            raise InputError(f"{place} cannot be computed ({error})") from None
        if any(values.ndim != 1 for values in columns.values()):
            raise InputError(f"{place} has too many dimensions")
    if history:
        json_files.check(file, about, {"trained_on": dict})
        _check_history(file, run, history)
    return Scored(about, scores, history)


def _check_history(file: Path, run: str, history: Mapping[str, Array]) -> None:
    """Reject what is not a line per step, with its loss and perhaps lambdas."""
    is_sound = history.keys() >= {"step", "loss"} and history["step"].dtype.kind in "iu"
    lines = history["step"].shape[:1] if is_sound else None
    for name, values in history.items():
        is_sound &= values.shape[:1] == lines and values.ndim == 1 + name.startswith("lam/")
    if not is_sound:
        raise InputError(f"{file}: {run}history is not that of a training")


def lines_of(history: Iterable[Mapping[str, Any]]) -> dict[str, Array]:
    """Return the lines of a run's log as arrays."""
    lines = list(history)
    if not lines:
        return {}
    found = {
        "step": np.array([line["step"] for line in lines], np.int32),
        "loss": np.array([line["loss"] for line in lines], np.float32),
    }
    for layer in lines[0]["lam"]:
        found[f"lam/{layer}"] = np.array([line["lam"][layer] for line in lines], np.float32)
    return found
