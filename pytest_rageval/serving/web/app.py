"""The web app: its routes, and the server that runs until Ctrl-C."""

from __future__ import annotations

from pytest_rageval.serving.project import Project


def serve_app(project: Project, port: int) -> int:
    """Serve the app on 127.0.0.1 until the process is interrupted; return pytest's exit status."""
    raise NotImplementedError
