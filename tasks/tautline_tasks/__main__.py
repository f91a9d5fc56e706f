"""The command line: python -m tautline_tasks TASK COMMAND ..."""

from __future__ import annotations

import sys

import tyro

from tautline_tasks.denoise.commands import app as denoise
from tautline_tasks.errors import InputError


def main() -> None:
    """Run what the arguments say."""
    app = tyro.extras.SubcommandApp()
    app.command(denoise, name="denoise", help="Colour images without their noise.")
    try:
        app.cli(
            prog="tautline_tasks",
            description=__doc__,
            config=(tyro.conf.OmitArgPrefixes,),
        )
    except InputError as error:
        sys.exit(f"tautline_tasks: {error}")


if __name__ == "__main__":
    main()
