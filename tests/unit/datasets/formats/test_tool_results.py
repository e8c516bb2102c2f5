"""K5, K19, K26, K27: what other tools write of a run is read as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.formats.json_shapes import rows_in
from pytest_rageval.model import Sample
from pytest_rageval.scenario.recognise import is_scenario, names_promptfoo

Samples = Callable[..., list[Sample]]


def result(output: Any, **more: Any) -> dict[str, Any]:
    """Return a result of a promptfoo run."""
    return {
        "vars": {"question": "When?", "expected": "nine"},
        "provider": {"id": "openai:x", "label": "mine"},
        "prompt": {"raw": "Answer: When?", "label": "short"},
        "response": {"output": output, "cached": False},
        "success": False,
        "score": 0.5,
        "gradingResult": {"pass": False, "score": 0.5, "reason": "not equal"},
        "latencyMs": 12,
        "namedScores": {},
        "testIdx": 0,
        "testCase": {
            "assert": [
                {"type": "equals", "value": "{{expected}}"},
                {"type": "contains", "value": "open"},
                {"type": "contains", "value": "{{ a }} and {{ b }}"},
                {"type": "javascript", "value": "output.length"},
            ]
        },
        **more,
    }


ROW = {
    "question": "When?",
    "expected": "nine",
    "output": "at ten",
    "provider": "mine",
    "prompt_label": "short",
    "success": False,
    "score": 0.5,
    "reason": "not equal",
    "latency_ms": 12,
    "test": 0,
    "must_include": ["open"],
}
CONFIG = {"prompts": ["{{question}}"], "providers": ["x"], "tests": [{"vars": {}}]}
SUMMARY = {"version": 3, "timestamp": "t", "prompts": [{"raw": "x"}], "stats": {"successes": 0}}


@pytest.mark.parametrize(
    "document",
    [
        {"evalId": "e", "results": {**SUMMARY, "results": [result("at ten")]}, "config": CONFIG},
        {
            "evalId": "e",
            "results": {"version": 2, "results": [result("at ten")], "table": {"body": []}},
            "config": CONFIG,
        },
        {**SUMMARY, "results": [result("at ten")]},
    ],
    ids=["version 3", "version 2", "of its function"],
)
def test_results_of_promptfoo_are_rows(document: Any, tmp_path: Path) -> None:
    """K19: a variable keeps its name, and a template that is no variable is left out."""
    assert rows_in(document, None, "dataset") == [ROW]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), "utf-8")
    assert not names_promptfoo(path)


def test_a_configuration_is_still_one(tmp_path: Path) -> None:
    """K19."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), "utf-8")
    assert names_promptfoo(path)


def test_lines_of_promptfoo_are_rows(samples: Samples) -> None:
    """K19: eval -o out.jsonl."""
    lines = "".join(json.dumps(result(output)) + "\n" for output in ("at ten", "at nine"))
    found = samples("r.jsonl", lines, key_map={"answer": "output", "references": "expected"})
    assert [(row.answer, row.references) for row in found] == [
        ("at ten", ("nine",)),
        ("at nine", ("nine",)),
    ]


def test_an_output_that_is_no_text_is_json_and_a_failure_has_none() -> None:
    """K19: a failed call is no empty answer."""
    failed = result(None, response=None, error="time out")
    variables = {"output": "of mine", "x": 1}
    rows = rows_in(
        {"results": [result({"a": "é"}), failed, result("b", vars=variables)]}, None, "d"
    )
    assert rows[0]["output"] == '{"a": "é"}'
    assert ("output" in rows[1], rows[1]["error"]) == (False, "time out")
    assert (rows[2]["output"], rows[2]["promptfoo_output"]) == ("of mine", "b")
    assert "expected" not in rows[2]


def test_a_list_of_equal_asserts_is_expected() -> None:
    """K19: a text, a number; no file."""
    asserts = [{"type": "equals", "value": value} for value in ("a", 7, "file://x.txt")]
    test = result("a", testCase={"assert": asserts}, vars={})
    assert rows_in({"results": [test]}, None, "dataset")[0]["expected"] == ["a", 7]


def sample(epoch: int = 1) -> dict[str, Any]:
    """Return a sample of a log of inspect_ai."""
    return {
        "id": "s-1",
        "epoch": epoch,
        "input": "attachment://1f",
        "target": ["nine", "9"],
        "messages": [{"role": "user", "content": "When?"}],
        "output": {"model": "m", "choices": [{"message": {"content": "At nine."}}]},
        "scores": {"includes": {"value": "C", "answer": "nine"}, "f1": {"value": 0.4}},
        "metadata": {"topic": "hours"},
        "events": [{"event": "span"}],
        "attachments": {"1f": "When?"},
        "total_time": 0.5,
    }


