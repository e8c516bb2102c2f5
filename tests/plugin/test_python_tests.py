"""[E6] Ordinary test functions over the samples of a scenario: the marker, the fixture, check."""

from __future__ import annotations

import pytest

from pytest_rageval.engine.planning import bind_cases
from tests.plugin.conftest import Project, Run, green, interrupted, red

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
    result = red(run("test_bot.py"))
    result.assert_outcomes(passed=5, failed=1)
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


def test_a_sample_that_is_never_checked_is_unscored(bot: Project, run: Run) -> None:
    """[E4] A test that forgets to check passes; the gates do not."""
    bot.tested_by('assert rag_sample.question.startswith("say")', given="rag_sample")
    result = red(run("test_bot.py"))
    assert (
        "em, acc failed on 3 of 3 samples, for instance: rageval.check was not called"
        in result.stdout.str()
    )
    assert set(bot.gates().values()) == {"failed"}


def test_a_test_may_fail_by_itself(bot: Project) -> None:
    """Its own assertion is shown as pytest shows it, and the sample has no score."""
    bot.tested_by(
        'assert rag_sample.id != "a"', 'rageval.check("Paris")', given="rag_sample, rageval"
    )
    result = bot.pytest("test_bot.py")
    assert "AssertionError" in result.stdout.str()
    assert bot.outcomes() == {"a": "failed", "b": "passed", "c::[1]": "passed"}
    assert bot.results()["samples"][0]["scores"] == {"em": None, "acc": None}
    assert bot.gates()["unscored"] == "failed"


@pytest.mark.full
def test_selected_tests_leave_gates_undecided(bot: Project, run: Run) -> None:
    """[E4, A2] By node id, -k; skipped with how many ran."""
    run("test_bot.py::test_bot[a]").assert_outcomes(passed=1, skipped=3)
    assert set(bot.gates().values()) == {"skipped"}
    run("test_bot.py", "-k", "b]").assert_outcomes(passed=1, skipped=3)
    assert bot.results()["counts"]["ran"] == 1


@pytest.mark.full
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


@pytest.mark.parametrize(
    ("call", "scores", "contexts"),
    [
        ("rageval.check()", {"em": 1.0}, ["from the data"]),
        ("rageval.check('Rome')", {"em": 0.0}, ["from the data"]),
        ("rageval.check(contexts=['new'])", {"em": 1.0}, ["new"]),
        ("rageval.check({'response': 'Paris', 'contexts': ['c']})", {"em": 1.0}, ["c"]),
        ("rageval.check(('Rome', [{'text': 't', 'source': 'a.pdf'}]))", {"em": 0.0}, ["t"]),
        ("rageval.check({'answer': 'Rome'}, contexts=('x', 'y'))", {"em": 0.0}, ["x", "y"]),
        ("rageval.check(iter(['Par', 'is']))", {"em": 1.0}, ["from the data"]),
    ],
)
def test_what_can_be_checked(
    project: Project, call: str, scores: dict[str, float], contexts: list[str]
) -> None:
    """Fields that are not given keep their values from the data."""
    project.scenario("""
    name: qa
    metrics: [em]
    dataset:
      - {id: a, answer: Paris, references: [Paris], contexts: [from the data]}
    """)
    project.tested_by(call)
    project.pytest("test_bot.py")
    (sample,) = project.results()["samples"]
    assert sample["scores"] == scores
    assert sample["contexts"] == contexts


def test_check_returns_the_result(bot: Project) -> None:
    bot.tested_by(
        'result = rageval.check("in Paris")',
        'assert result.scores == {"em": 0.0, "acc": 1.0}',
        "assert result.weighted_score == 0.75",
    )
    bot.pytest("test_bot.py", "--rag-gate=em=0").assert_outcomes(passed=6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("rageval.check(); rageval.check()", "already checked; each sample"),
        ("rageval.check('Paris'); rageval.check('Paris')", "already checked; each sample"),
        ("rageval.check(3.5)", "TypeError: rageval.check: returned 3.5 (float)"),
        (
            "rageval.check(iter(['a', 3]))",
            "TypeError: rageval.check: streams 3 (int), expected texts",
        ),
    ],
)
def test_wrong_use_of_check_fails_the_test(bot: Project, call: str, said: str) -> None:
    bot.tested_by(call)
    if call.startswith("rageval.check();"):
        bot.scenario(SCENARIO.replace("question:", "answer: Paris, question:"))
    result = red(bot.pytest("test_bot.py", "-k", "a]"))
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


