"""The site: Sphinx reads the Markdown pages (MyST), runs the gallery and draws what pages need.

`make docs` builds it; a warning is an error. Sphinx, because it documents Python from
docstrings, links to the references of PyTorch and NumPy, and runs examples (sphinx-gallery), as
the sites of scikit-image, POT and deepinv do.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "Tautstring"
author = "the Tautstring developers"
project_copyright = author
version = release = (HERE.parent / "VERSION").read_text(encoding="utf-8").strip()

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "drawings",
    "elsewhere",
    "headers",
    "mathml",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
nitpicky = True
nitpick_ignore_regex = [
    # What docstrings call types, and types of packages that are documented elsewhere.
    ("py:.*", r"(torch|numpy|np|collections|typing|optional|sequence|array_like|of|or)(\..*)?"),
]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # docstrings name types in words
napoleon_google_docstring = False
default_role = "py:obj"

html_theme = "furo"
html_title = f"Tautstring {version}"
html_static_path = ["static", "browser/built"]
html_css_files = ["site.css"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("tautstring",),
    "reference_url": {"tautstring": None},
    "show_memory": False,
    "min_reported_time": 1e9,
    "plot_gallery": True,
    "capture_repr": (),
    "within_subsection_order": "gallery_order.InOrder",
    "copyfile_regex": r"$^",
}
