"""What the web app refuses, for every route: keys, hosts, origins, bodies, paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_client import WebClient, served

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

from pytest_rageval.serving.web.routes import DBGPT_ROUTES, ROUTES
from pytest_rageval.text.codec import MAX_REQUEST_BYTES

GOOD_PATHS = {
    ("GET", "/"): "/",
    ("GET", "/assets/{name}"): "/assets/app.html",
    ("GET", "/runs/{scenario}/{run}/report.html"): "/runs/x/y/report.html",
    ("GET", "/runs/{scenario}/variants.html"): "/runs/x/variants.html",
    ("GET", "/api/scenarios"): "/api/scenarios",
    ("POST", "/api/scenarios"): "/api/scenarios",
    ("GET", "/api/files"): "/api/files",
    ("POST", "/api/files"): "/api/files?name=x.exe",
    ("POST", "/api/proposals"): "/api/proposals",
    ("GET", "/api/scenarios/{scenario}"): "/api/scenarios/x",
    ("POST", "/api/scenarios/{scenario}/settings"): "/api/scenarios/x/settings",
    ("POST", "/api/scenarios/{scenario}/settings/check"): "/api/scenarios/x/settings/check",
    ("POST", "/api/scenarios/{scenario}/runs"): "/api/scenarios/x/runs",
    ("POST", "/api/runs"): "/api/runs",
    ("DELETE", "/api/runs/{run}"): "/api/runs/x",
    ("GET", "/api/runs/{run}/events"): "/api/runs/x/events",
    ("GET", "/api/history"): "/api/history?scenario=x",
    ("GET", "/api/compare"): "/api/compare?scenario=x&a=1&b=2",
}
"""For each route a request whose names are unknown, where it has names."""

KNOWN = {"/", "/assets/app.html", "/api/scenarios", "/api/files"}
EMPTY = {"/api/runs": 400, "/api/files?name=x.exe": 400}
"""What a project without scenarios answers, where no names are in the path."""

UPLOAD = "/api/files?name=x.exe"
BYTES = {"Content-Type": "application/octet-stream"}
every_request = pytest.mark.parametrize(
    ("method", "path"), [(method, path) for (method, _), path in GOOD_PATHS.items()]
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "pytest.ini").write_text("[pytest]\n")
    with served(folder) as client:
        yield client


def type_of(path: str) -> dict[str, str | None]:
    """Return the header of a body that the route takes, where it takes no JSON."""
    return {**BYTES} if path == UPLOAD else {}


def test_every_route_is_in_the_matrix() -> None:
    """A new route fails here until it is tested below."""
    assert {(route.method, route.path) for route in ROUTES} == GOOD_PATHS.keys()


@every_request
def test_without_the_key(app: WebClient, method: str, path: str) -> None:
    own = f"rageval-{app.port}"
    for cookie in (None, f"{own}=wrong", f"{own}=\xff", f"rageval-1={app.key}"):
        reply = app.send(method, path, {}, {"Cookie": cookie})
        assert reply.status == 401, cookie
        assert "open the URL" in reply.text


@every_request
@pytest.mark.parametrize("host", ["rag.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_by_another_name_of_this_machine(app: WebClient, method: str, path: str, host: str) -> None:
    """DNS rebinding: the browser believes that the page of another site has this address."""
    assert app.send(method, path, {}, {"Host": host}).status == 403


@every_request
@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://rag.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda header: "-".join(*header.items()),
)
def test_from_a_page_of_another_origin(
    app: WebClient, method: str, path: str, header: dict[str, str]
) -> None:
    assert app.send(method, path, {}, header).status == 403


@every_request
def test_a_change_says_where_it_comes_from(app: WebClient, method: str, path: str) -> None:
    """Reading needs no Origin: browsers leave it out."""
    status = app.send(method, path, {}, {**type_of(path), "Origin": None}).status
    assert (status == 403) == (method != "GET")


@every_request
def test_a_body_that_is_not_json(app: WebClient, method: str, path: str) -> None:
    """Forms and text can be sent to other origins without leave."""
    kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
    for kind in (*kinds, "application/json" if path == UPLOAD else BYTES["Content-Type"]):
        status = app.send(method, path, {}, {"Content-Type": kind}).status
        assert (status == 415) == (method == "POST"), kind


@every_request
def test_a_body_that_is_too_large(app: WebClient, method: str, path: str) -> None:
    if method == "POST" and path != UPLOAD:  # which has a limit of its own
        assert app.send(method, path, b" " * (MAX_REQUEST_BYTES + 1)).status == 413
        chunked = {"Transfer-Encoding": "chunked", "Content-Length": None}
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (MAX_REQUEST_BYTES + 1, b" " * (MAX_REQUEST_BYTES + 1))
        assert app.send(method, path, body, chunked).status in (404, 413)
    if path == UPLOAD:
        large = {**BYTES, "Content-Length": str(50_000_001)}
        assert app.send(method, path, b" ", large).status == 413


@every_request
def test_names_that_are_unknown(app: WebClient, method: str, path: str) -> None:
    found = app.send(method, path, {}, type_of(path)).status
    is_read = method == "GET" and path in KNOWN
    assert found == (200 if is_read else EMPTY.get(path, 404))


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../routes.py",
        "/assets/..%2froutes.py",
        "/assets/%2e%2e%2f%2e%2e%2fproject.py",
        "/assets/..\\routes.py",
        "/assets/__init__.py",
        "/assets//etc/passwd",
        "/runs/x/../../pytest.ini",
        "/runs/..%2f..%2fetc/passwd/report.html",
        "/runs/x/%2e%2e/report.html",
        "/pytest.ini",
    ],
)
def test_paths_lead_nowhere(app: WebClient, path: str) -> None:
    assert app.send("GET", path).status == 404


def test_the_key_is_taken_from_the_url_once(app: WebClient) -> None:
    """Then a cookie holds it that no script and no other site can use."""
    reply = app.send("GET", f"/?key={app.key}", change={"Cookie": None})
    assert (reply.status, reply.headers["Location"]) == (302, "/")
    assert reply.headers["Set-Cookie"] == (
        f"rageval-{app.port}={app.key}; HttpOnly; Path=/; SameSite=Strict"
    )
    assert app.send("GET", "/?key=wrong", change={"Cookie": None}).status == 401
    elsewhere = {"Cookie": None, "Host": "rag.example"}
    assert app.send("GET", f"/?key={app.key}", change=elsewhere).status == 403


def test_a_key_is_of_one_start(app: WebClient, tmp_path: Path) -> None:
    """[X8] It opens nothing once its server has ended, and the browser forgets it with its window.

    A server on another port gets the cookie; docs/how-to/web-app.md says so.
    """
    reply = app.send("GET", f"/?key={app.key}", change={"Cookie": None})
    assert not {"expires", "max-age"} & {
        part.partition("=")[0] for part in reply.headers["Set-Cookie"].lower().split("; ")
    }
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    with served(tmp_path) as later:
        old = {"Cookie": f"{later.cookie}={app.key}"}
        assert later.send("GET", "/api/scenarios", change=old).status == 401
        assert later.send("GET", "/api/scenarios").status == 200


@every_request
def test_what_every_answer_forbids(app: WebClient, method: str, path: str) -> None:
    headers = app.send(method, path, {}).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_other_methods_are_refused(app: WebClient) -> None:
    assert app.send("PUT", "/api/scenarios", {}).status == 405


def test_without_a_key_of_its_own_the_endpoint_of_dbgpt_is_off(app: WebClient) -> None:
    """[B12] The page's own key opens nothing there."""
    for path in {route.path for route in DBGPT_ROUTES}:
        for change in ({}, {"Authorization": f"Bearer {app.key}"}):
            reply = app.send("POST", path, {}, change)
            assert reply.status == 404
            assert "set RAGEVAL_API_KEY" in reply.body["err_msg"]
