"""What a page has for its script."""

from __future__ import annotations

import json
import re
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    """Return the data of a report or of a sheet."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def words_of(script: str) -> list[list[tuple[str, str]]]:
    """Return key and words of English and of Chinese in a script of words."""
    entry = re.compile(r"^    (\w+):\s+(.*?),$", re.MULTILINE | re.DOTALL)
    return [entry.findall(part) for part in script.split("\n  zh: {\n")]
