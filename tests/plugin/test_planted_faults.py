"""Planned faults in 200 rows give exactly the figures that follow from them, however they are run.

The judge is a fake server that answers from the planted truth. What is expected is counted from
the plan of the faults: what follows from each kind of sentence is written beside it, by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from judged_project import JudgedProject
from planted_rows import LANGUAGES, Language, PlannedRow, Unit, planned_rows, planted
from sharded import files, merge, run_shards
from support_judge import PlantedTruth, SupportJudge

from tests.plugin.conftest import green

pytest_plugins = ["judged_project"]


ROWS = [40, pytest.param(200, marks=pytest.mark.full)]


def share(said: Iterable[object]) -> Fraction:
    """Return the share of what is true; 0 of nothing."""
    found = list(map(bool, said))
    return Fraction(sum(found), max(len(found), 1))


def mean(values: Iterable[Fraction]) -> Fraction:
    """Return the mean; 0 of nothing."""
    found = list(values)
    return sum(found, Fraction()) / max(len(found), 1)


def wrong(row: PlannedRow, found: str) -> Fraction:
    """Return the share of wrong claims of the answer that are found there."""
    return share(unit.kind.found == found and not unit.kind.is_right for unit in row.units)


def harmonic(one: Fraction, other: Fraction) -> Fraction:
    """Return the harmonic mean; 0 where both are 0."""
    return 2 * one * other / (one + other) if one + other else Fraction()


def made(row: PlannedRow) -> list[bool]:
    """Return of each claim of the reference whether the answer makes it."""
    return [claim.made == "full" for claim in row.claims]


def vital(row: PlannedRow) -> list[Any]:
    """Return the vital nuggets; there is always one."""
    return [nugget for nugget in row.nuggets if nugget.importance == "vital"]


def used(row: PlannedRow) -> Fraction:
    """Return the share of the reference's claims in contexts that the answer makes."""
    return share(claim.made == "full" for claim in row.claims if claim.found)


def citing(row: PlannedRow) -> list[Unit]:
    """Return the sentences that cite something."""
    return [unit for unit in row.units if unit.kind.cites]


def needed(row: PlannedRow) -> Fraction:
    """Return the share of citations that are needed; an answer without any is at the worst end."""
    every = sum(len(unit.kind.cites) for unit in row.units)
    return Fraction(sum(unit.kind.needed for unit in row.units), max(every, 1))


EXPECTED: Mapping[str, Callable[[PlannedRow], Fraction]] = {
    "claim_precision": lambda row: share(unit.kind.is_right for unit in row.units),
    "claim_recall": lambda row: share(made(row)),
    "claim_f1": lambda row: harmonic(
        share(unit.kind.is_right for unit in row.units), share(made(row))
    ),
    "context_claim_recall": lambda row: share(claim.found for claim in row.claims),
    "context_claim_precision": lambda row: Fraction(2, len(row.contexts)),
    "claim_utilization": used,
    "noise_in_relevant": lambda row: wrong(row, "relevant"),
    "noise_in_irrelevant": lambda row: wrong(row, "irrelevant"),
    "hallucination": lambda row: wrong(row, "nowhere"),
    "self_knowledge": lambda row: share(
        unit.kind.found == "nowhere" and unit.kind.is_right for unit in row.units
    ),
    "claim_faithfulness": lambda row: share(unit.kind.found != "nowhere" for unit in row.units),
    "citation_recall": lambda row: share(unit.kind.supported for unit in row.units),
    "citation_precision": needed,
    "support_precision": lambda row: mean(unit.kind.worth for unit in citing(row)),
    "support_recall": lambda row: mean(unit.kind.worth for unit in row.units),
    "nugget_recall": lambda row: share(one.made == "full" for one in vital(row)),
    "nugget_recall.contexts": lambda row: share(one.in_contexts == "full" for one in vital(row)),
}


@pytest.fixture
def judge_server() -> Iterator[SupportJudge]:
    """Return the judge in place of the one that all judged projects have."""
    with SupportJudge(PlantedTruth(default="not planned")) as running:
        yield running


def written(judged: JudgedProject, rows: Sequence[PlannedRow], **keys: Any) -> None:
    """Write the scenario with all metrics of the table, and plant the truth of its rows."""
    server: Any = judged.server
    server.truth = planted(rows)
    server.forget()
    judged.project.rows([row.row for row in rows])
    in_contexts = {"nugget_recall": {"in": "contexts"}}
    scenario = {
        "name": "qa",
        "dataset": {"path": "qa.jsonl"},
        "metrics": [in_contexts if name == "nugget_recall.contexts" else name for name in EXPECTED],
        "judge": {**judged.judge, "concurrency": 16},
        "citations": "auto",
        **keys,
    }
    (judged.path / "qa.rageval.yaml").write_text(json.dumps(scenario), "utf-8")


