"""F8: languages of prompts; one that is unknown is refused."""

from __future__ import annotations

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.model_specs import check_language
from pytest_rageval.scenario.schema import Scenario


@pytest.mark.parametrize(
    "text",
    [
        *("auto", "en", "English", "zh-CN", "ZH", "zh_TW", "nl", "Swiss German"),
        *("Chinese (Taiwan)", "Lao", "Twi", "Ewe", "Min Nan", "min nan", "Twi (Akan)"),
    ],
)
def test_codes_and_english_names_are_languages(text: str) -> None:
    assert check_language(text) == text


@pytest.mark.parametrize("text", ["xx", "qqq", "QQQ", "Ga", "qqq-CN", "x1", "german?", "1234", ""])
def test_an_unknown_language_is_refused(text: str) -> None:
    """[F8] It would stand in the prompt as it is."""
    with pytest.raises(ValueError, match="unknown language"):
        check_language(text)


def test_so_it_is_for_a_judge() -> None:
    """[F8]"""
    with pytest.raises((ValueError, ScenarioError), match="unknown language 'xx'"):
        Scenario(name="s", metrics=["em"], dataset="x", judge={"model": "m", "language": "xx"})
