"""[E17] Shards and their merge: the same files, verdict and exit status as one whole run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_app import FakeApp
from sharded import PLAIN, copied, files, junit_cases, merge, run_shards, shard_files

from pytest_rageval.model import answer_digest
from tests.plugin.conftest import Project, green, red, wrong_use

REPORTS = "--rag-report=html,badge,dbgpt,ultrarag.json,evaluation_rows.json"
SCENARIO = """
    name: qa
    x-owner: search
    dataset: {path: qa.jsonl, on_invalid: skip}
    metrics: [em, f1, raises]
    metric_weights: {em: 1, f1: 2, raises: 0}
    doc_weights: {a.pdf: 0.1, b.pdf: 3.3}
    thresholds: {f1: 0.2}
    compare: main
    group_by: topic
    human: {file: labels.csv, of: em}
    gates:
      f1: 0.4
      pass_rate: 0.9
      by: {doc_name: {f1: 0.2}}
      em: {agreement: {kappa: -1, min_labels: 10}}
      no_regression: {baseline: main, metrics: [f1], undecided: pass}
"""
HOOKS = """
    from pytest_rageval import GateResult

    def pytest_rageval_gates(result):
        least = min(one.weighted_score or 0.0 for one in result.samples)
        return [GateResult("least", "passed", least, 0.0, f"{least:.4f}")]

    def pytest_rageval_sample_scored(config, result):
        with (config.rootpath / "seen.txt").open("a") as file:
            file.write(result.sample_id + chr(10))

    def pytest_rageval_summary(result):
        return [f"seen by the summary: {len(result.samples)}"]
"""


def _rows() -> list[dict[str, Any]]:
    words = "the quick brown fox jumps over the lazy dog".split()
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{at}",
            "question": "odd \ud800 question" if at == 9 else f"question {at}",
            "answer": " ".join(words[at % 4 : at % 4 + at % 5 + 1]),
            "references": [" ".join(words[at % 3 : at % 3 + at % 4 + 2])],
            "doc_name": "ab"[at % 2] + ".pdf",
            "topic": at % 6,
        }
        for at in range(24)
    ]
    rows[5]["skip"] = "not yet"
    rows[6]["xfail"] = "known"
    rows[7]["answer"] = ["a", "list"]
    rows[8]["answer"] = "raise"
    return rows


def _labels() -> str:
    lines = [
        f"{row['id']},em,ann,{at % 2},random,{answer_digest(str(row['answer']), None)}"
        for at, row in enumerate(_rows()[10:20])
    ]
    return "\n".join(["id,metric,annotator,label,drawn,digest", *lines]) + "\n"


@pytest.fixture
def busy(project: Project) -> Project:
    """Return a project with cases and gates of all kinds, and a saved run to compare with."""
    project.scenario(SCENARIO)
    project.rows(_rows())
    project.file("labels.csv", _labels())
    project.with_broken_metrics(HOOKS)
    project.pytest("-q", "--rag-save-failed=main")
    (project.path / "seen.txt").unlink()
    return project


@pytest.mark.full
def test_everything_at_once_is_the_same_to_the_last_byte(busy: Project) -> None:
    """Slices, weights, groups, people, hooks, a comparison; invalid, skipped, expected, ERRORs."""
    # The saved run stays where both find it.
    kept = f"{(busy.path / '.rageval' / 'qa' / 'baselines' / 'main.json').as_posix()}"
    text = SCENARIO.replace("compare: main", f"compare: {kept}")
    busy.scenario(text.replace("baseline: main", f"baseline: {kept}"))
    whole = busy.pytest("--rag-output=whole", "--junitxml=whole.xml", REPORTS)
    (busy.path / "seen.txt").unlink()
    parts = run_shards(busy, ["1/3", "2/3", "3/3"])
    assert not (busy.path / "seen.txt").exists()
    found = merge(busy, parts[::-1], "--rag-output=merged", "--junitxml=merged.xml", REPORTS)
    one, two = files(busy.path / "whole"), files(busy.path / "merged")
    assert len(one) == 10
    assert one == two
    assert found.ret == whole.ret == pytest.ExitCode.TESTS_FAILED
    assert junit_cases(busy.path / "merged.xml") == junit_cases(busy.path / "whole.xml")
    found.stdout.fnmatch_lines(["seen by the summary: 24"])
    seen = (busy.path / "seen.txt").read_text().split()
    assert sorted(seen) == sorted(row["id"] for row in _rows())
    results = json.loads(two["qa/ID/results.json"])
    assert set(results["agreement"]) == {"em"}
    assert results["comparison"]["metrics"]["f1"]["diff"] == 0.0
    assert {gate["name"] for gate in results["gates"]} > {"least", "by.doc_name.f1.mean"}


@pytest.mark.full
def test_variants_are_compared_once_all_shards_are_there(project: Project) -> None:
    """[E20] The gate over variants, their letters, and a folder for each."""
    rows = [{"id": f"q{at}", "answer": "yes", "references": ["yes"]} for at in range(14)]
    project.rows(rows, "dense.jsonl")
    project.rows([{**row, "answer": "no"} for row in rows], "bm25.jsonl")
    project.scenario(
        "name: qa\ndataset: bm25.jsonl\nmetrics: [em]\ngates: {em: 0.5}\n"
        "variants: {bm25: , dense: {dataset: dense.jsonl}}\nbest: {of: em, at_least: bm25}\n"
    )
    whole = project.pytest("--rag-output=whole", "--junitxml=whole.xml")
    parts = run_shards(project, ["1/2", "2/2"])
    lines = [len(path.read_text().splitlines()) for path in shard_files(*parts)]
    assert lines == [9] * 4  # each variant is spread over all shards
    found = merge(project, parts, "--rag-output=merged", "--junitxml=merged.xml")
    assert files(project.path / "merged") == files(project.path / "whole")
    assert junit_cases(project.path / "merged.xml") == junit_cases(project.path / "whole.xml")
    assert found.ret == whole.ret == pytest.ExitCode.TESTS_FAILED
    assert "gate:best" in found.stdout.str()


TARGET = """
    import pytest

    def ask(question):
        return {"answer": question.upper(), "contexts": ["c"]}

    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_bot(rag_sample, rageval):
        rageval.check(rag_sample.question.upper())

    @pytest.mark.parametrize("k", [1, 2])
    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_twice(rag_sample, rageval, k):
        rageval.check(rag_sample.question.upper())

    def test_ordinary():
        pass
