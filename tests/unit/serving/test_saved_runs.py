"""A24, E25: saved runs are found by name, read, and compared as ``compare`` does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.evaluate import run_case
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.errors import UserError
from pytest_rageval.model import RunInfo
from pytest_rageval.reports.write_run import save_baseline, write_run
from pytest_rageval.results.layout import comparison_dict
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving import saved_runs
from pytest_rageval.serving.saved_runs import compare_saved, find_run, read_run
from pytest_rageval.stats.summary import summarize_scenario

HEAD = "name: s\nmetrics: [f1, em]\n"
GOOD, HALF, BAD = "yes it is", "it", "no"  # f1 1, 1/2 (P 1, R 1/3) and 0; em 1, 0 and 0


def rows(answers: Sequence[str], **fields: Any) -> list[dict[str, Any]]:
    one = {"question": "Q?", "references": [GOOD], **fields}
    return [{"id": f"r{at}", "answer": answer, **one} for at, answer in enumerate(answers)]


class Runs:
    """A folder in which a scenario is run and saved again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = folder / ".rageval"
        self.count = 0

    def run(
        self,
        data: Sequence[Mapping[str, Any]],
        head: str = HEAD,
        *,
        saving: str | None = None,
        ran: int | None = None,
    ) -> Path:
        """Run the first ``ran`` samples; return the run's folder, or the file of a baseline."""
        file = self.folder / "s.yaml"
        file.write_text(f"{head}dataset: {json.dumps(data)}\n", "utf-8")
        plan = make_plan(file, (), shown="s.yaml", run_paths=RunPaths(self.folder))
        samples = [run_case(plan, case) for case in plan.cases[:ran]]
        extent = Extent(len(plan.cases), len(samples), len(samples))
        result = summarize_scenario(plan.info, samples, complete=extent.complete)
        result = decide_gates(result, extent)
        self.compared = comparison_dict(result.comparison) if result.comparison else {}
        self.count += 1
        began = f"2026-01-01T00:00:0{self.count}"
        info = RunInfo(f"2026010{self.count}T000000-abc", began, began, "0")
        if saving is None:
            return write_run(result, info, self.folder, self.base)
        saved = RunPaths(self.folder).baseline_file(saving, "s", None)
        save_baseline(result, info, saved, self.base)
        return saved

    def find(self, name: str) -> Path:
        return find_run(self.base, "s", name)

    def refusal(self, function: Callable[..., Any], *args: Any) -> str:
        with pytest.raises(UserError) as caught:
            function(*args)
        return str(caught.value)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


# One run


def test_a_run_is_found_by_its_id_its_beginning_or_as_the_latest(runs: Runs) -> None:
    """[E25]"""
    first, second = runs.run(rows([GOOD])), runs.run(rows([BAD]))
    assert runs.find("20260101T000000-abc") == runs.find("20260101") == first
    assert runs.find("latest") == runs.find("lat") == second
    assert runs.find("previous") == runs.find("prev") == first


def test_the_latest_is_no_older_run_where_the_newest_cannot_be_read(runs: Runs) -> None:
    """As ``--rag-history`` says; an unreadable run beneath newer ones changes nothing."""
    first, second, third = (runs.run(rows([GOOD])) for _ in "123")
    (second / "results.json").write_text("{", "utf-8")
    assert runs.find("latest") == third
    why = (
        "left out: s/20260102T000000-abc: results.json is cut off, or of another version; "
        "delete such a folder, or move it away; a run that can be read is named by its id"
    )
    shutil.copytree(first, first.with_name("golden"))  # behind all ids
    assert runs.refusal(runs.find, "previous") == f"run 'previous': {why}"
    (third / "results.json").write_text("{", "utf-8")
    assert "left out: s/20260102T000000-abc, s/2026010" in runs.refusal(runs.find, "lat")
    assert runs.find("20260101") == first
    (first / "results.json").unlink()
    assert "left out: s/20260102T000000-abc, s/2026010" in runs.refusal(runs.find, "latest")


def test_a_baseline_is_found_by_its_name(runs: Runs) -> None:
    """[E15, E25] Also where its file is called otherwise; a run's id comes first."""
    runs.run(rows([GOOD]))
    main = runs.run(rows([GOOD]), saving="main")
    odd = runs.run(rows([GOOD]), saving="v1: old?")
    assert (runs.find("main"), runs.find("v1: old?")) == (main, odd)


