"""G2: whether what an answer cites supports it: what is asked, what it is worth, what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from scripted_models import ScriptedJudge
from table_judge import Look, asked, table_judge

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.citation_support import CitationOptions, recall_measure
from pytest_rageval.metrics.support.table import (
    Cell,
    Citation,
    Statement,
    SupportRow,
    SupportTable,
    context,
)
from pytest_rageval.model import SUPPORT, Sample, SampleResult

SCENARIO = """
name: s
judge: {{model: j, base_url: "http://127.0.0.1:9/v1"}}
citations: {style}
metrics: [{metrics}]
{more}
dataset:
  - {{question: q, answer: a, contexts: [c], history: [{{role: user, content: Hello.}}]}}
"""
ALL = "citation_recall, citation_precision, support_precision, support_recall"
CONTEXTS = ("context 1", "context 2", "context 3", "context 4")
Support = Mapping[tuple[str, str], Any]
"""What (statement, places of a source) is said to be; none where it is not written."""


def look_up(support: Support) -> Look:
    def look(text: str, sources: Sequence[str]) -> Any:
        places = ",".join(source.removeprefix("context ") for source in sources)
        return support.get((text, places), "none")

    return look


class Scored:
    """A result, and what the judge was asked: (places of the source, statements)."""

    def __init__(self, result: SampleResult, judge: ScriptedJudge) -> None:
        self.result = result
        self.calls = sorted(
            (",".join(part.removeprefix("context ") for part in source), statements)
            for source, statements in asked(judge)
        )

    def __getitem__(self, name: str) -> float | None:
        return self.result.scores[name]


Score = Callable[..., Scored]


@pytest.fixture
def scored(plan: Callable[..., Plan]) -> Score:
    """Return a function from an answer, and what the judge says of it, to its scores."""

    def score(
        answer: str,
        support: Support | None = None,
        metrics: str = ALL,
        style: str = "auto",
        more: str = "",
        **fields: Any,
    ) -> Scored:
        made = plan(SCENARIO.format(metrics=metrics, style=style, more=more))
        given = {"question": "q", "contexts": CONTEXTS, "answer": answer, **fields}
        sample, judge = Sample("s", **given), table_judge(look_up(support or {}))
        found = asyncio.run(judge_sample(made, sample, Models(judge=judge)))
        return Scored(score_case(made, sample, Judgement(found)), judge)

    return score


ONE, TWO = "It opened in 1889.", "It is 330 m high."


def test_a_sentence_with_one_citation_needs_one_cell_and_a_source_one_call(scored: Score) -> None:
    found = scored(f"{ONE}[1] {TWO}[1] It stands in Paris.[2]")
    assert found.calls == [("1", (ONE, TWO)), ("2", ("It stands in Paris.",))]


def test_a_blank_context_supports_nothing_and_is_not_asked_about(scored: Score) -> None:
    found = scored(f"{ONE}[1] {TWO}[2]", {(TWO, "2"): "full"}, contexts=("", CONTEXTS[1]))
    assert found.calls == [("2", (TWO,))]
    assert found["citation_recall"] == 0.5
    assert found.result.reasons["citation_recall"] == (
        '"It opened in 1889" cites [1], which does not support it: it is blank'
    )


def test_two_citations_are_asked_about_alone_and_together(scored: Score) -> None:
    """Without the first the rest is the second: that is known."""
    found = scored(f"{ONE}[1][2]", {(ONE, "1,2"): "full"})
    assert [source for source, _ in found.calls] == ["1", "1,2", "2"]
    assert found["citation_precision"] == 1.0  # neither alone is enough, so both are needed


def test_of_three_the_rest_is_asked_about_without_each_that_is_not_enough(scored: Score) -> None:
    says = {(ONE, "1,2,3"): "full", (ONE, "1"): "full", (ONE, "1,3"): "full"}
    found = scored(f"{ONE}[1][2][3]", says)
    sources = [source for source, _ in found.calls]
    assert sources == ["1", "1,2", "1,2,3", "1,3", "2", "3"]
    # [1] is enough alone, [2] is superfluous, without [3] it is not supported.
    assert found["citation_precision"] == pytest.approx(2 / 3)
    assert found["citation_recall"] == 1.0


def test_the_rest_is_not_asked_about_where_all_do_not_support(scored: Score) -> None:
    found = scored(f"{ONE}[1][2][3]", {(ONE, "1"): "full"})
    assert [source for source, _ in found.calls] == ["1", "1,2,3", "2", "3"]
    assert found["citation_precision"] == 0.0


@pytest.mark.parametrize(
    ("metrics", "sources"),
    [
        ("citation_recall", ["1,2,3"]),
        ("citation_precision", ["1", "1,2,3", "2", "3"]),
        ("support_precision", ["1", "2", "3"]),
        ("{support_recall: {cites: first}}", ["1"]),
        ("{citation_recall: {max_citations: 2}}", ["1,2"]),
    ],
)
def test_a_metric_asks_for_its_own_cells(
    scored: Score, metrics: str, sources: Sequence[str]
) -> None:
    found = scored(f"{ONE}[1][2][3]", metrics=metrics)
    assert [source for source, _ in found.calls] == sources


def test_nothing_is_asked_about_an_answer_without_citations(scored: Score) -> None:
    found = scored(ONE)
    assert found.calls == []
    assert found.result.scores == dict.fromkeys(ALL.split(", "), 0.0)
    assert found.result.left_out == {
        "citation_precision": "answer",
        "support_precision": "answer",
    }
    assert found.result.reasons["citation_precision"] == "no citation"
    assert found.result.reasons["citation_recall"] == '"It opened in 1889" cites nothing'


def test_citations_that_point_to_nothing_are_asked_about_nowhere(scored: Score) -> None:
    """And cost as much as wrong ones: of [2][9] the sentence is not supported."""
    found = scored(f"{ONE}[9] {TWO}[2][9]", {(TWO, "2"): "full"})
    assert found.calls == [("2", (TWO,))]  # support_* read [2]
    statements = found.result.details[SUPPORT]["statements"]
    assert [(one["cites"], one["lost"]) for one in statements] == [([], ["9"]), ([2], ["9"])]
    assert found["citation_recall"] == 0.0
    assert found["citation_precision"] == 0.0
    assert found["support_precision"] == pytest.approx((0 + 0.5) / 2)
    assert found.result.reasons["citation_recall"] == (
        '"It opened in 1889" cites [9], which points to nothing (4 contexts); '
        '"It is 330 m high" cites [9], which points to nothing (4 contexts)'
    )


def test_of_the_first_citation_alone_a_lost_one_is_wrong(scored: Score) -> None:
    found = scored(f"{ONE}[9][1]", {(ONE, "1"): "full"}, "{support_recall: {cites: first}}")
    assert found["support_recall"] == 0.0


def test_equal_citations_of_a_sentence_are_one(scored: Score) -> None:
    """Else of [1][2][1], both needed, each [1] would look superfluous: 1/3."""
    found = scored(f"{ONE}[1][2][1]", {(ONE, "1"): "partial", (ONE, "1,2"): "full"})
    assert found["citation_precision"] == 1.0
    assert found["support_precision"] == (0.5 + 0.0) / 2


def test_partial_support_is_half_or_with_strict_nothing(scored: Score) -> None:
    says = {(ONE, "1"): "partial", (TWO, "2"): "full"}
    answer = f"{ONE}[1] {TWO}[2] It is in Paris."
    half = scored(answer, says)
    assert half["support_precision"] == pytest.approx(1.5 / 2)
    assert half["support_recall"] == pytest.approx(1.5 / 3)
    assert half["citation_recall"] == pytest.approx(1 / 3)
    strict = scored(answer, says, "{support_recall: {strict: true}}")
    assert strict["support_recall"] == pytest.approx(1 / 3)


def test_a_cap_counts_the_first_citations_of_a_sentence(scored: Score) -> None:
    says = {(ONE, "1,2"): "full"}
    metrics = "{citation_recall: {max_citations: 2}}, {citation_precision: {max_citations: 2}}"
    found = scored(f"{ONE}[1][2][9]", says, metrics)
    assert (found["citation_recall"], found["citation_precision"]) == (1.0, 1.0)


def test_what_refuses_or_is_empty_is_not_asked_about(scored: Score) -> None:
    refused = scored("The documents do not say.")
    assert refused.calls == []
    assert set(refused.result.scores.values()) == {0.0}
    assert set(refused.result.left_out.values()) == {"answer"}
    assert set(refused.result.reasons.values()) == {"refused"}
    for answer in ("", " ", "[1]"):
        empty = scored(answer)
        assert empty.calls == []
        assert set(empty.result.scores.values()) == {0.0}
        assert not empty.result.left_out


def test_without_a_question_no_judge_has_to_say_whether_it_refuses(scored: Score) -> None:
    """As for citation_coverage."""
    says, more = {(ONE, "1"): "full"}, "refusals: judge"
    found = scored(f"{ONE}[1]", says, more=more, question=None)
    assert [found[name] for name in ALL.split(", ")] == [1.0] * 4


def test_a_refusal_of_an_unanswerable_question_is_ruled_out(scored: Score) -> None:
    found = scored("The documents do not say.", more="refusals: phrases", answerable=False)
    assert set(found.result.left_out.values()) == {"row"}
    assert set(found.result.scores.values()) == {None}


def test_an_answer_without_a_sentence_does_not_count_where_the_answer_may_leave(
    scored: Score,
) -> None:
    found = scored("# Paris [1]")
    assert found.calls == []
    assert set(found.result.left_out.values()) == {"answer"}
    assert set(found.result.reasons.values()) == {"no sentence to cite for"}


def test_citations_for_the_answer_as_a_whole_rule_the_family_out(scored: Score) -> None:
    found = scored(f"{ONE}[1]", citations=(1,))
    assert found.calls == []
    assert set(found.result.left_out.values()) == {"run"}
    assert set(found.result.scores.values()) == {None}


def test_sentences_that_the_row_gives_are_units_however_short(scored: Score) -> None:
    given = (("High.", (1,)), ("Why so?", ()))
    found = scored("High. Why so?", {("High.", "1"): "full"}, cited_sentences=given)
    assert found["citation_recall"] == 0.5


def test_a_cell_without_a_reply_fails_the_metrics_that_need_it(scored: Score) -> None:
    says = {(ONE, "1"): "full", (ONE, "2"): "full", (ONE, "1,2"): None}
    found = scored(f"{ONE}[1][2]", says)
    assert found["citation_recall"] is None
    assert found["citation_precision"] is None
    assert found["support_precision"] == found["support_recall"] == 1.0
    assert "verdict on each statement" in found.result.errors["citation_recall"]


def test_a_document_is_one_source_of_all_its_contexts(scored: Score) -> None:
    """Of: doc_name. A number still points to its context alone."""
    docs = ("a.pdf", "b.pdf", "a.pdf", "c.pdf")
    style = "{of: doc_name}"
    found = scored(
        f"{ONE}[a.pdf] {TWO}[b.pdf][2]", {(ONE, "1,3"): "full"}, style=style, context_docs=docs
    )
    assert found.calls == [("1,3", (ONE,)), ("2", (TWO,))]
    assert found["citation_recall"] == 0.5
    assert found["citation_precision"] == 0.5  # [b.pdf] and [2] point to the same
    assert found.result.details[SUPPORT]["statements"][0]["cites"] == [1, 3]
    sources = found.result.details[SUPPORT]["sources"]
    assert [source["index"] for source in sources] == [[2], [1, 3]]


def test_of_documents_the_rest_is_what_the_others_hold(scored: Score) -> None:
    """[1] is one of the two contexts of a.pdf: together they are these two."""
    docs = ("a.pdf", "b.pdf", "a.pdf", "c.pdf")
    says = {(ONE, "1"): "partial", (ONE, "1,3"): "full"}
    found = scored(f"{ONE}[a.pdf][1]", says, style="{of: doc_name}", context_docs=docs)
    assert [source for source, _ in found.calls] == ["1", "1,3"]
    assert found["citation_precision"] == 0.5  # without [1] a.pdf is still enough
    assert found.result.reasons["citation_precision"] == (
        '"It opened in 1889" does not need [1] (a.pdf): [a.pdf] supports it, and [1] alone does not'
    )


def test_ids_are_cited_by_name(scored: Score) -> None:
    ids = ("7", "8", "9", "10")
    found = scored(f"{ONE}[7] {TWO}[3]", {(ONE, "1"): "full"}, style="{of: ids}", retrieved_ids=ids)
    assert found.calls == [("1", (ONE,))]
    assert found.result.reasons["citation_recall"] == (
        '"It is 330 m high" cites [3], which points to nothing (4 contexts)'
    )


@pytest.mark.parametrize(
    ("cited", "contexts", "calls", "lost"),
    [
        ("[a.md]", 1, ["1"], ""),
        ("[b.md]", 2, ["2"], ""),
        ("[c.md]", 2, [], "c.md"),
        ("[a.md][c.md]", 2, ["1"], "c.md"),
        ("[b.md]", 1, [], "b.md"),
        ("[a.md][b.md]", 1, ["1"], "b.md"),
        ("[b.md]", 0, [], "b.md"),
    ],
)
def test_an_id_that_was_found_and_not_shown_supports_nothing(
    scored: Score, cited: str, contexts: int, calls: Sequence[str], lost: str
) -> None:
    """A search may return more than the model is shown: the rest has no text to ask about."""
    found = scored(
        f"{ONE} {cited}",
        {(ONE, "1"): "full", (ONE, "2"): "full"},
        "citation_recall, support_precision",
        style="{style: file, of: ids}",
        retrieved_ids=("a.md", "b.md"),
        contexts=CONTEXTS[:contexts],
    )
    assert [source for source, _ in found.calls] == calls
    assert found["citation_recall"] == float(not lost)
    assert ("points to nothing" in found.result.reasons.get("citation_recall", "")) == bool(lost)


def test_numbers_are_shown_as_the_answer_writes_them(scored: Score) -> None:
    found = scored(f"{ONE}[0] {TWO}[4]", style="{style: brackets, base: 0}")
    assert found.calls == [("1", (ONE,))]
    assert found.result.reasons["citation_recall"] == (
        '"It opened in 1889" cites [0], which does not support it; '
        '"It is 330 m high" cites [4], which points to nothing (4 contexts)'
    )


HISTORY = "conversation: {evidence: true}"
TURNS = ({"role": "user", "content": "When?"}, {"role": "assistant", "content": "In 1889."})
EARLIER = "User: When?\nAssistant: In 1889."


@pytest.mark.parametrize("level", ["none", "partial"])
def test_the_history_is_asked_about_what_citations_do_not_support(
    scored: Score, level: str
) -> None:
    """It changes no value; uncited sentences are no question of citations."""
    says = {(ONE, "1"): level, (ONE, EARLIER): "full", (TWO, "1"): "full"}
    answer = f"{ONE}[1] {TWO}[1] It stands in Paris."
    found = scored(answer, says, more=HISTORY, history=TURNS)
    assert found.calls == [("1", (ONE, TWO)), (EARLIER, (ONE,))]
    assert found["citation_recall"] == pytest.approx(1 / 3)
    assert found["support_precision"] == (0.75 if level == "partial" else 0.5)
    for name in ("citation_recall", "support_precision", "citation_precision"):
        reason = found.result.reasons[name]
        assert reason.startswith('"It opened in 1889" cites [1], which ')
        assert "; only the history supports it" in reason


def test_a_metric_alone_asks_the_history_as_well(scored: Score) -> None:
    says = {(ONE, "1"): "partial"}
    for metric in ALL.split(", "):
        found = scored(f"{ONE}[1]", says, metric, more=HISTORY, history=TURNS)
        assert [source for source, _ in found.calls] == ["1", EARLIER]


def test_without_evidence_the_history_is_not_asked(scored: Score) -> None:
    found = scored(f"{ONE}[1]", more="conversation: true", history=TURNS)
    assert [source for source, _ in found.calls] == ["1"]


def test_a_failure_names_the_source_and_what_it_says(scored: Score) -> None:
    """And another context where a cell of it is known, by another sentence's metric or its own."""
    says = {
        (ONE, "1"): ("none", "It gives 1887."),
        (ONE, "2"): "full",
        (ONE, "1,2"): ("partial", "The parts contradict each other."),
        (TWO, "3"): ("partial", "The height is there, the unit is not."),
    }
    docs = ("a.pdf", "b.pdf", "c.pdf", None)
    found = scored(f"{ONE}[1][2] {TWO}[3]", says, context_docs=docs)
    assert found.result.reasons == {
        "citation_recall": (
            '"It opened in 1889" cites [1] (a.pdf) and [2] (b.pdf), which together support only a '
            "part of it: The parts contradict each other; [2] (b.pdf) supports it; "
            '"It is 330 m high" cites [3] (c.pdf), which supports only a part of it: The height '
            "is there, the unit is not"
        ),
        "citation_precision": found.result.reasons["citation_recall"],
        "support_precision": (
            '"It opened in 1889" cites [1] (a.pdf), which does not support it: It gives 1887; '
            '[2] (b.pdf) supports it; "It is 330 m high" cites [3] (c.pdf), which '
            "supports only a part of it: The height is there, the unit is not"
        ),
        "support_recall": found.result.reasons["support_precision"],
    }


