"""The table of ragas' metrics: names, needs, models, options. ragas itself is not needed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_rageval.errors import MissingExtraError
from pytest_rageval.extras import installed
from pytest_rageval.metrics.base import METRIC_REGISTRY, missing_fields
from pytest_rageval.metrics.ragas import METRICS, backend
from pytest_rageval.metrics.ragas.metric import language_name
from pytest_rageval.metrics.ragas.metric_table import METRIC_TABLE
from pytest_rageval.model import Sample

ROWS = tomllib.loads(Path(__file__).with_name("ragas_definitions.toml").read_text("utf-8"))

JUDGE = {"judge"}
BOTH = {"judge", "embedding"}
A, C, Q, R, RC = "answer", "contexts", "question", "references", "reference_contexts"

NEEDS = {
    "faithfulness": ({Q, A, C}, JUDGE),
    "answer_relevancy": ({Q, A}, BOTH),
    "context_precision": ({Q, R, C}, JUDGE),
    "context_utilization": ({Q, A, C}, JUDGE),
    "context_recall": ({Q, C, R}, JUDGE),
    "context_entity_recall": ({R, C}, JUDGE),
    "answer_correctness": ({Q, A, R}, BOTH),
    "factual_correctness": ({A, R}, JUDGE),
    "noise_sensitivity": ({Q, A, R, C}, JUDGE),
    "noise_sensitivity_irrelevant": ({Q, A, R, C}, JUDGE),
    "domain_specific_rubrics": ({A}, JUDGE),
    "rubrics_score_with_reference": ({A}, JUDGE),
    "instance_specific_rubrics": ({A}, JUDGE),
    "answer_accuracy": ({Q, A, R}, JUDGE),
    "context_relevance": ({Q, C}, JUDGE),
    "response_groundedness": ({A, C}, JUDGE),
    "summary_score": ({RC, A}, JUDGE),
    "sql_semantic_equivalence": ({A, R}, JUDGE),
    "ragas.bleu": ({A, R}, set()),
    "datacompy_score": ({A, R}, set()),
}

Clear = Callable[[], None]


@pytest.fixture
def clear() -> Iterator[Clear]:
    """Return a function that makes the backend look for ragas anew; does so at the end too."""

    def forget() -> None:
        backend._missing.cache_clear()
        backend._begin.cache_clear()

    forget()
    yield forget
    for thread in threading.enumerate():
        if thread.name == "rageval-ragas":
            thread.join()
    forget()


@pytest.fixture
def without_ragas(clear: Clear, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be as if ragas were not installed."""
    monkeypatch.setattr(backend, "installed", lambda module: module != "ragas")


def test_needs_and_models_of_every_metric() -> None:
    """C1: what a row must have, and which model is asked, is known before anything is."""
    found = {one.name: (set(one.info.needs), set(one.info.asks)) for one in METRICS}
    assert found == NEEDS
    assert {one.info.extra for one in METRICS if one.info.asks} == {"ragas"}
    assert {one.info.extra for one in METRICS if not one.info.asks} == {"ragas-texts"}


@pytest.mark.parametrize(
    ("metric", "package"), [("ragas.bleu", "sacrebleu"), ("datacompy_score", "datacompy")]
)
def test_what_ragas_needs_for_one_metric_is_named(
    clear: Clear, monkeypatch: pytest.MonkeyPatch, metric: str, package: str
) -> None:
    """M3: the package, and the extra that has a version of it that ragas knows."""
    monkeypatch.setattr(backend, "installed", lambda module: module != package)
    definition = METRIC_REGISTRY.get(metric)
    message = (
        rf"'{metric}' needs the package '{package}': pip install \"pytest-rageval\[ragas-texts\]"
    )
    with pytest.raises(MissingExtraError, match=message):
        definition.make(metric, definition.options())


def test_every_metric_has_its_row_in_the_table() -> None:
    assert list(METRIC_TABLE) == [one.name for one in METRICS if one.info.asks]


def test_lower_is_better_for_noise_alone() -> None:
    worse = {one.name for one in METRICS if not one.info.higher_is_better}
    assert worse == {"noise_sensitivity", "noise_sensitivity_irrelevant"}


