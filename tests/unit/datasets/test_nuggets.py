"""G7: nuggets of a row are read where a metric wants them, in every format, and refused if odd."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.answer_fields import read_answer_fields
from pytest_rageval.datasets.cells import BadValueError
from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.datasets.plain_sample import NoSampleError, plain_sample
from pytest_rageval.datasets.save import columns_of, row_of, rows_text
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.row_digests import reference_digests
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

READ = frozenset({"nuggets"})
HEAD = "name: s\njudge: {{model: m, base_url: 'http://127.0.0.1:1'}}\nmetrics: [{metric}]\n"
VITAL = {"text": "30 days", "importance": "vital"}
OKAY = {"text": "原包装", "importance": "okay"}


def read(value: Any, **row: Any) -> dict[str, Any]:
    return read_answer_fields({"nuggets": value, **row}, READ, {"nuggets": "nuggets"})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["30 days", OKAY], (VITAL, OKAY)),
        ([{"text": " 30 days ", "assignment": "support"}], (VITAL,)),
        ([{"text": "30 days", "importance": None}], (VITAL,)),
        ('["30 days", {"text": "原包装", "importance": "okay"}]', (VITAL, OKAY)),
        (("30 days",), (VITAL,)),
        ([], None),
        ("", None),
        (" [] ", None),
    ],
)
def test_a_list_of_texts_or_objects_is_read(written: Any, expected: Any) -> None:
    assert read(written).get("nuggets") == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("30 days; original packaging", 'must be a list of texts.*write \\["first", "second"\\]'),
        (VITAL, "must be a list"),
        ([3], r"nuggets\[0\] must be a text that is not blank, found 3"),
        (["a", " "], r"nuggets\[1\] must be a text that is not blank"),
        ([{"importance": "vital"}], r"nuggets\[0\] must be a text"),
        ([{**VITAL, "importance": "failed"}], "importance must be vital or okay, found 'failed'"),
        ([{**VITAL, "importance": ["vital"]}], "importance must be vital or okay"),
        (["30 days", {"text": "30 Days.", "importance": "okay"}],
         r"nuggets\[1\] says the same as nuggets\[0\], '30 Days.'"),
        (["３０天", "30天。"], "says the same as"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_different_nuggets_is_refused(written: Any, message: str) -> None:
    with pytest.raises(BadValueError, match=message):
        read(written)


def test_signs_make_nuggets_differ() -> None:
    texts = ["C", "C++", "C#", "-5 degrees", "5 degrees", "+", "!", "?"]
    assert [nugget["text"] for nugget in read(texts)["nuggets"]] == texts


def test_the_answer_may_be_written_as_trec_does() -> None:
    parts = [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": []}]
    assert read(["30 days"], answer=parts)["answer"] == "One. Two."
    parts[1]["citations"] = [0.5]
    with pytest.raises(BadValueError, match="answer: expected a whole number as a source, found"):
        read(["30 days"], answer=parts)


def test_they_are_metadata_until_a_metric_wants_them(plan: Callable[..., Plan]) -> None:
    data = "dataset: [{question: q, answer: a, references: [a], nuggets: [x]}]\n"
    bare = plan("name: s\nmetrics: [em]\n" + data)
    assert bare.cases[0].metadata == {"nuggets": ["x"]}
    assert "column 'nuggets' is not read: write 'metrics: [nugget_recall]'" in bare.info.remarks[0]
    for metric in ("nugget_recall", "all_score", "'nugget_recall(of=\"all\")'"):
        found = plan(HEAD.format(metric=metric) + data)
        (case,) = found.cases
        assert isinstance(case, Sample)
        assert case.nuggets == ({"text": "x", "importance": "vital"},)
        assert not case.metadata
        assert not found.info.remarks
    mapped = (
        "dataset: {rows: [{answer: a, references: [a], facts: [x]}], key_map: {nuggets: facts}}"
    )
    (case,) = plan("name: s\nmetrics: [em]\n" + mapped).cases
    assert isinstance(case, Sample)
    assert case.nuggets is not None


def test_an_odd_list_is_an_invalid_row_with_its_line(plan: Callable[..., Plan]) -> None:
    rows = [{"answer": "a", "nuggets": ["x"]}, {"answer": "a", "nuggets": ["x", "X."]}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found = plan(HEAD.format(metric="nugget_recall") + "dataset: d.jsonl\n", {"d.jsonl": text})
    assert isinstance(found.cases[1], InvalidRow)
    assert found.cases[1].line == 2
    assert "says the same as" in found.cases[1].reason


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_saved_rows_read_back(tmp_path: Path, suffix: str) -> None:
    samples = [Sample("a", answer="x", nuggets=(VITAL, OKAY)), Sample("b", answer="y")]
    rows = [row_of(sample, columns_of({})) for sample in samples]
    path = tmp_path / f"rows{suffix}"
    path.write_text("".join(rows_text(rows, suffix)), encoding="utf-8", newline="")
    found = load_dataset(DatasetSpec(path=path.name), tmp_path, "s.yaml:1", of_answers=READ)
    nuggets = [case.nuggets for case in found.cases if isinstance(case, Sample)]
    assert nuggets == [(VITAL, OKAY), None]


def test_the_list_has_a_digest() -> None:
    digests = [
        reference_digests(Sample("a", nuggets=nuggets)).get("nuggets")
        for nuggets in ((VITAL,), (OKAY,), ({**VITAL, "importance": "okay"},), None)
    ]
    assert len(set(digests)) == 4
    assert digests[-1] is None


def test_samples_of_user_code_have_whole_nuggets() -> None:
    listed: Any = [VITAL]
    assert plain_sample(Sample("a", nuggets=listed)).nuggets == (VITAL,)
    odd: Any = ("30 days",)
    with pytest.raises(NoSampleError, match="whose nuggets must be a list of {text"):
        plain_sample(Sample("a", nuggets=odd))
