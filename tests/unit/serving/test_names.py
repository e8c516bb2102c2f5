"""E25: names in a request are looked up, and what there is is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.project import Project, ScenarioEntry, pick

KNOWN = ["faithfulness", "f1", "em"]


def refusal(name: str, known: list[str], *, begins: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        pick("metric", name, known, begins=begins)
    return str(caught.value)


def test_a_known_name_is_itself_even_if_it_begins_another() -> None:
    assert pick("metric", "f", ["f", "f1"], begins=True) == "f"


def test_a_beginning_is_enough_only_where_it_is_asked_for() -> None:
    assert pick("metric", "fa", KNOWN, begins=True) == "faithfulness"
    assert refusal("fa", KNOWN).startswith("unknown metric 'fa'")
    assert refusal("f", KNOWN, begins=True) == (
        "metric 'f' is the beginning of 2: faithfulness, f1"
    )


@pytest.mark.parametrize("name", ["", "x", "*", "F1"])
def test_nothing_else_is_a_name(name: str) -> None:
    assert refusal(name, KNOWN, begins=True).startswith(f"unknown metric {name!r}")


def test_the_nearest_is_listed_first() -> None:
    assert refusal("fathfulness", KNOWN) == (
        "unknown metric 'fathfulness'. Did you mean 'faithfulness'? Known: faithfulness, f1, em"
    )


def test_of_many_names_ten_are_listed() -> None:
    message = refusal("nothing", [f"m{at}" for at in range(12)])
    assert message.endswith(" and 2 more")
    assert message.count("m") == 12  # ten names, "metric" and "more"


def test_where_there_is_none_it_says_so() -> None:
    assert refusal("f1", []) == "unknown metric 'f1': there is none"


def test_long_names_are_cut_in_messages() -> None:
    assert len(refusal("x" * 10_000, ["y" * 10_000])) < 300


@pytest.mark.parametrize(
    ("other", "variants", "is_good"),
    [
        ("b.yaml", (), False),
        ("b.yaml", ("x", "y"), False),  # the folder that compares its variants
        ("link.yaml", (), True),
    ],
)
def test_each_of_two_equal_entries_has_the_problem_but_not_a_link(
    tmp_path: Path, other: str, variants: tuple[str, ...], is_good: bool
) -> None:
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    given = [("a.yaml", variants and ("a", "b")), (other, variants)]
    entries = [
        ScenarioEntry(tmp_path / name, name, "qa", variants=of_file) for name, of_file in given
    ]
    paths = RunPaths(tmp_path, tmp_path)
    checked = Project("python", tmp_path, (), paths)._checked(entries)
    assert [one.problem is None for one in checked] == [is_good, is_good]
