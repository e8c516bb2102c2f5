"""The words of the pages in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_data import words_of

from pytest_rageval.reports.page import assemble
from pytest_rageval.serving import web

APP = Path(web.__file__).with_name("assets") / "app_words.js"
REPORT = ("words.js", "variant_words.js", "support_words.js")


def words_in(name: str) -> list[list[tuple[str, str]]]:
    return words_of(APP.read_text("utf-8") if name == APP.name else assemble.asset(name))


@pytest.mark.parametrize(
    ("name", "least"), [*zip(REPORT, (140, 50, 50), strict=True), (APP.name, 80)]
)
def test_both_languages_have_the_same_words_with_the_same_places(name: str, least: int) -> None:
    """[A24] Each key once: the second would take the place of the first without a word."""
    places = []
    for words in words_in(name):
        assert len(words) > least
        places.append({key: set(re.findall(r"\{\w+\}", said)) for key, said in words})
        assert len(places[-1]) == len(words)
    assert places[0] == places[1]


def test_no_key_is_in_two_files_of_the_report() -> None:
    keys = [key for name in REPORT for key, _ in words_in(name)[0]]
    assert len(set(keys)) == len(keys)
