"""DB-GPT's evaluation requests, laid over a scenario of the project: what to run, on which rows.

A request has rows, names, numbers and a prompt. What could name a file or a module is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from pytest_rageval.datasets.cells import is_filled
from pytest_rageval.engine.planning.binding import metric_name
from pytest_rageval.errors import listed, shorten, unknown_name
from pytest_rageval.metrics.base import (
    METRIC_REGISTRY,
    MetricDefinition,
    NotationError,
    parse_notation,
)
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.dialects import dbgpt
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.in_memory import scenario_data
from pytest_rageval.scenario.model_specs import MetricSpec
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml.tree import YamlTree, refuse_depth
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.text.json_value import json_kind

_USED: Final = ("scene_key", "evaluate_metrics", "datasets", "context", "parallel_num")
_CONTEXT: Final = ("top_k", "model", "prompt", "llm_model")
_MOST_CONCURRENT: Final = 1024
_LONGEST_PROMPT: Final = 20_000
_LISTED: Final = 10
# A name as metrics have them, with numbers in its notation: no import path, no file, no text.
_METRIC: Final = re.compile(r"[\w-]+(\(\w+=[\w.+-]+(, ?\w+=[\w.+-]+)*\))?(@\d+)?")
# The keys that would judge, weigh, mark, save, draw or compare: the reply shows none of it.
_EMPTY: Final[Mapping[str, Any]] = {
    "best": None,
    "compare": None,
    "diagnose": None,
    "doc_weights": {},
    "gates": {},
    "group_by": None,
    "human": None,
    "metric_weights": {},
    "sample": None,
    "save_path": None,
    "skip": [],
    "stop": None,
    "thresholds": {},
    "tolerate": None,
    "xfail": [],
}


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A request that is sound in itself; ``body`` has the fields that change a run."""

    scenario: str
    metrics: tuple[str, ...]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run changes in the scenario, by dotted path, and the rows it is on."""

    values: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    key_map: Mapping[str, str]

    def options(self, rows_file: str) -> list[str]:
        """Return the options of a run on these rows, which are in a file."""
        values = {**self.values, "dataset": {"path": rows_file, "key_map": self.key_map}}
        return [f"--rag-set={path}={_yaml(value)}" for path, value in values.items()]


# What YAML refuses or takes for the end of a line, also in quotes.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def _yaml(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)  # YAML cannot join the halves of an emoji
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def read_request(body: Mapping[str, Any]) -> EvaluationRequest:
    """Return what a client asks for; refuses what no request of DB-GPT holds."""
    given = {key: value for key, value in body.items() if value is not None}
    for key in given.keys() - set(dbgpt.FIELDS):
        raise Refused(400, unknown_name("field", key, dbgpt.FIELDS))
    scenario = given.get("scene_value")
    if not isinstance(scenario, str | int) or isinstance(scenario, bool) or scenario == "":
        raise Refused(400, "scene_value: expected the name of a scenario of this project")
    _check_metrics(given.get("evaluate_metrics"))
    _check_rows(given.get("datasets"))
    _check_context(given.get("context", {}))
    _check_number("parallel_num", given.get("parallel_num", 1), _MOST_CONCURRENT)
    used: dict[str, Any] = {key: given[key] for key in _USED if key in given}
    return EvaluationRequest(str(scenario), tuple(given["evaluate_metrics"]), used)


def _check_metrics(names: Any) -> None:
    if not isinstance(names, list) or not names:
        raise Refused(400, "evaluate_metrics: expected a list with the names of metrics")
    for name in names:
        if not isinstance(name, str) or not _METRIC.fullmatch(name):
            found = shorten(repr(name))
            raise Refused(400, f"evaluate_metrics: {found} is no metric's name")


def _check_rows(rows: Any) -> None:
    if isinstance(rows, str):
        raise Refused(400, "datasets: expected the rows themselves; no file is opened")
    if not isinstance(rows, list) or not rows:
        raise Refused(400, "datasets: expected a list of rows")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Refused(400, f"datasets: row {number} is {json_kind(row)}, expected an object")


def _check_context(context: Any) -> None:
    if not isinstance(context, dict):
        raise Refused(400, f"context: expected an object, found {shorten(repr(context))}")
    given = {key: value for key, value in context.items() if value is not None}
    for key in given.keys() - set(_CONTEXT):
        raise Refused(400, f"context: {unknown_name('field', key, _CONTEXT)}")
    _check_number("context.top_k", given.get("top_k", 1))
    prompt = given.get("prompt", "")
    if not isinstance(prompt, str) or len(prompt) > _LONGEST_PROMPT or _has_half(prompt):
        raise Refused(400, f"context.prompt: expected a text of at most {_LONGEST_PROMPT} letters")


def _has_half(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _check_number(name: str, value: Any, most: int = 2**31) -> None:
    if type(value) is not int or not 1 <= value <= most:
        found = shorten(repr(value))
        raise Refused(400, f"{name}: expected a whole number from 1 to {most}, found {found}")


def lay_over(request: EvaluationRequest, scenario: Scenario) -> Changes:
    """Return what the request changes in a scenario.

    Target, corpus, models, ``match`` and ``empty_answer`` of the scenario hold. A target is left
    out where the rows bring what it would be asked for; without one, rows that do not are refused.
    """
    asks = scenario.target is not None and _lacks_answers(request, scenario)
    tree = _translated(request, scenario, is_asked=asks)
    if tree.problems:
        raise Refused(400, "; ".join(problem.message for problem in tree.problems))
    asked = [_asked(written, scenario) for written in tree.data["metrics"]]
    values = {key: empty for key, empty in _EMPTY.items() if key in scenario.model_fields_set}
    values |= _of_metrics(asked, scenario)
    for key in ("top_k", "match", "empty_answer"):
        if key in tree.data:
            values[key] = tree.data[key]
    for role in ("judge", "target"):
        if "concurrency" in tree.data.get(role, ()):
            values[f"{role}.concurrency"] = tree.data[role]["concurrency"]
    if scenario.target is not None and not asks:
        values["target"] = None
    if scenario.answers is not None and not _may_join(request, scenario.answers.key):
        values["answers"] = None
    key_map = tree.data["dataset"].get("key_map", {})
    others = {name: column for name, column in tree.fallbacks.items() if name not in key_map}
    rows = [_filled(row, others) for row in tree.data["dataset"]["rows"]]
    return Changes(values, rows, key_map)


def _lacks_answers(request: EvaluationRequest, scenario: Scenario) -> bool:
    """Return whether the rows need a target; refuses rows with an answer beside rows without."""
    rows: Sequence[Mapping[str, Any]] = request.body["datasets"]
    lacking = [at for at, row in enumerate(rows, 1) if not _is_answered(row)]
    if 0 < len(lacking) < len(rows):
        raise Refused(
            400,
            f"datasets: no prediction in rows {listed(map(str, lacking), _LISTED)}, and others "
            "have one: send them apart, the target is asked about rows without",
        )
    return bool(_translated(request, scenario, is_asked=False).problems)


def _is_answered(row: Mapping[str, Any]) -> bool:
    return any(row.get(name) is not None for name in ("prediction", *FIELD_ALIASES["answer"]))


def _may_join(request: EvaluationRequest, key: str) -> bool:
    """Return whether the scenario's ``answers`` may be joined: a row has an id or the ``key``.

    Also if a row lacks an answer: the run then says why nothing is joined.
    """
    rows = request.body["datasets"]
    names = {name for row in rows for name, value in row.items() if is_filled(value)}
    has_id = any((read_field(name) or ("",))[0] == "id" for name in names)
    return has_id or key in names or not all(map(_is_answered, rows))


def _translated(request: EvaluationRequest, scenario: Scenario, *, is_asked: bool) -> YamlTree:
    """Return the request as our keys, as if it were a file beside what holds of the scenario."""
    roles = {"judge": scenario.judge is not None, "target": is_asked}
    data: dict[str, Any] = {role: {} for role, is_there in roles.items() if is_there}
    for key in ("match", "empty_answer", "corpus"):
        if key in scenario.model_fields_set:
            data[key] = getattr(scenario, key)
    data |= {key: value for key, value in request.body.items() if value is not None}
    refuse_depth(data, "the request")
    tree = YamlTree(data, "the request")
    dbgpt.translate(tree)
    return tree


@dataclass(frozen=True, slots=True)
class _Asked:
    """A metric of the request: as the scenario defines it, if it does, else by its name."""

    spec: MetricSpec
    entry: Any
    """What a scenario file would say of it."""


def _asked(written: Any, scenario: Scenario) -> _Asked:
    """Return a metric; ``written`` is its name, or a mapping of that to options."""
    ((name, more),) = written.items() if isinstance(written, dict) else ((written, {}),)
    entries = scenario_data(scenario)["metrics"]
    known = list(zip(scenario.metrics, entries, strict=True))
    same = [one for one in known if name in (one[0].name, one[0].attribute, one[0].metric)]
    same += [one for one in known if _result_name(one[0], scenario) == _name(name)]
    spec, entry = same[0] if same else (MetricSpec.model_validate(name), name)
    if not more:
        return _Asked(spec, entry)
    if not isinstance(entry, dict):
        return _Asked(spec, {entry: more})
    if "use" in entry:
        return _Asked(spec, entry | more)
    return _Asked(spec, {key: options | more for key, options in entry.items()})


def _of_metrics(asked: Sequence[_Asked], scenario: Scenario) -> dict[str, Any]:
    """Return the metrics, and their part of the scenario's thresholds and options."""
    values: dict[str, Any] = {"metrics": [one.entry for one in asked]}
    names = {_result_name(one.spec, scenario) for one in asked}
    # Dumped from the whole scenario, whose validators are built: those of a part would be built
    # inside the comprehension, which crashes Python 3.13.0 (a bug of frames, mended in 3.13.1).
    written = scenario.model_dump(include={"thresholds"}, exclude_unset=True)
    kept = {
        name: bound
        for name, bound in written.get("thresholds", {}).items()
        if name in names or _name(name) in names
    }
    if kept:
        values["thresholds"] = kept
    if scenario.metric_options:
        offered = [_offered(one.spec) for one in asked]
        values["metric_options"] = {
            name: option
            for name, option in scenario.metric_options.items()
            if any(known is None or name in known for known in offered)
        }
    return values


