"""Labels of cells: held against the tables of a run, by sample, and stale once a text is another.

Kappas are worked by hand in comments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    RANDOM,
    SUPPORT,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.reports.page.people import people_data
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.stats.labels.agreement import agreement_of
from pytest_rageval.stats.labels.cells import cells_of, judged_of, parts_of_cell

Result = Callable[..., ScenarioResult]

RECALL = MetricColumn("claim_recall")
LEVELS = (0.0, 0.5, 1.0)
ANSWER = "Five days. It is free."


def table(*levels: str | None, of: str = "claim", kind: str = "reference") -> dict[str, Any]:
    """Return the details of a table of one source, with a statement for each level."""
    return {
        "statements": [
            {"text": f"says {at}", "of": of, "number": at, "cites": []}
            for at in range(1, len(levels) + 1)
        ],
        "sources": [{"kind": kind, "index": [2] if kind == "contexts" else []}],
        "cells": [[None if level is None else [level, "why"]] for level in levels],
    }


def sample(name: str, at: int, *levels: str | None, **fields: Any) -> SampleResult:
    details = {SUPPORT: table(*levels)} if levels else {}
    given = {"references": ["ref"], "contexts": ["one", "two"], "details": details, **fields}
    return SampleResult(name, at, question="Q?", answer=ANSWER, scores={"claim_recall": 1}, **given)


def label(value: float, text: str, source: Sequence[str] = ("ref",), who: str = "ann") -> Label:
    return Label(value, who, RANDOM, answer_digest(text, source))


def people(labels: Mapping[str, Sequence[Label]], **fields: Any) -> HumanLabels:
    return HumanLabels(SUPPORT, LEVELS, "l.csv", labels, **fields)


# People (rows) and judge (columns) of 8 cells in 3 samples:
#          none partial full
# none        3       1    0    observed agreement 6/8
# partial     0       1    1    by chance (4*3 + 2*2 + 2*3)/64 = 22/64
# full        0       0    2    kappa (.75 - .34375)/(1 - .34375) = 13/21
# Quadratic: steps cost 1/4 and 1. Observed (1/4 + 1/4)/8 = 1/16; by chance
# ((4*2 + 2*3 + 2*3 + 2*2)/4 + (4*3 + 2*3))/64 = 24/64: kappa 1 - (1/16)/(24/64) = 5/6.
TABLES = {
    "a/b": (("none", 0.0), ("none", 0.0), ("partial", 0.0), ("full", 1.0)),
    "退货": (("none", 0.0), ("partial", 0.5)),
    "c": (("full", 0.5), ("full", 1.0)),
}
RUN = [
    sample(name, at, *(level for level, _ in cells))
    for at, (name, cells) in enumerate(TABLES.items())
]
LABELS = {
    f"{name}/claim-{number}/reference": [label(said, f"says {number}")]
    for name, cells in TABLES.items()
    for number, (_, said) in enumerate(cells, 1)
}


def test_kappa_of_cells_is_that_of_their_levels(result: Result) -> None:
    found = agreement_of(result(RUN, RECALL), people(LABELS))
    assert (found.n, found.stale, found.unscored) == (8, 0, 0)
    assert found.confusion == ((3, 1, 0), (0, 1, 1), (0, 0, 2))
    assert found.kappa == pytest.approx(13 / 21)
    assert found.weighted_kappa == pytest.approx(5 / 6)
    assert found.bias == pytest.approx((0.5 + 0.5) / 8)  # twice half a level too kind
    assert found.cells["0,1"] == (0,)  # leads to the sample of the cell
    assert [one.sample_id for one in found.disagreements] == [
        "a/b/claim-3/reference",
        "c/claim-1/reference",
    ]
    assert found.disagreements[0].reason == '"says 3": why'


def test_intervals_take_samples_for_what_was_drawn_and_not_cells(result: Result) -> None:
    """They are those of as many plain samples with ``group_by`` their sample."""
    found = agreement_of(result(RUN, RECALL), people(LABELS))
    flat = [
        SampleResult(str(at), at, answer="x", scores={"s": worth}, metadata={"of": name})
        for at, (name, worth) in enumerate(
            (name, {"none": 0.0, "partial": 0.5, "full": 1.0}[level])
            for name, cells in TABLES.items()
            for level, _ in cells
        )
    ]
    said = [said for cells in TABLES.values() for _, said in cells]
    labels = {str(at): [label(value, "x", ())] for at, value in enumerate(said)}
    human = HumanLabels("s", LEVELS, "l.csv", labels)
    column = MetricColumn("s")
    grouped = agreement_of(result(flat, column, metadata_columns=("of",), group_by="of"), human)
    alone = agreement_of(result(flat, column), human)
    for name in ("kappa", "weighted_kappa", "ac2", "bias", "spearman"):
        ends = [
            (getattr(one, f"{name}_low"), getattr(one, f"{name}_high")) for one in (found, grouped)
        ]
        assert ends[0] == ends[1]
        assert None not in ends[0]
        assert ends[0] != (getattr(alone, f"{name}_low"), getattr(alone, f"{name}_high"))


def test_groups_of_the_scenario_hold_whole_samples(result: Result) -> None:
    """With all samples in one group nothing is known of others: there is no interval."""
    run = [SampleResult(**{**_fields(one), "metadata": {"doc": "d"}}) for one in RUN]
    found = agreement_of(
        result(run, RECALL, metadata_columns=("doc",), group_by="doc"), people(LABELS)
    )
    assert found.kappa == pytest.approx(13 / 21)
    assert found.kappa_low is None
    assert "of one group" in found.why["kappa_low"]


def _fields(one: SampleResult) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({"references": ["another"]}, (6, 2, 0)),  # the source is another
        ({"details": {SUPPORT: table("none")}}, (7, 1, 0)),  # the statement is gone
        ({"details": {SUPPORT: table("failed", "none")}}, (7, 0, 1)),  # the judge failed
        ({"details": {}}, (6, 2, 0)),  # no table at all
        ({"details": {SUPPORT: table(None, "none")}}, (7, 1, 0)),  # no metric wants it now
        ({"details": {SUPPORT: table("full", "full", of="nugget")}}, (6, 2, 0)),
    ],
)
def test_a_label_counts_for_its_statement_and_source_alone(
    result: Result, changed: dict[str, Any], counts: tuple[int, int, int]
) -> None:
    """The two labels of the last sample: of another text, or of a cell that is gone, are stale."""
    last = SampleResult(**{**_fields(RUN[-1]), **changed})
    found = agreement_of(result([*RUN[:-1], last], RECALL), people(LABELS))
    assert (found.n, found.stale, found.unscored) == counts


def test_labels_of_samples_that_did_not_run_are_not_counted(result: Result) -> None:
    found = agreement_of(result(RUN[:2], RECALL), people(LABELS))
    assert (found.n, found.stale) == (6, 0)


def test_cells_have_the_texts_that_a_judge_saw(result: Result) -> None:
    """Contexts count from 1, several are one source; what a result does not hold is left out."""
    details = {
        "statements": [{"text": "it is", "of": "sentence", "number": 1, "cites": [2]}],
        "sources": [
            {"kind": "contexts", "index": [2]},
            {"kind": "contexts", "index": [1, 2]},
            {"kind": "contexts", "index": [3]},
            {"kind": "answer", "index": []},
            {"kind": "history", "index": []},
        ],
        "cells": [[["full", ""], ["none", "no"], ["full", ""], ["partial", "half"], ["full", ""]]],
    }
    run = result([sample("q", 0, details={SUPPORT: details})], RECALL)
    cells = cells_of(run.info, run.samples)
    assert [(one.sample_id, one.contexts, one.scores[SUPPORT]) for one in cells] == [
        ("q/sentence-1/contexts[2]", ["two"], 1.0),
        ("q/sentence-1/contexts[1, 2]", ["one", "two"], 0.0),
        ("q/sentence-1/answer", [ANSWER], 0.5),
    ]
    assert {one.answer for one in cells} == {"it is"}
    assert [parts_of_cell(one.sample_id) for one in cells][1] == ("q", "sentence-1/contexts[1, 2]")


@pytest.mark.parametrize(
    "details", [{"statements": 3}, {"hits": 1}, {**table("full"), "cells": []}]
)
def test_other_details_of_that_name_are_no_table(result: Result, details: Any) -> None:
    """A saved run may be of a time when a metric was called support."""
    run = result([sample("q", 0, details={SUPPORT: details})], RECALL)
    assert cells_of(run.info, run.samples) == []


def test_a_metric_called_support_is_labelled_as_any_other(result: Result) -> None:
    run = result([SampleResult("q", 0, answer="x", scores={SUPPORT: 1.0})], MetricColumn(SUPPORT))
    assert judged_of(run, people({})) is run
    assert agreement_of(run, people({"q": [label(1.0, "x", ())]})).n == 1


def test_agreement_tells_kinds_of_statements_and_sources_apart(result: Result) -> None:
    run = [
        RUN[0],
        sample("d", 1, details={SUPPORT: table("none", "none", of="nugget", kind="contexts")}),
    ]
    labels = {**LABELS, "d/nugget-1/contexts[2]": [label(1.0, "says 1", ("two",))]}
    found = agreement_of(result(run, RECALL), people(labels))
    assert {name: one.n for name, one in found.slices["statements"].items()} == {
        "claim": 4,
        "nugget": 1,
    }
    assert {name: one.n for name, one in found.slices["sources"].items()} == {
        "contexts": 1,
        "reference": 4,
    }


def judged(result: Result, gates: dict[str, Any], labels: Any = LABELS) -> ScenarioResult:
    run = result(RUN, RECALL, human=(people(labels),), gates=gates)
    return decide_gates(run, Extent(len(RUN), len(RUN), len(RUN)))


TWELVE = {
    **LABELS,
    **{f"c/claim-{number}/reference": [label(1.0, f"says {number}")] for number in range(3, 7)},
}


def test_a_gate_judges_the_agreement_of_cells(result: Result) -> None:
    """Of 12 labels 4 are of cells that are not there: 8 are fewer than the 10 that a gate needs."""
    found = judged(result, {SUPPORT: {"agreement": {"kappa": 0.5}}}, TWELVE)
    gate = found.gates[0]
    assert (gate.name, gate.outcome) == ("support.agreement.kappa", "failed")
    assert gate.message == (
        "8 labelled cells, 10 are needed: label 2 more (pytest s.yaml "
        "--rag-label 2 draws them); not counted: 4 whose statement or source is another now"
    )
    assert found.corrected == {}  # no metric is the mean of cells
    assert list(found.agreement) == [SUPPORT]


@pytest.mark.parametrize("gate", [{"mean": 0.5}, 0.5, {"lower_bound": 0.5}, {"quantile": 0.5}])
def test_a_table_has_no_figure_of_its_own_to_judge(result: Result, gate: Any) -> None:
    info = result(RUN, RECALL, human=(people(LABELS),)).info
    with pytest.raises(GateOptionError, match="of the table itself only 'agreement' is judged"):
        make_gates({SUPPORT: gate}, info)
    with pytest.raises(GateOptionError, match="human: {file: labels.csv, of: support}"):
        make_gates({SUPPORT: {"agreement": {"kappa": 0.5}}}, result(RUN, RECALL).info)


def test_people_read_levels_as_words(result: Result) -> None:
    lines = list(RunView(judged(result, {}, TWELVE)).people)
    assert lines[0].startswith(
        "support and people: 8 labelled cells (too few), 6 agree, kappa 0.6190"
    )
    assert lines[0].endswith("not counted: 4 whose statement or source is another now")
    assert lines[1] == (
        'support on a/b/claim-3/reference: judge partial, people none: "says 3": why'
    )


def test_the_page_leads_from_a_cell_to_its_sample(result: Result) -> None:
    data = people_data(judged(result, {}, TWELVE))
    (human,) = data["human"]
    assert human["names"] == ["none", "partial", "full"]
    assert human["labels"][2] == [0, "ann", 0.0, False, "claim-3/reference"]
    assert human["labels"][-1] == [2, "ann", 1.0, True, "claim-6/reference"]
    found = data["agreement"][SUPPORT]
    assert [(one["sample_id"], one["at"]) for one in found["disagreements"]] == [
        ("a/b/claim-3/reference", 0),
        ("c/claim-1/reference", 2),
    ]
