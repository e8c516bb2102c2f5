"""G1, G2: what refusals, unanswerable questions and citations mean for the scores of a sample."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import ScenarioResult
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.scoring.answer_rules import is_ruled
from pytest_rageval.engine.scoring.judge_sample import asked_metrics, judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.engine.verdict.sample_verdict import judged as with_verdict
from pytest_rageval.metrics.base import MetricInfo, Models
from pytest_rageval.model import (
    ANSWER_KIND,
    ANSWERABLE,
    REPEATS,
    MetricColumn,
    Sample,
    SampleResult,
    Score,
)
from pytest_rageval.model.measured import SETTINGS, setting_differences

PlanOf = Callable[..., Plan]
RunOf = Callable[..., ScenarioResult]
REFUSED = "The documents do not say."

SCENARIO = """
name: s
citations: auto
refusals: {refusals}
metrics: [em, f1, hit_rate, refusal, over_refusal, missed_refusal, citation_coverage]
dataset:
  - {{question: q, answer: Paris, contexts: [Paris], references: [Paris], answerable: true,
     reference_contexts: [Paris]}}
"""


@pytest.fixture
def scored(plan: PlanOf) -> Callable[..., SampleResult]:
    """Return a function from the fields of a sample to its result."""

    def score(refusals: str = "phrases", **fields: Any) -> SampleResult:
        known = {"question": "q", "contexts": ("Paris",), "references": ("Paris",)}
        sample = Sample("s", **{**known, "reference_contexts": ("Paris",), **fields})
        return score_case(plan(SCENARIO.format(refusals=refusals)), sample)

    return score


def test_a_refusal_of_an_answerable_question_is_the_worst_end(
    scored: Callable[..., SampleResult],
) -> None:
    found = scored(answer=REFUSED, answerable=True)
    assert found.scores == {
        "em": 0.0,
        "f1": 0.0,
        "hit_rate": 1.0,
        "refusal": 0.0,
        "over_refusal": 1.0,
        "missed_refusal": None,
        "citation_coverage": 0.0,
    }
    assert found.left_out == {"missed_refusal": "row", "citation_coverage": "answer"}
    assert found.reasons["citation_coverage"] == "refused"


@pytest.mark.parametrize(
    ("answer", "left_out"),
    [(REFUSED, "row"), ("42", "run"), ("It is [so] (there).", "run")],
)
def test_only_a_right_refusal_has_nothing_to_cite_by_its_row(
    scored: Callable[..., SampleResult], answer: str, left_out: str
) -> None:
    """An invented answer that cites nothing is no missing score, but nothing of the row."""
    found = scored(answer=answer, answerable=False)
    assert found.left_out.get("citation_coverage", left_out) == left_out


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("The manual does not mention a password.", "The manual does not mention a password."),
        ("Water damage isn't covered by it.", "Water damage is not covered by the warranty."),
        ("人为损坏不在保修范围内。", "人为损坏不在保修范围之内。"),
    ],
)
def test_what_an_answerable_row_expects_is_no_refusal(
    scored: Callable[..., SampleResult], answer: str, reference: str
) -> None:
    """A negative fact reads as a refusal; it scored 0 though it was the reference itself."""
    found = scored(answer=answer, references=(reference,), answerable=True)
    assert (found.scores["over_refusal"], found.scores["refusal"]) == (0.0, 1.0)
    assert found.scores["em"] == float(answer == reference)
    for other in ("I do not know.", "Sorry, I cannot answer this question."):
        refused = scored(answer=other, references=(reference,), answerable=True)
        assert refused.scores["over_refusal"] == 1.0
    unanswerable = scored(answer=answer, references=(reference,), answerable=False)
    assert unanswerable.scores["missed_refusal"] == 0.0
    unknown = scored(answer=answer, references=(reference,), answerable=None)
    assert unknown.scores["em"] == float(answer == reference)
    assert (unknown.scores["f1"] == 0.0) == (answer != reference)


def test_a_refusal_of_an_unanswerable_question_is_the_best_end(
    scored: Callable[..., SampleResult],
) -> None:
    found = scored(answer=REFUSED, answerable=False, references=None)
    assert found.scores["em"] == 1.0
    assert found.scores["refusal"] == 1.0
    assert found.scores["missed_refusal"] == 0.0
    ruled_out = {name for name, why in found.left_out.items() if why == "row"}
    assert ruled_out == {"hit_rate", "over_refusal", "citation_coverage"}
    assert found.weighted_score == 1.0


def test_an_answer_to_an_unanswerable_question_is_a_missed_refusal(
    scored: Callable[..., SampleResult],
) -> None:
    found = scored(answer="Jane Austen.", answerable=False, references=None)
    assert found.scores["f1"] == 0.0
    assert found.scores["missed_refusal"] == 1.0
    assert found.reasons["missed_refusal"] == (
        'the question has no answer in the documents, and the answer gives one: "Jane Austen."'
    )


@pytest.mark.parametrize(
    ("refusals", "answerable", "score"),
    [("phrases", True, 0.0), ("phrases", False, 0.0), ("{empty: refused}", False, 1.0)],
)
def test_an_empty_answer_is_no_modesty_unless_the_scenario_says_so(
    scored: Callable[..., SampleResult], refusals: str, answerable: bool, score: float
) -> None:
    """A crash must not look like a refusal, whatever the row says."""
    found = scored(refusals, answer=" ", answerable=answerable)
    assert (found.scores["refusal"], found.scores["em"]) == (score, score)


@pytest.mark.parametrize(
    "refusals", ["phrases", "{empty: refused}", "{conditions: [em, hit_rate]}"]
)
@pytest.mark.parametrize("answerable", [True, False, None])
def test_a_missing_answer_is_no_empty_one(
    scored: Callable[..., SampleResult], refusals: str, answerable: bool | None
) -> None:
    """Nobody knows what would have been said: no worst score, and no refusal."""
    found = scored(refusals, answer=None, answerable=answerable)
    of_answers = ["em", "f1", "refusal", "citation_coverage"]
    assert [found.scores[name] for name in of_answers] == [None] * 4
    assert found.scores["hit_rate"] == (None if answerable is False else 1.0)
    assert found.reasons["em"] == found.reasons["citation_coverage"] == "the row has no answer"
    assert {"em", "f1", "citation_coverage"}.isdisjoint(found.left_out)
    assert ANSWER_KIND not in found.details


NOT_GIVEN = "rageval.check was given no answer"
MEASURED = """
name: s
refusals: {refusals}
metrics: [em, hit_rate, claim_precision, claim_recall, refusal, must_include]
judge: {{model: m, base_url: "http://127.0.0.1:9/v1", controls: off}}
dataset:
  - {{question: q, answer: Paris, contexts: [Paris], references: [Paris], answerable: true,
     reference_contexts: [Paris], must_include: [Paris]}}
