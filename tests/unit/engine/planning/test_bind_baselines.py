"""D6, E15: which runs a scenario can be compared with, and which it cannot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.evaluate import run_case
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.errors import BaselineError, ScenarioError, UserError
from pytest_rageval.model import Comparison, RunInfo, ScenarioResult
from pytest_rageval.reports.write_run import save_baseline
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import Override, set_override
from pytest_rageval.stats.summary import summarize_scenario

Files = Mapping[str, str]


class Folder:
    """A folder in which a scenario is planned, run and saved again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def plan(
        self,
        scenario: str,
        files: Files | None = None,
        overrides: Sequence[Override] = (),
        saving: str | None = None,
    ) -> Plan:
        for name, text in {"s.yaml": scenario, **(files or {})}.items():
            (self.path / name).write_text(text, "utf-8")
        run_paths = RunPaths(self.path, saving=saving)
        return make_plan(self.path / "s.yaml", overrides, shown="s.yaml", run_paths=run_paths)

    def run(self, *args: Any, **kwargs: Any) -> ScenarioResult:
        plan = self.plan(*args, **kwargs)
        samples = [run_case(plan, case) for case in plan.cases]
        result = summarize_scenario(plan.info, samples, complete=True)
        return decide_gates(result, Extent(len(samples), len(samples), len(samples)))

    def save(self, scenario: str, files: Files | None = None, name: str = "main") -> None:
        file = RunPaths(self.path).baseline_file(name, "s", None)
        run = RunInfo("id", "then", "later", "0")
        save_baseline(self.run(scenario, files), run, file, self.path / ".rageval")

    def compare(self, *args: Any, **kwargs: Any) -> Comparison:
        comparison = self.run(*args, **kwargs).comparison
        assert comparison is not None
        return comparison

    def refused(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return why there is nothing to compare with."""
        with pytest.raises(BaselineError) as caught:
            self.plan(*args, **kwargs)
        return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def rows(*answers: str, question: str = "Q?", reference: str = "yes it is") -> str:
    """Return a data set with the samples r0, r1, ..."""
    lines = [
        {"id": f"r{at}", "question": question, "answer": answer, "references": [reference]}
        for at, answer in enumerate(answers)
    ]
    return "dataset: " + json.dumps(lines) + "\n"


HEAD = "name: s\nmetrics: [f1, em]\n"
# f1 1, 1/2 (of "it": P 1, R 1/3), em 1, 0.
BEFORE, NOW = ("yes it is", "it"), ("yes it is", "no")
MAIN = "compare: main\n"


@pytest.fixture
def past(folder: Folder) -> Folder:
    """Return a folder in which the run main was saved, of the answers before."""
    folder.save(HEAD + rows(*BEFORE))
    return folder


def test_a_saved_run_is_compared_metric_by_metric(past: Folder) -> None:
    """E15: f1 of "it" was 1/2 (2·1·1/3 / (1 + 1/3)); "no" has 0."""
    found = past.compare(HEAD + MAIN + rows(*NOW))
    assert (found.baseline, found.test, found.alpha) == ("main", "permutation", 0.05)
    assert list(found.metrics) == ["f1", "em", "weighted_score"]
    f1, em, overall = found.metrics.values()
    assert (f1.a_mean, f1.b_mean, f1.diff) == (0.5, 0.75, -0.25)
    assert (em.a_mean, em.b_mean, em.diff) == (0.5, 0.5, 0.0)
    assert overall.diff == -0.125


def test_the_saved_weighted_score_is_weighed_as_this_scenario_weighs(past: Folder) -> None:
    """A14, E15: weights 3 and 1: B (1 + 3/8)/2, A (1 + 0)/2; no change of weights is a fall."""
    found = past.compare(HEAD + "metric_weights: {f1: 3, em: 1}\n" + MAIN + rows(*NOW))
    overall = found.metrics["weighted_score"]
    assert (overall.a_mean, overall.b_mean) == (0.5, 0.6875)


def test_metrics_can_be_chosen_by_any_of_their_names(past: Folder) -> None:
    text = "compare: {baseline: main, metrics: [exact_match, weighted_score]}\n"
    assert list(past.compare(HEAD + text + rows(*NOW)).metrics) == ["em", "weighted_score"]


def test_a_metric_that_the_scenario_has_not_is_a_problem_of_the_scenario(past: Folder) -> None:
    """E12: with its place in the list."""
    text = "compare:\n  baseline: main\n  metrics: [em, f11]\n"
    with pytest.raises(ScenarioError) as caught:
        past.plan(HEAD + text + rows(*NOW))
    assert str(caught.value) == (
        "s.yaml:5: compare.metrics[1]: unknown metric 'f11'. Did you mean 'f1'? "
        "Known: em, f1, weighted_score"
    )


def test_of_several_runs_a_problem_names_the_one_that_has_it(past: Folder) -> None:
    """F7: 1e-6 / 50 asks for 10 / 2e-8 - 1 resamples."""
    text = "compare:\n  - main\n  - {baseline: v1, metrics: [f11], alpha: 1.0e-6, looks: 50}\n"
    with pytest.raises(ScenarioError) as caught:
        past.plan(HEAD + text + rows(*NOW))
    metric, looks = caught.value.problems
    assert str(metric).startswith("s.yaml:5: compare[1].metrics[0]: unknown metric 'f11'. ")
    assert str(looks) == (
        "s.yaml:5: compare[1].looks 50 share alpha 1e-06: the 2e-08 of each one needs 499,999,999 "
        "resamples, more than 1,000,000; plan fewer looks"
    )


def test_samples_of_one_side_are_listed(folder: Folder) -> None:
    """E15."""
    folder.save(HEAD + rows("a", "b", "c"))
    text = "name: s\nmetrics: [f1, em]\ncompare: main\ndataset:\n"
    text += "  - {id: r1, question: Q?, answer: b, references: [yes it is]}\n"
    text += "  - {id: new, question: Q?, answer: b, references: [yes it is]}\n"
    found = folder.compare(text)
    assert (found.only_a, found.only_b) == (("new",), ("r0", "r2"))


@pytest.mark.parametrize("name", ["支持::一", "a/b", "q[1]", " x ", "sample-1"])
def test_samples_are_joined_by_any_id(folder: Folder, name: str) -> None:
    """A2: by the id of the data, not by the name of the item."""
    data = "dataset: " + json.dumps([{"id": name, "answer": "a", "references": ["a"]}]) + "\n"
    folder.save(HEAD + data)
    found = folder.compare(HEAD + MAIN + data)
    assert (found.metrics["f1"].n, found.only_a, found.only_b) == (1, (), ())


# Refusals


def test_a_name_that_is_not_saved_lists_those_that_are(folder: Folder) -> None:
    """E15: at the line that names it."""
    for name in ("main", "nightly"):
        folder.save(HEAD + rows(*BEFORE), name=name)
    (problem,) = folder.refused(HEAD + "compare: mian\n" + rows(*NOW))
    assert problem == (
        "s.yaml:3: no saved run 'mian' (.rageval/s/baselines/mian.json). Did you mean 'main'? "
        "Saved: main, nightly"
    )


def test_a_path_that_no_file_can_have_is_refused(folder: Folder) -> None:
    """[E12]"""
    name = "x/" + "y" * 5000 + ".json"
    (problem,) = folder.refused(HEAD + rows(*NOW) + f"compare: {name}\n")
    assert "cannot be read: " in problem


def test_an_alpha_that_leaves_no_room_below_one_has_wide_intervals(past: Folder) -> None:
    """[E12] 1 - 1e-300 is 1, which has no quantile."""
    found = past.compare(HEAD + rows(*NOW) + "compare: {baseline: main, alpha: 1.0e-300}\n")
    low, high = found.metrics["f1"].ci_low, found.metrics["f1"].ci_high
    assert low is not None
    assert high is not None
    assert -math.inf < low < -1.0 < 1.0 < high < math.inf


def test_problems_of_the_scenario_come_first(folder: Folder) -> None:
    """E12: they are exit status 2, and what is saved may fit once they are mended."""
    with pytest.raises(ScenarioError):
        folder.plan("name: s\nmetrics: [f11]\ncompare: nope\n" + rows(*NOW))


def test_a_metric_that_is_measured_in_another_way_is_refused(past: Folder) -> None:
    """D6: scores by other options are other scores."""
    squad = "name: s\nmetrics: [{f1: {normalizer: squad}}, em]\n"
    (problem,) = past.refused(squad + MAIN + rows(*NOW))
    assert problem == (
        "s.yaml:3: baseline 'main' (.rageval/s/baselines/main.json): f1 was f1 v1 "
        "(tokenizer=auto), and is f1 v1 (normalizer=squad, tokenizer=auto) now; save a new "
        "baseline (--rag-save-failed main), or compare anyway (compare.anyway: true)"
    )
    past.save(HEAD + rows(*BEFORE), name="v1")
    two = "compare: [main, {baseline: v1, looks: 50}]\n"
    said = [
        problem.partition("save a new ")[2] for problem in past.refused(squad + two + rows(*NOW))
    ]
    assert said == [
        "baseline (--rag-set compare=main --rag-save-failed main), or compare anyway "
        "(compare[0]: {baseline: main, anyway: true})",
        "baseline under another name, as this one is pinned, or compare anyway "
        "(compare[1].anyway: true)",
    ]


@pytest.mark.parametrize(
    ("compare", "hint"),
    [
        ("main", "compare.anyway: true"),
        ("{baseline: main}", "compare.anyway: true"),
        ("[main]", "compare[0]: {baseline: main, anyway: true}"),
        ("[{baseline: main, looks: 2}]", "compare[0].anyway: true"),
        ("[other, main]", "compare[1]: {baseline: main, anyway: true}"),
        ("[other, {baseline: main}]", "compare[1].anyway: true"),
        ("[{baseline: other}, main]", "compare[1]: {baseline: main, anyway: true}"),
        ('[other, "./m: 1.json"]', 'compare[1]: {baseline: "./m: 1.json", anyway: true}'),
    ],
)
def test_the_hint_of_a_refused_baseline_is_an_option_that_compares(
    past: Folder, compare: str, hint: str
) -> None:
    """A bare name in a list has no keys: it is replaced."""
    past.save(HEAD + rows(*BEFORE, question="Why?"), name="other")
    saved = past.path / ".rageval/s/baselines/main.json"
    (past.path / "m: 1.json").write_bytes(saved.read_bytes())
    text = HEAD + f"compare: {compare}\n" + rows(*NOW, question="Why?")
    said = past.refused(text)
    assert [problem.partition("or compare anyway ")[2] for problem in said] == [f"({hint})"]
    path, _, value = hint.replace("[", ".").replace("]", "").partition(": ")
    (warning,) = past.plan(text, (), [set_override("--rag-set", f"{path}={value}")]).info.warnings
    assert warning.endswith("compared anyway")


def test_another_version_of_a_metric_is_refused(past: Folder) -> None:
    """D6: a metric that scores otherwise than before has a higher version."""
    file = past.path / ".rageval/s/baselines/main.json"
    file.write_text(file.read_text("utf-8").replace("f1 v1", "f1 v0"), "utf-8")
    (problem,) = past.refused(HEAD + MAIN + rows(*NOW))
    assert "f1 was f1 v0 (tokenizer=auto), and is f1 v1 (tokenizer=auto) now" in problem


def test_an_option_that_was_saved_with_its_password_is_not_shown(folder: Folder) -> None:
    """[R5] It is another password or not: that cannot be told, and the file has to go."""
    text = "def near(answer, endpoint):\n    return 1.0\n"
    (folder.path / "near_by_url.py").write_text(text, "utf-8")
    url = "https://me:hunter2@h.test/x"
    head = f"name: s\nmetrics: [{{use: 'near_by_url:near', endpoint: '{url}'}}]\n"
    folder.save(head + rows(*BEFORE))
    file = folder.path / ".rageval/s/baselines/main.json"
    saved = file.read_text("utf-8")
    assert "hunter2" not in saved
    assert folder.compare(head + MAIN + rows(*NOW)).metrics["near"].diff == 0.0
    file.write_text(re.sub(r"https://h.test/x#\w{4}", url, saved), "utf-8")
    (problem,) = folder.refused(head + MAIN + rows(*NOW))
    assert "near was saved with an option that is hidden now, and is " in problem
    assert "hunter2" not in problem


def test_scores_that_are_none_of_the_metric_are_refused(past: Folder) -> None:
    """S6: with file, sample, metric and value, and never as an internal error."""
    path = next(past.path.rglob("main.json"))
    saved = json.loads(path.read_text("utf-8"))
    saved["samples"][1]["scores"]["f1"] = 5.0
    saved["metrics"]["f1"]["mean"] = 3.0  # of 1 and 5
    path.write_text(json.dumps(saved), "utf-8")
    (problem,) = past.refused(HEAD + MAIN + rows(*NOW))
    assert (
        "main.json): sample 'r1': f1 5.0 is not a valid score: it must be in 0..1; mend" in problem
    )


def test_a_metric_that_is_not_compared_may_be_measured_in_any_way(past: Folder) -> None:
    """D6: em is what it was."""
    text = "name: s\nmetrics: [{f1: {normalizer: squad}}, em]\n"
    text += "compare: {baseline: main, metrics: [em]}\n"
    assert list(past.compare(text + rows(*NOW)).metrics) == ["em"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"question": "Why?"}, "another question (first: 'r0', was 'Q?', is 'Why?')"),
        ({"reference": "no"}, "other references (first: 'r0', was ['yes it is'], is ['no'])"),
    ],
)
def test_other_questions_and_references_are_refused(
    past: Folder, data: dict[str, str], said: str
) -> None:
    """D6: equal ids, other data."""
    (problem,) = past.refused(HEAD + MAIN + rows(*NOW, **data))
    assert f"2 of 2 shared samples have {said}" in problem


SEARCH = "name: s\nmetrics: [recall]\n"


def searched(*relevant: str, **more: Any) -> str:
    """Return a data set without questions whose samples all found ``a`` and ``b``."""
    lines = [
        {"retrieved_ids": ["a", "b"], "reference_ids": [name], "references": ["x"], "answer": "x"}
        for name in relevant
    ]
    return "dataset: " + json.dumps([{**line, **more} for line in lines]) + "\n"


def test_other_reference_ids_are_refused(folder: Folder) -> None:
    """D6: recall was 1 and is 1/3, and nobody searched worse."""
    folder.save(SEARCH + searched("a", "a"))
    now = searched("a", "a", reference_ids=["a", "y", "z"])
    (problem,) = folder.refused(SEARCH + MAIN + now)
    assert (
        "2 of 2 shared samples have other reference_ids (first: 'sample-1'); save a new" in problem
    )


@pytest.mark.parametrize("grades", [{"a": 1, "b": 2}, {"a": 2, "b": 0}])
def test_other_grades_are_refused(folder: Folder, grades: Any) -> None:
    folder.save(SEARCH + searched("a", reference_ids={"a": 2, "b": 1}))
    (problem,) = folder.refused(SEARCH + MAIN + searched("a", reference_ids=grades))
    assert "1 of 1 shared samples have other reference_ids" in problem


def test_a_row_in_front_of_rows_without_ids_is_noticed(folder: Folder) -> None:
    """D6: sample-2 is another row then."""
    folder.save(SEARCH + searched("a", "b"))
    (problem,) = folder.refused(SEARCH + MAIN + searched("b", "a", "b"))
    assert "2 of 2 shared samples have other reference_ids" in problem


def test_the_order_of_judgements_makes_no_difference(folder: Folder) -> None:
    folder.save(SEARCH + searched("a", reference_ids=["a", "z"]))
    assert folder.compare(SEARCH + MAIN + searched("a", reference_ids=["z", "a"]))


def test_judgements_that_no_compared_metric_reads_may_change(folder: Folder) -> None:
    """D6: f1 reads the references, which are the same."""
    text = "name: s\nmetrics: [f1, recall]\ncompare: {baseline: main, metrics: [f1]}\n"
    folder.save("name: s\nmetrics: [f1, recall]\n" + searched("a"))
    assert list(folder.compare(text + searched("z")).metrics) == ["f1"]


def test_a_corpus_that_was_cut_in_another_way_is_refused(folder: Folder) -> None:
    """D6: what the samples of a document expect are its chunks."""
    head = "name: s\nmetrics: [recall]\ncorpus: c.jsonl\n"
    data = "dataset: [{id: a, doc_name: d, contexts: [one]}]\n"
    chunks = ['{"text": "one", "doc_name": "d"}\n', '{"text": "two", "doc_name": "d"}\n']
    folder.save(head + data, {"c.jsonl": chunks[0]})
    assert folder.compare(head + MAIN + data, {"c.jsonl": chunks[0]})
    (problem,) = folder.refused(head + MAIN + data, {"c.jsonl": "".join(chunks)})
    assert "1 of 1 shared samples have other reference_contexts" in problem


@pytest.mark.parametrize("was", [("ids", "contexts"), ("contexts", "ids")])
def test_ids_in_place_of_contexts_are_another_measure(folder: Folder, was: tuple[str, str]) -> None:
    """Recall was 1 by one of them, and is 1/2 by the other. With both, ids count."""
    labels = {
        "ids": {"reference_ids": ["1", "2"], "reference_contexts": None},
        "contexts": {"reference_contexts": ["one"], "reference_ids": None},
        "both": {"reference_contexts": ["one"], "reference_ids": ["1", "2"]},
    }
    head = "name: s\nmetrics: [recall]\n"
    data = {
        name: row_of(retrieved_ids=["1", "3"], contexts=["one"], **fields)
        for name, fields in labels.items()
    }
    folder.save(head + data[was[0]])
    (problem,) = folder.refused(head + MAIN + data[was[1]])
    assert f"1 of 1 shared samples have other reference_{was[1]} (first: 'a')" in problem
    if was[0] == "ids":
        assert folder.compare(head + MAIN + data["both"])
    else:
        (problem,) = folder.refused(head + MAIN + data["both"])
        assert "1 of 1 shared samples have other reference_ids (first: 'a')" in problem


BOTH: dict[str, Any] = {
    "reference_ids": ["1"],
    "reference_contexts": ["one"],
    "references": None,
    "doc_name": "a.pdf",
    "retrieved_ids": ["1"],
}
NO_IDS = {**BOTH, "reference_ids": None}


@pytest.mark.parametrize(
    ("metric", "was", "now", "is_refused"),
    [
        ("hit_rate@1", BOTH, NO_IDS, True),
        ("hit_rate@1", NO_IDS, BOTH, True),
        ("{recall: {match: doc_name}}", BOTH, NO_IDS, True),
        ("source_recall", BOTH, NO_IDS, True),
        # It never takes contexts; by their side, ids without any that were retrieved say nothing.
        ("{recall: {on: contexts}}", BOTH, NO_IDS, False),
        ("hit_rate@1", {**NO_IDS, "retrieved_ids": None}, {**BOTH, "retrieved_ids": None}, False),
        # There was nothing to judge the row by.
        ("hit_rate@1", {**NO_IDS, "reference_contexts": None}, BOTH, False),
        ("source_recall", {**NO_IDS, "doc_name": None}, {**BOTH, "doc_name": None}, False),
    ],
)
def test_rows_that_lose_or_get_the_ids_they_are_judged_by(
    folder: Folder, metric: str, was: Any, now: Any, is_refused: bool
) -> None:
    """A metric takes ids first, and what is beside them in a row without ids."""
    contexts = [{"text": "one", "doc_name": "a.pdf"}]
    row = {"question": "Q?", "answer": "It is so [1].", "contexts": contexts}
    whole = {"id": "b", **row, **BOTH}
    head = f"name: s\nmetrics: [{metric}]\n"
    if now.get("retrieved_ids") is None:
        whole = {**whole, "retrieved_ids": None}
    first, second = (
        "dataset: " + json.dumps([{"id": "a", **row, **one}, whole]) + "\n" for one in (was, now)
    )
    folder.save(head + first)
    if is_refused:
        (problem,) = folder.refused(head + MAIN + second)
        assert "1 of 2 shared samples have other reference_ids (first: 'a')" in problem
    else:
        assert folder.compare(head + MAIN + second)


def test_groups_of_the_same_references_are_compared(folder: Folder) -> None:
    """D6: a metric that wants one of each group has another score."""
    head = "name: s\nmetrics: [em]\n"
    folder.save(head + "dataset: [{id: a, answer: x, references: [[x], [y]]}]\n")
    data = "dataset: [{id: a, answer: x, references: [[x, y]]}]\n"
    (problem,) = folder.refused(head + MAIN + data)
    assert "1 of 1 shared samples have other reference_groups" in problem


@pytest.mark.parametrize("nested", [0, 1])
def test_a_list_of_references_and_groups_of_them_are_another_measure(
    folder: Folder, nested: int
) -> None:
    """Of a list, stringem wants the whole answer, of groups a part of it; f1 reads a list."""
    head = "name: s\nmetrics: [stringem, f1]\n"
    now, was = (f"dataset: [{{id: a, answer: so x, references: {r}}}]\n" for r in ("[x]", "[[x]]"))
    now, was = (was, now) if nested else (now, was)
    folder.save(head + was)
    (problem,) = folder.refused(head + MAIN + now)
    assert "1 of 1 shared samples have other reference_groups" in problem
    only_f1 = "compare: {baseline: main, metrics: [f1]}\n"
    assert folder.compare(head + only_f1 + now).metrics["f1"].diff == 0.0
    file = folder.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    plain["samples"][0].pop("judged_by")  # of an earlier version, which had none of a list
    file.write_text(json.dumps(plain), "utf-8")
    assert folder.compare(head + MAIN + now).metrics["stringem"].n == 1


def row_of(**fields: Any) -> str:
    row = {"id": "a", "question": "Q?", "answer": "It is so [1].", "references": ["it is so"]}
    contexts = [{"text": "one", "doc_name": "a.pdf"}, {"text": "two", "doc_name": "c.pdf"}]
    return "dataset: " + json.dumps([{**row, "contexts": contexts, **fields}]) + "\n"


@pytest.mark.parametrize(
    ("asked", "field", "was", "now"),
    [
        ("metrics: [f1]\nrefusals: phrases\n", "answerable", False, True),
        # Without a label, a row counts as one with an answer.
        ("metrics: [f1]\nrefusals: phrases\n", "answerable", None, False),
        ("metrics: [source_recall]\n", "reference_citations", [2], [1]),
        ("metrics: [source_recall]\n", "reference_citations", None, [1]),
        ("metrics: [source_recall]\n", "reference_ids", ["a.pdf"], ["c.pdf"]),
        ("metrics: [source_recall]\n", "doc_name", "c.pdf", "a.pdf"),
        ("metrics: [{recall: {match: doc_name}}]\n", "doc_name", "b.pdf", "a.pdf"),
    ],
)
def test_other_labels_of_the_data_are_refused(
    folder: Folder, asked: str, field: str, was: Any, now: Any
) -> None:
    """D6: the answers are equal, and the score of each is another one."""
    head = f"name: s\n{asked}"
    folder.save(head + row_of(**{field: was}))
    assert folder.compare(head + MAIN + row_of(**{field: was}))
    (problem,) = folder.refused(head + MAIN + row_of(**{field: now}))
    assert f"1 of 1 shared samples have other {field} (first: 'a')" in problem


@pytest.mark.parametrize(
    ("was", "now", "is_refused"),
    [
        ({"doc_name": "a.pdf"}, {}, True),
        ({}, {"reference_ids": ["1"]}, True),
        ({"reference_contexts": ["one"]}, {}, True),
        ({"doc_name": "a.pdf"}, {"doc_name": "b.pdf"}, False),
        ({"doc_name": "a.pdf", "references": ["so"]}, {"references": ["so"]}, False),
        ({"doc_name": "a.pdf", "answerable": True}, {"answerable": True}, False),
    ],
)
def test_a_row_that_lost_what_shows_it_can_be_answered_is_judged_otherwise(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, was: Any, now: Any, is_refused: bool
) -> None:
    """Without it, a judge decides whether a refusal is right."""
    monkeypatch.setenv("KEY", "k")
    head = "name: s\nrefusals: {answerable: judge}\nmetrics: [f1]\n"
    head += "judge: {model: m, api_key_env: KEY, controls: off}\n"
    none = {"references": ["I do not know."]}
    folder.save(head + row_of(**{**none, **was}))
    if is_refused:
        (problem,) = folder.refused(head + MAIN + row_of(**{**none, **now}))
        assert "1 of 1 shared samples have other answer_hints (first: 'a')" in problem
    else:
        assert folder.run(head + MAIN + row_of(**{**none, **now})).comparison


def test_other_earlier_turns_are_refused_for_what_judges_see(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: f1 compares the answer with references, and no turn matters to it."""
    monkeypatch.setenv("KEY", "k")
    turns = [[{"role": "user", "content": text}] for text in ("Cars", "Trains")]
    head = "name: s\nconversation: true\nmetrics: [f1, llm_answer_relevancy]\n"
    head += "judge: {model: m, api_key_env: KEY, controls: off}\n"
    folder.save(head + row_of(history=turns[0]))
    (problem,) = folder.refused(head + MAIN + row_of(history=turns[1]))
    assert "1 of 1 shared samples have other history (first: 'a')" in problem
    (problem,) = folder.refused(head + MAIN + row_of())
    assert "1 of 1 shared samples have other history (first: 'a')" in problem
    only_f1 = "compare: {baseline: main, metrics: [f1]}\n"
    for history in (turns[1], None):
        assert folder.compare(head + only_f1 + row_of(history=history)).metrics["f1"].n == 1
    folder.save(head + row_of())
    (problem,) = folder.refused(head + MAIN + row_of(history=turns[0]))
    assert "1 of 1 shared samples have other history (first: 'a')" in problem
    assert folder.compare(head + only_f1 + row_of(history=turns[0])).metrics["f1"].n == 1


@pytest.mark.parametrize("first", ["f1", "llm_answer_relevancy"])
def test_earlier_turns_that_a_saved_run_had_no_reader_for_are_no_difference(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """A metric is added that sees them, or none does: turns 0."""
    monkeypatch.setenv("KEY", "k")
    turns = "1" if first == "f1" else "0"
    head = f"name: s\nconversation: {{turns: {turns}}}\n"
    head += "judge: {model: m, api_key_env: KEY, controls: off}\n"
    data = row_of(history=[{"role": "user", "content": "Cars"}])
    folder.save(f"{head}metrics: [{first}]\n{data}")
    assert folder.plan(f"{head}metrics: [f1, llm_answer_relevancy]\n{MAIN}{data}").info.baselines
    if first != "f1":
        assert folder.plan(f"{head}metrics: [{first}]\n{MAIN}{row_of()}").info.baselines


OWN = """
def one(answer): return 1.0
def opt(answer, reference_contexts=None): return 1.0
def whole(sample, answer): return 1.0
def said(answer, references=()): return 1.0
def maybe(answer, references=()): return 1.0 if references else None
class EvaluationMetric: pass
class Theirs(EvaluationMetric):
    def sync_compute(self, prediction, contexts): return 1.0
"""


@pytest.mark.parametrize(
    ("use", "more", "field", "is_refused"),
    [
        ("one", "", "reference_contexts", False),
        ("opt", "", "reference_contexts", True),
        ("opt", "", "nuggets", False),
        ("whole", "", "reference_contexts", True),
        ("whole", "", "doc_name", False),
        ("whole", ", needs: [doc_name]", "doc_name", True),
        ("Theirs", "", "reference_contexts", True),
    ],
)
def test_what_code_of_ones_own_may_read_is_compared(
    folder: Folder, use: str, more: str, field: str, is_refused: bool
) -> None:
    """Whatever it needs: a parameter with a default, or all that is in a whole sample."""
    module = f"own_read_{use}_{field}_{len(more)}"
    head = f"name: s\nmetrics: [{{use: {module}:{use}, name: own{more}}}]\n"
    was, now = ("a.pdf", "b.pdf") if field == "doc_name" else (["a"], ["b"])
    folder.save(head + row_of(**{field: was}), {f"{module}.py": OWN})
    if is_refused:
        (problem,) = folder.refused(head + MAIN + row_of(**{field: now}))
        assert f"1 of 1 shared samples have other {field} (first: 'a')" in problem
    else:
        assert folder.compare(head + MAIN + row_of(**{field: now})).metrics["own"].n == 1


@pytest.mark.parametrize(
    ("use", "field", "is_refused"),
    [
        ("opt", "reference_contexts", True),
        ("said", "references", True),
        ("Theirs", "reference_contexts", True),
        ("one", "references", False),
        ("opt", "references", False),
        ("whole", "reference_contexts", False),  # what code may read may be added to rows
    ],
)
def test_a_field_that_code_takes_where_it_is_there_is_lost(
    folder: Folder, use: str, field: str, is_refused: bool
) -> None:
    """It has a score without the field, too, of another kind."""
    module = f"own_lost_{use}_{field}"
    head = f"name: s\nmetrics: [{{use: {module}:{use}, name: own}}]\n"
    with_it, without = row_of(**{field: ["a"]}), row_of(**{field: None})
    for name, was, now in (("lost", with_it, without), ("got", without, with_it)):
        folder.save(head + was, {f"{module}.py": OWN}, name=name)
        text = head + f"compare: {name}\n" + now
        if is_refused:
            (problem,) = folder.refused(text)
            assert f"1 of 1 shared samples have other {field} (first: 'a')" in problem
        else:
            assert folder.compare(text).metrics["own"].n == 1


@pytest.mark.parametrize(
    ("use", "field", "was"), [("maybe", "references", None), ("opt", "reference_contexts", [])]
)
def test_a_row_that_gets_a_first_score_or_had_an_empty_list_is_no_other_row(
    folder: Folder, use: str, field: str, was: Any
) -> None:
    module = f"own_first_{use}"
    head = f"name: s\nmetrics: [{{use: {module}:{use}, name: own}}]\n"
    folder.save(head + row_of(**{field: was}), {f"{module}.py": OWN})
    now = row_of(**{field: None if was == [] else ["a"]})
    assert folder.compare(head + MAIN + now).metrics["own"].n == int(was == [])


def test_labels_that_no_metric_reads_are_no_difference(folder: Folder) -> None:
    head = "name: s\nmetrics: [f1]\ncitations: true\n"
    folder.save(head + row_of(doc_name="a.pdf", reference_citations=[1, 2]))
    data = row_of(doc_name="b.pdf", reference_citations=[1])
    assert folder.compare(head + MAIN + data).metrics["f1"].diff == 0.0


def test_the_order_of_expected_citations_is_no_difference(folder: Folder) -> None:
    head = "name: s\nmetrics: [source_recall]\n"
    folder.save(head + row_of(reference_citations=[1, 2]))
    assert folder.compare(head + MAIN + row_of(reference_citations=[2, 1]))


def test_a_run_without_digests_of_labels_is_compared_as_before(folder: Folder) -> None:
    """Those of an older version have none."""
    head = "name: s\nmetrics: [f1]\nrefusals: phrases\n"
    folder.save(head + row_of(answerable=False))
    file = folder.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    assert list(plain["samples"][0].pop("judged_by")) == ["answerable"]
    file.write_text(json.dumps(plain), "utf-8")
    assert folder.compare(head + MAIN + row_of(answerable=True)).metrics["f1"].n == 1


def test_a_run_without_digests_is_compared_as_before(folder: Folder) -> None:
    """Those of an older version have none."""
    folder.save(SEARCH + searched("a"))
    file = folder.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    assert list(plain["samples"][0].pop("judged_by")) == ["reference_ids"]
    file.write_text(json.dumps(plain), "utf-8")
    assert folder.compare(SEARCH + MAIN + searched("z")).metrics["recall"].diff == -1.0


def test_no_common_sample_is_refused(past: Folder) -> None:
    """D6: the wrong baseline."""
    data = "dataset: [{id: else, answer: a, references: [a]}]\n"
    (problem,) = past.refused(HEAD + MAIN + data)
    assert "it has no sample in common with this data set" in problem


def test_all_differences_are_told_together(past: Folder) -> None:
    """E12."""
    text = "name: s\nmetrics: [{f1: {normalizer: squad}}, em]\n" + MAIN
    found = past.refused(text + rows(*NOW, question="Why?", reference="no"))
    assert len(found) == 3


def test_told_to_the_comparison_is_made_anyway(past: Folder) -> None:
    """D6: each difference is a warning then."""
    text = "compare: {baseline: main, anyway: true}\n"
    result = past.run(HEAD + text + rows(*NOW, question="Why?", reference="yes it"))
    assert result.comparison is not None
    assert len(result.info.warnings) == 2
    assert all(warning.endswith("; compared anyway") for warning in result.info.warnings)


def test_a_missing_run_is_not_compared_anyway(folder: Folder) -> None:
    folder.refused(HEAD + "compare: {baseline: nope, anyway: true}\n" + rows(*NOW))


def test_questions_that_one_side_does_not_know_are_no_difference(folder: Folder) -> None:
    """TREC files have no questions; a run saved by an older version may lack fields."""
    folder.save("name: s\nmetrics: [em]\ndataset: [{id: a, answer: x, references: [x]}]\n")
    file = folder.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    del plain["samples"][0]["references"], plain["scenario"]["definitions"]
    file.write_text(json.dumps(plain), "utf-8")
    text = "name: s\nmetrics: [em]\ncompare: main\n"
    text += "dataset: [{id: a, question: Q?, answer: x, references: [x]}]\n"
    assert folder.compare(text).metrics["em"].n == 1


# Metrics that a saved run lacks


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ("compare: ASKED", "it has no acc, but: em, f1"),
        ("gates: {no_regression: ASKED}", "the baseline 'main' has no acc; it has: f1"),
    ],
)
def test_a_metric_that_was_asked_for_and_is_not_saved_is_refused(
    past: Folder, who: str, said: str
) -> None:
    """D6, E5: with those that are; as every baseline that does not fit (exit status 4)."""
    asked = who.replace("ASKED", "{baseline: main, metrics: [acc]}")
    (problem,) = past.refused(f"name: s\nmetrics: [f1, acc]\n{asked}\n" + rows(*NOW))
    assert said in problem