"""
ASKED = """
    name: qa
    dataset: {path: qa.jsonl}
    metrics: [em]
    target: {type: python, use: test_bot:ask}
    gates: {em: 0.5}
"""


@pytest.mark.full
def test_targets_and_test_functions_run_in_shards(project: Project) -> None:
    """Answers are saved at the merge, in the order of the data."""
    project.rows(
        [{"id": f"q{at}", "question": "ab"[at % 2], "references": ["A"]} for at in range(7)]
    )
    project.scenario(ASKED)
    project.file("test_bot.py", TARGET.replace("\n    ", "\n"))
    project.pytest("-q", "--rag-output=whole", "--rag-save-answers=whole.jsonl")
    parts = run_shards(project, ["1/2", "2/2"])
    green(merge(project, parts, "--rag-output=merged", "--rag-save-answers=merged.jsonl"))
    assert files(project.path / "merged") == files(project.path / "whole")
    saved = (project.path / "merged.jsonl").read_bytes()
    assert saved == (project.path / "whole.jsonl").read_bytes()
    assert len(saved.splitlines()) == 7


@pytest.fixture
def ten(project: Project) -> Project:
    """Return a project with ten samples of which nine score 1."""
    rows = [{"id": f"q{at}", "answer": "x", "references": ["x"]} for at in range(9)]
    project.rows([*rows, {"id": "q9", "answer": "y", "references": ["x"]}])
    project.scenario(PLAIN)
    return project


@pytest.mark.full
def test_a_merge_keeps_history_and_saves_a_baseline(ten: Project) -> None:
    """And ``--lf`` after it runs what was red in any shard."""
    ten.scenario(PLAIN + "    thresholds: {em: 0.5}\n")
    found = red(merge(ten, run_shards(ten, ["1/2", "2/2"]), "--rag-save-failed=main", "-rfE"))
    found.stdout.fnmatch_lines(["*baseline main saved*", "FAILED qa.rageval.yaml::q9 - *"])
    assert (ten.path / ".rageval" / "history.csv").exists()
    again = ten.pytest("--lf", "-q")
    again.assert_outcomes(failed=1, skipped=2)  # q9 alone; the gates are undecided


@pytest.mark.full
def test_the_parts_do_not_depend_on_the_order_of_the_session(ten: Project) -> None:
    """A plugin may shuffle differently in each shard."""
    ten.conftest(
        """
        import random

        def pytest_collection_modifyitems(config, items):
            random.Random(config.getoption("rag_shard")).shuffle(items)
        """
    )
    green(merge(ten, run_shards(ten, ["1/3", "2/3", "3/3"])))
    assert [one["id"] for one in ten.results()["samples"]] == [f"q{at}" for at in range(10)]


@pytest.mark.full
def test_selection_comes_before_the_parts(ten: Project) -> None:
    """-k, --deselect and --lf choose from all cases; the gates stay undecided, or fail (strict)."""
    chosen = ("-k", "not q3", "--deselect=qa.rageval.yaml::q0")
    parts = run_shards(ten, ["1/2", "2/2"], *chosen)
    assert [len(path.read_text().splitlines()) - 2 for path in shard_files(*parts)] == [4, 4]
    assert merge(ten, parts).ret == pytest.ExitCode.OK
    assert ten.gates() == {"em.mean": "skipped", "unscored": "skipped"}
    assert merge(ten, parts, "--rag-strict").ret == pytest.ExitCode.TESTS_FAILED
    strict = run_shards(ten, ["1/2", "2/2"], *chosen, "--rag-strict")
    assert merge(ten, strict).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_what_a_wrapper_leaves_out_is_in_no_part(ten: Project) -> None:
    """Whoever selects after all others, as pytest's --lf does, still selects before the parts."""
    ten.conftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(items):
            yield
            items[:] = [one for one in items if one.name in ("q0", "q2", "q4", "q6")]
        """
    )
    parts = run_shards(ten, ["1/2", "2/2"])
    assert [len(path.read_text().splitlines()) - 2 for path in shard_files(*parts)] == [2, 2]


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)])
def test_more_shards_than_cases_are_green(ten: Project, workers: tuple[str, ...]) -> None:
    """An empty shard is no run without tests."""
    result = green(ten.pytest("--rag-shard=12/12", *workers))
    result.stdout.fnmatch_lines(["qa: 0 of 10 cases ran", "written  .rageval/qa/*/shard.jsonl"])


@pytest.mark.full
def test_a_shard_decides_no_gate_and_asks_all(ten: Project) -> None:
    """``stop`` would need the cases of the other shards; --rag-strict is for the merge."""
    text = PLAIN.replace("gates: {em: 0.5}", "gates: {em: 0.99}\n    stop: decided")
    ten.scenario(text + "    target: {type: python, use: bot:ask}\n")
    ten.file("bot.py", "def ask(question):\n    return 'y'\n")
    ten.rows([{"id": f"q{at}", "question": "?", "references": ["x"]} for at in range(10)])
    parts = [ten.path / "a", ten.path / "b"]
    for at, folder in enumerate(parts, start=1):
        args = (f"--rag-shard={at}/2", f"--rag-output={folder}", "--rag-strict")
        assert ten.pytest(*args).ret == pytest.ExitCode.OK
    assert merge(ten, parts).ret == pytest.ExitCode.TESTS_FAILED
    assert ten.results()["counts"]["ran"] == 10


@pytest.mark.full
def test_gates_given_to_the_merge_are_those_of_a_whole_run(busy: Project) -> None:
    """By short names too; a score that such a gate lacks makes its case an ERROR, as in a run."""
    busy.scenario(
        SCENARIO.replace("raises: 0}", "raises: 0.0}")
        .replace("    compare: main\n", "")
        .replace("      no_regression: {baseline: main, metrics: [f1], undecided: pass}\n", "")
    )
    gates = ("--rag-gate=raises=0.5", "--rag-gate=by.doc_name.em=0.1", "--rag-fail-under=0.3")
    busy.pytest("-q", "--rag-output=whole", *gates)
    merge(busy, run_shards(busy, ["1/2", "2/2"]), "--rag-output=merged", "-q", *gates)
    one, two = files(busy.path / "whole"), files(busy.path / "merged")
    assert one == two
    samples = json.loads(two["qa/ID/results.json"])["samples"]
    assert samples[8]["outcome"] == "error"


class TestBesideTheCases:
    @pytest.mark.full
    def test_a_failing_teardown_and_other_tests_are_red_in_the_merge(self, ten: Project) -> None:
        """As in a whole run; each once, though every shard runs what is no case."""
        ten.scenario(PLAIN + "    target: {type: fixture, fixture: bot}\n")
        ten.rows([{"id": f"q{at}", "question": "?", "references": ["x"]} for at in range(4)])
        ten.conftest(
            """
            import pytest

            @pytest.fixture
            def bot(request):
                yield lambda question: "x"
                assert "q3" not in request.node.name, "the bot does not stop"
            """
        )
        ten.file("test_other.py", "def test_other():\n    assert 1 == 2\n")
        whole = ten.pytest("--junitxml=whole.xml")
        found = merge(
            ten, run_shards(ten, ["1/2", "2/2"]), "--junitxml=merged.xml", "--rag-save=main"
        )
        assert found.ret == whole.ret == pytest.ExitCode.TESTS_FAILED
        found.stdout.fnmatch_lines(
            ["*the bot does not stop*", "*assert 1 == 2*", "*NOT saved*gate teardown*"]
        )
        names = [
            (one[1], [part[0] for part in one[3]]) for one in junit_cases(ten.path / "merged.xml")
        ]
        assert sorted(names) == sorted(
            (one[1], [part[0] for part in one[3]]) for one in junit_cases(ten.path / "whole.xml")
        )

    @pytest.mark.full
    def test_a_file_that_cannot_be_collected_is_red_in_the_merge(self, ten: Project) -> None:
        """Else a scenario that no shard could read would be forgotten."""
        ten.file("broken.rageval.yaml", "name: [\n")
        parts = run_shards(ten, ["1/2", "2/2"], "--continue-on-collection-errors")
        found = red(merge(ten, parts))
        found.stdout.fnmatch_lines(["*ERROR collecting broken.rageval.yaml*"])
        assert ten.gates() == {"em.mean": "passed", "unscored": "passed"}


class TestHooks:
    @pytest.mark.full
    def test_those_beside_the_scenario_are_loaded(self, project: Project) -> None:
        project.file("deep/qa.rageval.yaml", PLAIN.replace("\n    ", "\n"))
        project.rows([{"id": "a", "answer": "x", "references": ["x"]}], "deep/qa.jsonl")
        gate = "GateResult('mine', 'failed', None, None, 'never')"
        project.file(
            "deep/conftest.py",
            "from pytest_rageval import GateResult\n"
            f"def pytest_rageval_gates():\n    return [{gate}]\n",
        )
        red(merge(project, run_shards(project, ["1/1"])))
        assert project.gates()["mine"] == "failed"

    @pytest.mark.full
    @pytest.mark.parametrize("hook", ["pytest_rageval_gates", "pytest_rageval_sample_scored"])
    def test_a_plugin_that_the_merge_lacks_is_red(self, ten: Project, hook: str) -> None:
        ten.file("watching.py", f"def {hook}():\n    return []\n")
        ten.pytester.syspathinsert(ten.path)
        found = red(merge(ten, run_shards(ten, ["1/1"], "-p", "watching")))
        assert ten.gates().get(hook) == "failed"
        found.stdout.fnmatch_lines([f"*{hook} of *watching* was not called: the shards had it*"])

    def test_a_plugin_without_a_name_is_one_in_each_process(self, ten: Project) -> None:
        """pluggy names it by its id."""
        ten.conftest(
            """
            class Watching:
                def pytest_rageval_summary(self):
                    return "seen"

            def pytest_configure(config):
                config.pluginmanager.register(Watching())
                config.pluginmanager.register(Watching())
            """
        )
        found = merge(ten, run_shards(ten, ["1/2", "2/2"]))
        found.stdout.no_fnmatch_line("*was not called*")
        assert found.stdout.lines.count("seen") == 2


def test_no_secret_is_in_a_shard(ten: Project) -> None:
    """Neither from headers nor from --rag-set, nor in what is said of a failing case."""
    target = 'target: {type: http, url: "http://127.0.0.1:9/ask", headers: {X-Key: "sesame-1"}'
    # Without tries, else a port that refuses is waited for as a server that starts.
    ten.scenario(PLAIN.replace("gates: {em: 0.5}", f"{target}, retries: 0}}\n"))
    ten.rows([{"id": "a", "question": "?", "references": ["x"]}])
    (path,) = shard_files(*run_shards(ten, ["1/1"], "--rag-set=target.headers.X-Other=sesame-2"))
    assert '"target.headers.X-Other"' in path.read_text("ascii")
    assert "sesame" not in path.read_text("ascii")


def test_a_shard_says_what_was_taken_out_of_answers(
    ten: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A red gate would have no reason, and a green one none to look."""
    monkeypatch.setenv("TENANT", "acme-support")
    with FakeApp(answer=lambda asked: {"answer": "acme-support"}) as app:
        target = f"target: {{type: http, url: '{app.url()}', headers: {{X-T: '${{TENANT}}'}}}}"
        ten.scenario(PLAIN.replace("gates: {em: 0.5}", target))
        ten.rows([{"id": at, "question": at, "references": ["x"]} for at in "abc"])
        found = ten.pytest("--rag-shard=1/2")
    found.stdout.fnmatch_lines(["*may be a secret (${TENANT}): it is shown, and scored, as *"])


