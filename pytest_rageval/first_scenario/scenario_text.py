"""The text of a first scenario: what runs at once, and comments that say what could be added."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval import __version__
from pytest_rageval.datasets.proposer.columns import Table
from pytest_rageval.datasets.proposer.draft import AS_SAID
from pytest_rageval.datasets.proposer.names import CHECK_FIELDS
from pytest_rageval.datasets.proposer.propose import Mapped
from pytest_rageval.errors import shorten
from pytest_rageval.first_scenario.measures import A_JUDGE, Measures, extra_for
from pytest_rageval.model import ScenarioResult
from pytest_rageval.run_paths import NO_GLOB
from pytest_rageval.scenario.column_names import snake_case
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.yaml.tree import inline_text, pair_text
from pytest_rageval.text.numbered import free_name
from pytest_rageval.text.printable import cells, one_line

_WIDTH: Final = 96
_MEANS: Final = {
    "em": "equal",
    "coverem": "all words of a reference are in the answer",
    "acc": "a reference is in it in one piece",
    "stringem": "the share of the groups of references of which the answer holds one",
    "f1": "words in common",
    "rouge-l": "words in the same order",
    "must_include": "the texts that each row asks for are in the answer",
    "must_not_include": "the texts that each row forbids are not in the answer",
    "must_match": "the answer has a text for each pattern of its row",
    "recall@5": "the share of what should be found that is among the first five",
    "mrr": "1 / rank of the first that should be found",
    "faithfulness": "the share of an answer's claims that its contexts support",
    "context_recall": "the share of the reference's claims that the contexts support",
    "answer_correctness": "the answer says what the reference says",
    "must_satisfy": "the answer meets what its row asks for",
    "nugget_recall": "the share of what an answer has to say that it says",
    "refusal": "answers where there is an answer, refuses where there is none",
    "over_refusal": "refuses where there is an answer",
    "missed_refusal": "answers where there is none",
    "citation_validity": "the share of citations that point to a context",
    "citation_coverage": "the share of sentences that cite",
}
_JUDGE: Final = "# judge: {model: gpt-4o-mini, controls: require}"
_OF_SENTENCES: Final = (
    "# The references are short: what counts is whether an answer holds one. f1 and rouge-l, low",
    "# for right answers in sentences, are only shown. An answer that holds the reference and",
    "# contradicts it counts as right, a right one in other words as wrong: answer_correctness",
    "# would see both.",
)
_SCRIPTS: Final = {
    "cjk": "Characters are compared, and full-width punctuation does not count",
    "letters": "Words of every script are compared; ROUGE's own are those of ASCII letters",
    "punctuation": "Quotes “ ” and dashes — count no more than ASCII ones; the default keeps them",
}


@dataclass(frozen=True)
class Draft:
    """All that the text of a scenario says.

    ``dataset`` are the keys of the data other than ``key_map``; ``target`` is asked for what the
    data lack, answers or what a search found; ``is_written``: it is the user's own, not a function
    that is still to be written; ``tried`` is what the first rows gave, None before that.
    """

    name: str
    file: str
    dataset: Mapping[str, Any]
    table: Table
    mapped: Mapped
    measures: Measures
    target: str = ""
    is_written: bool = False
    tried: ScenarioResult | None = None


def written_map(table: Table, mapped: Mapped) -> dict[str, str]:
    """Return the fields that a ``key_map`` has to name, each with its column.

    A field is left out if its column is the only one with a documented name of it, unless the user
    named the column, or the field is the answer and there are variants.
    """
    columns = [column.name for column in table.columns]
    return {
        name: found.column
        for name, found in mapped.fields.items()
        if found.why == AS_SAID
        or (name == "answer" and mapped.systems)
        or [column for column in columns if column in FIELD_ALIASES.get(name, ())] != [found.column]
    }


def scenario_text(draft: Draft) -> str:
    """Return the scenario as YAML."""
    head = [
        "# What is measured, on which data, and what is good enough.",
        f"# Run it with:  pytest {shell_word(draft.file)}",
        pair_text("name", draft.name),
    ]
    parts = [head, _dataset(draft), _variants(draft), _target(draft), _metrics(draft)]
    parts += [_gates(draft), _human(draft)]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _dataset(draft: Draft) -> list[str]:
    lines = ["dataset:", *(f"  {pair_text(key, value)}" for key, value in draft.dataset.items())]
    if mapped := written_map(draft.table, draft.mapped):
        lines.append(_with_comment("  key_map:", "our field: your column"))
    for name, column in mapped.items():
        why = draft.mapped.fields[name].why
        line = f"    {pair_text(name, column)}"
        lines.append(line if why == "by its name" else _with_comment(line, one_line(why)))
    if mark := draft.mapped.split:
        line = f"  # {pair_text('split', {'references': mark})}"
        lines.append(_with_comment(line, f"if {mark!r} is between several right answers"))
    known = [name for name in draft.mapped.fields if name not in mapped]
    if known:
        lines.append(f"  # Found by their own names: {', '.join(known)}.")
    read = draft.measures.of_answers.columns
    served = draft.mapped.served | {*read}
    turns = tuple(f"{name}[" for name in read)
    names = [column.name for column in draft.table.columns if column.name not in served]
    rest = [name for name in names if not name.startswith(turns)]
    return [*lines, *_in_a_line("  # Metadata", rest)]


def _in_a_line(label: str, names: list[str]) -> Iterator[str]:
    """Yield a comment with the names that fit into a line, and how many more; nothing for none."""
    shown = [shorten(one_line(name), 40) for name in names[:1]]
    for name in names[1:]:
        if cells(f"{label}: {', '.join([*shown, name])}") > _WIDTH - 12:  # " and 999 more"
            break
        shown.append(one_line(name))
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    if names:
        yield f"{label}: {', '.join(shown)}{more}."


def _variants(draft: Draft) -> list[str]:
    """Return a variant for each column with a system's answers."""
    lines = ["# Each column of answers is a variant; they are compared side by side.", "variants:"]
    names: list[str] = []
    for one in draft.mapped.systems:
        names.append(free_name(re.sub(r"[^\w-]+", "-", one).strip("-") or "answers", names))
        lines.append(f"  {pair_text(names[-1], {'dataset': {'key_map': {'answer': one}}})}")
    return lines if names else []


