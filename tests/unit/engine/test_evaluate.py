"""A5, A8, A10, A19, A22: a scenario from its file to its figures, without pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval import ScenarioResult, UserError, evaluate

Run = Callable[..., ScenarioResult]

DATA = {
    "r.jsonl": (
        '{"id": "a", "answer": "x", "references": ["x"], "doc_name": "d1"}\n'
        '{"id": "b", "answer": "x y", "references": ["x"], "doc_name": "d2"}\n'
        '{"id": "c", "answer": "z", "references": ["x"], "doc_name": "d2"}\n'
    )
}
BASE = "name: s\nmetrics: [em, f1]\ndataset: r.jsonl\n"


def outcomes(result: ScenarioResult) -> dict[str, str]:
    return {sample.sample_id: sample.outcome for sample in result.samples}


def test_a_scenario_without_weights_and_bounds_just_gives_figures(run: Run) -> None:
    """A5: em 1, 0, 0; f1 1, 2/3, 0; weighted score their means 1, 1/3, 0."""
    result = run(BASE, DATA)
    assert outcomes(result) == {"a": "passed", "b": "passed", "c": "passed"}
    assert result.metrics["em"].mean == pytest.approx(1 / 3)
    assert result.metrics["f1"].mean == pytest.approx(5 / 9)
    assert result.weighted_score.mean == pytest.approx(4 / 9)
    assert result.gates == ()
    assert result.complete


def test_metric_and_document_weights(run: Run) -> None:
    """A6, A8: weights em 1, f1 3: rows 1, 1/2, 0; documents 2, 1, 1: (2 + 1/2 + 0) / 4."""
    result = run(BASE + "metric_weights: {em: 1, f1: 3}\ndoc_weights: {d1: 2}\n", DATA)
    assert [sample.weighted_score for sample in result.samples] == pytest.approx([1, 0.5, 0])
    assert [sample.sample_weight for sample in result.samples] == [2.0, 1.0, 1.0]
    assert result.weighted_score.mean == pytest.approx(0.625)
    assert result.metrics["em"].weighted_mean == 0.5


def test_thresholds_fail_cases_and_gates_fail_the_scenario(run: Run) -> None:
    """A10."""
    result = run(BASE + "thresholds: {f1: 0.5}\ngates: {f1: 0.5, em: 0.5}\n", DATA)
    assert outcomes(result) == {"a": "passed", "b": "passed", "c": "failed"}
    assert {gate.name: gate.outcome for gate in result.gates} == {
        "f1.mean": "passed",
        "em.mean": "failed",
        "unscored": "passed",
    }


def test_tolerated_shortfalls_leave_the_verdict_to_the_pass_rate(run: Run) -> None:
    """A10, E5."""
    text = BASE + "thresholds: {f1: 0.5}\ntolerate: pass_rate\ngates: {pass_rate: 0.6}\n"
    result = run(text, DATA)
    assert outcomes(result) == {"a": "passed", "b": "passed", "c": "xfailed"}
    assert result.gates[0].outcome == "passed"


@pytest.mark.parametrize(
    ("on_invalid", "outcome"), [("fail", "error"), ("skip", "skipped"), ("xfail", "xfailed")]
)
def test_invalid_rows_end_as_the_scenario_says(run: Run, on_invalid: str, outcome: str) -> None:
    """A19: and only ``fail`` makes the run unscored."""
    text = f"name: s\nmetrics: [em]\ndataset: {{path: r.jsonl, on_invalid: {on_invalid}}}\n"
    result = run(text, {"r.jsonl": DATA["r.jsonl"] + "{broken\n"})
    assert result.samples[3].outcome == outcome
    assert result.counts.invalid == 1
    assert [gate.name for gate in result.gates] == (["unscored"] if on_invalid == "fail" else [])


def test_skipping_everything_is_not_green(run: Run) -> None:
    """A20."""
    result = run(BASE + "skip: [{where: {doc_name: [d1, d2]}}]\n", DATA)
    assert set(outcomes(result).values()) == {"skipped"}
    assert [(gate.name, gate.outcome) for gate in result.gates] == [("unscored", "failed")]


def test_a_limit_says_how_many_rows_run(run: Run) -> None:
    """A22: by the file, which makes the data two of three rows; by an override, a part of them."""
    from pytest_rageval.scenario.overrides import set_override

    text = "name: s\nmetrics: [em]\ndataset: {path: r.jsonl, limit: 2}\n"
    whole = run(text, DATA)
    assert (whole.counts.ran, whole.counts.samples, whole.complete) == (2, 2, True)
    override = set_override("--rag-limit", "dataset.limit=1")
    for scenario in (text, BASE):
        part = run(scenario, DATA, [override])
        assert (part.counts.ran, part.counts.samples, part.complete) == (1, 3, False)


def test_nothing_is_written(run: Run, tmp_path: Any) -> None:
    """B11."""
    run(BASE, DATA)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.jsonl", "s.yaml"]


def test_what_is_wrong_is_one_exception_with_all_of_it(run: Run) -> None:
    """E12."""
    with pytest.raises(UserError) as caught:
        run(BASE + "gates: {zz: 1}\nthresholds: {zz: 1}\n", DATA)
    assert len(caught.value.problems) == 2


def test_two_runs_are_equal_but_for_the_time_they_took(run: Run) -> None:
    from dataclasses import replace

    def timeless(result: ScenarioResult) -> list[Any]:
        return [replace(sample, latency_s=0.0) for sample in result.samples]

    first, second = run(BASE, DATA), run(BASE, DATA)
    assert timeless(first) == timeless(second)
    assert (first.metrics, first.weighted_score) == (second.metrics, second.weighted_score)


CONTEXTS: dict[str, Any] = {
    "name": "s",
    "metrics": ["hit_rate@1"],
    "dataset": {
        "rows": [{"question": "q", "contexts": ["a"], "reference_contexts": ["a"]}],
    },
}


@pytest.mark.parametrize(
    ("answer", "key_map", "is_said"),
    [
        ("text", {}, True),
        ("text", {"contexts": "contexts"}, False),
        ({"answer": "text", "contexts": ["b"]}, {}, False),
    ],
    ids=["only a text", "said to be given", "with contexts"],
)
def test_contexts_of_rows_that_count_as_retrieved_are_told_of(
    answer: object, key_map: dict[str, str], is_said: bool
) -> None:
    """W4: a golden file's contexts are what should be retrieved; the remark names the key."""
    dataset = {**CONTEXTS["dataset"], "key_map": key_map}
    result = evaluate({**CONTEXTS, "dataset": dataset}, target=lambda question: answer)
    told = [remark for remark in result.info.remarks if "the target returns no contexts" in remark]
    assert len(told) == is_said
    assert all("key_map: {reference_contexts: contexts}" in remark for remark in told)


