"""[E17] What a shard or a merge is given that it cannot use: one message, and never green."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shard_rows import INFO, write_shard
from sharded import PLAIN, changed, copied, merge, run_shards, shard_files

from tests.plugin.conftest import Project, green, red


def refused(result: pytest.RunResult, *said: str) -> None:
    """Check that pytest ends with a usage error that says this, in one line and without trace."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.stderr.lines if line.startswith("ERROR: ")]
    assert len(lines) == 1
    for part in said:
        assert part in lines[0]
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    "option",
    [
        "--rag-save=main",
        "--rag-save-failed=main",
        "--rag-save-answers=a.jsonl",
        "--rag-report=html",
        "--rag-keep=3",
    ],
)
def test_what_belongs_to_the_merge_is_refused_on_a_shard(four: Project, option: str) -> None:
    name = option.partition("=")[0]
    refused(four.pytest("--rag-shard=1/2", option), f"{name}: ", "give it to pytest --rag-merge")
    assert four.wrote_nothing


@pytest.mark.full
def test_what_the_shards_decided_is_refused_at_the_merge(four: Project) -> None:
    parts = run_shards(four, ["1/2", "2/2"])
    for option in (
        "--rag-threshold=em=0.5",
        "--rag-set=dataset.limit=1",
        "--rag-compare=main",
        "-k=q1",
        "--runxfail",
    ):
        name = option.partition("=")[0]
        refused(
            merge(four, parts, option), f"{name}: a merge judges what ran; give it to the shards"
        )
    refused(
        merge(four, parts, "qa.rageval.yaml"),
        "--rag-merge runs no tests; leave out qa.rageval.yaml",
    )