def log(*samples: Any) -> dict[str, Any]:
    """Return a log with other lists of objects in it."""
    of_run = {"dataset": {"name": "x"}, "scorers": [{"metrics": [{"name": "a"}]}]}
    return {"version": 2, "status": "success", "eval": of_run, "samples": [*samples]}


def test_samples_of_inspect_are_rows(tmp_path: Path) -> None:
    """K26: without the events of the run."""
    assert rows_in(log(sample()), None, "dataset") == [
        {
            "id": "s-1",
            "epoch": 1,
            "input": "When?",
            "target": ["nine", "9"],
            "output": "At nine.",
            "model": "m",
            "error": None,
            "total_time": 0.5,
            "metadata": {"topic": "hours"},
            "scores": {"includes": "C", "f1": 0.4},
        }
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log(sample())), "utf-8")
    assert is_scenario(path) is False


def test_a_sample_that_ran_twice_is_two_rows() -> None:
    """K26: ids do not repeat."""
    rows = rows_in(log(sample(1), sample(2)), None, "dataset")
    assert [(row["id"], row["sample"]) for row in rows] == [("s-1/1", "s-1"), ("s-1/2", "s-1")]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("user:\nWhen?\n", "When?"),
        ("user:\nA user:\nwrote\n", "A user:\nwrote"),
        ("system:\nBe brief.\n\nuser:\nWhen?\n", "system:\nBe brief.\n\nuser:\nWhen?\n"),
        ("user:\nWhen?\n\nassistant:\nAt nine.\n", "user:\nWhen?\n\nassistant:\nAt nine.\n"),
    ],
)
def test_a_single_turn_of_a_frame_of_inspect_is_its_text(
    samples: Samples, text: str, question: str
) -> None:
    """K27: several turns stay as they are."""
    row = {"sample_id": "a", "eval_id": "e", "epoch": 1, "input": text}
    (found,) = samples("r.json", json.dumps([row]))
    assert found.question == question
    (other,) = samples("r.json", json.dumps([{"input": text}]))
    assert other.question == text


INDENTED = json.dumps({"question": "q1", "n": {"x": 1}}, indent=4) + "\n" + '{"question": "q2"}\n'


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.txt"])
def test_objects_one_after_the_other_are_rows(load: Callable[..., Any], name: str) -> None:
    """K27: as OpenTelemetry's console exporter writes them, with the line of each."""
    found = load(name, INDENTED)
    assert [case.question for case in found.cases] == ["q1", "q2"]
    assert list(found.lines) == [1, 7]


def test_a_broken_object_among_others_is_refused_at_its_line(
    refused: Callable[..., list[str]],
) -> None:
    """K27: no line to write that fails."""
    (problem,) = refused("r.json", INDENTED + "{broken\n")
    assert problem.startswith("r.json:8: not valid JSON: Expecting property name")


def test_a_key_twice_in_one_of_them_makes_it_invalid(invalid: Callable[..., Any]) -> None:
    """K27: as elsewhere."""
    assert [*invalid("r.json", INDENTED + '{\n "a": 1, "a": 2}\n')] == [3]


REAL = (
    *("deepeval/dataset-a.csv", "deepeval/dataset-a.json", "deepeval/dataset-a.jsonl"),
    *("deepeval/evaluation-result-a.json", "deepeval/goldens-a.csv", "deepeval/goldens-a.json"),
    *("inspect/town-a.json", "inspect/dump-a.json", "inspect/samples-a.csv"),
    "inspect/samples-a.json",
)


def test_a_sample_of_inspect_that_failed_is_an_invalid_row(load: Callable[..., Any]) -> None:
    """Its empty output is no answer."""
    failed = {**sample(2), "output": {"completion": ""}, "error": {"message": "API timeout"}}
    first, second = load("log.json", json.dumps(log(sample(1), failed))).cases
    assert isinstance(first, Sample)
    assert second.reason == "the sample failed in inspect_ai and has no answer: API timeout"


@pytest.mark.parametrize(
    ("status", "planned", "said"),
    [
        ("error", 100, "'error': 99 of 100 samples are missing"),
        ("started", None, "'started': samples may be missing"),
        ("cancelled", 1, "'cancelled': its run did not end well"),
        ("success", 1, ""),
    ],
)
def test_a_log_that_is_not_finished_says_so(
    load: Callable[..., Any], status: str, planned: int | None, said: str
) -> None:
    of_run = {"dataset": {"samples": planned}, "config": {"epochs": 1}}
    text = json.dumps({**log(sample()), "status": status, "eval": of_run})
    warnings = [one for one in load("log.json", text).warnings if "inspect_ai" in one]
    assert len(warnings) == bool(said)
    assert said in "".join(warnings)
