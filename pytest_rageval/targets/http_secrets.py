"""What of a request an HTTP service must not repeat, and what is done where it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, unquote

from pytest_rageval.clients.http import Credentials
from pytest_rageval.clients.plain_words import HARMLESS, WORDS, is_passcode, may_be_said
from pytest_rageval.model.value import texts_in
from pytest_rageval.redaction import (
    HIDDEN,
    host,
    is_clearly_secret,
    is_plain_header,
    is_secret_number,
    looks_secret,
    named_secrets,
    names_secret,
    query_secrets,
    sounds_secret,
)
from pytest_rageval.scenario.fields import OF_ANSWERS, WITH_ANSWERS
from pytest_rageval.targets.base import Answer, TargetError
from pytest_rageval.targets.templates import Template, places
from pytest_rageval.text.json_value import change_texts


@dataclass(frozen=True, slots=True)
class Secret:
    """A value of a request that may be a secret, where it was written, and whether it surely is."""

    place: str
    value: str = field(repr=False)
    is_sure: bool


class Secrets:
    """Takes what was sent out of what a service says; ``in_messages`` are taken out of these only.

    The plain words of a literal header may be in any answer: that is no leak.
    """

    def __init__(self, found: Iterable[Secret], in_messages: Iterable[str]) -> None:
        found = list(found)
        values = [one.value for one in found]
        self._replies = Credentials({}, values)
        self._messages = Credentials({}, [*values, *in_messages])
        self._each = [(one, Credentials({}, [one.value]).redacted) for one in found]

    def scrub(self, raw: bytes) -> bytes:
        """Return what a service said without our secrets."""
        return self._replies.scrub(raw)

    def hide(self, text: str) -> str:
        """Return ``text`` with asterisks for secrets."""
        return self._messages.hide(text)

    def sure_places(self, texts: Iterable[str]) -> list[str]:
        """Return where the secrets were written that surely are some, and are in ``texts``."""
        return list(dict.fromkeys(one.place for one in self._held(texts) if one.is_sure))

    def without(self, answer: Answer) -> Answer:
        """Return an answer without secrets, with a remark if another answer is scored so.

        Raises TargetError where what is scored holds what surely is one.
        """
        sure = self.sure_places(_scored(replace(answer, context_docs=None)))
        if sure:
            raise TargetError(
                f"what it answers holds a secret that it was sent ({', '.join(sure)}): not shown, "
                "not scored"
            )
        held = self._held(_scored(answer))
        if held:
            answer = replace(
                answer, remark=_remark(held), **_changed(answer, self._replies.redacted)
            )
        return replace(answer, extra=self._clean(answer.extra)) if answer.extra else answer

    def _held(self, texts: Iterable[str]) -> list[Secret]:
        held = [text for text in texts if self._replies.redacted(text) != text]
        return [one for one, cut in self._each if any(cut(text) != text for text in held)]

    def _clean(self, value: Any) -> Any:
        """Return a value of JSON without our secrets, in keys and as numbers, too."""
        if isinstance(value, Mapping):
            return {self._clean(key): self._clean(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(part) for part in value]
        text = value if isinstance(value, str) else str(value)
        clean = self._replies.redacted(text)
        return clean if isinstance(value, str) or clean == HIDDEN else value


def _remark(held: Iterable[Secret]) -> str:
    named = ", ".join(dict.fromkeys(one.place for one in held))
    return (
        f"answers repeat what was sent and may be a secret ({named}): it is shown, and scored, as "
        "***; if it is none, send it in plain words, or as a field of the body with a plain name"
    )


def _scored(answer: Answer) -> Iterator[str]:
    """Yield the texts of an answer that metrics read."""
    beside = [answer.extra.get(name) for name in WITH_ANSWERS for name in OF_ANSWERS[name]]
    return texts_in(
        [answer.text, answer.contexts, answer.context_docs, answer.retrieved_ids, beside]
    )


def _changed(answer: Answer, change: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields of an answer that metrics read, but for ``extra``, with texts changed."""
    said = {name: getattr(answer, name) for name in ("contexts", "context_docs", "retrieved_ids")}
    lists = {name: part and tuple(change_texts(part, change)) for name, part in said.items()}
    return {**lists, "text": answer.text and change(answer.text)}