"""


@pytest.mark.parametrize("refusals", ["phrases", "{empty: refused}", "{answerable: judge}"])
@pytest.mark.parametrize(
    ("answerable", "references", "errors", "left_out"),
    [
        (True, ("Paris",), "em claim_precision claim_recall refusal", "must_include"),
        (None, ("Paris",), "em claim_precision claim_recall", "refusal must_include"),
        # Whatever would have been said, nothing could be held against it.
        (None, None, "", "refusal must_include"),
        (True, None, "refusal", "must_include"),
        # Neither a refusal nor an answer: that is what such a row is measured by.
        (False, None, "em claim_precision claim_recall refusal", "hit_rate must_include"),
        (False, ("Paris",), "em claim_precision claim_recall refusal", "hit_rate must_include"),
    ],
)
def test_a_system_that_was_to_answer_and_did_not_is_an_error(
    plan: PlanOf,
    refusals: str,
    answerable: bool | None,
    references: tuple[str, ...] | None,
    errors: str,
    left_out: str,
) -> None:
    """The row of a data set need not have an answer; to the other metrics both are alike."""
    made = plan(MEASURED.format(refusals=refusals))
    sample = Sample("s", question="q", contexts=("Paris",), references=references)
    sample = replace(sample, reference_contexts=("Paris",), answerable=answerable)
    recorded, given = (score_case(one, sample) for one in (made, replace(made, is_given=True)))
    if refusals == "{answerable: judge}" and answerable is None:
        return  # nobody was asked whether it can be answered: an error of its own
    assert set(given.errors) == set(errors.split())
    assert set(given.errors.values()) <= {NOT_GIVEN}
    assert {name for name, why in given.left_out.items() if why != "answer"} == set(
        left_out.split()
    )
    assert given.scores == recorded.scores
    assert given.scores["hit_rate"] == (None if answerable is False else 1.0)
    assert set(recorded.errors) == set()
    assert {recorded.reasons[name] for name in errors.split()} <= {"the row has no answer"}


SEARCHES = """
name: s
target: {bot}:answer
refusals: {refusals}
empty_answer: missing
metrics: [{metrics}]
dataset:
  - {{id: q, question: q, references: [Paris], reference_ids: [a], answer: Paris}}
"""


@pytest.mark.parametrize(
    ("reply", "refusals", "metrics", "errors"),
    [
        # What a system that only searches is measured by needs no answer.
        ("{'retrieved_ids': ['a']}", "phrases", "hit_rate@3", 0),
        ("{'retrieved_ids': ['a']}", "phrases", "mrr, recall@5", 0),
        ("{'retrieved_ids': ['a']}", "{conditions: [hit_rate@3]}", "hit_rate@3", 0),
        ("{'answer': 'Paris', 'retrieved_ids': ['a']}", "phrases", "em, hit_rate@3", 0),
        ("{'answer': 'I do not know.', 'retrieved_ids': []}", "phrases", "em, hit_rate@3", 0),
        ("{'answer': '...', 'retrieved_ids': ['a']}", "phrases", "em, hit_rate@3", 0),
        ("{'retrieved_ids': ['a']}", "phrases", "em, hit_rate@3", 1),
        ("{'contexts': ['c'], 'retrieved_ids': ['a']}", "{empty: refused}", "em, hit_rate@3", 1),
        ("{'answer': ' ', 'retrieved_ids': ['a']}", "phrases", "em, f1, hit_rate@3", 2),
    ],
)
def test_a_target_owes_the_answer_that_a_metric_needs(
    run: RunOf, tmp_path: Path, reply: str, refusals: str, metrics: str, errors: int
) -> None:
    bot = tmp_path.name  # a module of its own for each test
    text = SEARCHES.format(bot=bot, refusals=refusals, metrics=metrics)
    (sample,) = run(text, {f"{bot}.py": f"def answer(question): return {reply}\n"}).samples
    assert list(sample.errors.values()) == ["the target returned no answer"] * errors
    assert (sample.outcome == "error") == (errors > 0)


@pytest.mark.parametrize(("answer", "coverage"), [("Paris [1]", 1.0), ("Paris", 0.0)])
def test_a_short_answer_is_covered_by_its_citation(
    run: RunOf, answer: str, coverage: float
) -> None:
    """Shorter sentences need none; but where there is no other, this one counts."""
    row = f"{{question: q, answer: '{answer}', contexts: [Paris]}}"
    result = run(
        "name: s\ncitations: {style: brackets, base: 1}\nmetrics: [citation_coverage]\n"
        f"dataset: [{row}]\n"
    )
    assert result.samples[0].scores["citation_coverage"] == coverage


ASKED_AND_MISSING = """
name: s
refusals: {{empty: refused}}
empty_answer: {empty_answer}
metrics: [em, hit_rate]
gates: {{em: 0.5}}
dataset:
  - {{id: told, answer: Paris, references: [Paris], contexts: [Paris],
     reference_contexts: [Paris], answerable: true}}
  - {{id: trap, {answer} references: [none], contexts: [x], reference_contexts: [y],
     answerable: false}}
