"""E20, E25: the answer about a run of variants: nothing is lost, and nothing is too long."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate, evaluate_variants
from pytest_rageval.reports.write_run import ranking_dict
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.serving.mcp.answers import fitted
from pytest_rageval.serving.mcp.described_run import DescribedRun, Ended
from pytest_rageval.serving.project import Project


def ran(folder: Path, names: list[str], question: str = "Q?") -> list[dict[str, Any]]:
    """Return the events of a run of variants, whose files are in ``folder``."""
    rows = [
        {"id": f"{question} {at}", "question": question, "answer": "no", "references": ["it"]}
        for at in range(8)
    ]
    metrics = ["em", "f1", "acc", "rouge-1", "rouge-2", "rouge-l", "stringem", "coverem"]
    variants: dict[str, Any] = {name: {} for name in names}
    scenario = {"name": "qa", "metrics": metrics, "dataset": rows, "variants": variants}
    found = evaluate_variants({**scenario, "thresholds": {"em": 1}}, write_to=folder)
    events: list[dict[str, Any]] = [
        {
            "event": "result",
            "name": "qa",
            "variant": name,
            "folder": str((folder / "qa" / name / "latest").resolve()),
        }
        for name in names
    ]
    ranking = ranking_dict(found.ranking)
    return [*events, {"event": "contest", "name": "qa", "ranking": ranking, "gate": None}]


def described(folder: Path, events: list[dict[str, Any]], *variants: str) -> DescribedRun:
    project = Project("python", folder, (), RunPaths(folder, folder))
    return DescribedRun(project, Ended(0, events, "the terminal"), variants)


def test_a_variant_that_left_no_result_is_named(tmp_path: Path) -> None:
    """[E20, E25] And the run is no pass, even if pytest's exit status says so."""
    one, two, contest = ran(tmp_path, ["one", "two"])
    for event in (one, two):
        path = Path(event["folder"]) / "results.json"
        text = path.read_text("utf-8").replace('"failed": 8', '"failed": 0')
        text = text.replace('"passed": 0', '"passed": 8').replace(
            '"outcome": "failed"', '"outcome": "passed"'
        )
        path.write_text(text, "utf-8")
    whole = described(tmp_path, [one, two, contest], "one", "two")
    assert whole.verdict == "passed"
    lost = described(tmp_path, [one], "one", "two")
    assert (lost.verdict, lost(100)["not_run"]) == ("partial", ["two"])


def test_questions_that_are_made_are_said_once(tmp_path: Path) -> None:
    """[E26] And of one run, the means of these and of the others apart."""
    events = ran(tmp_path, ["one", "two"])
    for event in events[:2]:
        path = Path(event["folder"]) / "results.json"
        made = '"made": {"count": 3, "reviewed": 1, "rejected": 0, "rows": 8},\n"metrics": '
        text = path.read_text("utf-8").replace('"metrics": ', made, 1)
        by_model = '"metadata": {"made_by": "model"}'
        path.write_text(text.replace('"metadata": {}', by_model, 3), "utf-8")
    said = ["3 of 8 questions are made by a model, 1 of them reviewed by a person"]
    assert described(tmp_path, events, "one", "two")(100)["remarks"] == said
    alone = described(tmp_path, events[:1], "one")(200)
    assert alone["remarks"] == said
    mean = r"0\.0000 \(\S+\) over"
    apart = f"weighted_score is {mean} 3 made questions, {mean} 5 others"
    assert re.fullmatch(apart, alone["apart"][0])


