"""Why a model gave no answer: one exception for each kind, none of which ever holds a key.

::

    ClientError
    ├── AuthError           auth            the key is missing or refused
    ├── QuotaError          quota           the account has no credit left
    ├── RateLimitError      rate_limit      too many requests or tokens          asked again
    ├── CallTimeoutError    timeout         no answer in time                    asked again
    ├── ConnectionFailed    connection      unreachable, reset, cut off          asked again
    ├── ServerError         server          5xx, or an answer that is no API's   asked again
    ├── BadRequestError     bad_request     unknown model, text too long, ...
    ├── RefusedError        refused         a content filter, or the model declines
    ├── TruncatedError      truncated       the reply ends at max_tokens         asked again, twice
    ├── InvalidOutputError  invalid_output  the reply is not what was asked for  asked again, twice
    ├── BudgetError         budget          the run's budget is spent
    ├── ReplayMissError     replay_miss     replay finds no such reply in the cache
    └── LocalModelError     local_model     a model in this process failed
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pytest_rageval.errors import RagevalError

ErrorKind = Literal[
    "auth",
    "quota",
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "bad_request",
    "refused",
    "truncated",
    "invalid_output",
    "budget",
    "replay_miss",
    "local_model",
]


class ClientError(RagevalError):
    """A call that gave no answer. Its text says which model, what happened and what to do.

    ``is_transient``: the same call may succeed later. ``retry_after_s`` is what the server asked
    to wait, None where it did not say. ``attempts`` counts the requests made for this call and
    ``gave_up`` says why there were no more, where that is not plain from the count.
    """

    kind: ClassVar[ErrorKind]

    def __init__(
        self, message: str, *, is_transient: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.is_transient = is_transient
        self.retry_after_s = retry_after_s
        self.attempts = 1
        self.gave_up = ""

    def __str__(self) -> str:
        if self.attempts == 1 and not self.gave_up:
            return self.message
        count = f"{self.attempts} attempt{'s' if self.attempts > 1 else ''}"
        return f"{self.message} ({'; '.join(filter(None, [count, self.gave_up]))})"


class AuthError(ClientError):
    """The key is missing, or the server does not accept it."""

    kind = "auth"


class QuotaError(ClientError):
    """The account's credit is used up; waiting does not help."""

    kind = "quota"


class RateLimitError(ClientError):
    """The server takes no more requests for now."""

    kind = "rate_limit"


class CallTimeoutError(ClientError):
    """The server did not answer in time."""

    kind = "timeout"


class ConnectionFailed(ClientError):  # noqa: N818  (ConnectionError is Python's own)
    """The server cannot be reached, or the connection broke before the answer was whole."""

    kind = "connection"


class ServerError(ClientError):
    """The server failed, or what it answered is not in the API's form."""

    kind = "server"


class BadRequestError(ClientError):
    """The server cannot serve this request, however often it is sent.

    ``names`` is what the server's own message says, in lower case: whoever sent an optional
    parameter looks there whether it was that one.
    """

    kind = "bad_request"

    def __init__(self, message: str, names: str = "") -> None:
        super().__init__(message)
        self.names = names.lower()


class RefusedError(ClientError):
    """A content filter stopped the request or the reply, or the model declines to answer."""

    kind = "refused"


class TruncatedError(ClientError):
    """The reply ends where max_tokens cut it."""

    kind = "truncated"


class InvalidOutputError(ClientError):
    """The reply is not what was asked for, for instance not the JSON of the schema."""

    kind = "invalid_output"


class BudgetError(ClientError):
    """The run's budget is spent; nothing more is asked."""

    kind = "budget"


class ReplayMissError(ClientError):
    """Replay asks nobody, and the cache has no answer to this very request."""

    kind = "replay_miss"


class LocalModelError(ClientError):
    """A model that runs in this process, or the user's function, raised an error."""

    kind = "local_model"


class AskAgain(Exception):  # noqa: N818  (a signal between a provider and the retry loop)
    """The provider has learnt how this server wants to be asked: send the request again, at once.

    It never leaves this layer.
    """