@pytest.mark.full
def test_a_variable_that_the_shards_had_not_is_refused(
    four: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a threshold would seem to hold that nobody looked at; one of all jobs does hold."""
    parts = run_shards(four, ["1/2", "2/2"])
    monkeypatch.setenv("RAGEVAL_THRESHOLD", "em=0.5")
    refused(merge(four, parts), "RAGEVAL_THRESHOLD em=0.5: the shards ran without it")
    for path in shard_files(*parts):
        path.unlink()
    assert merge(four, run_shards(four, ["1/2", "2/2"])).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_gate_that_cannot_be_made_is_refused_at_the_merge(four: Project) -> None:
    parts = run_shards(four, ["1/1"])
    refused(merge(four, parts, "--rag-gate=bleu=0.5"), "--rag-gate bleu=0.5", "gates.bleu")
    refused(merge(four, parts, "--rag-compare-fail=em:0.1"), "--rag-compare-fail em:0.1")


def test_a_merge_may_share_a_file_of_arguments_with_its_shards(four: Project) -> None:
    four.file("args.txt", "--rag-set=thresholds={em: 0.0}\n--rag-strict\n")
    parts = run_shards(four, ["1/1"], "@args.txt")
    assert merge(four, parts, "@args.txt").ret == pytest.ExitCode.OK
    refused(merge(four, parts, "--rag-limit=2"), "--rag-limit: a merge judges what ran")


def test_a_threshold_of_another_metric_is_none_that_the_shards_had(four: Project) -> None:
    """Though the option is the same: the rows would not be held against it."""
    parts = run_shards(four, ["1/1"], "--rag-threshold=em=0")
    four.file("args.txt", "--rag-threshold=f1=0.9\n")
    refused(merge(four, parts, "@args.txt"), "the shards ran without it; give it to them")
    four.file("args.txt", "--rag-threshold=exact_match=0\n")  # an alias of em
    assert merge(four, parts, "@args.txt").ret == pytest.ExitCode.OK


@pytest.mark.full
@pytest.mark.parametrize(
    ("everywhere", "at_shards"),
    [
        ("--rag-gate=em=0.5", "--rag-gate=em=0.9"),
        ("--rag-gate=exact_match=0.5", "--rag-set=gates={em: 0.9}"),
        ("--rag-fail-under=0.5", "--rag-fail-under=0.9"),
    ],
)
def test_a_gate_of_all_jobs_does_not_replace_one_that_was_typed_at_the_shards(
    four: Project, everywhere: str, at_shards: str
) -> None:
    """Three of four rows are right: the shards were to fail below 0.9."""
    four.rows([{"id": f"q{at}", "answer": "x", "reference": "xxxy"[at]} for at in range(4)])
    four.file("pytest.ini", f"[pytest]\naddopts = '{everywhere}'\n")
    parts = run_shards(four, ["1/2", "2/2"], at_shards)
    said = everywhere.replace("=", " ", 1), "the shards were given another value"
    refused(merge(four, parts), *said)
    typed = at_shards.replace("set=gates={em: 0.9}", "gate=em=0.9")
    assert merge(four, parts, typed).ret == pytest.ExitCode.TESTS_FAILED
    for path in shard_files(*parts):
        path.unlink()
    assert merge(four, run_shards(four, ["1/2", "2/2"])).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_stricter_threshold_or_another_key_of_the_environment_is_refused_at_the_merge(
    four: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laxer one is that of all jobs, which the shards made stricter."""
    set_here = "--rag-set=top_k=3"
    parts = run_shards(four, ["1/2", "2/2"], "--rag-threshold=em=0.5", set_here)
    monkeypatch.setenv("RAGEVAL_THRESHOLD", "em=0.9")
    refused(merge(four, parts), "RAGEVAL_THRESHOLD em=0.9: the shards ran without it")
    monkeypatch.delenv("RAGEVAL_THRESHOLD")
    four.file("args.txt", "--rag-threshold=em=0.9\n")
    refused(merge(four, parts, "@args.txt"), "the shards ran without it")
    four.file("args.txt", "--rag-threshold=em=0.4\n--rag-set=top_k=3\n")
    assert merge(four, parts, "@args.txt").ret == pytest.ExitCode.OK
    four.file("args.txt", "--rag-set=dataset.limit=4\n")
    refused(merge(four, parts, "@args.txt"), "--rag-set dataset.limit=4: the shards ran without it")


@pytest.mark.full
def test_a_gate_that_would_have_let_rows_pass_is_refused_at_the_merge(project: Project) -> None:
    """Without gates each row passes its checks; with one in the shards half of them may fail."""
    project.scenario("name: qa\ndataset: qa.jsonl\nmetrics: [must_include]\n")
    rows = [{"id": f"q{at}", "answer": "x", "must_include": ["x"]} for at in range(4)]
    project.rows(rows)
    late = "--rag-gate=must_include=0.5"
    parts = run_shards(project, ["1/2", "2/2"])
    assert merge(project, parts, late).ret == pytest.ExitCode.OK
    for path in shard_files(*parts):
        path.unlink()
    project.rows([*rows[:3], {**rows[3], "answer": "y"}])
    parts = run_shards(project, ["1/2", "2/2"])
    said = "--rag-gate must_include=0.5: q3 FAILED in its shard (must_include 0.0000 < 1.0000)"
    refused(merge(project, parts, late), said, "give it to the shards")
    assert merge(project, parts).ret == pytest.ExitCode.TESTS_FAILED


def test_an_empty_folder_name(four: Project) -> None:
    """Of a variable that is not set: it would mean all that is below the working directory."""
    run_shards(four, ["1/1"])
    refused(four.pytest("--rag-merge="), "--rag-merge: '': expected a folder, found an empty")


@pytest.mark.parametrize(
    "option", ["--rag-history", "--rag-schema", "--rag-init", "--rag-serve", "--rag-mcp"]
)
def test_another_command_beside_the_merge(four: Project, option: str) -> None:
    """It would exit with 0, and nothing would have been judged."""
    refused(four.pytest("--rag-merge=.", option), f"--rag-merge and {option} are two commands")
    assert four.wrote_nothing


@pytest.mark.full
@pytest.mark.parametrize(
    "place", ["addopts in *pytest.ini", "PYTEST_ADDOPTS", "a file that PYTEST_ADDOPTS names"]
)
def test_a_merge_in_addopts(four: Project, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Every run would merge the same old shards, run no test, and be green."""
    (part,) = run_shards(four, ["1/1"])
    given = f"--rag-merge={part.name}"
    if place == "PYTEST_ADDOPTS":
        monkeypatch.setenv(place, given)
    elif place.startswith("a file"):
        four.file("args.txt", given + "\n")
        monkeypatch.setenv("PYTEST_ADDOPTS", "@args.txt")
    else:
        four.file("pytest.ini", f"[pytest]\naddopts = {given}\n")
    found = four.pytest()
    refused(found, "every run would judge nothing", "write it on the command line")
    found.stderr.fnmatch_lines([f"*--rag-merge: found in {place}: *"])
    assert four.pytest(given).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_whole_run_is_no_shard(four: Project) -> None:
    """Nor is what a merge wrote."""
    four.pytest("-q")
    refused(four.pytest("--rag-merge=.rageval"), "no shard.jsonl in it")
    merge(four, run_shards(four, ["1/1"]), "--rag-output=merged")
    refused(four.pytest("--rag-merge=merged"), "no shard.jsonl in it")


@pytest.mark.full
def test_a_merge_in_the_folder_of_old_runs(four: Project) -> None:
    """Where whole runs, merged ones and shards of one output folder lie side by side."""
    four.pytest("-q")
    for part in ("1/2", "2/2"):
        four.pytest("-q", f"--rag-shard={part}")
    for _ in range(2):
        assert four.pytest("--rag-merge=.rageval", "--rag-keep=2").ret == pytest.ExitCode.OK
    assert len(four.folders()) == 4  # two shards, two merged runs; --rag-keep spares shards
    assert len(shard_files(four.path / ".rageval")) == 2


@pytest.mark.full
def test_another_commit_unless_it_is_allowed(
    four: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SHA", "a" * 40)
    first = run_shards(four, ["1/2"])
    monkeypatch.setenv("GITHUB_SHA", "b" * 40)
    parts = [*first, *run_shards(four, ["2/2"])]
    refused(merge(four, parts), f"of commit {'b' * 12}", "--rag-merge-commits")
    assert merge(four, parts, "--rag-merge-commits").ret == pytest.ExitCode.OK


@pytest.mark.full
def test_a_shard_of_an_earlier_run_of_ci(four: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the place of one that this run has lost."""
    monkeypatch.setenv("GITHUB_RUN_ID", "1")
    old = run_shards(four, ["1/2"])
    monkeypatch.setenv("GITHUB_RUN_ID", "2")
    refused(merge(four, [*old, *run_shards(four, ["2/2"])]), "of CI run 2", "of 1.")


@pytest.mark.full
def test_folders_after_a_blank_that_move_the_rootdir(four: Project) -> None:
    (part,) = run_shards(four, ["1/1"])
    elsewhere = copied(part, "elsewhere")
    (elsewhere / "pytest.ini").write_text("[pytest]\n")
    refused(four.pytest("--rag-merge", str(elsewhere)), f"Write --rag-merge={elsewhere}")
    assert merge(four, [elsewhere]).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_folders_after_a_blank_beside_a_pyproject_without_a_section(four: Project) -> None:
    """pytest takes its folder for the rootdir, as it is."""
    four.file("pyproject.toml", "[project]\nname = 'bot'\nversion = '1'\n")
    (part,) = run_shards(four, ["1/1"])
    assert four.pytest("--rag-merge", part).ret == pytest.ExitCode.OK


@pytest.mark.full
def test_workers_are_not_started_for_a_merge(four: Project) -> None:
    found = green(merge(four, run_shards(four, ["1/2", "2/2"]), "-n", "2", "-x"))
    found.stdout.no_fnmatch_line("*2 workers*")
    found.stdout.no_fnmatch_line("created: *")


def test_many_folders_are_searched(project: Project) -> None:
    """And all that is no shard passed over."""
    for at in range(300):
        (project.path / "many" / f"{at:05}").mkdir(parents=True)
    write_shard(project.path / "many" / "00299", "1/1", info=INFO)
    assert project.pytest("--rag-merge=many").ret == pytest.ExitCode.OK


def test_a_shard_that_cannot_be_written_is_red(four: Project) -> None:
    Path(four.path, "taken").write_text("")
    found = red(four.pytest("--rag-shard=1/2", "--rag-output=taken"))
    found.stdout.fnmatch_lines(["shard NOT written: *"])


DAMAGED = [
    {"nodeid": "qa.rageval.yaml::q1"},
    {"outcome": "green"},
    {"when": 7},
    {"location": ["qa.rageval.yaml"]},
    {"outcome": "skipped"},
    {"longrepr": {"reprcrash": 1, "reprtraceback": 2, "sections": 3, "chain": 4}},
    {"$report_type": "Nothing"},
    {"$report_type": "CollectReport"},
    {"duration": "long"},
]


@pytest.mark.full
def test_damaged_reports(four: Project) -> None:
    """pytest itself would end with an internal error, or show the report of another case."""
    four.scenario(PLAIN + "    thresholds: {em: 0.5}\n")
    four.rows([{"id": "q0", "answer": "y", "references": ["x"]}])
    (part,) = run_shards(four, ["1/1"])
    (path,) = shard_files(part)
    whole = path.read_bytes()
    setup, call, teardown = json.loads(whole.splitlines()[1])["reports"]
    for change in DAMAGED:
        changed(path, 1, reports=[setup, call | change, teardown])
        refused(merge(four, [part]), str(path), "report")
        path.write_bytes(whole)
    # A result, or a worker, that is not there.
    changed(path, 1, reports=[setup, call | {"rageval": "{}", "node": 1}, teardown])
    found = red(merge(four, [part], "-v"))
    found.assert_outcomes(failed=2, passed=1)  # the case, its gate; the gate unscored
