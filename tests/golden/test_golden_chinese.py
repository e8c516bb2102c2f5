"""D2: Chinese text against rouge_score with character and jieba tokens, and on real questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import evaluate
from pytest_rageval.text.tokenize import split_characters, split_jieba

MEASURES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}


def test_character_tokens_are_the_references(reference: Callable[[str], Any]) -> None:
    """D2: one token a CJK character, runs of Latin letters and digits whole."""
    for case in reference("chinese_lexical.json")["cases"]:
        texts = (case["reference"], case["prediction"])
        assert [split_characters(text) for text in texts] == case["char_tokens"], case["id"]


def test_jieba_tokens_are_the_references(reference: Callable[[str], Any]) -> None:
    """D2: jieba's words without punctuation."""
    pytest.importorskip("jieba")
    for case in reference("chinese_lexical.json")["cases"]:
        texts = (case["reference"], case["prediction"])
        assert [split_jieba(text) for text in texts] == case["jieba_tokens"], case["id"]


@pytest.mark.parametrize(
    ("tokenizer", "normalizer", "figures"),
    [
        ("char", "ultrarag", "rouge_char"),
        ("char", "unicode", "rouge_char"),
        ("auto", "ultrarag", "rouge_char"),
        ("auto", "unicode", "rouge_char"),
        ("jieba", "ultrarag", "rouge_jieba"),
        ("jieba", "unicode", "rouge_jieba"),
        # Not with NFKC before it: the full-width letters would become words that it sees.
        ("word", "ultrarag", "rouge_default"),
    ],
)
def test_rouge_on_chinese_text(
    reference: Callable[[str], Any],
    score: Callable[..., float],
    tokenizer: str,
    normalizer: str,
    figures: str,
) -> None:
    """D2: ``auto`` is ``char`` as soon as CJK script occurs; ``word`` is rouge_score's default."""
    if tokenizer == "jieba":
        pytest.importorskip("jieba")
    ours, theirs = {}, {}
    for case in reference("chinese_lexical.json")["cases"]:
        for metric, measure in MEASURES.items():
            ours[case["id"], metric] = score(
                metric,
                case["prediction"],
                [case["reference"]],
                tokenizer=tokenizer,
                normalizer=normalizer,
            )
            theirs[case["id"], metric] = case[figures][measure]
    assert ours == pytest.approx(theirs, abs=1e-12, rel=0)


@pytest.mark.parametrize(
    ("tokenizer", "figure"), [("char", "f1_char"), ("auto", "f1_char"), ("jieba", "f1_jieba")]
)
def test_f1_on_chinese_text(
    reference: Callable[[str], Any], score: Callable[..., float], tokenizer: str, figure: str
) -> None:
    """D2: F1 over characters, or over jieba's words."""
    if tokenizer == "jieba":
        pytest.importorskip("jieba")
    cases = reference("chinese_lexical.json")["cases"]
    ours = {
        case["id"]: score("f1", case["prediction"], [case["reference"]], tokenizer=tokenizer)
        for case in cases
    }
    assert ours == pytest.approx({case["id"]: case[figure] for case in cases}, abs=1e-12, rel=0)


@pytest.fixture
def cmrc_rows(shared_data: Callable[[str], Path]) -> list[dict[str, Any]]:
    import json

    text = shared_data("cmrc2018/dev_800.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _run(tmp_path: Path, rows: list[dict[str, Any]], metrics: list[str]) -> list[dict[str, Any]]:
    import json

    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(data, "utf-8")
    scenario = {"name": "cmrc", "dataset": "rows.jsonl", "metrics": metrics}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return [dict(sample.scores) for sample in evaluate(tmp_path / "s.yaml").samples]


def test_an_answer_that_is_a_reference_scores_one_on_real_chinese_text(
    cmrc_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """D2: two identical Chinese strings have ROUGE 1.0; D3: the best of several references."""
    rows = [{**row, "answer": row["references"][-1]} for row in cmrc_rows]
    scores = _run(tmp_path, rows, ["em", "f1", "rouge-1", "rouge-l"])
    assert len(scores) == 800
    perfect = {"em": 1.0, "f1": 1.0, "rouge-1": 1.0, "rouge-l": 1.0}
    assert [score for score in scores if score != pytest.approx(perfect, abs=1e-12)] == []


def test_half_of_a_reference_scores_what_a_second_definition_gives(
    cmrc_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """D2: character F1 of partial answers, recomputed from the texts alone.

    Purely Chinese references, so that the characters are the tokens and need no tokenizer here.
    """
    rows = []
    for row in cmrc_rows:
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


def test_answers_of_other_questions_score_what_a_second_definition_gives(
    cmrc_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """D2, D3: F1 over characters against all references of a row, by a definition of its own."""
    from collections import Counter

    def second_f1(answer: str, reference: str) -> float:
        common = (Counter(answer) & Counter(reference)).total()
        return 2 * common / (len(answer) + len(reference))

    pure = [
        row
        for row in cmrc_rows
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
