"""E20, E21: the page of variants as a file; tests/browser tests what it does in a browser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from page_data import data_of, words_of
from ranked_variants import contest_of, run_of

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    Baseline,
    Contest,
    GateResult,
    Ranking,
    ScenarioResult,
)
from pytest_rageval.reports.page import assemble
from pytest_rageval.reports.page.pages import VARIANT_SCRIPTS, variants_page
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.variant_ranking import rank_variants


def made(name: str, scores: Mapping[str, float], **fields: Any) -> ScenarioResult:
    """Return a run with a question for each sample."""
    marks = {one: {"question": f"{one}?", "answer": f"{one} by {name}"} for one in scores}
    ran = run_of(name, scores, marks=marks, **fields)
    n = len(ran.samples)
    return decide_gates(ran, Extent(n, n, n))


BM25 = made("bm25", {"a": 1.0, "b": 0.0, "c": 0.5})
DENSE = made("dense", {"b": 1.0, "a": 1.0, "d": 0.5})
CONTEST = contest_of("bm25", "dense")


def page_of(results: Sequence[ScenarioResult], contest: Contest | None = None, **more: Any) -> str:
    ranking = rank_variants(results, contest or contest_of(*names_of(results)))
    return "".join(variants_page(results, ranking, contest=contest, **more))


def summarize(ran: ScenarioResult) -> ScenarioResult:
    return summarize_scenario(ran.info, ran.samples, complete=True)


def names_of(results: Sequence[ScenarioResult]) -> list[str]:
    return [one.info.variant for one in results]


def test_the_columns_are_joined_by_the_ids_of_their_samples() -> None:
    """Rows a, b, c, d: where each stands in its run, -1 where it is not there."""
    data = data_of(page_of([BM25, DENSE]))
    assert [one["name"] for one in data["variants"]] == ["bm25", "dense"]
    assert data["rows"] == [[0, 1, 2, -1], [1, 0, -1, 2]]


def test_equal_texts_are_there_once() -> None:
    data = data_of(page_of([BM25, DENSE]))
    assert data["texts"].count("a?") == 1
    questions = [texts["question"] for texts in data["variant_texts"]]
    assert questions[0][0] == questions[1][1]


def test_columns_stand_as_the_scenario_names_its_variants() -> None:
    contest = contest_of("dense", "bm25", at_least="bm25")
    data = data_of(page_of([BM25, DENSE], contest))
    assert [one["name"] for one in data["variants"]] == ["dense", "bm25"]
    assert data["contest"]["reference"] == "bm25"


def test_saved_runs_of_anything_need_no_contest() -> None:
    """Without one the scenario's own is taken, else the order of the runs."""
    assert data_of(page_of([DENSE, BM25]))["contest"]["names"] == ["dense", "bm25"]
    contest = contest_of("bm25", "dense", "gpt")
    own = [replace(one, info=replace(one.info, contest=contest)) for one in (DENSE, BM25)]
    ranking = rank_variants(own, contest)
    found = data_of("".join(variants_page(own, ranking)))
    assert found["contest"]["names"] == ["bm25", "dense", "gpt"]
    assert [one["name"] for one in found["variants"]] == ["bm25", "dense"]


def test_a_contest_of_other_variants_is_not_that_of_these() -> None:
    """A variant of one scenario beside a run of another: the columns are the runs."""
    own = replace(BM25, info=replace(BM25.info, contest=contest_of("small", "large")))
    ranking = rank_variants([own, DENSE], CONTEST)
    found = data_of("".join(variants_page([own, DENSE], ranking)))["contest"]
    assert found["names"] == ["bm25", "dense"]


def test_the_ranking_and_the_gate_are_those_of_python() -> None:
    best = GateResult("best", "failed", None, 0.0, "cannot be decided")
    data = data_of(page_of([BM25, DENSE], best=best))
    ranking = rank_variants([BM25, DENSE], CONTEST)
    assert data["best"] == ["failed", "cannot be decided"]
    assert data["ranking"]["undecided"] == ranking.undecided != ""
    means = {one["name"]: one["mean"] for one in data["ranking"]["variants"]}
    assert means == {"bm25": 0.5, "dense": 1.0}  # over a and b


