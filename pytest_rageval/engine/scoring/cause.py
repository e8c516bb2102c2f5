"""The cause of a low answer: what was retrieved, what was made of it, or neither can be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.errors import listed, shorten
from pytest_rageval.metrics.base import AnswerKind, AnswerReading
from pytest_rageval.model import (
    NOTHING,
    SUPPORT,
    Bound,
    Cause,
    Diagnosis,
    Sample,
    SampleResult,
    ScenarioInfo,
)
from pytest_rageval.stats.verdict import is_low, shortfalls
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.evidence import content_words, holds
from pytest_rageval.text.refusals import kind_of

# Measured on ClapNQ, whose references are sentences: of their words, the question's own context
# has 0.65 (2nd percentile) to 1, five of other questions have up to 0.30 (98th percentile).
HELD: Final = 0.6
"""From this share of a reference's words on, the contexts hold it."""

# On the same data, 0.22 of the words of right answers stand neither in contexts nor question (98th
# percentile); of answers and sentences that belong to other questions at least 0.67 (2nd).
UNFOUNDED: Final = 0.5
"""From this share of such words on, an answer says what its contexts do not."""

_SHOWN: Final = 3
_LISTED: Final = 3
_MAY_REFUSE: Final = "the answer may refuse, in a language whose refusals are not known"
_HELD: Final = "the contexts hold the reference"


@dataclass(frozen=True, slots=True)
class Found:
    """A cause and, in words, what it was told by."""

    cause: Cause
    reason: str


def with_cause(
    info: ScenarioInfo, sample: Sample, result: SampleResult, reading: AnswerReading | None = None
) -> SampleResult:
    """Return the result of ``sample`` with the cause, if the scenario asks for one and it is low.

    Nuggets that were looked for in its answer and its contexts decide first. ``reading`` is what
    the scenario's own rules say of the answer.
    """
    if info.diagnose is None or not is_low(info, result):
        return result
    kind = None if reading is None or reading.kind == "failed" else reading.kind
    seen = result
    if any(column.name == SUPPORT for column in info.metrics):
        seen = replace(result, details=NOTHING)  # of a metric with this name: there is no table
    found = _by_nuggets(seen) or find_cause(info, info.diagnose, sample, seen, kind)
    return replace(result, cause=found.cause, cause_reason=found.reason)


def find_cause(
    info: ScenarioInfo,
    diagnosis: Diagnosis,
    sample: Sample,
    result: SampleResult,
    kind: AnswerKind | None = None,
) -> Found:
    """Return the cause of a low answer.

    An answer to what the documents cannot answer is ``unfaithful``. Else the claims decide where
    the judge was asked which of them the contexts have, else a metric where one is named and has a
    score, else the words. But the cause is not ``retrieval`` where a context has a reference or an
    expected context word for word, or is a part of an expected one (with claims: only where it has
    the first reference). Without a ``kind``, phrases tell whether the answer refuses.
    """
    kind = kind or kind_of(sample.answer or "")
    known = _of_row(sample, kind) or _of_claims(info, sample, result)
    if known is not None:
        return known
    found = _retrieved(info, diagnosis, sample, result)
    if found.cause != "generation":
        return found
    if sample.answer is None:
        return Found("unknown", f"{found.reason}, and there is no answer")
    if kind == "empty" or not sample.answer.strip():
        return Found("generation", f"{found.reason}, and the answer is empty")
    if kind == "refused":
        return Found("generation", f"{found.reason}, and the answer refuses")
    unfaithful = _unfaithful(info, diagnosis.generation, sample, result)
    if unfaithful:
        return Found("unfaithful", f"{found.reason}, {unfaithful}")
    if holds([sample.answer], _wanted(sample)) or _makes_all_claims(result):
        low = _lowest(info, result)
        return Found("generation", f"{found.reason}, and so does the answer: {low} is low")
    return Found("generation", f"{found.reason}, and the answer missed it")


def _of_row(sample: Sample, kind: AnswerKind) -> Found | None:
    if sample.answerable is False and sample.answer and kind not in ("refused", "empty"):
        if kind == "unclear":
            return Found("unknown", f"the documents hold no answer, and {_MAY_REFUSE}")
        return Found("unfaithful", "the documents hold no answer, and the answer gives one")
    return None


def _of_claims(info: ScenarioInfo, sample: Sample, result: SampleResult) -> Found | None:
    """Return the cause of most claims; None where the support table shows none."""
    table, contexts = result.details.get(SUPPORT), sample.contexts
    if not table or contexts is None:
        return None
    found = cause_of_claims(table, len(contexts))
    if found is not None:
        return None if found[0] == "retrieval" and _holds_claims(sample) else Found(*found)
    if _makes_all_claims(result) and is_all_founded(table, len(contexts)):
        said = "no claim is missing, and each is in the contexts"
        return Found("generation", f"{said}: {_lowest(info, result)} is low")
    return None


