"""D9: UltraRAG's parameter files, of one server and of a whole pipeline."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from load_scenario import load_scenario

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario

ROWS = tomllib.loads(Path(__file__).with_name("ultrarag_dialect.toml").read_text("utf-8"))

Load = Callable[[str], LoadedScenario]

BENCHMARK = """
benchmark:
  name: nq
  path: data/sample_nq_10.jsonl
  key_map: {gt_ls: golden_answers, q_ls: question, pred_ls: pred}
  shuffle: true
  seed: 7
  limit: 3
"""
EVALUATION = """
evaluation:
  save_path: output/evaluate_results.json
  metrics: [acc, f1, em, coverem, stringem, rouge-1, rouge-2, rouge-l]
"""
TREC = """
evaluation:
  qrels_path: data/qrels.txt
  run_path: data/run_a.txt
  ks: [1, 5]
  ir_metrics: [mrr, map, recall, ndcg, precision]
"""


@pytest.fixture
def load(write: Callable[..., Path]) -> Load:
    return lambda text: load_scenario(write(text), shown="nq.yaml")


def refused(load: Load, text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def names(loaded: LoadedScenario) -> list[str]:
    return [spec.metric for spec in loaded.scenario.metrics]


def test_a_benchmark_and_its_evaluation_are_a_scenario(load: Load) -> None:
    """D7, D8, D9."""
    loaded = load(BENCHMARK + EVALUATION)
    scenario, dataset = loaded.scenario, loaded.scenario.dataset
    assert scenario.name == "nq"
    assert scenario.save_path == "output/evaluate_results.json"
    assert names(loaded) == [
        "acc", "f1", "em", "coverem", "stringem", "rouge-1", "rouge-2", "rouge-l",
    ]  # fmt: skip
    assert dataset.path == "data/sample_nq_10.jsonl"
    assert dataset.key_map == {
        "references": "golden_answers",
        "question": "question",
        "answer": "pred",
    }
    assert (dataset.shuffle, dataset.seed, dataset.limit) == (True, 7, 3)
    assert loaded.warnings == ()


def test_the_file_of_a_pipeline_holds_each_server_twice(load: Load) -> None:
    """D9: with the sections of servers that an evaluation does not need."""
    nested = "\n".join(
        [
            "benchmark:",
            "  benchmark: {path: d.jsonl, key_map: {gt_ls: g, q_ls: q, pred_ls: p}}",
            "evaluation:",
            "  evaluation: {metrics: [em]}",
            "retriever:",
            "  retriever: {top_k: 5}",
            "",
        ]
    )
    loaded = load(nested)
    assert loaded.scenario.dataset.path == "d.jsonl"
    assert names(loaded) == ["em"]
    assert loaded.scenario.name == "nq", "the file's name"
    assert [warning.partition(":")[0] for warning in loaded.warnings] == ["retriever"]


def test_trec_files_are_a_scenario(load: Load) -> None:
    """D4, D9."""
    loaded = load(TREC)
    dataset = loaded.scenario.dataset
    assert (dataset.qrels_path, dataset.run_path) == ("data/qrels.txt", "data/run_a.txt")
    assert names(loaded) == [
        "mrr", "map", "recall@1", "recall@5", "ndcg@1", "ndcg@5", "precision@1", "precision@5",
    ]  # fmt: skip
    assert loaded.scenario.compare is None


@pytest.mark.parametrize("metrics", ["", "  metrics:\n", "  metrics: null\n"])
def test_without_metrics_all_of_ultrarag_are_meant(load: Load, metrics: str) -> None:
    """F1."""
    loaded = load(BENCHMARK + "evaluation:\n  save_path: o.json\n" + metrics)
    assert names(loaded) == [
        "acc", "f1", "em", "coverem", "stringem", "rouge-1", "rouge-2", "rouge-l",
    ]  # fmt: skip
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    "given", ["", "  ir_metrics: null\n  ks: null\n", "  metrics: null\n  ir_metrics:\n"]
)
def test_without_ir_metrics_all_of_ultrarag_are_meant(load: Load, given: str) -> None:
    """F1: with its six cutoffs."""
    loaded = load("evaluation:\n  qrels_path: q.txt\n  run_path: r.txt\n" + given)
    cut = [
        f"{name}@{k}" for name in ("recall", "ndcg", "precision") for k in (1, 5, 10, 20, 50, 100)
    ]
    assert names(loaded) == ["mrr", "map", *cut]
    assert loaded.warnings == ()


@pytest.mark.parametrize("name", ["citations", "nuggets", "answerable", "grade", "aliases", "tags"])
def test_each_name_that_a_key_map_may_have_is_kept(load: Load, name: str) -> None:
    """Such a column was metadata: no metric read it, and more right answers were wrong ones."""
    loaded = load(BENCHMARK.replace("pred_ls: pred", f"pred_ls: pred, {name}: column") + EVALUATION)
    assert loaded.scenario.dataset.key_map[name] == "column"
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("meta_ls", " Did you mean 'gt_ls'?"),
        ("choices_ls", ""),
        ("citation", " Did you mean 'citations'?"),
        ("Grade", " Did you mean 'grade'?"),
        ("messages", ""),
        ("ret_psg", ""),
    ],
)
def test_a_name_that_is_no_field_is_a_warning(load: Load, name: str, hint: str) -> None:
    """Also another tool's name of a column: in a ``key_map`` our own stands."""
    loaded = load(BENCHMARK.replace("pred_ls: pred", f"pred_ls: pred, {name}: column") + EVALUATION)
    said = f"benchmark.key_map.{name}: is no field here; the column stays metadata."
    assert loaded.warnings == (f"{said}{hint}",)
    assert loaded.scenario.dataset.key_map.keys() == {"references", "question", "answer"}


