"""Which claims of a support table are right, found, missing or made up, and how that is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from pytest_rageval.errors import listed, shorten
from pytest_rageval.metrics.support.table import (
    ANSWER,
    HISTORY,
    REFERENCE,
    Source,
    Statement,
    SupportTable,
)
from pytest_rageval.stats.wording import counted

_LISTED: Final = 3
_WIDTH: Final = 120
ONLY_HISTORY: Final = "only the history supports it"
_NO_CONTRADICTION: Final = re.compile(
    r"(?:\b(?:no|neither|nor|(?:can)?not)|n['’]t) (?:support\w* n?or )?(?:directly )?contradict"
    "|(?<!并非)(?<!不是)(?<![有不])(?:不|不存在|[没沒]有|[没沒]有任何|[无無]|未发现)矛盾"
)


@dataclass(frozen=True)
class Claims:
    """The claims of a table's answer and reference; what was not asked counts as no support."""

    table: SupportTable

    @property
    def of_answer(self) -> tuple[Statement, ...]:
        """What the answer claims."""
        return self.table.of("claim")

    @property
    def of_reference(self) -> tuple[Statement, ...]:
        """What the first reference that is not blank claims."""
        return self.table.of("reference_claim")

    @cached_property
    def wrong(self) -> list[Statement]:
        """The answer's claims that the references do not support."""
        return [claim for claim in self.of_answer if not self.table.is_full(claim, REFERENCE)]

    @cached_property
    def missing(self) -> list[Statement]:
        """The reference's claims that the answer does not make."""
        return [claim for claim in self.of_reference if not self.table.is_full(claim, ANSWER)]

    @cached_property
    def found(self) -> list[Statement]:
        """The reference's claims that some context has."""
        return [claim for claim in self.of_reference if self.contexts_of(claim)]

    @cached_property
    def unfounded(self) -> list[Statement]:
        """The answer's claims that no context supports, nor an earlier turn that may."""
        return [claim for claim in self.of_answer if not self.support(claim)]

    @cached_property
    def relevant(self) -> list[Source]:
        """The contexts that have a claim of the reference."""
        holding = {source for claim in self.of_reference for source in self.contexts_of(claim)}
        return [source for source in self.table.row.contexts if source in holding]

    def contexts_of(self, claim: Statement) -> list[Source]:
        """Return the contexts that support a claim."""
        return [source for source in self.table.row.contexts if self.table.is_full(claim, source)]

    def support(self, claim: Statement) -> list[Source]:
        """Return what supports a claim of the answer: contexts, and earlier turns where asked."""
        return [source for source in self.table.row.evidence if self.table.is_full(claim, source)]

    def noise(self, *, in_relevant: bool) -> list[Statement]:
        """Return the wrong claims that a relevant context supports (``in_relevant``).

        Else those that only irrelevant contexts and earlier turns support.
        """
        relevant = set(self.relevant)
        return [
            claim
            for claim in self.wrong
            if (support := self.support(claim))
            and (not relevant.isdisjoint(support)) == in_relevant
        ]


def of_wrong(claims: Claims) -> str:
    """Tell which claims of the answer the references do not support."""
    some = _counted(claims.wrong, claims.of_answer, "answer claim")
    return _listed(f"{some} not in the reference", claims.wrong, lambda claim: _why(claims, claim))


def of_missing(claims: Claims) -> str:
    """Tell which claims of the reference the answer lacks and, where known, whose fault it is."""

    def notes(claim: Statement) -> str:
        said = claims.table.reason(claim, ANSWER)
        return joined(_whose_fault(claims, claim), _said("answer", said))

    some = _counted(claims.missing, claims.of_reference, "reference claim")
    return _listed(f"{some} missing", claims.missing, notes)


def of_not_found(claims: Claims) -> str:
    """Tell which claims of the reference no context has."""
    lost = [claim for claim in claims.of_reference if claim not in claims.found]
    some = _counted(lost, claims.of_reference, "reference claim")
    return _listed(f"{some} in no context", lost, lambda claim: _contradiction(claims, claim))


def of_unused(claims: Claims) -> str:
    """Tell which claims of the reference are in a context, and not in the answer."""
    unused = [claim for claim in claims.found if claim in claims.missing]

    def notes(claim: Statement) -> str:
        where = f"in {_names(claims.contexts_of(claim))}"
        return joined(where, _said("answer", claims.table.reason(claim, ANSWER)))

    some = _counted(unused, claims.found, "retrieved claim")
    return _listed(f"{some} missing in the answer", unused, notes)


