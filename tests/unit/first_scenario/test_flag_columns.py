"""K9, E22: columns of yes and no, or 1 and 0, are compared only with what says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proposals import proposed, refused

FLAGS = ("yes", "no", "yes", "no")
BITS = (1, 0, 1, 0)
SHORT = ("five days", "no fee", "the shop", "in Paris")
PROSE = tuple(f"As far as the shop can tell you, that is {text}." for text in SHORT)
COUNTED = tuple(f"There are 2 boxes less {2 - bit}, so that makes {bit}." for bit in BITS)
CITED = tuple(f"{text} [1]" for text in PROSE)
AGREED = tuple(f"Yes, {text}" for text in PROSE)
LABELLED = tuple(f"Label: {bit}\nReason: 2 insults in 3 lines." for bit in BITS)
STEPS = tuple(f"Step 1: {text}. Step 2: wait 30 days." for text in SHORT)
REASONED = tuple(f"There is no doubt of the 2 rules, so it is {flag}." for flag in FLAGS)
HELD = tuple([text] for text in SHORT)


def of_columns(**columns: Any) -> list[dict[str, Any]]:
    columns = {"question": ("Is it?", "And so?", "Who pays?", "How?"), **columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        ({"prediction": FLAGS, "reference": FLAGS}, "prediction reference"),
        ({"response": FLAGS, "reference": ("Yes.", "no", "maybe", "no")}, "response reference"),
        ({"pred_answer": FLAGS, "reference": (["yes"], ["no", "x"]) * 2}, "pred_answer reference"),
        ({"response": ("ja", "nein") * 2, "reference": ("Ja", "Nein") * 2}, "response reference"),
        ({"answer": FLAGS, "expected": ("Yes, in 5 days", "No", "So", "So")}, "answer expected"),
        ({"prediction": FLAGS, "expected": BITS}, "prediction expected"),
        ({"prediction": FLAGS, "reference": FLAGS, "must_include": HELD}, "prediction reference"),
        ({"prediction": BITS, "expected": ("1", "0") * 2}, "prediction expected"),
        ({"prediction": BITS, "expected": (3, 1, 2, 0)}, "prediction expected"),
        ({"prediction": BITS, "expected": (30, 12, 25, 7)}, "prediction expected"),
        ({"response": BITS, "expected": ("good: 1", "bad: 0") * 2}, "response expected"),
        ({"response": ("1", "N/A", "0", "1"), "expected": BITS}, "response expected"),
        ({"response": COUNTED, "expected": BITS}, "response expected"),
        ({"response": LABELLED, "expected": BITS}, "response expected"),
        ({"response": LABELLED, "expected": ("1.0", "0.0") * 2}, "response expected"),
        ({"prediction": BITS, "expected": LABELLED}, "prediction expected"),
        ({"prediction": FLAGS, "expected": REASONED}, "prediction expected"),
        ({"response": PROSE, "expected": (3, 1, 2, 0)}, "response expected"),
        ({"response": PROSE, "reference": BITS}, "response reference"),
        ({"response": PROSE, "reference": FLAGS}, "response reference"),
        ({"response": PROSE, "expected": SHORT, "is_correct": BITS}, "response expected"),
        ({"expected": BITS}, "- expected"),
        ({"expected": BITS, "answer_explanation": PROSE}, "- expected"),
        ({"answer": FLAGS, "must_satisfy": PROSE}, "answer -"),
    ],
)  # fmt: skip
def test_flags_are_compared_with_flags(
    tmp_path: Path, columns: dict[str, Any], fields: str
) -> None:
    """And numbers with numbers; none of it is asked about."""
    found = proposed(tmp_path, of_columns(**columns))
    served = {name: one.column for name, one in found.mapped.fields.items()}
    assert f"{served.get('answer', '-')} {served.get('references', '-')}" == fields


@pytest.mark.parametrize(
    ("columns", "flag"),
    [
        ({"expected": SHORT, "prediction": FLAGS}, "answer=prediction"),
        ({"expected": PROSE, "prediction": ("1", "0", "1", "1")}, "answer=prediction"),
        ({"reference": SHORT, "prediction": ("True", "False") * 2}, "answer=prediction"),
        ({"expected": SHORT, "answer": BITS}, "answer=answer"),
        ({"expected": STEPS, "answer": BITS}, "answer=answer"),
        ({"expected": REASONED, "prediction": FLAGS[::-1]}, "answer=prediction"),
        ({"must_include": HELD, "answer": FLAGS}, "answer=answer"),
        ({"must_include": HELD, "response": PROSE, "expected": BITS}, "references=expected"),
        ({"must_include": HELD, "response": PROSE, "expected": FLAGS}, "references=expected"),
    ],
)
def test_a_flag_beside_texts_is_taken_only_by_an_option(
    tmp_path: Path, columns: dict[str, Any], flag: str
) -> None:
    """K9: a reader that takes it by its name is no reason to measure it."""
    rows = of_columns(**columns)
    found, (field, column) = proposed(tmp_path, rows), flag.split("=")
    assert field not in found.mapped.fields
    assert found.measures.asks == (("answer",) if field == "answer" else ())
    (line,) = found.open_lines
    assert line.startswith(f"{column!r} says yes and no, or 1 and 0, beside texts in ")
    assert line.endswith(f"; to take it nevertheless: --rag-set=dataset.key_map.{flag}")
    taken = proposed(tmp_path, rows, {"key_map": {field: column}})
    assert taken.mapped.fields[field].column == column


@pytest.mark.parametrize(
    "columns",
    [
        {"response": PROSE, "expected": BITS},
        {"response": SHORT, "expected": ("1.0", "0.0", "1.0", "1.0")},
        {"response": CITED, "expected": BITS},
        {"response": AGREED, "expected": BITS},
        {"response": STEPS, "expected": BITS},
        {"response": [f"1. {text}\n2. Pay 30 euros." for text in SHORT], "expected": BITS},
        {"response": [f"{text}, within 1 year or 30 days" for text in SHORT], "expected": BITS},
        {"response": [f"{text} [1], and [0] says 30" for text in SHORT], "expected": BITS},
        {"response": STEPS, "expected": (1, 1, 1, 1)},
        {"response": LABELLED, "expected": BITS[::-1]},
        {"response": (*PROSE[:3], None), "expected": (*BITS[:3], None)},
    ],
)
def test_0_and_1_beside_answers_are_asked_about(tmp_path: Path, columns: dict[str, Any]) -> None:
    """As yes and no are: whether people found the answers right, or the gold."""
    message = refused(tmp_path, of_columns(**columns))
    assert "no gold: no column says what is right" in message
    assert "'expected' is the right answer, add --rag-set=dataset.key_map.references=exp" in message


@pytest.mark.parametrize("answer", [PROSE, SHORT])
def test_0_and_1_beside_a_bare_answer_make_it_no_gold(tmp_path: Path, answer: Any) -> None:
    columns = {"question": [f"{at}?" for at in range(20)], "answer": answer * 5}
    message = refused(tmp_path, of_columns(**columns, expected=BITS * 5))
    assert "'answer' may be the right answer, or what a system said" in message
    columns["answer"] = SHORT * 5
    found = proposed(tmp_path, of_columns(**columns, has_reference=BITS * 5))
    assert found.mapped.fields["references"].column == "answer"
