"""Tools for coding agents over MCP."""

from __future__ import annotations

from pytest_rageval.serving.project import Project


def serve_agents(project: Project) -> int:
    """Serve the tools on stdin and stdout until they are closed; return pytest's exit status."""
    raise NotImplementedError