def test_another_context_that_supports_it_is_named_where_that_is_known() -> None:
    sentence = Statement("sentence", 1, "Open for 60 days.", (Citation("2", (2,)),))
    docs = ("a.pdf", "returns.pdf", None, "faq.pdf")
    row = SupportRow(Sample("s", answer="a", contexts=CONTEXTS, context_docs=docs), "a")
    cells = {
        (sentence, context(2)): Cell("none", "It says 30 days."),
        (sentence, context(4)): Cell("full"),
    }
    table = SupportTable(row, {"sentence": (sentence,)}, cells)
    found = recall_measure(CitationOptions()).score("citation_recall", table)
    assert found.reason == (
        '"Open for 60 days" cites [2] (returns.pdf), which does not support it: It says 30 days; '
        "contexts[4] (faq.pdf) supports it"
    )


def test_more_than_three_faults_are_counted(scored: Score) -> None:
    found = scored(" ".join(f"The tower number {n} is high." for n in range(5)))
    assert found.result.reasons["citation_recall"].endswith(
        '"The tower number 2 is high" cites nothing; and 2 more'
    )


def test_where_nobody_knows_whether_it_refuses_nothing_is_scored(scored: Score) -> None:
    """The judge that tells refusals gave no reply: a score would count a refusal as an answer."""
    found = scored(f"{ONE}[1]", more="refusals: judge")
    assert set(found.result.scores.values()) == {None}
    assert set(found.result.errors) == set(ALL.split(", "))


def test_a_judge_that_wavers_gives_a_mean_and_the_first_table(plan: Callable[..., Plan]) -> None:
    """Each repeat is a table of its own: full, then none, of two citations of one source."""
    made = plan(SCENARIO.format(metrics="support_recall", style="auto", more=""))
    made = replace(made, models=replace(made.models, repeats=2))
    levels = iter(["full", "none"])
    judge = table_judge(lambda text, sources: next(levels))
    sample = Sample("s", question="q", answer=f"{ONE}[1]", contexts=CONTEXTS)
    found = asyncio.run(judge_sample(made, sample, Models(judge=judge)))
    result = score_case(made, sample, Judgement(found))
    assert result.scores["support_recall"] == 0.5
    assert result.details[SUPPORT]["cells"] == [[["full", ""]]]
