"""B1, B2: hit rate and reciprocal rank of retrieved contexts against DB-GPT's own code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import ScenarioResult, UserError, evaluate

Reference = Callable[[str], Any]

METRICS = ("RetrieverHitRateMetric", "RetrieverMRRMetric")
NAMES = {"RetrieverHitRateMetric": "hit_rate", "RetrieverMRRMetric": "mrr"}
SAME = [
    "hit_rank1", "hit_rank2", "hit_rank3", "miss", "two_relevant_first_wins", "duplicate_chunk",
    "empty_prediction", "newline_differs", "case_differs", "substring_list", "rank11", "nfc_nfd",
]  # fmt: skip
# A row that expects nothing has no score (a reason is given) where DB-GPT gives 0.
UNSCORED = ["empty_contexts", "contexts_none"]
# A text where a list should be is one context; DB-GPT looks for pieces inside of it.
TEXTS = ["contexts_is_str", "prediction_is_str_hit"]
# Contexts are read without the blanks around them, whatever the match.
STRIPPED = ["whitespace_differs"]


@pytest.fixture(scope="module")
def cases(reference: Reference) -> dict[str, Any]:
    """Return DB-GPT's cases by their ids."""
    return {case["id"]: case for case in reference("dbgpt_metrics.json")["retriever_rank_metrics"]}


def row(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": case["id"],
        "contexts": case["prediction"],
        "reference_contexts": case["contexts"],
    }


def run(folder: Path, rows: list[dict[str, Any]], **more: Any) -> ScenarioResult:
    scenario = {"name": "s", "dataset": rows, "metrics": list(METRICS), "match": "exact", **more}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return evaluate(folder / "s.yaml")


def test_every_case_has_a_test(cases: dict[str, Any]) -> None:
    assert sorted(cases) == sorted([*SAME, *UNSCORED, *TEXTS, *STRIPPED])


def test_scores_are_those_of_dbgpt_with_exact_matches(
    cases: dict[str, Any], tmp_path: Path
) -> None:
    """B1, B2, B4: under DB-GPT's names of the metrics."""
    result = run(tmp_path, [row(cases[name]) for name in SAME])
    for sample in result.samples:
        for metric in METRICS:
            expected = cases[sample.sample_id][metric]["score"]
            found = sample.scores[NAMES[metric]]
            assert found == pytest.approx(expected, abs=1e-15), (sample.sample_id, metric)
    assert len(result.samples) == len(SAME)


def test_the_normalized_match_finds_what_spelling_hides(
    cases: dict[str, Any], tmp_path: Path
) -> None:
    """B4: line breaks, case and Unicode forms; a text inside of another is still no match."""
    rows = [row(cases[name]) for name in SAME]
    result = run(tmp_path, rows, match="normalized")
    changed = {
        sample.sample_id
        for sample in result.samples
        if sample.scores["mrr"] != cases[sample.sample_id]["RetrieverMRRMetric"]["score"]
    }
    assert changed == {"newline_differs", "case_differs", "nfc_nfd"}
    result = run(tmp_path, [row(cases["substring_list"])], match="contains")
    assert result.samples[0].scores == {"hit_rate": 1.0, "mrr": 1.0}


@pytest.mark.parametrize("name", UNSCORED)
def test_a_row_that_expects_nothing_is_unscored_and_no_zero(
    cases: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """B1, B2: DB-GPT gives 0.0; where nothing is expected there is nothing to find."""
    assert cases[name]["RetrieverHitRateMetric"]["score"] == 0.0
    result = run(tmp_path, [row(cases["hit_rank1"]), row(cases[name])])
    scored, unscored = result.samples
    assert scored.scores == {"hit_rate": 1.0, "mrr": 1.0}
    assert unscored.scores == {"hit_rate": None, "mrr": None}
    assert (unscored.outcome, result.counts.scored) == ("error", 1)
    assert result.metrics["hit_rate"].mean == 1.0


def test_a_data_set_that_expects_nothing_at_all_is_refused(
    cases: dict[str, Any], tmp_path: Path
) -> None:
    """B1: no row has the field; DB-GPT's figure would be 0 for the whole run."""
    with pytest.raises(UserError, match="'hit_rate' needs 'reference_contexts'"):
        run(tmp_path, [row(cases["contexts_none"])])


def test_a_text_is_one_context_and_no_list_of_characters(
    cases: dict[str, Any], tmp_path: Path
) -> None:
    """B1: DB-GPT finds "a" in the expected text "abc", character by character."""
    for name in TEXTS:
        assert cases[name]["RetrieverHitRateMetric"]["score"] == 1.0
    result = run(tmp_path, [row(cases[name]) for name in TEXTS])
    assert [sample.scores["hit_rate"] for sample in result.samples] == [0.0, 0.0]


def test_blanks_around_a_context_are_no_difference(cases: dict[str, Any], tmp_path: Path) -> None:
    """B4: "c1 " is "c1" here, also in exact matches, and not for DB-GPT."""
    (case,) = (cases[name] for name in STRIPPED)
    assert case["RetrieverHitRateMetric"]["score"] == 0.0
    assert run(tmp_path, [row(case)]).samples[0].scores == {"hit_rate": 1.0, "mrr": 1.0}
