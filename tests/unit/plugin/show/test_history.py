"""E15: --rag-history: the table of the runs, the trend, and what is said where there are none."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from decided_result import decided

from pytest_rageval.model import Counts, MetricSummary, RunInfo, WeightedSummary
from pytest_rageval.plugin.show.history import history_lines, print_history, sparkline
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.results.run_point import ComparedWith, RunPoint
from pytest_rageval.text.printable import cells

COUNTS = Counts(1, 1, 1, 1, 0, 0, 0, 0, 0)


def point(at: int, **means: float | None) -> RunPoint:
    """Return a run with the weighted score and metrics that are named."""
    metrics = {
        name: MetricSummary(mean, mean, 1.0, 1, 0, None, None, None) for name, mean in means.items()
    }
    score = next(iter(means.values()))
    return RunPoint(
        f"s/r{at}", f"r{at}", "s", f"2026-11-{at:02}T09:30:11.5+00:00", True,
        COUNTS, WeightedSummary(score, 1, 0, None, None), metrics,
    )  # fmt: skip


def offset(line: str, text: str) -> int:
    """Return the terminal cell at which ``text`` begins."""
    return cells(line[: line.index(text)])


def test_columns_align_with_chinese_names() -> None:
    """[A11] Such a character takes two cells; a metric that a run lacks is a dash."""
    lines = list(history_lines([point(1, em=0.5), point(2, 准确率=0.25, em=1.0)]))
    head, first, second = lines[2:5]
    assert offset(head, "em ") == offset(second, "1.0000") == first.rindex("0.5000")
    assert offset(head, "准确率") == second.rindex("0.2500") == first.rindex("-")
    trends = lines[6:9]
    assert [line.split()[0] for line in trends] == ["weighted_score", "em", "准确率"]
    # The blocks begin two cells behind the longest name, weighted_score with 14; ▁ is em's 0.5.
    # The weighted score has one more metric, so its line begins anew.
    assert offset(trends[0], "▄|▄") == offset(trends[1], "▁") == 16
    assert offset(trends[2], "▄") == 17


def test_several_baselines_are_named_with_how_their_gates_ended() -> None:
    """F7: one that is not pinned, alone, is what every run has: nothing is said."""
    ended = {"main": (1, "passed"), "v1": (50, "failed"), "v0": (20, None), "new": (1, "skipped")}
    compared = tuple(ComparedWith(name, looks, worst) for name, (looks, worst) in ended.items())  # type: ignore[arg-type]
    runs = [replace(point(1, em=0.5), compared=compared[:count]) for count in (0, 1, 4)]
    none, main, several = list(history_lines(runs))[3:6]
    assert "main" not in none + main
    said = "main passed, v1 (pinned) FAILED, v0 (pinned) without a gate, new undecided"
    assert several.endswith(said)
    (alone,) = list(history_lines([replace(point(1, em=0.5), compared=compared[1:2])]))[3:4]
    assert alone.endswith("v1 (pinned) FAILED")


def test_a_name_of_two_lines_is_one_line() -> None:
    lines = list(history_lines([point(1, **{"a\n::b\x1b[31m": 0.5})]))
    assert "\x1b" not in "".join(lines)
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([0.0, 1.0], "▁█"),
        ([0.7, 0.71, 0.72], "▁▅█"),
        ([0.5], "▄"),
        ([0.5, 0.5], "▄▄"),
        ([None, 0.5, None, 1.0], " ▁ █"),
        ([None], " "),
        ([], ""),
        ([-1.7e308, 1.7e308], "▄▄"),
    ],
)
def test_a_sparkline_has_a_character_for_each_value(values: list[float | None], drawn: str) -> None:
    """From the lowest to the highest of them; a missing one is a gap, and never the lowest."""
    assert sparkline(values) == drawn


def test_a_trend_of_many_runs_is_cut_to_the_newest() -> None:
    """Forty fit beside the figures; the range is of what is drawn."""
    lines = list(history_lines([point(at, em=at / 100) for at in range(1, 61)]))
    (line,) = [line for line in lines if line.startswith("em ")]
    assert len(re.findall("[▁-█]", line)) == 40
    assert "0.2100..0.6000" in line


def test_verdicts_gates_and_remarks_of_a_run() -> None:
    """A partial run is listed, with what it is a part of, and is no part of the trend."""
    good = replace(point(1, em=0.5), gates_passed=2, commit="c0ffee" * 6)
    bad = replace(point(2, em=0.25), gates_failed=1, gates_passed=2, overridden=("a", "b"))
    part = replace(
        point(3, em=1.0),
        complete=False,
        gates_skipped=2,
        counts=replace(COUNTS, samples=2, passed=0),
    )
    lines = list(history_lines([good, bad, part]))
    assert [re.split("  +", line)[2:5] for line in lines[3:6]] == [
        ["passed", "2 passed", "1/1"],
        ["FAILED", "1 of 3 FAILED", "1/1"],
        ["undecided", "2 of 2 undecided", "0/2"],
    ]
    assert lines[3].endswith("  c0ffeec0")
    assert lines[4].endswith("  overridden: a, b")
    assert lines[5].endswith("  partial: 1 of 2 samples")
    assert "weighted_score  █▁  0.2500..0.5000  last -0.2500" in lines


def test_a_whole_run_is_passed_only_if_something_was_decided() -> None:
    """A first run has nothing to be compared with; a scenario without gates has nothing to pass."""
    first = replace(point(1, em=0.5), gates_passed=1, gates_skipped=1)
    lines = list(history_lines([first, replace(point(2, em=0.5), judged=False)]))
    assert [re.split("  +", line)[2:4] for line in lines[3:5]] == [
        ["undecided", "1 of 2 undecided"],
        ["not judged", "-"],
    ]


# Printed


@pytest.fixture
def ran(tmp_path: Path) -> Callable[[str, int], None]:
    """Return a function that writes a run of a scenario on a day of November."""

    def write(name: str, day: int) -> None:
        result = decided({"em": [day / 100]}, {})
        result = replace(result, info=replace(result.info, name=name))
        run = RunInfo(
            f"202611{day:02}T120000-000001",
            f"2026-11-{day:02}T12:00:00.000001+00:00",
            f"2026-11-{day:02}T12:00:09+00:00",
            "0.1.0",
        )
        write_run(result, run, tmp_path, tmp_path / "out")

    return write


def test_one_scenario_can_be_named(
    ran: Callable[[str, int], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All its runs are listed then; without a name the ten newest of each."""
    for day in range(1, 13):
        ran("qa", day)
    ran("双源CT", 1)
    assert print_history(tmp_path / "out", "") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "qa: 12 runs, the newest 10 of them" in lines
    assert "双源CT: 1 run" in lines
    assert print_history(tmp_path / "out", "qa") == 0
    text = capsys.readouterr().out
    assert text.startswith("qa: 12 runs\n")
    assert len(re.findall(r"^202611\d\dT", text, re.MULTILINE)) == 12
    assert "双源CT" not in text