def _human(draft: Draft) -> list[str]:
    """Return how people's verdicts that stand beside the answers are used, as a comment."""
    if not draft.mapped.human:
        return []
    line = pair_text("human", {"column": draft.mapped.human, "levels": [0, 1]})
    return [
        f"# {draft.mapped.human!r} may be what people say of the answers. To hold a judge against",
        "# them, add a metric that asks a model to 'metrics', and this line:",
        f"# {line}",
    ]


def _target(draft: Draft) -> list[str]:
    asks = draft.measures.asks
    if not asks:
        return []
    given = " and ".join("answers" if ask == "answer" else ask for ask in asks)
    if draft.is_written:
        comment = f"# The data have no {given}: your system is asked."
        return [comment, pair_text("target", draft.target), *_second_file(draft)]
    file = f"{draft.target.partition(':')[0].rpartition('.')[2]}.py"
    return [
        f"# The data have no {given}: your system is asked. Write how in {file},",
        "# or name a function that you have, my_app.rag:answer, or an address:",
        pair_text("target", draft.target),
        '# target: http://localhost:8000/ask  # {"question": ...}; needs pytest-rageval[judge]',
        *_second_file(draft),
    ]


SECOND_FILE: Final = "# Or a second file has them, and no target is needed:"


def _second_file(draft: Draft) -> Iterator[str]:
    """Yield how a file with the answers would be joined, if the rows have ids."""
    if (found := draft.mapped.fields.get("id")) is not None:
        key = inline_text({"path": "recorded.jsonl", "key": found.column})
        yield f"{SECOND_FILE}  answers: {key}"


def _metrics(draft: Draft) -> list[str]:
    measures = draft.measures
    lines = _means(measures)
    lines.append(f"metrics: {inline_text(list(measures.metrics))}")
    if measures.judged:
        extra = extra_for(measures.metrics)
        lines += [
            f"# They ask a model: it needs {extra}, and a key in OPENAI_API_KEY or",
            "# what judge.api_key_env names. It first has to tell good rows from bad ones.",
            _JUDGE.removeprefix("# "),
        ]
    if measures.weights:
        weights = dict(measures.weights)
        lines += [*_why_weights(measures), f"metric_weights: {inline_text(weights)}"]
    if measures.match:
        lines.append(
            _with_comment(f"match: {measures.match}", "expected passages lie inside others")
        )
    if measures.script and set(measures.metrics) & {"em", "f1", "rouge-l"}:
        options = {"normalizer": "unicode"}
        options |= {"tokenizer": "char"} if measures.script != "punctuation" else {}
        lines += [f"# {_SCRIPTS[measures.script]}:", f"metric_options: {inline_text(options)}"]
    lines += [*measures.of_answers.lines, *measures.of_answers.comments]
    for names, needed in measures.later:
        lines.append(f"# Also: {', '.join(names)}. Needs {needed}.")
        if needed == A_JUDGE:
            lines.append(f"{_JUDGE}  # {extra_for(names)}")
    return lines