"""


@pytest.mark.parametrize(
    ("answer", "empty_answer", "outcome"),
    [
        ("", "worst", "error"),
        ("answer: '',", "missing", "error"),
        ("answer: '',", "worst", "passed"),
    ],
)
def test_a_row_whose_answer_is_missing_is_an_error_where_a_gate_asks_for_it(
    run: RunOf, answer: str, empty_answer: str, outcome: str
) -> None:
    result = run(ASKED_AND_MISSING.format(answer=answer, empty_answer=empty_answer))
    assert [sample.outcome for sample in result.samples] == ["passed", outcome]
    assert result.metrics["em"].n == (1 if outcome == "error" else 2)


def test_a_condition_needs_an_answer_though_its_metric_reads_none(run: RunOf) -> None:
    (sample,) = run(
        "name: s\nrefusals: {conditions: [deadly]}\nmetrics: [{use: 'worker_metrics:deadly'}]\n"
        "dataset: [{question: q, answerable: false}]\n"
    ).samples
    assert (sample.scores["deadly"], sample.reasons["deadly"]) == (None, "the row has no answer")


def test_rows_that_do_not_say_are_neither(scored: Callable[..., SampleResult]) -> None:
    found = scored(answer="You're welcome!", answerable=None)
    assert {found.left_out[m] for m in ("refusal", "over_refusal", "missed_refusal")} == {"label"}
    assert found.scores["em"] == 0.0


def test_texts_are_compared_without_citations(scored: Callable[..., SampleResult]) -> None:
    found = scored(answer="Paris [1].", answerable=True)
    assert found.scores["em"] == 1.0
    assert found.answer == "Paris [1]."


@pytest.mark.parametrize(
    ("answer", "reference", "citations", "score"),
    [
        ("It is in Paris, France.", "Paris, France", "auto", 1.0),
        ("It is in Paris [1].", "Paris", "auto", 1.0),
        ("It is in Rome [1].", "Paris", "auto", -1.0),
        ("It is in [Paris], France [1].", "[Paris], France", "auto", 1.0),
        ("It is in Paris.\n\nSources:\n[1] Rome.pdf", "France", "auto", -1.0),
        ("The documents do not say. [1]", "Paris", "auto", 0.0),
        ("It is in Paris [1], France [2].", "Paris, France", "false", -1.0),
        ("It is in Paris [1], France [2].", "Paris, France", "auto", 1.0),
        ("位于法国[1]巴黎[2]。", "法国巴黎", "auto", 1.0),
        ("It is here [1].\n\nSources:\n[1] Paris.pdf", "Paris", "auto", -1.0),
    ],
)
def test_whether_an_answer_is_right_does_not_depend_on_its_markers(
    run: RunOf, answer: str, reference: str, citations: str, score: float
) -> None:
    """With acc beside it or without."""
    row = {"question": "q", "answer": answer, "references": [reference], "contexts": ["c", "d"]}
    for metrics in ("crag_score", "crag_score, acc"):
        text = f"name: s\ncitations: {citations}\nmetrics: [{metrics}]\n"
        (sample,) = run(f"{text}dataset: [{json.dumps(row)}]\n").samples
        assert sample.scores["crag_score"] == score


_WRONG = "{column: wrong, range: [0, 1], lower_is_better: true}"


@pytest.mark.parametrize(
    ("metrics", "score"),
    [
        ("crag_score", -1.0),
        (f"crag_score, {_WRONG}", -1.0),
        ("em, {crag_score: {correct: em}}", -1.0),
        ("f1, {crag_score: {correct: f1, at_least: 0.9, acceptable: 0.3}}", 0.5),
        ("{column: right, range: [0, 1]}, {crag_score: {correct: right}}", 1.0),
        # 0.3 is summed to 0.29999999999999993 as easily.
        ("{column: sum, range: [0, 1]}, {crag_score: {correct: sum, at_least: 0.3}}", 1.0),
        (
            "{column: sum, range: [0, 1]}, "
            "{crag_score: {correct: sum, at_least: 0.4, acceptable: 0.3}}",
            0.5,
        ),
    ],
)
def test_another_metric_may_say_whether_an_answer_is_right(
    run: RunOf, metrics: str, score: float
) -> None:
    row = "{answer: It is Rome., references: [Rome it was], wrong: 1, right: 1, sum: "
    row += "0.29999999999999993}"
    (sample,) = run(f"name: s\nmetrics: [{metrics}]\ndataset: [{row}]\n").samples
    assert sample.scores["crag_score"] == score


@pytest.mark.parametrize(
    ("metrics", "end"),
    [
        ("{column: level, range: [0, 5]}, {crag_score: {correct: level}}", "5"),
        ("{crag_score: {correct: level}}, {column: level, range: [1, 5]}", "5"),
        ("{column: level, range: [0, null]}, {crag_score: {correct: level}}", None),
        ("{column: level}, {crag_score: {correct: level}}", None),
        ("{column: level, range: [0, 5]}, {crag_score: {correct: level, acceptable: 1}}", "5"),
        ("{column: level, range: [0, 5]}, {crag_score: {correct: level, at_least: 1}}", None),
        ("{column: level, range: [0, 5]}, {crag_score: {correct: level, at_least: 4}}", None),
        ("{column: level, range: [0, 5]}, crag_score", None),
        ("{column: level, range: [0, 5]}, {crag_score: {correct: em}}, em", None),
        ("{column: level, range: [0, 1]}, {crag_score: {correct: level}}", None),
        ("{column: level, range: [-1, 1]}, {crag_score: {correct: level}}", None),
        ("{crag_score: {correct: acc}}, acc", None),
    ],
)
def test_a_level_from_which_an_answer_is_right_is_named(
    plan: PlanOf, metrics: str, end: str | None
) -> None:
    """1 of 5 levels was enough, in silence."""
    row = "{answer: It is Rome., references: [Rome it was], level: 1}"
    said = plan(f"name: s\nmetrics: [{metrics}]\ndataset: [{row}]\n").info.warnings
    assert [one.partition("; ")[0] for one in said if "at_least" in one] == (
        [f"s.yaml: crag_score: an answer is right from 1 on of 'level', whose range ends at {end}"]
        if end
        else []
    )


def test_a_metric_of_which_less_is_better_says_of_no_answer_that_it_is_right(
    problems: Callable[[str], list[str]],
) -> None:
    """A wrong answer was right."""
    text = f"name: s\nmetrics: [{{crag_score: {{correct: wrong}}}}, {_WRONG}]\n"
    (found,) = problems(f"{text}dataset: [{{answer: a, references: [b], wrong: 1}}]\n")
    assert "metrics[0]: correct: less is better of 'wrong', so that its wrong answers" in found


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, f"unknown metric '{name}'") for name in ("emm", "crag_score")),
        ("exact_match", "expected 'em', its name here"),
    ],
)
def test_a_metric_that_is_to_say_what_is_right_has_to_be_there(
    problems: Callable[[str], list[str]], name: str, problem: str
) -> None:
    """Each row was an error. One that is refused itself is no second problem."""
    rows = "dataset: [{answer: a, references: [b]}]\n"
    (found,) = problems(f"name: s\nmetrics: [{{crag_score: {{correct: {name}}}}}, em]\n{rows}")
    assert f"metrics[0]: correct: {problem}" in found
    assert len(problems(f"name: s\nmetrics: [{{crag_score: {{correct: no}}}}, no]\n{rows}")) == 1


def test_an_answer_in_another_language_is_unclear_and_no_figure(
    scored: Callable[..., SampleResult],
) -> None:
    """Never answered; other metrics score it."""
    found = scored(
        "{language: en, also: [Weiß ich nicht.]}", answer="Нет данных об этом в документах."
    )
    found = scored("{language: en}", answer="Нет данных об этом.", answerable=True)
    assert found.scores["refusal"] is None
    assert "languages" in found.errors["refusal"]
    assert found.scores["em"] == 0.0


def test_without_the_keys_nothing_changes(run: RunOf) -> None:
    """A scenario of before scores the same, columns of these names are metadata."""
    result = run(
        "name: s\nmetrics: [em, f1]\ndataset:\n"
        "  - {answer: 'Paris [1].', references: [Paris], answerable: false, citations: [1]}\n"
    )
    (sample,) = result.samples
    assert sample.scores["em"] == 0.0
    assert sample.metadata == {"answerable": False, "citations": [1]}
    assert not sample.left_out


def test_a_gate_whose_every_row_is_left_out_fails(run: RunOf) -> None:
    result = run(
        "name: s\nrefusals: phrases\nmetrics: [em, missed_refusal]\n"
        "gates: {missed_refusal: 0}\ndataset:\n"
        "  - {answer: Paris, references: [Paris], answerable: true}\n"
    )
    assert [g.outcome for g in result.gates if g.name == "missed_refusal.mean"] == ["failed"]


LEAVES = """
name: s
refusals: phrases
metrics: [em, citation_coverage]
citations: {style: brackets, base: 1}
gates: {citation_coverage: {mean: 0.9, not_applicable: %s}}
dataset:
  - {answer: 'It opened in 1889 [1].', contexts: [a], references: [b], answerable: true}
  - {answer: 'It opened in 1889 [1].', contexts: [a], references: [b], answerable: true}
  - {answer: I do not know., contexts: [a], references: [b], answerable: true}
