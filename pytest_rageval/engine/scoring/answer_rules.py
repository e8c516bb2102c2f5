"""What refusals, unanswerable questions, citations and earlier turns mean for a sample's metrics.

A metric that the row rules out has no score. One that does not apply for what the answer is (it
refuses, it cites nothing) has the worst score, so that an answer never leaves a mean by saying
less; the figure without such answers stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.plan import AnswerRules, BoundMetric, Plan
from pytest_rageval.engine.scoring.score_sample import (
    best_of,
    is_empty,
    score_of_metric,
    score_without,
    worst_of,
)
from pytest_rageval.metrics.base import (
    AnswerKind,
    AnswerReading,
    MetricInfo,
    ScoringContext,
    missing_fields,
)
from pytest_rageval.metrics.citations import rule_of
from pytest_rageval.metrics.refusals import FAILED, level_of
from pytest_rageval.model import (
    ANSWER_KIND,
    ANSWERABLE,
    EMPTY_ANSWER,
    NOTHING,
    MetricColumn,
    Sample,
    Score,
)
from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import (
    CitedSentence,
    CitedText,
    read_citations,
    strip_citations,
)
from pytest_rageval.text.refusals import PHRASES, is_given, kind_of, says_something
from pytest_rageval.text.tokenize import has_cjk

REFUSED = "refused"
_MAY_BE_BARE = 200
"""Shorter answers may hold nothing but markers."""


def scores_by_rules(
    plan: Plan,
    rules: AnswerRules,
    sample: Sample,
    context: ScoringContext,
    judged: Mapping[str, Score],
) -> list[Score]:
    """Return the score of each metric; ``judged`` are those that were asked for beforehand."""
    decided = with_answerable(sample, judged) if rules.asks(ANSWERABLE) else sample
    with_citations = any(metric.info.section == "citations" for metric in plan.metrics)
    context.reading = reading = read_answer(rules, decided, judged, with_citations=with_citations)
    scores: dict[str, Score] = {}
    context.scores = scores
    for metric in sorted(plan.metrics, key=lambda metric: metric.info.comes_last):
        name = metric.column.name
        seen = decided if decided is sample or _hears_the_judge(rules, metric, sample) else sample
        ruled = _ruled(rules, metric, seen, reading.kind)
        if (plan.target is not None or plan.is_given) and ruled == _no_answer(metric):
            ruled = _unanswered(plan, rules, metric, seen)
        score = _said_why(rules, ruled, seen, decided) or judged.get(name)
        if rules.asks(ANSWERABLE) and decided.answerable is None:
            score = _unknown(rules, metric, sample, judged) or score
        if score is None:
            shown = _stripped(rules, metric, seen)
            score = score_of_metric(plan, metric, shown, context)
        scores[name] = _settled(metric, sample, seen, reading.kind, _explained(score, judged))
    return [scores[metric.column.name] for metric in plan.metrics]


def _hears_the_judge(rules: AnswerRules, metric: BoundMetric, sample: Sample) -> bool:
    """Return whether what a judge says of the contexts decides a metric.

    The judge sees only what was found. Where the row knows of an answer, the judge decides how
    right a refusal was, and nothing else: that excuses neither the search nor the answer.
    """
    return metric.info.section == "refusals" or not rules.shows_answer(sample)


def _said_why(
    rules: AnswerRules, score: Score | None, seen: Sample, decided: Sample
) -> Score | None:
    """Return the score; if only the document's name makes a refusal count, its reason says so."""
    if score is None or score.reason != REFUSED or decided.answerable is not False:
        return score
    if seen.answerable is False or rules.shows_answer(replace(seen, doc_name=None)):
        return score
    return replace(score, reason=f"{REFUSED} (the row names its document: it knows of an answer)")


def _unknown(
    rules: AnswerRules, metric: BoundMetric, sample: Sample, judged: Mapping[str, Score]
) -> Score | None:
    """Return the error of a metric that depends on whether the row can be answered.

    None for any other metric. The error of the judge is kept: a spent budget is told as such.
    """
    column, info = metric.column, metric.info
    depends = is_conditioned(rules, column, info) or _is_of_claims(info)
    if not _hears_the_judge(rules, metric, sample) or not (depends or info.section == "refusals"):
        return None
    asked = judged.get(ANSWERABLE)
    why = (
        "the row has no question, or no contexts" if asked is None else asked.error or asked.reason
    )
    return Score(column.name, None, error=why or "no reply whether it can be answered")


