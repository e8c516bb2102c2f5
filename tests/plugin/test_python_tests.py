"""[E6] Ordinary test functions over the samples of a scenario: the marker, the fixture, check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 3}
    thresholds: {weighted_score: 0.5}
    gates: {em: 0.3, pass_rate: 0.6}
    dataset:
      - {id: a, question: say Paris, references: [Paris]}
      - {id: b, question: say in Paris, references: [Paris]}
      - {id: "c::[1]", question: say Rome, references: [Paris]}
"""
# em: a 1, b 0, c 0; acc: a 1, b 1, c 0. Weighted 1*em + 3*acc over 4: a 1, b 0.75, c 0.
TEST = """
    import pytest

    def ask(question):
        return question.removeprefix("say ")

    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_bot(rag_sample, rageval):
        rageval.check(answer=ask(rag_sample.question), contexts=["Paris is a city"])
"""


@pytest.fixture
def bot(project: Project, pytester: pytest.Pytester) -> Project:
    """Return a project with a scenario and a test of it."""
    project.scenario(SCENARIO)
    pytester.makepyfile(test_bot=TEST)
    return project


def python_file(project: Project, text: str) -> None:
    project.pytester.makepyfile(test_bot=text)


def test_the_test_runs_for_each_sample_and_fails_as_a_case_would(bot: Project, run: Run) -> None:
    """c is below its threshold; em 1/3 and two of three pass: both gates, and ``unscored``."""
    result = run("test_bot.py")
    result.assert_outcomes(passed=5, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    results = bot.results()
    assert [sample["weighted_score"] for sample in results["samples"]] == [1.0, 0.75, 0.0]
    assert [sample["id"] for sample in results["samples"]] == ["a", "b", "c::[1]"]
    assert results["samples"][1]["answer"] == "in Paris"
    assert results["samples"][1]["contexts"] == ["Paris is a city"]
    assert results["complete"] is True
    assert bot.gates() == {"em.mean": "passed", "pass_rate": "passed", "unscored": "passed"}
    text = result.stdout.str()
    assert "weighted_score 0.0000 < 0.5000" in text
    assert "test_bot.py::test_bot[c:(1)]" in text
    assert "rageval: qa (test_bot.py::test_bot)" in text


def test_results_are_those_of_the_scenario_file(bot: Project) -> None:
    """The same answers in the data: the same figures, to the last digit."""
    bot.pytest("test_bot.py")
    from_test = bot.results()
    bot.scenario(
        SCENARIO.replace("say Paris,", "say Paris, answer: Paris,")
        .replace("say in Paris,", "say in Paris, answer: in Paris,")
        .replace("say Rome,", "say Rome, answer: Rome,")
    )
    bot.pytest("qa.rageval.yaml")
    from_file = bot.results()
    assert from_test["metrics"] == from_file["metrics"]
    assert from_test["weighted_score"] == from_file["weighted_score"]
    assert from_test["gates"] == from_file["gates"]


def test_workers_give_the_same(bot: Project) -> None:
    """[E2]"""
    bot.pytest("test_bot.py")
    bot.pytest("test_bot.py", "-n", "2")
    assert bot.without_run(0) == bot.without_run(1)


def test_a_sample_that_is_never_checked_is_unscored(bot: Project, run: Run) -> None:
    """[E4] A test that forgets to check passes; the gates do not."""
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rag_sample):
            assert rag_sample.question.startswith("say")
        """,
    )
    result = run("test_bot.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "em unscored, for instance: rageval.check was not called" in result.stdout.str()
    assert set(bot.gates().values()) == {"failed"}


def test_a_test_may_fail_by_itself(bot: Project) -> None:
    """Its own assertion is shown as pytest shows it, and the sample has no score."""
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rag_sample, rageval):
            assert rag_sample.id != "a"
            rageval.check("Paris")
        """,
    )
    result = bot.pytest("test_bot.py")
    assert "AssertionError" in result.stdout.str()
    assert bot.outcomes() == {"a": "failed", "b": "passed", "c::[1]": "passed"}
    assert bot.results()["samples"][0]["scores"] == {"em": None, "acc": None}
    assert bot.gates()["unscored"] == "failed"