def test_a_green_run_says_which_scores_and_rows_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors first; of a variant with its name. The saved run has one row that this one lacks."""
    odd = (
        "def odd(sample):\n    if sample.id == 'b':\n        raise ValueError('none')\n    return 1"
    )
    (tmp_path / "odd_metric.py").write_text(f"{odd}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    rows = [{"id": name, "answer": "yes", "references": ["yes"]} for name in "abcd"]
    scenario = {"name": "qa", "metrics": ["em", {"use": "odd_metric:odd"}], "dataset": rows}
    scenario |= {"metric_weights": {"em": 1, "odd": 0}, "gates": {"em": 0.5}}
    evaluate(scenario, write_to=tmp_path)
    folder = (tmp_path / "qa" / "latest").resolve()
    main = tmp_path / "main.json"
    main.write_bytes((folder / "results.json").read_bytes())
    new = [*rows[1:], {**rows[0], "id": "e", "skip": "later"}]
    evaluate({**scenario, "dataset": new, "compare": {"baseline": str(main)}}, write_to=tmp_path)
    latest = str((tmp_path / "qa" / "latest").resolve())
    event = {"event": "result", "name": "qa", "variant": "", "folder": latest}
    found = described(tmp_path, [event])(1000)
    assert (found["verdict"], found["more_remarks"]) == ("passed", None)
    failed = "odd failed on 1 of 3 samples, for instance: ValueError: none (odd_metric.py:3)"
    others = [
        "1 of 4 samples is skipped and in no figure",
        "1 sample only in this run: e",
        f"1 sample only in {main}: a",
    ]
    assert found["remarks"] == [failed, *others]
    old = {**event, "variant": "old", "folder": str(folder)}
    both = described(tmp_path, [old, {**event, "variant": "new"}])(1000)["remarks"]
    of_old = failed.replace("3 samples", "4 samples")
    assert both == [f"old: {of_old}", f"new: {failed}", *(f"new: {line}" for line in others)]
    copy = tmp_path / "copy"
    shutil.copytree(latest, copy)
    path = copy / "results.json"
    path.write_text(path.read_text("utf-8").replace("ValueError: none", "id 7"), "utf-8")
    again = {**event, "variant": "again", "folder": str(copy)}
    both = described(tmp_path, [{**event, "variant": "new"}, again])(1000)["remarks"]
    assert both == [failed, *others]  # a reason of each variant's own is no further remark


def test_each_of_six_variants_shows_a_sample_that_failed(tmp_path: Path) -> None:
    """[E20, E25] Eight of each did."""
    names = [f"v{at}" for at in range(6)]
    found = described(tmp_path, ran(tmp_path, names), *names)(1000)
    shown = [(len(one["worst"]), one["more_failed"]) for one in found["variants"].values()]
    assert shown == [(1, 7)] * 6


@pytest.mark.full
def test_many_variants_fit_into_an_answer(tmp_path: Path) -> None:
    """[E20, E25] Twenty, with long names and ids: what is left out is counted."""
    names = [f"variant {at} {'x' * 90}"[:100] for at in range(20)]
    run = described(tmp_path, ran(tmp_path, names, "why? " * 60), *names)
    widest = run(1000)
    assert (len(widest["variants"]), widest["more_variants"]) == (12, 8)
    text = fitted(run)
    assert len(text) < 8000
    found = json.loads(text)
    assert len(found["variants"]) + found["more_variants"] == 20
    assert len(found["ranking"]["pairs"]) + found["ranking"]["more_pairs"] == 190


def test_other_weights_than_the_file_has_are_said(tmp_path: Path) -> None:
    """[E25] And the samples that no mean counts: a red scenario may pass without them."""
    row = {"question": "Q?", "references": ["yes"]}
    rows = [
        {**row, "id": "a", "answer": "yes", "doc_name": "a.pdf"},
        {**row, "id": "b", "answer": "no", "doc_name": "b.pdf"},
    ]
    scenario = {"name": "qa", "metrics": ["em"], "dataset": rows}
    changed = [Override(("doc_weights", "b.pdf"), 0, "--rag-doc-weight")]
    file = tmp_path / "qa.rageval.yaml"
    file.write_text(json.dumps(scenario), "utf-8")
    evaluate(file, changed, write_to=tmp_path)
    folder = str((tmp_path / "qa" / "latest").resolve())
    event = {"event": "result", "name": "qa", "variant": "", "folder": folder}
    found = described(tmp_path, [event])(100)
    assert found["overridden"] == ["doc_weights.b.pdf"]
    assert found["remarks"] == ["1 of 2 samples weigh 0: no mean counts them"]
    results = Path(folder) / "results.json"
    usage = '{"calls": 3, "cached": 0, "cost_usd": 0.25, "unpriced": 1}'
    results.write_text(results.read_text("utf-8").replace('"usage": null', f'"usage": {usage}'))
    part = "what it cost is known in part: at least 0.2500 USD (1 call without a price)"
    assert described(tmp_path, [event])(100)["remarks"][-1] == part
    short = described(tmp_path, [event, {**event, "variant": "one"}])(100)
    assert short["variants"]["one"]["overridden"] == ["doc_weights.b.pdf"]
