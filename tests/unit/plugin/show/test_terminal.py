"""What the terminal shows of a run: aligned, coloured, in 60, 80 and 120 columns nothing wider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from decided_result import decided

from pytest_rageval.model import TARGET, MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.plugin.show.comparison_tables import comparison_lines
from pytest_rageval.plugin.show.terminal import (
    FigureTable,
    Line,
    ScenarioTable,
    overridden_lines,
    plain,
    undecided_lines,
    usage_line,
    verdict_lines,
)
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.text.printable import cells

ROOT = Path("/work")


class Written:
    """Takes what is written in the place of pytest's terminal; ``colours`` by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.colours: dict[str, list[str]] = {}
        self.stats: dict[str, list[Any]] = {}
        self._open = ""

    def ensure_newline(self) -> None:
        assert not self._open

    def section(self, title: str, sep: str) -> None:
        self.lines.append(f"{sep} {title} {sep}")

    def write(self, text: str, **_: bool) -> None:
        self._open += text

    def write_line(self, text: str, **colours: bool) -> None:
        self.lines.append(f"{self._open}{text}".rstrip())
        self.colours[self.lines[-1]] = [colour for colour, is_on in colours.items() if is_on]
        self._open = ""


def table(
    result: ScenarioResult, folder: Path | str = "not written: no", remarks: Sequence[str] = ()
) -> Written:
    """Return what is written of a result in 120 columns."""
    written = Written()
    terminal = cast("pytest.TerminalReporter", written)
    ScenarioTable(result, folder, ROOT, remarks).write(terminal, 120)
    return written


def test_one_group_is_no_plural() -> None:
    """[A11] A single group, of a single sample."""
    result = decided({"em": [1.0]}, {})
    one = replace(result, info=replace(result.info, group_by="doc_name"))
    assert "1 sample in 1 group (doc_name)" in table(one).lines


def test_the_parts_of_the_table_come_in_this_order() -> None:
    """[A11] What is wrong, figures, groups, what is partial, gates, the folder, remarks."""
    result = decided({"em": [1.0, 0.0]}, {"em": 0.9})
    info = replace(result.info, group_by="doc_name", name="support\n::bot")
    partial = replace(result, info=info, complete=False)
    found = table(partial, ROOT / ".rageval/qa/2026", ["last words \x1b[2J"])
    assert [line.split("  ")[0] for line in found.lines] == [
        r"= rageval: support \x3a:bot =",
        "FAILED: 1 of 2 gates failed; 2 of 2 cases passed",
        "",  # the gate
        "",  # the answer in two lines: its id, and why
        "",
        "",  # an empty line
        "metric",
        "em",
        "weighted_score",
        "2 samples in 2 groups (doc_name)",
        "partial run: 2 of 2 samples",
        "gate em.mean",
        "gate unscored",
        "run",
        r"last words \x1b[2J",
    ]
    assert found.lines[-2] == "run  .rageval/qa/2026"


def test_the_test_function_that_ran_a_scenario_is_named() -> None:
    result = decided({"em": [1.0]}, {})
    info = replace(result.info, nodeid="test_bot.py::test_it")
    assert table(replace(result, info=info)).lines[0] == "= rageval: qa (test_bot.py::test_it) ="


def test_a_folder_that_could_not_be_written_is_said(tmp_path: Path) -> None:
    """[A12] In red. A page is named where there is one; outside of the rootdir by its path."""
    result = decided({"em": [1.0]}, {})
    found = table(result, "not written: disk full")
    assert found.lines[-1] == "run  not written: disk full"
    assert found.colours[found.lines[-1]] == ["red"]
    (tmp_path / "report.html").touch()
    assert table(result, tmp_path).lines[-2:] == [
        f"run  {tmp_path}",
        f"page {tmp_path / 'report.html'}",
    ]


