"""UltraRAG's parameter files: ``benchmark:`` and ``evaluation:`` become our keys.

Both forms are read: that of one server (``benchmark: {path: ...}``) and that of a whole pipeline
(``benchmark: {benchmark: {path: ...}}``, next to the sections of all other servers).
"""

from __future__ import annotations

from pathlib import PurePath

from pytest_rageval.errors import did_you_mean
from pytest_rageval.scenario.fields import FIELD_OF
from pytest_rageval.scenario.short_forms import widen
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree

_SERVERS = (
    "corpus",
    "custom",
    "generation",
    "memory",
    "prompt",
    "reranker",
    "retriever",
    "router",
    "sayhello",
)
_DATASET_KEYS = ("path", "key_map", "shuffle", "seed", "limit")
_METRICS = ("acc", "f1", "em", "coverem", "stringem", "rouge-1", "rouge-2", "rouge-l")
_TREC_KEYS = ("qrels_path", "run_path", "ks", "ir_metrics", "run_new_path", "run_old_path")


def translate(tree: YamlTree) -> list[str]:
    """Rewrite UltraRAG's keys in ``tree``; return a warning for each without a counterpart."""
    data = tree.data
    if not isinstance(data, dict) or not _is_ultrarag(tree):
        return []
    for server in ("benchmark", "evaluation"):
        if isinstance(data.get(server), dict) and isinstance(data[server].get(server), dict):
            _lift(tree, (server, server), (server,))
    warnings = _choose_task(tree)
    if isinstance(data.get("benchmark"), dict):
        warnings += _translate_benchmark(tree)
    if isinstance(data.get("evaluation"), dict):
        _lift(tree, ("evaluation",), ())
    warnings += _translate_runs(tree)
    _fill_in_metrics(tree)
    if not tree.has(("name",)):
        data["name"] = PurePath(tree.source).name.partition(".")[0] or "ultrarag"
    for server in [key for key in data if key in _SERVERS and isinstance(data[key], dict)]:
        del data[server]
        warnings.append(f"{server}: parameters of UltraRAG's server are not used by an evaluation")
    return warnings


def _is_ultrarag(tree: YamlTree) -> bool:
    sections = any(isinstance(tree.data.get(key), dict) for key in ("benchmark", "evaluation"))
    return sections or tree.has(("run_new_path",)) or tree.has(("run_old_path",))


def _lift(tree: YamlTree, old: YamlPath, new: YamlPath) -> None:
    """Move every key of the mapping at ``old`` to the mapping at ``new``, which holds it."""
    # One of the same name takes the place of the mapping itself.
    keys = sorted(tree.at(old), key=lambda key: bool(key == old[-1]))
    for key in keys:
        tree.move((*old, key), (*new, key))
    if old[-1] not in keys:
        tree.at(new).pop(old[-1])


def _fill_in_metrics(tree: YamlTree) -> None:
    """Name all of UltraRAG's metrics where it would take them all: none is named, or null."""
    if tree.data.get("metrics") is None:
        tree.data.pop("metrics", None)
        if tree.has(("qrels_path",)) or tree.has(("run_path",)):
            tree.data.setdefault("ir_metrics", None)
        elif "ir_metrics" not in tree.data:
            tree.data["metrics"] = list(_METRICS)


def _choose_task(tree: YamlTree) -> list[str]:
    """Keep the parameters of the task that has data: UltraRAG's file holds those of all tasks."""
    data = tree.data
    evaluation: YamlPath = ("evaluation",) if isinstance(data.get("evaluation"), dict) else ()
    section = data["evaluation"] if evaluation else data
    if isinstance(data.get("benchmark"), dict):
        unused = [key for key in (*_TREC_KEYS, "n_resamples") if key in section]
        reason = "the data are those of 'benchmark'; write a scenario with 'qrels_path' for them"
    elif any(key in section for key in ("qrels_path", "run_path", "run_new_path")):
        unused = ["metrics"] if section.get("metrics") and "ir_metrics" in section else []
        reason = "the data are TREC files, which hold no answers"
    else:
        return []
    for key in unused:
        del section[key]
    return [f"{', '.join(unused)}: not used, for {reason}"] if unused else []


def _translate_benchmark(tree: YamlTree) -> list[str]:
    widen(tree, ("dataset", "path"))
    for key in _DATASET_KEYS:
        if tree.has(("benchmark", key)):
            tree.move(("benchmark", key), ("dataset", key))
    if tree.has(("benchmark", "name")) and not tree.has(("name",)):
        tree.move(("benchmark", "name"), ("name",))
    rest = tree.data.pop("benchmark")
    rest.pop("name", None)
    unknown = [f"benchmark.{key}: has no counterpart here" for key in rest]
    return unknown + _leave_names_out(tree)


def _leave_names_out(tree: YamlTree) -> list[str]:
    """Take names that are no field of ours out of the ``key_map``: UltraRAG takes any."""
    key_map = tree.data["dataset"].get("key_map") if tree.has(("dataset", "key_map")) else None
    if not isinstance(key_map, dict):
        return []
    others = [name for name in key_map if name not in FIELD_OF]
    for name in others:
        del key_map[name]
    return [
        f"benchmark.key_map.{name}: is no field here; the column stays metadata."
        f"{did_you_mean(name, FIELD_OF)}"
        for name in others
    ]


def _translate_runs(tree: YamlTree) -> list[str]:
    """The newer run is the one to evaluate, the older one what it is compared with."""
    warnings: list[str] = []
    if tree.has(("run_new_path",)):
        if not tree.has(("run_path",)):
            tree.move(("run_new_path",), ("run_path",))
        elif tree.data["run_path"] != tree.data["run_new_path"]:
            warnings.append("run_new_path: is another file than run_path, which is evaluated")
        tree.data.pop("run_new_path", None)
    if tree.has(("run_old_path",)) and not isinstance(tree.data.get("compare"), dict | None):
        message = "compare: give either 'baseline' or 'run_old_path'"
        tree.problem(("run_old_path",), message)
        del tree.data["run_old_path"]
    for key in ("run_old_path", "n_resamples"):
        if tree.has((key,)) and (
            key == "run_old_path" or isinstance(tree.data.get("compare"), dict)
        ):
            tree.move((key,), ("compare", key))
    tree.data.pop("n_resamples", None)
    return warnings
