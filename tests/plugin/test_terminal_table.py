"""The table after the run: weighted means, intervals, weights, counts, gates, the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# em 1, 0; acc 1, 1. Documents weigh 3 and 1: em (3*1 + 1*0)/4 = 0.75, acc 1.
# Per sample with weights em 1, acc 0.25: (1 + 0.25)/1.25 = 1 and (0 + 0.25)/1.25 = 0.2;
# overall (3*1 + 1*0.2)/4 = 0.8.
WEIGHTED = """
    name: support-bot
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 0.25}
    doc_weights: {heavy.pdf: 3}
    gates: {weighted_score: 0.8, em: 0.9}
    dataset:
      - {id: a, doc_name: heavy.pdf, answer: Paris, references: [Paris]}
      - {id: b, doc_name: light.pdf, answer: in Paris, references: [Paris]}
"""


def test_the_table_has_means_weights_counts_and_gates(project: Project, run: Run) -> None:
    """[A11] In this order, under the scenario's name."""
    project.scenario(WEIGHTED)
    result = run()
    result.stdout.fnmatch_lines(
        [
            "==* rageval: support-bot *==",
            "metric *mean *95 % interval *weight *scored",
            "em *0.7500 *..* 1 * 2/2",
            "acc *1.0000 *..* 0.25 * 2/2",
            "weighted_score *0.8000 *..* 2/2",
            "gate weighted_score *passed *0.8000 >= 0.8000",
            "gate em.mean *FAILED *0.7500 < 0.9000",
            "run *.rageval/support-bot/2*",
        ]
    )


def test_the_folder_that_is_named_is_there(project: Project) -> None:
    """[A11, A12] The last word of the table is the run folder, from the rootdir."""
    project.scenario(WEIGHTED)
    (line,) = (line for line in project.pytest().outlines if line.startswith("run  "))
    assert project.path / line.split()[-1] == project.folder("support-bot")


def test_each_scenario_has_its_table(project: Project) -> None:
    """[A11] In the order of the files, whatever their names."""
    project.scenario(WEIGHTED.replace("support-bot", "zebra"), "a")
    project.scenario(WEIGHTED.replace("support-bot", "aardvark"), "b")
    project.pytest().stdout.fnmatch_lines(["* rageval: zebra *", "* rageval: aardvark *"])


CHINESE = """
    name: 双源CT
    metrics:
      - em
      - acc: {name: 准确率}
      - f1: {name: 这是一个非常非常长的中文指标名称}
    dataset: [{answer: 巴黎, references: [巴黎]}]
"""


def test_chinese_names_align(project: Project) -> None:
    """[A11] Such a character takes two cells: each moves the column one character to the left."""
    project.scenario(CHINESE)
    result = project.pytest()
    lines = {line.split()[0]: line for line in result.outlines if "1.0000 " in line}
    column = lines["em"].index("1.0000")
    assert lines["weighted_score"].index("1.0000") == column
    assert lines["准确率"].index("1.0000") == column - 3
    assert lines["这是一个非常非常长的中文指标名称"].index("1.0000") == column - 16
    result.stdout.fnmatch_lines(["==* rageval: 双源CT *=="])


def test_a_long_name_pushes_all_columns_alike(project: Project) -> None:
    """[A11] The columns start behind the longest name, that of a gate here."""
    name = "n" * 40
    project.scenario(
        f"""
        name: qa
        metrics: [em, {{acc: {{name: {name}}}}}]
        gates: {{{name}: 1}}
        dataset: [{{answer: Paris, references: [Paris]}}]
        """
    )
    lines = project.pytest().outlines
    column = next(line for line in lines if line.startswith("metric ")).index("mean")
    figures = [line for line in lines if line.startswith(("em ", name, "weighted_score "))]
    assert len(figures) == 3
    assert {line.index("1.0000") for line in figures} == {column}
    (gate,) = (line for line in lines if line.startswith(f"gate {name}"))
    assert gate.index("passed") == column


@pytest.mark.parametrize(
    ("args", "shown"),
    [((), True), (("-q",), True), (("-qq",), False), (("--no-summary",), False)],
)
def test_quiet_options_leave_the_table_out(
    project: Project, args: tuple[str, ...], shown: bool
) -> None:
    """[A11] ``-qq`` and ``--no-summary``; the files are written and the gate fails all the same."""
    project.scenario(WEIGHTED)
    result = project.pytest(*args)
    assert ("rageval: support-bot" in result.stdout.str()) is shown
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (project.folder("support-bot") / "results.json").is_file()


@pytest.mark.parametrize(
    ("answers", "escape"),
    [
        # 4/5 = 0.8 is good, 3/5 = 0.6 a warning, 2/5 = 0.4 bad: green, yellow, red.
        (["Paris"] * 4 + ["x"], "\x1b[32m0.8000"),
        (["Paris"] * 3 + ["x"] * 2, "\x1b[33m0.6000"),
        (["Paris"] * 2 + ["x"] * 3, "\x1b[31m0.4000"),
    ],
)
def test_bands_colour_the_means(project: Project, answers: list[str], escape: str) -> None:
    """[A13] From 0.8 good, from 0.6 a warning, by default."""
    project.rows([{"answer": answer, "references": ["Paris"]} for answer in answers])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    assert escape in project.pytest("--color=yes").stdout.str()


