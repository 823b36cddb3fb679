"""Sphinx settings; the site is built with warnings as errors (`make docs`)."""

from cerec import __version__

project = "cerec"
author = "the cerec authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "results/systems"]
html_theme = "furo"
html_title = "cerec"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing"]
