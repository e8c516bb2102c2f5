"""The module that a first scenario names as its target: a function to fill in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

FUNCTION: Final = "answer"

_MODULE: Final = '''\
"""Asks your system the questions of {scenario}."""


def {function}(question: str) -> {type}:
    """Return what your system {returns}.

    Write it here, for example::

        from my_app import rag

        return {example}
    """
    raise NotImplementedError("write in {file} how your system is asked")
'''


def target_text(file: str, scenario: str, asks: Sequence[str]) -> str:
    """Return the module ``file``, whose function is still to be written.

    ``asks`` are the fields that the scenario needs: the answer, or what a search found.
    """
    shown = re.sub(r"[^\w .-]", "_", scenario)  # it stands in a docstring
    parts: dict[str, str] = {"scenario": shown, "file": file, "function": FUNCTION}
    if tuple(asks) == ("answer",):
        parts |= {"type": "str", "returns": "answers", "example": "rag.ask(question)"}
    else:
        found = "ids" if asks[0] == "retrieved_ids" else "texts"
        parts |= {
            "type": "dict[str, object]",
            "returns": f"answers and, best first, the {found} that its search found",
            "example": f'{{"answer": rag.ask(question), "{asks[0]}": rag.search(question)}}',
        }
    return _MODULE.format(**parts)
