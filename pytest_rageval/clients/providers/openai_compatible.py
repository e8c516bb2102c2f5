"""Any server with OpenAI's API: OpenAI, Azure, vLLM, Ollama, DeepSeek, Qwen, gateways, ..."""

from __future__ import annotations

import json
import math
import re
import time
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.clients.base import (
    ChatProvider,
    ChatRequest,
    EmbeddingProvider,
    FinishReason,
    Message,
    Reply,
    Usage,
    Vector,
    Vectors,
    missing_package,
    vector_in,
)
from pytest_rageval.clients.errors import (
    AskAgain,
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
    missing_credentials,
    preload,
    read_credentials,
    retry_after,
)
from pytest_rageval.clients.reply_form import (
    ReplyFormats,
    in_words,
    is_about_forms,
    response_format,
)
from pytest_rageval.clients.settings import ClientSettings, ReplyForm
from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.errors import shorten
from pytest_rageval.redaction import shown_url
from pytest_rageval.text.codec import read_json

_NO_CREDIT = ("insufficient_quota", "billing_hard_limit", "insufficient balance", "credit balance")
_NO_KEY = ("no api key", "api key was not", "authentication error", "authenticationerror")
_NEVER = (501, 505, 508, 510, 511)
"""What a server says that will never be able to answer this."""
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
        raise self._failure(reply.status, reply.headers, self._says(reply.body))

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
            raise BadRequestError(f"{self._where}: base_url is no URL that can be used") from None

    def _late(self, length: str) -> CallTimeoutError:
        """Return the error of no answer in time; the option ``length`` makes answers shorter."""
        role = self._settings.role
        text = f"{self._where}: no answer in time (timeout_s is {self._settings.timeout_s:g})"
        raise_it = f"raise {role}.timeout_s, or"
        return CallTimeoutError(
            f"{text}; {raise_it} lower {role}.concurrency",
            is_transient=True,
            if_alone=f"{text}, though no other request was in flight; {raise_it} write a smaller "
            f"{role}.{length}",
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
            code = error.get("code") if isinstance(error, dict) else None
            raise self._failure(code if isinstance(code, int) else 500, headers, self._says(raw))
        return answer

    def _says(self, raw: bytes) -> str:
        return self._hide(_server_says(raw))

    def _hide(self, text: str) -> str:
        return self._credentials.hide(text) if self._credentials else ""

    def _failure(self, status: int, headers: Mapping[str, str], says: str) -> ClientError:
        text = f"HTTP {status}: {shorten(says, 300)}" if says else f"HTTP {status}"
        names = says.lower()
        error = self._refusal(status, headers, text, says)
        error.status, error.names = status, names
        # A server that loads its model says 503, and so may one in front of it.
        error.may_be_starting = status == 503
        return error

    def _refusal(
        self, status: int, headers: Mapping[str, str], text: str, says: str
    ) -> ClientError:
        names = says.lower()
        # A gateway may say 500 where a key is missing or wrong.
        if status in (401, 403) or (status == 500 and any(word in names for word in _NO_KEY)):
            return AuthError(f"{self._where}: {self._about_key} ({text})")
        if status == 402 or (status == 429 and any(word in names for word in _NO_CREDIT)):
            return QuotaError(f"{self._where}: the account has no credit left ({text})")
        if status == 429:
            hint = f"lower {self._settings.role}.concurrency, or set rpm or tpm"
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
        if status == 400 and any(word in names for word in _FILTERED):
            return RefusedError(f"{self._where}: a content filter stopped the request ({text})")
        hint = self._hint(status, names)
        return BadRequestError(f"{self._where}: the request was not accepted ({text}){hint}")

    @property
    def _about_key(self) -> str:
        settings = self._settings
        if settings.api_key_env or settings.headers or settings.url.query:
            return "the key is not accepted"
        return f"no key was sent: {settings.role}.api_key_env names the variable that holds it"

    def _hint(self, status: int, names: str) -> str:
        if status == 404:
            return "; is the model's name right, and does base_url end in /v1?"
        if "temperature" in names and self._settings.temperature is not None:
            return f"; {self._settings.role}.temperature: null leaves it out"
        return ""

    def _redirected(self, headers: Mapping[str, str]) -> str:
        goal = shown_url(self._hide(headers.get("Location", ""))) or "nowhere"
        return (
            f"{self._where}: redirects to {shorten(goal, 200)}; set base_url to where it should go"
        )


def check_endpoint(settings: ClientSettings) -> list[str]:
    """Return what is wrong with a base URL, or missing for HTTP at all, without a request."""
    problems = missing_package("aiohttp", "judge", settings)
    url = settings.url
    if url.scheme not in ("http", "https") or not url.hostname:
        problems.append(f"base_url: {settings.endpoint!r} is no http or https URL")
    elif "@" in url.netloc:
        problems.append(
            "base_url: must not hold a user or password; name an environment variable in "
            "api_key_env, or use ${NAME} in headers"
        )
    return problems


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


_MOST_TOKENS = 10**9

_ABOUT_TOKENS = ("max_tokens", "max_completion_tokens", "completion tokens", "in the completion")

_FINISH: Mapping[str, FinishReason] = {"length": "length", "content_filter": "refused"}


class OpenAIChat:
    """Chat completions. Learns from refusals which optional parameters the server takes."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._endpoint = JsonEndpoint(settings)
        self._forms = ReplyFormats(settings.form)
        self._tokens_name = "max_tokens"
        self._has_limit = True  # of tokens, where the scenario names none

    async def ask(self, request: ChatRequest) -> Reply:
        """Return the reply to one request, whatever it says."""
        form, tokens_name = self._forms.form, self._tokens_name
        body = self._body(request)
        try:
            answer, latency_s = await self._endpoint.post("chat/completions", body)
        except (BadRequestError, ServerError) as error:
            if request.schema is not None:
                if self._forms.steps_down(form, error):
                    raise AskAgain from error
                self._may_be_the_form(form, error)
            if tokens_name in body and (
                self._renames_tokens(tokens_name, error) or self._drops_limit(error)
            ):
                raise AskAgain from error
            raise
        if request.schema is not None:
            self._forms.works()
        return self._reply(request.messages, answer, latency_s)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        settings, schema, messages = self._settings, request.schema, request.messages
        optional: dict[str, Any] = {
            "temperature": settings.temperature,
            self._tokens_name: request.max_tokens if self._has_limit else None,
            "seed": settings.seed,
        }
        if schema is not None:
            messages = in_words(messages, schema, self._forms.form)
            optional["response_format"] = response_format(schema, self._forms.form)
        return {
            "model": settings.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages],
            **{name: value for name, value in optional.items() if value is not None},
            **settings.extra_body,
        }

    def _may_be_the_form(self, form: ReplyForm, error: ClientError) -> None:
        """Have another form tried before a server that fails with this one is given up.

        Only for HTTP 500: the other codes say that the server is away or busy.
        """
        if is_about_forms(error) or error.status == 500:
            error.message += f"; {self._settings.role}.form says how JSON is asked for: {form} here"
        if error.status == 500:
            error.last_resort = lambda: self._forms.last_resort(form)

    def _drops_limit(self, error: ClientError) -> bool:
        """Return whether a limit that nobody wrote is more than the server has room for."""
        if self._settings.max_tokens is not None or not self._has_limit:
            return False
        self._has_limit = not any(word in error.names for word in _ABOUT_TOKENS)
        return not self._has_limit

    def _renames_tokens(self, tried: str, error: ClientError) -> bool:
        """Return whether the server wants the newer name of the limit of tokens."""
        if tried != "max_tokens" or "max_completion_tokens" not in error.names:
            return False
        self._tokens_name = "max_completion_tokens"
        return True

    def _reply(
        self, messages: Sequence[Message], answer: Mapping[str, Any], latency_s: float
    ) -> Reply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            text = _text(message.get("content"))
            refusal = message.get("refusal")
            finish = _FINISH.get(str(choice.get("finish_reason")), "stop")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._endpoint.odd_answer(
                "a chat completion without choices[0].message"
            ) from None
        return Reply(
            text=str(refusal) if refusal else text,
            usage=_usage(answer, [turn.content for turn in messages], text),
            latency_s=latency_s,
            model=str(answer.get("model") or self._settings.model),
            finish_reason="refused" if refusal else finish,
            is_counted=None not in _stated(answer, "prompt_tokens", "completion_tokens"),
        )


class OpenAIEmbeddings:
    """Embeddings, as base64 where the server can: a tenth of the work of parsing numbers."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._endpoint = JsonEndpoint(settings)
        self._has_base64 = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of one batch."""
        tried = self._has_base64
        body = {
            "model": self._settings.model,
            "input": list(texts),
            **({"encoding_format": "base64"} if tried else {}),
            **self._settings.extra_body,
        }
        try:
            answer, _ = await self._endpoint.post("embeddings", body)
        except BadRequestError as error:
            if tried and ("encoding_format" in error.names or "base64" in error.names):
                self._has_base64 = False
                raise AskAgain from error
            raise
        usage, is_counted = _usage(answer, texts, ""), None not in _stated(answer, "prompt_tokens")
        return Vectors(self._vectors(answer, len(texts)), usage, is_counted)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _vectors(self, answer: Mapping[str, Any], count: int) -> list[Vector]:
        try:
            parts = sorted(answer["data"], key=lambda part: part["index"])
            found = (part["embedding"] for part in parts)
            vectors = [vector_in(one) if isinstance(one, str) else array("f", one) for one in found]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._endpoint.odd_answer("embeddings that cannot be read") from None
        if len(vectors) != count or not all(vectors) or len(set(map(len, vectors))) > 1:
            raise self._endpoint.odd_answer(
                f"{len(vectors)} embeddings for {count} texts, or of several lengths"
            )
        if not all(map(math.isfinite, map(sum, vectors))):
            raise self._endpoint.odd_answer("embeddings that are not finite")
        return vectors


def _text(content: Any) -> str:
    """Return a message's content: text, nothing, or a list of parts, some of them text."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _usage(answer: Mapping[str, Any], texts: Sequence[str], reply: str) -> Usage:
    """Return the usage that the server states; if it states none, an estimate, not zero."""
    counts = _stated(answer, "prompt_tokens", "completion_tokens")
    prompt, completion = (
        math.ceil(sum(map(estimate_tokens, parts))) if count is None else count
        for count, parts in zip(counts, (texts, [reply]), strict=True)
    )
    return Usage(prompt, completion, calls=1)


def _stated(answer: Mapping[str, Any], *names: str) -> list[int | None]:
    """Return these counts of tokens; None for one that is missing, or that no call can use."""
    usage = answer.get("usage")
    counts = [usage.get(name) if isinstance(usage, Mapping) else None for name in names]
    return [
        count if type(count) is int and 0 <= count <= _MOST_TOKENS else None for count in counts
    ]


def check(settings: ClientSettings) -> list[str]:
    """Return what is wrong with ``settings`` for a server with OpenAI's API."""
    return [*check_endpoint(settings), *missing_credentials(settings)]


_ALIASES = ("openai_compatible", "openai-compatible")
CHATS = (ChatProvider("openai", OpenAIChat, check, _ALIASES, preload),)
EMBEDDINGS = (EmbeddingProvider("openai", OpenAIEmbeddings, check, _ALIASES, preload=preload),)
