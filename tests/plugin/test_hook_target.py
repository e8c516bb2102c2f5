"""[A21] The system under test is what the hook ``pytest_rageval_target`` returns."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, interrupted

SCENARIO = """
    name: qa
    x-tenant: acme
    metrics: [em]
    dataset:
      - {id: a, question: say Paris, references: [Paris acme]}
"""


def test_a_hook_gives_the_target(project: Project, run: Run) -> None:
    """The scenario names none; what it says under x- keys reaches the hook."""
    project.conftest("""
    def pytest_rageval_target(config, scenario):
        tenant = scenario.metadata["tenant"]
        assert scenario.path == "qa.rageval.yaml"
        return lambda question: f"{question.removeprefix('say ')} {tenant}"
    """)
    project.scenario(SCENARIO)
    run().assert_outcomes(passed=1)
    assert project.results()["samples"][0]["answer"] == "Paris acme"


def test_it_takes_the_place_of_the_scenarios_own(project: Project) -> None:
    """None leaves the scenario's own."""
    project.conftest("""
    def pytest_rageval_target(config, scenario):
        return (lambda question: "Paris acme") if scenario.name == "qa" else None
    """)
    project.file("own.py", "def answer(question):\n    return 'own'\n")
    project.scenario(SCENARIO + "    target: {use: own:answer, concurrency: 2}\n")
    project.scenario(
        SCENARIO.replace("name: qa", "name: qb") + "    target: own:answer\n", file="qb"
    )
    project.pytest()
    assert project.results()["samples"][0]["answer"] == "Paris acme"
    assert project.results("qb")["samples"][0]["answer"] == "own"


def test_a_function_that_is_handed_nothing_of_a_row_is_a_warning(project: Project) -> None:
    project.conftest("""
    def pytest_rageval_target(config, scenario):
        return lambda query="", top_k=3: "Paris acme"
    """)
    project.scenario(SCENARIO)
    text = project.pytest().stdout.str()
    assert "hook pytest_rageval_target: no parameter receives what a row asks; call one" in text


@pytest.mark.full
@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("return 3", "pytest_rageval_target of conftest.py returned 3, which cannot be called"),
        ("raise OSError('no index')", "pytest_rageval_target of conftest.py raised OSError: no"),
        ("return lambda a, b: 1", "its parameter 'a', 'b' cannot be filled"),
    ],
)
def test_a_hook_that_is_wrong_is_a_collection_error(project: Project, hook: str, said: str) -> None:
    """[E12]"""
    project.conftest(f"""
    def pytest_rageval_target(config, scenario):
        {hook}
    """)
    project.scenario(SCENARIO)
    result = interrupted(project.pytest())
    assert said in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


@pytest.mark.full
def test_a_scenario_that_waits_for_a_hook_says_so(project: Project) -> None:
    project.scenario(SCENARIO + "    target: hook\n")
    result = interrupted(project.pytest())
    assert "target: no plugin and no conftest.py gave a function" in result.stdout.str()
    assert "needs 'answer'" not in result.stdout.str()


class TestKeptAnswers:
    """[E9] Of a function that a hook gives, with ``cache_answers``."""

    CONFTEST = """
    class App:
        def __init__(self, tenant):
            self.tenant = tenant

        def ask(self, question):
            return f"{question.removeprefix('say ')} {self.tenant}"

    def pytest_rageval_target(config, scenario):
        return App(scenario.metadata["tenant"]).ask
    """

    def write(self, project: Project, *more: str) -> None:
        """Write two scenarios with the same question, of two tenants."""
        project.conftest(self.CONFTEST)
        for name, tenant in (("qa", "acme"), ("qb", "other")):
            target = "".join(f", {one}" for one in ("cache_answers: true", *more))
            text = SCENARIO.replace("name: qa", f"name: {name}").replace("acme\n", f"{tenant}\n", 1)
            project.scenario(text + f"    target: {{type: hook{target}}}\n", file=name)

    @pytest.mark.full
    def test_they_need_a_version(self, project: Project) -> None:
        """Its objects cannot be told apart: no scenario is given another's answers."""
        self.write(project)
        result = interrupted(project.pytest())
        assert "qa.rageval.yaml:6: target: cache_answers: a func" in result.stdout.str()
        green(project.pytest("--rag-cache=off"))

    @pytest.mark.full
    def test_with_one_each_scenario_has_its_own(self, project: Project) -> None:
        self.write(project, "version: v1")
        for mode in ("readwrite", "replay"):
            assert project.pytest(f"--rag-cache={mode}").ret == pytest.ExitCode.OK
            answers = [project.results(name)["samples"][0]["answer"] for name in ("qa", "qb")]
            assert answers == ["Paris acme", "Paris other"]

    @pytest.mark.parametrize("hook", ["partial(ask, model=scenario.variant)", "bot(scenario)"])
    def test_each_variant_has_its_own(self, project: Project, hook: str) -> None:
        """The hook is told the variant: it may give each another function that looks alike."""
        project.conftest(f"""
        from functools import partial

        def ask(question, model):
            return "Paris acme" if model == "good" else "no idea"

        def bot(scenario):
            return lambda question: ask(question, scenario.variant)

        def pytest_rageval_target(config, scenario):
            return {hook}
        """)
        project.scenario(
            SCENARIO
            + "    target: {type: hook, cache_answers: true, version: v1}\n"
            + "    variants: {bad: {}, good: {}}\n"
        )
        for mode in ("readwrite", "replay"):
            assert project.pytest(f"--rag-cache={mode}").ret == pytest.ExitCode.OK
            answers = [project.results(f"qa/{of}")["samples"][0] for of in ("bad", "good")]
            assert [one["answer"] for one in answers] == ["no idea", "Paris acme"]
