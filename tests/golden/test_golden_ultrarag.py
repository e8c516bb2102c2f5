"""D1, D7, D8: the same figures as UltraRAG's evaluation server on the same input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import UserError, evaluate
from pytest_rageval.model import ScenarioResult
from pytest_rageval.text.tokenize import has_cjk

METRICS = ("em", "acc", "stringem", "coverem", "f1", "rouge-1", "rouge-2", "rouge-l")
LONG_TEXT = " ".join(f"word{i}" for i in range(2000))


def valid_cases(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cases that UltraRAG could score, with the generated texts filled in."""
    return [_filled(case) for case in figures["cases"] if case["kind"] == "valid"]


def _filled(case: dict[str, Any]) -> dict[str, Any]:
    if case["generate"] is None:
        return case
    assert case["generate"]["long_text"] == "' '.join(f'word{i}' for i in range(2000))"
    assert case["generate"]["prediction"] == "long_text"
    return {**case, "references": case["generate"]["references"], "prediction": LONG_TEXT}


def is_cjk(case: dict[str, Any]) -> bool:
    return any(map(has_cjk, [case["prediction"], *case["references"]]))


def theirs(cases: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    return {(case["id"], metric): case["scores"][metric] for case in cases for metric in METRICS}


def test_every_lexical_figure_is_ultrarags(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: UltraRAG knows words only, hence ``tokenizer: word``."""
    cases = valid_cases(reference("ultrarag_lexical.json"))
    ours = {
        (case["id"], metric): score(
            metric, case["prediction"], case["references"], tokenizer="word"
        )
        for case in cases
        for metric in METRICS
    }
    assert len(ours) == 31 * 8
    assert ours == pytest.approx(theirs(cases), abs=1e-12, rel=0)


def test_the_default_options_are_ultrarags_definition_outside_cjk(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: without any option, text without Chinese, Japanese or Korean script scores the same."""
    cases = [case for case in valid_cases(reference("ultrarag_lexical.json")) if not is_cjk(case)]
    ours = {
        (case["id"], metric): score(metric, case["prediction"], case["references"])
        for case in cases
        for metric in METRICS
    }
    assert len(cases) >= 25
    assert ours == pytest.approx(theirs(cases), abs=1e-12, rel=0)


def test_the_default_tokenizer_differs_from_ultrarag_on_cjk_only(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D2: where UltraRAG's white-space tokens see nothing in common, characters do."""
    cases = {case["id"]: case for case in valid_cases(reference("ultrarag_lexical.json"))}
    case = cases["zh_in_sentence"]
    assert case["scores"]["f1"] == 0.0
    # 2 characters of 北京 in 中国的首都是北京, 8 characters: P = 2/8, R = 1, F1 = 0.4
    assert score("f1", case["prediction"], case["references"]) == pytest.approx(0.4, abs=1e-12)


@pytest.fixture
def sample_run(reference: Callable[[str], Any], tmp_path: Path) -> Callable[..., ScenarioResult]:
    """Return a function that evaluates UltraRAG's sample with dataset keys on top."""
    figures = reference("ultrarag_nq_sample.json")
    rows = "".join(json.dumps(row) + "\n" for row in figures["rows"])
    (tmp_path / "nq.jsonl").write_text(rows, "utf-8")

    def run(**dataset: Any) -> ScenarioResult:
        scenario = {
            "name": "nq",
            "dataset": {"path": "nq.jsonl", "key_map": figures["key_map"], **dataset},
            "metrics": list(METRICS),
        }
        path = tmp_path / "nq.yaml"
        path.write_text(yaml.safe_dump(scenario), "utf-8")
        return evaluate(path)

    return run


def test_a_whole_run_gives_ultrarags_lists_and_averages(
    reference: Callable[[str], Any], sample_run: Callable[..., ScenarioResult]
) -> None:
    """D7, D8: key_map with gt_ls, q_ls, pred_ls; per-sample lists and ``avg_<metric>``."""
    expected = reference("ultrarag_nq_sample.json")["eval_res"]
    result = sample_run()
    for metric in METRICS:
        ours = [sample.scores[metric] for sample in result.samples]
        assert ours == pytest.approx(expected[metric], abs=1e-12, rel=0), metric
        average = result.metrics[metric].mean
        assert average == pytest.approx(expected[f"avg_{metric}"], abs=1e-12, rel=0), metric
    assert result.counts.scored == 10


def test_key_map_takes_ultrarags_columns_whatever_else_the_row_has(
    reference: Callable[[str], Any], sample_run: Callable[..., ScenarioResult]
) -> None:
    """D7: question and references come from the mapped columns, ids from the data."""
    rows = reference("ultrarag_nq_sample.json")["rows"]
    result = sample_run()
    assert [sample.question for sample in result.samples] == [row["question"] for row in rows]
    assert [list(sample.references or ()) for sample in result.samples] == [
        row["golden_answers"] for row in rows
    ]
    assert [sample.sample_id for sample in result.samples] == [str(row["id"]) for row in rows]


@pytest.mark.parametrize(
    ("dataset", "order"),
    [
        ({"shuffle": True, "seed": 42}, "shuffle_seed42"),
        ({"shuffle": True}, "shuffle_seed42"),
        ({"shuffle": True, "seed": 42, "limit": 3}, "shuffle_seed42_limit3"),
        ({"limit": 3}, "limit3"),
        ({"shuffle": True, "seed": 0}, "shuffle_seed0"),
    ],
)
def test_shuffle_and_limit_choose_the_rows_that_ultrarag_chooses(
    reference: Callable[[str], Any],
    sample_run: Callable[..., ScenarioResult],
    dataset: dict[str, Any],
    order: str,
) -> None:
    """D7: all rows are shuffled first, then cut."""
    expected = reference("ultrarag_nq_sample.json")["loader_order_of_ids"][order]
    result = sample_run(**dataset)
    assert [sample.sample_id for sample in result.samples] == [str(id_) for id_ in expected]


@pytest.mark.parametrize("limit", [0, -2, True])
def test_a_limit_that_names_no_number_of_rows_is_refused(
    sample_run: Callable[..., ScenarioResult], limit: Any
) -> None:
    """D7: UltraRAG refuses 0 and -2 too, and takes ``true`` for 1."""
    with pytest.raises(UserError, match="limit"):
        sample_run(limit=limit)


def test_a_row_without_prediction_is_invalid_and_nothing_shifts(
    reference: Callable[[str], Any], tmp_path: Path
) -> None:
    """D7: UltraRAG drops the key and compares y with z; here x and z meet their own references."""
    loaded = reference("ultrarag_nq_sample.json")["row_without_prediction"]["loaded"]
    (tmp_path / "rows.jsonl").write_text(
        '{"g": ["x"], "q": "a", "p": "x"}\n'
        '{"g": ["y"], "q": "b"}\n'
        '{"g": ["z"], "q": "c", "p": "z"}\n'
    )
    (tmp_path / "s.yaml").write_text(
        "name: s\nmetrics: [em]\n"
        "dataset: {path: rows.jsonl, key_map: {gt_ls: g, q_ls: q, pred_ls: p}}\n"
    )
    assert loaded["pred_ls"] == ["x", "z"]
    result = evaluate(tmp_path / "s.yaml")
    assert [sample.scores["em"] for sample in result.samples] == [1.0, None, 1.0]
    assert result.samples[1].invalid is not None
    assert "answer" in result.samples[1].invalid
    assert [sample.outcome for sample in result.samples] == ["passed", "error", "passed"]
    assert (result.metrics["em"].mean, result.metrics["em"].n) == (1.0, 2)
    assert result.counts.invalid == 1
