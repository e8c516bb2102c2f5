"""A folder of documents that a test writes, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.questions.base import Documents
from pytest_rageval.questions.documents.read import read_documents


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Documents]:
    """Return a function from the contents of files by name to what is read of their folder."""
    folder = tmp_path / "docs"
    folder.mkdir()

    def read_files(files: dict[str, str | bytes]) -> Documents:
        for name, content in files.items():
            raw = content if isinstance(content, bytes) else content.encode("utf-8")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(raw)
        return read_documents(folder)

    return read_files
