"""rag_eval's ``mode: online``: the system under test of its ``app_adapter`` becomes a target."""

from __future__ import annotations

import re
from typing import Any, Final

from pytest_rageval.errors import Problem, shorten
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree
from pytest_rageval.text.json_value import change_texts

_ADAPTER: Final = "app_adapter"
_MOVES = {
    "http": {"endpoint": "url", "method": "method", "timeout_seconds": "timeout_s"},
    "python": {"callable": "use", "static_kwargs": "options", "timeout_seconds": "timeout_s"},
}
_READ = ("type", "request_template", "static_kwargs", "response_mapping")
_PATHS = ("answer", "contexts")
_PLACE = re.compile(r"\{[A-Za-z_]\w*(?:\.[^{}]+)?\}")


def translate_adapter(tree: YamlTree) -> list[str]:
    """Rewrite ``app_adapter`` into ``target``; return a warning for each key without a place."""
    problem = _problem(tree)
    if problem is not None:
        tree.problems.append(problem)
        tree.data.pop(_ADAPTER, None)
        return []
    adapter = tree.data[_ADAPTER]
    kind = adapter["type"]
    for key in [key for key, value in adapter.items() if value is None]:
        del adapter[key]
    _require(tree, adapter, "endpoint" if kind == "http" else "callable")
    if kind == "http":
        _translate_request(tree, adapter)
    _put(tree, (_ADAPTER, "type"), "type", kind)
    for old, new in _MOVES[kind].items():
        if old in adapter:
            _put(tree, (_ADAPTER, old), new, adapter[old])
    return _finish(tree, adapter, kind)


def _problem(tree: YamlTree) -> Problem | None:
    """Return why the adapter cannot become a target, if so."""
    adapter = tree.data.get(_ADAPTER)
    if not isinstance(adapter, dict):
        place = _ADAPTER if (_ADAPTER,) in tree.lines else "mode"
        message = "mode: online needs 'app_adapter' (or a 'target'), the system that is asked"
        return Problem(tree.where((place,)), message)
    kind = adapter.get("type")
    if not isinstance(kind, str) or kind not in _MOVES:
        found = "missing" if kind is None else f"found {shorten(repr(kind))}"
        message = f"app_adapter.type: expected 'http' or 'python', {found}"
        return Problem(tree.where((_ADAPTER, "type")), message)
    if not isinstance(tree.data.get("target"), dict | None):
        message = "app_adapter and target say the same; keep one of them"
        return Problem(tree.where((_ADAPTER,)), message)
    return None


def _require(tree: YamlTree, adapter: dict[str, Any], key: str) -> None:
    if not adapter.get(key):
        message = f"app_adapter.{key}: required, and missing"
        tree.problem((_ADAPTER,), message)


def _translate_request(tree: YamlTree, adapter: dict[str, Any]) -> None:
    """Turn what is sent into a body, or a query, and what is picked into paths."""
    parts = [adapter.get(name) for name in ("request_template", "static_kwargs")]
    template, fixed = (part if isinstance(part, dict) else {} for part in parts)
    sent = {**_literal(template), "question": "{question}", **_literal(fixed)}
    fetches = str(adapter.get("method", "")).upper() == "GET"
    _put(tree, (_ADAPTER, "request_template"), "query" if fetches else "body", sent)
    mapping = adapter.get("response_mapping")
    for name in _PATHS:
        key = mapping.get(name) if isinstance(mapping, dict) else None
        if isinstance(key, str):
            path = f'["{key}"]' if "." in key else key
            _put(tree, (_ADAPTER, "response_mapping", name), name, path)


def _literal(value: Any) -> Any:
    """Return a value whose braces stay braces: rag_eval fills nothing in."""
    return change_texts(value, lambda text: _PLACE.sub(lambda found: f"{{{found[0]}}}", text))


def _put(tree: YamlTree, old: YamlPath, key: str, value: Any) -> None:
    """Set a key of the target, with the line of the old one, unless the target has the key."""
    if not tree.has(("target", key)):
        tree.put(("target", key), value)
        line = tree.lines.get(old) or tree.lines.get(old[:1])
        if line is not None:
            tree.lines["target", key] = line


def _finish(tree: YamlTree, adapter: dict[str, Any], kind: str) -> list[str]:
    """Take the adapter out of the tree; return a warning for each key without a counterpart."""
    del tree.data[_ADAPTER]
    line = tree.lines.get((_ADAPTER,))
    if line is not None:
        tree.lines.setdefault(("target",), line)
    known = {*_MOVES[kind], *(_READ if kind == "http" else ("type",))}
    warnings = [
        f"app_adapter.{key}: has no counterpart here" for key in adapter if key not in known
    ]
    mapping = adapter.get("response_mapping")
    if kind == "http" and isinstance(mapping, dict):
        warnings += [
            f"app_adapter.response_mapping.{key}: has no counterpart here"
            for key in mapping
            if key not in _PATHS
        ]
    return warnings