def test_selected_tests_leave_gates_undecided(bot: Project, run: Run) -> None:
    """[E4, A2] By node id, -k; skipped with how many ran."""
    run("test_bot.py::test_bot[a]").assert_outcomes(passed=1, skipped=3)
    assert set(bot.gates().values()) == {"skipped"}
    run("test_bot.py", "-k", "b]").assert_outcomes(passed=1, skipped=3)
    assert bot.results()["counts"]["ran"] == 1


def test_a_test_in_a_class_and_one_with_other_parameters(bot: Project, run: Run) -> None:
    """Each parameter is a run of its own, with a folder and gates of its own."""
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        class TestBot:
            @pytest.mark.parametrize("model", ["good", "bad"])
            def test_it(self, rageval, model):
                rageval.check("Paris" if model == "good" else "Rome")
        """,
    )
    result = run("test_bot.py")
    assert bot.results("qa[good]")["metrics"]["em"]["mean"] == 1.0
    assert bot.results("qa[bad]")["metrics"]["em"]["mean"] == 0.0
    assert set(bot.gates("qa[good]").values()) == {"passed"}
    assert "rageval: qa[bad] (test_bot.py::TestBot::test_it(bad))" in result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED test_bot.py::TestBot::test_it(bad)::gate:em.mean *"])


def test_ids_that_are_not_ascii(bot: Project, plain: Run) -> None:
    """pytest spells them out in node ids; they are one run all the same, and one per parameter."""
    bot.scenario(SCENARIO.replace("id: a", "id: 问题一").replace("id: b", "id: 问题-二"))
    python_file(
        bot,
        TEST
        + """
    @pytest.mark.parametrize("model", ["甲", "b"])
    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_other(rageval, model):
        rageval.check("Paris")
    """,
    )
    plain("test_bot.py")
    assert len(bot.folders()) == 1
    assert set(bot.outcomes()) == {"问题一", "问题-二", "c::[1]"}
    others = [path.name for path in (bot.path / ".rageval").glob("qa[[]*")]
    assert len(others) == 2


def test_two_tests_of_one_scenario_are_two_runs(bot: Project) -> None:
    python_file(
        bot,
        TEST
        + """
    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_other(rageval):
        rageval.check("Paris")
    """,
    )
    bot.pytest("test_bot.py")
    assert len(bot.folders()) == 2


@pytest.mark.parametrize(
    ("call", "scores", "contexts"),
    [
        ("rageval.check()", {"em": 1.0}, ["from the data"]),
        ("rageval.check('Rome')", {"em": 0.0}, ["from the data"]),
        ("rageval.check(contexts=['new'])", {"em": 1.0}, ["new"]),
        ("rageval.check({'response': 'Paris', 'contexts': ['c']})", {"em": 1.0}, ["c"]),
        ("rageval.check(('Rome', [{'text': 't', 'source': 'a.pdf'}]))", {"em": 0.0}, ["t"]),
        ("rageval.check({'answer': 'Rome'}, contexts=('x', 'y'))", {"em": 0.0}, ["x", "y"]),
    ],
)
def test_what_can_be_checked(
    project: Project, call: str, scores: dict[str, float], contexts: list[str]
) -> None:
    """What is not said stays as the data have it."""
    project.scenario("""
    name: qa
    metrics: [em]
    dataset:
      - {id: a, answer: Paris, references: [Paris], contexts: [from the data]}
    """)
    python_file(
        project,
        f"""
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rageval):
            {call}
        """,
    )
    project.pytest("test_bot.py")
    (sample,) = project.results()["samples"]
    assert sample["scores"] == scores
    assert sample["contexts"] == contexts


def test_check_returns_the_result(bot: Project) -> None:
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rageval):
            result = rageval.check("in Paris")
            assert result.scores == {"em": 0.0, "acc": 1.0}
            assert result.weighted_score == 0.75
        """,
    )
    bot.pytest("test_bot.py", "--rag-gate=em=0").assert_outcomes(passed=6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("rageval.check(); rageval.check()", "this sample was checked before"),
        ("rageval.check('Paris'); rageval.check('Paris')", "this sample was checked before"),
        ("rageval.check(3.5)", "TypeError: rageval.check: returned 3.5 (float)"),
        ("rageval.check('a', contexts=3)", "its contexts are 3 (int), expected a list"),
        ("rageval.check('')", "returned an empty answer"),
    ],
)
def test_wrong_use_of_check_fails_the_test(bot: Project, call: str, said: str) -> None:
    python_file(
        bot,
        f"""
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rageval):
            {call}
        """,
    )
    if call.startswith("rageval.check();"):
        bot.scenario(SCENARIO.replace("question:", "answer: Paris, question:"))
    result = bot.pytest("test_bot.py", "-k", "a]")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert said in result.stdout.str()


