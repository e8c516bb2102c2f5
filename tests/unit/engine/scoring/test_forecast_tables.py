"""Issue 37: what the support tables of a run will cost, said before it is asked."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.accounting import current_purpose
from pytest_rageval.clients.base import Accept, Message, Reply, ReplySchema
from pytest_rageval.clients.cache import Cache, chat_key
from pytest_rageval.clients.chat import cached_reply
from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.counting_models import ModelUse
from pytest_rageval.engine.scoring.forecast import forecast
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.prompts import asked_in
from pytest_rageval.metrics.support.table import REFERENCE, Key, Measure, SupportTable, context
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.sentences import split_sentences

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

JUDGE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 500, "controls": "off"}
CLAIMS = ["claim_precision", "claim_recall"]


class Planted:
    """A judge that finds in each sentence of a text none to four claims, by chance.

    Like the real client it looks into the cache, and asks equal questions once; ``calls`` counts
    what it was asked.
    """

    def __init__(self, plan: Plan, run: RunSettings, claims: Sequence[int] = (0, 1, 1, 2, 4)):
        assert plan.models.judge is not None
        self._settings = plan.models.judge
        self._cache = Cache(run)
        self._claims = claims
        self.calls = 0

    def close(self) -> None:
        self._cache.close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        assert schema is not None
        key = chat_key(self._settings, messages, schema, current_purpose())
        kept = cached_reply(self._cache, key, accept) if self._cache.reads else None
        if kept is not None:
            return kept
        self.calls += 1
        chance = random.Random(key.sha256)
        text = json.dumps(self._said(schema.name, messages[-1].content, chance))
        if self._cache.writes:
            tokens = {"prompt_tokens": 500, "completion_tokens": 50}
            self._cache.put("reply", key, {"text": text, "model": "m", **tokens})
        return Reply(text)

    def _said(self, name: str, prompt: str, chance: random.Random) -> Any:
        sources, count = asked_in(prompt)
        if name == "answer_kind":
            return {"reason": "it is", "score": chance.choice([0, 1, 2])}
        if name == "claims":
            found = [
                f"{sentence} ({number})"
                for sentence in split_sentences(sources[0])
                for number in range(chance.choice(self._claims))
            ]
            return {"claims": found[:50]}
        levels = [chance.choice(["full", "full", "partial", "none"]) for _ in range(count)]
        return {
            "verdicts": [
                {"n": number, "support": level, "reason": "so"}
                for number, level in enumerate(levels, 1)
            ]
        }


def contexts_of_claims(table: SupportTable) -> Iterator[Key]:
    """Each context against the claims of the answer and of the reference."""
    for claim in (*table.of("claim"), *table.of("reference_claim")):
        for source in table.row.contexts:
            yield claim, source


def citations(table: SupportTable) -> Iterator[Key]:
    """Citations of sentences: alone, together, and the rest without each that does not suffice.

    What is cited is drawn here. Where nothing supports a sentence, the reference may.
    """
    for sentence in table.of("sentence"):
        places = range(1, len(table.row.contexts) + 1)
        cited = random.Random(sentence.text).sample(
            places, min(len(places), len(sentence.text) % 5)
        )
        if not cited:
            continue
        yield from ((sentence, context(place)) for place in cited)
        together = sentence, context(*cited)
        yield together
        if table.level(*together) in ("none", "partial"):
            yield sentence, REFERENCE
        if table.is_full(*together) and len(cited) > 1:
            for place in cited:
                if table.level(sentence, context(place)) in ("none", "partial"):
                    yield sentence, context(*(other for other in cited if other != place))


OWN = {
    "in_contexts": Measure(
        frozenset({"claim", "reference_claim"}),
        contexts_of_claims,
        lambda name, _: Score(name, 1.0),
    ),
    "by_citations": Measure(frozenset({"sentence"}), citations, lambda name, _: Score(name, 1.0)),
}


def row(chance: random.Random, at: int) -> dict[str, Any]:
    contexts = [f"Context {at}.{place} says a thing." for place in range(chance.randint(0, 6))]
    return {
        "id": f"r{at}",
        "question": f"What of {at}?",
        "answer": text(chance, f"answer {at}", 12),
        "contexts": contexts,
        "references": [text(chance, f"reference {at}", 6)],
    }


def text(chance: random.Random, name: str, most: int) -> str:
    numbers = range(chance.randint(1, most))
    return " ".join(f"Part {number} of {name} says {chance.random()}." for number in numbers)


def plan_of(
    folder: Path, rows: Sequence[dict[str, Any]], own: Sequence[str] = (), **keys: Any
) -> Plan:
    """Return the plan of a scenario over these rows, with measures of this test."""
    file = folder / "s.yaml"
    given = {"metrics": [*CLAIMS, "citation_coverage"], "judge": JUDGE, "citations": "brackets"}
    file.write_text(json.dumps({"name": "s", **given, **keys, "dataset": list(rows)}), "utf-8")
    plan = make_plan(file)
    like = next(metric for metric in plan.metrics if metric.info.of_table)
    more = []
    for name in own:
        needs = frozenset({"answer", "contexts"})
        info = replace(like.info, name=name, needs=needs)
        column = replace(like.column, name=name)
        more.append(replace(like, metric=SupportMetric(name, OWN[name]), info=info, column=column))
    return replace(plan, metrics=(*plan.metrics, *more))


def run_of(folder: Path, mode: CacheMode = "readwrite") -> RunSettings:
    return RunSettings(cache_dir=folder / "cache", cache_mode=mode)


def look(plan: Plan, run: RunSettings) -> ModelUse:
    found = asyncio.run(forecast(plan, plan.asked_samples, run))
    return next(use for use in found.models if use.settings.role == "judge")


def asked(plan: Plan, run: RunSettings, samples: Sequence[Sample] | None = None) -> int:
    """Return how many calls a run makes about these samples, or all of them."""
    judge = Planted(plan, run)

    async def judge_all() -> None:
        for sample in plan.asked_samples if samples is None else samples:
            await judge_sample(plan, sample, Models(judge=judge))

    asyncio.run(judge_all())
    judge.close()
    return judge.calls


def ends(use: ModelUse) -> tuple[int, int, int]:
    fewest, most = use.ends
    return fewest.calls, use.calls, most.calls


@pytest.mark.parametrize("seed", range(60))
def test_the_real_number_lies_between_the_ends(tmp_path: Path, seed: int) -> None:
    """Whatever is in the cache; once all of it is there, nothing is asked, and that is known."""
    chance = random.Random(seed)
    rows = [row(chance, at) for at in range(chance.randint(1, 4))]
    own = [name for name in OWN if chance.random() < 0.7]
    keys = {"judge": {**JUDGE, "repeats": chance.choice([1, 1, 2])}}
    if chance.random() < 0.3:
        keys["refusals"] = {"detect": "judge"}
    plan, run = plan_of(tmp_path, rows, own, **keys), run_of(tmp_path)
    if chance.random() < 0.5:
        asked(plan, run, plan.asked_samples[:1])
    fewest, likely, most = ends(look(plan, run))
    real = asked(plan, run)
    assert fewest <= real <= most
    assert fewest <= likely <= most
    assert ends(look(plan, run)) == (0, 0, 0)
    assert asked(plan, run) == 0
