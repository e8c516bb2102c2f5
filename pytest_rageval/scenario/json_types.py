"""What a scenario file may write for a number, a text or a flag: JSON Schema, for editors.

Numbers may be written as text, since YAML 1.1 reads ``1e-2`` as text; bounds of such a number are
checked when the scenario is read, for JSON Schema cannot.
"""

from __future__ import annotations

from typing import Any, Final

_DIGITS: Final = r"(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?"

NUMBER: Final[dict[str, Any]] = {
    "type": ["number", "string"],
    "pattern": rf"^\s*[+-]?{_DIGITS}\s*$",
}
WHOLE: Final[dict[str, Any]] = {
    "type": ["integer", "string"],
    "pattern": r"^\s*[+-]?\d[\d_]*(\.0*)?\s*$",
}
DROP: Final[dict[str, Any]] = {
    "type": ["number", "string"],
    "minimum": 0,
    "pattern": rf"^\s*\+?{_DIGITS}\s*%?\s*$",
}
"""A fall: a number, or per cent."""
TEXT: Final[dict[str, Any]] = {"type": ["string", "number"]}
FLAG: Final[dict[str, Any]] = {
    "type": ["boolean", "integer", "string"],
    "minimum": 0,
    "maximum": 1,
    "pattern": r"^([01]|[tT]([rR][uU][eE])?|[fF]([aA][lL][sS][eE])?|[yY]([eE][sS])?|[nN][oO]?"
    r"|[oO]([nN]|[fF][fF]))$",
}
"""Also the words that YAML 1.1 takes for true and false, and YAML 1.2, as editors read it, not."""
