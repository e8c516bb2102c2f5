"""A18, A19, A20: whatever the data are, rows are samples or say why not, and nothing crashes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval import ScenarioResult, UserError, evaluate
from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.cells import parse_contexts
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.model import InvalidRow, RunInfo, Sample
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.scenario.fields import FIELD_ALIASES

Files = Callable[[Mapping[str, bytes]], Path]
RUN = RunInfo("run", "a", "b", "v")

COLUMNS = sorted({name for names in FIELD_ALIASES.values() for name in names})

json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(
            ["x", "x y", "北京", "the", "[]", "['a']", '["a"]', "nan", "=1+1", "\ud800"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
rows = st.dictionaries(
    st.one_of(st.sampled_from(COLUMNS), st.text(max_size=4)), json_values, max_size=6
)
usable_rows = st.fixed_dictionaries(
    {"answer": st.text(max_size=6), "references": st.lists(st.text(max_size=6), max_size=3)},
    optional={
        "id": st.integers(0, 3),
        "doc_name": st.sampled_from(["d1", "d2", ""]),
        "skip": st.sampled_from([True, False, "why"]),
        "xfail": st.sampled_from([True, False, "why"]),
        "contexts": json_values,
    },
)


def scenario(dataset: str, **more: Any) -> bytes:
    metrics = ["em", "f1", "stringem", "rouge-l"]
    return json.dumps(
        {"name": "s", "metrics": metrics, "dataset": {"path": dataset, **more}}
    ).encode()


def checked(path: Path) -> ScenarioResult | UserError:
    """Evaluate; a result must be consistent and, when green, have scored something."""
    try:
        result = evaluate(path)
    except UserError as error:
        return error
    counts = result.counts
    ended = (counts.passed, counts.failed, counts.error, counts.skipped, counts.xfailed)
    assert sum(ended) == counts.ran == counts.samples == len(result.samples)
    assert len({sample.sample_id for sample in result.samples}) == counts.samples
    green = all(gate.outcome != "failed" for gate in result.gates) and not (
        counts.failed or counts.error
    )
    assert not (green and counts.scored == 0), "green, and nothing was scored"
    for summary in (*result.metrics.values(), result.weighted_score):
        if summary.mean is not None:
            assert 0.0 <= summary.mean <= 1.0 + 1e-9
    return result


def as_lines(data: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in data).encode("utf-8", "surrogatepass")


@pytest.mark.full
@given(data=st.lists(st.one_of(rows, usable_rows, json_values), max_size=5))
def test_any_rows_of_json(files: Files, data: list[Any]) -> None:
    """A17, A19, A20: as JSON Lines and as a list."""
    checked(files({"s.yaml": scenario("r.jsonl"), "r.jsonl": as_lines(data)}))
    listed = json.dumps(data).encode()
    checked(files({"s.yaml": scenario("r.json", on_invalid="xfail"), "r.json": listed}))


@pytest.mark.full
@given(data=st.lists(st.one_of(rows, usable_rows), min_size=1, max_size=5))
def test_any_rows_inline(files: Files, data: list[Any]) -> None:
    """A18, A20: in the scenario itself."""
    tree = {"name": "s", "metrics": ["em", "f1"], "dataset": data}
    text = yaml.safe_dump(tree, allow_unicode=True)
    checked(files({"s.yaml": text.encode("utf-8", "replace")}))


@pytest.mark.full
@given(
    data=st.lists(usable_rows, min_size=1, max_size=6),
    keys=st.fixed_dictionaries(
        {},
        optional={
            "on_invalid": st.sampled_from(["fail", "skip", "xfail"]),
            "limit": st.integers(1, 8),
            "shuffle": st.booleans(),
        },
    ),
    more=st.fixed_dictionaries(
        {},
        optional={
            "thresholds": st.sampled_from([{"f1": 0.5}, {"weighted_score": {"max": 0.2}}]),
            "gates": st.sampled_from(
                [{"unscored": 1.0}, {"f1": 0.0}, {"by": {"doc_name": {"f1": 0}}}]
            ),
            "metric_weights": st.sampled_from([{"f1": 0}, {"em": 0}, {"em": 3}]),
            "doc_weights": st.sampled_from([{"d1": 0}, {"d1": 0, "d2": 0}, {"d2": 5}]),
        },
    ),
)
def test_no_run_is_green_for_nothing(
    files: Files, data: list[Any], keys: dict[str, Any], more: dict[str, Any]
) -> None:
    """A20: skipped, expected to fail, without weight, invalid: something must have been scored."""
    for row in data:
        row.pop("id", None)
    text = {"name": "s", "metrics": ["em", "f1"], "dataset": {"path": "r.jsonl", **keys}, **more}
    checked(files({"s.yaml": json.dumps(text).encode(), "r.jsonl": as_lines(data)}))


@pytest.mark.full
@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.csv", "r.tsv"])
@given(content=st.one_of(st.binary(max_size=120), st.text(max_size=60).map(str.encode)))
def test_any_bytes_as_a_data_file(files: Files, name: str, content: bytes) -> None:
    """A18, A19."""
    checked(files({"s.yaml": scenario(name), name: content}))


delimited = st.lists(
    st.sampled_from(
        ["answer", "references", "x", ",", "\n", '"', "\r\n", "\r", "\t", " ", "\0", "é"]
    ),
    max_size=25,
).map("".join)


@pytest.mark.full
@pytest.mark.parametrize("name", ["r.csv", "r.tsv"])
@given(body=delimited)
def test_any_table_below_a_valid_header(files: Files, name: str, body: str) -> None:
    """A19."""
    mark = "," if name == "r.csv" else "\t"
    content = f"answer{mark}references\n{body}".encode()
    checked(files({"s.yaml": scenario(name), name: content}))


@pytest.mark.full
@given(content=st.binary(max_size=80), cut=st.integers(0, 100), flip=st.integers(0, 10**6))
def test_any_damaged_gzip(files: Files, content: bytes, cut: int, flip: int) -> None:
    """A18."""
    packed = bytearray(gzip.compress(b'{"answer": "x", "references": ["x"]}\n' + content, mtime=0))
    packed[flip % len(packed)] ^= 1 << (flip % 8)
    damaged = bytes(packed[: max(0, len(packed) - cut)])
    checked(files({"s.yaml": scenario("r.jsonl.gz"), "r.jsonl.gz": damaged}))


@pytest.mark.full
@pytest.mark.parametrize(("name", "package"), [("r.xlsx", "openpyxl"), ("r.parquet", "pyarrow")])
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.binary(max_size=40).map(lambda body: b"PK\x03\x04" + body),
        st.binary(max_size=40).map(lambda body: b"PAR1" + body + b"PAR1"),
    )
)
def test_any_bytes_as_a_binary_data_file(
    files: Files, name: str, package: str, content: bytes
) -> None:
    """A18."""
    pytest.importorskip(package)
    checked(files({"s.yaml": scenario(name), name: content}))


@given(encoding=st.text(max_size=12), name=st.sampled_from(["r.jsonl", "r.json", "r.csv"]))
def test_any_name_of_an_encoding(files: Files, encoding: str, name: str) -> None:
    """A18."""
    checked(files({"s.yaml": scenario(name, encoding=encoding), name: b"answer\nx\n"}))


@given(
    key_map=st.dictionaries(st.sampled_from([*COLUMNS, "gt_ls"]), st.text(max_size=6), max_size=3)
)
def test_any_key_map(files: Files, key_map: dict[str, str]) -> None:
    """D7."""
    content = as_lines([{"answer": "x", "references": ["x"], "a": {"b": "c"}}])
    checked(files({"s.yaml": scenario("r.jsonl", key_map=key_map), "r.jsonl": content}))


@given(fields=rows, tabular=st.booleans())
def test_any_row_is_a_sample_or_says_why_not(fields: dict[str, Any], tabular: bool) -> None:
    """A19: and a sample's fields are what their types say."""
    case = KeyMap({}).case(Row(3, 4, fields, tabular), 2)
    assert (case.index, case.row) == (2, 3)
    assert case.id
    if isinstance(case, InvalidRow):
        assert case.reason
        assert case.line == 4
        return
    for text in (case.question, case.answer, case.doc_name):
        assert text is None or isinstance(text, str)
    for texts in (case.contexts, case.references, case.reference_contexts, case.tags):
        assert texts is None or all(isinstance(text, str) for text in texts)
    assert case.references != ()
    assert json.dumps(dict(case.metadata), allow_nan=False)


