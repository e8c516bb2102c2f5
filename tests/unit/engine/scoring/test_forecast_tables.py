"""[G6] What the support tables of a run will cost, said before it is asked."""

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
from pytest_rageval.clients.chat import cached_reply, question_kind
from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.clients.tokens import CachedCall
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.ask_target import AnswerCache
from pytest_rageval.engine.scoring.counting_models import CountingJudge, Known, ModelUse
from pytest_rageval.engine.scoring.forecast import forecast
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.stand_ins import Guesses, Learned, learned
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.prompts import (
    asked_in,
    cells_prompt,
    cells_schema,
    claims_prompt,
    claims_schema,
)
from pytest_rageval.metrics.support.table import REFERENCE, Key, Measure, SupportTable, context
from pytest_rageval.model import SUPPORT, Sample, Score
from pytest_rageval.text.sentences import split_sentences

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

JUDGE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 500, "controls": "off"}
CLAIMS = ["claim_precision", "claim_recall"]


class Planted:
    """A judge that finds in each sentence of a text one to four claims, by chance.

    Like the real client it looks into the cache, and asks equal questions once; ``calls`` counts
    what it was asked.
    """

    def __init__(self, plan: Plan, run: RunSettings, claims: Sequence[int] = (1, 1, 1, 2, 4)):
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
        assert accept is not None
        accept(text)
        if self._cache.writes:
            tokens = {"prompt_tokens": 500, "completion_tokens": 50}
            self._cache.put("reply", key, {"text": text, "model": "m", **tokens})
        return Reply(text)

    def _said(self, name: str, prompt: str, chance: random.Random) -> Any:
        sources, count = asked_in(prompt)
        if name == "rubric_score":
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
        yield from ((claim, source) for source in table.row.contexts)


def contexts_of_references(table: SupportTable) -> Iterator[Key]:
    """Each context against the claims of the reference."""
    for claim in table.of("reference_claim"):
        yield from ((claim, source) for source in table.row.contexts)


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
    "found": Measure(
        frozenset({"reference_claim"}), contexts_of_references, lambda name, _: Score(name, 1.0)
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
    more = []
    for name in own:
        like = next(metric for metric in plan.metrics if metric.info.of_table)
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


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40))
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


@pytest.mark.parametrize("mode", ["readwrite", "off"])
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        # Each alone, and both together; the rest without one is the other alone.
        (2, (3, 4)),
        # Three alone, one call for all together; then three pairs, and the reference.
        (3, (4, 8)),
    ],
)
def test_what_replies_decide_lies_between_the_ends(
    tmp_path: Path, number: int, expected: tuple[int, int], mode: CacheMode
) -> None:
    """A sentence that is supported together has its pairs asked, another one the reference."""
    said = "A sentence says a thing"
    said += "!" * (5 + number - len(said) % 5)
    given = {"question": "?", "answer": said, "contexts": ["One.", "Two.", "Three."]}
    plan = plan_of(tmp_path, [{"id": "r", **given, "references": ["It is."]}], ["by_citations"])
    own = [metric for metric in plan.metrics if metric.column.name not in CLAIMS]
    fewest, likely, most = ends(look(replace(plan, metrics=tuple(own)), run_of(tmp_path, mode)))
    assert (fewest, most) == expected
    assert fewest <= likely <= most


@pytest.mark.full
def test_after_20_rows_the_forecast_is_within_10_percent(tmp_path: Path) -> None:
    """Of 200 rows; what the 20 have shown tells how many claims the others make."""
    chance = random.Random(1)
    rows = [row(chance, at) for at in range(200)]
    plan, run = plan_of(tmp_path, rows, ["in_contexts", "by_citations"]), run_of(tmp_path)
    done = asked(plan, run, plan.asked_samples[:20])
    fewest, likely, most = ends(look(plan, run))
    rest = asked(plan, run)
    assert likely + done == pytest.approx(rest + done, rel=0.1)
    assert fewest < rest < most


@pytest.mark.full
@pytest.mark.parametrize(("each", "first", "later"), [(6, 3, 4), (1, 3, 3)])
def test_claims_of_a_text_are_those_of_texts_about_as_long(
    tmp_path: Path, each: int, first: int, later: int
) -> None:
    """A judge finds 6 claims in each sentence: two sentences hold 12, for which two calls are made.

    Two more find the claims of answer and reference.

    While the cache has none, a sentence is taken for a claim.
    """
    said = [f"Answer {at} says a thing. It also says another one." for at in range(12)]
    rows = [
        {"id": f"r{at}", "question": f"?{at}", "answer": one, "references": ["It is."]}
        for at, one in enumerate(said)
    ]
    plan, run = (
        plan_of(tmp_path, rows, metrics=["claim_precision"], citations=None),
        run_of(tmp_path),
    )
    assert look(plan, run).calls == 12 * first
    judge = Planted(plan, run, [each])
    for sample in plan.asked_samples[:6]:
        asyncio.run(judge_sample(plan, sample, Models(judge=judge)))
    judge.close()
    assert judge.calls == 6 * later
    fewest, likely, most = ends(look(plan, run))
    # At least the claims of two texts; at most 50 of them in the answer.
    assert (fewest, most) == (6 * 2, 6 * (2 + 5))
    assert likely == pytest.approx(6 * later, abs=1)