@pytest.mark.parametrize(
    ("alias", "name"),
    ROWS["both_generations_of_names_are_known"],
)
def test_both_generations_of_names_are_known(alias: str, name: str) -> None:
    """C5."""
    assert METRIC_REGISTRY.get(alias).name == name


def options(metric: str, **given: Any) -> Any:
    return METRIC_REGISTRY.get(metric).options.model_validate(given)


def adapted(metric: str, **given: Any) -> Any:
    definition = METRIC_REGISTRY.get(metric)
    return options(metric, **given).adapt(definition.info)


def test_a_similarity_without_weight_asks_no_embedding_model() -> None:
    assert adapted("answer_correctness").asks == BOTH
    assert adapted("answer_correctness", weights=[1.0, 0.0]).asks == JUDGE
    assert adapted("answer_correctness", weights=[1.0, 0.0]).range == (0.0, 1.0)


def test_the_rubrics_make_the_range() -> None:
    levels = {f"score{mark}_description": "..." for mark in (0, 1, 2, 10)}
    assert adapted("rubrics_score").range == (1.0, 5.0)
    assert adapted("rubrics_score", rubrics=levels).range == (0.0, 10.0)
    assert adapted("instance_specific_rubrics", scale=[0, 3]).range == (0.0, 3.0)


def test_rubrics_with_reference_need_one() -> None:
    assert adapted("rubrics_score").needs == {A}
    assert adapted("rubrics_score", with_reference=True).needs == {A, R}
    assert adapted("rubrics_score_with_reference").needs == {A, R}


SAME_LEVEL = ("score1_description", "score01_description")
ARABIC_DIGIT = ("score1_description", "score\N{ARABIC-INDIC DIGIT THREE}_description")


def test_cosines_enter_the_weighted_score_as_they_are() -> None:
    from pytest_rageval.model import MetricColumn

    for name in ("answer_relevancy", "answer_correctness", "semantic_similarity"):
        info = METRIC_REGISTRY.get(name).info
        column = MetricColumn(name, ends=info.range, as_is=info.as_is)
        assert column.to_unit(0.8) == 0.8
        assert (column.range, column.unit_range) == ((-1.0, 1.0), (-1.0, 1.0))


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        ("answer_relevancy", {"strictness": 0}),
        ("answer_relevancy", {"strictness": "3"}),
        ("answer_correctness", {"weights": [0.0, 0.0]}),
        ("answer_correctness", {"weights": [0.5]}),
        ("answer_correctness", {"weights": [1.5, -0.5]}),
        ("answer_correctness", {"weights": [float("inf"), 1.0]}),
        ("answer_correctness", {"beta": 0}),
        ("factual_correctness", {"mode": "f2"}),
        ("factual_correctness", {"atomicity": "medium"}),
        ("noise_sensitivity", {"mode": "all"}),
        ("context_recall", {"references": "all"}),
        ("faithfulness", {"references": "best"}),
        ("faithfulness", {"strictness": 3}),
        ("rubrics_score", {"rubrics": {}}),
        ("rubrics_score", {"rubrics": {"good": "...", "bad": "..."}}),
        ("rubrics_score", {"rubrics": {"score1_description": "..."}}),
        ("rubrics_score", {"rubrics": dict.fromkeys(SAME_LEVEL, "...")}),
        ("rubrics_score", {"rubrics": dict.fromkeys([*SAME_LEVEL, "score2_description"], "...")}),
        ("rubrics_score", {"rubrics": dict.fromkeys(ARABIC_DIGIT, "...")}),
        ("instance_specific_rubrics", {"scale": [5, 1]}),
        ("summary_score", {"coeff": 1.5}),
    ],
)
def test_options_that_cannot_be_are_refused(metric: str, given: dict[str, Any]) -> None:
    """C4: at collection, not inside of ragas."""
    with pytest.raises(ValidationError):
        options(metric, **given)


def test_a_scenario_without_the_extra_is_refused_with_the_pip_command(
    without_ragas: None, problems: Callable[..., list[str]]
) -> None:
    """Before anything is asked."""
    found = problems(
        "name: s\n"
        "dataset:\n"
        "  - {question: q, answer: a, contexts: [c], references: [r]}\n"
        "judge: {model: m, base_url: 'http://127.0.0.1:1/v1'}\n"
        "metrics: [f1, faithfulness]\n"
    )
    assert [line for line in found if "faithfulness" in line] == [
        "s.yaml:5: metrics[1]: the metric 'faithfulness' needs the package 'ragas': "
        'pip install "pytest-rageval[ragas]"'
    ]


