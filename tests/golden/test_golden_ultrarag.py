"""D1, D7, D8: the same figures as UltraRAG's evaluation server on the same input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from others_data import others_data

from pytest_rageval import UserError, evaluate
from pytest_rageval.model import ScenarioResult
from pytest_rageval.serving.mcp.ultrarag_figures import score_answers
from pytest_rageval.text.tokenize import has_cjk

METRICS = ("em", "acc", "stringem", "coverem", "f1", "rouge-1", "rouge-2", "rouge-l")
LONG_TEXT = " ".join(f"word{i}" for i in range(2000))


def valid_cases(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cases, with the generated text filled in."""
    return [_filled(case) for case in figures["cases"]]


def _filled(case: dict[str, Any]) -> dict[str, Any]:
    if case["generate"] is None:
        return case
    assert case["generate"]["long_text"] == "' '.join(f'word{i}' for i in range(2000))"
    assert case["generate"]["prediction"] == "long_text"
    return {**case, "references": case["generate"]["references"], "prediction": LONG_TEXT}


def is_cjk(case: dict[str, Any]) -> bool:
    return any(map(has_cjk, [case["prediction"], *case["references"]]))


OURS = {(id_, name) for id_ in ("empty_gt_string", "punct_only_gt") for name in ("acc", "coverem")}
"""Normalising leaves nothing of these references: UltraRAG gives 1 to every answer, we 0."""