def test_new_metrics_are_left_out_and_named(past: Folder) -> None:
    """D6: and with them the weighted score, which would be of other metrics."""
    result = past.run("name: s\nmetrics: [f1, em, acc]\n" + MAIN + rows(*NOW))
    assert result.comparison is not None
    assert list(result.comparison.metrics) == ["f1", "em"]
    told = " ".join((*result.info.warnings, *result.info.remarks))
    assert "acc" in told
    assert "weighted_score" in told


def test_a_run_without_any_metric_of_this_scenario_is_refused(past: Folder) -> None:
    past.refused("name: s\nmetrics: [acc]\n" + MAIN + rows(*NOW))


WITH_ZERO = "name: s\nmetrics: [f1, em, acc]\nmetric_weights: {f1: 1, em: 1, acc: 0}\n"
GATE = "gates: {no_regression: {baseline: main, mode: any}}\n"


def test_a_new_metric_that_does_not_count_leaves_the_weighted_score(past: Folder) -> None:
    """E5, A14: weight 0; B (1 + 1/4)/2, A (1 + 0)/2 as without it, and the gate is decided."""
    result = past.run(WITH_ZERO + MAIN + GATE + rows(*NOW))
    assert result.comparison is not None
    assert list(result.comparison.metrics) == ["f1", "em", "weighted_score"]
    overall = result.comparison.metrics["weighted_score"]
    assert (overall.a_mean, overall.b_mean) == (0.5, 0.625)
    assert result.gates[0].outcome == "failed"
    (told,) = result.info.remarks
    assert "it has no acc; only" in told


