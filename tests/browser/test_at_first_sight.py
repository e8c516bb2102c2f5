"""E27: the first screen says what is wrong: failed gates, the worst answers, what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.model import (
    RANDOM,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparing,
    Corrected,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.reports import page as page_package
from pytest_rageval.reports.page import assemble

Weigh = Callable[..., ScenarioResult]
EXAMPLES = Path(__file__).parents[2] / "examples"
ASSETS = Path(page_package.__path__[0], "assets")


def sample(at: int, score: float | None, **more: Any) -> SampleResult:
    return SampleResult(f"s{at}", at, scores={"f1": score}, **more)


def made(weigh: Weigh, samples: Sequence[SampleResult], **info: Any) -> ScenarioResult:
    """Return the result of a run of f1 alone."""
    n = len(samples)
    info = {"total": n, "selected": n, **info}
    made_info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),), **info)
    return weigh(made_info, samples, {"f1": 1.0}, {})


def texts(page: Any, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


def worst(page: Any) -> list[str]:
    return texts(page, "#worst article h3")


def test_failed_gates_are_sentences_the_worst_group_first(open_report: Any, weigh: Weigh) -> None:
    """By hand: the means are 0.4, and 0.6, 0.3, 0.3 and 0.4 by level; groups in data order."""
    scores = [0.6, 0.4, 0.3, 0.3]
    samples = [
        sample(at, score, metadata={"level": f"level {at}"}) for at, score in enumerate(scores)
    ]
    gates = {"f1": 0.5, "by": {"level": {"f1": 0.45}}, WEIGHTED_SCORE: 0.1}
    page = open_report(made(weigh, samples, gates=gates, metadata_columns=("level",)))
    assert texts(page, ".failures li") == [
        "✕ f1.mean 0.4000 is below 0.5000",
        "✕ by.level.f1.mean 3 of 4 values of level: level 2: 0.3000 is below 0.4500; "
        "level 3: 0.3000 is below 0.4500; level 1: 0.4000 is below 0.4500",
    ]
    page.get_by_role("button", name="中文").click()
    assert texts(page, ".failures li")[0] == "✕ f1.mean 0.4000 低于 0.5000"


def test_an_undecided_gate_is_named(open_report: Any, weigh: Weigh) -> None:
    gates = {"no_regression": {"baseline": "main"}}
    ran = made(weigh, [sample(0, 0.5)], gates=gates, compare=(Comparing("main"),))
    page = open_report(replace(ran, info=replace(ran.info, gates=gates)))
    (line,) = texts(page, ".failures li")
    assert line.startswith("? no_regression undecided; ")


def test_errors_come_first_and_say_why_then_failures_then_the_lowest(
    open_report: Any, weigh: Weigh
) -> None:
    """A perfect answer is not among the worst; what lacks a score stands in the head, too."""
    samples = [
        sample(0, 1.0),
        sample(1, 0.7),
        sample(2, 0.2, outcome="failed"),
        sample(3, None, outcome="error", errors={"f1": "the judge did not answer"}),
        sample(4, 0.1, outcome="failed"),
    ]
    page = open_report(made(weigh, samples, thresholds={"f1": Bound(min=0.5)}))
    assert worst(page) == ["s3", "s4", "s2", "s1"]
    assert "the judge did not answer" in texts(page, "#worst article")[0]
    assert "missed: ≥ 0.5" in texts(page, "#worst article")[1]
    head = texts(page, "#verdict")[0]
    assert "1 of 5 samples could not be judged" in head
    assert "2 of 5 samples failed; missed: f1 ≥ 0.5 (2)" in head
    assert "f1 failed on 1 of 5 samples, for instance: the judge did not answer" in head


def test_words_that_differ_from_the_closest_reference_are_marked(
    open_report: Any, weigh: Weigh
) -> None:
    """The second reference shares four of five words with the answer, the first none."""
    far, near = "ask at the desk", "within 30 days of purchase"
    answer = sample(0, 0.2, question="Until when?", answer="within 14 days of purchase")
    chinese = sample(1, 0.3, answer="保修五年", references=("保修两年",))
    samples = [replace(answer, references=(far, near), contexts=("a", "b")), chinese]
    page = open_report(made(weigh, samples, gates={"f1": 0.9}))
    first = page.locator("#worst article").first
    assert first.locator("mark").all_inner_texts() == ["14", "30"]
    assert "Closest reference of 2" in texts(page, "#worst article")[0]
    assert far not in first.inner_text()
    assert page.locator("#worst article").last.locator("mark").all_inner_texts() == ["五", "两"]
    said = first.locator("mark").first.evaluate(
        "mark => getComputedStyle(mark, '::before').content"
    )
    assert "not in the reference" in said
    first.locator("summary").click()
    first.locator("details li").last.wait_for()
    assert first.locator("details li").all_inner_texts() == ["a", "b"]


def test_a_long_answer_of_other_words_is_not_all_marked(open_report: Any, weigh: Weigh) -> None:
    """Of 40 words the reference has one: what the answer lacks is marked in the reference alone."""
    answer = "days " + " ".join(f"word{at}" for at in range(39))
    samples = [sample(0, 0.1, answer=answer, references=("thirty days",))]
    page = open_report(made(weigh, samples, gates={"f1": 0.9}))
    assert page.locator("#worst mark").all_inner_texts() == ["thirty"]


def test_ten_are_shown_then_all(open_report: Any, weigh: Weigh) -> None:
    """The keyboard stays at the first that is new."""
    page = open_report(made(weigh, [sample(at, at / 20) for at in range(12)], gates={"f1": 0.9}))
    assert worst(page) == [f"s{at}" for at in range(10)]
    more = page.get_by_role("button", name="Show all (12)")
    more.focus()
    page.keyboard.press("Enter")
    assert len(worst(page)) == 12
    assert page.evaluate("document.activeElement.textContent") == "s10"
    page.keyboard.press("Enter")
    assert page.locator("dialog[open] h2").inner_text() == "s10"


def test_a_green_run_is_calm(open_report: Any, weigh: Weigh) -> None:
    samples = [sample(at, at / 20) for at in range(12)]
    page = open_report(made(weigh, samples, gates={"f1": 0.1}))
    assert worst(page) == ["s0", "s1", "s2"]
    assert "Nothing failed" in page.locator("#worst .hint").inner_text()
    assert page.locator(".failures li").count() == 0


def test_other_weights_change_order_and_state(open_report: Any, weigh: Weigh) -> None:
    """em alone turns the order round, and the sample that failed."""
    columns = (MetricColumn("f1"), MetricColumn("em", 0.0))
    samples = [
        SampleResult("a", 0, "failed", scores={"f1": 0.1, "em": 0.9}),
        SampleResult("b", 1, scores={"f1": 0.8, "em": 0.2}),
    ]
    bounds = {WEIGHTED_SCORE: Bound(min=0.5)}
    info = ScenarioInfo("s", "s", "s", columns, thresholds=bounds, total=2, selected=2)
    page = open_report(weigh(info, samples, {"f1": 1.0, "em": 0.0}, {}))
    assert worst(page) == ["a", "b"]
    page.evaluate("rageval.weigh({metrics: {f1: 0, em: 1}, docs: []})")
    page.locator(".changed-bar:not([hidden])").wait_for()
    assert worst(page) == ["b", "a"]
    assert texts(page, "#worst article .cell-head .badge") == ["✕ failed", "✓ passed"]
    assert "1 of 2 samples failed; missed: Weighted score ≥ 0.5 (1)" in texts(page, "#verdict")[0]


def compared(weigh: Weigh) -> ScenarioResult:
    """s0 lost its score, s1 fell by 0.1 and s2 by 0.5, s3 rose, s4 is equal, s5 and s6 are new."""
    then = dict(zip("s0 s1 s2 s3 s4".split(), (0.9, 0.8, 0.7, 0.2, 0.5), strict=True))
    scores = (None, 0.7, 0.2, 0.6, 0.5, 0.0, None)
    samples = [sample(at, score) for at, score in enumerate(scores)]
    for at in (0, 6):
        samples[at] = replace(samples[at], outcome="error", errors={"f1": "no reply"})
    return made(
        weigh,
        samples,
        gates={"no_regression": {"baseline": "main", "mode": "any", "metrics": ["f1"]}},
        compare=(Comparing("main"),),
        baselines={"main": Baseline("main", list(then), {"f1": then})},
    )


def test_what_broke_stands_first_with_old_and_new_score(open_report: Any, weigh: Weigh) -> None:
    page = open_report(compared(weigh))
    assert worst(page) == ["s6", "s0", "s2", "s1"]
    assert texts(page, "#worst .change") == [
        "0.9000 → no score",
        "0.7000 → 0.2000",
        "0.8000 → 0.7000",
    ]
    assert "against main: 3 worse, 1 better, 1 equal" in page.locator("#worst .hint").inner_text()
    page.get_by_role("button", name="Better (1)").click()
    assert worst(page) == ["s3"]
    assert texts(page, "#worst .change") == ["0.2000 → 0.6000"]
    assert page.evaluate("document.activeElement.dataset.view") == "better"
    page.get_by_role("button", name="Lowest").click()
    assert worst(page) == ["s0", "s6", "s5", "s2", "s4", "s3", "s1"]


def test_where_people_labelled_their_mean_leads(open_report: Any, weigh: Weigh) -> None:
    """No huge green figure of the judge; an answer that people call bad comes before its 1.0."""
    samples = [sample(at, score, answer="x") for at, score in enumerate((1.0, 1.0, 0.9))]
    digest = answer_digest("x", None)
    labels = {
        f"s{at}": [Label(level, "mira", RANDOM, digest)] for at, level in ((1, 0.0), (2, 1.0))
    }
    ran = made(weigh, samples, human=(HumanLabels("f1", (0.0, 1.0), "l.csv", labels),))
    corrected = Corrected(0.5, 0.3, 0.7, 1.0, labels=2, worth=2.0)
    page = open_report(replace(ran, corrected={"f1": corrected}))
    lead = texts(page, ".lead")[0]
    assert lead.startswith("f1 by people 0.5000 95 % interval 0.3000 to 0.7000, 2 labelled")
    assert lead.endswith("by the judge 0.9667")
    assert worst(page) == ["s1"]
    assert "People: bad" in texts(page, "#worst article")[0]
    assert "People: 0 (mira); Judge: 1.0000" in texts(page, "#worst article")[0]
    first = page.locator(".card").first
    assert first.get_attribute("data-target") == "f1"
    assert first.locator(".figure").inner_text().split()[0] == "0.5000"
    assert page.locator(f'.card[data-target="{WEIGHTED_SCORE}"] .badge.good').count() == 0


def test_a_band_stands_where_nothing_can_fail(open_report: Any, weigh: Weigh) -> None:
    """A red 0.0 beside a green "passed" is nonsense; with a threshold, passed means something."""
    samples = [sample(0, 0.0), sample(1, 0.9)]
    page = open_report(made(weigh, samples, gates={"f1": 0.9}))
    assert texts(page, "#samples .outcome-cell") == ["✕ bad", "✓ good"]
    assert page.locator("#page .badge.passed").count() == 1  # of the gate unscored
    page.locator("#samples tbody button").first.click()
    assert texts(page, "dialog .badge")[0] == "✕ bad"
    page = open_report(made(weigh, samples[1:], thresholds={"f1": Bound(min=0.5)}))
    assert texts(page, "#samples .outcome-cell") == ["✓ passed"]


def test_an_unlabelled_sample_has_no_null(open_report: Any, weigh: Weigh) -> None:
    """P1"""
    page = open_report(made(weigh, [sample(0, 0.5, answer="x")]))
    page.locator("#samples tbody button").first.click()
    assert "null" not in page.locator("dialog[open]").inner_text()


def test_groups_begin_with_the_field_of_a_gate_and_have_some_rows_each(
    open_report: Any, weigh: Weigh
) -> None:
    """P2: a field with a value for each row is offered only where a gate is by it."""
    samples = [
        sample(at, 0.5, doc_name=f"d{at % 2}", metadata={"n": f"n{at}", "level": f"l{at % 3}"})
        for at in range(12)
    ]
    columns = ("n", "level")
    by_level = {"by": {"level": {"f1": 0.1}}}
    page = open_report(made(weigh, samples, gates=by_level, metadata_columns=columns))
    fields = page.locator("#slices select").first
    assert fields.locator("option").all_inner_texts() == ["level", "doc_name"]
    by_row = {"by": {"n": {"f1": 0.1}}}
    page = open_report(made(weigh, samples, gates=by_row, metadata_columns=columns))
    assert fields.locator("option").all_inner_texts() == ["n", "doc_name", "level"]


def test_documents_are_weighed_where_there_are_some(open_report: Any, weigh: Weigh) -> None:
    page = open_report(made(weigh, [sample(0, 0.5)]))
    assert page.locator("#weights legend").all_inner_texts() == ["Metrics"]
    page = open_report(made(weigh, [sample(0, 0.5, doc_name="d")]))
    assert page.locator("#weights legend").all_inner_texts() == ["Metrics", "Documents"]


def test_a_refusal_is_called_one(open_report: Any, tmp_path: Path) -> None:
    """The head of the example: each gate with what the run says beside its mean."""
    ran = evaluate(EXAMPLES / "answers" / "faulty.rageval.yaml")
    page = open_report(ran)
    refused = page.locator("#worst article", has=page.get_by_role("button", name="over-refused"))
    assert refused.locator(".kind").inner_text() == "refused"
    said = texts(page, ".failures li")
    wanted = [gate.message for gate in ran.gates if gate.outcome == "failed"]
    assert [line.split(" ", 2)[2].replace("is below", "<") for line in said] == wanted
    assert "of 5 answers: 1 refused" in texts(page, ".missing")[0]


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_facts_of_the_run_stand_last(open_report: Any, weigh: Weigh, locale: str) -> None:
    page = open_report(made(weigh, [sample(0, 0.5)]), locale=locale)
    last = page.locator("main > section").last
    assert last.get_attribute("id") == "about"
    assert "20261121T093011-123456" in last.inner_text()
    assert "20261121T093011-123456" not in page.locator("#verdict, header").first.inner_text()


def test_what_is_missing_is_said_in_chinese_too(open_report: Any, weigh: Weigh) -> None:
    """All that `RunView.missing` can say; names, keys and reasons stay."""
    page = open_report(made(weigh, [sample(0, 0.5)]))
    said = {
        "2 of 5 rows are invalid and in no figure": "5 行中有 2 行无效，不计入任何统计",
        "1 of 5 samples is skipped and in no figure": "5 个样本中有 1 个被跳过，不计入任何统计",
        "1 of 5 answers is empty and has the worst score of metrics that ask a model "
        "('empty_answer: null' leaves that to each metric)": (
            "5 个回答中有 1 个为空，在需要询问模型的指标上计为最差分"
            "（'empty_answer: null' 可让各指标自行决定）"
        ),
        "2 of 5 answers are empty and have the worst score of metrics of the answer": (
            "5 个回答中有 2 个为空，在评价回答的指标上计为最差分"
        ),
        "of 9 answers: 2 refused, 1 in part refused, counted as answered, 3 in a language whose "
        "refusals are not known, 1 not classified by the judge": (
            "9 个回答中：拒答 2 个，部分拒答 1 个（计为已回答），所用语言的拒答用语未知 3 个，"
            "裁判未说明是否拒答 1 个"
        ),
        "the judge was given up: faith not asked on 3 of 5 samples": (
            "裁判已停用：5 个样本中有 3 个未评测 faith"
        ),
        "faith failed on 2 of 5 samples": "5 个样本中有 2 个的 faith 出错",
        "faith does not apply to 2 of 5 samples": "faith 不适用于 5 个样本中的 2 个",
        "acc: 0.7500 without 1 of 5 that count as the worst: 拒答": (
            "acc: 不计时为 0.7500，5 个中有 1 个计为最差：拒答"
        ),
        "50 made questions, 0 reviewed by a person; a mean over made questions tells versions "
        "apart; it is no estimate of quality for users": (
            "50 个问题由模型生成，其中 0 个经人工审核；"
            "在生成的问题上，均值可用于区分版本，不能用来估计系统对用户的质量"
        ),
        "50 of 80 questions are made by a model, 12 of them reviewed by a person, 3 rows rejected "
        "(left out)": (
            "80 个问题中有 50 个由模型生成，其中 12 个经人工审核，另有 3 行被人工拒绝（已剔除）"
        ),
        "recall@5 is 0.8123 (0.7012..0.8998) over 48 of 50 made questions, - over 0 others": (
            "recall@5：生成的问题 0.8123 (0.7012..0.8998)（50 个中的 48 个），其他问题 -（0 个）"
        ),
        "means of made and other questions apart: not estimated where a sample is asked": (
            "抽样运行不分别估计生成的问题和其他问题的均值"
        ),
        "mrr 0.5901, 12 % of all results have no judgement: between 0.5901 and 0.6581": (
            "mrr 0.5901，全部结果中有 12% 未经判定：均值在 0.5901 与 0.6581 之间"
        ),
    }
    found = page.evaluate(
        f"""(texts) => {{
            {"".join((ASSETS / name).read_text("utf-8") for name in ("words.js", "run_words.js"))}
            language = "zh";
            return texts.map(missingSaid);
        }}""",
        list(said),
    )
    assert found == list(said.values())


def test_where_a_mean_is_too_high_the_highest_are_the_worst(open_report: Any, weigh: Weigh) -> None:
    """Three are above the bound of 0.2; their high scores are not called good."""
    scores = [0.0, 0.9, 0.1, 1.0, 0.3]
    samples = [sample(at, score) for at, score in enumerate(scores)]
    page = open_report(made(weigh, samples, gates={"f1": {"max": 0.2}}))
    assert texts(page, ".failures li") == ["✕ f1.mean 0.4600 is above 0.2000"]
    assert worst(page) == ["s3", "s1", "s4"]
    assert "good" not in " ".join(texts(page, "#worst .cell-head .badge"))


def test_what_failed_is_never_folded(open_report: Any, weigh: Weigh) -> None:
    """Also behind many metrics that do not apply; answers without a score come first."""
    names = ("f1", "na0", "na1", "na2", "na3", "na4", "dead")
    columns = tuple(MetricColumn(name) for name in names)
    none = dict.fromkeys(names[1:])
    samples = [
        SampleResult(
            f"s{at}",
            at,
            scores={
                "f1": 1.0,
                **(none if at == 1 else dict.fromkeys(names[1:], 1.0)),
                "dead": None,
            },
            reasons=dict.fromkeys(names[1:6], "not this row") if at == 1 else {},
            errors={"dead": "ConnectionError: the judge is away"},
        )
        for at in range(2)
    ]
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, gates={"f1": 0.1}, total=2, selected=2)
    page = open_report(weigh(info, samples, dict.fromkeys(names, 1.0), {}))
    shown = page.locator("#verdict .missing > ul").inner_text()
    assert "dead failed on 2 of 2 samples, for instance: ConnectionError" in shown
    assert worst(page) == ["s0", "s1"]
    assert "ConnectionError: the judge is away" in texts(page, "#worst article")[0]


def test_a_gate_by_a_field_that_no_sample_has_fails(open_report: Any, weigh: Weigh) -> None:
    """One mean of all is not the mean of each document."""
    gates = {"by": {"doc_name": {"f1": 0.5}}}
    page = open_report(made(weigh, [sample(0, 0.9), sample(1, 0.8)], gates=gates))
    assert texts(page, ".failures li") == [
        "✕ by.doc_name.f1.mean no sample has a value of doc_name"
    ]
    assert page.locator(".notice").count() == 0  # the page and Python agree


def test_what_a_gate_tolerates_is_not_said_to_have_passed(open_report: Any, weigh: Weigh) -> None:
    samples = [sample(0, 0.9), sample(1, 0.1, outcome="xfailed")]
    options = {"thresholds": {"f1": Bound(min=0.5)}, "gates": {"pass_rate": 0.5}}
    page = open_report(made(weigh, samples, tolerates_shortfalls=True, **options))
    assert "no gate failed; 1 below their threshold, tolerated" in texts(page, "#verdict")[0]
    assert texts(page, '[data-worst="1"] .badge') == ["≈ tolerated"]


def test_large_data_are_packed_and_read_alike(
    open_report: Any, weigh: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 100,000 samples then fits into 8 MB; the page does the same."""
    samples = [sample(0, 0.9, question="谁？"), sample(1, 0.1, question="<b>Who</b>?")]
    run = made(weigh, samples, gates={"f1": 0.6})
    plain = open_report(run)
    shown = plain.locator("main").inner_text()
    assert plain.locator("#data").text_content().startswith("{")
    monkeypatch.setattr(assemble, "_LARGE", 100)
    packed = open_report(run)
    packed.locator("#worst article").first.wait_for()
    assert packed.locator("#data").text_content().startswith("H4sI")  # gzip, in base64
    assert packed.locator("main").inner_text() == shown
    assert "<b>Who</b>?" in shown
