"""UltraRAG's evaluation tools over MCP."""

from __future__ import annotations


def serve_ultrarag() -> int:
    """Serve the tools on stdin and stdout until they are closed; return pytest's exit status."""
    raise NotImplementedError
