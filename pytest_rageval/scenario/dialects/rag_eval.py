"""rag_eval's base scenario: ``scenario_name, mode, judge_model, runtime.*`` become our keys."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pytest_rageval.errors import Problem, shorten
from pytest_rageval.scenario.dialects.rag_eval_online import translate_adapter
from pytest_rageval.scenario.overrides import widen_dataset
from pytest_rageval.scenario.yaml_tree import YamlPath, YamlTree

_MOVES: tuple[tuple[YamlPath, YamlPath], ...] = (
    (("scenario_name",), ("name",)),
    (("judge_model",), ("judge", "model")),
    (("embedding_model",), ("embedding", "model")),
)
_WITHOUT_EFFECT = {
    "batch_size": "calls to a judge are limited by judge.concurrency alone",
    "app_concurrency": "no system is asked for answers",
    "metric_concurrency": "no judge is named",
}
_RUNTIME_KEYS = ("batch_size", "app_concurrency", "metric_concurrency", "max_samples")


def translate(tree: YamlTree, given: Collection[YamlPath] = ()) -> list[str]:
    """Rewrite rag_eval's keys in ``tree`` and return a warning for each without a counterpart.

    A tree without such keys is left as it is. ``given`` are the paths of ours at
    which the command line says something afterwards. What is wrong goes to the tree's problems.
    """
    if not isinstance(tree.data, dict):
        return []
    for old, new in _MOVES:
        if tree.has(old) and _is_said(tree, new):
            message = f"{old[0]} and {new[0]} say the same; keep one of them"
            tree.problems.append(Problem(tree.where(old), message))
            tree.data.pop(old[0])
        elif tree.has(old):
            tree.move(old, new)
    return [*_translate_mode(tree, given), *_translate_runtime(tree)]


def _is_said(tree: YamlTree, path: YamlPath) -> bool:
    """Return whether our key says it already: a ``judge`` without a model says the rest alone."""
    said = tree.data.get(path[0], {})
    if len(path) == 1 or not isinstance(said, dict):
        return path[0] in tree.data
    return bool({path[1], "profile"} & said.keys())


def _translate_mode(tree: YamlTree, given: Collection[YamlPath]) -> list[str]:
    """Make a target of the adapter of ``mode: online``; return what of it has no counterpart."""
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
        tree.problems.append(
            Problem(tree.where(("mode",)), f"mode: expected 'offline' or 'online', {found}")
        )
    elif adapter is not None:
        message = "app_adapter: has no place in mode 'offline', where the data holds the answers"
        tree.problems.append(Problem(tree.where(("app_adapter",)), message))
    elif mode == "offline" and target is not None:
        message = "mode: 'offline' asks nobody, and a target stands there; keep one of them"
        tree.problems.append(Problem(tree.where(("mode",)), message))
    return []


def _translate_runtime(tree: YamlTree) -> list[str]:
    runtime = tree.data.get("runtime")
    if runtime is None:
        tree.data.pop("runtime", None)
        return []
    if not isinstance(runtime, dict):
        return []  # left in place: validation reports it as the unknown key that it then is
    for key in [key for key, value in runtime.items() if value is None]:
        del runtime[key]
    _check_runtime(tree, runtime)
    if "metric_concurrency" in runtime and isinstance(tree.data.get("judge"), dict):
        tree.move(("runtime", "metric_concurrency"), ("judge", "concurrency"))
    if "app_concurrency" in runtime and isinstance(tree.data.get("target"), dict):
        tree.move(("runtime", "app_concurrency"), ("target", "concurrency"))
    warnings = [
        f"runtime.{key} has no effect: {reason}"
        for key, reason in _WITHOUT_EFFECT.items()
        if key in runtime
    ]
    if "max_samples" in runtime:
        widen_dataset(tree)
        tree.move(("runtime", "max_samples"), ("dataset", "limit"))
    if all(key in _RUNTIME_KEYS for key in runtime):
        del tree.data["runtime"]
    return warnings


def _check_runtime(tree: YamlTree, runtime: dict[str, Any]) -> None:
    for key in _RUNTIME_KEYS:
        value = runtime.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            message = f"runtime.{key}: expected a whole number >= 1, found {shorten(repr(value))}"
            tree.problems.append(Problem(tree.where(("runtime", key)), message))
            runtime.pop(key)
