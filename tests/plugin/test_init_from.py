"""E22: ``--rag-init --rag-from`` leads from a data file to a gate in three commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

CSV = """question,answer,expected,source
How long do refunds take?,five days,five days,refunds.md
Is there a fee?,no fee,no,refunds.md
Who pays?,the shop,the shop,parcels.md
"""


def test_from_a_csv_to_a_gate(project: Project) -> None:
    """What was found, a scenario and a workflow; pytest is green, for bad answers red."""
    data = project.file("answers.csv", CSV)
    result = project.pytest("--rag-init", "--rag-from=answers.csv", "--rag-ci=github")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "3 rows",
            "column    field                 example",
            "expected  references            five days",
            "source    doc_name              refunds.md",
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


def test_gold_alone_is_red_until_a_system_is_named(project: Project) -> None:
    """On the command line, without an edit; from another folder, with the data beside."""
    project.file("data/gold.csv", CSV.replace("answer,", "category,"))
    project.file("my_app.py", "def answer(question):\n    return 'five days'\n")
    result = project.pytest("--rag-init=evals", "--rag-from=data/gold.csv")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["the data have no answers: name your system under 'target' *"])
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*metric 'em' needs 'answer'*name a 'target'*"])
    project.pytester.syspathinsert()
    result = project.pytest("evals/gold.rageval.yaml", "--rag-set", "target=my_app:answer")
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # one of three is right
    assert result.parseoutcomes()["passed"] > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--rag-init", "--rag-from=bare.csv"],
            "*bare.csv: no gold: no column says what is right*",
        ),
        (["--rag-from=bare.csv"], "*--rag-from needs --rag-init: pytest --rag-init --rag-from=*"),
        (["--rag-init", "--rag-from=none.csv"], "*none.csv' is no file; name a file with rows*"),
        (["--rag-init=bare.csv", "--rag-from=bare.csv"], "*bare.csv is no folder*"),
        (["--rag-init", "--rag-from=bare.csv", "--rag-ci=x"], "*--rag-ci=x: expected github"),
        (["--rag-init", "--rag-from=bare.csv", "--rag-set", "name=x"], "*only keys of 'dataset'*"),
        (["--rag-init", "--rag-from=full.csv"], "*full.rageval.yaml exists already*"),
    ],
)
def test_what_cannot_be_done_writes_nothing(
    project: Project, arguments: list[str], message: str
) -> None:
    """Exit status 4 with what to do; what is there stays as it is."""
    project.file("bare.csv", "question,topic\nWho?,a\n")
    project.file("full.csv", CSV)
    project.file("full.rageval.yaml", "mine")
    before = {path: path.read_bytes() for path in project.path.iterdir() if path.is_file()}
    result = project.pytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert {path: path.read_bytes() for path in project.path.iterdir() if path.is_file()} == before


def test_two_columns_of_one_field_are_refused_with_the_option(project: Project) -> None:
    """A27: which one is the gold is for the user to say, also here."""
    project.file("a.csv", "question,answer,reference,expected_output\nq,x,x,y\n")
    result = project.pytest("--rag-init", "--rag-from=a.csv")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*both names of 'references'*Here: --rag-set=dataset.key_map.references=COLUMN*"]
    )
    assert not list(project.path.glob("*.yaml"))
