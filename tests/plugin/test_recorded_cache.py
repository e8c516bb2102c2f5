"""A cache that 0.1.0 recorded, without a limit of tokens: replies, and no scores, are in it."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from judged_project import JudgedProject

pytest_plugins = "judged_project"

RECORDED = Path(__file__).parent / "recorded_by_0_1_0"


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("rubric", {"llm_answer_relevancy": 1.5}),
        pytest.param(
            "ragas",
            {"faithfulness": 0.25, "context_recall": 0.0},
            marks=pytest.mark.skipif(find_spec("ragas") is None, reason="ragas is not installed"),
        ),
    ],
)
def test_a_cache_recorded_by_0_1_0_replays(
    name: str, means: dict[str, float], judged: JudgedProject
) -> None:
    """[R1] The means are those that 0.1.0 printed; nothing is asked, as nobody listens there."""
    shutil.copytree(RECORDED, judged.path / "recorded")
    scenario = judged.path / "recorded" / f"{name}.rageval.yaml"
    scenario.with_name(f"{name}.yaml").rename(scenario)
    result = judged.pytest(
        str(scenario), "--rag-cache=replay", f"--rag-cache-dir={scenario.with_name('cache')}"
    )
    result.assert_outcomes(passed=2)
    lines = result.stdout.str()
    for metric, mean in means.items():
        assert f"{metric} {mean:.4f}" in " ".join(lines.split())