def test_what_could_not_be_scored_is_quoted_in_one_line() -> None:
    """[A20] The first reason of each metric, cut."""
    reason = "the judge\nis away " + "x" * 300
    result = decided({"em": [None, 1.0], "f1": [1.0, 1.0]}, {}, errors={0: reason})
    lines = [line for line in table(result).lines if "the judge is away" in line]
    assert lines
    assert all(len(line) <= 201 for line in lines)


@pytest.mark.parametrize(
    ("latencies", "lost", "kept", "line"),
    [
        (
            [0.5, 1.5],
            0,
            0,
            "target http: 2 of 2 answered, median 1.00 s, p95 1.50 s, longest 1.50 s",
        ),
        ([], 2, 0, "target http: 0 of 2 answered"),
        ([None, None], 0, 2, "target http: 2 of 2 answered, 2 of them from the cache"),
        ([None], 0, 0, None),
    ],
)
def test_the_target_says_how_many_it_answered_and_how_fast(
    latencies: list[float | None], lost: int, kept: int, line: str | None
) -> None:
    """Samples that a mark kept from being asked are not expected; lost ones are yellow."""
    samples = [
        SampleResult(f"s{at}", at, answer_latency_s=seconds, is_kept=at < kept)
        for at, seconds in enumerate(latencies)
    ]
    samples += [SampleResult(f"l{at}", at, errors={TARGET: "HTTP 500"}) for at in range(lost)]
    result = decided({"em": [1.0]}, {})
    info = replace(result.info, target="http")
    found = table(replace(result, info=info, samples=samples))
    said = [line for line in found.lines if line.startswith("target ")]
    assert said == ([line] if line else [])
    assert not said or found.colours[said[0]] == (["yellow"] if lost else [])


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (
            {"calls": 1200, "cached": 3, "prompt_tokens": 1000, "completion_tokens": 234},
            "models: 1200 calls, 3 answers from the cache, 1,234 tokens, no price given",
        ),
        (
            {"calls": 0, "cached": 3, "prompt_tokens": None, "completion_tokens": None},
            "models: 0 calls, 3 answers from the cache, 0 tokens, 0.0000 USD",
        ),
    ],
)
def test_what_the_models_cost_is_one_line(usage: dict[str, Any], line: str) -> None:
    """An unknown price is none, and never 0, once a call was made."""
    assert usage_line({**usage, "cost_usd": None}) == line


@pytest.mark.parametrize(
    ("unpriced", "price"),
    [
        ({}, "0.2500 USD"),  # of a shard that does not count them
        ({"unpriced": 0}, "0.2500 USD"),
        ({"unpriced": 1}, "at least 0.2500 USD (1 call without a price)"),
    ],
)
def test_a_part_of_the_cost_is_said_to_be_one(unpriced: dict[str, int], price: str) -> None:
    usage = {"calls": 2, "cached": 0, "prompt_tokens": 3, "completion_tokens": 0, "cost_usd": 0.25}
    assert usage_line({**usage, **unpriced}).endswith(f"3 tokens, {price}")


# The last lines


def test_overridden_values_are_named_with_their_sources() -> None:
    """[G10]"""
    info = decided({"em": [1.0]}, {}).info
    assert overridden_lines(info) == []
    changed = replace(
        info,
        overridden=("gates.em", "dataset.limit"),
        overridden_by=("--rag-gate", "RAGEVAL_LIMIT"),
    )
    assert overridden_lines(changed) == [
        "overridden: gates.em (--rag-gate), dataset.limit (RAGEVAL_LIMIT)"
    ]


def test_gates_that_were_not_decided_are_counted() -> None:
    """[G5, G12] With how much ran, or why a complete run decided none; and scenarios left out."""
    result = decided({"em": [1.0, 1.0]}, {"em": 0.5})
    skipped = [replace(result.gates[0], outcome="skipped", message="deselected"), result.gates[1]]
    complete = replace(result, gates=skipped)
    partial = replace(complete, complete=False, counts=replace(result.counts, ran=1))
    other = replace(result.info, name="b", total=3)
    assert list(undecided_lines([result, partial, complete], [other])) == [
        "NOT DECIDED: 1 of 2 gates of qa, 1 of 2 samples ran; --rag-strict fails such a run",
        "NOT DECIDED: 1 of 2 gates of qa, deselected",
        "NOT DECIDED: b, none of its 3 cases was selected",
    ]


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
    compared = comparison_lines(RunView(result), figures(result, width).column, width)
    parts = [*figures(result, width).lines(), *compared, *gate_lines(result, width)]
    return [plain(line) for line in parts]


