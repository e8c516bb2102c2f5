"""G2, G3: turns of MTRAG and questions of ClapNQ are read with what they say of themselves."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from others_data import others_data

from pytest_rageval import evaluate
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.model import Sample

MTRAG = """
name: mtrag
dataset: {file}
metrics: [rouge_l, refusal]
conversation: true
refusals: phrases
group_by: conversation_id
gates:
  refusal: 0.5
  by:
    answerable: {{rouge_l: 0.01}}
    last_turn: {{rouge_l: 0.01}}
"""


def samples_of(folder: Path, text: str) -> Sequence[Sample]:
    path = folder / "s.yaml"
    path.write_text(text, "utf-8")
    cases = make_plan(path).cases
    samples = [case for case in cases if isinstance(case, Sample)]
    assert len(samples) == len(cases)
    return samples


def rows_of(file: Path) -> list[dict[str, Any]]:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in raw.decode("utf-8").splitlines()]


@pytest.mark.full
def test_turns_of_mtrag_have_their_history(tmp_path: Path) -> None:
    file = others_data("data/mtrag-human/answers.jsonl.gz")
    samples = samples_of(tmp_path, MTRAG.format(file=file))
    rows = rows_of(file)
    assert [list(sample.history or ()) for sample in samples] == [row["history"] for row in rows]
    assert [sample.metadata["turn"] for sample in samples] == [row["turn"] for row in rows]
    assert Counter(sample.answerable for sample in samples) == {True: 226, False: 12, None: 4}
    last = [sample.id for sample in samples if sample.metadata["last_turn"]]
    assert len(last) == 15 * 2


@pytest.mark.full
def test_turns_of_mtrag_are_judged_by_answerable_and_last_turn(tmp_path: Path) -> None:
    file = others_data("data/mtrag-human/answers.jsonl.gz")
    path = tmp_path / "s.yaml"
    path.write_text(MTRAG.format(file=file), "utf-8")
    result = evaluate(path)
    refusal = [sample.scores["refusal"] for sample in result.samples]
    assert sum(score is None for score in refusal) == 4  # neither answerable nor not
    unanswerable = [s for s in result.samples if s.metadata.get("answerable") is False]
    assert len(unanswerable) == 12
    assert {s.scores["rouge-l"] for s in unanswerable} <= {0.0, 1.0}
    assert {gate.outcome for gate in result.gates} == {"passed"}


CLAPNQ = """
name: clapnq
dataset: {file}
metrics: [rouge_l]
target: {{type: http, url: 'http://localhost:9'}}
"""


def test_clapnq_says_which_questions_have_no_answer(tmp_path: Path) -> None:
    file = others_data("data/clapnq/dev.jsonl")
    samples = samples_of(tmp_path, CLAPNQ.format(file=file) + "refusals: phrases\n")
    rows = rows_of(file)
    assert [sample.answerable for sample in samples] == [bool(row["answerable"]) for row in rows]
    assert [sample.references is None for sample in samples] == [
        not row["references"] for row in rows
    ]
    assert Counter(sample.answerable for sample in samples) == {True: 300, False: 300}


def test_clapnq_is_read_as_before_without_the_section(tmp_path: Path) -> None:
    """Its column stays metadata, and rows without references are invalid."""
    file = others_data("data/clapnq/dev.jsonl")
    path = tmp_path / "s.yaml"
    path.write_text(CLAPNQ.format(file=file), "utf-8")
    plan = make_plan(path)
    assert Counter(isinstance(case, Sample) for case in plan.cases) == {True: 300, False: 300}
    assert {case.metadata["answerable"] for case in plan.cases} == {0, 1}
    assert any("refusals: phrases" in remark for remark in plan.info.remarks)
