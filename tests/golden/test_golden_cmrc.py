"""D2, D3: scores of real Chinese answers against definitions of their own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from others_data import others_data

from pytest_rageval import evaluate

ROWS = [
    json.loads(line)
    for line in others_data("data/cmrc2018/dev_800.jsonl").read_text("utf-8").splitlines()
]


def _run(tmp_path: Path, rows: list[dict[str, Any]], metrics: list[str]) -> list[dict[str, Any]]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(data, "utf-8")
    scenario = {"name": "cmrc", "dataset": "rows.jsonl", "metrics": metrics}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return [dict(sample.scores) for sample in evaluate(tmp_path / "s.yaml").samples]


@pytest.mark.full
def test_an_answer_that_is_a_reference_scores_one_on_real_chinese_text(tmp_path: Path) -> None:
    """D2: two identical Chinese strings have ROUGE 1.0; D3: the best of several references."""
    rows = [{**row, "answer": row["references"][-1]} for row in ROWS]
    scores = _run(tmp_path, rows, ["em", "f1", "rouge-1", "rouge-l"])
    assert len(scores) == 800
    perfect = {"em": 1.0, "f1": 1.0, "rouge-1": 1.0, "rouge-l": 1.0}
    assert [score for score in scores if score != pytest.approx(perfect, abs=1e-12)] == []


def test_half_of_a_reference_scores_what_a_second_definition_gives(tmp_path: Path) -> None:
    """D2: character F1 of partial answers, recomputed from the texts alone.

    Purely Chinese references, so that the characters are the tokens and need no tokenizer here.
    """
    rows = []
    for row in ROWS:
        reference = row["references"][0]
        if len(reference) > 1 and all("一" <= character <= "鿿" for character in reference):
            half = reference[: len(reference) // 2]
            rows.append({"id": row["id"], "references": [reference], "answer": half})
    scores = _run(tmp_path, rows, ["f1", "rouge-1", "rouge-l", "em"])
    assert len(rows) > 200
    for row, score in zip(rows, scores, strict=True):
        # The half is a prefix: it has P = 1 and R = half / whole, in ROUGE-L as in F1.
        recall = len(row["answer"]) / len(row["references"][0])
        expected = 2 * recall / (1 + recall)
        assert score["f1"] == pytest.approx(expected, abs=1e-12), row["id"]
        assert score["rouge-1"] == pytest.approx(expected, abs=1e-12), row["id"]
        assert score["rouge-l"] == pytest.approx(expected, abs=1e-12), row["id"]
        assert score["em"] == 0.0


def test_answers_of_other_questions_score_what_a_second_definition_gives(tmp_path: Path) -> None:
    """D2, D3: F1 over characters against all references of a row, by a definition of its own."""

    def second_f1(answer: str, reference: str) -> float:
        common = (Counter(answer) & Counter(reference)).total()
        return 2 * common / (len(answer) + len(reference))

    pure = [
        row
        for row in ROWS
        if all("一" <= character <= "鿿" for text in row["references"] for character in text)
    ]
    rows = [
        {**row, "answer": other["references"][0]}
        for row, other in zip(pure, [*pure[1:], pure[0]], strict=True)
    ]
    scores = _run(tmp_path, rows, ["f1"])
    expected = [max(second_f1(row["answer"], text) for text in row["references"]) for row in rows]
    assert sum(0 < value < 1 for value in expected) > 50
    assert [score["f1"] for score in scores] == pytest.approx(expected, abs=1e-12)
