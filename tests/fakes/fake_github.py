"""GitHub's REST API as far as the action uses it: comments and files of one repository."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "someone/garden"
TOKEN = "a-token-that-nobody-shows"


@dataclass
class FakeGitHub:
    """Serves on loopback while it is entered; ``faults`` are the statuses of the next answers."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    branches: set[str] = field(default_factory=lambda: {"main"})
    faults: deque[int] = field(default_factory=deque)
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"github": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add_comment(self, body: str, user: str = "Bot", association: str = "NONE") -> None:
        self.comments.append(
            {
                "id": len(self.comments) + 1,
                "body": body,
                "user": {"type": user},
                "author_association": association,
            }
        )

    def answer(
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> tuple[int, Any]:
        """Return status and JSON for a path below the repository."""
        kind, _, rest = path.partition("/")
        if kind == "contents":
            return self._file(method, rest, query, body)
        if method == "GET":
            start, count = (int(query["page"]) - 1) * int(query["per_page"]), int(query["per_page"])
            return 200, self.comments[start : start + count]
        if len(body["body"]) > 65_536:
            return 422, {}
        if method == "PATCH":
            self.comments[int(rest.rpartition("/")[2]) - 1]["body"] = body["body"]
        else:
            self.add_comment(body["body"])
        return 200, {}

    def _file(self, method: str, name: str, query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        branch = query.get("ref") or body["branch"]
        if branch not in self.branches:
            return 404, {}
        old = self.files.get(f"{branch}:{name}")
        if method == "GET":
            return (200, old) if old else (404, {})
        if (old or {}).get("sha") != body.get("sha"):
            return 409, {}
        self.files[f"{branch}:{name}"] = {"content": body["content"], "sha": str(len(self.asked))}
        return 200, {}


class _Handler(BaseHTTPRequestHandler):
    github: FakeGitHub

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"null")
        url = urlsplit(self.path)
        self.github.asked.append(f"{self.command} {url.path}")
        start = f"/repos/{REPOSITORY}/"
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if self.headers["Authorization"] != f"Bearer {TOKEN}" or not url.path.startswith(start):
            status, found = 401, {}
        elif self.github.faults:
            status, found = self.github.faults.popleft(), {}
        else:
            status, found = self.github.answer(
                self.command, url.path.removeprefix(start), query, body
            )
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815 (names of http.server)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
