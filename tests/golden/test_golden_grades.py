"""G8: replies with a grade from 0 to 3, as UMBRELA's judges write them, read as a person would."""

from __future__ import annotations

import json
from typing import Any

import pytest
from others_data import others_data

from pytest_rageval.metrics.filling import read_grade

SENTENCES = {"reply_33"}
"""Where a person would take a number out of a sentence, the judge is asked again."""


def cases() -> list[dict[str, Any]]:
    found = json.loads(others_data("reference/answers.json").read_text("utf-8"))
    return list(found["families"]["umbrela_replies"]["cases"])


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_a_grade_is_read_or_asked_for_again(case: dict[str, Any]) -> None:
    try:
        found: int | None = read_grade(case["reply"])
    except ValueError:
        found = None
    assert found == (None if case["id"] in SENTENCES else case["rule"])
