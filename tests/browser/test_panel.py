"""The panel: what is typed there gives what a run with these weights gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import UserError, evaluate
from pytest_rageval.model import ScenarioResult
from pytest_rageval.scenario.overrides import Override

ROWS = [
    # (answer, document, level): the references are all "one two three four"
    ("one two three four", "a.pdf", "easy"),
    ("one two three", "a.pdf", "hard"),
    ("one two", "b.pdf", "easy"),
    ("one", "b.pdf", "hard"),
    ("five", "手册 2.pdf", "easy"),
    ("one two three four five", "手册 2.pdf", "hard"),
    (None, "a.pdf", "easy"),  # invalid: no metric can score it
    ("three four", None, "hard"),
]
SCENARIO = """
name: panel
dataset: {path: rows.jsonl, on_invalid: xfail}
metrics: [f1, em, rouge-l]
metric_weights: {f1: 0.5, em: 0.2, rouge-l: 0.3}
doc_weights: {a.pdf: 2.0, elsewhere.pdf: 3}
thresholds: {weighted_score: 0.45, f1: 0.3}
gates:
  weighted_score: 0.5
  f1: {mean: 0.6, lower_bound: 0.2}
  pass_rate: 0.5
  by: {doc_name: {weighted_score: 0.3}, level: {pass_rate: 0.4}}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"r{at}",
            "question": f"question {at}?",
            **({"answer": answer} if answer is not None else {}),
            "references": ["one two three four"],
            "doc_name": doc,
            "level": level,
        }
        for at, (answer, doc, level) in enumerate(ROWS)
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "rows.jsonl").write_text(text, "utf-8")
    (tmp_path / "panel.rageval.yaml").write_text(SCENARIO, "utf-8")
    return tmp_path / "panel.rageval.yaml"


def change(page: Any) -> None:
    """Type other weights: f1 0.1, em 2, a.pdf 0.25, no elsewhere.pdf, 手册 2.pdf 4."""
    page.get_by_role("spinbutton", name="Weight of f1", exact=True).fill("0.1")
    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("2")
    page.get_by_role("spinbutton", name="Weight of a.pdf", exact=True).fill("0.25")
    page.get_by_role("button", name="Remove the weight of elsewhere.pdf").click()
    page.get_by_label("Document to weigh").fill("手册 2.pdf")
    page.get_by_role("spinbutton", name="Weight", exact=True).fill("4")
    page.get_by_role("button", name="Add", exact=True).click()


CHANGED = [
    Override(("metric_weights", "f1"), 0.1, "test"),
    Override(("metric_weights", "em"), 2.0, "test"),
    Override(("doc_weights", "a.pdf"), 0.25, "test"),
    Override(("doc_weights", "手册 2.pdf"), 4.0, "test"),
]


def test_weights_typed_give_what_a_run_with_them_gives(
    open_report: Any, scenario: Path, same_as: Callable[[Any, ScenarioResult], None]
) -> None:
    page = open_report(evaluate(scenario))
    same_as(page, evaluate(scenario))
    change(page)
    wanted = evaluate(scenario, CHANGED)
    same_as(page, wanted)
    assert wanted.weighted_score.mean is not None
    card = page.locator(".card.whole .figure")
    assert f"{wanted.weighted_score.mean:.4f}" in card.inner_text()


def test_the_yaml_to_copy_makes_the_same_run(
    open_report: Any, scenario: Path, same_as: Callable[[Any, ScenarioResult], None]
) -> None:
    page = open_report(evaluate(scenario), permissions=["clipboard-read", "clipboard-write"])
    change(page)
    page.get_by_role("button", name="Copy YAML").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert yaml.safe_load(copied) == {
        "metric_weights": {"f1": 0.1, "em": 2, "rouge-l": 0.3},
        "doc_weights": {"a.pdf": 0.25, "手册 2.pdf": 4},
    }
    written = yaml.safe_load(scenario.read_text("utf-8")) | yaml.safe_load(copied)
    scenario.write_text(yaml.safe_dump(written, allow_unicode=True, sort_keys=False), "utf-8")
    same_as(page, evaluate(scenario))


NAMES = (
    "yes",
    "2024",
    "1e5",
    "a: b",
    '"quoted"',
    "- x",
    "\u202eevil",
    "back\\slash",
    "#",
    "~",
    "é",
)