def _why_weights(measures: Measures) -> Iterator[str]:
    if measures.are_sentences:
        yield from _OF_SENTENCES
    elif dict(measures.weights).get("em") == 0:
        yield "# The references are long: hardly an answer equals one."
    if any(name in CHECK_FIELDS for name, weight in measures.weights if not weight):
        yield "# Checks do not make up for low scores: they have gates of their own."


def _means(measures: Measures) -> list[str]:
    """Return comments that say what the metrics are, as many in a line as fit."""
    lines = ["#"]
    unit = "characters" if measures.script == "cjk" else "words"
    for name in measures.metrics:
        part = f" {name}: {_MEANS[name]};".replace("words", unit)
        if len(lines[-1]) + len(part) > _WIDTH:
            lines.append("#")
        lines[-1] += part
    lines[-1] = lines[-1].removesuffix(";") + "."
    return lines


def _gates(draft: Draft) -> list[str]:
    lines = ["gates:", *(f"  # {line}" for line in draft.measures.about_gates)]
    for name, least in draft.measures.gates:
        lines.append(_with_comment(f"  {name}: {least:g}", _tried(draft, name, least)))
    lines += _looser_checks(draft)
    bare, rows = draft.measures.bare_rows, draft.table.rows
    is_skipped = {*draft.measures.metrics} <= {*CHECK_FIELDS} and not draft.measures.asks
    if bare and is_skipped:
        lines += [f"  # {bare} of {rows} rows have no check: they are skipped, and in no figure."]
    elif bare:
        more = f"{bare} of {rows} rows have nothing to compare with"
        if draft.measures.asks:
            more += "; needs dataset.on_invalid: skip"
        gate = "invalid" if draft.measures.asks else "unscored"
        lines.append(_with_comment(f"  # {gate}: {math.ceil(100 * bare / rows) / 100}", more))
    if draft.measures.groups:
        lines.append(_with_comment("  # by:", "each value of a column is judged, too"))
    for name in draft.measures.groups:
        values = _values(draft, name)
        line = f"  #   {pair_text(name, draft.measures.gates_of_groups)}"
        lines.append(_with_comment(line, f"{len(values)} values: {', '.join(values[:3])}"[:60]))
    return lines


def _looser_checks(draft: Draft) -> Iterator[str]:
    """Yield how any or a share of a row's texts would do, where they are lists."""
    found = draft.mapped.fields.get("must_include")
    if found is None or "must_include" not in draft.measures.metrics:
        return
    if draft.table[found.column].is_list:
        yield "  # That is all texts of a row. If any of them, or half, will do, remove that gate,"
        yield "  # and write one of these lines at the left:"
        yield "# thresholds: {must_include: 0.01}"
        yield "# thresholds: {must_include: 0.5}"


def _tried(draft: Draft, name: str, least: float) -> str:
    """Return what the first rows gave, and what to do if that fails; without it, what to set."""
    found = draft.tried
    mean = found.mean_of(name) if found is not None and not found.info.target else None
    if found is None or mean is None:
        later = "set it a little below what a run gives today"
        return later if least < 1 else "every check has to pass"
    gave = f"{rows_in_words(found)} gave {mean:.4f}"
    if mean < least:
        gave += ": read their answers, then set what is good enough"
    return gave


def rows_in_words(result: ScenarioResult) -> str:
    """Return how many rows were tried: ``the first 3 rows``."""
    count = len(result.samples)
    return "the only row" if count == 1 else f"the first {count} rows"


def _values(draft: Draft, name: str) -> tuple[str, ...]:
    found = draft.mapped.fields.get(name)
    column = found.column if found is not None else name
    if name in draft.measures.of_answers.groups:
        return ("true", "false")
    return tuple(one_line(value) for value in draft.table[column].distinct)


def _with_comment(line: str, comment: str) -> str:
    return f"{line:<34}  # {comment}"


def file_stem(name: str) -> str:
    """Return the name of a data file without its suffixes, as a name for the scenario.

    >>> file_stem("Golden Set.v2.jsonl.gz"), file_stem(".jsonl"), file_stem("faq[1].csv")
    ('Golden Set.v2', 'data', 'faq(1)')
    """
    stem = name.removesuffix(".gz").rpartition(".")[0].translate(NO_GLOB)
    return stem if snake_case(stem) else "data"


