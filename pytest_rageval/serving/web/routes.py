"""The routes of the web app: what each takes from a request, and how its answer is sent."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from aiohttp import web

from pytest_rageval.reports.page import assemble
from pytest_rageval.serving.web import dbgpt
from pytest_rageval.serving.web.app_service import AppService
from pytest_rageval.serving.web.data_files import MOST_MB
from pytest_rageval.serving.web.live_runs import Event
from pytest_rageval.serving.web.refusals import (
    BYTES,
    JSON,
    AccessPolicy,
    Refused,
    check_type,
    parts_of,
    read_object,
    within_time,
)
from pytest_rageval.text.codec import MAX_REQUEST_BYTES

_BEAT_S = 15.0
_HISTORY = 50
_UPLOAD: Final = "/api/files"
_SCENARIO: Final = "/api/scenarios/{scenario}"
_MOST_UPLOADED: Final = MOST_MB * 1_000_000
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# Pages of runs and of variants have a policy of their own in their text; without allow-same-origin
# they cannot use the cookie.
_RUN_POLICY: Final = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answer = Callable[[AppService, web.Request], Awaitable[web.StreamResponse | dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path, and the function that answers; ``status`` is that of an answer in JSON."""

    method: str
    path: str
    answer: Answer
    status: int = 200


def make_app(service: AppService, policy: AccessPolicy) -> web.Application:
    """Return the application; every request passes ``policy`` first."""
    app = web.Application(middlewares=[_guard(policy)], client_max_size=MAX_REQUEST_BYTES)
    app.on_response_prepare.append(_add_headers)
    for route in (*ROUTES, *DBGPT_ROUTES):
        app.router.add_route(route.method, route.path, _handler(service, route))
    return app


