"""E22: what a run would ask, and what the cache has, without asking anybody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval.clients.accounting import Ledger, Purpose, asking, current_purpose
from pytest_rageval.clients.base import Reply
from pytest_rageval.clients.cache import Cache, chat_key
from pytest_rageval.clients.clients import check_chat
from pytest_rageval.clients.score_cache import ScoreCache
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.ask_target import AnswerCache
from pytest_rageval.engine.scoring.forecast import Forecast, forecast
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics.base import JudgedMetric, Models
from pytest_rageval.model import Sample, Score

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

JUDGE = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 100, "controls": "off"}
ROW = {"question": "four letters", "contexts": ["ab c"], "references": ["abcd"]}


def plan_of(folder: Path, answers: Sequence[str | None], **keys: Any) -> Plan:
    """Return the plan of a scenario over these answers; None leaves one out."""
    rows = [
        {"id": f"r{at}", **ROW, **({} if said is None else {"answer": said})}
        for at, said in enumerate(answers)
    ]
    keys = {"metrics": ["llm_answer_relevancy"], "judge": JUDGE, **keys}
    file = folder / "s.yaml"
    file.write_text(json.dumps({"name": "s", **keys, "dataset": rows}), "utf-8")
    return make_plan(file)


def run_of(folder: Path, mode: CacheMode = "readwrite") -> RunSettings:
    return RunSettings(cache_dir=folder / "cache", cache_mode=mode)


def look(plan: Plan, run: RunSettings) -> Forecast:
    return asyncio.run(forecast(plan, plan.asked_samples, run))


def seen(plan: Plan, run: RunSettings) -> tuple[int, int]:
    """Return the calls to the only model, and what the cache answers."""
    (use,) = look(plan, run).models
    return use.calls, use.cached


class Keeps:
    """A judge that keeps its reply to each question in the cache, as a run would."""

    def __init__(self, plan: Plan, cache: Cache) -> None:
        self._plan = plan
        self._cache = cache

    async def complete(self, messages: Any, *, schema: Any = None, accept: Any = None) -> Reply:
        assert self._plan.models.judge is not None
        key = chat_key(self._plan.models.judge, messages, schema, current_purpose())
        text = '{"reason": "it is", "score": 5}'
        self._cache.put("reply", key, {"text": text, "model": "m"})
        return Reply(text)


def judge_all(plan: Plan, samples: Sequence[Sample], run: RunSettings) -> None:
    """Put the replies about these samples into the cache."""
    cache = Cache(run)
    models = Models(judge=Keeps(plan, cache))
    for sample in samples:
        for metric in plan.judged:
            with asking(Purpose(metric.column.name, metric.info.version, 0, sample.id)):
                asyncio.run(cast("JudgedMetric", metric.metric).ascore(sample, models))
    cache.close()


def test_every_question_is_a_call(tmp_path: Path) -> None:
    """[E22] Two metrics, three times each, about two samples; nothing is written."""
    plan = plan_of(
        tmp_path,
        ["an", "other"],
        metrics=["llm_answer_relevancy", {"rubric": {"prompt": "{query} {context} {answer}"}}],
        judge={**JUDGE, "repeats": 3},
    )
    assert seen(plan, run_of(tmp_path)) == (12, 0)
    assert not (tmp_path / "cache").exists()


def test_dollars_are_those_of_prompt_and_reply(tmp_path: Path) -> None:
    """[E22] At 1 USD a token of the prompt, and 0.01 for each of 10 to 100 of the reply."""
    priced = {**JUDGE, "price": {"input": 1_000_000, "output": 10_000}}
    (use,) = look(plan_of(tmp_path, ["an"], judge=priced), run_of(tmp_path)).models
    assert use.prompt_tokens > len("four letters ab c an") / 4
    assert use.reply_tokens == (10.0, 100.0)
    low, high = 0.85 * use.prompt_tokens + 0.1, 1.15 * use.prompt_tokens + 1.0
    assert use.usd == pytest.approx((low, high))


def test_without_a_price_the_cost_is_not_known(tmp_path: Path) -> None:
    """[E22] It is never 0."""
    (use,) = look(plan_of(tmp_path, ["an"]), run_of(tmp_path)).models
    assert (use.calls, use.usd) == (1, None)


def test_what_was_asked_is_in_the_cache(tmp_path: Path) -> None:
    """[E22] One of two replies is there, for a mode that reads it."""
    plan = plan_of(tmp_path, ["an", "other"])
    judge_all(plan, plan.asked_samples[:1], run_of(tmp_path))
    files = sorted((tmp_path / "cache").iterdir())
    modes: list[CacheMode] = ["readwrite", "read", "replay", "refresh", "off"]
    found = {mode: seen(plan, run_of(tmp_path, mode)) for mode in modes}
    assert found == {
        "readwrite": (1, 1),
        "read": (1, 1),
        "replay": (1, 1),
        "refresh": (2, 0),
        "off": (2, 0),
    }
    assert sorted((tmp_path / "cache").iterdir()) == files


def test_a_key_that_somebody_has_edited_teaches_nothing(tmp_path: Path) -> None:
    """[E22] The reply is still found."""
    plan = plan_of(tmp_path, ["an", "other"])
    judge_all(plan, plan.asked_samples[:1], run_of(tmp_path))
    (keys,) = (tmp_path / "cache").glob("*.reply-keys.jsonl")
    entry = json.loads(keys.read_text("utf-8"))
    del entry["key"]["messages"]
    keys.write_text(json.dumps(entry) + "\n", "utf-8")
    assert seen(plan, run_of(tmp_path)) == (1, 1)


def test_equal_questions_are_asked_once(tmp_path: Path) -> None:
    """[E22] As a run does, unless the cache is off."""
    plan = plan_of(tmp_path, ["an", "an", "an"])
    assert seen(plan, run_of(tmp_path)) == (1, 2)
    assert seen(plan, run_of(tmp_path, "off")) == (3, 0)


def test_what_another_scenario_asks_is_not_asked_again(tmp_path: Path) -> None:
    """[E22] Of two scenarios with the same judge, the second asks what only it has."""
    asked: set[str] = set()
    first, second = plan_of(tmp_path, ["an"]), plan_of(tmp_path, ["an", "other"])
    asyncio.run(forecast(first, first.asked_samples, run_of(tmp_path), asked))
    (use,) = asyncio.run(forecast(second, second.asked_samples, run_of(tmp_path), asked)).models
    assert (use.calls, use.cached) == (1, 1)


def test_an_empty_answer_asks_nobody(tmp_path: Path) -> None:
    assert seen(plan_of(tmp_path, ["an", " "]), run_of(tmp_path)) == (1, 0)


class Kept:
    """A metric that asks more than once, and whose scores are kept."""

    __module__ = "pytest_rageval.metrics.kept"

    def follows_from(self, language: str) -> dict[str, Any]:
        return {}

    def reads(self, sample: Sample) -> dict[str, Any]:
        return {"answer": sample.answer}

    async def ascore(self, sample: Sample, models: Models) -> Score:
        raise AssertionError("a metric was run")


def test_a_kept_score_is_all_that_it_was_made_of(tmp_path: Path) -> None:
    """[E22] Three replies of the sample with a score, and at least one call about the other."""
    plan = plan_of(tmp_path, ["an", "other"])
    (bound,) = plan.metrics
    kept = replace(bound, metric=Kept(), info=replace(bound.info, keeps_scores=True))
    plan = replace(plan, metrics=(kept,))
    run = run_of(tmp_path)
    cache = Cache(run)
    reuse = ScoreReuse(plan, ScoreCache(cache, Ledger()))
    key = reuse.key(kept, plan.asked_samples[0], 0)
    assert key is not None
    cache._prepare()
    reuse.cache.keep(key, Score("llm_answer_relevancy", 0.5), 3)
    cache.close()
    (use,) = look(plan, run).models
    assert (use.calls, use.cached, use.is_least) == (1, 3, True)


def test_a_metric_of_the_user_does_not_run(tmp_path: Path) -> None:
    """[E22] Its calls are counted once a sample, as the least there are."""
    (tmp_path / "never_run_metric.py").write_text(
        "async def graded(answer, judge):\n    raise SystemExit('it ran')\n", "utf-8"
    )
    plan = plan_of(tmp_path, ["an", "other"], metrics=[{"use": "never_run_metric:graded"}])
    (use,) = look(plan, run_of(tmp_path)).models
    assert (use.calls, use.is_least) == (2, True)


def test_texts_to_embed_are_sent_together(tmp_path: Path) -> None:
    """[E22] Five answers and the reference that they share are six texts, two calls of four."""
    embedding = {"model": "e", "base_url": "http://127.0.0.1:9/v1", "batch_size": 4}
    plan = plan_of(
        tmp_path, list("abcde"), metrics=["answer_similarity"], judge=None, embedding=embedding
    )
    (use,) = look(plan, run_of(tmp_path)).models
    # Each letter is a token, the reference another one; an embedding completes nothing.
    assert (use.requests, use.calls, use.prompt_tokens) == (6, 2, 6.0)
    assert use.reply_tokens == (0.0, 0.0)


def test_a_target_is_asked_for_what_the_cache_lacks(tmp_path: Path) -> None:
    """[E22] Of two equal questions, one is asked, and its answer judged; once it is kept, none.

    The judgement of a kept answer is looked up, that of any other is a call.
    """
    target = {"url": "http://127.0.0.1:9/ask", "cache_answers": True}
    plan = plan_of(tmp_path, [None, None], target=target)
    assert plan.target is not None
    run = run_of(tmp_path)
    both = look(plan, run)
    assert both.target is not None
    assert (both.target.calls, both.target.cached, both.models[0].calls) == (1, 1, 1)
    cache = Cache(run)
    first = plan.asked_samples[0]
    key = AnswerCache(plan.target, run).key(first)
    nothing: dict[str, Any] = dict.fromkeys(("contexts", "context_docs", "retrieved_ids"))
    cache.put("answer", key, {"text": "kept", **nothing, "extra": {}})
    cache.close()
    judge_all(plan, [replace(first, answer="kept")], run)
    found = look(plan, run)
    assert found.target is not None
    assert (found.target.calls, found.target.cached) == (0, 2)
    assert (found.models[0].calls, found.models[0].cached) == (0, 2)
    off = look(plan, run_of(tmp_path, "off"))
    assert off.target is not None
    assert (off.target.calls, off.target.cached, off.models[0].calls) == (2, 0, 2)


@pytest.mark.parametrize(
    ("read", "extra", "is_readable"),
    [
        ("confidence", {"confidence": 0.9}, True),
        ("confidence", {"confidence": "0.9"}, True),
        ("confidence", {"confidence": None}, True),
        ("confidence", {}, True),
        ("citations", {"citations": [1]}, True),
        # A column that nobody reads may hold anything.
        ("citations", {"confidence": "very sure"}, True),
        ("", {"confidence": "very sure", "citations": {"a": 1}}, True),
        ("confidence", {"confidence": "very sure"}, False),
        ("confidence", {"confidence": 90}, False),
        ("citations", {"citations": {"a": {"b": 1}}}, False),
    ],
)
def test_a_kept_answer_that_cannot_be_read_asks_no_judge(
    tmp_path: Path, read: str, extra: dict[str, Any], is_readable: bool
) -> None:
    """The run has it from the cache, and its sample is an error; the other one is judged."""
    plan = plan_of(tmp_path, [None], target={"url": "http://127.0.0.1:9/a", "cache_answers": True})
    assert plan.target is not None
    beside = {read: (read,)} if read else {}
    target = replace(plan.target, beside=beside)
    plan, run = replace(plan, target=target, beside=beside), run_of(tmp_path)
    (first,) = plan.asked_samples
    other = replace(first, id="other", question="other")
    cache, nothing = Cache(run), dict.fromkeys(("contexts", "context_docs", "retrieved_ids"))
    for sample, said in ((first, extra), (other, {})):
        key = AnswerCache(target, run).key(sample)
        cache.put("answer", key, {"text": sample.question, **nothing, "extra": said})
    cache.close()
    found = asyncio.run(forecast(plan, [first, other], run))
    assert found.target is not None
    assert (found.target.calls, found.target.cached) == (0, 2)
    assert found.models[0].calls == 1 + is_readable


@pytest.mark.parametrize(
    ("refusals", "answerable", "calls"),
    [
        ("phrases", [None, None], []),
        ("phrases", [True, False], []),
        # No row leaves it to the judge.
        ({"answerable": "judge"}, [True, False], []),
        ({"answerable": "judge"}, [None, True], [1]),
        ("judge", [None, True], [2]),
        ({"detect": "judge", "answerable": "judge"}, [None, True], [3]),
    ],
)
def test_a_judge_of_refusals_is_asked(
    tmp_path: Path, refusals: Any, answerable: list[bool | None], calls: list[int]
) -> None:
    """About each answer whether it refuses; about the contexts where the row does not say it."""
    plan = plan_of(tmp_path, ["one", "two"], metrics=["em"], refusals=refusals)
    samples = zip(plan.asked_samples, answerable, strict=True)
    cases = tuple(replace(sample, answerable=said) for sample, said in samples)
    plan = replace(plan, cases=cases)
    assert [use.calls for use in look(plan, run_of(tmp_path)).models] == calls


def test_a_model_under_test_has_its_own_price(tmp_path: Path) -> None:
    """[E22] Two questions at 1 USD a token: 'four letters' is 2, a conversation 10 more."""
    price = {"input": 1_000_000, "output": 1_000_000}
    target = {"model": "bot", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 10, "price": price}
    row = {"question": "four letters", "references": ["abcd"]}
    file = tmp_path / "s.yaml"
    keys = {"name": "s", "metrics": ["em"], "target": target, "dataset": [row, row]}
    file.write_text(json.dumps(keys), "utf-8")
    found = look(make_plan(file), run_of(tmp_path))
    (use,) = found.models
    assert found.target is not None
    assert (found.target.calls, use.calls, use.prompt_tokens) == (2, 2, 24.0)
    # An answer has 10 tokens at most, and at least.
    assert use.usd == pytest.approx((0.85 * 24 + 20, 1.15 * 24 + 20))


def test_a_test_function_brings_its_own_answer(tmp_path: Path) -> None:
    """[E22] That the row has an empty one, about which nobody is asked, says nothing of it."""
    plan_of(tmp_path, [" "])
    tested = make_plan(tmp_path / "s.yaml", nodeid="test_it.py::test_it", answers_given=True)
    assert seen(tested, run_of(tmp_path)) == (1, 0)


def test_only_rows_that_ask_for_a_metric_are_asked_about(tmp_path: Path) -> None:
    """[E22] One of three has criteria, two of them, each a call; a target answers, or the data."""
    target = {"url": "http://127.0.0.1:9/ask"}
    rows: list[dict[str, Any]] = [{"question": f"question {at}"} for at in range(3)]
    rows[1]["must_satisfy"] = ["it says how long", "it is polite"]
    for answer, more in ((None, {"target": target}), ("ten days", {})):
        given = [row if answer is None else {**row, "answer": answer} for row in rows]
        scenario = {"name": "s", "metrics": ["must_satisfy"], "judge": JUDGE, **more}
        (tmp_path / "s.yaml").write_text(json.dumps({**scenario, "dataset": given}), "utf-8")
        plan = make_plan(tmp_path / "s.yaml")
        (use,) = look(plan, run_of(tmp_path)).models
        assert (use.calls, use.is_least) == (2, False)


class Reads:
    """A metric that reads the contexts."""

    __module__ = "pytest_rageval.metrics.reads"

    async def ascore(self, sample: Sample, models: Models) -> Score:
        assert sample.contexts is not None
        raise AssertionError("a metric was run")


def test_what_needs_the_contexts_of_a_target_is_a_call_all_the_same(tmp_path: Path) -> None:
    """[E22] It cannot be run without them, to see how often it asks."""
    target = {"url": "http://127.0.0.1:9/ask"}
    metrics = [{"rubric": {"prompt": "{query} {context} {answer}"}}]
    plan = plan_of(tmp_path, [None], metrics=metrics, target=target)
    plan = replace(plan, metrics=(replace(plan.metrics[0], metric=Reads()),))
    samples = [replace(one, contexts=None) for one in plan.asked_samples]
    (use,) = asyncio.run(forecast(plan, samples, run_of(tmp_path))).models
    assert use.calls == 1


def test_a_variable_with_a_key_need_not_be_set_to_look(tmp_path: Path) -> None:
    """[E22] What else is wrong with a judge is said all the same."""
    settings = ClientSettings("m", base_url="http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY")
    run = run_of(tmp_path)
    assert len(check_chat(settings, run)) == 1
    assert check_chat(settings, replace(run, is_dry=True)) == []
    wrong = replace(settings, base_url="ftp://x")
    assert len(check_chat(wrong, replace(run, is_dry=True))) == 1
    assert check_chat(wrong, replace(run, is_dry=True, cache_mode="replay")) == []


def test_nor_one_of_a_target(tmp_path: Path) -> None:
    """[E22] Whose questions are counted all the same."""
    target = {
        "url": "http://127.0.0.1:9/ask",
        "headers": {"Authorization": "Bearer ${NO_SUCH_KEY}"},
    }
    scenario = {"name": "s", "metrics": ["em"], "target": target, "dataset": [ROW]}
    (tmp_path / "s.yaml").write_text(json.dumps(scenario), "utf-8")
    run = run_of(tmp_path)
    with pytest.raises(ScenarioError, match="NO_SUCH_KEY is not set"):
        make_plan(tmp_path / "s.yaml", run=run)
    found = look(make_plan(tmp_path / "s.yaml", run=replace(run, is_dry=True)), run).target
    assert found is not None
    assert found.calls == 1


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize(
    ("other", "calls"),
    [
        # Another prompt gives another answer, which is judged; the same gives the same.
        ({"system": "Be brief."}, (1, 1)),
        ({"model": "other"}, (1, 1)),
        ({"temperature": 0.7}, (1, 1)),
        ({}, (0, 0)),
    ],
)
def test_the_answer_of_another_system_is_judged_anew(
    tmp_path: Path, other: dict[str, object], calls: tuple[int, int], keeps: bool
) -> None:
    """V10: of two variants; without kept answers, the second system is asked in any case."""
    chat = {"model": "m", "base_url": JUDGE["base_url"], "cache_answers": keeps}
    asked, found = set[str](), []
    for own in ({}, other):
        plan = plan_of(tmp_path, [None], target={**chat, **own})
        one = asyncio.run(forecast(plan, plan.asked_samples, run_of(tmp_path), asked))
        assert one.target is not None
        judge = next(use for use in one.models if use.settings.role == "judge")
        found.append((one.target.calls, judge.calls))
    assert found == [(1, 1), calls if keeps else (1, calls[1])]


def test_the_answers_that_test_functions_bring_are_judged_each(tmp_path: Path) -> None:
    """V10: of two functions over the same rows, each asks its own system."""
    asked, found = set[str](), []
    plan_of(tmp_path, [" "])
    for name in ("test_one", "test_two"):
        plan = make_plan(tmp_path / "s.yaml", nodeid=f"test_it.py::{name}", answers_given=True)
        (use,) = asyncio.run(forecast(plan, plan.asked_samples, run_of(tmp_path), asked)).models
        found.append(use.calls)
    assert found == [1, 1]
