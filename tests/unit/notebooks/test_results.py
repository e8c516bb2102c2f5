"""[E23] ``evaluate`` and ``evaluate_variants`` with data frames, and results as frames."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import RunSettings, evaluate, evaluate_variants, extras
from pytest_rageval.errors import OptionError, ScenarioError
from pytest_rageval.model import MetricColumn, SampleResult
from pytest_rageval.notebooks.frames import columns_of

# em 1, 0 and none: the third has no answer.
ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "1?", "answer": "x", "references": ["x"], "lang": "en"},
    {"id": "b", "question": "2?", "answer": "y", "references": ["x"], "lang": "de"},
    {"id": "c", "question": "3?", "answer": None, "references": ["x"], "lang": None},
]
SCENARIO: dict[str, Any] = {"name": "bot", "metrics": ["em"]}


def frame(library: str, rows: Any = ROWS) -> Any:
    return pytest.importorskip(library).DataFrame(rows)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_takes_the_place_of_the_rows(library: str, tmp_path: Path) -> None:
    """Of a file, of a mapping, of one without data; ``key_map`` and ``limit`` hold for it."""
    data = frame(library)
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: bot\nmetrics: [em]\ndataset: {path: nowhere.csv, key_map: {references: lang}}\n",
        "utf-8",
    )
    assert [one.scores["em"] for one in evaluate(path, dataset=data).samples] == [0.0, 0.0, None]
    for scenario in (
        SCENARIO,
        {**SCENARIO, "dataset": ROWS[:1]},
        {**SCENARIO, "dataset": {"qrels_path": "q", "run_path": "r"}},
    ):
        found = evaluate(scenario, dataset=data)
        assert [one.scores["em"] for one in found.samples] == [1.0, 0.0, None]
        assert [one.outcome for one in found.samples] == ["passed", "passed", "error"]
        assert found.samples[2].errors["row"].startswith("no answer")
    for held in (data, {"rows": data, "limit": 2}):
        found = evaluate({**SCENARIO, "dataset": held}, ["dataset.limit=2"])
        assert found.mean_of("em") == 0.5
    assert "path: <DataFrame>" in found.info.snapshot
    assert "2?" not in found.info.snapshot


def test_cells_that_spell_lists_are_lists_as_in_a_file() -> None:
    """[W1] What pandas reads of a CSV: one text would be another, wrong reference."""
    rows = [{"answer": "y", "references": "['x', 'y']"}, {"answer": "z", "references": "['x', "}]
    found = evaluate(SCENARIO, dataset=frame("pandas", rows))
    assert [one.scores["em"] for one in found.samples] == [1.0, None]
    assert "cannot be read as" in (found.samples[1].invalid or "")
    assert evaluate(SCENARIO, dataset=rows[:1]).mean_of("em") == 0.0  # as of rows in a mapping


YEARS = {"id": [1, 2, 3], "answer": ["2024", "2020.5", "7"], "references": [2024.0, 2020.5, None]}


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "Float64", "object", "category", "Sparse", "double[pyarrow]"]
)
def test_a_whole_number_is_one_text_whatever_other_rows_have(kind: str) -> None:
    """pandas makes floats of whole numbers where one is missing: "2024.0" is in no answer."""
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    data = pandas.DataFrame(YEARS).astype({"id": "float64"})
    data["references"] = data["references"].astype("Sparse[float]" if kind == "Sparse" else kind)
    for part in (data, data.head(2), data.head(1)):
        samples = evaluate(SCENARIO, dataset=part).samples[:2]
        assert [(one.sample_id, one.scores["em"]) for one in samples] == [("1", 1.0), ("2", 1.0)][
            : len(part)
        ]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_whole_number_is_one_text_in_every_library(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    for count in (3, 2):
        data = make({name: cells[:count] for name, cells in YEARS.items()})
        assert [one.scores["em"] for one in evaluate(SCENARIO, dataset=data).samples[:2]] == [1, 1]


def test_a_frame_and_its_file_give_the_same_samples(tmp_path: Path) -> None:
    """In a CSV file numbers are text, and stay as pandas wrote them."""
    pandas = pytest.importorskip("pandas")
    years = [2024, 2020, None]
    data = pandas.DataFrame({"answer": ["a", "b", "c"], "references": years, "year": years})
    data.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    data.convert_dtypes().to_csv(tmp_path / "b.csv", index=False)
    data.to_csv(tmp_path / "a.csv", index=False)
    scenario = {**SCENARIO, "gates": {"by": {"year": {"em": 1}}}}
    files = ({**scenario, "dataset": name} for name in ("a.jsonl", "b.csv", "a.csv"))
    found = [evaluate(scenario, dataset=data), *(evaluate(one, folder=tmp_path) for one in files)]
    texts = [[one.references for one in result.samples[:2]] for result in found]
    assert texts == [[("2024",), ("2020",)]] * 3 + [[("2024.0",), ("2020.0",)]]
    said = [result.gates[0].message for result in found]
    assert "2024: 0.0000 < 1.0000" in said[0]
    assert said[0] == said[1] == said[2]


def test_a_blank_answer_of_a_frame_can_be_an_empty_one() -> None:
    scenario = {**SCENARIO, "dataset": {"rows": frame("pandas"), "blank_answer": "empty"}}
    assert [one.scores["em"] for one in evaluate(scenario).samples] == [1.0, 0.0, 0.0]


def test_messages_name_the_frame_and_the_row() -> None:
    rows = [{"id": "a", "answer": "x", "references": "x"}] * 2
    with pytest.raises(ScenarioError, match=r"^<DataFrame>: row 2: duplicate id 'a'"):
        evaluate(SCENARIO, dataset=frame("pandas", rows))
    with pytest.raises(ScenarioError, match=r"^<list>: no rows"):
        evaluate(SCENARIO, dataset=[])


def test_equal_frames_have_one_digest_and_others_another() -> None:
    """A baseline tells by it whether the data are the same."""
    digests = {
        evaluate(SCENARIO, dataset=data).info.dataset_sha256
        for data in (frame("pandas"), frame("pandas"), frame("pandas", ROWS[:2]))
    }
    assert len(digests) == 2


def test_rows_that_a_variant_would_not_use_are_refused() -> None:
    """Never silently: the result would be of other data than were handed over."""
    variants = {"low": {"dataset": ROWS[:1]}, "high": {}}
    with pytest.raises(ScenarioError, match="'low' names data of its own"):
        evaluate({**SCENARIO, "variants": variants}, variant="low", dataset=ROWS)
    with pytest.raises(ScenarioError, match="'low' names data of its own"):
        evaluate_variants({**SCENARIO, "variants": variants}, dataset=ROWS)
    with pytest.raises(ScenarioError, match="an override names other data"):
        evaluate(SCENARIO, {"dataset.path": "other.csv"}, dataset=ROWS)
    held = {"low": {"dataset": frame("pandas")}, "high": {}}
    with pytest.raises(OptionError, match="'low' has rows of its own"):
        evaluate_variants(SCENARIO, variants=held, dataset=ROWS)


def test_variants_may_have_frames_of_their_own(tmp_path: Path) -> None:
    """Beside others that keep those of the scenario, whichever way they are given."""
    better = frame("polars", [{**row, "answer": "x"} for row in ROWS])
    variants = {"old": {}, "new": {"dataset": better}}
    path = tmp_path / "s.yaml"
    path.write_text("name: bot\nmetrics: [em]\ndataset: nowhere.csv\n", "utf-8")
    shared = {**SCENARIO, "dataset": frame("pandas")}
    for found in (
        evaluate_variants(shared, variants=variants),
        evaluate_variants({**shared, "variants": variants}),
        evaluate_variants(path, variants={**variants, "old": {"dataset": frame("pandas")}}),
    ):
        assert {name: one.mean_of("em") for name, one in found.results.items()} == {
            "old": 0.5,
            "new": 1.0,
        }
    assert [one.library for one in found.results.values()] == ["pandas", "polars"]


def test_functions_answer_for_variants_over_one_frame() -> None:
    asked = frame(
        "pandas", [{key: row[key] for key in ("id", "question", "references")} for row in ROWS]
    )
    found = evaluate_variants(
        SCENARIO,
        variants={"x": {"target": lambda question: "x"}, "y": {}},
        targets={"y": lambda question: "y"},
        dataset=asked,
    )
    assert [(one.name, one.mean) for one in found.ranking.variants] == [("x", 1.0), ("y", 0.0)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_result_is_a_frame_of_the_kind_that_was_given(library: str) -> None:
    module = pytest.importorskip(library)
    made = evaluate(SCENARIO, dataset=frame(library)).to_frame()
    assert isinstance(made, module.DataFrame)
    assert list(made.columns) == [
        "sample_id", "question", "answer", "contexts", "references", "doc_name", "lang", "em",
        "weighted_score", "sample_weight", "outcome", "error", "reasons",
    ]  # fmt: skip
    plain = made.to_dict("list") if library == "pandas" else made.to_dict(as_series=False)
    assert plain["sample_id"] == ["a", "b", "c"]
    assert plain["em"][:2] == [1.0, 0.0]
    missing = plain["em"][2]
    assert missing is None if library == "polars" else missing != missing
    assert plain["error"][2].startswith("row: no answer")


def test_frames_of_variants_say_which(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    variants = {"old": {}, "new": {"dataset": [{**row, "answer": "x"} for row in ROWS]}}
    found = evaluate_variants({**SCENARIO, "dataset": ROWS}, variants=variants)
    made = found.to_frame()
    assert isinstance(made, pandas.DataFrame)
    assert made.groupby("variant")["em"].mean().to_dict() == {"new": 1.0, "old": 0.5}
    assert made["variant"].tolist() == ["old"] * 3 + ["new"] * 3


def test_columns_that_are_called_alike_keep_their_values(result: Any) -> None:
    """A field of the rows, or a metric, is renamed: neither takes the other's place."""
    sample = SampleResult(
        "a",
        0,
        metadata={"outcome": "mine", "f1": "low", "score.error": 7},
        scores={"f1": 0.5, "error": 1.0},
        weighted_score=0.75,
    )
    made = result([sample], MetricColumn("f1"), MetricColumn("error"))
    names = {one.name: one.cells[0] for one in columns_of([made])}
    assert len(names) == len(columns_of([made]))
    assert (names["f1"], names["metadata.f1"]) == (0.5, "low")
    assert (names["outcome"], names["metadata.outcome"]) == ("passed", "mine")
    assert (names["error"], names["score.error"], names["metadata.score.error"]) == (None, 1.0, 7)