def test_a_broken_row_is_an_invalid_row() -> None:
    case = KeyMap({}).case(BrokenRow(3, 4, "why", "raw"), 2)
    assert case == InvalidRow("sample-3", 2, 3, 4, "why", "raw")


@given(value=json_values)
def test_contexts_of_anything_are_texts_that_are_not_blank(value: Any) -> None:
    """A18."""
    try:
        found = parse_contexts(value)
    except ValueError:
        return  # its own error, which makes the row invalid; no other kind passes here
    assert all(isinstance(text, str) and text == text.strip() != "" for text in found)


@pytest.mark.full
@given(data=st.lists(st.one_of(rows, usable_rows), min_size=1, max_size=4))
def test_any_result_can_be_written(
    files: Files, tmp_path_factory: pytest.TempPathFactory, data: list[Any]
) -> None:
    """A12: as JSON that every reader takes."""

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    found = checked(files({"s.yaml": scenario("r.jsonl"), "r.jsonl": as_lines(data)}))
    if isinstance(found, ScenarioResult):
        folder = write_run(found, RUN, tmp_path_factory.mktemp("w"), tmp_path_factory.mktemp("o"))
        text = (folder / "results.json").read_text("utf-8")
        assert len(json.loads(text, parse_constant=refuse)["samples"]) == len(found.samples)
        assert isinstance(found.samples[0], object)
        for name in ("scores.csv", "invalid.csv", "summary.md", "metadata.json"):
            (folder / name).read_text("utf-8")


@pytest.mark.full
@given(data=st.lists(usable_rows, min_size=1, max_size=6), seed=st.integers(0, 5))
def test_ids_are_unique_and_independent_of_the_order(
    files: Files, data: list[Any], seed: int
) -> None:
    """A2: a shuffled run has the same cases under the same ids."""
    for row in data:
        row.pop("id", None)
    content = {"r.jsonl": as_lines(data)}
    plain = checked(files({"s.yaml": scenario("r.jsonl"), **content}))
    mixed = checked(files({"s.yaml": scenario("r.jsonl", shuffle=True, seed=seed), **content}))
    if isinstance(plain, ScenarioResult) and isinstance(mixed, ScenarioResult):
        assert {sample.sample_id: sample.scores for sample in plain.samples} == {
            sample.sample_id: sample.scores for sample in mixed.samples
        }
    else:
        assert type(plain) is type(mixed)


def test_a_usable_row_is_a_sample() -> None:
    """The strategies above do reach samples."""
    case = KeyMap({}).case(Row(1, 1, {"answer": "x", "references": ["x"]}), 0)
    assert isinstance(case, Sample)