def _name(written: str) -> str:
    return metric_name(written, METRIC_REGISTRY)


def _result_name(spec: MetricSpec, scenario: Scenario) -> str:
    """Return what results call a metric; of what a conftest.py adds, its name as written."""
    own, known = spec.name or spec.attribute, _offered(spec)
    if own or known is None:
        return own or spec.metric
    shared = {name: value for name, value in scenario.metric_options.items() if name in known}
    definition, options = _definition(spec)
    try:
        found = definition.options.model_validate({**shared, **options, **spec.options})
    except ValidationError:  # the run says so
        return spec.metric
    return found.label(definition.name)


def _offered(spec: MetricSpec) -> Collection[str] | None:
    """Return the options that a metric has; None for one that only the run knows."""
    try:
        return None if spec.use else _definition(spec)[0].options.known()
    except (NotationError, UnknownNameError):
        return None


def _definition(spec: MetricSpec) -> tuple[MetricDefinition, Mapping[str, Any]]:
    if METRIC_REGISTRY.canonical(spec.metric) is not None:
        return METRIC_REGISTRY.get(spec.metric), {}
    notation = parse_notation(spec.metric)
    return METRIC_REGISTRY.get(notation.base), notation.options


def _filled(row: Mapping[str, Any], others: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a row in which fields that it lacks have the values of their other columns."""
    for name, column in others.items():
        if row.get(column) is not None and all(row.get(own) is None for own in FIELD_ALIASES[name]):
            rest = {key: value for key, value in row.items() if key != column}
            row = {**rest, name: row[column]}
    return row
