"""D4, D5: TREC 2003 Robust: runs of 100 topics against measured figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from others_data import others_data
from trec_figures import asked, assert_figures, by_query, means, run_trec

FILES = others_data("data/robust03/original")

ROBUST = {
    ("aplrob03a", "robust03"): {
        "nDCG@10": 0.4409, "AP": 0.2998, "P@10": 0.451, "RR": 0.6859, "R@1000": 0.8226,
    },
    ("uic0301", "robust03"): {
        "nDCG@10": 0.3914, "AP": 0.2404, "P@10": 0.39, "RR": 0.6466, "R@1000": 0.7548,
    },
    ("NLPR03vb10", "robust03"): {
        "nDCG@10": 0.3944, "AP": 0.1055, "P@10": 0.397, "RR": 0.6552, "R@1000": 0.1398,
    },
    ("uic0301", "robust03_cs"): {
        "R@10": 0.1314, "R@5": 0.0858, "R@20": 0.1968, "AP": 0.2396, "R@15": 0.1686,
        "R@100": 0.4243, "RR": 0.6466, "P@1000": 0.0371, "R@200": 0.5323, "R@1000": 0.7518,
        "R@30": 0.253, "R@500": 0.6569,
    },
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("run", "qrels"), ROBUST)
def test_runs_of_trec_2003_robust(tmp_path: Path, run: str, qrels: str) -> None:
    """D4, D5: 100 topics, 100,000 lines, gzip; ranks that start at 0, 1 or 2 decide nothing."""
    expected = ROBUST[run, qrels]
    result = run_trec(
        tmp_path,
        FILES / f"{qrels}_qrels.txt.gz",
        FILES / f"input.{run}.gz",
        asked(expected),
    )
    assert result.counts.scored == 100
    assert_figures(means(result), expected, 5.0001e-5, run)


def test_the_figures_of_robust_are_those_of_the_readme() -> None:
    text = (FILES.parent / "README.md").read_text("utf-8")
    for (run, qrels), figures in ROBUST.items():
        block = text.split(f"\n{qrels} {run}\n")[1].split("}")[0]
        assert yaml.safe_load(block.split("```json")[1] + "}") == figures


@pytest.mark.full
def test_ten_other_judgements_change_one_topic(tmp_path: Path) -> None:
    """D4: the two qrels differ in 10 lines of topic 303, and so do the scores of that topic."""
    run = FILES / "input.uic0301.gz"
    both = [
        by_query(run_trec(tmp_path, FILES / f"{name}_qrels.txt.gz", run, ["map"]))
        for name in ("robust03", "robust03_cs")
    ]
    assert {query for query in both[0] if both[0][query] != both[1][query]} == {"303"}
