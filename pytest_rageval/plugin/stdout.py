"""Standard output, for what is printed in the place of a run."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print ``text``; what the terminal's encoding lacks is spelled out as an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