def find_secrets(
    url: str,
    rest: Template,
    place: SplitResult,
    headers: Mapping[str, str],
    variables: Mapping[str, str],
) -> Secrets:
    """Return the secrets of a request.

    ``rest`` has headers, query and body as they were written; ``place`` is ``url`` and ``headers``
    are those of ``rest``, both with their variables filled in.
    """
    literal = {name: text for name, text in headers.items() if name.lower() not in _PLAIN}
    written = rest.value[0]
    found = [
        Secret("the password of url", unquote(place.password or ""), is_sure=True),
        Secret("the user of url", unquote(place.username or ""), is_sure=False),
        *(_of_variable(name, variables[name]) for name in sorted(rest.variables)),
        *_of_url(url, place, variables),
        *(
            Secret(f"headers.{name}", value, _is_sure(name, value))
            for name, value in headers.items()
            if sounds_secret(name) or (name in literal and not _is_plain(name, value, written))
        ),
        *_of_fields("query", rest.value[1]),
        *_of_fields("body", rest.value[2]),
    ]
    named = (text for text in named_secrets(rest.value[1:]) if not list(places(text)))
    return Secrets(found, (*literal.values(), *query_secrets(place.query), *named))


def _of_variable(name: str, value: str) -> Secret:
    return Secret(f"${{{name}}}", value, _is_sure(name, value))


def _of_url(url: str, place: SplitResult, variables: Mapping[str, str]) -> Iterator[Secret]:
    # The place of the service may be shown, even if a variable holds it.
    shown = f"{place.scheme}://{host(place.geturl())}"
    for name in sorted(Template(url).variables):
        value = variables[name].strip("/")
        if "://" not in value and value not in shown:
            yield _of_variable(name, value)
    for pair in place.query.split("&"):
        name, equals, _ = pair.partition("=")
        for value in query_secrets(pair, with_version=False):
            if not (equals and may_be_said(name, value)):
                yield Secret("the query of url", value, bool(equals) and _is_sure(name, value))


def _of_fields(where: str, sent: object, name: str = "") -> Iterator[Secret]:
    """Yield what a query or body holds below names of secrets; not what is filled in for each row.

    ``name`` is the nearest one above a list; ``where`` is the path of ``sent``.
    """
    if isinstance(sent, dict):
        for key, part in sent.items():
            yield from _of_fields(f"{where}.{key}", part, str(key))
    elif isinstance(sent, list):
        for part in sent:
            is_named = names_secret(name) or is_passcode(name)
            yield from _of_fields(where, part, name if is_named else "")
    elif is_secret_number(name, sent) or (type(sent) is int and _PIN.search(name)):
        yield Secret(where, str(sent), is_secret_number(name, sent))
    elif isinstance(sent, str):
        is_filled = next(iter(places(sent)), None) is not None
        is_named = sounds_secret(name) or is_passcode(name)
        if is_named and not (is_filled or may_be_said(name, sent)):
            yield Secret(where, sent, _is_sure(name, sent))


def _is_plain(name: str, value: str, written: Mapping[str, str]) -> bool:
    is_words = WORDS.fullmatch(value) is not None and not is_passcode(name)
    return is_words or is_plain_header(name, written.get(name, ""))


def _is_sure(name: str, value: str) -> bool:
    """Return whether a value is a secret by its name, or looks like one."""
    is_odd = not (HARMLESS.search(name) or _BARE.fullmatch(name) or WORDS.fullmatch(value))
    is_named = names_secret(name) and (is_odd or is_clearly_secret(name))
    return is_named or looks_secret(value)


_BARE = re.compile(r"(?i)keys?|sessions?")
_PIN = re.compile(r"(?i)(?:^|[_-])(?:pass|pin|pw|otp)$|(?:pass|pin|door)code$")
"""Names of numbers that are secrets; other codes are of goods, stations and the like."""
_PLAIN = ("accept", "accept-language", "content-type", "user-agent")
"""Headers whose literal values hold no key."""