def with_answerable(sample: Sample, judged: Mapping[str, Score]) -> Sample:
    """Return the sample with what the judge says of its contexts, where the row does not say it."""
    said = judged.get(ANSWERABLE)
    if sample.answerable is not None or said is None or said.value is None:
        return sample
    return replace(sample, answerable=level_of(said) >= 1.0)


def read_answer(
    rules: AnswerRules,
    sample: Sample,
    judged: Mapping[str, Score] = NOTHING,
    *,
    with_citations: bool = True,
) -> AnswerReading:
    """Return the kind of the answer, and with citations its sentences and what they cite.

    ``judged`` are the replies of a judge to the questions that the scenario has asked first.
    """
    rule = rules.citations
    if rule is None or not with_citations:
        return AnswerReading(_kind(rules, sample, judged))
    cited = _cited(rule, sample)
    sentences = [sentence.text for sentence in cited.sentences]
    kind = _kind(rules, sample, judged, sentences)
    return AnswerReading(kind, cited, rule.base, rule.of)


def _kind(
    rules: AnswerRules,
    sample: Sample,
    judged: Mapping[str, Score] | None = NOTHING,
    sentences: Sequence[str] | None = None,
) -> AnswerKind:
    """Return the kind of an answer; ``judged`` None: the judge is still to be asked."""
    if sample.answer is None:
        return "empty"  # never a refusal: nobody knows what would have been said
    if is_empty(sample):
        return "refused" if rules.empty_is_refused else "empty"
    is_short, cites = len(sample.answer) < _MAY_BE_BARE, rules.citations is not None
    if is_short and not says_something(sample.answer, sample.references or (), cites=cites):
        return "empty"
    if rules.asks(ANSWER_KIND):
        if judged is None:
            return "answered"
        said = judged.get(ANSWER_KIND)
        if said is None or said.value is None:
            return "failed"
        level = level_of(said)
        return "refused" if level >= 2.0 else "partial" if level >= 1.0 else "answered"
    rule = rules.refusals or PHRASES
    if is_given(sample.answer, sample.references or (), rule, answerable=sample.answerable):
        return "answered"
    # A short one is read as a whole: its sentences do not show a refusal that is a quotation.
    return kind_of(sample.answer, rule, None if is_short else sentences)


def _cited(rule: CitationRule, sample: Sample) -> CitedText:
    """Return what an answer cites: by the row's own fields, else by its text."""
    text = sample.answer or ""
    if sample.cited_sentences is not None:
        sentences = tuple(
            CitedSentence(sentence, cited, is_counted=any(map(str.isalnum, sentence)))
            for sentence, cited in sample.cited_sentences
        )
        cited = tuple(source for sentence in sentences for source in sentence.citations)
        return CitedText(text, sentences, cited)
    read = read_citations(text, rule_of(sample, rule), len(sample.contexts or ()))
    if sample.citations is None:
        return read
    given = (c + 1 - rule.base if isinstance(c, int) else c for c in sample.citations)
    return replace(read, citations=tuple(given))


def seen_by(rules: AnswerRules | None, metric: BoundMetric, sample: Sample) -> Sample:
    """Return the sample as a judged metric sees it: without citations, and with earlier turns."""
    if rules is None:
        return sample
    return _with_turns(rules, metric, _stripped(rules, metric, sample))


def is_ruled(
    rules: AnswerRules,
    metric: BoundMetric,
    sample: Sample,
    judged: Mapping[str, Score] | None = None,
) -> bool:
    """Return whether the score follows from the row and the kind of its answer alone.

    ``judged`` None: the judge is still to be asked; whatever it may say, the score must follow.
    """
    may_be = [sample if judged is None else with_answerable(sample, judged)]
    if judged is None and sample.answerable is None and rules.asks(ANSWERABLE):
        may_be = [replace(sample, answerable=said) for said in (True, False)]
    hears = _hears_the_judge(rules, metric, sample)
    seen = [(one if hears else sample, _kind(rules, one, judged)) for one in may_be]
    return all(_ruled(rules, metric, known, kind) is not None for known, kind in seen)


def _stripped(rules: AnswerRules, metric: BoundMetric, sample: Sample) -> Sample:
    info, rule = metric.info, rules.citations
    # What is held against contexts, and what rows check, is the text as it is.
    is_compared = "answer" in info.needs and "contexts" not in info.needs
    if rule is None or sample.answer is None or not is_compared:
        return sample
    if info.of_row or (info.section is not None and not info.comes_last):
        return sample
    stripped = strip_citations(sample.answer, rule_of(sample, rule), len(sample.contexts or ()))
    return sample if stripped == sample.answer else replace(sample, answer=stripped)


