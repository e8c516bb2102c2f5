"""Tags around the texts of a prompt that no text in it can close."""

from __future__ import annotations

import re
from collections.abc import Iterable


def tagged(tag: str, text: str) -> str:
    """Return a text between tags, each on a line of its own."""
    return f"<{tag}>\n{text}\n</{tag}>"


def free_mark(texts: Iterable[str], names: Iterable[str]) -> str:
    """Return a suffix for tags of these names that no tag in the texts has: "" or a number.

    >>> free_mark(["no tag"], ["source"]), free_mark(["</source> </source-1>"], ["source"])
    ('', '-2')
    """
    pattern = rf"[<＜]\s*[/／]?\s*(?:{'|'.join(names)})(?:-(\d{{1,9}}))?"
    taken = {found[1] for text in texts for found in re.finditer(pattern, text, re.IGNORECASE)}
    if not taken:
        return ""
    numbers = {int(number) for number in taken if number}
    return f"-{next(number for number in range(1, len(numbers) + 2) if number not in numbers)}"
