"""Assembles the page in one file: template, style, scripts, data, and a content security policy.

The policy allows the scripts and the style by their hashes, and nothing else. Data are JSON in a
block that browsers do not run, and reach the page as text only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.page.data import page_data
from pytest_rageval.reports.page.texts import cut, embedded_json
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.text.printable import one_line

SCRIPTS = (
    "numbers.js",
    "mean_bounds.js",
    "weighing.js",
    "gates.js",
    "words.js",
    "run_words.js",
    "elements.js",
    "frame.js",
    "plots.js",
    "overview.js",
    "panel.js",
    "slices.js",
    "comparison.js",
    "agreement.js",
    "label.js",
    "label_found.js",
    "samples.js",
    "detail.js",
    "start.js",
)
"""In an order in which each may use those before it."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def page_chunks(result: ScenarioResult, run: RunInfo, trend: Sequence[RunPoint]) -> Iterator[str]:
    """Yield the text of the page in parts.

    ``trend`` are the complete runs of this scenario, oldest first.
    """
    return page_of(
        result.info.title,
        SCRIPTS,
        lambda room: page_data(result, run, trend, taken=room),
        _WITHOUT_SCRIPT,
    )


_WITHOUT_SCRIPT: Final = (
    "This report needs JavaScript. summary.md, results.json and scores.csv have its data too.",
    "此报告需要 JavaScript；也可查看同一文件夹的 summary.md、results.json 和 scores.csv。",
)


def page_of(
    title: str, scripts: Iterable[str], data: Callable[[int], Any], without_script: Iterable[str]
) -> Iterator[str]:
    """Yield the text of a page in parts.

    ``data`` gets how many bytes style and scripts take; ``without_script`` is what a browser shows
    that runs none, in each language.
    """
    style, script = asset("report.css"), in_one_scope(map(asset, scripts))
    slots = {
        "policy": _policy(style, script),
        "title": html.escape(cut(one_line(title), 200)),
        "style": style,
        "script": script,
        "without_script": "<br>".join(without_script),
        "data": embedded_json(data(len(style.encode()) + len(script.encode()))),
    }
    for at, part in enumerate(_SLOT.split(asset("report.html"))):
        yield slots[part] if at % 2 else part


def in_one_scope(scripts: Iterable[str]) -> str:
    """Return one script of several, each of which sees what is in the others."""
    joined = "\n".join(scripts)
    return f'(() => {{\n"use strict";\n{joined}}})();\n'


def asset(name: str) -> str:
    """Return the text of a file in the folder ``assets``."""
    return resources.files(__package__).joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    rules: Mapping[str, str] = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
