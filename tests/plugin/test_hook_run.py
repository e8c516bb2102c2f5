"""The hooks of a run: a sample scored, more gates, more lines in the summary."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.plugin.run.run_hooks import RunHooks, _plugin_names
from tests.plugin.conftest import Project, Run, red

TABLES = tomllib.loads(Path(__file__).with_name("hook_run.toml").read_text("utf-8"))

ROWS = [{"id": f"q{number}", "answer": "a", "references": ["a"]} for number in range(4)]
SCENARIO = """
    name: qa
    x-owner: search
    dataset: qa.jsonl
    metrics: [em]
"""
GATE = """
    from pytest_rageval import GateResult

    def pytest_rageval_gates(config, scenario, result):
        worst = min(sample.weighted_score for sample in result.samples)
        outcome = "passed" if worst >= {least} else "failed"
        return [GateResult("worst", outcome, worst, {least}, f"worst of all {{worst:.2f}}")]
"""


@pytest.fixture
def four(project: Project) -> Project:
    """Return a project with four samples that all score 1."""
    project.scenario(SCENARIO)
    project.rows(ROWS)
    return project


WAYS = ["deep/down", "deep/do/../down", "deep/down/qa.rageval.yaml", "link/down"]


class TestSampleScored:
    HOOK = """
        from pathlib import Path

        def pytest_rageval_sample_scored(config, scenario, result):
            assert not hasattr(config, "workerinput")
            line = (scenario.name, scenario.metadata["owner"], result.sample_id, result.outcome)
            with Path("seen.txt").open("a") as file:
                file.write(" ".join(line) + "\\n")
    """

    def test_each_sample_is_seen_once_in_the_main_process(self, four: Project, run: Run) -> None:
        four.conftest(self.HOOK)
        run().assert_outcomes(passed=4)
        seen = sorted((four.path / "seen.txt").read_text().splitlines())
        assert seen == [f"qa search q{number} passed" for number in range(4)]

    def test_it_is_that_of_the_folder_of_the_scenario(self, four: Project) -> None:
        four.file("deep/conftest.py", "def pytest_rageval_sample_scored(): raise ValueError\n")
        four.file("deep/test_it.py", "def test_it(): pass\n")
        four.pytest("deep", "qa.rageval.yaml").assert_outcomes(passed=5)

    @pytest.mark.full
    def test_an_error_in_it_is_a_failed_gate_and_no_crash(self, four: Project, run: Run) -> None:
        four.conftest(
            "def pytest_rageval_sample_scored(result):\n    raise ValueError(result.outcome)\n"
        )
        result = red(run())
        result.assert_outcomes(passed=4, failed=1)
        message = "pytest_rageval_sample_scored of conftest.py raised ValueError: passed (*py:2)"
        result.stdout.fnmatch_lines([f"*{message}*"])
        assert four.gates() == {"pytest_rageval_sample_scored": "failed"}

    def test_an_error_in_it_fails_a_partial_run_too(self, four: Project) -> None:
        four.conftest("def pytest_rageval_sample_scored(): raise ValueError\n")
        four.pytest("-k", "q1").assert_outcomes(passed=1, failed=1, deselected=3)


class TestGates:
    @pytest.mark.parametrize(("least", "outcome"), [(0.5, "passed"), (1.5, "failed")])
    def test_a_gate_is_an_outcome(
        self, four: Project, run: Run, least: float, outcome: str
    ) -> None:
        """E3."""
        four.conftest(GATE.format(least=least))
        result = run("-v")
        passed = 5 if outcome == "passed" else 4
        result.assert_outcomes(passed=passed, failed=5 - passed)
        assert result.ret == (0 if outcome == "passed" else 1)
        result.stdout.fnmatch_lines([f"*qa.rageval.yaml::gate:worst*{outcome.upper()}*"])
        (gate,) = four.results()["gates"]
        assert gate == {
            "name": "worst",
            "outcome": outcome,
            "observed": 1.0,
            "bound": least,
            "message": "worst of all 1.00",
        }

    @pytest.mark.full
    def test_a_partial_run_turns_none_green(self, four: Project) -> None:
        """E4."""
        four.conftest(GATE.format(least=0.5))
        result = four.pytest("-k", "q1", "-rs")
        result.assert_outcomes(passed=1, skipped=1, deselected=3)
        result.stdout.fnmatch_lines(["*gate undecided: 1 of 4 samples ran, so far 1.0000*"])
        strict = four.pytest("-k", "q1", "--rag-strict")
        strict.assert_outcomes(passed=1, failed=2, deselected=3)  # and the gate unscored

    def test_numbers_of_numpy_are_plain_and_what_is_infinite_is_none(self, four: Project) -> None:
        four.conftest(
            """
            import numpy
            from pytest_rageval import GateResult

            def pytest_rageval_gates(result):
                yield GateResult("one", "passed", numpy.float32(0.5), float("inf"), "fine")
                yield GateResult("two", "skipped", None, None, "not now")
            """
        )
        four.pytest().assert_outcomes(passed=5, skipped=1)
        one, two = four.results()["gates"]
        assert (one["observed"], one["bound"]) == (0.5, None)
        assert (two["outcome"], two["observed"]) == ("skipped", None)

    @pytest.mark.full
    @pytest.mark.parametrize(
        ("returned", "message"),
        TABLES["what_cannot_be_a_gate_fails_the_run"],
    )
    def test_what_cannot_be_a_gate_fails_the_run(
        self, four: Project, returned: str, message: str
    ) -> None:
        four.scenario(SCENARIO + "    gates: {em: 0.5}\n")
        four.conftest(
            "from pytest_rageval import GateResult\n\n"
            f"def pytest_rageval_gates(result):\n    return {returned}\n"
        )
        result = four.pytest()
        result.assert_outcomes(passed=6, failed=1)
        result.stdout.fnmatch_lines([f"*pytest_rageval_gates of conftest.py {message}"])
        result.stdout.no_fnmatch_line("*INTERNALERROR*")

    def test_a_name_of_a_hook_that_is_refused_is_free(self, four: Project) -> None:
        """The gates of the one are lost, not those of the other."""
        four.conftest(
            GATE.format(least=0.5)
            + """
    class Other:
        def pytest_rageval_gates(self):
            return [GateResult("worst", "passed", None, None, "lost"), None]

    def pytest_configure(config):
        config.pluginmanager.register(Other(), "other")
