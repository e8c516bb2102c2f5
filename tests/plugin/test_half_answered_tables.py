"""A support table that is half answered is failed cells, and never a low score.

Each row has one answer with two claims, of which the reference supports one, and a reference with
one claim, which the answer makes: precision 0.5, recall 1. Of its two sentences one cites a
context, which supports it: 0.5. It has the only nugget: 1.
"""

from __future__ import annotations

import _thread
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from judged_project import JudgedProject
from support_judge import Cell, PlantedTruth, SupportJudge

from pytest_rageval.engine.scoring import window

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full

TRUTH = {"claim_precision": 0.5, "claim_recall": 1.0, "citation_recall": 0.5, "nugget_recall": 1.0}


def rows(count: int) -> list[dict[str, Any]]:
    """Return rows; each text has the number of its row."""
    return [
        {
            "question": f"What is in hall {at}?",
            "answer": answer(at).replace("stage", "stage [1]"),
            "contexts": [context(at)],
            "references": [reference(at)],
            "nuggets": [nugget(at)],
        }
        for at in range(count)
    ]


def stage(at: int) -> str:
    """Return the claim that is right."""
    return f"Hall {at} has a stage."


def bar(at: int) -> str:
    """Return the claim that is wrong."""
    return f"Hall {at} has a bar."


def reference(at: int) -> str:
    """Return the reference, and its only claim."""
    return f"There is a stage in hall {at}."


def context(at: int) -> str:
    """Return what is retrieved."""
    return f"The stage of hall {at} is old."


def nugget(at: int) -> str:
    """Return what the answer has to say."""
    return f"a stage in hall {at}"


def answer(at: int) -> str:
    """Return the answer without its citation."""
    return f"{stage(at)} {bar(at)}"


@pytest.fixture
def judge_server() -> Iterator[SupportJudge]:
    """Return the judge in place of the one that all judged projects have."""
    truth = PlantedTruth(default="not planned")
    for at in range(len(FAULTS) + 1):
        truth.claims |= {answer(at): [stage(at), bar(at)], reference(at): [reference(at)]}
        truth.levels[stage(at), reference(at)] = "full"
        truth.levels[bar(at), reference(at)] = "none"
        truth.levels[reference(at), answer(at)] = "full"
        truth.levels[stage(at), context(at)] = "full"
        truth.levels[nugget(at), answer(at)] = "full"
    with SupportJudge(truth) as running:
        yield running


def scenario(judged: JudgedProject, count: int, judge: Any = None, **keys: Any) -> None:
    """Write a scenario whose gates are green where nothing fails."""
    judge = {"reasks": 0, **(judge or {})}
    judged.scenario(rows(count), metrics=list(TRUTH), gates=TRUTH, judge=judge, **keys)


def scores(judged: JudgedProject) -> dict[str, dict[str, float | None]]:
    """Return the scores of each row of the newest run."""
    samples = judged.project.results()["samples"]
    return {one["id"]: {name: one["scores"].get(name) for name in TRUTH} for one in samples}


FAULTS = ("lacking", "odd_level", "prose", "length", "500", "not_json", "cut", "refusal", "null")
CELLS: dict[str, tuple[Callable[[int], Cell | str], list[str]]] = {
    "the claims of the answer": (answer, ["claim_precision"]),
    # Without a claim in the reference no claim of the answer could be right.
    "the claims of the reference": (reference, ["claim_precision", "claim_recall"]),
    "a claim against the reference": (lambda at: (bar(at), reference(at)), ["claim_precision"]),
    "the reference against the answer": (lambda at: (reference(at), answer(at)), ["claim_recall"]),
    "a sentence against its source": (lambda at: (stage(at), context(at)), ["citation_recall"]),
    "a nugget against the answer": (lambda at: (nugget(at), answer(at)), ["nugget_recall"]),
}
"""What the judge fails at, and which metrics of the row need it."""


@pytest.mark.parametrize("where", CELLS)
def test_what_needs_a_failed_cell_is_an_error_and_the_rest_is_scored(
    judged: JudgedProject, judge_server: SupportJudge, where: str
) -> None:
    """Each row but the last meets another fault."""
    cell_of, metrics = CELLS[where]
    judge_server.faults = {cell_of(at): fault for at, fault in enumerate(FAULTS)}
    scenario(judged, len(FAULTS) + 1)
    assert judged.pytest().ret == pytest.ExitCode.TESTS_FAILED
    *failed, last = judged.project.results()["samples"]
    found = scores(judged)
    assert found.pop(last["id"]) == TRUTH
    assert list(found.values()) == [TRUTH | dict.fromkeys(metrics)] * len(FAULTS)
    assert [one["outcome"] for one in failed] == ["error"] * len(FAULTS)
    assert [list(one["errors"]) for one in failed] == [metrics] * len(FAULTS)
    assert (last["outcome"], last["errors"]) == ("passed", {})
    assert judged.project.gates() == {
        **{f"{name}.mean": "passed" for name in TRUTH},
        "unscored": "failed",
    }


