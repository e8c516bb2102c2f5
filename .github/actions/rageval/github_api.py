"""A small client of GitHub's REST API, for one repository."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

TRIES = 3
PER_PAGE = 100


class ApiError(Exception):
    """A request that GitHub refused or did not answer; ``status`` is 0 if there was no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Repository:
    """Requests below ``/repos/OWNER/NAME`` with a token that is never shown."""

    api_url: str
    name: str
    token: str
    pause_s: float = 2.0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Repository:
        return cls(environ["GITHUB_API_URL"], environ["GITHUB_REPOSITORY"], environ["ACTION_TOKEN"])

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the decoded answer; a fault of the server is tried again. Raises ApiError."""
        for tried in range(1, TRIES + 1):
            try:
                return self._ask_once(method, path, body)
            except ApiError as error:
                if tried == TRIES or 0 < error.status < 500:
                    raise
                time.sleep(self.pause_s * tried)
        raise AssertionError

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the entries of all pages of a list."""
        page = 1
        while True:
            found = self.ask("GET", f"{path}?per_page={PER_PAGE}&page={page}")
            yield from found
            if len(found) < PER_PAGE:
                return
            page += 1

    def _ask_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        request = urllib.request.Request(  # noqa: S310 (the runner says where its API is)
            f"{self.api_url}/repos/{self.name}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            error.close()
            raise ApiError(error.code, f"{method} {path}: HTTP {error.code}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise ApiError(0, f"{method} {path}: {error}") from error
