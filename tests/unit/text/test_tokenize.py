"""D2: words, CJK characters, jieba's words."""

from __future__ import annotations

import pytest

from pytest_rageval.text.tokenize import has_cjk, split_characters, split_jieba, split_words


@pytest.mark.parametrize(
    "text", ["北京", "とうきょう", "カタカナ", "서울", "abc 京", "〇", "ㄅㄆ", "𠀀", "ｶﾅ", "豈"]
)
def test_chinese_japanese_and_korean_script_is_seen(text: str) -> None:
    """D2: whatever the script, one character of it is enough."""
    assert has_cjk(text)


@pytest.mark.parametrize(
    "text", ["", "abc", "café", "Ελληνικά", "русский", "1914–1918", "😀", "ＡＢＣ", "。！"]
)
def test_other_scripts_are_words(text: str) -> None:
    assert not has_cjk(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("北京大学", ["北", "京", "大", "学"]),
        ("AWEL是工作流１２３。", ["awel", "是", "工", "作", "流", "123"]),
        ("你好，世界！", ["你", "好", "世", "界"]),
        ("snake_case", ["snake", "case"]),
        ("서울 2024년", ["서", "울", "2024", "년"]),
        ("naïve café", ["naïve", "café"]),
        ("", []),
    ],
)
def test_each_cjk_character_is_a_token_and_other_runs_stay_whole(
    text: str, tokens: list[str]
) -> None:
    """D2."""
    assert split_characters(text) == tokens


def test_words_are_what_white_space_parts() -> None:
    assert split_words(" 54\u00a0mbit\ns ") == ["54", "mbit", "s"]


def test_jieba_words_come_without_punctuation() -> None:
    """D2: the reference file has these tokens."""
    pytest.importorskip("jieba")
    assert split_jieba("中国的首都是北京。") == ["中国", "的", "首都", "是", "北京"]
