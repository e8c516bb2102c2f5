"""Each section of a scenario is validated by itself, then those that depend on each other."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_rageval.scenario.loader import UNREADABLE, validate
from pytest_rageval.scenario.spec import kind_of, reworded
from pytest_rageval.scenario.yaml.tree import parse_yaml

SOUND = "name: s\ndataset: r.jsonl\nmetrics: [em, f1]\n"


def found(text: str) -> list[str]:
    return [str(problem) for problem in validate(parse_yaml(text, "s.yaml"))[2]]


def test_of_a_section_with_problems_the_valid_parts_stay() -> None:
    text = (
        "dataset: {path: r.jsonl, limit: 0}\n"
        "metrics: [em, {a: 1, b: 2}, f1, {use: 'a:b', range: 1}]\n"
        "skip: [{where: {}}, {where: {a: 1}, reason: []}]\n"
        "judge: {modle: m}\n"
        "thresholds: {em: {min: 0.5, mx: 1}, f1: []}\n"
    )
    scenario, positions, problems = validate(parse_yaml(text, "s.yaml"))
    assert (scenario.name, scenario.dataset.path, scenario.dataset.limit) == (
        "unnamed",
        "r.jsonl",
        -1,
    )
    assert [metric.metric for metric in scenario.metrics] == ["em", "f1", "a:b"]
    assert [mark.where for mark in scenario.skip] == [{"a": 1}]
    assert scenario.judge is None
    assert [(name, bound.min) for name, bound in scenario.thresholds.items()] == [("em", 0.5)]
    assert positions == {"metrics": [0, 2, 3], "skip": [1]}
    # name, limit, a metric, a range, where, reason, modle and model, mx, f1
    assert len(problems) == 10


def test_what_a_scenario_must_have_and_has_not_is_empty() -> None:
    scenario, positions, _ = validate(parse_yaml("metrics: 1\n", "s.yaml"))
    assert (scenario.name, scenario.metrics, positions) == ("unnamed", [], {})
    assert scenario.dataset is UNREADABLE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{SOUND}tolerate: pass_rate\ntop_k: 0\n",
            [
                "s.yaml:5: top_k: expected a number >= 1, found 0",
                "s.yaml:4: tolerate: pass_rate needs the gate 'pass_rate', which then decides",
            ],
        ),
        (
            f"{SOUND}tolerate: pass_rate\ngates: 3\n",
            ["s.yaml:5: gates: expected a mapping, found 3"],
        ),
        (
            f"{SOUND}compare: {{run_old_path: b}}\n",
            ["s.yaml:4: compare.run_old_path needs 'qrels_path' and 'run_path'"],
        ),
        (
            "name: s\nmetrics: [em]\ndataset: {limit: 1}\ncompare: {run_old_path: b}\n",
            ["s.yaml:3: dataset: give either 'path' or 'rows', or 'qrels_path' and 'run_path'"],
        ),
    ],
)
def test_two_sections_are_compared_when_the_other_one_is_sound(
    text: str, expected: list[str]
) -> None:
    assert found(text) == expected


TREC = "name: s\nmetrics: [mrr]\ndataset: {qrels_path: q, run_path: r}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{SOUND}compare:\n  - main\n  - {{baseline: v1, alpha: 2}}\n",
            "s.yaml:6: compare[1].alpha: expected a number between 0 and 1, found 2",
        ),
        (
            f"{SOUND}compare: [main, {{baseline: v1, looks: 0}}]\n",
            "s.yaml:4: compare[1].looks: expected a number >= 1, found 0",
        ),
        (
            f"{SOUND}compare: {{baseline: v1, looks: 0}}\n",
            "s.yaml:4: compare.looks: expected a number >= 1, found 0",
        ),
        (
            f"{SOUND}compare: [main, {{test: t}}]\n",
            "s.yaml:4: compare[1]: give either 'baseline' or 'run_old_path'",
        ),
        (f"{SOUND}compare: [main, [a]]\n", "s.yaml:4: compare[1]: expected text, found a list"),
        (
            f"{SOUND}compare: [main, v1, main]\n",
            "s.yaml:4: compare: 'main' is named 2 times; keep one",
        ),
        (
            f"{TREC}compare: [{{run_old_path: a}}, {{run_old_path: b}}]\n",
            "s.yaml:4: compare: 'run_old_path' may stand once; save the other runs "
            "(--rag-save NAME)",
        ),
    ],
)
def test_a_mistake_in_a_list_of_runs_is_at_its_place(text: str, expected: str) -> None:
    """F7."""
    assert found(text) == [expected]


def test_a_run_has_its_short_form_alone_and_in_a_list() -> None:
    """F7: a text is the name of a saved run; one alone is a list of one."""
    for text, names, looks in (
        ("main", ["main"], [1]),
        ("{baseline: main}", ["main"], [1]),
        ("[main, {baseline: v1, looks: 50}]", ["main", "v1"], [1, 50]),
        ("[{baseline: v1, looks: 50}]", ["v1"], [50]),
    ):
        scenario, _, problems = validate(parse_yaml(f"{SOUND}compare: {text}\n", "s.yaml"))
        assert problems == []
        assert [run.name for run in scenario.compare or ()] == names
        assert [run.looks for run in scenario.compare or ()] == looks


def test_a_mistake_in_a_profile_is_reported_once() -> None:
    text = f"{SOUND}models: {{m: {{retries: -1}}}}\njudge: m\nembedding: {{profile: m, rpm: 0}}\n"
    assert found(text) == [
        "s.yaml:4: models.m.retries: expected a number >= 0, found -1",
        "s.yaml:6: embedding.rpm: expected a number >= 1, found 0",
    ]


def test_a_profile_is_for_any_role() -> None:
    """Each takes the keys that it has: a batch is for texts, a temperature for replies."""
    text = (
        f"{SOUND}models: {{m: {{batch_size: 8, temperature: 0.5, repeats: 3, rpm: 9}}}}\n"
        "judge: m\nembedding: m\ntarget: m\n"
    )
    scenario, _, problems = validate(parse_yaml(text, "s.yaml"))
    assert problems == []
    judge, embedding, target = scenario.judge, scenario.embedding, scenario.target
    assert judge is not None
    assert embedding is not None
    assert target is not None
    assert (judge.temperature, judge.repeats, judge.rpm) == (0.5, 3, 9)
    assert (embedding.batch_size, embedding.rpm) == (8, 9)
    assert (target.options, target.rpm) == ({"model": "m", "temperature": 0.5}, 9)


def test_a_key_that_no_role_has_is_a_mistake_of_the_profile() -> None:
    text = f"{SOUND}models: {{m: {{batchsize: 8}}}}\njudge: m\nembedding: m\n"
    (problem,) = found(text)
    assert problem.startswith("s.yaml:4: unknown key 'batchsize' under models.m. Did you mean")


def test_a_role_has_no_keys_of_others_beside_its_profile() -> None:
    text = f"{SOUND}models: {{m: {{rpm: 9}}}}\njudge: {{profile: m, batch_size: 8}}\n"
    (problem,) = found(text)
    assert problem.startswith("s.yaml:5: unknown key 'batch_size' under judge.")


def test_what_may_be_a_key_is_not_quoted() -> None:
    text = f"{SOUND}judge: {{model: m, headers: [sk-1], base_url: [sk-2], extra_body: sk-3}}\n"
    assert "sk-" not in "".join(found(text))
    assert len(found(text)) == 3


def test_the_kinds_of_values_have_names() -> None:
    values: tuple[object, ...] = ({}, [], "", True, 1)
    assert [kind_of(value) for value in values] == [
        *("mapping", "list", "text", "boolean", "number"),
    ]


class Arguments(BaseModel):
    """Such as those of a tool."""

    model_config = ConfigDict(extra="forbid")


def test_keys_that_cannot_be_read_are_told_without_a_place() -> None:
    """X10: half an emoji as the name of an argument."""
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate({"\ud800": 1})
    (detail,) = caught.value.errors()
    assert detail["loc"] == ()
    assert reworded(detail).startswith("Input should be a valid string, unable to parse")
    tree = parse_yaml(SOUND, "s.yaml")
    tree.data["k\ud800"] = 1
    (problem,) = validate(tree)[2]
    assert str(problem).startswith("s.yaml:1: a key that is no text: Input should be a valid")