def test_a_metric_that_cannot_score_makes_the_case_an_error(bot: Project, run: Run) -> None:
    """[A20] A test can only fail; the case in the files is an error, and never a zero."""
    bot.with_broken_metrics()
    bot.scenario(
        SCENARIO.replace("[em, acc]", "[em, acc, raises]")
        .replace("{em: 0.3, pass_rate: 0.6}", "{raises: 0.5}")
        .replace("acc: 3}", "acc: 3, raises: 1}")
    )
    python_file(bot, TEST.replace("ask(rag_sample.question)", "'raise'"))
    result = run("test_bot.py")
    assert set(bot.outcomes().values()) == {"error"}
    assert "raises unscored: RuntimeError: the judge is away" in result.stdout.str()


def test_marks_tags_and_invalid_rows(project: Project, run: Run) -> None:
    """[E7, A19] A row is skipped, expected to fail, invalid, or selected by its tag."""
    project.scenario("""
    name: qa
    metrics: [em]
    thresholds: {em: 0.5}
    dataset:
      - {id: a, question: q, references: [Paris], skip: not yet}
      - {id: b, question: q, references: [Rome], xfail: known}
      - {id: c, question: q, references: [Paris], tags: [smoke]}
      - {id: d, question: q}
    """)
    python_file(
        project,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rageval):
            rageval.check("Paris")
        """,
    )
    run("test_bot.py")
    assert project.outcomes() == {"a": "skipped", "b": "xfailed", "c": "passed", "d": "error"}
    run("test_bot.py", "-m", "smoke")
    assert project.outcomes() == {"c": "passed"}


@pytest.mark.parametrize(
    ("head", "arguments", "said"),
    [
        ("rag_scenario('no.yaml')", "rageval", "there is no no.yaml in"),
        ("rag_scenario", "rageval", "write @pytest.mark.rag_scenario('x.rageval.yaml')"),
        ("rag_scenario('a', 'b')", "rageval", "write @pytest.mark.rag_scenario('x.rageval.yaml')"),
        ("rag_scenario('qa.rageval.yaml')", "", "needs the argument 'rag_sample'"),
        ("rag_scenario('bad.rageval.yaml')", "rageval", "bad.rageval.yaml:2: metrics[0]: unknown"),
    ],
)
def test_a_marker_that_cannot_be_is_a_collection_error(
    bot: Project, head: str, arguments: str, said: str
) -> None:
    """[E12] Without a traceback."""
    bot.file("bad.rageval.yaml", "name: x\nmetrics: [nope]\ndataset: [{references: [a]}]\n")
    python_file(
        bot,
        f"""
        import pytest

        @pytest.mark.{head}
        def test_bot({arguments}):
            pass
        """,
    )
    result = bot.pytest("test_bot.py")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert said in result.stdout.str()
    assert "python_tests.py" not in result.stdout.str()


def test_the_fixture_needs_the_marker(bot: Project) -> None:
    python_file(bot, "def test_bot(rageval):\n    pass\n")
    result = bot.pytest("test_bot.py")
    result.assert_outcomes(errors=1)
    assert "need @pytest.mark.rag_scenario('x.rageval.yaml')" in result.stdout.str()


def test_a_scenario_may_be_named_from_the_rootdir(bot: Project, plain: Run) -> None:
    bot.file("tests/test_deep.py", "\n".join(line[4:] for line in TEST.splitlines()))
    plain("tests/test_deep.py").assert_outcomes(passed=5, failed=1)


def test_options_hold_for_tests_too(bot: Project) -> None:
    """[A14, A22]"""
    result = bot.pytest("test_bot.py", "--rag-threshold=weighted_score=0", "--rag-limit=2")
    assert result.ret == pytest.ExitCode.OK
    assert bot.results()["counts"]["samples"] == 2
    assert bot.results()["scenario"]["overridden"] == [
        "thresholds.weighted_score",
        "dataset.limit",
    ]


def test_a_target_of_the_scenario_is_not_asked(bot: Project) -> None:
    """The test does the asking: the module need not even be there."""
    bot.scenario(SCENARIO + "    target: no_such_app:answer\n")
    bot.pytest("test_bot.py").assert_outcomes(passed=5, failed=1)


def test_a_saved_run_is_compared_with(bot: Project, run: Run) -> None:
    """[E15] A baseline of a test function; one that is missing is wrong use (exit 4)."""
    bot.pytest("test_bot.py", "--rag-save", "main")
    result = run("test_bot.py", "--rag-compare", "main")
    assert bot.results()["comparison"]["metrics"]["em"]["diff"] == 0.0
    assert "A this run, B main" in result.stdout.str()
    missing = bot.pytest("test_bot.py", "--rag-compare", "other")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR


def test_stopping_early(bot: Project) -> None:
    """-x behind the failing one: gates are skipped."""
    bot.scenario(SCENARIO.replace("say Paris", "say Rome"))
    bot.pytest("test_bot.py", "-x").assert_outcomes(failed=1, skipped=3)


@pytest.mark.parametrize(
    ("plugin", "mark"),
    [("pytest_asyncio", "asyncio"), ("anyio", "anyio")],
)
def test_async_tests(bot: Project, plugin: str, mark: str, run: Run) -> None:
    """A sync check within a coroutine, and one that is awaited."""
    pytest.importorskip(plugin)
    python_file(
        bot,
        f"""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.{mark}
        @pytest.mark.rag_scenario("qa.rageval.yaml")
        async def test_awaited(rag_sample, rageval):
            await rageval.acheck(rag_sample.question.removeprefix("say "))

        @pytest.mark.{mark}
        @pytest.mark.rag_scenario("qa.rageval.yaml")
        async def test_plain(rag_sample, rageval):
            rageval.check(rag_sample.question.removeprefix("say "))
        """,
    )
    options = ("-o", "asyncio_default_fixture_loop_scope=function") if mark == "asyncio" else ()
    run("test_bot.py", *options).assert_outcomes(passed=10, failed=2)


def test_a_plain_run_of_tests_without_the_marker_imports_nothing(project: Project) -> None:
    """[E13] The hook looks at the marker alone."""
    python_file(
        project,
        """
        import sys

        def test_bot():
            assert not any(name.startswith("pytest_rageval.engine") for name in sys.modules)
        """,
    )
    result = project.pytester.runpytest_subprocess("test_bot.py")
    result.assert_outcomes(passed=1)


def test_a_variant_whose_saved_run_is_missing_is_wrong_use(bot: Project) -> None:
    """[E15] Each parameter has saved runs of its own; nothing was saved for this one."""
    bot.pytest("test_bot.py", "--rag-save", "main")
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.parametrize("model", ["good"])
        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rageval, model):
            rageval.check("Paris")
        """,
    )
    result = bot.pytest("test_bot.py", "--rag-compare", "main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert "main" in result.stderr.str()


@pytest.mark.parametrize("recorded", ["", ", retrieved_ids: [d9, d1]"], ids=["none", "old ones"])
def test_what_was_retrieved_is_scored_and_not_what_the_data_hold(
    bot: Project, run: Run, recorded: str
) -> None:
    """a finds d1 first, b finds it second, c does not.

    mrr: 1, 1/2, 0; hit_rate@1: 1, 0, 0.
    """
    bot.scenario(f"""
        name: qa
        metrics: [mrr, hit_rate@1]
        dataset:
          - {{id: a, question: d1 d2, reference_ids: [d1]{recorded}}}
          - {{id: b, question: d2 d1, reference_ids: [d1]{recorded}}}
          - {{id: c, question: d2 d3, reference_ids: [d1]{recorded}}}
    """)
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rag_sample, rageval):
            rageval.check(retrieved_ids=rag_sample.question.split())
        """,
    )
    run("test_bot.py").assert_outcomes(passed=3)
    scores = [sample["scores"] for sample in bot.results()["samples"]]
    assert scores == [
        {"mrr": 1.0, "hit_rate@1": 1.0},
        {"mrr": 0.5, "hit_rate@1": 0.0},
        {"mrr": 0.0, "hit_rate@1": 0.0},
    ]