def test_two_runs_are_compared(load: Load) -> None:
    """D6, D9: the new one is evaluated, the old one is what it is compared with."""
    text = TREC.replace("run_path", "run_new_path") + (
        "  run_old_path: data/run_b.txt\n  n_resamples: 500\n"
    )
    scenario = load(text).scenario
    assert scenario.dataset.run_path == "data/run_a.txt"
    (compare,) = scenario.compare or ()
    assert compare.run_old_path == "data/run_b.txt"
    assert compare.n_resamples == 500


def test_without_a_second_run_n_resamples_says_nothing(load: Load) -> None:
    """D9: it stands in every file of theirs."""
    assert load(TREC + "  n_resamples: 500\n").scenario.compare is None


def test_one_run_under_both_names_is_one_run(load: Load) -> None:
    loaded = load(TREC + "  run_new_path: data/run_a.txt\n  run_old_path: data/run_b.txt\n")
    assert loaded.scenario.dataset.run_path == "data/run_a.txt"
    assert loaded.warnings == ()


def test_another_new_run_is_not_dropped_in_silence(load: Load) -> None:
    """D9: UltraRAG evaluates one and compares the other."""
    text = TREC + "  run_new_path: data/run_c.txt\n  run_old_path: data/run_b.txt\n"
    assert any("run_new_path" in warning for warning in load(text).warnings)


@pytest.mark.parametrize(
    ("dataset", "evaluation", "first"),
    [
        ("{qrels_path: q.txt, run_path: r.txt}", "{}", ["mrr", "map"]),
        ("{qrels_path: q.txt, run_path: r.txt}", "{metrics: null, ks: [5]}", ["mrr", "map"]),
        ("{qrels_path: q.txt, run_path: r.txt}", "{ir_metrics: [map]}", ["map"]),
        ("{qrels_path: q.txt, run_path: r.txt}", "{metrics: [ndcg]}", ["ndcg"]),
        ("{qrels_path: null, run_path: null, path: a.jsonl}", "{}", ["acc", "f1"]),
        ("a.jsonl", "{metrics: null}", ["acc", "f1"]),
        ("[{answer: a, reference: b}]", "{}", ["acc", "f1"]),
    ],
)
def test_without_metrics_those_of_the_data_are_meant(
    load: Load, dataset: str, evaluation: str, first: list[str]
) -> None:
    """[D9] TREC files that stand under dataset, as ours do, hold no answers either."""
    loaded = load(f"name: s\ndataset: {dataset}\nevaluation: {evaluation}\n")
    assert names(loaded)[:2] == first


