"""Files that other tools wrote: what is proposed for them is right, or it is asked.

They are outside of the repository: ``shared/data/real-exports``, whose ``content.json`` holds the
truth. Traces have tests of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from others_data import others_data

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.first_scenario.propose import propose
from pytest_rageval.first_scenario.questions import UndecidedError
from pytest_rageval.model import Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

READ: Final = {
    "deepeval/dataset-a.csv": "answer references contexts reference_contexts",
    "deepeval/dataset-a.json": "answer references contexts reference_contexts",
    "deepeval/dataset-a.jsonl": "answer references contexts reference_contexts",
    "deepeval/evaluation-result-a.json": "answer references contexts reference_contexts",
    "deepeval/goldens-a.csv": "references",
    "deepeval/goldens-a.json": "references",
    "haystack/detailed-a.csv": "answer references contexts",
    "haystack/detailed-a.json": "answer references contexts",
    "inspect/dump-a.json": "answer references",
    "inspect/town-a.json": "answer references",
    "langfuse-langsmith/langsmith-a-evaluate.csv": "answer references contexts",
    "langfuse-langsmith/langsmith-a-evaluate.json": "answer references contexts",
    "mlflow/eval-a.csv": "answer references",
    "mlflow/eval-a.json": "answer references",
    "phoenix/experiment-a.csv": "answer references",
    "phoenix/experiment-a.json": "answer references",
    "phoenix/hand-a.csv": "answer contexts",
    "phoenix/li-a.parquet": "answer contexts",
    "otel/hand-a-console.json": "answer contexts",
    "ragas/dataset-a.csv": "answer references contexts reference_contexts",
    "ragas/dataset-a.jsonl": "answer references contexts reference_contexts",
    "ragas/dataset-a.parquet": "answer references contexts reference_contexts",
    "ragas/result-a.csv": "answer references contexts reference_contexts",
    "ragas/result-a.json": "answer references contexts reference_contexts",
    "ragas/result-a.parquet": "answer references contexts reference_contexts",
}
"""File -> the fields that it is read with; each value is that of ``content.json``."""

ASKED: Final = {
    "langfuse-langsmith/langsmith-a-examples.jsonl": "outputs.answer",
    "phoenix/dataset-a-examples.json": "output.answer",
    "phoenix/dataset-a-jsonl.jsonl": "output.answer",
    "phoenix/dataset-a.csv": "output.answer",
}
"""File -> the column of which it is asked whether it is the gold; with that it is read."""


@cache
def truth() -> dict[str, Any]:
    content = json.loads((others_data("data/real-exports") / "content.json").read_text("utf-8"))
    passages = {passage["text"]: passage["id"] for passage in content["passages"]}
    return {"rows": {row["question"]: row for row in content["rows"]}, "passages": passages}


def samples_of(name: str, tmp_path: Path, given: dict[str, Any]) -> Iterator[Sample]:
    """Yield the samples that the proposed scenario reads."""
    file = others_data("data/real-exports") / name
    text = propose(file, tmp_path, given).text
    spec = DatasetSpec.model_validate({**yaml.safe_load(text)["dataset"], "path": file.name})
    cases = load_dataset(spec, file.parent, "x.yaml").cases
    return (case for case in cases if isinstance(case, Sample))


def check(sample: Sample) -> set[str]:
    """Compare what a sample has with the truth, and return the fields that it has."""
    row, passages = truth()["rows"][sample.question], truth()["passages"]
    fields = set()
    if sample.answer is not None:
        assert sample.answer.strip() == row["answer"]
        fields.add("answer")
    if sample.references:
        assert {*sample.references} <= {*row["references"]}
        fields.add("references")
    if sample.contexts:
        assert [text for text in sample.contexts if text not in passages] == []
        fields.add("contexts")
    if sample.reference_contexts:
        assert [passages[text] for text in sample.reference_contexts] == row["gold_passages"]
        fields.add("reference_contexts")
    return fields


@pytest.mark.full
@pytest.mark.parametrize("name", READ)
def test_what_other_tools_write_is_read(name: str, tmp_path: Path) -> None:
    """K5, K13, K25 to K27: question, answer, gold and passages, each as it was made."""
    fields = [check(sample) for sample in samples_of(name, tmp_path, {})]
    assert fields
    assert set.union(*fields) == {*READ[name].split()}


@pytest.mark.full
@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_may_be_the_gold_is_asked_about(name: str, tmp_path: Path) -> None:
    """Data sets of tracing tools call the right answer an output: one line says so."""
    file = others_data("data/real-exports") / name
    line = f"--rag-set=dataset.key_map.references={ASKED[name]}"
    with pytest.raises(UndecidedError, match=re.escape(line)):
        propose(file, tmp_path, {})
    given = {"key_map": {"references": ASKED[name]}}
    assert {frozenset(check(one)) for one in samples_of(name, tmp_path, given)} == {
        frozenset({"references"})
    }


@pytest.mark.parametrize(
    "name",
    [
        "haystack/aggregated-a.csv",
        "inspect/messages-a.csv",
        "phoenix/dataset-a-jsonl-openai_ft.jsonl",
        "phoenix/hand-a-annotations.csv",
        "phoenix/hand-a-documents.csv",
        "phoenix/hand-a-roots.csv",
        "phoenix/lc-a-few-rest-traces.json",
    ],
)
def test_what_cannot_be_measured_is_refused(name: str, tmp_path: Path) -> None:
    """Scores alone, messages, annotations, passages without answers, traces without contexts."""
    with pytest.raises(ScenarioError):
        propose(others_data("data/real-exports") / name, tmp_path, {})


@pytest.mark.full
@pytest.mark.parametrize("name", ["inspect/samples-a.csv", "inspect/samples-a.json"])
def test_joined_targets_are_asked_about(name: str, tmp_path: Path) -> None:
    """K27: inspect's data frames join them by commas, which may also be in a text."""
    file = others_data("data/real-exports") / name
    (line,) = (line for line in propose(file, tmp_path, {}).open_lines if "divide" in line)
    assert "--rag-set=dataset.split.references=','" in line
    given = {"split": {"references": ","}}
    for sample in samples_of(name, tmp_path, given):
        row = truth()["rows"][sample.question]
        assert list(sample.references or ()) == ",".join(row["references"]).replace(
            ", ", ","
        ).split(",")
