"""A scenario is told by its keys, whatever its file is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.scenario.recognise import is_scenario

OURS = "name: qa\nmetrics: [em]\ndataset: qa.jsonl\n"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (OURS, True),
        (f"\ufeff# a comment\n---\n{OURS}", True),
        ('"metrics" : [em]\ntarget: app:ask\n', True),
        ("{name: qa, metrics: [em], dataset: []}", True),
        ('{"scene_key": "app", "evaluate_metrics": ["x"], "datasets": []}', True),
        ("benchmark: {path: x}\nevaluation: {metrics: [em]}\n", True),
        ("qrels_path: q\nrun_path: r\nir_metrics: [mrr]\n", True),
        ("metrics: [unclosed\ndataset: x\n", True),
        # With one of them it is neither yes nor no.
        *(("metrics: [em]\n", None), ("dataset: x\n", None), ('{"target": 1}', None)),
        # Keys inside of others are theirs.
        *(("", False), ("a: 1\n", False), ("[1]", False)),
        ("services:\n  metrics: 1\n  dataset: 2\n", False),
    ],
)
def test_what_says_what_to_measure_and_on_what_is_one(
    tmp_path: Path, text: str, is_one: bool | None
) -> None:
    """[U3] In every dialect, and also where the rest is broken."""
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    assert is_scenario(path) is is_one


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    """[U3] No file, a folder, and bytes that are no text."""
    (tmp_path / "x.yaml").write_bytes(b"metrics: \xff\ndataset: x\n")
    assert not any(map(is_scenario, (tmp_path / "none.yaml", tmp_path, tmp_path / "x.yaml")))
