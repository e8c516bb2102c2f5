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
    history = (sample.history or ())[-rules.turns :] if rules.turns else ()
    question = sample.question
    if not history or not metric.is_known or question is None or not question.strip():
        return sample
    language = "zh" if has_cjk(question) else "en"
    said = _said(history, language)
    name = metric.info.name
    contexts = sample.contexts
    if rules.history_is_evidence and name in _SUPPORT and contexts is not None:
        contexts = (*contexts, f"{_EVIDENCE[language]}\n{said}")
        sample = replace(sample, contexts=contexts, context_docs=None)
    if name in _EMBEDS_THE_QUESTION:
        return sample
    before, after = _HEADS[language]
    return replace(sample, question=f"{before}\n{said}\n{after}\n{question}")


def _said(history: Sequence[Mapping[str, str]], language: str) -> str:
    colon = "：" if language == "zh" else ": "
    roles = _ROLES[language]
    return "\n".join(
        f"{roles.get(message['role'], message['role'])}{colon}{message['content']}"
        for message in history
    )
