"""Fails where a file includes what its folder must not know, or where the core prints, throws or
discards a Status.

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
LANGUAGE = {"bit", "cstddef", "cstdint", "limits", "type_traits"}
# folder -> all of the standard library that it may include: what devices have, too
STANDARD = {
    "src/step": LANGUAGE,
    "src/step/image": LANGUAGE | {"algorithm", "cmath"},
    "src/step/row": LANGUAGE | {"algorithm", "cmath", "cstring"},
}
CUDA_LAYERS = ["cuda/dispatch", "cuda/kernels", "cuda/agent", "cuda/warp", "cuda/tuning"]
SHARED = ["tautstring", "backend.h", "step"]

# folder (the longest that matches counts) -> own folders whose headers it may include, "!": not
ALLOWED = {
    "include/tautstring": ["tautstring"],
    # torch's own headers and those of src/torch begin with the same name
    "include/tautstring/torch": ["tautstring", "torch"],
    "src/backend.h": ["tautstring"],
    "src/step": ["step", "!step/image", "!step/row", "tautstring/partition.h"],
    "src/step/image": ["step", "!step/row"],
    "src/step/row": SHARED,
    "src/api": ["tautstring", "api", "backend.h"],
    "src/reference": ["tautstring", "reference"],
    "src/cpu": ["cpu", *SHARED],
    "src/cpu/vector": ["tautstring", "cpu", "step"],
    "src/cuda": ["cuda", *SHARED],
    # each layer knows itself and those behind it
    **{f"src/{layer}": [*CUDA_LAYERS[i:], *SHARED] for i, layer in enumerate(CUDA_LAYERS)},
    "src/numpy": ["tautstring", "numpy"],
    "src/torch": ["tautstring", "torch"],
    "src/libtorch": ["tautstring", "libtorch", "torch"],
    "cli": ["tautstring", "cli"],
    "bench": ["tautstring", "bench"],
    "examples": ["tautstring", "torch"],
}
MAY_USE_TORCH = (
    "src/torch",
    "src/libtorch",
    "include/tautstring/torch",
    "tests",
    "examples",
    "bench",
)
MAY_USE_CUDA = ("src/cuda", "src/torch", "src/libtorch", "tests", "bench")
MAY_USE_HIGHWAY = ("src/cpu/vector/",)  # all else builds without it
# The core prints nothing, ends no process and throws nothing; error.h is for those who ask.
QUIET = ("src/api", "src/cpu", "src/cuda", "src/step", "src/backend.h", "include/tautstring")
LOUD = re.compile(
    r"\b(?:f?printf|f?puts|perror|abort|(?:quick_)?exit|terminate|assert|throw)\b|std::(?:cout|cerr)|<iostream>"
    # So a Status is discarded: a call that cannot fail returns none.
    r"|static_cast<void>"
)
SOURCES = {".h", ".cuh", ".cpp", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def folder_rule(path: str, rules: dict) -> list[str] | set[str] | None:
    """Returns what a file may include by the rule of its folder, None where anything goes."""
    matching = [key for key in rules if path == key or path.startswith(key + "/")]
    return rules[max(matching, key=len)] if matching else None


def is_allowed(name: str, rule: list[str] | None) -> bool:
    """Tells whether a rule has a header of our own."""
    if rule is None:
        return True
    matching = [a for a in rule if (name + "/").startswith(a.removeprefix("!") + "/")]
    return bool(matching) and not max(matching, key=len).startswith("!")


def violations(root: Path) -> list[str]:
    """Lists every include that crosses a boundary."""
    found = []
    own = {p.name for p in (root / "src").glob("*")} | {"tautstring", "cli"}
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in SOURCES or path.startswith(("build/", ".", "out/")):
            continue
        rule = folder_rule(path, ALLOWED)
        standard = folder_rule(path, STANDARD)
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
            is_own = ("/" in name and name.split("/")[0] in own) or name == "backend.h"
            is_standard = "/" not in name and not is_own
            if is_own and not is_allowed(name, rule):
                found.append(f"{path}: must not include {name}")
            if is_standard and standard is not None and name not in standard:
                found.append(f"{path}: must not include {name}")
    return found


def self_test() -> None:
    """Plants one violation of each kind and expects to find just these."""
    planted = {
        "src/cpu/a.cpp": '#include "torch/torch.h"\n',
        "src/api/b.cpp": "#include <cpu/targets.h>\n",
        "include/tautstring/c.h": "#include <cuda_runtime.h>\n",
        "src/step/d.h": '#include "tautstring/tv1d.h"\n#include <cstdint>\n',
        "src/step/f.h": "#include <vector>\n",
        "src/step/i.h": '#include "step/row/row_io.h"\n',
        "src/step/row/j.h": "#include <thread>\n",
        "src/step/row/good.h": '#include <cmath>\n#include "backend.h"\n#include "step/s.h"\n',
        "src/cuda/kernels/k.cuh": '#include "cuda/dispatch/launch.h"\n',
        "src/cuda/dispatch/l.cu": '#include "cpu/parallel.h"\n',
        "src/cuda/dispatch/good.cu": '#include "cuda/kernels/k.cuh"\n#include <cuda_runtime.h>\n',
        "src/cpu/e.cpp": 'void f() { printf("no"); }  // printf\n',
        "src/cpu/f.cpp": "void f() { static_cast<void>(status()); }\n",
        "src/cpu/g.cpp": '#include "hwy/highway.h"\n',
        "src/cpu/vector/h.h": '#include "backend.h"\n',
        "src/cpu/vector/good.cpp": '#include "hwy/highway.h"\n#include "step/row/scratch.h"\n',
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
        "include/tautstring/c.h",
        "src/api/b.cpp",
        "src/cpu/a.cpp",
        "src/cpu/e.cpp",
        "src/cpu/f.cpp",
        "src/cpu/g.cpp",
        "src/cpu/vector/h.h",
        "src/cuda/dispatch/l.cu",
        "src/cuda/kernels/k.cuh",
        "src/step/d.h",
        "src/step/f.h",
        "src/step/i.h",
        "src/step/row/j.h",
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
