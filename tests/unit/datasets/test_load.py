"""A18, A22, D7: which rows of which file, and ids that must be unique."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

Load = Callable[..., Dataset]
Refused = Callable[..., list[str]]

TEN = "".join(f'{{"id": "{at}", "answer": "x", "references": ["y"]}}\n' for at in range(10))


def ids(dataset: Dataset) -> list[str]:
    return [case.id for case in dataset.cases]


@pytest.mark.parametrize(("limit", "count"), [(-1, 10), (1, 1), (3, 3), (10, 10), (999, 10)])
def test_a_limit_takes_the_first_rows(load: Load, limit: int, count: int) -> None:
    """A22, D7."""
    assert ids(load("r.jsonl", TEN, limit=limit)) == [str(at) for at in range(count)]


def test_a_limit_of_any_size_is_fine(load: Load) -> None:
    assert len(load("r.jsonl", TEN, limit=10**30).cases) == 10


def test_shuffling_is_pythons_over_all_rows_then_the_limit_cuts(load: Load) -> None:
    """D7: UltraRAG's order."""
    order = list(range(10))
    random.Random(7).shuffle(order)
    expected = [str(at) for at in order]
    assert ids(load("r.jsonl", TEN, shuffle=True, seed=7)) == expected
    assert ids(load("r.jsonl", TEN, shuffle=True, seed=7, limit=4)) == expected[:4]
    assert expected != sorted(expected)


def test_rows_without_id_are_called_after_their_place_in_the_file(load: Load) -> None:
    """A2: whatever the order in which they run."""
    content = "".join(f'{{"answer": "{at}"}}\n' for at in range(1, 6))
    found = load("r.jsonl", content, shuffle=True, seed=1)
    for index, case in enumerate(found.cases):
        assert isinstance(case, Sample)
        assert case.id == f"sample-{case.answer}"
        assert (case.index, case.row) == (index, int(case.answer or 0))


def test_only_as_many_rows_as_the_limit_says_are_read(load: Load) -> None:
    """A22: what stands behind them is not even looked at."""
    assert len(load("r.csv", 'answer,references\nx,y\nz,w\n"\n', limit=2).cases) == 2


def test_duplicate_ids_are_named_with_both_lines(refused: Refused) -> None:
    """A2."""
    content = '{"id": "a"}\n\n{"id": "b"}\n{"id": "a"}\n'
    assert refused("r.jsonl", content) == ["r.jsonl:4: duplicate id 'a' (first on line 1)"]
    content = '[{"id": "a"}, {"id": "b"}, {"id": "a"}]'
    assert refused("r.json", content) == ["r.json: row 3: duplicate id 'a' (first on row 1)"]


def test_many_duplicate_ids_are_not_all_listed(refused: Refused) -> None:
    found = refused("r.jsonl", '{"id": "a"}\n' * 20)
    assert len(found) == 7
    assert found[-2] == "r.jsonl: and 14 more duplicate ids"


def test_ids_that_are_none_are_named_with_what_to_write(refused: Refused) -> None:
    """W8: the id of a gold document, or of the question that a passage belongs to."""
    found = refused("r.csv", "uid,answer\na,x\na,y\na,z\n", key_map={"id": "uid"})
    assert found[-1] == (
        "r.csv: if 'uid' names the expected document, write key_map: {reference_ids: uid}; if its "
        "rows are parts of one sample, merge_rows: uid (in 'dataset')"
    )


def test_an_id_that_looks_like_a_place_may_not_be_taken_twice(refused: Refused) -> None:
    (problem,) = refused("r.jsonl", '{"answer": "x"}\n{"id": "sample-1"}\n')
    assert "duplicate id 'sample-1'" in problem


def test_no_rows_test_nothing(refused: Refused) -> None:
    for name, content in (
        ("r.jsonl", ""),
        ("r.jsonl", "\n \n"),
        ("r.json", "[]"),
        ("r.csv", "a\n"),
    ):
        assert refused(name, content) == [f"{name}: no rows: an empty data set tests nothing"]


