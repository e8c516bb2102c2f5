"""The text of a first scenario: what runs at once, and comments that say what could be added."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.first_scenario.mapping import Mapped
from pytest_rageval.first_scenario.measures import Measures
from pytest_rageval.first_scenario.table import Table
from pytest_rageval.first_scenario.workflow import shell_word
from pytest_rageval.scenario.column_names import snake_case
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.yaml.text import inline_text, pair_text
from pytest_rageval.text.cells import cells
from pytest_rageval.text.printable import one_line

_WIDTH: Final = 96
_MEANS: Final = {
    "em": "equal",
    "f1": "words in common",
    "rouge-l": "words in the same order",
    "must_include": "the texts that each row asks for are in the answer",
    "must_not_include": "and those that it forbids are not",
    "must_match": "and so is a text for each of its patterns",
    "recall@5": "the share of what should be found that is among the first five",
    "mrr": "1 / rank of the first that should be found",
}
_SCRIPTS: Final = {
    "cjk": "Characters are compared, and full-width punctuation does not count",
    "letters": "Words of every script are compared; ROUGE's own are those of ASCII letters",
}


@dataclass(frozen=True)
class Draft:
    """All that the text of a scenario says.

    ``dataset`` are the keys of the data other than ``key_map``; ``tried`` says what the first run
    gave, "" before it.
    """

    name: str
    file: str
    dataset: Mapping[str, Any]
    table: Table
    mapped: Mapped
    measures: Measures
    tried: str = ""


def written_map(table: Table, mapped: Mapped) -> dict[str, str]:
    """Return the fields that a ``key_map`` has to name.

    Not those whose column has a documented name, unless another column has one, too.
    """
    columns = [column.name for column in table.columns]
    return {
        name: found.column
        for name, found in mapped.fields.items()
        if [one for one in columns if one in FIELD_ALIASES[name]] != [found.column]
    }


def scenario_text(draft: Draft) -> str:
    """Return the scenario as YAML."""
    parts = [_head(draft), _dataset(draft), _target(draft), _metrics(draft), _gates(draft)]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _head(draft: Draft) -> list[str]:
    return [
        "# What is measured, on which data, and what is good enough.",
        f"# Run it with:  pytest {shell_word(draft.file)}",
        pair_text("name", draft.name),
    ]


def _dataset(draft: Draft) -> list[str]:
    lines = ["dataset:", *(f"  {pair_text(key, value)}" for key, value in draft.dataset.items())]
    mapped = written_map(draft.table, draft.mapped)
    if mapped:
        lines.append(_with_comment("  key_map:", "our field: your column"))
    for name, column in mapped.items():
        why = draft.mapped.fields[name].why
        line = f"    {pair_text(name, column)}"
        lines.append(line if why == "by its name" else _with_comment(line, one_line(why)))
    known = [name for name in draft.mapped.fields if name not in mapped]
    if known:
        lines.append(f"  # Found by their own names: {', '.join(known)}.")
    served = {found.column for found in draft.mapped.fields.values()}
    rest = [column.name for column in draft.table.columns if column.name not in served]
    return [*lines, *_wrapped("  # Metadata", rest)]


def _wrapped(label: str, names: list[str]) -> Iterator[str]:
    """Yield a comment with as many names as fit into a line, and how many more there are."""
    shown: list[str] = []
    for name in names:
        if cells(f"{label}: {', '.join([*shown, name])}") > _WIDTH - 12:
            break
        shown.append(one_line(name))
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    if names:
        yield f"{label}: {', '.join(shown)}{more}."


def _target(draft: Draft) -> list[str]:
    asks = draft.measures.asks
    if not asks:
        return []
    given = " and ".join("answers" if one == "answer" else one for one in asks)
    reply = "the answer" if asks == ("answer",) else f"{{'answer': ..., '{asks[0]}': [...]}}"
    return [
        f"# The data have no {given}: your system is asked. Remove a '#', and name your function",
        "# or address; or leave this, and run pytest with  --rag-set target=my_app.rag:answer",
        f"# target: my_app.rag:answer               # answer(question) returns {reply}",
        '# target: http://127.0.0.1:8000/ask       # gets {"question": ...}',
        *_second_file(draft),
    ]


def _second_file(draft: Draft) -> Iterator[str]:
    """Yield how a file with the answers would be joined, if the rows have ids."""
    found = draft.mapped.fields.get("id")
    if found is not None:
        key = inline_text({"path": "recorded.jsonl", "key": found.column})
        yield f"# Or a second file has them:  answers: {key}"


def _metrics(draft: Draft) -> list[str]:
    measures = draft.measures
    lines = _means(measures.metrics)
    lines.append(f"metrics: {inline_text(list(measures.metrics))}")
    if measures.weights:
        weights = dict(measures.weights)
        line = f"metric_weights: {inline_text(weights)}"
        lines.append(_with_comment(line, "the references are long: hardly an answer equals one"))
    if measures.match:
        lines.append(
            _with_comment(f"match: {measures.match}", "expected passages lie inside others")
        )
    if measures.script and set(measures.metrics) & {"em", "f1", "rouge-l"}:
        options = inline_text({"normalizer": "unicode", "tokenizer": "char"})
        lines += [f"# {_SCRIPTS[measures.script]}:", f"metric_options: {options}"]
    for names, needed in measures.later:
        lines.append(f"# Also: {', '.join(names)}. Needs {needed}.")
    return lines


def _means(metrics: tuple[str, ...]) -> list[str]:
    """Return comments that say what the metrics are, as many in a line as fit."""
    lines = ["#"]
    for name in metrics:
        part = f" {name}: {_MEANS[name]};"
        if len(lines[-1]) + len(part) > _WIDTH:
            lines.append("#")
        lines[-1] += part
    lines[-1] = lines[-1].removesuffix(";") + "."
    return lines


def _gates(draft: Draft) -> list[str]:
    tried = draft.tried or "set it a little below what a run gives today"
    lines = ["gates:", _with_comment("  weighted_score: 0.5", tried)]
    bare, rows = draft.measures.bare_rows, draft.table.rows
    if bare:
        more = f"{bare} of {rows} rows have nothing to compare with"
        if draft.measures.asks:
            more += "; needs dataset.on_invalid: skip"
        gate = "invalid" if draft.measures.asks else "unscored"
        lines.append(_with_comment(f"  # {gate}: {math.ceil(100 * bare / rows) / 100}", more))
    if draft.measures.groups:
        lines.append(_with_comment("  # by:", "each value of a column is judged, too"))
    for name in draft.measures.groups:
        values = _values(draft, name)
        line = f"  #   {pair_text(name, {'weighted_score': 0.4})}"
        lines.append(_with_comment(line, f"{len(values)} values: {', '.join(values[:3])}"[:60]))
    return lines


def _values(draft: Draft, name: str) -> tuple[str, ...]:
    found = draft.mapped.fields.get(name)
    column = found.column if found is not None else name
    return tuple(one_line(value) for value in draft.table[column].distinct)


def _with_comment(line: str, comment: str) -> str:
    return f"{line:<34}  # {comment}"


def file_stem(name: str) -> str:
    """Return the name of a data file without its suffixes, as a name for the scenario.

    >>> file_stem("Golden Set.v2.jsonl.gz"), file_stem(".jsonl")
    ('Golden Set.v2', 'data')
    """
    stem = name.removesuffix(".gz").rpartition(".")[0] or "data"
    return stem if snake_case(stem) else "data"
