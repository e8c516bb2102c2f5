"""What the page is told of a data file: columns, what is open, what will be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.serving import proposing
from pytest_rageval.serving.children import OUTPUT
from pytest_rageval.serving.proposing import proposed, text_digest

PLAIN = "question,answer,reference,topic\n" + "".join(
    f"what is {at}?,a{at},a{at},{'x' if at % 2 else 'y'}\n" for at in range(6)
)


def written(folder: Path, text: str) -> Path:
    path = folder / "golden.csv"
    path.write_text(text, "utf-8")
    return path


def test_columns_say_which_field_they_are_and_why(tmp_path: Path) -> None:
    """[P4] Metadata are no field."""
    found = proposed(written(tmp_path, PLAIN), tmp_path, {})
    assert [(one["name"], one["field"]) for one in found["columns"]] == [
        ("question", "question"),
        ("answer", "answer"),
        ("reference", "references"),
        ("topic", ""),
    ]
    assert found["columns"][3]["cells"] == "texts in all rows, 2 different"
    scenario = found["scenario"]
    assert (scenario["file"], scenario["rows"], scenario["asks"]) == ("golden.rageval.yaml", 6, [])
    assert scenario["gates"] == [["weighted_score", 0.5]]
    # All of the first three answers are the reference.
    assert scenario["tried"] == {
        "rows": 3,
        "means": {**dict.fromkeys(scenario["metrics"], 1.0), "weighted_score": 1.0},
    }
    assert scenario["digest"] == text_digest(scenario["text"])


def test_a_name_is_that_of_the_scenario_and_its_file(tmp_path: Path) -> None:
    """[P4] Also one that no file can have."""
    data = written(tmp_path, PLAIN)
    scenario = proposed(data, tmp_path, {}, name="May: bots/all")["scenario"]
    assert 'name: "May: bots/all"' in scenario["text"]
    assert scenario["name"] == "May: bots/all"
    assert scenario["file"].startswith("May_ bots_all-")


@pytest.mark.full
def test_what_is_open_comes_with_the_keys_that_decide_it(tmp_path: Path) -> None:
    """[P4] Each choice works when it is taken."""
    rows = "".join(f"what is {at}?,a{at},b{at},a{at}\n" for at in range(6))
    data = written(tmp_path, f"question,gpt_answer,claude_answer,reference\n{rows}")
    found = proposed(data, tmp_path, {})
    assert found["scenario"] is None
    assert len(found["question"]["choices"]) == 3  # one, the other, both as variants
    assert len(found["columns"]) == 4
    for choice in found["question"]["choices"]:
        after = proposed(data, tmp_path, choice["keys"])
        assert after["scenario"] is not None


@pytest.mark.parametrize("text", ["", "question\n", "\0\0"])
def test_a_file_that_is_no_data_is_a_problem_in_words(tmp_path: Path, text: str) -> None:
    """[P4]"""
    found = proposed(written(tmp_path, text), tmp_path, {})
    assert found["scenario"] is None
    assert found["problem"] or found["question"]["text"]


def test_without_answers_a_module_is_shown_too(tmp_path: Path) -> None:
    """[P4] As the command writes it."""
    data = written(tmp_path, PLAIN.replace("answer,", "note,", 1))
    scenario = proposed(data, tmp_path, {"left_out": ["note"]})["scenario"]
    assert (scenario["asks"], scenario["module"]) == (["answer"], "golden_target.py")
    assert "def answer(question: str) -> str:" in scenario["module_text"]
    assert scenario["tried"] is None


def test_a_child_writes_one_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[P4] For the process that follows it."""
    monkeypatch.setenv(OUTPUT, str(tmp_path / "events"))
    data = written(tmp_path, PLAIN)
    asked = {"data": str(data), "folder": str(tmp_path), "given": {}, "name": "bot"}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    proposing.main(str(tmp_path / "asked.json"))
    [line] = (tmp_path / "events").read_text("utf-8").splitlines()
    event = json.loads(line)
    assert (event["event"], event["scenario"]["name"]) == ("proposal", "bot")
