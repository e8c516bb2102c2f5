"""The files of the page: its own, and the parts of the report's page that it uses again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from pytest_rageval.reports.page import assemble

SHARED: Final = (*(name for name in assemble.SCRIPTS if name != "start.js"), "variant_words.js")
"""Those of the report: all but the one that starts it."""

SCRIPTS: Final = (
    "api.js",
    "app_words.js",
    "scenario_list.js",
    "scenario_view.js",
    "live_run.js",
    "variants_view.js",
    "saved_runs.js",
    "app.js",
)
"""Those of the app, which come after."""


@cache
def page_files() -> Mapping[str, tuple[str, bytes]]:
    """Return the files that are served, by name: media type and content."""
    script = assemble.in_one_scope([*map(assemble.asset, SHARED), *map(_asset, SCRIPTS)])
    style = assemble.asset("report.css") + _asset("app.css")
    return {
        "app.html": ("text/html", _asset("app.html").encode()),
        "app.css": ("text/css", style.encode()),
        "app.js": ("text/javascript", script.encode()),
    }


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text("utf-8")
