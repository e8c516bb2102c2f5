"""How answers are read: the style of citations, the phrases of refusals, what came before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_rageval.datasets.answer_fields import CONVERSATION
from pytest_rageval.engine.plan import AnswerRules, BoundMetric
from pytest_rageval.engine.planning.binding import Binding, resolve_metric
from pytest_rageval.errors import unknown_name
from pytest_rageval.metrics.refusals import CragScore
from pytest_rageval.model import ANSWERABLE, Case, MetricColumn, Sample, finite_ends
from pytest_rageval.scenario.answer_specs import CitationsSpec, ConversationSpec, RefusalsSpec
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import find_style
from pytest_rageval.text.refusals import RefusalRule, fits

_MOST_FOREIGN = 0.5


def bind_answers(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    cases: Sequence[Case],
    *,
    is_answered: bool,
) -> AnswerRules:
    """Return how answers are read; a style that the rows leave open is a problem.

    ``is_answered``: a system under test gives the answers later.
    """
    scenario = binding.scenario
    sections = {metric.info.section for metric in metrics}
    citations, refusals = scenario.citations, scenario.refusals
    if citations is None and "citations" in sections:
        citations = CitationsSpec()
    if refusals is None and "refusals" in sections:
        refusals = RefusalsSpec()
    samples = [case for case in cases if isinstance(case, Sample)]
    if refusals is not None:
        _check_refusals(binding, metrics, refusals, samples, is_answered=is_answered)
    _warn_of_half(binding, metrics)
    _check_right_answers(binding, metrics)
    conditions = refusals.conditions if refusals is not None else None
    rules = AnswerRules(
        None if citations is None else _rule(binding, citations, samples, is_answered=is_answered),
        None if refusals is None else RefusalRule(tuple(refusals.language), tuple(refusals.also)),
        None if conditions is None else tuple(conditions),
        refusals is not None and refusals.empty == "refused",
        () if refusals is None else tuple(_questions(refusals)),
    )
    return _with_history(binding, metrics, samples, rules)


def _questions(spec: RefusalsSpec) -> Iterator[BoundMetric]:
    """Yield what the judge is asked about each row."""
    if spec.detect == "phrases" and spec.answerable is None:
        return
    # Not at the top: most scenarios have phrases looked for.
    from pytest_rageval.metrics import criteria as questions

    asked = []
    if spec.answerable == "judge":
        asked.append((questions.SUFFICIENCY, questions.answerable_question()))
    if spec.detect == "judge":
        asked.append((questions.KIND, questions.kind_question()))
    for info, metric in asked:
        column = MetricColumn(info.name, weight=0.0, ends=finite_ends(info.range))
        yield BoundMetric(column, info, metric)


def _rule(
    binding: Binding, spec: CitationsSpec, samples: Sequence[Sample], *, is_answered: bool
) -> CitationRule:
    # Ids are names, whatever digits they have.
    base = 1 if spec.base is None or spec.of == "ids" else spec.base
    written = CitationRule(spec.style, base, spec.of)
    if is_answered:
        if spec.style == "auto":
            binding.problem(
                "citations: the answers of a target are not known yet: write the style and base, "
                "for instance {style: brackets, base: 1}",
                "citations",
            )
        return written
    if spec.style != "auto" and spec.base is not None:
        return written
    texts = [sample.answer or "" for sample in samples]
    counts = [None if s.contexts is None else len(s.contexts) for s in samples]
    found = find_style(texts, counts, written, base_is_written=spec.base is not None)
    if found.problem:
        binding.problem(f"citations: {found.problem}", "citations")
    return found.rule if spec.style == "auto" else written


def _check_refusals(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    spec: RefusalsSpec,
    samples: Sequence[Sample],
    *,
    is_answered: bool,
) -> None:
    names = [metric.column.name for metric in metrics]
    for name in spec.conditions or ():
        if name not in names:
            binding.problem(
                f"refusals.conditions: {unknown_name('metric', name, names)}",
                "refusals",
                "conditions",
            )
    is_asked = any(one.answerable is None and one.skip is None for one in samples)
    for metric in metrics if spec.answerable == "judge" else ():
        # The reply would stand for the score; a judged metric of this name would never be asked.
        if metric.column.name == ANSWERABLE and (is_asked or metric.info.is_judged):
            message = f"{ANSWERABLE!r} is a reserved name beside refusals: {{answerable: judge}}"
            place = f"metrics[{metric.position}]"
            binding.problem(f"{place}: {message}; give it another one", "metrics", metric.position)
    if spec.detect == "phrases" and not spec.also:
        _refuse_foreign(binding, spec, samples, is_answered=is_answered)


def _refuse_foreign(
    binding: Binding, spec: RefusalsSpec, samples: Sequence[Sample], *, is_answered: bool
) -> None:
    """Note it where most texts are in languages whose refusals no phrase tells."""
    texts = [
        text
        for sample in samples
        if (text := sample.question if is_answered else sample.answer) is not None and text.strip()
    ]
    foreign = sum(not fits(text, spec.language) for text in texts)
    if foreign > _MOST_FOREIGN * len(texts):
        listed = ", ".join(spec.language)
        what = "questions" if is_answered else "answers"
        binding.problem(
            f"refusals: {foreign} of {len(texts)} {what} are in none of the languages whose "
            f"refusals are known ({listed}): write refusals.also with the texts that refuse, or "
            "refusals: judge",
            "refusals",
        )


def _warn_of_half(binding: Binding, metrics: Sequence[BoundMetric]) -> None:
    """Say it where a gate bounds one of two faults: refusing more, or less, then pays."""
    gated = set(binding.scenario.gates) & {metric.column.name for metric in metrics}
    for name, other in (
        ("over_refusal", "missed_refusal"),
        ("missed_refusal", "over_refusal"),
    ):
        if name in gated and other not in gated:
            answers = "answers" if name == "over_refusal" else "refuses"
            binding.warnings.append(
                f"gates: {name} alone is met by a system that {answers} everything; "
                f"bound {other}, too"
            )


def _check_right_answers(binding: Binding, metrics: Sequence[BoundMetric]) -> None:
    """Refuse a crag_score whose ``correct`` names no other metric, or one of which less is better.

    Warn where ``at_least`` is not written, and its default is not the best score that there is.
    """
    columns = {metric.column.name: metric.column for metric in metrics}
    for metric in metrics:
        if not isinstance(metric.metric, CragScore):
            continue
        options, at = metric.metric.options, metric.position
        measured = columns.get(options.correct)
        others = ["acc", *(name for name in columns if name not in ("acc", metric.column.name))]
        if options.correct not in others:
            if not binding.may_be_left_out(options.correct):
                named = resolve_metric(options.correct, others, binding.known_metrics)
                message = unknown_name("metric", options.correct, others)
                message = f"expected {named!r}, its name here" if named else message
                binding.problem(f"metrics[{at}]: correct: {message}", "metrics", at)
            continue
        if measured is None:  # acc, which it computes itself
            continue
        if not measured.higher_is_better:
            message = (
                f"metrics[{at}]: correct: less is better of "
                f"{options.correct!r}, so that its wrong answers would be right; "
                "name a metric that is higher for right answers"
            )
            binding.problem(message, "metrics", at)
            continue
        best = measured.ends[1]
        if best not in (None, options.at_least) and "at_least" not in options.model_fields_set:
            binding.warnings.append(
                f"{metric.column.name}: an answer is right from {options.at_least:g} on of "
                f"{options.correct!r}, whose range ends at {best:g}; write at_least"
            )


def _with_history(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    samples: Sequence[Sample],
    rules: AnswerRules,
) -> AnswerRules:
    """Return the rules with what judges see of earlier turns; remark what that leaves out."""
    longest = max((len(sample.history or ()) for sample in samples), default=0)
    if not longest:
        return rules
    spec = binding.scenario.conversation or ConversationSpec()
    if longest > spec.turns and any(metric.info.asks for metric in metrics):
        binding.remarks.append(
            f"judges see the last {spec.turns} messages before a question, of up to {longest} "
            f"(conversation: {{turns: {longest}}} shows all)"
        )
    _remark_on_groups(binding, samples)
    return replace(rules, turns=spec.turns, history_is_evidence=spec.evidence)


def _remark_on_groups(binding: Binding, samples: Sequence[Sample]) -> None:
    if binding.scenario.group_by is not None:
        return
    has_column = any(CONVERSATION in sample.metadata for sample in samples)
    hint = f"write group_by: {CONVERSATION}"
    binding.remarks.append(
        "intervals take the turns of a conversation as independent: "
        + (hint if has_column else f"give rows a {CONVERSATION}, and {hint}")
    )


def asked_in(spec: RefusalsSpec, scenario: Scenario) -> dict[str, str]:
    """Return the language in which a judge is asked about refusals, {} without one or for auto."""
    judge = scenario.judge if "judge" in (spec.detect, spec.answerable) else None
    if judge is None or judge.language.lower() == "auto":
        return {}
    # Not at the top: most scenarios ask no judge.
    from pytest_rageval.text.prompts import prompt_language

    return {"asked_in": prompt_language(judge.language)}
