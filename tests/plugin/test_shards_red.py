"""[E17] What is red in a whole run is red in the merge of its shards, in the same words."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from sharded import PLAIN, changed, files, junit_cases, merge, run_shards, shard_files

from tests.plugin.conftest import Project, green, red, wrong_use

pytestmark = pytest.mark.full

SCENARIO = PLAIN.replace("0.5", "0.1")
SETS = "def pytest_sessionfinish(session):\n"
MARKED = "import pytest\n\n@pytest.mark.rag_scenario('qa.rageval.yaml')\n"


class TestFailuresBesideTheOutcome:
    """A case that passed, or was skipped, may have failed on its way."""

    def test_an_earlier_attempt(self, four: Project) -> None:
        """Of a plugin that reports both."""
        four.scenario(
            SCENARIO + "    target: {type: python, use: bot:ask}\n    thresholds: {em: 1}\n"
        )
        four.file(
            "bot.py",
            "ASKED = []\n\n\ndef ask(question):\n    ASKED.append(question)\n"
            "    return 'y' if ASKED.count('b') == 1 and question == 'b' else 'x'\n",
        )
        four.rows([{"id": one, "question": one, "references": ["x"]} for one in "abc"])
        four.conftest(
            """
            from _pytest.runner import runtestprotocol

            def pytest_runtest_protocol(item, nextitem):
                item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                if any(one.failed for one in runtestprotocol(item, nextitem=nextitem)):
                    runtestprotocol(item, nextitem=nextitem)
                item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
                return True
            """
        )
        parts = run_shards(four, ["1/2", "2/2"])
        found = red(merge(four, parts, "-rf"))
        assert four.outcomes() == {"a": "passed", "b": "passed", "c": "passed"}
        found.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::b - *"])

    def test_a_subtest_of_a_case_that_is_skipped(self, four: Project) -> None:
        pytest.importorskip("_pytest.subtests", reason="pytest 9 brings subtests")
        four.file(
            "test_bot.py",
            MARKED + "def test_bot(rag_sample, rageval, subtests):\n"
            "    if rag_sample.id == 'q1':\n"
            "        with subtests.test('polite'):\n"
            "            assert False, 'it is not polite'\n"
            "        pytest.skip('enough')\n"
            "    rageval.check()\n",
        )
        whole = four.pytest("test_bot.py")
        parts = run_shards(four, ["1/2", "2/2"], "test_bot.py")
        found = merge(four, parts)
        assert found.ret == whole.ret == pytest.ExitCode.TESTS_FAILED
        found.stdout.fnmatch_lines(["*it is not polite*"])
        assert "ended with exit status" not in found.stdout.str()


def test_a_test_whose_case_is_an_error_failed_at_its_call(four: Project) -> None:
    """As in a whole run; and one that hides the failure of its check is red in its shard, too."""
    four.scenario(SCENARIO.replace("[em]", "[em, raises]") + "    thresholds: {em: 1}\n")
    four.with_broken_metrics()
    four.file(
        "test_bot.py",
        MARKED + "def test_bot(rag_sample, rageval):\n"
        "    if rag_sample.id == 'q1':\n"
        "        rageval.check(None)\n"
        "    elif rag_sample.id == 'q2':\n"
        "        rageval.check('raise')\n"
        "    elif rag_sample.id == 'q3':\n"
        "        try:\n"
        "            rageval.check('y')\n"
        "        except pytest.fail.Exception:\n"
        "            pytest.skip('hidden')\n"
        "    rageval.check()\n",
    )
    four.pytest("test_bot.py", "--junitxml=whole.xml")
    parts = run_shards(four, ["1/1"], "test_bot.py")
    found = merge(four, parts, "-rfs", "--junitxml=merged.xml")
    assert "no text was kept" not in found.stdout.str()
    found.stdout.fnmatch_lines(["FAILED test_bot.py::test_bot?q1? - *"])
    names = [
        [(case[1], [part[0] for part in case[3]]) for case in junit_cases(four.path / name)]
        for name in ("whole.xml", "merged.xml")
    ]
    assert names[0] == names[1]
    alone = red(four.pytest("--rag-shard=4/4", "test_bot.py"))
    alone.assert_outcomes(skipped=1, deselected=3)


PARAMETRISED = (
    "@pytest.mark.parametrize('k', ['gpt', 'big[1]'])\n"
    "def test_bot(rag_sample, rageval, k):\n"
    "    rageval.check('y' if k == 'gpt' and rag_sample.id == 'q2' else 'x')\n"
)


class TestFunctionsWithOtherParameters:
    """Their cases' node ids do not begin with that of their scenario."""

    def test_what_failed_keeps_its_name(self, four: Project) -> None:
        four.scenario(SCENARIO + "    thresholds: {em: 1}\n")
        four.file("test_bot.py", MARKED + PARAMETRISED)
        whole = four.pytest("test_bot.py", "--junitxml=whole.xml", "-rf", "--rag-output=whole")
        parts = run_shards(four, ["1/2", "2/2"], "test_bot.py")
        found = merge(four, parts, "--junitxml=merged.xml", "-rf", "--rag-output=merged")
        assert files(four.path / "whole") == files(four.path / "merged")
        one, two = (sorted(junit_cases(four.path / f"{name}.xml")) for name in ("whole", "merged"))
        assert one == two
        (line,) = [one for one in whole.outlines if one.startswith("FAILED ")]
        assert "test_bot[q2-gpt]" in line
        assert line in found.outlines

    def test_a_red_run_is_not_saved(self, four: Project) -> None:
        torn = "    yield\n    assert request.node.name != 'test_bot[q3-gpt]'\n"
        torn = f"@pytest.fixture(autouse=True)\ndef torn(request):\n{torn}\n\n"
        mark = MARKED.partition("@")[2]
        four.file("test_bot.py", f"import pytest\n\n{torn}@{mark}{PARAMETRISED}")
        parts = run_shards(four, ["1/2", "2/2"], "test_bot.py")
        found = merge(four, parts, "--rag-save=main")
        found.stdout.fnmatch_lines(["*NOT saved*gate teardown*"])

    @pytest.mark.parametrize("workers", [(), ("-n", "2")])
    def test_one_that_did_not_run_is_missed(self, four: Project, workers: tuple[str, ...]) -> None:
        """Also where gates stay undecided, because a part of the cases was selected."""
        four.file("test_bot.py", MARKED + PARAMETRISED)
        four.conftest(
            """
            def pytest_runtest_protocol(item):
                return True if item.name == "test_bot[q1-gpt]" else None
            """
        )
        chosen = ("test_bot.py", "--rag-where=id!=q0", *workers)
        found = red(merge(four, run_shards(four, ["1/2", "2/2"], *chosen)))
        found.stdout.fnmatch_lines(["*shard 2/2 is unfinished, 1 of 2 ran*q1-gpt*"])


