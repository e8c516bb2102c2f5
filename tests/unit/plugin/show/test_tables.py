"""The tables of the terminal: aligned, coloured, and in 60, 80 and 120 columns nothing wider."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.model import MetricColumn, ScenarioResult
from pytest_rageval.plugin.show.comparison_table import comparison_lines
from pytest_rageval.plugin.show.figures_table import figure_lines, figures_column, gate_lines
from pytest_rageval.plugin.show.table_lines import plain
from pytest_rageval.text.printable import cells

WIDTHS = (60, 80, 120)
N = 12
NOW = [0.25, 0.5, 0.0] * (N // 3)
BEFORE = [1.0] * N
MANY = [f"metric_{number:02}" for number in range(1, 13)]
CHINESE = ["准确率", "这是一个非常非常长的中文指标名称用来测试终端", "f1"]
LONG = ["answer_correctness_of_our_long_name", "em"]
each_width = pytest.mark.parametrize("width", WIDTHS)
each_set = pytest.mark.parametrize("names", [MANY, CHINESE, LONG], ids=["12", "chinese", "long"])


def worse(names: list[str]) -> ScenarioResult:
    """Return a run that is worse than the one before in all metrics, with gates that fail."""
    gates = {
        **dict.fromkeys(names, 0.9),
        "by": {"doc_name": {names[0]: 0.9}},
        "no_regression": {"baseline": "main", "metrics": names},
    }
    scores = dict.fromkeys(names, NOW)
    return decided(scores, gates, before=dict.fromkeys(names, BEFORE))


def shown(result: ScenarioResult, width: int) -> list[str]:
    """Return the lines of all tables."""
    assert result.comparison is not None
    column = figures_column(result, width)
    compared = comparison_lines(result, result.comparison, column, width)
    parts = [*figure_lines(result, width), *compared, *gate_lines(result, width)]
    return [plain(line) for line in parts]


@each_set
@each_width
def test_no_line_is_wider_than_the_terminal(names: list[str], width: int) -> None:
    """[U2] Wide characters count two columns."""
    lines = shown(worse(names), width)
    assert [line for line in lines if cells(line) > width] == []


@each_set
@each_width
def test_nothing_is_cut_off(names: list[str], width: int) -> None:
    """[U2] Each name, mean, interval, verdict and message is there; mean (1/4 + 1/2) / 3 = 1/4."""
    result = worse(names)
    text = " ".join(shown(result, width))
    solid = text.replace(" ", "")
    assert all(name in solid for name in names)
    assert all(gate.message.replace(" ", "") in solid for gate in result.gates)
    assert text.count("0.2500 <") >= len(names)
    assert text.count("-0.7500 ") >= len(names)
    assert text.count("worse") >= len(names)


def test_120_columns_hold_a_comparison_in_one_line() -> None:
    """[U2] The head, a line for each of two metrics, and all figures beside each other."""
    result = worse(["em", "f1"])
    assert result.comparison is not None
    lines = list(comparison_lines(result, result.comparison, 22, 120))
    (em,) = [plain(line) for line in lines if plain(line).startswith("em ")]
    assert em.split()[1:4] == ["0.2500", "1.0000", "-0.7500"]
    assert em.endswith("12    worse")


def test_80_columns_have_a_line_for_the_figures_and_one_for_chance() -> None:
    """[U2] The second line has the interval, both p and n, below their heads."""
    result = worse(["em", "f1"])
    assert result.comparison is not None
    lines = [plain(line) for line in comparison_lines(result, result.comparison, 22, 80)]
    head, second = lines[2], lines[3]
    at = next(at for at, line in enumerate(lines) if line.startswith("em "))
    assert head.index("A_mean") == lines[at].index("0.2500")
    assert head.index("verdict") == lines[at].index("worse")
    assert second.index("p (") == lines[at + 1].index("0.0005", second.index(" p ") + 4)
    assert lines[at + 1].endswith("n 12")


def test_short_names_and_messages_stay_in_one_line_each_at_60_columns() -> None:
    """[U2] The head, two metrics, weighted_score, and two gates with that which is always there."""
    result = decided({"em": NOW, "f1": NOW}, {"em": 0.9, "f1": 0.1})
    lines = [plain(line) for line in (*figure_lines(result, 60), *gate_lines(result, 60))]
    starts = [line.split()[0:2] for line in lines]
    assert [start[0] for start in starts[:4]] == ["metric", "em", "f1", "weighted_score"]
    assert starts[4:6] == [["gate", "em.mean"], ["gate", "f1.mean"]]
    assert lines[1].split() == ["em", "0.2500", *lines[1].split()[2:3], "1", "12/12"]


def test_what_failed_is_counted_where_there_is_room() -> None:
    """[U2] 1 of 12 failed: at 120 columns beside the count, at 60 the count alone."""
    scores = {"name_of_a_metric_that_is_long": [None, *NOW[1:]]}
    result = decided(scores, {}, errors={0: "the judge is down"})
    wide = [plain(line) for line in figure_lines(result, 120)]
    narrow = [plain(line) for line in figure_lines(result, 60)]
    assert wide[1].endswith("11/12  1 failed (1 unscored)")
    assert narrow[2].endswith("11/12")
    assert max(map(cells, narrow)) <= 60


def test_a_name_that_is_wider_than_the_terminal_stays_whole() -> None:
    """[U2] In a line of its own: broken, it could be neither searched nor copied."""
    name = "n" * 70
    lines = [plain(line) for line in figure_lines(decided({name: NOW}, {}), 60)]
    assert lines[1] == name
    assert max(map(cells, (*lines[:1], *lines[2:]))) <= 60


# Columns


def begins(line: str, text: str) -> int:
    """Return the terminal cell at which ``text`` begins."""
    return cells(line[: line.index(text)])


@pytest.mark.parametrize("name", ["准确率", "这是一个非常非常长的中文指标名称", "n" * 40])
def test_figures_and_verdicts_begin_in_one_column(name: str) -> None:
    """[A11] Behind the longest name, be it that of a gate; Chinese characters take two cells."""
    gates = {"em": 0.5, name: 0.5, "by": {"doc_name": {"em": 0.5}}}
    result = decided({"em": [1.0] * 2, name: [1.0] * 2}, gates)
    head, *figures = [plain(line) for line in figure_lines(result, 200)]
    column = begins(head, "mean")
    assert [line.split()[0] for line in figures] == ["em", name, "weighted_score"]
    assert {begins(line, "1.0000") for line in figures} == {column}
    verdicts = [plain(line) for line in gate_lines(result, 200)]
    assert len(verdicts) == 4
    assert {begins(line, "passed") for line in verdicts} == {column}


# Colours


def colour(result: ScenarioResult, metric: str = "em") -> str:
    """Return the colour of a metric's mean."""
    (line,) = [line for line in figure_lines(result, 200) if line[0][0].startswith(f"{metric} ")]
    return line[1][1]


