"""What the scores of ragas' metrics follow from, and what they do not do twice."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from importlib import metadata
from typing import Any

import pytest
from judged_scoring import metric
from pydantic import BaseModel
from scripted_models import ScriptedJudge

from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.metrics.ragas import METRICS, backend
from pytest_rageval.metrics.ragas import metric as ragas_metric
from pytest_rageval.metrics.ragas.metric import prepare_prompts
from pytest_rageval.model import Sample
from pytest_rageval.scenario.model_specs import ENGLISH

RUBRICS = {"score1_description": "bad", "score2_description": "good"}
SAMPLE = Sample(
    "s",
    question="q",
    answer="a",
    contexts=("c", "d"),
    references=("r", "t"),
    reference_contexts=("x",),
    metadata={"rubrics": RUBRICS, "topic": "shop"},
)
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "question": {"question": "q?"},
    "answer": {"answer": "a."},
    "contexts": {"contexts": ("d", "c")},
    "reference": {"references": ("r.", "t")},
    "reference_contexts": {"reference_contexts": ("x", "y")},
    "rubrics": {"metadata": {"rubrics": {**RUBRICS, "score2_description": "best"}}},
}
NOT_READ: Mapping[str, Any] = {
    "id": "t",
    "index": 7,
    "metadata": {"rubrics": RUBRICS, "topic": "else"},
    "tags": ("slow",),
    "references": ("r", "other"),
}


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let it be as if ragas 0.4.3 were installed."""
    monkeypatch.setattr(backend, "installed", lambda module: True)
    monkeypatch.setattr(ragas_metric, "ragas_version", lambda: "0.4.3")
    backend._missing.cache_clear()
    yield
    backend._missing.cache_clear()


def test_these_metrics_keep_their_scores_and_no_others() -> None:
    keeping = {one.name for one in METRIC_REGISTRY if one.info.keeps_scores}
    assert keeping == {one.name for one in METRICS if one.info.asks}


@pytest.mark.parametrize("name", [one.name for one in METRICS if one.info.asks])
def test_a_score_follows_from_the_fields_that_ragas_takes(name: str) -> None:
    """Each of them changes what is read, and no other field does."""
    made = metric(name)
    read = made.reads(SAMPLE)
    for field, change in CHANGES.items():
        is_read = field in made._row.fields
        assert (made.reads(replace(SAMPLE, **change)) != read) == is_read, field
    assert made.reads(replace(SAMPLE, **NOT_READ)) == read
    assert json.loads(json.dumps(read)) == read


def test_all_references_count_where_the_best_is_asked_for() -> None:
    made = metric("context_recall", references="best")
    assert made.reads(replace(SAMPLE, references=("r", "other"))) != made.reads(SAMPLE)


def test_what_an_empty_field_decides_is_not_kept() -> None:
    assert metric("faithfulness").reads(replace(SAMPLE, answer=" ")) is None


def test_options_language_and_version_of_ragas_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(of_judge: str = "auto", **options: Any) -> Any:
        return metric("factual_correctness", **options).follows_from(of_judge)

    plain = parts()
    assert json.loads(json.dumps(plain)) == plain
    assert parts(beta=1.0) == plain
    assert parts("en") == plain
    others = [parts(mode="recall"), parts(beta=2.0), parts("zh"), parts(language="de")]
    assert plain not in others
    assert parts("zh", language="de")["language"] == "German"
    monkeypatch.setattr(ragas_metric, "ragas_version", lambda: "0.4.4")
    assert parts() != plain


def test_a_ragas_without_a_version_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragas_metric, "ragas_version", lambda: None)
    assert metric("faithfulness").reads(SAMPLE) is None


def test_the_version_is_read_without_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "ragas":
            return "0.4.9"
        raise metadata.PackageNotFoundError

    backend.ragas_version.cache_clear()
    monkeypatch.setattr(metadata, "version", version)
    assert backend.ragas_version() == "0.4.9"
    backend.ragas_version.cache_clear()
    monkeypatch.setattr(metadata, "version", lambda name: version(""))
    assert backend.ragas_version() is None
    backend.ragas_version.cache_clear()


def test_those_who_wait_for_the_import_go_on_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first has gone three steps on before the last begins: its request is on its way."""
    loading: Future[Any] = Future()
    monkeypatch.setattr(backend, "begin_loading", lambda: loading)
    steps: list[str] = []

    async def one(name: str) -> None:
        assert await backend.load_ragas() == "ragas"
        for step in range(3):
            steps.append(f"{name}{step}")
            await asyncio.sleep(0)

    async def main() -> None:
        tasks = [asyncio.ensure_future(one(name)) for name in "abcdef"]
        await asyncio.sleep(0)
        loading.set_result("ragas")
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert [step[0] for step in steps if step.endswith("0")] == list("abcdef")
    assert steps.index("a2") < steps.index("f0")


@pytest.mark.full
def test_garbage_is_looked_for_as_before_when_the_import_is_over() -> None:
    """And what the import made is not looked through any more."""
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        with contextlib.suppress(ImportError), backend._little_garbage():
            assert gc.get_threshold()[0] == 50_000
            raise ImportError
        assert gc.get_threshold() == thresholds
        assert gc.get_freeze_count() > frozen
    finally:
        if not frozen:
            gc.unfreeze()


class Said(BaseModel):
    """One side of an example."""

    text: str


def pair(text: str) -> tuple[Said, Said]:
    return Said(text=""), Said(text=text)


class Template:
    """A prompt that, as ragas' own, writes its examples whenever it is written."""

    output_model = Sample

    def __init__(self) -> None:
        self.examples = [pair("one")]
        self.written = 0

    def _generate_examples(self) -> str:
        self.written += 1
        return " ".join(answer.text for _, answer in self.examples)

    def to_string(self, inputs: str) -> str:
        return f"{self._generate_examples()}: {inputs}"


def test_the_examples_of_a_prompt_are_written_once() -> None:
    """Once for each list of them: factual_correctness goes from one to another."""
    template, others = Template(), [pair("two"), pair("three")]
    prompts = asyncio.run(prepare_prompts({"prompt": template}, ENGLISH, ScriptedJudge({})))
    write = prompts["prompt"].template.to_string
    assert [write("a"), write("b")] == ["one: a", "one: b"]
    assert template.written == 1
    own, template.examples = template.examples, others
    assert [write("a"), write("b")] == ["two three: a", "two three: b"]
    template.examples = own
    assert write("c") == "one: c"
    assert template.written == 2
