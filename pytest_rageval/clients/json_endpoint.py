"""JSON posted to a server of models, and its failures as errors of ours: what HTTP providers share.

A 429 is a rate limit, with the wait that ``Retry-After`` asks for, unless the account is empty; a
401 is about the key; a body that is no JSON object is the server's fault. Limits, retries and the
cache are in the layer that calls this one.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.clients.base import Usage, missing_package
from pytest_rageval.clients.errors import (
    AuthError,
    BadRequestError,
    CallTimeoutError,
    ClientError,
    QuotaError,
    RateLimitError,
    RefusedError,
    ServerError,
)
from pytest_rageval.clients.http import (
    BodyError,
    Credentials,
    HttpReply,
    Transport,
    UnsendableError,
    read_credentials,
    retry_after,
)
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.errors import shorten
from pytest_rageval.redaction import shown_url
from pytest_rageval.text.codec import read_json

_NO_CREDIT = ("insufficient_quota", "billing_hard_limit", "insufficient balance", "credit balance")
_NO_CREDIT_CODES = {
    *("insufficient_quota", "insufficient_user_quota", "exceeded_current_quota_error"),
    *("billing_hard_limit_reached", "billing_not_active", "insufficient_balance"),
    *("arrearage", "accountoverdueerror"),
}
# How a message of an empty account begins: further on, it may quote a row. One of a limit that
# ends by itself, such as "per minute", is none.
_NO_CREDIT_FIRST = re.compile(
    r"(?!.*(?:每分|分钟|秒|小时(?!客服|服务|在线)|每[日天]|[今明][日天]|并发|频|稍[后候等]|过一会|繁忙|(?<![a-z\d])[rtq]p[sm](?![a-z])"
    r"|per (?:second|minute)|retry (?:in|after)))"
    r"(?:your credit balance is too low|insufficient balance"
    r"|(?:sorry, )?(?:your )?account balance is insufficient"
    r"|(?:(?:对不起|抱歉|您好)[,，]?)?(?:您的|该|当前)?(?:[账帐][户号]|用户|令牌)?(?:可用|免费)?"
    r"(?:余额不足|已?欠费|额度(?:不足|已用[完尽])))(?=\W|$|或|请)"
)
_BAD_KEY = (
    "no api key",
    "api key was not",
    "authentication error",
    "authenticationerror",
    "invalid_api_key",
)
_MOST_TOKENS = 10**9
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
_NEVER = (501, 505, 508, 510, 511)
"""The statuses of a server that will never be able to answer this."""
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy", "data_inspection_failed")


class JsonEndpoint:
    """Posts JSON below the base URL of ``settings``."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._credentials: Credentials | None = None
        self._transport: Transport | None = None
        self._where = f"{settings.shown} at {settings.endpoint}"
        # The query, of some gateways a key, goes along with every request and is never shown.
        self._query = f"?{settings.url.query}" if settings.url.query else ""
        self._base = settings.url._replace(query="", fragment="").geturl().rstrip("/")

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the JSON object that the server answers, and after how many seconds.

        Raises ClientError for anything else.
        """
        self._credentials = self._credentials or read_credentials(self._settings)
        began = time.perf_counter()
        reply = await self._send(path, json.dumps(body).encode("ascii"), self._credentials)
        latency_s = time.perf_counter() - began
        if 200 <= reply.status < 300:
            return self._parse(reply.body, reply.headers), latency_s
        raise self._failure(reply.status, reply.headers, reply.body)

    def odd_answer(self, found: str) -> ServerError:
        """Return the error for an answer that holds ``found`` instead of what was asked for."""
        return ServerError(f"{self._where}: answered {found}", is_transient=True)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    async def _send(self, path: str, body: bytes, credentials: Credentials) -> HttpReply:
        transport = self._transport = self._transport or self._open(credentials)
        url = f"{self._base}/{path}{self._query}"
        try:
            return await transport.send(self._where, "POST", url, body)
        except BodyError as error:
            hint = f" ({self._settings.role}.max_mb)" if error.is_too_long else ""
            text = f"{self._where}: {self._hide(str(error))}{hint}"
            raise ServerError(text, is_transient=not error.is_too_long) from None
        except TimeoutError:
            raise self._late("batch_size" if path == "embeddings" else "max_tokens") from None
        except UnsendableError:
            raise BadRequestError(
                f"{self._where}: base_url is no URL that can be used; "
                "write it as in http://127.0.0.1:8080/v1"
            ) from None

    def _late(self, option: str) -> CallTimeoutError:
        """Return the error of no answer in time; a smaller ``option`` makes answers shorter."""
        role = self._settings.role
        text = f"{self._where}: no answer in time (timeout_s is {self._settings.timeout_s:g})"
        raise_it = f"raise {role}.timeout_s, or"
        return CallTimeoutError(
            f"{text}; {raise_it} lower {role}.concurrency",
            is_transient=True,
            if_alone=f"{text}, though no other request was in flight; {raise_it} write a smaller "
            f"{role}.{option}",
        )

    def _open(self, credentials: Credentials) -> Transport:
        return Transport(
            "asking a model over HTTP",
            lambda body, _: credentials.scrub(body, json.detect_encoding(body)),
            most_mb=self._settings.max_mb,
            connect_s=self._settings.timeout_s,
            total_s=self._settings.timeout_s,
            headers={"Content-Type": "application/json", **credentials.headers},
        )

    def _parse(self, raw: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        try:
            answer = read_json(raw)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            kind = shorten(self._hide(headers.get("Content-Type", "no content type")), 40)
            raise self.odd_answer(f"{len(raw)} bytes of {kind}, which are no JSON object")
        error = answer.get("error")
        if error:  # some gateways answer 200 and put the real status inside
            raise self._failure(_status_inside(error), headers, raw)
        return answer

    def _hide(self, text: str) -> str:
        # post() reads the credentials before it sends anything: there is no text without them.
        return self._credentials.hide(text) if self._credentials else ""

    def _failure(self, status: int, headers: Mapping[str, str], raw: bytes) -> ClientError:
        says = self._hide(_server_says(raw))
        text = f"HTTP {status}: {shorten(says, 300)}" if says else f"HTTP {status}"
        said_lower = says.lower()
        has_no_credit = _has_no_credit(status, said_lower, _codes(raw))
        error = self._error_of_status(status, headers, text, said_lower, has_no_credit)
        error.status, error.said = status, said_lower
        # A server that loads its model says 503, and so may one in front of it.
        error.may_be_starting = status == 503
        return error

    def _error_of_status(
        self,
        status: int,
        headers: Mapping[str, str],
        text: str,
        said_lower: str,
        has_no_credit: bool,
    ) -> ClientError:
        is_refused = status == 401 or (status == 403 and not has_no_credit)
        # A gateway may say 500 where a key is missing or wrong.
        if is_refused or (status == 500 and any(word in said_lower for word in _BAD_KEY)):
            return AuthError(f"{self._where}: {self._about_key(text)}")
        if has_no_credit:
            return QuotaError(f"{self._where}: the account has no credit left ({text})")
        if status == 429:
            role = self._settings.role
            hint = f"lower {role}.concurrency, or set {role}.rpm or {role}.tpm"
            return RateLimitError(
                f"{self._where}: rate limit ({text}); {hint}",
                is_transient=True,
                retry_after_s=retry_after(headers),
            )
        if status in _NEVER:
            return ServerError(f"{self._where}: the server cannot do this ({text})")
        if status in (408, 409, 425) or status >= 500:
            return ServerError(
                f"{self._where}: the server failed ({text})",
                is_transient=True,
                retry_after_s=retry_after(headers),
            )
        if 300 <= status < 400:
            return BadRequestError(self._redirected(headers))
        if status == 400 and any(word in said_lower for word in _FILTERED):
            return RefusedError(f"{self._where}: a content filter stopped the request ({text})")
        hint = self._hint(status, said_lower)
        return BadRequestError(f"{self._where}: the request was not accepted ({text}){hint}")

    def _about_key(self, text: str) -> str:
        settings = self._settings
        if settings.api_key_env:
            return f"the key is not accepted ({text}); check the value of {settings.api_key_env}"
        if settings.headers or settings.url.query:
            return f"the key is not accepted ({text})"
        return (
            f"no key was sent: set {settings.role}.api_key_env to the name of the environment "
            f"variable that holds it ({text})"
        )

    def _hint(self, status: int, said_lower: str) -> str:
        if status == 404:
            return "; is the model's name right, and does base_url end in /v1?"
        if "temperature" in said_lower and self._settings.temperature is not None:
            return f"; {self._settings.role}.temperature: null leaves it out"
        return ""

    def _redirected(self, headers: Mapping[str, str]) -> str:
        goal = shown_url(self._hide(headers.get("Location", ""))) or "nowhere"
        return (
            f"{self._where}: redirects to {shorten(goal, 200)}; set {self._settings.role}.base_url "
            "to that address if it is your server"
        )


def check_endpoint(settings: ClientSettings, *, has_default: bool = False) -> list[str]:
    """Return what is wrong with a base URL, and a missing package for HTTP; it sends no request.

    ``has_default``: base_url may be missing, as requests then go to OpenAI. Without it base_url is
    needed: requests of another API never go there.
    """
    problems = missing_package("aiohttp", "judge", settings)
    if settings.base_url is None and not has_default:
        return [*problems, f"base_url: provider {settings.provider!r} needs the URL of a server"]
    url = settings.url
    if url.scheme not in ("http", "https") or not url.hostname:
        problems.append(f"base_url: {settings.endpoint!r} is no http or https URL")
    elif "@" in url.netloc:
        problems.append(
            "base_url: must not hold a user or password; name an environment variable in "
            "api_key_env, or use ${NAME} in headers"
        )
    return problems


def usage_of(counts: Sequence[int | None], texts: Sequence[str], reply: str) -> Usage:
    """Return the usage by what ``stated_tokens`` found; an estimate where that is None, or zero.

    ``counts`` are the tokens of the prompt, which has ``texts``, and those of the reply.
    """
    prompt, completion = (
        count or math.ceil(sum(map(estimate_tokens, parts)))
        for count, parts in zip(counts, (texts, [reply]), strict=True)
    )
    return Usage(prompt, completion, calls=1)


def stated_tokens(answer: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and completion in the ``usage`` of an answer.

    None for one that is missing, or an impossible number. The first is of the prompt's tokens: if
    it is 0, as some gateways say, both are None. Thinking, and what was cached of the prompt, may
    be counted in the total alone.
    """
    usage = answer.get("usage")
    counts = [usage.get(name) if isinstance(usage, Mapping) else None for name in _COUNTS]
    prompt, completion, total = (
        count if type(count) is int and 0 <= count <= _MOST_TOKENS else None for count in counts
    )
    if prompt == 0:  # a prompt has tokens
        return None, None
    if prompt and completion is not None and total is not None:
        said = [answer["usage"].get(name) for name in _CACHED]
        cached = [count for count in said if type(count) is int and count > 0]
        # Anthropic's names, beside which gateways count the prompt without what was cached.
        beside, extra = sum(cached), max(total - prompt - completion, 0)
        if extra >= beside or extra in cached:  # else the total has no room for what was cached
            prompt += min(extra, beside)
        completion = max(completion, total - prompt)
    return prompt, completion


