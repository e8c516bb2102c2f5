"""Shows judges what was said before a question, so that they can read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.plan import AnswerRules, BoundMetric
from pytest_rageval.model import Sample
from pytest_rageval.text.tokenize import has_cjk

_EMBEDS_THE_QUESTION: Final = frozenset({"answer_relevancy"})
"""Metrics that compare the question's own words, and show it to no judge."""

_SUPPORT: Final = frozenset({"faithfulness", "response_groundedness"})
"""Metrics of whether contexts support the answer, in which order they may be."""

_ROLES: Final = {
    "en": {"user": "User", "assistant": "Assistant"},
    "zh": {"user": "用户", "assistant": "助手"},
}
_HEADS: Final = {
    "en": ("[Earlier turns, only for reading the question]", "[The question]"),
    "zh": ("［此前的对话，仅供理解问题］", "［问题］"),
}
_EVIDENCE: Final = {"en": "[Earlier turns of the conversation]", "zh": "［此前的对话］"}


def with_turns(rules: AnswerRules, metric: BoundMetric, sample: Sample) -> Sample:
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