def test_bands_are_the_scenarios(project: Project) -> None:
    """[A13] 0.4 is good where ``good: 0.4``."""
    rows = [{"answer": answer, "references": ["Paris"]} for answer in ["Paris"] * 2 + ["x"] * 3]
    project.rows(rows)
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\nbands: {good: 0.4, warn: 0.2}")
    assert "\x1b[32m0.4000" in project.pytest("--color=yes").stdout.str()


@pytest.mark.parametrize(
    ("metric", "escape"),
    [
        # Each mean is 0.9 of what its range allows, upwards or downwards.
        ("rating", "\x1b[32m4.5000"),
        ("noise", "\x1b[31m0.9000"),
        ("quiet", "\x1b[32m0.1000"),
    ],
)
def test_bands_grade_a_metric_as_it_is_weighed(
    project: Project, plain: Run, metric: str, escape: str
) -> None:
    """[A13] Ratings of 0 to 5 by their share, and where lower is better the other way round."""
    project.conftest(
        """
        from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
        from pytest_rageval.metrics.registry import METRIC_REGISTRY
        from pytest_rageval.model import Score

        def make(value):
            class Metric:
                def __init__(self, name, options):
                    self.name = name

                def score(self, sample, context):
                    return Score(self.name, value)

            return Metric

        for name, value, more in (
            ("rating", 4.5, {"range": (0.0, 5.0)}),
            ("noise", 0.9, {"higher_is_better": False}),
            ("quiet", 0.1, {"higher_is_better": False}),
        ):
            if METRIC_REGISTRY.canonical(name) is None:
                info = MetricInfo(name, frozenset(), **more)
                METRIC_REGISTRY.add(MetricDefinition(info, make(value)))
        """
    )
    project.scenario(f"name: qa\nmetrics: [{metric}]\ndataset: [{{answer: x}}]")
    lines = plain("--color=yes").outlines
    (line,) = [line for line in lines if line.startswith(f"{metric} ")]
    assert escape in line


@pytest.mark.parametrize(
    ("bound", "expected"),
    [("0.5", "\x1b[32mpassed "), ("0.9", "\x1b[31mFAILED ")],
)
def test_verdicts_of_gates_are_coloured(project: Project, bound: str, expected: str) -> None:
    """[A11, A13] Green and red, and yellow for one that is not decided."""
    project.scenario(WEIGHTED.replace("em: 0.9", f"em: {bound}"))
    lines = project.pytest("--color=yes").outlines
    (line,) = [line for line in lines if line.startswith("gate em.mean")]
    assert expected in line
    lines = project.pytest("--color=yes", "qa.rageval.yaml::a").outlines
    (line,) = [line for line in lines if line.startswith("gate em.mean")]
    assert "\x1b[33mskipped" in line


def test_chinese_names_of_gates_align(project: Project) -> None:
    """[A11] In one column with the metrics: a gate's verdict begins where the means do."""
    project.scenario(
        """
        name: qa
        metrics: [em, {acc: {name: 这是一个非常非常长的中文指标名称}}]
        gates: {em: 0.5, 这是一个非常非常长的中文指标名称: 0.5, by: {文档: {em: 0.5}}}
        dataset: [{answer: 巴黎, references: [巴黎], 文档: 甲}]
        """
    )
    lines = project.pytest().outlines
    column = next(line for line in lines if line.startswith("metric ")).index("mean")
    gates = [line for line in lines if line.startswith("gate ")]
    assert len(gates) == 4
    for line in [line for line in lines if line.startswith(("em ", "这", "gate "))]:
        name = line[: line.index("passed" if line.startswith("gate ") else "1.0000")]
        wide = sum(character > "\u2e80" for character in name)
        assert len(name) + wide == column, line


def test_the_table_of_a_failing_case_aligns_with_chinese_names(project: Project) -> None:
    """[E1, A11] The scores stand below their heading."""
    project.scenario(
        """
        name: qa
        metrics: [em, {f1: {name: 这是一个长的中文指标名称}}]
        thresholds: {em: 0.5}
        dataset: [{answer: 罗马, references: [巴黎]}]
        """
    )
    lines = project.pytest().outlines
    head = next(at for at, line in enumerate(lines) if "threshold" in line)
    column = lines[head].index("score")
    table = lines[head + 1 : head + 4]
    assert [line.split()[0] for line in table] == [
        "em",
        "这是一个长的中文指标名称",
        "weighted_score",
    ]
    for line in table:
        name = line[: line.index("0.0000")]
        assert len(name) + sum(character > "\u2e80" for character in name) == column, line
