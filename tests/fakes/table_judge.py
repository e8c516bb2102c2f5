"""A judge that looks up in a table which statements which sources support."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from scripted_models import ScriptedJudge

Look = Callable[[str, tuple[str, ...]], Any]
"""From a statement and the parts of a source to a level, or [level, reason], or None: no reply."""

_SOURCE = re.compile(r"<source>\n(.*?)\n</source>", re.DOTALL)
_STATEMENT = re.compile(r'<statement n="(\d+)">\n(.*?)\n</statement>', re.DOTALL)


def table_judge(look: Look) -> ScriptedJudge:
    """Return a judge that answers each cell of a support table by ``look``."""

    def reply(prompt: str) -> Any:
        sources = tuple(_SOURCE.findall(prompt))
        verdicts = [_verdict(int(n), look(text, sources)) for n, text in _STATEMENT.findall(prompt)]
        return {"verdicts": [verdict for verdict in verdicts if verdict]}

    return ScriptedJudge({"support": reply})


def asked(judge: ScriptedJudge) -> Sequence[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the calls of a judge: the parts of the source, and the statements."""
    return [
        (tuple(_SOURCE.findall(prompt)), tuple(text for _, text in _STATEMENT.findall(prompt)))
        for prompt in judge.prompts
    ]


def _verdict(number: int, said: Any) -> dict[str, Any] | None:
    if said is None:
        return None
    level, reason = (said, "") if isinstance(said, str) else said
    return {"n": number, "support": level, "reason": reason}
