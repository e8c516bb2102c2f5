"""Verdicts of saved runs, and of variants side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import convert

from pytest_rageval.model import GateOutcome, GateResult, Ranking
from pytest_rageval.reports.write_run import RANKING
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.text.codec import as_json, from_json

Verdict = Literal["passed", "failed", "partial", "unjudged", "empty", "error"]
"""``partial``: not all cases ran, or a gate was skipped. ``empty``: nothing was scored.
``unjudged``: nothing in it judged an answer. ``error``: pytest failed, or nothing was saved.
"""


def point_verdict(point: RunPoint) -> Verdict:
    """Return the verdict of a saved run: ``passed`` only if all of it was judged."""
    if point.failed:
        return "failed"
    # A run that `stop` ended early is whole: its verdict was certain.
    if not (point.complete or point.counts.not_asked) or point.gates_skipped:
        return "partial"
    if not point.counts.scored:
        return "empty"
    return "passed" if point.judged else "unjudged"


def gate_verdict(outcome: GateOutcome) -> Verdict:
    """Return what the gate ``best`` makes of the verdict of variants that ran together."""
    return "partial" if outcome == "skipped" else outcome


def joint_verdict(verdicts: Sequence[Verdict | None], best: Verdict | None) -> Verdict | None:
    """Return the verdict of all variants of a scenario; None stands for one that never ran.

    ``best`` is that of the gate, None without one. ``failed`` if any of these is, ``partial`` if
    not all ran and were decided; then as of one run. None if no variant ever ran.
    """
    if not any(verdicts):
        return None
    found = _heaviest([verdict or "partial" for verdict in verdicts], [best] if best else [])
    return "partial" if found == "empty" else found


def run_verdict(
    status: int | None,
    saved: Iterable[Verdict | None],
    gates: Iterable[Mapping[str, Any]] = (),
    *,
    is_part: bool = False,
) -> Verdict:
    """Return the verdict of a run from pytest's exit ``status``, and from what it saved.

    ``saved`` has the verdict of each scenario and variant that came to its end, None where nothing
    could be saved; ``gates`` are those that compare variants. ``is_part``: a variant is missing
    that was to run. ``status`` is None if pytest could not be started.
    """
    saved = list(saved)
    saved += ["partial"] if saved and is_part else []
    judged = [gate_verdict(gate["outcome"]) for gate in gates]
    found = [*saved, *judged]
    if "failed" in found or (status == 1 and found):  # pytest: tests failed
        return "failed"
    if status == 5:  # pytest: no tests ran
        return "empty"
    if status != 0 or not found or None in found:
        return "error"
    return _heaviest(saved, judged)


def _heaviest(verdicts: Sequence[Verdict | None], gates: Sequence[Verdict]) -> Verdict:
    """Return the verdict that decides, of scenarios or variants and of the gates between them.

    One that nothing judged makes all ``unjudged``, unless there is such a gate: it judges variants.
    """
    best: tuple[Verdict, ...] = ("passed", "unjudged") if gates else ("unjudged", "passed")
    by_weight: tuple[Verdict, ...] = ("failed", "partial", "empty", *best)
    return next(one for one in by_weight if one in verdicts or one in gates)


def merged(outlines: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what holds for all variants of a scenario, in the layout of one of them.

    A metric that only some have, and a weight that they do not share, is left out: no option of a
    run and no key above the variants changes it for all. ``own_weights`` names these. ``samples``
    is the largest number.
    """
    first, *rest = outlines
    shared = {one["name"]: one for one in first["metrics"]}
    weights = [{one["name"]: one["weight"] for one in outline["metrics"]} for outline in outlines]
    documents = [outline["doc_weights"] for outline in outlines]
    metrics = [name for name in shared if _is_shared(name, weights)]
    doc_weights = {
        name: weight for name, weight in documents[0].items() if _is_shared(name, documents)
    }
    named = dict.fromkeys(name for found in (*weights, *documents) for name in found)
    own = [name for name in named if name not in (*metrics, *doc_weights)]
    docs = {name: n for one in (*rest, first) for name, n in one["docs"].items()}
    largest = max(outlines, key=lambda one: int(one["samples"]))
    return {
        **first,
        "samples": largest["samples"],
        "invalid": largest["invalid"],
        "metrics": [shared[name] for name in metrics],
        "doc_weights": doc_weights,
        "docs": {name: n for name, n in docs.items() if name not in own},
        "compare": list(
            {one["name"]: one for found in outlines for one in found["compare"]}.values()
        ),
        "asks": list(dict.fromkeys(name for one in outlines for name in one["asks"])),
        "warnings": list(dict.fromkeys(text for one in outlines for text in one["warnings"])),
        "own_weights": own,
    }


def _is_shared(name: str, found: Sequence[Mapping[str, Any]]) -> bool:
    return all(name in one and one[name] == found[0][name] for one in found)


def shown_ranking(ranking: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page and the tools show of ``ranking``, the content of ``variants.json``.

    Its variants, there by name, become a list, best first; ``gate`` is None where nothing asks for
    ``best``. Raises ValueError for a file of another kind.
    """
    by_name = convert(ranking.get("variants"), dict[str, dict[str, Any]])
    variants = [{**one, "name": name} for name, one in by_name.items()]
    found: dict[str, Any] = as_json(convert({**ranking, "variants": variants}, Ranking))
    return {**found, "gate": as_json(convert(ranking.get("gate"), GateResult | None))}


def read_ranking(folder: Path) -> dict[str, Any] | None:
    """Return the last ranking in a scenario's folder, and of which ``runs``; None without one.

    ``runs`` are ids by variant, {} in older files. ``written_at`` is in UTC, as runs have it.
    """
    file = folder / RANKING
    try:
        plain = from_json(file.read_bytes(), dict[str, Any])
        found = shown_ranking(plain)
        runs = convert(plain.get("runs", {}), dict[str, str])
        written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None  # not there, or not ours
    return {**found, "runs": runs, "written_at": written.isoformat()}