"""


@pytest.mark.parametrize(("share", "outcome"), [("0.4", "passed"), ("0.3", "failed")])
def test_a_share_may_leave_the_mean_and_no_more(run: RunOf, share: str, outcome: str) -> None:
    """One of three answers refuses: the mean is 1 without it, and 2/3 with it."""
    (gate, *_) = run(LEAVES % share).gates
    assert gate.outcome == outcome
    assert gate.observed == 1.0


def test_without_that_share_they_count_as_the_worst(run: RunOf) -> None:
    scenario = LEAVES.replace("{mean: 0.9, not_applicable: %s}", "0.6")
    (gate, *_) = run(scenario).gates
    assert gate.observed == pytest.approx(2 / 3)
    assert "1.0000 without 1 of 3" in gate.message


class Judge:
    """A judge that says what it was told to say, and counts how often it was asked."""

    def __init__(self, name: str, says: float | None, repeats: Sequence[float] = ()) -> None:
        self._name, self._says = name, says
        self._details = {REPEATS: {"values": list(repeats)}} if repeats else None
        self.calls = 0

    async def ascore(self, sample: Sample, models: Models) -> Score:
        self.calls += 1
        error = None if self._says is not None else "ClientError: no reply"
        return Score(self._name, self._says, details=self._details, error=error)


def asked(name: str, judge: Judge, *needs: str) -> BoundMetric:
    info = MetricInfo(
        name,
        frozenset(needs),
        range=(0.0, 2.0),
        asks=frozenset({"judge"}),
        section="refusals" if name in (ANSWER_KIND, ANSWERABLE) else None,
    )
    return BoundMetric(MetricColumn(name, ends=(0.0, 2.0)), info, judge)


@pytest.fixture
def by_judge(plan: PlanOf) -> Callable[..., tuple[SampleResult, Judge]]:
    """Return a function: result by a judge of kinds, and the judge of a metric on contexts."""

    def score(
        kind: float | None,
        suffices: float | None = None,
        *,
        repeats: Sequence[float] = (),
        fails: bool = False,
        metrics: str = "",
        **fields: Any,
    ) -> Any:
        text = SCENARIO.format(refusals="phrases")
        made = plan(re.sub(r"metrics: .*", f"metrics: [{metrics}]", text) if metrics else text)
        assert made.answers is not None
        questions = [asked(ANSWER_KIND, Judge(ANSWER_KIND, kind, repeats), "question", "answer")]
        if suffices is not None or fails:
            judge = Judge(ANSWERABLE, suffices)
            questions.insert(0, asked(ANSWERABLE, judge, "question", "contexts"))
        faithful = Judge("faithful", 2.0)
        every = (*made.metrics, asked("faithful", faithful, "answer", "contexts"))
        columns = tuple(metric.column for metric in every)
        made = replace(
            made,
            metrics=every,
            info=replace(made.info, metrics=columns),
            answers=replace(made.answers, asked=tuple(questions)),
        )
        known = {"question": "q", "contexts": ("Paris",), "references": ("Paris",)}
        sample = Sample("s", **{**known, **fields})
        scores = asyncio.run(judge_sample(made, sample, Models()))
        assert len(asked_metrics(made, sample)) >= len(scores)
        return with_verdict(made, score_case(made, sample, Judgement(scores))), faithful

    return score


def test_a_judge_tells_what_phrases_do_not(by_judge: Callable[..., Any]) -> None:
    """On a refused answer the metric on contexts is not asked."""
    found, faithful = by_judge(2.0, answer="Ask someone else, will you?", answerable=True)
    assert found.scores["over_refusal"] == 1.0
    assert found.scores["faithful"] == 0.0
    assert found.left_out["faithful"] == "answer"
    assert faithful.calls == 0


def test_a_judge_may_see_an_answer_in_a_phrase(by_judge: Callable[..., Any]) -> None:
    found, faithful = by_judge(0.0, answer=REFUSED, answerable=True)
    assert found.scores["over_refusal"] == 0.0
    assert found.scores["faithful"] == 2.0
    assert faithful.calls == 1


def test_a_judge_that_does_not_reply_leaves_nothing_scored_in_silence(
    by_judge: Callable[..., Any],
) -> None:
    found, _ = by_judge(None, answer="Paris", answerable=True)
    assert found.scores["em"] is None
    assert found.errors["em"] == "ClientError: no reply"
    assert found.errors["refusal"] == "ClientError: no reply"
    assert found.outcome == "error"


@pytest.mark.parametrize(
    ("kind", "answer", "metrics", "scores"),
    [
        (0.0, "It is in Paris [1].", "citation_coverage, source_recall", [1.0, 1.0]),
        (0.0, "It is in Paris now.", "citation_coverage, source_recall", [0.0, 0.0]),
        (1.0, "It is in Paris now.", "citation_coverage, source_recall", [0.0, 0.0]),
        (2.0, "Ask someone else, will you?", "citation_coverage, source_recall", [None, None]),
        (None, "", "citation_coverage, source_recall", [0.0, 0.0]),
        (None, "It is in Paris [1] [2].", "citation_validity", [0.5]),
        (None, "It is in Paris now.", "citation_validity", [None]),
        (None, "Ask someone else, please.", "citation_coverage, source_recall", ["no", "no"]),
        (None, "It is in Paris [1] [2].", "citation_coverage, source_precision", ["no", "no"]),
        (None, "```\nx\n```", "citation_coverage, source_precision", [None, None]),
    ],
)
def test_citations_of_what_may_refuse_wait_for_the_judge(
    by_judge: Callable[..., Any],
    kind: float | None,
    answer: str,
    metrics: str,
    scores: Sequence[float | str | None],
) -> None:
    """An honest refusal of an unanswerable question cites nothing; it had 0."""
    fields = {"answer": answer, "answerable": False, "reference_citations": (1,)}
    found, _ = by_judge(kind, metrics=metrics, **fields)
    told = [found.scores[name] for name in metrics.split(", ")]
    errors = [found.errors.get(name) for name in metrics.split(", ")]
    assert told == [None if score == "no" else score for score in scores]
    assert errors == ["ClientError: no reply" if score == "no" else None for score in scores]


@pytest.mark.parametrize(
    ("fields", "score", "left_out"),
    [
        ({"question": None, "reference_citations": (1,)}, 0.5, None),
        ({"question": None}, None, "label"),
        ({}, None, "label"),
    ],
)
def test_what_the_judge_is_not_asked_about_does_not_wait_for_it(
    by_judge: Callable[..., Any], fields: dict[str, Any], score: float | None, left_out: str | None
) -> None:
    """Of a row without a question, or one that names no source, its reply changes nothing."""
    answer = "It is in Paris [1] [2]."
    found, _ = by_judge(None, metrics="source_precision", answer=answer, answerable=None, **fields)
    assert found.scores["source_precision"] == score
    assert found.left_out.get("source_precision") == left_out
    assert "source_precision" not in found.errors


@pytest.mark.parametrize(("suffices", "missed"), [(0.0, 1.0), (1.0, None)])
def test_a_judge_says_whether_the_contexts_suffice(
    by_judge: Callable[..., Any], suffices: float, missed: float | None
) -> None:
    found, _ = by_judge(0.0, suffices, answer="Paris", answerable=None)
    assert found.scores["missed_refusal"] == missed


@pytest.mark.parametrize("answer", ["[1]", ".", "\u200b", "…"])
def test_an_answer_without_a_word_is_empty(
    scored: Callable[..., SampleResult], answer: str
) -> None:
    found = scored(answer=answer, answerable=True)
    assert found.scores["refusal"] == 0.0
    assert found.scores["over_refusal"] == 1.0


def test_a_dash_in_place_of_an_answer_and_a_reference_is_none(
    scored: Callable[..., SampleResult],
) -> None:
    """Tables have it for what is missing."""
    found = scored(answer="-", references=("-",), answerable=True)
    assert found.scores["over_refusal"] == 1.0


@pytest.mark.parametrize("answer", ["√", "×", "!=", "[1]"])
def test_a_sign_that_is_expected_is_an_answer(
    scored: Callable[..., SampleResult], answer: str
) -> None:
    """Those of questions whether something is right; what the program prints."""
    found = scored(answer=f"{answer} ", references=(answer,), answerable=True)
    assert (found.scores["over_refusal"], found.scores["refusal"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("answer", "reference", "citations", "is_empty"),
    [
        # Nothing but markers says nothing, whatever is expected.
        ("[1]", "Paris", "", True),
        ("[2][3]", "two and three", "", True),
        ("【1】", "巴黎", "", True),
        ("[1]", "1", "", True),
        ("[1][2]", "12", "", True),
        ("[保修.pdf]", "两年", "", True),
        ("[warranty.pdf]", "pdf", "", True),
        ("[a.pdf][b.pdf]", "a.pdf", "", True),
        ("(source: warranty.pdf)", "two years", "", True),
        ("...", "...", "", True),
        ("- ", "-", "", True),
        ("- -", "--", "", True),
        # Where answers cite, a name in brackets is a marker.
        ("[warranty.pdf]", "warranty.pdf", "citations: auto", True),
        ("[保修.pdf]", "保修.pdf", "citations: {style: brackets, of: ids}", True),
        # What is no marker is an answer.
        ("[A]", "A", "", False),
        ("(b)", "b", "", False),
        ("[]", "[]", "", True),
        ("[1]", "[1]", "citations: auto", False),
        ("The file [warranty.pdf]", "warranty.pdf", "", False),
        # A list is one, however it is spaced; so is the name of the file that is asked for.
        ("[1, 2, 3]", "[1,2,3]", "", False),
        ("[1,2,3]", "[ 1, 2, 3 ]", "citations: auto", False),
        ("[warranty.pdf]", "warranty.pdf", "", False),
        ("[Warranty.pdf].", "warranty.pdf", "", False),
        ("【保修.pdf】", "保修.pdf", "", False),
        ("[a.pdf][b.pdf]", "a.pdf, b.pdf", "", False),
    ],
)
def test_brackets_are_an_answer_where_they_are_expected(
    run: RunOf, answer: str, reference: str, citations: str, is_empty: bool
) -> None:
    row = {"question": "q", "answer": answer, "references": [reference], "contexts": ["c"]}
    text = f"name: s\nrefusals: phrases\n{citations}\nmetrics: [em, f1]\n"
    (sample,) = run(f"{text}dataset: [{json.dumps(row)}]\n").samples
    assert (sample.reasons.get("f1") == "empty answer") == is_empty


NAMED = "[{text: x, doc_name: a}, {text: y, doc_name: b}, {text: z, doc_name: a}]"
CITES = """
name: s
citations: {citations}
metrics: [citation_validity, citation_coverage, source_precision, source_recall]
dataset:
  - {row}
