"""Where the page of a saved run is."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate, evaluate_variants
from pytest_rageval.reports.history import all_runs
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.serving.project import ScenarioEntry
from pytest_rageval.serving.web.run_store import RunStore, page_of, point_dict, saved_in

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


def standing_of(folder: Path, entry: ScenarioEntry) -> str | None:
    verdict: str | None = RunStore(RunPaths(folder, folder)).standings([entry])[entry.id]["verdict"]
    return verdict


@pytest.mark.usefixtures("steady_clock")
def test_variants_have_not_passed_while_best_is_undecided(tmp_path: Path) -> None:
    """[A24, E20] Each ran alone, or ranked before the file asked for it: nothing judged them."""
    rows = [{"id": str(at), "answer": "yes", "references": ["yes"]} for at in range(20)]
    variants: dict[str, Any] = {"one": {}, "two": {}}
    judged = {**SCENARIO, "dataset": rows, "gates": {"f1": 0.2}, "variants": variants}
    entry = replace(BOT, variants=("one", "two"), output_dir=".", has_best=True)
    for variant in entry.variants:
        evaluate(judged, variant=variant, write_to=tmp_path)
    assert standing_of(tmp_path, entry) == "partial"
    assert standing_of(tmp_path, replace(entry, has_best=False)) == "passed"
    found = RunStore(RunPaths(tmp_path, tmp_path)).contest(entry)
    assert found is not None
    assert (found["gate"]["outcome"], found["page"]) == ("skipped", None)
    evaluate_variants(judged, write_to=tmp_path / "unasked")
    assert standing_of(tmp_path / "unasked", entry) == "partial"
    evaluate_variants({**judged, "best": "one"}, write_to=tmp_path / "asked")
    assert standing_of(tmp_path / "asked", entry) == "passed"
    # As a copied or restored cache leaves it, and then as an earlier version wrote it.
    evaluate(judged, variant="two", write_to=tmp_path / "asked")
    ranking = tmp_path / "asked/bot/variants.json"
    os.utime(ranking, (2e9, 2e9))
    assert standing_of(tmp_path / "asked", entry) == "partial"
    plain = json.loads(ranking.read_text("utf-8"))
    # A variant whose run was not written is none of the ranking, a copied run is.
    ranking.write_text(json.dumps({**plain, "runs": {"one": plain["runs"]["one"]}}), "utf-8")
    os.utime(ranking, (2e9, 2e9))
    assert standing_of(tmp_path / "asked", entry) == "partial"
    newest = (tmp_path / "asked/bot/two/latest").resolve()
    newest.rename(newest.with_name("golden"))
    ranking.write_text(
        json.dumps({**plain, "runs": {**plain["runs"], "two": newest.name}}), "utf-8"
    )
    assert standing_of(tmp_path / "asked", entry) == "passed"
    ranking.write_text(json.dumps({key: plain[key] for key in plain if key != "runs"}), "utf-8")
    os.utime(ranking, (2e9, 2e9))
    assert standing_of(tmp_path / "asked", entry) == "passed"


@pytest.mark.usefixtures("steady_clock")
@pytest.mark.parametrize("variant", ["", "one"])
def test_an_older_run_does_not_stand_for_a_newer_one_that_cannot_be_read(
    tmp_path: Path, variant: str
) -> None:
    """The list had the verdict of the run before; one beneath newer runs changes nothing."""
    entry = replace(BOT, output_dir=".", variants=(variant,) if variant else ())
    variants = {"variants": {variant: {}}} if variant else {}
    for _ in range(3):
        evaluate({**SCENARIO, **variants}, variant=variant, write_to=tmp_path)
    folders = sorted({file.parent.resolve() for file in tmp_path.rglob("results.json")})
    store = RunStore(RunPaths(tmp_path, tmp_path))
    shutil.copytree(folders[0], folders[0].with_name("golden"))  # behind all ids
    for folder, verdict in zip(folders[1:], ("unjudged", "partial"), strict=True):
        (folder / "results.json").write_text("{", "utf-8")
        found = store.standings([entry])[entry.id]
        assert saved_in(found)[1] == verdict
    names = ", ".join(folder.relative_to(tmp_path.resolve()).as_posix() for folder in folders[1:])
    why = "results.json is cut off, or of another version; delete such a folder, or move it away"
    assert found["unread"] == f"left out: {names}: {why}"
    assert (found["last"], found["ran_at"] is None) == (None, False)


def test_the_list_says_which_settings_of_variants_are_not_of_the_file(tmp_path: Path) -> None:
    """[A24, E20] As it does of a scenario without variants; each once."""
    file = tmp_path / "bot.rageval.yaml"
    file.write_text(json.dumps({**SCENARIO, "variants": {"one": {}, "two": {}}}), "utf-8")
    entry = replace(BOT, variants=("one", "two"), output_dir=".")
    changed = [Override(("metric_weights", "f1"), 2.0, "--rag-metric-weight")]
    for variant in entry.variants:
        evaluate(file, changed, variant=variant, write_to=tmp_path)
    found = RunStore(RunPaths(tmp_path, tmp_path)).standings([entry])[entry.id]
    assert found["overridden"] == ["metric_weights.f1"]


def test_a_scenario_that_never_ran_has_no_gate_between_variants(tmp_path: Path) -> None:
    """[A24, E20] Nothing is undecided where nothing was asked."""
    entry = replace(BOT, variants=("one", "two"), has_best=True)
    assert RunStore(RunPaths(tmp_path, tmp_path)).contest(entry) is None
    assert standing_of(tmp_path, entry) is None