def theirs(cases: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    figures = {(case["id"], name): case["scores"][name] for case in cases for name in METRICS}
    ours = {key: 0.0 for key, value in figures.items() if key in OURS and value == 1.0}
    return figures | ours


def agree(cases: list[Any], score: Callable[..., float], **options: str) -> None:
    """Hold the eight figures of each case against UltraRAG's."""
    ours = {
        (case["id"], metric): score(metric, case["prediction"], case["references"], **options)
        for case in cases
        for metric in METRICS
    }
    assert ours == pytest.approx(theirs(cases), abs=1e-12, rel=0)


def test_every_lexical_figure_is_ultrarags(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: UltraRAG knows words only, hence ``tokenizer: word``."""
    cases = valid_cases(reference("ultrarag_lexical.json"))
    assert len(cases) == 30
    agree(cases, score, tokenizer="word")


def test_the_default_options_are_ultrarags_definition_outside_cjk(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D1: without any option, text without Chinese, Japanese or Korean script scores the same."""
    cases = [case for case in valid_cases(reference("ultrarag_lexical.json")) if not is_cjk(case)]
    assert len(cases) >= 25
    agree(cases, score)


def test_the_default_tokenizer_differs_from_ultrarag_on_cjk_only(
    reference: Callable[[str], Any], score: Callable[..., float]
) -> None:
    """D2: where UltraRAG's white-space tokens see nothing in common, characters do."""
    cases = {case["id"]: case for case in valid_cases(reference("ultrarag_lexical.json"))}
    case = cases["zh_in_sentence"]
    assert case["scores"]["f1"] == 0.0
    # 2 characters of 北京 in 中国的首都是北京, 8 characters: P = 2/8, R = 1, F1 = 0.4
    assert score("f1", case["prediction"], case["references"]) == pytest.approx(0.4, abs=1e-12)


KEY_MAP = {"gt_ls": "golden_answers", "q_ls": "question", "pred_ls": "pred_answer"}


def run(folder: Path, rows: list[dict[str, Any]], **dataset: Any) -> ScenarioResult:
    """Evaluate rows whose columns are called as UltraRAG's, with dataset keys on top."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "nq.jsonl").write_text(text, "utf-8")
    scenario = {
        "name": "nq",
        "dataset": {"path": "nq.jsonl", "key_map": KEY_MAP, **dataset},
        "metrics": [{metric: {"tokenizer": "word"}} for metric in METRICS],
    }
    (folder / "nq.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return evaluate(folder / "nq.yaml")


def assert_figures(result: ScenarioResult, expected: dict[str, list[float]]) -> None:
    """Compare the lists by sample, and their means, which UltraRAG calls ``avg_<metric>``."""
    for metric in METRICS:
        ours = [sample.scores[metric] for sample in result.samples]
        assert ours == pytest.approx(expected[metric], abs=1e-12, rel=0), metric
        average = result.metrics[metric].mean
        assert average == pytest.approx(fmean(expected[metric]), abs=1e-12, rel=0), metric


def test_a_whole_run_gives_ultrarags_lists_and_averages(
    reference: Callable[[str], Any], tmp_path: Path
) -> None:
    """D7, D8: key_map with gt_ls, q_ls, pred_ls; whatever else the rows have."""
    # An empty answer is a row of its own kind in a scenario, and no score of a text; an empty
    # reference is none.
    cases = [
        case
        for case in valid_cases(reference("ultrarag_lexical.json"))
        if case["prediction"] and case["references"] != [""]
    ]
    rows = [
        {
            "id": number,
            "question": case["id"],
            "golden_answers": case["references"],
            "pred_answer": case["prediction"],
            "answer": "not this column",
            "references": ["nor this"],
        }
        for number, case in enumerate(cases)
    ]
    result = run(tmp_path, rows)
    figures = theirs(cases)
    assert_figures(
        result, {name: [figures[case["id"], name] for case in cases] for name in METRICS}
    )
    assert [sample.question for sample in result.samples] == [case["id"] for case in cases]
    assert [sample.sample_id for sample in result.samples] == [str(row["id"]) for row in rows]


def test_a_whole_run_on_natural_questions(tmp_path: Path) -> None:
    """D7, D8: the ten rows that UltraRAG publishes as its example."""
    text = others_data("reference/ultrarag_nq_sample.json").read_text("utf-8")
    figures = json.loads(text)
    assert figures["key_map"] == KEY_MAP
    result = run(tmp_path, figures["rows"])
    assert_figures(result, figures["eval_res"])
    for metric in METRICS:
        average = figures["eval_res"][f"avg_{metric}"]
        assert result.metrics[metric].mean == pytest.approx(average, abs=1e-12, rel=0), metric
    assert result.counts.scored == 10
    assert [(sample.question, list(sample.references or ())) for sample in result.samples] == [
        (row["question"], row["golden_answers"]) for row in figures["rows"]
    ]
    assert [sample.sample_id for sample in result.samples] == [
        str(row["id"]) for row in figures["rows"]
    ]


def test_the_tool_evaluate_gives_ultrarags_figures_in_any_script(
    reference: Callable[[str], Any],
) -> None:
    """D10: with CJK and empty answers, as UltraRAG has them."""
    cases = valid_cases(reference("ultrarag_lexical.json"))
    answers = [case["prediction"] for case in cases]
    references = [case["references"] for case in cases]
    found = score_answers(answers, references, METRICS).eval_res
    assert len(cases) == 30
    for metric in METRICS:
        expected = [case["scores"][metric] for case in cases]
        assert found[metric] == pytest.approx(expected, abs=1e-12, rel=0), metric
        assert found[f"avg_{metric}"] == pytest.approx(fmean(expected), abs=1e-12, rel=0), metric


TEN_ROWS = [
    {"id": number, "question": "q", "golden_answers": ["a"], "pred_answer": "a"}
    for number in range(10)
]


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
    reference: Callable[[str], Any], tmp_path: Path, dataset: dict[str, Any], order: str
) -> None:
    """D7: all rows are shuffled first, then cut."""
    expected = reference("ultrarag_loader.json")["loader_order_of_ids"][order]
    result = run(tmp_path, TEN_ROWS, **dataset)
    assert [sample.sample_id for sample in result.samples] == [str(id_) for id_ in expected]


@pytest.mark.parametrize("limit", [0, -2, True])
def test_a_limit_that_names_no_number_of_rows_is_refused(tmp_path: Path, limit: Any) -> None:
    """D7: UltraRAG refuses 0 and -2 too, and takes ``true`` for 1."""
    with pytest.raises(UserError, match="limit"):
        run(tmp_path, TEN_ROWS, limit=limit)


def test_a_row_without_prediction_is_invalid_and_nothing_shifts(
    reference: Callable[[str], Any], tmp_path: Path
) -> None:
    """D7: UltraRAG drops the key and compares y with z; here x and z meet their own references."""
    loaded = reference("ultrarag_loader.json")["row_without_prediction"]["loaded"]
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
