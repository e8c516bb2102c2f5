"""Assembles the page in one file: template, style, scripts, data, and a content security policy.

The policy allows the scripts and the style by their hashes, and nothing else. Data are JSON in a
block that browsers do not run, and reach the page as text only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.page.data import page_data
from pytest_rageval.reports.page.texts import cut, embedded_json
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.text.printable import one_line

SCRIPTS = (
    "numbers.js",
    "weighing.js",
    "paired.js",
    "gates.js",
    "regression.js",
    "words.js",
    "run_words.js",
    "elements.js",
    "frame.js",
    "plots.js",
    "overview.js",
    "yaml.js",
    "panel.js",
    "slices.js",
    "comparison.js",
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
    style, script = asset("report.css"), in_one_scope(map(asset, SCRIPTS))
    room = len(style.encode()) + len(script.encode())
    slots = {
        "policy": _policy(style, script),
        "title": html.escape(cut(one_line(result.info.name), 200)),
        "style": style,
        "script": script,
        "data": embedded_json(page_data(result, run, trend, taken=room)),
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
