"""Turns the C++ examples of the public headers and of pages into tests.

usage: extract_examples.py OUTPUT SOURCE...

A header's examples are between \\code and \\endcode in its /// comments, those of a
Markdown page in ```cpp blocks. Fragments become the bodies of GoogleTest tests; a
block with its own main() becomes a function that a test calls and whose result must
be 0. A page without an example is an error, and so is a header that declares calls
and has no example.
"""

import re
import sys
from pathlib import Path

PROLOGUE = """\
// Made by tests/docs/extract_examples.py.
#undef NDEBUG  // examples check themselves by assert
#include <gtest/gtest.h>
"""


def header_examples(text: str) -> list[tuple[int, str]]:
    """Returns (line, code) of every \\code block in the /// comments of a header."""
    examples, lines = [], text.splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        comment = line.strip()
        if comment == r"/// \code":
            start = number + 1
        elif comment == r"/// \endcode":
            block = [
                ln.strip().removeprefix("///").removeprefix(" ")
                for ln in lines[start - 1 : number - 1]
            ]
            examples.append((start, "\n".join(block)))
            start = None
    if start is not None:
        raise SystemExit(f"line {start}: \\code without \\endcode")
    return examples


def page_examples(text: str) -> list[tuple[int, str]]:
    """Returns (line, code) of every ```cpp block of a Markdown page."""
    return [
        (text.count("\n", 0, match.start()) + 2, match.group(1))
        for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]


def as_test(path: Path, line: int, code: str) -> str:
    """Wraps one example; compiler messages point to its source."""
    name = re.sub(r"\W", "_", path.name)
    place = f'#line {line} "{path}"'
    includes = re.findall(r"^\s*#include.*$", code, re.MULTILINE)
    body = re.sub(r"^\s*#include.*$", "", code, flags=re.MULTILINE)
    if re.search(r"\bint main\(", body):
        function = f"main_of_{name}_{line}"
        body = re.sub(r"\bint main\(", f"static int {function}(", body)
        test = (
            f"{place}\n{body}\nTEST(Example, {name}_line_{line}) {{ EXPECT_EQ({function}(), 0); }}"
        )
    else:
        test = f"TEST(Example, {name}_line_{line}) {{\n{place}\n{body}\n}}"
    return "\n".join([*includes, test, ""])


def main() -> None:
    """Writes OUTPUT from all SOURCEs."""
    output, *sources = map(Path, sys.argv[1:])
    tests = []
    for path in sources:
        text = path.read_text(encoding="ascii")
        is_page = path.suffix == ".md"
        found = page_examples(text) if is_page else header_examples(text)
        if not found and (is_page or "TAUTSTRING_API Status " in text):
            raise SystemExit(f"{path}: no example found")
        tests += [as_test(path, line, code) for line, code in found]
    standard = "".join(
        f"#include <{name}>\n" for name in ("cassert", "cstdint", "string", "vector")
    )
    tautstring = '#include "tautstring/error.h"\n#include "tautstring/tautstring.h"\n'
    output.write_text("\n".join([PROLOGUE, standard, tautstring, *tests]), encoding="ascii")


if __name__ == "__main__":
    main()
