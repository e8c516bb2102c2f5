"""Puts the badges of the default branch on a branch of their own, from where READMEs show them."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from urllib.parse import quote

from github_api import ApiError, Repository


def main() -> int:
    """Return 1 if a badge could not be published: an old one would say what no longer holds."""
    repository, branch = Repository.from_environ(os.environ), os.environ["ACTION_BADGE_BRANCH"]
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    if branch == event.get("repository", {}).get("default_branch"):
        sys.exit(f"badge-branch: '{branch}' is the default branch; name one of its own, as badges")
    badges = os.environ["ACTION_BADGES"].splitlines()
    if not badges:
        sys.exit("no run, and no badge: those on the branch are of an earlier run")
    try:
        for badge in map(Path, badges):
            put_file(repository, branch, f"{badge_name(badge)}.svg", badge.read_bytes())
    except ApiError as error:
        sys.exit(
            f"no badge: {error}. Does the branch '{branch}' exist (git switch --orphan {branch}; "
            "git commit --allow-empty -m badges; git push origin HEAD), and has the job "
            "'permissions: {contents: write}'?"
        )
    return 0


def badge_name(file: Path) -> str:
    """Return the scenario's folder, with that of the variant: ``support-bot`` or ``bot/dense``."""
    above = file.parts[::-1]
    return "/".join(above[2 : above.index(".rageval")][::-1])


def put_file(repository: Repository, branch: str, name: str, content: bytes) -> None:
    """Write a file on a branch, unless it is the same already. Raises ApiError."""
    path = f"contents/{quote(name)}"
    text = base64.b64encode(content).decode()
    body = {"message": f"{name} of the latest run", "branch": branch, "content": text}
    try:
        old = repository.ask("GET", f"{path}?ref={quote(branch)}")
    except ApiError as error:
        if error.status != 404:
            raise
    else:
        if "".join(old["content"].split()) == text:
            return
        body["sha"] = old["sha"]
    repository.ask("PUT", path, body)


if __name__ == "__main__":
    sys.exit(main())
