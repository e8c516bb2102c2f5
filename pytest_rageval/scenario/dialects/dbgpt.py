"""DB-GPT's evaluation requests: ``scene_key, evaluate_metrics, datasets`` become our keys.

A request is read as JSON or as YAML. It may also have our own keys: a ``judge``, a
``corpus``, thresholds; or a ``target``, without which no space or app of a running DB-GPT is asked.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.short_forms import expand_short_forms
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree
from pytest_rageval.text.json_value import json_kind

_SCENES = {"recall": "space", "app": "app"}
# The keys that an override may give the rows by.
_GIVES_ROWS: Final = {
    ("dataset",),
    ("dataset", "path"),
    ("dataset", "rows"),
    ("dataset", "qrels_path"),
}
_ACCOUNT = (
    *("user_name", "user_id", "sys_code", "state", "result", "storage_type", "average_score"),
    *("log_info", "gmt_create", "gmt_modified"),
)
# What a scene compares: our field, the column of a row that holds it, and its other names.
_COLUMNS = {
    "recall": (
        ("contexts", "prediction", ("retrieved_contexts",)),
        ("reference_contexts", "contexts", ("reference_contexts", "factual")),
    ),
    "app": (
        ("answer", "prediction", ("answer", "response", "pred_answer")),
        ("contexts", "factual", ("contexts", "retrieved_contexts")),
    ),
}


def translate(tree: YamlTree, given: Collection[YamlPath] = ()) -> list[str]:
    """Rewrite a request in ``tree``; return warnings that name the keys without a counterpart.

    A tree that is no request is left as it is. ``given`` are the paths of our keys that
    overrides set afterwards. What is wrong goes to the tree's problems, as the cause of what our
    own checks find later.
    """
    data = tree.data
    if not (tree.has(("scene_key",)) or _METRICS in data):
        return []
    for key in [key for key in FIELDS if data.get(key, "") is None]:
        del data[key]
    scene = _scene(tree)
    data.setdefault("empty_answer", None)  # its metrics decide, as in DB-GPT
    warnings = _translate_account(tree)
    if scene == "recall" and not tree.has(("match",)):
        data["match"] = "exact"  # as DB-GPT compares
    _move(tree, _METRICS, ("metrics",))
    _translate_data(tree, scene, given)
    warnings += _translate_context(tree, scene)
    warnings += _translate_scene_value(tree, scene)
    return warnings + _translate_parallel_num(tree)


_METRICS = "evaluate_metrics"
FIELDS = (
    *_ACCOUNT,
    *(_METRICS, "evaluate_code", "scene_key", "scene_value", "datasets_name", "datasets"),
    *("context", "parallel_num"),
)
"""The fields of a request."""


def _scene(tree: YamlTree) -> str:
    """Return ``recall`` or ``app``; by the metrics where the request does not say it."""
    metrics = tree.data.get(_METRICS)
    names = metrics if isinstance(metrics, list) else []
    retriever = bool(names) and all(str(name).startswith("Retriever") for name in names)
    guess = "recall" if retriever else "app"
    scene = tree.data.pop("scene_key", guess)
    if isinstance(scene, str) and scene in _SCENES:
        return scene
    message = f"scene_key: expected 'recall' or 'app', found {shorten(repr(scene))}"
    tree.problem(("scene_key",), message, is_cause=True)
    return guess


def _move(tree: YamlTree, key: str, new: tuple[str, ...]) -> None:
    """Move a key of the request to ours, unless ours is given as well."""
    if not tree.has((key,)):
        return
    if tree.has(new):
        message = f"{key} and {'.'.join(new)} say the same; keep one of them"
        tree.problem((key,), message, is_cause=True)
        tree.data.pop(key)
    else:
        tree.move((key,), new)


def _translate_account(tree: YamlTree) -> list[str]:
    """Name the scenario, and drop what DB-GPT notes about an evaluation for itself."""
    code = tree.data.pop("evaluate_code", None)
    if not tree.has(("name",)):
        tree.data["name"] = code or PurePath(tree.source).name.partition(".")[0] or "dbgpt"
    dropped = [key for key in _ACCOUNT if key in tree.data]
    for key in dropped:
        del tree.data[key]
    reason = "not used: DB-GPT's own account of an evaluation"
    return [f"{', '.join(dropped)}: {reason}"] if dropped else []


def _translate_data(tree: YamlTree, scene: str, coming: Collection[YamlPath]) -> None:
    name, rows = tree.data.pop("datasets_name", None), tree.data.get("datasets")
    expand_short_forms(tree, ("dataset", "path"))
    own = tree.data.get("dataset")
    if own is not None:
        tree.data["dataset"] = {key: value for key, value in own.items() if value is not None}
    if rows is not None:
        _move(tree, "datasets", ("dataset", "path" if isinstance(rows, str) else "rows"))
    given = tree.data.get("dataset") or {}
    if not (given.keys() & {"path", "rows"} or _GIVES_ROWS & {*coming}):
        found = f", and {shorten(repr(name))} is one that DB-GPT keeps" if name else ""
        message = f"datasets: needs the rows, or the path of a file with them{found}"
        tree.problem(("datasets_name",), message, is_cause=True)
        tree.put(("dataset", "rows"), [])
    elif name and not tree.has(("description",)):
        tree.data["description"] = str(name)
    columns, own = _columns(tree, scene, coming), given.get("key_map") or {}
    if columns and isinstance(own, dict):  # validation reports what else it is
        tree.put(("dataset", "key_map"), {**columns, **own})
    field, column, _others = _COLUMNS[scene][1]
    tree.fallbacks[field] = column  # where only some rows have it by its own name


def _columns(tree: YamlTree, scene: str, coming: Collection[YamlPath]) -> dict[str, str]:
    """Return the columns of the rows that hold what this scene compares, by field."""
    dataset, keys = tree.data.get("dataset", {}), {path[0] for path in coming}
    is_answered = tree.has(("target",)) or "target" in keys
    rows = dataset.get("rows")
    (given, recorded, others), expected = _COLUMNS[scene]
    if not isinstance(rows, list):  # a file, which is not read here
        found = {} if is_answered else {given: recorded}
        needs_expected = scene == "recall" and not (tree.has(("corpus",)) or "corpus" in keys)
        return found | ({expected[0]: expected[1]} if needs_expected else {})
    present = {str(key) for row in rows if isinstance(row, dict) for key in row}
    found = {} if is_answered or recorded not in present else {given: recorded}
    if expected[1] in present and not present & set(expected[2]):
        found[expected[0]] = expected[1]
    replied = {given, *others} & (present - set(found.values()))
    is_answerless = any(isinstance(row, dict) for row in rows) and not replied
    if is_answerless and not (is_answered or given in found):
        message = (
            f"datasets: no row has a 'prediction', and the {_SCENES[scene]} of a running DB-GPT is "
            "not asked: add what it replied, or name whom to ask under 'target'"
        )
        tree.problem(("dataset", "rows"), message, is_cause=True)
    return found


def _translate_context(tree: YamlTree, scene: str) -> list[str]:
    """Take over ``top_k``, and the text of a ``prompt``; return a warning for each other key."""
    context = tree.data.pop("context", None) or {}
    if not isinstance(context, dict):
        message = f"context: expected a mapping, found {shorten(repr(context))}"
        tree.problem(("context",), message, is_cause=True)
        return []
    warnings = []
    for key, value in context.items():
        if value is None:
            continue
        if key == "top_k":
            _take_top_k(tree, value)
        elif key == "model" and scene == "app":
            reason = f"{_shown(value)} is the app's model, and judges nothing"
            tree.hints["judge"] = f"; context.model {reason}"
            warnings.append(f"context.model: {reason}; 'judge' says who does")
        elif key == "prompt" and scene == "app" and _take_prompt(tree, value):
            continue
        elif key == "prompt" and scene == "app":
            warnings.append(f"context.prompt: {_why_not_taken(tree, value)}")
        else:
            warnings.append(f"context.{key}: has no counterpart here")
    return warnings


def _take_top_k(tree: YamlTree, value: Any) -> None:
    """Take it over from the ``context``; another one beside it is a problem."""
    beside = tree.data.get("top_k", value)
    if str(beside) not in ("None", str(value)) and not tree.is_overridden(("context", "top_k")):
        message = "context.top_k and top_k say different things; keep one of them"
        tree.problem(("context", "top_k"), message, is_cause=True)
    tree.data["top_k"] = value


def _shown(value: Any) -> str:
    """Return a name in quotes; of another value, which may hold a key, only its kind."""
    return json_kind(value) if isinstance(value, dict | list) else shorten(repr(value))


_JUDGED: Final = "AnswerRelevancyMetric"
"""The metric that DB-GPT asks a model about an app's answer for."""