def test_a_name_that_no_run_has_is_wrong_use(
    ran: Callable[[str, int], None], tmp_path: Path
) -> None:
    """[E12] With the nearest guess, what there is and where that is; also where nothing ran."""
    for name in ("support-bot", "qa"):
        ran(name, 1)
    base = tmp_path / "out"
    with pytest.raises(pytest.UsageError) as caught:
        print_history(base, "suport-bot")
    assert str(caught.value) == (
        "--rag-history: unknown scenario 'suport-bot'. Did you mean 'support-bot'? "
        f"Known: qa, support-bot. Runs are in {base}"
    )
    with pytest.raises(pytest.UsageError, match="unknown scenario 'qa'"):
        print_history(tmp_path / "none", "qa")


def test_where_nothing_ran_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the folder that was looked into; it makes none."""
    base = tmp_path / "none"
    assert print_history(base, "") == 0
    assert capsys.readouterr().out == f"no runs in {base} (--rag-output names another folder)\n"
    assert not base.exists()


def test_any_terminal_can_show_it(
    ran: Callable[[str, int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that knows ASCII only gets other characters to draw with, and names in escapes."""
    for day in (1, 2):
        ran("双源CT", day)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    print_history(tmp_path / "out", "")
    out.seek(0)
    lines = out.read().splitlines()
    assert lines[0] == r"\u53cc\u6e90CT: 2 runs"
    assert "weighted_score  _#  0.0100..0.0200  last +0.0100" in lines


def weighed(at: int, score: float, weights: dict[str, float], definition: str = "v1") -> RunPoint:
    """Return a run whose metrics have these weights, and the definition (of em)."""
    found = point(at, em=score)
    one = found.metrics["em"]
    return replace(
        found,
        metrics={name: replace(one, weight=weight) for name, weight in weights.items()},
        definitions=dict.fromkeys(weights, "same") | {"em": definition},
    )


BEFORE = {"em": 1.0, "f1": 1.0}


