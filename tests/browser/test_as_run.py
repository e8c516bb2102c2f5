"""Where other weights cannot be followed, the page shows no green that a run would not give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_rageval import evaluate


def _write(folder: Path, rows: list[dict[str, Any]], scenario: str) -> Path:
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    path = folder / "s.rageval.yaml"
    path.write_text(f"name: s\ndataset: r.jsonl\n{scenario}", "utf-8")
    return path


def test_a_column_without_a_closed_range_takes_no_weight(open_report: Any, tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "q", "answer": "x", "references": ["y"], "latency_s": 900}]
    scenario = (
        "metrics: [em, {column: latency_s, range: [0, null]}]\ngates: {weighted_score: 0.9}\n"
    )
    page = open_report(evaluate(_write(tmp_path, rows, scenario)))
    assert page.get_by_role("spinbutton", name="Weight of latency_s", exact=True).is_disabled()
    assert page.get_by_role("slider", name="latency_s").is_disabled()
    assert "closed range" in page.locator("#weights .weights").first.inner_text()


def test_gates_by_cause_are_as_run(open_report: Any, tmp_path: Path) -> None:
    row = {"answer": "two years", "references": ["two years"], "contexts": ["It is two years."]}
    rows = [
        {"id": "a", "question": "q1", "must_include": ["two"], **row},
        {"id": "b", "question": "q2", "must_include": ["covered"], **row},
    ]
    scenario = (
        "metrics: [em, must_include]\nmetric_weights: {em: 1, must_include: 0}\ndiagnose: true\n"
        "gates: {by: {cause: {must_include: 0.2}}}\n"
    )
    page = open_report(evaluate(_write(tmp_path, rows, scenario)))
    assert page.evaluate("rageval.state().verdict.isAsRun") is False
    page.get_by_role("spinbutton", name="Weight of must_include", exact=True).fill("1")
    assert page.evaluate("rageval.state().verdict.isAsRun") is True


def test_a_run_that_stopped_early_is_undecided_with_other_weights(
    open_report: Any, tmp_path: Path
) -> None:
    (tmp_path / "stopped_target.py").write_text(
        "def answer(question):\n    return 'yes'\n", "utf-8"
    )
    rows = [
        {"id": f"q{at}", "question": f"q{at}", "references": ["yes"], "must_include": ["zzz"]}
        for at in range(20)
    ]
    scenario = (
        "target: {use: 'stopped_target:answer', concurrency: 1}\nmetrics: [em, must_include]\n"
        "metric_weights: {em: 1, must_include: 0}\ngates: {weighted_score: 0.6}\nstop: decided\n"
    )
    page = open_report(evaluate(_write(tmp_path, rows, scenario)))
    assert page.evaluate("rageval.state().verdict.outcome") == "passed"
    page.get_by_role("spinbutton", name="Weight of must_include", exact=True).fill("1")
    assert page.evaluate("rageval.state().verdict.outcome") == "partial"
    assert page.evaluate("rageval.state().gates[0].isAsRun") is True