def _handler(service: AppService, route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        found = await route.answer(service, request)
        return web.json_response(found, status=route.status) if isinstance(found, dict) else found

    return handle


# Before the route


def _guard(policy: AccessPolicy) -> Any:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(dbgpt.PREFIX):
            return await dbgpt.guarded(policy, request, handler)
        try:
            policy.check_host(request.headers)
            if request.path == "/" and policy.knows(request.query.get("key")):
                return _let_in(policy)
            if not policy.knows(request.cookies.get(policy.cookie)):
                raise Refused(401, "the key is missing: open the URL that pytest has printed")
            policy.check_origin(request.method, request.headers)
            is_file = (request.method, request.path) == ("POST", _UPLOAD)
            sent = request.headers.get("Content-Type", "")
            check_type(request.method, sent, BYTES if is_file else JSON)
            most = _MOST_UPLOADED if is_file else MAX_REQUEST_BYTES
            if (request.content_length or 0) > most:
                raise Refused(413, f"expected a body of at most {most} bytes")
            return await handler(request)
        except Refused as error:
            return _refusal(request, error)
        except web.HTTPException as error:  # an unknown path, method, or too large a body
            return web.json_response({"error": error.reason}, status=error.status)

    return guarded


def _refusal(request: web.Request, error: Refused) -> web.Response:
    if request.path == "/":  # for a person
        return web.Response(text=f"{error}\n", status=error.status)
    return web.json_response({"error": str(error), **error.more}, status=error.status)


def _let_in(policy: AccessPolicy) -> web.Response:
    answer = web.Response(status=302, headers={"Location": "/"})
    answer.set_cookie(policy.cookie, policy.key, httponly=True, samesite="Strict", path="/")
    return answer


async def _add_headers(_: web.Request, answer: web.StreamResponse) -> None:
    for name, value in {**_HEADERS, "Content-Security-Policy": _POLICY}.items():
        answer.headers.setdefault(name, value)


# The page


async def _page(_: AppService, __: web.Request) -> web.Response:
    return _file("app.html")


async def _asset(_: AppService, request: web.Request) -> web.Response:
    return _file(request.match_info["name"])


def _file(name: str) -> web.Response:
    """Return the file of this name in ``page_files``; Refused (404) for any other."""
    files = page_files()
    if name not in files:
        raise Refused(404, "no such file")
    content_type, content = files[name]
    return web.Response(body=content, content_type=content_type, charset="utf-8")


async def _run_page(service: AppService, request: web.Request) -> web.StreamResponse:
    names = request.match_info
    file = await service.page(names["scenario"], names["run"])
    return web.FileResponse(file, headers={"Content-Security-Policy": _RUN_POLICY})


async def _side_by_side(service: AppService, request: web.Request) -> web.StreamResponse:
    file = await service.side_by_side(request.match_info["scenario"])
    return web.FileResponse(file, headers={"Content-Security-Policy": _RUN_POLICY})


# What it asks for


async def _scenarios(service: AppService, request: web.Request) -> dict[str, Any]:
    return await service.scenarios(fresh="fresh" in request.query)


def _with_body(answer: Callable[..., Awaitable[dict[str, Any]]]) -> Answer:
    """Return a route's function that calls ``answer`` with the names in the path and the body."""

    async def read(service: AppService, request: web.Request) -> dict[str, Any]:
        body = await read_object(request, MAX_REQUEST_BYTES)
        return await answer(service, *request.match_info.values(), body)

    return read


async def _upload(service: AppService, request: web.Request) -> dict[str, Any]:
    async with within_time(request):
        parts = parts_of(request, _MOST_UPLOADED)
        return await service.upload(request.query.get("name", ""), parts)


async def _stop(service: AppService, request: web.Request) -> dict[str, Any]:
    await service.runs.stop(request.match_info["run"])
    return {"stopped": True}


async def _history(service: AppService, request: web.Request) -> dict[str, Any]:
    limit = _number(request.query.get("limit", str(_HISTORY)), "limit")
    return await service.history(request.query.get("scenario", ""), limit)


async def _compare(service: AppService, request: web.Request) -> dict[str, Any]:
    return await service.compare(*(request.query.get(key, "") for key in ("scenario", "a", "b")))


async def _events(service: AppService, request: web.Request) -> web.StreamResponse:
    """Send the events of a run as they come, with a beat while there are none."""
    run = service.runs.find(request.match_info["run"])
    after = _number(request.headers.get("Last-Event-ID", "0"), "Last-Event-ID")
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    with contextlib.suppress(ConnectionError):  # the page was closed
        async with contextlib.aclosing(run.follow(after, _BEAT_S)) as events:
            async for found in events:
                await answer.write(_event(*found) if found else b": still here\n\n")
    return answer


def _event(number: int, event: Event) -> bytes:
    return f"id: {number}\ndata: {json.dumps(event)}\n\n".encode()


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused(400, f"{name}: expected a whole number")
    return int(text)


ROUTES: Final = (
    Route("GET", "/", _page),
    Route("GET", "/assets/{name}", _asset),
    Route("GET", "/runs/{scenario}/{run}/report.html", _run_page),
    Route("GET", "/runs/{scenario}/variants.html", _side_by_side),
    Route("GET", "/api/scenarios", _scenarios),
    Route("POST", "/api/scenarios", _with_body(AppService.make), status=201),
    Route("GET", "/api/files", lambda service, _: service.data_files()),
    Route("POST", _UPLOAD, _upload, status=201),
    Route("POST", "/api/proposals", _with_body(AppService.propose)),
    Route("GET", _SCENARIO, lambda service, asked: service.scenario(**asked.match_info)),
    Route("POST", _SCENARIO + "/settings", _with_body(AppService.write)),
    Route("POST", _SCENARIO + "/settings/check", _with_body(AppService.check)),
    Route("POST", _SCENARIO + "/runs", _with_body(AppService.start), status=201),
    Route("POST", "/api/runs", _with_body(lambda service, _: service.start_all()), status=201),
    Route("DELETE", "/api/runs/{run}", _stop),
    Route("GET", "/api/runs/{run}/events", _events),
    Route("GET", "/api/history", _history),
    Route("GET", "/api/compare", _compare),
)
DBGPT_ROUTES: Final = (
    Route("GET", f"{dbgpt.PREFIX}scenes", dbgpt.scenes),
    Route("POST", f"{dbgpt.PREFIX}evaluation", dbgpt.evaluation),
)
"""What DB-GPT's clients use, with a key of their own."""


SHARED: Final = (*(name for name in assemble.SCRIPTS if name != "start.js"), "variant_words.js")
"""Scripts of the report, but the one that starts it, and of the page of variants."""

SCRIPTS: Final = (
    "api.js",
    "app_words.js",
    "app_said.js",
    "home.js",
    "new_scenario.js",
    "scenario_view.js",
    "settings.js",
    "live_run.js",
    "kept_report.js",
    "variants_view.js",
    "saved_runs.js",
    "app.js",
)
"""The app's own scripts, which come after the shared ones."""


@cache
def page_files() -> Mapping[str, tuple[str, bytes]]:
    """Return the files that are served, by name: media type and content."""
    own = partial(assemble.asset, package=__package__)
    script = assemble.in_one_scope([*map(assemble.asset, SHARED), *map(own, SCRIPTS)])
    style = assemble.asset("report.css") + own("app.css")
    return {
        "app.html": ("text/html", own("app.html").encode()),
        "app.css": ("text/css", style.encode()),
        "app.js": ("text/javascript", script.encode()),
    }
