"""The sheets of ``--rag-label``: drawn from the newest complete run, blind, overwriting nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.model import (
    Baseline,
    Bound,
    HumanLabels,
    Label,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.plugin.show.label_lines import label_lines
from pytest_rageval.reports.labels.draw_labels import DrawnLabels, Wanted, draw_labels
from pytest_rageval.results.draws import read_records
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.run_paths import RunPaths

NOW = datetime(2026, 11, 21, 9, 30, 11, 5, tzinfo=UTC)
IDS = [f"a{at}" for at in range(50)]
LABELLED = IDS[:12]


def answered(name: str, answer: str | None = "Paris", **more: Any) -> SampleResult:
    given = {"scores": {"f1": 1.0, "em": None}, "contexts": ["one", "two"], **more}
    return SampleResult(name, 0, question="Q?", answer=answer, weighted_score=0.5, **given)


def human(*names: str, answer: str = "Paris", drawn: str = "random", **more: Any) -> HumanLabels:
    """Return labels of these samples by one person: 1 each."""
    label = Label(1.0, "ann", drawn, answer_digest(answer, ["one", "two"]))
    return HumanLabels("f1", (0.0, 1.0), labels={name: [label] for name in names}, **more)


class Project:
    """A folder with runs of a scenario, from which labels are drawn."""

    def __init__(self, root: Path, result: Callable[..., ScenarioResult]) -> None:
        self.root = root
        self.home = root / ".rageval" / "s"
        self.paths = RunPaths(root)
        self._result = result

    def ran(
        self, *samples: SampleResult, name: str = "r1/results.json", complete: bool = True
    ) -> None:
        """Write a run, of samples named a0, a1, ... unless others are given."""
        found = self._result(samples or [answered(name) for name in IDS])
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        run = RunInfo(name, f"2026-11-{name[1]}1T09:30:11+00:00", "", "0.1.0")
        path.write_text("".join(results_chunks(replace(found, complete=complete), run)), "utf-8")

    def drawn(
        self, n: int = 5, people: HumanLabels | None = None, seed: int = 1, **info: Any
    ) -> DrawnLabels:
        """Draw from the newest run; ``info`` are fields of the scenario."""
        fields = {"metrics": (MetricColumn("f1"), MetricColumn("em")), **info}
        scenario = ScenarioInfo("s", "s.yaml", "s.yaml", **fields)
        wanted = Wanted(scenario, people or human(), IDS)
        return draw_labels(wanted, self.paths, n, seed=seed, now=NOW)

    def refused(self, **info: Any) -> str:
        with pytest.raises(UserError) as caught:
            self.drawn(**info)
        return str(caught.value)

    def rows(self) -> list[dict[str, str]]:
        (path,) = self.home.glob("labels/*.csv")
        return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


@pytest.fixture
def project(
    tmp_path: Path, result: Callable[..., ScenarioResult], monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, result)


def kinds(found: DrawnLabels) -> Mapping[str, tuple[int, int]]:
    """Return size and drawn samples of each stratum."""
    return {one.kind: (one.size, one.drawn) for one in found.drawing.strata.values()}


def test_a_sheet_is_written_with_all_that_a_person_needs(project: Project) -> None:
    """And nothing of the judge's; the draw is kept with its seed and the digests of all answers."""
    project.ran()
    found = project.drawn(2)
    table, page = found.write()
    assert (table.parent, page.suffix) == (project.home / "labels", ".html")
    digest = answer_digest("Paris", ["one", "two"])
    rows = project.rows()
    names = [row.pop("id") for row in rows]
    assert set(names) == set(found.drawing.ids)
    assert rows == 2 * [
        {
            "question": "Q?",
            "contexts": "[1] one\n\n[2] two",
            "answer": "Paris",
            "metric": "f1",
            "asked": "Is this answer right? (f1) 0: no; 1: yes",
            "annotator": "",
            "label": "",
            "note": "",
            "drawn": "random",
            "digest": digest,
        }
    ]
    assert page.is_file()
    (record,) = read_records(project.home / "labels" / "draws.json")
    assert (record.run, record.metric, record.seed) == ("r1", "f1", 1)
    assert record.digests == dict.fromkeys(IDS, digest)
    assert record.drawn_at == "2026-11-21T09:30:11.000005+00:00"