def test_options_of_a_metric_that_does_not_count_may_change(folder: Folder) -> None:
    """E5: the gate asks for the weighted score alone."""
    folder.save(WITH_ZERO + rows(*BEFORE))
    text = WITH_ZERO.replace("acc]", "{acc: {normalizer: squad}}]")
    assert folder.run(text + GATE + rows(*NOW)).gates[0].outcome == "failed"
    (problem,) = folder.refused(text + MAIN + rows(*NOW))  # the table shows acc
    assert "acc was" in problem


def test_the_metric_for_want_of_which_there_is_no_weighted_score_is_named(past: Folder) -> None:
    (problem,) = past.refused("name: s\nmetrics: [f1, em, acc]\n" + GATE + rows(*NOW))
    assert "the baseline 'main' has no weighted_score, because it has no acc; it has: em, f1" in (
        problem
    )


# Gates


def test_a_gate_names_a_run_of_its_own(past: Folder) -> None:
    """E5: without ``compare`` there is no table."""
    text = "gates: {no_regression: {baseline: main, mode: any, metrics: [f1]}}\n"
    result = past.run(HEAD + text + rows(*NOW))
    assert result.comparison is None
    assert {gate.name: gate.outcome for gate in result.gates} == {
        "no_regression": "failed",
        "unscored": "passed",
    }


