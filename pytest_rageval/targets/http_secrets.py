"""What of a request an HTTP service must not repeat, and what is done where it does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, unquote

from pytest_rageval.clients.http import Credentials
from pytest_rageval.model.value import json_plain, texts_in
from pytest_rageval.redaction import (
    host,
    is_clearly_secret,
    is_plain_header,
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
        return [one.place for one in self._held(texts) if one.is_sure]

    def without(self, answer: Answer) -> Answer:
        """Return an answer without secrets, with a remark if another answer is scored so.

        Raises TargetError where what is scored holds what surely is one.
        """
        held = self._held(_scored(answer))
        sure = dict.fromkeys(one.place for one in held if one.is_sure)
        if sure:
            named = ", ".join(sure)
            message = f"its answer holds a secret that it was sent ({named}): not shown, not scored"
            raise TargetError(message)
        if held:
            answer = replace(
                answer, remark=_remark(held), **_changed(answer, self._replies.redacted)
            )
        return replace(answer, extra=self._in_extra(answer.extra)) if answer.extra else answer

    def _held(self, texts: Iterable[str]) -> list[Secret]:
        held = [text for text in texts if self._replies.redacted(text) != text]
        return [one for one, cut in self._each if any(cut(text) != text for text in held)]

    def _in_extra(self, extra: Mapping[str, Any]) -> Mapping[str, Any]:
        text = json.dumps(json_plain(extra), ensure_ascii=False)
        clean = self._replies.redacted(text)
        found: Mapping[str, Any] = extra if clean == text else json.loads(clean)
        return found


def _remark(held: Iterable[Secret]) -> str:
    named = ", ".join(dict.fromkeys(one.place for one in held))
    return (
        f"answers repeat what was sent and may be a secret ({named}): it is scored, and shown, as "
        "***; plain words written in query or body stay as they are"
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
        *(_of_variable(name, variables[name]) for name in rest.variables),
        *_of_url(url, place, variables),
        *(
            Secret(f"headers.{name}", value, _is_sure(name, value))
            for name, value in headers.items()
            if sounds_secret(name)
            or (name in literal and not _may_be_said(name, value, written.get(name)))
        ),
        *_of_fields(rest.value[1:]),
    ]
    return Secrets(found, (*literal.values(), *query_secrets(place.query)))


def _of_variable(name: str, value: str) -> Secret:
    return Secret(f"${{{name}}}", value, _is_sure(name, value))


def _of_url(url: str, place: SplitResult, variables: Mapping[str, str]) -> Iterator[Secret]:
    # The place of the service may be shown, even if a variable holds it.
    shown = f"{place.scheme}://{host(place.geturl())}"
    for name in Template(url).variables:
        value = variables[name].strip("/")
        if "://" not in value and value not in shown:
            yield _of_variable(name, value)
    for pair in place.query.split("&"):
        name, equals, _ = pair.partition("=")
        for value in query_secrets(pair, with_version=False):
            is_sure = bool(equals) and _is_sure(name, value)
            is_word = equals and _WORDS.fullmatch(value) and not _MAY_BE_SECRET.search(name)
            if is_sure or not is_word:
                yield Secret("the query of url", value, is_sure)


def _of_fields(sent: object) -> Iterator[Secret]:
    """Yield what query and body hold below names of secrets; not what is filled in for each row."""
    clear, strict = (
        set(named_secrets(sent, is_clearly_secret)),
        set(named_secrets(sent, names_secret)),
    )
    other = set(named_secrets(sent, lambda name: _MAY_BE_SECRET.search(name) is not None))
    for text in named_secrets(sent):
        is_words = _WORDS.fullmatch(text) is not None
        if list(places(text)) or (is_words and text not in clear | other):
            continue
        is_sure = text in clear or looks_secret(text) or (text in strict and not is_words)
        yield Secret("a key of query or body", text, is_sure)


def _is_sure(name: str, value: str) -> bool:
    """Return whether a value is a secret by its name, or looks like one."""
    is_named = names_secret(name) and not _WORDS.fullmatch(value)
    return is_named or is_clearly_secret(name) or looks_secret(value)


def _may_be_said(name: str, value: str, written: str | None) -> bool:
    """Return whether any answer may hold the value of a literal header."""
    return bool(_WORDS.fullmatch(value)) or is_plain_header(name, written or "")


_WORDS = re.compile(r"[A-Za-z .,;:/_-]*|[0-9 .,;:/_-]*")
"""Words alone, or figures alone, which any answer may hold."""
_MAY_BE_SECRET = re.compile(
    r"(?i)pass|pin|pwd|pw$|code|token|secret|credential|cookie|signature|sig$|session"
)
"""Of names below which words are secrets, too; unlike ``author``, ``keywords`` or ``sort_key``."""
_PLAIN = ("accept", "accept-language", "content-type", "user-agent")
"""Headers whose literal values hold no key."""
