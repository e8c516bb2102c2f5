"""Rows of what other tools write of a run: the logs of inspect_ai, the results of promptfoo."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.text.json_value import change_texts

_LOG: Final = frozenset({"version", "status", "eval", "samples"})
_ATTACHED: Final = "attachment://"
_OF_SAMPLE: Final = ("id", "epoch", "input", "choices", "target")
_ONE_VARIABLE: Final = re.compile(r"\s*\{\{\s*(\w+)\s*\}\}\s*")


def rows_of_tool(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of a log of inspect_ai, or of promptfoo's results; None for other files."""
    if document.keys() >= _LOG and isinstance(document["samples"], list):
        return _of_inspect(document)
    results = document.get("results")
    results = results.get("results") if isinstance(results, Mapping) else results
    if isinstance(results, list) and results and all(map(is_of_promptfoo, results)):
        return [row_of_promptfoo(result) for result in results]
    return None


class FailedRow(dict[str, Any]):
    """A row that can be no sample, and why."""

    flaw = ""


def unfinished(document: Any) -> str:
    """Return what is wrong with a log of inspect_ai whose run did not succeed; "" for others."""
    if not (isinstance(document, Mapping) and document.keys() >= _LOG):
        return ""
    status, samples = document["status"], document["samples"]
    if status == "success" or not isinstance(status, str) or not isinstance(samples, list):
        return ""
    planned = _planned(document["eval"])
    missing = f"{planned - len(samples)} of {planned} samples are" if planned else "samples may be"
    if planned and planned <= len(samples):
        return f"the log of inspect_ai has the status {status!r}: its run did not end well"
    return f"the log of inspect_ai has the status {status!r}: {missing} missing; run it to its end"


def _planned(run: Any) -> int:
    """Return how many samples the run of a log was to have, 0 if unknown.

    A run over chosen ``sample_ids`` counts the whole set.
    """
    named = run if isinstance(run, Mapping) else {}
    dataset, config = _mapping(named.get("dataset")), _mapping(named.get("config"))
    count, limit, epochs = dataset.get("samples"), config.get("limit"), config.get("epochs")
    if not isinstance(count, int) or isinstance(limit, list):
        return 0
    count = min(count, limit) if isinstance(limit, int) else count
    return count * (epochs if isinstance(epochs, int) else 1)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_inspect(log: Mapping[str, Any]) -> list[Any]:
    samples = [sample for sample in log["samples"] if isinstance(sample, dict)]
    many = any(sample.get("epoch", 1) != 1 for sample in samples)
    return [
        _of_sample(sample, many=many) if isinstance(sample, dict) else sample
        for sample in log["samples"]
    ]


def _of_sample(sample: dict[str, Any], *, many: bool) -> dict[str, Any]:
    """Return the columns of a sample, without messages and events; a FailedRow if it failed.

    ``many``: each sample ran several times, so that its epoch is a part of the id.
    """
    row: dict[str, Any] = {name: sample[name] for name in _OF_SAMPLE if name in sample}
    if many:
        row |= {"id": f"{sample.get('id')}/{sample.get('epoch')}", "sample": sample.get("id")}
    output = sample.get("output")
    row["output"] = _completion(output) if isinstance(output, Mapping) else output
    row["model"] = output.get("model") if isinstance(output, Mapping) else None
    row |= {name: sample.get(name) for name in ("error", "total_time", "metadata")}
    scores = sample.get("scores")
    row["scores"] = (
        {
            name: score.get("value") if isinstance(score, Mapping) else score
            for name, score in scores.items()
        }
        if isinstance(scores, Mapping)
        else scores
    )
    attached = sample.get("attachments")
    if isinstance(attached, Mapping):
        row = dict(change_texts(row, lambda text: attached.get(text.removeprefix(_ATTACHED), text)))
    return _failed(row) if row["error"] else row


def _failed(row: dict[str, Any]) -> FailedRow:
    """Return the row of a sample that failed: what its output has is no answer."""
    error = row["error"]
    said = error.get("message") if isinstance(error, Mapping) else error
    failed = FailedRow(row | {"output": None})
    failed.flaw = f"the sample failed in inspect_ai and has no answer: {shorten(str(said))}"
    return failed


def _completion(output: Mapping[str, Any]) -> Any:
    if isinstance(output.get("completion"), str):
        return output["completion"]
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return message.get("content") if isinstance(message, Mapping) else None


def is_of_promptfoo(result: Any) -> bool:
    """Return whether an object is one result of a promptfoo run."""
    return (
        isinstance(result, dict)
        and isinstance(result.get("vars"), dict)
        and result.keys() >= {"provider", "success"}
        and not {"gradingResult", "testCase", "response"}.isdisjoint(result)
    )


def row_of_promptfoo(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a test, the output, what was expected, and promptfoo's verdict.

    A column with the name of a variable and another value begins with ``promptfoo_``.
    """
    variables = dict(result["vars"])
    return beside_variables(
        variables, {**dict(_outcome(result)), **dict(_expected(result, variables))}
    )


def beside_variables(variables: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables, and of what was ``found`` all but null and what they say already."""
    more = {
        name if name not in variables else f"promptfoo_{name}": value
        for name, value in found.items()
        if value is not None and variables.get(name) != value
    }
    return variables | more


def _outcome(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    response, grading = result.get("response"), result.get("gradingResult")
    output = response.get("output") if isinstance(response, Mapping) else response
    is_text = isinstance(output, str) or output is None
    yield "output", output if is_text else json.dumps(output, ensure_ascii=False)
    provider = result["provider"]
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    yield "provider", provider
    prompt = result.get("prompt")
    yield "prompt_label", prompt.get("label") if isinstance(prompt, Mapping) else None
    yield "success", result["success"]
    yield "score", result.get("score")
    yield "reason", grading.get("reason") if isinstance(grading, Mapping) else None
    yield "error", result.get("error")
    yield "latency_ms", result.get("latencyMs")
    yield "named_scores", result.get("namedScores") or None
    yield "test", result.get("testIdx")


def _expected(result: Mapping[str, Any], variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what ``equals``, ``contains`` and ``contains-all`` expect, as far as they are plain."""
    test = result.get("testCase")
    asserts = test.get("assert") if isinstance(test, Mapping) else None
    equal: list[Any] = []
    inside: list[Any] = []
    for check in asserts if isinstance(asserts, list) else ():
        kind = check.get("type") if isinstance(check, Mapping) else None
        if kind == "equals":
            equal += _plain(check.get("value"), variables)
        elif kind in ("contains", "contains-all"):
            values = check.get("value")
            parts = values if isinstance(values, list) else [values]
            inside += [text for part in parts for text in _plain(part, variables)]
    yield "expected", equal[0] if len(equal) == 1 else equal or None
    yield "must_include", inside or None


def _plain(value: Any, variables: Mapping[str, Any]) -> list[Any]:
    """Return a text or number, also of a variable, in a list; [] for files and other templates."""
    named = _ONE_VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if named:
        value = variables.get(named[1])
    is_template = isinstance(value, str) and ("{{" in value or "{%" in value)
    is_file = isinstance(value, str) and value.startswith("file://")
    return [value] if isinstance(value, str | int | float) and not is_template | is_file else []
