"""Holes in judgements: ir-measures' and cwl-eval's figures, and ranges by brute force."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from others_data import others_data
from trec_figures import run_trec

from pytest_rageval.model import SampleResult

# ir-measures' Judged takes grade -1 as judged; what is asked for here is in judged_rule.
_RULED = ("Judged", "RBP")
_OPEN = {"nDCG@5": "ndcg@5", "AP": "map", "P@5": "precision@5"}


def cases() -> list[dict[str, Any]]:
    found = json.loads(others_data("reference/answers.json").read_text("utf-8"))
    return list(found["families"]["holes"]["cases"])


def run_case(
    folder: Path, qrels: Mapping[str, int], run: Mapping[str, float], metrics: list[str]
) -> SampleResult:
    """Return the result of one query, read from TREC files."""
    lines = [f"q 0 {name} {grade}\n" for name, grade in qrels.items()]
    (folder / "q").write_text("".join(lines), "utf-8")
    lines = [f"q Q0 {name} 0 {score} r\n" for name, score in run.items()]
    (folder / "r").write_text("".join(lines), "utf-8")
    result: SampleResult = run_trec(folder, folder / "q", folder / "r", metrics).samples[0]
    return result


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_holes_of_a_case(case: dict[str, Any], tmp_path: Path) -> None:
    """Judged, RBP with its residual, and upstream's figures where nothing else is ruled."""
    upstream = {name: x for name, x in case["upstream"].items() if not name.startswith(_RULED)}
    if -1 not in case["qrels"].values():
        del upstream["infAP"]  # refused: it would be map
    judged = {f"judged@{k}": share for k, share in case["judged_rule"].items()}
    residual = {f"RBP(p={p})": found for p, found in case["rbp_rule"].items()}
    expected = upstream | judged | {name: found["rbp"] for name, found in residual.items()}
    found = run_case(tmp_path, case["qrels"], case["run"], list(expected))
    assert len(expected) >= 11
    scores = list(found.scores.values())
    assert scores == pytest.approx(list(expected.values()), abs=1e-9)
    for p, figures in case["rbp_rule"].items():
        name = "rbp" if p == "0.8" else f"rbp(p={p})"
        assert found.details[name]["residual"] == pytest.approx(figures["residual"], abs=1e-9)


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_the_range_is_that_of_all_ways_to_judge(case: dict[str, Any], tmp_path: Path) -> None:
    """The reference fills the first five holes: those below are judged here, as irrelevant."""
    ids = sorted(case["run"], key=lambda name: (case["run"][name], name), reverse=True)
    # An irrelevant document that is not retrieved: with it, what is not named is a hole.
    qrels = {**case["qrels"], "elsewhere": 0}
    qrels |= {name: 0 for name in ids[5:] if case["qrels"].get(name, -1) == -1}
    found = run_case(tmp_path, qrels, case["run"], list(_OPEN.values()))
    for theirs, expected in case["holes_of_the_first_5_judged_0_or_best"].items():
        name = _OPEN[theirs]
        details = found.details.get(name, {"holes": 0})
        score = found.scores[name]
        ends = [details.get("low", score), details.get("high", score)]
        assert ends == pytest.approx(expected["brute"], abs=1e-9), name
        assert details["holes"] == expected["holes"], name
