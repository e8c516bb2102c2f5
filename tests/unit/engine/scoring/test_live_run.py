"""F12: a run with a budget asks the control rows of every scenario that any process judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.live_run import LiveRun

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

SCENARIO = """name: s
dataset: [{answer: x, question: q, references: x}]
metrics: [rubric]
judge: {model: m, base_url: "http://127.0.0.1:9/v1"}
"""


@pytest.mark.parametrize(("judged", "is_asked"), [("s.yaml", True), ("others.yaml", False)])
def test_the_last_process_asks_for_what_another_one_judged(
    plan: Callable[..., Plan], tmp_path: Path, judged: str, is_asked: bool
) -> None:
    (tmp_path / "settled-0.json").write_text(f'["{judged}"]', "ascii")
    run = LiveRun(RunSettings(budget_usd=1.0, processes=2, shared_dir=tmp_path))
    made = plan(SCENARIO)
    try:
        run.settle_last([made], lambda: None)
        assert run.scenario(made).is_judged is is_asked
    finally:
        run.close()