def test_names_and_numbers_survive_in_yaml(open_report: Any, scenario: Path) -> None:
    page = open_report(evaluate(scenario))
    for name in NAMES:
        page.get_by_label("Document to weigh").fill(name)
        page.get_by_role("button", name="Add", exact=True).click()
    text = page.get_by_label("Changed YAML")
    # The page follows in its next frame, which a busy machine may draw late.
    follows = "([area, name]) => area.value.includes(name)"
    page.wait_for_function(follows, arg=[text.element_handle(), NAMES[-1]])
    found = yaml.safe_load(text.input_value())["doc_weights"]
    assert found == {"a.pdf": 2, "elsewhere.pdf": 3, **dict.fromkeys(NAMES, 2)}
    assert "\u202e" not in text.input_value()

    field = page.get_by_role("spinbutton", name="Weight of f1", exact=True)
    for weight in ("1e-7", "1e21", "0.1", "123456789"):
        field.fill(weight)
        page.evaluate("new Promise(requestAnimationFrame)")
        found = yaml.safe_load(text.input_value())["metric_weights"]
        assert found["f1"] == float(weight)


def test_what_flips_is_shown(open_report: Any, scenario: Path) -> None:
    page = open_report(evaluate(scenario))
    change(page)
    changes = page.locator(".changes")
    # em weighs most now: "one two three" scores 0 there, and falls below 0.45.
    samples = changes.locator("li", has_text="Samples").filter(has_text="passed")
    assert "failed" in samples.inner_text()
    assert "weighted_score" in changes.inner_text()
    bar = page.get_by_role("region", name="Weights changed")
    assert "Weighted score" in bar.inner_text()

    samples.get_by_role("button").click()
    shown = page.locator("#samples tbody tr")
    before = evaluate(scenario).samples
    after = evaluate(scenario, CHANGED).samples
    flipped = [
        one.sample_id
        for one, other in zip(before, after, strict=True)
        if (one.outcome, other.outcome) == ("passed", "failed")
    ]
    assert "r1" in flipped
    assert sorted(shown.locator("th").all_inner_texts()) == flipped


def test_reset_brings_the_run_back(
    open_report: Any, scenario: Path, same_as: Callable[[Any, ScenarioResult], None]
) -> None:
    page = open_report(evaluate(scenario))
    change(page)
    page.locator("#weights").get_by_role("button", name="Reset").click()
    same_as(page, evaluate(scenario))
    weight = page.get_by_role("spinbutton", name="Weight of a.pdf", exact=True)
    assert weight.input_value() == "2"
    assert page.get_by_role("region", name="Weights changed").count() == 0


def test_what_is_no_weight_is_said_and_not_used(
    open_report: Any, scenario: Path, same_as: Callable[[Any, ScenarioResult], None]
) -> None:
    page = open_report(evaluate(scenario))
    field = page.get_by_role("spinbutton", name="Weight of f1", exact=True)
    field.fill("-1")
    assert field.get_attribute("aria-invalid") == "true"
    assert page.get_by_role("alert").inner_text() == "A weight is a number, 0 or more."
    same_as(page, evaluate(scenario))
    field.fill("")  # as the run has it
    assert field.get_attribute("aria-invalid") == "false"
    same_as(page, evaluate(scenario))
    field.fill("0.5")
    assert field.get_attribute("aria-invalid") == "false"
    assert page.get_by_role("alert").inner_text() == ""


def test_all_weights_zero_are_refused_in_words(open_report: Any, scenario: Path) -> None:
    page = open_report(evaluate(scenario))
    for name in ("f1", "em", "rouge-l"):
        page.get_by_role("spinbutton", name=f"Weight of {name}", exact=True).fill("0")
    page.get_by_role("alert").filter(has_text="All metric weights are 0").wait_for()
    assert page.evaluate("rageval.state().weighted").count(None) == len(ROWS)
    assert page.get_by_role("button", name="Copy YAML").is_disabled()


def test_documents_that_all_weigh_zero_are_refused_in_words(
    open_report: Any, scenario: Path
) -> None:
    """As a run refuses them: `every row weighs 0`. Here the samples without a document, too."""
    text = scenario.with_name("rows.jsonl").read_text("utf-8")
    rows = [json.loads(line) | {"doc_name": "a.pdf"} for line in text.splitlines()]
    scenario.with_name("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    page = open_report(evaluate(scenario))
    weight = page.get_by_role("spinbutton", name="Weight of a.pdf", exact=True)
    weight.fill("0")
    page.get_by_role("alert").filter(has_text="Every sample weighs 0").wait_for()
    assert page.get_by_role("button", name="Copy YAML").is_disabled()
    with pytest.raises(UserError, match="every row weighs 0"):
        evaluate(scenario, [Override(("doc_weights", "a.pdf"), 0.0, "test")])

    page.get_by_role("button", name="Remove the weight of a.pdf").click()
    page.get_by_role("alert").filter(has_text="Every sample").wait_for(state="detached")
    assert page.get_by_role("button", name="Copy YAML").is_enabled()
