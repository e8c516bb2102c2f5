"""A23: the base scenario keys of rag_eval."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from load_scenario import load_scenario

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario

ROWS = tomllib.loads(Path(__file__).with_name("rag_eval_dialect.toml").read_text("utf-8"))

BASE = (
    "scenario_name: s\n"
    "mode: offline\n"
    "dataset: rows.csv\n"
    "judge_model: gpt-4o-mini\n"
    "embedding_model: text-embedding-3-small\n"
    "metrics: [em]\n"
    "output_dir: out\n"
)


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[[str], LoadedScenario]:
    return lambda text: load_scenario(write(text), shown="s.yaml")


def refused(load: Callable[[str], LoadedScenario], text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_base_scenario_is_accepted_unchanged(load: Callable[[str], LoadedScenario]) -> None:
    """A23."""
    text = BASE + (
        "runtime: {batch_size: 4, app_concurrency: null, metric_concurrency: 8, max_samples: 3}\n"
        "app_adapter: null\n"
    )
    scenario = load(text).scenario
    assert (scenario.name, scenario.output_dir) == ("s", "out")
    assert scenario.judge is not None
    assert scenario.judge.model == "gpt-4o-mini"
    assert scenario.embedding is not None
    assert scenario.embedding.model == "text-embedding-3-small"
    assert (scenario.dataset.path, scenario.dataset.limit) == ("rows.csv", 3)


def test_max_samples_is_the_limit_of_any_form_of_dataset(
    load: Callable[[str], LoadedScenario],
) -> None:
    """A22, A23."""
    for dataset in ("rows.csv", "{path: rows.csv}", "[{answer: x}]", "{rows: [{answer: x}]}"):
        text = f"name: s\nmetrics: [em]\ndataset: {dataset}\nruntime: {{max_samples: 2}}\n"
        assert load(text).scenario.dataset.limit == 2, dataset


def test_what_has_no_effect_is_a_warning(load: Callable[[str], LoadedScenario]) -> None:
    """A23: nothing is dropped in silence."""
    found = load(BASE + "runtime: {batch_size: 4, app_concurrency: 2}\n").warnings
    assert len(found) == 2
    assert "runtime.batch_size has no effect" in found[0]
    assert load(BASE).warnings == ()


@pytest.mark.parametrize("line", ["metric_concurrency: 0", "max_samples: -1"])
def test_what_rag_eval_takes_for_no_limit_is_none(
    load: Callable[[str], LoadedScenario], line: str
) -> None:
    """F6."""
    loaded = load(BASE + f"runtime: {{{line}}}\n")
    assert (loaded.scenario.dataset.limit, loaded.warnings) == (-1, ())
    assert loaded.scenario.judge == load(BASE).scenario.judge


def test_further_keys_are_taken_with_a_warning(load: Callable[[str], LoadedScenario]) -> None:
    """F6: in this dialect alone, and nothing that looks like a key of ours."""
    loaded = load(BASE + "no_key_of_ours: me\nnotes: {a: 1}\nx-mine: 1\n")
    assert [warning.partition(":")[0] for warning in loaded.warnings] == ["no_key_of_ours", "notes"]
    (problem,) = refused(load, BASE + "treshholds: {em: 1}\n")
    assert "unknown key 'treshholds'. Did you mean 'thresholds'?" in problem
    for key in ("Gates", "GATES", "Treshholds"):  # with a warning alone, nothing judged
        assert f"unknown key '{key}'" in refused(load, BASE + f"{key}: {{em: 1}}\n")[0]
    (problem,) = refused(load, "name: s\ndataset: x\nmetrics: [em]\nno_key_of_ours: me\n")
    assert "unknown key 'no_key_of_ours'" in problem


def test_a_metric_that_is_listed_twice_counts_once(load: Callable[[str], LoadedScenario]) -> None:
    """F6."""
    loaded = load(BASE.replace("[em]", "[em, f1, em]"))
    assert [spec.metric for spec in loaded.scenario.metrics] == ["em", "f1"]
    assert loaded.warnings == ("metrics: 'em' is named twice, and counts once",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (key, value)
        for key in ("batch_size", "max_samples", "metric_concurrency")
        for value in ("0", "-1", "true", "x", "1.5", "[1]")
        if (key, value) not in {("max_samples", "-1"), ("metric_concurrency", "0")}
    ],
)
def test_a_runtime_value_that_is_no_count_is_refused_with_its_line(
    load: Callable[[str], LoadedScenario], key: str, value: str
) -> None:
    (problem,) = refused(load, BASE + f"runtime:\n  {key}: {value}\n")
    assert problem.startswith(f"s.yaml:9: runtime.{key}: expected a whole number >= 1, found ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mode: x", "mode: expected 'offline' or 'online', found 'x'"),
        ("mode: [a]", "mode: expected 'offline' or 'online'"),
        ("mode: online", "mode: online needs 'app_adapter'"),
        ("app_adapter: {type: http}", "app_adapter: used only with 'mode: online'; add it, or"),
        (
            "runtime: {batch_sise: 1, max_samples: 2}",
            "runtime: unknown key 'batch_sise'. Did you mean 'batch_size'? Known: app_concurrency,",
        ),
        ("runtime: [1]", "unknown key 'runtime'"),
    ],
)
def test_what_cannot_run_is_refused(
    load: Callable[[str], LoadedScenario], line: str, message: str
) -> None:
    """A21, A23."""
    (problem,) = refused(load, "name: s\ndataset: x\nmetrics: [em]\n" + line)
    assert problem.startswith("s.yaml:4: ")
    assert message in problem


@pytest.mark.parametrize("judge", ["gpt-4o", "[1]", "{model: gpt-4o}", "7"])
def test_a_model_that_is_named_in_both_ways_is_no_crash(
    load: Callable[[str], LoadedScenario], judge: str
) -> None:
    """A16, A23: one name must win or the double naming be refused, with its line."""
    found = refused(load, BASE + f"judge: {judge}\n")
    assert any("judge" in problem and problem.startswith("s.yaml:") for problem in found)


def test_both_names_of_a_scenario_are_one_too_many(load: Callable[[str], LoadedScenario]) -> None:
    (problem,) = refused(load, BASE + "name: t\n")
    assert "scenario_name" in problem


def test_an_adapter_has_no_place_in_mode_offline(load: Callable[[str], LoadedScenario]) -> None:
    (problem,) = refused(load, BASE + "app_adapter: {type: http}\n")
    assert problem.startswith("s.yaml:8: app_adapter: has no place in mode 'offline'")


@pytest.mark.parametrize(
    ("lines", "section"),
    [
        ("judge: gpt-4o-mini\nruntime: {metric_concurrency: 9}\n", "judge"),
        ("judge: {model: gpt-4o-mini}\nruntime: {metric_concurrency: 9}\n", "judge"),
        ("mode: online\ntarget: 'app:answer'\nruntime: {app_concurrency: 9}\n", "target"),
        ("mode: online\ntarget: {use: 'app:answer'}\nruntime: {app_concurrency: 9}\n", "target"),
    ],
)
def test_calls_at_once_are_those_of_any_form_of_judge_and_target(
    load: Callable[[str], LoadedScenario], lines: str, section: str
) -> None:
    """A23."""
    loaded = load("name: s\ndataset: x\nmetrics: [em]\n" + lines)
    assert getattr(loaded.scenario, section).concurrency == 9
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("line", "old", "new"),
    ROWS["what_is_said_in_both_ways_is_said_once_too_often"],
)
def test_what_is_said_in_both_ways_is_said_once_too_often(
    load: Callable[[str], LoadedScenario], line: str, old: str, new: str
) -> None:
    """A23: neither wins in silence."""
    rows = "" if "dataset" in line else "dataset: x\n"
    found = refused(load, f"name: s\nmetrics: [em]\n{rows}{line}\n")
    place = 5 if rows else 4
    assert found == [f"s.yaml:{place}: runtime.{old} and {new} say the same; keep one of them"]


def test_a_scenario_of_ours_is_left_alone(load: Callable[[str], LoadedScenario]) -> None:
    loaded = load("name: s\ndataset: x\nmetrics: [em]\n")
    assert (loaded.scenario.judge, loaded.scenario.output_dir, loaded.warnings) == (None, None, ())


ONLINE = BASE.replace("mode: offline", "mode: online")


def test_an_adapter_over_http_is_a_target(load: Callable[[str], LoadedScenario]) -> None:
    """A21, A23: what rag_eval sends and picks; a template's braces are no places there."""
    loaded = load(
        ONLINE
        + """runtime: {app_concurrency: 3}
app_adapter:
  type: http
  endpoint: http://127.0.0.1:9/ask
  method: put
  timeout_seconds: 7
  request_template: {top_k: 3, style: "{question} first", question: old}
  static_kwargs: {lang: zh}
  response_mapping: {answer: reply.text, contexts: passages}
"""
    )
    target = loaded.scenario.target
    assert target is not None
    assert (target.type, target.timeout_s, target.concurrency) == ("http", 7.0, 3)
    assert target.options == {
        "url": "http://127.0.0.1:9/ask",
        "method": "put",
        "body": {
            "top_k": 3,
            "style": "{{question}} first",
            "question": "{question}",
            "lang": "zh",
        },
        "answer": '["reply.text"]',
        "contexts": "passages",
    }
    assert loaded.warnings == ()