def changed(plan: Plan, rows: Sequence[dict[str, Any]], folder: Path, own: Sequence[str]) -> Plan:
    """Return the plan over the same rows with other answers."""
    others = [{**one, "answer": f"No {at}. Never."} for at, one in enumerate(rows)]
    metrics = [metric.column.name for metric in plan.metrics if metric.column.name not in OWN]
    return plan_of(folder, others, own, metrics=metrics)


@pytest.mark.full
def test_other_answers_to_the_same_questions_are_counted_exactly(tmp_path: Path) -> None:
    """What the reference claims is known, and whether contexts say so, too.

    So ``claim_recall`` asks whether each answer makes 12 claims: two calls.
    """
    rows = [
        {
            "id": f"r{at}",
            "question": f"What of {at}?",
            "answer": f"Yes {at}.",
            "contexts": ["One.", "Two."],
            "references": [f"Part one of {at}. Part two."],
        }
        for at in range(5)
    ]
    own = ["found"]
    plan, run = plan_of(tmp_path, rows, own, metrics=["claim_recall"]), run_of(tmp_path)
    judge = Planted(plan, run, [6])
    for sample in plan.asked_samples:
        asyncio.run(judge_sample(plan, sample, Models(judge=judge)))
    judge.close()
    # The claims of the reference, and twice 12 of them against the answer and two contexts.
    assert judge.calls == 5 * (1 + 2 * 3)
    other = changed(plan, rows, tmp_path, own)
    assert ends(look(other, run)) == (10, 10, 10)
    assert asked(other, run) == 10


@pytest.mark.full
@pytest.mark.parametrize("mode", ["read", "replay", "refresh", "off"])
def test_each_mode_of_the_cache_counts_as_it_runs(tmp_path: Path, mode: CacheMode) -> None:
    """Equal rows are asked about once, but each where the cache is off."""
    same = row(random.Random(3), 1)
    rows = [{**same, "id": "one"}, {**same, "id": "two"}]
    plan = plan_of(tmp_path, rows, list(OWN))
    first = asked(plan, run_of(tmp_path))
    assert first > 5
    fewest, likely, most = ends(look(plan, run_of(tmp_path, mode)))
    if mode in ("read", "replay"):
        assert (fewest, likely, most) == (0, 0, 0)
        return
    fresh = run_of(tmp_path / "fresh", "off" if mode == "off" else "readwrite")
    real = asked(plan, fresh)
    assert real == (2 * first if mode == "off" else first)
    assert fewest <= real <= most
    alone = plan_of(tmp_path, rows[:1], list(OWN))
    times = 2 if mode == "off" else 1
    assert ends(look(alone, run_of(tmp_path, mode)))[2] * times == most


@pytest.mark.full
def test_repeats_are_tables_of_their_own(tmp_path: Path) -> None:
    """Each of three repeats asks for the claims and the cells anew, and may find others."""
    rows = [row(random.Random(3), 1)]
    once, run = plan_of(tmp_path, rows), run_of(tmp_path)
    thrice = plan_of(tmp_path, rows, judge={**JUDGE, "repeats": 3})
    assert [3 * calls for calls in ends(look(once, run))] == list(ends(look(thrice, run)))
    asked(once, run)
    # Twice the claims of two texts, and whether the answer makes the one of the reference.
    assert ends(look(thrice, run))[0] == 2 * (2 + 1)
    assert ends(look(once, run)) == (0, 0, 0)


def test_a_judge_that_may_see_refusals_may_have_less_to_do(tmp_path: Path) -> None:
    """The fewest calls are those of answers that refuse, and of no claim in a reference."""
    rows = [{**row(random.Random(3), 1), "id": f"r{at}"} for at in range(1)]
    keys = {"metrics": ["claim_precision"], "refusals": {"detect": "judge"}, "citations": None}
    plan, run = plan_of(tmp_path, rows, **keys), run_of(tmp_path)
    # Whether it refuses; the claims of both texts; 50 of them against the reference.
    fewest, _, most = ends(look(plan, run))
    assert (fewest, most) == (1, 1 + 2 + 5)


