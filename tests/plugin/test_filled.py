"""G8: holes filled by a judge: one call each, another figure, no verdict without a check."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from judged_project import JudgedProject
from sharded import merge, run_shards

from pytest_rageval import evaluate

pytest_plugins = ["judged_project"]

NUMBER = 8
# Of each query, six documents: their grades are in their texts. People judged 0, 2 and 3.
GRADES = (3, 3, 2, 1, 0, 0)
BY_PEOPLE = (0, 2, 4)
ORDER = (1, 4, 0, 3, 2, 5)  # as they were found: the second of grade 3, which is a hole, first
HOLES = NUMBER * 3
CHECKED = 21


def name_of(query: int, document: int) -> str:
    return f"d{query}-{document}"


TEXTS = {
    name_of(query, at): f"document {at} of {query}, which deserves {grade}"
    for query in range(NUMBER)
    for at, grade in enumerate(GRADES)
}
QRELS = "".join(
    f"q{query} 0 {name_of(query, at)} {GRADES[at]}\n" for query in range(NUMBER) for at in BY_PEOPLE
)
RUN = "".join(
    f"q{query} Q0 {name_of(query, at)} {rank} {9 - rank} r\n"
    for query in range(NUMBER)
    for rank, at in enumerate(ORDER)
)
ALL = "".join(
    f"q{query} 0 {name_of(query, at)} {grade}\n"
    for query in range(NUMBER)
    for at, grade in enumerate(GRADES)
)


def honest(body: Mapping[str, Any]) -> str:
    found = re.findall(r"which deserves (\d)", str(body["messages"][0]["content"]))
    return json.dumps({"grade": int(found[0]), "reason": f"it deserves {found[0]}"})


def careless(body: Mapping[str, Any]) -> str:
    return json.dumps({"grade": 3, "reason": "splendid"})


@pytest.fixture
def filled(judged: JudgedProject) -> JudgedProject:
    project = judged.project
    project.file("qrels.txt", QRELS)
    project.file("run.txt", RUN)
    queries = "".join(f"q{query}\tWhat is {query}?\n" for query in range(NUMBER))
    project.file("queries.tsv", "qid\ttext\n" + queries)
    corpus = "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in TEXTS.items())
    project.file("corpus.jsonl", corpus)
    judged.server.options.answer = honest
    write(judged)
    return judged


def write(judged: JudgedProject, **keys: Any) -> None:
    """Write the scenario; its figures are those of the six documents, all judged."""
    plain = {
        "name": "qa",
        "dataset": {
            "qrels_path": "qrels.txt",
            "run_path": "run.txt",
            "queries_path": "queries.tsv",
        },
        "corpus": "corpus.jsonl",
        "metrics": ["ndcg@5+filled", "map(rel=2)+filled", "ndcg@5"],
        "fill": {"check": CHECKED},
        "gates": {"ndcg@5+filled": 0.5},
        "judge": judged.judge,
    }
    text = json.dumps({key: one for key, one in {**plain, **keys}.items() if one is not None})
    (judged.path / "qa.rageval.yaml").write_text(text, "utf-8")


def figures(judged: JudgedProject) -> dict[str, float]:
    metrics = judged.project.results()["metrics"]
    return {name: metrics[name]["mean"] for name in metrics}


def said(result: pytest.RunResult) -> str:
    return " ".join(result.stdout.str().split())


@pytest.mark.full
def test_the_figures_are_those_of_judgements_of_all_documents(filled: JudgedProject) -> None:
    """Each document once, whatever metrics read it; the same as plain figures over all grades."""
    result = filled.pytest()
    result.assert_outcomes(passed=NUMBER + 2)
    assert len(filled.server.chats) == HOLES + CHECKED
    found = figures(filled)
    text = said(result)
    # Of the first five, three people's and two of the judge.
    assert f"of {NUMBER * 5} judgements {NUMBER * 2} by the judge" in text
    assert f"weighted kappa with people 1.00 on {CHECKED} documents" in text
    assert filled.project.gates()["ndcg@5+filled.mean"] == "passed"
    assert (filled.path / "qrels.txt").read_text("utf-8") == QRELS
    lines = (filled.project.folder() / "filled.qrels").read_text("utf-8")
    judged = sorted(
        [*QRELS.splitlines(), *lines.replace("\tJ\t", " 0 ").replace("\t", " ").splitlines()]
    )
    assert judged == sorted(ALL.splitlines())
    filled.project.file("qrels.txt", QRELS + lines)
    write(filled, metrics=["ndcg@5", "map(rel=2)"], fill=None, judge=None, gates=None)
    filled.pytest()
    plain = figures(filled)
    assert found["ndcg@5+filled"] == plain["ndcg@5"]
    assert found["map(rel=2)+filled"] == plain["map(rel=2)"]
    assert found["ndcg@5"] != plain["ndcg@5"]


@pytest.mark.full
def test_a_careless_judge_turns_no_gate_green(filled: JudgedProject) -> None:
    filled.server.options.answer = careless
    keys = {"thresholds": {"ndcg@5+filled": 0.1}}
    gates = {"ndcg@5+filled": 0.5, "ndcg@5": 0.1, "pass_rate": 0.5, "weighted_score": 0.1}
    write(filled, gates=gates, **keys)
    result = filled.pytest()
    found = filled.project.gates()
    green = {name for name, outcome in found.items() if outcome == "passed"}
    assert green == {"ndcg@5.mean", "unscored"}
    text = said(result)
    assert "the judge is not believed: its weighted kappa with people is 0.00" in text
    assert "take another judge, or have people judge the holes" in text


@pytest.mark.full
@pytest.mark.parametrize("check", [0, 19])
def test_an_unchecked_judge_turns_none_green_either(check: int, filled: JudgedProject) -> None:
    write(filled, fill={"check": check})
    result = filled.pytest()
    result.assert_outcomes(passed=NUMBER + 1, failed=1)
    assert f"it graded {check} documents that people judged, and 20 are the least" in said(result)
    assert len(filled.server.chats) == HOLES + check


@pytest.mark.full
def test_a_dead_judge_fails_the_figure(filled: JudgedProject) -> None:
    """One call of a query that fails takes its figures with it, and no others."""
    corpus = filled.path / "corpus.jsonl"
    dead = TEXTS[name_of(0, 1)]
    corpus.write_text(corpus.read_text("utf-8").replace(dead, f"{dead}: 401|!"), "utf-8")
    result = filled.pytest()
    result.assert_outcomes(passed=NUMBER - 1, failed=2, errors=1)
    samples = filled.project.results()["samples"]
    failed = [one for one in samples if one["scores"]["ndcg@5+filled"] is None]
    assert len(failed) == 1
    assert set(failed[0]["errors"]) == {"ndcg@5+filled", "map(rel=2)+filled"}
    assert failed[0]["scores"]["ndcg@5"] is not None


@pytest.mark.full
def test_what_cannot_be_read_stays_a_hole_and_is_said(filled: JudgedProject) -> None:
    """The first document of each query that is a hole: the judge mumbles."""

    def mumbles(body: Mapping[str, Any]) -> str:
        first = "document 1 of" in str(body["messages"][0]["content"])
        return "relevant, I would say" if first else honest(body)

    filled.server.options.answer = mumbles
    result = filled.pytest()
    text = said(result)
    assert f"left open: {NUMBER} holes whose replies could not be read" in text
    assert f"of {NUMBER * 4} judgements {NUMBER} by the judge" in text
    assert "20 % of the top 5 have no judgement: between" in text
    details = filled.project.results()["samples"][0]["details"]
    assert details["filled"]["unread"] == [name_of(0, 1)]


@pytest.mark.full
def test_the_same_with_workers_in_shards_from_the_cache_and_in_a_script(
    filled: JudgedProject,
) -> None:
    filled.pytest()
    samples = filled.project.results()["samples"]
    calls = len(filled.server.chats)
    filled.loop_back()
    assert filled.project.results()["samples"] == samples
    result = evaluate(filled.path / "qa.rageval.yaml")
    assert {gate.name: gate.outcome for gate in result.gates}["ndcg@5+filled.mean"] == "passed"
    assert result.mean_of("ndcg@5+filled") == figures(filled)["ndcg@5+filled"]
    shards = run_shards(filled.project, ["1/3", "2/3", "3/3"])
    merged = merge(filled.project, shards)
    assert f"weighted kappa with people 1.00 on {CHECKED} documents" in said(merged)
    assert filled.project.gates()["ndcg@5+filled.mean"] == "passed"
    assert len(filled.server.chats) == 3 * calls  # caches of their own


@pytest.mark.full
def test_the_dry_run_counts_the_calls(filled: JudgedProject) -> None:
    text = said(filled.pytest("--rag-dry-run"))
    assert f"about {HOLES + CHECKED} calls" in text
    assert "0 answers in the cache" in text or "answers in the cache" not in text
    assert filled.server.chats == []
    filled.pytest()
    assert "0 calls" in said(filled.pytest("--rag-dry-run"))


@pytest.mark.full
def test_repeats_ask_each_document_as_often(filled: JudgedProject) -> None:
    write(filled, judge={**filled.judge, "repeats": 2})
    filled.pytest().assert_outcomes(passed=NUMBER + 2)
    assert len(filled.server.chats) == 2 * (HOLES + CHECKED)


def test_a_baseline_without_or_by_another_judge_is_refused(filled: JudgedProject) -> None:
    gates = {"no_regression": {"baseline": "main", "metrics": ["ndcg@5"]}}
    write(filled, metrics=["ndcg@5"], fill=None, judge=None, gates=gates)
    filled.pytest("--rag-save", "main")
    gates["no_regression"]["metrics"] = ["ndcg@5+filled"]
    write(filled, gates=gates)
    assert "'main' has no ndcg@5+filled" in said(filled.pytest())
    filled.pytest("--rag-save-failed", "main")
    filled.pytest().assert_outcomes(passed=NUMBER + 2)
    write(filled, gates=gates, judge={**filled.judge, "model": "other"})
    assert "ndcg@5+filled was ndcg v1" in said(filled.pytest())
    write(filled, gates=gates, fill={"k": 3, "check": CHECKED})
    assert "filled as k=10, and is ndcg v1" in said(filled.pytest())


@pytest.mark.full
def test_another_run_file_has_no_such_figures(filled: JudgedProject) -> None:
    filled.project.file("old.txt", RUN)
    write(filled, compare={"run_old_path": "old.txt"})
    text = said(filled.pytest())
    assert "old.txt: no judge fills its holes: no ndcg@5+filled, map(rel=2)+filled" in text


@pytest.mark.full
def test_nothing_stops_early_before_the_check_is_complete(filled: JudgedProject) -> None:
    write(filled, stop="decided", gates={"ndcg@5+filled": 0.1})
    result = filled.pytest()
    assert "nothing stops early: gate 'ndcg@5+filled.mean' needs every sample" in said(result)
    result.assert_outcomes(passed=NUMBER + 2)


@pytest.mark.full
def test_a_target_brings_the_documents_and_their_texts(filled: JudgedProject) -> None:
    """Rows in Chinese, without a corpus: what the target found has its texts beside it."""
    (filled.path / "app.py").write_text(
        "def search(question):\n"
        "    ids = [f'{question[0]}{at}' for at in range(4)]\n"
        "    texts = [f'{one}, which deserves {at}' for at, one in enumerate(ids)]\n"
        "    return {'answer': '', 'retrieved_ids': ids, 'contexts': texts}\n",
        "utf-8",
    )
    rows = [
        {"id": f"s{at}", "question": f"{at}是什么？", "reference_ids": {f"{at}0": 0, f"{at}2": 2}}
        for at in range(9)
    ]
    write(
        filled,
        dataset=rows,
        corpus=None,
        target="app:search",
        fill={"check": 30, "grades": [0, 1, 2, 3]},
    )
    # 18 pairs, of which the judge is shown all: fewer than 20, so no gate passes.
    result = filled.pytest()
    assert "it graded 18 documents" in said(result)
    assert len(filled.server.chats) == 9 * 4
    assert "请评定" in filled.asked[0]