def figures(result: ScenarioResult, width: int) -> FigureTable:
    return FigureTable.of(RunView(result), width)


def gate_lines(result: ScenarioResult, width: int) -> Iterator[Line]:
    return verdict_lines(result.gates, figures(result, width).column, width)


@pytest.mark.full
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
    lines = list(comparison_lines(RunView(result), 22, 120))
    (em,) = [plain(line) for line in lines if plain(line).startswith("em ")]
    assert em.split()[1:4] == ["0.2500", "1.0000", "-0.7500"]
    assert em.endswith("12    worse")


def test_80_columns_have_a_line_for_the_figures_and_one_for_chance() -> None:
    """[U2] The second line has the interval, both p and n, below their heads."""
    result = worse(["em", "f1"])
    lines = [plain(line) for line in comparison_lines(RunView(result), 22, 80)]
    head, second = lines[2], lines[3]
    at = next(at for at, line in enumerate(lines) if line.startswith("em "))
    assert head.index("A_mean") == lines[at].index("0.2500")
    assert head.index("verdict") == lines[at].index("worse")
    assert second.index("p (") == lines[at + 1].index("0.0005", second.index(" p ") + 4)
    assert lines[at + 1].endswith("n 12")


def test_short_names_and_messages_stay_in_one_line_each_at_60_columns() -> None:
    """[U2] The head, two metrics, weighted_score, and two gates with that which is always there."""
    result = decided({"em": NOW, "f1": NOW}, {"em": 0.9, "f1": 0.1})
    lines = [plain(line) for line in (*figures(result, 60).lines(), *gate_lines(result, 60))]
    starts = [line.split()[0:2] for line in lines]
    assert [start[0] for start in starts[:4]] == ["metric", "em", "f1", "weighted_score"]
    assert starts[4:6] == [["gate", "em.mean"], ["gate", "f1.mean"]]
    assert lines[1].split() == ["em", "0.2500", *lines[1].split()[2:3], "1", "12/12"]


def test_what_failed_is_counted_where_there_is_room() -> None:
    """[U2] 1 of 12 failed: at 120 columns beside the count, at 60 the count alone."""
    scores = {"name_of_a_metric_that_is_long": [None, *NOW[1:]]}
    result = decided(scores, {}, errors={0: "the judge is down"})
    wide = [plain(line) for line in figures(result, 120).lines()]
    narrow = [plain(line) for line in figures(result, 60).lines()]
    assert wide[1].endswith("11/12  1 failed (1 unscored)")
    assert narrow[2].endswith("11/12")
    assert max(map(cells, narrow)) <= 60


def test_a_name_that_is_wider_than_the_terminal_stays_whole() -> None:
    """[U2] In a line of its own: broken, it could be neither searched nor copied."""
    name = "n" * 70
    lines = [plain(line) for line in figures(decided({name: NOW}, {}), 60).lines()]
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
    head, *means = [plain(line) for line in figures(result, 200).lines()]
    column = begins(head, "mean")
    assert [line.split()[0] for line in means] == ["em", name, "weighted_score"]
    assert {begins(line, "1.0000") for line in means} == {column}
    verdicts = [plain(line) for line in gate_lines(result, 200)]
    assert len(verdicts) == 4
    assert {begins(line, "passed") for line in verdicts} == {column}


# Colours


def colour(result: ScenarioResult, metric: str = "em") -> str:
    """Return the colour of a metric's mean."""
    (line,) = [line for line in figures(result, 200).lines() if line[0][0].startswith(f"{metric} ")]
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
