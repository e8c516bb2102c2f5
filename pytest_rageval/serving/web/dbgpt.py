"""DB-GPT's evaluation endpoint: a request in, the result rows of a pytest run out.

It answers as DB-GPT does, with an envelope for each error. The key is that of a program, in the
header Authorization; the page's cookie opens nothing here.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from pytest_rageval.errors import ScenarioError, unknown_name
from pytest_rageval.run_paths import EVALUATION_ROWS
from pytest_rageval.scenario.loader import inspect_scenario
from pytest_rageval.serving.children import Child, started
from pytest_rageval.serving.project import ASIDE, Project, ScenarioEntry
from pytest_rageval.serving.web.dbgpt_request import (
    Changes,
    EvaluationRequest,
    lay_over,
    read_request,
)
from pytest_rageval.serving.web.refusals import AccessPolicy, Refused, check_type, read_object
from pytest_rageval.text.codec import MAX_ROWS_REQUEST_BYTES

if TYPE_CHECKING:
    from pytest_rageval.serving.web.app_service import AppService

PREFIX: Final = "/api/v2/serve/evaluate/"
"""What the paths of the endpoint begin with."""

KEY: Final = "RAGEVAL_API_KEY"
"""The environment variable with the key; without it the endpoint is off."""
MOST_S: Final = 1800.0
"""How long a run may take."""

_LOOK_S = 0.2
_SHOWN = 2000  # characters of pytest's output in a refusal
_SCENES = ({"recall": "what a knowledge space retrieves"}, {"app": "what an app answers"})
_CODES: Final = {400: "E0001", 500: "E0003"}
_JUDGED: Final = (0, 1)  # pytest's exit status: all passed, or some failed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def guarded(
    policy: AccessPolicy, request: web.Request, handler: Handler
) -> web.StreamResponse:
    """Answer a request with the right key; all that is refused gets an envelope."""
    try:
        policy.check_host(request.headers)
        check_key(os.environ.get(KEY, "").strip(), request.headers)
        policy.check_origin("GET", request.headers)  # a program sends no Origin: none is asked for
        check_type(request.method, request.content_type)
        return await handler(request)
    except Refused as error:
        return refusal(error.status, str(error))
    except web.HTTPException as error:  # an unknown path or method
        return refusal(error.status, error.reason)


def refusal(status: int, message: str) -> web.Response:
    """Return the envelope of a failure; DB-GPT's client raises an error with ``message``."""
    code = _CODES.get(status, str(status))
    envelope = {"success": False, "err_code": code, "err_msg": message, "data": None}
    return web.json_response(envelope, status=status)


def check_key(key: str, headers: Mapping[str, str]) -> None:
    """Refuse a request without the key (401), and every one while no key is set (404)."""
    if not key:
        raise Refused(404, f"the endpoint is off: set {KEY} where pytest --rag-serve is started")
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), key.encode())
    if scheme.lower() != "bearer" or not is_right:
        raise Refused(401, f"the key is missing or wrong: send 'Authorization: Bearer ${KEY}'")


async def scenes(_: AppService, __: web.Request) -> web.Response:
    """Return the kinds of evaluation, as DB-GPT lists them."""
    return _success(_SCENES)


async def evaluation(service: AppService, request: web.Request) -> web.Response:
    """Run the scenario that the request names on its rows, and return the result rows."""
    wanted = read_request(await read_object(request, MAX_ROWS_REQUEST_BYTES))
    entry = await _named(wanted.scenario, service)
    changes = await asyncio.to_thread(changes_of, wanted, entry)
    with service.runs.reserved(wanted.scenario):
        rows = await evaluated(service.project, entry, wanted, changes, lambda: _is_gone(request))
    return _success(rows)


def _success(data: Any) -> web.Response:
    return web.json_response({"success": True, "err_code": None, "err_msg": None, "data": data})


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


