"""M6, E14: what the schema calls valid is what the loader takes, on scenarios made from both.

Each key of the schema gets values of every type, those at and beside its bounds, its words and
misspelt ones; each mapping an unknown key, and lacks one of its keys. Where the two differ, one of
the reasons below says why they must.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError

from pytest_rageval.engine.editor_schema import editor_schema
from pytest_rageval.engine.planning.bind_keys import find_problems
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.loader import inspect_tree, parse_scenario
from pytest_rageval.targets.base import TARGET_REGISTRY

SCHEMA = editor_schema()
BASE: dict[str, Any] = {"name": "s", "dataset": "rows.jsonl", "metrics": ["em", "f1"]}
TREC: dict[str, Any] = {"name": "s", "qrels_path": "q", "run_path": "r", "metrics": ["map"]}
CONTEXT = {"thresholds": {"f1": 0.5}, "human": {"file": "l.csv", "of": "f1"}, "compare": "main"}
VARIANTS = {"variants": {"a": None, "b": {"top_k": 3}}}

NEEDED: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("qrels_path", "run_path", "missing_queries", "queries_path"), TREC),
    "scenario_name": {"dataset": "rows.jsonl", "metrics": ["em"]},
    "best": VARIANTS,
    "tolerate": {"gates": {"pass_rate": 0.5}, "thresholds": {"f1": 0.5}},
    "stop": {"gates": {"f1": 0.5}},
    "ks": {"ir_metrics": ["recall"]},
    "mode": {"target": "my_app:answer"},
}
"""What a scenario with a key needs besides; BASE where nothing is said."""

SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "dataset": {"path": "rows.jsonl"},
    "answers": {"path": "a.jsonl"},
    "corpus": {"path": "c.jsonl"},
    "compare": {"baseline": "main"},
    "bands": {},
    "judge": {"model": "m"},
    "embedding": {"model": "m"},
    "human": {"file": "l.csv", "of": "f1"},
    "diagnose": {},
    "best": {},
    "runtime": {},
    "target": {"use": "my_app:answer"},
}
"""The least that a mapping says."""

BESIDE: Mapping[str, Mapping[str, Any]] = {
    "gates.f1.lower_bound": {"min": 0.1},
    "gates.f1.mean": {"min": 0.1},
    "gates.f1": {"min": 0.1},
    "gates.f1.quantile": {"q": 0.5, "min": 0.1},
}
"""The least that a gate says besides one of its keys."""

ANYTHING = [None, True, False, 0, 1, -1, 2, 0.5, 1.5, "", "word", "0.5", "5", [], ["word"], {}]
ANYTHING += [{"word": 1}]

ONLY_THE_LOADER: Mapping[str, str] = {
    "unknown metric": "names may be a plugin's or the user's own",
    "unknown gate": "names of metrics have gates",
    "unknown option 'word'": "metric_options are those of all metrics",
    "unknown check": "the same check may be a metric's name in another gate",
    "unknown field": "columns are the data's",
    "unknown variant": "names are those under 'variants'",
    "unknown profile": "names are those under 'models'",
    "unknown text encoding": "names are Python's",
    "unknown language": "names are known in part",
    "write 'rows'": "paths of rows",
    "outside the range": "the range of a metric, which its options may change",
    "can never be exceeded": "the range of a metric",
    "quantile.word: expected a number between": "a number as a key is text",
    "needs labels of people": "the metric of 'human'",
    "needs 'app_adapter'": "another key",
    "used only with 'mode: online'": "another key",
    "asks no target": "another key",
    "is given at the top": "another key",
    "is for 'qrels_path'": "another key",
    "give either": "two keys exclude each other",
    "go together": "another key",
    "is below 'warn'": "two numbers",
    "is above max": "two numbers",
    "has no cutoff": "names of metrics with a cutoff",
    "the placeholders": "they may be in any order",
    "ndcg.gains": "keys that are numbers are text",
}
"""What the loader says of scenarios that the schema calls valid, and why the schema cannot know."""

ONLY_THE_SCHEMA: Mapping[tuple[str, str], str] = {
    ("variants", "null"): "an empty list or false has always meant none",
    ("variants", "false"): "an empty list or false has always meant none",
    ("variants", "0"): "an empty list or false has always meant none",
    ("variants", '""'): "an empty list or false has always meant none",
    ("variants", "[]"): "an empty list or false has always meant none",
    ("dataset", '["word"]'): "rows are data: each is an invalid row",
    ("dataset.qrels_path", "null"): "goes together with run_path",
    ("dataset.run_path", "null"): "goes together with qrels_path",
    **{
        (f"{metric}.threshold", flag): "true has always been read as 1"
        for metric in ("non_llm_context_recall", "semantic_similarity")
        for flag in ("true", "false")
    },
}
"""What the schema refuses although the loader takes it."""


class Made(NamedTuple):
    """A scenario that was made, and what of it is of interest."""

    key: str
    value: Any
    scenario: Mapping[str, Any]

    @property
    def is_number_as_text(self) -> bool:
        """Whether it is a number in quotes: JSON Schema cannot bound it."""
        return isinstance(self.value, str) and self.value.replace(".", "").isdigit()


def resolved(node: Any) -> dict[str, Any]:
    """Return a part of the schema without references at its top."""
    while "$ref" in node:
        rest = {key: part for key, part in node.items() if key != "$ref"}
        node = {**SCHEMA["$defs"][node["$ref"].rpartition("/")[2]], **rest}
    return dict(node)


def forms(node: Any) -> Iterator[dict[str, Any]]:
    """Yield a part of the schema and its alternatives."""
    node = resolved(node)
    yield node
    for one in node.get("anyOf", ()):
        yield from forms(one)


def keys(node: Any) -> dict[str, Any]:
    """Return the keys that a mapping may have, in any of its forms."""
    found = [pair for form in forms(node) for pair in form.get("properties", {}).items()]
    return {key: part for key, part in found if part is not False}


def values(node: Any) -> Iterator[Any]:
    """Yield values of every type; those at and beside the bounds; the words, and misspelt ones."""
    yield from ANYTHING
    for form in forms(node):
        for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if bound in form:
                yield from (form[bound] + step for step in (0, -1, 1, 0.001, -0.001))
        for word in [*form.get("enum", ()), *([form["const"]] if "const" in form else ())]:
            yield from (word, word[:-1]) if isinstance(word, str) else (word,)


def made() -> Iterator[Made]:
    """Yield scenarios, some thousand."""
    yield from made_keys()
    yield from made_sections()
    yield from made_metrics()
    yield from made_gates()
    for key in BASE:
        yield Made(f"without {key}", None, {name: BASE[name] for name in BASE if name != key})
    yield Made("tpyo", 1, {**BASE, "tpyo": 1})


def made_keys() -> Iterator[Made]:
    """Yield scenarios with a value of each key, and of what stands under a name."""
    for key, node in SCHEMA["properties"].items():
        around = NEEDED.get(key, {})
        whole = around if around.get("metrics") else {**BASE, **around}
        for value in values(node):
            yield Made(key, value, {**whole, key: value})
    for place, least in (("thresholds.f1", {"min": 0.1}), ("models.p", {})):
        node = SCHEMA["properties"][place.partition(".")[0]]["additionalProperties"]
        for value in values(node):
            yield Made(place, value, at(place, value))
        for key, part in keys(node).items():
            for value in values(part):
                yield Made(f"{place}.{key}", value, at(place, {**least, key: value}))


def made_sections() -> Iterator[Made]:
    """Yield scenarios with a value of each key of a section, and without each that it needs."""
    for section, least in SECTIONS.items():
        whole = {**BASE, **NEEDED.get(section, {})}
        for key, node in keys(SCHEMA["properties"][section]).items():
            for value in values(node):
                yield Made(f"{section}.{key}", value, {**whole, section: {**least, key: value}})
        yield Made(f"{section}.tpyo", 1, {**whole, section: {**least, "tpyo": 1}})
        for key in least:
            rest = {other: value for other, value in least.items() if other != key}
            yield Made(f"{section} without {key}", rest, {**whole, section: rest})


def made_metrics() -> Iterator[Made]:
    """Yield scenarios with one option of a metric each; for each set of options once."""
    named = SCHEMA["$defs"]["MetricSpec"]["anyOf"][1]["properties"]
    for definition in {one.options: one for one in METRIC_REGISTRY if not one.info.extra}.values():
        for key, node in keys(named[definition.name]).items():
            for value in values(node):
                metric = {definition.name: {key: value}}
                yield Made(f"{definition.name}.{key}", value, {**BASE, "metrics": [metric]})


def made_gates() -> Iterator[Made]:
    """Yield scenarios with one gate each."""
    gates = resolved(SCHEMA["properties"]["gates"])["properties"]
    checks = keys(gates["f1"])
    metrics = SCHEMA["properties"]["metric_weights"]["properties"].keys()
    scenario_gates = {name: gates[name] for name in gates if name not in metrics and name != "by"}
    places = {f"gates.{name}": node for name, node in scenario_gates.items()}
    places |= {"gates.f1": gates["f1"]} | {f"gates.f1.{name}": checks[name] for name in checks}
    for place, node in places.items():
        for value in values(node):
            yield Made(place, value, at(place, value))
        inner = {name: part for name, part in keys(node).items() if name not in (*metrics, *checks)}
        for key, part in inner.items():
            for value in values(part):
                least = (
                    BESIDE.get(place, {})
                    if key not in ("min", "max") or "quantile" in place
                    else {}
                )
                yield Made(f"{place}.{key}", value, at(place, {**least, key: value}))
        yield Made(f"{place}.tpyo", 1, at(place, {**BESIDE.get(place, {}), "tpyo": 1}))


def at(place: str, value: Any) -> dict[str, Any]:
    """Return a scenario with ``value`` at a dotted place."""
    first, *rest = place.split(".")
    inner = value
    for key in reversed(rest):
        inner = {key: inner}
    return {**BASE, **CONTEXT, first: inner}


def problems_of(scenario: Mapping[str, Any]) -> list[str]:
    """Return what the loader says, but for what needs data; of a target's options, too."""
    path = Path("s.json")
    try:
        text = json.dumps(scenario)
        found = [str(one) for one in find_problems(parse_scenario(text, path, "s.json"), path)]
        target = inspect_tree(parse_scenario(text, path, "s.json"), path)[0].scenario.target
        if target is not None and not found:
            TARGET_REGISTRY.get(target.type).options.model_validate(target.options)
    except (ScenarioError, ValidationError, UnknownNameError) as error:
        return [str(error)]
    return found


