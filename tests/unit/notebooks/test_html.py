"""[E23] What notebooks show: honest verdicts, nothing that runs, texts as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import compare_saved_runs, evaluate, evaluate_variants
from pytest_rageval.model import GateResult, MetricColumn, SampleResult
from pytest_rageval.notebooks.frames import EvaluationResult
from pytest_rageval.notebooks.html import COLOURS, badge, bar, element, result_html

ROWS: list[dict[str, Any]] = [
    {"id": f"q{at}", "question": f"{at}?", "answer": "x" if at < 3 else "y", "references": ["x"]}
    for at in range(4)
]
SCENARIO: dict[str, Any] = {"name": "bot", "metrics": ["em"], "dataset": ROWS}


class Page(HTMLParser):
    """What a browser would make of the HTML: its elements with attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "|"


def shown(result: Any) -> Page:
    page = Page(result._repr_html_())
    assert page.open == []
    return page


def verdict(page: Page) -> str:
    """Return the first badge, behind the name."""
    return page.text.split("|")[2]


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"gates": {"em": 0.7}}, "passed"),
        ({"gates": {"em": 0.8}}, "FAILED"),
        ({"thresholds": {"em": 0.5}}, "FAILED"),
        ({"thresholds": {"em": 0}}, "passed"),
        ({}, "not judged"),
    ],
)
def test_the_verdict_is_that_of_gates_and_thresholds(keys: dict[str, Any], word: str) -> None:
    """em is 0.75. Where nothing had to be passed, nothing is called passed."""
    result = evaluate({**SCENARIO, **keys})
    assert verdict(shown(result)) == word
    assert f"bot: {word}, " in repr(result)
    colours = {"passed": "good", "FAILED": "bad", "not judged": "plain"}
    assert result._repr_html_().index(COLOURS[colours[word]]) < result._repr_html_().index("<table")


def test_a_run_in_part_is_undecided(result: Any) -> None:
    """Its gates are skipped: neither passed nor failed."""
    made = result([SampleResult("a", 0, scores={"f1": 1.0, "em": 1.0})])
    skipped = (GateResult("f1.mean", "skipped", None, None, "a part"),)
    for complete in (False, True):
        one = EvaluationResult.of(replace(made, gates=skipped, complete=complete))
        assert one._repr_html_().count(badge("undecided", "warn")) == 2  # of the run and the gate
        page = shown(one)
        assert verdict(page) == "undecided"
        assert "|passed|" not in page.text


def test_means_gates_and_the_worst_samples_are_shown() -> None:
    rows = [*ROWS, {"id": "lost", "question": "Where?", "references": ["x"]}]
    text = shown(evaluate({**SCENARIO, "dataset": rows, "gates": {"em": 0.8}})).text
    for expected in (
        "em|0.7500|",  # 3 of 4
        "4/5  1 failed (1 unscored)",
        "em.mean|FAILED|0.7500 < 0.8000",
        "em 0.7500 is below 0.8000",
        "ERROR| |lost| Where?",
        "low| |q3| 3?",  # no threshold: nothing has passed it
        "1 of 5 rows is invalid",
    ):
        assert expected in text
    # What could not be judged comes first, and all of it before the figures.
    assert text.index("lost| Where?") < text.index("q3| 3?") < text.index("em|0.7500|")


def test_samples_tell_why() -> None:
    scenario = {
        **SCENARIO,
        "dataset": [{**ROWS[3], "contexts": ["p", "q", "r", "s", "t"]}],
        "thresholds": {"em": 0.5},
        "diagnose": True,
    }
    text = shown(evaluate(scenario)).text
    for expected in (
        "question|3?",
        "answer|y",
        "references|x",
        "and 2 more",
        "em 0.0000",
        "cause|",
    ):
        assert expected in text
    assert "em 0.0000 < 0.5000" in text


HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e\ud83d"


