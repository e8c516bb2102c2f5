"""Runs that the app starts: their verdict, and their events in order."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.evaluation import evaluate
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.serving.web.app_service import AppService
from pytest_rageval.serving.web.live_runs import Job, LiveRun, LiveRuns
from pytest_rageval.serving.web.refusals import Refused


def writing(*lines: str) -> list[str]:
    """Return a command that writes events."""
    code = "import os; open(os.environ['RAGEVAL_CHILD_OUTPUT'], 'w').write({!r})"
    return [sys.executable, "-c", code.format("".join(f"{line}\n" for line in lines))]


def test_of_counts_only_the_newest_is_told(tmp_path: Path) -> None:
    """[A24] All else is, each with its number."""
    command = writing(
        '{"event": "progress", "done": 1}',
        '{"event": "progress", "done": 2}',
        '{"event": "result", "name": "x"}',
    )

    async def main() -> list[tuple[int, dict[str, Any]]]:
        run = LiveRun(Job("s", command, tmp_path), lambda event: {**event, "point": None})
        seen = [found async for found in run.follow()]
        assert seen == [found async for found in run.follow()]
        assert seen[-1:] == [found async for found in run.follow(after=3)]
        return seen

    counts, result, end = asyncio.run(main())
    assert counts == (2, {"event": "progress", "done": 2})
    assert result == (3, {"event": "result", "name": "x", "point": None})
    assert (end[0], end[1]["verdict"], end[1]["status"]) == (4, "error", 0)


def test_a_command_that_cannot_be_started_ends_at_once(tmp_path: Path) -> None:
    """[A24] The message is in the place of the terminal."""

    async def main() -> dict[str, Any]:
        run = LiveRun(Job("s", [str(tmp_path / "nothing")], tmp_path), lambda event: event)
        return [event async for _, event in run.follow()][-1]

    end = asyncio.run(main())
    assert (end["verdict"], end["status"]) == ("error", None)
    assert "nothing" in end["terminal"]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """[A24] Also while a request runs a scenario itself."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]

    async def main() -> None:
        runs = LiveRuns()
        run = runs.start(Job("s", command, tmp_path), lambda event: event)
        with pytest.raises(Refused) as refused:
            runs.start(Job("t", command, tmp_path), lambda event: event)
        assert (refused.value.status, refused.value.more["running"]["run"]) == (409, run.id)
        await run.stop()
        assert run.events[-1]["verdict"] == "stopped"
        with runs.reserved("u"), pytest.raises(Refused):
            runs.refuse_second()
        runs.refuse_second()
        assert runs.find(run.id) is run
        await runs.close()
        with pytest.raises(Refused, match="the app has been ended"):
            runs.start(Job("s", command, tmp_path), lambda event: event)

    asyncio.run(main())


def test_a_stop_ends_what_runs_now_also_where_the_run_that_it_names_has_ended(
    tmp_path: Path,
) -> None:
    """The page may not know yet that the next one began; it emptied the queue and stopped none."""
    brief, endless = ([sys.executable, "-c", f"import time; time.sleep({s})"] for s in (0.2, 600))

    async def main() -> None:
        runs = LiveRuns()
        jobs = [Job("s", brief, tmp_path), Job("t", endless, tmp_path), Job("u", brief, tmp_path)]
        runs.start_all([(job, lambda event: event) for job in jobs])
        seen: dict[str, str] = {}
        while "t" not in seen:
            await asyncio.sleep(0.01)
            seen |= {one["scenario"]: one["run"] for one in filter(None, [runs.running])}
        first, second = seen["s"], seen["t"]
        await runs.stop(first)
        assert runs.find(second).events[-1]["verdict"] == "stopped"
        assert (runs.running, runs.waiting) == (None, [])
        await runs.stop(second)  # again
        # All have ended; then a run goes on that was started by itself.
        for is_later in (False, True):
            later = runs.start(jobs[1], lambda event: event) if is_later else None
            with pytest.raises(Refused) as refused:
                await runs.stop(first)
            assert refused.value.status == 409
            assert later is None or not later.has_ended
        await runs.close()

    asyncio.run(main())


def test_a_run_that_the_list_names_is_found_after_many_others(tmp_path: Path) -> None:
    """Opened, it was unknown, and the page showed an older run that had passed."""

    async def main() -> None:
        runs = LiveRuns()
        for at in range(25):
            job = Job("t" if at else "s", [str(tmp_path / "nothing")], tmp_path)
            await runs.start(job, lambda event: event).ended()
        found = runs.unfinished("s", None)
        assert found is not None
        assert runs.find(found["run"]).events[-1]["verdict"] == found["verdict"] == "error"

    asyncio.run(main())