def test_a_gate_inside_of_by_names_a_run_too(past: Folder) -> None:
    text = "gates: {by: {doc_name: {no_regression: {baseline: main, mode: any}}}}\n"
    assert past.run(HEAD + text + rows(*NOW)).gates[0].outcome == "failed"
    (problem,) = past.refused(HEAD + text.replace("main", "nope") + rows(*NOW))
    assert problem.startswith("s.yaml:3: no saved run 'nope'")


def test_the_short_form_names_a_run_too(past: Folder) -> None:
    text = "gates: {compare_fail: {f1: {max_drop: 0.1, baseline: main, mode: any}}}\n"
    assert past.run(HEAD + text + rows(*NOW)).gates[0].outcome == "failed"


def test_gates_and_compare_may_name_different_runs(past: Folder) -> None:
    past.save(HEAD + rows(*NOW), name="other")
    text = "compare: main\ngates: {no_regression: {baseline: other, mode: any}}\n"
    result = past.run(HEAD + text + rows(*NOW))
    assert result.comparison is not None
    assert result.comparison.metrics["f1"].diff == -0.25
    assert result.gates[0].outcome == "passed"


def test_a_gate_may_compare_anyway(past: Folder) -> None:
    text = "gates:\n  no_regression: {baseline: main, ANYWAY mode: any}\n"
    data = rows(*NOW, question="Why?")
    (problem,) = past.refused(HEAD + text.replace("ANYWAY ", "") + data)
    assert problem.startswith("s.yaml:4: ")
    assert problem.endswith("compare anyway (gates.no_regression.anyway: true)")
    result = past.run(HEAD + text.replace("ANYWAY", "anyway: true,") + data)
    assert result.gates[0].outcome == "failed"


