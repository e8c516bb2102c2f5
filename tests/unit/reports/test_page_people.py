"""What people said, as data of report.html."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_rageval.gates.agreement import AgreementGate
from pytest_rageval.model import (
    RANDOM,
    Agreement,
    Bound,
    Corrected,
    Disagreement,
    HumanLabels,
    Label,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.reports.page.people import people_data

SAMPLES = (
    SampleResult("a", 0, answer="one", contexts=("c",), scores={"f1": 1.0}),
    SampleResult("b", 1, answer="two", scores={"f1": 0.0}),
    SampleResult("c", 2, "skipped"),
)
NOW = answer_digest("one", ("c",))


def test_labels_are_by_sample_with_those_of_other_answers_marked(
    result: Callable[..., ScenarioResult],
) -> None:
    """Those of samples that did not run are left out; what has no answer has no digest."""
    labels = {
        "a": [Label(1.0, "ann", RANDOM, NOW), Label(0.0, "bo", RANDOM, "0" * 12)],
        "gone": [Label(1.0, "ann", RANDOM, NOW)],
    }
    told = {"meanings": ("no", "yes"), "question": "Right?"}
    people = HumanLabels("f1", (0.0, 1.0), "labels.csv", labels, **told)
    data = people_data(result(SAMPLES, human=(people,)))
    said = [[0, "ann", 1.0, False, ""], [0, "bo", 0.0, True, ""]]
    told = {"names": [], "meanings": ["no", "yes"], "question": "Right?"}
    assert data["human"] == [{"metric": "f1", "levels": [0.0, 1.0], **told, "labels": said}]
    assert data["digests"] == [NOW, answer_digest("two", None), None]


def test_without_labels_there_is_nothing(result: Callable[..., ScenarioResult]) -> None:
    assert not any(people_data(result(SAMPLES)).values())


def test_an_agreement_names_samples_by_position(result: Callable[..., ScenarioResult]) -> None:
    """Reasons are cut at 300 characters; slices have n and kappa, the largest first."""
    found = Agreement(
        (0.0, 1.0),
        2,
        ((0, 1), (0, 1)),
        kappa=0.0,
        why={"auc": "people use one level only"},
        disagreements=[
            Disagreement(name, 0.0, 1.0, 0.9, 0.9, 1, 1, "x" * 400) for name in ("b", "gone")
        ],
        cells={"0,1": range(1, 2)},
        slices={
            "topic": {
                "a": Agreement((0.0, 1.0), 1, ()),
                "b": Agreement((0.0, 1.0), 3, (), kappa=0.5),
            }
        },
    )
    means = Corrected(0.5, 0.4, 0.6, 0.9, 12, 14.0)
    data = people_data(replace(result(SAMPLES), agreement={"f1": found}, corrected={"f1": means}))
    shown = data["agreement"]["f1"]
    assert (shown["n"], shown["kappa"], shown["ac1"]) == (2, 0.0, None)
    assert shown["cells"] == {"0,1": [1]}
    assert [(one["at"], len(one["reason"])) for one in shown["disagreements"]] == [(1, 301)]
    assert shown["slices"] == [["topic", [["b", 3, 0.5], ["a", 1, None]]]]
    assert data["corrected"]["f1"]["worth"] == 14.0


def test_a_gate_of_labels_is_taken_from_the_run() -> None:
    human = HumanLabels("f1", (0.0, 1.0), "labels.csv", ())
    gate = AgreementGate("f1.agreement.kappa", "f1", human, "kappa", Bound(min=0.5))
    assert gate.for_page() == {"kind": "as_run", "targets": ["f1"]}