def _ruled(
    rules: AnswerRules, metric: BoundMetric, sample: Sample, kind: AnswerKind
) -> Score | None:
    """Return the score that follows from the row and the kind of its answer; None: it is scored."""
    info = metric.info
    if rules.refusals is None or info.section is not None:
        return None
    if not info.of_row.isdisjoint(missing_fields(sample, info)):
        return None  # the row does not ask for it, whatever the answer is
    if sample.answer is None and _depends_on_answer(rules, metric, sample):
        return _no_answer(metric)
    if sample.answerable is False:
        return _of_unanswerable(rules, metric, kind)
    return _of_answerable(rules, metric, kind) if "answer" in info.needs else None


def _no_answer(metric: BoundMetric) -> Score:
    return Score(metric.column.name, None, "the row has no answer")


def _unanswered(plan: Plan, rules: AnswerRules, metric: BoundMetric, sample: Sample) -> Score:
    """Return the score, an error, of a metric whose answer a system was to give and did not.

    Where the documents hold none, the row need not have what an answer would be compared with.
    """
    missing = missing_fields(sample, metric.info)
    if sample.answerable is False and _of_unanswerable(rules, metric, "answered") is not None:
        missing = ["answer"]
    return score_without(plan, metric, missing)


def _depends_on_answer(rules: AnswerRules, metric: BoundMetric, sample: Sample) -> bool:
    """Return whether the score follows from the answer: by the metric, or by a condition."""
    if "answer" in metric.info.needs:
        return True
    decides = is_conditioned(rules, metric.column, metric.info)
    return sample.answerable is False and decides and not metric.column.retrieves


def _of_answerable(rules: AnswerRules, metric: BoundMetric, kind: AnswerKind) -> Score | None:
    info, column = metric.info, metric.column
    if kind == "failed":
        return Score(column.name, None, error=FAILED)
    if kind == "empty":
        return worst_of(column, EMPTY_ANSWER)
    if kind != "refused":
        return None
    is_worst = is_conditioned(rules, column, info)
    return worst_of(column, REFUSED, None if is_worst else "answer")


def _of_unanswerable(rules: AnswerRules, metric: BoundMetric, kind: AnswerKind) -> Score | None:
    info, column = metric.info, metric.column
    is_refused = kind == "refused"
    if kind == "failed":
        return Score(column.name, None, error=FAILED)
    if column.retrieves:
        return _left_out(column, "the documents hold no answer")
    if is_conditioned(rules, column, info):
        reason = "the documents hold no answer"
        if not is_refused:
            return worst_of(column, f"{_NOT_REFUSED.get(kind, 'answered')}, and {reason}")
        return Score(column.name, best_of(column), f"refused, and {reason}")
    if is_refused and {"answer", "contexts"} <= info.needs:
        return _left_out(column, REFUSED)
    if _is_of_claims(info):
        # Such a row has no reference that its claims could be right by.
        reason = f"{_NOT_REFUSED.get(kind, 'answered')}, and the documents hold no answer"
        return _left_out(column, reason) if info.is_neutral else worst_of(column, reason)
    return None


_NOT_REFUSED = {"empty": "empty", "unclear": "in a language whose refusals are not known"}


def _left_out(column: MetricColumn, reason: str) -> Score:
    return Score(column.name, None, reason, left_out="row")


def is_conditioned(rules: AnswerRules, column: MetricColumn, info: MetricInfo) -> bool:
    """Return whether an unanswerable question makes the metric the best or the worst it can be."""
    if rules.conditions is not None:
        return column.name in rules.conditions
    is_compared = "answer" in info.needs and not _COMPARED.isdisjoint(info.needs | info.of_row)
    return is_compared and not _is_of_claims(info)


def _is_of_claims(info: MetricInfo) -> bool:
    """Return whether a metric holds the answer's claims against contexts and references.

    A refusal makes no claim: there is nothing right or wrong in it.
    """
    return info.of_table and {"answer", "contexts", "references"} <= info.needs


_COMPARED = frozenset({"references", "reference_groups", "nuggets"})


def follows_from_answerable(rules: AnswerRules, metric: BoundMetric) -> bool:
    """Return whether a score may depend on whether the documents hold an answer."""
    info, column = metric.info, metric.column
    if info.section is not None or column.retrieves:
        return True
    return is_conditioned(rules, column, info) or {"answer", "contexts"} <= info.needs


