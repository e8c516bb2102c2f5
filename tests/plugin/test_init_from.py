"""E22: ``--rag-init --rag-from`` leads from a data file to a gate in three commands."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from tests.plugin.conftest import Project, green, red, wrong_use

ROWS = tomllib.loads(Path(__file__).with_name("init_from.toml").read_text("utf-8"))

CSV = """question,answer,expected,source
How long do refunds take?,five days,five days,refunds.md
Is there a fee?,no fee,no,refunds.md
Who pays?,the shop,the shop,parcels.md
"""


@pytest.mark.full
def test_from_a_csv_to_a_gate(project: Project) -> None:
    """What was found, a scenario and a workflow; pytest is green, for bad answers red."""
    data = project.file("answers.csv", CSV)
    result = green(project.pytest("--rag-init", "--rag-from=answers.csv", "--rag-ci=github"))
    result.stdout.fnmatch_lines(
        [
            "3 rows",
            "field       column    why           cells",
            "references  expected  by its name   texts in all rows, 3 different",
            "  five days | no | the shop",
            "doc_name    source    by its name   texts in all rows, 2 different",
            "rows with what a metric needs, of 3: em 3, f1 3, rouge-l 3",
            "tried on the first 3 rows: em 0.6667, *",
            "wrote answers.rageval.yaml",
            "wrote .github/workflows/rageval.yml",
            "run it:  pytest answers.rageval.yaml",
        ]
    )
    assert not list(project.path.glob("**/.rageval"))  # the trial writes no run
    assert not (project.path / "pytest.ini").exists()
    assert project.pytest("-W", "error").ret == pytest.ExitCode.OK
    data.write_text(
        CSV.replace("five days,five", "ten weeks,five").replace("the shop,the", "you,the")
    )
    assert project.pytest().ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    "name",
    ["answers (1)", "评测", "a+b, c", "v1.2 set", "100% {it's}", "answers[1]", "[1]"],
)
def test_the_command_that_is_told_runs_the_scenario(project: Project, name: str) -> None:
    """Whatever the data are called: pytest takes no brackets in the path of a file."""
    project.file(f"{name}.csv", CSV)
    result = project.pytest("--rag-init", f"--rag-from={name}.csv")
    [command] = [line for line in result.outlines if line.startswith("run it:  pytest ")]
    result = project.pytest(*shlex.split(command)[3:])
    result.assert_outcomes(passed=5)


def test_a_gate_that_will_fail_is_announced(project: Project) -> None:
    """Where the rows that were tried are below it: what to read, and what to set then."""
    low = CSV.replace("five days,five", "ten,five").replace("the shop,the", "you,the")
    project.file("low.csv", low)
    result = project.pytest("--rag-init=evals", "--rag-from=low.csv")
    result.stdout.fnmatch_lines(
        [
            "run it:  pytest evals/low.rageval.yaml",
            "the rows tried are below the gate weighted_score 0.5: read the answers of the",
            "run, then set in evals/low.rageval.yaml what is good enough",
        ]
    )


@pytest.mark.full
def test_gold_alone_is_red_until_its_function_is_written(project: Project) -> None:
    """Other tests run, what to do is said once; a function that there is already needs no edit."""
    project.file("data/gold.csv", CSV.replace("answer,", "category,"))
    project.file("my_app.py", "def answer(question):\n    return 'five days'\n")
    project.file("test_other.py", "def test_other():\n    pass\n")
    result = green(project.pytest("--rag-init=evals", "--rag-from=data/gold.csv"))
    result.stdout.fnmatch_lines(
        [
            "wrote evals/gold.rageval.yaml",
            "wrote evals/gold_target.py",
            "the data have no answers: write in evals/gold_target.py how your system is asked, *",
            "run it:  pytest evals/gold.rageval.yaml",
        ]
    )
    result = red(project.pytest())
    result.assert_outcomes(errors=1, skipped=2, failed=2, passed=1)
    said = "NotImplementedError: write in gold_target.py how your system is asked"
    result.stdout.fnmatch_lines([f"not answered: gold_target:answer: {said}"])
    result.stdout.fnmatch_lines(["gate unscored * FAILED  none of 3 samples was scored*"])
    result.stdout.fnmatch_lines(["  sample-1 and 2 more alike *", f"*why: target: *{said} *"])
    result.stdout.no_fnmatch_line("*failed on 3 of 3*")
    result.stdout.fnmatch_lines(["next  the same command with --rag-set=target=MODULE:FUNCTION"])
    result.stdout.no_fnmatch_line("page  *")
    project.pytester.syspathinsert()
    result = project.pytest("evals/gold.rageval.yaml", "--rag-set", "target=my_app:answer")
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # one of three is right
    result.assert_outcomes(passed=4, failed=1)


def test_what_is_there_is_kept(project: Project) -> None:
    """A function that was written, and a workflow, which gets no step but a message with it."""
    project.file("gold data.csv", CSV.replace("answer,", "category,"))
    project.file("gold_data_target.py", "def answer(question):\n    return 'mine'\n")
    workflow = project.file(".github/workflows/rageval.yml", "mine")
    result = green(project.pytest("--rag-init", "--rag-from=gold data.csv", "--rag-ci=github"))
    result.stdout.fnmatch_lines(
        [
            "wrote gold data.rageval.yaml",
            "kept gold_data_target.py, which is there already",
            "kept .github/workflows/rageval.yml, which is there already",
            "In .github/workflows/rageval.yml, add this step:  - run: 'pytest ''gold data.rag*",
        ]
    )
    assert workflow.read_text() == "mine"
    assert "mine" in (project.path / "gold_data_target.py").read_text()


def test_a_workflow_can_be_added_later(project: Project) -> None:
    """The scenario stays as it is, also where the data alone would be refused."""
    project.file("qa.csv", "question,topic\nWho?,a\n")
    scenario = project.file("qa.rageval.yaml", "name: mine\ntarget: my_app:answer\n")
    result = green(project.pytest("--rag-init", "--rag-from=qa.csv", "--rag-ci=github"))
    result.stdout.fnmatch_lines(
        ["kept qa.rageval.yaml, which is there already", "wrote .github/workflows/rageval.yml"]
    )
    assert scenario.read_text() == "name: mine\ntarget: my_app:answer\n"
    assert "requirements.txt" in (project.path / ".github/workflows/rageval.yml").read_text()


@pytest.mark.full
def test_a_function_that_there_is_needs_no_other(project: Project) -> None:
    """[E22] The scenario names it, and CI needs no option; data with answers ask nobody."""
    project.file("gold.csv", CSV.replace("answer,", "category,"))
    project.file("answers.csv", CSV)
    project.file("my_app.py", "def answer(question):\n    return 'five days, no, the shop'\n")
    named = ("--rag-init", "--rag-set", "target=my_app:answer")
    result = green(project.pytest(*named, "--rag-from=gold.csv"))
    assert result.outlines[-2:] == [
        "wrote gold.rageval.yaml",
        "run it:  pytest gold.rageval.yaml",
    ]
    assert not (project.path / "gold_target.py").exists()
    project.pytester.syspathinsert()
    assert project.pytest("gold.rageval.yaml").ret == pytest.ExitCode.OK
    refused = wrong_use(project.pytest(*named, "--rag-from=answers.csv"))
    refused.stderr.fnmatch_lines(["*no system is asked: set no target*"])


@pytest.mark.full
def test_the_same_command_again_keeps_all(project: Project) -> None:
    """A second file is named where the first one is; there is nothing to delete."""
    arguments = ("--rag-init", "--rag-ci=github")
    for name in ("a.csv", "b.csv"):
        project.file(name, CSV)
    project.pytest(*arguments, "--rag-from=a.csv")
    workflow = project.path / ".github/workflows/rageval.yml"
    again = green(project.pytest(*arguments, "--rag-from=a.csv"))
    assert again.outlines == [
        "kept a.rageval.yaml, which is there already",
        "kept .github/workflows/rageval.yml, which is there already",
    ]
    said = (
        "In .github/workflows/rageval.yml, write b.rageval.yaml into the pytest command, "
        "before --rag-strict"
    )
    for _ in range(2):  # until it is there
        second = green(project.pytest(*arguments, "--rag-from=b.csv"))
        assert said in second.outlines
    workflow.write_text(
        workflow.read_text().replace(" --rag-strict", " b.rageval.yaml --rag-strict")
    )
    assert said not in project.pytest(*arguments, "--rag-from=b.csv").outlines


@pytest.mark.parametrize(
    ("arguments", "message"),
    ROWS["what_cannot_be_done_writes_nothing"],
)
def test_what_cannot_be_done_writes_nothing(
    project: Project, arguments: list[str], message: str
) -> None:
    """Exit status 4 with what to do; what is there stays as it is."""
    project.file("bare.csv", "question,topic\nWho?,a\n")
    project.file("full.csv", CSV)
    project.file("full.rageval.yaml", "mine")
    before = {path: path.read_bytes() for path in project.path.iterdir() if path.is_file()}
    result = wrong_use(project.pytest(*arguments))
    result.stderr.fnmatch_lines([message])
    assert {path: path.read_bytes() for path in project.path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            "问题,标准答案\n多久到账？,五天\n".encode("gb18030"),
            "--rag-set=dataset.encoding=gb18030",
        ),
        (b'[{"question": "Who?", "expected": "the shop"}]', "--rag-set=dataset.format=json"),
    ],
)
def test_a_key_that_the_file_needs_is_named_as_it_is_written_here(
    project: Project, raw: bytes, said: str
) -> None:
    """One way, and it works; there is no scenario yet to write a line into."""
    (project.path / "data.csv").write_bytes(raw)
    result = wrong_use(project.pytest("--rag-init", "--rag-from=data.csv"))
    message = result.stderr.str()
    assert f" write {said}" in message
    assert "set dataset." not in message
    assert "Here:" not in message
    green(project.pytest("--rag-init", "--rag-from=data.csv", said))