def test_metrics_that_a_gate_compares_must_be_scored(past: Folder) -> None:
    """A20: unscored, they are an error of the case."""
    text = "gates: {no_regression: {baseline: main, metrics: [f1]}}\n"
    assert past.plan(HEAD + text + rows(*NOW)).required == {"f1"}


# What a score depends on (V6)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("top_k: 1\n", "top_k: 2\n", "top_k was 1, and is 2 now"),
        ("top_k: 1\n", "", "top_k was 1, and is null now"),
        ("", "empty_answer: null\n", "empty_answer was worst, and is null now"),
    ],
)
def test_what_makes_scores_mean_something_else_is_refused(
    folder: Folder, was: str, now: str, said: str
) -> None:
    folder.save(HEAD + was + rows(*BEFORE))
    (problem,) = folder.refused(HEAD + MAIN + now + rows(*NOW))
    assert f"(.rageval/s/baselines/main.json): {said}; save a new baseline" in problem
    anyway = "compare: {baseline: main, anyway: true}\n"
    (warning,) = folder.plan(HEAD + anyway + now + rows(*NOW)).info.warnings
    assert warning.endswith(f"{said}; compared anyway")


JUDGED = """
name: s
metrics: [{llm_answer_relevancy: {name: em}}]
judge: {model: m, base_url: "http://127.0.0.1:9/v1", language: %s}
"""


