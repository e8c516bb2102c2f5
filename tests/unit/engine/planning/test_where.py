"""[E22] ``--rag-where``: cases by the values of their fields."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.engine.plan import Plan, TargetPlan
from pytest_rageval.engine.planning.where import (
    check_fields,
    conditions_for,
    parse_condition,
    select,
    unmet,
)
from pytest_rageval.errors import OptionError, ScenarioError
from pytest_rageval.model import InvalidRow, Sample, ScenarioInfo

ROWS = tomllib.loads(Path(__file__).with_name("where.toml").read_text("utf-8"))


def row(topic: str, **more: Any) -> dict[str, Any]:
    return {**more, "topic": topic}


CASES = (
    Sample(
        "q1",
        0,
        question="How long?",
        answer="Two days",
        doc_name="a.pdf",
        metadata=row("Gebu\u0308hr", n=3),
    ),
    Sample("q2", 1, question="Where?", doc_name="b.pdf", metadata=row("Gebuhr", n=4.0, ok=True)),
    InvalidRow("q3", 2, 3, None, "bad", doc_name="Ärger.pdf", metadata=row("GEB\u00dcHR", n="3 ")),
)
INFO = ScenarioInfo("bot", "bot.yaml", "bot.yaml", (), metadata_columns=("n", "ok"))
PLAN = Plan(INFO, (), CASES, frozenset())


def chosen(*texts: str) -> list[str]:
    return [case.id for case in select(CASES, [parse_condition("--rag-where", t) for t in texts])]


@pytest.mark.parametrize(
    ("texts", "ids"),
    ROWS["cases_are_chosen_by_their_fields"],
)
def test_cases_are_chosen_by_their_fields(texts: list[str], ids: list[str]) -> None:
    """As text, without case for ``~``; values of one field are alternatives, fields all hold."""
    assert chosen(*texts) == ids


@pytest.mark.parametrize("text", ["n", "", "=3", "~x"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(OptionError, match=r"expected FIELD=VALUE, FIELD!=VALUE or FIELD~VALUE"):
        parse_condition("--rag-where", text)


def test_a_value_may_have_signs() -> None:
    """The first sign ends the field."""
    one = parse_condition("--rag-where", "question=a != b")
    assert (one.field, one.sign, one.value) == ("question", "=", "a != b")


def test_unknown_fields_are_refused() -> None:
    """With the nearest guess; variants with the same data say it once."""
    conditions = [parse_condition("--rag-where", "docname=x")]
    with pytest.raises(ScenarioError, match="unknown field 'docname'. Did you mean 'doc_name'"):
        check_fields([PLAN, PLAN], conditions)
    check_fields([PLAN], [parse_condition("--rag-where", "n=x")])


def test_values_that_no_row_has_are_told_with_those_that_there_are() -> None:
    """Only where they repeat: a list of all questions would be too long to help."""
    rows = tuple(
        replace(CASES[0], id=f"q{at}", doc_name=("fees", "lake")[at % 2]) for at in range(4)
    )
    plan = replace(PLAN, cases=rows)
    conditions = [parse_condition("--rag-where", t) for t in ("doc_name=feels", "id=x", "id=q1")]
    said = list(unmet([plan], conditions))
    assert len(said) == 2
    assert said[0].endswith("no row meets it. Did you mean 'fees'? It is fees, lake")
    assert said[1] == "bot.yaml: --rag-where id=x: no row meets it."
    plan = replace(PLAN, cases=rows[::2])
    (said_of_all,) = unmet([plan], [parse_condition("--rag-where", "doc_name!=fees")])
    assert said_of_all.endswith("doc_name!=fees: no row meets it. It is fees")


def test_a_column_has_its_own_name_whatever_it_serves() -> None:
    """As the user knows it, although the key_map made a field of it."""
    plan = replace(PLAN, own_names={"source": "doc_name", "expected": "references"})
    wanted = [parse_condition("--rag-where", "source=b.pdf")]
    check_fields([plan], wanted)
    assert [case.id for case in select(plan.cases, conditions_for(plan, wanted))] == ["q2"]
    assert list(unmet([plan], wanted)) == []
    (said,) = unmet([plan], [parse_condition("--rag-where", "source=b.pdx")])
    assert "--rag-where source=b.pdx: no row meets it. Did you mean 'b.pdf'?" in said
    with pytest.raises(ScenarioError, match="Did you mean 'source'") as refused:
        check_fields([plan], [parse_condition("--rag-where", "sorce=a")])
    assert "expected" not in str(refused.value)
    message = "'expected' is read as 'references', by which no samples are chosen. Known: answer"
    with pytest.raises(ScenarioError, match=message):
        check_fields([plan], [parse_condition("--rag-where", "expected=x")])


def test_a_misspelt_column_is_told_by_the_name_that_it_has() -> None:
    """Those that serve a field no samples are chosen by are not proposed."""
    plan = replace(PLAN, own_names={"source": "doc_name", "expected": "references"})
    with pytest.raises(ScenarioError) as caught:
        check_fields([plan], [parse_condition("--rag-where", "sorce=b.pdf")])
    assert "unknown field 'sorce'. Did you mean 'source'? Known: " in str(caught.value)
    assert "expected" not in str(caught.value)


def test_answers_that_a_target_has_yet_to_give_choose_nothing() -> None:
    """``answer!=x`` would choose all samples, and the run would look whole."""
    target = TargetPlan("bot:answer", frozenset({"answer"}), ClientSettings("bot"))
    plan = replace(PLAN, target=target, own_names={"bot_answer": "answer"})
    for name in ("answer", "bot_answer"):
        with pytest.raises(ScenarioError, match="the answers come from the target, which is"):
            check_fields([plan], [parse_condition("--rag-where", f"{name}!=x")])
    check_fields([plan], [parse_condition("--rag-where", "question~how")])