def test_other_metrics_are_counted_as_if_no_answer_refused(tmp_path: Path) -> None:
    """Their calls have no ends: whether it refuses, and the metric's own."""
    rows = [row(random.Random(3), 1)]
    keys = {"refusals": {"detect": "judge"}, "citations": None}
    plan = plan_of(tmp_path, rows, metrics=["llm_answer_relevancy"], **keys)
    use = look(plan, run_of(tmp_path))
    assert (use.calls, use.fewest, use.most) == (2, None, None)


@pytest.mark.full
def test_answers_that_are_not_known_have_no_ends(tmp_path: Path) -> None:
    """They may be empty, or longer than any. What others have answered tells how long they are."""
    target = {"url": "http://127.0.0.1:9/ask", "cache_answers": True}
    rows = [{"id": f"r{at}", "question": f"?{at}", "references": [f"It {at}."]} for at in range(40)]
    keys = {"target": target, "metrics": ["claim_precision"], "citations": None}
    plan, run = plan_of(tmp_path, rows, **keys), run_of(tmp_path)
    use = look(plan, run)
    assert ends(use) == (120, 120, 120)
    assert (use.fewest, use.most) == (None, None)
    assert plan.target is not None
    cache, answers = Cache(run), AnswerCache(plan.target, run)
    nothing: dict[str, Any] = dict.fromkeys(("contexts", "context_docs", "retrieved_ids"))
    long = " ".join(f"Sentence {number} says a thing." for number in range(15))
    for sample in plan.asked_samples[20:]:
        kept = {"text": f"{sample.id}: {long}", **nothing, "extra": {}}
        cache.put("answer", answers.key(sample), kept)
    cache.close()
    # Each has 15 sentences or 16, taken for so many claims: two calls for the cells.
    assert look(plan, run).calls == 40 * (2 + 2)


def test_prompts_of_claims_and_cells_are_told_apart() -> None:
    """By their kind, for their tokens; and each says what it is about, whatever the texts hold."""
    tagged = "</source> <source-1>\na\n</source-1>"
    assert asked_in(cells_prompt("en", "q?", [tagged, "two"], ["s", "t", "u"])) == (
        [tagged, "two"],
        3,
    )
    assert asked_in(claims_prompt("zh", "", tagged)) == ([tagged], 0)
    assert asked_in("anything") == ([], 0)
    kinds = {
        question_kind({"metric": SUPPORT, "schema": f"{schema.name} {schema.sha256}"})
        for schema in (claims_schema(), cells_schema())
    }
    assert len(kinds) == 2


def test_what_cannot_be_read_teaches_nothing() -> None:
    """A reply in the cache that somebody has edited, or of another metric."""
    schema = claims_schema()
    kind = question_kind({"metric": SUPPORT, "schema": f"{schema.name} {schema.sha256}"})
    prompt = claims_prompt("en", "q?", "A text.")
    calls = [
        CachedCall(kind, (prompt,), 10, 10, reply="no JSON"),
        CachedCall("rubric x", (prompt,), 10, 10, reply='{"claims": ["a"]}'),
    ] * 9
    assert learned(calls, 100).texts == []
    good = [CachedCall(kind, (prompt,), 10, 10, reply='{"claims": ["a", "b"]}')] * 9
    assert len(learned([*calls, *good], 5).texts) == 5
    found = Guesses("likely", learned(good, 100)).replies(schema, prompt, "ab")
    assert json.loads(next(found)) == {"claims": ["a ab.1", "b ab.2"]}
    assert len(json.loads(next(found))["claims"]) == 3  # if two are too few for the metric


def test_a_reply_that_the_metric_refuses_is_none_of_the_fewest(tmp_path: Path) -> None:
    """Where four claims are the fewest that it takes, four are the fewest there are."""

    def at_least_four(reply: str) -> None:
        if len(json.loads(reply)["claims"]) < 4:
            raise ValueError("too few")

    plan, run = plan_of(tmp_path, [row(random.Random(3), 1)]), run_of(tmp_path, "off")
    use, cache = ModelUse(plan.models.judge or pytest.fail("no judge")), Cache(run)
    known = Known(cache, set(), ["fewest"], is_shared=False)
    judge = CountingJudge(use, known, Guesses("fewest", Learned()))
    prompt = Message("user", claims_prompt("en", "q?", "A text."))
    reply = asyncio.run(judge.complete([prompt], schema=claims_schema(), accept=at_least_four))
    cache.close()
    assert (len(json.loads(reply.text)["claims"]), use.calls) == (4, 1)
