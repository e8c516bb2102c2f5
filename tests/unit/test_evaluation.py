"""B11: a scenario from a script or a notebook, in whichever form it is at hand."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import os
import pickle
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import RunSettings, Scenario, evaluate
from pytest_rageval.clients import threads
from pytest_rageval.errors import OptionError, ScenarioError
from pytest_rageval.notebooks.progress import ProgressLine
from pytest_rageval.scenario.overrides import set_override

TABLES = tomllib.loads(Path(__file__).with_name("evaluation.toml").read_text("utf-8"))

# em 1, 0, 0 and f1 1, 2/3, 0.
ROWS = [
    {"id": "a", "answer": "x", "references": ["x"]},
    {"id": "b", "answer": "x y", "references": ["x"]},
    {"id": "c", "answer": "z", "references": ["x"]},
]
SCENARIO: dict[str, Any] = {"name": "s", "metrics": ["em", "f1"], "dataset": ROWS}
ASKING: dict[str, Any] = {
    "name": "s",
    "metrics": ["em"],
    "dataset": [{"id": row["id"], "question": row["answer"], "references": ["x"]} for row in ROWS],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a scenario file with its data beside it."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "s.yaml").write_text("name: s\nmetrics: [em, f1]\ndataset: r.jsonl\n")
    return folder / "s.yaml"


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _no_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_MOST_IDLE", 0)  # idle threads end at once
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(60.0)  # one that has handed its answer over may not have ended yet
    assert set(threading.enumerate()) <= before  # one from before may have ended


def test_a_result_is_pickled_and_copied(path: Path) -> None:
    """[R7] All of it, metadata that are there and those that are not."""
    rows = [{**ROWS[0], "lang": "en"}, *ROWS[1:]]
    result = evaluate(
        {**SCENARIO, "dataset": rows, "gates": {"f1": 0.1, "by": {"lang": {"f1": 0}}}}
    )
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result) == result


def test_a_path_a_mapping_and_a_scenario_give_the_same(path: Path) -> None:
    """B11: f1 is 5/9 in each form."""
    by_file = {**SCENARIO, "dataset": "r.jsonl"}
    forms = [
        evaluate(path),
        evaluate(str(path)),
        evaluate(by_file, folder=path.parent),
        evaluate(Scenario.model_validate(by_file), folder=str(path.parent)),
        evaluate(SCENARIO),
        evaluate(Scenario(**SCENARIO)),
    ]
    for result in forms:
        assert result.metrics["f1"].mean == pytest.approx(5 / 9)
        assert [dict(one.scores) for one in result.samples] == [
            dict(one.scores) for one in forms[0].samples
        ]
    assert {result.info.path for result in forms} == {"s.yaml", "s"}
    assert len({result.info.dataset_sha256 for result in forms[:4]}) == 1


def test_data_are_looked_for_in_the_working_directory_without_a_folder(
    path: Path, in_folder: Path
) -> None:
    assert evaluate({**SCENARIO, "dataset": "data/r.jsonl"}).counts.ran == 3
    with pytest.raises(ScenarioError, match=r"^s: dataset: no file 'r.jsonl' in "):
        evaluate({**SCENARIO, "dataset": "r.jsonl"})


def test_what_is_handed_over_is_not_changed() -> None:
    """Dialects rewrite what they read."""
    request = {
        "scene_key": "app",
        "evaluate_metrics": ["em"],
        "datasets": [{"query": "q", "prediction": "x", "references": "x"}],
    }
    before = json.dumps(request)
    assert evaluate(request, {"dataset.limit": 1}).mean_of("em") == 1.0
    assert json.dumps(request) == before


@pytest.mark.parametrize(
    "overrides",
    [
        ["gates.f1=0.9", "dataset.limit=2"],
        [set_override("--rag-set", "gates.f1=0.9"), "dataset.limit=2"],
        {"gates": {"f1": 0.9}, "dataset": {"limit": 2}},
        {"gates.f1": 0.9, "dataset.limit": 2},
    ],
)
@pytest.mark.parametrize("scenario", [SCENARIO, Scenario(**SCENARIO)], ids=["dict", "Scenario"])
def test_overrides_are_texts_as_on_the_command_line_or_a_mapping(
    scenario: Any, overrides: Any
) -> None:
    """A14, B11: f1 of the first two is 1 and 2/3."""
    result = evaluate(scenario, overrides)
    assert (result.counts.ran, result.complete) == (2, False)
    assert result.gates[0].observed == pytest.approx(5 / 6)
    assert (result.gates[0].bound, result.gates[0].outcome) == (0.9, "skipped")
    assert result.info.overridden == ("gates.f1", "dataset.limit")


def test_an_override_that_is_none_takes_a_value_away() -> None:
    scenario = {**SCENARIO, "top_k": 1}
    assert "top_k: null\n" in evaluate(scenario, {"top_k": None}).info.snapshot


def test_none_takes_weights_away_that_a_file_has(path: Path) -> None:
    """F3: ``doc_weights`` too, which cannot be null in a file."""
    path.write_text(path.read_text("utf-8") + "doc_weights: {a.pdf: 3}\n", "utf-8")
    assert evaluate(path, {"doc_weights": None}).info.overridden == ("doc_weights",)


def test_progress_is_told_how_many_samples_are_done() -> None:
    """B11: from none to all, each number once."""
    told: list[tuple[int, int]] = []
    evaluate(SCENARIO, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_progress_counts_what_is_judged_ahead() -> None:
    """B11: the first sample takes longest, the others are counted meanwhile."""
    released = threading.Event()
    told: list[int] = []

    def progress(done: int, total: int) -> None:
        told.append(done)
        if done >= 2:
            released.set()

    def answer(question: str) -> str:
        if question == "x":
            assert released.wait(20)
        return question

    evaluate({**ASKING, "target": answer}, progress=progress)
    assert told == [0, 2, 3]


def test_true_shows_a_line_at_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B11."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    evaluate(SCENARIO, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    evaluate(SCENARIO, progress=False)
    assert capsys.readouterr().err == ""
    evaluate(SCENARIO, progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\rs: 0/3 samples")
    assert shown.endswith("\rs: 3/3 samples\n")


def test_the_line_is_written_ten_times_a_second_at_most() -> None:
    stream, times = io.StringIO(), iter([5.0, 5.05, 5.11, 5.12])
    line = ProgressLine("s", stream, lambda: next(times))
    for done in (0, 1, 2, 3):
        line(done, 3)
    line.end()
    assert stream.getvalue() == "\rs: 0/3 samples\rs: 2/3 samples\rs: 3/3 samples\n"


def test_a_function_can_be_the_target(in_folder: Path) -> None:
    """A21, B11: one that is defined in a notebook, and stands in no module; also async."""

    async def later(question: str) -> str:
        await asyncio.sleep(0)
        return question.upper()

    def now(question: str) -> str:
        return question.upper()

    for function in (now, later):
        result = evaluate({**ASKING, "target": function})
        assert [one.answer for one in result.samples] == ["X", "X Y", "Z"]
        assert [one.scores["em"] for one in result.samples] == [1.0, 0.0, 0.0]


def test_a_target_without_a_length_is_asked_all_the_same(path: Path) -> None:
    """It is false in a condition; the mapping's own would have answered in its place."""

    class Index(list[str]):
        def __call__(self, question: str) -> str:
            return "from the argument"

    def own(question: str) -> str:
        return "from the mapping"

    result = evaluate({**ASKING, "target": own}, target=Index())
    assert {one.answer for one in result.samples} == {"from the argument"}