"""
        )
        four.pytest().assert_outcomes(passed=4 + 1, failed=1)
        assert four.gates() == {"worst": "passed", "pytest_rageval_gates": "failed"}


class TestSummary:
    def test_lines_stand_below_the_table(self, four: Project, run: Run) -> None:
        four.conftest(
            """
            def pytest_rageval_summary(config, scenario, result):
                return [f"{scenario.path}: {result.counts.passed} good", "see \\x1b[2Jhttps://x.example"]
            """
        )
        result = run()
        result.assert_outcomes(passed=4)
        result.stdout.fnmatch_lines(
            ["run *", "qa.rageval.yaml: 4 good", "see \\x1b[[]2Jhttps://x.example"]
        )

    def test_one_text_is_its_lines(self, four: Project) -> None:
        four.conftest("def pytest_rageval_summary(): return 'one\\ntwo'\n")
        four.pytest().stdout.fnmatch_lines(["one", "two"])

    def test_an_error_is_a_line(self, four: Project) -> None:
        """The outcomes are out by then."""
        four.conftest("def pytest_rageval_summary():\n    raise ValueError('no words')\n")
        result = four.pytest()
        result.assert_outcomes(passed=4)
        result.stdout.fnmatch_lines(
            ["pytest_rageval_summary of conftest.py raised ValueError: no words (*conftest.py:2)"]
        )


class TestAConftestBelowTheRootdir:
    """An xdist controller collects nothing, and so loads no conftest.py on its way."""

    HOOKS = """
from pytest_rageval import GateResult

def pytest_rageval_gates(result):
    return [GateResult("more", "passed", None, None, "fine")]

def pytest_rageval_summary():
    return "that is all"
