"""The C++ reference shows every public header, and in it every name that users call."""

import re
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
INCLUDE = TREE / "include" / "tautstring"
if not INCLUDE.exists():
    pytest.skip("needs the source tree", allow_module_level=True)
sys.path.insert(0, str(TREE / "docs"))
headers = pytest.importorskip("headers")

# They declare nothing that users read: macros, and includes of the others.
WITHOUT_SECTIONS = {"export", "tautstring"}


def read(header):
    return (INCLUDE / f"{header}.h").read_text(encoding="utf-8")


def test_every_header_has_its_place():
    listed = [header for _, _, parts in headers.PAGES.values() for header in parts]
    there = {str(f.relative_to(INCLUDE).with_suffix("")) for f in INCLUDE.rglob("*.h")}
    assert sorted(listed) == sorted(there - WITHOUT_SECTIONS)


DECLARED = re.compile(
    r"^(?:\[\[nodiscard\]\] )?(?:TAUTSTRING_API|constexpr) [\w:<>]+ (\w+)\("
    r"|^(?:struct|class)(?: TAUTSTRING_API)? (\w+) [^;]*{",
    re.MULTILINE,
)


@pytest.mark.parametrize("page", headers.PAGES)
def test_every_declared_name_is_shown(page):
    text = headers.make_page(*headers.PAGES[page])
    for header in headers.PAGES[page][2]:
        declared = {name for match in DECLARED.findall(read(header)) for name in match if name}
        assert declared, header
        assert all(re.search(rf"\b{name}\b", text) for name in declared)


def test_what_users_do_not_read_is_left_out():
    text = "".join(headers.make_page(*parts) for parts in headers.PAGES.values())
    for hidden in ("TAUTSTRING_API", "NOLINT", "private:", "namespace", "kIsNativeSample<T> ="):
        assert hidden not in text


def test_an_item_is_its_comment_and_its_code():
    introduction, (item, other) = headers.read_items(
        "// About.\n#pragma once\nnamespace tautstring {\n"
        "/// What it does with a_b:\n///   y = x\n/// and more.\n"
        "[[nodiscard]] TAUTSTRING_API int first(int a,\n"
        "                                       int b) noexcept;\n\n"
        "inline int first_of() {\n  return 1;\n}\n"
        "\nstruct Other {\n  int a = 0;  // said here)\n\n private:\n  int b;\n};\n"
        "}  // namespace tautstring\n"
    )
    assert introduction == ["About."]
    assert item.name == "first"
    assert item.code == [
        "int first(int a,",
        "          int b) noexcept;",
        "inline int first_of();",
    ]
    assert "\n".join(headers._as_markdown(item.comment)).split("\n\n") == [
        "What it does with a_b:",
        "```text\ny = x\n```",
        "and more.\n",
    ]
    assert other.code == ["struct Other {", "  int a = 0;  // said here)", "};"]