def test_a_sheet_says_what_the_levels_mean(project: Project) -> None:
    project.ran()
    sheet = project.drawn(2, human(meanings=("wrong", "right"), question="Right?")).sheet
    assert (sheet.meanings, sheet.question) == (("wrong", "right"), "Right?")


def test_nothing_is_overwritten(project: Project) -> None:
    """Two draws in the same microsecond have two tables, and the file of draws has both."""
    project.ran()
    first, _ = project.drawn().write()
    text = first.read_bytes()
    second, _ = project.drawn(seed=2).write()
    assert [first.name, second.name] == [
        "20261121T093011-000005.csv",
        "20261121T093011-000005-2.csv",
    ]
    assert first.read_bytes() == text
    assert [one.seed for one in read_records(project.home / "labels" / "draws.json")] == [1, 2]


def test_the_newest_complete_run_counts(project: Project) -> None:
    """A later partial one does not; without any, the message says what to run."""
    missing = "s.yaml: no complete run in .rageval/s to draw from. Run it first: pytest s.yaml"
    assert project.refused() == missing
    project.ran(answered("a1"), name="r3/results.json", complete=False)
    assert project.refused() == missing
    assert project.refused(stop=0.0) == (
        "s.yaml: no complete run in .rageval/s to draw from. The runs there stopped early; run all "
        "samples once: pytest s.yaml --rag-set stop=null"
    )
    project.paths = RunPaths(project.root, project.root / "out")
    assert project.refused(stop=0.0) == (
        "s.yaml: no complete run in out/s to draw from. Run it first: pytest s.yaml "
        "--rag-output=out"
    )
    project.paths = RunPaths(project.root)
    for name in ("r1", "r2"):
        project.ran(name=f"{name}/results.json")
    assert project.drawn().run == project.home / "r2"


def test_answers_of_another_scenario_of_the_same_name_are_not_drawn(project: Project) -> None:
    """While ``b/s.yaml`` is there, a run of it is none of ``s.yaml``."""
    project.ran()
    path = project.home / "r1" / "results.json"
    path.write_text(path.read_text("utf-8").replace('"s.yaml"', '"b/s.yaml"', 1), "utf-8")
    assert project.drawn().run == path.parent
    (project.root / "b").mkdir()
    (project.root / "b" / "s.yaml").write_text("name: s", "utf-8")
    (project.root / "s.yaml").write_text("name: s", "utf-8")
    assert "s.yaml: no complete run in .rageval/s to draw from." in project.refused()


