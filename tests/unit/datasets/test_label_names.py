"""V8: one person stays one, however a file spells the name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_rageval.datasets.labels import (
    Labelled,
    LabelReading,
    LabelRules,
    LabelScale,
    read_label_file,
)
from pytest_rageval.scenario.data_specs import DatasetSpec

DIGEST = "x0123456789ab"


def read(folder: Path, names: Sequence[str], wanted: Sequence[str] = ()) -> LabelReading:
    """Return what is read of labels of these people, of one answer each: a, b, c, ..."""
    ids = [chr(ord("a") + at) for at in range(len(names))]
    lines = [f"{one},{DIGEST},{name},1\n" for one, name in zip(ids, names, strict=True)]
    (folder / "labels.csv").write_text("id,digest,annotator,label\n" + "".join(lines), "utf-8")
    answers = {one: Labelled(DIGEST, "an answer") for one in ids}
    rules = LabelRules({"em": LabelScale([0.0, 1.0])}, (), answers, wanted)
    found = LabelReading()
    spec = DatasetSpec(path="labels.csv")
    read_label_file(spec, folder, "labels.csv", "qa.yaml", rules, found)
    return found


def people(found: LabelReading) -> set[str]:
    return {one.annotator for of in found.labels["em"].values() for one in of}


@pytest.mark.parametrize(
    "other",
    [
        "anna\u200b",  # zero-width space
        "\ufeffanna",
        "an\u00adna",  # soft hyphen
        "anna\u2060",
        "anna\ufe0f",  # variation selector
        "anna\u3164",  # Hangul filler, a letter by its category
        " anna\u00a0",
        "ANNA",
    ],
)
def test_invisible_characters_make_no_second_person(tmp_path: Path, other: str) -> None:
    """V8: the first spelling is shown."""
    assert people(read(tmp_path, ["anna", other])) == {"anna"}


def test_letters_are_composed_and_blanks_squeezed(tmp_path: Path) -> None:
    """V8: a macOS spells é with two characters."""
    assert people(read(tmp_path, ["Ren\u00e9  Roy", "Rene\u0301\u3000Roy"])) == {"Ren\u00e9 Roy"}


def test_other_names_are_other_people(tmp_path: Path) -> None:
    """V8: an accent can be seen."""
    assert people(read(tmp_path, ["anna", "an na", "ann\u00e1"])) == {"anna", "an na", "ann\u00e1"}


def test_a_name_that_cannot_be_seen_is_none(tmp_path: Path) -> None:
    """V8: as an empty cell."""
    (problem,) = read(tmp_path, ["\u200b"]).problems
    assert problem.message == "no 'annotator'; write who says so"


def test_named_annotators_are_known_by_any_spelling(tmp_path: Path) -> None:
    """V8: ``human.annotators``."""
    found = read(tmp_path, ["anna\u200b", "ben"], ["Anna"])
    assert people(found) == {"anna"}
    assert found.left_out == {"by ben, whom human.annotators does not name": 1}
