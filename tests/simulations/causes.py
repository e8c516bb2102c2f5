"""Answers made low for a known cause, on real questions: how often that cause is found."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pytest_rageval.engine.scoring.cause import find_cause
from pytest_rageval.model import Cause, Diagnosis, Sample, SampleResult, ScenarioInfo

INFO = ScenarioInfo("s", "s", "s", ())
AWAY = 7
"""How far the row is whose texts are taken; the next ones may be about the same passage."""


@dataclass(frozen=True, slots=True)
class Found:
    """The causes found where ``made`` was made; ``by_chance`` a reference stood there anyway.

    ``wrong`` counts those said to be of retrieval although a reference stands in the contexts.
    """

    made: Cause
    causes: Counter[Cause]
    by_chance: int
    wrong: int

    @property
    def share(self) -> float:
        """The share of rows in which the cause that was made is found."""
        return self.causes[self.made] / self.causes.total()


def samples_in(path: Path, count: int | None = None) -> list[Sample]:
    """Return the first samples with references."""
    with path.open(encoding="utf-8") as stream:
        rows = (row for row in map(json.loads, stream) if row["references"])
        return [
            Sample(
                row["id"],
                question=row["question"],
                contexts=tuple(row["contexts"]),
                references=tuple(row["references"]),
            )
            for row in islice(rows, count)
        ]


def found_causes(samples: Sequence[Sample]) -> dict[str, Found]:
    """Return for each way to make answers low what was found."""
    changed = [_changed(sample, samples[at - AWAY]) for at, sample in enumerate(samples)]
    ways: dict[str, list[tuple[Cause, Sample]]] = {}
    for one in changed:
        for way, cause, sample in one:
            ways.setdefault(f"{way}: {cause}", []).append((cause, sample))
    return {way: _found(made) for way, made in ways.items()}


def _changed(sample: Sample, other: Sample) -> Iterator[tuple[str, Cause, Sample]]:
    contexts, references = sample.contexts or (), sample.references or ()
    foreign = _sentences(other)[0]
    gold, others = references[0], (other.references or ("",))[0]
    for where, given in (("contexts removed", ()), ("contexts swapped", other.contexts)):
        for what, answer in (("gold", gold), ("another's gold", others), ("foreign", foreign)):
            yield f"{where}, {what}", "retrieval", replace(sample, contexts=given, answer=answer)
    missed = [text for text in _sentences(sample) if not has_answer([text], references)]
    kept: list[tuple[str, Cause, str]] = [
        ("empty", "generation", ""),
        ("a refusal", "generation", "I don't know, the context does not say."),
        ("another's gold", "unfaithful", others),
        ("foreign", "unfaithful", foreign),
    ]
    kept += [("another sentence of theirs", "generation", text) for text in missed[-1:]]
    for what, cause, answer in kept:
        yield f"contexts kept, {what}", cause, replace(sample, contexts=contexts, answer=answer)


def _sentences(sample: Sample) -> list[str]:
    text = " ".join(sample.contexts or ())
    return [part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text) if part.strip()]


def _found(made: Sequence[tuple[Cause, Sample]]) -> Found:
    causes: Counter[Cause] = Counter()
    by_chance = wrong = 0
    for cause, sample in made:
        found = find_cause(INFO, Diagnosis(), sample, SampleResult(sample.id, 0)).cause
        stands = has_answer(sample.contexts or (), sample.references or ())
        wrong += stands and found == "retrieval"
        if stands and cause == "retrieval":
            by_chance += 1  # it is not what was made
        else:
            causes[found] += 1
    return Found(made[0][0], causes, by_chance, wrong)


def has_answer(contexts: Sequence[str], references: Sequence[str]) -> bool:
    """Return what DPR's has_answer does, written anew: its tokens in a row, in any case.

    A reference of ClapNQ is a full stop: it does not count.
    """
    wanted = [_tokens(text) for text in references if re.search(r"\w", text)]
    return any(one in text for text in map(_tokens, contexts) for one in wanted)


_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+|[^\w\s]|_")


def _tokens(text: str) -> str:
    # DPR counts marks to the letter before them: composed, they are one with it here.
    return f" {' '.join(_TOKEN.findall(unicodedata.normalize('NFC', text).lower()))} "
