"""A27, W5, W6: data as people have them, in a run: what it says, and that nothing lost is green."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, red


@pytest.mark.full
def test_columns_of_other_tools_are_read_and_keep_their_own_names(
    project: Project, run: Run
) -> None:
    """W6: from a table with question, answer, expected and source to gates, without a map."""
    table = "Question,Answer,expected,source\nq?,yes,yes,a.pdf\nr?,no,yes,b.pdf\n"
    project.pytester.path.joinpath("qa.csv").write_text(table, encoding="utf-8")
    project.scenario("name: qa\ndataset: qa.csv\nmetrics: [em]\ngates: {by: {source: {em: 0.5}}}\n")
    result = red(run())
    result.stdout.fnmatch_lines(
        [
            "gate by.source.em.mean FAILED*1 of 2 values of source: b.pdf: 0.0000 < 0.5000",
            "qa.csv: read 'Question' as question, 'Answer' as answer, 'expected' as references, "
            "'source' as doc_name (dataset.key_map or other_names: false changes that)",
        ]
    )
    assert run("--rag-where", "source=a.pdf").ret == pytest.ExitCode.OK