"""
    UNNAMED = """
from pytest_rageval import GateResult

class Gates:
    def pytest_rageval_gates(self):
        return [GateResult("{}", "passed", None, None, "fine")]

    def pytest_rageval_summary(self):
        return "that is all"

def pytest_configure(config):
    config.pluginmanager.register(Gates())
"""

    @pytest.fixture
    def deep(self, four: Project) -> Project:
        four.file("deep/down/conftest.py", self.HOOKS)
        text = (four.path / "qa.rageval.yaml").read_text().replace("qa.jsonl", "../../qa.jsonl")
        (four.path / "qa.rageval.yaml").unlink()
        four.file("deep/down/qa.rageval.yaml", text)
        return four

    @pytest.mark.full
    def test_one_that_is_named_is_loaded_everywhere(self, deep: Project, workers: Run) -> None:
        result = workers("--rag-scenario=deep/down/qa.rageval.yaml")
        result.assert_outcomes(passed=5)
        result.stdout.fnmatch_lines(["that is all"])

    def test_so_is_one_of_the_environment(
        self, deep: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before the run, as a controller needs it: pytest asks for headers then."""
        header = "\ndef pytest_report_header():\n    return 'from deep down'\n"
        deep.file("deep/down/conftest.py", self.HOOKS + header)
        monkeypatch.setenv("RAGEVAL_SCENARIO", "deep/down/qa.rageval.yaml")
        result = deep.pytest()
        result.assert_outcomes(passed=5)
        result.stdout.fnmatch_lines(["from deep down"])

    @pytest.mark.full
    def test_for_a_test_function_it_is_that_of_its_file(self, four: Project, run: Run) -> None:
        four.file("tests/conftest.py", self.HOOKS)
        four.file(
            "tests/test_it.py",
            "import pytest\n\n@pytest.mark.rag_scenario('../qa.rageval.yaml')\n"
            "def test_it(rag_sample, rageval):\n    rageval.check()\n",
        )
        run("tests").assert_outcomes(passed=5)

    def test_it_is_that_of_the_folder_that_a_scenario_is_linked_into(self, four: Project) -> None:
        """pytest applies each conftest.py above the path as it is spelled."""
        (four.path / "qa.rageval.yaml").rename(four.file("shared/x", "").with_name("qa.yaml"))
        four.file("shared/qa.jsonl", (four.path / "qa.jsonl").read_text())
        four.file("eval/conftest.py", self.HOOKS)
        four.file("eval/qa.jsonl", (four.path / "qa.jsonl").read_text())
        (four.path / "eval" / "qa.rageval.yaml").symlink_to("../shared/qa.yaml")
        result = four.pytest("eval")
        result.assert_outcomes(passed=5)
        assert four.gates() == {"more": "passed"}
        result.stdout.fnmatch_lines(["that is all"])

    @pytest.mark.full
    def test_so_it_is_of_a_linked_folder(self, deep: Project, run: Run) -> None:
        deep.file("ev/conftest.py", self.HOOKS.replace("more", "own"))
        (deep.path / "ev" / "data").symlink_to("../deep/down", target_is_directory=True)
        deep.file("qa.jsonl", (deep.path / "qa.jsonl").read_text())
        run("ev").assert_outcomes(passed=6)
        assert deep.gates() == {"own": "passed", "more": "passed"}

    @pytest.mark.full
    @pytest.mark.parametrize("argument", WAYS)
    def test_a_way_to_write_its_folder_changes_nothing(self, deep: Project, argument: str) -> None:
        """Nor does a folder beside it whose name begins alike."""
        failing = "def pytest_rageval_gates():\n    raise ValueError\n"
        deep.file("deep/do/conftest.py", failing)
        deep.file("deep/down2/conftest.py", failing)
        deep.file("deep/down2/test_it.py", "def test_it(): pass\n")
        deep.file("deep/do/test_do.py", "def test_do(): pass\n")
        (deep.path / "link").symlink_to("deep", target_is_directory=True)
        deep.pytest("deep/do", "deep/down2", argument).assert_outcomes(passed=7)
        assert deep.gates() == {"more": "passed"}

    def test_without_workers_it_is_loaded_on_the_way(self, deep: Project) -> None:
        deep.pytest().assert_outcomes(passed=5)

    @pytest.mark.full
    @pytest.mark.parametrize("name", ["str(os.getpid())", "'of-' + os.environ.get(KEY, 'main')"])
    def test_a_name_of_the_process_is_none(self, deep: Project, name: str) -> None:
        (deep.path / "deep/down/conftest.py").unlink()
        text = self.UNNAMED.format("own").replace("Gates())", f"Gates(), {name})")
        deep.file("conftest.py", f"import os\nKEY = 'PYTEST_XDIST_WORKER'\n{text}")
        deep.pytest("-n", "1").assert_outcomes(passed=5)
        assert deep.gates() == {"own": "passed"}

    @pytest.mark.full
    def test_a_wrapper_that_comes_late_is_a_failed_gate(self, deep: Project) -> None:
        (deep.path / "deep/down/conftest.py").unlink()
        deep.file(
            "conftest.py",
            "import pytest\nclass Gates:\n    @pytest.hookimpl(wrapper=True)\n"
            "    def pytest_rageval_gates(self):\n        return (yield)\n"
            "def pytest_collection_modifyitems(config):\n"
            "    config.pluginmanager.register(Gates())\n",
        )
        assert deep.pytest().ret == pytest.ExitCode.TESTS_FAILED
        assert deep.gates() == {"pytest_rageval_gates": "failed"}

    @pytest.mark.full
    @pytest.mark.parametrize(
        ("file", "text", "owner"),
        [
            ("conftest.py", HOOKS, "deep/down/conftest.py"),
            ("conftest.py", UNNAMED.format("more"), "plugin 'conftest.Gates 2'"),
            ("test_qa.py", "pytest_plugins = ['more_gates']\n", "plugin 'more_gates'"),
        ],
    )
    def test_with_workers_it_fails_rather_than_miss_a_gate(
        self, deep: Project, file: str, text: str, owner: str
    ) -> None:
        """So does a plugin that only the workers have; one of the rootdir needs no name."""
        (deep.path / "deep/down/conftest.py").unlink()
        deep.file("conftest.py", self.UNNAMED.format("own"))
        deep.file("more_gates.py", self.HOOKS)
        deep.file(f"deep/down/{file}", text)
        deep.pytester.syspathinsert(deep.path)
        result = deep.pytest("-n", "1")
        result.assert_outcomes(passed=5, failed=1)
        assert deep.gates() == {"own": "passed", "pytest_rageval_gates": "failed"}
        lost = f"of {owner} was not called: *"
        result.stdout.fnmatch_lines([f"*_gates {lost}", f"*_summary {lost}"])


@pytest.mark.parametrize(("process", "shown"), [(1, "x-1"), (4711, "builtins.int")])
def test_a_version_is_no_process(monkeypatch: pytest.MonkeyPatch, process: int, shown: str) -> None:
    """In a container the main process is 1, and the workers are not."""
    monkeypatch.setattr(os, "getpid", lambda: process)
    assert [*_plugin_names([SimpleNamespace(plugin=0, plugin_name=f"x-{process}")])] == [shown]


@pytest.mark.parametrize(("hook", "calls"), [("", 0), ("pytest_rageval_sample_scored", 4)])
def test_without_the_hook_a_sample_costs_no_call(
    four: Project, monkeypatch: pytest.MonkeyPatch, hook: str, calls: int
) -> None:
    """There may be 100,000 samples."""
    seen: list[str] = []
    real = RunHooks._call

    def counted(self: RunHooks, info: Any, name: str, *args: Any, **given: Any) -> Any:
        seen.append(name)
        return real(self, info, name, *args, **given)

    monkeypatch.setattr(RunHooks, "_call", counted)
    if hook:
        four.conftest(f"def {hook}(): pass\n")
    four.pytest().assert_outcomes(passed=4)
    assert seen.count("pytest_rageval_sample_scored") == calls
