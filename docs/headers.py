"""The C++ reference: pages made from the public headers.

Each documented declaration becomes a section: what the header declares, word for word, and what
its comment says. The headers are written to be read, and their structs of named arguments explain
each field beside it, so the pages show them as they stand; Doxygen with Breathe would take them
apart into tables. A declaration without a comment belongs to the one before it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = HERE.parent / "include" / "tautstring"
PAGES = {
    "api/cpp.md": (
        "C++ core",
        "`#include <tautstring/tautstring.h>` includes all of these but `tautstring/error.h`.",
        (
            "tv1d",
            "tv2d",
            "newton1d",
            "certificate",
            "path1d",
            "select1d",
            "partition",
            "view",
            "context",
            "status",
            "error",
        ),
    ),
    "api/libtorch.md": (
        "LibTorch",
        "The CMake component `torch`: the same calls on `torch::Tensor`, with autograd.",
        ("torch/tv1d", "torch/tv2d", "torch/newton1d", "torch/layer"),
    ),
}
_NAME = re.compile(
    r"(?:^|\n)(?:struct|class|enum class|concept)\s+(?:\[\[nodiscard\]\]\s+)?(\w+)"
    r"|(?:^|\n)using (\w+) ="
    r"|(?:^|\n)inline constexpr [\w:]+ (\w+)"
    r"|(\w+)\((?!\w*\))"
    r"|(\w+)\(\)"
)


@dataclass
class Item:
    """A declaration and what is said of it."""

    comment: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    @property
    def name(self):
        """The name that it declares."""
        match = _NAME.search("\n".join(self.code))
        if match is None:
            raise ValueError(f"no name found in {self.code}")
        return next(group for group in match.groups() if group)


def _as_users_see_it(code):
    """Drop what users do not read: private members, bodies of functions, marks for tools."""
    text = "\n".join(code)
    text = re.sub(r"\n+ private:.*?(?=\n};)", "", text, flags=re.DOTALL)
    text = re.sub(r"\n *// NOLINT.*| *// NOLINT.*", "", text)
    text = re.sub(
        r"((?:\[\[nodiscard\]\] )?(?:TAUTSTRING_API )?)(.*(?:\n +.*)*)",
        lambda marked: marked[2].replace("\n" + " " * len(marked[1]), "\n"),
        text,
    )
    text = text.replace("[[nodiscard]] ", "").replace("TAUTSTRING_API ", "")
    text = re.sub(r" \{\n    .*?\n  \}", ";", text, flags=re.DOTALL)  # of a member
    if not re.match(r"(template.*\n)?(struct|class|enum|concept|using|inline constexpr)", text):
        text = re.sub(r" \{\n.*\n}", ";", text, flags=re.DOTALL)
    return text.split("\n")


def read_items(text):
    """Return a header's introduction and its items, those in `namespace detail` left out."""
    lines = text.split("\n")
    introduction = []
    while lines and lines[0].startswith("//"):
        introduction.append(lines.pop(0)[2:].removeprefix(" "))
    items, depth, is_hidden = [Item()], 0, False
    for line in lines:
        is_namespace = re.match(r"(}  // )?namespace \w", line)
        if line.startswith("namespace detail"):
            is_hidden = True
        if line.startswith("}  // namespace detail"):
            is_hidden = False
            continue
        if is_hidden or is_namespace or line.startswith("#") or (not line and not items[-1].code):
            continue
        is_comment = line.startswith("///")
        if depth == 0 and (is_comment or not line) and items[-1].code:
            items.append(Item())
        if depth == 0 and is_comment:
            items[-1].comment.append(line[3:].removeprefix(" "))
        elif line:
            if not line.startswith("// NOLINT"):
                items[-1].code.append(line)
            code = line.split("//")[0]
            depth += sum(code.count(c) for c in "{(") - sum(code.count(c) for c in "})")
        elif depth > 0:
            items[-1].code.append(line)
    joined = []
    for item in items:
        if not item.code:
            continue
        item.code = _as_users_see_it(item.code)
        is_type = re.match(r"(struct|class|enum) ", item.code[0])
        if item.comment or is_type or not joined:
            joined.append(item)
        else:
            joined[-1].code += item.code
    return introduction, joined


def _as_markdown(comment):
    """Turn a comment into Markdown: indented lines and examples become blocks."""
    out, block = [], None
    for line in [*comment, ""]:
        if line == r"\code":
            out += ["", "```cpp"]
            block = "code"
        elif line == r"\endcode":
            out += ["```", ""]
            block = None
        elif block == "code":
            out.append(line)
        elif line.startswith("  "):
            if block is None:
                out += ["", "```text"]
                block = "formula"
            out.append(line[2:])
        else:
            if block == "formula":
                out += ["```", ""]
                block = None
            out.append(line)
    return out


def _with_links(lines, own, names):
    """Link names that cannot be taken for words to their sections."""
    out, is_block = [], False
    for line in lines:
        is_block ^= line.startswith("```")
        if is_block or line.startswith("```"):
            out.append(line)
            continue
        linked = re.sub(
            r"(?<![\w`/.])(\w+)(?![\w`])",
            lambda word: (
                f"[{word[1]}](#{word[1].lower()})"
                if word[1] in names and word[1] != own and re.search(r"_|\w[A-Z0-9]", word[1])
                else word[1]
            ),
            line,
        )
        out.append(linked)
    return out


def make_page(title, introduction, headers):
    """Return the text of one page."""
    read = {h: read_items((INCLUDE / f"{h}.h").read_text(encoding="utf-8")) for h in headers}
    names = {item.name for _, items in read.values() for item in items}
    out = [f"# {title}", "", introduction, ""]
    for header, (about, items) in read.items():
        out += [f"## tautstring/{header}.h", "", *_as_markdown(about), ""]
        heading = ""
        for item in items:
            if item.name != heading:  # else an overload
                heading = item.name
                out += [f"### {heading}", ""]
            out += ["```cpp", *item.code, "```", ""]
            out += [*_with_links(_as_markdown(item.comment), item.name, names), ""]
    return "\n".join(out) + "\n"


def make_pages(app):
    """Write the pages that have changed."""
    for page, parts in PAGES.items():
        text, place = make_page(*parts), HERE / page
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


def setup(app):
    """Make the pages before any is read."""
    app.connect("builder-inited", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
