"""Regular expressions whose words are data: the files of phrases that stand beside the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files


def phrases_in(package: str, name: str) -> Mapping[str, list[str]]:
    """Return the patterns in a file of TOML by name, one or several.

    A text is one pattern, a list of texts one in pieces, and a list of such lists several patterns.
    ``{NAME}`` in a pattern is replaced by the one of that name, which stands above it.
    """
    import tomllib  # not at every start

    found: dict[str, list[str]] = {}
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    for key, given in tomllib.loads(text).items():
        pieces = [given] if isinstance(given, str) else given
        patterns = [pieces] if isinstance(pieces[0], str) else pieces
        found[key] = [
            re.sub(r"\{([A-Z_]+)\}", lambda part: found[part[1]][0], "".join(pattern))
            for pattern in patterns
        ]
    return found