@pytest.mark.parametrize(
    ("answer", "is_said"), [("text", True), ({"answer": "text", "retrieved_ids": ["d"]}, False)]
)
def test_ids_of_rows_that_count_as_retrieved_are_told_of(answer: object, is_said: bool) -> None:
    """W4: recall was that of the search that the rows were recorded from."""
    rows = [{"question": "q", "retrieved_ids": ["d"], "reference_ids": {"d": 1}}]
    scenario = {"name": "s", "metrics": ["hit_rate@1"], "dataset": rows}
    found = evaluate(scenario, target=lambda question: answer)
    said = "the target returns no contexts and no ids, so hit_rate@1 took those of the rows"
    assert [said in remark for remark in found.info.remarks] == [True] * is_said


CITING: dict[str, Any] = {
    "name": "s",
    "metrics": ["citation_validity"],
    "citations": {"style": "brackets", "base": 1},
}


@pytest.mark.parametrize(
    ("said", "key_map", "is_said"),
    [
        ({"citations": [1]}, {}, True),
        ({"cited_ids": [1]}, {}, True),
        ({"citations": []}, {}, False),
        ({}, {}, False),
        ({"citations": [1]}, {"citations": "citations"}, False),
    ],
)
def test_returned_citations_that_are_not_read_are_told_of(
    said: dict[str, Any], key_map: dict[str, str], is_said: bool
) -> None:
    """Every metric of citations was 0, "no citation"; two rows are told of once."""
    rows = [{"question": "q", "references": ["text"]}, {"question": "p", "references": ["text"]}]
    answer = {"answer": "text [1].", "contexts": ["c"], **said}
    dataset = {"rows": rows, "key_map": key_map}
    result = evaluate({**CITING, "dataset": dataset}, target=lambda question: answer)
    told = [remark for remark in result.info.remarks if "is not read" in remark]
    assert len(told) == is_said
    assert all(f"key_map: {{citations: {next(iter(said))}}}" in remark for remark in told)
    assert all("citation_validity took what the answers cite in their text" in one for one in told)


def test_returned_citations_that_no_metric_needs_are_not_told_of() -> None:
    answer = {"answer": "text", "citations": ["https://a.example"]}
    rows = [{"question": "q", "references": ["text"]}]
    scenario = {"name": "s", "metrics": ["em"], "dataset": rows}
    assert evaluate(scenario, target=lambda question: answer).info.remarks == ()


def test_a_key_map_names_the_citations_of_a_target_that_no_row_has() -> None:
    """The answer cites the first of two contexts; without a target such a name is refused."""
    rows = [{"question": "q", "contexts": ["a", "b"], "answer": "text"}]
    dataset = {"rows": rows, "key_map": {"citations": "sources"}}
    answer = {"answer": "text", "contexts": ["a", "b"], "sources": [1]}
    found = evaluate({**CITING, "dataset": dataset}, target=lambda question: answer)
    assert found.samples[0].scores["citation_validity"] == 1.0
    with pytest.raises(UserError, match="no row has the column 'sources'"):
        evaluate({**CITING, "dataset": dataset})


def test_contexts_that_no_metric_uses_are_not_told_of() -> None:
    """W4."""
    rows = [{"question": "q", "contexts": ["a"], "references": ["text"]}]
    scenario = {"name": "s", "metrics": ["em"], "dataset": rows}
    assert evaluate(scenario, target=lambda question: "text").info.remarks == ()