def test_an_unknown_run_lists_the_known_ones(runs: Runs) -> None:
    """[E25] The nearest first; an ambiguous beginning lists what it begins."""
    for answer in (GOOD, BAD):
        runs.run(rows([answer]))
    runs.run(rows([GOOD]), saving="main")
    assert runs.refusal(runs.find, "mian") == (
        "unknown run 'mian'. Did you mean 'main'? "
        "Known: main, latest, previous, 20260102T000000-abc, 20260101T000000-abc"
    )
    assert runs.refusal(runs.find, "2026") == (
        "run '2026' is the beginning of 2: 20260102T000000-abc, 20260101T000000-abc"
    )


@pytest.mark.parametrize("name", ["../s/main", "..", "", "/etc/passwd", "main.json", "\0", "*"])
def test_no_name_is_used_as_a_path(runs: Runs, name: str) -> None:
    """[E25]"""
    runs.run(rows([GOOD]))
    runs.run(rows([GOOD]), saving="main")
    assert "unknown run" in runs.refusal(runs.find, name)


def test_a_scenario_without_runs_says_so(runs: Runs) -> None:
    assert runs.refusal(runs.find, "latest") == "unknown run 'latest': there is none"


def test_samples_are_read_as_they_were_written(runs: Runs) -> None:
    """[E25]"""
    (sample,) = read_run(runs.run(rows([HALF]))).samples
    assert (sample.sample_id, sample.answer, sample.scores) == ("r0", HALF, {"f1": 0.5, "em": 0})


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 9, "samples": []}'])
def test_a_file_that_is_no_run_is_refused(runs: Runs, text: str) -> None:
    run = runs.run(rows([GOOD]))
    (run / "results.json").write_text(text, "utf-8")
    assert run.name in runs.refusal(read_run, run)


# Two runs


@pytest.mark.full
@pytest.mark.parametrize(
    "head",
    [
        HEAD,
        f"{HEAD}metric_weights: {{f1: 3, em: 1}}\n",
        f"{HEAD}metric_weights: {{f1: 1, em: 0}}\n",
        f"{HEAD}doc_weights: {{a: 2}}\n",
        f"{HEAD}group_by: doc_name\n",
        "name: s\nmetrics: [f1]\n",
    ],
)
def test_the_figures_are_those_of_compare(runs: Runs, head: str) -> None:
    """[E25] All of them: a scenario's own ``compare`` with the same baseline."""
    was, now = [GOOD, HALF, GOOD, BAD] * 3, [GOOD, BAD, HALF, BAD] * 3

    def with_documents(answers: Sequence[str]) -> list[dict[str, Any]]:
        return [{**one, "doc_name": "ab"[at % 2]} for at, one in enumerate(rows(answers))]

    older = runs.run(with_documents(was), saving="main")
    newer = runs.run(with_documents(now), f"{head}compare: main\n")
    found, expected = compare_saved(newer, older), runs.compared
    assert expected is not None
    for metric in found["metrics"].values():
        del metric["verdict"]
    assert found["metrics"] == expected["metrics"]
    assert found["n"] == 12


def test_samples_that_got_worse_are_listed_the_worst_first(runs: Runs) -> None:
    """[E25] Weighted score: (1 + 1)/2 = 1, (1/2 + 0)/2 = 1/4, 0."""
    older = runs.run(rows([GOOD, GOOD, HALF, BAD]))
    found = compare_saved(runs.run(rows([HALF, BAD, HALF, GOOD])), older)
    worse = [(one["id"], one["a"], one["b"], one["diff"]) for one in found["worse"]]
    assert worse == [("r1", 0.0, 1.0, -1.0), ("r0", 0.25, 1.0, -0.75)]
    assert (found["better"], found["fell"], found["worse"][0]["question"]) == (1, 2, "Q?")


def test_six_samples_that_got_worse_are_counted_and_five_listed(runs: Runs) -> None:
    older = runs.run(rows([GOOD] * 6))
    found = compare_saved(runs.run(rows([BAD] * 6)), older)
    assert (len(found["worse"]), found["fell"], found["better"]) == (5, 6, 0)
    assert found["metrics"]["f1"]["verdict"] == "worse"  # 2 of 2^6 flips: p = 1/32


