"""Sphinx settings; the site is built with warnings as errors (`make docs`)."""

from pathlib import Path
from typing import Any

from cerec import __version__
from cerec_bench.report.presets import write_presets

project = "cerec"
author = "the cerec authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "systems/generated"]
html_theme = "furo"
html_title = "cerec"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing"]


def setup(app: Any) -> None:
    """The settings of the compared systems are written from the code."""
    here = Path(__file__).parent
    app.connect(
        "builder-inited",
        lambda _: write_presets(here / "systems" / "generated"),
    )
