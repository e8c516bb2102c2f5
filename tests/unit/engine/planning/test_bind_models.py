"""A16, E10: who judges and who embeds, and what is refused before anybody is asked."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

import pytest

from pytest_rageval.clients.settings import ClientSettings, Price, RunSettings
from pytest_rageval.engine.plan import ModelPlan, Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, MetricInfo, Role
from pytest_rageval.model import Sample, Score

ROWS = tomllib.loads(Path(__file__).with_name("bind_models.toml").read_text("utf-8"))

URL = "http://127.0.0.1:9/v1"


class Asks:
    """A judged metric that is never run here."""

    def __init__(self, name: str, options: object) -> None:
        self.name = name

    async def ascore(self, sample: Sample, models: object) -> Score:
        raise AssertionError("nothing is asked when a scenario is bound")


@pytest.fixture(autouse=True)
def _metrics_that_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add three metrics for the time of a test; what is installed here does not matter."""
    monkeypatch.setattr(
        METRIC_REGISTRY, "_entries", {entry.name: entry for entry in METRIC_REGISTRY}
    )
    monkeypatch.setattr(METRIC_REGISTRY, "_aliases", dict(METRIC_REGISTRY._aliases))
    roles: dict[str, frozenset[Role]] = {
        "judges": frozenset({"judge"}),
        "embeds": frozenset({"embedding"}),
        "asks_both": frozenset({"judge", "embedding"}),
    }
    for name, asks in roles.items():
        info = MetricInfo(name, frozenset({"answer"}), asks=asks)
        METRIC_REGISTRY.add(MetricDefinition(info, Asks))
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: True)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")


def text(metrics: str, models: str = "") -> str:
    return f"name: s\ndataset: [{{answer: x, references: [x]}}]\nmetrics: [{metrics}]\n{models}\n"


Plans = Callable[..., Plan]
Problems = Callable[..., list[str]]
Write = Callable[..., Path]


@pytest.fixture
def refused(write: Write) -> Callable[..., list[str]]:
    """Return a function from a scenario and the settings of the run to what is wrong."""

    def find(scenario: str, **run: object) -> list[str]:
        settings = RunSettings(**run)  # type: ignore[arg-type]
        with pytest.raises(ScenarioError) as caught:
            make_plan(write(scenario), shown="s.yaml", run=settings)
        return [str(problem) for problem in caught.value.problems]

    return find


@pytest.mark.parametrize(
    ("metric", "language", "asked_in"),
    [
        ("llm_answer_relevancy", "auto", ""),
        ("llm_answer_relevancy", "Auto", ""),
        ("llm_answer_relevancy", "zh-CN", "zh"),
        ("llm_answer_relevancy", "Chinese", "zh"),
        ("llm_answer_relevancy", "de", "en"),
        ("llm_answer_relevancy: {language: auto}", "zh", ""),
        ("claim_recall", "zh", "zh"),
        ("faithfulness", "en", ""),  # as for auto
        ("faithfulness", "zh-CN", "Simplified Chinese"),
        ("faithfulness: {language: de}", "zh", ""),
        ("judges", "zh-CN", "zh-CN"),  # it may make of it what it likes
        ("embeds", "zh", ""),
        ("em", "zh", ""),
    ],
)
def test_the_language_of_prompts_is_part_of_what_is_measured(
    plan: Plans, metric: str, language: str, asked_in: str
) -> None:
    judge = f"judge: {{model: m, language: {language}}}\nembedding: e"
    rows = "[{question: q, answer: x, contexts: [c], references: [x]}]"
    scenario = f"name: s\ndataset: {rows}\nmetrics:\n  - {metric}\n{judge}\n"
    (column,) = plan(scenario).info.metrics
    assert column.definition.partition(", asked in ")[2] == asked_in


