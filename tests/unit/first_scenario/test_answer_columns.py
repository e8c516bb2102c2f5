"""E36: columns of refusals, citations and conversations become keys and metrics, or comments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.first_scenario.propose import Proposal, propose
from pytest_rageval.scenario.loader import parse_scenario

CITED = "The shop pays the postage [1]. It does so at once [2]."
REFUSED = "I cannot answer that question based on the documents."
ZH_CITED = "邮费由店铺承担[1]。款项会马上退还[2]。"
ZH_REFUSED = "根据提供的资料无法回答该问题。"
TURNS = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]


def rows(*answers: str, **more: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a row for each answer, with a cell of each column of ``more``."""
    return [
        {
            "question": f"Who pays the postage of parcel {at}?",
            "response": answer,
            "reference": "the shop",
            "retrieved_contexts": ["The shop pays.", "At once."],
            **{name: cells[at] for name, cells in more.items()},
        }
        for at, answer in enumerate(answers)
    ]


def proposed(folder: Path, data: list[dict[str, Any]]) -> tuple[Proposal, dict[str, Any]]:
    """Return the proposal, which was tried, and its scenario."""
    file = folder / "data.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    found = propose(file, folder, {})
    assert found.tried is not None
    return found, parse_scenario(found.text, Path("x.yaml"), "x.yaml").data


@pytest.mark.full
@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("answerable", [True, False, True]),
        ("is_impossible", [False, True, False]),
        ("answerable", ["是", "否", "是"]),
        *((name, ["是", "否", "是"]) for name in ("可回答", "是否可回答", "可答")),
    ],
)
@pytest.mark.parametrize(("given", "refused"), [(CITED, REFUSED), (ZH_CITED, ZH_REFUSED)])
def test_refusals(tmp_path: Path, column: str, cells: list[Any], given: str, refused: str) -> None:
    """The middle row is refused as it should be, the last, answerable one too: 2 of 3 are right."""
    found, data = proposed(tmp_path, rows(given, refused, refused, **{column: cells}))
    assert data["refusals"] == "phrases"
    names = ["refusal", "over_refusal", "missed_refusal"]
    assert [name for name in data["metrics"] if "refusal" in name] == names
    assert {data["metric_weights"][name] for name in names} == {0.0}
    assert found.tried is not None
    assert found.tried.mean_of("over_refusal") == 0.5
    assert found.tried.mean_of("missed_refusal") == 0.0
    gates = ("weighted_score", "coverem: 0.4, acc")
    assert any(f"#   answerable: {{{name}: 0.4}}" in found.text for name in gates)
    assert f"#   {column}: " not in found.text or column == "answerable"


def test_all_can_be_answered(tmp_path: Path) -> None:
    """Nothing can be missed then: such a gate would have no row."""
    _, data = proposed(tmp_path, rows(CITED, CITED, answerable=[True, True]))
    assert "over_refusal" in data["metrics"]
    assert "missed_refusal" not in data["metrics"]


@pytest.mark.parametrize(
    ("more", "said", "offered"),
    [
        ({"answerable": ["perhaps", True]}, "not all cells are yes or no", None),
        (
            {"answerable": [True, False], "is_impossible": [True, True]},
            "which one says whether",
            "answerable: answerable",
        ),
        (
            {"answerable": ["perhaps", True], "is_impossible": [None, True]},
            "which one says whether",
            "answerable: is_impossible",
        ),
        (
            {"answerable": ["perhaps", True], "is_impossible": [True, "perhaps"]},
            "which one says whether",
            None,
        ),
        ({"history": [TURNS, ["x", {"role": 5}]]}, "not all cells are lists of messages", None),
        (
            {"history": [TURNS, TURNS], "chat_history": [TURNS, None]},
            "which one holds what came before",
            "history: history",
        ),
        (
            {"history": [["x", {"role": 5}], TURNS], "chat_history": [TURNS, None]},
            "which one holds what came before",
            "history: chat_history",
        ),
    ],
)
def test_what_is_not_certain_is_a_comment(
    tmp_path: Path, more: Any, said: str, offered: str | None
) -> None:
    """A column that can be read is offered, none whose rows would be invalid."""
    found, data = proposed(tmp_path, rows("the shop", "a shop", **more))
    assert not {"refusals", "conversation"} & data.keys()
    assert not {"refusal", "over_refusal"} & {*data["metrics"]}
    assert said in found.text
    offer = "" if offered is None else f"# In 'dataset':  key_map: {{{offered}}}"
    assert offer in found.text
    assert offered is not None or "# In 'dataset':  key_map" not in found.text


@pytest.mark.parametrize("answer", [CITED, ZH_CITED])
def test_citations(tmp_path: Path, answer: str) -> None:
    """One answer of ten is enough, one of eleven is not."""
    found, data = proposed(tmp_path, rows(answer, *["the shop"] * 9))
    assert data["citations"] == {"style": "brackets", "base": 1}
    assert data["metrics"][-2:] == ["citation_validity", "citation_coverage"]
    assert found.tried is not None
    assert found.tried.mean_of("citation_validity") is not None
    _, data = proposed(tmp_path, rows(answer, *["the shop"] * 10))
    assert "citations" not in data