def _has_no_credit(status: int, said_lower: str, codes: set[str]) -> bool:
    """Return whether the account is empty.

    402 says so; 429 and 500 with words of ``_NO_CREDIT`` anywhere; these, 400 and 403 with a code,
    or as the message begins, unless a content filter stopped the request.
    """
    if status == 402 or (status in (429, 500) and any(word in said_lower for word in _NO_CREDIT)):
        return True
    if status not in (400, 403, 429, 500) or any(word in said_lower for word in _FILTERED):
        return False
    return bool(codes & _NO_CREDIT_CODES or _NO_CREDIT_FIRST.match(said_lower))


def _codes(raw: bytes) -> set[str]:
    """Return each code and type that an error answer names, in lower case."""
    try:
        answer = read_json(raw)
    except ValueError:
        return set()
    parts = [answer, answer.get("error")] if isinstance(answer, dict) else []
    named = [(part.get("code"), part.get("type")) for part in parts if isinstance(part, dict)]
    return {str(code).lower() for pair in named for code in pair}


def _status_inside(error: object) -> int:
    """Return the HTTP status that an error names as its ``code``, 500 for any other code."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500


def _server_says(raw: bytes) -> str:
    """Return the message of an error answer, with its code, on one line; of HTML, the title."""
    try:
        answer = read_json(raw)
    except ValueError:
        text = raw[:2000].decode("utf-8", "replace")
        if text.lstrip().startswith("<"):
            title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
            text = title[1] if title else ""
        return " ".join(text.split())
    words = _words(answer)
    return " ".join(" ".join(words).split()) if words else ""


def _words(answer: Any) -> list[str]:
    if isinstance(answer, str | int):
        return [str(answer)]
    if isinstance(answer, list):  # FastAPI lists what it finds wrong
        return [word for part in answer[:3] for word in _words(part)]
    if not isinstance(answer, dict):
        return []
    names = ("error", "message", "msg", "detail", "errors", "code", "type", "param")
    return [word for name in names if name in answer for word in _words(answer[name])]
