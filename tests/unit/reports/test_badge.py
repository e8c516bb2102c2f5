"""E15, A13: the badge of a run, as any browser and any reader gets it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.model import Estimate, Outcome, RunInfo, SampleResult, Sampling, ScenarioResult
from pytest_rageval.reports.badge import _COLOURS, _LABEL_COLOUR, badge_svg
from pytest_rageval.reports.write_run import write_run

SVG = "{http://www.w3.org/2000/svg}"
RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


@pytest.fixture
def scored(result: Callable[..., ScenarioResult]) -> Callable[..., ScenarioResult]:
    """Return a function that makes a run of one sample with a score, by the name "bot"."""

    def make(score: float | None, name: str = "bot", **info: object) -> ScenarioResult:
        made = result([SampleResult("a", 0, weighted_score=score)], **info)
        return replace(made, info=replace(made.info, name=name))

    return make


def parts(result: ScenarioResult) -> tuple[list[str], str, str]:
    """Return the texts of a badge, its title and the colour behind the figure."""
    root = ET.fromstring(badge_svg(result))
    assert root.tag == f"{SVG}svg"
    texts = [str(text.text) for text in root.iter(f"{SVG}text")]
    title = str(root.findtext(f"{SVG}title"))
    assert (root.get("role"), root.get("aria-label")) == ("img", title)
    rect = root.find(f"{SVG}rect")
    assert rect is not None
    return texts, title, str(rect.get("fill"))


@pytest.mark.parametrize(
    ("score", "band"),
    [(0.8, "good"), (0.79996, "warn"), (0.6, "warn"), (0.5999, "bad"), (0.0, "bad")],
)
def test_the_figure_stands_in_the_colour_of_its_band(
    scored: Callable[..., ScenarioResult], score: float, band: str
) -> None:
    """Good from 0.8, warn from 0.6; 0.79996 is 0.8000 to four decimals and not good yet."""
    texts, title, colour = parts(scored(score))
    assert texts == ["bot", f"{score:.4f}"]
    assert title == f"bot: weighted score {score:.4f} ({band})"
    assert colour == _COLOURS[band]


def test_of_a_sampled_run_it_shows_the_estimate(scored: Callable[..., ScenarioResult]) -> None:
    sample = Sampling(1, 42, "main", 20, frozenset("a"))
    estimate = Estimate(0.8, 0.7, 0.9, 0.6, 1.0, 1, 20)
    made = replace(scored(0.5, sample=sample), estimates={"weighted_score": estimate})
    assert parts(made)[0] == ["bot", "0.8000, sampled 1 of 20"]


def test_the_bands_are_the_scenarios(scored: Callable[..., ScenarioResult]) -> None:
    assert parts(scored(0.4, bands=(0.4, 0.2)))[2] == _COLOURS["good"]


def test_without_a_score_it_says_so(scored: Callable[..., ScenarioResult]) -> None:
    """Grey, and never 0."""
    texts, title, colour = parts(scored(None))
    assert (texts, title) == (["bot", "no score"], "bot: no score")
    assert colour == _COLOURS["no score"]


def test_a_partial_run_says_of_how_many_samples_it_is(
    scored: Callable[..., ScenarioResult],
) -> None:
    partial = replace(scored(0.9, total=40), complete=False)
    texts, title, _ = parts(partial)
    assert texts == ["bot", "0.9000, 1 of 40"]
    assert title == "bot: weighted score 0.9000, 1 of 40 (good)"
    texts, title, _ = parts(replace(scored(None, total=40), complete=False))
    assert (texts[1], title) == ("no score, 1 of 40", "bot: no score, 1 of 40")


@pytest.mark.parametrize(
    ("errors", "outcome", "skipped", "shown", "colour"),
    [
        ({"m": "timeout"}, "error", 0, "1.0000, 1 of 8 scored", "no score"),
        ({}, "passed", 0, "1.0000, 1 of 8 scored", "good"),  # the metric does not apply to them
        ({}, "error", 0, "1.0000, 1 of 8 scored", "no score"),  # no metric gave them a score
        ({}, "error", 7, "1.0000", "good"),
        ({"m": "timeout"}, "error", 6, "1.0000, 1 of 2 scored", "no score"),
    ],
)
def test_rows_without_a_score_are_counted_and_failed_ones_take_the_colour(
    result: Callable[..., ScenarioResult],
    errors: dict[str, str],
    outcome: Outcome,
    skipped: int,
    shown: str,
    colour: str,
) -> None:
    """The mean of the one row that was scored is not that of eight."""
    samples = [SampleResult("a", 0, weighted_score=1.0)]
    for at in range(1, 8):
        found = "skipped" if at <= skipped else outcome
        samples.append(SampleResult(f"s{at}", at, errors=errors, outcome=found))
    texts, _, fill = parts(result(samples))
    assert (texts[1], fill) == (shown, _COLOURS[colour])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("双源CT", "双源CT"),
        ("<script>\"&'", "<script>\"&'"),
        ("a\x00b\ud800c\x1bd", "a\ufffdb\ufffdc\ufffdd"),
        ("two\nlines", "two lines"),
        ("n" * 100, "n" * 39 + "…"),
    ],
)
def test_any_name_is_text_in_it(
    scored: Callable[..., ScenarioResult], name: str, shown: str
) -> None:
    """Nothing of a name is markup, and what XML cannot hold is replaced."""
    texts, title, _ = parts(scored(0.5, name))
    assert texts[0] == shown
    assert title.startswith(f"{shown}: ")


def test_wide_characters_get_more_room(scored: Callable[..., ScenarioResult]) -> None:
    """Two Chinese characters take 22 pixels, two Latin ones 14 and slim ones 8."""

    def width(name: str) -> int:
        return int(str(ET.fromstring(badge_svg(scored(0.5, name))).get("width")))

    assert width("双源") - width("ab") == 22 - 14
    assert width("ab") - width("il") == 14 - 8


def test_nothing_is_fetched_and_nothing_runs(scored: Callable[..., ScenarioResult]) -> None:
    """Where it is shown, no request goes out: GitHub would not let one through either."""
    text = badge_svg(scored(0.5))
    assert text.count("http") == 1
    for word in ("script", "style", "href", "url(", "@import", "on"):
        assert word not in text.replace("http://www.w3.org/2000/svg", "").replace("font", "")


@pytest.mark.parametrize("colour", [*_COLOURS.values(), _LABEL_COLOUR])
def test_white_text_can_be_read_on_every_colour(colour: str) -> None:
    """WCAG 2.1: (1.0 + 0.05) / (L + 0.05) of at least 4.5."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (luminance + 0.05) >= 4.5


def test_it_is_written_on_request_only(
    scored: Callable[..., ScenarioResult], tmp_path: Path
) -> None:
    plain = write_run(scored(0.5), RUN, tmp_path, tmp_path / "out")
    asked = write_run(scored(0.5), RUN, tmp_path, tmp_path / "out", ["badge.svg"])
    assert not (plain / "badge.svg").exists()
    assert (asked / "badge.svg").read_text("utf-8") == badge_svg(scored(0.5))
