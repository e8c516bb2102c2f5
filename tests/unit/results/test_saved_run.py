"""E15: saved runs, read back to be compared with."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from saved_file import saved_file

from pytest_rageval.errors import BaselineError
from pytest_rageval.model import MetricColumn
from pytest_rageval.results.layout import RESULTS_SCHEMA
from pytest_rageval.results.saved_run import (
    SavedRun,
    load_baseline,
    out_of_range,
)

ROWS = tomllib.loads(Path(__file__).with_name("saved_run.toml").read_text("utf-8"))

SAVED = saved_file(
    [
        {"id": "b", "question": "Q?", "scores": {"f1": 0.5}},
        {"id": "a::1", "question": None, "scores": {"f1": None}},
    ],
    judgements_sha256="abc",
    definitions={"f1": "f1 v1 (tokenizer=auto)"},
)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., SavedRun]:
    """Return a function: write ``content`` as a saved run and load it."""

    def load_saved(content: Any, known: tuple[str, ...] = ()) -> SavedRun:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / "main.json").write_bytes(raw)
        return load_baseline("main", tmp_path / "main.json", "s.yaml:5", known, "main.json")

    return load_saved


@pytest.fixture
def refused(load: Callable[..., SavedRun]) -> Callable[[Any], str]:
    def load_refused(content: Any) -> str:
        with pytest.raises(BaselineError) as caught:
            load(content)
        (problem,) = caught.value.problems
        assert problem.where == "s.yaml:5"
        return problem.message

    return load_refused


def test_what_a_comparison_needs_is_read(load: Callable[..., SavedRun]) -> None:
    found = load(SAVED)
    assert (found.name, found.shown, found.head.scenario.name) == ("main", "main.json", "qa")
    assert found.head.scenario.definitions == {"f1": "f1 v1 (tokenizer=auto)"}
    assert found.head.scenario.judgements_sha256 == "abc"
    assert list(found.samples) == ["b", "a::1"]
    assert found.samples["b"].scores == {"f1": 0.5}


def test_a_run_of_a_version_that_knew_no_definitions_is_read(
    load: Callable[..., SavedRun],
) -> None:
    """E15: files that were written before this issue have neither key."""
    found = load({**SAVED, "scenario": {"name": "qa", "path": "qa.yaml"}}).head.scenario
    assert (found.definitions, found.judgements_sha256) == ({}, "")


@pytest.mark.parametrize("schema", [2, 99, "1", None, 1.5, True])
def test_a_newer_schema_is_refused(refused: Callable[[Any], str], schema: Any) -> None:
    """E15: and what is no version number at all."""
    message = refused({**SAVED, "schema": schema})
    assert f"was written by a newer version (schema {schema!r}; this one reads 1)" in message
    assert message.endswith("Update pytest-rageval, or save the baseline again")
    assert RESULTS_SCHEMA == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([], "Expected `object`, got `array`"),
        (None, "Expected `object`, got `null`"),
        ({}, "Object missing required field `schema`"),
        ({"schema": 1}, "Object missing required field `scenario`"),
        ({**SAVED, "counts": {}}, "Object missing required field `samples` - at `$.counts`"),
        ({**SAVED, "counts": {**SAVED["counts"], "ran": 2**63}}, "`$.counts.ran`"),
        # samples that are none
        ({**SAVED, "samples": {}}, "Expected `array`, got `object` - at `$.samples`"),
        ({**SAVED, "samples": [1]}, "Expected `object`, got `int` - at `$.samples[0]`"),
        ({**SAVED, "samples": [{"scores": {}}]}, "missing required field `id` - at `$.samples[0]`"),
        ({**SAVED, "scenario": []}, "Expected `object`, got `array` - at `$.scenario`"),
        (
            {**SAVED, "scenario": {**SAVED["scenario"], "measured": {"code": {"m": 1}}}},
            "Expected `object`, got `int` - at `$[...]`",
        ),
    ],
)
def test_what_is_no_saved_run_is_refused(
    refused: Callable[[Any], str], content: Any, problem: str
) -> None:
    """E12, E15: any JSON file may be named, and none may show a traceback."""
    message = refused(content)
    assert message.startswith("baseline main.json: cannot be read as a results.json of pytest-")
    assert message.endswith(problem)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b'{"schema": 1, "samples": [{"id": "a"', b"\xff\xfe", b"PK\x03\x04"],
    ids=["empty", "brace", "cut off", "bytes", "zip"],
)
def test_a_damaged_file_is_refused(refused: Callable[[Any], str], raw: bytes) -> None:
    assert "cannot be read" in refused(raw)


def test_a_sample_that_lost_its_scores_is_refused(refused: Callable[[Any], str]) -> None:
    """Else its pair would leave the comparison in silence. No metric, no score: that is whole."""
    assert "`scores` - at `$.samples[1]`" in refused(
        saved_file([{"id": "a", "scores": {}}, {"id": "b"}])
    )


def test_samples_that_are_not_those_of_the_means_are_refused(
    load: Callable[..., SavedRun], refused: Callable[[Any], str]
) -> None:
    """A merge of git kept the head of one branch and lines of both; means are those of 1 and 0."""
    samples = [{"id": "a", "scores": {"f1": 1.0}}, {"id": "b", "scores": {"f1": 0.0}}]
    whole = saved_file(samples, ["f1"])  # says 0.5 over 2
    assert list(load(whole).samples) == ["a", "b"]
    for score, found in ((0.5, "0.7500 over 2"), (None, "1.0000 over 1")):
        mixed = [whole["samples"][0], {"index": 1, "id": "b", "scores": {"f1": score}}]
        assert refused({**whole, "samples": mixed}).endswith(
            f"it says f1 0.5000 over 2, and its samples have {found}; git may have mixed "
            "two runs: save it again"
        )


def test_a_file_with_a_byte_order_mark_is_read(load: Callable[..., SavedRun]) -> None:
    """An editor on Windows may have put it there."""
    assert load(b"\xef\xbb\xbf" + json.dumps(SAVED).encode()).head.scenario.name == "qa"


def test_very_deep_json_is_refused(refused: Callable[[Any], str]) -> None:
    assert "cannot be read" in refused(b"[" * 100_000)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.json").mkdir()
    with pytest.raises(BaselineError, match="cannot be read"):
        load_baseline("main", tmp_path / "main.json", "s.yaml:5", (), "main.json")


def missing(tmp_path: Path, name: str, known: tuple[str, ...]) -> str:
    with pytest.raises(BaselineError) as caught:
        load_baseline(name, tmp_path / f"{name}.json", "s.yaml:5", known, f"out/{name}.json")
    return str(caught.value)


def test_a_name_that_is_not_saved_lists_those_that_are(tmp_path: Path) -> None:
    """E15: with the nearest one."""
    assert missing(tmp_path, "mian", ("other", "main")) == (
        "s.yaml:5: no saved run 'mian' (out/mian.json). Did you mean 'main'? Saved: main, other"
    )


def test_without_any_saved_run_the_way_to_one_is_said(tmp_path: Path) -> None:
    assert missing(tmp_path, "main", ()).endswith(
        "None is saved yet: save it with --rag-save main, or --rag-save-failed main if the run is "
        "red"
    )


def test_of_many_saved_runs_some_are_listed(tmp_path: Path) -> None:
    text = missing(tmp_path, "zzz", tuple(f"run-{at:02d}" for at in range(30)))
    assert text.endswith(", run-19 and 10 more")
    assert "run-20" not in text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("1e308", "Expected `float` <= 1e+100 - at `$.samples[0].scores[...]`"),
        ("1e999", "Number out of range - at `$.samples[0].scores[...]`"),
        ("NaN", "NaN is no number of JSON"),
        ("-Infinity", "-Infinity is no number of JSON"),
        ("true", "Expected `float | null`, got `bool` - at `$.samples[0].scores[...]`"),
    ],
)
def test_scores_that_no_sum_can_hold_are_refused(
    refused: Callable[[Any], str], value: str, problem: str
) -> None:
    """S6: a sum of them ended the run."""
    assert refused(json.dumps(SAVED).replace('"f1": 0.5', f'"f1": {value}').encode()).endswith(
        problem
    )


def test_metadata_that_are_too_deep_are_refused(refused: Callable[[Any], str]) -> None:
    """[X3] Code that walks them would end in a RecursionError."""
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    sample = {**SAVED["samples"][0], "metadata": {"a": deep}}
    assert "sample 'b': nested more than 64 deep" in refused({**SAVED, "samples": [sample]})


def test_the_first_score_out_of_range_is_told(load: Callable[..., SavedRun]) -> None:
    """S6: metrics that the scenario does not have may be of any range; rounding is none."""
    scores: list[dict[str, float]] = [{"f1": 1.0 + 1e-10, "other": 9.0}, {"f1": 5.0}]
    samples = [{"id": f"s{at}", "index": at, "scores": one} for at, one in enumerate(scores)]
    found = load({**SAVED, "samples": samples})
    columns = [MetricColumn("f1"), MetricColumn("em")]
    message = "sample 's1': f1 5.0 is not a valid score: it must be in 0..1"
    assert out_of_range(found, columns) == message
    assert out_of_range(found, [MetricColumn("f1", ends=(1.0, 5.0))]) == ""


@pytest.mark.parametrize(
    ("key", "value"),
    ROWS["a_sample_with_a_value_of_another_type_is_refused"],
)
def test_a_sample_with_a_value_of_another_type_is_refused(
    tmp_path: Path, key: str, value: Any
) -> None:
    """[X6] With the file, instead of a TypeError wherever it is used first."""
    path = tmp_path / "main.json"
    sample = {**SAVED["samples"][0], key: value}
    path.write_text(json.dumps({**SAVED, "samples": [sample]}), "utf-8")
    with pytest.raises(
        BaselineError, match=rf"baseline main\.json: .* at `\$\.samples\[0\]\.{key}"
    ):
        load_baseline("main", path, "s.yaml", (), "main.json")
