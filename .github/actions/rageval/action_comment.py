"""Writes the report into one comment of the pull request, and updates it on later runs."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from github_api import ApiError, Repository

EVENTS = ("pull_request", "pull_request_target")
_TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")

_NO_REPORT = "## rageval: NOT JUDGED\n\nThe job ended before pytest did; its log says why.\n"
_NO_RIGHT = (
    "no comment: the token may not write one. Give the job 'permissions: {pull-requests: write}'. "
    "A pull request from a fork, or by Dependabot, has no such token; the step summary has it all"
)


def main() -> int:
    """Return 0 always: whether there is a comment does not change the verdict of the run."""
    environ = os.environ
    if environ["GITHUB_EVENT_NAME"] not in EVENTS:
        return 0
    event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    try:
        text = comment_text(environ, event["pull_request"]["head"]["sha"])
        put_comment(Repository.from_environ(environ), event["number"], text)
    except ApiError as error:
        refused = error.status in (401, 403, 404)
        said = _NO_RIGHT if refused else f"no comment, an older one may be out of date: {error}"
        sys.stdout.write(f"::warning::{said}\n")
    return 0


def comment_text(environ: Mapping[str, str], commit: str) -> str:
    """Return the report with its marker and links; what to say if there is no report."""
    report = Path(environ["ACTION_REPORT"])
    text = report.read_text("utf-8") if report.is_file() else _NO_REPORT
    run = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}".format(**environ)
    links = f"[log]({run})"
    if environ["ACTION_ARTIFACT_URL"]:
        links += f" · [pages and data]({environ['ACTION_ARTIFACT_URL']})"
    head = f"{marker(environ['ACTION_NAME'])}\n{commit[:8]} · {links}\n\n"
    return head + text


def marker(name: str) -> str:
    """Return the invisible line that a comment is found by: no name can end it."""
    return f"<!-- rageval-comment {hashlib.sha256(name.encode()).hexdigest()[:16]} -->"


def put_comment(repository: Repository, number: int, text: str) -> None:
    """Update our comment on a pull request, or write it. Raises ApiError."""
    first = text.partition("\n")[0]
    for comment in repository.pages(f"issues/{number}/comments"):
        if (comment["body"] or "").startswith(first) and _is_trusted(comment):
            repository.ask("PATCH", f"issues/comments/{comment['id']}", {"body": text})
            return
    repository.ask("POST", f"issues/{number}/comments", {"body": text})


def _is_trusted(comment: Mapping[str, Any]) -> bool:
    """Return whether a comment is not by a stranger, who could edit it after us."""
    return (comment["user"] or {}).get("type") == "Bot" or comment["author_association"] in _TRUSTED


if __name__ == "__main__":
    sys.exit(main())
