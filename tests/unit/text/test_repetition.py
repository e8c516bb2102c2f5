"""Texts of models in a loop, and honest ones."""

from __future__ import annotations

import pytest

from pytest_rageval.text.reply_text import repeats_itself

CLAIM = '{"statement": "Albert Einstein was born on 14 March 1879.", "reason": "It says so."}, '


@pytest.mark.parametrize(
    "text",
    [
        '{"statements": [' + CLAIM * 9 + '{"statement": "Albert Ein',
        "该答案是正确的，因为上下文支持它。" * 30,
        '{"score": 3' + "\n" * 400,
        "A first sentence of its own. " + "x " * 3000,
    ],
)
def test_a_loop_is_seen(text: str) -> None:
    """[R7] Wherever it was cut off."""
    assert repeats_itself(text)
    assert repeats_itself(text[:-7])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes. Yes. Yes. Yes. Yes. Yes.",
        "[" + ", ".join(CLAIM.replace("14", str(n)) for n in range(40)),
        "An answer. " * 4 + "Then something else is said, " + " ".join(map(str, range(200))),
        " ".join(f"Claim {n} follows from the context." for n in range(100)),
    ],
)
def test_an_honest_text_is_none(text: str) -> None:
    assert not repeats_itself(text)