async def evaluated(
    project: Project,
    entry: ScenarioEntry,
    wanted: EvaluationRequest,
    changes: Changes,
    is_gone: Callable[[], bool] = lambda: False,
    most_s: float = MOST_S,
) -> list[list[dict[str, Any]]]:
    """Return for each sample a row for each metric; the run leaves only cached replies behind.

    Refused, and the run ended, if it takes longer than ``most_s`` seconds, or once ``is_gone``:
    nobody waits for it. Refused, too, if it could not judge, or not every sample has its rows.
    """
    with tempfile.TemporaryDirectory(prefix="rageval-request-") as name:
        folder = Path(name)
        rows_file = folder / "datasets.json"
        rows_file.write_text(json.dumps(changes.rows), "utf-8")
        variants = [name for name in [entry.variant_of(wanted.scenario)] if name]
        command = project.command(
            *_options(project, changes, rows_file), scenarios=[entry.path], variants=variants
        )
        async with started(command, project.folder) as child:
            until = time.monotonic() + most_s
            while child.status is None:
                if is_gone():
                    raise Refused(500, "the client has gone")
                if time.monotonic() > until:
                    raise Refused(504, f"the run was ended after {most_s:g} s")
                await asyncio.sleep(_LOOK_S)
            await child.wait()
            found = _rows(child, name)
    if len(found) != len(changes.rows):
        raise Refused(500, f"the run ended with {len(found)} of {len(changes.rows)} rows")
    return [
        [{**row, "metric_name": asked} for row, asked in zip(rows, wanted.metrics, strict=True)]
        for rows in found
    ]


async def _named(name: str, service: AppService) -> ScenarioEntry:
    """Return the scenario of this name; looks for files anew where no known one has it now.

    A variant has a name such as ``bot::dense``; that of its scenario alone is refused.
    """
    entries: list[ScenarioEntry] = []
    found: list[ScenarioEntry] = []
    for fresh in (False, True):
        entries = await service.entries(fresh=fresh)
        found = [entry for entry in entries if name in entry.titles]
        if len(found) == 1 and name in await asyncio.to_thread(_titles_now, found[0]):
            return found[0]
    if found:
        places = " and ".join(entry.shown for entry in found)
        raise Refused(400, f"scene_value: {name!r} is the name of {places}")
    known = [title for entry in entries for title in entry.titles]
    several = next((entry.titles for entry in entries if entry.name == name), ())
    if several:
        message = f"{name!r} has variants; name one of them: {', '.join(several)}"
        raise Refused(400, f"scene_value: {message}")
    raise Refused(400, f"scene_value: {unknown_name('scenario', name, known)}")


def _titles_now(entry: ScenarioEntry) -> tuple[str, ...]:
    with suppress(ScenarioError):
        loaded, _ = inspect_scenario(entry.path, shown=entry.shown)
        return replace(entry, name=loaded.scenario.name, variants=loaded.variants).titles
    return ()


def changes_of(wanted: EvaluationRequest, entry: ScenarioEntry) -> Changes:
    """Return what a request changes in a scenario; refuses (400) what cannot be run."""
    try:
        variant = entry.variant_of(wanted.scenario)
        loaded, problems = inspect_scenario(entry.path, shown=entry.shown, variant=variant)
        if problems:
            raise ScenarioError(problems)
        return lay_over(wanted, loaded.scenario)
    except ScenarioError as error:
        raise Refused(400, str(error)) from error


def _options(project: Project, changes: Changes, rows_file: Path) -> list[str]:
    folder = rows_file.parent
    return [
        *ASIDE,
        "--rag-child=rows",
        "--maxfail=0",
        "--rag-report=dbgpt",
        f"--rag-output={folder / 'runs'}",
        *([f"--rag-cache-dir={project.cache_dir}"] if project.cache_dir else []),
        *changes.options(str(rows_file)),
    ]


def _rows(child: Child, folder: str) -> list[list[dict[str, Any]]]:
    """Return the rows that a run has written; refuses one that could not judge."""
    problems = [event["text"] for event in child.events if event["event"] == "problem"]
    if problems:
        raise Refused(400, "\n".join(problems).replace(f"{folder}{os.sep}", ""))
    results = [event for event in child.events if event["event"] == "result"]
    if child.status not in _JUDGED or not results:
        said = child.terminal()[-_SHOWN:]
        raise Refused(500, f"pytest ended with exit status {child.status}:\n{said}")
    if "folder" not in results[0]:
        raise Refused(500, str(results[0]["problem"]))
    report = json.loads((Path(results[0]["folder"]) / EVALUATION_ROWS).read_text("utf-8"))
    rows: list[list[dict[str, Any]]] = report["data"]
    return rows