def test_a_command_is_as_it_is_typed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the working directory, below the rootdir here, and with quotes around blanks."""
    folder = project.root / "my tests"
    folder.mkdir()
    monkeypatch.chdir(folder)
    project.paths = RunPaths(project.root, folder / "an out")
    assert project.refused().endswith(": pytest ../s.yaml --rag-output='an out'")
    project.paths = RunPaths(project.root)
    project.ran()
    assert project.drawn().command == "pytest ../s.yaml"
    assert project.paths.typed("my tests/s.yaml::a b") == "'s.yaml::a b'"


def test_what_cannot_be_labelled_is_left_out(project: Project) -> None:
    """No answer, no score, or no longer in the data; an empty answer is one."""
    project.ran(
        answered("a1", None),
        answered("a2", scores={"f1": None, "em": 1.0}),
        answered("gone"),
        answered("a3", ""),
    )
    found = project.drawn()
    assert (found.drawing.ids, found.left_out) == (["a3"], 3)
    project.ran(answered("a1", None))
    assert project.refused() == "s.yaml: no sample of .rageval/s/r1 has an answer and a score of f1"


def test_labels_of_the_present_answer_are_not_wanted_again(project: Project) -> None:
    """Those of an earlier answer are. One that was chosen leaves its sample in the draw.

    Else the labels drawn later would not be of all answers, but of those that nobody chose.
    """
    project.ran()
    drawn = project.drawn(50, human(*LABELLED)).drawing.ids
    assert set(drawn) == set(IDS) - set(LABELLED)
    assert set(project.drawn(50, human(*LABELLED, answer="Rome")).drawing.ids) == set(IDS)
    assert set(project.drawn(50, human(*LABELLED, drawn="chosen")).drawing.ids) == set(IDS)


def test_changed_answers_are_drawn_first(project: Project) -> None:
    """Three answers changed since a draw that bears labels: all are drawn, under a code."""
    project.ran()
    project.drawn().write()
    changed = [answered(name, "Rome") for name in IDS[-3:]]
    project.ran(*map(answered, IDS[:-3]), *changed, name="r2/results.json")
    found = project.drawn(4, human(*LABELLED))
    assert kinds(found) == {"changed": (3, 3), "high": (47, 1)}
    codes = {row.sample_id: row.drawn for row in found.sheet.rows}
    assert codes == {name: found.drawing.of[name] for name in found.drawing.ids}
    assert "random" not in codes.values()
    # Without labels of that draw, nothing is known to have changed.
    assert project.drawn(4).drawing.strata == {}
    assert project.drawn(4, human(*LABELLED, answer="Oslo")).drawing.strata == {}


@pytest.mark.full
def test_the_order_tells_nothing(project: Project) -> None:
    """Two samples of either half, in any of the 6 orders."""
    project.ran(*(answered(name, scores={"f1": at % 2 + 0.0}) for at, name in enumerate(IDS)))
    orders = set()
    for seed in range(60):
        found = project.drawn(4, human(*IDS[:30]), seed=seed)
        kind = {code: one.kind for code, one in found.drawing.strata.items()}
        orders.add(" ".join(kind[row.drawn] for row in found.sheet.rows))
    assert len(orders) == 6


def test_strata_stay_though_the_judge_wavers(project: Project) -> None:
    """The newest draw that bears labels counts: its halves, not those of the scores of today."""
    halves = [float(at < 10) for at in range(50)]
    for run, scores in (("r1", halves), ("r2", halves[::-1])):
        samples = zip(IDS, scores, strict=True)
        project.ran(
            *(answered(name, scores={"f1": score}) for name, score in samples),
            name=f"{run}/results.json",
        )
        people = human(*IDS[:30])
        if run == "r1":
            project.drawn().write()  # uniformly, without labels yet
            found = project.drawn(5, people, seed=2)
            found.write()
    assert kinds(found) == {"high": (10, 0), "low": (40, 5)}
    low = {code for code, one in found.drawing.strata.items() if one.kind == "low"}.pop()
    label = Label(1.0, "ann", low, answer_digest("Paris", ["one", "two"]))
    more = replace(people, labels={**people.labels, "a31": [label]})
    assert kinds(project.drawn(5, more)) == {"high": (10, 0), "low": (40, 5)}
    assert kinds(project.drawn(5, people)) == {"high": (10, 5), "low": (40, 0)}


@pytest.mark.parametrize(
    ("fields", "sizes"),
    [
        ({"thresholds": {"f1": Bound(min=0.75)}}, {"high": (10, 1), "low": (40, 0)}),
        # The lower, the better: the low ones are good. Scores in a band are apart from others.
        ({"thresholds": {"f1": Bound(max=0.75)}}, {"high": (10, 1), "low": (40, 0)}),
        ({"thresholds": {"f1": Bound(max=0.2)}}, {"high": (20, 1), "low": (30, 0)}),
        ({"thresholds": {"f1": Bound(min=0.75, max=1.0)}}, {"high": (10, 1), "low": (40, 0)}),
        ({"thresholds": {"f1": Bound(min=0.0, max=0.5)}}, {"high": (30, 0), "low": (20, 1)}),
        ({"thresholds": {"em": Bound(max=0.75)}}, {"high": (20, 1), "low": (30, 0)}),
        ({}, {"high": (20, 1), "low": (30, 0)}),  # the middle of 0..1
        # The 26th of 50 scores is 0.2, and none is lower.
        ({"metrics": (MetricColumn("f1", ends=(0.0, None)),)}, {"high": (50, 1)}),
    ],
)
def test_the_verdict_is_the_threshold_the_middle_or_the_median(
    project: Project, fields: Any, sizes: Mapping[str, tuple[int, int]]
) -> None:
    """Scores 0.8 (10 of them), 0.6 (10) and 0.2 (30), the last of which have 30 labels."""
    scores = [0.2] * 30 + [0.6] * 10 + [0.8] * 10
    samples = zip(IDS, scores, strict=True)
    project.ran(*(answered(name, scores={"f1": score}) for name, score in samples))
    assert kinds(project.drawn(1, human(*IDS[:30]), **fields)) == sizes
    cut = human(*IDS[:30], cut=0.7)  # comes first
    assert kinds(project.drawn(1, cut, **fields)) == {"high": (10, 1), "low": (40, 0)}


def test_draws_of_another_metric_say_nothing(project: Project) -> None:
    """They are kept, but labels of this one do not come from them."""
    project.ran(*(answered(name, scores={"f1": 1.0, "em": 1.0}) for name in IDS))
    project.drawn(people=replace(human(), metric="em")).write()
    project.ran(*(answered(name, "Rome") for name in IDS[-3:]), *map(answered, IDS[:-3]))
    found = project.drawn(4, human(*LABELLED))
    assert found.drawing.strata == {}
    found.write()
    records = read_records(project.home / "labels" / "draws.json")
    assert [one.metric for one in records] == ["em", "f1"]


def test_labels_of_a_saved_run_tell_what_has_changed(project: Project) -> None:
    """Two answers are others than in the run whose answers were labelled, without a draw."""
    project.ran(*map(answered, IDS[:-2]), answered(IDS[-2], "Rome"), answered(IDS[-1], "Rome"))
    digests = dict.fromkeys(IDS, answer_digest("Paris", ["one", "two"]))
    saved = {"main": Baseline("main", (), {}, digests=digests)}
    people = human(*LABELLED, IDS[-1])
    assert kinds(project.drawn(3, people, baselines=saved))["changed"] == (2, 2)
    assert project.drawn(3, baselines=saved).drawing.strata == {}


def test_scores_are_taken_to_one_scale(project: Project) -> None:
    """1 of 0..5 is 0.2: how many labels are needed depends on it."""
    project.ran()
    found = project.drawn(metrics=(MetricColumn("f1", ends=(0.0, 5.0)),))
    assert {one.judged.judge for one in found.population} == {0.2}


def test_draws_beside_the_labels_are_taken_over(project: Project) -> None:
    """Those in version control, where the output folder has none; then its file has all."""
    project.ran()
    project.drawn().write()
    kept = project.root / "labels.csv"
    (project.home / "labels" / "draws.json").rename(kept.with_name("draws.json"))
    people = human(*LABELLED, files=[str(kept)])
    found = project.drawn(5, people, seed=2)
    lines = list(label_lines(found, found.write(), lambda path: path.name))
    assert lines[-2:] == [
        "to keep the labels, add that file to human.file of s.yaml",
        "and copy draws.json beside it",
    ]
    assert [one.seed for one in read_records(project.home / "labels" / "draws.json")] == [1, 2]
    assert len(read_records(kept.with_name("draws.json"))) == 1


COMPARED: dict[str, Any] = {
    "gates": {"no_regression": {"corrected": True, "metrics": ["f1"], "baseline": "main"}},
    "baselines": {"main": Baseline("main", (), {})},
}


def test_a_corrected_regression_wants_both_answers(project: Project) -> None:
    """Those that differ are a stratum; the other run's come along, unless they have a label."""
    project.ran(
        answered("a1", "Rome"), answered("a2"), answered("a3", "Oslo"), name="baselines/main.json"
    )
    project.ran(*map(answered, ("a1", "a2", "a3")))
    found = project.drawn(5, human("a3", answer="Oslo"), **COMPARED)
    code = found.drawing.of["a1"]
    assert found.drawing.strata[code].size == 2
    answers = {(row.sample_id, row.answer): row.drawn for row in found.sheet.rows}
    assert answers == {
        ("a1", "Paris"): code,
        ("a1", "Rome"): code,
        ("a2", "Paris"): found.drawing.of["a2"],
        ("a3", "Paris"): code,
    }
    lines = list(label_lines(found, found.write(), str))
    assert lines[2] == (
        "drawn where labels help most: 2 of 2 changed answers and 1 other, and 1 answer of the "
        "saved run to the same questions"
    )
    plain = {"baseline": "main", "metrics": ["f1"]}
    for gate in (None, plain, {**plain, "corrected": True, "metrics": ["em"]}):
        other = {**COMPARED, "gates": {"no_regression": gate}}
        assert len(project.drawn(5, **other).sheet.rows) == 3
    saved, _ = read_records(project.home / "labels" / "draws.json")
    digests = [answer_digest(name, ["one", "two"]) for name in ("Rome", "Paris", "Oslo")]
    assert saved.digests == dict(zip(("a1", "a2", "a3"), digests, strict=True))
    assert saved.of == dict.fromkeys(saved.digests, "s-saved")
    assert len(project.drawn(1, **COMPARED).records) == 1  # the next one need not say it again


