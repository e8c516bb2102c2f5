"""Short forms of retrieval scenarios: TREC files at the top, and UltraRAG's ``ir_metrics, ks``."""

from __future__ import annotations

from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.short_forms import widen
from pytest_rageval.scenario.yaml.tree import YamlTree

_TREC_KEYS = ("qrels_path", "run_path", "missing_queries")
_DEFAULT_METRICS = ("mrr", "map", "recall", "ndcg", "precision")
_DEFAULT_KS = (1, 5, 10, 20, 50, 100)
# Measures of the whole ranking, which UltraRAG takes without a cutoff.
_WITHOUT_CUTOFF = ("mrr", "map", "rprec", "bpref")


def translate(tree: YamlTree) -> None:
    """Rewrite the short forms in ``tree``; what is wrong goes to the tree's problems."""
    if not isinstance(tree.data, dict):
        return
    for key in _TREC_KEYS:
        if tree.has((key,)):
            widen(tree, ("dataset", "path"))
            if tree.has(("dataset", key)) and tree.at(("dataset", key)) is not None:
                message = f"{key}: is given at the top and under dataset; keep one of them"
                tree.problem((key,), message)
                tree.data.pop(key)
            else:
                tree.move((key,), ("dataset", key))
    if "ir_metrics" in tree.data or "ks" in tree.data:
        _translate_metrics(tree)


def _translate_metrics(tree: YamlTree) -> None:
    """Append to ``metrics`` what ``ir_metrics`` and ``ks`` name; null means all of UltraRAG's."""
    names = _listed(tree, "ir_metrics", _DEFAULT_METRICS if "ir_metrics" in tree.data else ())
    ks = _listed(tree, "ks", _DEFAULT_KS)
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
