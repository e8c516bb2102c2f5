"""The scenario as it ran, after overrides and defaults, as YAML text without secrets."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import yaml

from pytest_rageval.model import json_plain
from pytest_rageval.redaction import (
    HIDDEN,
    is_secret_number,
    names_secret,
    shown_message,
    shown_queries,
    shown_url,
    sounds_secret,
    without_credentials,
)
from pytest_rageval.scenario.schema import Scenario

_VARIABLE = re.compile(r"\$\{\w+\}")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_PLACE = re.compile(r"\$?\{[\w.]+\}")
_URL_ALONE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_CREDENTIAL = re.compile(
    r"(?i)\s*(?:(?:proxy-)?authorization:\s*(?:bearer|basic)\s+(?![${])\S{8,}"
    r"|(?:bearer|basic)\s+(?![${])(?=\S*\d)\S{8,})\s*"  # "basic reasoning" is none
)


def snapshot_text(scenario: Scenario) -> str:
    """Return YAML that describes the whole scenario; equal scenarios give equal text.

    It has every key of the schema, null included: where null is a value, its absence would mean
    another one. Inline rows are part of it. Key order is the schema's. Not in it are ``variants``
    and ``best`` (what a variant lays over the rest is in its place), ``models`` (the roles have
    what they use of them), keys ``x-...``, and secrets.
    """
    # Not in pydantic's JSON mode: rows of a program may hold what that refuses.
    plain = json_plain(scenario.model_dump(exclude={"variants", "best", "models"}))
    # A scenario with problems lacks what is wrong in it.
    for role in ("judge", "embedding"):
        if plain.get(role) is not None:
            plain[role] = _without_secrets(plain[role])
    if plain.get("target") is not None:
        plain["target"] = _target(plain["target"])
    if "metric_options" in plain:
        plain["metric_options"] = shown_option("", plain["metric_options"])
    if len(plain.get("compare") or ()) == 1:
        (plain["compare"],) = plain["compare"]
    plain["metrics"] = [_metric(metric) for metric in plain["metrics"]]
    plain["thresholds"] = {name: _bound(spec) for name, spec in plain["thresholds"].items()}
    return dumped(_printable(plain))


def shown_option(name: str, value: object) -> object:
    """Return the option of a metric with secrets hidden, nested ones included.

    A name must be clearer than for ``sounds_secret``: ``tokenizer`` or ``max_tokens`` is no secret.
    """
    if isinstance(value, dict):
        return {key: shown_option(str(key), part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(shown_option(name, part) for part in value)
    if not isinstance(value, str):
        return HIDDEN if is_secret_number(name, value) else value
    return HIDDEN if value and names_secret(name) else shown_value(value)


def hash_text(value: object) -> str:
    """Return four hex digits of a hash, which show that what is hidden has changed."""
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:4]


def hashes_in(definition: str) -> int:
    """Return how many options of a metric's definition are hidden, with a hash behind each.

    >>> hashes_in("near v1 (url=https://h.test/#1a2b)"), hashes_in("m v1 (key=***#1a2b) by gpt-4o")
    (1, 1)
    """
    return len(re.findall(r"#[0-9a-f]{4}(?=, |\)(?: |$))", definition))


def shown_value(text: str) -> str:
    """Return the value of an option without what in it looks like a secret.

    >>> shown_value("https://me:pw@h/x?api_key=abc&k=1"), shown_value("Server=x;Password=a b;")
    ('https://h/x?api_key=***&k=1', 'Server=x;Password=***;')
    """
    if "\n" in text.strip():  # a prompt
        return text
    if _CREDENTIAL.fullmatch(text):
        return HIDDEN
    is_url = _URL_ALONE.fullmatch(text)
    return shown_message(shown_queries(without_credentials(text)) if is_url else text)


def _bound(spec: dict[str, Any]) -> Any:
    return {"min": spec["min"], "max": spec["max"]} if spec["value"] is None else spec["value"]


def dumped(plain: Any) -> str:
    """Return YAML as snapshots are written: keys in the order that they have."""
    text: str = yaml.safe_dump(
        plain, allow_unicode=True, sort_keys=False, width=100, default_flow_style=False
    )
    return text


def _without_secrets(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings as they may be written down.

    Of headers, only references to the environment; of a URL, neither credentials nor query; of
    what is added to requests, the names.
    """
    shown = dict(model)
    headers, body, url = (model.get(key) for key in ("headers", "extra_body", "base_url"))
    # What a target has of these is not checked yet, and may be of any type.
    if headers:
        shown["headers"] = {
            name: value if _VARIABLE.fullmatch(str(value)) else "***"
            for name, value in (headers if isinstance(headers, dict) else {}).items()
        }
    if body:
        shown["extra_body"] = dict.fromkeys(body if isinstance(body, dict) else (), "***")
    if url:
        shown["base_url"] = shown_url(str(url))
    return shown


def _target(target: dict[str, Any]) -> dict[str, Any]:
    """Return a target's settings as they may be written down, its options among the other keys.

    Of the texts in a request, those that are only places for fields or references to the
    environment; of its URL, neither credentials nor query; of options whose names sound secret, the
    names.
    """
    own = {name: value for name, value in target.items() if name != "options"}
    options = target.get("options", {})
    shown = {**own, **{name: _unnamed(name, value) for name, value in options.items()}}
    for name in ("headers", "query", "body"):
        if name in options:
            sent = options[name]
            as_texts = name == "headers" and isinstance(sent, dict)
            sent = {key: str(part) for key, part in sent.items()} if as_texts else sent
            shown[name] = _places_only(sent)
    if isinstance(options.get("url"), str):
        shown["url"] = shown_url(options["url"])
    return _of_model(shown)


def _of_model(shown: dict[str, Any]) -> dict[str, Any]:
    is_model = "base_url" in shown or "extra_body" in shown
    return _without_secrets(shown) if is_model else shown


def _unnamed(name: str, value: Any) -> Any:
    """Return a value without what names, its own or inside, call a secret, or a URL's secrets."""
    if isinstance(value, dict):
        return {key: _unnamed(str(key), part) for key, part in value.items()}
    if isinstance(value, list):
        return [_unnamed(name, part) for part in value]
    if not isinstance(value, str):
        return HIDDEN if is_secret_number(name, value) else value
    is_secret = sounds_secret(name) and not name.endswith("_env")
    if is_secret and not _is_places(value):
        return "***"
    plain = without_credentials(value) if _URL.match(value) else value
    shown = shown_value(plain)
    return plain if shown == plain else f"{shown}#{hash_text(plain)}"  # another one is another run


def _places_only(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _places_only(part, str(key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_places_only(part, name) for part in value]
    is_text = isinstance(value, str) and not _is_places(value)
    return HIDDEN if is_text or is_secret_number(name, value) else value


def _is_places(text: str) -> bool:
    return bool(text) and not _PLACE.sub("", text)


def _metric(plain: dict[str, Any]) -> Any:
    options = {name: shown_option(name, value) for name, value in plain["options"].items()}
    if plain["use"] is not None or plain["column"] is not None:
        said = {key: value for key, value in plain.items() if value is not None}  # else absent
        own = {key: value for key, value in said.items() if key not in ("metric", "options")}
        return {**own, **options}
    if plain["name"] is not None:
        options["name"] = plain["name"]
    return {plain["metric"]: options} if options else plain["metric"]


def _printable(value: Any) -> Any:
    """Return ``value`` with lone surrogates spelled out: no UTF-8 file can hold them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(key): _printable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_printable(part) for part in value]
    return value
