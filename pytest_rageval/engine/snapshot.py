"""The scenario as it ran, after overrides and defaults, as YAML text without secrets."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import yaml

from pytest_rageval.scenario.schema import Scenario

_REFERENCE = re.compile(r"\$\{\w+\}")


def snapshot_text(scenario: Scenario) -> str:
    """Return YAML that describes the whole scenario; equal scenarios give equal text.

    Inline rows are part of it. Key order is the schema's.
    """
    plain = scenario.model_dump(mode="json", exclude_none=True)
    for role in ("judge", "embedding"):
        if role in plain:
            plain[role] = _without_secrets(plain[role])
    plain.pop("models", None)  # what was used of them stands under judge and embedding
    plain["metrics"] = [_metric(metric) for metric in plain["metrics"]]
    plain["thresholds"] = {
        name: spec.get("value", spec) for name, spec in plain["thresholds"].items()
    }
    text: str = yaml.safe_dump(
        _printable(plain), allow_unicode=True, sort_keys=False, width=100, default_flow_style=False
    )
    return text


def _without_secrets(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings as they may be written down.

    Of headers, only references to the environment; of a URL, neither credentials nor query; of
    what is added to requests, the names.
    """
    shown = dict(model)
    shown["headers"] = {
        name: value if _REFERENCE.fullmatch(value) else "***"
        for name, value in model.get("headers", {}).items()
    }
    shown["extra_body"] = dict.fromkeys(model.get("extra_body", {}), "***")
    if "base_url" in model:
        parts = urlsplit(model["base_url"])
        host = parts.netloc.rpartition("@")[2]
        shown["base_url"] = f"{parts.scheme}://{host}{parts.path}"
    return {name: value for name, value in shown.items() if value not in ({}, None)}


def _metric(plain: dict[str, Any]) -> Any:
    options = dict(plain["options"])
    if "name" in plain:
        options["name"] = plain["name"]
    return {plain["metric"]: options} if options else plain["metric"]


def _printable(value: Any) -> Any:
    """Return ``value`` with lone surrogates spelled out, which no UTF-8 file can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(key): _printable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_printable(part) for part in value]
    return value
