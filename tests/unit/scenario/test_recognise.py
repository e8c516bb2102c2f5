"""A scenario is told by its keys, whatever its file is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.scenario.recognise import is_scenario

OURS = "name: qa\nmetrics: [em]\ndataset: qa.jsonl\n"


@pytest.mark.parametrize(
    "text",
    [
        OURS,
        f"\ufeff# a comment\n---\n{OURS}",
        '"metrics" : [em]\ntarget: app:ask\n',
        "{name: qa, metrics: [em], dataset: []}",
        '{"scene_key": "app", "evaluate_metrics": ["x"], "datasets": []}',
        "benchmark: {path: x}\nevaluation: {metrics: [em]}\n",
        "qrels_path: q\nrun_path: r\nir_metrics: [mrr]\n",
        "metrics: [unclosed\ndataset: x\n",
    ],
)
def test_what_says_what_to_measure_and_on_what_is_one(tmp_path: Path, text: str) -> None:
    """[U3] In every dialect, and also where the rest is broken."""
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    assert is_scenario(path) is True


@pytest.mark.parametrize("text", ["metrics: [em]\n", "dataset: x\n", '{"target": 1}'])
def test_what_says_one_of_them_cannot_be_told(tmp_path: Path, text: str) -> None:
    """[U3] None: neither yes nor no."""
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    assert is_scenario(path) is None


@pytest.mark.parametrize("text", ["", "a: 1\n", "services:\n  metrics: 1\n  dataset: 2\n", "[1]"])
def test_all_else_is_none(tmp_path: Path, text: str) -> None:
    """[U3] Keys inside of others are theirs."""
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    assert is_scenario(path) is False


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    """[U3] No file, a folder, and bytes that are no text."""
    (tmp_path / "x.yaml").write_bytes(b"metrics: \xff\ndataset: x\n")
    assert not any(map(is_scenario, (tmp_path / "none.yaml", tmp_path, tmp_path / "x.yaml")))