def _take_prompt(tree: YamlTree, prompt: Any) -> bool:
    """Give AnswerRelevancyMetric a prompt's text; return whether it took it.

    Not taken are the key of a prompt that DB-GPT keeps, and a text where the metric is not listed,
    or has options of its own.
    """
    metrics = tree.data.get("metrics")
    if not (_is_text(prompt) and isinstance(metrics, list)):
        return False
    tree.data["metrics"] = [
        {_JUDGED: {"prompt": prompt}} if metric == _JUDGED else metric for metric in metrics
    ]
    return _JUDGED in metrics


def _why_not_taken(tree: YamlTree, prompt: Any) -> str:
    """Return why a prompt is left out, and what to do."""
    if not _is_text(prompt):
        hint = f"give its text: '{_JUDGED}: {{prompt: ...}}' under 'metrics'"
        return f"a prompt that DB-GPT keeps; {hint}"
    metrics = tree.data.get("metrics")
    listed = metrics if isinstance(metrics, list) else []
    if any(isinstance(metric, dict) and _JUDGED in metric for metric in listed):
        return f"not taken: {_JUDGED} has options of its own under 'metrics'; its prompt goes there"
    return f"has no effect: {_JUDGED}, which it is for, is not under 'metrics'"


def _is_text(prompt: Any) -> bool:
    return isinstance(prompt, str) and "{" in prompt


def _translate_scene_value(tree: YamlTree, scene: str) -> list[str]:
    value = tree.data.pop("scene_value", None)
    if value is None:
        return []
    instead = "'target' is" if tree.has(("target",)) else "the rows hold what it replied"
    shown = f"the {_SCENES[scene]} {_shown(value)} of a running DB-GPT"
    return [f"scene_value: {shown} is not asked: {instead}"]


def _translate_parallel_num(tree: YamlTree) -> list[str]:
    """Allow as many calls at once, to the judge and the target, as DB-GPT has rows in work."""
    if not tree.has(("parallel_num",)):
        return []
    line = tree.lines.get(("parallel_num",))
    number = tree.data.pop("parallel_num")
    roles = [role for role in ("judge", "target") if isinstance(tree.data.get(role), str | dict)]
    for role in roles:
        expand_short_forms(tree, (role, "concurrency"))
        if "concurrency" not in tree.data[role]:
            tree.data[role]["concurrency"] = number
            if line is not None:
                tree.lines[role, "concurrency"] = line
    return [] if roles else ["parallel_num: has no effect: no 'judge' and no 'target' is asked"]
