"""Train, score and apply nets with total variation layers in vision tasks."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import tyro

from tautstring_tasks import cifar10c
from tautstring_tasks.classify.task import Classify
from tautstring_tasks.commands import app_of
from tautstring_tasks.denoise.task import Denoise
from tautstring_tasks.devices import keep_memory
from tautstring_tasks.edges.score import score as score_edges
from tautstring_tasks.edges.task import Edges
from tautstring_tasks.errors import InputError
from tautstring_tasks.localise.score import score as score_heat_maps
from tautstring_tasks.localise.task import Localise
from tautstring_tasks.nets import AnyTask
from tautstring_tasks.smooth.task import Smooth

TASKS: tuple[AnyTask, ...] = (Denoise(), Classify(), Edges(), Localise(), Smooth())
SCORES: dict[str, Callable[..., None]] = {"edges": score_edges, "localise": score_heat_maps}


def main() -> None:
    """Run the command given by the arguments."""
    # As an exception, so that the processes this program has started end with it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    keep_memory()
    app = tyro.extras.SubcommandApp()
    for task in TASKS:
        commands = app_of(task)
        if task.name in SCORES:
            commands.command(name="score")(SCORES[task.name])
        app.command(commands, name=task.name, help=task.summary)
    app.command(cifar10c.app, name="cifar10c", help="Make CIFAR-10-C from CIFAR-10.")
    try:
        app.cli(
            prog="tautstring_tasks",
            description=__doc__,
            config=(tyro.conf.OmitArgPrefixes,),
        )
    except InputError as error:
        sys.exit(f"tautstring_tasks: {error}")


if __name__ == "__main__":
    main()
