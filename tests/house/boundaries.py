"""Fails if a file includes or imports what its folder must not use, or if the core prints, throws
or discards a Status.

usage: boundaries.py ROOT

The direction of dependencies is the architecture (docs/architecture.md); this
makes it a test. With --self-test instead of ROOT it checks a made-up tree.
"""

import ast
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
SHARED = ["tautstring", "backend.h", "step"]  # by host and devices
PORTABILITY = "portability.h"

# folder (the longest match applies) -> our folders whose headers it may include; "!": except
ALLOWED = {
    "include/tautstring": ["tautstring"],
    # torch's own headers and those of src/torch begin with the same name
    "include/tautstring/torch": ["tautstring", "torch"],
    "src/backend.h": ["tautstring"],
    "src/step": ["step", "!step/image", "!step/row", "tautstring/partition.h"],
    "src/step/image": ["step", "!step/row"],
    "src/step/row": SHARED,
    "src/portability.h": [],
    "src/api": ["tautstring", "api", "backend.h", PORTABILITY],
    "src/reference": ["tautstring", "reference"],
    "src/cpu": ["cpu", PORTABILITY, *SHARED],
    "src/cpu/vector": ["tautstring", "cpu", "step"],
    "src/cuda": ["cuda", *SHARED],
    # each layer may use itself and the layers after it
    **{f"src/{layer}": [*CUDA_LAYERS[i:], *SHARED] for i, layer in enumerate(CUDA_LAYERS)},
    "src/numpy": ["tautstring", "numpy"],
    "src/torch": ["tautstring", "torch"],
    "src/libtorch": ["tautstring", "libtorch", "torch"],
    "cli": ["tautstring", "cli"],
    "bench": ["tautstring", "bench"],
    "examples": ["tautstring", "torch"],
    # Tests of the public API may use only that and the oracles; the others may use everything.
    "tests/cpp": ["tautstring", "reference"],
    "tests/cpp/internal": None,
    "tests/cpp/support": None,
    "tests/cli": ["tautstring", "cli"],
    "tests/install": ["tautstring"],
    "tests/libtorch": ["tautstring", "torch"],
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
MAY_USE_HIGHWAY = ("src/cpu/vector/",)  # everything else builds without it
# The core prints nothing, ends no process and throws nothing; error.h is for callers that want
# exceptions.
QUIET = ("src/api", "src/cpu", "src/cuda", "src/step", "src/backend.h", "include/tautstring")
LOUD = re.compile(
    r"\b(?:f?printf|f?puts|perror|abort|(?:quick_)?exit|terminate|assert|throw)\b|std::(?:cout|cerr)|<iostream>"
    # This discards a Status: a call that cannot fail does not return one.
    r"|static_cast<void>"
)
SOURCES = {".h", ".cuh", ".cpp", ".cu"}
# The C++ part of the tasks uses the standard library and itself, apart from these folders of it.
TASKS = "tasks/cpp"
TASKS_OTHERS = {
    "tasks/cpp/python": re.compile(r"nanobind/"),
    "tasks/cpp/tests": re.compile(r"gtest/gtest\.h$"),
}
STANDARD_NAME = re.compile(r"[a-z0-9_]+$")  # neither a folder nor an extension

# The Python package: modules may only import modules of later lines.
TORCH_LAYERS = (
    ("layers",),
    ("functional",),
    ("_rows", "_images"),
    ("_solve",),
    ("_derivatives",),
    ("_autograd_paths",),
    ("_fake", "_vmap", "_sharding"),
    ("_ops",),
    ("_tensors",),
    ("_shapes",),
    ("_extension",),
    ("_docs", "_options", "_missed"),
    ("_numpy",),
)
# These work where torch is not installed.
NUMPY_LAYERS = (("numpy",), ("_docs", "_options", "_missed"), ("_numpy",))
MAY_USE_PRIVATE_NAMES = ("python/tautstring", "tests/python")
MAY_USE_TASKS = ("tasks", "bench/study", "tests/python")
PYTHON_FOLDERS = ("python", "tasks", "bench", "examples", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def folder_rule(path: str, rules: dict) -> Any:
    """Returns the rule of a file's folder, None if there is none."""
    matching = [key for key in rules if path == key or path.startswith(key + "/")]
    return rules[max(matching, key=len)] if matching else None


def is_allowed(name: str, rule: list[str] | None) -> bool:
    """Returns whether a rule allows one of our headers."""
    if rule is None:
        return True
    matching = [a for a in rule if (name + "/").startswith(a.removeprefix("!") + "/")]
    return bool(matching) and not max(matching, key=len).startswith("!")


def tasks_may_include(root: Path, path: str, name: str) -> bool:
    """Returns whether a file of the tasks' C++ part may include a header."""
    others = folder_rule(path, TASKS_OTHERS)
    if others is not None and others.match(name):
        return True
    if STANDARD_NAME.match(name):
        return True
    is_own = "/" in name and (root / TASKS / name).is_file()
    folder = f"{TASKS}/{name}".rsplit("/", 1)[0]
    return is_own and (folder_rule(folder, TASKS_OTHERS) in (None, others))


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
            if path.startswith(TASKS + "/"):
                if not tasks_may_include(root, path, name):
                    found.append(f"{path}: must not include {name}")
                continue
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


def imports(file: Path) -> Iterator[str]:
    """Returns the full name of everything that a Python file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_in(name: str, package: str) -> bool:
    """Returns whether a name is a package or something in it."""
    return (name + ".").startswith(package + ".")


def layer_violations(module: str, names: list[str], layers: tuple[tuple[str, ...], ...]) -> list:
    """Lists a package module's imports that its layer must not use."""
    places = {name: i for i, layer in enumerate(layers) for name in layer}
    found = []
    for name in names:
        other = name.split(".")[1] if is_in(name, "tautstring") and "." in name else None
        if other is not None and other != module and places.get(other, -1) <= places[module]:
            found.append(name)
    return found


def python_violations(root: Path) -> list[str]:
    """Lists every import that crosses a boundary."""
    tasks = {file.parent.name for file in (root / "tasks/tautstring_tasks").glob("*/__init__.py")}
    found = []
    for folder in PYTHON_FOLDERS:
        for file in sorted((root / folder).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            names = list(imports(file))
            forbidden = []
            if not path.startswith(MAY_USE_PRIVATE_NAMES):
                forbidden += filter(is_private, names)
            if folder == "python":
                module = file.relative_to(root / "python/tautstring").parts[0].removesuffix(".py")
                forbidden += package_violations(module, names)
            if not path.startswith(MAY_USE_TASKS):
                forbidden += [name for name in names if is_in(name, "tautstring_tasks")]
            if folder == "tasks" and file.name != "__main__.py":  # that one knows all tasks
                others = tasks - {file.parent.name}
                forbidden += [
                    name
                    for name in names
                    for other in others
                    if is_in(name, f"tautstring_tasks.{other}")
                ]
            found += [f"{path}: must not import {name}" for name in forbidden]
    return found


def is_private(name: str) -> bool:
    """Returns whether a name is private to the package."""
    return is_in(name, "tautstring") and any(part.startswith("_") for part in name.split("."))


def package_violations(module: str, names: list[str]) -> list[str]:
    """Lists what a module of the package must not import."""
    if module == "__init__":
        return []
    if not any(module in layer for layer in NUMPY_LAYERS):
        return layer_violations(module, names, TORCH_LAYERS)
    torch = [name for name in names if is_in(name, "torch")]
    return torch + layer_violations(module, names, NUMPY_LAYERS)


def self_test() -> None:
    """Plants one violation of each kind and expects to find exactly those."""
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
        "tests/cpp/m_test.cpp": '#include "cpu/targets.h"\n',
        "tests/cpp/internal/good.cpp": '#include "cpu/targets.h"\n',
        "python/tautstring/_ops.py": "from tautstring import _extension, functional\n",
        "python/tautstring/_shapes.py": "from tautstring._extension import solve\n",
        "python/tautstring/_options.py": "import torch\n",
        "python/tautstring/numpy/_rows.py": "import numpy\nfrom tautstring import _shapes\n",
        "python/tautstring/layers.py": "import torch\nfrom tautstring.functional import tv\n",
        "tasks/cpp/a/a.h": "#include <vector>\n",
        "tasks/cpp/a/good.cpp": '#include "a/a.h"\n#include <cmath>\n',
        "tasks/cpp/a/core.cpp": '#include "tautstring/tv1d.h"\n',
        "tasks/cpp/a/library.cpp": "#include <png.h>\n",
        "tasks/cpp/a/binding.cpp": "#include <nanobind/nanobind.h>\n",
        "tasks/cpp/a/upwards.cpp": '#include "python/module.h"\n',
        "tasks/cpp/python/module.h": "#include <nanobind/nanobind.h>\n",
        "tasks/cpp/python/good.cpp": '#include "a/a.h"\n#include "python/module.h"\n',
        "tasks/cpp/python/test.cpp": "#include <gtest/gtest.h>\n",
        "tasks/cpp/tests/good.cpp": '#include "a/a.h"\n#include <gtest/gtest.h>\n',
        "tasks/tautstring_tasks/a/__init__.py": "import tautstring\n",
        "tasks/tautstring_tasks/a/net.py": "from tautstring_tasks.a import other\n",
        "tasks/tautstring_tasks/b/__init__.py": "from tautstring_tasks.a import net\n",
        "tasks/tautstring_tasks/shared.py": "from tautstring_tasks import b\n",
        "tasks/tautstring_tasks/__main__.py": "from tautstring_tasks import a, b\n",
        "bench/c.py": "from tautstring import _numpy\n",
        "examples/d.py": "import tautstring_tasks.a\n",
        "tests/python/e.py": "from tautstring import _numpy\nimport tautstring_tasks.a\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in planted.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = violations(Path(folder)) + python_violations(Path(folder))
    files = sorted({line.split(":")[0] for line in found})
    if files != [
        "bench/c.py",
        "examples/d.py",
        "include/tautstring/c.h",
        "python/tautstring/_ops.py",
        "python/tautstring/_options.py",
        "python/tautstring/numpy/_rows.py",
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
        "tasks/cpp/a/binding.cpp",
        "tasks/cpp/a/core.cpp",
        "tasks/cpp/a/library.cpp",
        "tasks/cpp/a/upwards.cpp",
        "tasks/cpp/python/test.cpp",
        "tasks/tautstring_tasks/b/__init__.py",
        "tasks/tautstring_tasks/shared.py",
        "tests/cpp/m_test.cpp",
    ]:
        raise SystemExit(f"self-test found {found}")


def main() -> None:
    """Checks ROOT, or itself."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    found = violations(root) + python_violations(root)
    if found:
        raise SystemExit("\n".join(found))
    return None


if __name__ == "__main__":
    main()