"""


@pytest.mark.parametrize(
    ("citations", "row", "scores"),
    [
        # Ids are names: [9] is the second id, [1] is none.
        (
            "{style: brackets, of: ids}",
            "{answer: 'It opened in 1889 [9].', retrieved_ids: ['7', '9'], reference_ids: ['9']}",
            [1.0, 1.0, 1.0, 1.0],
        ),
        (
            "{style: brackets, of: ids}",
            "{answer: 'It opened in 1889 [1].', retrieved_ids: ['7', '9'], reference_ids: ['9']}",
            [0.0, 0.0, 0.0, 0.0],
        ),
        # A number above 99 is no citation, unless there is such an id.
        *(
            (
                "{style: brackets, of: ids}",
                f"{{answer: 'It opened in May {cited}.', retrieved_ids: {ids}, "
                f"reference_ids: ['{gold}']}}",
                score,
            )
            for cited, ids, gold, *score in (
                ("[1889]", "['7', '9']", "9", 0, 0, 0, 0),
                ("[1889]", "['a', 'b1900']", "a", 0, 0, 0, 0),
                ("[1889]", "['20231105', '7']", "7", 0, 0, 0, 0),
                ("[012]", "['7', '12']", "12", 1, 1, 1, 1),
                ("[7]", "['007', '7']", "7", 1, 1, 1, 1),
                ("[7]", "['007', '7']", "007", 1, 1, 0, 0),
                ("[3]", "['03x', '30']", "30", 0, 0, 0, 0),
                ("[1235]", "['1234', '7']", "7", 0, 0, 0, 0),
                ("[1234]", "['1234', '7']", "1234", 1, 1, 1, 1),
                ("[0012]", "['0007', '0012']", "0012", 1, 1, 1, 1),
                ("[12]", "['0007', '0012']", "0012", 1, 1, 1, 1),
                ("[000]", "['000', '001']", "000", 1, 1, 1, 1),
                ("[1234, 7]", "['7', '1234', '8']", "7", 1, 1, 0.5, 1),
                ("[1998]", "['7', '2001']", "7", 0, 0, 0, 0),
                ("[2019-2021]", "['7', '4821']", "7", 0, 0, 0, 0),
                ("[1998] by [7]", "['7', '2001']", "7", 1, 1, 1, 1),
                ("[2019-2021] by [4821]", "['17', '4821']", "4821", 1, 1, 1, 1),
            )
        ),
        # As many contexts make a number one, whatever the ids are.
        (
            "{style: brackets, of: ids}",
            f"{{answer: 'It opened in May [7] [doc 100] [120].', contexts: {['x'] * 120}, "
            "retrieved_ids: ['7'], reference_ids: ['7']}",
            [0.5, 1, 0.5, 1],
        ),
        # A place has the id that stands there, also where ids before it are repeated.
        *(
            (
                "{style: brackets, base: 1}",
                f"{{answer: 'It opened in May {cited}.', contexts: {contexts}, "
                f"retrieved_ids: {ids}, reference_ids: [b]}}",
                [1, 1, right, right],
            )
            for cited, contexts, ids, right in (
                ("[2]", "[x, y, z]", "[a, b, c]", 1),
                ("[3]", "[x, y, z]", "[a, b, c]", 0),
                ("[2]", "[x, y]", "[a, b, c, d]", 1),
                ("[2]", "[x, y, z]", "[a, b]", 1),
                ("[2]", "[x, y, z]", "[a, null, b]", 1),
                ("[2]", NAMED, "[a, b]", 1),
                ("[3]", "[x, y, z]", "[a, a, b]", 1),
                ("[2]", "[x, y, z]", "[a, a, b]", 0),
                ("[3]", "[x, y, z]", "[b, a, b]", 1),
                ("[4]", "[w, x, y, z]", "[a, a, null, b]", 1),
                ("[4]", "['', x, y, z]", "[a, '', '', b]", 1),
                ("[3]", "[x, y, z]", "[{id: a, page: 1}, {id: a, page: 2}, {id: b}]", 1),
                ("[3]", "[x, y, z]", "a; a; b", 1),
                # Passages of a document put together, or more found than shown: not by place.
                ("[2]", "[x, y]", "[a, a, b]", 1),
                ("[2]", "[x, y]", "[{id: a, page: 1}, {id: a, page: 2}, {id: b}]", 1),
                ("[2]", "[x, y]", "a; a; b", 1),
                ("[2]", "[x, y]", "[a, a, b, c]", 1),
                ("[2]", "['', x, y, z]", "[a, a, b]", 1),
                # The contexts say that they are in another order.
                ("[1]", NAMED, "[a, a, b]", 0),
                ("[2]", NAMED, "[a, a, b]", 1),
                ("[3]", NAMED, "[b, b, a]", 0),
                (
                    "[3]",
                    "[{text: x, doc_name: b.md}, {text: y, doc_name: a.md}, {text: z, "
                    "doc_name: a.md}]",
                    "[a, a, b]",
                    0,
                ),
                (
                    "[3]",
                    "[{text: x, doc_name: a1}, {text: y, doc_name: a2}, {text: z, doc_name: b1}]",
                    "[a, a, b]",
                    1,
                ),
            )
        ),
        # Numbers of fields begin where those of the text do.
        (
            "{style: brackets, base: 0}",
            "{answer: 'It opened in 1889 [0].', contexts: [a, b], reference_citations: [0]}",
            [1.0, 1.0, 1.0, 1.0],
        ),
        (
            "{style: brackets, base: 0}",
            "{answer: It opened in 1889., citations: [0, 1], contexts: [a, b], "
            "reference_citations: [0, 1]}",
            [1.0, None, 1.0, 1.0],
        ),
        # Of an id that no context shows, nobody knows the document.
        *(
            (
                "{style: file, of: ids}",
                f"{{answer: 'It opened in May [{cited}].', contexts: [x, y], "
                "retrieved_ids: [a.md, e.md, c.md], reference_ids: [a.md]}",
                [1, 1, right, right],
            )
            for cited, right in (("a.md", 1), ("e.md", 0), ("c.md", 0))
        ),
        # Chunks of one document are one source where citations name documents, by number or id.
        *(
            (
                f"{{style: {style}, of: {of}}}",
                f"{{answer: 'It opened in May {cited}.', contexts: {NAMED}, {gold}}}",
                [1, 1, *scores],
            )
            for style, of, cited, gold, *scores in (
                ("brackets", "contexts", "[1] [3] [2]", "doc_name: a", 1 - 1 / 3, 1),
                ("brackets", "doc_name", "[1] [3] [2]", "doc_name: a", 0.5, 1),
                ("brackets", "contexts", "[3]", "reference_citations: [1, 3]", 1, 0.5),
                ("brackets", "doc_name", "[3]", "reference_citations: [1, 3]", 1, 1),
                ("brackets", "doc_name", "[3]", "reference_citations: [1, 2]", 1, 0.5),
                ("brackets", "doc_name", "[3] [2]", "reference_citations: [a]", 0.5, 1),
                ("source", "doc_name", "(source: a)", "reference_citations: [3]", 1, 1),
                (
                    "brackets",
                    "doc_name",
                    "[1]",
                    "retrieved_ids: [x1, y1, x2], reference_ids: [x1, x2, z9]",
                    1,
                    0.5,
                ),
            )
        ),
        # A field that cites nothing cites nothing: the worst, not a row without a score.
        (
            "{style: brackets}",
            "{answer: It opened in 1889., citations: [], contexts: [a], reference_citations: [1]}",
            [0.0, 0.0, 0.0, 0.0],
        ),
        # So does one of blanks, also where the row expects nothing.
        (
            "{style: brackets}",
            "{answer: It opened in 1889., citations: [''], contexts: [a], "
            "reference_citations: ['', 1]}",
            [0.0, 0.0, 0.0, 0.0],
        ),
        # TREC's form of an empty answer.
        (
            "{style: brackets}",
            "{answer: [{text: ' ', citations: [0]}], contexts: [a], reference_citations: [1]}",
            [0.0, 0.0, 0.0, 0.0],
        ),
    ],
)
def test_citations_are_those_that_the_row_means(
    run: RunOf, citations: str, row: str, scores: list[float | None]
) -> None:
    (sample,) = run(CITES.format(citations=citations, row=row)).samples
    assert list(sample.scores.values()) == scores


@pytest.mark.parametrize(
    ("base", "lost", "wrong", "missed"),
    [
        (0, "[4], [5] point to nothing (4 contexts, from [0])", "0", "0"),
        (1, "[5] points to nothing (4 contexts)", "1 ([4] is from d.md)", "1"),
    ],
)
def test_messages_number_sources_as_the_answer_does(
    run: RunOf, base: int, lost: str, wrong: str, missed: str
) -> None:
    """Of four contexts counted from 0, [4] and [5] are none; counted from 1, [4] is the last."""
    row = (
        "{answer: 'It takes five days [4] [5].', contexts: [a, b, c, {text: d, doc_name: d.md}], "
        f"reference_citations: [{base}]}}"
    )
    rule = f"{{style: brackets, base: {base}}}"
    (sample,) = run(CITES.format(citations=rule, row=row)).samples
    assert sample.reasons["citation_validity"] == f'{lost}: "It takes five days."'
    assert sample.details["citation_validity"] == {"invalid": ["4", "5"] if base == 0 else ["5"]}
    assert sample.reasons["source_precision"] == (
        f"[4], [5] are not among the expected sources: {wrong}"
    )
    assert sample.reasons["source_recall"] == f"not cited: {missed}"


@pytest.mark.parametrize(
    ("named", "validity", "precision"),
    [
        ("[{text: a, source: a.pdf}, {text: b, source: b.md}]", 1.0, 1.0),
        # Section 7 may be a source that was not found.
        ("[{text: a, source: a.pdf}, {text: b, source: Section 1}]", 0.5, 0.5),
        # The search did not find a.pdf, which the row names.
        ("[{text: a, source: c.pdf}]", 0.0, 1.0),
    ],
)
def test_a_section_of_a_source_of_the_row_is_no_source(
    run: RunOf, named: str, validity: float, precision: float
) -> None:
    row = (
        f"{{answer: 'It opened (Source: a.pdf, Section 7).', contexts: {named}, "
        "reference_citations: [a.pdf]}"
    )
    (sample,) = run(CITES.format(citations="auto", row=row)).samples
    scores = [sample.scores[name] for name in ("citation_validity", "source_precision")]
    assert scores == [validity, precision]


@pytest.mark.parametrize(
    ("cited", "expected", "lost", "wrong", "missed"),
    [
        # By place: of two contexts 2 is none, and 1 is the second one, which the row calls 2.
        ("[2]", "[1]", '[2] points to nothing (2 contexts, from [0]): "It opened."', *2 * ("1",)),
        ("[1]", "[1]", None, *2 * ("1",)),
        ("[1]", "[2]", None, None, None),
    ],
)
def test_an_answer_as_trec_writes_it_counts_from_0(
    run: RunOf, cited: str, expected: str, lost: str | None, wrong: str | None, missed: str | None
) -> None:
    """The row's own numbers count from 1 beside it: a message says both."""
    row = (
        f"{{answer: [{{text: It opened., citations: {cited}}}], contexts: [a, b], "
        f"reference_citations: {expected}}}"
    )
    (sample,) = run(CITES.format(citations="auto", row=row)).samples
    numbers = "(counted from 1, the answer from 0)"
    assert sample.reasons.get("citation_validity") == lost
    assert sample.reasons.get("source_precision") == (
        wrong and f"{cited} is not among the expected sources: {wrong} {numbers}"
    )
    assert sample.reasons.get("source_recall") == (missed and f"not cited: {missed} {numbers}")