@pytest.mark.full
@pytest.mark.parametrize("step", [15, 1])
def test_the_schema_agrees_with_the_loader(step: int) -> None:
    """M6: at least on 200 scenarios, and on all of them before a release."""
    pytest.importorskip("jieba")
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    chosen = list(made())[::step]
    verdicts, differing = list[bool](), list[str]()
    for one in chosen:
        is_valid, problems = validator.is_valid(one.scenario), problems_of(one.scenario)
        verdicts.append(is_valid)
        if is_valid and problems:
            known = one.is_number_as_text or any(part in problems[0] for part in ONLY_THE_LOADER)
        else:
            known = (one.key, json.dumps(one.value)) in ONLY_THE_SCHEMA
        if is_valid is bool(problems) and not known:
            differing.append(f"{one.key}: {one.value!r}: {(problems or ['taken'])[0][:120]}")
    assert not differing, "\n".join(differing)
    assert len(verdicts) > 400
    assert min(verdicts.count(True), verdicts.count(False)) > 80


LAID_OVER: Mapping[str, Any] = {
    "gates": {"f1": {"mean": 0.5, "lower_bound": 0.3}, "by": {"doc_name": {"f1": 0.5, "em": 0.3}}},
    "thresholds": {"f1": 0.5},
    "metric_weights": {"f1": 0.5},
    "doc_weights": {"a.pdf": 2},
    "judge": {"model": "m", "headers": {"A": "b"}},
    "models": {"cheap": {"model": "g"}},
    "bands": {"good": 0.7},
    "compare": "main",
}
"""Values that a variant takes away."""