def test_trec_parameters_beside_a_benchmark_are_warned_of(load: Load) -> None:
    """D9: their file holds the parameters of all tasks."""
    text = BENCHMARK + EVALUATION + "  qrels_path: q.txt\n  run_path: r.txt\n  ks: [1]\n"
    loaded = load(text)
    assert loaded.scenario.dataset.qrels_path is None
    (warning,) = loaded.warnings
    assert warning.startswith("qrels_path, run_path, ks: not used, ")


def test_answer_metrics_beside_trec_files_are_warned_of(load: Load) -> None:
    loaded = load(TREC + "  metrics: [acc, f1]\n")
    assert "acc" not in names(loaded)
    (warning,) = loaded.warnings
    assert warning.startswith("metrics: not used, ")


def test_lines_of_problems_are_those_of_the_file(load: Load) -> None:
    """E12: wherever the value has gone to."""
    assert refused(load, TREC.replace("[1, 5]", "[1, 0]")) == [
        "nq.yaml:5: ks[1]: expected a whole number >= 1, found 0"
    ]
    (problem,) = refused(load, BENCHMARK.replace("limit: 3", "limit: 0") + EVALUATION)
    assert problem.startswith("nq.yaml:8: benchmark.limit: 0 would run nothing")


@pytest.mark.parametrize(
    "compare", ["compare: main\n", "compare: 7\n", "compare: {baseline: main}\n"]
)
def test_a_second_run_beside_another_comparison_is_refused(load: Load, compare: str) -> None:
    """E12: a problem of the file, in whichever form."""
    text = TREC.replace("run_path", "run_new_path") + "  run_old_path: b.txt\n" + compare
    (problem,) = refused(load, text)
    assert "give either 'baseline' or 'run_old_path'" in problem


def test_an_old_run_without_a_new_one_is_refused(load: Load) -> None:
    (problem,) = refused(load, BENCHMARK.replace("benchmark:", "dataset: r.jsonl\nmetrics: [em]\n"
                                                 "name: s\nrun_old_path: b.txt\nx-b:"))  # fmt: skip
    assert problem.endswith("compare.run_old_path needs 'qrels_path' and 'run_path'")


@pytest.mark.parametrize(
    ("text", "problem"),
    ROWS["what_our_keys_say_as_well_is_refused"],
)
def test_what_our_keys_say_as_well_is_refused(load: Load, text: str, problem: str) -> None:
    """D9: neither of the two is dropped in silence."""
    assert refused(load, text) == [problem]


def test_null_beside_them_says_nothing(load: Load) -> None:
    text = "metrics: null\nbenchmark: {path: a.jsonl}\nevaluation: {metrics: [em]}\n"
    assert names(load(text)) == ["em"]


def test_unknown_parameters_of_a_benchmark_are_warned_of(load: Load) -> None:
    """D9: nothing is dropped in silence."""
    loaded = load(BENCHMARK + "  is_demo: true\n" + EVALUATION)
    assert loaded.warnings == ("benchmark.is_demo: has no counterpart here",)


def test_a_scenario_of_ours_has_no_such_sections(load: Load) -> None:
    """Other servers' names are unknown keys then."""
    (problem,) = refused(load, "name: s\nmetrics: [em]\ndataset: d.jsonl\nretriever: {top_k: 1}\n")
    assert "unknown key 'retriever'" in problem


@pytest.mark.parametrize("value", ["null", "0.5", "[1]"])
def test_a_server_inside_itself_that_is_none_is_refused(load: Load, value: str) -> None:
    """It takes the place of the section; the keys beside it are read."""
    text = f"evaluation: {{evaluation: {value}, metrics: [f1]}}\ndataset: rows.jsonl\n"
    (problem,) = refused(load, text)
    assert "unknown key 'evaluation" in problem