@pytest.mark.parametrize(
    ("rule", "language", "asked_in"),
    [
        ("answerable: judge", "zh-CN", "zh"),
        ("detect: judge", "de", "en"),
        ("detect: judge", "auto", None),
        ("detect: phrases", "zh", None),
    ],
)
def test_so_is_that_of_questions_about_refusals(
    plan: Plans, rule: str, language: str, asked_in: str | None
) -> None:
    """No metric's definition tells of it."""
    judge = f"judge: {{model: m, language: {language}}}\nrefusals: {{{rule}}}"
    rows = "[{question: q, answer: x, references: [x]}]"
    scenario = f"name: s\ndataset: {rows}\nmetrics: [em, judges]\n{judge}\n"
    assert plan(scenario).info.measured["refusals"].get("asked_in") == asked_in


def test_a_scenario_that_asks_nobody_has_no_models(plan: Plans) -> None:
    made = plan(text("em"))
    assert made.models == ModelPlan()
    assert made.judged == ()
    assert made.repeats == 1


def test_a_judge_in_its_short_form_is_openais_model(plan: Plans) -> None:
    """The key of OpenAI goes to OpenAI only."""
    made = plan(text("judges", "judge: gpt-4o-mini")).models
    assert made.judge == ClientSettings("gpt-4o-mini", api_key_env="OPENAI_API_KEY")
    assert made.judge.endpoint == "https://api.openai.com/v1"
    assert made.embedding is None
    assert (made.language, made.repeats) == ("auto", 1)


def test_another_server_gets_no_key_unless_one_is_named(plan: Plans) -> None:
    made = plan(text("judges", f"judge: {{model: m, base_url: '{URL}'}}")).models
    assert made.judge is not None
    assert made.judge.api_key_env is None
    named = f"judge: {{model: m, base_url: '{URL}', api_key_env: OPENAI_API_KEY}}"
    made = plan(text("judges", named)).models
    assert made.judge is not None
    assert made.judge.api_key_env == "OPENAI_API_KEY"


