"""E20: variants together: what they share before a run, and the ranking that is saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.model import RankedVariant, Ranking, VariantPair
from pytest_rageval.reports.write_run import ranking_dict
from pytest_rageval.serving.verdicts import joint_verdict, merged, read_ranking, shown_ranking
from pytest_rageval.serving.web.live_runs import verdict_of
from pytest_rageval.text.codec import to_json


def outline(weights: dict[str, float], samples: int = 4, **more: Any) -> dict[str, Any]:
    return {
        "name": "qa",
        "samples": samples,
        "invalid": 0,
        "metrics": [{"name": name, "weight": weight} for name, weight in weights.items()],
        "doc_weights": {},
        "docs": {},
        "compare": [],
        "asks": [],
        "warnings": [],
        **more,
    }


def test_what_all_variants_share_can_be_weighed() -> None:
    """[E20] em weighs otherwise in one, rouge-l is in one only: an option would not fit both."""
    found = merged(
        [
            outline({"f1": 1, "em": 2}, doc_weights={"a": 2, "b": 1}, docs={"a": 3, "b": 1}),
            outline({"f1": 1, "em": 3, "rouge-l": 1}, 6, doc_weights={"a": 2}, docs={"a": 4}),
        ]
    )
    assert [one["name"] for one in found["metrics"]] == ["f1"]
    assert (found["doc_weights"], found["docs"]) == ({"a": 2}, {"a": 3})
    assert found["own_weights"] == ["em", "rouge-l", "b"]
    assert found["samples"] == 6


def test_each_baseline_of_any_variant_is_named() -> None:
    """F7: once, in the order of the variants."""
    main, pinned = {"name": "main", "looks": 1}, {"name": "v1", "looks": 50}
    found = merged([outline({"f1": 1}, compare=[main]), outline({"f1": 1}, compare=[main, pinned])])
    assert found["compare"] == [main, pinned]


def test_a_scenario_without_variants_shares_all_with_itself() -> None:
    """[A24]"""
    one = outline({"f1": 1, "em": 2}, doc_weights={"a": 2}, docs={"a": 3})
    assert merged([one]) == {**one, "own_weights": []}


RANKING = Ranking(
    "qa",
    "f1",
    0.05,
    (RankedVariant("b", 0.8, 0.7, 0.9, 9, "a"), RankedVariant("a", 0.7, None, None, 9, "a")),
    (VariantPair("b", "a", 0.1, -0.1, 0.3, 0.4, 0.4, False, 9, 5, 4, "permutation", 0.2),),
)


def test_a_ranking_is_read_as_it_was_written(tmp_path: Path) -> None:
    """[E20] Best first; which runs they were tells whether a variant ran again since."""
    runs = {"a": "20260101T000000-000001"}
    plain = json.loads(to_json({**ranking_dict(RANKING), "runs": runs, "gate": None}))
    (tmp_path / "variants.json").write_text(json.dumps(plain), "utf-8")
    found = read_ranking(tmp_path)
    assert found is not None
    assert found.pop("written_at").startswith("20")
    assert found.pop("runs") == runs
    assert found == shown_ranking(plain)
    assert [(one["name"], one["letters"]) for one in found["variants"]] == [("b", "a"), ("a", "a")]
    assert (found["pairs"][0]["p_adjusted"], found["gate"]) == (0.4, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '"mean"',
        to_json({**ranking_dict(RANKING), "gate": None}).replace("0.8", '"<b>"'),
        to_json({**ranking_dict(RANKING), "gate": None, "runs": {"a": 1}}),
        to_json({**ranking_dict(RANKING), "gate": {"name": "best", "outcome": "<b>"}}),
    ],
)
def test_a_file_of_another_kind_is_no_ranking(tmp_path: Path, text: str) -> None:
    """[E20] What is shown as a figure is one."""
    (tmp_path / "variants.json").write_text(text, "utf-8")
    assert read_ranking(tmp_path) is None
    assert read_ranking(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("verdicts", "joint"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "failed", None], "failed"),
        (["passed", "partial"], "partial"),
        (["passed", "empty"], "partial"),
        (["passed", None], "partial"),
        ([None, None], None),
        ([], None),
    ],
)
def test_variants_have_passed_together_only_if_each_has(verdicts: list[Any], joint: Any) -> None:
    """[E20] One that never ran has not."""
    assert joint_verdict(verdicts, None) == joint


def result(variant: str, verdict: str = "passed") -> dict[str, Any]:
    return {"event": "result", "variant": variant, "point": {"verdict": verdict}}


def best(outcome: str) -> dict[str, Any]:
    return {"event": "contest", "gate": {"outcome": outcome}}


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ([result("a"), result("b")], "passed"),
        ([result("a"), result("b"), {"event": "contest", "gate": None}], "passed"),
        ([result("a"), result("b"), best("passed")], "passed"),
        ([result("a"), result("b"), best("skipped")], "partial"),
        ([result("a"), result("b"), best("failed")], "failed"),
        ([result("a")], "partial"),  # b was to run, and left nothing
        ([result("a", "failed")], "failed"),
        ([], "error"),
    ],
)
def test_a_lost_variant_and_an_open_gate_are_no_pass(
    events: list[dict[str, Any]], verdict: str
) -> None:
    """[A24, E20] Whatever pytest's exit status is."""
    assert verdict_of(0, events, ("a", "b")) == verdict