def test_superscripts_are_citations_where_they_are_the_one_style(tmp_path: Path) -> None:
    """The reference is met without them."""
    found, data = proposed(tmp_path, rows(*["It pays the shop¹."] * 4))
    assert data["citations"] == {"style": "superscript", "base": 1}
    assert found.tried is not None
    assert found.tried.mean_of("coverem") == 1.0


def test_citations_in_two_styles_are_all_read(tmp_path: Path) -> None:
    """A style that is pinned would take those of the others for text."""
    found, data = proposed(tmp_path, rows(CITED, CITED, "店铺承担【1】。"))
    assert data["citations"] == {"style": "auto", "base": 1}
    assert "# 3 of 3 answers cite sources in the styles brackets, lenticular." in found.text


@pytest.mark.parametrize("with_references", [True, False])
def test_a_judge_is_offered_that_reads_what_answers_cite(
    tmp_path: Path, with_references: bool
) -> None:
    data = rows(CITED, CITED)
    if not with_references:
        for row in data:
            row.pop("reference")
    found, _ = proposed(tmp_path, data)
    assert "# Also: citation_recall, faithfulness" in found.text


def test_an_open_base_is_asked(tmp_path: Path) -> None:
    """Two answers cite [0], and none [2], of two contexts."""
    found, data = proposed(tmp_path, rows("The shop pays [0].", "The shop does [0][1]."))
    assert "citations" not in data
    assert "# 2 answers cite [0]" in found.text
    assert "# citations: {style: brackets, base: 1}" in found.text


def test_citations_without_contexts_are_a_comment(tmp_path: Path) -> None:
    data = rows(CITED, CITED)
    for row in data:
        del row["retrieved_contexts"]
    found, scenario = proposed(tmp_path, data)
    assert "citations" not in scenario
    assert "there are no contexts" in found.text


def test_conversations(tmp_path: Path) -> None:
    """Rows of one conversation are a group; a chat's own turns are no columns of the file."""
    more: dict[str, Any] = {"history": [TURNS] * 4, "conversation_id": ["a", "a", "b", "b"]}
    found, data = proposed(tmp_path, rows(*["the shop"] * 4, **more))
    assert data["conversation"] is True
    assert data["group_by"] == "conversation_id"
    assert "Metadata" not in found.text
    del more["conversation_id"]
    found, data = proposed(tmp_path, rows(*["the shop"] * 4, **more))
    assert data["conversation"] is True
    assert "group_by" not in data
    assert "group_by: conversation_id" in found.text


def test_figures_of_the_rows_are_offered(tmp_path: Path) -> None:
    more = {"latency_s": [1.5, 0.2], "cost_usd": ["much", "little"], "confidence": [0.5, 0.9]}
    found, data = proposed(tmp_path, rows("the shop", "you", **more))
    offer = "{column: latency_s, range: [0, null], lower_is_better: true}"
    assert offer in found.text
    assert "column: cost_usd" not in found.text  # texts
    assert "# gates: {weighted_score: {selective: {coverage: 0.8, min: 0.9}}}" in found.text
    assert all(isinstance(name, str) for name in data["metrics"])


def test_a_target_is_not_sent_turns_unasked(tmp_path: Path) -> None:
    """Whether its function takes them is not known."""
    file = tmp_path / "data.json"
    data = [{"question": f"Who pays {at}?", "reference": "you", "history": TURNS} for at in (1, 2)]
    file.write_text(json.dumps(data), encoding="utf-8")
    found = propose(file, tmp_path, {})
    assert found.measures.asks == ("answer",)
    assert "Give the target a parameter 'history', and write:  conversation: true" in found.text
    assert "conversation" not in parse_scenario(found.text, Path("x.yaml"), "x.yaml").data


@pytest.mark.parametrize(("given", "refused"), [(CITED, REFUSED), (ZH_CITED, ZH_REFUSED)])
def test_refusals_are_judged_without_gold(tmp_path: Path, given: str, refused: str) -> None:
    data = rows(given, refused, is_impossible=["no", "yes"])
    for row in data:
        del row["reference"], row["retrieved_contexts"]
    found, scenario = proposed(tmp_path, data)
    assert scenario["metrics"] == ["refusal", "over_refusal", "missed_refusal"]
    assert scenario["gates"] == {"refusal": 0.5}
    assert "judge" not in scenario
    assert found.tried is not None
    assert found.tried.mean_of("refusal") == 1.0


def test_a_history_with_the_question_holds_its_answer(tmp_path: Path) -> None:
    """Its last turns are the row's own then; one that ends before the question has no answer."""
    data = [
        {
            "question": f"Who pays {at}?",
            "reference": "you",
            "chat_history": [
                *TURNS,
                {"role": "user", "content": f"Who pays {at}?"},
                {"role": "assistant", "content": "you"},
            ],
        }
        for at in (1, 2)
    ]
    found, scenario = proposed(tmp_path, data)
    assert scenario["dataset"]["key_map"] == {"answer": "chat_history[-1].content"}
    assert scenario["conversation"] is True
    assert found.tried is not None
    assert found.tried.mean_of("em") == 1.0
