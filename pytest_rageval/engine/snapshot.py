"""The scenario as it ran, after overrides and defaults, as YAML text without secrets."""

from __future__ import annotations

from typing import Any

import yaml

from pytest_rageval.scenario.schema import Scenario


def snapshot_text(scenario: Scenario) -> str:
    """Return YAML that describes the whole scenario; equal scenarios give equal text.

    Inline rows are part of it. Key order is the schema's.
    """
    plain = scenario.model_dump(mode="json", exclude_none=True)
    plain["metrics"] = [_metric(metric) for metric in plain["metrics"]]
    plain["thresholds"] = {
        name: spec.get("value", spec) for name, spec in plain["thresholds"].items()
    }
    text: str = yaml.safe_dump(
        _printable(plain), allow_unicode=True, sort_keys=False, width=100, default_flow_style=False
    )
    return text


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
