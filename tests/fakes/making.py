"""A project whose model makes questions or nuggets, and what it was asked and wrote."""

from __future__ import annotations

import json
from typing import Any

from fake_openai import FakeOpenAI
from scripted_questions import prompt_in

from tests.plugin.conftest import Project


class Making:
    """The project, its server, and the options that name the model; ``file`` is what is made."""

    file: str

    def __init__(self, project: Project, server: FakeOpenAI) -> None:
        self.project = project
        self.server = server
        self.path = project.path
        self.models = [
            *("--rag-judge-model=m", f"--rag-set=judge.base_url={server.base_url}"),
            *("--rag-set=judge.api_key_env=MAKING_KEY", "--rag-set=judge.retries=0"),
        ]

    def rows(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return the rows of a file, none where it is not there."""
        path = self.path / (name or self.file)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def asked(self) -> list[str]:
        """Return what the server was asked so far."""
        return [prompt_in(seen.body) for seen in self.server.chats]
