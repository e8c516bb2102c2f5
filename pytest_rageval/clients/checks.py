"""What a provider's ``check`` may find missing before anything is asked."""

from __future__ import annotations

from pytest_rageval import extras
from pytest_rageval.clients.settings import ClientSettings


def missing_package(module: str, extra: str, settings: ClientSettings) -> list[str]:
    """Return the pip command for a package that is not installed, as the only problem."""
    if extras.installed(module):
        return []
    command = f'pip install "pytest-rageval[{extra}]"'
    return [f"provider: {settings.provider} needs the package {module}: {command}"]