def test_a_mapped_column_that_no_row_has_is_refused_with_a_guess(refused: Refused) -> None:
    """D7."""
    found = refused("r.jsonl", TEN, key_map={"answer": "anwser", "question": "q.x"})
    assert found[0].startswith(
        "r.jsonl: key_map: no row has the column 'anwser' for 'answer'. Did you mean 'answer'?"
    )
    assert "no row has the column 'q.x' for 'question'" in found[1]


def test_a_mapped_column_that_some_row_has_is_fine(load: Load) -> None:
    found = load("r.jsonl", '{"answer": "x"}\n{"q": "x"}\n', key_map={"question": "q"})
    assert len(found.cases) == 2


def test_the_columns_of_all_rows_are_known(load: Load) -> None:
    """A17: in the order in which they come."""
    found = load("r.jsonl", '{"answer": "x", "b": 1}\n{"a": 2, "answer": "y"}\n')
    assert found.columns == ("answer", "b", "a")
    assert found.metadata_columns == ("b", "a")


def test_a_file_that_is_not_there_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "support.jsonl").write_text(TEN)
    (tmp_path / "sub").mkdir()

    def message(path: str) -> str:
        with pytest.raises(ScenarioError) as caught:
            load_dataset(DatasetSpec(path=path), tmp_path, "s.yaml:3")
        return str(caught.value)

    found = message("suport.jsonl")
    assert found.startswith("s.yaml:3: dataset: no file 'suport.jsonl' in ")
    assert found.endswith("Did you mean 'support.jsonl'?")
    assert "does not exist" in message("nowhere/x.jsonl")
    assert message("sub") == "s.yaml:3: dataset: 'sub' is a folder; name a file in it"


@pytest.mark.parametrize("path", ["x" * 5000 + ".csv", "a\0b.csv", "x/" * 3000 + "y.csv"])
def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ScenarioError, match=r"s\.yaml:3: dataset: ") as caught:
        load_dataset(DatasetSpec(path=path), tmp_path, "s.yaml:3")
    assert len(str(caught.value)) < 20_000


def test_the_hash_is_that_of_the_data(load: Load) -> None:
    import hashlib

    found = load("r.jsonl", TEN)
    assert found.sha256 == hashlib.sha256(TEN.encode()).hexdigest()
    assert load("r.jsonl", TEN + "\n").sha256 != found.sha256


def test_inline_rows(tmp_path: Path) -> None:
    """A18."""
    rows: list[Any] = [{"answer": "x"}, 3, {"id": "b", "answer": "z"}]
    found = load_dataset(DatasetSpec(rows=rows), tmp_path, "s.yaml:2", [3, 4, 5])
    assert ids(found) == ["sample-1", "sample-2", "b"]
    assert found.shown == "s.yaml"
    invalid = found.cases[1]
    assert getattr(invalid, "reason", None) == "expected an object, found a number"
    assert getattr(invalid, "line", None) == 4
    changed = load_dataset(DatasetSpec(rows=rows[:1]), tmp_path, "s.yaml:2")
    assert changed.sha256 != found.sha256


def test_an_inline_row_that_is_too_long_is_invalid(tmp_path: Path) -> None:
    rows: list[Any] = [{"answer": "y" * 2000}, {"answer": "x"}]
    found = load_dataset(DatasetSpec(rows=rows, max_row_mb=0.001), tmp_path, "s.yaml:2")
    assert getattr(found.cases[0], "reason", "") == "longer than 0.001 MB (dataset.max_row_mb)"
    assert isinstance(found.cases[1], Sample)


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="needs a file of Linux")
def test_a_file_that_is_there_and_cannot_be_read_is_the_users_problem(tmp_path: Path) -> None:
    """E12: its first page is nobody's, whoever asks: not even root can read it."""
    (tmp_path / "r.jsonl").symlink_to("/proc/self/mem")
    with pytest.raises(ScenarioError) as caught:
        load_dataset(DatasetSpec(path="r.jsonl"), tmp_path, "s.yaml:2")
    assert str(caught.value) == "r.jsonl: cannot be read: Input/output error"
