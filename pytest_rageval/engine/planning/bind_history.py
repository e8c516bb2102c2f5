"""What comes before questions: whether the target is sent it, and how much of it judges see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_rageval.datasets.answer_fields import CONVERSATION
from pytest_rageval.engine.plan import NOT_SENT, AnswerRules, BoundMetric, TargetPlan
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.answer_specs import ConversationSpec


def bind_history(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    cases: Sequence[Case],
    rules: AnswerRules | None,
) -> AnswerRules:
    """Return the rules with what judges see of earlier turns; remark what that leaves out."""
    spec = binding.scenario.conversation or ConversationSpec()
    longest = max(len(case.history or ()) for case in cases if isinstance(case, Sample))
    if longest > spec.turns and any(metric.info.asks for metric in metrics):
        binding.remarks.append(
            f"judges see the last {spec.turns} messages before a question, of up to {longest} "
            f"(conversation: {{turns: {longest}}} shows all)"
        )
    _remark_on_groups(binding, cases)
    return replace(rules or AnswerRules(), turns=spec.turns, history_is_evidence=spec.evidence)


def _remark_on_groups(binding: Binding, cases: Sequence[Case]) -> None:
    if binding.scenario.group_by is not None:
        return
    has_column = any(CONVERSATION in case.metadata for case in cases)
    hint = f"write group_by: {CONVERSATION}"
    binding.remarks.append(
        "intervals take the turns of a conversation as independent: "
        + (hint if has_column else f"give rows a {CONVERSATION}, and {hint}")
    )


def target_of_turns(binding: Binding, target: TargetPlan) -> TargetPlan:
    """Return how the target is asked about rows with a history.

    One that is not sent it is a problem: it would be asked other questions than the rows hold.
    """
    spec = binding.scenario.conversation or ConversationSpec()
    if spec.send and not target.takes_history:
        binding.problem(f"target: {NOT_SENT}", "target")
    return replace(target, has_history=spec.send, sends_history=spec.send)