def test_a_function_takes_the_place_of_the_target_of_a_file(path: Path) -> None:
    """A21, B11: within the limits that the file sets; in each form of a scenario."""
    busy, most = 0, 0

    async def answer(question: str) -> str:
        nonlocal busy, most
        busy, most = busy + 1, max(most, busy + 1)
        await asyncio.sleep(0.01)
        busy -= 1
        return question

    target = {"use": "nowhere:answer", "concurrency": 1}
    path.write_text(json.dumps({**ASKING, "target": target}))
    for form in (path, {**ASKING, "target": target}, Scenario(**ASKING, target=target)):
        result = evaluate(form, target=answer)
        assert [one.answer for one in result.samples] == ["x", "x y", "z"]
    assert most == 1


def test_errors_of_a_function_name_it() -> None:
    def answer(question: str) -> str:
        raise RuntimeError("no index")

    result = evaluate({**ASKING, "target": answer})
    assert {one.outcome for one in result.samples} == {"error"}
    assert "no index" in result.samples[0].errors["target"]


def test_a_fixture_is_there_under_pytest_only() -> None:
    """A21: the message says what to do."""
    with pytest.raises(ScenarioError, match=r"fixture 'rag'.*target=function"):
        evaluate({**ASKING, "target": {"type": "fixture", "fixture": "rag"}})


