"""Settings that the page sends: what is taken, as options of a run and as changes of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import patch_scenario
from pytest_rageval.scenario.loader import inspect_scenario
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.serving.web.settings import Settings, nested, plain_gates, read_settings

OUTLINE: dict[str, Any] = {
    "metrics": [
        {"name": "f1", "threshold": None, "higher_is_better": True},
        {"name": "cost", "threshold": {"min": 0.1, "max": 2.0}, "higher_is_better": False},
    ],
    "weighted_threshold": {"min": 0.2, "max": None},
    "docs": {"a=b.md": 3},
    "doc_weights": {"gone.md": 2.0},
    "groups": ["topic"],
    "gates": {
        "f1": {"mean": 0.5, "no_regression": {"margin": 0.1}},
        "by": {"topic": {"f1": 0.3}, "team": {"f1": 0.1, "pass_rate": 0.5}},
    },
}


def options_of(body: dict[str, Any]) -> list[str]:
    return read_settings(body, OUTLINE).run_options()


def test_a_document_without_a_weight_weighs_one() -> None:
    """[A24] Documents are those of the data and of the scenario."""
    body = {"metric_weights": {"f1": 0.1}, "doc_weights": {"a=b.md": 2, "gone.md": None}}
    assert options_of(body) == [
        "--rag-metric-weight=f1=0.1",
        "--rag-doc-weight=a=b.md=2",
        "--rag-doc-weight=gone.md=1.0",
    ]


def test_blanks_at_the_ends_of_a_name_are_kept() -> None:
    """[A24] As --rag-set does, with quotes."""
    [option] = Settings({("doc_weights", ' "a\\b" '): 2}).run_options()
    flag, _, text = option.partition("=")
    override = set_override(flag, text)
    assert (override.path, override.value) == (("doc_weights", ' "a\\b" '), 2)


def test_nothing_is_sent_when_all_is_as_in_the_file() -> None:
    """[A24] The run then is that of plain pytest."""
    assert options_of({"metric_weights": None}) == []


@pytest.mark.parametrize(
    ("ends", "value"),
    [
        ({"f1": {"min": 0.3}}, 0.3),
        ({"f1": {"min": 0.3, "max": None}}, 0.3),
        ({"f1": {"min": None, "max": 0.9}}, {"max": 0.9}),
        ({"f1": {"min": 0.3, "max": 0.9}}, {"min": 0.3, "max": 0.9}),
        ({"f1": {"min": None, "max": None}}, None),
        ({"cost": {"max": 3}}, 3),
        ({"cost": {"min": 1, "max": None}}, {"min": 1, "max": None}),
        ({"weighted_score": {"min": None, "max": 0.9}}, {"min": None, "max": 0.9}),
    ],
)
def test_a_threshold_is_written_as_people_write_it(ends: dict[str, Any], value: Any) -> None:
    """[P4] A bare number where it is the usual end alone; an end that the file had goes."""
    [name] = ends
    assert read_settings({"thresholds": ends}, OUTLINE).values == {("thresholds", name): value}


@pytest.mark.parametrize("in_file", [0.5, {"min": 0.5}, {"max": 0.8}, {"min": 0.5, "max": 0.8}])
@pytest.mark.parametrize("ends", [(None, 0.9), (0.3, 0.9), (0.3, None)])
def test_a_threshold_is_the_same_in_a_run_and_in_the_file(
    tmp_path: Path, in_file: Any, ends: tuple[float | None, float | None]
) -> None:
    """[P4] Whichever ends the file had: those of the page alone are left."""
    (tmp_path / "r.jsonl").write_text('{"answer": "a", "references": ["a"]}\n')
    path = tmp_path / "s.rageval.yaml"
    threshold = json.dumps({"f1": in_file})
    path.write_text(f"name: s\ndataset: r.jsonl\nmetrics: [f1]\nthresholds: {threshold}\n")
    before = thresholds_of(path, [])
    of_metric = {"name": "f1", "threshold": before["f1"], "higher_is_better": True}
    body = {"f1": dict(zip(("min", "max"), ends, strict=True))}
    settings = read_settings({"thresholds": body}, {**OUTLINE, "metrics": [of_metric]})
    options = [one.removeprefix("--rag-set=") for one in settings.run_options()]
    run = thresholds_of(path, [set_override("--rag-set", one) for one in options])
    patch_scenario(path, settings.nested)
    assert [run, thresholds_of(path, [])] == [body, body]


def thresholds_of(path: Path, overrides: list[Any]) -> Any:
    loaded, problems = inspect_scenario(path, overrides)
    assert problems == []
    found = loaded.tree.data["thresholds"]["f1"]
    ends = found if isinstance(found, dict) else {"min": found}
    return {"f1": {"min": None, "max": None, **ends}}


def test_gates_are_changed_added_and_removed_by_their_paths() -> None:
    """[P4] Of a gate by groups that loses its last bound, nothing is left behind."""
    body = [
        [["f1", "mean"], 0.6],
        [["cost", "lower_bound"], 0.1],
        [["by", "topic", "f1"], None],
        [["by", "team", "f1"], None],
    ]
    found = read_settings({"gates": body}, OUTLINE)
    assert found.values == {
        ("gates", "f1", "mean"): 0.6,
        ("gates", "cost", "lower_bound"): 0.1,
        ("gates", "by", "topic"): None,
        ("gates", "by", "team", "f1"): None,
    }
    assert found.nested["gates"]["by"] == {"topic": None, "team": {"f1": None}}
    assert found.run_options()[2:] == [
        "--rag-set=gates.by.topic=null",
        "--rag-set=gates.by.team.f1=null",
    ]


def test_a_gate_that_loses_its_bound_keeps_what_is_more_than_a_bound() -> None:
    """[P4]"""
    found = read_settings({"gates": [[["f1", "mean"], None]]}, OUTLINE)
    assert found.values == {("gates", "f1", "mean"): None}


@pytest.mark.full
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("in_file", "body", "expected"),
    [
        (None, {"": 0.5, "lower_bound": 0.4}, {"mean": 0.5, "lower_bound": 0.4}),
        (0.3, {"": 0.5, "lower_bound": 0.4}, {"mean": 0.5, "lower_bound": 0.4}),
        (0.3, {"": None, "lower_bound": 0.4}, {"lower_bound": 0.4}),
        (0.3, {"lower_bound": 0.4}, {"mean": 0.3, "lower_bound": 0.4}),
        ({"lower_bound": 0.2}, {"": 0.5}, {"mean": 0.5, "lower_bound": 0.2}),
        ({"lower_bound": 0.2}, {"": 0.5, "lower_bound": None}, {"mean": 0.5}),
        ({"mean": 0.3, "lower_bound": 0.2}, {"mean": 0.5, "lower_bound": None}, {"mean": 0.5}),
        ({"mean": 0.3, "lower_bound": 0.2}, {"mean": None}, {"lower_bound": 0.2}),
        ({"mean": 0.3, "lower_bound": 0.2}, {"mean": None, "lower_bound": None}, None),
    ],
)
def test_two_gates_of_one_metric_are_both_kept(
    tmp_path: Path, in_file: Any, body: dict[str, Any], expected: Any, *, is_reversed: bool
) -> None:
    """[P4] In any order, in the file and as options of a run."""
    gates = {"em": 0.1} if in_file is None else {"em": 0.1, "f1": in_file}
    outline = {**OUTLINE, "metrics": [{"name": "f1"}, {"name": "em"}], "gates": gates}
    wanted = [[["f1", *filter(None, [name])], one] for name, one in body.items()]
    settings = read_settings({"gates": wanted[:: -1 if is_reversed else 1]}, outline)
    path = tmp_path / "s.rageval.yaml"
    (tmp_path / "r.jsonl").write_text('{"answer": "a", "references": ["a"]}\n')
    path.write_text(f"name: s\ndataset: r.jsonl\nmetrics: [f1, em]\ngates: {json.dumps(gates)}\n")
    options = [one.removeprefix("--rag-set=") for one in settings.run_options()]
    run = gates_of(path, [set_override("--rag-set", one) for one in options])
    patch_scenario(path, settings.nested)
    assert [run.get("f1"), gates_of(path, []).get("f1")] == [expected, expected]


def gates_of(path: Path, overrides: list[Any]) -> Any:
    loaded, problems = inspect_scenario(path, overrides)
    assert problems == []
    return loaded.tree.data["gates"]


def test_paths_that_exclude_each_other_are_refused() -> None:
    for path, other in ((("a",), ("a", "b")), (("a", "b"), ("a",))):
        with pytest.raises(Refused, match="changed twice"):
            nested({path: 0.5, other: 0.4})


def test_gates_that_say_more_than_a_bound_are_left_to_the_file() -> None:
    """[P4]"""
    assert dict(plain_gates(OUTLINE["gates"])) == {
        ("f1", "mean"): 0.5,
        ("by", "topic", "f1"): 0.3,
        ("by", "team", "f1"): 0.1,
        ("by", "team", "pass_rate"): 0.5,
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"gates": [[["f1", "no_regression", "margin"], 1]]}, "unknown gate"),
        ({"gates": [[["by", "secret", "f1"], 1]]}, "unknown gate"),
        ({"gates": [[["f1", "mean", "a"], 1]]}, "unknown gate"),
        ({"gates": [[[["f1"]], 1]]}, "unknown gate"),
        ({"gates": [[["f1", "mean"], "1"]]}, "expected a number, found '1'"),
        ({"gates": [[["f1", "mean"], True]]}, "expected a number, found True"),
        ({"gates": [[["f1", "mean"], 10**400]]}, "expected a number"),
        ({"gates": [["f1", 1]]}, "lists of a path and a number"),
        ({"gates": {"f1": 1}}, "expected a list"),
        ({"gates": [[["f1", "mean"], 1]] * 501}, "at most 500"),
        (
            {"thresholds": {"f2": {"min": 1}}},
            "unknown metric 'f2'. Known: cost, f1",
        ),
        ({"thresholds": {"f1": 1}}, "expected an object with 'min' and 'max'"),
        ({"thresholds": {"f1": {"mean": 1}}}, "expected an object with 'min' and 'max'"),
        ({"thresholds": {"f1": {"min": "x"}}}, "expected a number, found 'x'"),
        ({"thresholds": [1]}, "expected an object"),
    ],
)
def test_what_is_no_setting_is_refused(body: dict[str, Any], message: str) -> None:
    """[P4] Names are those that the scenario has, or could take."""
    with pytest.raises(Refused, match=message):
        read_settings(body, OUTLINE)


def test_one_changed_weight_brings_those_of_the_other_metrics() -> None:
    """[A24] A file that names some metrics only has a warning; other settings bring none."""
    metrics = [{"name": "f1", "weight": 1.0}, {"name": "em", "weight": 0.0}]
    changed = Settings({("metric_weights", "f1"): 3.0, ("gates", "f1"): 0.5})
    assert changed.with_all_weights(metrics).values == {
        ("metric_weights", "f1"): 3.0,
        ("metric_weights", "em"): 0.0,
        ("gates", "f1"): 0.5,
    }
    unweighed = Settings({("gates", "f1"): 0.5})
    assert unweighed.with_all_weights(metrics) == unweighed
