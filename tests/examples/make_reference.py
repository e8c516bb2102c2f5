"""Makes the tables of ``docs/reference`` from the code: run it after a description has changed.

A table stands below ``<!-- made: NAME -->``; whatever table is there is replaced.
Its words are the descriptions of the code, which editors and ``--help`` show as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from pytest_rageval.gates.agreement import AgreementSpec
from pytest_rageval.gates.base import GATE_REGISTRY, GateKind
from pytest_rageval.gates.no_regression import RegressionSpec
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, MetricInfo
from pytest_rageval.model import value_text
from pytest_rageval.plugin import options
from pytest_rageval.plugin.option_values import Command, Option
from pytest_rageval.reports.base import REPORT_REGISTRY
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import BESIDE_ANSWERS, BESIDE_GOLD, LIKELY_NAMES
from pytest_rageval.scenario.model_specs import JudgeSpec
from pytest_rageval.scenario.schema import CompareSpec, Scenario
from pytest_rageval.scenario.spec import EditorSchema, mapping_form, model_in
from pytest_rageval.targets.base import TARGET_REGISTRY

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"
COMMAND: Final = "python tests/examples/make_reference.py"
MADE: Final = re.compile(r"(<!-- made: (.+) -->\n)\n(?:\|.*\n)*")

Row = tuple[str, ...]

MORE: Final[Mapping[str, str]] = {
    "scenario.match": "metrics.md#contexts",
    "scenario.group_by": "../how-to/compare-runs.md#samples-that-belong-together",
    "scenario.skip": "#skip-and-xfail",
    "scenario.xfail": "#skip-and-xfail",
    "scenario.best": "#variants",
    "scenario.output_dir": "files.md",
    "scenario.save_path": "files.md#the-file-that-save_path-names",
    "dataset.rows_at": "../how-to/data-formats.md#json-and-yaml",
    "dataset.split": "../how-to/data-formats.md#references",
    "dataset.other_names": "#other-names",
    "dataset.on_invalid": "../how-to/skip-xfail-tags.md",
    "dataset.merge_rows": "../how-to/data-formats.md#one-row-per-passage",
    "dataset.reviews": "made-questions.md#review",
    "dataset.qrels_path": "#trec-files",
    "dataset.run_path": "#trec-files",
    "compare.test": "../explanation/significance.md#which-test-to-use",
    "compare.correction": "../explanation/significance.md#several-metrics",
    "judge.repeats": "../how-to/judge.md#repeats-and-stability",
    "target.cache_answers": "../how-to/online.md#keep-the-answers",
    "gates.unscored": "../explanation/when-is-a-run-green.md#allow-missing-scores",
    "gates.selective": "#confidence",
    "gates.aurc": "#confidence",
    "gates.compare_fail": "#no_regression",
    "options.--rag-variant": "scenario-file.md#variants",
    "options.--rag-save": "#baselines",
    "options.--rag-save-failed": "#baselines",
    "options.--rag-compare": "scenario-file.md#compare",
    "options.--rag-compare-fail": "scenario-file.md#no_regression",
    "options.--rag-labels": "files.md#labels",
    "options.--rag-judge-model": "scenario-file.md#models",
    "options.--rag-save-answers": "../how-to/online.md#keep-the-answers",
    "options.--rag-cache": "#modes-of-the-cache",
    "options.--rag-report": "files.md#reports-on-request",
    "options.--rag-keep": "files.md#how-many-runs-are-kept",
    "options.--rag-engine": "../how-to/several-machines.md#an-engine-scores",
    "options.--rag-no-fast": "../how-to/fast-start.md#many-samples",
    "options.--rag-strict": "../explanation/when-is-a-run-green.md#all-cases",
    "options.--rag-shard": "../how-to/several-machines.md#shards-in-ci",
    "commands.--rag-merge": "../how-to/several-machines.md#shards-in-ci",
    "commands.--rag-from": "../how-to/first-scenario.md",
    "commands.--rag-questions": "../how-to/questions-from-documents.md",
    "commands.--rag-questions-model": "made-questions.md#command",
    "commands.--rag-nuggets": "made-questions.md#nuggets",
    "commands.--rag-import": "../how-to/coming-from-promptfoo.md",
    "commands.--rag-label": "files.md#labels",
    "commands.--rag-dry-run": "../how-to/judge.md#before-you-pay",
    "commands.--rag-serve": "../how-to/web-app.md",
    "commands.--rag-mcp": "../how-to/coding-agents.md",
    "ini values.rageval_fast": "../how-to/fast-start.md#many-samples",
    "ini values.rageval_github": "../how-to/gates-in-ci.md#github-actions",
}
"""By table and row, where more is said; a heading of the same page needs no entry."""

NOT_SAID: Final = {
    "metrics": ("metric", "options", "column"),
    "target": ("options",),
}
"""Keys that nobody writes."""
AS_IN: Final[Mapping[str, tuple[str, type[BaseModel]]]] = {
    "answers": ("dataset", DatasetSpec),
    "corpus": ("dataset", DatasetSpec),
    "human": ("dataset", DatasetSpec),
    "embedding": ("judge", JudgeSpec),
    "target.chat": ("judge", JudgeSpec),
    "no_regression": ("compare", CompareSpec),
}
"""By table, what says the same of some keys."""
IN_WORDS: Final = ("thresholds", "models", "xfail")
"""Mappings that need no table: a bound, a profile of models, and a mark as under ``skip``."""


def with_tables(text: str) -> str:
    """Return a page with its tables made anew."""
    headings = set(re.findall(r"^#+ (\S+)$", text, re.MULTILINE))

    def make(place: re.Match[str]) -> str:
        marker, name = place.groups()
        head, *rows = TABLES[name]()
        lines = [(_name(name, row[0], headings), *row[1:]) for row in rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in [head, *lines])
        table = table.replace("\n", f"\n|{'---|' * len(head)}\n", 1).replace("  ", " ")
        return f"{marker}\n{table}"

    return MADE.sub(make, text)


def _name(table: str, name: str, headings: set[str]) -> str:
    """Return the first cell of a row: a name, as a link if more is said of it elsewhere."""
    key = re.split(r"[ \[]", name)[0]
    link = MORE.get(f"{table}.{key}", "")
    if not link and name in headings and re.match("scenario|judge|gates|metrics:", table):
        link = f"#{name.lower().replace('.', '')}"
    if link:
        return f"[`{name}`]({link})"
    return f"`{name}`" if name.startswith("--") else _names(name.split(" "))


# Keys of a scenario.


def keys_of(table: str, model: type[BaseModel]) -> list[Row]:
    """Return the table of a mapping's keys; the last row has those that are as in another one."""
    schema = model.model_json_schema(schema_generator=EditorSchema)
    form, definitions = mapping_form(schema), schema.get("$defs", {})
    other, like = AS_IN.get(table, ("", None))
    same = [name for name in form["properties"] if like and _is_same(name, model, like)]
    left_out = {*NOT_SAID.get(table, ()), *same}
    rows = [_key(name, form, definitions) for name in form["properties"] if name not in left_out]
    if same:
        rows.append((" ".join(same), f"as in [`{other}`](#{other})", ""))
    return [("key", "value (default)", "meaning"), *rows]