@pytest.mark.parametrize(
    ("was", "now", "change"),
    [
        ("", "auto", ""),
        (", asked in zh", "zh-CN", ""),
        ("", "zh", "by m, and is llm_answer_relevancy v1 () by m, asked in zh now"),
        (", asked in zh", "auto", "by m, asked in zh, and is llm_answer_relevancy v1 () by m now"),
    ],
)
def test_another_language_of_the_judge_is_refused(
    past: Folder, was: str, now: str, change: str
) -> None:
    """What 0.1.0 saved, which did not record it, is compared, and that is said."""
    file = past.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    plain["scenario"]["definitions"] = {"em": f"llm_answer_relevancy v1 () by m{was}"}
    file.write_text(json.dumps(plain), "utf-8")
    scenario = JUDGED % now + MAIN + rows(*NOW)
    said = past.refused(scenario) if change else []
    assert [text.partition("v1 () ")[2].partition(";")[0] for text in said] == [change] * len(said)
    assert change or not past.plan(scenario).info.remarks
    if not was:
        del plain["scenario"]["measured"]
        file.write_text(json.dumps(plain), "utf-8")
        (remark,) = past.plan(scenario).info.remarks
        assert "tolerate, judge.language: whether they differ is unknown" in remark


GATED = "thresholds: {f1: 0}\ngates: {pass_rate: 0}\n"


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (GATED, f"{GATED}tolerate: pass_rate\n", "tolerate was null, and is pass_rate now"),
        ("", "metric_weights: {em: 0}\n", "the weight of em was 1, and is 0 now (both runs are"),
        ("metric_weights: {em: 0}\n", "", "the weight of em was 0, and is 1 now (both runs are"),
    ],
)
def test_what_else_it_depends_on_is_compared_and_said(
    folder: Folder, was: str, now: str, said: str
) -> None:
    folder.save(HEAD + was + rows(*BEFORE))
    plan = folder.plan(HEAD + MAIN + now + rows(*NOW))
    (line,) = plan.info.unlike
    assert line.startswith(f"baseline 'main' (.rageval/s/baselines/main.json): {said}")
    assert line.endswith("; compared all the same")
    assert folder.compare(HEAD + MAIN + now + rows(*NOW)).metrics["f1"].n == 2
    assert folder.plan(HEAD + MAIN + was + rows(*NOW)).info.unlike == ()