def test_a_metric_of_another_definition_is_not_compared(runs: Runs) -> None:
    """[D6, E25] Nor the weighted score, which follows from it; a remark says so."""
    older = runs.run(rows([GOOD]), HEAD.replace("em]", "{acc: {normalizer: squad}}]"))
    found = compare_saved(runs.run(rows([BAD]), HEAD.replace("em]", "acc]")), older)
    assert (list(found["metrics"]), found["better"], found["worse"]) == (["f1"], None, [])
    told = [one for one in found["remarks"] if "acc" in one or "weighted_score" in one]
    assert told[0].startswith("acc is not compared: it was acc v1 (normalizer=squad")
    assert told[1].startswith("weighted_score is not compared")


def test_a_metric_of_another_range_is_not_compared(runs: Runs) -> None:
    """[D6] The definition of a user's metric does not say its range."""
    older, newer = runs.run(rows([GOOD])), runs.run(rows([BAD]))
    text = (older / "results.json").read_text("utf-8")
    changed = text.replace('"range": [0.0, 1.0]', '"range": [0.0, 5.0]', 1)
    assert changed != text
    (older / "results.json").write_text(changed, "utf-8")
    found = compare_saved(newer, older)
    assert list(found["metrics"]) == ["em"]
    assert found["remarks"][0] == (
        "f1 is not compared: it was from 0 to 5 (higher is better), "
        "is from 0 to 1 (higher is better)"
    )


def test_the_verdict_knows_where_lower_is_better(runs: Runs) -> None:
    """[E25] A metric that falls significantly is better then, and so is the weighted score."""
    older, newer = runs.run(rows([GOOD] * 6)), runs.run(rows([BAD] * 6))
    for run in (older, newer):
        file = run / "results.json"
        text = file.read_text("utf-8")
        inverse = text.replace('"higher_is_better": true', '"higher_is_better": false')
        file.write_text(inverse.replace('"weighted_score": 0.0', '"weighted_score": 1.0'), "utf-8")
    assert compare_saved(newer, older)["metrics"]["f1"]["verdict"] == "better"


def test_a_run_of_an_earlier_version_is_compared_if_its_weighted_scores_can_be_told(
    runs: Runs,
) -> None:
    """[E15] It does not say which metrics are better when lower."""
    older, newer = runs.run(rows([GOOD, BAD])), runs.run(rows([GOOD, HALF]))
    file = older / "results.json"
    earlier = json.loads(file.read_text("utf-8"))
    del earlier["scenario"]["scales"]
    file.write_text(json.dumps(earlier), "utf-8")
    assert compare_saved(newer, older)["better"] == 1
    earlier["samples"][0]["weighted_score"] = 0.5
    file.write_text(json.dumps(earlier), "utf-8")
    assert "did not save the ranges" in runs.refusal(compare_saved, newer, older)


