"""UltraRAG's parameter files, and TREC files at the top of a scenario, become our keys."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.scenario.data_specs import ALIASES
from pytest_rageval.scenario.fields import GRADE, KEY_OF
from pytest_rageval.scenario.short_forms import expand_short_forms
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, dotted

_SERVERS = (
    *("corpus", "custom", "generation", "memory", "prompt", "reranker", "retriever", "router"),
    *("sayhello",),
)
_BENCHMARK_KEYS = ("path", "key_map", "shuffle", "seed", "limit")
_ANSWER_METRICS = ("acc", "f1", "em", "coverem", "stringem", "rouge-1", "rouge-2", "rouge-l")
_TREC_KEYS = ("qrels_path", "run_path", "ks", "ir_metrics", "run_new_path", "run_old_path")
_DATASET_KEYS_AT_TOP = ("qrels_path", "run_path", "queries_path", "missing_queries")
OF_RUNS = ("mrr", "map", "recall", "ndcg", "precision")
KS = (1, 5, 10, 20, 50, 100)
_KEYS_OF_A_KEY_MAP = (*KEY_OF, GRADE, ALIASES)
# Measures of the whole ranking: they get none of UltraRAG's cutoffs.
_WITHOUT_CUTOFF = ("mrr", "map", "rprec", "bpref", "infap", "rbp")


def translate(tree: YamlTree) -> list[str]:
    """Rewrite UltraRAG's keys in ``tree``; return a warning for each without a counterpart."""
    data = tree.data
    if not _is_ultrarag(tree):
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
    # A key with the mapping's own name comes last: it takes the mapping's place.
    keys = sorted(tree.at(old), key=lambda key: bool(key == old[-1]))
    for key in keys:
        if key == old[-1]:
            tree.move((*old, key), (*new, key))
        else:
            _move_one(tree, (*old, key), (*new, key))
    if old[-1] not in keys:
        tree.at(new).pop(old[-1])


def _move_one(tree: YamlTree, old: YamlPath, new: YamlPath) -> None:
    """Move the value at ``old``; note a problem where there is one at ``new`` already.

    No problem if that is null, or if an override set the value at ``old``.
    """
    if tree.has(new) and tree.at(new) is not None and not tree.is_overridden(old):
        places = sorted((_place(old[:-1]), _place(new[:-1])))
        tree.problem(old, f"{old[-1]}: is given {' and '.join(places)}; keep one of them")
    tree.move(old, new)


def _place(path: YamlPath) -> str:
    return f"under {dotted(path)}" if path else "at the top"


def _fill_in_metrics(tree: YamlTree) -> None:
    """Name all metrics where ``metrics`` is absent or null, which means all of them to UltraRAG."""
    if tree.data.get("metrics") is None:
        tree.data.pop("metrics", None)
        of_data = tree.data.get("dataset")
        files = of_data.get("qrels_path") if isinstance(of_data, dict) else None
        if tree.has(("qrels_path",)) or tree.has(("run_path",)) or files is not None:
            tree.data.setdefault("ir_metrics", None)
        elif "ir_metrics" not in tree.data:
            tree.data["metrics"] = list(_ANSWER_METRICS)


def _choose_task(tree: YamlTree) -> list[str]:
    """Keep the parameters of the task that has data: UltraRAG's file has those of all tasks."""
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
    """Make ``dataset`` and ``name`` of the section ``benchmark``; return warnings."""
    expand_short_forms(tree, ("dataset", "path"))
    for key in _BENCHMARK_KEYS:
        if tree.has(("benchmark", key)):
            _move_one(tree, ("benchmark", key), ("dataset", key))
    if tree.has(("benchmark", "name")) and not tree.has(("name",)):
        tree.move(("benchmark", "name"), ("name",))
    rest = tree.data.pop("benchmark")
    rest.pop("name", None)
    unknown = [f"benchmark.{key}: has no counterpart here" for key in rest]
    return unknown + _leave_names_out(tree)


def _leave_names_out(tree: YamlTree) -> list[str]:
    """Take out of the ``key_map`` what no ``key_map`` here may have; return a warning for each."""
    key_map = tree.data["dataset"].get("key_map") if tree.has(("dataset", "key_map")) else None
    if not isinstance(key_map, dict):
        return []
    others = [name for name in key_map if name not in _KEYS_OF_A_KEY_MAP]
    for name in others:
        del key_map[name]
    return [
        f"benchmark.key_map.{name}: is no field here; the column stays metadata."
        f"{did_you_mean(name, _KEYS_OF_A_KEY_MAP)}"
        for name in others
    ]


def _translate_runs(tree: YamlTree) -> list[str]:
    """Have the newer run evaluated, and compared with the older one; return warnings."""
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
    tree.data.pop("n_resamples", None)  # UltraRAG's files have it also where nothing is compared
    return warnings


def translate_retrieval(tree: YamlTree) -> None:
    """Move TREC files and ``ir_metrics`` from the top of ``tree`` to where our keys have them.

    What is wrong goes to the tree's problems.
    """
    for key in _DATASET_KEYS_AT_TOP:
        if tree.has((key,)):
            expand_short_forms(tree, ("dataset", "path"))
            _move_one(tree, (key,), ("dataset", key))
    if "ir_metrics" in tree.data or "ks" in tree.data:
        _translate_metrics(tree)


def _translate_metrics(tree: YamlTree) -> None:
    """Append to ``metrics`` what ``ir_metrics`` and ``ks`` name; null means all of UltraRAG's."""
    names = _listed(tree, "ir_metrics", OF_RUNS if "ir_metrics" in tree.data else ())
    ks = _listed(tree, "ks", KS)
    if "ks" in tree.data and "ir_metrics" not in tree.data:
        message = "ks: needs 'ir_metrics', to which it gives cutoffs"
        tree.problem(("ks",), message)
    if not ks:
        tree.problem(("ks",), "ks: must not be empty")
    sound = [k for at, k in enumerate(ks) if _is_cutoff(tree, at, k)]
    metrics = tree.data.setdefault("metrics", [])
    if isinstance(metrics, list):
        for at, name in enumerate(names):
            line = tree.lines.get(("ir_metrics", at), tree.lines.get(("ir_metrics",)))
            for metric in _with_cutoffs(name, sound):
                if line is not None:
                    tree.lines["metrics", len(metrics)] = line
                tree.note_move(("ir_metrics", at), ("metrics", len(metrics)))
                metrics.append(metric)
    for key in ("ir_metrics", "ks"):
        tree.data.pop(key, None)


def _listed(tree: YamlTree, key: str, default: tuple[Any, ...]) -> list[Any]:
    found = tree.data.get(key)
    if found is None:
        return list(default)
    return list(found) if isinstance(found, list) else [found]  # a copy: YAML may name it twice


def _is_cutoff(tree: YamlTree, at: int, k: Any) -> bool:
    if isinstance(k, int) and not isinstance(k, bool) and k >= 1:
        return True
    message = f"ks[{at}]: expected a whole number >= 1, found {shorten(repr(k))}"
    tree.problem(("ks", at), message)
    return False


def _with_cutoffs(name: Any, ks: list[int]) -> list[Any]:
    if not isinstance(name, str) or "@" in name:
        return [name]
    plain = name.strip().lower()
    return [plain] if plain in _WITHOUT_CUTOFF else [f"{plain}@{k}" for k in dict.fromkeys(ks)]