def test_half_a_pair_comes_before_new_ones(project: Project) -> None:
    """14 answers differ, 12 of them have a label here and 3 there: 7 are wanted, to make it ten.

    Of the 36 equal ones none has a label, so the eighth is one of them.
    """
    there, here = IDS[9:12], IDS[:12]
    project.ran(*(answered(name, "Rome") for name in IDS[:14]), name="baselines/main.json")
    project.ran()
    both = human(*there, answer="Rome").labels
    ours = human(*here)
    labels = {name: [*ours.labels[name], *both.get(name, ())] for name in here}
    found = project.drawn(8, replace(ours, labels=labels), **COMPARED)
    rows = [(row.sample_id, row.answer, row.drawn) for row in found.sheet.rows]
    halves = [row for row in rows if row[0] in here]
    assert len(halves) == 7
    assert {row[0] for row in halves} <= set(IDS[:9])
    assert {row[1:] for row in halves} == {("Rome", "random")}
    (new,) = found.drawing.ids
    assert new in IDS[14:]
    assert len(rows) == 8


def test_answers_that_differ_are_drawn_until_there_are_ten_pairs(project: Project) -> None:
    """12 of 50 differ, and none has a label: 10 are drawn, then one of the others.

    With ten pairs they are nothing special, and the draw is uniform, as it is without other labels.
    """
    differing = IDS[:12]
    project.ran(*(answered(name, "Rome") for name in differing), name="baselines/main.json")
    project.ran()
    found = project.drawn(11, **COMPARED)
    assert kinds(found) == {"changed": (12, 10), "high": (38, 1)}
    labels = {
        name: [*human(name).labels[name], *human(name, answer="Rome").labels[name]]
        for name in differing[:10]
    }
    assert project.drawn(5, replace(human(), labels=labels), **COMPARED).drawing.strata == {}


