"""What a metric of ragas asks about: one sample with its judge; and what it found, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.ragas.judge import Check, Embedder, Judge, Unscorable

_LISTED = 3
_WIDTH = 120

Claim = Mapping[str, Any]
"""A judged statement: ``claim``, ``verdict`` (0 or 1), ``reason``."""


@dataclass(frozen=True, slots=True)
class Request:
    """One sample, and the models to ask. Fields that the metric does not need are empty."""

    judge: Judge
    options: Any
    embedder: Embedder | None = None
    question: str = ""
    answer: str = ""
    contexts: Sequence[str] = ()
    reference: str = ""
    reference_contexts: Sequence[str] = ()
    rubrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def joined_contexts(self) -> str:
        """All contexts in one text, as ragas joins them."""
        return "\n".join(self.contexts)

    @property
    def embeddings(self) -> Embedder:
        """The embedder; RuntimeError where the metric does not declare one."""
        if self.embedder is None:
            raise RuntimeError("the metric embeds texts, and has no embedding model")
        return self.embedder

    async def claims(self, prompt: str, inputs: Mapping[str, Any], of: str) -> list[str]:
        """Return the statements that the judge finds in a text.

        Raises Unscorable when there are none; ``of`` names the text in the message.
        """
        reply = await self.judge.ask(prompt, inputs)
        found = reply.claims if hasattr(reply, "claims") else reply.statements
        if not found:
            raise Unscorable(f"the judge found no claim in the {of}")
        return list(found)

    async def agreed(self, prompt: str, inputs: Mapping[str, Any]) -> Any:
        """Return the judge's verdicts: the majority's where ``reproducibility`` is set."""
        return await self.judge.agree(
            prompt, inputs, getattr(self.options, "reproducibility", None) or 1
        )

    async def verdicts(self, prompt: str, context: str, claims: Sequence[str]) -> list[Claim]:
        """Return the judge's verdict on each claim, given the text ``context``."""
        reply = await self.agreed(prompt, {"context": context, "statements": claims})
        return [
            {"claim": claim, "verdict": found.verdict, "reason": found.reason}
            for claim, found in zip(claims, reply.statements, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Finding:
    """The replies as a sentence and as JSON values; ``value``, if set, replaces ragas' own."""

    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None


def counted(found: Sequence[Claim], nouns: str) -> str:
    """Return how many of ``found`` have the verdict 1.

    >>> counted([{"verdict": 1}, {"verdict": 0}], "claims of the answer")
    '1 of 2 claims of the answer is'
    """
    yes = sum(one["verdict"] for one in found)
    return f"{yes} of {len(found)} {nouns} {'is' if yes == 1 else 'are'}"


def quoted(label: str, claims: Sequence[Claim]) -> str:
    """Return a label and the first claims with the judge's reasons; "" without claims.

    >>> quoted("missing", [{"claim": "It rains", "reason": "nothing says so"}])
    '; missing: "It rains" (nothing says so)'
    """
    if not claims:
        return ""
    parts = [
        f'"{brief(one["claim"])}"' + (f" ({brief(one['reason'])})" if one["reason"] else "")
        for one in claims[:_LISTED]
    ]
    more = f" and {len(claims) - _LISTED} more" if len(claims) > _LISTED else ""
    return f"; {label}: {', '.join(parts)}{more}"


def brief(text: str) -> str:
    """Return ``text`` in one line of at most 120 characters."""
    return shorten(" ".join(text.split()), _WIDTH)


def whole_number(low: int, high: int, name: str, step: int = 1) -> Check:
    """Return a check that a reply's field ``name`` is one of low, low + step, ... high."""
    allowed = range(low, high + 1, step)

    def check(reply: Any) -> None:
        value = getattr(reply, name)
        if value not in allowed:
            listed = ", ".join(map(str, allowed))
            raise ValueError(f"{name} is {value}, it must be one of {listed}")

    return check