FUNCTION: Final = "answer"

_MODULE: Final = '''\
"""Asks your system the questions of {scenario}."""


def {function}(question: str) -> {type}:
    """Return what your system {returns}.

    Write it here, for example::

        from my_app import rag

        return {example}
    """
    raise NotImplementedError("write in {file} how your system is asked")
'''


def target_text(file: str, scenario: str, asks: Sequence[str]) -> str:
    """Return the module ``file``, whose function is still to be written.

    ``asks`` are the fields that the scenario needs: the answer, or what a search found.
    """
    shown = re.sub(r"[^\w .-]", "_", scenario)  # it stands in a docstring
    parts: dict[str, str] = {"scenario": shown, "file": file, "function": FUNCTION}
    if tuple(asks) == ("answer",):
        parts |= {"type": "str", "returns": "answers", "example": "rag.ask(question)"}
    else:
        found = "ids" if asks[0] == "retrieved_ids" else "texts"
        parts |= {
            "type": "dict[str, object]",
            "returns": f"answers and, best first, the {found} that its search found",
            "example": f'{{"answer": rag.ask(question), "{asks[0]}": rag.search(question)}}',
        }
    return _MODULE.format(**parts)


_WORKFLOW: Final = """\
# Evaluates the answers: a case or a gate that fails makes the check red.
name: rageval
on:
  push: {{branches: [main, master]}}
  pull_request:
permissions: {{contents: read}}
jobs:
  evaluate:
    runs-on: ubuntu-latest
    timeout-minutes: 30
{folder}    steps:
      - uses: actions/checkout@v7
      - uses: actions/setup-python@v7
        with: {{python-version: "3.12"}}
      # Name the version, so that no other one comes unseen: pytest-rageval{extras}=={version}
      # From no index: commit a wheel, and install it by its path instead,
      # pip install "./vendor/pytest_rageval-{version}-py3-none-any.whl{extras}"
      - run: pip install "pytest-rageval{extras}"
{asked}      - {step}
      - uses: actions/upload-artifact@v7
        if: always()
        with: # The cache, which has the judge's replies, is left out.
          name: rageval
          include-hidden-files: true
          path: "**/.rageval\\n!**/.rageval/.cache"
"""
_ASKED: Final = """\
      # What your system needs; if the target is an address, pytest-rageval[judge] as well:
      # - run: pip install -r requirements.txt
"""

_STRICT: Final = "--rag-strict"

SERVICES: Final = {"github": ".github/workflows/rageval.yml"}
"""Service -> the file that it reads, relative to the root of the repository."""


def workflow_text(step: str, extras: Sequence[str], folder: str, *, asks: bool) -> str:
    """Return a GitHub workflow that runs ``step`` on pushes to its main branch and pull requests.

    ``folder`` is where to run it, relative to the repository; ``asks`` says that a system has to be
    installed that the scenario can ask.
    """
    at = f"    defaults: {{run: {{working-directory: {_quoted(folder)}}}}}\n"
    return _WORKFLOW.format(
        step=step,
        extras=f"[{','.join(extras)}]" if extras else "",
        folder=at if folder else "",
        version=__version__,
        asked=_ASKED if asks else "",
    )


def step_text(scenario: str) -> str:
    """Return the step that runs a scenario: red also where something is not decided."""
    return f"run: {_quoted(f'pytest {shell_word(scenario)} {_STRICT} --rag-report=html')}"


def what_to_add(workflow: str, scenario: str) -> str:
    """Return what to add to a workflow that is to run a scenario, "" if a line there names it.

    A step after one that failed does not run: a command that is there can take both scenarios.
    """
    word = shell_word(scenario).replace("'", "''")
    run = re.sub(r"(?m)^\s*#.*", "", workflow)
    # Not the end of another name, which is in quotes if it has spaces, nor a run that cannot fail.
    after = r"[\w/-]|''|[^;&|\n]*\|\| *true\b"
    if re.search(rf"(?<![\w./-]){re.escape(word)}(?!{after})", run):
        return ""
    if re.search(rf"\bpytest .*{_STRICT}", run):
        return f"write {word} into the pytest command, before {_STRICT}"
    return f"add this step:  - {step_text(scenario)}"


def shell_word(text: str) -> str:
    """Return a file's name as a shell takes it, in quotes if it has to be.

    >>> shell_word("a.yaml"), shell_word("my data.yaml")
    ('a.yaml', "'my data.yaml'")
    """
    return text if re.fullmatch(r"[\w./-]+", text) else shlex.quote(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
