"""The site, which `make docs` builds. Its source is the root of the repository, so links of files work."""

import sys
from pathlib import Path

import sparselin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import torch_stub  # noqa: E402

torch_stub.install()

project = "sparselin"
author = "the sparselin developers"
copyright = author
version = release = sparselin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "myst_nb",
    "docstrings",
    "formulas",
    "ledger_page",
    "links",
    "module_tables",
    "networks_page",
    "pictures",
    "preset_pages",
    "terms",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*",
    "proofs_checks/*.md",
    "benchmarks/*.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "**/.ipynb_checkpoints", "docs/_*", "docs/gallery", "docs/made/gallery/*.ipynb"]
exclude_patterns += ["docs/paper", "docs/upstream"]  # for a journal and other maintainers
templates_path = [str(HERE / "_templates")]
default_role = "named"
smartquotes = False  # quotes may belong to code, as in "ebic"
nitpicky = True
nitpick_ignore_regex = [
    # names of other packages, whose inventories would have to be fetched
    (r"py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|polars|hypothesis|abc|enum)\..*"),
]

autosummary_generate = True
autosummary_filename_map = {  # for file systems that ignore the case of letters
    f"sparselin.{name}": f"sparselin.{name}-class" for name in ("testing.Rate", "ledger.Claim")
}
autodoc_typehints = "none"  # the docstrings state shapes and values; `py.typed` has the types
autodoc_member_order = "bysource"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the stored outputs are shown; `make check` makes them again
nb_merge_streams = True

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/made/gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "write_computation_times": False,
    "reset_modules": (),
}

html_theme = "pydata_sphinx_theme"
html_title = f"sparselin {release}"
html_static_path = ["_static"]
html_logo = html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which browsers forbid for files on the disk
html_additional_pages = {"index": "to_start.html"}
html_sidebars = {
    page: [] for page in ("docs/index", "docs/explorer", "docs/glossary", "docs/ledger", "CHANGELOG")
}
html_theme_options = {
    "logo": {"text": "sparselin", "alt_text": "sparselin: to the start page"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["versions", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "show_prev_next": True,
}