TAKEN: Mapping[str, Mapping[str, Any]] = {
    "a target that is a profile": {"models": {"cheap": {"model": "g"}}, "target": "cheap"},
    "rag_eval's key beside the judge's others": {
        "judge_model": "m",
        "judge": {"temperature": 0.2},
        "embedding_model": "e",
        "embedding": {"batch_size": 8},
    },
    **{
        f"null in a variant: {taken}": {**LAID_OVER, "variants": {"a": taken}}
        for taken in (
            {"gates": {"f1": None}},
            {"gates": {"f1": {"mean": None}}},
            {"gates": {"by": {"doc_name": {"f1": None}}}},
            {"gates": {"by": None}},
            {"gates": None, "bands": {"good": None}, "compare": None},
            {"thresholds": {"f1": None}, "metric_weights": {"f1": None}},
            {"doc_weights": {"a.pdf": None}, "dataset": {"limit": None, "on_invalid": None}},
            {"judge": {"headers": {"A": None}}},
            {"judge": {"model": None, "profile": "cheap"}},
        )
    },
}
"""Parts of scenarios that documented rules allow."""

REFUSED: Mapping[str, Mapping[str, Any]] = {
    "a judge without a model": {"judge": {"temperature": 0.2}},
    "the other role's key": {"embedding_model": "e", "judge": {"temperature": 0.2}},
    "a variant without metrics": {"variants": {"a": {"metrics": None}}},
    "a gate that says nothing": {"gates": {"f1": None}},
}


@pytest.mark.parametrize("part", TAKEN.values(), ids=TAKEN)
def test_what_the_loader_takes_has_no_mark_in_an_editor(part: Mapping[str, Any]) -> None:
    """M6: texts that name a profile, keys of two systems side by side, and null in a variant."""
    jsonschema = pytest.importorskip("jsonschema")
    scenario = {**BASE, **part}
    assert problems_of(scenario) == []
    jsonschema.Draft202012Validator(SCHEMA).validate(scenario)


@pytest.mark.parametrize("part", REFUSED.values(), ids=REFUSED)
def test_what_the_loader_refuses_beside_them_has_one(part: Mapping[str, Any]) -> None:
    """M6: the same places, where the loader does refuse."""
    jsonschema = pytest.importorskip("jsonschema")
    scenario = {**BASE, **part}
    assert problems_of(scenario)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(scenario)
