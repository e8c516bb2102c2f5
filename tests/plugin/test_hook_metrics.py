"""B10: ``pytest_rageval_metrics``: metrics that every scenario can name."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    dataset: [{id: one, answer: please do, references: [x]}]
    metrics:
      - polite: {word: do}
      - em
    thresholds: {polite: 0.5}
"""
HOOK = """
def politeness(sample, *, word="please"):
    return float(word in sample.answer)

def pytest_rageval_metrics(config):
    return {"polite": politeness}
"""


def test_a_scenario_names_them_like_any_other(project: Project, run: Run) -> None:
    project.conftest(HOOK)
    project.scenario(SCENARIO)
    run().assert_outcomes(passed=1)
    assert project.results()["samples"][0]["scores"] == {"polite": 1.0, "em": 0.0}


@pytest.mark.full
@pytest.mark.parametrize(
    "returned",
    [
        "[polite]",
        "(found for found in [polite])",
        "polite",
        "metric(name='polite')(polite)",
        "[MetricDefinition(MetricInfo('polite', frozenset()), Ours, Options)]",
    ],
)
def test_it_may_return_functions_and_definitions(project: Project, returned: str) -> None:
    project.conftest(
        f"""
        from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions
        from pytest_rageval.metrics.custom.declaration import metric
        from pytest_rageval.model import Score

        class Options(NoOptions):
            word: str = ""

        class Ours:
            def __init__(self, name, options):
                self.name = name
            def score(self, sample, context):
                return Score(self.name, 1.0)

        def polite(sample, word=""):
            return 1.0

        def pytest_rageval_metrics(config):
            return {returned}
        """
    )
    project.scenario(SCENARIO)
    project.pytest().assert_outcomes(passed=1)


@pytest.mark.full
def test_an_alias_is_known_wherever_a_metric_is_named(project: Project) -> None:
    """In gates and comparisons as in weights and thresholds."""
    project.conftest(
        """
        from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions
        from pytest_rageval.model import Score

        class Ours:
            def __init__(self, name, options):
                self.name = name
            def score(self, sample, context):
                return Score(self.name, 1.0)

        def pytest_rageval_metrics(config):
            info = MetricInfo("politeness", frozenset({"answer"}), ("polite",))
            return MetricDefinition(info, Ours, NoOptions)
        """
    )
    project.scenario(
        """
        name: qa
        dataset: [{id: one, answer: please do, references: [x], doc_name: a.pdf}]
        metrics: [polite, em]
        """
    )
    project.pytest("--rag-save", "main").assert_outcomes(passed=1)
    project.scenario(
        """
        name: qa
        dataset: [{id: one, answer: please do, references: [x], doc_name: a.pdf}]
        metrics: [polite, em]
        metric_weights: {polite: 1, em: 0}
        thresholds: {polite: 0.5}
        compare: {baseline: main, metrics: [polite]}
        gates:
          polite: 0.5
          by: {doc_name: {polite: 0.5}}
          no_regression: {metrics: [polite], undecided: pass}
          compare_fail: {polite: {max_drop: 0.1, undecided: pass}}
        """
    )
    # One sample, five gates: unscored is there, too.
    project.pytest().assert_outcomes(passed=6)
    assert list(project.results()["comparison"]["metrics"]) == ["politeness"]


@pytest.mark.full
def test_it_is_that_of_the_folder_of_the_scenario(project: Project) -> None:
    """A conftest.py is for its folder: another folder does not know the metric."""
    project.file("one/conftest.py", HOOK)
    project.file("one/one.rageval.yaml", SCENARIO.replace("qa", "one"))
    project.file("two/two.rageval.yaml", SCENARIO.replace("qa", "two"))
    project.pytest("one").assert_outcomes(passed=1)
    result = project.pytest("one", "two")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*two.rageval.yaml:*unknown metric 'polite'*"])


def test_several_hooks_add_theirs(project: Project) -> None:
    project.conftest(HOOK)
    project.file("deep/conftest.py", HOOK.replace('"polite"', '"deep"'))
    project.file("deep/deep.rageval.yaml", SCENARIO + "      - deep\n")
    text = SCENARIO.replace("      - em\n", "      - em\n      - deep\n")
    project.file("deep/deep.rageval.yaml", text)
    project.pytest().assert_outcomes(passed=1)


@pytest.mark.full
def test_they_leave_no_trace_in_other_runs_of_the_process(project: Project) -> None:
    project.conftest(HOOK)
    project.scenario(SCENARIO)
    project.pytest().assert_outcomes(passed=1)
    project.conftest("")
    project.pytest().assert_outcomes(errors=1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('no\\nluck')", "raised ValueError: no luck (*conftest.py:3)"),
        ("return 5", "what it returned is 5, not a metric: expected *"),
        ("return ['polite']", "what it returned is 'polite', not a metric: expected *"),
        ("return {'em': len}", "returned what cannot be added: metric 'em' is registered twice"),
        ("return [lambda sample: 1]", "<lambda> cannot be the name of a metric*"),
        ("return None", "unknown metric 'polite'"),
    ],
)
def test_what_goes_wrong_names_the_hook_and_the_conftest(
    project: Project, plain: Run, body: str, message: str
) -> None:
    project.conftest(f"def pytest_rageval_metrics(config):\n\n    {body}\n")
    project.scenario(SCENARIO)
    result = plain()
    result.assert_outcomes(errors=1)
    who = "" if "unknown" in message else "pytest_rageval_metrics of conftest.py*"
    result.stdout.fnmatch_lines([f"*{who}{message}*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.full
def test_a_plugin_is_called_by_its_name(project: Project) -> None:
    project.file("my_plugin.py", "def pytest_rageval_metrics(config):\n    raise KeyError('x')\n")
    project.scenario(SCENARIO)
    project.pytester.syspathinsert()
    result = project.pytest("-p", "my_plugin")
    result.stdout.fnmatch_lines(["*pytest_rageval_metrics of plugin 'my_plugin' raised KeyError*"])


@pytest.mark.full
def test_a_wrapper_is_refused(project: Project) -> None:
    project.conftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_rageval_metrics(config):
            return (yield)
        """
    )
    project.scenario(SCENARIO)
    project.pytest().stdout.fnmatch_lines(["*pytest_rageval_metrics of conftest.py is a wrapper*"])