def test_several_metrics_have_several_sheets(project: Project) -> None:
    """Their files are named after them."""
    project.ran()
    found = project.drawn(human=(human(), human()))
    assert found.sheet.file_name == "20261121T093011-000005-f1.csv"


def test_what_is_printed_tells_nothing_of_the_judge(project: Project) -> None:
    """Neither sizes of strata nor what they are; changed answers are named as such."""
    project.ran()
    project.drawn().write()
    samples = [answered(name, scores={"f1": float(at % 2)}) for at, name in enumerate(IDS[:-3])]
    changed = [answered(name, "Rome") for name in IDS[-3:]]
    project.ran(*samples, *changed, name="r2/results.json")
    found = project.drawn(6, human(*LABELLED))
    assert list(label_lines(found, found.write(), lambda path: path.name)) == [
        "s: 6 of 50 answers drawn for f1; 12 have a label",
        "run   r2",
        "      a corrected mean within ±0.05 takes more answers than there are",
        "drawn where labels help most: 3 of 3 changed answers and 3 others",
        "table 20261121T093011-000005-2.csv",
        "page  20261121T093011-000005-2.html",
        "label the table in a spreadsheet, or the page in a browser and press Download; then:",
        "  pytest s.yaml --rag-labels=THE-FILE.csv",
        "to keep the labels, put that file and draws.json beside the scenario",
        "and write in s.yaml:  human: {file: THE-FILE.csv, of: f1, levels: [0, 1]}",
    ]