@pytest.mark.full
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
    project.tested_by('rageval.check("Paris")')
    run("test_bot.py")
    assert project.outcomes() == {"a": "skipped", "b": "xfailed", "c": "passed", "d": "error"}
    run("test_bot.py", "-m", "smoke")
    assert project.outcomes() == {"c": "passed"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("head", "arguments", "said"),
    [
        ("rag_scenario('no.yaml')", "rageval", "no.yaml not found in"),
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
    result = interrupted(bot.pytest("test_bot.py"))
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
    green(bot.pytest("test_bot.py", "--rag-threshold=weighted_score=0", "--rag-limit=2"))
    assert bot.results()["counts"]["ran"] == 2
    assert bot.results()["scenario"]["overridden"] == [
        "thresholds.weighted_score",
        "dataset.limit",
    ]


def test_a_target_of_the_scenario_is_not_asked(bot: Project) -> None:
    """The test does the asking: the module need not even be there."""
    bot.scenario(SCENARIO + "    target: no_such_app:answer\n")
    bot.pytest("test_bot.py").assert_outcomes(passed=5, failed=1)


@pytest.mark.full
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

        async def streamed(question):
            for part in question.removeprefix("say ").partition(" "):
                yield part

        @pytest.mark.{mark}
        @pytest.mark.rag_scenario("qa.rageval.yaml")
        async def test_streamed(rag_sample, rageval):
            await rageval.acheck(streamed(rag_sample.question))
        """,
    )
    options = ("-o", "asyncio_default_fixture_loop_scope=function") if mark == "asyncio" else ()
    run("test_bot.py", *options).assert_outcomes(passed=15, failed=3)


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
    bot.tested_by(
        "rageval.check(retrieved_ids=rag_sample.question.split())", given="rag_sample, rageval"
    )
    run("test_bot.py").assert_outcomes(passed=3)
    scores = [sample["scores"] for sample in bot.results()["samples"]]
    assert scores == [
        {"mrr": 1.0, "hit_rate@1": 1.0},
        {"mrr": 0.5, "hit_rate@1": 0.0},
        {"mrr": 0.0, "hit_rate@1": 0.0},
    ]


def test_subtests_leave_the_scores_alone(bot: Project, run: Run) -> None:
    """pytest reports each with the node id of its test, and fails a test with one that failed.

    b has a subtest that fails, c is below its threshold.
    """
    if not hasattr(pytest, "Subtests"):
        pytest.skip("pytest has no subtests before 9")
    python_file(
        bot,
        TEST.replace("(rag_sample, rageval)", "(rag_sample, rageval, subtests)")
        + """
        for context in ("c1", "c2"):
            with subtests.test("context", context=context):
                assert rag_sample.id != "b" or context == "c1"
    """,
    )
    bot.pytester.makeconftest(SEEN)
    red(run("test_bot.py"))
    assert [one["weighted_score"] for one in bot.results()["samples"]] == [1.0, 0.75, 0.0]
    assert bot.outcomes() == {"a": "passed", "b": "failed", "c::[1]": "failed"}
    assert sorted(seen(bot)) == ["a passed 1.0", "b failed 0.75", "c::[1] failed 0.0"]


SEEN = """
    def pytest_rageval_sample_scored(result):
        with open("seen.txt", "a") as file:
            file.write(f"{result.sample_id} {result.outcome} {result.weighted_score}\\n")
"""
# As a plugin that repeats failed tests does it: the reports of an attempt that is not the last one
# have an outcome of the plugin's own.
RERUNS = """
    import pytest

    def pytest_runtest_protocol(item, nextitem):
        from _pytest.runner import runtestprotocol

        for turn in range(3):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            again = turn < 2 and any(report.failed for report in reports)
            for report in reports:
                if again and report.failed:
                    report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
            if not again:
                return True

    def pytest_report_teststatus(report):
        if report.outcome == "rerun":
            return "rerun", "R", "RERUN"
"""


def seen(project: Project) -> list[str]:
    return (project.path / "seen.txt").read_text(encoding="utf-8").splitlines()


def test_an_attempt_that_is_repeated_is_no_result(bot: Project, plain: Run) -> None:
    """a fails by itself, b is below its threshold, c gives no answer; each is right the next time.

    c gives None, which is then not the answer of the second attempt, nor an error of it.
    """
    bot.pytester.makeconftest(RERUNS + SEEN)
    python_file(
        bot,
        """
        import pytest

        TURNS = {}

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        def test_bot(rag_sample, rageval):
            name = rag_sample.id[0]
            TURNS[name] = TURNS.get(name, 0) + 1
            if TURNS[name] == 1:
                assert name != "a"
                rageval.check(None if name == "c" else "Rome")
            rageval.check("Paris")
        """,
    )
    plain("test_bot.py").assert_outcomes(passed=6)
    assert seen(bot) == ["a passed 1.0", "b passed 1.0", "c::[1] passed 1.0"]


def test_a_repeated_attempt_of_a_case_of_a_file_is_no_result(project: Project, plain: Run) -> None:
    """The system under test does not answer the first question."""
    project.file(
        "app.py",
        "ASKED = []\n\ndef answer(question):\n    ASKED.append(question)\n"
        "    return 'Paris' if len(ASKED) > 1 else None\n",
    )
    project.scenario("""
    name: qa
    target: app:answer
    metrics: [em]
    dataset:
      - {id: a, question: q, references: [Paris]}
    """)
    project.pytester.makeconftest(RERUNS + SEEN)
    plain("qa.rageval.yaml").assert_outcomes(passed=1)
    assert seen(project) == ["a passed 1.0"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("None", "rageval.check: returned nothing (None); expected a text"),
        ("3.5", "rageval.check: returned 3.5 (float); expected a text"),
    ],
)
def test_what_is_no_answer_is_an_error_and_never_the_answer_of_the_data(
    bot: Project, run: Run, answer: str, said: str
) -> None:
    """The data hold the right answer; the files say what was wrong with the one that was given."""
    bot.scenario(SCENARIO.replace("question:", "answer: Paris, question:"))
    python_file(bot, TEST.replace("ask(rag_sample.question)", answer))
    result = red(run("test_bot.py"))
    assert f"em, acc failed on 3 of 3 samples, for instance: {said}" in result.stdout.str()
    for sample in bot.results()["samples"]:
        assert sample["outcome"] == "error"
        assert sample["answer"] is None
        assert sample["scores"] == {"em": None, "acc": None}
        assert [text.startswith(said) for text in sample["errors"].values()] == [True]


def test_a_test_that_is_skipped_has_no_error(bot: Project, run: Run) -> None:
    """As a row of a scenario file: by its row, by a marker, or by the test itself."""
    bot.scenario(SCENARIO.replace("{id: a,", "{id: a, skip: not yet,"))
    bot.tested_by(
        'if rag_sample.id == "b":',
        '    pytest.skip("not today")',
        'rageval.check("Paris")',
        given="rag_sample, rageval",
    )
    run("test_bot.py")
    assert bot.outcomes() == {"a": "skipped", "b": "skipped", "c::[1]": "passed"}
    assert [sample["errors"] for sample in bot.results()["samples"]] == [{}, {}, {}]


VARIANTS = """
    import pytest

    @pytest.mark.parametrize("model", ["gpt", "llama"])
    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_bot(rag_sample, rageval, model):
        rageval.check(rag_sample.question.removeprefix("say "))
"""


def test_a_hook_that_knows_the_scenario_by_its_name_changes_the_samples_of_each_variant(
    bot: Project, run: Run
) -> None:
    """It is called once, and each variant is complete with the two samples that it leaves."""
    python_file(bot, VARIANTS)
    bot.conftest("""
        def pytest_rageval_samples(scenario, samples):
            assert scenario.name == "qa"
            return samples[:2]
    """)
    run("test_bot.py").assert_outcomes(passed=10)
    for name in ("qa[gpt]", "qa[llama]"):
        assert set(bot.gates(name).values()) == {"passed"}
        assert bot.results(name)["counts"]["samples"] == 2


def test_the_data_of_a_test_with_other_parameters_are_read_once(
    bot: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[object] = []
    load = bind_cases.load_dataset
    monkeypatch.setattr(
        bind_cases, "load_dataset", lambda *args, **more: loads.append(args) or load(*args, **more)
    )
    python_file(bot, VARIANTS)
    bot.pytest("test_bot.py").assert_outcomes(passed=10, failed=2)
    assert len(loads) == 1


def test_the_name_of_a_variant_is_no_override(bot: Project) -> None:
    python_file(bot, VARIANTS)
    bot.pytest("test_bot.py")
    scenario = bot.results("qa[gpt]")["scenario"]
    assert scenario["name"] == "qa[gpt]"
    assert scenario["overridden"] == []
    (snapshot,) = bot.folder("qa[gpt]").glob("*.snapshot.yaml")
    assert "name: qa[gpt]\n" in snapshot.read_text("utf-8")


@pytest.mark.full
@pytest.mark.parametrize(
    "head",
    [
        "@pytest.mark.rag_scenario('qa.rageval.yaml')\n@pytest.mark.rag_scenario('no.yaml')",
        "pytestmark = [pytest.mark.rag_scenario('a.yaml'), pytest.mark.rag_scenario('b.yaml')]\n",
    ],
    ids=["function", "module"],
)
def test_two_markers_in_one_place_are_refused(bot: Project, head: str) -> None:
    bot.file("test_bot.py", f"import pytest\n\n{head}\ndef test_bot(rageval):\n    pass\n")
    result = interrupted(bot.pytest("test_bot.py"))
    assert "2 markers 'rag_scenario' at the same level" in result.stdout.str()


@pytest.mark.full
def test_the_marker_of_a_function_goes_before_that_of_its_class(bot: Project) -> None:
    """Also a class's before that of the class it extends."""
    python_file(
        bot,
        """
        import pytest

        @pytest.mark.rag_scenario("no.yaml")
        class TestBase:
            @pytest.mark.rag_scenario("qa.rageval.yaml")
            def test_it(self, rageval):
                rageval.check("Paris")

        @pytest.mark.rag_scenario("qa.rageval.yaml")
        class TestBot(TestBase):
            def test_other(self, rageval):
                rageval.check("Paris")
        """,
    )
    bot.pytest("test_bot.py").assert_outcomes(passed=18)


SWALLOWED = {
    "except": "try:\n        rageval.check('wrong')\n    except BaseException:\n        pass",
    "raises": "with pytest.raises(BaseException):\n        rageval.check('wrong')",
    "thread": "t = Thread(target=quietly)\n    t.start()\n    t.join()",
}


@pytest.mark.parametrize("how", SWALLOWED)
def test_a_threshold_that_was_missed_fails_the_test_though_it_went_on(
    project: Project, how: str
) -> None:
    """[G1] What a test swallows is judged when it ends."""
    project.file(
        "eval.yaml",
        "name: qa\nmetrics: [em]\nthresholds: {em: 0.5}\n"
        "dataset: [{id: a, answer: x, references: [x]}]\n",
    )
    project.file(
        "test_bot.py",
        "import pytest\nfrom threading import Thread\n\n@pytest.mark.rag_scenario('eval.yaml')\n"
        "def test_bot(rageval):\n    def quietly():\n        try:\n"
        "            rageval.check('wrong')\n        except BaseException:\n            pass\n"
        f"    {SWALLOWED[how]}\n",
    )
    result = project.pytest()
    result.assert_outcomes(failed=1)
    assert project.outcomes() == {"a": "failed"}


def test_a_sample_that_was_scored_is_in_the_figures_though_the_test_skips(
    project: Project,
) -> None:
    """[G1] The mean is 0.5, and not the 1.0 of the sample that was kept."""
    project.file(
        "eval.yaml",
        "name: qa\nmetrics: [em]\ngates: {em: 0.9}\n"
        "dataset: [{id: a, answer: x, references: [x]}, {id: b, answer: y, references: [x]}]\n",
    )
    project.tested_by(
        "if rageval.check().weighted_score < 0.5:", "    pytest.skip('low')", of="eval.yaml"
    )
    red(project.pytest())
    assert project.results()["metrics"]["em"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("beside", "outcome"),
    [
        ("'confidence': 'very'", "error"),
        ("'confidence': 80", "error"),
        ("'na_prob': -1", "error"),
        ("'citations': 1.5", "error"),
        ("'confidence': 0.9, 'citations': []", "passed"),
        ("'confidence': '0.9'", "passed"),
        ("'confidence': True", "error"),
        ("'confidence': None, 'citations': None", "passed"),
        ("'citations': [1]", "passed"),
        ("'citations': '[1]'", "passed"),
        ("'sources': 5", "passed"),  # nobody asks for it
        ("'latency': 'very'", "passed"),
    ],
)
def test_what_an_answer_says_beside_its_text_has_to_be_readable(
    project: Project, beside: str, outcome: str
) -> None:
    """As an answer that is none: an ERROR of the case that says why, and no traceback of ours."""
    project.file(
        "eval.yaml",
        "name: qa\nmetrics: [em, citation_validity]\ncitations: {style: brackets, base: 1}\n"
        "gates: {em: {selective: {coverage: 0.5, min: 0.5}}, unscored: 1.0}\n"
        "dataset: [{id: a, contexts: [c], references: [x], citations: [1]}]\n",
    )
    project.tested_by(f"rageval.check({{'answer': 'x', {beside}}})", of="eval.yaml")
    said = project.pytest().stdout.str()
    assert project.outcomes() == {"a": outcome}
    assert ("TypeError: rageval.check: its " in said) is (outcome == "error")
    assert "ask_target.py" not in said


@pytest.mark.parametrize(
    ("judged", "answer", "outcome"),
    [
        ("gates: {raises: 0.1, unscored: 1.0}", "raise", "error"),
        ("thresholds: {raises: 0.5}", "raise", "error"),
        ("thresholds: {em: 0.5, raises: 0.5}", "raise", "error"),
        ("metric_weights: {em: 0, raises: 1}", "raise", "error"),
        ("gates: {raises: 0.1, unscored: {raises: 1.0}}", "raise", "passed"),  # tolerated
        ("gates: {em: 0.0, unscored: 1.0}", "raise", "passed"),  # no bound asks for it
        ("thresholds: {em: 0.5}", "raise", "failed"),
        ("thresholds: {raises: 0.5}", "x", "passed"),
        ("thresholds: {raises: 0.5}", "wrong", "passed"),
        ("thresholds: {em: 0.5}", "wrong", "failed"),
    ],
)
def test_a_test_that_skips_because_a_metric_failed_did_not_pass(
    project: Project, judged: str, answer: str, outcome: str
) -> None:
    """[G1] What cannot be judged is an ERROR of the case, also where the test swallows it."""
    project.with_broken_metrics()
    project.file(
        "eval.yaml",
        f"name: qa\nmetrics: [em, raises]\n{judged}\n"
        f"dataset: [{{id: a, answer: {answer}, references: [x]}}, "
        "{id: b, answer: x, references: [x]}]\n",
    )
    swallowed = ("try:", "    rageval.check()", "except BaseException:", "    pass")
    project.tested_by(*swallowed, "pytest.skip('later')", of="eval.yaml")
    result = project.pytest()
    assert project.outcomes() == {"a": outcome, "b": "passed"}
    assert (result.ret == pytest.ExitCode.OK) is (outcome == "passed")


def test_a_sample_that_is_never_checked_is_no_missing_metric(project: Project) -> None:
    """[G1] Leave is for metrics that fail, not for tests that do not ask."""
    project.file(
        "eval.yaml",
        "name: qa\nmetrics: [em]\ngates: {unscored: {em: 0.9}}\n"
        "dataset: [{id: a, answer: x, references: [x]}, {id: b, answer: y, references: [x]}]\n",
    )
    project.tested_by(
        "if rag_sample.id == 'a':",
        "    rageval.check()",
        of="eval.yaml",
        given="rageval, rag_sample",
    )
    red(project.pytest())
    assert project.gates() == {"unscored": "failed"}


def test_what_a_test_does_not_give_is_not_taken_from_the_row(project: Project, run: Run) -> None:
    """Ids belong to the contexts of an earlier search; without them there is no recall."""
    project.file("bot.yaml", "name: bot\ndataset: bot.jsonl\nmetrics: ['recall@5', em]\n")
    row = {"id": "a", "answer": "x", "references": ["x"]}
    ids = {"retrieved_ids": ["d1"], "reference_ids": {"d1": 1}}
    project.rows([{**row, **ids}], "bot.jsonl")
    project.tested_by(
        "rageval.check(answer='x', contexts=['another text'])",
        of="bot.yaml",
        given="rag_sample, rageval",
    )
    result = red(run("test_bot.py"))
    result.stdout.fnmatch_lines(["*recall@5 unscored: rageval.check was given no retrieved_ids*"])


def test_of_what_the_data_hold_a_metric_may_not_apply(project: Project, run: Run) -> None:
    """As in the scenario file itself: the test gives nothing in place of the row."""
    project.file("bot.yaml", "name: bot\ndataset: bot.jsonl\nmetrics: ['recall@5', em]\n")
    row = {"answer": "x", "references": ["x"]}
    ids = {"retrieved_ids": ["d1"], "reference_ids": {"d1": 1}}
    project.rows([{"id": "a", **row, **ids}, {"id": "b", **row}], "bot.jsonl")
    project.tested_by("rageval.check()", of="bot.yaml", given="rag_sample, rageval")
    run("test_bot.py").assert_outcomes(passed=2)