@pytest.mark.parametrize(("status", "verdict"), [(0, None), (1, "failed"), (3, "error")])
def test_a_run_that_ended_badly_is_not_hidden_by_what_it_saved(
    tmp_path: Path, status: int, verdict: str | None
) -> None:
    """[A24] A green save of its own, or an older one, counts less; a later run counts more."""
    command = writing('{"event": "result", "variant": "a"}')
    command[-1] += f"; raise SystemExit({status})"
    began = datetime.now(UTC).replace(microsecond=0)
    point = {"started_at": began.isoformat(), "verdict": "passed"}

    async def main() -> None:
        runs = LiveRuns()
        job = Job("s", command, tmp_path)
        run = runs.start(job, lambda event: {**event, "point": point})
        await run.ended()
        known = None if verdict is None else {"run": run.id, "verdict": verdict}
        assert runs.unfinished("s", point["started_at"], "passed") == known
        assert runs.unfinished("s", (began - timedelta(days=1)).isoformat(), "passed") == known
        assert runs.unfinished("s", (began + timedelta(days=1)).isoformat(), "passed") is None
        # A file that was edited by hand: without a zone, and without a time.
        naive = (began + timedelta(days=1)).replace(tzinfo=None).isoformat()
        assert runs.unfinished("s", naive, "passed") is None
        assert runs.unfinished("s", "yesterday", "passed") == known
        if verdict == "failed":  # as what is saved says, too
            assert runs.unfinished("s", point["started_at"], "failed") is None

    asyncio.run(main())


def test_a_stop_counts_also_where_a_variant_was_saved(tmp_path: Path) -> None:
    """[A24] Of two variants that were green, one runs again, and the run is stopped."""
    command = writing('{"event": "result", "variant": "a"}')
    command[-1] += "; import time; time.sleep(600)"
    point = {"started_at": datetime.now(UTC).replace(microsecond=0).isoformat()}
    point["verdict"] = "passed"

    async def main() -> None:
        runs = LiveRuns()
        job = Job("s", command, tmp_path, ("a", "b"))
        run = runs.start(job, lambda event: {**event, "point": point})
        await anext(run.follow())
        await run.stop()
        found = runs.unfinished("s", point["started_at"], "passed")
        assert found == {"run": run.id, "verdict": "stopped"}

    asyncio.run(main())


def test_a_saved_run_that_was_seen_before_is_not_later_because_a_clock_was_set(
    tmp_path: Path,
) -> None:
    """The machine's clock goes an hour back between the two."""
    command = writing('{"event": "progress"}')
    command[-1] += "; import time; time.sleep(600)"
    saved = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    async def main() -> None:
        runs = LiveRuns()
        assert runs.unfinished("s", saved, "failed") is None
        run = runs.start(Job("s", command, tmp_path), lambda event: event)
        await run.stop()
        assert runs.unfinished("s", saved, "failed") == {"run": run.id, "verdict": "stopped"}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "variant", "known", "now"),
    [
        ("s", "", None, ".rageval"),
        ("s", "", "runs", "runs"),
        ("s", "", "deep/runs", "deep/runs"),
        ("bots/支持: v2", "", None, ".rageval"),
        ("s", "dense", None, ".rageval"),
        ("s", "gpt: 4o", "runs", "runs"),
        ("s", "", None, "elsewhere"),
        ("s", "", "runs", ".rageval"),
        ("s", "dense", "runs", "elsewhere/runs"),
    ],
)
def test_a_result_is_told_from_where_it_was_written(
    tmp_path: Path, name: str, variant: str, known: str | None, now: str
) -> None:
    """[A24] Also where ``output_dir`` was edited while the run waited: it was an error."""
    rows = [{"answer": "a", "references": ["a"]}]
    scenario = {"name": name, "metrics": ["em"], "dataset": rows, "gates": {"em": 0.5}}
    scenario |= {"variants": {variant: {}}} if variant else {}
    path = tmp_path / "s.rageval.yaml"
    evaluate(scenario, variant=variant, write_to=tmp_path / now, reports=["html"])
    [folder] = {file.parent.resolve() for file in (tmp_path / now).rglob("results.json")}
    service = AppService(Project("python", tmp_path, (), RunPaths(tmp_path)))
    entry = ScenarioEntry(path, path.name, name, known, None, (variant,) if variant else ())
    event = {"event": "result", "name": name, "variant": variant, "folder": str(folder)}
    point = service._told(event, entry)["point"]
    assert (point["verdict"], point["variant"]) == ("passed", variant)
    assert point["page"].endswith(f"{folder.name}/report.html")


def test_a_result_that_is_gone_or_was_not_written_has_no_figures(tmp_path: Path) -> None:
    service = AppService(Project("python", tmp_path, (), RunPaths(tmp_path)))
    entry = ScenarioEntry(tmp_path / "s.yaml", "s.yaml", "s")
    event = {"event": "result", "name": "s", "variant": ""}
    gone = {**event, "folder": str(tmp_path / ".rageval/s/20260101T000000-000000")}
    for one in (gone, {**event, "problem": "no room"}):
        assert service._told(one, entry) == {**one, "point": None}
