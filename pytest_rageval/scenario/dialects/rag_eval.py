"""rag_eval's base scenario: ``scenario_name, mode, judge_model, app_adapter`` become our keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pytest_rageval.errors import Problem, shorten, unknown_name
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.short_forms import expand_short_forms
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, dotted
from pytest_rageval.text.json_value import change_texts

_MOVES: tuple[tuple[YamlPath, YamlPath], ...] = (
    (("scenario_name",), ("name",)),
    (("judge_model",), ("judge", "model")),
    (("embedding_model",), ("embedding", "model")),
)
_RUNTIME_MOVES: tuple[tuple[str, YamlPath], ...] = (
    ("metric_concurrency", ("judge", "concurrency")),
    ("app_concurrency", ("target", "concurrency")),
    ("max_samples", ("dataset", "limit")),
)
_WITHOUT_EFFECT = {
    "batch_size": "calls to a judge are limited by judge.concurrency alone",
    "app_concurrency": "no system is asked for answers",
    "metric_concurrency": "no judge is named",
}
_SHORT_FORMS = (
    *("scenario_name", "qrels_path", "run_path", "queries_path", "missing_queries"),
    *("ir_metrics", "ks"),
)
# Keys of UltraRAG and DB-GPT: what such a file has beside them may be a key of theirs.
_OTHER_DIALECTS = (
    *("benchmark", "evaluation", "run_new_path", "run_old_path", "scene_key", "evaluate_metrics"),
)
_OWN_KEYS = ("mode", "judge_model", "embedding_model", "runtime", "app_adapter")
_RUNTIME_KEYS = ("batch_size", "app_concurrency", "metric_concurrency", "max_samples")


def translate(tree: YamlTree, given: Collection[YamlPath] = ()) -> list[str]:
    """Rewrite rag_eval's keys in ``tree`` and return a warning for each without a counterpart.

    Beside them it takes out unknown keys and metrics named twice, with warnings. A tree without
    rag_eval's keys is left as it is. ``given`` are the paths of our keys that overrides set
    afterwards. What is wrong goes to the tree's problems.
    """
    warnings = []
    if not tree.data.keys().isdisjoint(_OWN_KEYS):
        tree.data.setdefault("empty_answer", None)  # its metrics decide, as in ragas
        warnings = [*_leave_keys_out(tree), *_leave_copies_out(tree)]
    for old, new in _MOVES:
        if tree.has(old) and has_our_key(tree.data, new):
            message = f"{old[0]} and {new[0]} say the same; keep one of them"
            tree.problem(old, message)
            tree.data.pop(old[0])
        elif tree.has(old):
            tree.move(old, new)
    return [*warnings, *_translate_mode(tree, given), *_translate_runtime(tree)]


def _leave_keys_out(tree: YamlTree) -> list[str]:
    """Take out unknown keys, as rag_eval does; keep keys that look misspelt."""
    if not tree.data.keys().isdisjoint(_OTHER_DIALECTS):
        return []
    known = (*Scenario.model_fields, *_OWN_KEYS, *_SHORT_FORMS)
    others = [
        key
        for key in tree.data
        if key not in known
        and not key.startswith("x-")
        and not get_close_matches(key.lower(), known, cutoff=0.85)
    ]
    for key in others:
        del tree.data[key]
    return [
        f"{shorten(key)}: is no key here, and not used; 'x-{shorten(key)}' says so"
        for key in others
    ]


def _leave_copies_out(tree: YamlTree) -> list[str]:
    """Take out the metrics that are in the list already."""
    metrics = tree.data.get("metrics")
    if not isinstance(metrics, list):
        return []
    distinct: list[Any] = []
    copies: list[str] = []
    for metric in metrics:
        if isinstance(metric, str) and metric in distinct:
            copies.append(metric)
        else:
            distinct.append(metric)
    if copies:
        tree.data["metrics"] = distinct
    return [f"metrics: {shorten(repr(name))} is named twice, and counts once" for name in copies]


def has_our_key(data: Mapping[str | int, Any], path: YamlPath) -> bool:
    """Return whether ``data`` has our key at ``path``; ``profile`` beside it counts as it."""
    section = data.get(path[0])
    if len(path) == 1 or not isinstance(section, dict | None):
        return path[0] in data
    section = section or {}
    return bool({path[1], "profile"} & section.keys())


def _translate_mode(tree: YamlTree, given: Collection[YamlPath]) -> list[str]:
    """Turn the adapter of ``mode: online`` into a target; return a warning for each lost key.

    An adapter or a target that does not fit the mode is a problem of the tree.
    """
    mode = tree.data.pop("mode", None)
    adapter, target = tree.data.get("app_adapter"), tree.data.get("target")
    is_named = target is not None or any(path[0] == "target" for path in given)
    if mode == "online" and (adapter is not None or not is_named):
        return translate_adapter(tree)
    tree.data.pop("app_adapter", None)
    if mode is None and adapter is None:
        return []
    if mode not in (None, "offline", "online"):
        found = f"found {shorten(repr(mode))}"
        tree.problem(("mode",), f"mode: expected 'offline' or 'online', {found}")
    elif adapter is not None:
        message = "app_adapter: has no place in mode 'offline', where the data holds the answers"
        if mode is None:
            message = "app_adapter: used only with 'mode: online'; add it, or remove the adapter"
        tree.problem(("app_adapter",), message)
    elif mode == "offline" and target is not None:
        message = "mode: 'offline' asks no target, and there is one; keep one of them"
        tree.problem(("mode",), message)
    return []


def _translate_runtime(tree: YamlTree) -> list[str]:
    runtime = tree.data.get("runtime")
    if runtime is None:
        tree.data.pop("runtime", None)
        return []
    if not isinstance(runtime, dict):
        return []  # left in place: validation reports it as the unknown key that it then is
    # rag_eval takes 0 calls at once for its default, and -1 samples for all.
    absent = {"app_concurrency": 0, "metric_concurrency": 0, "max_samples": -1}
    for key in [key for key, value in runtime.items() if _is_absent(value, absent.get(key))]:
        del runtime[key]
    _check_runtime(tree, runtime)
    for key, new in _RUNTIME_MOVES:
        if key in runtime:
            _move_setting(tree, ("runtime", key), new)
    warnings = [
        f"runtime.{key} has no effect: {reason}"
        for key, reason in _WITHOUT_EFFECT.items()
        if key in runtime
    ]
    for key in [key for key in runtime if key not in _WITHOUT_EFFECT]:
        message = unknown_name("key", str(key), _RUNTIME_KEYS)
        tree.problem(("runtime", key), f"runtime: {message}")
    del tree.data["runtime"]
    return warnings


def _move_setting(tree: YamlTree, old: YamlPath, new: YamlPath) -> None:
    """Move a value of ``runtime``, unless there is no judge or target that it is about.

    Where our key for it is given, too, that is a problem, unless an option gave the value.
    """
    expand_short_forms(tree, new)
    if tree.has(new) and not tree.is_overridden(old):
        tree.problem(old, f"{dotted(old)} and {dotted(new)} say the same; keep one of them")
        tree.at(old[:-1]).pop(old[-1])
    elif new[0] == "dataset" or isinstance(tree.data.get(new[0]), dict):
        tree.move(old, new)


def _is_absent(value: Any, also: int | None) -> bool:
    return value is None or (value == also and not isinstance(value, bool))


def _check_runtime(tree: YamlTree, runtime: dict[str, Any]) -> None:
    for key in _RUNTIME_KEYS:
        value = runtime.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            message = f"runtime.{key}: expected a whole number >= 1, found {shorten(repr(value))}"
            tree.problem(("runtime", key), message)
            runtime.pop(key)


_ADAPTER: Final = "app_adapter"
_KEYS_OF = {
    "http": {"endpoint": "url", "method": "method", "timeout_seconds": "timeout_s"},
    "python": {"callable": "use", "static_kwargs": "options", "timeout_seconds": "timeout_s"},
}
_READ = ("type", "request_template", "static_kwargs", "response_mapping")
_PATHS = ("answer", "contexts")
_PLACE = re.compile(r"\{[A-Za-z_]\w*(?:\.[^{}]+)?\}")


def translate_adapter(tree: YamlTree) -> list[str]:
    """Rewrite ``app_adapter`` into ``target``; return a warning for each key without a place."""
    problem = _problem_of(tree)
    if problem is not None:
        tree.problems.append(problem)
        tree.data.pop(_ADAPTER, None)
        return []
    adapter = tree.data[_ADAPTER]
    kind = adapter["type"]
    for key in [key for key, value in adapter.items() if value is None]:
        del adapter[key]
    needed = "endpoint" if kind == "http" else "callable"
    if not adapter.get(needed):
        tree.problem((_ADAPTER,), f"app_adapter.{needed}: required, and missing")
    if kind == "http":
        _translate_request(tree, adapter)
    _put(tree, (_ADAPTER, "type"), "type", kind)
    for old, new in _KEYS_OF[kind].items():
        if old in adapter:
            _put(tree, (_ADAPTER, old), new, adapter[old])
    return _finish(tree, adapter, kind)


def _problem_of(tree: YamlTree) -> Problem | None:
    """Return why the adapter cannot become a target, if so."""
    adapter = tree.data.get(_ADAPTER)
    if not isinstance(adapter, dict):
        place = _ADAPTER if (_ADAPTER,) in tree.lines else "mode"
        message = "mode: online needs 'app_adapter' (or a 'target'), the system that is asked"
        return Problem(tree.where((place,)), message)
    kind = adapter.get("type")
    if not isinstance(kind, str) or kind not in _KEYS_OF:
        found = "missing" if kind is None else f"found {shorten(repr(kind))}"
        message = f"app_adapter.type: expected 'http' or 'python', {found}"
        return Problem(tree.where((_ADAPTER, "type")), message)
    if not isinstance(tree.data.get("target"), dict | None):
        message = "app_adapter and target say the same; keep one of them"
        return Problem(tree.where((_ADAPTER,)), message)
    return None


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
    known = {*_KEYS_OF[kind], *(_READ if kind == "http" else ("type",))}
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
