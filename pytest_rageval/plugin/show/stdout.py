"""Prints to standard output, for options that run no tests."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print ``text``; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
