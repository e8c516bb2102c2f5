"""``--rag-serve`` and ``--rag-mcp``: what they take from pytest, and their exit status."""

from __future__ import annotations

import sys

import pytest

from pytest_rageval.errors import MissingExtraError, UserError, shorten
from pytest_rageval.plugin.options import AGENTS, MCP_PROFILES
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.serving.project import Project


def serve(config: pytest.Config) -> int:
    """Serve the web app, or tools over MCP, until the end; return pytest's exit status."""
    port, profile = config.getoption("rag_serve"), config.getoption("rag_mcp")
    try:
        return _serve_tools(config, profile) if port is None else _serve_app(config, _port(port))
    except (UserError, MissingExtraError) as error:
        raise pytest.UsageError(str(error)) from error


def _serve_app(config: pytest.Config, port: int) -> int:
    from pytest_rageval.serving.web.app import serve_app

    _end_capture(config)
    return serve_app(project_of(config), port)


def _serve_tools(config: pytest.Config, profile: str) -> int:
    if profile not in MCP_PROFILES:
        known = " or ".join(f"--rag-mcp={name}" for name in MCP_PROFILES)
        raise pytest.UsageError(f"--rag-mcp {profile}: no such profile; write {known}")
    from pytest_rageval.serving.mcp.stdio import take_descriptors

    project = project_of(config)
    _end_capture(config)
    take_descriptors()
    if profile == AGENTS:
        from pytest_rageval.serving.mcp.agents import serve_agents

        return serve_agents(project)
    from pytest_rageval.serving.mcp.ultrarag import serve_ultrarag

    return serve_ultrarag()


def project_of(config: pytest.Config) -> Project:
    """Return what a child process needs to be started as this pytest was, and where runs are."""
    typed = [str(text) for text in config.invocation_params.args]
    _remove(typed, "--rag-serve")
    _remove(typed, "--rag-mcp")
    settings = Settings.of(config)
    return Project(
        python=sys.executable,
        folder=config.invocation_params.dir,
        arguments=tuple(typed),
        paths=settings.run_paths,
        cache_dir=settings.cache_dir,
    )


def _remove(typed: list[str], flag: str) -> None:
    """Remove an option and its value from a command line, ``--x=1`` or ``--x 1``."""
    for at in reversed(range(len(typed))):
        if typed[at].partition("=")[0] == flag:
            has_value = typed[at] == flag and typed[at + 1 :] and not typed[at + 1].startswith("-")
            del typed[at : at + 1 + bool(has_value)]


def _port(text: str) -> int:
    if len(text) <= 5 and text.isascii() and text.isdigit() and int(text) < 2**16:
        return int(text)
    raise pytest.UsageError(
        f"--rag-serve {shorten(text)}: expected a port from 0 to 65535; write --rag-serve=PORT, "
        "and test paths after it"
    )


def _end_capture(config: pytest.Config) -> None:
    """Give this process its descriptors back: a server reads and writes them itself."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
        printed = "".join(capture.read_global_capture())
        # Else pytest would stop it at its end, and restore the stdout that the server took.
        capture.stop_global_capturing()
        sys.stderr.write(printed)