def test_hostile_texts_are_only_text() -> None:
    """In every place that data or a scenario can fill."""
    rows = [
        {
            "id": HOSTILE + str(at),
            "question": HOSTILE,
            "answer": HOSTILE,
            "references": [HOSTILE + "r"],
            "contexts": [HOSTILE],
            "kind": HOSTILE,
        }
        for at in range(3)
    ]
    scenario = {
        "name": HOSTILE[:-1],
        "metrics": [{"em": {"name": "<b>em</b>"}}],
        "dataset": rows,
        "gates": {"<b>em</b>": 0.5, "by": {"kind": {"<b>em</b>": 0.1}}},
        "thresholds": {"<b>em</b>": 0.5},
    }
    result = evaluate(scenario)
    variants = evaluate_variants(scenario, variants={"<i>a</i>": {}, "<i>b</i>": {}})
    for one in (result, variants):
        page = shown(one)
        known = {"div", "strong", "span", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
        assert set(page.tags) <= known | {"details", "summary"}
        assert page.attributes <= {"style", "scope", "dir", "aria-hidden"}
        one._repr_html_().encode()
        assert "\x1b" not in page.text + repr(one)
        assert "\u202e" not in page.text + repr(one)
        assert "url(" not in one._repr_html_()
    assert HOSTILE[:30] in shown(result).text


def test_chinese_is_shown_as_it_is() -> None:
    rows = [
        {"id": "一", "question": "退款需要多久？", "answer": "五天", "references": ["十个工作日"]}
    ]
    text = shown(evaluate({**SCENARIO, "dataset": rows})).text
    assert "退款需要多久？" in text
    assert "十个工作日" in text


def test_long_texts_and_many_rows_are_cut_and_counted(result: Any) -> None:
    """The page of a large run stays small; what is not shown is said."""
    names = [f"m{at}" for at in range(60)]
    samples = [
        SampleResult(
            f"s{at}",
            at,
            "failed",
            weighted_score=0.0,
            question="q" * 9_999,
            answer="a" * 99_999,
            scores=dict.fromkeys(names, 0.0),
        )
        for at in range(300)
    ]
    text = result_html(result(samples, *map(MetricColumn, names)))
    assert len(text) < 120_000
    assert "and 20 more" in text
    assert all(f">s{at}</strong>" in text for at in range(5))
    assert text.count("<details") == 5


def test_variants_are_shown_with_letters_and_their_own_verdicts() -> None:
    """Twelve of twelve differ: p = 2 ** -11."""
    rows = [{**ROWS[3], "id": str(at)} for at in range(12)]
    better = [{**row, "answer": "x"} for row in rows]
    found = evaluate_variants(
        {**SCENARIO, "dataset": rows, "gates": {"em": 0.5}},
        variants={"old": {}, "new": {"dataset": better}},
    )
    text = shown(found).text
    assert text.index("new|1.0000|") < text.index("old|0.0000|")
    assert "FAILED" in text
    assert "share a letter" in text
    assert repr(found).startswith("<VariantResults bot: new 1.0000 a, old 0.0000 b (by weighted_")


def test_the_gate_best_is_shown() -> None:
    rows = [{**ROWS[3], "id": str(at)} for at in range(12)]
    better = [{**row, "answer": "x"} for row in rows]
    scenario = {**SCENARIO, "dataset": rows, "best": "old"}
    found = evaluate_variants(scenario, variants={"old": {}, "new": {"dataset": better}})
    assert "best|FAILED|" in shown(found).text
    assert repr(found).endswith("; gate best failed>")


def test_runs_side_by_side_show_what_they_know() -> None:
    result = evaluate({**SCENARIO, "gates": {"em": 0.5}})
    found = compare_saved_runs({"a": result, "b": result})
    assert shown(found).text.count("passed") >= 2
    assert isinstance(found.results["a"], EvaluationResult)


def test_a_comparison_with_a_baseline_is_shown() -> None:
    """As docs/how-to/compare-runs.md prints it."""
    result = evaluate(Path(__file__).parents[3] / "examples/retrieval/worse.rageval.yaml")
    text = shown(result).text
    assert "compared with bm25.run|" in text
    assert "ndcg@10|0.6363|0.8825|-0.2462|<0.0001|worse|" in text
    assert "|A this run, B bm25.run, test permutation, alpha 0.05|" in text


def test_why_a_comparison_shows_nothing_and_which_rows_it_lacks_is_said(tmp_path: Path) -> None:
    evaluate({**SCENARIO, "dataset": ROWS[1:]}, write_to=tmp_path)
    main = tmp_path / "bot" / "latest" / "results.json"
    text = shown(evaluate({**SCENARIO, "dataset": ROWS[:3], "compare": {"baseline": str(main)}}))
    assert "|em: 2 pairs cannot reach p < 0.05, whatever the scores; 6 can|" in text.text
    assert f"|1 sample only in this run: q0|1 sample only in {main}: q3|em: 2 pairs" in text.text


def test_remarks_on_many_metrics_are_cut_with_their_number(tmp_path: Path) -> None:
    names = ["em", "acc", "f1", "coverem", "stringem", "rouge-1", "rouge-2", "rouge-l"]
    scenario = {**SCENARIO, "metrics": names, "dataset": ROWS[:2]}
    evaluate(scenario, write_to=tmp_path)
    main = tmp_path / "bot" / "latest" / "results.json"
    text = shown(evaluate({**scenario, "compare": {"baseline": str(main)}})).text
    # Of nine and the rows that it takes, five and the last one.
    assert text.count(": 2 pairs cannot reach") == 5
    assert "|and 4 more remarks|to see a fall of 0.02 in weighted_score" in text


@pytest.mark.parametrize(
    ("value", "scale", "width"),
    [
        (0.5, (0.0, 1.0), "50.0%"),
        (4.0, (0.0, 5.0), "80.0%"),
        (0.0, (-1.0, 1.0), "50.0%"),
        (1.0000001, (0.0, 1.0), "100.0%"),
    ],
)
def test_bars_are_on_the_scale_of_the_metric(
    value: float, scale: tuple[float, float], width: str
) -> None:
    assert f"width:{width};background" in bar(value, (None, None), scale, "good")


def test_a_bar_has_the_interval_as_a_line() -> None:
    """0.25 to 0.75 of 0..1."""
    assert "left:25.0%;width:50.0%" in bar(0.5, (0.25, 0.75), (0.0, 1.0), "good")


@pytest.mark.parametrize("ends", [(None, 0.75), (0.25, None), (None, None)])
def test_an_interval_that_is_open_is_no_line(ends: tuple[float | None, float | None]) -> None:
    assert "left:" not in bar(0.5, ends, (0.0, 1.0), "good")


@pytest.mark.parametrize(
    ("value", "scale"), [(None, (0.0, 1.0)), (3.0, (0.0, float("inf"))), (1.0, (1.0, 1.0))]
)
def test_without_a_value_or_a_scale_there_is_no_bar(
    value: float | None, scale: tuple[float, float]
) -> None:
    assert bar(value, (None, None), scale, "good") == ""


def test_parts_of_elements_are_escaped_once() -> None:
    inner = element("b", "<&")
    assert element("p", inner, "<", title='"') == '<p title="&quot;"><b>&lt;&amp;</b>&lt;</p>'


@pytest.mark.parametrize("colour", COLOURS.values())
def test_colours_can_be_read_on_light_and_dark(colour: str) -> None:
    """WCAG: white text on it 4.5; as a bar on white and on JupyterLab's dark #111 at least 3."""

    def luminance(text: str) -> float:
        parts = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    own = luminance(colour)
    assert 1.05 / (own + 0.05) >= 4.5
    assert (own + 0.05) / (luminance("#111111") + 0.05) >= 3.0


def test_eight_failed_gates_are_said_above_the_figures(result: Any) -> None:
    """The table below has forty of them."""
    gates = [GateResult(f"g{at}", "failed", None, None, "no") for at in range(500)]
    made = result([SampleResult("s", 0, weighted_score=1.0)], MetricColumn("f1"))
    text = result_html(replace(made, gates=gates))
    assert text.count(": no</li>") == 8
    assert ">and 492 more failed gates</li>" in text
