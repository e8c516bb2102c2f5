"""E19: what travels to a worker and back is the same when it arrives."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import fields

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.remote.packing import (
    Recipe,
    Refused,
    Scored,
    pack_reply,
    pack_samples,
    unpack_reply,
    unpack_samples,
)
from pytest_rageval.model import NOTHING, Sample, Score

FULL = Sample(
    "双 \ud800",
    3,
    4,
    "why?",
    "because",
    ("one", "two"),
    ("ref",),
    (("a", "b"),),
    ("expected",),
    "doc.md",
    ("doc.md", None),
    ("d1",),
    {"d1": 2},
    {"lang": "zh", "n": 1.5, "deep": [None, {"x": True}]},
    ("tag",),
    None,
    "known",
    ("a", ("b", "c")),
    ("d",),
    ("e",),
    ({"type": "equals"},),
    ("f",),
    True,
    (1, "a"),
    (("One.", (1,)),),
    (2,),
    ({"role": "user", "content": "hi"},),
    0.5,
    ({"text": "n", "importance": "vital"},),
    ("d1", "d1"),
)


def test_a_sample_arrives_with_all_of_its_fields() -> None:
    """Each field of FULL differs from its default but ``skip``, as only what runs travels."""
    (bare, full) = unpack_samples(pack_samples([Sample("x"), FULL]))
    assert full == FULL
    assert bare == Sample("x")
    assert bare.metadata is NOTHING
    same = [f.name for f in fields(Sample) if getattr(FULL, f.name) == getattr(bare, f.name)]
    assert same == ["skip"]


def test_scores_arrive_with_reasons_details_and_errors() -> None:
    sent = Scored()
    sent.add([Score("em", 1.0), Score("m", None, "no claim", {1: {"b", "a"}})], 0.25)
    sent.add([Score("em", 0.0), Score("m", None, error="ValueError: x")], 0.5)
    sent.add([Score("em", 0.0), Score("m", None, left_out="row")], 0.5)
    arrived = unpack_reply(pack_reply(sent))
    assert isinstance(arrived, Scored)
    assert arrived.seconds == [0.25, 0.5, 0.5]
    assert arrived.scores(0, ["em", "m"]) == {
        "em": Score("em", 1.0),
        "m": Score("m", None, "no claim", {"1": ["a", "b"]}),
    }
    assert arrived.scores(1, ["em", "m"])["m"] == Score("m", None, error="ValueError: x")
    assert arrived.scores(2, ["em", "m"])["m"] == Score("m", None, left_out="row")


def test_what_a_users_metric_says_arrives_as_plain_text() -> None:
    """Objects of classes that a worker alone has; what has no text is that score's error."""

    class Text(str):
        __slots__ = ()

    class Silent:
        def __str__(self) -> str:
            raise ValueError("no text")

    circle: list[object] = []
    circle.append(circle)
    said: object = Text("hm")
    sent = Scored()
    sent.add(
        [
            Score("a", 0.5, said, {"deep": [said]}),  # type: ignore[arg-type]
            Score("b", 0.5, details={"d": Silent()}),
            Score("c", 0.5, details={"d": circle}),
        ],
        0.1,
    )
    arrived = unpack_reply(pack_reply(sent))
    assert isinstance(arrived, Scored)
    found = arrived.scores(0, ["a", "b", "c"])
    assert found["a"] == Score("a", 0.5, "hm", {"deep": ["hm"]})
    assert type(found["a"].reason) is str
    silent = "what it returned cannot be told: ValueError: no text (test_packing.py:"
    assert (found["b"].value, found["b"].details) == (None, None)
    assert str(found["b"].error).startswith(silent)
    assert found["c"].value is None
    assert str(found["c"].error).startswith("what it returned cannot be told: RecursionError")


def test_a_zero_keeps_its_sign() -> None:
    """Though it is equal to one without: scores.csv shows it."""
    sent = Scored()
    for value in (0.0, -0.0, 0.0):
        sent.add([Score("em", value)], 0.0)
    arrived = unpack_reply(pack_reply(sent))
    assert isinstance(arrived, Scored)
    assert [str(arrived.scores(at, ["em"])["em"].value) for at in range(3)] == [
        "0.0",
        "-0.0",
        "0.0",
    ]


def test_a_refusal_arrives_as_one() -> None:
    assert unpack_reply(pack_reply(Refused("no module"))) == Refused("no module")


def test_a_recipe_holds_what_metrics_depend_on_and_neither_rows_nor_keys(
    plan: Callable[..., Plan],
) -> None:
    """The path, the options and notation; nothing of the judge, the headers or the data."""
    pytest.importorskip("aiohttp")
    made = plan(
        "name: s\ndataset: [{id: SECRET-ROW, question: q, answer: x, references: [x]}]\n"
        "metrics: [em, {f1: {normalizer: squad}}, rubric]\n"
        "judge: {model: m, base_url: 'http://127.0.0.1:9/v1', headers: {X-Key: SECRET-KEY}}\n"
    )
    assert made.source is not None
    assert [metric.column.name for metric in made.runs_elsewhere] == ["em", "f1"]
    packed = Recipe.of(made.source, made.runs_elsewhere, made.empty_answer).pack()
    assert b"SECRET" not in packed
    recipe = Recipe.unpack(packed)
    assert recipe.positions == (0, 1)
    assert recipe.definitions == {m.column.name: m.column.definition for m in made.runs_elsewhere}


@pytest.mark.parametrize(
    ("refusals", "elsewhere"),
    [
        ("phrases", ["f1"]),
        ("judge", []),
        ("{detect: phrases, answerable: judge}", []),
        ("{answerable: judge, conditions: []}", []),
    ],
)
def test_nothing_runs_elsewhere_where_scores_wait_for_what_a_judge_says_of_the_answer(
    plan: Callable[..., Plan], refusals: str, elsewhere: list[str]
) -> None:
    """A worker does not know it, and would call it a missing reply."""
    pytest.importorskip("aiohttp")
    made = plan(
        f"name: s\nmetrics: [f1]\nrefusals: {refusals}\n"
        "dataset: [{question: q, answer: x, references: [x], contexts: [x]}]\n"
        "judge: {model: m, base_url: 'http://127.0.0.1:9/v1'}\n"
    )
    assert [metric.column.name for metric in made.runs_elsewhere] == elsewhere


@pytest.mark.full
def test_a_thousand_rows_with_four_passages_pack_to_under_two_megabytes() -> None:
    """Made words, which pack worse than those of a language; 3,000 characters a row."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnopqrst", k=6)) for _ in range(5000)]
    samples = [
        Sample(
            f"q{at}",
            at,
            at + 1,
            " ".join(chance.choices(words, k=10)),
            " ".join(chance.choices(words, k=50)),
            tuple(" ".join(chance.choices(words, k=100)) for _ in range(4)),
            (" ".join(chance.choices(words, k=40)),),
        )
        for at in range(1000)
    ]
    assert len(json.dumps([sample.contexts for sample in samples])) > 2_700_000
    chunks = [pack_samples(samples[at : at + 100]) for at in range(0, 1000, 100)]
    assert sum(map(len, chunks)) < 2_000_000


def test_what_cannot_travel_raises() -> None:
    """A function without a name, that a hook put into a sample."""
    with pytest.raises(Exception, match="pickle|local object"):
        pack_samples([Sample("x", metadata={"held": lambda: 1})])
