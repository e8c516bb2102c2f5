"""Scenario files made of whatever Hypothesis thinks of."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import bounded_examples  # noqa: F401  (before any property is defined)
import pytest
from without_extras import pytest_fixture_setup, pytest_pyfunc_call  # noqa: F401

WriteFiles = Callable[[Mapping[str, bytes]], Path]


@pytest.fixture(scope="module")
def files() -> Iterator[WriteFiles]:
    """Return a function that writes files by name and returns the path of ``s.yaml``.

    One folder for all examples of a module: names are the same, the contents are replaced.
    """
    with tempfile.TemporaryDirectory(prefix="rageval-property-") as name:
        folder = Path(name)

        def write(contents: Mapping[str, bytes]) -> Path:
            for file, content in contents.items():
                (folder / file).write_bytes(content)
            return folder / "s.yaml"

        yield write