def judged() -> Any:
    """Return a result with answers of a function, errors, and metadata of frames."""

    def answer(question: str) -> str:
        if question == "2?":
            raise ValueError("no index")
        return "x"

    scenario = {**SCENARIO, "gates": {"em": 0.5}, "diagnose": True}
    return evaluate(scenario, dataset=ROWS, target=answer)


def replayed() -> Any:
    """Return a result with what a judge said."""
    folder = Path(__file__).parents[3] / "examples" / "judge"
    kept = RunSettings(cache_dir=folder / "cache", cache_mode="replay")
    return evaluate(folder / "judge.rageval.yaml", run=kept)


def test_results_are_pickled_and_copied() -> None:
    """[R7] After asking a system, with its errors, or a judge; variants with their ranking."""
    result = judged()
    variants = evaluate_variants({**SCENARIO, "dataset": ROWS}, variants={"p": {}, "q": {}})
    asked = [replayed()] if extras.installed("aiohttp") else []
    assert all(one.samples[6].reasons["llm_answer_relevancy"] for one in asked)
    for one in (result, variants, *asked):
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.deepcopy(one) == one
        assert copy.copy(one) == one
    assert type(pickle.loads(pickle.dumps(result))) is type(result)
    assert pickle.loads(pickle.dumps(result))._repr_html_() == result._repr_html_()


@pytest.mark.full
def test_results_come_out_of_a_pool_of_processes() -> None:
    """[R7] As many evaluations at once as there are processors."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(evaluate, SCENARIO, dataset=ROWS).result(120)
    own = evaluate(SCENARIO, dataset=ROWS)
    assert (found.metrics, found.gates, repr(found)) == (own.metrics, own.gates, repr(own))