def agrees(judged: JudgedProject, rows: Sequence[PlannedRow]) -> None:
    """Check each score and each mean of the newest run against the plan."""
    results = judged.project.results()
    scores = {sample["id"]: sample["scores"] for sample in results["samples"]}
    assert list(scores) == [row.id for row in rows]
    for name in EXPECTED:
        planned = [EXPECTED[name](row) for row in rows]
        found = [scores[row.id][name] for row in rows]
        assert found == pytest.approx(list(map(float, planned)), abs=1e-12), name
        assert len(set(planned)) > 1, f"{name} is the same in each row: nothing is tested"
        assert results["metrics"][name]["mean"] == pytest.approx(float(mean(planned))), name


Call = tuple[str, tuple[str, ...]]
"""A source and the statements that are held against it; none where its claims are asked for."""


def calls(row: PlannedRow) -> Counter[Call]:
    """Return what the judge is asked about a row, counted by hand: each once."""
    claims = tuple(one.claim for one in row.units)
    of_reference = tuple(claim.text for claim in row.claims)
    nuggets = tuple(nugget.text for nugget in row.nuggets)
    together = "\n".join(row.contexts.values())
    found: list[Call] = [(row.answer, ()), (row.reference, ())]
    found += [(row.reference, claims), (row.answer, of_reference)]
    found += [(text, about) for text in row.contexts.values() for about in (claims, of_reference)]
    found += [(row.answer, nuggets), (together, nuggets), *by_citation(row)]
    return Counter(found)


def by_citation(row: PlannedRow) -> list[Call]:
    """Return the calls for what sentences cite: each context, those of a sentence together.

    Where three are needed only together, each pair of them is asked then.
    """
    first: dict[tuple[str, ...], list[str]] = {}
    then: dict[tuple[str, ...], list[str]] = {}
    for unit in row.units:
        cited = tuple(role for role in row.contexts if role in unit.cites)
        for source in dict.fromkeys([*((role,) for role in cited), cited] if cited else []):
            first.setdefault(source, []).append(unit.text)
        for rest in combinations(cited, 2) if len(cited) == 3 else ():
            then.setdefault(rest, []).append(unit.text)
    return [
        ("\n".join(row.contexts[role] for role in source), tuple(texts))
        for asked_for in (first, then)
        for source, texts in asked_for.items()
    ]


def asked(server: SupportJudge) -> Counter[Call]:
    """Return what the judge was asked."""
    return Counter((one.source, one.statements) for one in server.asked)


def every(rows: Iterable[PlannedRow]) -> Counter[Call]:
    """Return what the judge is asked about all rows."""
    return sum(map(calls, rows), Counter[Call]())


@pytest.mark.full
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("count", ROWS)
def test_the_figures_are_those_that_follow_from_the_faults(
    judged: JudgedProject, judge_server: SupportJudge, language: Language, count: int
) -> None:
    """With two workers; then from the cache, in shards, and with other answers."""
    rows = planned_rows(language, count)
    written(judged, rows)
    assert judged.distributed().ret == pytest.ExitCode.OK
    agrees(judged, rows)
    assert asked(judge_server) == every(rows)
    (prompt, *_) = judged.asked
    assert prompt.startswith({"en": ("Tell how", "List the"), "zh": "请"}[language])
    judge_server.forget()
    for mode in ("readwrite", "replay"):
        assert judged.pytest(f"--rag-cache={mode}").ret == pytest.ExitCode.OK
        assert judged.project.without_run(-1) == judged.project.without_run(0)
    shards = run_shards(judged.project, ["1/2", "2/2"], f"--rag-cache-dir={judged.cache}")
    merged = green(merge(judged.project, shards, "--rag-output=merged"))
    merged.stdout.fnmatch_lines(["models: 0 calls, * answers from the cache, 0 tokens, *"])
    whole = files(judged.path / ".rageval")
    assert files(judged.path / "merged").items() <= whole.items()
    assert judge_server.chats == []
    others = planned_rows(language, count, answers=2)
    written(judged, others)
    assert judged.pytest().ret == pytest.ExitCode.OK
    agrees(judged, others)
    assert asked(judge_server) == every(others) - every(rows)
