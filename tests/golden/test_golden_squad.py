"""D1: with ``normalizer: squad`` the figures are those of SQuAD and ALCE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.serving.mcp.ultrarag_figures import score_answers


def _cases(figures: dict[str, Any]) -> list[dict[str, Any]]:
    long_text = " ".join(f"word{i}" for i in range(2000))
    return [
        {
            **case,
            "references": case["references"] or ["word1999"],
            "prediction": long_text if case["prediction"] is None else case["prediction"],
        }
        for case in figures["per_case"]
    ]


def test_em_f1_and_presence_are_squads(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: ALCE's own functions on the same cases; "acc" is its exact presence."""
    cases = _cases(reference("squad_alce_lexical.json"))
    ours, theirs = {}, {}
    for case in cases:
        for metric, name in (("em", "em"), ("f1", "f1"), ("acc", "acc_presence")):
            options = {"normalizer": "squad", "tokenizer": "word"}
            ours[case["id"], metric] = score(
                metric, case["prediction"], case["references"], **options
            )
            theirs[case["id"], metric] = float(case["alce_squad"][name])
    # ALCE finds a reference of which normalising leaves nothing in every answer.
    for id_ in ("empty_gt_string", "punct_only_gt"):
        assert theirs[id_, "acc"] == 1.0
        theirs[id_, "acc"] = 0.0
    assert len(ours) == 29 * 3
    assert ours == pytest.approx(theirs, abs=1e-12, rel=0)


def test_the_two_definitions_disagree_where_the_reference_says_so(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: the normalizer option is not without effect."""
    ours, theirs = {}, {}
    for case in _cases(reference("squad_alce_lexical.json")):
        for metric in ("em", "f1", "acc"):
            arguments = (metric, case["prediction"], case["references"])
            squad = score(*arguments, normalizer="squad", tokenizer="word")
            ultrarag = score(*arguments, normalizer="ultrarag", tokenizer="word")
            ours[case["id"], metric] = abs(squad - ultrarag) > 1e-12
            theirs[case["id"], metric] = metric in case["disagree"]
    assert any(theirs.values())
    assert ours == theirs


def _str_em(cases: list[dict[str, Any]]) -> dict[str, float]:
    """Return ALCE's figures, but for an empty alias: ALCE finds it in "Rome" (1 of 2 groups)."""
    found = {case["id"]: case["alce_str_em"] for case in cases}
    assert found["empty_alias"] == 0.5
    return found | {"empty_alias": 0.0}


@pytest.mark.parametrize("options", [{}, {"normalizer": "squad"}], ids=["default", "squad"])
def test_nested_references_are_alces_answer_groups(
    reference: Callable[[str], Any], score: Callable[..., float], options: dict[str, str]
) -> None:
    """D1: stringem over groups is str_em, with the squad normalizer as the default."""
    cases = reference("squad_alce_lexical.json")["string_em_nested"]
    ours = {
        case["id"]: score(
            "stringem",
            case["prediction"],
            [alias for group in case["answer_groups"] for alias in group],
            case["answer_groups"],
            **options,
        )
        for case in cases
    }
    assert len(cases) == 6
    assert ours == pytest.approx(_str_em(cases), abs=1e-12)


def test_ultrarags_tool_takes_answer_groups(reference: Callable[[str], Any]) -> None:
    """[M5, D1] Over MCP, the same figures."""
    cases = reference("squad_alce_lexical.json")["string_em_nested"]
    predictions, groups = ([case[key] for case in cases] for key in ("prediction", "answer_groups"))
    found = score_answers(predictions, groups, ["stringem"]).eval_res
    assert found["stringem"] == pytest.approx([*_str_em(cases).values()], abs=1e-12)