REMARKS: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "data": (rows([GOOD, BAD], question="Why?"), HEAD, "the data differ"),
    "question": (
        rows([GOOD, BAD], question="Why?"),
        HEAD,
        "2 of 2 shared samples have another question: r0, r1",
    ),
    "references": (
        rows([GOOD, BAD], references=["it"]),
        HEAD,
        "2 of 2 shared samples have other references: r0, r1",
    ),
    "weights": (
        rows([GOOD, BAD]),
        HEAD + "metric_weights: {f1: 3}\n",
        "the weights of metrics differ; both runs are weighed as A: f1 1 -> 3",
    ),
    "documents": (
        rows([GOOD, BAD], doc_name="a"),
        HEAD + "doc_weights: {a: 2}\n",
        "2 of 2 shared samples have another weight; they weigh as in A: r0, r1",
    ),
    "only in A": (rows([GOOD, BAD, BAD]), HEAD, "1 sample only in A: r2"),
    "only in B": (rows([GOOD]), HEAD, "1 sample only in B: r1"),
    "metrics": (rows([GOOD, BAD]), HEAD.replace("em", "acc"), "metrics only in A: acc"),
    "undecided": (
        rows([GOOD, BAD]),
        HEAD,
        "f1 is undecided: 2 pairs cannot reach p < 0.05, whatever the scores; 6 can",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize(("data", "head", "remark"), REMARKS.values(), ids=REMARKS)
def test_what_differs_is_said(
    runs: Runs, data: list[dict[str, Any]], head: str, remark: str
) -> None:
    """[D6, E25]"""
    older = runs.run(rows([GOOD, BAD]))
    assert remark in compare_saved(runs.run(data, head), older)["remarks"]


def test_equal_runs_have_no_remarks(runs: Runs) -> None:
    older, newer = (runs.run(rows([GOOD] * 6)) for _ in range(2))
    found = compare_saved(newer, older)
    assert found["remarks"] == []
    assert {metric["verdict"] for metric in found["metrics"].values()} == {"equal"}


def test_a_lost_metric_is_said(runs: Runs) -> None:
    """[E25] Contexts were lost in 8 of 9 rows; the answers are equal."""
    head = "name: s\nmetrics: [em, recall]\n"
    data = rows([GOOD] * 9, contexts=["other"], reference_contexts=["it"])
    older = runs.run(data, head)
    lost = [{**row, "contexts": None} for row in data[1:]]
    found = compare_saved(runs.run([data[0], *lost], head), older)
    assert found["metrics"]["weighted_score"]["verdict"] == "equal"
    left_out = "of 8 samples a metric applies in one run only, and is left out of both"
    assert f"weighted_score: {left_out}; no difference in any sample" in found["remarks"]


def test_a_partial_run_is_said(runs: Runs) -> None:
    """[E4] And which side it is."""
    older = runs.run(rows([GOOD, BAD]), ran=1)
    remarks = compare_saved(runs.run(rows([GOOD, BAD])), older)["remarks"]
    assert "B is partial: 1 of 2 samples ran" in remarks


def test_runs_the_wrong_way_round_are_said(runs: Runs) -> None:
    """[E25] They are compared as asked."""
    older, newer = (runs.run(rows([GOOD] * 6)) for _ in range(2))
    assert compare_saved(older, newer)["remarks"] == ["A is older than B"]


def test_samples_without_weight_are_no_loss(runs: Runs) -> None:
    """[E25] They are in no mean."""
    head = HEAD + "doc_weights: {a: 0}\n"
    data = [
        [*rows([answer], doc_name="a"), {**rows([GOOD])[0], "id": "b"}] for answer in (GOOD, BAD)
    ]
    older, newer = (runs.run(one, head) for one in data)
    assert (compare_saved(newer, older)["worse"], compare_saved(newer, older)["fell"]) == ([], 0)


def test_a_comparison_says_how_many_questions_are_made(runs: Runs) -> None:
    """[E26] Of each run: one may be older than its review. A stored run says it as it did."""
    older = runs.run(rows([GOOD] * 3))
    newer = runs.run([*rows([GOOD] * 2, made_by="model"), {**rows([GOOD])[0], "id": "r2"}])
    text = "2 of 3 questions are made by a model, 0 of them reviewed by a person"
    first, second = (line.text for line in read_run(newer).view.missing)
    assert first == text
    assert second.endswith(" over 2 made questions, 1.0000 over 1 other")
    said = [remark for remark in compare_saved(newer, older)["remarks"] if "made" in remark]
    assert said == [f"A: {text}"]


def test_a_sampled_run_is_said_to_be_one_and_lacks_no_samples(runs: Runs) -> None:
    """20 of 40 rows; its means are the estimates over all of them."""
    whole = runs.run(rows([GOOD, HALF] * 20), saving="main")
    sampled = runs.run(rows([GOOD, HALF] * 20), f"{HEAD}compare: main\nsample: 20\n")
    text = "sampled: 20 of 40 rows asked (seed 42); means over all rows are estimated with main"
    assert read_run(sampled).view.asked == text
    assert read_run(sampled).view.result.estimates["em"].mean == pytest.approx(0.5)
    remarks = compare_saved(sampled, whole)["remarks"]
    assert f"A: {text}" in remarks
    assert not [remark for remark in remarks if "only in" in remark]


def test_a_digest_that_only_one_run_has_is_no_difference() -> None:
    """An earlier version recorded fewer."""
    old, new = {"nuggets": "1"}, {"nuggets": "1", "answerable": "2"}
    assert not saved_runs._differs(new, old)
    assert saved_runs._differs({**new, "nuggets": "3"}, old)