@pytest.mark.full
def test_github_gets_one_summary(ten: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the merge; a shard's part of the figures says nothing."""
    summary = ten.path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    parts = run_shards(ten, ["1/2", "2/2"])
    assert not summary.exists()
    merge(ten, parts)
    assert summary.read_text("utf-8").count("0.9000") >= 1


def test_the_environment_names_the_part(ten: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_SHARD", "2/5")
    ten.pytest().stdout.fnmatch_lines(["*rageval: shard 2/5*", "qa: 2 of 10 cases ran"])
    refused = wrong_use(ten.pytest("--rag-merge=.rageval"))
    refused.stderr.fnmatch_lines(["*RAGEVAL_SHARD 2/5: a merge runs no cases; leave it out*"])


@pytest.mark.full
class TestIncomplete:
    """A shard that is missing, or did not end, never lets the merge be green."""

    def test_one_is_missing(self, ten: Project) -> None:
        found = red(merge(ten, run_shards(ten, ["1/3", "3/3"])))
        found.stdout.fnmatch_lines(
            ["gate em.mean *FAILED *7 of 10 samples ran*shard 2/3 is missing"]
        )

    def test_without_gates_too(self, ten: Project) -> None:
        ten.scenario(PLAIN.replace("gates: {em: 0.5}", ""))
        found = red(merge(ten, run_shards(ten, ["1/2"])))
        found.stdout.fnmatch_lines(["*shard 2/2 is missing*"])

    def test_one_stopped_at_its_first_failure(self, ten: Project) -> None:
        ten.scenario(PLAIN + "    thresholds: {em: 0.5}\n")
        ten.rows([{"id": f"q{at}", "answer": "y", "references": ["x"]} for at in range(10)])
        parts = run_shards(ten, ["1/2", "2/2"], "-x")
        found = red(merge(ten, parts))
        found.stdout.fnmatch_lines(["*shard 1/2 is unfinished, 1 of 5 ran*"])

    def test_one_was_interrupted(self, ten: Project) -> None:
        ten.with_broken_metrics()
        ten.scenario(PLAIN.replace("[em]", "[em, interrupted]"))
        ten.rows(
            [
                {"id": f"q{at}", "answer": "interrupt" if at == 3 else "x", "references": ["x"]}
                for at in range(6)
            ]
        )
        found = red(merge(ten, run_shards(ten, ["1/2", "2/2"])))
        found.stdout.fnmatch_lines(["*shard 2/2 is unfinished, 1 of 3 ran*"])

    @pytest.mark.parametrize("args", [(), ("-x",)])
    def test_a_worker_crashed_in_one(self, ten: Project, args: tuple[str, ...]) -> None:
        """The case that was lost is named."""
        ten.with_broken_metrics()
        ten.scenario(PLAIN.replace("[em]", "[em, crashes]"))
        answers = {3: "crash", 4: "y"}
        ten.rows(
            [
                {"id": f"q{at}", "answer": answers.get(at, "x"), "references": ["x"]}
                for at in range(8)
            ]
        )
        parts = [*run_shards(ten, ["1/2"]), *run_shards(ten, ["2/2"], "-n", "2", *args)]
        found = red(merge(ten, parts))
        found.stdout.fnmatch_lines(["*shard 2/2 is unfinished*not run: *q3*"])

    def test_the_newest_of_one_part_counts_even_if_it_is_unfinished(self, ten: Project) -> None:
        """An older whole one may be of another state of the system under test."""
        ten.scenario(PLAIN + "    thresholds: {em: 0.5}\n")
        parts = run_shards(ten, ["1/2", "2/2"])
        older = copied(parts[1], "older")
        ten.pytest("-q", "--rag-shard=2/2", "--rag-output=newer", "--maxfail=1", "-k", "q")
        found = merge(ten, [parts[0], older, ten.path / "newer"])
        (newest,) = shard_files(ten.path / "newer")
        found.stdout.fnmatch_lines([f"shard 2/2: {newest} counts, not {shard_files(older)[0]}"])


@pytest.mark.parametrize("args", [["--collect-only"], ["--setup-plan"], ["--rag-dry-run"]])
def test_what_runs_no_case_writes_no_shard(ten: Project, args: list[str]) -> None:
    ten.pytest("--rag-shard=1/2", *args)
    assert not shard_files(ten.path / ".rageval")


@pytest.mark.full
def test_a_scenario_of_which_nothing_was_selected_stays_undecided(ten: Project) -> None:
    """As in a whole run, and with --rag-strict it fails."""
    ten.scenario(PLAIN.replace("name: qa", "name: other"), "other")
    chosen = ("--deselect=other.rageval.yaml",)
    whole = ten.pytest(*chosen)
    parts = run_shards(ten, ["1/2", "2/2"], *chosen)
    found = merge(ten, parts)
    (line,) = [one for one in whole.outlines if "NOT DECIDED" in one]
    assert line in found.outlines
    assert found.ret == whole.ret == pytest.ExitCode.OK
    assert merge(ten, parts, "--rag-strict").ret == ten.pytest(*chosen, "--rag-strict").ret == 1
    strict = run_shards(ten, ["1/2", "2/2"], *chosen, "--rag-strict")  # typed there alone
    assert merge(ten, strict).ret == 1
    assert ten.pytest("--rag-shard=1/2", "-k", "nothing").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.full
def test_shards_of_which_none_is_whole_are_red(ten: Project) -> None:
    ten.scenario(PLAIN.replace("gates: {em: 0.5}", ""))
    parts = run_shards(ten, ["1/2", "2/2"])
    for path in shard_files(*parts):
        path.write_bytes(path.read_bytes()[:-2])
    for args in ([], ["--collect-only"], ["-p", "no:terminal"], ["-qqq"], ["--setup-plan"]):
        assert merge(ten, parts, *args).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_a_merge_that_a_plugin_ends_is_not_green(ten: Project) -> None:
    """Though the plugin says 0: nothing was judged."""
    parts = run_shards(ten, ["1/1"])
    ten.conftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_collection():
            yield
            pytest.exit("enough", returncode=0)
        """
    )
    assert merge(ten, parts).ret == pytest.ExitCode.TESTS_FAILED