def test_a_weight_that_is_another_one_and_not_0_is_no_difference(past: Folder) -> None:
    assert past.plan(HEAD + MAIN + "metric_weights: {em: 2}\n" + rows(*NOW)).info.unlike == ()


def test_invalid_rows_that_are_skipped_now_are_said(past: Folder) -> None:
    data = rows(*NOW).replace("dataset: ", "dataset: {on_invalid: skip, rows: ").rstrip() + "}\n"
    (line,) = past.plan(HEAD + MAIN + data).info.unlike
    assert "on_invalid was fail, and is skip now" in line


def test_a_document_that_weighs_nothing_now_is_said(folder: Folder) -> None:
    """Both rows are of d; r1 has a weight of its own document, which is 0 now."""
    data = rows(*BEFORE).replace('"r1",', '"r1", "doc_name": "d",')
    folder.save(HEAD + data)
    assert folder.plan(HEAD + MAIN + "doc_weights: {d: 2}\n" + data).info.unlike == ()
    (line,) = folder.plan(HEAD + MAIN + "doc_weights: {d: 0}\n" + data).info.unlike
    assert "1 of 2 shared samples weighed 0 then or weigh 0 now (first: 'r1'" in line


def test_what_an_earlier_version_did_not_write_is_one_line(folder: Folder) -> None:
    folder.save(HEAD + "top_k: 1\n" + rows(*BEFORE))
    file = folder.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    del plain["scenario"]["measured"]
    file.write_text(json.dumps(plain), "utf-8")
    info = folder.plan(HEAD + MAIN + rows(*NOW)).info
    assert (len(info.remarks), info.unlike, info.warnings) == (1, (), ())
    assert "): an earlier version saved it, without top_k, empty_answer, " in info.remarks[0]
    assert folder.compare(HEAD + MAIN + rows(*NOW)).metrics["f1"].n == 2


@pytest.mark.parametrize(
    "odd", [[], "x", 1, {"code": []}, {"code": {"m": 1}}, {"code": {"m": {"a": 1}}}]
)
def test_a_record_of_another_shape_is_refused(past: Folder, odd: Any) -> None:
    file = past.path / ".rageval/s/baselines/main.json"
    plain = json.loads(file.read_text("utf-8"))
    plain["scenario"]["measured"] = odd
    file.write_text(json.dumps(plain), "utf-8")
    (problem,) = past.refused(HEAD + MAIN + rows(*NOW))
    assert "cannot be read as a results.json of pytest-rageval: Expected" in problem


# A run that is about to be saved


def test_the_first_run_that_saves_its_own_baseline_is_not_compared(folder: Folder) -> None:
    """E15: else no first one could be saved; the gate is undecided, which is neither."""
    text = "compare: main\ngates: {no_regression: {baseline: main}, f1: 0.1}\n"
    result = folder.run(HEAD + text + rows(*NOW), saving="main")
    assert (result.comparison, result.info.refused_baseline) == (None, "")
    assert {gate.name: gate.outcome for gate in result.gates} == {
        "no_regression": "skipped",
        "f1.mean": "passed",
        "unscored": "passed",
    }


def test_a_run_that_is_to_replace_a_baseline_that_does_not_fit_is_not_compared(
    past: Folder,
) -> None:
    """V1: it says why; that is what keeps it from being saved."""
    data = rows(*NOW, question="Why?")
    found = past.run(HEAD + MAIN + data, saving="main")
    assert found.comparison is None
    assert "2 of 2 shared samples have another question" in found.info.refused_baseline
    assert "save a new baseline" not in found.info.refused_baseline
    past.refused(HEAD + MAIN + data, saving="other")


def test_a_run_that_replaces_a_baseline_that_fits_is_compared_first(past: Folder) -> None:
    found = past.run(HEAD + MAIN + rows(*NOW), saving="main")
    assert found.comparison is not None
    assert found.info.refused_baseline == ""


def test_an_undecided_gate_of_slices_is_undecided(folder: Folder) -> None:
    """E4, E5: nothing was compared in any slice."""
    text = "gates: {by: {doc_name: {no_regression: {baseline: main}}}}\n"
    result = folder.run(HEAD + text + rows(*NOW), saving="main")
    assert result.gates[0].outcome == "skipped"


# Paths


@pytest.mark.parametrize("name", ["kept/main.json", "./kept/main.json", "ABSOLUTE"])
def test_a_saved_run_may_be_named_by_its_path(past: Folder, name: str) -> None:
    """E15: relative to the root."""
    (past.path / "kept").mkdir()
    saved = past.path / ".rageval/s/baselines/main.json"
    saved.rename(past.path / "kept/main.json")
    name = name.replace("ABSOLUTE", str(past.path / "kept/main.json"))
    text = f"compare: {json.dumps(name)}\n"
    assert past.compare(HEAD + text + rows(*NOW)).metrics["f1"].n == 2


def test_a_results_json_of_any_run_is_a_saved_run(past: Folder) -> None:
    """E15: the files are the same."""
    saved = past.path / ".rageval/s/baselines/main.json"
    saved.rename(past.path / "results.json")
    assert past.compare(HEAD + "compare: results.json\n" + rows(*NOW)).baseline == "results.json"


def test_a_path_may_be_relative_to_the_scenario(tmp_path: Path) -> None:
    """E15: as its data are."""
    folder = Folder(tmp_path)
    folder.save(HEAD + rows(*BEFORE))
    (tmp_path / "deep").mkdir()
    saved = tmp_path / ".rageval/s/baselines/main.json"
    saved.rename(tmp_path / "deep/main.json")
    scenario = tmp_path / "deep/s.yaml"
    scenario.write_text(HEAD + "compare: main.json\n" + rows(*NOW), "utf-8")
    plan = make_plan(scenario, shown="deep/s.yaml", run_paths=RunPaths(tmp_path))
    assert list(plan.info.baselines) == ["main.json"]


