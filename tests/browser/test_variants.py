"""E20, E21: variants side by side: the figures of Python, answers compared, found and read."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from chromium import PHONE, violations

from pytest_rageval.engine.verdict.best import best_verdict
from pytest_rageval.model import (
    CAUSES,
    WEIGHTED_SCORE,
    Bound,
    Contest,
    Diagnosis,
    GateResult,
    LeftOut,
    MetricColumn,
    Outcome,
    Ranking,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.page.pages import variants_page
from pytest_rageval.stats.variant_ranking import rank_variants
from pytest_rageval.stats.wording import cause_change_lines

Weigh = Callable[..., ScenarioResult]

COLUMNS = (
    MetricColumn("f1", 0.7),
    MetricColumn("rubric", 0.3, (0.0, 5.0)),
    MetricColumn("noise", 0.0, higher_is_better=False),
)
WEIGHTS = {column.name: column.weight for column in COLUMNS}
NARROW = {**PHONE, "viewport": {"width": 360, "height": 780}}


def info_of(name: str, n: int, **fields: Any) -> ScenarioInfo:
    return ScenarioInfo(
        "support-bot",
        "bot.rageval.yaml",
        "bot.rageval.yaml",
        **{
            "metrics": COLUMNS,
            "thresholds": {"f1": Bound(min=0.5)},
            "gates": {"weighted_score": 0.5},
            "metadata_columns": ("customer",),
            "variant": name,
            "total": n,
            "selected": n,
            **fields,
        },
    )


def made_runs(weigh: Weigh, n: int, names: str = "uvw", **fields: Any) -> list[ScenarioResult]:
    """Runs of systems, each a little better than the one before, with ties, gaps and errors."""
    runs = []
    for number, name in enumerate(names):
        rng = random.Random(f"{n} {name}")
        samples = [made_sample(rng, at, number) for at in range(n)]
        runs.append(weigh(info_of(name, n, **fields), samples, WEIGHTS, {"b.pdf": 2.0}))
    return runs


def made_sample(rng: random.Random, at: int, number: int) -> SampleResult:
    f1 = min(1.0, rng.choice([0.0, 0.25, rng.random(), 1.0]) + number / 8)
    fate = rng.random()
    scores = {
        "f1": f1,
        "rubric": None
        if fate < 0.1 or at in (5, 7)
        else float(rng.randint(0, 5)),  # does not apply
        "noise": rng.random() / (number + 1),
    }
    errors = {"noise": "boom"} if at == 3 else {}
    ruled_out: LeftOut = "row" if at % 4 == 1 else "label"
    cause = rng.choice(CAUSES) if f1 < 0.5 else None
    words = "refund order battery invoice shipping warranty".split()
    return SampleResult(
        f"q{at}",
        at,
        "failed" if f1 < 0.5 else "passed",
        question=f"How about {words[at % 6]} {at}?",
        answer=" ".join(rng.choices(words, k=8)),
        references=(f"reference {at}",),
        contexts=("Refunds take five days.",),
        doc_name=("a.pdf", "b.pdf", None)[at % 3],
        metadata={"customer": f"c{at % 20}"},
        scores={**scores, **dict.fromkeys(errors)},
        errors=errors,
        left_out={"rubric": ruled_out} if scores["rubric"] is None and at % 2 else {},
        cause=cause,
        cause_reason="the contexts lack it" if cause else "",
    )


def contest_of(runs: Sequence[ScenarioResult], **options: Any) -> Contest:
    return Contest(tuple(run.info.variant for run in runs), **options)


def opened(
    open_report: Any, runs: Sequence[ScenarioResult], contest: Contest | None = None, **options: Any
) -> Any:
    """Open the page of these runs, ranked and judged as ``contest`` has it."""
    contest = contest or contest_of(runs)
    ranking = rank_variants(runs, contest)
    best = best_verdict(ranking, contest) if contest.at_least else None
    return shown(open_report, runs, ranking, best, contest, **options)


def shown(
    open_report: Any,
    runs: Sequence[ScenarioResult],
    ranking: Ranking,
    best: GateResult | None = None,
    contest: Contest | None = None,
    notices: int = 0,
    **options: Any,
) -> Any:
    path = open_report.folder / "variants.html"
    path.write_text("".join(variants_page(runs, ranking, best, contest)), "utf-8")
    page = open_report.windows.window(**options)
    page.goto(path.as_uri())
    page.wait_for_selector("#answers .rows > *")
    # It finds the figures of Python itself: else its header would say so.
    assert page.locator("header .notice").count() == notices + (not ranking.complete)
    return page


def tried(page: Any, *sets: tuple[Mapping[str, float], Mapping[str, float]]) -> list[Any]:
    """Return the rankings that the page finds for weights of metrics and documents."""
    found: list[Any] = page.evaluate(TRY, [[metrics, list(docs.items())] for metrics, docs in sets])
    return found


TRY = "sets => sets.map(([metrics, docs]) => rageval.weigh({metrics, docs}))"


def assert_same(found: Mapping[str, Any], wanted: Ranking) -> None:
    """Means and intervals to 1e-9, ranks and counts to the last one."""
    assert (found["common"], found["total"]) == (wanted.common, wanted.total)
    for ours, theirs in zip(found["variants"], wanted.variants, strict=True):
        assert (ours["name"], ours["n"]) == (theirs.name, theirs.n)
        for key in ("mean", "ci_low", "ci_high"):
            end = getattr(theirs, key)
            assert ours[key] == (None if end is None else pytest.approx(end, abs=1e-9)), key


TRIED = (
    ({"f1": 0.2, "rubric": 1.0, "noise": 0.5}, {"a.pdf": 0.5}),
    ({"f1": 0.0, "rubric": 1.0, "noise": 0.0}, {}),
    ({"f1": 0.0, "rubric": 0.0, "noise": 2.0}, {"b.pdf": 0.0}),
)
WEIGHED = [
    pytest.param(70, "uvw", {}, id="by sample"),
    pytest.param(40, "uvw", {"group_by": "customer"}, id="by group"),
    pytest.param(1, "uv", {}, id="too few", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("n", "names", "fields"), WEIGHED)
def test_weights_tried_give_the_means_of_new_runs(
    open_report: Any, weigh: Weigh, n: int, names: str, fields: dict[str, Any]
) -> None:
    """E20: also where a metric applies in some variants only: it is then left out of all."""
    runs = made_runs(weigh, n, names, **fields)
    page = opened(open_report, runs)
    found = tried(page, *TRIED)
    for ranking, (metrics, docs) in zip(found, TRIED, strict=True):
        again = [weigh(one.info, one.samples, metrics, docs) for one in runs]
        assert_same(ranking, rank_variants(again, contest_of(runs)))
    assert page.evaluate("rageval.states()[0].summaries.f1.weighted_mean") == pytest.approx(
        again[0].metrics["f1"].weighted_mean, abs=1e-9
    )


@pytest.mark.full
@pytest.mark.parametrize("of", ["noise", "rubric"])
def test_one_metric_ranks_whatever_the_weights_of_metrics(
    open_report: Any, weigh: Weigh, of: str
) -> None:
    """E20: noise is better when lower; rubric does not apply to some samples: they are no pairs."""
    runs = made_runs(weigh, 30)
    contest = contest_of(runs, of=of, min_pairs=0.5)
    page = opened(open_report, runs, contest)
    assert f"ranked by {of} alone" in page.locator("#weights .hint").first.inner_text()
    (found,) = tried(page, ({"f1": 9, "rubric": 1, "noise": 1}, {"a.pdf": 3.0}))
    again = [weigh(one.info, one.samples, WEIGHTS, {"a.pdf": 3.0}) for one in runs]
    assert_same(found, rank_variants(again, contest))


def test_the_page_opens_with_the_ranking_of_python(open_report: Any, weigh: Weigh) -> None:
    """E20: the table, the pairs, the gate, causes; other weights leave tests as run."""
    runs = made_runs(weigh, 24, "uvwxyz", diagnose=Diagnosis())
    contest = contest_of(runs, at_least="v", min_pairs=0.5)
    ranking = rank_variants(runs, contest)
    page = opened(open_report, runs, contest)
    rows = page.locator(".ranked tbody tr")
    places = sorted({letter for one in ranking.variants for letter in one.letters})
    assert len(places) > 1
    for row, one in zip(rows.all(), ranking.variants, strict=True):
        assert row.locator("th").inner_text() == one.name
        letters = "".join(letter if letter in one.letters else " " for letter in places)
        assert row.locator(".letters").text_content() == letters  # equal ones below each other
        assert f"{one.mean:.4f}" in row.inner_text()
        assert f"{one.ci_low:.4f} – {one.ci_high:.4f}" in row.inner_text()
        failed = next(run for run in runs if run.info.variant == one.name).counts.failed
        assert row.locator('[data-name="Failed"]').inner_text() == str(failed)
    best = best_verdict(ranking, contest)
    assert best.message in page.locator("#breaks .verdict").inner_text()
    pair = ranking.pairs[0]
    page.locator(".pairs summary").click()
    cells = page.locator(".pairs tbody tr").first
    assert cells.locator('[data-name="p (max-T)"]').inner_text() in (
        f"{pair.p_adjusted:.4f}",
        "<0.0001",
    )
    tested = cells.inner_text()
    said = page.locator(".causes li").all_text_contents()
    assert said == [f"{line}." for line in cause_change_lines(ranking)]
    page.get_by_role("spinbutton", name="Weight of noise", exact=True).fill("40")
    page.locator(".changed-bar:not([hidden])").wait_for()
    metrics = {"f1": 0.7, "rubric": 0.3, "noise": 40.0}
    again = rank_variants(
        [weigh(one.info, one.samples, metrics, {"b.pdf": 2.0}) for one in runs], contest
    )
    assert rows.locator("th").all_inner_texts() == [one.name for one in again.variants]
    own = {one.name: one.letters for one in ranking.variants}
    letters = [text.replace(" ", "") for text in rows.locator(".letters").all_text_contents()]
    assert letters == [own[one.name] for one in again.variants]
    for marked in ("#breaks .verdict", ".ranked thead", ".pairs summary"):
        assert "as run" in page.locator(marked).inner_text()
    assert cells.inner_text() == tested
    page.locator(".changed-bar").get_by_role("button", name="Reset").click()
    assert rows.locator("th").all_inner_texts() == [one.name for one in ranking.variants]
    page.get_by_role("button", name="中文").click()
    assert "更好" in page.locator(".pairs .badge.good").first.inner_text()
    assert "均值和区间（加权分数）只计" in page.locator("#ranking .hint").first.inner_text()


def test_where_nothing_can_be_said_there_are_no_letters_and_a_reason(
    open_report: Any, weigh: Weigh
) -> None:
    """E20: u lacks half of the samples: ranking and gate say so, in Chinese, too."""
    runs = made_runs(weigh, 20)
    samples = runs[0].samples[:10]
    runs[0] = weigh(runs[0].info, samples, WEIGHTS, {"b.pdf": 2.0})
    contest = contest_of(runs, at_least="u")
    page = opened(open_report, runs, contest)
    reason = rank_variants(runs, contest).undecided
    assert reason in page.locator("#breaks .verdict.failed").inner_text()
    assert reason in page.locator("#ranking .notice").first.inner_text()
    assert page.locator(".ranked .letters").count() == 0  # no column of nothing
    assert "Letters" not in page.locator(".ranked thead").inner_text()
    page.get_by_role("button", name="中文").click()
    said = page.locator("#ranking .notice, #breaks .verdict").all_inner_texts()
    assert not [text for text in said if "lacks" in text or "samples" in text], said


SAID = (
    "weights: f1 0.7, em 0.3 in u, but f1 1 in v; rank by one metric: 'best: {of: f1}'",
    "f1: f1 1 in u, but f1 1, normalizer squad in v; to rank them anyway: 'best: {anyway: true}'",
    "group_by: nothing in u, but doc_name in v; compared anyway",
    "2 samples have another question (first: 's1', 'f1' in u, 'em' in v); to rank them anyway: "
    "'best: {anyway: true}'",
    "1 sample has other references (first: 's1', ['f1'] in u, ['em'] in v); compared anyway",
    "1 sample has other reference_ids (first: 's3', 'aa' in u, 'f1' in v); compared anyway",
    "only v ran, and there is nothing to compare it with; run the other variants too",
    "u, w have no em; rank by what all have: weighted_score, f1 ('best: {of: f1}')",
    "no sample is in the data of all of u, v; rows are joined by their id (key_map: {id: ...})",
    "only 6 of 10 samples have f1 in all of v, w, u, and min_pairs: 0.9 asks for 9: u lacks 3, "
    "w lacks 1; mend these, or, if what is left is enough: 'best: {min_pairs: 0}'",
    "only 0 of 10 samples have f1 in all of v, u: no metric applies to them in every variant; "
    "mend these",
    "of 1 sample a metric applies in some variants only, and is left out of all",
    "2 samples of 9 left out: v lacks 1, u lacks 1",
    "on 3 samples of 9 a metric applies in some variants only (an empty answer?), and min_pairs: "
    "0.9 asks for 9 that all metrics measure alike; mend these, rank by one metric ('best: {of: "
    "...}'), or, if what is left is enough: 'best: {min_pairs: 0}'",
    "too many letters would be needed: variants differ within families and not between them; "
    "variants.json has every pair",
    "nothing is significantly better than u (f1 1.0000, 8 common of 9 samples, max-T over 3 pairs, "
    "alpha 0.05); v is behind by 0.8750 (p 0.0156, adjusted 0.0156)",
    "v is significantly better than u: f1 1.0000 against 0.0000, difference +1.0000 "
    "(+1.0000..+1.0000), p 0.0078, adjusted 0.0078 (max-T over 3 pairs), 8 common samples",
    "v is significantly better than u: f1 1.0000 against 0.0000, difference +1.0000 "
    "(+1.0000..+1.0000), p 0.0078 (1 pair), 8 common samples",
    "2 groups cannot reach p < 0.05, whatever the scores; 6 can",
    "5 common samples cannot reach p < 0.05, whatever the scores; 6 can",
    "f1 does not apply to 2 rows",
    "weighted_score does not apply to 1 row",
    "nothing is significantly better than u (f1 0.8750, 8 common samples, 1 pair, alpha 0.05); "
    "v is ahead by 0.1250 (p 1.0000); a difference below 0.3502 may go unseen (power 80 %)",
    "nothing is significantly better than u (f1 1.0000, 8 common samples, max-T over 3 pairs, "
    "alpha 0.05); v is behind by 0.8750 (p 0.0156, max-T over 3 pairs 0.0156)",
    "nothing is significantly better than u (f1 1.0000, 8 common samples, 1 pair, alpha 0.05); "
    "v is equal (p 1.0000)",
    "v is significantly better than u: f1 1.0000 against 0.0000, difference +1.0000 "
    "(+1.0000..+1.0000), p 0.0078, max-T over 3 pairs 0.0078, 8 common samples; w is "
    "significantly better than u: f1 0.8750 against 0.0000, difference +0.8750 "
    "(+0.5794..+1.1706), p 0.0156, max-T over 3 pairs 0.0156, 8 common samples",
    "it cannot be said that nothing is better than u: v did not run; not compared with v, w; "
    "not every sample of every variant ran",
)
KEPT = re.compile(
    r"'best: \{.*?\}'|weighted_score|normalizer squad|group_by|doc_name|reference_ids|key_map: "
    r"\{id: \.\.\.\}|variants\.json|min_pairs|f1|em|weights|aa|s\d|max-T|alpha|按 id 匹配"
)


@pytest.mark.full
def test_what_the_ranking_says_is_in_chinese_too(open_report: Any, weigh: Weigh) -> None:
    """E20: names, keys and values stay; commas are those of Chinese."""
    runs = made_runs(weigh, 4, "uv")
    ranking = replace(rank_variants(runs, contest_of(runs)), remarks=SAID, undecided="")
    page = shown(open_report, runs, ranking)
    page.get_by_role("button", name="中文").click()
    said = page.locator("#ranking .notice").all_inner_texts()
    assert len(said) == len(SAID)
    left = {one: re.findall("[A-Za-z]{2,}", KEPT.sub("", one)) for one in said}
    assert {one: words for one, words in left.items() if words} == {}
    commas = {one: re.findall(r"\w*, |）\s|[,(]\w", re.sub("'.*?'", "", one)) for one in said}
    assert {one: found for one, found in commas.items() if found} == {}


@pytest.mark.full
def test_saved_runs_of_other_metrics_stand_side_by_side(open_report: Any, weigh: Weigh) -> None:
    """E20: without a contest; a metric that one run lacks has no mean there, and can be weighed."""
    first, second = made_runs(weigh, 20, "uv")
    info = replace(second.info, metrics=COLUMNS[:1])
    samples = [replace(one, scores={"f1": one.scores["f1"]}, errors={}) for one in second.samples]
    second = weigh(info, samples, {"f1": 1.0}, {})
    runs = [first, second]
    anyway = contest_of(runs, anyway=True)
    page = shown(open_report, runs, rank_variants(runs, anyway), contest=anyway)
    assert page.locator(".ranked .letters").all_inner_texts() == ["a", "a"]
    contest = contest_of(runs)
    page = shown(open_report, runs, rank_variants(runs, contest))
    row = page.locator('.ranked [data-variant="v"]')
    assert row.locator('[data-name="noise"]').inner_text() == "–"
    assert "different weights" in page.locator("#weights .notice").inner_text()
    weights = {"f1": 1.0, "rubric": 0.0, "noise": 0.0}
    (found,) = tried(page, (weights, {}))
    again = [weigh(one.info, one.samples, weights, {}) for one in runs]
    assert_same(found, rank_variants(again, contest))


# What each breaks


def checked_runs(weigh: Weigh) -> list[ScenarioResult]:
    """Three systems whose answers a check of the row, a judge or an error fails."""
    said = {
        "small": (
            ("It costs $50.", 0.0, 5.0),
            ("退货需要十天。", 0.0, 5.0),
            ("Two years.", 1.0, 5.0),
        ),
        "large": (("It costs $500.", 1.0, 5.0), ("五个工作日。", 1.0, 5.0), ("No idea.", 1.0, 1.0)),
        "dead": (("It costs $500.", 1.0, None), ("五个工作日。", 1.0, None), ("Two.", 1.0, 4.0)),
    }
    columns = (MetricColumn("must_include", 0.7), MetricColumn("rubric", 0.3, (0.0, 5.0)))
    wanted = ("'$500'", "'五个工作日'", "'Two'")
    runs = []
    for name, answers in said.items():
        samples = [
            SampleResult(
                f"q{at}",
                at,
                "error" if judged is None else "failed" if included < 1 or judged < 3 else "passed",
                question=("What does it cost?", "退货需要多久？", "How long?")[at],
                answer=answer,
                scores={"must_include": included, "rubric": judged},
                reasons={
                    **(
                        {}
                        if included
                        else {"must_include": f"1 of 1 failed: icontains {wanted[at]}"}
                    ),
                    **({"rubric": "It does not answer."} if judged == 1.0 else {}),
                },
                errors={} if judged else {"rubric": "no answer in time (5 attempts)\nhttp://judge"},
            )
            for at, (answer, included, judged) in enumerate(answers)
        ]
        info = info_of(
            name,
            3,
            metrics=columns,
            thresholds={"must_include": Bound(min=1.0), "rubric": Bound(min=3.0)},
            gates={"must_include": 0.9, "rubric": 3.0},
            metadata_columns=(),
        )
        if name == "dead":
            info = replace(info, warnings=("the judge did not pass its control rows",))
        runs.append(weigh(info, samples, {"must_include": 0.7, "rubric": 0.3}, {}))
    return runs


def broken_by(page: Any) -> dict[str, list[str]]:
    """Return by variant its verdict and the sentences in the head."""
    script = """all => all.map((one) => [one.dataset.breaks,
        [one.querySelector(".badge"), ...one.querySelectorAll("div > p")]
            .map((part) => part.innerText)])"""
    return dict(page.locator(".breaks li").evaluate_all(script))


def test_the_head_says_what_each_variant_breaks(open_report: Any, weigh: Weigh) -> None:
    """P3: failed gates, how many answers fail by which check, and what the judge failed on."""
    runs = checked_runs(weigh)
    contest = contest_of(runs, at_least="small")
    page = opened(open_report, runs, contest, notices=1)
    assert broken_by(page) == {
        "small": [
            "✕ failed",
            "Gate must_include.mean: 0.3333 is below 0.9000",
            "2 of 3 answers fail: must_include 2",
        ],
        "large": ["✕ failed", "1 of 3 answers fail: rubric 1"],
        "dead": [
            "✕ failed",
            "Gate unscored: 0.6667 is above 0.0000 (2 of 3 samples: rubric missing on 2); too many "
            "to allow: look at what rubric failed for",
            "2 of 3 answers could not be judged",
            "rubric failed on 2 of 3 answers, for instance: no answer in time (5 attempts)",
        ],
    }
    assert (
        best_verdict(rank_variants(runs, contest), contest).message
        in page.locator("header .verdict.failed").inner_text()
    )
    notice = "dead: the judge did not pass its control rows"
    assert page.locator("header .notice").all_inner_texts() == [notice]
    first = page.locator("main > section").first
    assert first.get_attribute("id") == "answers"  # before ranking and weights
    page.get_by_role("button", name="1 of 3 answers fail").click()
    assert rows_of(page) == ["q2"]
    assert chosen(page, "A").input_value() == "1"
    assert not chosen(page, "B").is_visible()
    page.get_by_role("button", name="中文").click()
    assert broken_by(page)["small"][1:] == [
        "门禁 must_include.mean：0.3333 低于 0.9000",
        "3 个回答中有 2 个未通过：must_include 2",
    ]


@pytest.mark.full
def test_a_cell_names_the_checks_that_failed(open_report: Any, weigh: Weigh) -> None:
    """P3: the threshold with the figure, what the check or the judge says, or the error."""
    page = opened(open_report, checked_runs(weigh), notices=1)

    def checks(row: int, name: str) -> list[str]:
        cell = page.locator(f'[data-row="{row}"] [data-column="{name}"]')
        said = cell.locator(".checks li").all_inner_texts()
        return [re.sub(r"\n+", " | ", text) for text in said]

    below = "must_include 0.0000 < 1.0000 | 1 of 1 failed: icontains "
    assert checks(0, "small") == [f"{below}'$500'"]
    assert checks(1, "small") == [f"{below}'五个工作日'"]
    assert checks(2, "large") == ["rubric 1.0000 < 3.0000 | It does not answer."]
    (error,) = checks(0, "dead")
    assert error.startswith("rubric error | no answer in time (5 attempts)")
    assert checks(0, "large") == checks(2, "small") == []
    heads = page.locator(".matrix thead th").all_inner_texts()
    assert heads == ["Question", "small", "large", "dead"]
    # Without thresholds: the bounds of the gates that the score is below.
    runs = [
        weigh(
            replace(run.info, thresholds={}),
            [
                replace(one, outcome="passed" if one.outcome == "failed" else one.outcome)
                for one in run.samples
            ],
            {"must_include": 0.7, "rubric": 0.3},
            {},
        )
        for run in checked_runs(weigh)
    ]
    page = opened(open_report, runs, notices=1)
    assert checks(0, "small") == [f"{below.replace('1.0000', '0.9000')}'$500'"]
    assert checks(2, "large") == ["rubric 1.0000 < 3.0000 | It does not answer."]


@pytest.mark.full
def test_rows_that_only_some_fail_come_before_larger_differences(
    open_report: Any, weigh: Weigh
) -> None:
    """P3: 0.45 against 0.55 is a failure and a pass; 0.6 against 1 is none."""
    runs = []
    for name, f1s in {"u": (0.6, 0.45), "v": (1.0, 0.55)}.items():
        outcomes: list[Outcome] = ["passed" if f1 >= 0.5 else "failed" for f1 in f1s]
        samples = [
            SampleResult(f"q{at}", at, outcomes[at], question="?", answer=name, scores={"f1": f1})
            for at, f1 in enumerate(f1s)
        ]
        info = info_of(name, 2, metrics=COLUMNS[:1], metadata_columns=())
        runs.append(weigh(info, samples, {"f1": 1.0}, {}))
    assert rows_of(opened(open_report, runs)) == ["q1", "q0"]


@pytest.mark.full
def test_a_variant_that_did_not_run_is_in_the_head(open_report: Any, weigh: Weigh) -> None:
    runs = made_runs(weigh, 4, "uv")
    contest = Contest(("u", "v", "w"))
    ranking = replace(rank_variants(runs, contest), complete=False)
    page = shown(open_report, runs, ranking, None, contest)
    assert broken_by(page)["w"] == ["? undecided", "did not run"]


# Rows


ANSWERS = {
    # what each answers to q0, q1, q2, q3; the first is what the others are compared with
    "bm25": ("It takes five working days.", "Yes.", "退货需要五天", "one two"),
    "dense": ("It takes about five days", "yes!", "退货要十天", "three"),
    "gpt": ("It takes five working days, at most.", "No.", "退货需要五天", None),
}
F1S = {"bm25": (0.8, 1.0, 0.2, 0.1), "dense": (0.6, 1.0, 0.9, 0.1), "gpt": (0.7, 0.0, 0.2, 0.3)}


def few_runs(weigh: Weigh, **fields: Any) -> list[ScenarioResult]:
    """Runs whose rows fail, or are low at least, where f1 is below 0.5."""
    runs = []
    for name, answers in ANSWERS.items():
        samples = [
            SampleResult(
                f"q{at}",
                at,
                "failed" if F1S[name][at] < 0.5 and not fields else "passed",
                question="退货要多久？" if at == 2 else f"Question {at}?",
                answer=answer,
                references=(f"reference {at}",),
                contexts=(f"context of {name}",),
                doc_name="a.pdf" if at < 2 else "手册.pdf",
                scores={"f1": F1S[name][at]},
                cause="retrieval" if name == "gpt" and at > 1 else None,
                cause_reason="no context holds it" if name == "gpt" and at > 1 else "",
            )
            for at, answer in enumerate(answers)
        ]
        own = {"metrics": COLUMNS[:1], "diagnose": Diagnosis(), "metadata_columns": ()}
        info = info_of(name, 4, **own, **fields)
        runs.append(weigh(info, samples, {"f1": 1.0}, {}))
    return runs


def chosen(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def rows_of(page: Any) -> list[str]:
    found: list[str] = page.locator("#answers .side .id").all_text_contents()
    return found


def marked(page: Any, row: int, name: str) -> str:
    """Return an answer with its marks as [+only here+] and [-only there-]."""
    script = """(answer) => [...answer.childNodes].map((node) =>
        ({INS: `[+${node.textContent}+]`, DEL: `[-${node.textContent}-]`})[node.nodeName]
        ?? node.textContent).join("")"""
    cell = page.locator(f'[data-row="{row}"] [data-column="{name}"]')
    found: str = cell.locator(".text").first.evaluate(script)
    return found


@pytest.mark.full
def test_words_that_differ_are_marked_and_said(open_report: Any, weigh: Weigh) -> None:
    """E20: Chinese by character; case and full stops do not count; worked out by hand."""
    page = opened(open_report, few_runs(weigh))
    assert marked(page, 0, "bm25") == "It takes five working days."
    assert marked(page, 0, "dense") == "It takes [+about+] five[-working-] days"
    assert marked(page, 0, "gpt") == "It takes five working days, [+at most+]."
    assert marked(page, 2, "dense") == "退货[-需-]要[-五-][+十+]天"
    notes = page.locator('[data-row="1"] .cell > .note').all_text_contents()
    assert notes == ["the same answer as bm25", "completely different from bm25"]
    only = page.locator('[data-row="0"] [data-column="dense"] :is(ins, del)')
    read = only.evaluate_all("all => all.map((one) => getComputedStyle(one, '::before').content)")
    assert [text.strip('" ') for text in read] == ["[only here:", "[only in bm25:"]
    chosen(page, "Mark differences from").select_option("gpt")
    assert marked(page, 0, "bm25") == "It takes five working days[-at most-]."
    # The column that the others are compared with comes first.
    names = page.locator('[data-row="0"] .cell h3').all_text_contents()
    assert names == ["gpt", "bm25", "dense"]
    assert page.locator('[data-row="3"] [data-column="gpt"] p.none').count() == 1
    chosen(page, "Mark differences from").select_option("none")
    assert page.locator("ins, del").count() == 0


@pytest.mark.full
def test_rows_are_found_by_how_they_differ(open_report: Any, weigh: Weigh) -> None:
    """E20, E21: the largest difference first; a score of 1 and a failure beats one of 0."""
    page = opened(open_report, few_runs(weigh))
    assert rows_of(page) == ["q1", "q2", "q0", "q3"]  # by hand: 1.0, 0.7, 0.2, 0.2
    which = chosen(page, "Rows")
    found = {}
    for option in ("that differ", "where all fail", "where some fail"):
        which.select_option(option)
        found[option] = rows_of(page)
    assert found == {
        "that differ": ["q1", "q2", "q0", "q3"],
        "where all fail": ["q3"],
        "where some fail": ["q1", "q2", "q3"],
    }
    assert not chosen(page, "A").is_visible()
    which.select_option("where A beats B")
    chosen(page, "A").select_option("gpt")
    chosen(page, "B").select_option("bm25")
    assert rows_of(page) == ["q3"]
    page.get_by_role("button", name="Clear filters").click()
    chosen(page, "Cause").select_option("retrieval")
    assert rows_of(page) == ["q2", "q3"]
    chosen(page, "Document").select_option("手册.pdf")
    page.get_by_role("searchbox").fill("退货")
    assert rows_of(page) == ["q2"]
    page.get_by_role("searchbox").fill("nowhere")
    assert "No sample matches" in page.locator("#answers").inner_text()
    page.get_by_role("button", name="Clear filters").click()
    chosen(page, "Order").select_option("as in the data")
    assert rows_of(page) == ["q0", "q1", "q2", "q3"]
    page.get_by_role("button", name="dense", exact=True).click()
    assert page.locator('[data-row="0"] .cell h3').all_text_contents() == ["bm25", "gpt"]
    page.evaluate("location.hash = '#sample=q2'")
    page.wait_for_function("() => document.querySelectorAll('.side').length === 1")
    assert rows_of(page) == ["q2"]
    cell = page.locator('[data-column="gpt"]')
    assert cell.locator(".cause").inner_text() == "retrieval"
    cell.locator("summary").click()
    opened_cell = cell.locator("details")
    opened_cell.get_by_text("context of gpt").wait_for()
    assert "no context holds it" in opened_cell.inner_text()


@pytest.mark.full
def test_answers_are_low_where_nothing_has_a_threshold(open_report: Any, weigh: Weigh) -> None:
    """E21: below 0.6, the band bad; that the others passed says nothing."""
    page = opened(open_report, few_runs(weigh, thresholds={}))
    chosen(page, "Rows").select_option("where all are low")
    assert rows_of(page) == ["q3"]
    chosen(page, "Rows").select_option("where at least one is low")
    assert rows_of(page) == ["q1", "q2", "q3"]
    badges = page.locator('[data-row="2"] .cell .badge').all_inner_texts()
    assert badges == ["✕ low", "✕ low", "retrieval"]
    assert "passed" not in page.locator("#answers").inner_text()
    said = page.locator("#answers > .hint").inner_text()
    assert said.startswith(
        "Without thresholds, an answer is low if its weighted score is below 0.6"
    )


@pytest.mark.full
def test_answers_below_a_tolerated_threshold_fail(open_report: Any, weigh: Weigh) -> None:
    """E21: none is FAILED."""
    page = opened(open_report, few_runs(weigh, tolerates_shortfalls=True))
    chosen(page, "Rows").select_option("where some fail")
    assert rows_of(page) == ["q1", "q2", "q3"]
    chosen(page, "Rows").select_option("where all fail")
    assert rows_of(page) == ["q3"]
    assert page.locator("#answers > .hint").inner_text().startswith("An answer fails if")


def by_doc(page: Any) -> list[list[str]]:
    """Return the cells of the means by document, row by row."""
    rows = page.locator(".by-doc tbody tr").all()
    return [row.locator("th, td").all_text_contents() for row in rows]


@pytest.mark.full
def test_means_by_document_say_where_a_variant_wins(open_report: Any, weigh: Weigh) -> None:
    """E20: worked out by hand from F1S; a mean leads to the answers that the best one beats."""
    page = opened(open_report, few_runs(weigh))
    assert by_doc(page) == [
        ["a.pdf", "▲ 0.9000 best", "0.8000", "0.3500", "2"],
        ["手册.pdf", "0.1500", "▲ 0.5000 best", "0.2500", "2"],
    ]
    assert "not tested for significance" in page.locator(".by-doc .hint").inner_text()
    page.get_by_role("button", name="0.2500: show where dense beats gpt in 手册.pdf").click()
    assert rows_of(page) == ["q2"]
    assert chosen(page, "Document").input_value() == "手册.pdf"
    page.locator(".by-doc").get_by_role("button", name="a.pdf", exact=True).click()
    assert rows_of(page) == ["q1", "q0"]
    assert page.evaluate("document.activeElement.id") == "answers-title"


@pytest.mark.full
def test_outcomes_follow_the_weights(open_report: Any, weigh: Weigh) -> None:
    """E20: a threshold of the weighted score: with other weights, other rows fail."""
    thresholds = {WEIGHTED_SCORE: Bound(min=0.6)}
    runs = []
    for run in made_runs(weigh, 30, "uv", thresholds=thresholds):
        judged = [replace(one, outcome=outcome_of(one)) for one in run.samples]
        runs.append(weigh(run.info, judged, WEIGHTS, {}))
    page = opened(open_report, runs)
    tried(page, ({"f1": 0.0, "rubric": 1.0, "noise": 0.0}, {}))
    chosen(page, "Rows").select_option("where some fail")
    again = [weigh(one.info, one.samples, {"f1": 0, "rubric": 1, "noise": 0}, {}) for one in runs]
    low = {one.sample_id for run in again for one in run.samples if outcome_of(one) != "passed"}
    assert all_rows_of(page) == low


def outcome_of(sample: SampleResult) -> Outcome:
    """Return the outcome by the threshold 0.6 of the weighted score."""
    if sample.weighted_score is None:
        return "error"
    return "passed" if sample.weighted_score >= 0.6 else "failed"


def all_rows_of(page: Any) -> set[str]:
    """Return the rows of all pages."""
    found = set(rows_of(page))
    while page.locator('[data-page="next"]:not([disabled])').count():
        page.locator('[data-page="next"]').click()
        found.update(rows_of(page))
    return found


# Hands, eyes, ears

ATTACKS = (
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "<svg onload=window.pwned=1>",
    "\u202egnp.exe\u2066 never closed",
    "nul \x00 bell \x07 lone \ud83d end",
    "__proto__",
    "x" * 30_000 + "<b onclick=window.pwned=1>",
    "",
)


@pytest.mark.parametrize("bypass", [True, pytest.param(False, marks=pytest.mark.full)])
def test_hostile_texts_are_shown_and_run_nothing(
    open_report: Any, weigh: Weigh, bypass: bool
) -> None:
    """E20: in names, ids, answers, contexts, causes and reasons; also without the policy."""
    runs = []
    for name in ("__proto__", ATTACKS[1], "constructor"):
        samples = [
            SampleResult(
                f"{at} {text[:200]}",
                at,
                question=text,
                answer=f"{text} {name}",
                references=(text,),
                contexts=(text, text[::-1]),
                doc_name=text,
                metadata={"customer": text},
                scores={"f1": at / 10, "rubric": 1.0, "noise": 0.0},
                reasons={"f1": text},
                errors={"row": text},
                cause="unknown",
                cause_reason=text,
            )
            for at, text in enumerate(ATTACKS)
        ]
        runs.append(weigh(info_of(name, len(ATTACKS)), samples, WEIGHTS, {}))
    page = opened(open_report, runs, bypass_csp=bypass)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    page.locator(".cell details .texts").last.wait_for()
    assert page.locator(".side").count() == len(ATTACKS)
    strange = "script:not([src]), img, iframe, link, base, object, embed"
    assert page.locator(f"#page :is({strange}), [onclick], [onerror], [onload]").count() == 0
    first = page.locator('[data-row="0"] [data-column="__proto__"] .text').first
    assert first.text_content() == f"{ATTACKS[0]} __proto__"
    assert page.locator('[data-row="0"] .asked').text_content() == ATTACKS[0]
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    (found,) = tried(page, ({"f1": 0.1, "rubric": 0.0, "noise": 0.0}, {}))
    assert [one["name"] for one in found["variants"]] == ["__proto__", ATTACKS[1], "constructor"]


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="light"),
        pytest.param({"color_scheme": "dark"}, id="dark"),
        pytest.param({"locale": "zh-CN", **NARROW}, id="phone, Chinese"),
    ],
)
def test_axe_finds_no_serious_violation(
    open_report: Any, weigh: Weigh, axe: str, options: dict[str, Any]
) -> None:
    """With weights changed, pairs and a cell open; on a phone nothing is wider than the window."""
    runs = made_runs(weigh, 4, "uv", diagnose=Diagnosis())
    contest = contest_of(runs, at_least="u")
    page = opened(open_report, runs, contest, reduced_motion="reduce", bypass_csp=True, **options)
    page.evaluate(axe)
    tried(page, ({"f1": 1, "rubric": 1, "noise": 0}, {"a.pdf": 2}))
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert violations(page, "html") == []
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 400:
        boxes = [one.bounding_box() for one in page.locator('[data-row="0"] .cell').all()]
        assert all(box["x"] + box["width"] <= width for box in boxes)
        assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
        english = page.locator("#weights h2, #answers h2, .ranked thead").all_inner_texts()
        assert [english[0], english[-1]] == ["并排对比", "权重"]
        small = page.locator("main button:visible, summary:visible").evaluate_all(
            "all => all.filter((one) => one.getBoundingClientRect().height < 24).length"
        )
        assert small == 0
        link, title = page.locator(".contents a, #ranking h2").evaluate_all(
            """all => [all[0], all.at(-1)].map((one) => one.getBoundingClientRect().x
                + parseFloat(getComputedStyle(one).paddingLeft))"""
        )
        assert link == title


@pytest.mark.full
def test_all_is_done_by_keyboard(open_report: Any, weigh: Weigh) -> None:
    """From a pair's wins to the rows where one beats the other; on through pages."""
    runs = made_runs(weigh, 25)
    page = opened(open_report, runs)
    keys = page.keyboard
    page.locator(".pairs summary").focus()
    keys.press("Enter")
    pair = rank_variants(runs, contest_of(runs)).pairs[0]
    label = f"{pair.a_wins}: show where {pair.a} beats {pair.b}"
    page.get_by_role("button", name=label).focus()
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answers-title"
    assert chosen(page, "A").is_visible()
    assert f"of {pair.a_wins}" in page.locator(".pager [role=status]").inner_text()
    page.get_by_role("button", name="Clear filters").focus()
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "search"
    page.locator('[data-page="next"]').focus()
    keys.press("Enter")
    assert "11–20 of 25" in page.locator(".pager").inner_text()
    assert page.evaluate("document.activeElement.dataset.page") == "next"
    box = page.locator("#answers .scroll").first
    box.focus()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    keys.press("Tab")
    assert page.evaluate(outline) != "none"
    page.get_by_role("slider", name="Weight of f1, slider").focus()
    keys.press("ArrowRight")
    page.get_by_role("region", name="Weights changed").wait_for()
    assert page.evaluate("document.activeElement.type") == "range"


@pytest.mark.full
def test_ten_variants_of_a_thousand_samples_open(open_report: Any, weigh: Weigh) -> None:
    page = opened(open_report, made_runs(weigh, 1000, "abcdefghij"))
    assert page.locator(".side").count() == 10
    page.get_by_role("searchbox").fill("battery 2")
    page.wait_for_function("() => document.querySelectorAll('.side').length > 0")