def sees_history(rules: AnswerRules, metric: BoundMetric) -> bool:
    """Return whether a score may depend on the turns before the question."""
    info = metric.info
    if rules.asked:
        return True  # the judge of refusals sees them
    if not metric.is_known:  # code that is given fields sees those
        return "history" in info.names or not getattr(metric.metric, "takes_fields", False)
    is_shown = "question" in info.needs and info.name not in _EMBEDS_THE_QUESTION
    return info.is_judged and (is_shown or info.of_table or rules.history_is_evidence)


def _explained(score: Score, judged: Mapping[str, Score]) -> Score:
    """Return a score with the judge's own error, where it failed to say if an answer refuses."""
    said = judged.get(ANSWER_KIND)
    if score.error != FAILED or said is None or said.error is None:
        return score
    return replace(score, error=said.error)


def _settled(
    metric: BoundMetric, row: Sample, seen: Sample, kind: AnswerKind, score: Score
) -> Score:
    """Return a score; one that the answer left out as the worst, or as left out by row or run.

    By the run where a judge's word ruled it out, or the answer is no refusal; else by the row.
    """
    if score.left_out == "answer" and score.value is None:
        if seen.answerable is not False:
            worst, why = worst_of(metric.column, "").value, score.reason or "does not apply"
            return replace(score, value=worst, reason=why)
        # That a right refusal cites and claims nothing is of the row.
        score = replace(score, left_out="row" if kind == REFUSED else "run")
    is_by_judge = score.left_out == "row" and seen is not row
    return replace(score, left_out="run") if is_by_judge else score


_EMBEDS_THE_QUESTION: Final = frozenset({"answer_relevancy"})
"""Metrics that compare the question's own words, and show it to no judge."""

_SUPPORT: Final = frozenset({"faithfulness", "response_groundedness"})
"""Metrics of whether contexts support the answer, in any order: the turns may be one more."""

_ROLES: Final = {
    "en": {"user": "User", "assistant": "Assistant"},
    "zh": {"user": "用户", "assistant": "助手"},
}
_HEADS: Final = {
    "en": ("[Earlier turns, only for reading the question]", "[The question]"),
    "zh": ("［此前的对话，仅供理解问题］", "［问题］"),
}
_EVIDENCE: Final = {"en": "[Earlier turns of the conversation]", "zh": "［此前的对话］"}


def _with_turns(rules: AnswerRules, metric: BoundMetric, sample: Sample) -> Sample:
    """Return the sample with the last turns before its question; unchanged if it has none.

    Metrics of the user's own find them in the sample's ``history``.
    """
    question = sample.question
    if not metric.is_known or question is None or not _turns(rules, sample):
        return sample
    said = evidence_of(rules, sample)
    name, contexts = metric.info.name, sample.contexts
    if said and name in _SUPPORT and contexts is not None:
        before = _EVIDENCE[_language(question)]
        sample = replace(sample, contexts=(*contexts, f"{before}\n{said}"), context_docs=None)
    if name in _EMBEDS_THE_QUESTION:
        return sample
    return replace(sample, question=question_after(rules, sample))


def question_after(rules: AnswerRules, sample: Sample) -> str | None:
    """Return the question with the last turns before it, as judges see it."""
    question, history = sample.question, _turns(rules, sample)
    if question is None or not history:
        return question
    language = _language(question)
    before, after = _HEADS[language]
    return f"{before}\n{_said(history, language)}\n{after}\n{question}"


def evidence_of(rules: AnswerRules, sample: Sample) -> str:
    """Return earlier turns where they may support an answer, "" where they may not."""
    history = _turns(rules, sample) if rules.history_is_evidence else ()
    return _said(history, _language(sample.question or "")) if history else ""


def _turns(rules: AnswerRules, sample: Sample) -> Sequence[Mapping[str, str]]:
    """Return the messages that judges see; none before a blank question."""
    if not rules.turns or not (sample.question or "").strip():
        return ()
    return (sample.history or ())[-rules.turns :]


def _language(question: str) -> str:
    return "zh" if has_cjk(question) else "en"


def _said(history: Sequence[Mapping[str, str]], language: str) -> str:
    colon = "：" if language == "zh" else ": "
    roles = _ROLES[language]
    return "\n".join(
        f"{roles.get(message['role'], message['role'])}{colon}{message['content']}"
        for message in history
    )
