"""Any server with OpenAI's API: OpenAI, Azure, vLLM, Ollama, DeepSeek, Qwen, gateways, ..."""

from __future__ import annotations

import math
import re
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
    Vector,
    Vectors,
    vector_in,
)
from pytest_rageval.clients.errors import AskAgain, BadRequestError, ClientError, ServerError
from pytest_rageval.clients.http import credential_problems, preload
from pytest_rageval.clients.json_endpoint import (
    JsonEndpoint,
    check_endpoint,
    stated_tokens,
    usage_of,
)
from pytest_rageval.clients.reply_form import (
    ReplyFormats,
    in_words,
    is_about_forms,
    response_format,
)
from pytest_rageval.clients.settings import ClientSettings, ReplyForm

_ABOUT_TOKENS = ("max_tokens", "max_completion_tokens", "completion tokens", "in the completion")
"""Words of servers that refuse a request for its limit of tokens."""

_FINISH: Mapping[str, FinishReason] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "length"),
    **dict.fromkeys(("max_new_tokens", "max_completion_tokens", "token_limit"), "length"),
    **dict.fromkeys(("content_filter", "safety", "recitation", "refusal", "sensitive"), "refused"),
    **dict.fromkeys(("blocklist", "prohibited_content", "spii", "content_filtered"), "refused"),
    "error_toxic": "refused",
}
_BROKEN_OFF = re.compile(
    r"(?:[a-z]{3,20}_)?error|insufficient_system_resource|abort|aborted|cancelled|canceled"
    r"|incomplete|interrupted|failed|timeout|time_limit|error_limit|user_cancel"
)
"""What servers and gateways say of a reply that they did not bring to its end."""

_THOUGHTS = ("reasoning", "thinking")
"""The types of parts of a message that are none of the answer."""


class OpenAIChat:
    """Chat completions. Learns from refusals which optional parameters the server takes."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._endpoint = JsonEndpoint(settings)
        self._forms = ReplyFormats(settings.form)
        self._tokens_name = "max_tokens"
        self._has_limit = True  # of tokens; False once a server has refused one that nobody wrote

    async def ask(self, request: ChatRequest) -> Reply:
        """Return the reply to one request, whatever it says.

        Raises ClientError; AskAgain where the server may take the request in another form.
        """
        form, tokens_name = self._forms.form, self._tokens_name
        body = self._body(request)
        try:
            answer, latency_s = await self._endpoint.post("chat/completions", body)
        except (BadRequestError, ServerError) as error:
            if request.schema is not None:
                if self._forms.steps_down(form, error):
                    raise AskAgain(error) from error
                self._name_form(form, error)
            is_ours = tokens_name in body and tokens_name not in self._settings.extra_body
            if is_ours and (self._renames_tokens(tokens_name, error) or self._drops_limit(error)):
                raise AskAgain(error) from error
            raise
        if request.schema is not None:
            self._forms.works()
        try:
            return self._reply(request.messages, answer, latency_s)
        except ClientError as odd:
            prompt, completion = stated_tokens(answer)
            if prompt is not None and completion is not None:
                odd.billed = prompt, completion
            raise

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

    def _name_form(self, form: ReplyForm, error: ClientError) -> None:
        """Name the setting ``form`` in an error that the form may have caused.

        For HTTP 500, have another form tried before the call is given up: higher codes say that
        the server is away or busy.
        """
        if is_about_forms(error) or error.status == 500:
            error.message += f"; {self._settings.role}.form says how JSON is asked for: {form} here"
        if error.status == 500:
            error.last_resort = lambda: self._forms.last_resort(form)

    def _drops_limit(self, error: ClientError) -> bool:
        """Leave out a limit that nobody wrote if the server has no room for it; return whether.

        Requests that were sent with it meanwhile are asked again, too.
        """
        is_written = self._settings.max_tokens is not None
        if is_written or not any(word in error.said for word in _ABOUT_TOKENS):
            return False
        self._has_limit = False
        return True

    def _renames_tokens(self, tried: str, error: ClientError) -> bool:
        """Take the newer name of the limit of tokens if the server wants it; return whether."""
        if tried != "max_tokens" or "max_completion_tokens" not in error.said:
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
            reason = str(choice.get("finish_reason")).lower()
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._endpoint.odd_answer(
                "a chat completion without choices[0].message, or with a content that is no text"
            ) from None
        if not text and message.get("tool_calls"):
            raise self._endpoint.odd_answer("calls of tools, and no text")
        if _BROKEN_OFF.fullmatch(reason) or choice.get("error"):
            raise self._endpoint.odd_answer(f"a reply that was broken off (finish_reason {reason})")
        counts = stated_tokens(answer)
        return Reply(
            text=str(refusal) if refusal else text,
            usage=usage_of(counts, [turn.content for turn in messages], text),
            latency_s=latency_s,
            model=str(answer.get("model") or self._settings.model),
            finish_reason="refused" if refusal else _FINISH.get(reason, "stop"),
            is_counted=None not in counts and (counts[1] != 0 or not text),
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
            if tried and ("encoding_format" in error.said or "base64" in error.said):
                self._has_base64 = False
                raise AskAgain(error) from error
            raise
        counts = stated_tokens(answer)
        usage = usage_of(counts, texts, "")
        try:
            vectors = self._vectors(answer, len(texts))
        except ClientError as odd:
            if counts[0] is not None:
                odd.billed = counts[0], 0
            raise
        return Vectors(vectors, usage, counts[0] is not None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _vectors(self, answer: Mapping[str, Any], count: int) -> list[Vector]:
        try:
            parts = sorted(answer["data"], key=lambda part: int(part["index"]))
            if [int(part["index"]) for part in parts] != list(range(len(parts))):
                raise ValueError
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
    """Return a message's content: text, nothing, or a list of parts, some of them text.

    Raises TypeError for anything else.
    """
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        said = [part.get("text") for part in parts if part.get("type") not in _THOUGHTS]
    else:
        said = [content]
    return "".join(text for text in said if text is not None)


def check(settings: ClientSettings) -> list[str]:
    """Return what is wrong with ``settings`` for a server with OpenAI's API."""
    return [*check_endpoint(settings, has_default=True), *credential_problems(settings)]


_ALIASES = ("openai_compatible", "openai-compatible")
CHATS = (ChatProvider("openai", OpenAIChat, check, _ALIASES, preload),)
EMBEDDINGS = (EmbeddingProvider("openai", OpenAIEmbeddings, check, _ALIASES, preload=preload),)
