"""Makes a searchable site of README.md, docs/ and the examples: `tox -e docs`."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import sphinx.search
from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

project = "pytest-rageval"
author = "The pytest-rageval authors"
copyright = author  # noqa: A001 - Sphinx's name
_module = (ROOT / "pytest_rageval" / "__init__.py").read_text("utf-8")
version = release = re.findall(r'^__version__ = "(.+)"', _module, re.MULTILINE)[0]

# The source is the repository itself: links that GitHub follows are followed here.
extensions = ["myst_parser", "sphinx.ext.githubpages"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "examples/**/README.md", ".github/[CS]*.md"]
exclude_patterns = [".git", ".tox", ".venv", "build", "pytest_rageval", "tests"]
myst_heading_anchors = 6
nitpicky = True
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sourcelink = False
templates_path = ["."]
html_sidebars = {"**": ["pages.html"]}
html_search_language = "zh"
html_context = {"default_mode": "auto"}
html_theme_options: dict[str, Any] = {
    "logo": {"text": project},
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
if "DOCS_SWITCHER" in os.environ:  # the address of versions.json, on the server of the site
    html_theme_options["switcher"] = {
        "json_url": os.environ["DOCS_SWITCHER"],
        "version_match": release,
    }
    html_theme_options["check_switcher"] = False
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]


class BothLanguages(SearchChinese):
    """An index of English words, stemmed, and of the Chinese words that jieba finds."""

    language_name = "English"  # of the stemmer: some versions of Sphinx look for a Chinese one
    js_splitter_code = (HERE / "split_query.js").read_text("utf-8")

    def split(self, input: str) -> list[str]:  # noqa: A002 - Sphinx's name
        """Return the words, options such as ``--rag-where`` as one word besides."""
        options = re.findall(r"--(rag(?:-[a-z]+)+)", input)
        return [*super().split(input), *(one.replace("-", "_") for one in options)]


sphinx.search.languages["zh"] = BothLanguages


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the lists of docs/README.md the site's navigation: a part for each heading."""
    if page.startswith(".github/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"  # linked, and not in the navigation
    if page != root_doc:
        return
    parts = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        links = re.findall(r"\]\(([^:)#]+)\.md\)", text)
        entries = "\n".join(os.path.normpath(f"/docs/{link}") for link in links)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{entries}\n```\n"


def name_language(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object
) -> None:
    """Say of Chinese pages that they are Chinese: browsers and screen readers choose by it."""
    if page.startswith("docs/zh/"):
        context["language"] = "zh-CN"


def add_files(app: Sphinx, problem: Exception | None) -> None:
    """Add the page that leads to the first one, and the pictures that HTML in Markdown names."""
    if problem is None:
        shutil.copy(HERE / "index.html", app.outdir)
        images = Path("docs", "images")
        shutil.copytree(ROOT / images, app.outdir / images, dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Tell Sphinx of what is above."""
    app.connect("source-read", add_navigation)
    app.connect("html-page-context", name_language)
    app.connect("build-finished", add_files)