def test_a_gate_with_a_baseline_keeps_its_verdict() -> None:
    """What takes a test stands as it ran, in a group, too."""
    gates = {
        "no_regression": {"baseline": "main"},
        "by": {"doc_name": {"no_regression": {"baseline": "main"}}},
        "f1": 0.5,
    }
    main = Baseline("main", ["a"], {"weighted_score": {"a": 1.0}})
    ran = made("bm25", {"a": 1.0, "b": 0.0}, gates=gates, baselines={"main": main})
    found = data_of(page_of([ran, DENSE]))["variants"][0]["gates"]
    kinds = {gate["name"]: gate["kind"] for gate in found}
    assert kinds == {
        "no_regression": "as_run",
        "by.doc_name.no_regression": "as_run",
        "f1.mean": "mean",
        "unscored": "unscored",
    }
    assert all(len(gate["run"]) == 4 for gate in found)


def test_samples_before_which_the_run_stopped_are_known() -> None:
    """They count among those that were to be scored."""
    stopped = replace(
        BM25.samples[2],
        outcome="skipped",
        weighted_score=None,
        scores={"f1": None},
        reasons={"f1": "not asked: the verdict was certain"},
    )
    ran = summarize(replace(BM25, samples=[*BM25.samples[:2], stopped]))
    data = data_of(page_of([ran, DENSE]))
    assert [one["left_out"] for one in data["variants"]] == [[2], []]


def test_a_name_cannot_leave_its_place() -> None:
    attack = "</script><script>x()</script>"
    ranking = replace(rank_variants([BM25, DENSE], CONTEST), scenario=attack)
    page = "".join(variants_page([BM25, DENSE], ranking))
    assert page.count("<script") == 2
    assert data_of(page)["title"] == attack


@pytest.mark.full
def test_more_rows_may_take_more_room_in_proportion() -> None:
    """Texts are cut so that 1,000 rows stay below 1 MB: two variants of 1,000 below 2."""
    marks = {f"s{at}": {"answer": f"{at} " * 2000} for at in range(1000)}
    results = [run_of(name, [1.0] * 1000, marks=marks) for name in ("bm25", "dense")]
    ranking = Ranking("s", "weighted_score", 0.05, ())
    page = "".join(variants_page(results, ranking))
    assert 1_000_000 < len(page.encode()) <= 2_000_000


def test_no_two_scripts_of_the_page_have_a_function_of_one_name() -> None:
    """They share one scope, in which the second takes the place of the first without a word."""
    script = "\n".join(map(assemble.asset, VARIANT_SCRIPTS))
    pattern = r"^(?:async )?(?:function\*?|const|let|class) (\w+)"
    names = re.findall(pattern, script, re.MULTILINE)
    assert len(names) > 200
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_every_word_that_is_said_is_there_and_the_other_way_round() -> None:
    """A key without words would break the page."""
    own = {key for key, _ in words_of(assemble.asset("variant_words.js"))[0]}
    known = own | {key for key, _ in words_of(assemble.asset("words.js"))[0]}
    code = "\n".join(map(assemble.asset, VARIANT_SCRIPTS)).replace(
        assemble.asset("variant_words.js"), ""
    )
    scripts = [name for name in VARIANT_SCRIPTS if name not in assemble.SCRIPTS]
    mine = "\n".join(assemble.asset(name) for name in scripts if name != "variant_words.js")
    said = set(re.findall(r'(?:say|sayGiven|section|block)\(\s*"(\w+)"', mine))
    assert said <= known
    made_up = re.compile("which_|order_|side_|failure_|mended_|new_|one_|commons_n")
    assert {key for key in own if not made_up.match(key)} <= set(re.findall(r'"(\w+)"', code)) | {
        "ranking",
        "answers",
    }


@pytest.mark.parametrize("name", VARIANT_SCRIPTS)
def test_the_page_parses_no_text_as_markup(name: str) -> None:
    code = assemble.asset(name)
    assert not re.search(r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(", code)
