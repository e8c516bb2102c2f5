"""Starts `pytest --rag-serve=0` in a folder, and sends it requests, good or bad ones."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_S = 60.0


@dataclass(frozen=True)
class Reply:
    """What the server answered."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def body(self) -> Any:
        """The JSON that it brought."""
        return json.loads(self.text)


@dataclass
class WebClient:
    """A running app, and the key that it has printed."""

    process: subprocess.Popen[str]
    port: int
    key: str

    @property
    def origin(self) -> str:
        """What the page's own requests say about where they come from."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """What the terminal shows."""
        return f"{self.origin}/?key={self.key}"

    @property
    def cookie(self) -> str:
        """The name of the cookie that holds the key."""
        return f"rageval-{self.port}"

    def headers(self, method: str = "GET") -> dict[str, str]:
        """The headers of a request that is good."""
        found = {"Host": f"127.0.0.1:{self.port}", "Cookie": f"{self.cookie}={self.key}"}
        if method != "GET":
            found |= {"Origin": self.origin, "Content-Type": "application/json"}
        return found

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        change: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """Send a request; ``change`` replaces headers, None leaves one out."""
        headers = {**self.headers(method), **(change or {})}
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_MOST_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if raw or method == "POST":
                headers.setdefault("Content-Length", str(len(raw)))
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(raw)
            reply = connection.getresponse()
            return Reply(reply.status, reply.read().decode(), dict(reply.headers))
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        reply = self.send("GET", path)
        assert reply.status == 200, reply
        return reply.body

    def scenario(self, name: str) -> str:
        """Return the id of a scenario by its name."""
        listed = self.get("/api/scenarios")["scenarios"]
        return next(str(one["id"]) for one in listed if one["name"] == name)

    def events(self, run: str) -> list[dict[str, Any]]:
        """Return all events of a run, once it has ended."""
        text = self.send("GET", f"/api/runs/{run}/events").text
        lines = [line for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(_MOST_S)


@contextmanager
def served(folder: Path, *args: str, **variables: str) -> Iterator[WebClient]:
    """Serve the project in ``folder`` while the context lasts."""
    names = [name for name in os.environ if not name.startswith(("RAGEVAL_", "PYTEST_"))]
    environment = {name: os.environ[name] for name in names} | variables
    command = [sys.executable, "-m", "pytest", "--rag-serve=0", *args]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        origin, _, key = process.stdout.readline().strip().partition("/?key=")
        yield WebClient(process, int(origin.rpartition(":")[2]), key)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_MOST_S)