def test_an_adapter_of_a_function_is_a_target(load: Callable[[str], LoadedScenario]) -> None:
    """A21, A23."""
    loaded = load(
        ONLINE
        + "app_adapter: {type: python, callable: 'apps.rag:run', static_kwargs: {model: m}}\n"
    )
    target = loaded.scenario.target
    assert target is not None
    assert target.type == "python"
    assert target.options == {"use": "apps.rag:run", "options": {"model": "m"}}


def test_get_sends_its_parameters_in_the_query(load: Callable[[str], LoadedScenario]) -> None:
    adapter = "{type: http, endpoint: 'http://h.test', method: GET, static_kwargs: {k: 1}}"
    target = load(ONLINE + f"app_adapter: {adapter}\n").scenario.target
    assert target is not None
    assert target.options["query"] == {"question": "{question}", "k": 1}
    assert "body" not in target.options


def test_what_an_adapter_has_without_a_counterpart_is_a_warning(
    load: Callable[[str], LoadedScenario],
) -> None:
    """A23: by its name; nothing is dropped in silence."""
    adapter = "{type: http, endpoint: 'http://h.test', retries: 3, response_mapping: {raw: x}}"
    found = load(ONLINE + f"app_adapter: {adapter}\n").warnings
    assert list(found) == [
        "app_adapter.retries: has no counterpart here",
        "app_adapter.response_mapping.raw: has no counterpart here",
    ]
    adapter = "{type: python, callable: 'a:b', endpoint: x}"
    assert load(ONLINE + f"app_adapter: {adapter}\n").warnings == (
        "app_adapter.endpoint: has no counterpart here",
    )


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        (
            "app_adapter: {type: grpc}",
            "app_adapter.type: expected 'http' or 'python', found 'grpc'",
        ),
        ("app_adapter: {type: [http]}", "expected 'http' or 'python', found ['http']"),
        ("app_adapter: {endpoint: x}", "app_adapter.type: expected 'http' or 'python', missing"),
        ("app_adapter: {type: http}", "app_adapter.endpoint: required, and missing"),
        ("app_adapter: {type: python}", "app_adapter.callable: required, and missing"),
        ("app_adapter: http://h.test", "mode: online needs 'app_adapter'"),
        ("app_adapter: {type: http, endpoint: 'http://h', timeout_seconds: 0}", "target.timeout_s"),
    ],
)
def test_an_adapter_that_cannot_be_is_refused_at_its_line(
    load: Callable[[str], LoadedScenario], adapter: str, message: str
) -> None:
    (problem,) = refused(load, ONLINE + adapter)
    assert problem.startswith(f"s.yaml:{(ONLINE + adapter).count(chr(10)) + 1}: ")
    assert message in problem