def test_everything_that_is_said_of_a_judge_reaches_its_client(
    plan: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_HERE", "k")
    judge = f"""
judge:
  model: m
  provider: openai
  base_url: {URL}
  api_key_env: KEY_HERE
  headers: {{X-Team: rag}}
  extra_body: {{top_p: 0.5}}
  temperature: 0.7
  max_tokens: 300
  seed: 5
  form: text
  reasks: 1
  concurrency: 7
  rpm: 60
  tpm: 9000
  timeout_s: 3.5
  retries: 2
  max_wait_s: 11
  price: {{input: 0.15, output: 0.6}}
  language: zh
  repeats: 3
"""
    made = plan(text("judges", judge)).models
    assert made.judge == ClientSettings(
        model="m",
        role="judge",
        provider="openai",
        base_url=URL,
        api_key_env="KEY_HERE",
        headers={"X-Team": "rag"},
        temperature=0.7,
        max_tokens=300,
        seed=5,
        extra_body={"top_p": 0.5},
        form="text",
        concurrency=7,
        rpm=60,
        tpm=9000,
        timeout_s=3.5,
        retries=2,
        max_wait_s=11.0,
        reasks=1,
        price=Price(0.15, 0.6),
    )
    assert (made.language, made.repeats) == ("zh", 3)


def test_an_embedding_model_has_its_own_settings(plan: Plans) -> None:
    embedding = f"embedding: {{model: e, base_url: '{URL}', batch_size: 9, concurrency: 4}}"
    made = plan(text("embeds", embedding)).models
    assert made.judge is None
    assert made.embedding == ClientSettings(
        "e", role="embedding", base_url=URL, batch_size=9, concurrency=4
    )


def test_as_many_calls_are_in_flight_as_the_busier_model_takes(plan: Plans) -> None:
    """E8: the window of samples follows from it."""
    both = "judge: {model: m, concurrency: 3}\nembedding: {model: e, concurrency: 8}"
    assert plan(text("asks_both", both)).models.concurrency == 8
    assert plan(text("judges", both)).models.concurrency == 3
    assert plan(text("em")).models.concurrency == 1


def test_a_judged_metric_without_a_judge_is_refused_with_its_line(problems: Problems) -> None:
    scenario = (
        "name: s\nmetrics:\n  - em\n  - judges\n  - embeds\ndataset: [{answer: x, references: x}]"
    )
    assert problems(scenario) == [
        "s.yaml:4: metric 'judges' asks a model: name it under 'judge', "
        "for instance 'judge: gpt-4o-mini'",
        "s.yaml:5: metric 'embeds' asks a model: name it under 'embedding', "
        "for instance 'embedding: text-embedding-3-small'",
    ]


REQUEST = """
scene_key: app
evaluate_metrics: [AnswerRelevancyMetric]
context: {model: zhipu}
datasets: [{query: What?%s}]
"""


def test_the_model_of_a_dbgpt_request_is_not_asked_to_judge(problems: Problems) -> None:
    """[F7] It was; now the message says how to name the judge, and why that model is none."""
    assert problems(REQUEST % ", prediction: this, factual: [that]") == [
        "s.yaml:3: metric 'llm_answer_relevancy' asks a model: name it under 'judge', "
        "for instance 'judge: gpt-4o-mini'; "
        "context.model 'zhipu' is the app's model, and judges nothing"
    ]


def test_the_cause_of_an_unusable_request_comes_before_what_follows(problems: Problems) -> None:
    """[F7] It came last, below a field and a judge that are missing, being on a later line."""
    cause, *others = problems(REQUEST % "")
    assert cause.startswith("s.yaml:5: datasets: no row has a 'prediction'")
    assert [problem.partition(" asks")[0].partition(";")[0] for problem in others] == [
        "s.yaml:3: metric 'llm_answer_relevancy' needs 'answer'",
        "s.yaml:3: metric 'llm_answer_relevancy'",
    ]


def test_a_metric_that_asks_two_models_needs_both(problems: Problems) -> None:
    found = problems(text("asks_both", "judge: m"))
    assert len(found) == 1
    assert "'embedding'" in found[0]


def test_a_model_that_nobody_asks_is_a_warning(plan: Plans) -> None:
    made = plan(text("em", "judge: m"))
    assert made.models.judge is None
    assert made.info.warnings == ("s.yaml: judge is not used: no metric of this scenario asks it",)


def test_repeats_ask_nobody_in_a_scenario_without_judged_metrics(plan: Plans) -> None:
    """C6: em is em, however often."""
    assert plan(text("em", "judge: {model: m, repeats: 5}")).repeats == 1
    embedding = f"embedding: {{model: e, base_url: '{URL}'}}"
    assert plan(text("embeds", f"judge: {{model: m, repeats: 5}}\n{embedding}")).repeats == 1


@pytest.mark.parametrize(
    ("judge", "problem"),
    ROWS["what_is_wrong_with_a_judge_is_said_with_its_line"],
)
def test_what_is_wrong_with_a_judge_is_said_with_its_line(
    problems: Problems, judge: str, problem: str
) -> None:
    """[E10] The judge stands in line 4; nothing has been asked."""
    (found,) = problems(text("judges", f"judge: {judge}"))
    assert fnmatchcase(found, f"s.yaml:4: {problem}"), found


def test_controls_of_a_judge_of_an_unknown_provider_are_no_traceback(problems: Problems) -> None:
    *_, found = problems(text("llm_answer_relevancy", "judge: {model: m, provider: nope}"))
    assert found.startswith("s.yaml:4: judge.provider: unknown judge provider 'nope'")


def test_every_problem_of_both_models_is_found_at_once(problems: Problems) -> None:
    models = "judge: {model: m, api_key_env: NO_A}\nembedding: {model: e, api_key_env: NO_B}"
    found = problems(text("asks_both", models))
    assert [line.partition(": ")[0] for line in found] == ["s.yaml:4", "s.yaml:5"]


def test_a_judge_that_no_metric_asks_needs_no_key(plan: Plans) -> None:
    """The file is shared with a scenario that has the key."""
    assert plan(text("em", "judge: {model: m, api_key_env: NO_SUCH_KEY}")).models == ModelPlan()


def test_a_budget_needs_a_price(refused: Callable[..., list[str]]) -> None:
    """E10: a cost that is not known cannot be limited."""
    (found,) = refused(text("judges", "judge: m"), budget_usd=0.5)
    assert found.startswith("s.yaml:4: judge.price: needed for a budget")


def test_replay_needs_no_key_and_no_package(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """E9: it asks nobody."""
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: module != "aiohttp")
    monkeypatch.delenv("OPENAI_API_KEY")
    run = RunSettings(cache_dir=tmp_path, cache_mode="replay")
    assert make_plan(write(text("judges", "judge: m")), run=run).models.judge is not None


def test_a_missing_package_is_named_with_the_pip_command(
    problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: module != "aiohttp")
    (found,) = problems(text("judges", "judge: m"))
    assert found.startswith("s.yaml:4: judge.provider: ")
    assert 'pip install "pytest-rageval[judge]"' in found


PROFILES = f"""
models:
  slow: {{model: slow-1, base_url: '{URL}', temperature: 0.5}}
  fast: {{model: fast-1, base_url: '{URL}/fast', concurrency: 9}}
"""


@pytest.mark.parametrize("written", ["slow", "{profile: slow}", "{model: slow}"])
def test_a_profile_is_named_in_three_ways(plan: Plans, written: str) -> None:
    """A16."""
    judge = plan(text("judges", f"{PROFILES}judge: {written}")).models.judge
    assert judge == ClientSettings("slow-1", base_url=URL, temperature=0.5)


def test_what_a_role_says_itself_comes_before_its_profile(plan: Plans) -> None:
    """A16."""
    written = "judge: {profile: slow, temperature: 0, model: slow-2}"
    judge = plan(text("judges", PROFILES + written)).models.judge
    assert judge == ClientSettings("slow-2", base_url=URL, temperature=0.0)


def test_both_roles_may_use_profiles(plan: Plans) -> None:
    """A16."""
    made = plan(text("asks_both", f"{PROFILES}judge: slow\nembedding: fast")).models
    assert made.judge is not None
    assert made.embedding is not None
    assert (made.judge.model, made.embedding.model) == ("slow-1", "fast-1")


def test_a_name_that_is_no_profile_is_a_model(plan: Plans) -> None:
    """A16."""
    judge = plan(text("judges", f"{PROFILES}judge: gpt-4o")).models.judge
    assert judge is not None
    assert (judge.model, judge.base_url) == ("gpt-4o", None)


def test_a_profile_that_does_not_exist_is_refused(problems: Problems) -> None:
    """A16: with the ones there are."""
    (found,) = problems(text("judges", f"{PROFILES}judge: {{profile: fats}}"))
    assert "fats" in found
    assert "fast" in found.replace("fats", "")


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        (
            "{model: a, concurency: 4}",
            "unknown key 'concurency' under models.odd. Did you mean 'concurrency'?",
        ),
        (
            "{model: a, concurrency: many}",
            "models.odd.concurrency: expected a whole number, found 'many'",
        ),
        ("{model: a, retries: 21}", "models.odd.retries: expected a number <= 20, found 21"),
        ("{model: a, headers: X}", "models.odd.headers: expected a mapping, found text"),
        ("{model: a, extra_body: [X]}", "models.odd.extra_body: expected a mapping, found a list"),
        ("{model: a, price: X}", "models.odd.price: expected a number, found 'X'"),
        ("{model: a, form: xml}", "models.odd.form: expected 'auto', 'json_schema', "),
        ("{model: a, batch_size: 0}", "models.odd.batch_size: expected a number >= 1, found 0"),
        ("{profile: other}", "unknown key 'profile' under models.odd. Did you mean 'provider'?"),
        ("X", "models.odd: expected a mapping, found 'X'"),
    ],
)
@pytest.mark.parametrize("used", ["judge: odd", "embedding: {profile: odd}", "judge: gpt-4o"])
def test_a_profile_is_checked_whether_it_is_used_or_not(
    problems: Problems, profile: str, problem: str, used: str
) -> None:
    """A16, E10: a mistake must not wait for the day on which somebody switches to the profile.

    It is told where it stands, in our words, and not again where the profile is used.
    """
    found = problems(text("em", f"models:\n  odd: {profile}\n{used}"))
    assert [line[: len(problem) + 10] for line in found] == [f"s.yaml:5: {problem}"]