def _makes_all_claims(result: SampleResult) -> bool:
    """Return whether a judge has found each claim of the reference in the answer."""
    table = result.details.get(SUPPORT)
    claims = _claims(table) if table else ()
    levels = {claim.levels.get("answer") for claim in claims if claim.of == "reference_claim"}
    return levels == {"full"}


def _holds_claims(sample: Sample) -> bool:
    """Return whether a context has, word by word, the reference whose claims are looked for."""
    first = [text for text in (sample.references or ())[:1] if content_words(text)]
    return holds(sample.contexts or (), first)


def _lowest(info: ScenarioInfo, result: SampleResult) -> str:
    """Return the metric with the lowest score, as it enters the weighted score.

    It is one of those that miss a threshold or fail the sample, where there are any.
    """
    missed = {one.name for one in shortfalls(result, info.thresholds)}
    columns = [column for column in info.metrics if column.name in missed] or [
        column for column in info.metrics if column.weight > 0.0 and None not in column.ends
    ]
    scored = [
        (column.to_unit(score), column.name)
        for column in columns
        if is_scored(score := result.scores.get(column.name))
    ]
    return min(scored)[1] if scored else "its score"


def _retrieved(
    info: ScenarioInfo, diagnosis: Diagnosis, sample: Sample, result: SampleResult
) -> Found:
    """Return ``generation`` where what was retrieved is right, else the cause."""
    wanted = _wanted(sample)
    if holds(sample.contexts or (), wanted) or _in_expected(sample):
        return Found("generation", _HELD)
    judged = _judged(info, diagnosis.retrieval, result)
    if judged is not None:
        is_good, said = judged
        return Found("generation" if is_good else "retrieval", said)
    if sample.contexts is None:
        return Found("unknown", "no contexts")
    if not wanted:
        texts = sample.references or ()
        said = f"no words to look for in {shorten(texts[0])!r}" if texts else "no references"
        return Found("unknown", said)
    if not sample.contexts:
        return Found("retrieval", "there are no contexts")
    known = _words(sample.contexts)
    if any(_share(text, known) >= HELD for text in wanted):
        return Found("generation", _HELD)
    return Found("retrieval", "no context holds the reference")


def _wanted(sample: Sample) -> list[str]:
    """Return the texts to look for in the contexts; ``yes`` or ``no`` would stand in any."""
    texts = [*(sample.references or ()), *(sample.reference_contexts or ())]
    return [text for text in texts if content_words(text)]


def _in_expected(sample: Sample) -> bool:
    """Return whether a context is a part of an expected one."""
    parts = [text for text in sample.contexts or () if content_words(text)]
    return holds(sample.reference_contexts or (), parts)


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in content_words(text)}


def _share(text: str, known: set[str]) -> float:
    words = content_words(text)
    return sum(word in known for word in words) / len(words)


def _judged(info: ScenarioInfo, name: str | None, result: SampleResult) -> tuple[bool, str] | None:
    """Return whether a metric's score is good enough, and the comparison; None without a score."""
    score = result.scores.get(name) if name is not None else None
    if name is None or not is_scored(score):
        return None
    bound = info.thresholds.get(name) or _middle(info, name)
    return bound.holds(score), f"{name} {bound.compare(score)}"


def _middle(info: ScenarioInfo, name: str) -> Bound:
    column = next(column for column in info.metrics if column.name == name)
    return Bound(min=column.middle) if column.higher_is_better else Bound(max=column.middle)


def _unfaithful(
    info: ScenarioInfo, metric: str | None, sample: Sample, result: SampleResult
) -> str:
    """Return what shows that the answer says more than the contexts; "" where nothing does."""
    judged = _judged(info, metric, result)
    if judged is not None:
        is_good, said = judged
        return "" if is_good else f"and {said}"
    if not sample.contexts:
        return ""
    words = content_words(sample.answer or "")
    known = _words([sample.question or "", *sample.contexts])
    unknown = [word for word in words if word not in known]
    if not unknown or len(unknown) / len(words) < UNFOUNDED:
        return ""
    return f"but not what the answer says: {', '.join(unknown[:_SHOWN])}"


def _by_nuggets(result: SampleResult) -> Found | None:
    """Return the cause of most nuggets that the answer lacks: whether the contexts have them.

    None where it lacks none, or where nuggets were not looked for in both. Vital ones decide if it
    lacks any. As many of each: ``retrieval``.
    """
    lacking = list(_lacking_nuggets(result.details.get(SUPPORT) or {}))
    lacking = [one for one in lacking if one[0] == "vital"] or lacking
    held = [text for _, text, is_held in lacking if is_held]
    gone = [text for _, text, is_held in lacking if not is_held]
    if not lacking:
        return None
    counts = [
        f'{len(texts)} {where} ("{shorten(texts[0])}")'
        for texts, where in ((gone, "that no context has"), (held, "that the contexts have"))
        if texts
    ]
    is_retrieval = len(gone) >= len(held)
    cause: Cause = "retrieval" if is_retrieval else "generation"
    return Found(cause, f"the answer lacks nuggets: {', '.join(counts)}")


