"""D1, D2, D3: the lexical metrics on small cases worked by hand."""

from __future__ import annotations

import pytest
from made_metrics import score_of
from pydantic import ValidationError

from pytest_rageval import evaluate
from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.metrics.lexical import NOTHING_LEFT
from pytest_rageval.model import Sample


@pytest.mark.parametrize(
    ("metric", "expected"), [("em", 1.0), ("acc", 1.0), ("coverem", 1.0), ("f1", 1.0)]
)
def test_the_best_of_several_references_counts(metric: str, expected: float) -> None:
    """D3."""
    assert score_of(metric, "one season", "zero", "one season", "two seasons") == expected


def test_stringem_is_the_share_of_references_that_match() -> None:
    """D1: one of three."""
    assert score_of("stringem", "x y", "x y", "x", "z") == pytest.approx(1 / 3)


def test_stringem_over_groups_is_the_share_of_groups_with_an_alias_in_the_answer() -> None:
    """D1: 1889 and "City of Light" are there, Rome is not: 2 of 3."""
    groups = (("Paris", "City of Light"), ("1889",), ("Rome",))
    found = score_of("stringem", "The city of light, 1889.", "x", groups=groups)
    assert found == pytest.approx(2 / 3)


def test_groups_are_alces_and_so_is_their_normalizer() -> None:
    """D1: squad deletes the points of U.S., ultrarag turns them into spaces."""
    groups = (("U.S.",),)
    assert score_of("stringem", "the US army", "x", groups=groups) == 1.0
    assert score_of("stringem", "the US army", "x", groups=groups, normalizer="ultrarag") == 0.0


def test_tokens_count_as_often_as_they_occur() -> None:
    """x x y against x y y: common x, y: P = R = 2/3."""
    assert score_of("f1", "x x y", "x y y") == pytest.approx(2 / 3)


def test_an_empty_answer_is_scored_and_is_wrong() -> None:
    """A19: ``""`` in JSON is an answer."""
    for metric in ("em", "acc", "coverem", "f1", "stringem"):
        assert score_of(metric, "", "Paris") == 0.0


@pytest.mark.parametrize(
    ("metric", "normalizer", "expected"),
    [
        ("f1", "ultrarag", 0.0),
        ("f1", "squad", 1.0),
        ("acc", "ultrarag", 0.0),
        ("acc", "squad", 1.0),
        ("em", "ultrarag", 1.0),
        ("em", "squad", 1.0),
    ],
)
def test_texts_that_normalise_to_nothing(metric: str, normalizer: str, expected: float) -> None:
    """D1: the two definitions disagree, see the golden cases article_only_pred."""
    assert score_of(metric, "The", "a", normalizer=normalizer) == expected


@pytest.mark.parametrize("normalizer", ["ultrarag", "squad", "unicode"])
@pytest.mark.parametrize("metric", ["acc", "coverem", "stringem", "em"])
def test_a_reference_that_normalises_to_nothing_is_in_no_answer(
    metric: str, normalizer: str
) -> None:
    """D1: it would make every answer right."""
    assert score_of(metric, "London", "-", normalizer=normalizer) == 0.0
    assert score_of(metric, "London", "Paris", "-", normalizer=normalizer) == 0.0
    groups = (("Paris",), ("-", "?"))
    assert score_of("stringem", "London", "x", groups=groups, normalizer=normalizer) == 0.0


def test_a_reference_that_normalises_to_nothing_is_said() -> None:
    """Multiple choice: "A" is an article."""
    rows = [{"answer": answer, "references": "A"} for answer in ("A", "C")]
    metrics = ["em", "acc", {"acc": {"normalizer": "unicode", "name": "kept"}}]
    right, wrong = evaluate({"name": "s", "dataset": rows, "metrics": metrics}).samples
    assert [*right.scores.values()] == [1.0, 0.0, 1.0]
    assert [*wrong.scores.values()] == [0.0, 0.0, 0.0]
    assert "em" not in right.reasons
    assert right.reasons["acc"] == wrong.reasons["em"] == NOTHING_LEFT
    assert "kept" not in wrong.reasons


def test_chinese_text_is_compared_by_character() -> None:
    """D2: 北京 in 中国北京: P = 2/4, R = 1, F1 = 2/3; as white-space words nothing is common."""
    assert score_of("f1", "中国北京", "北京") == pytest.approx(2 / 3)
    assert score_of("f1", "中国北京", "北京", tokenizer="word") == 0.0
    assert score_of("coverem", "京北", "北京") == 1.0


def test_a_reference_in_cjk_decides_for_all_texts_of_the_sample() -> None:
    """D2: "a-b" is two tokens for both tokenizers, "é.e" only for the character one."""
    assert score_of("f1", "x·y", "北京", "y") == pytest.approx(2 / 3)
    assert score_of("f1", "x·y", "y") == 0.0


def test_the_unicode_normalizer_finds_full_width_digits() -> None:
    """D2."""
    assert score_of("em", "１２３。", "123", normalizer="unicode") == 1.0
    assert score_of("em", "１２３。", "123") == 0.0


def test_an_unknown_option_or_value_is_refused() -> None:
    options = METRIC_REGISTRY.get("f1").options
    with pytest.raises(ValidationError):
        options(normalizr="squad")
    with pytest.raises(ValidationError):
        options(normalizer="sqad")


def test_metrics_of_one_sample_share_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_rageval.text import tokenize

    calls: list[str] = []
    original = tokenize.TOKENIZERS["word"]
    monkeypatch.setitem(
        tokenize.TOKENIZERS, "word", lambda text: calls.append(text) or original(text)
    )
    context = ScoringContext()
    sample = Sample("s", answer="x y", references=("x", "z"))
    for name in ("em", "f1", "coverem", "acc", "stringem", "f1"):
        definition = METRIC_REGISTRY.get(name)
        definition.make(name, definition.options()).score(sample, context)
    assert sorted(calls) == ["x", "x y", "z"]