def _is_same(name: str, model: type[BaseModel], like: type[BaseModel]) -> bool:
    field = like.model_fields.get(name)
    return field is not None and field.description == model.model_fields[name].description


def _key(name: str, form: Mapping[str, Any], definitions: Mapping[str, Any]) -> Row:
    key = form["properties"][name]
    default = _default(key.get("default"))
    kinds = list(dict.fromkeys(_values(key, definitions)))
    if default and {"type": "null"} in key.get("anyOf", ()):
        kinds.append("`null`")
    value = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)
    if default:
        marked = re.sub(f"(?<!\\S){re.escape(default)}(?!\\S)", f"**{default}**", value)
        value = marked if marked != value else f"{value} ({default})"
    value += ", required" if _is_required(name, form) else ""
    return name, value, cell(key.get("description", ""))


def _is_required(name: str, form: Mapping[str, Any]) -> bool:
    is_told = "when absent" in form["properties"][name].get("description", "")
    return name in form.get("required", ()) and not is_told


def _default(value: Any) -> str:
    """Return a default as it would be written; "" where nothing would be."""
    if value is None or value in ("", [], {}) or isinstance(value, dict):
        return ""
    if isinstance(value, bool | str):
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value_text(value)}`"


def _values(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    """Yield the kinds of values that a schema takes, in words."""
    if "$ref" in form:
        named = definitions[form["$ref"].rpartition("/")[2]]
        is_bound = {"min", "max"} <= mapping_form(named).get("properties", {}).keys()
        yield from ["bound"] if is_bound else _values(named, definitions)
    elif "const" in form:
        yield f"`{form['const']}`"
    elif len(form.get("enum", ())) > _MANY:
        yield "text"
    elif "enum" in form:
        yield " ".join(f"`{value}`" for value in form["enum"] if value is not False)
    elif "anyOf" in form and "properties" not in form:
        for each in form["anyOf"]:
            yield from _values(each, definitions)
    else:
        yield from _kind(form)


def _kind(form: Mapping[str, Any]) -> Iterator[str]:
    types = form.get("type", [])
    types = [types] if isinstance(types, str) else types
    if "boolean" in types:
        yield "`true` `false`" if "pattern" in form else "`true`"
    elif "integer" in types:
        yield f"whole number{_bounds(form)}"
    elif "number" in types and ("pattern" in form or types == ["number"]):
        yield f"number{_bounds(form)}"
    elif "string" in types:
        yield "text"
    elif "array" in types:
        yield "list"
    elif "object" in types or "properties" in form:
        yield "mapping"


def _bounds(form: Mapping[str, Any]) -> str:
    low, high = form.get("minimum"), form.get("maximum")
    above, below = form.get("exclusiveMinimum"), form.get("exclusiveMaximum")
    if low is not None and high is not None and high < _HUGE:
        return f", {value_text(low)} to {value_text(high)}"
    if above is not None and below is not None:
        return f", between {value_text(above)} and {value_text(below)}"
    if above is not None:
        return f" > {value_text(above)}"
    return "" if low is None else f" >= {value_text(low)}"


_HUGE: Final = 2**31 - 1
_MANY: Final = 6


CODE: Final = re.compile(
    r"(?<!\S)'(?P<quoted>[^']+)'(?=[\s,.;:)]|$)"  # in quotes
    r"|\$?\{(?:[^{}]|\{[^{}]*\})*\}"  # in braces
    r"|--[a-z][a-z-]*"  # options
    r"|\b\w+://[\w:./]*\w|\b[\w.]+(?:[=:](?=\w)[\w.]*\w)+"  # addresses, values, objects of modules
    r"|\b\w[\w.]*(?:_|\[|\*)[\w.\[\]*]*(?<!\.)"  # names and paths
    r"|(?<!\S)\.?[a-z]+(?:\.[a-z]+)+\b|(?<!\S)\.[a-z]+\b"  # files
)
"""What is code in a description, which has no signs of Markdown."""


def cell(text: str) -> str:
    """Return a description as the text of a cell, with its code in back quotes."""
    return CODE.sub(lambda code: f"`{code['quoted'] or code[0]}`", text.replace("|", r"\|"))


Specs = dict[str, type[BaseModel]]


def _specs(model: type[BaseModel]) -> Specs:
    """Return the mappings inside of a mapping by the key that they are under."""
    specs: Specs = {}
    for key, field in model.model_fields.items():
        inner = model_in(field.annotation)
        if inner is not None:
            specs |= {key: inner, **_specs(inner)}
    return specs


# Gates.


def gates() -> list[Row]:
    """Return the table of gates."""
    return [("gate", "under", "passes when"), *map(_gate, GATE_REGISTRY)]


def _gate(kind: GateKind) -> Row:
    under = "`gates`" if kind.scope == "scenario" else "a metric"
    return kind.name, under, cell(kind.description)


# Metrics.

FAMILIES: Final = ("answer", "answer rules", "row", "nuggets", "search", "judged")


def family_of(info: MetricInfo) -> str:
    """Return which part of the page about metrics has it."""
    if info.of_row and not info.section:
        return "nuggets" if "nuggets" in info.of_row else "row"
    if info.asks:
        return "judged"
    if info.section:
        return "answer rules"
    return "answer" if "answer" in info.needs else "search"


def metrics(family: str) -> list[Row]:
    """Return the table of a family of metrics."""
    infos = [_info(metric) for metric in _members(family)]
    return [("metric", "what it is", "also called"), *map(_metric, infos)]


def _members(family: str) -> list[MetricDefinition]:
    """Return the metrics of a family, without those of other distributions."""
    ours = [metric for metric in METRIC_REGISTRY if not metric.source]
    return [metric for metric in ours if family_of(_info(metric)) == family]


def _info(metric: MetricDefinition) -> MetricInfo:
    return metric.options().adapt(metric.info)


def _metric(info: MetricInfo) -> Row:
    low, high = info.range
    ends = f"; {low:g} to {high:g}" if info.range != (0.0, 1.0) else ""
    asks = " and ".join(sorted(info.asks, reverse=True))
    asked = f"; asks {asks}" if "embedding" in info.asks else ""
    text = (
        info.summary
        + asked
        + ends
        + ("" if info.higher_is_better or info.is_neutral else "; lower is better")
    )
    if family_of(info) == "judged":
        return info.name, f"{cell(text)}; needs {_names(sorted(info.needs))}", _names(info.aliases)
    return info.name, cell(text), _names(info.aliases)


def metric_options(family: str) -> list[Row]:
    """Return the table of the options of a family: each with the metrics that have it."""
    members, users = _members(family), dict[Row, list[str]]()
    for metric in members:
        for row in keys_of(metric.name, metric.options)[1:]:
            users.setdefault(row, []).append(metric.name)
    everyone = [metric.name for metric in members]
    head = ("option", "value (default)", "meaning", "of")
    return [head, *((*row, _users(names, everyone)) for row, names in sorted(users.items()))]


def _users(names: list[str], everyone: list[str]) -> str:
    """Return the metrics that have an option; those that have not, where these are fewer."""
    others = [name for name in everyone if name not in names]
    if not others:
        return "all"
    return f"all but {_names(others)}" if len(others) < len(names) else _names(names)


# The command line, reports and columns.


def command_line() -> list[Row]:
    """Return the table of options for runs."""
    return [("option", "meaning"), *(_option(row) for row in options.ALL_OPTIONS)]


def commands() -> list[Row]:
    """Return the table of commands, and of the options that go with one."""
    rows = (*options.COMMANDS, *options.WITH_COMMANDS)
    return [("command", "what it does"), *map(_option, rows)]


def _option(row: Option[Any] | Command) -> Row:
    value = (row.metavar or "").removesuffix("...")
    # Without a number --rag-label is refused, with a message of its own.
    if isinstance(row, Command) and row.alone is not None and row.flag != "--rag-label":
        value = f"[={value}]"
    elif value:
        value = f" {value}"
    several = "; repeatable" if (row.metavar or "").endswith("...") else ""
    return f"{row.flag}{value}", cell(row.help.replace("%%", "%")) + several


class _IniValues:
    """Notes what a plugin declares to pytest."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def addini(self, name: str, text: str, kind: str = "string", default: Any = None) -> None:
        value = (
            f"`{' '.join(default)}`" if isinstance(default, list) and default else _default(default)
        )
        self.rows.append((name, kind, value, cell(text.replace("%%", "%"))))


def ini_values() -> list[Row]:
    """Return the table of ini values."""
    declared = _IniValues()
    options._add_ini_values(declared)  # type: ignore[arg-type]
    return [("name", "type", "default", "meaning"), *declared.rows]


def reports() -> list[Row]:
    """Return the table of reports that are written on request."""
    asked = [report for report in REPORT_REGISTRY if report.on_request and report.aliases]
    return [("name", "file"), *((report.aliases[0], f"`{report.name}`") for report in asked)]


def other_names() -> list[Row]:
    """Return the table of the columns by which other tools name a field."""
    head = ("field", "columns, best first")
    rows = [
        (field, _names(name for name in names if name not in _BESIDE))
        for field, names in LIKELY_NAMES.items()
    ]
    beside = [
        ("answer", f"beside a column of references: {_names(BESIDE_GOLD)}"),
        ("contexts", f"beside answers and references: {_names(BESIDE_ANSWERS)}"),
    ]
    return [head, *rows, *beside]


_BESIDE: Final = {*BESIDE_GOLD, *BESIDE_ANSWERS}


def _names(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


Table = Callable[[], list[Row]]
SPECS: Final[Specs] = {
    **{key: spec for key, spec in _specs(Scenario).items() if key not in IN_WORDS},
    "no_regression": RegressionSpec,
    "agreement": AgreementSpec,
}
TABLES: Final[Mapping[str, Table]] = {
    "scenario": partial(keys_of, "scenario", Scenario),
    **{key: partial(keys_of, key, spec) for key, spec in SPECS.items()},
    **{
        f"target.{kind.name}": partial(keys_of, f"target.{kind.name}", kind.options)
        for kind in TARGET_REGISTRY
        if kind.options.model_fields
    },
    **{f"metrics: {family}": partial(metrics, family) for family in FAMILIES},
    **{f"options: {family}": partial(metric_options, family) for family in FAMILIES},
    "gates": gates,
    "options": command_line,
    "commands": commands,
    "ini values": ini_values,
    "reports": reports,
    "other names": other_names,
}


def main() -> None:
    """Write the tables into the pages."""
    for page in REFERENCE.glob("*.md"):
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
