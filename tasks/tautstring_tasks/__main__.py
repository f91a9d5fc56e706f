"""The command line: python -m tautstring_tasks TASK COMMAND ..."""

from __future__ import annotations

import signal
import sys

import tyro

from tautstring_tasks.denoise.commands import app as denoise
from tautstring_tasks.errors import InputError


def main() -> None:
    """Run the command given by the arguments."""
    # As an exception, so that the processes this program has started end with it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    app = tyro.extras.SubcommandApp()
    app.command(denoise, name="denoise", help="Remove noise from colour images.")
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