@pytest.mark.parametrize("cited", ["9", "'9'"])
def test_in_an_answer_as_trec_writes_it_a_number_may_be_an_id(run: RunOf, cited: str) -> None:
    """The id 9 was read as 10, which is none: an honest answer got 0."""
    row = (
        f"{{answer: [{{text: It opened in 1889., citations: [{cited}]}}], "
        "retrieved_ids: ['7', '9'], reference_citations: [9]}"
    )
    (sample,) = run(CITES.format(citations="{of: ids}", row=row)).samples
    assert list(sample.scores.values()) == [1.0, 1.0, 1.0, 1.0]
    row = row.replace("reference_citations: [9]", "reference_citations: [7]")
    (sample,) = run(CITES.format(citations="{of: ids}", row=row)).samples
    assert sample.reasons["source_precision"] == "[9] is not among the expected sources: 7"


def test_of_a_number_that_is_an_id_nothing_is_counted(run: RunOf) -> None:
    """An id is no place, wherever places begin."""
    row = "{answer: 'It opened in 1889 [1].', retrieved_ids: ['7', '9'], reference_ids: ['9']}"
    rule = "{style: brackets, base: 0, of: ids}"
    (sample,) = run(CITES.format(citations=rule, row=row)).samples
    assert sample.reasons["source_precision"] == "[1] is not among the expected sources: 9"


