"""Pages of the source tree that lie outside this folder, as pages of the site.

On the site their links, and links to them, lead to the site's pages. Links to anything else in
the tree, such as a folder, become plain text: a site has no folders to show.
"""

import os.path
import re
from pathlib import Path

HERE = Path(__file__).parent
TREE = HERE.parent
PLACE = "elsewhere"  # folder of the pages made here, relative to this one

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def _sources():
    """Return the page of each file, both relative to the tree and to this folder."""
    named = {
        "CHANGELOG.md": "changelog",
        "CONTRIBUTING.md": "contributing",
        "tasks/README.md": "tasks",
        "bench/README.md": "benchmarks",
    }
    results = sorted((TREE / "bench" / "results").glob("*.md"))
    named |= {str(file.relative_to(TREE)): f"results/{file.stem}" for file in results}
    return {source: f"{PLACE}/{page}.md" for source, page in named.items()}


def make_pages(app):
    """Copy the pages, with links as from their new places."""
    for source, page in _sources().items():
        text = (TREE / source).read_text(encoding="utf-8")
        if source.startswith("bench/results/"):
            text = f"---\norphan: true\n---\n\n# {Path(source).stem}\n\n{text}"
        place = HERE / page
        place.parent.mkdir(parents=True, exist_ok=True)
        moved = _with_links(text, Path(source).parent, Path("docs", page).parent)
        if not place.exists() or place.read_text(encoding="utf-8") != moved:
            place.write_text(moved, encoding="utf-8")


def mend_links(app, name, source):
    """Lead a page's links out of this folder to the site's pages."""
    if not name.startswith(f"{PLACE}/"):
        folder = Path("docs", name).parent
        source[0] = _with_links(source[0], folder, folder)


def _with_links(text, from_folder, to_folder):
    pages = {source: f"docs/{page}" for source, page in _sources().items()}

    def mended(link):
        words, target, part = link.groups(default="")
        file = os.path.normpath(from_folder / target)
        if not (TREE / file).exists():
            return link.group()  # left as it is: an error that names it
        page = pages.get(file, file)
        if not page.startswith("docs/"):
            return words
        return f"[{words}]({os.path.relpath(page, to_folder)}{part})"

    return _LINK.sub(mended, text)


def setup(app):
    """Make the pages before any is read."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", mend_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