@pytest.mark.parametrize(
    ("after", "definition", "why"),
    [
        ({"em": 1.0, "f1": 3.0}, "v1", "weight of f1 1 -> 3"),
        ({"em": 1.0}, "v1", "f1 left out"),
        ({"em": 1.0, "f1": 0.0}, "v1", "f1 left out"),
        ({"em": 1.0, "f1": 1.0, "acc": 1.0}, "v1", "acc added"),
        (BEFORE, "v2", "em is defined anew"),
    ],
)
def test_a_trend_begins_anew_where_what_is_measured_changed(
    after: dict[str, float], definition: str, why: str
) -> None:
    """V11: the same answers, and no change is shown between the two measures."""
    points = [weighed(at, 0.2 + at / 100, BEFORE) for at in (1, 2)]
    points += [weighed(at, 0.6 + at / 100, after, definition) for at in (3, 4)]
    lines = list(history_lines(points))
    (score,) = [line for line in lines if line.startswith("weighted_score  ")]
    assert score.endswith("▁█|▁█  0.6300..0.6400  last +0.0100")
    (said,) = [line for line in lines if line.startswith("| ")]
    assert said == f"| not comparable with the runs before r3: what is measured changed ({why})"


def test_a_language_that_an_old_version_did_not_record_is_no_other_measure() -> None:
    old, new = weighed(1, 0.2, BEFORE), weighed(2, 0.6, BEFORE, "v1, asked in zh")
    for doc_weights, is_anew in ((None, False), ({}, True)):
        points = [replace(old, doc_weights=doc_weights), replace(new, doc_weights={})]
        assert any("em is defined anew" in line for line in history_lines(points)) == is_anew
    texts = [f"rubric v1 (levels={{1: 'asked, asked in {name}'}}) by m" for name in ("en", "de")]
    points = [weighed(at, 0.2, BEFORE, text) for at, text in enumerate(texts)]  # a user's words
    assert any("em is defined anew" in line for line in history_lines(points))


def test_every_trend_begins_anew_where_documents_weigh_otherwise() -> None:
    """The same answers: each mean is another one, that of a single metric, too."""
    old, new = weighed(1, 0.2, {"em": 1.0}), weighed(2, 0.6, {"em": 1.0}, "v2")
    points = [replace(old, doc_weights={}), replace(new, doc_weights={"a": 5.0})]
    lines = list(filter(None, history_lines(points)))
    scores = [line for line in lines if line.startswith(("weighted_score  ", "em  "))]
    assert [line.split("  ", 1)[1].strip() for line in scores] == ["▄|▄  0.6000..0.6000"] * 2
    assert lines[-1] == (
        "| not comparable with the runs before r2: what is measured changed "
        "(weights of documents changed, em is defined anew)"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, {"a": 5.0}),  # not on record in a run of an old version
        ({"a": 5.0}, None),
        ({"é.pdf": 2.0, "b": 1.0}, {"e\u0301.pdf": 2.0}),  # what is not named weighs 1
    ],
)
def test_a_trend_goes_on_where_documents_weigh_alike(
    before: dict[str, float] | None, after: dict[str, float] | None
) -> None:
    points = [replace(point(at, em=0.5), doc_weights=one) for at, one in ((1, before), (2, after))]
    assert "not comparable" not in "".join(history_lines(points))


def test_the_first_run_of_a_new_line_has_no_change(tmp_path: Path) -> None:
    """V11: "+0.4436" was shown for it."""
    points = [weighed(1, 0.2, BEFORE), weighed(2, 0.6436, {"em": 1.0})]
    (score,) = [one for one in history_lines(points) if one.startswith("weighted_score  ")]
    assert score.endswith("▄|▄  0.6436..0.6436")
    assert "last" not in score


@pytest.mark.parametrize(
    ("after", "definition"),
    [
        ({"em": 2.0, "f1": 2.0}, "v1"),  # weigh alike
        ({"em": 1.0, "f1": 1.0, "acc": 0.0}, "v1"),  # not in the weighted score
        (BEFORE, ""),  # not on record in a run of an old version
    ],
)
def test_a_trend_goes_on_where_the_same_is_measured(
    after: dict[str, float], definition: str
) -> None:
    """V11: in the line of the weighted score."""
    points = [weighed(1, 0.2, BEFORE), weighed(2, 0.6, after, definition)]
    lines = list(history_lines(points))
    (score,) = [line for line in lines if line.startswith("weighted_score  ")]
    assert score.endswith("▁█  0.2000..0.6000  last +0.4000")


def test_the_line_of_a_metric_goes_on_whatever_it_weighs() -> None:
    """V11: only its own definition matters."""
    points = [weighed(1, 0.2, BEFORE), weighed(2, 0.6, {"em": 5.0})]
    (em,) = [line for line in history_lines(points) if line.startswith("em  ")]
    assert em.endswith("▁█  0.2000..0.6000  last +0.4000")