# TREC: another run over the same queries

QRELS = "q1 0 d1 1\nq2 0 d1 1\nq3 0 d1 1\n"
TREC = {
    "q.txt": QRELS,
    "new.txt": "q1 Q0 d1 1 1 r\nq2 Q0 d1 1 1 r\nq3 Q0 d1 1 1 r\n",
    "old.txt": "q1 Q0 d9 1 2 r\nq1 Q0 d1 2 1 r\nq2 Q0 d1 1 1 r\n",
}
RETRIEVAL = "name: s\nqrels_path: q.txt\nrun_path: new.txt\nmetrics: [mrr, p@1]\n"
OLD = "compare: {run_old_path: old.txt, metrics: [mrr]}\n"


def test_an_older_run_is_scored_and_compared(folder: Folder) -> None:
    """D6: mrr 1, 1, 1 against 1/2, 1, 0 (q3 has no results there, and is named)."""
    result = folder.run(RETRIEVAL + OLD, TREC)
    assert result.comparison is not None
    mrr = result.comparison.metrics["mrr"]
    assert (mrr.a_mean, mrr.b_mean, mrr.n) == (1.0, 0.5, 3)
    assert result.comparison.baseline == "old.txt"
    assert [warning for warning in result.info.warnings if "old.txt: q3" in warning]


@pytest.mark.parametrize("missing", ["skip", "error"])
def test_queries_that_only_one_run_answered_are_told(folder: Folder, missing: str) -> None:
    """D5, D6: q3 takes no part, and nobody has to count to find that out."""
    text = RETRIEVAL + OLD + f"missing_queries: {missing}\n"
    result = folder.run(text, TREC)
    assert result.comparison is not None
    assert result.comparison.metrics["mrr"].n == 2
    told = [*result.info.warnings, *map(str, result.comparison.only_a)]
    assert any("q3" in text for text in told)


def test_the_weighted_score_of_the_older_run_is_weighed_alike(folder: Folder) -> None:
    """D6: weights 3 and 1: old (3·1/2 + 0)/4, 1, 0."""
    text = RETRIEVAL + "metric_weights: {mrr: 3, p@1: 1}\ncompare: {run_old_path: old.txt}\n"
    overall = folder.compare(text, TREC).metrics["weighted_score"]
    assert overall.b_mean == pytest.approx((0.375 + 1) / 3, abs=1e-15)


def test_top_k_and_limit_hold_for_both_runs(folder: Folder) -> None:
    """B8, D7: with top_k 1 the old run does not find d1 of q1; q3 is left out."""
    text = RETRIEVAL + OLD + "top_k: 1\ndataset: {limit: 2}\n"
    mrr = folder.compare(text, TREC).metrics["mrr"]
    assert (mrr.a_mean, mrr.b_mean, mrr.n) == (1.0, 0.5, 2)


def test_a_gate_takes_the_older_run(folder: Folder) -> None:
    """E5."""
    text = RETRIEVAL.replace("new.txt", "old.txt") + OLD.replace("old.txt", "new.txt")
    text += "gates: {no_regression: {metrics: [mrr], mode: any, max_drop: 0.4}}\n"
    result = folder.run(text, TREC)
    assert result.gates[0].outcome == "failed"
    assert result.gates[0].message.startswith(
        "mrr: fell by 0.5000, more than max_drop 0.4000 (mode any), A 0.5000, B 1.0000 (new.txt)"
    )


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("", "old.txt: empty: expected lines with the columns query Q0 document rank score tag"),
        ("q1 Q0 d1 1 high r\n", "old.txt:1: score 'high' is not a number"),
        ("x1 Q0 d1 1 1 r\n", "old.txt: no query of this run is judged in q.txt"),
    ],
)
def test_an_older_run_that_cannot_be_read_is_refused(
    folder: Folder, old: str, message: str
) -> None:
    """D5: as the run itself would be."""
    with pytest.raises(UserError) as caught:
        folder.plan(RETRIEVAL + OLD, {**TREC, "old.txt": old})
    assert message in str(caught.value)


def test_an_older_run_that_is_not_there_is_named_by_its_key(folder: Folder) -> None:
    """E12."""
    with pytest.raises(UserError) as caught:
        folder.plan(RETRIEVAL + OLD.replace("old.txt", "odl.txt"), TREC)
    text = str(caught.value)
    assert text.startswith("s.yaml:5: compare.run_old_path: no file 'odl.txt'")
    assert "Did you mean 'old.txt'?" in text


def test_a_saved_run_that_was_judged_by_other_qrels_is_refused(folder: Folder) -> None:
    """D6: the same run has other scores then."""
    folder.save(RETRIEVAL, TREC)
    assert folder.compare(RETRIEVAL + MAIN, TREC).metrics["mrr"].diff == 0.0
    other = {**TREC, "q.txt": QRELS + "q1 0 d9 1\n"}
    (problem,) = folder.refused(RETRIEVAL + MAIN, other)
    assert "it was judged by other qrels" in problem


OF_ROWS = "name: s\nmetrics: [mrr]\ndataset: "
IN_ROWS = [{"id": f"q{i}", "retrieved_ids": ["d1"], "reference_ids": ["d1"]} for i in (1, 2, 3)]


def test_qrels_in_place_of_ids_in_the_rows_are_other_judgements(folder: Folder) -> None:
    """D6: or the other way round. Where both say the same, there is no difference."""
    of_rows = OF_ROWS + json.dumps(IN_ROWS) + "\n"
    texts = [{"id": f"q{i}", "contexts": ["d1"], "reference_contexts": ["d1"]} for i in (1, 2, 3)]
    folder.save(RETRIEVAL, TREC)
    for data, name in ((of_rows, "ids"), (f"{OF_ROWS}{json.dumps(texts)}\n", "contexts")):
        (problem,) = folder.refused(data + MAIN, TREC)
        said = f"it was judged by qrels, and 3 of 3 shared samples are by reference_{name} (first: "
        assert said in problem
    folder.save(of_rows, TREC)
    assert folder.compare(RETRIEVAL + MAIN, TREC).metrics["mrr"].diff == 0.0
    (problem,) = folder.refused(RETRIEVAL + MAIN, {**TREC, "q.txt": QRELS + "q1 0 d9 1\n"})
    assert "1 of 3 shared samples have other reference_ids (first: 'q1')" in problem


def test_another_run_file_is_what_a_comparison_is_for(folder: Folder) -> None:
    """D6: only the judgements must be the same."""
    folder.save(RETRIEVAL, TREC)
    other = RETRIEVAL.replace("new.txt", "old.txt")
    assert folder.compare(other + MAIN, TREC).metrics["mrr"].diff == -0.5