def test_a_target_of_ours_runs_in_mode_online(load: Callable[[str], LoadedScenario]) -> None:
    assert load(ONLINE + "target: 'os.path:basename'\n").scenario.target is not None
    (problem,) = refused(load, BASE + "target: 'os.path:basename'\n")
    assert "mode: 'offline' asks no target, and there is one" in problem


@pytest.mark.parametrize("target", ["my_app:answer", "[x]", "7"])
def test_a_target_of_ours_and_an_adapter_are_one_too_many(
    load: Callable[[str], LoadedScenario], target: str
) -> None:
    """A21, A23."""
    found = refused(load, f"{ONLINE}target: {target}\napp_adapter: {{type: python, callable: a:b}}")
    (problem,) = [problem for problem in found if "app_adapter" in problem]
    assert problem == "s.yaml:9: app_adapter and target say the same; keep one of them"


def test_an_adapter_that_is_null_leaves_a_target_of_ours(
    load: Callable[[str], LoadedScenario],
) -> None:
    """A21, A23: so an option can take the adapter away; nobody is no target."""
    text = ONLINE + "app_adapter: null\ntarget: "
    assert load(text + "'os.path:basename'\n").scenario.target is not None
    (problem,) = refused(load, text + "null\n")
    assert "mode: online needs 'app_adapter' (or a 'target')" in problem


def test_the_concurrency_of_nobody_is_a_warning(load: Callable[[str], LoadedScenario]) -> None:
    (found,) = load(BASE + "runtime: {app_concurrency: 2}\n").warnings
    assert found == "runtime.app_concurrency has no effect: no system is asked for answers"