def test_a_function_that_cannot_be_asked_is_refused() -> None:
    def answer(one: str, another: str) -> str:
        return one + another

    with pytest.raises(ScenarioError, match="^s: target: .*another"):
        evaluate({**ASKING, "target": answer})


def test_it_runs_where_a_loop_runs_already() -> None:
    """B11: as in a notebook; what the loop was doing goes on afterwards."""

    async def answer(question: str) -> str:
        await asyncio.sleep(0.01)
        return question

    async def notebook() -> tuple[float | None, str]:
        meanwhile = asyncio.create_task(asyncio.sleep(0, "goes on"))
        result = evaluate({**ASKING, "target": answer})
        return result.mean_of("em"), await meanwhile

    assert asyncio.run(notebook()) == (pytest.approx(1 / 3), "goes on")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_gets_through_and_closes_what_was_opened() -> None:
    """B11: while a target is waited for; the fixture looks for threads that were left."""
    asked: list[str] = []
    cancelled: list[str] = []

    async def answer(question: str) -> str:
        try:
            asked.append(question)
            if len(asked) == 3:
                os.kill(os.getpid(), signal.SIGALRM)
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append(question)
            raise
        return question

    def raise_interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            evaluate({**ASKING, "target": answer})
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 60
    assert sorted(cancelled) == ["x", "x y", "z"]


def test_what_progress_raises_ends_the_evaluation() -> None:
    def answer(question: str) -> str:
        return question

    def stop(done: int, total: int) -> None:
        if done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        evaluate({**ASKING, "target": answer}, progress=stop)


def test_the_files_of_a_run_are_written_where_one_says(path: Path, in_folder: Path) -> None:
    """A12, B9, B11: nothing without that."""
    evaluate(path)
    assert [found.name for found in in_folder.iterdir()] == ["data"]
    result = evaluate(path, write_to="runs", reports=["dbgpt"])
    latest = in_folder / "runs" / "s" / "latest"
    assert {found.name for found in latest.iterdir()} >= {
        "results.json", "scores.csv", "summary.md", "evaluation_rows.json",
    }  # fmt: skip
    written = json.loads((latest / "results.json").read_text())
    assert written["metrics"]["f1"]["mean"] == result.metrics["f1"].mean
    assert written["run"]["usage"] is None
    assert written["run"]["answer_latency_s"] is None
    assert list(written["run"]["latency_s"]) == ["a", "b", "c"]
    evaluate(path, write_to=in_folder / "runs")
    assert not (latest / "evaluation_rows.json").exists()


def test_rows_of_retrieval_hold_all_that_was_expected(in_folder: Path) -> None:
    """[F7] In a script as under pytest: the fourth, and the end of a long one, were cut off."""
    expected = [str(number) * 400 for number in range(4)]
    row = {"question": "?", "contexts": ["x"], "reference_contexts": expected}
    evaluate(
        {"name": "s", "dataset": [row], "metrics": ["hit_rate"]},
        write_to="runs",
        reports=["dbgpt"],
    )
    text = (in_folder / "runs" / "s" / "latest" / "evaluation_rows.json").read_text()
    ((found,),) = json.loads(text)["data"]
    assert (found["prediction"], found["contexts"]) == (["x"], expected)


