"""Which values of a request any answer may hold: words that are no secret, by their names."""

from __future__ import annotations

import re

from pytest_rageval.redaction import (
    is_clearly_secret,
    is_plain_header,
    looks_secret,
    sounds_secret,
)


def is_said(name: str, written: str) -> bool:
    """Return whether any reply may hold a header, as it is ``written``: no variable is in it.

    >>> [is_said("X-Team", text) for text in ("research", "${TEAM}", "a1b2c3d4e5")]
    [True, False, False]
    """
    is_words = not sounds_secret(name) and may_be_said(name, written)
    return is_plain_header(name, written) or (is_words and _NO_WORDS.search(written) is None)


def may_be_said(name: str, value: str) -> bool:
    """Return whether any answer may hold what is sent under a name: words, with a harmless name."""
    is_harmless = not sounds_secret(name)
    is_harmless |= bool(HARMLESS.search(name)) and not is_clearly_secret(name)
    is_harmless &= not is_passcode(name)
    return is_harmless and not looks_secret(value) and WORDS.fullmatch(value) is not None


def is_passcode(name: str) -> bool:
    """Return whether a short value of this name may be a secret, as a PIN is."""
    return _SHORT_NAME.search(name) is not None and _CODE.search(name) is None


WORDS = re.compile(r"(?:[^\W\d]|[ .,;:/'’-])*|[0-9 .,;:/_-]*")
"""Words alone, or figures alone, which any answer may hold."""
HARMLESS = re.compile(
    r"(?i)(?:authors?|authority|keywords?|tokenizer)"
    r"(?:[_-](?!auth|bearer|cookie|cred|key|pass|pw|secret|sess|sig|token)[a-z]+)?$|"
    r"(?:field|foreign|group|input|json|order|output|partition|primary|range|routing|sort)[_-]?keys?$"
)
"""Names of what is no secret, though they sound like one."""
_NO_WORDS = re.compile(
    r"(?i)[a-z]{24}|\d{6}|\w:|^\s*(?:token|basic|bearer|api[-_]?key|key|pass(?:word)?|pwd)\b"
)
"""What may be a secret of a header: letters without an end, a long number, ``name: secret``."""
_SHORT_NAME = re.compile(
    r"(?i)(?:^|[_-]|pass|access|auth|user|login|pin|door)(?:pass|pin|code|pw|otp|sid)\d*$"
)
_CODE = re.compile(
    r"(?i)(?:airport|area|bar|color|country|course|currency|department|error|iso|lang|language"
    r"|locale|post|postal|product|sort|status|zip)[_-]?code$"
)
