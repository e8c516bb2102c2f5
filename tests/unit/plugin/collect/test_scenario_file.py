"""What pytest is told of a scenario's cases while they are collected: markers and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fake_config import config_of, configured

from pytest_rageval.engine.plan import Plan
from pytest_rageval.plugin.collect import RagevalWarning
from pytest_rageval.plugin.collect.scenario_file import (
    _may_take_a_fixture,
    _warn,
    case_marks,
)
from pytest_rageval.plugin.names import tag_name

MakePlan = Callable[..., Plan]

GOOD = "{id: good, answer: x, references: [x]}"
INVALID = {
    "no answer": "{id: odd, references: [x], MORE}",
    "a list": "{id: odd, answer: [x], references: [x], MORE}",
}


def marks(made: Plan, root: Path) -> list[tuple[str, str | None]]:
    """Return the markers of the last case, with their reasons."""
    found = case_marks(config_of(root), made, made.cases[-1])
    return [(mark.name, mark.kwargs.get("reason")) for mark in found]


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("fast", "fast"),
        ("two words", "two_words"),
        ("lang:zh", "lang_zh"),
        ("中文", "中文"),
        ("v1.2", "v1.2"),
        ("a/b", "a/b"),
        ("_private", "private"),
        ("x(1)", "x_1_"),
        ("--", "--"),
        ("()", "tag"),
        ("3", "3"),
        ("\ud800", "\\ud800"),
        # A topic called "skip" must not switch its samples off.
        *((name, f"{name}_") for name in ("skip", "skipif", "xfail", "parametrize")),
        *((name, f"{name}_") for name in ("usefixtures", "filterwarnings")),
    ],
)
def test_any_tag_has_a_marker_of_its_own(tag: str, name: str) -> None:
    """[E7] Whatever the data call it."""
    assert tag_name(tag) == name


@pytest.mark.parametrize("value", ["false", "''", "no", "'False'", "'0'", "0", "null"])
def test_a_column_that_says_no_marks_nothing(plan: MakePlan, tmp_path: Path, value: str) -> None:
    """[E7] In all the ways that data say it."""
    row = f"{{answer: x, references: [x], skip: {value}, xfail: {value}}}"
    assert marks(plan(f"name: s\nmetrics: [em]\ndataset: [{row}]\n"), tmp_path) == []


@pytest.mark.parametrize("row", INVALID.values(), ids=INVALID)
@pytest.mark.parametrize("mark", ["skip", "xfail"])
@pytest.mark.parametrize("where", ["row", "scenario"])
def test_an_invalid_row_is_marked_as_any(
    plan: MakePlan, tmp_path: Path, where: str, mark: str, row: str
) -> None:
    """[E7] By its own column, and by a condition."""
    own = f"{mark}: was lost" if where == "row" else ""
    text = f"{mark}: [{{where: {{id: odd}}, reason: was lost}}]\n" if where != "row" else ""
    dataset = f"[{GOOD}, {row.replace('MORE', own)}]"
    made = plan(f"name: s\nmetrics: [em]\ndataset: {dataset}\n{text}")
    assert marks(made, tmp_path) == [(mark, "was lost")]


@pytest.mark.parametrize(("mode", "mark"), [("fail", None), ("skip", "skip"), ("xfail", "xfail")])
def test_invalid_rows_may_be_skipped_or_expected(
    plan: MakePlan, tmp_path: Path, mode: str, mark: str | None
) -> None:
    """[A19] With the reason, behind that of their own."""
    row = INVALID["a list"].replace("MORE", "skip: mine")
    rows = f"{{rows: [{GOOD}, {row}], on_invalid: {mode}}}"
    own, *found = marks(plan(f"name: s\nmetrics: [em]\ndataset: {rows}\n"), tmp_path)
    assert own == ("skip", "mine")
    assert [name for name, _ in found] == ([mark] if mark else [])
    assert all((reason or "").startswith("invalid row: answer must be text") for _, reason in found)


def collector(**worker: Any) -> pytest.Collector:
    """Return as much of a collector as warns; ``worker`` is what an xdist worker was told."""
    config = SimpleNamespace(**({"workerinput": worker} if worker else {}))
    return cast(
        "pytest.Collector",
        SimpleNamespace(
            config=config, warn=warnings.warn, CollectError=pytest.Collector.CollectError
        ),
    )


def test_one_process_warns_and_each_refuses_where_warnings_are_errors() -> None:
    """[E12, U6] All workers must collect the same; only the first one shows a warning."""
    first, second = collector(rageval_warns=True), collector(rageval_warns=False)
    with pytest.warns(RagevalWarning, match=r"^odd\\x1b$"):
        _warn(["odd\x1b"], first)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _warn(["odd"], second)
    assert seen == []
    warnings.simplefilter("error")
    for one in (collector(), first, second):
        with pytest.raises(one.CollectError, match="odd"):
            _warn(["odd"], one)


@pytest.mark.parametrize(
    ("text", "option", "may"),
    [
        ("target: {fixture: bot}", "", True),
        ("metrics: [em]", "", False),
        ("metrics: [em]", "--rag-set=target.fixture=bot", True),
        ("metrics: [em]", "--rag-set=name=target", False),
        (None, "", False),
    ],
)
def test_a_target_that_is_a_fixture_is_seen_before_the_file_is_read(
    tmp_path: Path, text: str | None, option: str, may: bool
) -> None:
    """Fixtures have scopes only below a module, and what collects a file is chosen first."""
    path = tmp_path / "s.yaml"
    if text is not None:
        path.write_text(text, "utf-8")
    config = configured(tmp_path, *filter(None, [option]))
    assert _may_take_a_fixture(path, config) is may
