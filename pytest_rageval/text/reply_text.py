"""Turns a judge's reply into plain lines: without thoughts and Markdown, with its JSON as lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rageval.text.limits import TOO_DEEP, LimitError
from pytest_rageval.text.loose_json import FoundJson, is_json, iter_json

# A longer text is an explanation, not a score or verdict in a few words.
_PROSE = 40

_THOUGHT = r"(?i)[<◁]\s*(/?)\s*(?:think|thinking|thoughts?|reasoning)\s*[>▷]"
_QUOTED = (
    r"(?P<before>[:=]\s?)?"
    r"(?:\"(?P<words>[^\"\n]{0,500})\"|[“「『](?P<other>[^“”「」『』\n]{0,500})[”」』])"
)
_TAG = r"<(/?)([A-Za-z][\w-]{0,30})(?:\s[^<>\n]{0,100})?/?>"
_BULLET = r"(?m)^[ \t]*(?:[-+>#•·]+[ \t]+)+"

DECLINES = (
    r"\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to|not possible to"
    r"|impossible to|won't|refuse to) (?:\w+ ){0,3}(?:judge|rate|scor|evaluat|assess|grad|determin"
    r"|decid|verif|answer|help|assist|provid|give|tell)"
    r"|(?:无法|不能|难以|没法|拒绝)[^\n。]{0,10}(?:评|打分|判|给出|给分|确定|回答)"
)
"""Matches lines of a reply in which the judge declines to judge."""


class UnreadableReplyError(ValueError):
    """A reply does not contain what was asked for; the text says what was found instead."""


def objects_in(text: str) -> Iterator[FoundJson]:
    """Yield the complete outermost objects of a reply; UnreadableReplyError for a deep one."""
    try:
        yield from iter_json(text)
    except LimitError:
        raise UnreadableReplyError(f"its JSON is {TOO_DEEP}") from None


def strip_thinking(text: str) -> str:
    """Return ``text`` without ``<think>`` blocks, even if one end of a block is missing.

    A reply that is JSON as a whole is returned unchanged: its texts may quote such a tag.
    """
    if is_json(text):
        return text
    kept: list[str] = []
    is_thought, at = False, 0
    for tag in re.finditer(_THOUGHT, text):
        if not is_thought:
            kept.append(text[at : tag.start()])
            if tag[1]:
                # Some servers drop the beginning of a block: all text so far was thought.
                kept.clear()
        is_thought, at = not tag[1], tag.end()
    if not is_thought:
        kept.append(text[at:])
    return "".join(kept).strip()


def to_lines(reply: str) -> str:
    """Return a reply as plain lines in lower case, so that patterns can read it.

    Full-width characters become plain ones (NFKC), JSON objects and tags ``<score>4</score>`` lines
    of ``key: value``; boxed answers become ``final: ...``; Markdown is removed.
    """
    text = re.sub(r"(\d?)½", lambda found: f"{found[1] or 0}.5", strip_thinking(reply))
    text = unicodedata.normalize("NFKC", text).replace("−", "-")
    text = re.sub(r"\\boxed\{([^{}\n]*)\}|\[\[([^\[\]\n]*)\]\]", _boxed, text)
    text = _json_as_lines(text).replace("\\n", "\n")
    text = re.sub(_TAG, lambda tag: "\n" if tag[1] else f"\n{tag[2]}: ", text)
    text = re.sub(_QUOTED, _quotation, re.sub(r"```[a-zA-Z]*", "", text).replace("`", '"'))
    text = re.sub(r"[*_~\u200b-\u200d\ufeff]+", _blank, text)
    text = re.sub(r"(?m)^[ \t]*\|(.*)\|[ \t]*$", r"\1", text).replace("|", ":")
    text = re.sub(_BULLET, "", text).lower()
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _boxed(found: re.Match[str]) -> str:
    return f"\nfinal: {found[1] or found[2] or ''}\n"


def _blank(found: re.Match[str]) -> str:
    """Return the replacement of a Markdown mark: a space in ``final_score``, ``~`` for a range."""
    return " " if "_" in found[0] else "~" if found[0] == "~" else ""


def _quotation(found: re.Match[str]) -> str:
    """Return a short quotation unchanged and a long one, which quotes others, as empty."""
    words = (found["words"] or found["other"] or "").strip()
    is_named = found["before"] and not re.search(r"[:=\d]", words)
    is_short = not re.search(r"[:=]", words) and (
        len(words) <= 6 or not re.search(r"[\s\u4e00-\u9fff]", words)
    )
    return found[0] if is_short or is_named or found[0] == found.string.strip() else '""'


def _json_as_lines(text: str) -> str:
    parts, at = [], 0
    for found in objects_in(text):
        leaves = list(_leaves(found.value, ""))
        short = [line for line, is_prose in leaves if not is_prose]
        lines = short or [line for line, _ in leaves]
        parts += [text[at : found.start], "\n", *(f"{line}\n" for line in lines)]
        at = found.end
    return "".join([*parts, text[at:]])


def _leaves(value: Any, label: str) -> Iterator[tuple[str, bool]]:
    """Yield ``label: value`` for each value that is not nested, and whether it is prose."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(str(key).split()))
            yield from _leaves(part, f"{label} {spaced}".strip())
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, label)
    elif isinstance(value, str):
        # One line without tags, so that all of it is the value of this label.
        said = " ".join(re.sub(r"[<>|\\]", " ", value).split())
        yield f"{label}: {said}", len(said) > _PROSE
    else:
        yield f"{label}: {'null' if value is None else value}", False