@pytest.mark.parametrize(("right", "band"), [(4, "green"), (3, "yellow"), (2, "red")])
def test_bands_colour_the_means(right: int, band: str) -> None:
    """[A13] By default 4/5 is good, 3/5 a warning, 2/5 bad; ``bands`` says otherwise."""
    result = decided({"em": [1.0] * right + [0.0] * (5 - right)}, {})
    assert colour(result) == colour(result, "weighted_score") == band
    lenient = replace(result, info=replace(result.info, bands=(0.4, 0.2)))
    assert colour(lenient) == "green"
    assert colour(decided({"em": [None]}, {})) == ""


@pytest.mark.parametrize(
    ("score", "column", "band"),
    [
        (4.5, {"ends": (0.0, 5.0)}, "green"),
        (0.9, {"higher_is_better": False}, "red"),
        (0.1, {"higher_is_better": False}, "green"),
    ],
)
def test_bands_grade_a_metric_as_it_is_weighed(
    score: float, column: dict[str, Any], band: str
) -> None:
    """[A13] Ratings of 0 to 5 by their share, and where lower is better the other way round."""
    assert colour(decided({"m": [score]}, {}, columns=[MetricColumn("m", **column)]), "m") == band


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        ("passed", ("passed  ", "green")),
        ("failed", ("FAILED  ", "red")),
        ("skipped", ("skipped ", "yellow")),
    ],
)
def test_verdicts_of_gates_are_coloured(outcome: Any, shown: tuple[str, str]) -> None:
    """[A11, A13] Green and red, and yellow for one that is not decided."""
    result = decided({"em": [1.0]}, {"em": 0.5})
    result = replace(result, gates=[replace(result.gates[0], outcome=outcome)])
    assert next(gate_lines(result, 200))[1] == shown