def test_the_files_of_a_run_say_when_and_of_what_it_was(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A21: how long the target took, and the commit, as after a run of pytest."""
    monkeypatch.setenv("GITHUB_SHA", "c0ffee1")

    def answer(question: str) -> str:
        if question == "z":
            raise ValueError("no such page")
        time.sleep(0.01)
        return question

    evaluate(ASKING, target=answer, write_to="runs")
    latest = in_folder / "runs" / "s" / "latest"
    took = json.loads((latest / "results.json").read_text())["run"]["answer_latency_s"]
    assert list(took) == ["a", "b"]
    assert all(0.01 <= seconds < 60 for seconds in took.values())
    assert json.loads((latest / "metadata.json").read_text())["commit"] == "c0ffee1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    TABLES["arguments_that_cannot_be_meant_are_refused"],
)
def test_arguments_that_cannot_be_meant_are_refused(
    path: Path, in_folder: Path, arguments: dict[str, Any], message: str
) -> None:
    """E12: before anything is asked or written."""
    with pytest.raises(OptionError) as caught:
        evaluate(path, **arguments)
    assert message in str(caught.value)
    assert not (in_folder / "runs").exists()


class Frame:
    """A table of some library, by its interface."""

    def __arrow_c_stream__(self) -> None:
        """Never asked: it is no scenario."""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"dataset": ROWS}, "found none: evaluate("),
        ({"scenario": Frame()}, "found rows; hand them over as dataset=: evaluate("),
    ],
)
def test_rows_alone_say_what_to_measure(arguments: dict[str, Any], found: str) -> None:
    """E23: with the call to write."""
    with pytest.raises(ScenarioError) as caught:
        evaluate(**arguments)
    assert str(caught.value).startswith("scenario: expected a path, a Scenario or a mapping, found")
    assert found in str(caught.value)


def test_problems_name_the_scenario_that_has_no_file() -> None:
    """E12: all of them."""
    with pytest.raises(ScenarioError) as caught:
        evaluate({**SCENARIO, "metrics": ["emm"], "gates": {"zz": 1}, "colour": object})
    assert str(caught.value).startswith("colour: expected text, a number, a list or a mapping")
    with pytest.raises(ScenarioError) as caught:
        evaluate({**SCENARIO, "metrics": ["emm"], "thresholds": {"zz": 1}})
    assert [problem.where for problem in caught.value.problems] == ["s", "s"]
    assert "Did you mean 'em'?" in str(caught.value)


def test_a_mapping_needs_no_name_and_rows_alone_are_told_their_place() -> None:
    """[E23] In a notebook, nobody wants to name a draft."""
    result = evaluate({"metrics": ["em"]}, dataset=[{"answer": "x", "references": "x"}])
    assert (result.info.name, result.mean_of("em")) == ("evaluation", 1.0)
    found = evaluate(
        {"ir_metrics": "mrr", "dataset": [{"retrieved_ids": "a", "reference_ids": "a"}]}
    )
    assert (found.info.name, found.mean_of("mrr")) == ("evaluation", 1.0)
    named = {key: value for key, value in SCENARIO.items() if key != "name"}
    assert evaluate({**named, "scenario_name": "s"}).info.name == "s"
    rows: Any = [{"answer": "x", "references": "x"}]
    with pytest.raises(ScenarioError, match=r"of type list; rows are given as dataset=\.\.\."):
        evaluate(rows)


def test_run_settings_are_public(tmp_path: Path) -> None:
    """B11, E9."""
    run = RunSettings(cache_dir=tmp_path / "kept", cache_mode="replay", budget_usd=0.5)
    assert evaluate(SCENARIO, run=run).complete


@pytest.mark.parametrize("rows", [(row for row in []), None, "nothing.jsonl"])
def test_data_that_are_no_rows_are_a_problem(rows: Any) -> None:
    with pytest.raises(ScenarioError):
        evaluate({**SCENARIO, "dataset": rows})


@pytest.mark.parametrize(
    "gates", [{"f1\ud83d": 0.5}, {"f1": {"\ud83d": 1}}, {"by": {"x\ud83d": {"f1": 0}}}]
)
def test_half_a_character_in_a_key_is_an_error_with_its_place(gates: dict[str, Any]) -> None:
    """[R8] No file could hold it: the snapshot of the run could not be written."""
    with pytest.raises(ScenarioError, match=r"gates.*half of a character"):
        evaluate({**SCENARIO, "gates": gates})


@pytest.mark.parametrize(
    "limit", [["dataset.limit=1"], {"dataset.limit": 1}, {"dataset": {"limit": 1}}]
)
def test_a_limit_in_overrides_makes_a_part_which_decides_nothing(
    limit: Any, tmp_path: Path
) -> None:
    """G10: the second row is wrong; as on pytest's command line, no gate passes without it."""
    rows = [{"answer": "x", "references": ["x"]}, {"answer": "y", "references": ["x"]}]
    scenario = {"name": "s", "metrics": ["em"], "gates": {"em": 0.9}, "dataset": {"rows": rows}}
    found = evaluate(scenario, limit, write_to=tmp_path)
    assert (found.complete, {gate.outcome for gate in found.gates}) == (False, {"skipped"})
    (written,) = tmp_path.glob("s/2*/results.json")
    assert json.loads(written.read_text("utf-8"))["complete"] is False


def test_a_limit_in_the_scenario_is_the_data_set_and_said() -> None:
    """G10: the scenario says which data count."""
    rows = [{"answer": "x", "references": ["x"]}, {"answer": "y", "references": ["x"]}]
    dataset = {"rows": rows, "limit": 1}
    scenario = {"name": "s", "metrics": ["em"], "gates": {"em": 0.9}, "dataset": dataset}
    found = evaluate(scenario)
    assert {gate.outcome for gate in found.gates} == {"passed"}
    assert "dataset.limit: the first 1 of 2 rows" in found.info.remarks
