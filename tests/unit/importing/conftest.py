"""What the tests of imports share."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from promptfoo_files import Read, imported


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that imports a configuration, beside files if it is given any."""
    return partial(imported, tmp_path)