def test_the_share_that_may_leave_is_one_of_weights(run: RunOf) -> None:
    """The one answer that cites nothing weighs 99 of 100."""
    result = run(
        "name: s\ncitations: {style: brackets}\nmetrics: [citation_validity]\n"
        "gates: {citation_validity: {mean: 0.9, not_applicable: 0.5}}\n"
        "doc_weights: {big: 99, small: 1}\ndataset:\n"
        "  - {answer: It opened in 1889., contexts: [a], doc_name: big}\n"
        "  - {answer: 'It opened in 1889 [1].', contexts: [a], doc_name: small}\n"
    )
    assert result.gates[0].outcome == "failed"


def test_of_repeats_the_middle_one_counts(by_judge: Callable[..., Any]) -> None:
    """Two of three see a refusal: their mean, 4/3, would be an answer in part."""
    found, _ = by_judge(4 / 3, repeats=(2.0, 0.0, 2.0), answer="Ask others.", answerable=True)
    assert found.scores["over_refusal"] == 1.0
    found, _ = by_judge(4 / 3, repeats=(1.0, 1.0, 2.0), answer="Ask others.", answerable=True)
    assert found.scores["over_refusal"] == 0.0


def test_nothing_is_scored_where_nobody_said_whether_it_can_be_answered(
    by_judge: Callable[..., Any],
) -> None:
    """Nobody knows whether to refuse was right; the row's reference says what the answer is."""
    found, _ = by_judge(0.0, fails=True, answer="Paris", answerable=None)
    assert found.scores["em"] == 1.0
    assert found.errors["refusal"] == "ClientError: no reply"
    assert found.outcome == "error"