def test_the_other_packages_of_the_extra_are_looked_for_too(
    clear: Clear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "installed", lambda module: module != "instructor")
    with pytest.raises(MissingExtraError, match="'context_recall' needs the package 'instructor'"):
        METRIC_REGISTRY.get("context_recall").make("context_recall", options("context_recall"))


@pytest.mark.parametrize(
    "error",
    [
        *[ModuleNotFoundError("no vertexai"), DeprecationWarning("old"), ValueError("x" * 999)],
        SystemExit("a licence is missing"),
    ],
)
def test_an_import_that_fails_names_the_versions_that_fit(
    clear: Clear, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Also where a warning of a dependency was made an error. It is tried once, not per sample."""
    tries = []

    def fail(module: str) -> Any:
        tries.append(module)
        raise error

    monkeypatch.setattr(backend, "import_module", fail)
    for _ in range(2):
        with pytest.raises(MissingExtraError) as caught:
            asyncio.run(backend.load_ragas())
        text = str(caught.value)
        assert f"cannot be imported ({type(error).__name__}: " in text
        assert '"ragas>=0.4.3,<0.5" "langchain-community>=0.4,<0.4.2" "instructor>=1.13,<2"' in text
        assert len(text) < 600
    assert len(tries) == 1


def test_the_import_blocks_neither_the_loop_nor_those_who_gave_up(
    clear: Clear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample that is cancelled while it waits does not cancel the import for the others."""
    gate = threading.Event()

    def slow(loading: Any) -> None:
        gate.wait(10)
        loading.set_result("ragas")

    async def main() -> Any:
        impatient = asyncio.create_task(backend.load_ragas())
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        waiting = [asyncio.create_task(backend.load_ragas()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        gate.set()
        return await asyncio.gather(*waiting)

    monkeypatch.setattr(backend, "_import", slow)
    assert asyncio.run(main()) == ["ragas"] * 3


@pytest.mark.full
def test_a_scenario_without_models_pays_nothing_for_these_modules() -> None:
    """All drop-in modules are imported to find any metric."""
    code = """
import sys
from pytest_rageval.metrics import base
before = set(sys.modules)
from pytest_rageval.metrics import ngrams, ragas, similarity, string_similarity
from pytest_rageval.metrics import string_similarity
heavy = {"asyncio", "numpy", "pytest_rageval.clients.base", "ragas", "http.client"}
assert not heavy & (set(sys.modules) - before), heavy & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_many_threads_begin_one_import(clear: Clear, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr(backend, "_import", begun.append)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: backend.begin_loading(), range(64)))
    assert len(begun) == 1


@pytest.mark.skipif(not installed("ragas"), reason="ragas is not installed")
def test_making_metrics_imports_nothing_and_preload_switches_telemetry_off() -> None:
    """A scenario can be collected without the seconds that the import takes."""
    code = """
import sys
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.metrics.ragas import METRICS, backend
for one in METRICS:
    one.make(one.name, one.options())
heavy = {"ragas", "langchain_core", "instructor", "openai", "numpy"} & set(sys.modules)
assert not heavy, heavy
METRICS[0].preload()
import asyncio, os
assert asyncio.run(backend.load_ragas()).collections.Faithfulness
assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"
"""
    environment = {name: value for name, value in os.environ.items() if "RAGAS" not in name}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_languages_by_code_or_name() -> None:
    assert language_name("auto") == language_name("en") == language_name("English") == "english"
    assert language_name("zh-CN") == language_name("ZH") == "Simplified Chinese"
    assert language_name("zh-Hant") == language_name("zh-HK") == "Traditional Chinese"
    assert language_name("Swiss German") == "Swiss German"


def test_a_row_that_lacks_a_field_is_known_without_asking() -> None:
    info = METRIC_REGISTRY.get("context_recall").info
    assert missing_fields(Sample("s", question="q", contexts=("c",)), info) == ["references"]
