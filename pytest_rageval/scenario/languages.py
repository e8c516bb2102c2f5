"""The languages that prompts may be in: codes of ISO 639-1, or names in English."""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.errors import did_you_mean, shorten

ENGLISH: Final = "english"

LANGUAGES: Final = {
    "ar": "Arabic",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": ENGLISH,
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Simplified Chinese",
}

_CODE = re.compile(r"[A-Za-z]{1,3}([-_]\w+)*")
_NAME = re.compile(r"[^\W\d_]{4,}([ -][^\W\d_]+|[ ]?\([^()]+\))*")


def check_language(text: str) -> str:
    """Return a code or a name; raise ValueError for a code that is unknown, or what is no name.

    Names beyond those of the codes are taken as they are: a judge knows more languages.
    """
    if text.lower() in ("auto", ENGLISH):
        return text
    if _CODE.fullmatch(text):
        if re.split("[-_]", text.lower())[0] in LANGUAGES:
            return text
    elif _NAME.fullmatch(text):
        return text
    known = ", ".join(sorted(LANGUAGES))
    hint = did_you_mean(text, [*LANGUAGES, *LANGUAGES.values()])
    raise ValueError(
        f"unknown language {shorten(repr(text))}.{hint} Known: auto, {known}; "
        "or write its English name"
    )
