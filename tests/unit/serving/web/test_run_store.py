"""Where the page of a saved run is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_rageval import evaluate
from pytest_rageval.reports.history import all_runs
from pytest_rageval.serving.project import ScenarioEntry
from pytest_rageval.serving.web.run_store import page_of, point_dict

BOT = ScenarioEntry(Path("bot.rageval.yaml"), "bot.rageval.yaml", "bot")
ROWS = [{"answer": "a", "references": ["a"]}]
SCENARIO = {"name": "bot", "metrics": ["f1"], "dataset": ROWS}


def test_the_run_of_a_variant_is_called_by_both(tmp_path: Path) -> None:
    """[A24, E20] In the address of its page, too: runs of one session have the same id."""
    plain = {**SCENARIO, "variants": {"one 1": {}, "two": {}}}
    evaluate(plain, variant="one 1", write_to=tmp_path, reports=["html"])
    [point] = all_runs(tmp_path)
    entry = replace(BOT, variants=("one 1", "two"))
    found = point_dict(point, tmp_path, entry)
    assert (found["run"], found["variant"]) == (f"one 1/{point.run_id}", "one 1")
    assert found["page"] == f"/runs/{BOT.id}/one%201%2F{point.run_id}/report.html"


def test_a_run_says_how_many_questions_are_made(tmp_path: Path) -> None:
    """[E26] None where people wrote all of them."""
    for at, data in enumerate([[{**ROWS[0], "made_by": "model"}], ROWS]):
        evaluate({**SCENARIO, "dataset": data}, write_to=tmp_path / str(at))
    texts = [point_dict(*all_runs(tmp_path / at), tmp_path / at, BOT)["made"] for at in "01"]
    assert texts == ["1 made question, 0 reviewed by a person", None]


def test_a_link_to_elsewhere_is_no_page(tmp_path: Path) -> None:
    """[A24] A run folder that somebody else has written may hold one."""
    base = tmp_path / "runs"
    evaluate(SCENARIO, write_to=base, reports=["html"])
    [point] = all_runs(base)
    page = page_of(base, point)
    assert page is not None
    assert point_dict(point, base, BOT)["page"] == f"/runs/{BOT.id}/{point.run_id}/report.html"
    (tmp_path / "secret").write_text("secret")
    page.unlink()
    page.symlink_to(tmp_path / "secret")
    assert page_of(base, point) is None
    assert point_dict(point, base, BOT)["page"] is None
