"""Runs the shell examples of pages that call the tautstring command.

usage: run_commands.py COMMAND PAGE...

Every command in a ```sh block that calls tautstring must succeed. A ```console block
is a session: each command, a line that begins with "$ ", is followed by its combined
output to standard output and standard error. Each page runs in its own folder, which
has the input files that the pages name, and a curl that needs no network.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path


def blocks_of(text: str, language: str) -> list[str]:
    """Returns the fenced blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands_of(block: str) -> list[str]:
    """Returns the lines of a block that call the command."""
    return [line for line in block.splitlines() if re.search(r"(^|\| *)tautstring ", line)]


def session_of(block: str) -> list[tuple[str, str]]:
    """Returns the commands of a session, each with its output."""
    typed = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if typed[0]:
        raise SystemExit(f'a session begins with "$ ", not with:\n{typed[0]}')
    return [
        (command, output) for command, _, output in (part.partition("\n") for part in typed[1:])
    ]


def png(width: int, height: int) -> bytes:
    """Returns a grey picture of a few steps."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    grey_in_8_bits = (8, 0, 0, 0, 0)
    header = struct.pack(">IIBBBBB", width, height, *grey_in_8_bits)
    rows = [[40 * (x // 8 + y // 8) % 256 for x in range(width)] for y in range(height)]
    content = b"".join(bytes([0, *row]) for row in rows)  # 0: no filter
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(content)),
            chunk(b"IEND", b""),
        ]
    )


def run(command: str, folder: Path, program: Path) -> str:
    """Returns the output of a command; exits if it fails."""
    path = os.pathsep.join([str(folder / "bin"), str(program.parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode != 0:
        raise SystemExit(f"{command}\nfails with {result.returncode}:\n{result.stdout}")
    return result.stdout


def make_inputs(folder: Path, program: Path) -> None:
    """Creates the files that pages mention."""
    (folder / "photos").mkdir()
    (folder / "bin").mkdir()
    for name in ("photo.png", "photos/one.png", "photos/two.png"):
        (folder / name).write_bytes(png(32, 24))
    run("tautstring smooth photo.png photo.jpg --lam 0 --quiet", folder, program)
    run("seq 9 | tautstring signal - data.npy --lam 0 --quiet --dim 0", folder, program)
    curl = folder / "bin" / "curl"
    curl.write_text('#!/bin/sh\nexec cat "$(dirname "$0")/../photo.jpg"\n', encoding="ascii")
    curl.chmod(0o755)


def check(page: Path, program: Path) -> int:
    """Runs a page's examples and returns their number."""
    text = page.read_text(encoding="utf-8")
    commands = [command for block in blocks_of(text, "sh") for command in commands_of(block)]
    sessions = [typed for block in blocks_of(text, "console") for typed in session_of(block)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder, program)
        for command in commands:
            run(command, folder, program)
        for command, stated in sessions:
            printed = run(command, folder, program)
            if printed != stated:
                raise SystemExit(f"{page}: {command}\nprints\n{printed}the page says\n{stated}")
    return len(commands) + len(sessions)


def main() -> None:
    """Checks all pages; one without examples is an error, too."""
    program, *pages = map(Path, sys.argv[1:])
    for page in pages:
        count = check(page, program)
        if count == 0:
            raise SystemExit(f"{page}: no example found")
        print(f"{page}: {count} examples")


if __name__ == "__main__":
    main()