@pytest.mark.parametrize("used", ["odd", "{profile: odd}", "{model: odd, seed: 1}"])
def test_a_profile_without_a_model_is_called_as_its_model(plan: Plans, used: str) -> None:
    """A16: ``models: {gpt-4o: {concurrency: 4}}``."""
    server = "base_url: 'http://h/v1', concurrency: 4"
    made = plan(text("judges", f"models: {{odd: {{{server}}}}}\njudge: {used}")).models.judge
    assert made is not None
    assert (made.model, made.concurrency) == ("odd", 4)


SECRET = "hunter2-0123456789"

MISTAKES = {
    "user and password": f"base_url: 'http://user:{SECRET}@h/v1'",
    "another scheme": f"base_url: 'ftp://user:{SECRET}@h/v1'",
    "no scheme": f"base_url: 'user:{SECRET}@h/v1'",
    "a port that is none": f"base_url: 'http://h:{SECRET}/v1'",
    "no host": f"base_url: 'http://user:{SECRET}@/v1'",
    "a list of URLs": f"base_url: ['http://user:{SECRET}@h/v1']",
    "the key itself": f"api_key: {SECRET}",
    "the key as a variable": f"api_key_env: {SECRET}",
    "a header as text": f"headers: 'X-Key: {SECRET}'",
    "headers as a list": f"headers: ['X-Key: {SECRET}']",
    "a header as a list": f"headers: {{X-Key: [{SECRET}]}}",
    "a header with a line": f'headers: {{X-Key: "{SECRET}\\nX-Other: 1"}}',
    "a body as text": f"extra_body: {SECRET}",
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=list(MISTAKES))
@pytest.mark.parametrize("where", ["judge", "embedding", "profile", "unused profile"])
def test_a_mistake_shows_no_secret(problems: Problems, mistake: str, where: str) -> None:
    """[E10] The message says where and what kind of thing was found, not what."""
    plain = "{model: m, base_url: 'http://h/v1'}"
    models = {
        "judge": f"judge: {{model: m, {mistake}}}\nembedding: {plain}",
        "embedding": f"judge: {plain}\nembedding: {{model: m, {mistake}}}",
        "profile": f"models: {{odd: {{model: m, {mistake}}}}}\njudge: odd\nembedding: {plain}",
        "unused profile": (
            f"models: {{odd: {{model: m, {mistake}}}}}\njudge: {plain}\nembedding: {plain}"
        ),
    }
    try:
        found = problems(text("asks_both", models[where]))
    except pytest.fail.Exception:
        # What is wrong with a URL or a key is found only where it is going to be used.
        assert where == "unused profile"
        return
    assert found
    assert SECRET not in "\n".join(found)


def test_the_code_of_an_embedding_function_is_part_of_what_it_is(
    plan: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E9: vectors in the cache are those of this file; nothing is imported."""
    monkeypatch.setattr("sys.path", [])
    found = []
    for code in ("raise ImportError  # 1", "raise ImportError  # 2", "raise ImportError  # 1"):
        embedding = "embedding: {provider: callable, model: 'own_vectors_1:encode'}"
        made = plan(text("embeds", embedding), {"own_vectors_1.py": code}).models
        assert made.embedding is not None
        found.append(made.embedding.source_sha256)
    assert found[0] == found[2] == sha256(b"raise ImportError  # 1").hexdigest()
    assert found[1] == sha256(b"raise ImportError  # 2").hexdigest()