def test_a_search_that_found_nothing_excuses_no_refusal(by_judge: Callable[..., Any]) -> None:
    """The judge sees what was found; the reference shows that the documents hold an answer."""
    found, _ = by_judge(2.0, 0.0, answer="I do not know.", answerable=None)
    assert (found.scores["em"], found.scores["refusal"]) == (0.0, 1.0)
    unknown = ("I do not know.",)
    found, _ = by_judge(2.0, 0.0, answer="No idea.", references=unknown, answerable=None)
    assert (found.scores["em"], found.scores["refusal"]) == (1.0, 1.0)
    found, _ = by_judge(2.0, 0.0, answer="I do not know.", answerable=False)
    assert (found.scores["em"], found.scores["refusal"]) == (1.0, 1.0)


@pytest.mark.parametrize("suffices", [0.0, 1.0])
@pytest.mark.parametrize("answer", [REFUSED, "Paris", "", None, "Water damage isn't covered."])
def test_what_a_judge_says_counts_as_if_the_row_said_it(
    plan: PlanOf, answer: str | None, suffices: float
) -> None:
    """Also for a metric of question and answer alone, which a refusal rules out only with True."""
    made = plan(SCENARIO.format(refusals="phrases"))
    assert made.answers is not None
    judges = Judge("relevant", 2.0), Judge("faithful", 2.0)
    judged = [
        asked("relevant", judges[0], "question", "answer"),
        asked("faithful", judges[1], "answer", "contexts"),
    ]
    metrics = (*made.metrics, *judged)
    question = asked(ANSWERABLE, Judge(ANSWERABLE, suffices), "question", "contexts")
    made = replace(
        made,
        metrics=metrics,
        info=replace(made.info, metrics=tuple(metric.column for metric in metrics)),
        answers=replace(made.answers, asked=(question,)),
    )
    row = Sample("s", question="q", answer=answer, contexts=("Rome",))
    if answer and "covered" in answer:  # what is expected reads as a refusal, too
        row = replace(row, references=("Water damage is not covered by it.",))
    found = []
    for sample in (row, replace(row, answerable=suffices >= 1.0)):
        scores = asyncio.run(judge_sample(made, sample, Models()))
        found.append(score_case(made, sample, Judgement(scores)))
    aside = {"latency_s": 0.0, "judged_by": {}, "left_out": {}}
    assert replace(found[0], **aside) == replace(found[1], **aside)
    # What it rules out by the contexts is not ruled out by the row.
    ruled_out = {name: "run" if how == "row" else how for name, how in found[1].left_out.items()}
    by_fields = {name: how for name, how in found[0].left_out.items() if how == "row"}
    assert found[0].left_out == ruled_out | by_fields
    assert set(by_fields) <= {"em", "f1", "hit_rate"}  # the row has no reference
    if answer == REFUSED:
        # To refuse is right where the documents hold no answer: then it is asked.
        assert found[0].scores["relevant"] == (0.0 if suffices else 2.0)
        assert judges[0].calls == (0 if suffices else 2)
    assert not found[0].errors


@pytest.mark.parametrize("named", [{"doc_name": "a.md"}, {"reference_ids": {"d": 1}}])
def test_nor_does_it_excuse_the_search_itself(plan: PlanOf, named: dict[str, Any]) -> None:
    """The row names the document: its recall is 0, and is not left out."""
    made = plan(SCENARIO.format(refusals="phrases"))
    assert made.answers is not None
    (search,) = [metric for metric in made.metrics if metric.column.name == "hit_rate"]
    said = {ANSWERABLE: Score(ANSWERABLE, 0.0)}
    row = Sample("s", question="q", answer="Rome", contexts=("x",), reference_contexts=())
    assert is_ruled(made.answers, search, row, said)
    assert not is_ruled(made.answers, search, replace(row, **named), said)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"doc_name": "a.md"}, "refused (the row names its document: it knows of an answer)"),
        ({"doc_name": "a.md", "references": ("Paris",)}, "refused"),
        ({"references": ("Paris",)}, "refused"),
        ({"references": None}, None),
    ],
)
def test_a_refusal_that_only_a_document_makes_wrong_says_so(
    by_judge: Callable[..., Any], fields: dict[str, Any], reason: str | None
) -> None:
    """The judge finds no answer in the contexts; a row with neither has it count."""
    known = {"references": None, "answerable": None, **fields}
    found, _ = by_judge(2.0, 0.0, answer=REFUSED, **known)
    assert found.scores["faithful"] == (0.0 if reason else None)
    assert found.reasons["faithful"] == (reason or "refused")
    assert found.left_out["faithful"] == ("answer" if reason else "run")


def test_a_metric_that_switches_a_section_on_is_on_record(plan: PlanOf) -> None:
    """Scores of em depend on it: a run without must not be its baseline in silence."""
    row = "dataset: [{answer: a, references: [a], answerable: true}]\n"
    without = plan(f"name: s\nmetrics: [em]\n{row}").info.measured
    named = plan(f"name: s\nmetrics: [em, refusal]\n{row}").info.measured
    differing = [setting.name for setting, _ in setting_differences(without, named)]
    assert differing == ["refusals"]
    assert [setting.name for setting in SETTINGS if setting.name in differing and setting.refuses]


def test_a_label_that_a_row_lacks_is_not_said_by_the_row(run: RunOf) -> None:
    """Three rows lost theirs: a group of them alone is not in order, and fails."""
    rows = [
        {"answer": f"So it is, {kind} [1].", "contexts": ["c"], "kind": kind, "id": f"{kind}{at}"}
        for kind, count in (("a", 6), ("b", 3))
        for at in range(count)
    ]
    rows = [row | {"reference_citations": [1]} if row["kind"] == "a" else row for row in rows]
    gates = "gates: {by: {kind: {weighted_score: 0.5, pass_rate: 0.5}}}"
    gates = f"thresholds: {{source_recall: 0.5}}\n{gates}"
    text = f"name: s\ncitations: true\nmetrics: [source_recall]\n{gates}\n"
    found = run(f"{text}dataset: {json.dumps(rows)}\n")
    assert [gate.outcome for gate in found.gates][:2] == ["failed", "failed"]