def _lacking_nuggets(table: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield importance and text of what the answer lacks, and whether the contexts have it."""
    kinds = [source["kind"] for source in table.get("sources", ())]
    for statement, cells in zip(table.get("statements", ()), table.get("cells", ()), strict=True):
        levels = {kind: cell[0] for kind, cell in zip(kinds, cells, strict=True) if cell}
        is_known = {"answer", "contexts"} <= levels.keys() and "failed" not in levels.values()
        if statement["of"] == "nugget" and is_known and levels["answer"] != "full":
            yield statement["importance"], statement["text"], levels["contexts"] == "full"


@dataclass(frozen=True)
class _Claim:
    """A claim, and how far each source that was asked supports it, by the source's name."""

    of: str
    levels: Mapping[str, str]

    def found_in(self, contexts: Sequence[str]) -> list[str] | None:
        """Return the contexts that support it; None if none is known to, and some did not say."""
        levels = [self.levels.get(name, "failed") for name in contexts]
        found = [name for name, level in zip(contexts, levels, strict=True) if level == "full"]
        return None if not found and "failed" in levels else found

    def lacks(self, source: str) -> bool:
        """Return whether a source is known not to support it."""
        return self.levels.get(source) in ("none", "partial")


def cause_of_claims(table: Mapping[str, Any], contexts: int) -> tuple[Cause, str] | None:
    """Return the cause of most claims, and how many have which; None where no claim has any.

    ``table`` is the support table of a result, ``contexts`` how many there are. What the judge
    failed at has no cause. Of causes with as many claims, ``retrieval`` comes first, then
    ``unfaithful``: what was not retrieved could not be said.
    """
    names = _context_names(contexts)
    claims = list(_claims(table))
    missing = [claim for claim in claims if claim.of == "reference_claim" and claim.lacks("answer")]
    lost = [claim for claim in missing if claim.found_in(names) == []]
    unused = [claim for claim in missing if claim.found_in(names)]
    made_up = [claim for claim in claims if claim.of == "claim" and _is_made_up(claim, names)]
    where = [
        name for name in names if any(name in (claim.found_in(names) or ()) for claim in unused)
    ]
    parts: dict[Cause, tuple[int, str, str]] = {
        "retrieval": (len(lost), "reference claim", "in no context"),
        "unfaithful": (len(made_up), "answer claim", "in no context and not in the reference"),
        "generation": (
            len(unused),
            "reference claim",
            f"in {listed(where, _LISTED)} and not in the answer",
        ),
    }
    order = sorted(
        (cause for cause in parts if parts[cause][0]), key=lambda cause: -parts[cause][0]
    )
    return (order[0], _told_parts([parts[cause] for cause in order])) if order else None


def is_all_founded(table: Mapping[str, Any], contexts: int) -> bool:
    """Return whether there are claims of the answer, each in a context or an earlier turn."""
    names = [*_context_names(contexts), "history"]
    claims = [claim for claim in _claims(table) if claim.of == "claim"]
    return bool(claims) and all("full" in map(claim.levels.get, names) for claim in claims)


def _is_made_up(claim: _Claim, contexts: Sequence[str]) -> bool:
    by_history = claim.levels.get("history", "none")
    is_unfounded = claim.found_in(contexts) == [] and by_history not in ("full", "failed")
    return is_unfounded and claim.lacks("reference")


def _claims(table: Mapping[str, Any]) -> Iterator[_Claim]:
    sources = [_source_name(source) for source in table["sources"]]
    for statement, cells in zip(table["statements"], table["cells"], strict=True):
        levels = {
            name: cell[0] for name, cell in zip(sources, cells, strict=True) if cell is not None
        }
        yield _Claim(statement["of"], levels)


def _context_names(contexts: int) -> list[str]:
    return [f"contexts[{place}]" for place in range(1, contexts + 1)]


def _source_name(source: Mapping[str, Any]) -> str:
    places = ", ".join(map(str, source["index"]))
    return f"{source['kind']}[{places}]" if places else str(source["kind"])


def _told_parts(parts: Sequence[tuple[int, str, str]]) -> str:
    texts: list[str] = []
    before = ""
    for count, what, where in parts:
        number = f"{count}" if what == before else counted(count, what)
        texts.append(f"{number} {'is' if count == 1 else 'are'} {where}")
        before = what
    return ", ".join(texts)