def test_the_table_shows_which_cells_failed(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    judge_server.faults[bar(0), reference(0)] = "lacking"
    scenario(judged, 1)
    judged.pytest()
    (sample,) = judged.project.results()["samples"]
    table = sample["details"]["support"]
    places = [(one["of"], one["text"]) for one in table["statements"]]
    by_reference = table["sources"].index({"kind": "reference", "index": []})
    said = {of_text: row[by_reference] for of_text, row in zip(places, table["cells"], strict=True)}
    assert said["reference_claim", reference(0)] is None
    assert said["claim", stage(0)] == said["claim", bar(0)]
    assert said["claim", bar(0)][0] == "failed"
    assert "one verdict on each statement" in said["claim", bar(0)][1]


PRICE = {"price": {"input": 1_000_000, "output": 0}, "concurrency": 1}
"""A dollar for each token of a prompt."""


def test_a_budget_that_ends_in_a_table_leaves_no_low_score(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """Whatever the budget, a score is the true one or none; a run with more asks the rest only."""
    scenario(judged, 3, PRICE)
    judged.pytest("--rag-cache=off")
    whole = judged.usage["cost_usd"]
    judge_server.forget()
    unscored = []
    for part in (0.2, 0.4, 0.6, 0.8, 1.2):
        run = judged.pytest(f"--rag-budget={int(whole * part)}", "--rag-cache-dir=kept")
        rows_found = scores(judged).values()
        assert all(one[name] in (None, true) for one in rows_found for name, true in TRUTH.items())
        unscored.append(sum(list(one.values()).count(None) for one in rows_found))
        assert (run.ret == pytest.ExitCode.OK) == (unscored[-1] == 0)
        assert judged.project.gates()["unscored"] == ("failed" if unscored[-1] else "passed")
    assert unscored[0] > unscored[-1] == 0
    assert set(Counter(judged.asked).values()) == {1}
    assert judge_server.counts == {"claims": 6, "cells": 12}


def test_ctrl_c_in_a_table_loses_no_reply(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """The call for the claims of the third answer hangs, and Ctrl-C comes; then it is well."""
    drawn = judge_server._drawn

    def interrupt(seen: Any) -> str:
        fault = drawn(seen)
        if fault == "hang":
            threading.Timer(0.3, _thread.interrupt_main).start()
        return fault

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(window, "_POLL_S", 0.05)
        patched.setattr(judge_server, "_drawn", interrupt)
        judge_server.faults[answer(2)] = "hang"
        scenario(judged, 3, {"concurrency": 1, "timeout_s": 600})
        assert judged.pytest().ret == pytest.ExitCode.INTERRUPTED
    assert scores(judged) == {"s0": TRUTH}
    judge_server.faults.clear()
    assert judged.pytest().ret == pytest.ExitCode.OK
    assert scores(judged) == dict.fromkeys(("s0", "s1", "s2"), TRUTH)
    assert {text: times for text, times in judge_server.texts.items() if times > 1} == {
        answer(2): 2
    }
    assert set(judge_server.cells.values()) == {1}


def test_a_repeat_that_fails_is_left_out_and_told(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """Of three tables one lacks a cell: the score is that of the others, and the row says so."""
    judge_server.faults[bar(0), reference(0)] = "once lacking"
    scenario(judged, 1, {"repeats": 3})
    judged.pytest()
    (sample,) = judged.project.results()["samples"]
    assert scores(judged) == {"s0": TRUTH}
    assert sorted(sample["details"]["claim_precision"]["repeats"]["values"], key=str) == [
        0.5, 0.5, None,
    ]  # fmt: skip
    assert sample["details"]["claim_recall"]["repeats"]["values"] == [1.0, 1.0, 1.0]
    assert sample["errors"]["claim_precision"].startswith("2 of 3 repeats scored: judge 'm'")
    assert list(sample["errors"]) == ["claim_precision"]
    assert judge_server.counts == {"claims": 6, "cells": 12}


def test_a_table_that_changes_between_repeats_says_how_sure_its_gates_are(
    judged: JudgedProject, judge_server: SupportJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cell of one of two rows: precision .5 and 1, its mean over both .625 ± √(.125 / 2) / 2.

    1 - Φ((.625 - .5)/(.125 · √2)) = 1 - Φ(.7071) = .23975.
    """
    turns: Counter[Cell] = Counter()
    steady = judge_server.truth.level

    def level(statement: str, source: str) -> str:
        turns[statement, source] += 1
        is_turned = (statement, source) == (bar(0), reference(0)) and turns[
            bar(0), reference(0)
        ] > 1
        return "full" if is_turned else steady(statement, source)

    monkeypatch.setattr(judge_server.truth, "level", level)
    scenario(judged, 2, {"repeats": 2})
    assert judged.pytest().ret == pytest.ExitCode.OK
    gates = {gate["name"]: gate for gate in judged.project.results()["gates"]}
    precision = gates["claim_precision.mean"]
    assert precision["flip_chance"] == pytest.approx(0.23975, abs=1e-5)
    assert precision["message"] == "0.6250 >= 0.5000 (a second run would differ in 24 %)"
    for name in ("claim_recall", "citation_recall", "nugget_recall"):
        assert "flip_chance" not in gates[f"{name}.mean"]
        said = gates[f"{name}.mean"]["message"]
        assert said.endswith("(no flip seen in 2 repeats of 2 samples)")
    bound = {"claim_precision": {"min": 0.5, "max_flip": 0.2}}
    judged.scenario(rows(2), metrics=list(TRUTH), gates=bound, judge={"reasks": 0, "repeats": 2})
    assert judged.pytest().ret == pytest.ExitCode.TESTS_FAILED
    (gate, _) = judged.project.results()["gates"]
    assert gate["message"].startswith("cannot be decided: a second run would differ in 24 %")