def of_irrelevant(claims: Claims) -> str:
    """Tell which contexts have no claim of the reference."""
    sources = claims.table.row.contexts
    rest = [source for source in sources if source not in claims.relevant]
    if not rest:
        return ""
    some = _counted(rest, sources, "context")
    return f"{some} without a claim of the reference: {_names(rest)}"


def of_noise(
    claims: Claims, noise: Sequence[Statement], where: Literal["relevant", "irrelevant"]
) -> str:
    """Tell which claims are wrong though contexts, or the history alone, support them."""

    def notes(claim: Statement) -> str:
        sources = claims.support(claim)
        said = ONLY_HISTORY if sources == [HISTORY] else f"in {_names(sources)}"
        return joined(said, _said("reference", claims.table.reason(claim, REFERENCE)))

    some = _counted(noise, claims.of_answer, "answer claim")
    held = "a relevant" if where == "relevant" else "an irrelevant"
    return _listed(f"{some} not in the reference, but in {held} context", noise, notes)


def of_unsupported(claims: Claims, some: Sequence[Statement], said: str) -> str:
    """Tell that ``some`` claims are what is ``said``, each with what speaks against it."""
    if not some:
        return ""
    verb = "is" if len(some) == 1 else "are"
    return f"{_quoted(some, lambda claim: _why(claims, claim))} {verb} {said}"


def of_unfounded(claims: Claims) -> str:
    """Tell which claims of the answer no context supports, and which the history alone does."""
    some = _counted(claims.unfounded, claims.of_answer, "answer claim")
    lacking = _listed(
        f"{some} in no context", claims.unfounded, lambda claim: _contradiction(claims, claim)
    )
    by_history = [claim for claim in claims.of_answer if claims.support(claim) == [HISTORY]]
    return joined(lacking, _listed(ONLY_HISTORY, by_history, lambda _: ""))


def joined(*parts: str) -> str:
    """Return the parts that are not empty, with semicolons between them."""
    return "; ".join(filter(None, parts))


def _counted(some: Collection[object], of: Collection[object], what: str) -> str:
    return f"{len(some)} of {counted(len(of), what)}"


def _listed(head: str, claims: Sequence[Statement], notes: Callable[[Statement], str]) -> str:
    return f"{head}: {_quoted(claims, notes)}" if claims else ""


def _quoted(claims: Sequence[Statement], notes: Callable[[Statement], str]) -> str:
    texts = []
    for claim in claims:
        said = notes(claim)
        quoted = f'"{shorten(claim.text.rstrip(".。"), _WIDTH)}"'
        texts.append(f"{quoted} ({said})" if said else quoted)
    return listed(texts, _LISTED)


def _why(claims: Claims, claim: Statement) -> str:
    """Return why a claim is not right, "" if the judge does not say."""
    said = _said("reference", claims.table.reason(claim, REFERENCE))
    by_history = ONLY_HISTORY if claims.support(claim) == [HISTORY] else ""
    return joined(said or _contradiction(claims, claim), by_history)


def _contradiction(claims: Claims, claim: Statement) -> str:
    """Return the first reason of a context, or of the history, that speaks of a contradiction."""
    for source in claims.table.row.evidence:
        said = claims.table.reason(claim, source)
        without_denials = _NO_CONTRADICTION.sub("", said.lower())
        if "contradict" in without_denials or "矛盾" in without_denials:
            return _said(source.name, said)
    return ""


def _whose_fault(claims: Claims, claim: Statement) -> str:
    """Return where a missing claim was to be found.

    "" if no context has it and not all were asked, or there are none.
    """
    table, contexts = claims.table, claims.table.row.contexts
    if found := claims.contexts_of(claim):
        return f"in {_names(found)}: generation"
    if contexts and all(table.level(claim, source) is not None for source in contexts):
        return "in no context: retrieval"
    return ""


def _said(where: str, reason: str) -> str:
    return f"{where}: {shorten(reason.rstrip('.。'), _WIDTH)}" if reason else ""


def _names(sources: Sequence[Source]) -> str:
    return listed((source.name for source in sources), _LISTED)
