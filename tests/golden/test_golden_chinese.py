"""D2: Chinese text against rouge_score with character and jieba tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.text.tokenize import split_characters, split_jieba

MEASURES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}


def test_character_tokens_are_the_references(reference: Callable[[str], Any]) -> None:
    """D2: one token a CJK character, runs of Latin letters and digits whole."""
    for case in reference("chinese_lexical.json")["cases"]:
        texts = (case["reference"], case["prediction"])
        assert [split_characters(text) for text in texts] == case["char_tokens"], case["id"]


@pytest.mark.full
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