class TestOtherCases:
    """As many cases, and others: some would run twice, and some never."""

    def test_a_hook_that_draws_is_refused(self, four: Project) -> None:
        four.conftest(
            """
            def pytest_rageval_samples(config, samples):
                at = config.getoption("rag_shard")[0]
                return samples[:2] if at == ["1/2"] or at == "1" else samples[2:]
            """
        )
        found = wrong_use(merge(four, run_shards(four, ["1/2", "2/2"])))
        found.stderr.fnmatch_lines(["*another selection of cases*hook that draws*"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_shard_that_is_killed_leaves_its_head(four: Project, workers: tuple[str, ...]) -> None:
    """Which takes the place of an older one, of the same run of CI as well."""
    four.conftest(
        """
        import shutil
        from pathlib import Path

        def pytest_runtest_logreport(report):
            if "q3" in report.nodeid and report.when == "teardown":
                for path in Path("running").rglob("shard.jsonl"):
                    Path("killed").mkdir(exist_ok=True)
                    shutil.copy(path, "killed")
        """
    )
    parts = run_shards(four, ["1/2", "2/2"])
    assert merge(four, parts).ret == pytest.ExitCode.OK
    four.pytest("-q", "--rag-shard=2/2", "--rag-output=running", *workers)
    killed = four.path / "killed"
    found = red(merge(four, [*parts, killed]))
    found.stdout.fnmatch_lines([f"*shard 2/2 is cut off ({killed / 'shard.jsonl'})*"])
    four.pytest("-q", "--rag-shard=2/2", "--rag-output=running")
    four.pytest("-q", "--rag-shard=1/2", "--rag-output=running")
    assert merge(four, [*parts, killed, four.path / "running"]).ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    "more", ["", "    variants: {a: {}, b: {top_k: 3}}\n"], ids=["", "variants"]
)
def test_a_clock_that_was_set_back_makes_no_older_shard_the_newer_one(
    four: Project, more: str
) -> None:
    four.scenario(SCENARIO + more)
    parts = run_shards(four, ["1/2", "2/2"])
    year = datetime.now(UTC).year
    for path in shard_files(parts[1]):  # they ran while the clock was a year ahead
        path.write_text(path.read_text("utf-8").replace(f'"{year}-', f'"{year + 1}-'), "utf-8")
    assert merge(four, parts).ret == pytest.ExitCode.OK
    given = ["--rag-shard=2/2", f"--rag-output={parts[1]}"]
    failing = four.file("test_it.py", "def test_it():\n    assert False\n")
    assert four.pytest(*given).ret == pytest.ExitCode.TESTS_FAILED
    failing.unlink()
    assert merge(four, parts).ret == pytest.ExitCode.TESTS_FAILED
    assert four.pytest(*given).ret == pytest.ExitCode.OK
    four.pytest("--rag-shard=1/2", f"--rag-output={parts[0]}")  # 2/2 was green, and ran again
    assert merge(four, parts).ret == pytest.ExitCode.OK
    four.scenario((four.path / "qa.rageval.yaml").read_text("utf-8").replace("[em]", "[gone]"))
    assert four.pytest(*given).ret == pytest.ExitCode.INTERRUPTED
    found = merge(four, parts)
    found.stdout.fnmatch_lines(["*shard 2/2 is cut off (*"])


@pytest.mark.usefixtures("steady_clock")
@pytest.mark.parametrize("way", ["refused", "crashed"])
def test_a_shard_that_ends_before_its_cases_are_known_is_red(four: Project, way: str) -> None:
    """Its scenario was refused, or xdist's worker crashed in its first case."""
    parts = run_shards(four, ["1/2", "2/2"])
    assert merge(four, parts).ret == pytest.ExitCode.OK
    given = ["--rag-shard=2/2", f"--rag-output={parts[1]}"]
    if way == "refused":
        text = (four.path / "qa.rageval.yaml").read_text("utf-8")
        four.scenario(text.replace("[em]", "[em, gone]"))
        assert four.pytest(*given).ret == pytest.ExitCode.INTERRUPTED
        four.scenario(text)
    else:
        four.conftest(
            "import os\ndef pytest_runtest_logstart():\n"
            "    os.environ.get('PYTEST_XDIST_WORKER') and os._exit(3)\n"
        )
        four.pytest(*given, "-n", "1", "--max-worker-restart=0")
        (four.path / "conftest.py").unlink()
    found = red(merge(four, parts))
    said = " ".join(found.stdout.str().split())  # a long path is in a line of its own
    assert re.search(r"shard 2/2 is cut off \(\S*shard-started-2-2\.json\)", said)
    four.pytest(*given)
    found = merge(four, parts)
    found.stdout.fnmatch_lines(["*shard 1/2 is of *, before shard 2/2 ran again: *"])
    four.pytest("--rag-shard=1/2", f"--rag-output={parts[0]}")
    assert merge(four, parts).ret == pytest.ExitCode.OK


def test_the_reason_of_a_failure_is_its_exception(four: Project) -> None:
    """Not the first line of the traceback, in the short summary and in JUnit XML."""
    four.file(
        "test_bot.py",
        MARKED + "def test_bot(rag_sample, rageval):\n"
        "    rageval.check()\n"
        "    assert rag_sample.id != 'q1', 'it is impolite'\n\n\n"
        "def test_other():\n    raise ValueError('no server')\n",
    )
    whole = four.pytest("test_bot.py", "--junitxml=whole.xml", "-rf")
    parts = run_shards(four, ["1/2", "2/2"], "test_bot.py")
    found = merge(four, parts, "--junitxml=merged.xml", "-rf")
    lines = [sorted(line for line in one.outlines if "FAILED " in line) for one in (whole, found)]
    assert [line.split()[-1] for line in lines[0]] == ["impolite", "server"]
    assert lines[0] == lines[1]
    reasons = [
        {part[1] for case in junit_cases(four.path / name) for part in case[3]}
        for name in ("whole.xml", "merged.xml")
    ]
    assert reasons[0] == reasons[1]


def test_a_case_whose_worker_crashed_before_its_last_report_keeps_its_scores(four: Project) -> None:
    """In JUnit XML, which pytest writes with the report of the teardown."""
    four.scenario(SCENARIO + "    thresholds: {em: 1}\n")
    four.rows([{"id": f"q{at}", "answer": "x", "references": ["xy"[at]]} for at in range(2)])
    parts = run_shards(four, ["1/1"])
    merge(four, parts, "--junitxml=whole.xml")
    (path,) = shard_files(*parts)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    at = next(at for at, line in enumerate(lines) if line.get("reports"))
    changed(path, at, reports=lines[at]["reports"][:-1])
    merge(four, parts, "--junitxml=cut.xml")
    assert junit_cases(four.path / "cut.xml") == junit_cases(four.path / "whole.xml")


class TestTheExitStatusOfAShard:
    """It is the only trace of what a plugin found wrong."""

    @pytest.mark.parametrize(
        ("hook", "status"),
        [
            # No tests collected, after cases.
            ("def pytest_runtest_logfinish(nodeid):\n    'q3' in nodeid and pytest.exit('', 5)", 5),
            # One that a plugin sets at the end.
            (f"@pytest.hookimpl(trylast=True)\n{SETS}    session.exitstatus = 1", 1),
            (f"@pytest.hookimpl(wrapper=True)\n{SETS}    yield\n    session.exitstatus = 1", 1),
        ],
    )
    def test_one_that_a_plugin_makes(self, four: Project, hook: str, status: int) -> None:
        four.conftest(f"import pytest\n\n{hook}\n")
        parts = run_shards(four, ["1/1"])
        (four.path / "conftest.py").unlink()
        found = red(merge(four, parts))
        said = f"*the session of this shard ended with exit status {status}*"
        found.stdout.fnmatch_lines([said])


class TestGatesThatOnlyTheMergeHas:
    def test_an_invalid_row_that_is_expected(self, four: Project) -> None:
        four.scenario(
            "name: qa\ndataset: {path: qa.jsonl, on_invalid: xfail}\nmetrics: [em]\n",
        )
        four.rows(
            [{"id": "a", "answer": "x", "references": ["x"]}, {"id": "b", "answer": ["x"]}],
        )
        gate = "--rag-fail-under=0.5"
        four.pytest("-q", gate, "--rag-output=whole")
        parts = run_shards(four, ["1/2", "2/2"])
        green(merge(four, parts, gate, "--rag-output=merged"))
        assert files(four.path / "whole") == files(four.path / "merged")
