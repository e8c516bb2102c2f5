"""A scenario file to a validated scenario, all its problems in one go."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from load_scenario import load_scenario

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import inspect_scenario
from pytest_rageval.scenario.overrides import set_override

ROWS = tomllib.loads(Path(__file__).with_name("loader.toml").read_text("utf-8"))

Write = Callable[..., Path]
MINIMAL = "name: s\ndataset: rows.jsonl\nmetrics: [em]\n"


def problems(path: Path) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, shown="s.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_short_forms_and_long_forms_are_the_same_scenario(write: Write) -> None:
    short = load_scenario(
        write("name: s\ndataset: rows.jsonl\nmetrics: [em]\njudge: m\nthresholds: {em: 0.5}\n")
    ).scenario
    long = load_scenario(
        write(
            "name: s\ndataset: {path: rows.jsonl}\nmetrics: [{em: {}}]\n"
            "judge: {model: m}\nthresholds: {em: {value: 0.5}}\n"
        )
    ).scenario
    assert short == long


def test_everything_wrong_is_reported_at_once_with_file_and_line(write: Write) -> None:
    text = (
        "nme: s\n"
        "dataset:\n"
        "  path: rows.jsonl\n"
        "  formt: csv\n"
        "  limit: 0\n"
        "metrics: []\n"
        "metric_weights:\n"
        "  em: -1\n"
        "  f1: .nan\n"
        "thresholds:\n"
        "  em: abc\n"
        "bands: {good: true}\n"
        "bands: {warn: 0.5}\n"
    )
    found = problems(write(text))
    starts = [problem.partition(" ")[0] for problem in found]
    assert starts == sorted(starts, key=lambda where: int(where.split(":")[1]))
    expected = {
        "s.yaml:1: name: required, and missing",
        "s.yaml:5: dataset.limit: 0 would run nothing; -1 means all rows",
        "s.yaml:6: metrics: must not be empty",
        "s.yaml:8: metric_weights.em: expected a number >= 0, found -1",
        "s.yaml:9: metric_weights.f1: expected a finite number, found nan",
        "s.yaml:11: thresholds.em: expected a number, found 'abc'",
        "s.yaml:12: bands.good: expected a number, found true",
        "s.yaml:13: duplicate key 'bands' (first on line 12)",
    }
    assert expected <= {
        problem.replace("thresholds.em.value", "thresholds.em").partition(" (the scen")[0]
        for problem in found
    }
    assert any(
        problem.startswith("s.yaml:1: unknown key 'nme'. Did you mean 'name'?") for problem in found
    )
    assert any(
        problem.startswith(
            "s.yaml:4: unknown key 'formt' under dataset. Did you mean 'format'? Known: "
        )
        for problem in found
    )
    assert len(found) == 10


@pytest.mark.parametrize(
    ("line", "message"),
    ROWS["one_mistake_and_its_message"],
)
def test_one_mistake_and_its_message(write: Write, line: str, message: str) -> None:
    """A3, A10: at the line where it stands, the last one."""
    (problem,) = problems(write(MINIMAL + line))
    assert message in problem
    assert problem.startswith(f"s.yaml:{MINIMAL.count(chr(10)) + 1}: ")


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("{}", "give either 'path' or 'rows'"),
        ("{path: a, rows: []}", "give either 'path' or 'rows'"),
        ("{path: a, limit: true}", "dataset.limit: expected a number, found true"),
        ("{path: a, limit: -2}", "dataset.limit: expected a number >= -1, found -2"),
        ("{path: a, limit: 1.5}", "dataset.limit: expected a whole number, found 1.5"),
        ("{path: a, on_invalid: ignore}", "dataset.on_invalid: expected 'fail', 'skip' or 'xfail'"),
        ("{path: a, key_map: {anwser: x}}", "unknown field 'anwser'. Did you mean 'answer'?"),
        # F5: a reversed map
        (
            "{path: a, key_map: {Model output: answer}}",
            "'Model output' is no field, and 'answer' is one: our field is the key (left), your "
            "column the value (right). Write {answer: Model output}",
        ),
        ("{path: a, key_map: {gt_ls: x, references: y}}", "key_map"),
        ("{path: a, max_row_mb: 0}", "dataset.max_row_mb: expected a number > 0, found 0"),
        ("{path: a, shuffle: 3}", "dataset.shuffle: expected true or false, found 3"),
        ("{path: [a]}", "dataset.path: expected text, found a list"),
    ],
)
def test_a_mistake_under_dataset_and_its_message(write: Write, dataset: str, message: str) -> None:
    """A22, D7: limit 0, -2 and true are refused."""
    found = problems(write(f"name: s\nmetrics: [em]\ndataset: {dataset}\n"))
    assert len(found) == 1
    assert message in found[0]


def test_keys_that_begin_with_x_are_the_users_own(write: Write) -> None:
    text = MINIMAL + "x-team: [1]\nbands: {x-why: z, good: 0.9}\n"
    assert load_scenario(write(text)).scenario.bands.good == 0.9


def test_numbers_where_text_is_wanted_are_text(write: Write) -> None:
    assert load_scenario(write("name: 2024\ndataset: 7\nmetrics: [em]\n")).scenario.name == "2024"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "s.yaml:1: expected keys like 'name:', found nothing"),
        (b"- a\n", "s.yaml:1: expected keys like 'name:', found a list"),
        (b"just text\n", "s.yaml:1: expected keys like 'name:', found a text"),
        (b"name: s\nx: \xff\n", "s.yaml:2: not UTF-8: byte 0xff at offset 11"),
    ],
)
def test_a_file_that_is_no_scenario(write: Write, content: bytes, message: str) -> None:
    assert problems(write(content)) == [message]


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in problems(tmp_path / "nope.yaml")[0]
    assert "cannot be read: " in problems(tmp_path)[0]


def test_a_byte_order_mark_is_no_part_of_the_first_key(write: Write) -> None:
    assert load_scenario(write(b"\xef\xbb\xbf" + MINIMAL.encode())).scenario.name == "s"


def test_an_overridden_value_is_reported_under_its_option(write: Write) -> None:
    """A14."""
    override = set_override("--rag-set", "bands.good=high")
    with pytest.raises(ScenarioError, match=r"--rag-set bands\.good=high: bands\.good: expected"):
        load_scenario(write(MINIMAL), [override])
    loaded = load_scenario(write(MINIMAL), [set_override("--rag-set", "bands.good=0.9")])
    assert (loaded.scenario.bands.good, loaded.overridden) == (0.9, ("bands.good",))


def test_overriding_below_a_short_form_is_fine(write: Write) -> None:
    """A14, A22: ``dataset: rows.jsonl`` is ``dataset: {path: rows.jsonl}``."""
    loaded = load_scenario(write(MINIMAL), [set_override("--rag-limit", "dataset.limit=1")])
    assert (loaded.scenario.dataset.path, loaded.scenario.dataset.limit) == ("rows.jsonl", 1)
    rows = "name: s\nmetrics: [em]\ndataset:\n  - {answer: x}\n"
    loaded = load_scenario(write(rows), [set_override("--rag-limit", "dataset.limit=1")])
    assert (loaded.scenario.dataset.rows, loaded.scenario.dataset.limit) == ([{"answer": "x"}], 1)


def test_the_rest_of_a_broken_scenario_can_still_be_looked_at(write: Write) -> None:
    loaded, found = inspect_scenario(
        write("metrics: [em, {a: 1, b: 2}]\nbands: 3\n"), shown="s.yaml"
    )
    assert loaded is not None
    assert [metric.metric for metric in loaded.scenario.metrics][:1] == ["em"]
    assert {problem.where for problem in found} == {"s.yaml:1", "s.yaml:2"}
    assert len(found) == 4


@pytest.mark.full
@pytest.mark.parametrize(
    "rows", ["\n" + "- a\n" * 5_000_000, " [" + "a," * 10_000_000 + "]"], ids=["lines", "flow"]
)
def test_rows_by_the_million_belong_into_a_data_file(
    tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R3] 20 MB of YAML in one list were read for 49 s; now nobody begins to."""
    monkeypatch.delattr("pytest_rageval.scenario.loader.decode_scenario")
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"name: x\nmetrics: [em]\ndataset:{rows}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="more than .* put the rows into a data file"):
        load_scenario(path)


@pytest.mark.parametrize("other", ["Pru\u0308fung.pdf", " Pr\u00fcfung.pdf"])
def test_a_document_in_two_spellings_of_one_name_is_refused(write: Write, other: str) -> None:
    """F4: composed and decomposed, which of the weights counts would be chance."""
    weights = {"Pr\u00fcfung.pdf": 2, other: 3}
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(MINIMAL + f"doc_weights: {json.dumps(weights)}\n"), shown="s.yaml")
    (problem,) = caught.value.problems
    assert problem.message == (
        "doc_weights: names 'Pr\u00fcfung.pdf' twice, composed (NFC) and decomposed (NFD) or "
        "with blanks around it, with the weights 2 and 3; keep one"
    )


@pytest.mark.parametrize("bands", ["{good: 0.5, warn: 0.7}", "{good: 0.5}"])
def test_bands_out_of_order_are_refused(write: Write, bands: str) -> None:
    """F4."""
    with pytest.raises(
        ScenarioError, match=r"bands: 'good' \(0.5\) is below 'warn' .* at most 0.5"
    ):
        load_scenario(write(MINIMAL + f"bands: {bands}\n"), shown="s.yaml")
