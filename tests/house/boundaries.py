"""Fails where a file includes what its folder must not know, or the core makes noise.

usage: boundaries.py ROOT

The direction of dependencies is the architecture (docs/architecture.md); this
makes it a test. Run without arguments on a made-up tree by --self-test.
"""

import re
import sys
import tempfile
from pathlib import Path

TORCH = re.compile(r"torch/|ATen/|c10/|torch\.h")
CUDA = re.compile(r"cuda_|cuda/|cuda\.h|cub/|thrust/|nv/|cooperative_groups")
HIGHWAY = re.compile(r"hwy/")
LANGUAGE = {"bit", "cstddef", "cstdint", "limits", "type_traits"}  # all that src/step may include

# folder (the longest that matches counts) -> own folders whose headers it may include
ALLOWED = {
    "include/tautline": ["tautline"],
    "include/tautline/torch": ["tautline"],
    "src/backend.h": ["tautline"],
    "src/step": ["step", "tautline/partition.h"],
    "src/api": ["tautline", "api", "backend.h"],
    "src/reference": ["tautline", "reference"],
    "src/cpu": ["tautline", "cpu", "backend.h", "step"],
    "src/cpu/vector": ["tautline", "cpu", "step"],
    "src/cuda": ["tautline", "cuda", "backend.h", "step"],
    "src/numpy": ["tautline", "numpy"],
    "src/torch": ["tautline", "torch"],
    "src/libtorch": ["tautline", "libtorch"],
    "cli": ["tautline", "cli"],
    "bench": ["tautline", "bench"],
    "examples": ["tautline"],
}
MAY_USE_TORCH = (
    "src/torch",
    "src/libtorch",
    "include/tautline/torch",
    "tests",
    "examples",
    "bench",
)
MAY_USE_CUDA = ("src/cuda", "src/torch", "src/libtorch", "tests", "bench")
MAY_USE_HIGHWAY = ("src/cpu/vector/",)  # all else builds without it
# The core prints nothing, ends no process and throws nothing; error.h is for those who ask.
QUIET = ("src/api", "src/cpu", "src/cuda", "src/step", "src/backend.h", "include/tautline")
LOUD = re.compile(
    r"\b(?:f?printf|f?puts|perror|abort|(?:quick_)?exit|terminate|assert|throw)\b|std::(?:cout|cerr)|<iostream>"
)
SOURCES = {".h", ".cuh", ".cpp", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def folder_rule(path: str) -> list[str] | None:
    """Returns what a file may include of our own, None where anything goes."""
    matching = [key for key in ALLOWED if path == key or path.startswith(key + "/")]
    return ALLOWED[max(matching, key=len)] if matching else None


def violations(root: Path) -> list[str]:
    """Lists every include that crosses a boundary."""
    found = []
    own = {p.name for p in (root / "src").glob("*")} | {"tautline", "cli"}
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in SOURCES or path.startswith(("build/", ".", "out/")):
            continue
        rule = folder_rule(path)
        text = file.read_text(encoding="utf-8")
        if path.startswith(QUIET) and not path.endswith("/error.h"):
            code = re.sub(r"//.*", "", text)
            found += [f"{path}: must not use {name}" for name in LOUD.findall(code)]
        for name in INCLUDE.findall(text):
            if TORCH.match(name) and not path.startswith(MAY_USE_TORCH):
                found.append(f"{path}: names the torch header {name}")
            if CUDA.match(name) and not path.startswith(MAY_USE_CUDA):
                found.append(f"{path}: names the CUDA header {name}")
            if HIGHWAY.match(name) and not path.startswith(MAY_USE_HIGHWAY):
                found.append(f"{path}: names the Highway header {name}")
            if path.startswith("src/step/") and "/" not in name and name not in LANGUAGE:
                found.append(f"{path}: must not include {name}")
            is_own = ("/" in name and name.split("/")[0] in own) or name == "backend.h"
            allowed = rule is None or any(name == a or name.startswith(a + "/") for a in rule)
            if is_own and not allowed:
                found.append(f"{path}: must not include {name}")
    return found


def self_test() -> None:
    """Plants one violation of each kind and expects to find just these."""
    planted = {
        "src/cpu/a.cpp": '#include "torch/torch.h"\n',
        "src/api/b.cpp": "#include <cpu/row_io.h>\n",
        "include/tautline/c.h": "#include <cuda_runtime.h>\n",
        "src/step/d.h": '#include "tautline/tv1d.h"\n#include <cstdint>\n',
        "src/step/f.h": "#include <vector>\n",
        "src/cpu/e.cpp": 'void f() { printf("no"); }  // printf\n',
        "src/cpu/g.cpp": '#include "hwy/highway.h"\n',
        "src/cpu/vector/h.h": '#include "backend.h"\n',
        "src/cpu/vector/good.cpp": '#include "hwy/highway.h"\n#include "cpu/scratch.h"\n',
        "src/torch/good.cpp": "#include <torch/csrc/stable/library.h>\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in planted.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = violations(Path(folder))
    files = sorted({line.split(":")[0] for line in found})
    if files != [
        "include/tautline/c.h",
        "src/api/b.cpp",
        "src/cpu/a.cpp",
        "src/cpu/e.cpp",
        "src/cpu/g.cpp",
        "src/cpu/vector/h.h",
        "src/step/d.h",
        "src/step/f.h",
    ]:
        raise SystemExit(f"self-test found {found}")


def main() -> None:
    """Checks ROOT, or itself."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = violations(Path(sys.argv[1]))
    if found:
        raise SystemExit("\n".join(found))
    return None


if __name__ == "__main__":
    main()
