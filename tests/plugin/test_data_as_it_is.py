"""A27, W5, W6: data as people have them, in a run: what it says, and that nothing lost is green."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run


@pytest.mark.full
def test_columns_of_other_tools_are_read_and_keep_their_own_names(
    project: Project, run: Run
) -> None:
    """W6: from a table with question, answer, expected and source to gates, without a map."""
    table = "Question,Answer,expected,source\nq?,yes,yes,a.pdf\nr?,no,yes,b.pdf\n"
    project.pytester.path.joinpath("qa.csv").write_text(table, encoding="utf-8")
    project.scenario("name: qa\ndataset: qa.csv\nmetrics: [em]\ngates: {by: {source: {em: 0.5}}}\n")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "gate by.source.em.mean FAILED*1 of 2 values of source: b.pdf: 0.0000 < 0.5000",
            "qa.csv: read 'Question' as question, 'Answer' as answer, 'expected' as references, "
            "'source' as doc_name (dataset.key_map or other_names: false changes that)",
        ]
    )
    assert run("--rag-where", "source=a.pdf").ret == pytest.ExitCode.OK


def test_an_answer_that_the_second_file_lacks_is_an_error(project: Project, run: Run) -> None:
    """W5: and all answers that are there are scored."""
    gold = [{"id": name, "question": "q", "reference": "x"} for name in ("a", "b")]
    project.rows(gold)
    project.pytester.path.joinpath("given.json").write_text(
        json.dumps({"answers": {"a": "x"}, "model": "m"}), encoding="utf-8"
    )
    project.scenario(
        "name: qa\n"
        "dataset: {path: qa.jsonl, key_map: {answer: value}}\n"
        "answers: {path: given.json, rows_at: answers}\n"
        "metrics: [em]\n"
    )
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.outcomes() == {"a": "passed", "b": "error"}
    result.stdout.fnmatch_lines(["*given.json has no row with id 'b'*"])
